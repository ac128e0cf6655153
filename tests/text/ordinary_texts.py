"""Commands and outputs without secrets, one per line: redaction leaves them as they are."""

ORDINARY = r"""
PWD=/home/ada/project
OLDPWD=/home/ada
SSH_AUTH_SOCK=/tmp/ssh-XXXX/agent.1234
mysql -P 3306 -h db -u app
mysql -u root -p app < dump.sql
mysql --host db --port 3306 -e "select count(*) from tokens"
"token_count": 12
{"token_count": 12, "total_tokens": 4096}
{"usage": {"prompt_tokens": 1200, "completion_tokens": 85, "total_tokens": 1285}}
password_min_length: 8
assert token == expected
assert response.status_code == 200
assert user.password != raw_password
if token is None:\n    raise ValueError("no token")
if not password:\n    return False
for token in tokens:\n    print(token)
while token:\n    token = next(tokens, None)
def login(username: str, password: str) -> Token:
def __init__(self, token: str | None = None) -> None:
    self.token = token
    self.password = password
    return self.token
token = get_token(user)
token = await fetch_token()
const token = await getToken();
const { token } = useAuth();
const [token, setToken] = useState<Token>(null)
interface Login { username: string; password: string; }
password: Optional[str] = None
api_key: SecretStr
api_key = os.environ["OPENAI_API_KEY"]
api_key=os.getenv("OPENAI_API_KEY"),
apiKey: process.env.OPENAI_API_KEY,
token = settings.API_TOKEN
password = request.form["password"]
let token = self.next_token();
fn token(&self) -> &str {
func (c *Client) Token() string {
client = Client(user=user, password=password)
login(username, password)
class TokenBucket:
class SecretStore(Protocol):
import secrets
from app.auth import token, password
from tokenize import tokenize
import { token } from './auth';
export type Token = { kind: string };
TOKEN=$TOKEN make deploy
export PASSWORD=${PASSWORD}
PASSWORD="$(cat /run/secrets/db)"
password: ${{ secrets.DB_PASSWORD }}
token: ${{ github.token }}
GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}
permissions:\n  id-token: write\n  contents: read
secrets: inherit
password: {{ vault_db_password }}
password: <your password>
--token <TOKEN>
usage: tool [--token TOKEN] [--password PASSWORD]
  --password-file PATH  read the password from a file
  --token-ttl 3600
POSTGRES_PASSWORD_FILE=/run/secrets/db
SECRET_NAME=app-database
secretName: app-tls
secretKeyRef:\n  name: app\n  key: password
imagePullSecrets:\n  - name: regcred
token_type: bearer
"token_type": "Bearer"
"token_url": "https://login.example.com/oauth/token"
"expires_in": 3600
jwt_algorithm = "HS256"
password_policy: strict
has_password: true
max_tokens=4096
max_token_length = 512
"eos_token": "</s>"
pad_token_id: 0
tokens: 7
keys: 5
key: value
"key": "sort_by_name"
"key": "PROJ-1234"
primary_key=True
PRIMARY_KEY=id
foreign_key=users_2024_table1
sorted(items, key=lambda item: item.place)
cache_key=src/app/page2.tsx
cache key: node-modules-linux
press the key: Enter
KeyError: 'token'
KeyError: 'password'
PASS: 12 tests, pass: 12, fail: 0
PASS src/auth/token.test.ts
PASS tests/test_password.py
--- PASS: TestToken (0.00s)
ok   example.com/app/token  0.012s
3 passed, 1 failed in 0.12s
=== 12 passed, 1 skipped in 3.21s ===
tests/test_token.py::test_login PASSED
FAILED tests/test_token.py::test_login[a] - assert 1 == 2
tests/test_auth.py::TestToken::test_refresh PASSED [ 12%]
src/auth/token.ts:12:3 - error TS2345: Argument of type 'string'
src/token.py:12: error: Incompatible types in assignment
error[E0425]: cannot find value `token` in this scope
SyntaxError: Unexpected token } in JSON at position 12
Unexpected token '<', "<!DOCTYPE "... is not valid JSON
error: invalid token: unexpected end of input
fatal: Authentication failed for 'https://github.com/acme/app.git/'
remote: Invalid username or password.
password authentication failed for user "ada"
Password: must be at least 8 characters
password: required
token: expired
auth: fix the login of new users
auth: ok
fix(auth): refresh token before it expires
feat: add password reset
docs: explain how to set the API key
set the token budget to 4096
the login page needs a password field
the password is required
users are identified by their id
run `cargo login` first
the cargo login command failed
author: ada
secretary: bob
monkey: 3
keyboard=us
bypass=true
compass: north
passenger=ada
tokenizer=cl100k_base
tokenizers       0.15.0
PyJWT            2.8.0
keyring          24.3.0
cryptography     42.0.5
  token       Manage API tokens
  secret      Manage Docker secrets
  login       Log in to a registry
| password | The password of the user |
| token | string | required |
git@github.com:acme/app.git
git clone git@github.com:acme/app.git
git clone https://github.com/acme/app.git
ssh://git@host/app.git
ssh ada@host uptime
scp a.txt ada@host:/tmp/
http://localhost:4873/@scope/pkg
http://localhost:8080/users/@me
https://example.com/a?email=ada@example.com
mailto:ada@example.com
image: nginx:1.25@sha256:4c0fdaa8b6341bfdeca5f18f7837462c80cff90527ee35ef185571e1c327beac
npm install @types/node@20.1.0
docker run -p 8080:80 nginx
docker run --user 1000:1000 img
docker run -e DEBUG=1 -e PORT=80 app
docker login
docker login registry.example.com
docker login; docker run -p 80:80 x
docker compose up -d db
mkdir -p src/components
cd login && mkdir -p src/components
unzip a.zip && mkdir -p b
zip -r out.zip src
7z x a.7z
openssl version && make -k test
openssl x509 -in cert.pem -noout -text
ssh-keygen -t ed25519 -f k
ssh-keygen -lf id.pub
ssh-add -l
pytest -p no:randomly -k token
pytest tests/test_token.py -x -q
python -m pytest -k "password or token"
npm test -- --grep token
go test ./... -run TestToken
cargo test token
make test
grep -rn "password" src
grep -rn 'token=' src | head
rg -n "token=" src | head -20
grep -E 'secret=|token=' -r src && make test
echo hello | grep password
echo "building" && docker build . | tee log && cat /etc/passwd
echo hello > out.txt
echo hello | base64
echo "$TOKEN" | docker login -u ada --password-stdin
printf '%s' "$PASS" | sudo -S ls
printf '%s\n' hello | tee log
cat <<< hello
cat /etc/passwd
cat secrets.yaml
ls -la ~/.ssh
ls secrets/ tokens/
find . -name '*secret*'
sed -i 's/token/secret/' a.py
awk -F: '{print $1}' /etc/passwd
root:x:0:0:root:/root:/bin/bash
curl -u ada https://api.example.com
curl -sS https://api.example.com/health
curl -X POST -H "Content-Type: application/json" -d '{"a": 1}' http://localhost:8080/api
curl -o out.json "https://api.example.com/items?page=2&limit=10"
curl -b cookies.txt -c cookies.txt https://app.example.com
curl -H "Authorization: Bearer $TOKEN" https://api.example.com
curl -H "Authorization: Bearer ${TOKEN}" https://api.example.com
headers["Authorization"] = f"Bearer {token}"
wget https://example.com/a.tgz && docker run --user 1000:1000 img
redis-cli -h cache ping
redis-cli GET user:1
psql -h db -U app -d app -c "select 1"
kubectl get secret db -o yaml
kubectl get secrets -n prod
kubectl get secret db -o jsonpath={.data.password}
kubectl config set-context --current --namespace=prod
gh secret list
gh auth status
gh pr create --title "Fix login" --body "Adds a token check"
git commit -m "auth: rotate token on login"
git config user.name ada
git config --global credential.helper store
npm config get registry
npm config set registry https://registry.example.com
pip config set global.timeout 60
aws configure set region eu-west-1
aws s3 ls s3://bucket/key
vault status
vault kv get secret/app
terraform plan -var="region=eu-west-1"
useradd bob; mkdir -p x
net use
sudo systemctl restart sshd
sudo -u postgres psql
smbclient -U ada //h/x
sqlplus / as sysdba
basic understanding of the problem
Basic functionality works
bearer authentication is used
digest algorithm
List<Token> read(Map<Secret, Key> x) { return null; }
<input type="password" name="password" />
<label for="password">Password</label>
<Token/>
{"type": "password", "name": "password"}
"password": null
'token': None
{"password": null, "token": true}
2024-05-01T10:00:00Z INFO request id=42 path=/login status=200 duration=12ms
commit 8f3a9b1c2d4e5f60718293a4b5c6d7e8f9012345
sha256:4c0fdaa8b6341bfdeca5f18f7837462c80cff90527ee35ef185571e1c327beac
index 83db48f..bf2a9c1 100644
-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBg\n-----END CERTIFICATE-----
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0 ada@host
main.go:42:x:y:z
12:34:56 INFO started
00:1A:2B:3C:4D:5E
fe80::1ff:fe23:4567:890a
task-management-system
sk-learn is not sklearn
Total: 12 keys, 3 tokens, 0 secrets
=== 12 passed, inside: side=1, passes=2, passing=3 ===
see token.py:12, secrets.rs:3: warning, and api_key.tsx:120.
id,name,city\n1,ada,Paris
 id | name\n----+------\n  1 | ada
PWD=/home/ada ls
pwd: /home/ada
export PATH=$PATH:/usr/local/bin
XDG_SESSION_ID=3
SSH_AGENT_PID=1234
SSH_AUTH_SOCK=/run/user/1000/keyring/ssh
DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus
GPG_AGENT_INFO=/run/user/1000/gnupg/S.gpg-agent:0:1
KEYBOARD=us
mysql -h 127.0.0.1 -P 3306 -u root
mysql -P3307 -h db
psql -p 5432 -U postgres
redis-cli -p 6380 info
ssh -p 2222 ada@host
docker run -p 5432:5432 -e POSTGRES_DB=app postgres
"max_tokens": 1024
"password_min_length": 8
min_password_length = 12
password_reset_timeout: 3600
tokens_per_second=42.5
assert token == expected_token
expect(token).toBe(expected)
if (token === undefined) return;
if token != expected:
return token === other
token = None
token=None
password = input("Password: ")
password = getpass.getpass()
password = getpass.getpass("Password: ")
self._token = token or default
token: Token
key = (a, b)
keys = list(d.keys())
secret = secrets.token_hex(16)
const secret = crypto.randomBytes(32)
const password = req.body.password;
password: z.string().min(8),
password: yup.string().required(),
password = models.CharField(max_length=128)
token = serializers.CharField()
def token(self): return self._token
@token_required
tokenize(text)
print(f"token: {token}")
console.log("token:", token)
logger.info("token=%s", token)
f"password={password}"
git log --author=ada --grep=token
git checkout -b fix/token-refresh
npm run test:auth
npm ERR! code E401
error TS2339: Property 'token' does not exist on type 'User'.
E   AssertionError: assert 'a' == 'b'
E   KeyError: 'api_key'
WARNING: API key not set
INFO: Secret not found
Password changed successfully
Invalid token: expected string
TypeError: token is not a function
error: Unexpected token, expected ";" (12:3)
ParseError: unexpected token: 'foo'
test_token_refresh PASSED
test password_reset ... ok
test auth::token::tests::refresh ... ok
  ✓ returns a token (12 ms)
src/secrets/loader.py | 12 ++--
 create mode 100644 src/auth/password.py
modified:   src/auth/token.ts
M src/token.go
drwxr-xr-x 2 ada ada 4096 May  1 10:00 secrets
-rw-r--r-- 1 ada ada  120 May  1 10:00 token.json
secrets.yaml:3:name: app
src/a.py:10:def password(self):
src/a.py:12:    token = make_token(user)
./src/auth.ts:4:import { token } from "x"
SELECT id, password FROM users WHERE token IS NULL;
ALTER TABLE users ADD COLUMN password_hash text;
CREATE TABLE tokens (id int, token text, secret text);
INSERT INTO keys (id, name) VALUES (1, 'a');
kubectl get pods -l app=token-service
kubectl describe secret app
NAME   TYPE     DATA   AGE
app-token   Opaque   3   12d
aws secretsmanager list-secrets
aws secretsmanager get-secret-value --secret-id app/db
az keyvault secret list --vault-name kv
vault kv list secret/
gh secret set TOKEN < token.txt
gh secret set TOKEN --body "$TOKEN"
gh api -H "Accept: application/json" /user
docker build --secret id=npmrc,src=.npmrc .
docker secret ls
cat ~/.docker/config.json
openssl rand -hex 32
openssl genrsa -out key.pem 2048
openssl rsa -in key.pem -pubout
openssl req -new -key key.pem -out a.csr
ssh -i ~/.ssh/id_ed25519 ada@host
ssh-copy-id ada@host
gpg --list-keys
gpg --verify a.sig a
sudo -S true
passwd
htpasswd -n ada
sha256sum a.tgz
curl -I https://example.com
curl https://example.com/login
curl -fsSL https://example.com/install.sh | sh
curl -X POST localhost:8000/token
http GET :8000/token
Authorization: required
WWW-Authenticate: Basic realm="x"
Content-Type: application/json
Set the `token` option to your API token.
| `--token` | API token |
- **token**: the API token
* `password` (string): the password
See [tokens](docs/tokens.md).
## Secrets
key: 12
"key": "name"
{"key": "a", "value": "b"}
[{"name": "PORT", "value": "8080"}]
- name: PORT\n  value: "8080"
accessKeyId: 12
"public_key": "abc"
author=ada
authority: example.com
authenticated=true
passed=12
passive: true
signal=9
design: new
assignee: ada
assigned: true
inside=1
side: left
residence: x
otp_enabled: false
copyright: 2024
"sessionId": "s1"
session_id=abc
cookies: 3
cookie_policy: strict
keyword=foo
monkeypatch.setenv("API_KEY", "x")
os.environ.get("TOKEN")
env.TOKEN
echo $TOKEN
echo "$PASSWORD" | wc -c
set -e
set -euo pipefail
config set foo bar
net start
login: ada
Login successful
python manage.py createsuperuser
make login
"""

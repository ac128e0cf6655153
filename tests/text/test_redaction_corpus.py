"""Realistic secrets, of which none is shown, and ordinary texts, of which none is changed.

A secret stands between « and ». The sign ¦ is taken out: it keeps tools that search repositories for keys quiet.
"""

import json

import pytest
from benchmarks.redaction import HOSTILE

from punchlist.text.redaction import redact
from tests.text.ordinary_texts import ORDINARY

SECRETS = r"""
export AWS_ACCESS_KEY_ID=«AKIA¦IOSFODNN7EXAMPLE»
export AWS_SECRET_ACCESS_KEY=«wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY»
aws_secret_access_key = «wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY»
aws configure set aws_secret_access_key «wJalrXUtnFEMI/K7MDENG/bPxRfiCY»
{"SecretAccessKey": "«9drTJvcXLB89EXAMPLELB8923FB892xMFI»", "SessionToken": "«AQoXdzELDDY//////////wEaoAK1wvxJY12r2Ir»"}
aws secretsmanager create-secret --name db --secret-string «Wint3r-is-c0ming»
aws ssm put-parameter --name /prod/db/password --type SecureString --value «Tr0ub4dor&3»
https://b.s3.amazonaws.com/a?X-Amz-Signature=«fe5f80f77d5fa3beca038a248ff027d0445342fe2855ddc9»
AZURE_CLIENT_SECRET=«q5u8Q~¦aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456»
az login --service-principal -u app -p «Hq.8Q3kf9~xx» --tenant contoso
az keyvault secret set --vault-name kv --name db --value «S3nsitive-Value»
DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=«Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzF==»;EndpointSuffix=core.windows.net
Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=«abcDEF123ghiJKL456mnoPQR789stuVWX=»
https://acme.blob.core.windows.net/c/f?sv=2022-11-02&sp=r&sig=«Z%2FRHIX5Xcg0Mq2rqI3OlWTjEg2tYkboXr1P9ZUXDtkk%3D»
GOOGLE_API_KEY=«AIza¦SyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe»
curl -H "x-goog-api-key: «AIza¦SyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQf»" https://generativelanguage.googleapis.com
Authorization: Bearer «ya29.¦a0AfH6SMBx3Vq0lY-Zb9mJ_dQ»
{"private_key": "-----BEGIN PRIVATE KEY-----\n«MIIEvQIBADANBgkq»\n-----END PRIVATE KEY-----\n"}
{"client_id": "1.apps.googleusercontent.com", "client_secret": "«GOCSPX-¦d3kf9sLkQwErTyUiOpAs»"}
OPENAI_API_KEY=«sk-¦proj-Tz3abc9QmLk20dKfjQweRTyuIoPasDf»
anthropic = Anthropic(api_key="«sk-¦ant-api03-Kd93jfQWErtyuiop-asdfghjkl_zx»")
export HF_TOKEN=«hf_¦aBcDeFgHiJkLmNoPqRsTuVwXyZ012345»
curl -H "Authorization: token «ghp_¦16C7e42F292c6912E7710c838347Ae178B4a»" https://api.github.com/user
git clone https://«ghp_¦16C7e42F292c6912E7710c838347Ae178B4b»@github.com/acme/app.git
git remote set-url origin https://x-access-token:«ghs_¦16C7e42F292c6912E7710c838347Ae178B4c»@github.com/acme/app
git clone https://oauth2:«glpat-¦x9Yz8Wv7Ut6Sr5Qp4»@gitlab.com/acme/app.git
echo «ghp_¦16C7e42F292c6912E7710c838347Ae178B4d» | gh auth login --with-token
gh secret set DEPLOY --body "«correct horse battery»"
gh secret set DEPLOY <<< "«plainword9»"
echo -n "«swordfish»" | gh secret set DEPLOY
printf '%s' '«swordfish7»' | npx wrangler secret put API
echo "«hunter2»" | docker login -u ada --password-stdin registry.example.com
docker login -u ada -p «hunter2» registry.example.com
echo "«s3cr3t»" | sudo -S apt-get update
echo 'ada:«newpass»' | sudo chpasswd
echo "«letmein»" | passwd --stdin ada
echo «swordfish» | cryptsetup luksOpen /dev/sda2 data -
echo -n «sw0rdfish» | vault kv put secret/app password=-
echo '«swordfish»' | ansible-vault encrypt_string --stdin-name db
printf «swordfish» | podman secret create db -
echo «swordfish» | secret-tool store --label=x a b
echo '«c3VwZXJzZWNyZXQ=»' | base64 -d
echo -n 'ada:«hunter2»' | base64
docker login --password-stdin -u ada <<EOF\n«swordfish»\nEOF
echo '«swordfish»' > ~/.vault-token
echo -n "«swordfish»" > /run/secrets/db_password
redis-cli -h cache AUTH «swordfish»
redis-cli -a «swordfish» ping
redis-cli -u redis://default:«swordfish»@cache:6379 ping
127.0.0.1:6379> AUTH «swordfish»
redis-cli CONFIG SET requirepass "«sword fish»"
lftp -u ada,«swordfish» sftp://host
lftp -e 'put a; bye' -u ada,«swordfish» host
smbclient //srv/share -U ada%«swordfish»
mysql -u root -p«swordfish» app < dump.sql
mysqldump --user=root --password=«swordfish» app
mysqladmin -u root password «swordfish»
MYSQL_PWD=«swordfish» mysql -u root app
docker run -e MYSQL_ROOT_PASSWORD=«my-secret-pw» -d mysql:8
docker exec db mysql -uroot -p"«sword fish»" -e 'select 1'
ssh host "mysql -uroot -p«swordfish» -e 'select 1; select 2'"
PGPASSWORD=«swordfish» psql -h db -U app
psql "host=db user=app password=«swordfish» dbname=app"
psql postgresql://app:«sw/ord@fish»@db:5432/app
DATABASE_URL=postgres://app:«p@ss/w0rd»@db.example.com:5432/app?sslmode=require
DATABASE_URL="mysql://root:«a/b@c»@127.0.0.1:3306/app"
SQLALCHEMY_DATABASE_URI = 'postgresql+psycopg2://app:«sw#rd?fish»@db/app'
mongodb+srv://app:«sw0rdfish»@cluster0.abcde.mongodb.net/test?retryWrites=true
mongosh --host db -u app -p «swordfish»
amqp://guest:«swordfish»@rabbit:5672/vhost
redis://:«sw/ordfish»@cache:6379/0
Error: connect failed: postgres://app:«hunter2»@db:5432/app
db.example.com:5432:app:ada:«swordfish»
*:*:*:postgres:«sword:fish»
root:«swordfish»@tcp(127.0.0.1:3306)/app?parseTime=true
jdbc:oracle:thin:scott/«tiger»@//db:1521/ORCL
jdbc:postgresql://db:5432/app?user=ada&password=«swordfish»
Server=db;Database=app;User Id=sa;Password=«Pa55 word!»;TrustServerCertificate=True
"ConnectionStrings": {"Default": "Server=db;User Id=sa;Password=«Pa55word!»"}
sqlcmd -S db -U sa -P '«Pa55word!»' -Q "select 1"
sqlplus scott/«tiger9»@orcl
CREATE USER ada WITH PASSWORD '«swordfish»';
ALTER USER ada IDENTIFIED BY "«swordfish»";
CREATE USER 'ada'@'%' IDENTIFIED BY '«swordfish»';
mysql> SET PASSWORD FOR 'ada'@'%' = '«swordfish»';
[Note] A temporary password is generated for root@localhost: «kJ8#xQ2!pLm9»
$pw = ConvertTo-SecureString "«swordfish»" -AsPlainText -Force
$c = New-Object PSCredential("ada", (ConvertTo-SecureString '«sword fish»' -AsPlainText -Force))
$env:API_TOKEN = "«swordfish»"
net user ada «Passw0rd!» /add
setx API_KEY «swordfish7»
set DB_PASSWORD=«swordfish»
xfreerdp /u:ada /p:«swordfish» /v:host
sshpass -p «swordfish» ssh ada@host uptime
'mysql -u root -p«swordfish» app'
"mysql -u root -p«swordfish» app"
{"cmd":"mysql -u root -p«swordfish» app","timeout":5}
["bash","-lc","mysql -u root -p«swordfish» app"]
sshpass -p'«sword fish»' scp a host:
plink -ssh ada@host -pw «swordfish» uptime
curl -u ada:«swordfish» https://api.example.com/v1
curl -sSfu 'ada:«sword fish»' https://api.example.com/v1
curl --user ada:«swordfish» -X POST https://api.example.com
curl -b "session=«d41d8cd98f00»" https://app.example.com
curl -H 'Cookie: sessionid=«d41d8cd98f00b204»; theme=dark' https://app.example.com
curl -H "X-Api-Key: «swordfish»" https://api.example.com
curl -d '{"username":"ada","password":"«swordfish»"}' https://api.example.com/login
curl -d 'username=ada&password=«swordfish»&remember=1' https://api.example.com/login
curl "https://api.example.com/v1/items?api_key=«swordfish»&page=2"
curl -X POST https://hooks.slack.com/services/«T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX»
curl https://discord.com/api/webhooks/«1234567890/abcDEF_ghi-JKL»
curl https://api.telegram.org/bot«110201543:AA¦HdqTcvCH1vGWJxfSeofSAs0K5PALDsaw»/getMe
http -a ada:«swordfish» GET https://api.example.com
wget --user=ada --password=«swordfish» https://files.example.com/a.tgz
> Authorization: Basic «YWRhOnN3b3JkZmlzaA==»
< Set-Cookie: session=«eyJ1c2VyIjoiYWRhIn0.YxYxYx.abc»; Path=/; HttpOnly
authorization: Bearer «eyJ¦hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl»
{"headers": {"Authorization": "Bearer «swordfish-123»", "Accept": "*/*"}}
requests.get(url, headers={"Authorization": "Token «9944b09199c62bcf9418ad846dd0e4bb»"})
axios.get(url, { headers: { 'X-Auth-Token': '«swordfish»' } })
DISCORD_TOKEN=«swordfish.words.here»
client.login("«MTk4NjIyNDgzNDcxOTI1MjQ4.¦Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs»")
bot: logged in with «NzkyNzE1NDU0MTk2MDg4ODQy.¦X-hvzA.Ovy4MCQywSkoMRRclStW4xAYK7I»
SLACK_BOT_TOKEN=«xoxb-¦17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy»
STRIPE_SECRET_KEY=«sk_live_¦4eC39HqLyjWDarjtT1zdp7dc»
stripe listen: your webhook signing secret is «whsec_¦5f8a9b2c3d4e5f6a7b8c9d0e1f2a3b4c»
SENDGRID_API_KEY=«SG.¦ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf-09kqeF8tAmbihYzrnopKc-1s5cr»
TWILIO_AUTH_TOKEN=«f2c7d9e81b3a4c5d6e7f8091a2b3c4d5»
NPM_TOKEN=«npm_¦a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8»
//registry.example.org/:_authToken=«swordfish-1234»
npm config set //registry.example.org/:_authToken «0a1b2c3d-4e5f»
//registry.example.com/:_password="«c3dvcmRmaXNo»"
twine upload -u __token__ -p «pypi-¦AgEUcmVnaXN0cnkuZXhhbXBsZS5vcmcCJDU3YjM5» dist/*
poetry config pypi-token.pypi «pypi-¦AgEUcmVnaXN0cnkuZXhhbXBsZS5vcmcCJDU3YjM6»
cargo login «cioAbC123dEf456»
pip install --index-url https://ada:«swordfish»@pypi.example.com/simple app
machine api.heroku.com login ada@example.com password «sw0rd-fish»
machine github.com\n  login ada\n  password «swordfish»
vault login «hvs.¦CAESIJ8kfQwErTyUiOpAsDfGhJkL»
vault kv put secret/app api_key=«swordfish» user=«ada»
====== Data ======\nKey         Value\n---         -----\npassword    «swordfish»\nusername    ada
Key                Value\n---                -----\ntoken              «s.Ga5jyNq6kNfRMVQk2LY1j9iu»
api_key     «9f8e7d6c»
| Variable    | Value |\n| DB_PASSWORD | «swordfish» |
 id | username | password\n----+----------+-----------\n  1 | ada      | «swordfish»\n  2 | bob      | «letmein»
id,username,password\n1,ada,«swordfish»\n2,bob,«letmein»
kubectl create secret generic db --from-literal=username=ada --from-literal=password=«swordfish»
kubectl create secret generic db --from-literal=conn='«sword fish»'
helm install db bitnami/postgresql --set auth.postgresPassword=«swordfish»
apiVersion: v1\nkind: Secret\nstringData:\n  password: «sword fish»
  - name: DB_PASSWORD\n    value: «swordfish»
environment:\n  POSTGRES_PASSWORD: «swordfish»\n  POSTGRES_USER: app
fly secrets set DATABASE_URL=«postgres9» OTHER=«x9y8»
heroku config:set API_SECRET=«swordfish»
terraform apply -var="db_password=«sword fish»"
db_password = "«swordfish»"
+db_password = "«swordfish»"
-    "secret": "«swordfish»",
ENV API_TOKEN=«swordfish»
ENV API_TOKEN «swordfish»
FOO=bar\nSECRET_KEY_BASE=«0123abcd4567»\nDEBUG=1
SECRET_KEY = 'django-insecure-«#8k2!j$x»'
spring.datasource.password=«swordfish»
<property name="password" value="«swordfish»"/>
<server><username>ada</username><password>«swordfish»</password></server>
password: "«swordfish»"
password: |\n  «blue\n  fish»
"dockerconfigjson": {"auths": {"r.io": {"auth": "«YWRhOnN3b3JkZmlzaA==»"}}}
-----BEGIN OPENSSH PRIVATE KEY-----\n«b3BlbnNzaC1rZXktdjEAAAAABG5vbmU»\n-----END OPENSSH PRIVATE KEY-----
-----BEGIN RSA PRIVATE KEY-----\n«MIIEowIBAAKCAQEAx»
-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n«lQOYBF»\n-----END PGP PRIVATE KEY BLOCK-----
ssh-keygen -t ed25519 -N "«sword fish»" -f id
openssl enc -aes-256-cbc -k «swordfish» -in a -out b
openssl pkcs12 -in a.p12 -passin pass:«swordfish» -nodes
gpg --batch --passphrase «swordfish» -d a.gpg
keytool -genkey -storepass «swordfish» -alias a
zip -P «swordfish» out.zip a
7z x -p«swordfish» a.7z
ldapsearch -x -D cn=admin -w «swordfish» -b dc=x
htpasswd -bc .htpasswd ada «swordfish»
ada:«$apr1$qHDFfhPC$nITSVHgYbDAK1Y0acGRnY0»\nroot:«$6$rounds=5000$saltsalt$EpvcQGTqnmSHDOwXrYq3UwU1»:19000:0:99999:7:::
ansible-playbook site.yml -e "ansible_become_password=«sword fish»"
2024-05-01T10:00:00Z INFO login user=ada token=«0f9e8d7c6b5a» ip=10.0.0.1
##[debug]Evaluating: password=«swordfish»
::add-mask::x\nRun deploy\n  env:\n    DEPLOY_TOKEN: «swordfish»
DEBUG http.client: send: b'GET / HTTP/1.1\r\nAuthorization: Bearer «abc123def456»\r\n\r\n'
WARN config loaded {secret=«swordfish», retries=3}
Your new API token: «0f9e8d7c6b5a4938»
expect "assword:" { send "«swordfish»\r" }
the admin password is «Sw0rdfish!»
otpauth://totp/acme:ada?secret=«JBSWY3DPEHPK3PXP»&issuer=acme
wandb login «0123456789abcdef0123456789abcdef01234567»
nmcli dev wifi connect Home password «swordfish»
snmpwalk -v3 -u ada -A «swordfish» host
useradd -m -p «swordfish» ada
rclone obscure «Sw0rdfish»
if [ "$PASSWORD" != "«swordfish»" ]; then exit 1; fi
const token = "«swordfish»";
client = Client(user="ada", password="«swordfish»", timeout=3)
auth = ("ada", "«swordfish»")
DB_PASSWORD=${DB_PASSWORD:-«swordfish»}
export STRIPE_API_KEY="«rk_abc123DEF»"
mysql --defaults-extra-file=/x -u root --password='«p@ss w»'
mysqldump -h db -u root -p'«p@ss;w»' app | gzip > a.gz
psql postgres://u:«p@ss»@h/db -c 'select 1'
PGPASSWORD='«it is me»' pg_dump -h db app
redis-cli -h h -p 6379 --pass «hunter» --no-auth-warning
mongo "mongodb://root:«exa/mple»@localhost:27017/admin"
rabbitmqctl change_password ada «swordfish»
rabbitmqctl add_user ada «swordfish»
kubectl create secret docker-registry r --docker-server=x --docker-username=a --docker-password=«swordfish»
kubectl config set-credentials ada --token=«swordfish»
oc login --token=«sha256~abcDEF123456» --server=https://x
docker login -u AWS -p «eyJwYXlsb2FkIjoiabc123» https://registry.example.org
helm repo add x https://y --username a --password «swordfish»
ansible all -m ping -e ansible_ssh_pass=«swordfish»
echo "export API_KEY=«swordfish»" >> ~/.bashrc
cat > .env <<EOF\nDB_PASS=«swordfish»\nEOF
{"login":"ada","passwd":"«swordfish»"}
{'password': '«swordfish»', 'user': 'ada'}
Password: «swordfish»
password=«swordfish»;
User ada logged in with password «Swordfish9»
Using token: «abc123def456»
token «ghx_abc123def456789» is invalid
X-Vault-Token: «s.abcdef»
curl --header "PRIVATE-TOKEN: «swordfish»" https://gitlab
curl --oauth2-bearer «swordfish9» https://x
curl -F token=«swordfish» https://x
curl --proxy http://ada:«swordfish»@proxy:3128 https://x
curl -x ada:«swordfish»@proxy:3128 https://x
wget --http-password=«swordfish» https://x
wget --header="Authorization: Bearer «swordfish9»" https://x
https://user:«p@ss:w/ord»@host.com/path
ftp://ada:«swordfish»@ftp.example.com/a
svn co https://x --username ada --password «swordfish»
hg clone https://ada:«swordfish»@x/repo
az storage blob list --account-key «abc123==»
az ad sp create-for-rbac\n{"appId": "1", "password": "«swordfish»"}
terraform output\ndb_password = "«swordfish»"
vault write auth/userpass/users/ada password=«swordfish»
vault kv get secret/app\n=== Data ===\nKey      Value\n---      -----\nvalue    «swordfish»
consul kv put app/password «swordfish»
etcdctl put /app/db_password «swordfish»
heroku config\nDATABASE_URL: postgres://a:«b/c»@d/e
heroku config:set TOKEN=«abc»
vercel env add SECRET production <<< "«swordfish»"
netlify env:set API_KEY «swordfish9»
railway variables set DB_PASSWORD=«swordfish»
doppler secrets set API_KEY «swordfish9»
pass insert -m x <<< «swordfish»
security add-generic-password -a ada -s x -w «swordfish»
keyctl add user mykey «swordfish» @u
op item create --category login password=«swordfish»
bw login ada@example.com «Swordfish9»
gpg --passphrase="«sword fish»" --batch -c a
openssl req -new -passout pass:«swordfish» -key k
openssl rsa -in k -passin "pass:«sword fish»"
ssh-keygen -p -P «old» -N «new1» -f k
unzip -P «swordfish» a.zip
rar a -hp«swordfish» a.rar x
mount -t cifs //s/x /m -o username=ada,password=«swordfish»
wpa_passphrase Home «swordfish»
useradd ada -p "$(openssl passwd -1 «swordfish»)"
chpasswd <<< "ada:«swordfish»"
net use Z: \\srv\share «Passw0rd!» /user:ada
cmdkey /add:srv /user:ada /pass:«swordfish»
$cred = [PSCredential]::new("a", (ConvertTo-SecureString -String "«swordfish»" -AsPlainText -Force))
sqlcmd -S h -U sa -P«Pa55»
bcp db.t out f -U sa -P «Pa55»
sqlplus -s ada/«tiger»@//h:1521/x
jdbc:mysql://h/db?user=a&password=«b/c»
jdbc:sqlserver://h;user=sa;password=«Pa 55»;
spring.datasource.password: «swordfish»
  db:\n    password: '«it''s»'
<add key="ApiKey" value="«swordfish»" />
<connectionStrings><add connectionString="Server=h;Uid=a;Pwd=«x y»;" /></connectionStrings>
String password = "«swordfish»";
private static final String SECRET_KEY = "«swordfish»";
password := "«swordfish»"
let api_key: &str = "«swordfish»";
os.environ["API_KEY"] = "«swordfish»"
os.environ.setdefault("SECRET_KEY", "«swordfish9x8y7z»")
process.env.TOKEN = '«swordfish»'
define('DB_PASSWORD', '«swordfish9x»');
'password' => '«swordfish»',
app.config['SECRET_KEY'] = '«swordfish»'
jwt.encode(payload, secret="«swordfish»")
Set-Cookie: sid=«s%3Aabc123.def»; Path=/
cookie: «_ga=GA1.2; session=xyz»
Sec-WebSocket-Protocol: token «abc123def456»
GET /v1?access_token=«swordfish» HTTP/1.1
10.0.0.1 - - "GET /cb?code=1&client_secret=«swordfish» HTTP/1.1" 200
npm ERR! //registry.example.org/:_authToken=«npm_¦abcdEFGHijklMNOPqrst»
::set-output name=token::«abc123def456»
Password for ada: «Swordfish9»
Enter password: «swordfish»
New password: «swordfish»
"api-key": ["«swordfish»"]
data:\n  password: «c3dvcmRmaXNo»
env:\n- name: TOKEN\n  value: "«swordfish»"
hydra -l ada -p «swordfish» ssh://h
SSHPASS=«swordfish» sshpass -e ssh h
xfreerdp /u:a /p:'«sword fish»' /v:h
nmcli con add type wifi wifi-sec.psk «swordfish»
psk="«swordfish»"
lftp sftp://ada:«swordfish»@h
lftp -u "ada,«sword fish»" h
ncftpput -u ada -p «swordfish» h / a
mutt -e "set imap_pass=«swordfish»"
ssh_pass: «swordfish»
DISCORD: «OTk4NjIyNDgzNDcxOTI1MjQ4.¦GhIjKl.ZnCjm1XVW7vRze4b7Cq4se7kKWsAbCdEfGh12»
"""


def secrets() -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for line in SECRETS.strip().split("\n"):
        text = line.replace("¦", "").replace("\\n", "\n")
        hidden = [piece.partition("»")[0] for piece in text.split("«")[1:]]
        found.append((text.replace("«", "").replace("»", ""), hidden))
    return found


def ordinary() -> list[str]:
    return [line.replace("\\n", "\n") for line in ORDINARY.strip("\n").split("\n")]


def test_the_corpus_is_large_enough() -> None:
    assert sum(len(hidden) for _, hidden in secrets()) >= 120
    assert len(ordinary()) >= 200


@pytest.mark.parametrize(("text", "hidden"), secrets())
def test_no_secret_is_shown(text: str, hidden: list[str]) -> None:
    for given in (
        text,
        f"$ cat out\n{text}\n$ ",
        f"line\n{text}\nline",
        json.dumps({"output": text}, ensure_ascii=False),
        json.dumps({"output": f"line\n{text}\nline"}),
    ):
        shown = redact(given)
        for secret in hidden:
            for piece in secret.split("\n"):
                assert piece.strip() not in shown
        assert redact(shown) == shown


def test_an_escaped_letter_hides_no_command() -> None:
    assert "swordfish" not in redact(r'{"command": "\u006dysql -u root -pswordfish"}')


@pytest.mark.parametrize("text", ordinary())
def test_an_ordinary_text_is_unchanged(text: str) -> None:
    assert redact(text) == text
    assert redact(f"{text}\n") == f"{text}\n"
    assert redact(f"line\n{text}\nline") == f"line\n{text}\nline"
    as_json = json.dumps({"output": text}, ensure_ascii=False)
    assert redact(as_json) == as_json


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_text_is_masked_to_its_end(piece: str) -> None:
    text = piece * (20_000 // len(piece)) + "\n\nDB_PASSWORD=swordfish"
    shown = redact(text)
    assert "swordfish" not in shown
    assert redact(shown) == shown

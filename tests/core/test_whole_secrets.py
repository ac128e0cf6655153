"""A secret is taken out whole: values with blanks, programs that take one, and what only looks alike."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.core.grounding.observe import end_facts, start_facts
from punchlist.text.redaction import MARK, redact
from tests.core.test_redaction import NAMES, SECRET
from tests.sizes import size

PASSPHRASES = st.lists(
    st.sampled_from(["Zqcorrect", "Zqhorse", "Zq9battery", "Zqstaple!", "Zq%", "Zq(x)"]), min_size=1, max_size=4
)
QUOTED_PAIRS = st.sampled_from([
    "docker run -e '{name}={value}' image", 'env "{name}={value}" make', "curl -d '{name}={value}' http://x",
    "curl -d 'user=ada&{name}={value}&x=1' http://x", "helm install --set 'a.b={name}={value}' x",
    '--env="{name}={value}" x', '{{"env": ["{name}={value}", "A=1"]}}', '{{"body":"{name}={value}"}}',
    '"{{\\"env\\": [\\"{name}={value}\\"]}}"', "curl -H '{name}: {value}' http://x",
    "Server=h;User Id=sa;{name}={value};",
    "Server=h; User Id=sa; {name}={value};", "{name}={value};Server=h", "<{name}>{value}</{name}>",
    "<a:{name} b='c'>\n  {value}\n</a:{name}>", '<add key="{name}" value="{value}"/>',
    "<{name}><![CDATA[{value}]]></{name}>", "{name}='{value}' make",
])  # fmt: skip


@given(NAMES, PASSPHRASES, QUOTED_PAIRS)
def test_a_value_with_blanks_that_is_quoted_with_its_name_is_redacted_whole(
    name: str, words: list[str], frame: str
) -> None:
    shown = redact(frame.format(name=name, value=" ".join(words)))
    assert "Zq" not in shown
    assert MARK in shown
    assert redact(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "docker run -e 'DB_PASSWORD=a b {}' img",
        "sh -c 'TOKEN={} make test'",
        '{"command": "TOKEN={} make test"}',
        "curl -d 'a=1&password=a {}&x=1' h",
        "<user>ada</user><password>a {}</password>",
        "<password>a {}",
    ],
)
def test_a_value_reaches_to_the_end_of_its_quotes_or_its_element(text: str) -> None:
    assert SECRET not in redact(text.replace("{}", SECRET))


@pytest.mark.parametrize(
    "text", ['make "TOKEN=$TOKEN test"', "<password></password> <token/> x", "useState<Token>(null)"]
)
def test_a_name_without_a_value_is_shown(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "line",
    [
        "machine h login ada password {}",
        "machine h\n\tlogin ada\n\tpassword {}\n",
        "default login ada account x password {}",
        "\nlogin ada\npassword {}",
        "ALTER ROLE ada PASSWORD '{}'",
        "ALTER USER ada WITH ENCRYPTED PASSWORD '{} it''s'",
        "SET PASSWORD FOR 'ada'@'h' = '{}'",
        "SET PASSWORD = PASSWORD('{}')",
        "CREATE USER ada IDENTIFIED BY '{}'",
        "CREATE USER ada IDENTIFIED WITH mysql_native_password BY '{}'",
        "alter user ada identified by {};",
        "printf '%s' {} | docker login --password-stdin",
        'printf "%s\\n" "{}" | sudo -S ls',
        "echo '{}\"x' | docker login --password-stdin",
        'echo "a|{}" | base64 -d | sudo -kS ls',
        "sudo -S <<< {} ls",
        "docker login --password-stdin <<< '{} x'",
        "wrangler secret put NAME <<< {}",
        "cargo login {}",
        "cargo login --registry mine {}",
        "wandb login --relogin {}",
        "vault login s.{}",
        "vault login -method=token {}",
        "ngrok authtoken {}",
        "ngrok config add-authtoken {}",
        "snyk auth {}",
        "fly secrets set A={} B={}",
        "fly secrets set --app x 'A=x {}'",
        "keytool -list -storepass {} -keypass {}",
        "twine upload -u ada -p {} dist/*",
        "sqlcmd -S h -U sa -P {}",
        "sqlcmd -S h -U sa -P '{} x'",
        "bcp x out y -P {}",
        "useradd -m -p {} ada",
        "smbclient -U ada%{} //h/x",
        "smbclient -U 'ada%x {}' //h/x",
        "sqlplus ada/{}@db",
        "ssh-keygen -t ed25519 -N {} -f k",
        "ssh-keygen -p -P '{} x' -f k",
        "htpasswd -bc f ada {}",
        "htpasswd -nbB ada 'x;{}'",
        "mysqladmin -u root password {}",
        "nmcli dev wifi connect Home password '{} x'",
        "curl https://api.telegram.org/bot123456789:AAHdqTcvCH1vGWJxfSeof{}/getMe",
        "my password is {}",
        "curl -u 'ada:x {}' h",
        "mysql -p'x {}' db",
        "redis-cli -a 'x {}' ping",
        "kubectl create secret generic x --from-literal=pw='x {}'",
        "kubectl create secret generic x '--from-literal=pw=x {}'",
        "gh secret set FOO --body 'x\" {}'",
        'gh secret set FOO --body "x\\" {}"',
        'tool --password "x \\"y\\" {}"',
    ],
)
def test_no_program_shows_the_secret_that_it_is_given(line: str) -> None:
    given = line.replace("{}", SECRET)
    for text in (given, f"cd app && {given}", json.dumps({"command": given}, ensure_ascii=False)):
        shown = redact(text)
        assert SECRET not in shown
        assert redact(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "the default password is required",
        "enter the login and the password below",
        "password reset works, and the password field is empty",
        "users are identified by their id",
        "run `cargo login` first, cargo login and publish",
        "the login page\nlogin works",
        "cat <<< hello",
        "printf '%s' hello | tee log",
        "printf '%s' \"$PASS\" | sudo -S ls",
        "List<Token> read(Map<Secret, Key> x) { return null; }",
        "=== 12 passed, inside: side=1, passes=2, passing=3 ===",
        "smbclient -U ada //h/x",
        "ssh-keygen -t ed25519 -f k",
    ],
)
def test_what_only_looks_like_a_command_with_a_secret_is_shown(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        '-DB_PASSWORD = "{}"',
        '--- a\n-DB_PASSWORD : "{}"',
        "-token => {}",
        "--token =={}",
        "if password == '{}':",
        "if (password === '{}') {",
        '[ "$PASSWORD" != "{}" ]',
        "if ($password -eq '{}')",
        "password !== '{}'",
        "where password <> '{}'",
        'password <- "{}"',
        'password ||= "{}"',
        "PASSWORD ?= {}",
        "PASSWORD ::= {}",
        "PASSWORD += {}",
        'password                   = "{}"',
        "FROM x\nENV DB_PASSWORD {}",
        "ENV DB_PASSWORD two {}\nRUN x",
        "-ENV DB_PASSWORD {}",
        "ARG TOKEN {}",
        "-sshpass -p {} ssh h",
        "@@ -1 +1 @@\n-curl -u ada:{} h",
    ],
)
def test_a_sign_is_never_taken_for_the_value_behind_it(text: str) -> None:
    given = text.replace("{}", "hunter2")
    shown = redact(given)
    assert "hunter2" not in shown
    assert redact(shown) == shown
    assert "hunter2" not in redact(json.dumps({"content": given}, ensure_ascii=False))


def test_a_comparison_with_nothing_hides_nothing() -> None:
    assert redact("if token == None or token != null") == "if token == None or token != null"


@pytest.mark.parametrize(
    "text",
    [
        "docker login; docker run -p 80:80 x",
        "cd login && mkdir -p src/components",
        "unzip a.zip && mkdir -p b",
        "openssl version && make -k test",
        "wget x && docker run --user 1000:1000 img",
        "useradd bob; mkdir -p x",
        "python login.py -p 8000; ls src/login -p",
        'echo "building" && docker build . | tee log && cat /etc/passwd',
        "echo hello | tee log && sudo -S ls",
        "the cargo login command failed",
    ],
)
def test_what_another_command_is_given_is_shown(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "docker login; mysql -p{}",
        "cargo login --registry command {}",
        "the cargo login command {}",
        "-token !=\\ {}",
        "mysql; sshpass -p {} ssh h; mkdir -p x",
        'mysql -e "select 1; select 2" -p{}',
        "mysql -e 'a && b' -p{}",
        'ssh h "mysql" -e "a; b" -p{}',
        "curl 'http://h/a; b' -u ada:{}",
        "curl http://h/a;b?c=1&&d=2 -u ada:{}",
        "curl $(echo a; echo b) -u ada:{}",
        "find . -exec curl x \\; -u ada:{}",
        "echo a && echo {} | sudo -S ls",
        "(echo {}; echo {}) | passwd bob",
        "echo root:{} | sudo chpasswd",
        "echo {} | ssh h 'cd x && sudo -S ls'",
        "echo {} | while read p; do docker login --password-stdin; done",
    ],
)
def test_a_sign_within_a_command_does_not_end_it(text: str) -> None:
    given = text.replace("{}", SECRET)
    assert SECRET not in redact(given)
    assert SECRET not in redact(json.dumps({"command": given}, ensure_ascii=False))


@pytest.mark.parametrize(
    "text",
    [
        'rg -n "token=" src | head -20',
        "grep -E 'secret=|token=' -r src && make test",
        '{"pattern": "token:", "path": "src"}',
        '{"pattern":"password=","path":"src"}',
        '{"command": "rg \\"token=\\" src | head", "path": "src"}',
        '{"command": "rg \'token=\'"}',
        '{"pattern": "token: "}',
    ],
)
def test_a_name_that_its_quote_closes_has_no_value(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        'echo "password:" {}',
        'echo "password="{}',
        'url = "token=" + {}',
        'grep "token="{} src',
        'grep x f; echo "token:" {}',
        'rg "token=" src; curl -d "token={}" h',
        "TOKEN='{}' rg 'token=' src",
        'token="{}"',
        "'token': '{}'",
        '\'{"token": "{}"}\'',
        "'a'+token='{}'",
    ],
)
def test_what_may_be_the_value_behind_a_quoted_name_is_redacted(text: str) -> None:
    assert SECRET not in redact(text.replace("{}", SECRET))


@pytest.mark.parametrize(
    "text",
    [
        "src/auth/token.ts:12:3 - error TS2345",
        "src/auth/token.py:12",
        '{"evidence": ["src/auth/token.py:12-15", "test_password.go:7"]}',
        "tests/test_token.py: 12 passed",
        "see token.py:12, secrets.rs:3: warning, and api_key.tsx:120.",
        "FAILED tests/test_token.py::test_login[a] - assert 1 == 2",
    ],
)
def test_a_place_in_a_source_file_is_no_secret(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "src/token.py:{}",
        "src/token.py: {}",
        "src/token.py:12:{}",
        "src/token.py:12{}",
        "src/token.py:1234567890123",
        "token.value: 12",
        "token: 12",
        '{"token.py": 12}',
        "token.py=12",
        'src/token.py:12:token = "{}"',
        "src/token.py: :{}",
        "src/token.py::{}",
        "'src/token.py :12 {}'",
        "'src/token.py:12]{}'",
    ],
)
def test_behind_a_file_that_sounds_secret_only_a_place_is_shown(text: str) -> None:
    shown = redact(text.replace("{}", SECRET))
    assert SECRET not in shown
    assert MARK in shown


@pytest.mark.parametrize("text", ["secrets.yaml:3:password: {}", "secret: password = {}", "token: token: 'two {}'"])
def test_a_name_that_is_the_value_of_another_hides_its_own_value(text: str) -> None:
    shown = redact(text.replace("{}", SECRET))
    assert SECRET not in shown
    assert redact(shown) == shown


@pytest.mark.parametrize(
    "piece",
    [
        "machine a login b password ", "machine a login ", "'token=", "'token=a ", "<password>", "<password a ",
        "htpasswd -b ", "echo 'a", "echo a | sudo ", "printf '%s' ", "identified by '", "create identified by ",
        "password '", "password for ", "sudo <<<", "login <<< ", "secret set a=", "secret set ", "cargo login --a ",
        ";token=", "a=b;token=", "smbclient -U a", "--from-literal=a='", "mysqladmin ", '\\"token=', "token=a;b",
        "login; -p a", "login; ", "echo a | x; sudo -S ", "curl ' ; ", "mysql ; -p",
        "grep 'token=' ", "rg 'token='", "'token=',",
    ],
)  # fmt: skip
def test_a_text_that_is_all_beginnings_of_secrets_is_redacted_in_time(piece: str) -> None:
    redact(piece * (size(30_000, 100_000) // len(piece)))


@pytest.mark.parametrize(
    "command",
    [
        "vault read -field=password secret/db", "op read op://vault/db/password", "pass show db",
        "aws secretsmanager get-secret-value --secret-id db --query SecretString --output text",
        "gcloud secrets versions access latest --secret=db",
        "kubectl get secret db -o jsonpath='{.data.p}' | base64 -d",
        "security find-generic-password -s db -w", "az keyvault secret show -n db --vault-name v --query value -o tsv",
        "bw get password db", "heroku config:get DATABASE_URL -a shop", "printenv DB_PASSWORD", "echo $DB_PASSWORD",
        'echo "${API_TOKEN}"', "cat /run/secrets/db", "terraform output -raw db_password", "openssl rand -hex 32",
        "gopass show -o db", "doppler secrets get DB --plain", "cd infra && sudo -E vault kv get -field=x secret/db",
        # in another shell
        ["bash", "-lc", "op read op://a/b/c"], ["bash", "-lc", "cat /run/secrets/db"], ["op", "read", "op://a/b/c"],
        "bash -c 'op read op://a/b/c'", "sh -c 'cd x; op read op://a/b/c'", "eval op read op://a/b/c",
        "eval 'op read' op://a/b/c", "ssh host 'op read op://a/b/c'", "ssh -p 22 host op read op://a/b/c",
        "sudo op read op://a/b/c", "env X=1 op read op://a/b/c", "timeout 5 op read op://a/b/c",
        "timeout 5 sudo bash -c \"ssh host 'op read op://a/b/c'\"", "bash -c 'echo $DB_PASSWORD'",
        "bash <<'EOF'\nop read op://a/b/c\nEOF", "ssh host bash -s <<EOF\nop read op://a/b/c\nEOF",
        "echo 'op read op://a/b/c' | sh", "su - ada -c 'op read op://a/b/c'", "docker exec x sh -c 'pass show db'",
        # other forms
        "kubectl get secret/db -o jsonpath='{.data.p}'", "kubectl -n x get secrets/db -o yaml | base64 -d",
        "oc get pods,secrets -o yaml", "security find-generic-password -ws db", "/usr/local/bin/op read op://a/b/c",
        "op.exe read op://a/b/c", "echo $(op read op://a/b/c)", "cat <<< $(op read op://a/b/c)",
        "cat < <(op read op://a/b/c)", "cat <<EOF\n$(op read op://a/b/c)\nEOF",
        # files and variables
        "cat < /run/secrets/db", "cd /run/secrets && cat db", "xxd /run/secrets/db", "sed -n p /var/run/secrets/db",
        "grep . /run/secrets/db", "grep -r . /run/secrets", "head -1 /run/secrets/db", "tail /run/secrets/db",
        "for f in /run/secrets/*; do cat $f; done", "dd if=/run/secrets/db", "F=/run/secrets/db; cat $F",
        "cat <<< $DB_PASSWORD", "echo ${!X_PASSWORD}", "cat <<EOF\n${DB_PASSWORD}\nEOF", "echo $env:DB_PASSWORD",
        "true " * 4_000 + "; op read op://a/b/c",
    ],
)  # fmt: skip
def test_what_a_command_prints_to_show_a_secret_is_masked_whole(command: str | list[str]) -> None:
    facts = start_facts("Bash", {"command": command}, kind="shell", changes=True)
    assert facts["masked"] is True
    assert end_facts("hunter two", exit_code=0, started=facts)["result"] == "***"


@pytest.mark.parametrize(
    "command",
    [
        "vault status", "op whoami", "echo $HOME", "printenv PATH", "cat README.md", "openssl version", "pass ls",
        ["bash", "-lc", "op whoami"], "bash -c 'cat README.md'", "kubectl get pods", "git commit -m 'mask op read'",
        "cat > run.sh <<'EOF'\necho $DB_PASSWORD\nEOF", "cat <<< $HOME", "pytest -q tests/test_secrets.py",
    ],
)  # fmt: skip
def test_other_commands_keep_their_output(command: str | list[str]) -> None:
    facts = start_facts("Bash", {"command": command}, kind="shell", changes=True)
    assert end_facts("hunter two", exit_code=0, started=facts)["result"] == "hunter two"


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("Read", {"file_path": "/run/secrets/db"}, "read"),
        ("shell", {"command": ["cat", "db"], "workdir": "/run/secrets"}, "shell"),
        ("shell", {"action": {"commands": ["ls", "op read op://a/b/c"]}}, "shell"),
        ("write_stdin", {"session_id": 1, "chars": "op read op://a/b/c\n"}, "shell"),
    ],
)
def test_other_calls_that_show_a_secret_are_masked_too(name: str, arguments: dict[str, object], kind: str) -> None:
    facts = start_facts(name, arguments, kind=kind)
    assert end_facts("hunter two", exit_code=0, started=facts)["result"] == "***"

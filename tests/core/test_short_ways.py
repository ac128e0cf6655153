"""Plain texts have nothing to clean, and no secret in a path is kept."""

from hypothesis import given
from hypothesis import strategies as st

from punchlist.core.grounding.observe import named_files, start_facts
from punchlist.core.grounding.places import places
from punchlist.text.cleaning import clean, is_plain
from punchlist.text.redaction import redact
from tests.core.test_redaction import FRAMES, NAMES, SHAPES, VALUES
from tests.text.hostile import hostile_texts

COMMANDS = st.sampled_from([
    "curl -u ada:{} host", "curl -b 'sid={}' host", "http -a ada:{} host", "mysql -u root -p{} db", "zip -P {} out.zip",
    "redis-cli -h host -a {} ping", "openssl rsa -passin pass:{}", "openssl enc -k {}", "ldapsearch -x -w {}",
    "kubectl create secret generic x --from-literal=pw={}", "gh secret set FOO --body '{}'", "set -x TOKEN {}",
    "echo {} | gh auth login --with-token", "echo {} | sudo -S ls", "https://{}@host/x", "postgres://ada:{}@host/db",
    "https://hooks.slack.com/services/{}", "/api/webhooks/{}", "whsec_{}", "12345678:AA{}", "Basic {}", "digest {}",
    "Cookie: a={}", "Authorization: {}", "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
    "{}\n-----END PRIVATE KEY-----", '["X-Api-Key", "{}"]', "file:///home/ada/{}", "FILE:{}",
    "git config github.token {}", "machine h login ada password {}", "PASSWORD '{}'", "create x identified by {}",
    "identified by '{}'", "printf %s {} | sudo -S ls", "sudo -S <<< {}", "cargo login {}", "vault login {}",
    "ngrok authtoken {}", "snyk auth {}", "fly secrets set A={}", "keytool -storepass {}", "sqlcmd -P {}",
    "smbclient -U a%{}", "sqlplus a/{}@d", "ssh-keygen -N {}", "htpasswd -b f u {}", "mysqladmin password {}",
    "<password>{}</password>", "<a:token>{}</a:token>", "'TOKEN=a {}'", "A=b;Password=a {};", "bot12345678:AA{}",
    "password is {}", "ENV TOKEN {}", "-PASSWORD = {}", "password == {}",
])  # fmt: skip
"""Everything that is known by what stands before it, or behind."""

SIGNS = [
    "pass",
    "secret",
    "token",
    "key",
    "auth",
    "authorization",
    "cookie",
    "bearer",
    "://",
    "passw",
    "ghp_",
    "sk-",
    "eyJ",
]
ORDINARY = st.sampled_from([
    "src/app/login.py", "/home/ada/project/a b.py", "def login(user):\n    return None", "the file was changed", " ",
    "\n", "  ", "3 passed", "C:\\app\\a.py", '"', "'", ",", ":", "=", "-", "/", "@", "|", "\\", "set", "config", "{",
    "}", "%s", "\t", "\x00", "\x1b[1m", "\x7f", "é", "İ", "ſ", "\u200b", "FILE:", "MEDIA:x",
    "inside", "passes", "<", ">", "<<<", "ENV ", "; ", " && ",
])  # fmt: skip
SECRETS = st.one_of(
    SHAPES,
    st.tuples(NAMES, VALUES, FRAMES).map(lambda given: given[2].format(name=given[0], value=given[1])),
    st.tuples(COMMANDS, VALUES).map(lambda given: given[0].format(given[1])),
    st.sampled_from(SIGNS),
    st.sampled_from(SIGNS).map(str.upper),
)
TEXTS = st.lists(ORDINARY | ORDINARY | SECRETS | hostile_texts, max_size=6).map("".join)
HARMLESS = st.lists(ORDINARY, max_size=8).map("".join)

KEYS = st.sampled_from([
    "file_path", "path", "old_string", "new_string", "content", "line", "start_line", "target_file", "command", "patch",
    "value", "name", "token", "password", "{x}", "100%", "k" * 70, "é",
])  # fmt: skip
FIELDS = st.one_of(
    TEXTS,
    HARMLESS,
    st.integers(),
    st.booleans(),
    st.none(),
    st.floats(),
    st.lists(TEXTS, max_size=2),
    st.just("x" * 500),
)
ARGUMENTS = st.dictionaries(KEYS | st.text(max_size=3), FIELDS, max_size=6)


@given(TEXTS, st.booleans())
def test_a_plain_text_is_one_that_has_nothing_to_clean(text: str, lines: bool) -> None:
    visible = all(" " <= char <= "~" or (lines and char in "\n\t") for char in text)
    assert is_plain(text, lines=lines) == visible
    assert not visible or clean(text, lines=lines) == (text, ())


@given(TEXTS, SECRETS, st.sampled_from(["file_path", "path", "old_string", "notebook_path", "url"]))
def test_no_secret_in_a_path_is_kept(before: str, secret: str, key: str) -> None:
    arguments = {"line": 3, key: before + secret, "file_path": f"src/{secret}.py"}
    facts = start_facts("tool", arguments, kind="edit", changes=True)
    assert facts.get("files", []) == [redact(path) for path in named_files(arguments)]
    found = [place["path"] for place in places(arguments) or () if len(place["path"]) <= 240]
    assert [place["path"] for place in facts.get("places", ())] == [redact(path) for path in found]

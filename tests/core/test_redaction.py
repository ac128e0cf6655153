"""No secret is shown or stored: what goes into previews, and what never does."""

import json
import re
import string
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from punchlist.text.redaction import MARK, redact, secrecy
from punchlist.text.tool_values import LENGTH, preview, shown_arguments
from tests.sizes import size
from tests.text.hostile import forbidden, hostile_texts

LETTERS = string.ascii_letters + string.digits


def argument_preview(arguments: Any, length: int = LENGTH, *, own: re.Pattern[str] | None = None) -> str:
    return shown_arguments(arguments, length, own=own)


def letters(least: int, most: int | None = None, alphabet: str = LETTERS) -> st.SearchStrategy[str]:
    return st.text(st.sampled_from(alphabet), min_size=least, max_size=most or least)


def shaped(before: str, rest: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return rest.map(lambda text: before + text)


SHAPES = st.one_of(
    shaped("sk-proj-", letters(24, 60)),
    shaped("sk-ant-api03-", letters(40, 90, LETTERS + "_-")),
    shaped("sk-", letters(20, 48)),
    shaped("AKIA", letters(16, 16, string.ascii_uppercase + string.digits)),
    shaped("ASIA", letters(16, 16, string.ascii_uppercase + string.digits)),
    shaped("ghp_", letters(36)),
    shaped("gho_", letters(36)),
    shaped("github_pat_", letters(50, 82, LETTERS + "_")),
    shaped("glpat-", letters(20)),
    shaped("xoxb-", letters(20, 60, LETTERS + "-")),
    shaped("xapp-1-", letters(20, 60)),
    shaped("AIza", letters(35)),
    shaped("hf_", letters(34)),
    shaped("npm_", letters(36)),
    shaped("pypi-", letters(60)),
    shaped("sk_live_", letters(24)),
    shaped("SG.", st.tuples(letters(22), letters(43)).map(".".join)),
    shaped("eyJ", st.tuples(letters(20), letters(40), letters(43)).map(".".join)),
    shaped("hvs.", letters(24)),
    shaped("dop_v1_", letters(64, 64, "0123456789abcdef")),
    shaped("lin_api_", letters(40)),
    shaped("gsk_", letters(52)),
)

NAMES = st.sampled_from([
    "password", "PASSWORD", "db_password", "dbPassword", "PGPASSWORD", "MYSQL_ROOT_PASSWORD", "passwd", "pwd",
    "passphrase", "secret", "client_secret", "CLIENT_SECRET", "SecretKey", "secret-key", "token", "access_token",
    "accessToken", "GITHUB_TOKEN", "auth_token", "api_key", "API_KEY", "apiKey", "X-Api-Key", "OPENAI_API_KEY",
    "AWS_SECRET_ACCESS_KEY", "aws_secret_access_key", "private_key", "STRIPE_KEY", "KEY", "DB_PASS", "credentials",
    "session_token", "JWT", "refresh_token", "bearer", "encryption_key", "SIGNING_KEY", "signature",
])  # fmt: skip
VALUES = shaped("Zq9", letters(4, 40, LETTERS + "!#%+./:@^_~-"))
"""Values of no known shape, with what people put into passwords, and unlike any word of the texts around them."""

FRAMES = st.sampled_from([
    "{name}={value}", "export {name}={value} && run", "{name}: {value}", '{name}="{value}"', "{name}='{value}'",
    '{{"{name}": "{value}"}}', '{{"a": {{"{name}":"{value}", "b": 1}}}}', "--{name}={value}", "--{name} {value} --x",
    "x --{name} '{value}'", "http://host/?a=1&{name}={value}&b=2", "{name} = {value}", "a={name}={value}",
    '"{{\\"{name}\\": \\"{value}\\"}}"', "{name} => '{value}'", "{name}:={value}", "config['{name}'] = '{value}'",
    "line\n{name}={value}\nline", "run --data {name}={value}",
])  # fmt: skip
SURROUNDINGS = st.sampled_from(
    ["{}", "x {} y", '"{}"', "'{}'", "({})", "a={}", "[{}]", "{},", "\n{}\n", "echo {};ls", "<{}>"]
)


@given(SHAPES, SURROUNDINGS)
def test_a_secret_of_a_known_shape_is_redacted_wherever_it_stands(secret: str, around: str) -> None:
    text = around.format(secret)
    assert secret not in redact(text)
    assert secret[8:] not in redact(text)


@given(NAMES, VALUES, FRAMES)
@example("password", "Zq900PW", "{name} = {value}")
def test_a_value_behind_a_secret_name_is_redacted(name: str, value: str, frame: str) -> None:
    shown = redact(frame.format(name=name, value=value))
    assert value not in shown
    assert MARK in shown


@given(shaped("Zq9", letters(4, 30, LETTERS + "!%+._~-")), letters(1, 12))
def test_a_password_in_an_address_is_redacted(password: str, user: str) -> None:
    shown = redact(f"postgres://{user}:{password}@host:5432/db and https://{password * 3}@github.com/x.git")
    assert password not in shown


@given(
    shaped("Zq9", letters(8, 60, LETTERS + "._~+/=-")),
    st.sampled_from(["Bearer", "Basic", "token", "bearer", "ApiKey"]),
)
def test_what_authorizes_is_redacted(value: str, scheme: str) -> None:
    for text in (
        f"Authorization: {scheme} {value}",
        f"curl -H 'Authorization: {scheme} {value}' http://x",
        f'{{"authorization": "{scheme} {value}"}}',
        f"Proxy-Authorization: {scheme} {value}\nHost: x",
        f"Cookie: a=b; session={value}",
    ):
        assert value not in redact(text)


@given(
    letters(40, 400, LETTERS + "+/\n"), st.sampled_from(["RSA ", "", "OPENSSH ", "EC ", "ENCRYPTED "]), st.booleans()
)
def test_a_private_key_is_redacted_even_when_its_end_is_missing(body: str, kind: str, closed: bool) -> None:
    text = f"before\n-----BEGIN {kind}PRIVATE KEY-----\n{body}\n" + (
        f"-----END {kind}PRIVATE KEY-----\nafter" if closed else ""
    )
    shown = redact(text)
    assert body not in shown
    assert shown.startswith("before\n***")
    assert ("after" in shown) == closed


def test_the_rest_of_a_private_key_is_redacted_when_its_beginning_is_missing() -> None:
    assert redact("MIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----\nafter") == "***\nafter"


@pytest.mark.parametrize(
    "command",
    [
        "TOKEN=$TOKEN PASSWORD=${PASSWORD} run",
        "max_tokens=4096 tokens: 7",
        "author: ada, secretary: bob, passes: 3",
        "3 passed, 1 failed; keys: 5; key=name",
        '{"password": null, "token": true}',
        "git@github.com:x/y.git ssh://git@host/x",
        "PRIMARY_KEY=id PUBLIC_KEY=abc",
        "task-management-system",
        "pytest -p no:randomly -k token",
    ],
)
def test_commands_keep_what_is_no_secret(command: str) -> None:
    assert redact(command) == command


@pytest.mark.parametrize(
    "name", ["monkey", "keyboard", "author", "tokens", "max_tokens", "passes", "pass", "key", "authority", ""]
)
def test_names_that_only_sound_secret_are_not(name: str) -> None:
    assert secrecy(name) != "sure"


SECRET = "hunter2SECRETzz9"


@pytest.mark.parametrize(
    "arguments",
    [
        {"password": {"value": SECRET}},
        {"passwords": [SECRET]},
        {"tokens": {"a": SECRET}},
        {"credentials": {"a": SECRET}},
        {"auth": ["ada", SECRET]},
        {"auth": {"user": "ada", "pass": SECRET}},
        {"pass": SECRET},
        {"key": SECRET},
        {"a": {"sort": 1, "key": [SECRET]}},
        {"headers": [["X-Api-Key", SECRET]]},
        {"headers": [{"name": "Authorization", "value": SECRET}]},
        {"env": [{"name": "FOO_TOKEN", "value": SECRET}]},
        {"environment": [{"Key": "DB_PASSWORD", "Value": SECRET}]},
    ],
)
def test_a_secret_field_is_masked_whatever_its_value_is_made_of(arguments: dict[str, object]) -> None:
    assert SECRET not in argument_preview(arguments, 1000)
    assert SECRET not in redact(json.dumps(arguments))
    assert SECRET not in redact(json.dumps(arguments, indent=2))
    assert SECRET not in redact(json.dumps(json.dumps(arguments)))


@pytest.mark.parametrize(
    "command",
    [
        "PASS={} ./run",
        "AUTH={} ./run",
        "stripe_key={} ./run",
        "docker login -u a -p {} registry",
        "redis-cli -h host -a {} ping",
        "sshpass -p'{}' ssh host",
        "openssl rsa -passin pass:{} -in key.pem",
        "openssl enc -aes-256-cbc -k {}",
        "zip -P {} out.zip a",
        "ldapsearch -x -D cn=admin -w {}",
        "aws configure set aws_secret_access_key {}",
        "npm config set //registry/:_authToken {}",
        "git config --global github.token {}",
        "gh auth login --with-token <<< {}",
        "echo {} | gh auth login --with-token",
        "echo -n '{}' | docker login --password-stdin -u ada",
        "gh secret set FOO --body '{}'",
        "set -x TOKEN {}",
        "setx API_KEY {}",
        "curl 'https://host/path?key={}'",
        "curl -b 'sid={}' host",
        "curl --cookie sid={} host",
        "curl -U ada:{} host",
        "http -a ada:{} host",
        'curl -H \'Authorization: Digest username="a", response="{}"\' host',
        "kubectl create secret generic x --from-literal=pw={}",
        "password\u00a0=\u00a0{}",
        "password=abc\\ {}",
        "password:\n  {}",
        "passwords:\n  - {}",
        "secret: |\n  {}",
        "tokens = ['{}']",
        "requests.get(url, auth=('ada', '{}'))",
    ],
)
def test_no_usual_command_line_shows_its_secret(command: str) -> None:
    line = command.format(SECRET)
    assert SECRET not in redact(line)
    assert SECRET not in redact(json.dumps({"command": line}, ensure_ascii=False))
    assert SECRET not in argument_preview({"command": line})


@pytest.mark.parametrize(
    "text",
    [
        "PASS: 12 tests, pass: 12, fail: 0",
        "auth: fix the login of new users",
        "sorted(items, key=lambda item: item.place)",
        "press the key: Enter",
        '{"tokens": {"input": 1200, "output": 80}}',
        '{"key": "sort_by_name", "pass": 3}',
        "foreign_key=users_2024_table1",
        "set the token budget to 4096",
        "cache_key=src/app/page2.tsx",
        "echo hello | grep password",
    ],
)
def test_what_only_sounds_secret_is_shown(text: str) -> None:
    assert redact(text) == text


def test_patterns_of_ones_own_are_redacted_too() -> None:
    own = re.compile(r"acme-\d{4}|")
    assert redact("see acme-1234 and acme-12", own) == f"see {MARK} and acme-12"
    assert preview("see acme-1234", own=own) == argument_preview({"command": "see acme-1234"}, own=own) == f"see {MARK}"


pieces = st.one_of(
    SHAPES,
    hostile_texts,
    st.tuples(NAMES, VALUES, FRAMES).map(lambda given: given[2].format(name=given[0], value=given[1])),
)
texts = st.lists(pieces | st.sampled_from(list("=:\"'\\ \n&;-*,{}[]@/")), max_size=8).map("".join)


@given(texts)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(texts, st.integers(0, 60), st.booleans())
def test_a_preview_is_short_clean_and_on_one_line(text: str, length: int, tail: bool) -> None:
    shown = preview(text, length, tail=tail)
    assert len(shown) <= length
    assert not any(map(forbidden, shown))
    assert "\n" not in shown


@given(SHAPES | VALUES.map("password={}".format), st.integers(0, 3000), st.integers(0, 3000), st.booleans())
def test_no_part_of_a_secret_is_left_at_the_edge_of_a_long_text(
    secret: str, before: int, behind: int, tail: bool
) -> None:
    text = "word " * (before // 5) + secret + " word" * (behind // 5)
    shown = preview(text, tail=tail)
    bare = secret.removeprefix("password=")
    assert not any(bare[start : start + 6] in shown for start in range(len(bare) - 5))


def test_a_short_text_is_shown_whole_and_a_long_one_says_that_it_is_cut() -> None:
    assert preview("  one\n two\t three ") == "one two three"
    assert preview("ab " * 400, 10) == "ab ab ab …"
    assert preview("ab " * 400, 10, tail=True) == "…ab ab ab"
    assert preview("anything", 0) == preview("anything", 0, tail=True) == argument_preview({"a": 1}, 0) == ""


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"command": "ls -l\n", "timeout": 5}, "ls -l"),
        ({"command": ["bash", "-lc", "ls"]}, "bash -lc ls"),
        ({"command": ["bash", "-lc", "TOKEN=abc make test"]}, "bash -lc 'TOKEN=*** make test'"),
        ({"file_path": "a.py", "password": "x y"}, '{"file_path": "a.py", "password": "***"}'),
        ({"env": {"API_KEY": 12345678}}, '{"env": {"API_KEY": "***"}}'),
        ("plain", "plain"),
        (None, ""),
        ([1, 2], "[1, 2]"),
        ({"x": 10**400}, '{"x": "…"}'),
        ({"x": b"\x00"}, '{"x": "bytes"}'),
    ],
)
def test_arguments_are_shown_by_their_command_or_as_short_json(arguments: object, shown: str) -> None:
    assert argument_preview(arguments) == shown


@pytest.mark.parametrize(
    "command",
    [
        ["curl", "-d", f"password=a b {SECRET}", "x"],
        ["docker", "login", "-p", f"it's {SECRET}"],
        ["tool", "--password", f'it\'s "a b" {SECRET}'],
    ],
)
def test_a_command_in_words_hides_its_secrets(command: list[str]) -> None:
    assert SECRET not in argument_preview({"command": command})


def test_arguments_of_any_size_and_depth_have_a_preview() -> None:
    ring: list[object] = []
    ring.append(ring)
    deep: object = 1
    for _ in range(100_000):
        deep = {"a": deep}
    for arguments in (
        ring,
        deep,
        {"a": "x" * 10**7},
        {str(number): number for number in range(10**5)},
        json.loads("[" * 400 + "]" * 400),
    ):
        assert len(argument_preview(arguments)) <= LENGTH


@pytest.mark.parametrize(
    "piece",
    [
        "a=",
        "x",
        'password="',
        "curl -u ",
        "://a:",
        "-----BEGIN PRIVATE KEY-----",
        '"',
        "\\",
        "-a ",
        "eyJ",
        "key:",
        "sk-",
        "password='\\",
        "mysql -p ",
        "key=",
        "key:[",
        "password:{",
        "eyJ-",
        "echo a sudo ",
        "set token ",
        'curl -b "a=',
        'authorization: a="b',
        "secret --body ",
        "password:\n ",
    ],
)
def test_a_hostile_text_is_redacted_in_time(piece: str) -> None:
    redact(piece * (size(30_000, 100_000) // len(piece)))

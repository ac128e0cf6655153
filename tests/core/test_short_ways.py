"""Most of what a call has in it is harmless and small, and takes a short way: it says what the long way says."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.core.grounding.observe import named_files, start_facts
from punchlist.core.grounding.places import places
from punchlist.text import redaction, secret_shapes
from punchlist.text.cleaning import clean, is_plain
from punchlist.text.redaction import MARK, any_of, redact, redacted
from punchlist.text.secret_shapes import _BEHIND, BARE_SIGNS, _compiled
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

SIGNS = [*redaction._SIGNS, *BARE_SIGNS, *(sign for signs, _ in secret_shapes._SHAPES for sign in signs)]
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


def by_the_long_way(text: str) -> str:
    """What `redact` comes to when it asks for each thing that it knows by itself."""
    lowered = text.lower()
    kept = _compiled(secret_shapes._BLOCK).sub(MARK, text)
    kept = _compiled(secret_shapes._END_OF_BLOCK).sub(MARK, kept)
    for _, signs, pattern in _BEHIND:
        if any(sign in lowered for sign in signs):
            kept = secret_shapes._without(_compiled(pattern), kept)
    words = "\n".join(re.findall(r"[A-Za-z0-9_.-]{16,}", kept))
    for signs, shape in secret_shapes._SHAPES:
        if any(sign in words for sign in signs):
            kept = _compiled(rf"(?<![A-Za-z0-9])(?:{shape})[A-Za-z0-9_-]*+").sub(MARK, kept)
    found = tuple(sign for sign in redaction._SIGNS if sign in lowered)
    return redaction._without_named(kept, kept.lower(), found) if found else kept


@pytest.mark.parametrize("sign", redaction._SIGNS)
@pytest.mark.parametrize("mark", ["=", ":", "-", *redaction._PAIRED, "set", "config", "ENV", "ARG"])
def test_every_sign_of_a_name_is_looked_for(sign: str, mark: str) -> None:
    assert redacted(f"a {sign} {mark} b")[1] is redacted(f"{mark}{sign.upper()}")[1] is False


@pytest.mark.parametrize(("character", "sign"), [(char, sign) for char, signs, _ in _BEHIND for sign in signs])
def test_every_sign_of_what_stands_before_a_secret_is_looked_for(character: str, sign: str) -> None:
    assert redacted(f"a{character}b{sign}c")[1] is redacted(f"{sign.upper()}{character}")[1] is False


@pytest.mark.parametrize("sign", [sign for signs, _ in secret_shapes._SHAPES for sign in signs])
def test_every_sign_of_a_shape_is_looked_for(sign: str) -> None:
    assert redacted(f"({sign}{'0' * (16 - len(sign))})")[1] is False


@given(st.sampled_from(_BEHIND).flatmap(lambda row: st.tuples(st.just(row), st.from_regex(_compiled(row[2])))))
def test_no_secret_is_without_the_character_that_comes_with_it(
    found: tuple[tuple[str, tuple[str, ...], str], str],
) -> None:
    (character, _, _), text = found
    assert character in text


@given(TEXTS)
def test_no_secret_passes_because_it_was_not_looked_for(text: str) -> None:
    assert redact(text) == by_the_long_way(text)


@given(TEXTS | HARMLESS, st.data())
def test_of_a_clear_text_each_part_is_clear(text: str, data: st.DataObject) -> None:
    kept, is_clear = redacted(text)
    if is_clear:
        start = data.draw(st.integers(0, len(text)))
        part = text[start : data.draw(st.integers(start, len(text)))]
        assert kept == text
        assert by_the_long_way(part) == part == redact(part, clear=text)


@given(ORDINARY, VALUES)
def test_what_is_not_a_part_of_a_clear_text_is_looked_at(clear: str, value: str) -> None:
    secret = f"password={value}"
    assert redact(secret, clear=clear) == f"password={MARK}"


def test_no_text_is_clear_before_patterns_of_ones_own() -> None:
    assert redacted("a harmless text", re.compile(r"^text")) == ("a harmless text", False)


@given(st.lists(st.text("abk:/_", min_size=1, max_size=5), min_size=1, max_size=6), st.text("abk:/_", max_size=12))
def test_one_pattern_finds_whether_any_word_is_in_a_text(words: list[str], text: str) -> None:
    assert (re.search(any_of(words), text) is not None) == any(word in text for word in words)


@given(TEXTS, st.booleans())
def test_a_plain_text_is_one_that_has_nothing_to_clean(text: str, lines: bool) -> None:
    visible = all(" " <= char <= "~" or (lines and char in "\n\t") for char in text)
    assert is_plain(text, lines=lines) == visible
    assert not visible or clean(text, lines=lines) == (text, ())


@given(TEXTS, SECRETS, st.sampled_from(["file_path", "path", "old_string", "notebook_path", "url"]))
def test_no_secret_in_a_path_is_kept(before: str, secret: str, key: str) -> None:
    arguments = {"line": 3, key: before + secret, "file_path": f"src/{secret}.py"}
    facts = start_facts("tool", arguments, kind="edit", changes=True)
    assert facts.get("files", []) == [by_the_long_way(path) for path in named_files(arguments)]
    found = [place["path"] for place in places(arguments) or () if len(place["path"]) <= 240]
    assert [place["path"] for place in facts.get("places", ())] == [by_the_long_way(path) for path in found]

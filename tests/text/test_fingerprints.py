"""Any value has one form: the same whatever the order of keys, of bounded length, and without its secrets."""

import re
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.detect.loops import LoopState, add_outcome, judge_start
from punchlist.text.tool_values import LONGEST, UNKEYED, Signer, bounded_json
from tests.dialects.test_bombs import BOMBS, bomb

NESTED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)
digest = UNKEYED.digest


def turned(value: Any) -> Any:
    """The value with the keys of all its objects in the other order."""
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {key: turned(entries[key]) for key in reversed(entries)}
    return [turned(entry) for entry in cast("list[Any]", value)] if isinstance(value, list) else value


@pytest.mark.requirement("loops.key-order")
@given(NESTED)
def test_the_order_of_keys_does_not_count(value: Any) -> None:
    assert bounded_json(value) == bounded_json(turned(value))
    assert digest(value) == digest(turned(value))


@given(NESTED, NESTED)
def test_values_with_the_same_form_are_equal(one: Any, other: Any) -> None:
    if bounded_json(one) == bounded_json(other):
        assert repr(ordered(one)) == repr(ordered(other))


def ordered(value: Any) -> Any:
    """The value with the keys of all its objects in order."""
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {key: ordered(entries[key]) for key in sorted(entries)}
    return [ordered(entry) for entry in cast("list[Any]", value)] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (None, "null"),
        (True, "true"),
        (2**64, 2**64 + 1),
        ("\ud83d\ude00 \ud800", "\ud83d\ude00 \ud801"),
        ([], {}),
        (["a", "b"], ["a b"]),
        (["a"], "a"),
        (b"ab", b"ac"),
        ({1: "x"}, {2: "x"}),
        (PurePosixPath("/x"), PurePosixPath("/y")),
        (datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 3, tzinfo=UTC)),
        (ValueError("x"), ValueError("y")),
        ({1, 2}, {1, 3}),
    ],
)
def test_values_that_differ_have_other_hashes(one: Any, other: Any) -> None:
    assert digest(one) != digest(other)


def test_a_value_that_cannot_be_read_has_a_form() -> None:
    assert bounded_json(Unreadable(a=1)) == '"[Unreadable]"'
    assert bounded_json(object()) == '"[object]"'
    assert digest({1, 2}) == digest({2, 1})
    cycle: dict[str, Any] = {}
    cycle["self"] = [cycle]
    assert digest(cycle) == digest(cycle)


class Unreadable(dict[str, Any]):
    def __iter__(self) -> Any:
        raise RuntimeError


@pytest.mark.requirement("loops.totality")
@pytest.mark.parametrize("name", BOMBS)
def test_any_arguments_and_any_result_are_taken(name: str) -> None:
    value = bomb(name)
    for args in (value, {"x": value}, [value], {"todos": value, "plan": value, "action": value}):
        for tool in ("read", "update_plan", "message", "process", "exec"):
            state, verdict = judge_start(LoopState(), "c", tool, args)
            state = add_outcome(state, "c", {"details": value, "content": value})
            add_outcome(state, "d", value, True, name=tool, args=args)
            assert verdict.level == "ok"
            assert len(repr(state)) < 2000


@pytest.mark.requirement("loops.totality")
@pytest.mark.parametrize("name", BOMBS)
def test_what_is_hashed_is_bounded(name: str) -> None:
    assert len(bounded_json(bomb(name))) < 200 * LONGEST


@pytest.mark.requirement("loops.totality")
def test_a_value_that_grows_by_being_shared_is_bounded() -> None:
    value: list[Any] = ["x"]
    for _ in range(60):
        value = [value, value]
    assert len(bounded_json(value)) < 200 * LONGEST
    state, _ = judge_start(LoopState(), "c", "message", {"action": "send"})
    assert add_outcome(state, "c", {"details": {"list": value}}).calls[0].outcome
    many = {"type": "text", "text": "x" * 1_000_000}
    assert add_outcome(state, "c", {"content": [many] * 100_000}).calls[0].outcome


@pytest.mark.requirement("loops.stable-json")
def test_long_texts_count_by_their_ends_and_their_blanks_and_lines() -> None:
    text = "word " * 200_000
    assert digest(text) == digest("word " * 200_000)
    for other in (f"{text}word ", f"y{text[1:]}", f"{text[:-2]}y ", text.replace(" ", "\n", 1), f"{text[:-1]}\n"):
        assert digest(text) != digest(other)


# Secrets.

CALLS = [
    {"command": "mysql -u root -p{} shop"},
    {"command": ["mysql", "-u", "root", "-p{}"]},
    {"argv": ["--user", "ada", "--password", "{}"]},
    {"password": "{}"},
    {"env": [{"name": "DB_PASSWORD", "value": "{}"}]},
    {"login": {"user": "ada", "pass": "{}"}},
    {"file_path": ".env", "content": "PORT=80\nDB_PASSWORD={}\n"},
    {"content": "x = 1\n" * 2_000 + "DB_PASSWORD={}\n" + "y = 2\n" * 2_000},
    {"content": "DB_PASSWORD={}\n" + "y = 2\n" * 2_000},
    {"content": "y = 2\n" * 2_000 + "DB_PASSWORD={}\n"},
    {"body": '{{"user": "ada", "password": "{}"}}'},
    "export TOKEN={}",
]
GUESSES = ("hunter2", "swordfish", "letmein", "correct-horse", "Passw0rd!", "12345678", "iloveyou", "trustno1")


def with_password(value: Any, password: str) -> Any:
    if isinstance(value, dict):
        return {key: with_password(inner, password) for key, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [with_password(inner, password) for inner in cast("list[Any]", value)]
    return value.format(password)


@pytest.mark.requirement("loops.secrets")
@pytest.mark.parametrize("call", CALLS)
def test_no_hash_tells_one_password_from_another(call: Any) -> None:
    assert len({digest(with_password(call, password)) for password in GUESSES}) == 1


@pytest.mark.requirement("loops.secrets")
@pytest.mark.parametrize("before", range(0, 4 * LONGEST, 97))
def test_a_password_at_any_place_of_a_long_text_is_masked(before: int) -> None:
    def text(password: str) -> str:
        return "word " * (before // 5) + f"\nDB_PASSWORD={password}\n" + "rest " * (LONGEST - before // 5)

    assert digest(text("hunter2")) == digest(text("letmein"))


@pytest.mark.requirement("loops.secrets")
def test_what_the_user_calls_a_secret_is_masked() -> None:
    signer = Signer(secrets=re.compile(r'"badge [0-9]+"'))
    assert signer.digest({"say": 'my "badge 123" is'}) == signer.digest({"say": 'my "badge 456" is'})
    assert digest({"say": 'my "badge 123" is'}) != digest({"say": 'my "badge 456" is'})


def test_hashes_with_two_keys_differ() -> None:
    assert Signer(b"one").digest({"a": 1}) != Signer(b"two").digest({"a": 1}) != digest({"a": 1})

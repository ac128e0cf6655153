"""Any value has one form: the same whatever the order of keys, of bounded length, and made in bounded time."""

from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.detect.loops import LoopState, add_outcome, judge_start
from punchlist.detect.signatures import CHARACTERS, digest, is_plain, stable
from tests.dialects.test_bombs import BOMBS, bomb

NESTED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


def turned(value: Any) -> Any:
    """The value with the keys of all its objects in the other order."""
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {key: turned(entries[key]) for key in reversed(entries)}
    return [turned(entry) for entry in cast("list[Any]", value)] if isinstance(value, list) else value


@pytest.mark.requirement("loops.key-order")
@given(NESTED)
def test_the_order_of_keys_does_not_count(value: Any) -> None:
    assert stable(value) == stable(turned(value))


@given(NESTED, NESTED)
def test_values_with_the_same_form_are_equal(one: Any, other: Any) -> None:
    if stable(one) == stable(other):
        assert repr(normal(one)) == repr(normal(other))


def normal(value: Any) -> Any:
    """What JavaScript makes of a value, which has one kind of number."""
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {key: normal(entries[key]) for key in sorted(entries)}
    if isinstance(value, list):
        return [normal(entry) for entry in cast("list[Any]", value)]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return stable(value).strip(b'"').decode()
    return value


@pytest.mark.requirement("loops.stable-json")
@pytest.mark.parametrize(
    ("value", "form"),
    [
        (None, "null"),
        (True, "true"),
        (1.0, "1"),
        (-0.0, "0"),
        (1e-7, "1e-7"),
        (0.000015, "0.000015"),
        (1.5e300, "1.5e+300"),
        (float("nan"), '"NaN"'),
        (float("-inf"), '"-Infinity"'),
        (2**64, '"18446744073709551616"'),
        ("a\n\u2028\x7f é", '"a\\n\u2028\x7f é"'),
        ("\ud83d\ude00 \ud800", '"\U0001f600 \ufffd"'),
        ({"\uffff": 1, "\U0001f600": 2}, '{"\U0001f600":2,"\uffff":1}'),
        ([], "[]"),
        ({}, "{}"),
        ((1, [2]), "[1,[2]]"),
        (b"ab", '{"data":"YWI=","type":"Uint8Array"}'),
        ({1: "x"}, '{"1":"x"}'),
        (PurePosixPath("/x"), '"/x"'),
        (datetime(2026, 1, 2, tzinfo=UTC), '"2026-01-02 00:00:00+00:00"'),
        (object(), '"[object]"'),
    ],
)
def test_values_are_written_as_in_the_original(value: Any, form: str) -> None:
    assert stable(value).decode() == form


@pytest.mark.requirement("loops.stable-json")
def test_a_value_within_itself_is_circular_and_one_that_stands_twice_is_not() -> None:
    cycle: dict[str, Any] = {}
    cycle["self"] = [cycle]
    assert stable(cycle) == b'{"self":["[Circular]"]}'
    twice = [1]
    assert stable([twice, twice]) == b"[[1],[1]]"


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
    assert len(stable(bomb(name))) < 8 * CHARACTERS


@pytest.mark.requirement("loops.totality")
def test_a_value_that_grows_by_being_shared_is_bounded() -> None:
    value: list[Any] = ["x"]
    for _ in range(60):
        value = [value, value]
    assert len(stable(value)) < CHARACTERS
    state, _ = judge_start(LoopState(), "c", "message", {"action": "send"})
    assert add_outcome(state, "c", {"details": {"list": value}}).calls[0].outcome
    many = {"type": "text", "text": "x" * 1_000_000}
    assert add_outcome(state, "c", {"content": [many] * 100_000}).calls[0].outcome


@pytest.mark.requirement("loops.totality")
def test_a_value_that_cannot_be_read_has_a_form() -> None:
    assert stable(Unreadable(a=1)) == b'"[Unreadable]"'
    assert digest({1, 2}) == digest({2, 1})
    assert stable(ValueError("x")) == b'{"message":"x","name":"ValueError"}'


def test_long_texts_count_by_their_ends_and_length() -> None:
    text = "x" * 1_000_000
    assert digest(text) != digest(f"{text}x")
    assert digest(text) != digest(f"y{text[1:]}")
    assert digest(text) == digest("x" * 1_000_000)


@given(NESTED)
def test_ordinary_values_are_plain(value: Any) -> None:
    assert is_plain(value)


@pytest.mark.parametrize("value", [b"x", (1,), {1: 2}, object(), [{"a": {1}}], "x" * 10**6, [0] * 20_000])
def test_other_values_are_not_plain(value: Any) -> None:
    assert not is_plain(value)

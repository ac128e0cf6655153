"""Values from outside as JSON has them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.core.inputs import DEEPEST, to_json_value

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.just("\ud800"),
    lambda parts: st.lists(parts) | st.dictionaries(st.text() | st.integers(), parts) | st.tuples(parts),
    max_leaves=10,
)


@given(ANYTHING)
def test_what_comes_out_can_be_written_and_read_and_is_refused_otherwise(value: Any) -> None:
    try:
        found = to_json_value(value)
    except (TypeError, ValueError):
        return
    assert json.loads(json.dumps(found, allow_nan=False, ensure_ascii=False).encode()) == found
    assert to_json_value(found) == found


@pytest.mark.parametrize(("value", "found"), [(2**64 - 1, 2**64 - 1), (2**64, 2.0**64), ((1, "\ud800"), [1, "\ufffd"])])
def test_what_json_cannot_say_is_said_as_near_as_can_be(value: Any, found: Any) -> None:
    assert to_json_value(value) == found
    assert type(to_json_value(value)) is type(found)


def _deep(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", [10**400, float("nan"), float("inf"), b"x", object(), {1: 2}, {"a": {None: 1}}, _deep(DEEPEST + 1)]
)
def test_what_has_no_words_is_refused(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        to_json_value(value)
    assert to_json_value(_deep(DEEPEST))

"""Small arguments as JSON: the one text is what each of the ways to encode them makes by itself."""

import json
from enum import Enum
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.core.grounding.observing import fingerprint
from punchlist.detect import stable as stable_module
from punchlist.detect.signatures import signature
from punchlist.detect.stable import stable
from punchlist.text.flat import flat_json

values = st.one_of(st.text(), st.integers(), st.booleans(), st.none(), st.floats(), st.lists(st.integers(), max_size=2))
arguments = st.dictionaries(st.text(max_size=5), values, max_size=5)


@given(arguments)
def test_it_is_the_text_that_is_hashed_without_it(given: dict[str, Any]) -> None:
    flat = flat_json(given)
    if flat is not None:
        assert flat.decode() == json.dumps(given, sort_keys=True, separators=(",", ":"))
        assert fingerprint(given, flat) == fingerprint(given)
        assert signature("Read", given, flat) == signature("Read", given)
        assert signature("todo", given, flat) == signature("todo", given)


@given(st.one_of(arguments, st.text()))
def test_the_stable_form_is_the_same_by_the_short_way(given: object) -> None:
    short = stable(given)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stable_module, "flat_json", _none)
        patch.setattr(stable_module, "TEXT", -1)
        patch.setattr(stable_module, "CHARACTERS", 0)
        whole = stable(given)
    if all(len(text) <= 128 for text in _texts(given)):
        assert sha256(short).digest() == sha256(whole).digest()


def _none(_: object) -> None:
    return None


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [text for entry in (*value, *value.values()) for text in [entry] if isinstance(text, str)]


class Own(str, Enum):  # noqa: UP042 - shown as `Own.KEY`, unlike a StrEnum
    KEY = "key"


@pytest.mark.parametrize("key", ["{", "}", "{0}", "{}", "%s", '"', "\\", "a b"])
def test_a_key_may_look_like_a_template(key: str) -> None:
    assert (
        flat_json({key: key, "a": 1}) == json.dumps({key: key, "a": 1}, sort_keys=True, separators=(",", ":")).encode()
    )
    assert flat_json({"key": 1}) != flat_json({Own.KEY: 1})


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        "x",
        {"a": 1.5},
        {"a": [1]},
        {1: "a"},
        {"é": 1},
        {"a": "\x7f"},
        {"a": 2**60},
        {"a": "x" * 40_000},
        {Own.KEY: 1},
    ],
)
def test_what_encoders_write_in_different_ways_has_none(given: object) -> None:
    assert flat_json(given) is None

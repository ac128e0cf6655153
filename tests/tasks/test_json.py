"""State, metadata and results are JSON, of any kind, within one limit."""

from collections.abc import Callable
from typing import Any

import pytest

from punchlist import Task
from punchlist.errors import InvalidInput
from tests.tasks.boards import Desk

WAYS: dict[str, Callable[[Desk, Any], Task]] = {
    "create": lambda desk, value: desk.tasks.create("two", metadata={"k": value}, state=value),
    "update": lambda desk, value: desk.tasks.update("1", metadata={"k": value}, result=value),
    "complete": lambda desk, value: desk.tasks.complete("1", result=value),
    "wait": lambda desk, value: desk.tasks.wait("1", state=value),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_lone_surrogate_is_replaced_in_every_value_as_it_is_in_every_text(desk: Desk, way: str) -> None:
    desk.tasks.create("one")
    task = WAYS[way](desk, "cut \ud83d")
    assert "cut \ufffd" in (task.metadata.get("k"), task.state, task.result)
    assert desk.tasks.get(task.id) == task


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("value", "why"),
    [
        (float("nan"), "a number in it is not finite"),
        ([{1, 2}], "it holds a set"),
        ({1: 2}, "a key in it is no text"),
    ],
)
def test_what_json_cannot_say_is_refused_and_nothing_is_changed(desk: Desk, way: str, value: Any, why: str) -> None:
    before = desk.tasks.create("one", metadata={"k": 1})
    with pytest.raises(InvalidInput, match=why):
        WAYS[way](desk, value)
    assert desk.tasks.list() == (before,)


def test_the_state_of_a_task_has_a_limit_however_it_grows(desk: Desk) -> None:
    large = "x" * 600_000
    desk.tasks.create("one", state={"a": large}, metadata={"a": large})
    ways: list[Callable[[], Task]] = [
        lambda: desk.tasks.update("1", state={"b": large}),
        lambda: desk.tasks.update("1", metadata={"b": large}),
        lambda: desk.tasks.wait("1", state={"b": large}),
    ]
    for way in ways:
        with pytest.raises(InvalidInput, match="at most 1000000 fit"):
            way()
    desk.tasks.wait("1")
    with pytest.raises(InvalidInput, match="at most 1000000 fit"):
        desk.tasks.resume("1", state={"b": large})
    assert desk.tasks.update("1", metadata={"a": None, "b": large}, state={"a": ""}).metadata == {"b": large}

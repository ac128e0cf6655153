"""A call of a todo tool, as Hermes shows it to an ACP client."""

from typing import Any

import pytest

from punchlist.acp.reporter import todo_end, todo_start, todo_title
from punchlist.core.todo import Status, TodoItem, TodoList


def entry(number: int) -> dict[str, str]:
    return {"id": str(number), "content": f"Item {number}", "status": "pending"}


@pytest.mark.requirement("acp.todo-call")
@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        ({}, "todo"),
        (None, "todo"),
        ({"todos": "[]"}, "todo"),
        ({"todos": []}, "todo (0 items)"),
        ({"todos": [entry(1)]}, "todo (1 item)"),
        ({"plan": [entry(1), entry(2)]}, "todo (2 items)"),
    ],
)
def test_the_title_says_how_many_items_are_written(arguments: Any, title: str) -> None:
    assert todo_title("todo", arguments) == title


@pytest.mark.requirement("acp.todo-call")
def test_the_start_shows_the_first_eight_items() -> None:
    assert todo_start({}) == "Reading todo list"
    assert todo_start({"todos": [entry(1), "two", 3]}).splitlines() == [
        "Updating todo list",
        "",
        "- pending: Item 1",
        "- pending: two",
        "- pending: ",
    ]
    lines = todo_start({"todos": [entry(number) for number in range(10)]}).splitlines()
    assert lines[-2:] == ["- pending: Item 7", "... 2 more"]


@pytest.mark.requirement("acp.todo-call")
def test_the_end_shows_the_list_and_how_far_it_is() -> None:
    statuses = [Status.COMPLETED, Status.IN_PROGRESS, Status.PENDING, Status.BLOCKED]
    items = [TodoItem(id=str(number), content=f"Item {number}", status=each) for number, each in enumerate(statuses)]
    assert todo_end(TodoList(items=tuple(items))) == (
        "**Todo list**\n\n- ✅ Item 0\n- 🔄 Item 1\n- ⏳ Item 2\n- ⏳ Item 3\n\n"
        "**Progress:** 1 completed, 1 in progress, 2 pending"
    )
    gone = TodoItem(id="9", content="Old", status=Status.CANCELLED)
    assert todo_end(TodoList(items=(gone,))).endswith(
        "- ✗ Old\n\n**Progress:** 0 completed, 0 in progress, 0 pending, 1 cancelled"
    )

"""What reports on tool calls need to know of a list: found out once for each list, however many reports there are."""

from __future__ import annotations

from punchlist.core.grounding import item_key
from punchlist.core.todo import Status, TodoList


class Standing:
    """A list as it stands. `focus` is the id of the item in focus and `key` what events call it, else both are empty.

    `graded` are the completions that have a grade, by key.
    """

    __slots__ = ("focus", "graded", "key", "todos")

    def __init__(self, todos: TodoList) -> None:
        item, plan_id = todos.focus, todos.plan_id
        self.todos = todos
        self.focus = "" if item is None else item.id
        self.key = "" if item is None else item_key(plan_id, item.id)
        done = [item for item in todos.items if item.grade is not None and item.status is Status.COMPLETED]
        self.graded = {item_key(plan_id, item.id): item for item in done}

"""copilot, qwen and cursor to the letter: lists whose items have ids. The rules are in manifest.toml."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from punchlist import Agent, Board, Reply
from punchlist.core.todo import Blocker
from punchlist.dialects import copilot as copilot_dialect
from tests.dialects.boards import lines, memory_board

SMALL = "Warning: Small todo list (<3 items). This task might not need a todo list."
LARGE = "Warning: Large todo list (>10 items). Consider keeping the list focused and actionable."
MANY = "Warning: Did you mean to update so many todos at the same time? Consider working on them one by one."
WROTE = "Successfully wrote todo list"


@pytest.fixture
def board() -> Iterator[Board]:
    with memory_board() as board:
        yield board


def use(board: Board, name: str) -> Agent:
    return board.agent("main", session="s", dialect=name)


def good(reply: Reply) -> Reply:
    assert not reply.is_error, reply.text
    return reply


# copilot


def copilot(number: Any, title: str = "Paint", status: str = "not-started") -> dict[str, Any]:
    return {"id": number, "title": title, "status": status}


def numbered(count: int, done: int = 0) -> list[dict[str, Any]]:
    return [copilot(n, f"Item {n}", "completed" if n <= done else "not-started") for n in range(1, count + 1)]


@pytest.mark.requirement("copilot.statuses", "copilot.reply", "copilot.ids")
def test_copilot_writes_numbers_titles_and_hyphens(board: Board) -> None:
    agent = use(board, "copilot")
    items = [copilot(1, "Paint", "completed"), copilot(2, "Sweep", "in-progress"), copilot(7, "Lock up")]
    reply = good(agent.call("manage_todo_list", {"todoList": items}))
    assert (reply.text, reply.data) == (WROTE, {"todoList": items, "warnings": []})
    assert lines(agent.todos) == ["1 x Paint", "2 > Sweep", "3   Lock up"]
    items[2]["title"] = "Another thing altogether"
    good(agent.call("manage_todo_list", {"todoList": items}))
    assert lines(agent.todos)[2] == "3   Another thing altogether"


@pytest.mark.requirement("copilot.small", "copilot.large", "copilot.many-changes", "copilot.reply")
@pytest.mark.parametrize(
    ("before", "after", "warnings"),
    [
        (0, numbered(2), [SMALL]),
        (0, [], [SMALL]),
        (0, numbered(3), []),
        (0, numbered(4), [MANY]),
        (10, numbered(10, done=3), []),
        (10, numbered(10, done=4), [MANY]),
        (10, numbered(11), [LARGE]),
        (10, numbered(7), []),
        (10, numbered(6), [MANY]),
        (6, numbered(2), [SMALL, MANY]),
    ],
)
def test_copilot_warns_softly(board: Board, before: int, after: list[Any], warnings: list[str]) -> None:
    agent = use(board, "copilot")
    good(agent.call("manage_todo_list", {"todoList": numbered(before)}))
    reply = good(agent.call("manage_todo_list", {"todoList": after}))
    assert reply.text == "\n\n".join([WROTE, "\n".join(warnings)] if warnings else [WROTE])
    assert reply.data["warnings"] == warnings


@pytest.mark.requirement("copilot.required", "copilot.item-errors")
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (None, "todoList is required for write operation"),
        ({"operation": "write"}, "todoList is required for write operation"),
        ({"todoList": "x"}, "todoList is required for write operation"),
        ({"todoList": [3]}, "todoList[0].id must be a number"),
        ({"todoList": [copilot("one")]}, "todoList[0].id must be a number"),
        ({"todoList": [copilot(10**400)]}, "todoList[0].id must be a number"),
        ({"todoList": [copilot(float("nan"))]}, "todoList[0].id must be a number"),
        ({"todoList": [{"id": 1, "status": "completed"}]}, "todoList[0].title must be a string"),
        (
            {"todoList": [copilot(1), copilot(2, status="failed")]},
            "todoList[1].status must be one of not-started, in-progress, completed",
        ),
    ],
)
def test_copilot_refuses_what_is_no_list(board: Board, args: Any, said: str) -> None:
    reply = use(board, "copilot").call("manage_todo_list", args)
    assert (reply.text, reply.is_error) == (f"Error: {said}", True)


@pytest.mark.requirement("copilot.repairs")
@pytest.mark.parametrize(
    "given",
    [
        [copilot("1", "Paint", "in_progress")],
        [copilot(1.0, "Paint", "In Progress")],
        copilot(1, "Paint", "in-progress"),
        json.dumps([copilot(1, "Paint", "doing")]),
    ],
)
def test_copilot_mends_what_usually_goes_wrong(board: Board, given: Any) -> None:
    agent = use(board, "copilot")
    reply = good(agent.call("manage_todo_list", {"todoList": given}))
    assert reply.data["todoList"] == [copilot(1, "Paint", "in-progress")]
    assert lines(agent.todos) == ["1 > Paint"]


@pytest.mark.requirement("copilot.read")
def test_copilots_host_reads_a_markdown_list(board: Board) -> None:
    agent = use(board, "copilot")
    assert good(agent.call("manage_todo_list", {"operation": "read"})).text == "No todo list found."
    items = [copilot(1, "Paint", "completed"), copilot(2, "Sweep", "in-progress"), copilot(3, "Mop")]
    good(agent.call("manage_todo_list", {"operation": "write", "todoList": items}))
    reply = good(agent.call("manage_todo_list", {"operation": "read"}))
    assert reply.text == "# Todo List\n\n- [x] Paint\n- [-] Sweep\n- [ ] Mop"
    assert reply.data == {"todoList": items}


@pytest.mark.requirement("copilot.numbers")
def test_every_item_shows_copilot_a_number_of_its_own(board: Board) -> None:
    agent = use(board, "copilot")
    good(agent.call("manage_todo_list", {"todoList": [copilot(2, "Paint"), copilot(1.5, "Sweep")]}))
    agent.edit({"op": "append", "items": ["Mop", "Lock up"]}, by="ada")
    good(agent.call("manage_todo_list", {"todoList": [copilot(3, "Paint"), copilot(1.5, "Sweep")]}))
    shown = copilot_dialect.rows_of(agent.todos)
    assert [(row["id"], row["title"]) for row in shown] == [(3, "Paint"), (1.5, "Sweep"), (5, "Mop"), (4, "Lock up")]


# qwen

QWEN_SAID = (
    "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. "
    "Please proceed with the current tasks if applicable"
)


def qwen(name: Any, content: Any = "Paint", status: str = "pending", **more: Any) -> dict[str, Any]:
    return {"id": name, "content": content, "status": status, **more}


@pytest.mark.requirement("qwen.reply", "qwen.order-kept")
def test_qwen_answers_with_the_list_and_without_an_order_of_secrecy(board: Board) -> None:
    agent = use(board, "qwen")
    todos = [qwen("a", "Päint", "in_progress"), qwen("b", "Sweep", blockedBy=["a"])]
    reply = good(agent.call("todo_write", {"todos": todos}))
    compact = json.dumps(todos, ensure_ascii=False, separators=(",", ":"))
    assert reply.text == (
        f"{QWEN_SAID}\n\n<system-reminder>\nYour todo list has changed. Here are the latest contents of your todo "
        f"list:\n\n{compact}. Continue on with the tasks at hand if applicable.\n</system-reminder>"
    )
    assert "mention" not in reply.text
    assert reply.data == {"type": "todo_list", "todos": todos}
    assert [item.blocker for item in agent.todos.items] == [None, Blocker("after a")]


@pytest.mark.requirement("qwen.order-unsaid")
def test_qwen_keeps_an_order_that_is_not_spoken_of(board: Board) -> None:
    agent = use(board, "qwen")
    good(agent.call("todo_write", {"todos": [qwen("a"), qwen("b", "Sweep", blockedBy=["a"])]}))
    reply = good(agent.call("todo_write", {"todos": [qwen("a"), qwen("b", "Sweep")]}))
    assert reply.data["todos"][1] == qwen("b", "Sweep", blockedBy=["a"])
    reply = good(agent.call("todo_write", {"todos": [qwen("a"), qwen("b", "Sweep", blockedBy=[])]}))
    assert reply.data["todos"][1] == qwen("b", "Sweep", blockedBy=[])
    assert agent.todos.items[1].blocker is None


@pytest.mark.requirement("qwen.cleared")
def test_qwen_says_that_the_list_is_cleared(board: Board) -> None:
    agent = use(board, "qwen")
    good(agent.call("todo_write", {"todos": [qwen("a")]}))
    reply = good(agent.call("todo_write", {"todos": []}))
    assert reply.text == (
        "Todo list has been cleared.\n\n<system-reminder>\nYour todo list is now empty. "
        "You have no pending tasks in your todo list.\n</system-reminder>"
    )


@pytest.mark.requirement(
    "qwen.todos-array",
    "qwen.ids",
    "qwen.unique-ids",
    "qwen.content",
    "qwen.status",
    "qwen.unknown-fields",
    "qwen.blocked-by",
    "qwen.self-dependency",
    "qwen.unknown-dependency",
    "qwen.cycle",
)
@pytest.mark.parametrize(
    ("todos", "said"),
    [
        ("x", 'Parameter "todos" must be an array.'),
        (["x"], "Each todo must be an object."),
        ([qwen("")], 'Each todo must have a non-empty "id" string of at most 500 characters.'),
        ([qwen(3)], 'Each todo must have a non-empty "id" string of at most 500 characters.'),
        ([qwen("x" * 501)], 'Each todo must have a non-empty "id" string of at most 500 characters.'),
        ([qwen("a", " ")], 'Each todo must have a non-empty "content" string.'),
        (
            [qwen("a", status="cancelled")],
            'Each todo must have a valid "status" (pending, in_progress, completed).',
        ),
        ([qwen("a"), qwen("a")], "Todo IDs must be unique within the array."),
        ([qwen("a", more=1)], 'Unknown field "more" of a todo.'),
        (
            [qwen("a", blockedBy="b")],
            'Each todo "blockedBy" value must be an array of non-empty Todo IDs of at most 500 characters.',
        ),
        (
            [qwen("a"), qwen("b", blockedBy=["a", "a"])],
            'Todo "b" must not contain duplicate blockedBy references.',
        ),
        ([qwen("a", blockedBy=["a"])], 'Todo "a" must not depend on itself.'),
        ([qwen("a", blockedBy=["z"])], 'Todo "a" references unknown dependency "z".'),
        (
            [qwen("a", blockedBy=["b"]), qwen("b", blockedBy=["c"]), qwen("c", blockedBy=["a"]), qwen("d")],
            "Todo dependencies must not contain a cycle.",
        ),
    ],
)
def test_qwen_refuses_in_its_own_words(board: Board, todos: Any, said: str) -> None:
    reply = use(board, "qwen").call("todo_write", {"todos": todos})
    assert (reply.text, reply.is_error) == (said, True)


@pytest.mark.requirement("qwen.unknown-fields")
def test_qwen_refuses_an_unknown_parameter(board: Board) -> None:
    assert use(board, "qwen").call("todo_write", {"todos": [], "merge": True}).text == 'Unknown parameter "merge".'


@pytest.mark.requirement("qwen.ids")
def test_qwen_takes_an_id_of_500_characters(board: Board) -> None:
    good(use(board, "qwen").call("todo_write", {"todos": [qwen("x" * 500)]}))


@pytest.mark.requirement("qwen.failure")
def test_qwen_says_that_a_write_failed_and_why(board: Board) -> None:
    reply = use(board, "qwen").call("todo_write", {"todos": [qwen("a", "x" * 100_001)]})
    assert reply.is_error
    head, reminder = reply.text.split("\n\n")
    assert head == "Failed to modify todos. An error occurred during the operation."
    assert reminder.startswith("<system-reminder>\nTodo list modification failed with error: ")
    assert reminder.endswith(" You may need to retry or handle this error appropriately.\n</system-reminder>")


@pytest.mark.requirement("qwen.plan-rolls")
def test_a_new_list_of_qwens_behind_a_finished_one_is_a_new_plan(board: Board) -> None:
    agent = use(board, "qwen")
    good(agent.call("todo_write", {"todos": [qwen("1", "Paint", "completed")]}))
    first = agent.todos.plan_id
    good(agent.call("todo_write", {"todos": [qwen("1", "Build a boat")]}))
    assert agent.todos.plan_id != first
    assert lines(agent.todos) == ["1   Build a boat"]


# cursor


def cursor(board: Board, todos: Any, *, merge: Any = False) -> Reply:
    return use(board, "cursor").call("todo_write", {"merge": merge, "todos": todos})


@pytest.mark.requirement("cursor.merge", "cursor.merge-adds", "cursor.reply", "cursor.ids")
def test_cursor_merges_by_id_and_leaves_the_rest(board: Board) -> None:
    good(cursor(board, [qwen("a", "Paint", "in_progress"), qwen("b", "Sweep")]))
    reply = good(cursor(board, [{"id": "a", "status": "completed"}, {"id": "b", "content": "Mop"}], merge=True))
    assert reply.text == "Todo list updated: 1 of 2 completed."
    assert reply.data == {"todos": [qwen("a", "Paint", "completed"), qwen("b", "Mop")]}
    good(cursor(board, [qwen("c", "Lock up", "in_progress"), {"id": "d"}], merge=True))
    assert lines(use(board, "cursor").todos) == ["1 x Paint", "2   Mop", "3 > Lock up", "4   d"]


@pytest.mark.requirement("cursor.fewest")
def test_cursor_wants_two_items_for_a_new_list_and_one_for_a_merge(board: Board) -> None:
    assert cursor(board, [qwen("a")]).text == "todos must have at least 2 items"
    good(cursor(board, [qwen("a")], merge=True))


@pytest.mark.requirement("cursor.repairs")
@pytest.mark.parametrize(
    "todos",
    [
        [qwen(1, "Paint", "In-Progress"), qwen("2", "Sweep", "todo")],
        json.dumps([qwen("1", "Paint", "doing"), qwen("2", "Sweep")]),
    ],
)
def test_cursor_mends_what_usually_goes_wrong(board: Board, todos: Any) -> None:
    reply = good(cursor(board, todos))
    assert reply.data["todos"] == [qwen("1", "Paint", "in_progress"), qwen("2", "Sweep")]


@pytest.mark.requirement("cursor.repairs")
def test_cursor_takes_a_single_object_for_a_list_of_one(board: Board) -> None:
    assert good(cursor(board, qwen("a"), merge=True)).data == {"todos": [qwen("a")]}


@pytest.mark.requirement("cursor.errors")
@pytest.mark.parametrize(
    ("merge", "todos", "said"),
    [
        (None, [], "merge must be true or false"),
        (True, "x", "todos must be an array"),
        (True, [{"content": "x"}], "todos[0] needs an id"),
        (True, [{"id": "a", "content": 3}], "todos[0] has a content that is no string"),
        (
            True,
            [{"id": "a", "status": "blocked"}],
            "todos[0] has an unknown status; use pending, in_progress, completed, cancelled",
        ),
        (False, [qwen("a"), {"id": "b"}], "todos[1] needs id, content and status"),
    ],
)
def test_cursor_says_what_is_wrong_in_a_line(board: Board, merge: Any, todos: Any, said: str) -> None:
    reply = cursor(board, todos, merge=merge)
    assert (reply.text, reply.is_error) == (said, True)

"""opencode, gemini, langchain and crush to the letter: whole lists of plain items. Rules: manifest.toml."""

import ast
import json
from collections.abc import Iterator
from typing import Any

import pytest

from punchlist import Agent, Board, Reply
from punchlist.dialects.langchain import PARALLEL
from tests.dialects.boards import lines, memory_board, todo


@pytest.fixture
def board() -> Iterator[Board]:
    with memory_board() as board:
        yield board


def use(board: Board, name: str) -> Agent:
    return board.agent("main", session="s", dialect=name)


def good(reply: Reply) -> Reply:
    assert not reply.is_error, reply.text
    return reply


# opencode


def opencode(content: str = "Paint", status: Any = "pending", priority: Any = "high") -> dict[str, Any]:
    return {"content": content, "status": status, "priority": priority}


@pytest.mark.requirement("opencode.annotations")
def test_opencode_names_its_permission(board: Board) -> None:
    assert use(board, "opencode").tools[0].annotations == {"permission": "todowrite", "subagents": "deny"}


@pytest.mark.requirement("opencode.echo", "opencode.title", "opencode.any-status", "opencode.any-priority")
def test_opencode_echoes_what_was_sent_with_an_indent_of_two(board: Board) -> None:
    agent = use(board, "opencode")
    todos = [opencode(), opencode("Säge", "reviewing", "whenever"), opencode("Sweep", "completed", "low")]
    reply = good(agent.call("todowrite", {"todos": todos}))
    assert reply.text == json.dumps(todos, indent=2, ensure_ascii=False)
    assert reply.data == {"title": "2 todos", "metadata": {"todos": todos}}
    assert lines(agent.todos) == ["1   Paint", "2   Säge", "3 x Sweep"]
    assert [item.priority for item in agent.todos.items] == ["high", "whenever", "low"]


@pytest.mark.requirement("opencode.any-status")
@pytest.mark.parametrize(("word", "mark"), [("in-progress", ">"), ("done", "x"), ("Cancelled", "-"), ("", " ")])
def test_opencode_knows_usual_spellings_and_echoes_the_one_sent(board: Board, word: str, mark: str) -> None:
    agent = use(board, "opencode")
    reply = good(agent.call("todowrite", {"todos": [opencode(status=word), opencode("Sweep")]}))
    assert json.loads(reply.text)[0]["status"] == word
    assert lines(agent.todos)[0] == f"1 {mark} Paint"


@pytest.mark.requirement("opencode.echo")
def test_opencode_echoes_an_empty_list(board: Board) -> None:
    assert good(use(board, "opencode").call("todowrite", {"todos": []})).text == "[]"


@pytest.mark.requirement("opencode.schema-errors")
@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"todos": "[]"}, "todos: expected array, received string"),
        ({}, "todos: expected array, received undefined"),
        (None, "todos: expected array, received undefined"),
        ({"todos": ["Paint"]}, "todos[0]: expected object, received string"),
        (
            {"todos": [{"content": "Paint", "status": "pending"}]},
            "todos[0].priority: expected string, received undefined",
        ),
        ({"todos": [opencode(), opencode(status=3)]}, "todos[1].status: expected string, received number"),
    ],
)
def test_opencode_says_what_does_not_fit_its_schema(board: Board, args: Any, said: str) -> None:
    reply = use(board, "opencode").call("todowrite", args)
    assert reply.is_error
    assert reply.text == f"Invalid input at {said}"


@pytest.mark.requirement("opencode.refused-write")
def test_opencode_has_one_sentence_for_what_cannot_be_kept(board: Board) -> None:
    reply = use(board, "opencode").call("todowrite", {"todos": [opencode("x" * 100_001)]})
    assert (reply.text, reply.is_error) == ("Unable to update todos", True)


# gemini


def gemini(description: Any = "Paint", status: Any = "pending", **more: Any) -> dict[str, Any]:
    return {"description": description, "status": status, **more}


@pytest.mark.requirement("gemini.annotations")
def test_gemini_is_for_the_models_that_know_it(board: Board) -> None:
    assert use(board, "gemini").tools[0].annotations == {"models": "gemini-2"}


@pytest.mark.requirement("gemini.reply", "gemini.cleared", "gemini.unknown-fields")
def test_gemini_lists_the_todos_and_says_when_they_are_gone(board: Board) -> None:
    agent = use(board, "gemini")
    reply = good(agent.call("write_todos", {"todos": [gemini(extra=1), gemini("Ask", "blocked")], "more": 2}))
    assert reply.text == (
        "Successfully updated the todo list. The current list is now:\n1. [pending] Paint\n2. [blocked] Ask"
    )
    assert reply.data == {"todos": [gemini(), gemini("Ask", "blocked")]}
    reply = good(agent.call("write_todos", {"todos": []}))
    assert (reply.text, agent.todos.items) == ("Successfully cleared the todo list.", ())


@pytest.mark.requirement(
    "gemini.todos-array", "gemini.item-object", "gemini.description", "gemini.status", "gemini.one-in-progress"
)
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (None, "`todos` parameter must be an array"),
        ({"todos": "[]"}, "`todos` parameter must be an array"),
        ({"todos": [1]}, "Each todo item must be an object"),
        ({"todos": [gemini("")]}, "Each todo must have a non-empty description string"),
        ({"todos": [gemini("\t ")]}, "Each todo must have a non-empty description string"),
        ({"todos": [gemini(None)]}, "Each todo must have a non-empty description string"),
        (
            {"todos": [gemini(status="done")]},
            "Each todo must have a valid status (pending, in_progress, completed, cancelled, blocked)",
        ),
        (
            {"todos": [gemini(status="in_progress"), gemini("Sweep", "in_progress")]},
            'Invalid parameters: Only one task can be "in_progress" at a time.',
        ),
    ],
)
def test_gemini_refuses_in_its_own_words(board: Board, args: Any, said: str) -> None:
    reply = use(board, "gemini").call("write_todos", args)
    assert (reply.text, reply.is_error) == (said, True)


# langchain


@pytest.mark.requirement("langchain.reply", "langchain.several-in-progress")
def test_langchain_answers_with_a_python_literal(board: Board) -> None:
    agent = use(board, "langchain")
    todos = [{"content": "Don't paint", "status": "in_progress"}, {"content": "Sweep", "status": "in_progress"}]
    reply = good(agent.call("write_todos", {"todos": todos}))
    assert reply.text == f"Updated todo list to {todos}"
    assert ast.literal_eval(reply.text.removeprefix("Updated todo list to ")) == todos
    assert lines(agent.todos) == ["1 > Don't paint", "2 > Sweep"]


@pytest.mark.requirement("langchain.once-per-turn")
def test_langchain_says_that_one_call_a_turn_is_enough(board: Board) -> None:
    assert use(board, "langchain").tools[0].annotations == {"oncePerTurn": True}
    assert PARALLEL == (
        "Error: The `write_todos` tool should never be called multiple times in parallel. "
        "Please call it only once per model invocation to update the todo list."
    )


@pytest.mark.requirement("langchain.errors")
@pytest.mark.parametrize(
    ("args", "place"),
    [
        ({}, "todos"),
        ({"todos": "x"}, "todos"),
        ({"todos": [1]}, "todos.0"),
        ({"todos": [{"status": "pending"}]}, "todos.0.content"),
        ({"todos": [{"content": "Paint", "status": "done"}]}, "todos.0.status"),
    ],
)
def test_langchain_names_the_place_that_is_wrong(board: Board, args: Any, place: str) -> None:
    reply = use(board, "langchain").call("write_todos", args)
    assert reply.is_error
    assert f" {place} should be " in reply.text


# crush

CRUSH_SAID = (
    "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. "
    "Please proceed with the current tasks if applicable."
)


def crush(content: str, status: str = "pending", form: str = "") -> dict[str, Any]:
    return {"content": content, "status": status, "active_form": form}


@pytest.mark.requirement("crush.reply", "crush.metadata", "crush.just-changed", "crush.both-forms")
def test_crush_counts_and_tells_what_just_changed(board: Board) -> None:
    agent = use(board, "crush")
    first = [crush("Paint", "in_progress", "Painting"), crush("Sweep"), crush("Lock up", "completed")]
    reply = good(agent.call("todos", {"todos": first}))
    said = "Todo list updated successfully.\n\nStatus: {} pending, {} in progress, {} completed\n" + CRUSH_SAID
    assert reply.text == said.format(1, 1, 1)
    assert reply.data == {
        "is_new": True,
        "todos": first,
        "just_completed": [],
        "just_started": "Painting",
        "completed": 1,
        "total": 3,
    }
    assert [item.active_form for item in agent.todos.items] == ["Painting", None, None]
    second = [crush("Paint", "completed", "Painting"), crush("Sweep", "in_progress"), crush("Lock up", "completed")]
    reply = good(agent.call("todos", {"todos": second}))
    assert reply.text == said.format(0, 1, 2)
    assert (reply.data["is_new"], reply.data["just_completed"]) == (False, ["Paint"])
    assert (reply.data["just_started"], reply.data["completed"]) == ("Sweep", 2)


@pytest.mark.requirement("crush.just-changed")
def test_crush_does_not_take_a_blocked_item_for_one_that_was_just_started(board: Board) -> None:
    todo(board.agent("main", session="s"), set=["Paint", "Sweep"], block={"2": "waits"})
    reply = good(
        use(board, "crush").call("todos", {"todos": [crush("Paint", "in_progress"), crush("Sweep", "in_progress")]})
    )
    assert reply.data["just_started"] == ""


@pytest.mark.requirement("crush.status")
def test_crush_quotes_as_go_does(board: Board) -> None:
    todos = [crush("Paint"), crush('A "tab\t\\ \x01 Ü \u202e', "dö\nne")]
    reply = use(board, "crush").call("todos", {"todos": todos})
    assert reply.is_error
    assert reply.text == r'invalid status "dö\nne" for todo "A \"tab\t\\ \x01 Ü \u202e"'


@pytest.mark.requirement("crush.types")
@pytest.mark.parametrize("args", [{}, {"todos": None}, {"todos": {}}, {"todos": [3]}, {"todos": [{"content": 3}]}])
def test_crush_refuses_other_types_and_a_missing_list(board: Board, args: Any) -> None:
    reply = use(board, "crush").call("todos", args)
    assert reply.is_error
    assert reply.text.startswith("invalid parameters: ")


@pytest.mark.requirement("crush.status")
def test_crush_takes_a_missing_status_for_an_empty_one(board: Board) -> None:
    reply = use(board, "crush").call("todos", {"todos": [{"content": "Paint"}]})
    assert reply.text == 'invalid status "" for todo "Paint"'

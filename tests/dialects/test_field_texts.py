"""roo, goose, kimi and openhands to the letter: texts, and lists that can be read. Rules: manifest.toml."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from punchlist import Agent, Board, Reply
from punchlist.dialects.goose import text_of
from punchlist.dialects.roo import DECLINED
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


# roo


@pytest.mark.requirement("roo.markers", "roo.other-lines", "roo.reply")
def test_roo_reads_its_marks_and_drops_other_lines(board: Board) -> None:
    agent = use(board, "roo")
    text = "# Plan\n[ ] Paint\n[-] Sweep\n  - [~] Mop\n-[x] Lock up\n[ X ] Leave\n* [ ] Not his\n[?] Odd\n[x]Glued\n"
    reply = good(agent.call("update_todo_list", {"todos": text}))
    assert reply.text == "Todo list updated successfully."
    assert reply.data == {"todos": "[ ] Paint\n[-] Sweep\n[-] Mop\n[x] Lock up\n[x] Leave"}
    assert lines(agent.todos) == ["1   Paint", "2 > Sweep", "3 > Mop", "4 x Lock up", "5 x Leave"]


@pytest.mark.requirement("roo.user-edits")
def test_roo_shows_the_list_when_a_person_edited_it(board: Board) -> None:
    agent = use(board, "roo")
    good(agent.call("update_todo_list", {"todos": "[-] Paint\n[ ] Sweep"}))
    agent.edit({"op": "append", "items": ["Lock up"]}, by="ada")
    reply = good(agent.call("update_todo_list", {"todos": "[x] Paint\n[-] Sweep"}))
    assert reply.text == "User edits todo:\n\n[x] Paint\n[-] Sweep\n[ ] Lock up"
    reply = good(agent.call("update_todo_list", {"todos": "[x] Paint\n[x] Sweep"}))
    assert reply.text == "Todo list updated successfully."
    assert lines(agent.todos) == ["1 x Paint", "2 x Sweep"]


@pytest.mark.requirement("roo.user-edits")
def test_roo_does_not_take_what_it_cannot_show_for_a_persons_edit(board: Board) -> None:
    todo(board.agent("main", session="s"), set=["Paint", "Sweep", "Mop"], drop="2", block={"3": "waits"})
    for _ in range(2):
        reply = good(use(board, "roo").call("update_todo_list", {"todos": "[-] Paint\n[-] Mop"}))
        assert reply.text == "Todo list updated successfully."


@pytest.mark.requirement("roo.declined")
def test_roo_has_words_for_a_person_who_declines() -> None:
    assert DECLINED == "User declined to update the todoList."


@pytest.mark.requirement("roo.not-a-list")
@pytest.mark.parametrize("todos", [None, 3, ["[ ] Paint"], {"a": 1}, "[ ] Paint\n" * 100_000])
def test_roo_refuses_what_is_no_text_of_a_list(board: Board, todos: Any) -> None:
    reply = use(board, "roo").call("update_todo_list", {"todos": todos})
    assert (reply.text, reply.is_error) == ("The todos parameter is not valid markdown checklist or JSON", True)


@pytest.mark.requirement("roo.json-items", "roo.json-errors")
@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([{"id": "a", "content": "Paint"}, {"id": "b", "content": "Sweep", "status": "completed"}], None),
        (["Paint"], "Item 1 is not an object"),
        ([{"id": "a", "content": "Paint"}, {"content": "Sweep"}], "Item 2 is missing id"),
        ([{"id": "a", "content": ""}], "Item 1 is missing content"),
        ([{"id": "a", "content": "Paint", "status": "done"}], "Item 1 has invalid status"),
    ],
)
def test_roo_takes_json_and_checks_its_items(board: Board, items: list[Any], said: str | None) -> None:
    agent = use(board, "roo")
    reply = agent.call("update_todo_list", {"todos": json.dumps(items)})
    assert reply.is_error is (said is not None)
    assert reply.text == (said or "Todo list updated successfully.")
    assert lines(agent.todos) == ([] if said else ["1   Paint", "2 x Sweep"])


# goose

NOTES = "Plan for today\n\n- [x] Paint\n  * [>] Mop the floor\n1. [/] Sweep\n+ [-] Ask\n- [?] Odd\nMind the cat."


@pytest.mark.requirement("goose.one-tool")
def test_goose_says_under_which_name_its_host_offers_the_tool(board: Board) -> None:
    assert use(board, "goose").tools[0].annotations == {"exposedAs": "todo__todo_write"}


@pytest.mark.requirement("goose.overwrite", "goose.rows", "goose.other-marks", "goose.reply")
def test_goose_keeps_the_text_and_makes_items_of_its_rows(board: Board) -> None:
    agent = use(board, "goose")
    reply = good(agent.call("todo_write", {"content": NOTES}))
    assert (reply.text, reply.data) == (f"Updated ({len(NOTES)} chars)", {"content": NOTES})
    assert agent.todos.explanation == NOTES
    assert lines(agent.todos) == ["1 x Paint", "2 > Mop the floor", "3 > Sweep", "4   Ask", "5   Odd"]
    good(agent.call("todo_write", {"content": "Nothing to do"}))
    assert (agent.todos.explanation, agent.todos.items) == ("Nothing to do", ())


@pytest.mark.requirement("goose.missing")
@pytest.mark.parametrize("args", [None, {}, {"content": None}, {"content": ["x"]}, "x"])
def test_goose_misses_its_parameter(board: Board, args: Any) -> None:
    reply = use(board, "goose").call("todo_write", args)
    assert (reply.text, reply.is_error) == ("Missing required parameter: content", True)


@pytest.mark.requirement("goose.limit")
def test_goose_takes_fifty_thousand_characters_and_no_more(board: Board) -> None:
    agent = use(board, "goose")
    good(agent.call("todo_write", {"content": "Ü" * 50_000}))
    reply = agent.call("todo_write", {"content": "x" * 50_001})
    assert (reply.text, reply.is_error) == ("Todo list too large: 50001 chars (max: 50000)", True)


@pytest.mark.requirement("goose.limit-setting")
def test_goose_heeds_its_own_setting(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = use(board, "goose")
    monkeypatch.setenv("GOOSE_TODO_MAX_CHARS", "20")
    assert agent.call("todo_write", {"content": "x" * 21}).text == "Todo list too large: 21 chars (max: 20)"
    monkeypatch.setenv("GOOSE_TODO_MAX_CHARS", "0")
    good(agent.call("todo_write", {"content": "x" * 60_000}))
    assert agent.call("todo_write", {"content": "x" * 100_001}).is_error
    monkeypatch.setenv("GOOSE_TODO_MAX_CHARS", "many")
    assert agent.call("todo_write", {"content": "x" * 50_001}).is_error


@pytest.mark.requirement("goose.shown")
def test_goose_is_shown_its_text_with_the_rows_of_now(board: Board) -> None:
    agent = use(board, "goose")
    good(agent.call("todo_write", {"content": "Today\n- [>] Paint\n- [ ] Sweep\nMind the cat.\n- [ ] Mop"}))
    assert text_of(agent.todos) == "Today\n- [>] Paint\n- [ ] Sweep\nMind the cat.\n- [ ] Mop"
    own = board.agent("main", session="s")
    todo(own, set=[{"id": "1", "text": "Paint"}, {"id": "2", "text": "Sweep"}, "Ask", "Mop"], done="1", start="2")
    todo(own, add=["Lock up"])
    assert text_of(agent.todos) == (
        "Today\n- [x] Paint\n- [>] Sweep\nMind the cat.\n- [ ] Ask\n- [ ] Mop\n- [ ] Lock up"
    )
    todo(own, drop="3")
    assert "Mop" not in text_of(agent.todos)


@pytest.mark.requirement("goose.shown")
def test_goose_is_shown_rows_in_the_order_of_the_list(board: Board) -> None:
    agent = use(board, "goose")
    good(agent.call("todo_write", {"content": "- [ ] Paint\n- [ ] Sweep\n- [ ] Mop"}))
    todo(board.agent("main", session="s"), set=["Mop", "Paint", "Sweep"], next=False)
    shown = text_of(agent.todos)
    good(agent.call("todo_write", {"content": shown}))
    assert sorted(item.id for item in agent.todos.items) == ["1", "2", "3"]


# kimi


@pytest.mark.requirement("kimi.read", "kimi.read-empty", "kimi.reply", "kimi.statuses", "kimi.cleared")
def test_kimi_reads_writes_and_clears(board: Board) -> None:
    agent = use(board, "kimi")
    for args in (None, {}, {"todos": None}):
        assert good(agent.call("SetTodoList", args)).text == "Todo list is empty."
    items = [{"title": "Paint", "status": "in_progress"}, {"title": "Sweep", "status": "done"}]
    reply = good(agent.call("SetTodoList", {"todos": items}))
    assert (reply.text, reply.data) == ("Todo list updated", {"items": items})
    revision = agent.todos.revision
    reply = good(agent.call("SetTodoList", {}))
    assert reply.text == "Current todo list:\n- [in_progress] Paint\n- [done] Sweep"
    assert agent.todos.revision == revision
    assert good(agent.call("SetTodoList", {"todos": []})).text == "Todo list updated"
    assert agent.todos.items == ()


@pytest.mark.requirement("kimi.errors")
@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("x", "Input should be a valid dictionary"),
        ({"todos": "x"}, "todos: Input should be a valid list"),
        ({"todos": ["x"]}, "todos.0: Input should be a valid dictionary"),
        ({"todos": [{"status": "done"}]}, "todos.0.title: Field required"),
        ({"todos": [{"title": "", "status": "done"}]}, "todos.0.title: String should have at least 1 character"),
        ({"todos": [{"title": 3, "status": "done"}]}, "todos.0.title: Input should be a valid string"),
        (
            {"todos": [{"title": "Paint", "status": "completed"}]},
            "todos.0.status: Input should be 'pending', 'in_progress' or 'done'",
        ),
    ],
)
def test_kimi_names_the_place_that_is_wrong(board: Board, args: Any, said: str) -> None:
    reply = use(board, "kimi").call("SetTodoList", args)
    assert (reply.text, reply.is_error) == (said, True)


# openhands


@pytest.mark.requirement("openhands.annotations")
def test_openhands_carries_its_hints(board: Board) -> None:
    hints = use(board, "openhands").tools[0].annotations
    assert {name for name, value in hints.items() if value} == {"idempotentHint"}
    assert set(hints) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}


@pytest.mark.requirement(
    "openhands.plan", "openhands.reply", "openhands.defaults", "openhands.statuses", "openhands.view", "openhands.notes"
)
def test_openhands_plans_and_views(board: Board) -> None:
    agent = use(board, "openhands")
    tasks = [
        {"title": "Paint", "notes": "the door", "status": "done"},
        {"title": "Sweep", "status": "in_progress"},
        {"title": "Lock up"},
    ]
    reply = good(agent.call("task_tracker", {"command": "plan", "task_list": tasks}))
    assert reply.text == "Task list has been updated with 3 item(s)."
    assert lines(agent.todos) == ["1 x Paint", "2 > Sweep", "3   Lock up"]
    assert agent.todos.items[0].notes == ("the door",)
    for args in (None, {}, {"command": "view"}):
        reply = good(agent.call("task_tracker", args))
        assert reply.text == "# Task List\n\n1. ✅ Paint\n   the door\n\n2. 🔄 Sweep\n\n3. ⏳ Lock up"
    assert reply.data["task_list"][2] == {"title": "Lock up", "notes": "", "status": "todo"}
    good(agent.call("task_tracker", {"command": "plan", "task_list": [{"title": "Paint"}]}))
    assert agent.todos.items[0].notes == ()


@pytest.mark.requirement("openhands.view-empty")
def test_openhands_says_how_to_create_a_list(board: Board) -> None:
    reply = good(use(board, "openhands").call("task_tracker", {"command": "view"}))
    assert reply.text == 'No task list found. Use the "plan" command to create one.'


@pytest.mark.requirement("openhands.several-notes")
def test_openhands_shows_several_notes_as_one_and_keeps_them_apart(board: Board) -> None:
    own = board.agent("main", session="s")
    todo(own, set=["Paint", "Sweep"], note={"1": "the door"})
    todo(own, note={"1": "in red"})
    agent = use(board, "openhands")
    shown = good(agent.call("task_tracker")).data["task_list"]
    assert shown[0]["notes"] == "the door in red"
    good(agent.call("task_tracker", {"command": "plan", "task_list": shown}))
    assert agent.todos.items[0].notes == ("the door", "in red")


@pytest.mark.requirement("openhands.unknown-command", "openhands.errors")
@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"command": "drop"}, 'Unknown command: drop. Supported commands are "view" and "plan".'),
        ({"command": 3}, 'Unknown command: number. Supported commands are "view" and "plan".'),
        ("x", "Input should be a valid dictionary"),
        ({"command": "plan", "task_list": "x"}, "task_list: Input should be a valid list"),
        ({"command": "plan", "task_list": [3]}, "task_list.0: Input should be a valid dictionary"),
        ({"command": "plan", "task_list": [{"notes": "x"}]}, "task_list.0.title: Field required"),
        (
            {"command": "plan", "task_list": [{"title": "x", "notes": 3}]},
            "task_list.0.notes: Input should be a valid string",
        ),
        (
            {"command": "plan", "task_list": [{"title": "x", "status": "completed"}]},
            "task_list.0.status: Input should be 'todo', 'in_progress' or 'done'",
        ),
    ],
)
def test_openhands_refuses_what_it_does_not_know(board: Board, args: Any, said: str) -> None:
    reply = use(board, "openhands").call("task_tracker", args)
    assert (reply.text, reply.is_error) == (said, True)

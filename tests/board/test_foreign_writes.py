"""Whole lists from programs that give items ids of their own."""

import pytest

from punchlist import Board, Status, TodoItem
from punchlist.errors import EditRefused, InvalidInput

FIX, SHIP = {"id": "a1f3", "content": "Fix it"}, {"id": "b2c4", "content": "Ship it", "status": "in_progress"}


def test_foreign_ids_are_kept_and_find_the_item_again(board: Board) -> None:
    agent = board.agent("main", session="s")
    first = agent.write([FIX, SHIP], ids="pydantic-ai")
    then = agent.write([SHIP, {**FIX, "content": "Repair everything"}], ids="pydantic-ai")
    assert [item.aliases for item in first.items] == [{"pydantic-ai": "a1f3"}, {"pydantic-ai": "b2c4"}]
    assert [(item.id, item.content) for item in then.items] == [("2", "Ship it"), ("1", "Repair everything")]
    assert agent.write([SHIP, {**FIX, "content": "Repair everything"}], ids="pydantic-ai").revision == then.revision


def test_what_a_person_changed_since_survives_the_next_whole_write(board: Board) -> None:
    agent = board.agent("main", session="s")
    agent.write([FIX, SHIP], ids="pydantic-ai")
    agent.edit([{"op": "append", "items": "Tell ada"}, {"op": "done", "item": "1"}], by="ada")
    todos = agent.write([FIX, SHIP, {"id": "c3", "content": "Clean up"}], ids="pydantic-ai")
    assert {item.content: item.status.value for item in todos.items} == {
        "Fix it": "completed",
        "Ship it": "in_progress",
        "Tell ada": "pending",
        "Clean up": "pending",
    }


def test_what_the_program_read_and_leaves_out_is_set_aside(board: Board) -> None:
    agent = board.agent("main", session="s")
    agent.write([FIX, SHIP], ids="pydantic-ai")
    read = agent.edit({"op": "append", "items": "Tell ada"}, by="ada")
    todos = agent.write([FIX, SHIP], ids="pydantic-ai", seen=read.revision)
    assert ([item.id for item in todos.items], [item.content for item in todos.omitted]) == (["1", "2"], ["Tell ada"])


def test_an_item_without_a_status_keeps_its_own(board: Board) -> None:
    agent = board.agent("main", session="s")
    agent.write([SHIP], ids="agent-framework")
    agent.edit({"op": "block", "item": "1", "reason": "waits for ada"}, by="ada")
    todos = agent.write([{"id": "b2c4", "content": "Ship it today"}], ids="agent-framework")
    assert (todos.items[0].status, todos.items[0].content) == (Status.BLOCKED, "Ship it today")


@pytest.mark.parametrize("items", [["Fix it"], [{"content": "Fix it"}], [{**FIX, "status": "soon"}], [{"id": "a"}]])
def test_a_bad_item_is_refused_and_changes_nothing(board: Board, items: list[dict[str, str]]) -> None:
    agent = board.agent("main", session="s")
    with pytest.raises((InvalidInput, EditRefused)):
        agent.write([SHIP, *items], ids="pydantic-ai")
    assert agent.todos.revision == 0


def test_a_status_as_a_text_is_one_and_another_text_is_refused_at_once() -> None:
    item = TodoItem(id="1", content="Fix it", status="completed", active_form="")  # pyright: ignore[reportArgumentType]
    assert (item.status, item.active_form, item.is_open) == (Status.COMPLETED, None, False)
    with pytest.raises(InvalidInput):
        TodoItem(id="1", content="Fix it", status="soon")  # pyright: ignore[reportArgumentType]

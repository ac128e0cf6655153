"""A list that comes back: what restoring does to a board, and what it leaves alone."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from punchlist import Agent, Board, Status
from punchlist.errors import InvalidInput, TranscriptUnknown
from punchlist.testing import FakeClock
from tests.dialects.boards import lines
from tests.transcripts.records import SESSION, line, meta, output, plan, result, save, todos, write
from tests.transcripts.test_oh_my_pi import HEAD, edit, phase

NINE = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
"""When the records were written, give or take some seconds."""


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NINE + timedelta(hours=1))


@pytest.fixture
def board(clock: FakeClock) -> Iterator[Board]:
    with Board.open("memory:", clock=clock) as board:
        yield board


def agent(board: Board, session: str = SESSION, dialect: str = "claude-code") -> Agent:
    return board.agent("main", session=session, project="/projects/shed", dialect=dialect)


def kinds(board: Board) -> list[str]:
    return [event.kind for event in board.events()]


RECORDS = [write("t1", "Paint", second=1), result("t1", "Paint", second=2), write("t2", "x Paint", "> Dry", second=3)]


def test_the_list_of_a_transcript_becomes_the_agents(board: Board, tmp_path: Path) -> None:
    path = save(tmp_path / "run.jsonl", RECORDS)
    main = agent(board)
    assert main.restore(path) is True
    assert lines(main.todos) == ["1 x Paint", "2 > Dry"]
    assert (main.todos.items[1].active_form, main.todos.progress.done) == ("Doing Dry", 1)
    last = list(board.events())[-1]
    assert (last.kind, last.data["source"], last.by) == ("list.restored", str(path), "main")
    assert main.todos.items[0].finished_at == NINE + timedelta(seconds=3)
    assert main.at(1) == main.todos


def test_restoring_again_changes_nothing(board: Board) -> None:
    main = agent(board)
    assert main.restore(RECORDS) is True
    before = list(board.events()), main.todos
    assert main.restore(RECORDS) is True
    assert (list(board.events()), main.todos) == before


def test_a_transcript_without_a_list_leaves_no_trace(board: Board) -> None:
    assert agent(board).restore([line("user")]) is False
    assert agent(board).restore([]) is False
    assert kinds(board) == []


def test_what_is_no_transcript_is_an_error(board: Board) -> None:
    with pytest.raises(TranscriptUnknown):
        agent(board).restore([{"some": "thing"}])


@pytest.mark.requirement("claude-code.restore-wiped")
def test_a_list_whose_items_are_all_completed_comes_back_empty(board: Board) -> None:
    main = agent(board)
    main.call("TodoWrite", {"todos": todos("Paint")}, call_id="t0")
    assert main.restore([write("t1", "x Paint", second=9)], force=True) is True
    assert main.todos.items == ()
    assert kinds(board)[-3:] == ["item.completed", "list.wiped", "list.restored"]


# What the board knows better.


def test_a_list_that_was_written_later_stands_unless_forced(board: Board) -> None:
    main = agent(board)
    main.call("TodoWrite", {"todos": todos("Sand")})
    assert main.restore(RECORDS) is False
    assert lines(main.todos) == ["1   Sand"]
    assert main.restore(RECORDS, force=True, by="ada") is True
    assert [item.content for item in main.todos.items] == ["Paint", "Dry"]
    assert [item.content for item in main.todos.omitted] == ["Sand"]
    assert main.undo(by="ada").items[0].content == "Sand"


def test_a_list_that_was_said_again_later_stands_too(board: Board, clock: FakeClock) -> None:
    clock.set(NINE)
    main = agent(board)
    main.call("TodoWrite", {"todos": todos("Sand")})
    clock.advance(10)
    main.call("TodoWrite", {"todos": todos("Sand")})
    assert main.restore(RECORDS) is False
    assert lines(main.todos) == ["1   Sand"]


def test_a_copied_list_is_as_new_as_its_copy(board: Board) -> None:
    agent(board, "first").call("TodoWrite", {"todos": todos("Sand")})
    board.copy_session("first", "second")
    assert agent(board, "second").restore(RECORDS) is False
    assert lines(agent(board, "second").todos) == ["1   Sand"]


def test_a_list_that_was_written_before_is_replaced_and_what_people_added_since_stays(
    board: Board, clock: FakeClock
) -> None:
    clock.set(NINE - timedelta(minutes=5))
    main = agent(board)
    main.call("TodoWrite", {"todos": todos("Paint")})
    main.edit({"op": "append", "items": "Sweep"}, by="ada")
    clock.set(NINE + timedelta(hours=1))
    assert main.restore(RECORDS) is True
    assert sorted(item.content for item in main.todos.items) == ["Dry", "Paint", "Sweep"]
    assert main.todos.items[0].id == "1"


def test_a_person_who_edited_since_is_not_undone_by_a_second_restore(board: Board) -> None:
    main = agent(board)
    main.restore(RECORDS)
    main.edit({"op": "done", "item": "2"}, by="ada")
    assert main.restore(RECORDS) is True
    assert lines(main.todos) == ["1 x Paint", "2 x Dry"]
    main.edit({"op": "reword", "item": "2", "text": "Let it dry"}, by="ada")
    assert main.restore(RECORDS) is True
    assert lines(main.todos) == ["1 x Paint", "2 x Let it dry"]


def test_a_call_that_the_board_has_answered_is_no_news(board: Board, clock: FakeClock) -> None:
    clock.set(NINE)
    main = agent(board)
    main.call("TodoWrite", {"todos": todos("x Paint", "> Dry")}, call_id="t2")
    main.edit({"op": "init", "items": ["Sweep"]}, by="ada")
    assert main.restore(RECORDS) is True  # it says nothing that was not known when ada wrote
    assert [item.content for item in main.todos.items] == ["Sweep"]
    main.call("TodoWrite", {"todos": todos("Sand")}, call_id="t3")
    assert main.restore(RECORDS) is False
    assert "Sand" in [item.content for item in main.todos.items]


def test_without_a_time_the_boards_list_stands(board: Board) -> None:
    timeless = [{key: value for key, value in record.items() if key != "timestamp"} for record in RECORDS]
    main = agent(board)
    assert main.restore(timeless) is True
    main.call("TodoWrite", {"todos": todos("Sand")})
    assert main.restore(timeless) is False


def test_a_time_in_the_future_is_now(board: Board, clock: FakeClock) -> None:
    clock.set(NINE - timedelta(days=1))
    main = agent(board)
    assert main.restore(RECORDS) is True
    assert main.todos.items[0].created_at == clock()


# Sessions that go on.


def test_a_session_that_goes_on_under_a_new_id_is_adopted_whole(board: Board, clock: FakeClock) -> None:
    clock.set(NINE)
    old = agent(board, "old")
    old.call("TodoWrite", {"todos": todos("Paint", "> Dry")})
    child = old.spawn("mole", label="Digs")
    child.edit({"op": "append", "items": "Dig"}, by="ada")
    old.edit([{"op": "note", "item": "1", "text": "two coats"}, {"op": "append", "items": "Sweep"}], by="ada")
    clock.set(NINE + timedelta(hours=1))
    records = [write("t1", "Paint", "> Dry", sessionId="old"), *[line("user", sessionId="new")] * 2]
    new = agent(board, "new")
    assert new.restore(records) is True
    assert lines(new.todos) == ["1   Paint", "2 > Dry", "3   Sweep"]
    assert new.todos.items[0].notes == ("two coats",)
    assert new.at(new.todos.revision) == new.todos
    (mole,) = (row for row in board.lists(session="new") if row.agent == "mole")
    assert (mole.label, mole.todos.items[0].content) == ("Digs", "Dig")
    assert mole.parent == next(row.number for row in board.lists(session="new") if row.agent == "main")
    assert lines(old.todos) == lines(new.todos)
    assert new.call("TodoWrite", {"todos": todos("x Paint", "> Dry")}).is_error is False
    assert lines(new.todos) == ["1 x Paint", "2 > Dry", "3   Sweep"]  # what ada added is still hers


def test_a_later_write_of_the_transcript_comes_on_top_of_what_was_adopted(board: Board, clock: FakeClock) -> None:
    clock.set(NINE)
    agent(board, "t-1", dialect="codex").call("update_plan", {"plan": [{"step": "Saw", "status": "pending"}]})
    clock.set(NINE + timedelta(hours=1))
    records = [meta("t-2", forked_from_id="t-1"), plan("c1", "x Saw", "> Glue", second=30), output("c1")]
    new = agent(board, "t-2", dialect="codex")
    assert new.restore(records) is True
    assert lines(new.todos) == ["1 x Saw", "2 > Glue"]
    assert kinds(board).count("list.restored") == 2


def test_a_session_of_another_project_is_not_adopted(board: Board) -> None:
    board.agent("main", session="old", project="/projects/barn").edit({"op": "append", "items": "Milk"}, by="ada")
    new = agent(board, "new")
    assert new.restore([line("user", sessionId="old"), line("user", sessionId="new")]) is False
    assert new.todos.items == ()


def test_adopting_by_hand_keeps_what_the_new_session_has(board: Board) -> None:
    for session, name in (("a", "one"), ("a", "two"), ("b", "two")):
        board.agent(name, session=session).edit({"op": "append", "items": f"{session} {name}"}, by="ada")
    assert board.adopt("a", "b", by="ada") == 1
    kept = {row.agent: row.todos.items[0].content for row in board.lists(session="b")}
    assert kept == {"one": "a one", "two": "b two"}
    assert board.adopt("a", "b") == 0


# Stores of several conversations.


def test_of_a_store_the_agents_own_session_is_taken_and_others_only_by_name(board: Board) -> None:
    ledger: dict[str, Any] = {"version": 1, "sessions": {}}
    for session, text in (("s1", "Saw"), ("s2", "Glue")):
        update = {"sessionUpdate": "plan", "entries": [{"content": text, "status": "pending", "priority": "low"}]}
        ledger["sessions"][session] = {"updatedAt": 1, "events": [{"at": 1, "update": update}]}
    main = agent(board, "s2", dialect="openclaw")
    assert main.restore(ledger) is True
    assert lines(main.todos) == ["1   Glue"]
    with pytest.raises(InvalidInput):
        agent(board, "s3").restore(ledger)
    other = agent(board, "s3")
    assert other.restore(ledger, session="s1") is True
    assert lines(other.todos) == ["1   Saw"]


# oh-my-pi.


@pytest.mark.requirement("oh-my-pi.restore-closed-hidden")
def test_closed_tasks_are_hidden_from_the_model_and_shown_to_people(board: Board) -> None:
    main = agent(board, dialect="oh-my-pi")
    assert main.restore([HEAD, edit(phase("A", "x a1", "- a2"), phase("B", "> b1", "x b2", "b3"))]) is True
    assert [item.status for item in main.todos.items][:2] == [Status.COMPLETED, Status.CANCELLED]
    assert len(main.todos.items) == 5
    reply = main.call("todo_write", {"ops": [{"op": "done", "task": "b1"}]})
    seen = {entry["name"]: [task["content"] for task in entry["tasks"]] for entry in reply.data["phases"]}
    assert seen == {"B": ["b1", "b3"]}
    assert main.call("todo_write", {"ops": [{"op": "start", "task": "a1"}]}).is_error
    assert main.at(1) is not None


@pytest.mark.requirement("oh-my-pi.restore-cleared")
def test_a_list_that_was_cleared_comes_back_empty(board: Board, clock: FakeClock) -> None:
    clock.set(NINE - timedelta(hours=1))
    main = agent(board, dialect="oh-my-pi")
    main.call("todo_write", {"ops": [{"op": "init", "list": [{"phase": "A", "items": ["a1"]}]}]})
    assert main.restore([HEAD, edit(timestamp="2026-03-01T09:00:00Z")]) is True
    assert main.todos.items == ()


# The whole history.


def test_every_write_is_recorded_in_order_and_at_its_time(board: Board, tmp_path: Path) -> None:
    main = agent(board)
    assert main.import_history(save(tmp_path / "run.jsonl", RECORDS)) == 2
    assert lines(main.todos) == ["1 x Paint", "2 > Dry"]
    told = [(event.kind, event.at.second) for event in board.events() if event.kind == "list.replaced"]
    assert told == [("list.replaced", 1), ("list.replaced", 3)]
    assert (main.todos.items[0].created_at, main.todos.items[0].finished_at) == (
        NINE + timedelta(seconds=1),
        NINE + timedelta(seconds=3),
    )
    first = main.at(1)
    assert first is not None
    assert lines(first) == ["1   Paint"]


def test_importing_again_adds_only_what_is_new(board: Board) -> None:
    main = agent(board)
    assert main.import_history(RECORDS) == 2
    assert main.import_history(RECORDS) == 0
    assert main.import_history([*RECORDS, write("t3", "x Paint", "x Dry", "Sell", second=9)]) == 1
    assert lines(main.todos) == ["1 x Paint", "2 x Dry", "3   Sell"]


def test_the_same_call_that_comes_again_by_another_road_is_answered_and_not_applied(board: Board) -> None:
    main = agent(board)
    main.import_history(RECORDS)
    before = main.todos
    reply = main.call("TodoWrite", {"todos": todos("x Paint", "> Dry")}, call_id="t2")
    assert (reply.is_error, reply.data["newTodos"]) == (False, todos("x Paint", "> Dry"))
    assert main.call("TodoWrite", {"todos": todos("Paint")}, call_id="t1").is_error is False
    assert main.todos == before


def test_writes_older_than_the_boards_list_are_noted_and_change_nothing(board: Board) -> None:
    main = agent(board)
    main.call("TodoWrite", {"todos": todos("Sand")}, call_id="t9")
    assert main.import_history(RECORDS) == 2
    assert lines(main.todos) == ["1   Sand"]
    notes = [event for event in board.events() if event.kind == "transcript.write"]
    assert [(note.data["call_id"], note.at.second) for note in notes] == [("t1", 1), ("t2", 3)]
    assert notes[0].data["items"] == [{"content": "Paint", "status": "pending"}]
    assert main.at(main.todos.revision) == main.todos
    assert main.import_history(RECORDS) == 0


def test_writes_without_a_call_id_are_known_again_too(board: Board) -> None:
    main = agent(board, dialect="oh-my-pi")
    records = [HEAD, edit(phase("A", "> a1"), timestamp="2026-03-01T09:00:00Z"), edit(timestamp="2026-03-01T09:00:01Z")]
    assert main.import_history(records) == 2
    assert main.import_history(records) == 0


def test_a_long_history_goes_in_by_many_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("punchlist.agent.recovery.SLICE", 0.0)
    records = [write(f"t{number}", f"> Item {number}", second=number % 60) for number in range(300)]
    with Board.open(tmp_path / "board.db") as board:
        main = agent(board)
        batches: list[bool] = []
        real = board.store.transact

        def transact(work: Any, *, durable: bool = True, wait: float | None = None) -> Any:
            batches.append(durable)
            return real(work, durable=durable, wait=wait)

        monkeypatch.setattr(board.store, "transact", transact)
        assert main.import_history(save(tmp_path / "run.jsonl", records)) == 300
    assert batches == [False] * 299 + [True]

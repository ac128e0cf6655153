"""A transcript that comes back: it has grown, its clock is wrong, or its calls arrive by another road as well."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from punchlist import Agent, Board
from punchlist.testing import FakeClock
from tests.dialects.boards import lines
from tests.transcripts.records import SESSION, line, meta, output, plan, result, save, todos, write

NINE = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
FIRST = write("t1", "> Paint", "Dry", second=1)
SECOND = write("t2", "x Paint", "> Dry", second=30)
THIRD = write("t3", "x Paint", "x Dry", "> Sell", second=50)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NINE + timedelta(hours=1))


@pytest.fixture
def board(clock: FakeClock) -> Iterator[Board]:
    with Board.open("memory:", clock=clock) as board:
        yield board


def agent(board: Board, session: str = SESSION, dialect: str = "claude-code") -> Agent:
    return board.agent("main", session=session, project="/projects/shed", dialect=dialect)


def timeless(*records: dict[str, Any]) -> list[dict[str, Any]]:
    return [{key: value for key, value in record.items() if key != "timestamp"} for record in records]


# It has grown.


@pytest.mark.parametrize("as_file", [True, False])
def test_a_log_that_has_grown_since_it_was_restored_is_taken_again(board: Board, tmp_path: Path, as_file: bool) -> None:
    main = agent(board)
    for records in ([FIRST], [FIRST, SECOND], [FIRST, SECOND, THIRD]):
        assert main.restore(save(tmp_path / "run.jsonl", records) if as_file else records) is True
    assert lines(main.todos) == ["1 x Paint", "2 x Dry", "3 > Sell"]
    told = [event.data for event in board.events() if event.kind == "list.restored"]
    assert [data["call_id"] for data in told] == ["t1", "t2", "t3"]
    assert told[0]["written_at"] == "2026-03-01T09:00:01Z"


def test_a_log_without_times_that_has_grown_is_taken_again(board: Board) -> None:
    main = agent(board)
    assert main.restore(timeless(FIRST)) is True
    assert main.restore(timeless(FIRST, SECOND)) is True
    assert lines(main.todos) == ["1 x Paint", "2 > Dry"]


def test_an_older_copy_of_a_log_that_has_grown_does_not_come_back(board: Board) -> None:
    main = agent(board)
    main.restore([FIRST, SECOND])
    assert main.restore([FIRST]) is False
    assert lines(main.todos) == ["1 x Paint", "2 > Dry"]


def test_what_a_person_changed_since_is_no_later_write_of_the_agent(board: Board, clock: FakeClock) -> None:
    clock.set(NINE + timedelta(seconds=1))
    main = agent(board)
    main.call("TodoWrite", {"todos": todos("> Paint", "Dry")}, call_id="t1")
    clock.set(NINE + timedelta(minutes=10))
    main.edit({"op": "append", "items": "Sweep"}, by="ada")
    assert main.restore([FIRST, SECOND]) is True
    assert lines(main.todos) == ["1 x Paint", "2 > Dry", "3   Sweep"]


def test_a_history_that_has_grown_since_the_list_was_restored_goes_on(board: Board) -> None:
    main = agent(board)
    main.restore([FIRST, SECOND])
    assert main.import_history([FIRST, SECOND]) == 1
    (note,) = (event for event in board.events() if event.kind == "transcript.write")
    assert note.data["call_id"] == "t1"
    assert main.import_history([FIRST, SECOND, THIRD]) == 1
    assert lines(main.todos) == ["1 x Paint", "2 x Dry", "3 > Sell"]


def test_a_history_whose_clock_is_ahead_goes_on_too(board: Board, clock: FakeClock) -> None:
    clock.set(NINE - timedelta(hours=1))
    main = agent(board)
    main.restore([FIRST])
    assert main.import_history([FIRST, SECOND, THIRD]) == 2
    assert lines(main.todos) == ["1 x Paint", "2 x Dry", "3 > Sell"]


# It is the same.


def test_a_transcript_whose_clock_is_ahead_does_not_undo_what_was_written_since(board: Board, clock: FakeClock) -> None:
    clock.set(NINE - timedelta(minutes=5))
    main = agent(board)
    assert main.restore([FIRST]) is True
    main.call("TodoWrite", {"todos": todos("x Paint", "> Dry")}, call_id="t9")
    assert main.restore([FIRST]) is False
    assert lines(main.todos) == ["1 x Paint", "2 > Dry"]
    assert main.restore([FIRST], force=True) is True
    assert lines(main.todos) == ["1 > Paint", "2   Dry"]


def test_a_restore_that_a_person_took_back_stays_taken_back(board: Board) -> None:
    main = agent(board)
    main.restore([FIRST], by="ada")
    main.restore([FIRST, SECOND], by="ada")
    main.undo(by="ada")
    assert main.restore([FIRST, SECOND]) is True  # as far as people have not changed it since
    assert lines(main.todos) == ["1 > Paint", "2   Dry"]


# Its calls come by another road.


@pytest.mark.parametrize("as_file", [True, False])
def test_a_call_that_stands_before_a_restored_list_is_answered_and_noted_once(
    board: Board, tmp_path: Path, as_file: bool
) -> None:
    main = agent(board)
    records = [FIRST, SECOND]
    main.restore(save(tmp_path / "run.jsonl", records) if as_file else records)
    before = main.todos
    for _ in range(2):
        reply = main.call("TodoWrite", {"todos": todos("> Paint", "Dry")}, call_id="t1")
        assert (reply.is_error, reply.data["newTodos"]) == (False, todos("> Paint", "Dry"))
        assert main.call("TodoWrite", {"todos": todos("x Paint", "> Dry")}, call_id="t2").is_error is False
    assert main.todos == before
    assert [event.data["call_id"] for event in board.events() if event.kind == "transcript.write"] == ["t1"]
    assert main.import_history(records) == 0
    assert main.call("TodoWrite", {"todos": todos("Other")}, call_id="t1").is_error


def test_a_call_whose_arguments_a_rollout_keeps_as_text_is_known_again(board: Board) -> None:
    main = agent(board, "t-1", dialect="codex")
    assert main.restore([meta("t-1"), plan("c1", "> Saw", second=1), output("c1")]) is True
    before = main.todos
    given = {"plan": [{"step": "Saw", "status": "in_progress"}]}
    reply = main.call("update_plan", given, call_id="c1")
    assert (reply.text, reply.is_error, main.todos) == ("Plan updated", False, before)


# Its session had other ids before.


def resumed(session: str, *records: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**record, "sessionId": session} for record in records]


def chat(session: str, count: int) -> list[dict[str, Any]]:
    return resumed(session, *[line("assistant", {"type": "text", "text": "So be it. " * 40})] * count)


@pytest.mark.parametrize("as_file", [True, False])
@pytest.mark.parametrize("count", [1, 30, 3000])
def test_of_a_session_that_was_resumed_twice_the_latest_predecessor_is_adopted(
    board: Board, clock: FakeClock, tmp_path: Path, count: int, as_file: bool
) -> None:
    clock.set(NINE + timedelta(seconds=1))
    agent(board, "a").call("TodoWrite", {"todos": todos("> Paint", "Dry")}, call_id="t1")
    records = [*resumed("a", FIRST), *chat("a", count)]
    clock.set(NINE + timedelta(seconds=30))
    second = agent(board, "b")
    second.restore(records + chat("b", 2))
    second.call("TodoWrite", {"todos": todos("x Paint", "> Dry")}, call_id="t2")
    second.edit({"op": "append", "items": "Sweep"}, by="ada")
    records += [*chat("b", 30), *resumed("b", SECOND), *chat("b", 30), *chat("c", count)]
    third = agent(board, "c")
    assert third.restore(save(tmp_path / "c.jsonl", records) if as_file else records) is True
    assert lines(third.todos) == ["1 x Paint", "2 > Dry", "3   Sweep"]


@pytest.mark.parametrize("as_file", [True, False])
def test_lines_without_an_id_in_front_do_not_hide_the_session_before(
    board: Board, clock: FakeClock, tmp_path: Path, as_file: bool
) -> None:
    clock.set(NINE)
    old = agent(board, "a")
    old.call("TodoWrite", {"todos": todos("> Paint", "Dry")}, call_id="t1")
    old.edit({"op": "append", "items": "Sweep"}, by="ada")
    summaries: list[dict[str, Any]] = [{"type": "summary", "summary": "x", "leafUuid": "u"}] * 25
    records = [*summaries, *resumed("a", FIRST), *chat("a", 30), *chat("b", 30)]
    new = agent(board, "b")
    assert new.restore(save(tmp_path / "b.jsonl", records) if as_file else records) is True
    assert lines(new.todos) == ["1 > Paint", "2   Dry", "3   Sweep"]


def test_a_copy_whose_ids_were_rewritten_is_known_by_its_calls(board: Board, clock: FakeClock, tmp_path: Path) -> None:
    clock.set(NINE)
    old = agent(board, "a")
    old.call("TodoWrite", {"todos": todos("> Paint", "Dry")}, call_id="t1")
    old.edit({"op": "append", "items": "Sweep"}, by="ada")
    answer = result("t1", "> Paint", "Dry", second=2)
    new = agent(board, "b")
    assert new.restore(save(tmp_path / "b.jsonl", resumed("b", FIRST, answer))) is True
    assert lines(new.todos) == ["1 > Paint", "2   Dry", "3   Sweep"]
    assert new.restore(resumed("b", FIRST, answer, SECOND)) is True
    assert lines(new.todos) == ["1 x Paint", "2 > Dry", "3   Sweep"]
    other = agent(board, "c")
    assert other.restore(resumed("c", write("t1", "Something else", second=1))) is True
    assert [item.content for item in other.todos.items] == ["Something else"]  # the id alone proves nothing

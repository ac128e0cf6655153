"""Briefs and overviews are read from rows, and agree with the report."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punchlist import Board
from punchlist.core.events import Draft
from punchlist.core.overview import AgentOverview, summarise_list
from punchlist.errors import PunchlistError
from punchlist.store import Transaction
from punchlist.testing import FakeClock
from tests.board.strategies import TOOLS, Call, calls, edits
from tests.sizes import size

examples = settings(max_examples=size(60, 5_000), deadline=None, print_blob=True)

Step = Callable[[Board, FakeClock], object]
sessions = st.sampled_from(["s1", "s1", "s1", "s2"])
agents = st.sampled_from(["main", "main", "main", "other"])
commands = st.sampled_from(["pytest -q", "git commit -m x", "ls", "echo hi", "sed -i s/a/b/ a.py"])
results = st.sampled_from(["3 passed in 0.1s", "1 failed, 2 passed in 0.1s", "", "[main 3fa2b1c] Paint"])
call_ids = st.sampled_from(["a", "b", "c", "d", "e"])
plain: st.SearchStrategy[Call] = st.sampled_from(
    [
        ("punchlist", {"set": ["Paint", "Sweep", "Mop"], "start": "1"}),
        ("punchlist", {"set": ["Paint", "Dust"]}),
        ("punchlist", {"start": "1"}),
        ("punchlist", {"start": "2"}),
        ("punchlist", {"done": ["1"]}),
        ("punchlist", {"done": ["2", "3"]}),
        ("punchlist", {"set": [{"text": "Paint", "status": "failed"}, "Sweep"]}),
        ("punchlist", {"block": {"2": "no paint"}}),
        ("punchlist", {"done": ["1", "2", "3"]}),
    ]
)


def listed(session: str, name: str, call: Call) -> Step:
    def step(board: Board, _clock: FakeClock) -> object:
        return board.agent(name, session=session, dialect=call[0]).call(TOOLS[call[0]], call[1])

    return step


def edited(session: str, name: str, change: Any) -> Step:
    return lambda board, _clock: board.agent(name, session=session).edit(change, by="ada")


def undone(session: str, name: str) -> Step:
    return lambda board, _clock: board.agent(name, session=session).undo(by="ada")


def started(session: str, name: str, call_id: str, command: str) -> Step:
    return lambda board, _clock: board.agent(name, session=session).tool_started(call_id, "Bash", {"command": command})


def ended(session: str, name: str, call_id: str, result: str, code: int) -> Step:
    return lambda board, _clock: board.agent(name, session=session).tool_finished(call_id, result, exit_code=code)


def worked(session: str, name: str, call_id: str, command: str, result: str) -> Step:
    def step(board: Board, clock: FakeClock) -> None:
        started(session, name, call_id, command)(board, clock)
        clock.advance(1)
        ended(session, name, call_id, result, 0)(board, clock)

    return step


def helped(session: str, name: str, command: str, result: str, ends: bool) -> Step:
    def step(board: Board, clock: FakeClock) -> None:
        child = board.agent(name, session=session).spawn("explore")
        child.tool_started("x", "Bash", {"command": command})
        clock.advance(1)
        if ends:
            child.tool_finished("x", result, exit_code=0)
            child.finished()

    return step


def turned(session: str, name: str, is_end: bool) -> Step:
    def step(board: Board, _clock: FakeClock) -> None:
        agent = board.agent(name, session=session)
        if is_end:
            agent.finished()
        else:
            agent.user_turn()

    return step


def tasked(session: str, name: str, verb: str, number: str) -> Step:
    def step(board: Board, _clock: FakeClock) -> None:
        tasks = board.agent(name, session=session).tasks("work")
        match verb:
            case "create":
                tasks.create("Ship it")
                tasks.claim(name)
            case "claim":
                tasks.claim(name)
            case "complete":
                tasks.complete(number)
            case "fail":
                tasks.fail(number, "no")
            case "wait":
                tasks.wait(number)
            case _:
                board.tasks("work", by="ada").delete(number)

    return step


def passed(seconds: int) -> Step:
    return lambda _board, clock: clock.advance(seconds)


steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(listed, sessions, agents, calls),
    st.builds(listed, sessions, agents, plain),
    st.builds(listed, sessions, agents, plain),
    st.builds(listed, sessions, agents, plain),
    st.builds(worked, sessions, agents, call_ids, commands, results),
    st.builds(worked, sessions, agents, call_ids, commands, results),
    st.builds(edited, sessions, agents, edits),
    st.builds(undone, sessions, agents),
    st.builds(started, sessions, agents, call_ids, commands),
    st.builds(started, sessions, agents, call_ids, commands),
    st.builds(ended, sessions, agents, call_ids, results, st.sampled_from([0, 1])),
    st.builds(ended, sessions, agents, call_ids, results, st.sampled_from([0, 1])),
    st.builds(helped, sessions, agents, commands, results, st.booleans()),
    st.builds(turned, sessions, agents, st.booleans()),
    st.builds(
        tasked,
        sessions,
        agents,
        st.sampled_from(["create", "claim", "complete", "fail", "wait", "x"]),
        st.sampled_from("123"),
    ),
    st.builds(passed, st.sampled_from([0, 1, 60, 4000])),
)


def play(board: Board, clock: FakeClock, history: list[Step]) -> None:
    for step in history:
        clock.advance(1)
        with suppress(PunchlistError):  # refused: the history goes on without it
            step(board, clock)


@examples
@given(st.lists(steps, max_size=25), st.integers(0, 100), st.none() | sessions)
def test_a_brief_tells_what_the_report_tells_of_what_was_touched_since(
    history: list[Step], share: int, session: str | None
) -> None:
    clock = FakeClock()
    with Board.open("memory:", clock=clock) as board:
        play(board, clock, history)
        after = board.store.last_seq() * share // 100
        report, brief = board.report(session=session), board.brief(after, session=session)
        done = [entry for entry in report.items if entry.item.status == "completed" and entry.touched > after]
        told = [*brief.verified, *brief.confirmed, *brief.unchecked, *brief.doubtful, *brief.unjudged]
        assert sorted(told, key=repr) == sorted(done, key=repr)
        under_way = [entry for entry in report.items if entry.item.status == "in_progress" and entry.is_under_way]
        begun = [entry for entry in brief.under_way if entry.item.status == "in_progress"]
        assert sorted(begun, key=repr) == sorted(under_way, key=repr)
        assert {one.session: one.state for one in brief.sessions}.items() <= {
            one.session: one.state for one in report.sessions
        }.items()


@examples
@given(st.lists(steps, max_size=20))
def test_rebuilt_rows_are_those_that_were_kept(history: list[Step]) -> None:
    clock = FakeClock()
    with Board.open("memory:", clock=clock) as board:
        play(board, clock, history)
        before, told = board.store.read(lambda tx: tx.overviews.all()), board.brief()
        board.rebuild_overviews()
        assert board.store.read(lambda tx: tx.overviews.all()) == before
        assert board.brief() == told


def test_a_child_that_is_started_again_is_at_work_again_also_in_rebuilt_rows() -> None:
    with Board.open("memory:", clock=FakeClock()) as board:
        parent = board.agent("main", session="s")
        parent.call("todo", {"set": ["Paint"]})
        parent.spawn("explore", id="x").finished()
        parent.spawn("explore", id="x")
        before = board.store.read(lambda tx: tx.overviews.all())
        assert board.brief().under_way
        board.rebuild_overviews()
        assert board.store.read(lambda tx: tx.overviews.all()) == before


@pytest.fixture
def board() -> Board:
    return Board.open("memory:", clock=FakeClock())


def row_of(board: Board, agent: str) -> AgentOverview:
    return next(row for row in board.overview() if row.agent == agent)


def test_a_reader_without_a_cursor_gets_the_last_10_000_events(board: Board) -> None:
    long_ago, now = board.agent(session="long ago", project="/shop"), board.agent(session="now", project="/yard")
    long_ago.call("todo", {"set": ["Paint"]})
    cursor = board.store.last_seq()
    long_ago.call("todo", {"done": ["1"]})
    now.call("todo", {"set": ["Sweep"]})
    board.store.transact(lambda tx: add_reports(tx, "now", 10_000))
    now.call("todo", {"done": ["1"]})

    def completed(**where: Any) -> list[str]:
        return [entry.item.content for entry in board.brief(**where).completed]

    assert completed() == ["Sweep"]
    assert completed(project="/shop") == ["Paint"]
    assert completed(after=cursor) == ["Paint", "Sweep"]


def add_reports(tx: Transaction, session: str, count: int) -> None:
    row = tx.agent(session, "main")
    assert row is not None
    tx.add_events(row, [Draft("agent.output", {})] * count, by="main", at=FakeClock()())


def test_an_overview_has_one_row_per_agent_and_what_waits_on_a_person_first(board: Board) -> None:
    asker, worker = board.agent("asker", session="s"), board.agent("worker", session="s")
    asker.call("todo", {"set": ["Paint"], "start": "1"})
    asker.ask("1", "Which colour?")
    worker.call("todo", {"set": ["Sweep", "Mop"], "start": "1"})
    worker.tool_started("c", "Bash", {"command": "pytest -q"})
    assert [row.agent for row in board.overview()] == ["asker", "worker"]
    assert [(wait.kind, wait.text) for wait in row_of(board, "asker").waits] == [("question", "Which colour?")]
    found = row_of(board, "worker")
    assert (found.state, found.focus, found.counts) == ("working", "Sweep", {"in_progress": 1, "pending": 1})
    assert found.last_call is not None
    assert (found.last_call.name, found.last_call.outcome) == ("Bash", "running")


def test_an_overview_tells_how_the_last_call_went_and_how_completions_are_graded(board: Board) -> None:
    agent = board.agent("main", session="s")
    agent.call("todo", {"set": ["Test"], "start": "1"})
    agent.tool_started("c", "Bash", {"command": "pytest -q"})
    agent.tool_finished("c", "3 passed in 0.1s", exit_code=0)
    agent.call("todo", {"done": ["1"]})
    agent.finished()
    found = row_of(board, "main")
    assert found.last_call is not None
    assert (found.state, found.last_call.outcome, found.grades) == ("finished", "ok", {"verified": 1})
    assert found.counts == summarise_list(agent.todos).counts == {"completed": 1}

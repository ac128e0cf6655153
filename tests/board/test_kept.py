"""What is remembered of reports: in memory it is what the rows say once the reports behind them are taken in."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punchlist import Agent, Board
from punchlist.agent import kept as kept_module
from punchlist.agent.kept import BEHIND, Kept, kept
from punchlist.agent.kept_work import read
from punchlist.store import Transaction
from punchlist.testing import FakeClock
from tests.sizes import size

Step = Callable[[Agent], object]
LOOPS: dict[str, Any] = {"history_size": 6, "warning_threshold": 2, "critical_threshold": 3, "global_threshold": 4}

ids = st.sampled_from(["c1", "c2", "c3", None])
names = st.sampled_from(["Bash", "Edit", "todo"])
arguments = st.sampled_from([None, {"command": "pytest -q"}, {"file_path": "a.py"}, {"command": "ls"}])
results = st.sampled_from([None, "2 passed in 0.1s", "1 failed", "ok", {"exit_code": 1}])


def _started(call: str | None, name: str, args: Any) -> Step:
    return lambda agent: agent.tool_started(call, name, args)


def _finished(call: str | None, name: str, result: Any, is_error: bool) -> Step:
    return lambda agent: agent.tool_finished(call, result, is_error=is_error, name=name)


def _failed(call: str | None, name: str) -> Step:
    return lambda agent: agent.tool_failed(call, "it broke", name=name)


def _taken_back(agent: Agent) -> object:
    """A report within a transaction that fails in the end."""

    def work(tx: Transaction) -> None:
        row = tx.agent(agent.session, agent.name)
        assert row is not None
        kept(tx, row.number).write(tx)
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        agent.board.store.transact(work)
    return None


seldom: list[Step] = [
    lambda agent: agent.output("Done so far."),
    lambda agent: agent.user_turn(),
    lambda agent: agent.assistant_turn(["Bash"]),
    lambda agent: agent.about_to_stop(),
    lambda agent: agent.compacted(),
    lambda agent: agent.finished("done"),
    lambda agent: agent.tool_updated("c1", "still at it"),
    lambda agent: agent.spawn("helper", label="Sand"),
    lambda agent: agent.call("todo", {"done": "1"}),
    lambda agent: agent.call("todo", {"set": ["Paint", "Sand"]}),
    lambda agent: agent.grounding,
    _taken_back,
]
steps = st.one_of(
    st.builds(_started, ids, names, arguments),
    st.builds(_finished, ids, names, results, st.booleans()),
    st.builds(_failed, ids, names),
    st.sampled_from(seldom),
)


def remembered(board: Board, session: str = "s1", name: str = "main") -> Kept:
    """What a board takes an agent for, while nobody else writes."""

    def work(tx: Transaction) -> Kept:
        row = tx.agent(session, name)
        assert row is not None
        return kept(tx, row.number)

    return board.store.transact(work, durable=False)


def looked_at(board: Board, number: int) -> Kept:
    return board.store.read(lambda tx: read(tx, number))


def assert_same(one: Kept, other: Kept) -> None:
    assert one.head == other.head
    assert one.record == other.record
    for part in one.tallies.keys() & other.tallies.keys():
        assert one.tallies[part] == other.tallies[part]


@given(st.lists(st.tuples(steps, st.sampled_from([0, 0, 1, 2, 90]), st.booleans()), max_size=30), st.integers(1, 6))
@settings(max_examples=size(25, 1000), deadline=None)
def test_another_process_finds_what_the_one_that_reports_has_in_memory(
    plan: list[tuple[Step, int, bool]], behind: int
) -> None:
    clock = FakeClock()
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_module, "BEHIND", behind)
        path = Path(folder) / "board.db"
        with Board.open(path, clock=clock) as one, Board.open(path, clock=clock) as two:
            agents = [board.agent("main", session="s1", loop_detection=LOOPS) for board in (one, two)]
            agents[0].call("todo", {"set": ["Paint", "Sand"]})
            for step, seconds, elsewhere in plan:
                clock.advance(seconds=seconds)
                reporting, asking = (two, one) if elsewhere else (one, two)
                step(agents[elsewhere])
                known = remembered(reporting)
                assert_same(known, remembered(asking))
                whole = looked_at(asking, known.number)
                assert whole.head == known.head
                assert all(tally == whole.tallies.get(part, tally) for part, tally in known.tallies.items())


@given(st.lists(st.tuples(steps, st.sampled_from([0, 1, 90])), max_size=40))
@settings(max_examples=size(25, 1000), deadline=None)
def test_it_makes_no_difference_how_seldom_the_rows_are_written(plan: list[tuple[Step, int]]) -> None:
    found: list[Kept] = []
    told: list[list[str]] = []
    for behind in (1, 7):
        clock = FakeClock()
        with pytest.MonkeyPatch.context() as patch, Board.open("memory:", clock=clock) as board:
            patch.setattr(kept_module, "BEHIND", behind)
            agent = board.agent("main", session="s1", loop_detection=LOOPS)
            agent.call("todo", {"set": ["Paint", "Sand"]})
            for step, seconds in plan:
                clock.advance(seconds=seconds)
                step(agent)
            found.append(remembered(board))
            told.append([event.kind for event in board.events()])
    assert_same(*found)
    assert told[0] == told[1]


def test_who_never_closed_its_board_has_lost_nothing(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    reporting = Board.open(path)
    agent = reporting.agent("main", session="s1")
    agent.call("todo", {"set": ["Paint"]})
    for number in range(BEHIND - 3):
        agent.tool_started(f"c{number}", "Edit", {"file_path": "a.py"})
        agent.tool_finished(f"c{number}", "done")
    with Board.open(path) as board:
        assert board.agent("main", session="s1").work_on("1").calls == BEHIND - 3
        assert not board.stalls()
    reporting.close()


def test_what_was_taken_in_and_written_is_not_taken_in_again(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as one, Board.open(path) as two:
        agents = [board.agent("main", session="s1") for board in (one, two)]
        for _ in range(3):
            agents[0].tool_started(None, "Bash", {"command": "ls"})
        agents[1].assistant_turn(["Bash"])
        assert remembered(one).head.watched.made == remembered(two).head.watched.made == 3


def test_what_a_report_that_takes_an_end_back_says_to_guidance_is_written_too(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as one, Board.open(path) as two:
        agent = one.agent("main", session="s1")
        agent.tool_finished("c1", name="Bash")
        for number in ("c1", "c2", "c3"):
            agent.tool_started(number, "Bash", {"command": "make"})
        agent.tool_failed("c1", "it broke")
        assert_same(remembered(one), remembered(two))

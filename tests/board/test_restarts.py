"""A restart between any two reports changes nothing: no process keeps anything of an agent."""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punchlist import Agent, Board
from punchlist.testing import FakeClock
from tests.sizes import size

Step = Callable[[Agent], object]
OPTIONS: dict[str, Any] = {
    "loop_detection": {"history_size": 6, "warning_threshold": 2, "critical_threshold": 3, "global_threshold": 4},
    "staleness": {"stale_after": 60, "stale_calls": 2, "churn_writes": 2, "bounces": 1, "storm_calls": 3},
    "guardrail": True,
    "rounds": {"max_stalls": 2},
    "guidance": {"tell_findings": True},
    "grades": "tell",
}

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


seldom: list[Step] = [
    lambda agent: agent.output("Done so far."),
    lambda agent: agent.user_turn(),
    lambda agent: [one.text for one in agent.assistant_turn(["Bash"])],
    lambda agent: agent.about_to_stop(),
    lambda agent: agent.compacted(),
    lambda agent: agent.finished("done"),
    lambda agent: agent.tool_updated("c1", "1 failed"),
    lambda agent: agent.spawn("helper", label="Sand").tool_started("h1", "Bash", {"command": "pytest"}),
    lambda agent: agent.call("todo", {"done": "1"}).text,
    lambda agent: agent.call("todo", {"set": ["Paint", "Sand"]}).text,
    lambda agent: agent.call("todo", {"start": "2"}).text,
]
steps = st.one_of(
    st.builds(_started, ids, names, arguments),
    st.builds(_finished, ids, names, results, st.booleans()),
    st.builds(_failed, ids, names),
    st.sampled_from(seldom),
)
Plan = list[tuple[Step, int]]


def run(folder: Path, plan: Plan, *, restarts: bool) -> tuple[list[object], list[object], list[object]]:
    """Make these steps with one board, or each with a board of its own: what they return, the log, and the grades."""
    clock, path, told = FakeClock(), folder / f"{restarts}.db", list[object]()
    if restarts:  # hashes are by the key of the board, so both have the same one
        shutil.copy(folder / "new.db", path)
    else:
        Board.open(path).close()
        shutil.copy(path, folder / "new.db")
    with ExitStack() as kept:
        board = kept.enter_context(Board.open(path, clock=clock))
        agent = board.agent("main", session="s1", project="/p", **OPTIONS)
        agent.call("todo", {"set": ["Paint", "Sand"]})
        for step, seconds in plan:
            clock.advance(seconds=seconds)
            if restarts:
                with Board.open(path, clock=clock) as another:
                    told.append(_plain(step(another.agent("main", session="s1", project="/p", **OPTIONS))))
            else:
                told.append(_plain(step(agent)))
        log: list[object] = [(event.kind, event.agent, event.at, _without_hash(event.data)) for event in board.events()]
        report = board.report(session="s1")
        return told, log, [(entry.grade, entry.tally, entry.remarks) for entry in report.items]


def _without_hash(data: Mapping[str, Any]) -> dict[str, Any]:
    """Each board has its own key of hashes, which are also in the ids of calls whose id was used again."""
    plain = {name: value for name, value in data.items() if name != "hash"}
    return plain | {"call_id": str(data.get("call_id", "")).partition("#")[0]}


def _plain(value: object) -> object:
    return None if isinstance(value, Agent) else value


@pytest.mark.sqlite
@given(st.lists(st.tuples(steps, st.sampled_from([0, 0, 1, 2, 90])), max_size=30))
@settings(max_examples=size(25, 1000), deadline=None)
def test_a_restart_between_any_two_reports_gives_the_same_verdicts_and_grades(plan: Plan) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert run(Path(folder), plan, restarts=False) == run(Path(folder), plan, restarts=True)


@given(st.lists(st.tuples(steps, st.sampled_from([0, 0, 1, 2, 90])), max_size=30))
@settings(max_examples=size(25, 1000), deadline=None)
def test_the_list_says_what_the_report_says(plan: Plan) -> None:
    """The handle of an agent and the report come to the same counts."""
    clock = FakeClock()
    with Board.open("memory:", clock=clock) as board:
        agent = board.agent("main", session="s1", profile="off")
        agent.call("todo", {"set": ["Paint", "Sand"]})
        for step, seconds in plan:
            clock.advance(seconds=seconds)
            step(agent)
        seen = agent.grounding
        for entry in board.report(session="s1").items:
            if entry.subject.agent == "main" and entry.item in agent.todos.items and entry.item.id in seen:
                assert seen[entry.item.id] == entry.tally

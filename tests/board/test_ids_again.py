"""Ids that a host uses again, because it numbers its calls from one in each turn."""

from pathlib import Path

import pytest

from punchlist import Agent, Board
from punchlist.core.grounding.tool_call import reused_id
from punchlist.testing import FakeClock


def _turn(agent: Agent, *calls: tuple[str, str, int]) -> None:
    """One turn of a host that numbers calls anew each time."""
    for number, (command, result, code) in enumerate(calls):
        agent.tool_started(f"call_{number}", "Bash", {"command": command})
        agent.tool_finished(f"call_{number}", result=result, exit_code=code)
    agent.about_to_stop()


def _conversation(agent: Agent) -> None:
    _turn(agent, ("pytest -q", "1 failed in 1s", 1), ("touch a", "", 0))
    _turn(agent, ("touch b", "", 0), ("pytest", "4 passed in 1s", 0))


def _begun(board: Board) -> int:
    return sum(event.kind == "tool.started" for event in board.events())


def test_a_call_with_an_id_of_an_earlier_turn_is_a_call_of_its_own() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s", profile="off")
        agent.call("todo", {"set": ["A"]})
        _conversation(agent)
        assert (agent.work_on("1").calls, agent.work_on("1").failures) == (4, 1)
        agent.call("todo", {"done": "1"})
        assert agent.todos.items[0].grade == board.report(session="s").items[0].grade == "verified"


def test_an_id_may_be_used_again_within_a_turn_once_its_call_has_ended() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s")
        agent.call("todo", {"set": ["A"]})
        for name, args in (("Read", {"path": "a"}), ("Edit", {"path": "a"}), ("Edit", {"path": "b"})):
            agent.tool_started("0", name, args)
            agent.tool_updated("0", f"{name} at work")
            agent.tool_finished("0", result="done")
        assert (agent.work_on("1").calls, agent.work_on("1").running) == (3, 0)
        said = [event.data for event in board.events() if event.kind == "tool.updated"]
        assert [data["preview"] for data in said] == ["Read at work", "Edit at work", "Edit at work"]
        assert len({data["call_id"] for data in said}) == 3


def test_a_call_that_was_given_up_leaves_its_id_to_the_next_turn() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s", profile="off")
        agent.call("todo", {"set": ["A"]})
        agent.tool_started("0", "Bash", {"command": "sleep 100"})
        agent.about_to_stop()
        agent.tool_started("0", "Bash", {"command": "pytest"})
        agent.tool_finished("0", result="1 failed in 1s", exit_code=1)
        work = agent.work_on("1")
        assert (work.calls, work.abandoned, work.failures) == (2, 1, 1)


def test_a_call_that_still_runs_is_not_begun_anew_by_other_arguments() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s")
        agent.call("todo", {"set": ["A"]})
        agent.tool_started("0", "Bash", {"command": "make"})
        agent.tool_started("0", "Bash", {"command": "make", "timeout": 5})
        assert agent.work_on("1").running == 1


def test_another_tool_under_the_id_of_a_call_that_still_runs_is_another_call() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s")
        agent.call("todo", {"set": ["A"]})
        agent.tool_started("t", "Bash", {"command": "pytest"})
        agent.tool_finished("t", result="3 passed in 0.1s", exit_code=0)
        agent.tool_started("1", "Read", {"file_path": "a.py"})
        agent.tool_started("1", "Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"})
        agent.tool_finished("1", result="ok")
        agent.call("todo", {"done": "1"})
        assert agent.todos.items[0].grade == board.report(session="s").items[0].grade == "unchecked"


@pytest.mark.parametrize("between", [0, 64])
def test_a_conversation_with_ids_in_use_again_counts_once_however_often_it_is_told(
    tmp_path: Path, between: int
) -> None:
    with Board.open(tmp_path / "board.db") as board:
        agent = board.agent("main", session="s", profile="off")
        agent.call("todo", {"set": ["A"]})
        _conversation(agent)
        for number in range(between):
            agent.tool_started(f"c{number}", "Read", {"path": f"{number}"})
            agent.tool_finished(f"c{number}", result="x")
        _conversation(agent)
        assert _begun(board) == 4 + between
    with Board.open(tmp_path / "board.db") as board:
        agent = board.agent("main", session="s", profile="off")
        _conversation(agent)
        assert (_begun(board), agent.work_on("1").failures) == (4 + between, 1)


def test_an_end_told_to_another_process_is_that_of_the_call_that_began_last(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as one, Board.open(tmp_path / "board.db") as other:
        mine, theirs = one.agent("main", session="s"), other.agent("main", session="s")
        mine.call("todo", {"set": ["A"]})
        mine.tool_started("0", "Read", {"path": "a"})
        theirs.tool_finished("0", result="x")
        mine.tool_started("0", "Bash", {"command": "pytest"})
        theirs.tool_finished("0", result="1 failed in 1s", exit_code=1)
        theirs.call("todo", {"done": "1"})
        assert theirs.todos.items[0].grade == "failing"


def test_ids_in_use_again_that_are_remembered_are_few() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s", loop_detection=False)
        for turn in range(2):
            for number in range(128):
                agent.tool_started(f"{number}", "Read", {"path": f"{turn}-{number}"})
                agent.tool_finished(f"{number}", result="x")
        row = board.store.agent("s", "main")
        assert row is not None
        reused = board.store.read(lambda tx: tx.memory.load(row.number)).reused
        assert list(reused) == [f"{number}" for number in range(64, 128)]
        assert _begun(board) == 256


def test_the_same_call_under_the_same_id_is_another_one_a_while_later() -> None:
    clock = FakeClock()
    with Board.open("memory:", clock=clock) as board:
        agent = board.agent("main", session="s", profile="off")
        agent.call("todo", {"set": ["A"]})
        for result, code in (("1 failed in 1s", 1), ("1 failed in 1s", 1), ("4 passed in 1s", 0)):
            for _ in range(2):
                _turn(agent, ("pytest", result, code))
                clock.advance(seconds=2)
            clock.advance(seconds=4)
        assert _begun(board) == 3
        assert (agent.work_on("1").calls, agent.work_on("1").failures) == (3, 2)
        agent.call("todo", {"done": "1"})
        assert agent.todos.items[0].grade == board.report(session="s").items[0].grade == "verified"


def test_the_id_of_a_call_under_one_in_use_again_tells_calls_apart() -> None:
    assert reused_id("1", "Bash", "a") == reused_id("1", "Bash", "a")
    made = {
        reused_id(*given) for given in (("1", "Bash", "a"), ("2", "Bash", "a"), ("1", "Read", "a"), ("1", "Bash", "b"))
    }
    assert len(made) == 4

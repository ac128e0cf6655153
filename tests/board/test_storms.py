"""Storms of calls of the todo tool, and refused calls: what is said of them, and when it is over."""

from collections.abc import Callable

import pytest

from punchlist import Agent, Board
from punchlist.testing import FakeClock


def findings(board: Board) -> list[tuple[str, str]]:
    return [(event.kind, event.data["detector"]) for event in board.events() if event.kind.startswith("finding.")]


def reporting(board: Board, watched: bool, *, dialect: str = "punchlist", profile: str = "quiet") -> Agent:
    """An agent whose tools somebody reports, or nobody."""
    agent = board.agent("main", session="s1", dialect=dialect, profile=profile)
    if watched:
        agent.tool_started("t1", "read", {})
    return agent


WATCHED = pytest.mark.parametrize("watched", [True, False], ids=["tools reported", "tools not reported"])
STORM = ("finding.raised", "todo_storm")
NO_STORM = ("finding.cleared", "todo_storm")


@WATCHED
@pytest.mark.requirement("staleness.storm")
def test_calls_that_only_read_the_list_make_a_storm_and_no_churn(watched: bool) -> None:
    with Board.open("memory:", clock=FakeClock()) as board:
        agent = reporting(board, watched, dialect="hermes")
        for number in range(20):
            assert findings(board) == ([STORM] if number >= 10 else [])
            agent.call("todo", {})


@WATCHED
@pytest.mark.requirement("staleness.storm")
def test_reads_and_writes_make_one_storm_and_a_read_that_comes_later_ends_it(watched: bool) -> None:
    clock = FakeClock()
    with Board.open("memory:", clock=clock) as board:
        agent = reporting(board, watched, dialect="hermes")
        for number in range(6):
            agent.call("todo", {})
            agent.call("todo", {"todos": [{"id": str(number), "content": "Paint", "status": "pending"}]})
        assert findings(board).count(STORM) == 1
        clock.advance(61)
        agent.call("todo", {})
        assert findings(board)[-1] == NO_STORM


@WATCHED
@pytest.mark.requirement("staleness.storm")
def test_a_storm_is_over_for_who_looks_once_its_time_has_passed(watched: bool) -> None:
    clock = FakeClock()
    with Board.open("memory:", clock=clock) as board:
        agent = reporting(board, watched)
        agent.call("todo", {"set": [f"Paint wall {number}" for number in range(20)]})
        for number in range(12):
            agent.call("todo", {"done": str(number + 1)})
        clock.advance(60)
        assert [one.detector for one in board.brief().noticed] == ["todo_storm"]
        assert [one.detector for one in board.brief(session="s1").noticed] == ["todo_storm"]
        clock.advance(1)
        assert board.brief().noticed == ()


ENDS: dict[str, Callable[[Agent], object]] = {
    "user_turn": lambda agent: agent.user_turn(),
    "about_to_stop": lambda agent: agent.about_to_stop("Done."),
    "finished": lambda agent: agent.finished(),
}


@WATCHED
@pytest.mark.requirement("staleness.storm")
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_storm_is_over_with_the_turn_and_the_next_one_is_another(
    end: Callable[[Agent], object], watched: bool
) -> None:
    with Board.open("memory:", clock=FakeClock()) as board:
        agent = reporting(board, watched, profile="off")
        for _ in range(12):
            agent.call("todo", {})
        end(agent)
        assert findings(board) == [STORM, NO_STORM]
        kinds = [event.kind for event in board.events()]
        assert kinds[-1] in ("turn.ended", "agent.finished")
        agent.user_turn()
        assert findings(board) == [STORM, NO_STORM]
        for _ in range(9):
            agent.call("todo", {})
        assert findings(board) == [STORM, NO_STORM]
        agent.call("todo", {})
        assert findings(board) == [STORM, NO_STORM, STORM]


@WATCHED
@pytest.mark.requirement("staleness.churn")
def test_of_calls_that_were_refused_nobody_says_that_they_wrote_the_list(watched: bool) -> None:
    with Board.open("memory:") as board:
        agent = reporting(board, watched, dialect="codex")
        for _ in range(5):
            assert agent.call("update_plan", {"plan": "x"}).is_error
        (churn,) = [event.data["seen"] for event in board.events() if event.data.get("detector") == "churn"]
        assert "was called to write the list 5 times in a row" in churn

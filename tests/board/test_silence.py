"""Stalls on a board: who is listened for, what counts as a sign of life, and how long is too long."""

from collections.abc import Callable, Iterator

import pytest

from punchlist import Agent, Board
from punchlist.errors import ConfigInvalid
from punchlist.testing import FakeClock


@pytest.fixture(autouse=True)
def short_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute of silence is a stall here, as in the original."""
    monkeypatch.setenv("PUNCHLIST_STALL_AFTER", "60")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def board(clock: FakeClock) -> Iterator[Board]:
    with Board.open("memory:", clock=clock) as board:
        yield board


def stalled(board: Board) -> dict[str, str]:
    return {stall.agent: stall.finding.detector for stall in board.stalls()}


def findings(board: Board) -> list[tuple[str, str, str]]:
    return [
        (event.kind, event.data["detector"], event.agent or "")
        for event in board.events()
        if event.kind.startswith("finding.")
    ]


def main(board: Board) -> Agent:
    return board.agent("main", session="s1")


def test_a_tool_that_still_says_something_is_a_sign_of_life(board: Board, clock: FakeClock) -> None:
    agent = main(board)
    agent.tool_started("c1", "Bash", {"command": "make"})
    for number in range(4):
        clock.advance(50)
        agent.tool_updated("c1", f"line {number}")
        assert board.tick() == 0
    clock.advance(61)
    assert stalled(board) == {"main": "no_output"}


def test_silence_is_a_stall_after_five_minutes_by_default(
    board: Board, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PUNCHLIST_STALL_AFTER")
    main(board).tool_started("c1", "Bash", {"command": "make"})
    clock.advance(299)
    assert stalled(board) == {}
    clock.advance(1)
    assert stalled(board) == {"main": "no_output"}


def test_an_assistant_message_is_a_sign_of_life(board: Board, clock: FakeClock) -> None:
    agent = main(board)
    agent.tool_started("c1", "Bash", {"command": "make"})
    clock.advance(50)
    agent.assistant_turn(["Bash"])
    clock.advance(50)
    assert stalled(board) == {}


@pytest.mark.parametrize("end", ["about_to_stop", "finished"])
def test_an_agent_that_only_spoke_and_was_let_stop_is_not_stalled(board: Board, clock: FakeClock, end: str) -> None:
    agent = main(board)
    agent.output("The answer is 42.")
    getattr(agent, end)()
    clock.advance(1000)
    assert (board.tick(), stalled(board)) == (0, {})


def test_the_first_prompt_with_no_reaction_is_found(board: Board, clock: FakeClock) -> None:
    main(board).user_turn()
    clock.advance(61)
    assert board.tick() == 1
    assert findings(board) == [("finding.raised", "no_runtime_event", "main")]


def test_a_child_that_never_does_anything_is_found(board: Board, clock: FakeClock) -> None:
    main(board).spawn("explore", label="Explore the code")
    clock.advance(61)
    (stall,) = board.stalls()
    assert (stall.agent, stall.finding.detector) == ("explore", "nothing_submitted")
    assert "Explore the code" in stall.finding.seen


def test_a_child_that_was_asked_something_and_does_nothing_is_found(board: Board, clock: FakeClock) -> None:
    main(board).spawn("explore").user_turn()
    clock.advance(61)
    assert stalled(board) == {"explore": "no_runtime_event"}


@pytest.mark.parametrize("sign", ["call", "turn", "spawn", "stop"])
def test_silence_after_its_first_sign_of_life_says_nothing_of_an_agent_whose_tools_nobody_reports(
    board: Board, clock: FakeClock, sign: str
) -> None:
    agent = board.agent("main", session="s1", profile="off")
    agent.user_turn()
    clock.advance(61)
    assert board.tick() == 1
    match sign:
        case "call":
            agent.call("todo", {"set": ["Paint", "Sand"]})
        case "turn":
            agent.assistant_turn()
        case "spawn":
            agent.spawn("explore").call("todo", {"set": ["Paint"]})
        case _:
            agent.about_to_stop()
    assert findings(board)[1:] == [("finding.cleared", "no_runtime_event", "main")]
    clock.advance(1000)
    assert (board.tick(), stalled(board)) == (0, {})


def test_a_stall_that_was_told_of_is_over_when_its_agent_has_finished(board: Board, clock: FakeClock) -> None:
    agent = main(board)
    agent.output("Hello.")
    clock.advance(61)
    board.tick()
    agent.finished("Bye.")
    assert findings(board)[-1] == ("finding.cleared", "silent_after_output", "main")
    assert board.brief().noticed == ()


def test_an_agent_and_its_children_can_have_timings_of_their_own(board: Board, clock: FakeClock) -> None:
    slow = board.agent("slow", session="s1", stalls={"notice_after": 300})
    slow.user_turn()
    slow.tool_started("c1", "Bash", {"command": "make"})
    slow.spawn("patient")
    main(board).user_turn()
    clock.advance(61)
    assert stalled(board) == {"main": "no_runtime_event"}
    clock.advance(240)
    assert stalled(board).keys() == {"slow", "patient", "main"}


SIGNS: dict[str, Callable[[Agent], object]] = {
    "output": lambda agent: agent.output("I am alive."),
    "the end of a call": lambda agent: agent.tool_finished("c1", "ok"),
    "another call": lambda agent: agent.tool_started("c2", "Bash", {"command": "ls"}),
    "what a call says": lambda agent: agent.tool_updated("c1", "50 %"),
    "an assistant message": lambda agent: agent.assistant_turn(["Bash"]),
    "the next turn": lambda agent: agent.user_turn(),
    "the end": lambda agent: agent.finished(),
}


@pytest.mark.parametrize("sign", SIGNS.values(), ids=SIGNS)
def test_a_stall_lasts_however_long_until_the_next_heartbeat(
    board: Board, clock: FakeClock, sign: Callable[[Agent], object]
) -> None:
    agent = main(board)
    agent.user_turn()
    agent.tool_started("c1", "Bash", {"command": "sleep"})
    clock.advance(61)
    board.tick()
    for _ in range(30):  # a watch had a lifetime of six hours, after which a silence was hidden
        clock.advance(3600)
        assert board.tick() == 0
    assert findings(board) == [("finding.raised", "no_output", "main")]
    assert stalled(board) == {"main": "no_output"}
    sign(agent)
    assert stalled(board) == {}


def test_the_environment_sets_the_timings_of_all_others(
    board: Board, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUNCHLIST_STALL_AFTER", "300")
    main(board).user_turn()
    clock.advance(299)
    assert stalled(board) == {}
    clock.advance(1)
    assert stalled(board) == {"main": "no_runtime_event"}
    monkeypatch.setenv("PUNCHLIST_STALL_AFTER", "0")
    assert stalled(board) == {}
    monkeypatch.setenv("PUNCHLIST_STALL_AFTER", "soon")
    with pytest.raises(ConfigInvalid):
        board.stalls()


def test_a_timing_that_cannot_be_is_named_when_the_handle_is_made(board: Board) -> None:
    with pytest.raises(ConfigInvalid):
        board.agent("main", session="s1", stalls={"notice": 3})

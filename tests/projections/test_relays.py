"""Children on a board, relayed to their parent: started in the middle, and of one mind with the board on silence."""

import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from punchlist import Agent, Board
from punchlist.core.events import Event
from punchlist.detect.stalls import StallOptions
from punchlist.projections.followed_lists import looking_into
from punchlist.projections.relay import Notice, RelayOptions, Relays, listening_to, relay_children
from punchlist.testing import FakeClock
from tests.dialects.boards import todo


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


class Parent:
    """Follows the board as a live relay does, and keeps what it is told."""

    def __init__(
        self, board: Board, *, after: int = 0, until: datetime | None = None, listens: bool = True, **options: Any
    ) -> None:
        self.board = board
        self.seen = after
        listen = listening_to(board, "s1") if listens else None
        self.relays = Relays("s1", options=RelayOptions(**options), look=looking_into(board), listen=listen)
        self.relays.recall((event for event in board.events() if event.seq <= after), until)

    def hears(self) -> list[str]:
        notices: list[Notice] = []
        for event in self.board.events(self.seen):
            self.seen = event.seq
            notices += [*self.relays.add(event), *self.relays.tick(event.at)]
        notices += self.relays.tick(self.board.now())
        return [notice.text for notice in notices if notice.kind != "start"]


def last(board: Board) -> Event:
    return list(board.events())[-1]


def spawned(board: Board, **options: Any) -> Agent:
    return board.agent("main", session="s1", **options).spawn("kid")


# Started in the middle.


def test_a_relay_that_starts_anew_knows_the_children_that_run(board: Board, clock: FakeClock) -> None:
    child = spawned(board)
    todo(child, set=["Look", "Tell"])
    parent = Parent(board, after=last(board).seq, until=clock.advance(3))
    todo(child, done="1")
    clock.advance(3)
    assert parent.hears() == ["kid: 1/2: finished “Look”, now “Tell”."]
    child.finished("Bye.")
    assert parent.hears() == ["kid run completed in 6s."]


def test_what_was_not_due_when_the_last_relay_stopped_is_told_by_the_next(board: Board, clock: FakeClock) -> None:
    todo(spawned(board), set=["Look"])
    parent = Parent(board, after=last(board).seq)
    clock.advance(3)
    assert parent.hears() == ["kid: 0/1: now “Look”."]


def test_children_that_have_finished_or_whose_time_is_over_are_not_told_of(board: Board, clock: FakeClock) -> None:
    spawned(board).finished("Bye.")
    old = board.agent("main", session="s1").spawn("old")
    clock.advance(7 * 60 * 60)
    todo(board.agent("main", session="s1"), set=["Go on"])
    parent = Parent(board, after=last(board).seq)
    old.output("Still here.")
    clock.advance(3)
    assert parent.hears() == []


@pytest.mark.parametrize("by_cursor", [True, False])
def test_a_live_relay_goes_on_after_the_program_was_started_again(tmp_path: Path, by_cursor: bool) -> None:
    address = f"sqlite:///{tmp_path}/board.db"
    with Board.open(address) as board:
        todo(spawned(board), set=["Look", "Tell"])
        cursor = last(board).seq
    with Board.open(address) as board:
        main, child = (board.agent(name, session="s1") for name in ("main", "kid"))
        told, notices, going = threading.Event(), list[Notice](), threading.Event()

        def deliver(notice: Notice) -> None:
            notices.append(notice)
            going.set() if notice.kind == "start" else told.set()

        stop = threading.Event()
        thread = threading.Thread(
            target=relay_children,
            args=(main, deliver),
            kwargs={"stop": stop, "after": cursor if by_cursor else None, "options": RelayOptions(flush_after=0.01)},
        )
        thread.start()
        main.spawn("other") if by_cursor else _spawned_until(main, going)
        assert going.wait(30)
        child.finished("Bye.")
        while not any(notice.kind == "done" for notice in notices):
            assert told.wait(30)
            told.clear()
        stop.set()
        thread.join(30)
        assert not thread.is_alive()


def _spawned_until(main: Agent, going: threading.Event) -> None:
    """Starts children until one is told of: a relay from now on begins at a time that nobody knows."""
    for _ in range(100):
        main.spawn("other")
        if going.wait(0.3):
            return


# Silence.


def test_what_the_board_finds_out_about_a_child_is_no_sign_that_it_was_prompted(board: Board, clock: FakeClock) -> None:
    spawned(board)
    for listens in (True, False):
        assert Parent(board, listens=listens).hears() == []
    clock.advance(61)
    assert board.tick() == 1
    for listens in (True, False):
        assert Parent(board, listens=listens).hears() == [
            "kid session started but no prompt submission was observed for 60s."
        ]


def test_a_child_that_was_prompted_and_does_nothing_is_told_of_as_the_board_does(
    board: Board, clock: FakeClock
) -> None:
    parent = Parent(board)
    spawned(board).user_turn()
    clock.advance(61)
    (stall,) = board.stalls()
    assert parent.hears() == [stall.finding.seen]
    assert stall.finding.detector == "no_runtime_event"


@pytest.mark.parametrize("listens", [True, False])
def test_what_a_person_does_to_its_list_is_no_progress_of_the_child(
    board: Board, clock: FakeClock, listens: bool
) -> None:
    parent, child = Parent(board, listens=listens), spawned(board)
    child.output("Hello.")
    todo(child, set=["Look", "Tell"])
    clock.advance(61)
    assert len(parent.hears()) == 3  # two lines, and that it is silent
    child.edit([{"op": "start", "task": "Tell"}], by="ada")
    clock.advance(3)
    assert parent.hears() == []
    todo(child, done="2")
    clock.advance(3)
    assert parent.hears()[0] == "kid resumed output."


def test_what_a_childs_own_child_does_to_its_list_is_progress(board: Board, clock: FakeClock) -> None:
    parent = Parent(board)
    child = board.agent("main", session="s1", complete_by_subagents=True).spawn("kid")
    todo(child, set=["Look around"])
    clock.advance(3)
    parent.hears()
    child.spawn("eye", label="Look around").finished("Seen.")
    clock.advance(3)
    assert parent.hears() == ["kid: 1/1: finished “Look around”."]


@pytest.mark.parametrize("listens", [True, False])
def test_a_child_that_was_let_stop_is_not_stalled(board: Board, clock: FakeClock, listens: bool) -> None:
    parent, child = Parent(board, listens=listens), spawned(board)
    child.user_turn()
    child.tool_started("a", "Read", {})
    child.tool_finished("a", "x")
    child.output("The answer is 42.")
    assert child.about_to_stop("The answer is 42.") is None
    clock.advance(3)
    assert parent.hears() == ["kid: The answer is 42."]
    clock.advance(61)
    assert (list(board.stalls()), parent.hears()) == ([], [])
    child.tool_started("b", "Read", {})
    clock.advance(61)
    assert "has ACP runtime activity" in parent.hears()[0]


def test_a_child_whose_tools_nobody_reports_is_not_stalled_after_its_first_sign_of_life(
    board: Board, clock: FakeClock
) -> None:
    parent = Parent(board)
    todo(spawned(board), set=["Look"])
    clock.advance(600)
    assert (list(board.stalls()), parent.hears()) == ([], ["kid: 0/1: now “Look”."])


def test_the_timings_of_a_child_are_those_of_its_relay(board: Board, clock: FakeClock) -> None:
    parent = Parent(board)
    spawned(board, stalls={"notice_after": 300})
    clock.advance(61)
    assert parent.hears() == []
    clock.advance(240)
    assert parent.hears() == ["kid session started but no prompt submission was observed for 300s."]


def test_timings_that_the_relay_was_given_go_before_those_of_the_child(board: Board, clock: FakeClock) -> None:
    parent = Parent(board, stalls=StallOptions(notice_after=2))
    spawned(board, stalls={"notice_after": 300})
    assert parent.hears() == []
    clock.advance(2)
    assert parent.hears() == ["kid session started but no prompt submission was observed for 2s."]

"""Feeds that are passed on live, from the middle of a board's log."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from punchlist import Agent, Board
from punchlist.projections.codex import CodexFeed, ExecFeed
from punchlist.projections.followed_lists import Feed, looking_into, pass_on
from punchlist.projections.relay import RelayOptions, Relays
from tests.dialects.boards import todo


@pytest.fixture
def board() -> Iterator[Board]:
    with Board.open("memory:") as board:
        yield board


@pytest.fixture
def agent(board: Board) -> Agent:
    agent = board.agent("main", session="s1")
    todo(agent, set=["Run", "Ship", "Rest"])
    return agent


FEEDS: list[tuple[Callable[[], Feed[Any]], str]] = [
    (
        lambda: Relays("s1", itself=True, options=RelayOptions(flush_after=0.01)),
        "main: 1/3: finished “Run”, now “Ship”.",
    ),
    (lambda: CodexFeed("s1"), "turn/plan/updated"),
    (lambda: ExecFeed("s1"), "item.started"),
]


@pytest.mark.parametrize(("made", "said"), FEEDS)
def test_a_session_that_already_has_a_list_is_told_of_from_its_next_change_on(
    board: Board, agent: Agent, made: Callable[[], Feed[Any]], said: str
) -> None:
    cursor = list(board.events())[-1].seq
    todo(agent, done="1")
    got: list[str] = []
    told, stop = threading.Event(), threading.Event()

    def deliver(message: object) -> None:
        got.append(str(message))
        told.set()

    thread = threading.Thread(target=pass_on, args=(board, made(), deliver), kwargs={"stop": stop, "after": cursor})
    thread.start()
    assert told.wait(30)
    stop.set()
    thread.join(30)
    assert said in got[0]


def test_a_list_that_was_said_again_is_the_list_for_who_joins_then(board: Board, agent: Agent) -> None:
    cursor = list(board.events())[-1].seq
    todo(agent, set=["Run", "Ship", "Rest"])
    feed = ExecFeed("s1", look=looking_into(board))
    (line,) = [line for event in board.events(cursor) for line in feed.add(event)]
    assert [item["text"] for item in line["item"]["items"]] == ["Run", "Ship", "Rest"]

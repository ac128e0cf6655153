"""Progress of all agents of a board, in few messages."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from punchlist import Agent, Board
from punchlist.projections.followed_lists import looking_into
from punchlist.projections.relay import GATHERED, SNIPPET, AgentProgress, ProgressFeed

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


class World:
    """A board with a clock, and a feed that reads it."""

    def __init__(self, board: Board, clock: list[datetime]) -> None:
        self.board = board
        self._clock = clock
        self._seen = 0
        self.feed = ProgressFeed(looking_into(board), self._is_root, board.now)

    def _is_root(self, session: str, agent: str) -> bool:
        row = self.board.store.agent(session, agent)
        return row is not None and row.parent is None

    def pass_time(self, time: timedelta) -> None:
        self._clock[0] += time

    def hear_all(self) -> list[str]:
        """Return the lines of all messages, once everything has come due."""
        return [line for one in self.hear_out() for line in one.lines]

    def hear_out(self) -> list[AgentProgress]:
        """Return all messages: a relay gathers text before it makes a line, then lines are gathered."""
        found = self.hear()
        for time in (timedelta(seconds=3), GATHERED):
            self.pass_time(time)
            found += self.hear()
        return found

    def hear(self) -> list[AgentProgress]:
        found: list[AgentProgress] = []
        for event in self.board.events(self._seen):
            self._seen = event.seq
            found += [*self.feed.add(event), *self.feed.tick(event.at)]
        return [*found, *self.feed.tick(self.board.now())]


@pytest.fixture
def world() -> Iterator[World]:
    clock = [NOON]
    with Board.open("memory:", clock=lambda: clock[0]) as board:
        yield World(board, clock)


def write(agent: Agent, *statuses: str) -> None:
    todos: list[dict[str, Any]] = [
        {"content": f"Step {number}", "activeForm": f"Doing step {number}", "status": status}
        for number, status in enumerate(statuses, 1)
    ]
    assert not agent.call("TodoWrite", {"todos": todos}).is_error


def test_what_an_agent_does_within_ten_seconds_is_one_message(world: World, tmp_path: Path) -> None:
    agent = world.board.agent("main", session="s1", dialect="claude-code", project=tmp_path)
    write(agent, "in_progress", "pending")
    assert world.hear() == []
    world.pass_time(timedelta(seconds=3))
    assert world.hear() == []
    write(agent, "completed", "in_progress")
    world.pass_time(timedelta(seconds=3))
    assert world.hear() == []
    world.pass_time(GATHERED)
    (told,) = world.hear()
    assert (told.project, told.session, told.agent) == (str(tmp_path), "s1", "main")
    assert told.lines == ("main: 0/2: now “Doing step 1”.", "main: 1/2: finished “Step 1”, now “Doing step 2”.")
    world.pass_time(GATHERED)
    assert world.hear() == []


def test_children_are_told_under_their_parent(world: World) -> None:
    agent = world.board.agent("main", session="s1", dialect="claude-code")
    write(agent, "in_progress")
    world.hear()
    child = agent.spawn("explore", label="Explore")
    write(child, "in_progress")
    told = world.hear_out()
    assert {one.agent for one in told} == {"main"}
    assert "Explore: 0/1: now “Doing step 1”." in [line for one in told for line in one.lines]


def test_what_an_agent_says_is_a_short_line(world: World) -> None:
    agent = world.board.agent("main", session="s1")
    agent.output("word " * 400)
    (line,) = world.hear_all()
    assert line.startswith("main: word word")
    assert len(line) == len("main: ") + SNIPPET


def test_calls_of_tools_are_no_progress(world: World) -> None:
    agent = world.board.agent("main", session="s1")
    agent.tool_started("c1", "Bash", {"command": "make"})
    agent.tool_finished("c1", "ok")
    assert world.hear_all() == []


def test_people_are_not_told_what_they_did_to_a_list_themselves(world: World) -> None:
    agent = world.board.agent("main", session="s1", dialect="claude-code")
    write(agent, "in_progress", "pending")
    assert world.hear_all() == ["main: 0/2: now “Doing step 1”."]
    agent.edit([{"op": "start", "task": "Step 2"}], by="ada")
    assert world.hear_all() == []


def test_of_an_agent_without_a_parent_neither_silence_nor_end_is_progress(world: World) -> None:
    agent = world.board.agent("main", session="s1", dialect="claude-code")
    agent.spawn("explore")
    write(agent, "in_progress")
    assert world.hear_all() == ["main: 0/1: now “Doing step 1”."]
    world.pass_time(timedelta(hours=1))
    assert {line.split()[0] for line in world.hear_all()} == {"explore"}
    agent.output("Bye.")
    agent.finished("Bye.")
    assert world.hear_all() == ["main: Bye."]


def test_an_agent_that_works_for_longer_than_a_relay_lives_is_still_told_of(world: World) -> None:
    agent = world.board.agent("main", session="s1", dialect="claude-code")
    write(agent, "in_progress")
    world.hear_all()
    world.pass_time(timedelta(hours=7))
    assert world.hear_all() == []
    write(agent, "completed", "in_progress")
    assert world.hear_all() == ["main: 1/2: finished “Step 1”, now “Doing step 2”."]


def test_of_many_lines_the_last_are_told(world: World) -> None:
    agent = world.board.agent("main", session="s1")
    for number in range(20):
        agent.output(f"{number}. {'x' * SNIPPET}")
    assert [line.split()[1] for line in world.hear_all()] == [f"{number}." for number in range(12, 20)]


def test_events_of_an_old_log_are_history(world: World) -> None:
    agent = world.board.agent("main", session="s1", dialect="claude-code")
    write(agent, "in_progress")
    world.pass_time(timedelta(hours=1))
    assert world.hear_out() == []


def test_two_agents_are_two_messages(world: World) -> None:
    for session in ("s1", "s2"):
        write(world.board.agent("main", session=session, dialect="claude-code"), "in_progress")
    assert sorted(one.session for one in world.hear_out()) == ["s1", "s2"]


def test_one_program_at_a_time_tells_of_progress(world: World) -> None:
    def lease(owner: str) -> bool:
        now = world.board.now()
        return world.board.store.transact(lambda tx: tx.notices.lease_progress(owner, now, timedelta(minutes=1)))

    assert (lease("a"), lease("b"), lease("a")) == (True, False, True)
    world.pass_time(timedelta(seconds=59))
    assert lease("b") is False
    world.pass_time(timedelta(seconds=2))
    assert (lease("b"), lease("a")) == (True, False)

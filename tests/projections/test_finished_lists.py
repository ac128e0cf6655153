"""A dialect that clears a list when its last item is finished: whoever follows it sees the end before it is gone."""

import asyncio
from collections.abc import Iterable, Iterator
from datetime import timedelta

import pytest

from punchlist import Agent, Board
from punchlist.acp.reporter import Reporter
from punchlist.acp.updates import Updates, replay
from punchlist.core.events import Event
from punchlist.projections.codex import CodexFeed, ExecFeed
from punchlist.projections.followed_lists import Lists, looking_into
from punchlist.projections.relay import ListDelta, Relays, compare_lists
from tests.acp_protocol.test_client import connected
from tests.dialects.boards import memory_board, write, written
from tests.projections.board_events import events_of


@pytest.fixture
def board() -> Iterator[Board]:
    with memory_board() as board:
        yield board


@pytest.fixture
def agent(board: Board) -> Agent:
    """One that has finished its list; the board has cleared it since."""
    agent = board.agent("main", session="s1", dialect="claude-code").spawn("kid")
    write(agent, "> Paint", "Sand")
    write(agent, "x Paint", "> Sand")
    write(agent, "x Paint", "x Sand")
    assert not agent.todos.items
    return agent


def plans(board: Board) -> list[list[str]]:
    return [[entry["status"] for entry in update["entries"]] for update in replay(board.events(), "s1", "kid")]


def changes(lists: Lists, events: Iterable[Event]) -> list[ListDelta]:
    found = [change for event in events if (change := lists.add(event)) is not None]
    return [compare_lists(change.before, change.shown) for change in found]


def test_the_last_completion_is_a_change(board: Board, agent: Agent) -> None:
    write(agent, "> Polish")
    found = changes(Lists(), board.events())
    assert found[2] == ListDelta(False, ("Sand",), "", 2, 2)
    assert (found[3].is_new, found[3].total) == (True, 1)


def test_who_joins_just_before_the_last_completion_sees_it(board: Board, agent: Agent) -> None:
    events = events_of(board)
    before = [event.seq for event in events if event.kind == "list.replaced"][1]
    (change,) = changes(Lists(looking_into(board)), board.events(before))
    assert (change.just_completed, change.completed, change.total) == (("Sand",), 2, 2)


def test_a_parent_hears_of_the_last_completion(board: Board, agent: Agent) -> None:
    relays = Relays("s1")
    for event in board.events():
        relays.add(event)
    (progress,) = relays.tick(board.now() + timedelta(seconds=3))
    assert progress.text.endswith("2/2: finished “Sand”.")


def test_an_editor_shows_the_finished_plan_until_there_is_another_one(board: Board, agent: Agent) -> None:
    assert plans(board)[-1] == ["completed", "completed"]
    write(agent, "> Polish")
    assert plans(board)[-1] == ["in_progress"]


def test_an_empty_list_that_is_written_then_clears_the_editors_plan(board: Board, agent: Agent) -> None:
    write(agent)
    assert plans(board)[-2:] == [["completed", "completed"], []]
    late = Updates("s1", "kid", look=looking_into(board))
    assert late.add(events_of(board)[-1]) == []


def test_a_call_that_finishes_the_list_shows_it_finished(board: Board) -> None:
    async def run() -> None:
        async with connected() as (editor, host):
            agent = board.agent("main", session="s1", dialect="claude-code")
            write(agent, "> Paint")
            reporter = Reporter(host.connection, agent)
            await reporter.send()
            await reporter.tool_started("c1", "TodoWrite", written("x Paint"))
            write(agent, "x Paint")
            await reporter.tool_finished("c1", "ok")
            await editor.until(3)
            assert "- ✅ Paint" in editor.updates[-1]["content"][0]["content"]["text"]

    asyncio.run(run())


def test_who_reads_codex_sees_every_step_completed(board: Board, agent: Agent) -> None:
    notes, lines = CodexFeed("s1", "kid"), ExecFeed("s1", "kid")
    told = [note for event in board.events() for note in notes.add(event)]
    said = [line for event in board.events() for line in lines.add(event)]
    assert [step["status"] for step in told[-1]["params"]["plan"]] == ["completed", "completed"]
    assert [item["completed"] for item in said[-1]["item"]["items"]] == [True, True]

"""The steps of a conversation on a board: recorded, remembered, and never raised."""

import asyncio
import logging
import sqlite3
from pathlib import Path

import msgspec
import pytest

from punchlist import Agent, Board, aio
from punchlist.detect.findings import Verdict
from punchlist.errors import StoreDamaged
from punchlist.store import Store
from punchlist.store.runtime import NEW
from punchlist.store.sqlite import SqliteStore
from punchlist.testing import FaultyStore
from tests.dialects.boards import write
from tests.guidance.talk import do, kinds, spoken, talk, turns
from tests.store.contracts.checks import in_threads


def _store(agent: Agent) -> Store:
    return agent.board.store


def _tools(board: Board) -> list[tuple[str, dict[str, object]]]:
    return [(event.kind, dict(event.data)) for event in board.events() if event.kind.startswith("tool.")]


def test_tool_calls_are_recorded_without_their_arguments_and_results() -> None:
    with talk(previews=0) as agent:
        assert agent.tool_started("c1", "Bash", {"command": "cat secret"}) == Verdict("ok", None, 0, "")
        agent.tool_finished("c1", result="hunter2", is_error=True)
        (_, started), (_, finished) = _tools(agent.board)
        assert started.items() >= {"call_id": "c1", "name": "Bash", "kind": "shell"}.items()
        assert finished.items() >= {"call_id": "c1", "name": "Bash", "is_error": True}.items()
        assert "secret" not in str(started)
        assert "hunter2" not in str(finished)


def test_one_fact_is_one_event() -> None:
    with talk() as agent:
        for _ in range(2):
            agent.tool_started("c1", "Edit")
        for _ in range(2):
            agent.tool_finished("c1")
        agent.tool_started("c1", "Edit")
        assert [kind for kind, _ in _tools(agent.board)] == ["tool.started", "tool.finished"]


def test_an_end_without_a_beginning_is_recorded_and_counts_for_nothing() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint")
        for number in range(20):
            agent.tool_finished(f"c{number}")
        assert len(_tools(agent.board)) == 20
        assert agent.assistant_turn() == []


def test_what_is_said_is_an_event_too() -> None:
    with talk() as agent:
        (injection,) = turns(agent, 7)[-1]
        said = [dict(event.data) for event in agent.board.events() if event.kind == "guidance.said"]
        assert said == [{"kind": "reminder", "characters": len(injection.text)}]


def test_turns_change_no_list() -> None:
    with talk() as agent:
        write(agent, "> Paint")
        before = agent.todos
        agent.user_turn()
        turns(agent, 10, ("Edit",))
        do(agent, 5)
        agent.about_to_stop()
        assert agent.todos == before


def test_the_count_goes_on_after_a_restart(tmp_path: Path) -> None:
    for start in range(7):
        with Board.open(tmp_path / "board.db") as board:
            agent = board.agent("main", session="s", dialect="claude-code", profile="classic")
            if not start:
                write(agent, "> Paint")
            assert bool(agent.assistant_turn(tools_used=["Read"])) is (start == 6)


def test_a_call_that_began_in_one_process_ends_in_another(tmp_path: Path) -> None:
    def quiet(board: Board) -> Agent:
        return board.agent("main", session="s", dialect="claude-code")

    with Board.open(tmp_path / "board.db") as one, Board.open(tmp_path / "board.db") as other:
        write(quiet(one), "> Paint")
        for number in range(12):
            quiet(one).tool_started(f"c{number}", "Edit")
            quiet(other).tool_finished(f"c{number}")
        assert kinds(quiet(one).assistant_turn()) == ["reminder"]
        assert quiet(other).assistant_turn() == []


def test_two_handles_in_two_processes_count_together(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as one, Board.open(tmp_path / "board.db") as other:
        agents = [board.agent("main", session="s", dialect="claude-code", profile="classic") for board in (one, other)]
        said = [agents[number % 2].assistant_turn(tools_used=["Read"]) for number in range(13)]
        assert spoken(said) == [7, 10, 13]
        write(agents[0], "> Paint")
        assert spoken([agents[1].assistant_turn() for _ in range(7)]) == [7]


def test_turns_from_many_threads_are_all_counted(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:

        def work(number: int) -> None:
            agent = board.agent("main", session="s", dialect="claude-code", profile="off")
            for turn in range(20):
                agent.assistant_turn(tools_used=["Read"])
                agent.tool_started(f"{number}-{turn}", "Edit")

        in_threads(4, work)
        (cost,) = board.costs()
        assert cost.cost.spent.turns == 80
        assert len(_tools(board)) == 80


@pytest.mark.parametrize("fault", ["fail_before", "fail_after"])
def test_a_fault_of_the_store_is_logged_and_nothing_is_said(fault: str, caplog: pytest.LogCaptureFixture) -> None:
    store = FaultyStore(SqliteStore(""))
    with Board(store) as board:
        agent = board.agent("main", session="s", dialect="claude-code", profile="classic")
        turns(agent, 6)
        for step in (agent.user_turn, agent.assistant_turn, agent.about_to_stop, lambda: agent.tool_finished("x")):
            store.plan(fault)  # pyright: ignore[reportArgumentType]
            with caplog.at_level(logging.ERROR, "punchlist.guidance"):
                assert not step()
        store.plan(fault)  # pyright: ignore[reportArgumentType]
        assert agent.tool_started("x", "Edit").level == "ok"
        assert len(caplog.records) == 5


def test_a_closed_board_is_no_reason_to_raise(caplog: pytest.LogCaptureFixture) -> None:
    with talk() as agent:
        pass
    assert agent.assistant_turn() == []
    assert agent.about_to_stop() is None
    assert len(caplog.records) == 2


@pytest.mark.parametrize(
    "tools", [None, "Edit", ["Edit", None, 7, b"x"], [["nested"]], ["x" * 10_000_000], ["\ud800"], ("Edit",) * 5_000]
)
def test_tools_of_any_kind_are_survived(tools: object, caplog: pytest.LogCaptureFixture) -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint")
        agent.assistant_turn(tools_used=tools)  # pyright: ignore[reportArgumentType]
        assert not caplog.records
        (cost,) = agent.board.costs()
        assert cost.cost.spent.turns == 1


def test_what_is_remembered_does_not_grow_with_the_conversation() -> None:
    with talk(profile="quiet") as agent:
        sizes: list[int] = []
        for prompt in range(15):
            write(agent, f"> Step {prompt}")
            do(agent, 40)
            turns(agent, 20, ("Edit", "Bash"))
            agent.about_to_stop()
            agent.user_turn()
            row = agent.board.store.agent("s1", "main")
            assert row is not None
            memory = _store(agent).read(lambda tx, number=row.number: tx.memory.load(number))
            sizes.append(len(msgspec.msgpack.encode(memory)))
        assert max(sizes) < 2_500
        assert sizes[-1] - sizes[5] < 150


def test_a_pruned_agent_leaves_nothing_behind() -> None:
    with talk() as agent:
        agent.assistant_turn()
        row = agent.board.store.agent("s1", "main")
        assert row is not None
        assert agent.board.prune(agent.board.now().replace(year=agent.board.now().year + 1)) == 1
        assert _store(agent).read(lambda tx: tx.memory.load(row.number)) == NEW
        assert list(agent.board.costs()) == []


def test_the_async_board_says_the_same() -> None:
    async def conversation() -> list[list[str]]:
        async with aio.Board.open("memory:") as board:
            agent = board.agent("main", session="s", dialect="claude-code", profile="classic")
            await agent.user_turn()
            said = [kinds(await agent.assistant_turn(tools_used=["Read"])) for _ in range(7)]
            assert (await agent.tool_started("c", "Edit")).level == "ok"
            await agent.tool_finished("c")
            assert await agent.about_to_stop("Done.") is None
            (cost,) = await board.costs(session="s")
            assert cost.cost.spent.turns == 7
            return said

    assert asyncio.run(conversation()) == [[]] * 6 + [["reminder"]]


@pytest.mark.parametrize("value", ["'junk'", "x'00'", "x'5b315d00000000'"])
def test_a_damaged_memory_says_nothing_and_leaves_the_list_alone(
    tmp_path: Path, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    _damage(tmp_path / "board.db", f"UPDATE agents SET memory = {value}")
    with Board.open(tmp_path / "board.db") as board:
        agent = board.agent("main", session="s", dialect="claude-code", profile="classic")
        assert agent.assistant_turn() == []
        assert len(caplog.records) == 1
        assert [item.content for item in agent.todos.items] == ["Paint"]
        for step in (lambda: write(agent, "x Paint", "> Clean"), board.costs):
            with pytest.raises(StoreDamaged):
                step()


def _damage(path: Path, statement: str) -> None:
    with Board.open(path) as board:
        agent = board.agent("main", session="s", dialect="claude-code", profile="classic")
        write(agent, "> Paint")
        agent.assistant_turn()
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()

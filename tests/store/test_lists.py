"""A list is stored whole now and then, with what changed since beside it: whoever reads sees the same list."""

import random
import sqlite3
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.core.apply import apply
from punchlist.core.commands import Append, Edit, Entry, Policy
from punchlist.store import Transaction
from punchlist.testing import FakeClock
from tests.sizes import size

STATUSES = ("pending", "in_progress", "completed")


def written(count: int, rng: random.Random) -> dict[str, list[dict[str, str]]]:
    return {
        "todos": [
            {"content": f"step {number}", "status": rng.choice(STATUSES), "activeForm": f"doing {number}"}
            for number in range(count)
        ]
    }


def rows(path: Path, statement: str) -> list[tuple[int, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


@pytest.mark.parametrize("seed", range(size(4, 400)))
def test_readers_old_and_new_see_what_the_writer_sees(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    path = tmp_path / "board.db"
    with Board.open(path, durability="normal") as board, Board.open(path, durability="normal") as other:
        writers = [each.agent(session="s", dialect="claude-code", project="/p") for each in (board, other)]
        people = [each.agent(session="s", project="/p") for each in (board, other)]
        seen = writers[0].todos
        for number in range(60):
            if rng.random() < 0.2:
                rng.choice(people).edit({"op": "add", "items": [f"from Ada {number}"]}, by="ada")
            else:
                rng.choice(writers).call("TodoWrite", written(rng.choice((0, 1, 5, 5, 5, 20)), rng))
            seen = writers[0].todos
            assert writers[1].todos == seen
            if number % 10 == 0:
                with Board.open(path, durability="normal") as new:
                    assert new.agent(session="s", project="/p").todos == seen
                    assert [row.todos for row in new.lists(session="s")] == [seen]
        assert writers[0].at(seen.revision) == seen


def test_a_report_on_a_tool_call_does_not_write_the_list(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db", durability="normal") as board:
        agent = board.agent(session="s", dialect="claude-code", project="/p")
        agent.call("TodoWrite", written(20, random.Random(1)))
        statements: list[str] = []
        board.store.transact(lambda tx: tx.connection.set_trace_callback(statements.append))
        agent.tool_started("1", "Bash", {"command": "ls"})
        agent.tool_finished("1", "src")
        assert statements
        assert not [statement for statement in statements if "INTO lists" in statement]


def test_work_that_is_taken_back_leaves_no_trace_in_what_is_remembered(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db", durability="normal") as board:
        agent = board.agent(session="s", project="/p")
        agent.call("todo", {"add": ["one"]})
        before = agent.todos

        def work(tx: Transaction) -> None:
            row = tx.agent("s", "main")
            assert row is not None
            applied = apply(row.state, Edit((Append((Entry("two"),)),)), Policy(), board.now(), by="main")
            tx.save_list(row, applied.state, unseen=0, at=board.now())
            raise LookupError

        for _ in range(2):
            with pytest.raises(LookupError):
                board.store.transact(work)
            assert agent.todos == before
        agent.call("todo", {"add": ["three"]})
        assert [item.content for item in agent.todos.items] == ["one", "three"]
    with Board.open(tmp_path / "board.db", durability="normal") as board:
        assert [item.content for item in board.agent(session="s", project="/p").todos.items] == ["one", "three"]


def test_a_pruned_agent_leaves_no_list_behind(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    clock = FakeClock()
    with Board.open(path, durability="normal", clock=clock) as board:
        board.agent(session="s", dialect="claude-code", project="/p").call("TodoWrite", written(20, random.Random(2)))
        assert rows(path, "SELECT count(*) FROM lists") == [(1,)]
        clock.advance(10)
        assert board.prune(board.now()) == 1
        assert rows(path, "SELECT count(*) FROM lists") == [(0,)]

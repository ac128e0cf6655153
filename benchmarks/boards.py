"""Large boards, made quickly: their rows are real ones, written many to a transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks import work
from punchlist import Board
from punchlist.core.events import Draft
from punchlist.core.todo import ListState, TodoList
from punchlist.store import Transaction
from punchlist.store.records import checksum

_A_TRANSACTION = 2000
_AN_EVENT = b'{"item":"7","from":"pending","to":"in_progress","at":"2025-01-01T00:00:00Z","revision":12}'


def sessions(path: Path, count: int, project_of: Callable[[int], str]) -> None:
    """A board of so many sessions with a list each, one second apart, the latest now."""
    todos, drafts = _a_list()
    start = datetime.now(UTC) - timedelta(seconds=count)

    def add(tx: Transaction, indexes: range) -> None:
        for index in indexes:
            at = start + timedelta(seconds=index)
            row = tx.add_agent(f"session-{index:06}", "main", project=project_of(index), at=at)
            tx.save_list(row, ListState(todos), unseen=0, at=at)
            tx.add_events(row, drafts, by="main", at=at)

    with Board.open(path, durability="normal") as board:
        for first in range(0, count, _A_TRANSACTION):
            indexes = range(first, min(count, first + _A_TRANSACTION))
            board.store.transact(lambda tx, indexes=indexes: add(tx, indexes))


def _a_list() -> tuple[TodoList, Sequence[Draft]]:
    """A list of five items, and what made it."""
    with Board.open("memory:") as board:
        agent = board.agent(session="seed", dialect="claude-code")
        agent.call("TodoWrite", {"todos": work.claude_code()[1][:5]})
        return agent.todos, [Draft(event.kind, dict(event.data)) for event in board.events()]


def noise(path: Path, count: int, *, agents: int = 1000) -> None:
    """So many events of other agents, whose numbers lie far from those in use. The board must not be open."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(
            """
            WITH RECURSIVE steps (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM steps WHERE n < :count)
            INSERT INTO events (at, kind, author, agent, revision, data)
            SELECT 1700000000000000 + n, 'item.started', 'main', 1000000 + n % :agents, n / :agents, :data
            FROM steps WHERE n <= :count
            """,
            {"count": count, "agents": agents, "data": _AN_EVENT},
        )
        connection.execute("COMMIT")
    finally:
        connection.close()


def copy_calls(path: Path, source: str) -> None:
    """Give the tool calls of a session, and their events, to every other agent. The board must not be open."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN IMMEDIATE")
        ((first,),) = connection.execute("SELECT id FROM agents WHERE session = ?", (source,)).fetchall()
        others = [number for (number,) in connection.execute("SELECT id FROM agents WHERE id <> ?", (first,))]
        columns = "id, seq, tool, ended, outcome, drifts, body"
        calls = connection.execute(f"SELECT {columns} FROM tool_calls WHERE agent = ?", (first,)).fetchall()
        for agent in others:
            connection.execute(
                "INSERT INTO events (at, kind, author, agent, revision, data) "
                "SELECT at, kind, author, ?, revision, data FROM events "
                "WHERE agent = ? AND kind IN ('tool.started', 'tool.finished') ORDER BY seq",
                (agent, first),
            )
            connection.executemany(
                f"INSERT INTO tool_calls ({columns}, agent, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(*call, agent, checksum(f"tool call {agent} {call[0]}", call[-1])) for call in calls],
            )
        connection.execute("COMMIT")
    finally:
        connection.close()

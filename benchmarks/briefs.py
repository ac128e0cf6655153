"""The brief from a recent cursor, the overview, and `punchlist now`, on a board with a million events."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import ROOT, child_cpu, seconds_each
from benchmarks.report import Must, Row
from benchmarks.scale import Scale
from punchlist import Agent, Board
from punchlist.store.records import checksum

NOTE = (
    "Seconds for one look, the best of five, without Git. Sessions have about 1,000 events: a list of 20 items and 480 "
    "tool calls. Three in ten were left with an item in progress. 200 events came after the cursor, in two sessions."
)
_MOST = Must("≤", 0.3, "s")
_A_SESSION = 1000
_ITEMS = 20
_PUNCHLIST = str(ROOT / ".venv/bin/punchlist")


def run(scale: Scale) -> Iterator[Row]:
    sessions = scale.count(1_000_000, least=2_000) // _A_SESSION
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as name:
        path = Path(name) / "board.db"
        with Board.open(path, durability="normal") as board:
            _work(board.agent(session="done"), items=_ITEMS)
            _work(board.agent(session="left"), items=_ITEMS - 1)
        _multiply(path, sessions)
        with Board.open(path, durability="normal") as board:
            cursor = board.store.last_seq()
            for session in ("left", "new"):
                _report(board.agent(session=session), 50)
            events = board.store.last_seq()
            brief = min(seconds_each(lambda: board.brief(cursor), 1) for _ in range(5))
            overview = min(seconds_each(board.overview, 1) for _ in range(5))
            standing = len(board.brief(cursor).under_way)
        shown = min(seconds_each(lambda: child_cpu([_PUNCHLIST, "now", "--db", str(path)], name), 1) for _ in range(5))
    yield Row(f"brief, {events:,} events, {standing} items under way", f"{brief:.3f} s", "", None, _MOST, brief)
    yield Row(f"`punchlist now`, {events:,} events, start to end", f"{shown:.3f} s", "", None, _MOST, shown)
    yield Row(f"overview, {events:,} events, {sessions} agents", f"{overview:.3f} s", "", None, _MOST, overview)


def _work(agent: Agent, items: int) -> None:
    """Write a list of 20 items and do so many of them, with 24 calls each; the next one is left in progress."""
    agent.call("todo", {"set": [f"Step {number} of the plan" for number in range(1, _ITEMS + 1)], "start": "1"})
    for number in range(1, items + 1):
        _report(agent, 24, name=str(number))
        agent.call("todo", {"done": [str(number)], "next": True})
    if items == _ITEMS:
        agent.finished()  # what a finished agent left is not under way


def _report(agent: Agent, calls: int, name: str = "since") -> None:
    for number in range(calls):
        agent.tool_started(f"{name}-{number}", "Bash", {"command": f"pytest -q tests/test_{number}.py"})
        agent.tool_finished(f"{name}-{number}", "3 passed in 0.12s", exit_code=0)


def _multiply(path: Path, sessions: int) -> None:
    """Copy the rows of the two agents until there are so many. The board must not be open."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN IMMEDIATE")
        finished, left = (number for (number,) in connection.execute("SELECT id FROM agents ORDER BY id").fetchall())
        for index in range(sessions - 2):
            _copy(connection, left if index % 10 < 3 else finished, f"copy-{index}")
        connection.execute("COMMIT")
    finally:
        connection.close()


def _copy(connection: sqlite3.Connection, source: int, session: str) -> None:
    values = {"source": source, "session": session}
    connection.execute(
        "INSERT INTO sessions (id, project, created_at, recent, state, checks) "
        "SELECT :session, s.project, s.created_at, s.recent, s.state, s.checks FROM sessions s "
        "JOIN agents a ON a.session = s.id WHERE a.id = :source",
        values,
    )
    new = connection.execute(
        "INSERT INTO agents (session, name, project, created_at, updated_at, recent, activity, summary) "
        "SELECT :session, name, project, created_at, updated_at, recent, activity, summary FROM agents "
        "WHERE id = :source RETURNING id",
        values,
    ).fetchone()[0]
    values = {"source": source, "new": new}
    connection.execute(
        "INSERT INTO events (at, kind, author, agent, revision, data) "
        "SELECT at, kind, author, :new, revision, data FROM events WHERE agent = :source ORDER BY seq",
        values,
    )
    connection.execute(
        "INSERT INTO kept_items SELECT :new, plan, id, touched, status, is_gone, body FROM kept_items "
        "WHERE agent = :source",
        values,
    )
    done = "key, position, until, at, grade, body"
    rows = connection.execute(f"SELECT {done} FROM completions WHERE agent = ?", (source,)).fetchall()
    connection.executemany(
        f"INSERT INTO completions ({done}, agent, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(*row, new, checksum(f"completion {new} {row[0]}", row[-1])) for row in rows],
    )
    columns = "id, seq, tool, ended, outcome, drifts, body"
    calls = connection.execute(f"SELECT {columns} FROM tool_calls WHERE agent = ?", (source,)).fetchall()
    connection.executemany(
        f"INSERT INTO tool_calls ({columns}, agent, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(*call, new, checksum(f"tool call {new} {call[0]}", call[-1])) for call in calls],
    )

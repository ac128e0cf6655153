"""Nothing on a board lets its reader try passwords that were in a tool's arguments or result."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from punchlist import Board
from punchlist.testing import FakeClock
from tests.store.boards import read_rows

GUESSES = ("hunter2", "swordfish", "letmein", "correct-horse", "Passw0rd", "12345678", "iloveyou", "trustno1")
KEY = bytes(range(32))
PADDING = "a line that says little\n" * 500


def make_calls(password: str) -> Iterator[tuple[str, Any, Any, bool]]:
    """Yield calls with a password in their arguments or their result: tool, arguments, result, True if it fails."""
    yield "Bash", {"command": f"mysql -u root -p{password} shop"}, "1 row", False
    yield "Bash", {"command": ["curl", "--password", password]}, "done", False
    yield "exec", {"command": f"PGPASSWORD={password} psql"}, {"details": {"status": "completed", "exitCode": 0}}, False
    yield "login", {"user": "ada", "password": password}, "welcome", False
    yield "Write", {"file_path": ".env", "content": f"{PADDING}DB_PASSWORD={password}\n{PADDING}"}, "written", False
    yield "Read", {"file_path": ".env"}, f"PORT=80\nDB_PASSWORD={password}\n", False
    yield "read_file", {"path": "config"}, f'{{"user": "ada", "password": "{password}"}}', False
    yield "Bash", {"command": "./deploy"}, f"refused: password={password}", True
    yield "mcp__db__query", f'{{"password": "{password}"}}', [{"type": "text", "text": f"token: {password}"}], False


def report_calls(path: Path, password: str) -> dict[str, list[Any]]:
    """Report each call 12 times on a board with a known key and clock; return every row that it has then."""
    Board.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE board SET key = ?", (KEY,))
        connection.commit()
    with Board.open(path, clock=FakeClock()) as board:
        agent = board.agent("main", session="s1", project="/projects/shop", guardrail={"hard_stop_enabled": True})
        agent.user_turn()
        for number, (tool, args, result, fails) in enumerate(make_calls(password)):
            for time in range(12):
                agent.tool_started(f"toolu_{number}_{time}", tool, args)
                agent.tool_finished(f"toolu_{number}_{time}", result=result, is_error=fails)
            agent.compacted()
        agent.tool_started("toolu_open", "Bash", {"command": f"mysql -p{password}"})
    return read_rows(path)


@pytest.mark.sqlite
def test_boards_of_agents_with_other_passwords_are_equal_in_every_row(tmp_path: Path) -> None:
    first, *others = [report_calls(tmp_path / f"{place}.db", word) for place, word in enumerate(GUESSES)]
    assert sum(row["loop"] is not None for row in first["tool_calls"]) > 50
    assert b"failures" in first["agents"][0]["memory"]
    for other in others:
        assert other == first


@pytest.mark.sqlite
def test_another_key_makes_other_hashes(tmp_path: Path) -> None:
    loops: list[Any] = []
    for place in range(2):
        with Board.open(tmp_path / f"{place}.db", clock=FakeClock()) as board:
            board.agent("main", session="s1", project="/projects/shop").tool_started("c1", "Read", {"path": "a.py"})
        (row,) = read_rows(tmp_path / f"{place}.db")["tool_calls"]
        loops.append(row["loop"])
    assert loops[0] != loops[1]


def test_calls_that_differ_in_a_secret_alone_are_one_loop() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        for number in range(10):
            assert agent.tool_started(f"c{number}", "login", {"password": f"guess {number}"}).level == "ok"
            agent.tool_finished(f"c{number}", result="refused")
        assert agent.tool_started("c10", "login", {"password": "another"}).detector == "generic_repeat"


def test_a_password_of_several_words_is_in_no_hash_either() -> None:
    kept: list[Any] = []
    for password in ("correct horse", "battery staple", "it's me"):
        with Board.open("memory:") as board:
            agent = board.agent("main", session="s1")
            agent.tool_started("c1", "Bash", {"command": ["curl", "--password", password]})
            kept += [event.data.get("words") for event in board.events(0) if event.kind == "tool.started"]
    assert len(set(kept)) == 1


def test_what_the_user_calls_a_secret_is_in_no_hash_either() -> None:
    options = " ".join(f"--option-{number} value" for number in range(60))  # more than the preview shows
    kept: list[Any] = []
    for password in ("hunter2", "swordfish"):
        calls: list[tuple[str, Any]] = [
            ("Bash", {"command": f"login badge-{password} {options}"}),
            ("WebFetch", {"url": f"https://example.org/{options}/badge-{password}"}),
        ]
        with Board.open("memory:") as board:
            agent = board.agent("main", session="s1", redact=[r"badge-\w+"])
            for number, (tool, args) in enumerate(calls):
                agent.tool_started(f"c{number}", tool, args)
            kept.append([event.data.get("words") for event in board.events(0) if event.kind == "tool.started"])
    assert all(kept[0])
    assert kept[0] == kept[1]

"""Escapes, markup and text that runs backwards in any field of any watched file reach no terminal."""

from __future__ import annotations

import copy
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest

from punchlist import Board
from punchlist.core.presence import Presence
from punchlist.presence.roster import load_roster
from punchlist.reports.work_reports import load_brief
from punchlist.terminal.now import TopFrame, arrange_rows, now_lines, top_lines
from punchlist.terminal.spans import Display, plain
from tests.logs.machine import Machine, make_machine
from tests.sizes import size
from tests.transcripts.chats import CHATS, Chat, HermesChat
from tests.transcripts.sessions import ClaudeSession, CodexSession

EVIL = (
    "\x1b[2J\x1b]0;title\x07\x1b]8;;http://evil\x1b\\link\x1b]52;c;eA==\x07\x1bPq\x1b\\"
    "\x9b31m\x9d0;x\x9c\u202e\u2066\u200f[red]<b onclick=x>\x00\x08\r"
)
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
INSIDE = "json"
NUMBERS = count()
"""Of the sessions, so that no two agents have the same."""

Place = tuple[str, ...]


def list_places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the places of all texts in a record, also of those in a text that is JSON."""
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield from list_places(inner, (*place, key))
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from list_places(inner, (*place, "*"))
    elif isinstance(value, str):
        yield place
        if value.startswith(("{", "[")):
            yield from list_places(json.loads(value), (*place, INSIDE))


def plant(value: Any, place: Place) -> Any:
    """Return a record with the text at a place preceded by escapes; the same record if it has no such place."""
    if not place:
        return EVIL + value if isinstance(value, str) else value
    first, *rest = place
    if first == INSIDE and isinstance(value, str) and value.startswith(("{", "[")):
        return json.dumps(plant(json.loads(value), tuple(rest)))
    if first == "*" and isinstance(value, list):
        return [plant(inner, tuple(rest)) for inner in cast("list[Any]", value)]
    if isinstance(value, dict) and first in value:
        given = cast("dict[str, Any]", value)
        return {**given, first: plant(given[first], tuple(rest))}
    return cast("Any", value)


def plant_everywhere(
    make: Callable[[str], list[dict[str, Any]]], write: Callable[[str, list[Any]], object]
) -> list[str]:
    """Write one session for each place of a text in the records of a format, with escapes there; return them."""
    places = sorted({place for record in make("model") for place in list_places(record)})
    sessions = [f"5c1de2a0-0000-4000-8000-{next(NUMBERS):012}" for _ in places]
    for session, place in zip(sessions, places, strict=True):
        write(session, [plant(copy.deepcopy(record), place) for record in make(session)])
    return sessions


def work(session: Any) -> None:
    run = session.run if isinstance(session, Chat) else getattr(session, "bash", None) or session.exec
    todo = session.plan if isinstance(session, CodexSession) else session.todo
    session.user("Add a login page")
    todo("> Write the form", "Test it")
    run("echo 'x = 1' > src/login.py", "")
    run("pytest -q", "1 failed, 2 passed in 0.1s", 1)
    run("pytest -q", "3 passed in 0.1s")
    todo("x Write the form", "> Test it")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return make_machine(tmp_path, monkeypatch)


def write_claude(machine: Machine) -> list[str]:
    def make(session: str) -> list[dict[str, Any]]:
        made = ClaudeSession(str(machine.home), session)
        work(made)
        made.add_task("1", "Paint")
        made.tool("ExitPlanMode", {"plan": "# Paint it"}, "declined", error=True)
        made.tool("mcp__punchlist__todo", {"set": [{"text": "Fix", "status": "in_progress"}]}, "1 item")
        return [json.loads(line) for line in made.lines]

    def write(session: str, records: list[Any]) -> None:
        lines = [json.dumps(record) + "\n" for record in records]
        (machine.claude / f"{session}.jsonl").write_text("".join(lines))
        children = machine.claude / session / "subagents"
        children.mkdir(parents=True)
        (children / "agent-a1.jsonl").write_text("".join(lines[:5]))
        (children / "agent-a1.meta.json").write_text(json.dumps({"agentType": f"x{EVIL}", "toolUseId": EVIL}))

    machine.claude.mkdir(parents=True)
    return plant_everywhere(make, write)


def write_codex(machine: Machine) -> list[str]:
    def make(session: str) -> list[dict[str, Any]]:
        made = CodexSession(str(machine.home), session)
        work(made)
        return [json.loads(line) for line in made.lines]

    def write(session: str, records: list[Any]) -> None:
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (machine.codex / f"rollout-2026-03-01T21-00-00-{session}.jsonl").write_text(lines)

    machine.codex.mkdir(parents=True)
    return plant_everywhere(make, write)


def write_chats(machine: Machine, kind: type[Chat]) -> list[str]:
    def open_chat(session: str) -> Chat:
        chat = kind(str(machine.home))
        chat.session = session
        chat.records.clear()
        chat.begin()
        return chat

    def make(session: str) -> list[dict[str, Any]]:
        chat = open_chat(session)
        work(chat)
        return chat.records

    def write(session: str, records: list[Any]) -> None:
        chat = open_chat(session)
        chat.records = records
        path = chat.save(machine.home)
        if not isinstance(chat, HermesChat):
            path.rename(path.with_name(f"{session}.jsonl"))

    return plant_everywhere(make, write)


def write_opencode(machine: Machine) -> list[str]:
    path = machine.home / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    at = 1772355600000
    todo = {"content": "Paint", "status": "in_progress", "priority": "low"}

    def make(session: str) -> list[dict[str, Any]]:
        def part(call_id: str, tool: str, given: dict[str, Any], **more: Any) -> dict[str, Any]:
            state = {"status": "completed", "input": given, "time": {"start": at, "end": at + 5}, **more}
            return {"type": "tool", "tool": tool, "callID": f"{call_id}-{session}", "state": state}

        return [
            {"directory": str(machine.home), **todo},
            part("c1", "bash", {"command": "pytest -q"}, output="1 failed", metadata={"exit": 1}),
            part("c2", "todowrite", {"todos": [todo]}, output="ok"),
            part("c3", "read", {"filePath": "a.py"}, status="error", error="no such file"),
        ]

    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript("""
            CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, time_updated INTEGER);
            CREATE TABLE todo (session_id TEXT, content TEXT, status TEXT, priority TEXT,
                position INTEGER, time_created INTEGER, time_updated INTEGER);
            CREATE TABLE part (id TEXT PRIMARY KEY, session_id TEXT, time_updated INTEGER, data TEXT);
        """)

        def write(session: str, records: list[Any]) -> None:
            head, *parts = records
            connection.execute("INSERT INTO session VALUES (?, NULL, ?, ?)", (session, head["directory"], at))
            row = (session, head["content"], head["status"], head["priority"], 0, 0, at)
            connection.execute("INSERT INTO todo VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            for number, one in enumerate(parts):
                values = (f"{session}{number}", session, at, json.dumps(one))
                connection.execute("INSERT INTO part VALUES (?, ?, ?, ?)", values)

        return plant_everywhere(make, write)


def write_lists(machine: Machine) -> list[str]:
    """Write the files that hold a list alone: qwen's, and OpenClaw's ledger."""
    todos = machine.home / ".qwen/todos"
    ledger = machine.home / ".openclaw/acp/event-ledger.json"
    todos.mkdir(parents=True, exist_ok=True)
    ledger.parent.mkdir(parents=True, exist_ok=True)
    sessions: dict[str, Any] = {}

    def make_list(session: str) -> list[dict[str, Any]]:
        return [{"sessionId": session, "todos": [{"id": "1", "content": "Cut", "status": "pending"}]}]

    def make_entry(_session: str) -> list[dict[str, Any]]:
        entries = [{"content": "Cut", "priority": "high", "status": "pending"}]
        update = {"sessionUpdate": "plan", "entries": entries}
        return [{"cwd": str(machine.home), "updatedAt": 1, "events": [{"at": 1772355600000, "update": update}]}]

    def write_list(session: str, records: list[Any]) -> None:
        (todos / f"{session}.json").write_text(json.dumps(records[0]))

    def write_entry(session: str, records: list[Any]) -> None:
        sessions[f"acp-{session}"] = records[0]

    written = plant_everywhere(make_list, write_list) + plant_everywhere(make_entry, write_entry)
    ledger.write_text(json.dumps({"version": 1, "sessions": sessions}))
    return written


WRITERS: dict[str, Callable[[Machine], list[str]]] = {
    "claude-code": write_claude,
    "codex": write_codex,
    "opencode": write_opencode,
    "lists": write_lists,
    **{name: lambda machine, kind=kind: write_chats(machine, kind) for name, kind in CHATS.items()},
}
GROUPS = size([list(WRITERS)], [[name] for name in WRITERS])
"""The agents of one board: all of them; in a storm each has a board of its own, of which commands show more."""

COMMANDS = (
    ("watch", "--once", "--since", "9000d"),
    ("now",),
    ("todos", "--all", "--limit", "1000"),
    ("report", "--project", "."),
    ("brief", "--after", "0"),
    ("sessions", "--all", "--limit", "1000"),
    ("events", "--after", "0"),
    ("stats",),
    ("tasks", "list"),
)


@pytest.mark.parametrize("names", GROUPS, ids=" ".join)
def test_no_field_of_a_watched_file_reaches_a_terminal_as_an_escape(machine: Machine, names: list[str]) -> None:
    agents = {session: name for name in names for session in WRITERS[name](machine)}
    assert min(Counter(agents.values()).values()) > 5
    environment = {**os.environ, "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "TERM": "xterm-256color"}
    for words in COMMANDS:
        command = [sys.executable, "-m", "punchlist", "--db", str(machine.board), *words]
        done = subprocess.run(command, capture_output=True, cwd=machine.home, env=environment, check=False)
        said = (done.stdout + done.stderr).decode()
        assert done.returncode in (0, 1), said
        check(said)
    with Board.open(machine.board) as board:
        rows = board.store.lists(limit=1000)
        hosts = [agents[row.session[-36:]] for row in rows]
        assert min(Counter(hosts).values()) > 3
        present = [
            Presence(
                host=host.replace("lists", "claude-code"),
                session=row.session,
                state="busy",
                project=row.project,
                title=EVIL,
                doing=EVIL,
            )
            for host, row in zip(hosts, rows, strict=True)
        ]
        roster, now = load_roster(board, present=present), board.now()
        for columns in (40, 80, 140):
            display = Display(columns=columns)
            groups = load_brief(board, roster, None, project=None, who="ada", asks_git=False).groups
            frame = TopFrame(rows=arrange_rows(groups, roster, display, ""), now=now)
            check("\n".join(map(plain, top_lines(frame, display, 5000))))
            check("\n".join(map(plain, now_lines(roster, display))))


def check(said: str) -> None:
    """Check that a text holds no control character but those of our own colours."""
    found = FORBIDDEN.search(re.sub("\x1b\\[[0-9;]*m", "", said))
    assert found is None, said[max(0, found.start() - 200) : found.start() + 40].encode("unicode_escape")

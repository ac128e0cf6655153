"""`punchlist statusline`: print one line for the status bar of an agent. Quick, and never an error."""

from __future__ import annotations

import json
import os
import select
import sys
from argparse import Namespace
from contextlib import suppress
from typing import Any, cast

from punchlist.cli.arguments import MAIN, Parser, board_url, command_parser, import_claude_files, settle_due_tasks
from punchlist.cli.terminal import detect_display
from punchlist.core.overview import show_left_open
from punchlist.core.todo import ListState, TodoList
from punchlist.errors import PunchlistError
from punchlist.reader import BoardReader, system_clock
from punchlist.store import AgentRow, ListRow, Transaction, store_path
from punchlist.store.sqlite import SqliteStore
from punchlist.surfaces.lists import find_focus, status_line, with_tasks

_INPUT_SECONDS = 0.2
"""Seconds to wait for each part of standard input: a host that gives none must not hold up its own status bar."""

_MOST_INPUT = 1024 * 1024
_LOCK_SECONDS = 1.0
_EXAMPLES = """\
  in ~/.claude/settings.json:  "statusLine": {"type": "command", "command": "punchlist statusline"}
"""


def parser() -> Parser:
    about = (
        "Prints what is being done and how far it is, as in `▸ Running tests (2/5)`; nothing if nothing is tracked. "
        "Reads what Claude Code gives a status line on standard input. Of a session that the board does not know, it "
        "shows Claude Code's own tasks, else the list in the transcript."
    )
    made = command_parser("statusline", about, run=_show, examples=_EXAMPLES)
    made.add_argument("--session", metavar="S", help="the session (default: what standard input says, else the latest)")
    made.add_argument("--agent", metavar="A", help="the agent (default: the first at work that has a list)")
    return made


def _show(options: Namespace) -> None:
    with suppress(Exception):  # a status bar is no place for an error
        given: dict[str, Any] = {}
        with suppress(Exception):  # no standard input at all, nothing on it, or nothing that we understand
            given = _read_input()
        session = options.session or given.get("session_id") or os.environ.get("PUNCHLIST_SESSION")
        line = _describe_board(options, session, given)
        if not line and options.agent in (None, MAIN):
            line = _describe_files(session, given)
        if line:
            print(line)


def _read_input() -> dict[str, Any]:
    """Return the JSON that the host gives on standard input; nothing if it gives nothing at once."""
    if sys.stdin.isatty():
        return {}
    handle = sys.stdin.fileno()
    body = b""
    while len(body) < _MOST_INPUT and select.select([handle], [], [], _INPUT_SECONDS)[0]:
        part = os.read(handle, 65_536)
        if not part:
            break
        body += part
    value: Any = json.loads(body)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


# What the board knows.


def _describe_board(options: Namespace, session: str | None, given: dict[str, Any]) -> str:
    """Return the line for what the board has of the session, or of the project; empty if it has nothing."""
    path = store_path(board_url(options))
    if not os.path.exists(path):
        return ""
    import_claude_files(options)
    with BoardReader(SqliteStore(path, lock_timeout=_LOCK_SECONDS)) as board:
        settle_due_tasks(board)
        row = _find_row(board, session, None if session else _find_folder(given), options.agent)
        if row is None:
            return ""
        state, activity = board.store.read(
            lambda tx: (tx.session_state(row.session), tx.overviews.load_activity(row.number))
        )
        helped = board.helpers(row.session).get(row.agent, {})
        waits = len(board.waits(session=row.session))
        todos = show_left_open(with_tasks(row).todos, activity.state, helped)
        focus = None if activity.state == "finished" else find_focus(row)
        return status_line(todos, detect_display(), helped, state, focus=focus, waits=waits)


def _find_row(board: BoardReader, session: str | None, project: str | None, agent: str | None) -> ListRow | None:
    """Return the first agent that is wanted, but a finished subagent only after its ancestors finished too."""
    for limit in (1, 100) if agent is None else (100,):
        for row in board.work(project=project, session=session, limit=limit):
            if agent == row.agent or (agent is None and not _is_gone(board, row)):
                return row
    return None


def _is_gone(board: BoardReader, row: ListRow) -> bool:
    """True if a subagent finished while an ancestor is still running: its list is no longer what goes on."""

    def has_finished(tx: Transaction, agent: AgentRow) -> bool:
        return tx.overviews.load_activity(agent.number).state == "finished"

    def find(tx: Transaction) -> bool:
        agent = tx.agent(row.session, row.agent)
        if agent is None or not has_finished(tx, agent):
            return False
        return any(not has_finished(tx, parent) for parent, _ in tx.ancestors(agent))

    return row.parent is not None and board.store.read(find)


def _find_folder(given: dict[str, Any]) -> str:
    workspace = given.get("workspace")
    current = cast("dict[str, Any]", workspace).get("current_dir") if isinstance(workspace, dict) else None
    folder = current or given.get("cwd")
    return folder if isinstance(folder, str) else os.getcwd()


# What Claude Code keeps itself, for a session that the board knows nothing of.


def _describe_files(session: Any, given: dict[str, Any]) -> str:
    """Return the line for the tasks in Claude Code's own files, else for the list in the transcript."""
    todos = _read_task_files(session) if isinstance(session, str) and session else TodoList()
    path = given.get("transcript_path")
    if not todos.items and isinstance(path, str) and os.path.isfile(os.path.expanduser(path)):
        todos = _read_transcript(path)
    return status_line(todos, detect_display())


def _read_task_files(session: str) -> TodoList:
    from punchlist.bridges.task_files import read_session

    with suppress(PunchlistError):  # an id that names no folder
        return read_session(session, os.environ.get("PUNCHLIST_CLAUDE_TASKS"))
    return TodoList()


def _read_transcript(path: str) -> TodoList:
    from punchlist.core.apply import apply
    from punchlist.dialects import dialect
    from punchlist.transcripts.formats import open_transcript

    transcript = open_transcript(path)
    written = transcript.latest()
    if written is None:
        return TodoList()
    at = written.origin.at or system_clock()
    return apply(ListState(TodoList()), written.command, dialect(transcript.dialect).policy, at).state.todos

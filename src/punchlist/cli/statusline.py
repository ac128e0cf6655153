"""`punchlist statusline`: print one line for the status bar of an agent. Quick, and never an error."""

from __future__ import annotations

import json
import os
import select
import sys
from argparse import Namespace
from contextlib import suppress
from typing import Any, cast

from punchlist.cli.arguments import Parser, board_url, command_parser
from punchlist.cli.terminal import detect_display
from punchlist.core.current_work import append_tasks
from punchlist.core.todo import TodoList
from punchlist.reader import BoardReader
from punchlist.store import ListRow, Transaction, store_path
from punchlist.store.sqlite import SqliteStore
from punchlist.surfaces.lists import Helped, status_line

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
        "Reads what Claude Code gives a status line on standard input."
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
        todos, helped, state = _find_todos(options, given)
        line = "" if todos is None else status_line(todos, detect_display(), helped, state)
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


def _find_todos(options: Namespace, given: dict[str, Any]) -> tuple[TodoList | None, Helped, str]:
    """Return the list to show, the subagents at work on its items, and the state of its session."""
    path = store_path(board_url(options))
    if not os.path.exists(path):
        return None, {}, "idle"
    session = options.session or given.get("session_id") or os.environ.get("PUNCHLIST_SESSION")
    with BoardReader(SqliteStore(path, lock_timeout=_LOCK_SECONDS)) as board:
        project = None if session else _find_folder(given)
        row = _find_list(board, session, project, options.agent)
        if row is None:
            return _find_tasks(board, session, project, options.agent), {}, "idle"
        state = board.store.read(lambda tx: tx.session_state(row.session))
        return row.todos, board.helpers(row.session).get(row.agent, {}), state


def _find_list(board: BoardReader, session: str | None, project: str | None, agent: str | None) -> ListRow | None:
    """Return the first list that is wanted, but that of a finished subagent only after its ancestors finished too."""
    for limit in (1, 100) if agent is None else (100,):
        for row in board.lists(project=project, session=session, limit=limit):
            if row.todos.items and (agent == row.agent or (agent is None and not _is_gone(board, row))):
                return row
    return None


def _is_gone(board: BoardReader, row: ListRow) -> bool:
    """True if a subagent finished while an ancestor is still running: its list is no longer what goes on."""

    def find(tx: Transaction) -> bool:
        agent = tx.agent(row.session, row.agent)
        if agent is None or not tx.log.has_finished(agent.number):
            return False
        return any(not tx.log.has_finished(parent.number) for parent, _ in tx.ancestors(agent))

    return row.parent is not None and board.store.read(find)


def _find_tasks(board: BoardReader, session: str | None, project: str | None, agent: str | None) -> TodoList | None:
    """Return the tasks of a session without a list as one: those of its own task list, else those of its agent."""
    if session is None:
        session = next((row.id for row in board.sessions(project=project, limit=1)), None)
    if session is None:
        return None
    from punchlist.board import Board  # only where there is no list

    board = Board(board.store)
    found = board.tasks(f"session:{session}").list() if agent is None else ()
    return append_tasks(TodoList(), found or board.agent(agent or "main", session=session).work.tasks)


def _find_folder(given: dict[str, Any]) -> str:
    workspace = given.get("workspace")
    current = cast("dict[str, Any]", workspace).get("current_dir") if isinstance(workspace, dict) else None
    folder = current or given.get("cwd")
    return folder if isinstance(folder, str) else os.getcwd()

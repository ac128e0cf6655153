"""`punchlist statusline` where one prepared row of the board does not say it all. Never an error.

`punchlist_statusline.py` answers from the line that the board keeps ready for a session. It runs this command for the
latest session of a folder, for one agent, for a board named by a URL, and for a session that the board does not know.
"""

import os
from argparse import Namespace
from contextlib import suppress
from typing import Any, cast

import msgspec
from msgspec.structs import replace

import punchlist_statusline
from punchlist.cli.arguments import Parser, board_url, command_parser, settle_due_tasks
from punchlist.core.overview import NO_ACTIVITY, AgentWork, SessionLine, prepare_line, summarise_list
from punchlist.core.todo import ListState, TodoList
from punchlist.errors import PunchlistError
from punchlist.reader import BoardReader, system_clock
from punchlist.store import is_address, open_store, store_path
from punchlist.store.current_work import load_line
from punchlist.store.sidecars import limit_wait
from punchlist.views.list_owners import MAIN

_LOCK_SECONDS = 1.0
_MOST_AGENTS = 100
"""The latest agents of a project, among which one that goes on is looked for."""

_EXAMPLES = """\
  in ~/.claude/settings.json:
  "statusLine": {"type": "command", "command": "punchlist statusline", "refreshInterval": 1}
"""


def parser() -> Parser:
    about = (
        "Prints up to three rows: how far the list is and how the last check went, what is being done and for how "
        "long, and what waits for you, or the subagents at work; nothing if nothing is tracked. "
        "Reads what Claude Code gives a status line on standard input. Of a session that the board does not know, it "
        "shows Claude Code's own tasks, else the list in the transcript."
    )
    made = command_parser("statusline", about, run=_show, examples=_EXAMPLES)
    made.add_argument("--session", metavar="S", help="the session (default: what standard input says, else the latest)")
    made.add_argument("--agent", metavar="A", help="the agent (default: the first at work that has a list)")
    made.add_argument("--board", metavar="PATH", dest="db", help="the same as --db")
    made.add_argument("--before", metavar="CMD", help="a shell command whose output comes first: your own status line")
    made.add_argument("--every", metavar="N", help="run that command every N seconds (default: each time)")
    return made


def _show(options: Namespace) -> None:
    with suppress(Exception):  # a status bar is no place for an error
        body = punchlist_statusline.read_input()
        if options.before is not None:
            printed = punchlist_statusline.run_theirs(options.before, body, punchlist_statusline.FIRST_WAIT)
            print(printed.decode(errors="replace"), end="")
        given = punchlist_statusline.decode_object(body)
        session = options.session or given.get("session_id") or os.environ.get("PUNCHLIST_SESSION")
        line = _load_board_line(options, session, given)
        if not line and options.agent in (None, MAIN):
            line = _load_file_line(session, given)
        print(punchlist_statusline.print_rows(line, is_host=bool(given)).decode(), end="")


# What the board knows.


def _load_board_line(options: Namespace, session: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return the line of the session, else of the latest of the project; empty if there is nothing to show."""
    path = store_path(board_url(options))
    if not is_address(path) and not os.path.exists(path):
        return {}
    with limit_wait(_LOCK_SECONDS), BoardReader(open_store(path)) as board:
        settle_due_tasks(board)
        session = session or _find_session(board, _find_folder(given))
        line = board.store.read(lambda tx: load_line(tx, session, board.now(), agent=options.agent))
        return {} if line is None else _as_json(stop_clock(board, session, line))


def stop_clock(board: BoardReader, session: str, line: SessionLine) -> SessionLine:
    """Return a line whose clock stands, if its agent is not at work by the first screen."""
    if not line.focus or line.stopped or punchlist_statusline.find_process(line.process) == "runs":
        return line
    from punchlist.presence.roster import load_roster  # most agents run

    rows = [row for row in load_roster(board).agents if row.list_session == session]
    stopped_at = rows[0].stopped_at if rows else board.now()
    return line if stopped_at is None else replace(line, stopped=int(stopped_at.timestamp()))


def _find_session(board: BoardReader, folder: str) -> str:
    """Return the latest session of a project with an agent that goes on, else the latest; empty if it has none."""
    rows = board.work(project=folder, limit=_MOST_AGENTS)
    live = (row for row in rows if board.store.read(lambda tx, row=row: tx.overviews.load_activity(row.number)).is_live)
    found = next(live, rows[0] if rows else None)
    return "" if found is None else found.session


def _as_json(line: SessionLine) -> dict[str, Any]:
    return msgspec.json.decode(msgspec.json.encode(line))


def _find_folder(given: dict[str, Any]) -> str:
    workspace = given.get("workspace")
    current = cast("dict[str, Any]", workspace).get("current_dir") if isinstance(workspace, dict) else None
    folder = current or given.get("cwd")
    return folder if isinstance(folder, str) else os.getcwd()


# What Claude Code keeps itself, for a session that the board knows nothing of.


def _load_file_line(session: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return the line for the tasks in Claude Code's own files, else for the list in the transcript."""
    from punchlist.logs.claude_files import read_session  # most sessions are on the board

    todos = TodoList()
    if isinstance(session, str) and session:
        with suppress(PunchlistError):  # an id that names no folder
            todos = read_session(session)
    path = given.get("transcript_path")
    if not todos.items and isinstance(path, str) and os.path.isfile(os.path.expanduser(path)):
        todos = _read_transcript(path)
    agent = AgentWork(0, "", MAIN, "", None, "", NO_ACTIVITY, summarise_list(todos))
    return _as_json(prepare_line([agent], state="idle", check="", waits=(), now=system_clock()))


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

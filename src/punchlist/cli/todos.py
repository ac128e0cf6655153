"""`punchlist todos`: what this project's agents plan, do and have done."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from punchlist.cli import OK
from punchlist.cli.arguments import Parser, add_all, add_json, add_limit, command_parser, here, open_board
from punchlist.cli.terminal import detect_display, show, show_json

if TYPE_CHECKING:
    from punchlist.board import Board
    from punchlist.store import ListRow
    from punchlist.surfaces.lists import Helped

_EXAMPLES = """\
  punchlist todos                      the lists of this project, the latest first
  punchlist todos --session s1         all agents of one session
  punchlist todos --all --json         everything, for a program
"""


def parser() -> Parser:
    made = command_parser("todos", "Shows the lists of this project, the latest first.", run=run, examples=_EXAMPLES)
    add_all(made)
    made.add_argument("--session", metavar="S", help="all agents of this session")
    made.add_argument("--agent", metavar="A", help="only agents of this name")
    made.add_argument("--ids", action="store_true", help="show the id of each item")
    add_limit(made, 20, "lists (default: 20)")
    add_json(made)
    return made


def run(options: Namespace) -> int:
    with open_board(options, reads=True) as board:
        where = None if options.session else here(options)
        # Agents are told apart here, so that one name is found behind more than the latest lists.
        most = 1000 if options.agent else options.limit
        rows = [
            row
            for row in board.lists(project=where, session=options.session, limit=most)
            if row.todos.items and options.agent in (None, row.agent)
        ][: options.limit]
        helped = _helped(board, rows)
        now = board.now()
        instead = "" if rows or not options.session else _tasks_of(board, options.session)
    if options.json:
        show_json([{**list_data(row, rows), "helpers": helped.get(row.number, {})} for row in rows])
    elif rows:
        from punchlist.surfaces.lists import board_lines

        show(board_lines(rows, detect_display(), now=now, projects=options.all, ids=options.ids, helped=helped))
    else:
        print(instead or _nothing(options))
    return OK


def _helped(board: Board, rows: Sequence[ListRow]) -> dict[int, Helped]:
    """For each agent the items that subagents are at work on."""
    by_session = {session: board.helpers(session) for session in dict.fromkeys(row.session for row in rows)}
    return {row.number: by_session[row.session].get(row.agent, {}) for row in rows}


def _tasks_of(board: Board, session: str) -> str:
    """Where to look for a session that has tasks instead of todos."""
    from shlex import quote

    from punchlist.surfaces.spans import shown

    name = f"session:{session}"
    if not board.tasks(name).list(limit=1):
        return ""
    return f"This session has tasks and no todos; `punchlist tasks list --list {shown(quote(name))}` shows them."


def _nothing(options: Namespace) -> str:
    if options.session or options.agent:
        return "No todos are tracked under that name; `punchlist todos --all` shows every list."
    if options.all:
        return 'No todos are tracked on this board; begin with `punchlist todo append "My first item"`.'
    return (
        "No todos are tracked in this project; begin with "
        '`punchlist todo append "My first item"`, or see other projects with `punchlist todos --all`.'
    )


def list_data(row: ListRow, rows: Sequence[ListRow] = ()) -> dict[str, Any]:
    """A list as JSON values. Every key is always there."""
    todos = row.todos
    parent = next((other.agent for other in rows if other.number == row.parent), None)
    return {
        "session": row.session,
        "agent": row.agent,
        "parent": parent,
        "label": row.label,
        "project": row.project,
        "mode": row.mode,
        "updated_at": row.updated_at,
        "revision": todos.revision,
        "plan_id": todos.plan_id,
        "progress": todos.progress._asdict(),
        "focus": None if todos.focus is None else todos.focus.id,
        "explanation": todos.explanation,
        "phases": todos.phases,
        "items": todos.items,
        "omitted": todos.omitted,
    }

"""The list that a person's command means: by `--session` and `--agent`, else the latest of the project."""

from __future__ import annotations

import os
from argparse import Namespace
from hashlib import blake2b

from punchlist.agent import Agent
from punchlist.board import Board
from punchlist.cli.arguments import Parser
from punchlist.config import project_of
from punchlist.errors import EditRefused, SessionUnknown
from punchlist.store import ListRow

MAIN = "main"


def add_target(parser: Parser) -> None:
    parser.add_argument("--session", metavar="S", help="the list of this session (default: the project's latest)")
    parser.add_argument("--agent", metavar="A", help="the list of the agent of this name")
    parser.add_by("who makes the change")


def find_agent(board: Board, options: Namespace, *, create: bool = False, filled: bool = True) -> Agent:
    """Return the agent whose list is meant.

    By name; else the latest list of the session (`$PUNCHLIST_SESSION` if none is named); else that of the project.
    `filled` passes over lists that are empty now. With `create` there is always one: in a project without any, a
    session named after it, with the agent `main`.
    """
    session: str | None = options.session or os.environ.get("PUNCHLIST_SESSION") or None
    rows = _find_candidates(board, session, filled=filled)
    if options.agent:
        rows = [row for row in rows if row.agent == options.agent]
    found = max(rows, key=lambda row: row.updated_at, default=None)
    if found is not None:
        return board.agent(found.agent, session=found.session, project=found.project)
    if create:
        return board.agent(options.agent or MAIN, session=session or own_session(project_of()))
    if options.session and not board.lists(session=options.session):
        raise SessionUnknown(session=options.session)
    raise EditRefused(
        problem='No todos here. Use `punchlist todo append "My first item"` to start a list, '
        "or name one with --session and --agent."
    )


def _find_candidates(board: Board, session: str | None, *, filled: bool) -> list[ListRow]:
    if session is not None:
        rows = list(board.lists(session=session))
    elif filled:
        return list(board.lists(project=os.getcwd(), limit=1000))
    else:
        latest = board.sessions(project=os.getcwd(), limit=1)
        rows = [row for found in latest for row in board.lists(session=found.id)]
    return [row for row in rows if (row.todos.items if filled else row.todos.revision)]


def own_session(project: str) -> str:
    """Return the session of a person who starts a list by hand: the project's name, and a hash of its path.

    A session belongs to one project for good, so the name alone would not do for two projects called `api`.
    """
    name = "".join(char if char.isalnum() else "-" for char in os.path.basename(project)).strip("-")[:40]
    return f"{name or 'project'}-{blake2b(os.fsencode(project), digest_size=3).hexdigest()}"

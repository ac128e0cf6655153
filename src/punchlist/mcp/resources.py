"""Offer a session's list and current work, and the project's brief, as texts that a client can read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from punchlist.mcp.stdio import RpcError

if TYPE_CHECKING:
    from punchlist.agent import Agent
    from punchlist.board import Board
    from punchlist.mcp.sessions import Caller

NOT_FOUND = -32002
"""The protocol's own code for a resource that does not exist."""

_LIST, _WORK, _BRIEF = "punchlist://list", "punchlist://work", "punchlist://brief"
_SESSION = "punchlist://sessions/"

RESOURCES: tuple[Mapping[str, Any], ...] = (
    {
        "uri": _LIST,
        "name": "list",
        "title": "Todo list",
        "description": "The todo list of this session, with what is done, under way and open.",
        "mimeType": "text/markdown",
    },
    {
        "uri": _WORK,
        "name": "work",
        "title": "Current work",
        "description": "What this session still owes: its open items and the tasks that it has claimed.",
        "mimeType": "text/markdown",
    },
    {
        "uri": _BRIEF,
        "name": "brief",
        "title": "Brief",
        "description": "What the agents of this project did: done and checked, doubtful, waiting on you, under way.",
        "mimeType": "text/plain",
    },
)
TEMPLATES: tuple[Mapping[str, Any], ...] = (
    {
        "uriTemplate": f"{_SESSION}{{session}}/list",
        "name": "session-list",
        "title": "Todo lists of a session",
        "description": "The todo lists of all agents of another session.",
        "mimeType": "text/markdown",
    },
)


def read_resource(board: Board, caller: Caller, uri: str) -> dict[str, Any]:
    """Return the content of a resource. Raises `RpcError` for one that does not exist."""
    found = next((each for each in RESOURCES if each["uri"] == uri), None)
    if found is not None:
        return {"uri": uri, "mimeType": found["mimeType"], "text": _READERS[uri](board, caller)}
    session, slash, rest = uri.removeprefix(_SESSION).partition("/")
    if uri.startswith(_SESSION) and slash and rest == "list":
        from urllib.parse import unquote

        text = _write_session(board, unquote(session))
        if text is not None:
            return {"uri": uri, "mimeType": "text/markdown", "text": text}
    raise RpcError(NOT_FOUND, "There is no such resource.", {"uri": uri[:1000]})


def find_agent(board: Board, caller: Caller) -> Agent:
    return board.agent(caller.agent, session=caller.session)


def _write_list(board: Board, caller: Caller) -> str:
    from punchlist.markdown import dumps

    todos = find_agent(board, caller).todos
    return dumps(todos) if todos.items else "The list is empty.\n"


def write_work(board: Board, caller: Caller) -> str:
    """Return the open items and tasks of a session's agent, one per line."""
    return "".join(f"{line}\n" for line in _walk_work(find_agent(board, caller))) or "Nothing is open.\n"


def _walk_work(agent: Agent) -> Iterator[str]:
    from punchlist.core.current_work import append_tasks, is_task_item
    from punchlist.dialects.punchlist import render_item

    work = agent.work
    for item in append_tasks(work.todos, work.tasks).items:
        if item.is_open:
            yield f"- {render_item(item)}" if is_task_item(item) else f"- {item.id} {render_item(item)}"


def _write_brief(board: Board, caller: Caller) -> str:
    from punchlist.config import project_of
    from punchlist.surfaces.brief import brief_lines
    from punchlist.surfaces.headlines import Around
    from punchlist.surfaces.spans import UNICODE, plain_text

    lines = brief_lines(board.brief(project=project_of(caller.project)), Around(), {}, UNICODE)
    return plain_text(lines) or "Nothing happened in this project yet.\n"


def _write_session(board: Board, session: str) -> str | None:
    """Return the lists of a session's agents; None if no such session has one."""
    from punchlist.markdown import dumps
    from punchlist.surfaces.spans import safe_line

    rows = board.lists(session=session)
    return "\n".join(f"# {safe_line(row.agent)}\n\n{dumps(row.todos)}" for row in rows) or None


_READERS: Mapping[str, Callable[[Board, Caller], str]] = {_LIST: _write_list, _WORK: write_work, _BRIEF: _write_brief}

"""Offer texts to a client: resources (a list, current work, the brief), and prompts that a person starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from punchlist.mcp.stdio import INVALID_PARAMS, RpcError
from punchlist.text import clean

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
        "description": "What the agents of this project did: checked, failing, unseen, waiting on you, under way.",
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
    from punchlist.core.task import append_tasks, is_task_item
    from punchlist.dialects.punchlist import render_item

    work = find_agent(board, caller).work
    text = ""
    for item in append_tasks(work.todos, work.tasks).items:
        if item.is_open:
            name = "" if is_task_item(item) else f"{item.id} "
            text += f"- {name}{render_item(item)}\n"
    return text or "Nothing is open.\n"


def _write_brief(board: Board, caller: Caller) -> str:
    from punchlist.settings.environment import project_of
    from punchlist.terminal.brief import brief_lines
    from punchlist.terminal.spans import UNICODE, plain_text
    from punchlist.views.brief_groups import group_sessions
    from punchlist.views.now import Roster
    from punchlist.views.reports import Around

    brief, around = board.brief(project=project_of(caller.project)), Around()
    groups = group_sessions(brief, Roster(at=board.now(), agents=(), waits=brief.waits))
    return plain_text(brief_lines(brief, groups, around, board.now(), UNICODE))


def _write_session(board: Board, session: str) -> str | None:
    from punchlist.markdown import dumps
    from punchlist.terminal.spans import safe_line

    rows = board.lists(session=session)
    return "\n".join(f"# {safe_line(row.agent)}\n\n{dumps(row.todos)}" for row in rows) or None


_READERS: Mapping[str, Callable[[Board, Caller], str]] = {_LIST: _write_list, _WORK: write_work, _BRIEF: _write_brief}


# Prompts.

_LONGEST = 20_000

PROMPTS: tuple[Mapping[str, Any], ...] = (
    {
        "name": "plan",
        "title": "Plan work",
        "description": "Plan a piece of work, and let you approve the plan before it begins.",
        "arguments": [{"name": "goal", "description": "What is to be reached", "required": True}],
    },
    {
        "name": "resume",
        "title": "Resume work",
        "description": "Continue with the open items of this session.",
        "arguments": [{"name": "note", "description": "What changed in the meantime", "required": False}],
    },
    {
        "name": "review-open-work",
        "title": "Review open work",
        "description": "Check each open item of this session: done, still to do, blocked or no longer needed.",
        "arguments": [],
    },
)

_PLAN = (
    "Plan this work: {goal}\n\nFirst look at what is there. Then propose the plan with the tool `todo`, argument "
    "`plan`: a short text with one line per step, and how each step is checked. Wait for the decision. When the plan "
    "is approved, write its steps with `set` and begin; when it is rejected, revise it by the reason."
)
_RESUME = (
    "Continue with the open work of this session:\n\n{work}\nStart with the item in progress, else with the first open "
    "one. Mark each item done at once when it is, with evidence."
)
_REVIEW = (
    "Review the open work of this session:\n\n{work}\nLook for each item at the present state of the code. Mark as "
    "done what is done, with evidence; drop what is no longer needed; block what cannot go on, with the reason. Then "
    "say in a few lines what is left."
)


def write_prompt(board: Board, caller: Caller, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the messages of a prompt. Raises `RpcError` for an unknown prompt or a missing argument."""
    prompt = _find_prompt(name)
    given = {one["name"]: _read_argument(arguments, one) for one in prompt["arguments"]}
    match name:
        case "plan":
            text = _PLAN.format(goal=given["goal"])
        case "resume":
            text = _RESUME.format(work=write_work(board, caller))
            text += f"\n\n{given['note']}" if given["note"] else ""
        case _:
            text = _REVIEW.format(work=write_work(board, caller))
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": prompt["description"], "messages": [message]}


def _find_prompt(name: str) -> Mapping[str, Any]:
    found = next((one for one in PROMPTS if one["name"] == name), None)
    if found is None:
        known = ", ".join(one["name"] for one in PROMPTS)
        raise RpcError(INVALID_PARAMS, f"There is no prompt `{name[:100]}`; use one of {known}.")
    return found


def _read_argument(arguments: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    value = arguments.get(wanted["name"])
    if value is None and not wanted["required"]:
        return ""
    if not isinstance(value, str) or (wanted["required"] and not value.strip()):
        raise RpcError(INVALID_PARAMS, f"The argument `{wanted['name']}` is missing, or no text.")
    if len(value) > _LONGEST:
        raise RpcError(INVALID_PARAMS, f"The argument `{wanted['name']}` has more than {_LONGEST} characters.")
    return clean(value).text

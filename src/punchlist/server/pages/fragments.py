"""Render the parts of a page that follow the board, for every reader alike.

`/live?topic=…&topic=…` sends them as server-sent events: `data: {"topic": "now", "parts": {id: html, …}}`. All parts
of a topic come first, so that a page that lost the connection misses nothing; then those that changed.

A topic is `now`; `session:` and the id of a session; `tasks` for all lists of tasks; `tasks-states:`, `tasks-table:` or
`tasks-graph:` and the name of a list; `task:`, the name of a list, a slash and the id of a task.
Its parts are elements with these ids; a page replaces those that it has. They hold no more than a reader with the scope
`look` may see: what a reader may not do, their page hides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from punchlist.errors import InvalidInput
from punchlist.server.pages.now import count_waits, find_agent, load_now
from punchlist.server.pages.rendering import render
from punchlist.server.pages.session import load_session
from punchlist.server.pages.tasks import find_look, load_list, load_lists, load_task
from punchlist.server.state import ServerState

_PARTS: Final[Mapping[str, Mapping[str, str]]] = {
    "now": {"waits": "waits", "agents": "agents", "done": "done"},
    "session": {
        "head": "head",
        "session-waits": "session_waits",
        "lists": "lists",
        "timeline": "timeline",
        "events": "events",
    },
    "tasks": {"tasks": "tasks"},
    "tasks-states": {"tasks-head": "task_list_head", "tasks-states": "task_states"},
    "tasks-table": {"tasks-head": "task_list_head", "tasks-table": "task_table"},
    "tasks-graph": {"tasks-head": "task_list_head", "tasks-graph": "task_graph"},
    "task": {"task-head": "task_head", "task-body": "task_body", "task-history": "task_history"},
}
"""The template of each part of a topic, by the id of its element."""


_CLOCK: Final = re.compile(r"(<time [^>]*data-(?:age|until)[^>]*>)[^<]*|(<rect class=\"left\") width=\"[^\"]*\"")


def render_topic(state: ServerState, topic: str) -> dict[str, str]:
    """Return the parts of a topic as they are now, by the ids of their elements; raise `InvalidInput` for no topic."""
    kind, _, name = topic.partition(":")
    roster = state.load_roster()
    values: dict[str, Any] = {"page": {"waits": count_waits(roster)}}
    match kind:
        case "now" if not name:
            values["now"] = load_now(state.board, roster)
        case "session" if name:
            values["session"] = load_session(state.board, name, find_agent(roster, name))
        case "tasks" if not name:
            values["lists"] = load_lists(state.board)
        case "tasks-states" | "tasks-table" | "tasks-graph" if name:
            values["tasks"] = load_list(state.board, name, find_look(kind.removeprefix("tasks-")))
        case "task" if name.rpartition("/")[2].isdecimal():
            where, _, number = name.rpartition("/")
            values["task"] = load_task(state.board, where, number)
        case "":
            pass  # a page without parts of its own still counts what waits
        case _:
            raise InvalidInput(problem=f"`{topic}` is no topic; use `now`, `session:ID` or `tasks`.")
    parts = {"count": "count", **_PARTS.get(kind, {})}
    return {element: _stop_clocks(render(f"parts/{template}.html", values)) for element, template in parts.items()}


def _stop_clocks(html: str) -> str:
    """Leave out how long ago times were: the page says that itself, and a part would change all the time."""
    return _CLOCK.sub(r"\1\2", html).strip()

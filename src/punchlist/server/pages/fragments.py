"""Render the parts of a page that follow the board, for every reader alike.

`/live?topic=…&topic=…` sends them as server-sent events: `data: {"topic": "now", "parts": {id: html, …}}`. All parts
of a topic come first, so that a page that lost the connection misses nothing; then those that changed.

A topic is `now`, `session:` and the id of a session, or `tasks:`, a view and the name of a list: `tasks:graph:x`. Its
parts are elements with these ids; a page replaces those that it has. They hold no more than a reader with the scope
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
from punchlist.server.pages.tasks import load_tasks
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
}
"""The template of each part of a topic, by the id of its element."""


_CLOCK: Final = re.compile(r"(<time [^>]*data-(?:age|until)[^>]*>)[^<]*")


def render_topic(state: ServerState, topic: str) -> dict[str, str]:
    """Return the parts of a topic as they are now, by the ids of their elements; raise `InvalidInput` for no topic."""
    kind, _, name = topic.partition(":")
    roster = state.load_roster()
    values: dict[str, Any] = {"page": {"waits": count_waits(roster)}}
    match kind:
        case "now" if not name:
            values["now"] = load_now(roster)
        case "session" if name:
            values["session"] = load_session(state.board, name, find_agent(roster, name))
        case "tasks" if name:
            view, _, tasks = name.partition(":")
            values["tasks"] = load_tasks(state.board, tasks, view)
        case "":
            pass  # a page without parts of its own still counts what waits
        case _:
            raise InvalidInput(problem=f"`{topic}` is no topic; use `now`, `session:ID` or `tasks:VIEW:LIST`.")
    parts = {"count": "count", **_PARTS.get(kind, {})}
    return {element: _stop_clocks(render(f"parts/{template}.html", values)) for element, template in parts.items()}


def _stop_clocks(html: str) -> str:
    """Leave out how long ago times were: the page says that itself, and a part would change all the time."""
    return _CLOCK.sub(r"\1", html).strip()

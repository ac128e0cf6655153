"""opencode's lists: the `todo` table of its SQLite store, or `storage/todo/<session>.json` of older versions."""

from __future__ import annotations

from typing import Any

from punchlist.core.commands import Replace
from punchlist.dialects.opencode import parse
from punchlist.transcripts import sqlite
from punchlist.transcripts.decoding import moment, name, objects, path
from punchlist.transcripts.states import State
from punchlist.transcripts.values import MAIN, Origin, Written, admitted

NAME = "opencode"
TABLES = frozenset({"session", "todo"})
_TODOS = """
SELECT session_id, content, status, priority, todo.time_updated, session.directory
FROM todo LEFT JOIN session ON session.id = todo.session_id ORDER BY position
"""


def knows(value: Any) -> bool:
    """A list of items with a content and a status and no more about the session: its name is that of the file."""
    items = objects(value)
    return isinstance(value, list) and bool(items) and all("content" in item and "status" in item for item in items)


def todos_of(value: Any) -> Replace | None:
    """The list of a file or of a table's rows; a priority that is missing is the middle one."""
    if not isinstance(value, list):
        return None
    todos = [{"priority": "medium", **todo} for todo in objects(value)]
    return admitted(parse("todowrite", {"todos": todos}), NAME)


def read(file: str) -> list[State]:
    """The list of every session of a store, that which was written last first."""
    found: dict[str, list[dict[str, Any]]] = {}
    for session, content, status, priority, updated, folder in sqlite.rows(file, _TODOS):
        row = {"content": content, "status": status, "priority": priority, "updated": updated, "folder": folder}
        found.setdefault(str(session), []).append(row)
    states: list[State] = []
    for session, rows in found.items():
        command = todos_of(rows)
        if command is not None and (known := name(session)) is not None:
            at = max((at for row in rows if (at := moment(row["updated"]))), default=None)
            states.append(State(known, Written(command, Origin(MAIN, known, path(rows[0]["folder"]), at))))
    return sorted(states, key=State.age, reverse=True)

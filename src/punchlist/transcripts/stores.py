"""Read stores that hold each session's present list: opencode's and qwen-code's, SQLite or JSON.

opencode has the `todo` table of its SQLite store, or `storage/todo/<session>.json` in older versions; qwen-code has
`~/.qwen/todos/<session>.json`, an object with `todos`. There is no history of lists: one per session. opencode's store
of today also keeps the pieces of messages, which tell of tool calls.
"""

import os
import sqlite3
from collections.abc import Generator, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import quote

from punchlist.core.commands import Replace
from punchlist.dialects.opencode import parse as parse_opencode
from punchlist.dialects.qwen import parse as parse_qwen
from punchlist.errors import TranscriptError
from punchlist.transcripts import steps
from punchlist.transcripts.decoding import call_key, moment, name, object_at, objects, path
from punchlist.transcripts.values import MAIN, CallOutcome, Origin, Written, admit_list

SUFFIXES = (".db", ".sqlite", ".sqlite3")
_PATIENCE = 2.0


def is_store(path: str) -> bool:
    """True by the name: opening and closing the file would drop the locks that this process holds on it."""
    return path.endswith(SUFFIXES)


def read_rows(path: str, query: str, values: Sequence[Any] = ()) -> Generator[Any]:
    """Yield the rows of a query; bytes that are no UTF-8 come replaced.

    The store is open until the last row was taken, or the generator is closed.
    """
    if not os.path.isfile(path):
        raise TranscriptError(path=path, problem="there is no such file")
    try:
        how = "mode=ro&immutable=1" if _is_closed_wal(path) else "mode=ro"
        connection = sqlite3.connect(f"file:{quote(os.path.abspath(path))}?{how}", uri=True, timeout=_PATIENCE)
    except sqlite3.Error as error:
        raise _make_error(path, error) from error
    try:
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        yield from connection.execute(query, values)
    except (sqlite3.Error, OverflowError) as error:
        raise _make_error(path, error) from error
    finally:
        connection.close()


def _is_closed_wal(path: str) -> bool:
    """True for a store in WAL mode that no program has open. SQLite would make files next to it, even to read it."""
    with open(path, "rb") as file:
        head = file.read(20)
    return head[18:20] == b"\2\2" and not os.path.exists(f"{path}-wal")


def list_tables(path: str) -> frozenset[str]:
    return frozenset(name for (name,) in read_rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'"))


def _make_error(path: str, error: Exception) -> TranscriptError:
    said = str(error)
    problem = "another program holds it; try again" if "locked" in said or "busy" in said else said
    return TranscriptError(path=path, problem=problem)


OPENCODE = "opencode"
_OPENCODE_SHELL = "bash"
_NEVER = datetime.min.replace(tzinfo=UTC)
OPENCODE_TABLES = frozenset({"session", "todo"})
_TODOS = """
SELECT session_id, content, status, priority, todo.time_updated, session.directory
FROM todo LEFT JOIN session ON session.id = todo.session_id ORDER BY position
"""


def is_opencode(value: Any) -> bool:
    """True for a bare list of items with content and status; the session is the name of the file."""
    items = objects(value)
    return isinstance(value, list) and bool(items) and all("content" in item and "status" in item for item in items)


def read_opencode(value: Any) -> Replace | None:
    """Return the list of a file or of a table's rows; a missing priority is `medium`."""
    if not isinstance(value, list):
        return None
    todos = [{"priority": "medium", **todo} for todo in objects(value)]
    return admit_list(parse_opencode("todowrite", {"todos": todos}), OPENCODE)


def read_opencode_store(file: str) -> dict[str, Written]:
    """Return the list of every session of a store, the one written last first."""
    found: dict[str, list[dict[str, Any]]] = {}
    for session, content, status, priority, updated, folder in read_rows(file, _TODOS):
        row = {"content": content, "status": status, "priority": priority, "updated": updated, "folder": folder}
        found.setdefault(str(session), []).append(row)
    states: dict[str, Written] = {}
    for session, rows in found.items():
        command = read_opencode(rows)
        if command is not None and (known := name(session)) is not None:
            at = max((at for row in rows if (at := moment(row["updated"]))), default=None)
            states[known] = Written(command, Origin(MAIN, known, path(rows[0]["folder"]), at))
    by_time = sorted(states.items(), key=lambda state: state[1].origin.at or _NEVER, reverse=True)
    return dict(by_time)


def read_opencode_facts(piece: dict[str, Any]) -> Iterator[steps.Fact]:
    """Yield the facts in a piece of a message, a row that changes while a tool runs; `updated` is when it did."""
    updated = moment(piece.get("updated"))
    if piece.get("type") == "step-finish" and piece.get("reason") == "stop":
        yield steps.TurnEnd(at=updated)
    call_id, state = call_key(piece.get("callID")), object_at(piece, "state")
    status, times = state.get("status"), object_at(state, "time")
    if piece.get("type") != "tool" or call_id is None or status == "pending":
        return
    ended = moment(times.get("end")) or updated
    begun = moment(times.get("start")) or ended
    yield from steps.read_call(piece.get("tool"), state.get("input"), call_id, Origin(at=begun))
    if status not in ("completed", "error"):
        return
    code = object_at(state, "metadata").get("exit")
    if type(code) is int:
        yield steps.ExitCode(call_id, code)
    # A command that ran into its timeout, or was aborted, is completed too.
    is_cut_short = status == "completed" and piece.get("tool") == _OPENCODE_SHELL and type(code) is not int
    result = state.get("output") if status == "completed" else state.get("error")
    is_error = None if is_cut_short else status == "error"
    yield CallOutcome(call_id, result, is_error=is_error, origin=Origin(at=ended))


OPENCODE_STEPS = steps.StepFormat(dialect=OPENCODE, read_facts=read_opencode_facts, writers=frozenset({"todowrite"}))

QWEN = "qwen"
_FIELDS = ("id", "content", "status", "blockedBy")


def is_qwen(value: Any) -> bool:
    given = object_at(value)
    todos: Any = given.get("todos")
    if not isinstance(todos, list) or "messages" in given:
        return False
    has_ids = todos != [] and all("id" in todo and "content" in todo for todo in objects(todos))
    return has_ids or "sessionId" in given or "planId" in given


def read_qwen(value: Any) -> Replace | None:
    """Return the list of a file, None if it has none. Fields that later versions add are ignored."""
    todos: Any = object_at(value).get("todos")
    if not isinstance(todos, list):
        return None
    known = [{key: todo[key] for key in _FIELDS if key in todo} for todo in objects(todos)]
    return admit_list(parse_qwen("todo_write", {"todos": known}), QWEN)

"""A list as it is stored: whole now and then, and beside that what changed since.

So a write stores what it changed, not the whole list once more; and one row still holds all that a reader needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from punchlist.core.events import Draft, fold
from punchlist.core.todo import TodoList
from punchlist.store import codec
from punchlist.store.faults import RowDamaged, check_row

SNAPSHOT_EVERY = 50
"""A past revision is at most this many changes away from a stored list."""

_LONGEST = 2000
"""Bytes of changes behind a whole list; with more, it is stored whole again. They fit into a page with their row."""

_encode_changes = msgspec.json.Encoder().encode_lines
_decode_changes = msgspec.json.Decoder(tuple[str, dict[str, Any]]).decode_lines


class Columns(NamedTuple):
    """Where a row holds its list: `whole` is the list at revision `base`, `since` the changes from there."""

    number: int
    name: str
    revision: int
    base: int
    sum: int | None
    since: bytes | None
    shown: bytes | None
    whole_sum: int | None
    whole: bytes | None


class Kept(NamedTuple):
    """A list with the bytes that stand for it. It is a function of `whole` and `since`: equal bytes, equal lists."""

    base: int
    whole: bytes | None
    since: bytes | None
    todos: TodoList


NOTHING = Kept(0, None, None, TodoList())


def read(columns: Columns, known: Kept | None = None) -> Kept:
    """The list in these columns. Of one that is known, only what came since is read."""
    number, name, revision, base, total, since, shown, whole_sum, whole = columns
    same_whole = known is not None and known.whole == whole
    if known is not None and same_whole and known.since == since and shown is None:
        return known
    check_row(total, row_head(number, name, revision, base), since or b"", shown)
    if known is not None and same_whole and (since or b"").startswith(known.since or b""):
        todos, new = known.todos, (since or b"")[len(known.since or b"") :]
    else:
        todos, new = _whole(number, base, whole_sum, whole), since or b""
    for kind, data in _decode_changes(new) if new else ():
        todos = fold(todos, kind, data)
    if todos.revision != revision:
        raise RowDamaged("a list is not at the revision that its row says")
    return Kept(base, whole, since, todos)


def _whole(number: int, base: int, total: int | None, body: bytes | None) -> TodoList:
    todos = NOTHING.todos
    if body is not None:
        check_row(total, whole_head(number, base), body)
        todos = codec.decode_list(body)
    if todos.revision != base:
        raise RowDamaged("a list is not the one that its changes belong to")
    return todos


def changed(known: Kept, todos: TodoList, events: Iterable[Draft]) -> Kept:
    """The list after these events, which lead there from the one that is known; with none, it is stored whole."""
    new = _encode_changes(events)
    since = new if known.since is None else known.since + new
    if not new or len(since) > _LONGEST or todos.revision % SNAPSHOT_EVERY == 0:
        return Kept(todos.revision, codec.encode_list(todos), None, todos)
    return Kept(known.base, known.whole, since, todos)


def row_head(number: int, name: str, revision: int, base: int) -> str:
    return f"{number} {revision} {base} {name}"


def whole_head(number: int, revision: int) -> str:
    return f"{number} {revision}"

"""What each file of a folder said when it and the board agreed: kept on the board, so that every process finds it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from punchlist.board import Board
from punchlist.bridges.folder import Signature
from punchlist.bridges.task_files import NO_EDGES, Edges, TaskFile, decoded, encoded
from punchlist.store import Transaction


class Base(NamedTuple):
    """A file as it was when it and the board agreed; without a signature, one that was gone when we looked again.

    `refused` are edges of the file that cannot be on the board, `blocks` and `blocked_by`: they stay in the file.
    """

    signature: Signature | None
    file: TaskFile
    refused: Edges = NO_EDGES


class Bases:
    """Those of one folder and list, read when made. Whoever has the folder's lock may change and `save` them."""

    def __init__(self, board: Board, list: str, path: str) -> None:
        self._board = board
        self._list = list
        self._source = f"claude-tasks {path}"
        self._known = board.store.read(self._load)
        self._changed: set[int] = set()

    def _load(self, tx: Transaction) -> dict[int, Base]:
        where = tx.tasks.find_list(self._list)
        if where is None:
            return {}
        found = tx.tasks.readings(where, self._source).values()
        return {number: base for number, mark in found if (base := _decoded(number, mark)) is not None}

    def get(self, number: int) -> Base | None:
        return self._known.get(number)

    def __iter__(self) -> Iterator[tuple[int, Base]]:
        return iter(self._known.items())

    def remember(self, number: int, base: Base) -> None:
        if self._known.get(number) != base:
            self._known[number] = base
            self._changed.add(number)

    def forget(self, number: int) -> Base | None:
        self._changed.add(number)
        return self._known.pop(number, None)

    def save(self) -> None:
        """Not worth a wait for the disk: an older base only means that what is on the board is recorded again."""
        if self._changed:
            self._board.store.transact(self.save_within, lasting=False)
            self._changed.clear()

    def save_within(self, tx: Transaction) -> None:
        where = tx.tasks.find_list(self._list)
        for number in sorted(self._changed) if where is not None else ():
            assert where is not None
            source, base = f"{self._source}/{number}", self._known.get(number)
            if base is None:
                tx.tasks.delete_reading(where, source)
            else:
                tx.tasks.save_reading(where, source, number, _encoded(number, base))


def _encoded(number: int, base: Base) -> bytes:
    return json.dumps([base.signature, base.refused]).encode() + b"\n" + encoded(number, base.file)


def _decoded(number: int, mark: bytes) -> Base | None:
    head, _, body = mark.partition(b"\n")
    file = decoded(number, body)
    if isinstance(file, str):
        return None
    signature, refused = _head(head)
    return Base(signature, file, refused)


def _head(head: bytes) -> tuple[Signature | None, Edges]:
    found: Any
    found, (blocks, blocked_by) = json.loads(head)
    return None if found is None else Signature(*found), (tuple(blocks), tuple(blocked_by))

"""Rows that are saved often and written once a batch: what they have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from punchlist.store.transaction import Rows

K = TypeVar("K")


class LateRows(Generic[K]):
    """The writer keeps what it read or wrote, as long as `Rows` keeps its agents; `query` writes a row.

    `firm` says that something was put off that cannot be had again from the log.
    """

    query = ""

    def __init__(self, rows: Rows, *, keeps: bool) -> None:
        self._rows = rows
        self._keeps = keeps
        self._known: dict[K, bytes] = {}
        self.late: dict[K, tuple[Any, ...]] = {}
        self.saved = 0
        self.firm = False

    def forget(self) -> None:
        self._known.clear()
        self.late.clear()
        self.firm = False

    @property
    def put_off(self) -> int:
        """A number that every save changes, and that falls by as many rows as a flush writes."""
        return len(self.late) + self.saved

    def flush(self) -> None:
        """Writes what was put off, each row once however often it was saved."""
        if self.late:
            self._rows.many(self.query, self.late.values())
            self.late.clear()
            self.firm = False

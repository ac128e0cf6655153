"""What guidance remembers, in its own table. The bytes mean nothing here; a checksum says whether they are the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from punchlist.store import codec
from punchlist.store.faults import RowDamaged
from punchlist.store.queries import Queries
from punchlist.store.rows import CostRow

_CACHED = 512


class GuidanceRows:
    """One row an agent."""

    def __init__(self, rows: Queries, *, keeps: bool) -> None:
        self._rows = rows
        self._keeps = keeps
        self._known: dict[int, bytes] = {}

    def forget(self) -> None:
        self._known.clear()

    def get(self, number: int) -> bytes | None:
        body = self._known.get(number)
        if body is None:
            found = self._rows.one("find_guidance", (number,))
            if found is None:
                return None
            body = _checked(number, *found)
            self._keep(number, body)
        return body

    def save(self, number: int, body: bytes) -> None:
        self._rows.run("add_guidance", (number, codec.checksum(f"guidance {number}", body), body))
        self._keep(number, body)

    def _keep(self, number: int, body: bytes) -> None:
        if self._keeps:
            if len(self._known) >= _CACHED:
                self._known.clear()
            self._known[number] = body

    def costs(self, *, project: str | None = None, session: str | None = None) -> Sequence[CostRow]:
        """What each agent left behind, oldest first: of a session, of a project, or of the board."""
        if session is not None:
            rows = self._rows.all("costs_of_session", {"session": session})
        elif project is not None:
            rows = self._rows.all("costs_of_project", {"project": project})
        else:
            rows = self._rows.all("costs_of_board", ())
        return [_cost(row) for row in rows]


def _cost(row: Any) -> CostRow:
    number, session, agent, ledger, total, state = row
    known = None if state is None else _checked(number, total, state)
    return CostRow(session, agent, _unsealed(ledger), known)


def _unsealed(ledger: Any) -> bytes | None:
    try:
        return codec.unsealed(ledger)
    except (TypeError, ValueError) as error:
        raise RowDamaged("a tally is not what was written") from error


def _checked(number: int, total: int | None, body: Any) -> bytes:
    if not isinstance(body, bytes) or (total is not None and codec.checksum(f"guidance {number}", body) != total):
        raise RowDamaged("a row of guidance is not what was written")
    return body

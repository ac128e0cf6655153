"""The rows of approval plans."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from punchlist.core.approval import Plan
from punchlist.store.codec import microseconds
from punchlist.store.records import Record
from punchlist.store.waiting import PlanRow

if TYPE_CHECKING:
    from punchlist.store.parts import Parts

_plan = Record(Plan)


class PlanRows:
    """Reads and writes plans within a transaction."""

    def __init__(self, rows: Parts) -> None:
        self._rows = rows

    def current(self, agent: int) -> Plan | None:
        row = self._rows.one("current_plan", {"agent": agent})
        return None if row is None else _plan.read(str(agent), *row)

    def history(self, agent: int) -> Sequence[Plan]:
        return [_plan.read(str(agent), *row) for row in self._rows.all("plans_of_agent", {"agent": agent})]

    def find(self, id: str) -> PlanRow | None:
        row = self._rows.one("find_plan", {"id": id})
        return None if row is None else _found(row)

    def proposed(self, *, limit: int = 1000) -> Sequence[PlanRow]:
        return [_found(row) for row in self._rows.all("proposed_plans", {"limit": limit})]

    def latest(self, project: str | None, *, limit: int = 1000) -> Sequence[PlanRow]:
        return [_found(row) for row in self._rows.all("latest_plans", {"project": project, "limit": limit})]

    def save(self, agent: int, plan: Plan, *, at: datetime) -> None:
        total, body = _plan.written(str(agent), plan)
        key = {"agent": agent, "revision": plan.revision, "id": plan.id}
        self._rows.run("save_plan", {**key, "state": plan.state.value, "sum": total, "body": body})
        self._rows.run("touch_agent", {"agent": agent, "at": microseconds(at)})

    def delete(self, agent: int, revision: int) -> None:
        self._rows.run("delete_plan", {"agent": agent, "revision": revision})


def _found(row: Any) -> PlanRow:
    session, agent, project, number, total, body = row
    return PlanRow(session, agent, project, number, _plan.read(str(number), total, body))

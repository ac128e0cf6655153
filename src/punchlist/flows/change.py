"""The common ground of everything that is done to flows: one transaction, one moment, one author."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from punchlist.core import flow as rules
from punchlist.core.commands import Cleaner
from punchlist.core.events import Draft
from punchlist.core.flow import Flow, is_wait_over
from punchlist.errors import FlowRevisionMismatch, FlowUnknown
from punchlist.flows.values import id_of, state_of
from punchlist.store import AgentRow, Transaction
from punchlist.store.flows import FlowRow
from punchlist.text import cut

_GOAL = 1_000
"""So much of a goal is told with each event."""

_MOST_READIED = 100


class FlowChange:
    """`by` is the author of what happens. `agent` is the agent in whose name it does, if it is one of this board."""

    def __init__(self, tx: Transaction, *, now: datetime, by: str = "", agent: AgentRow | None = None) -> None:
        self.tx = tx
        self.flows = tx.flows
        self.now = now
        self.by = by
        self.agent = agent
        self.cleaner = Cleaner()

    def find(self, id: str) -> FlowRow | None:
        """The flow as it stands: one whose time has come is running. `id` is in its usual spelling."""
        row = self.flows.find(id)
        return None if row is None else self.settled(row)

    def settled(self, row: FlowRow) -> FlowRow:
        if not is_wait_over(row.flow, self.now):
            return row
        return self.write(row, rules.resume(row.flow, self.now), "resumed", by="", state_patch=None)

    def row(self, id: str, revision: int | None = None, *, settled: bool = True) -> FlowRow:
        """The same for any spelling; raises if there is none, or if it is not at this revision."""
        name = id_of(id)
        row = self.find(name) if settled else self.flows.find(name)
        if row is None:
            raise FlowUnknown(id=name)
        if revision is not None and revision != row.flow.revision:
            raise FlowRevisionMismatch(id=name, expected=revision, actual=row.flow.revision)
        return row

    def write(self, row: FlowRow, after: Flow, kind: str, *, by: str | None = None, **told: Any) -> FlowRow:
        """Writes a flow as it is now, with the event that says so; nothing if it is as it was."""
        if after is row.flow:
            return row
        if after.state is not row.flow.state:
            state_of(after.state)
        saved, readied = self.flows.save(row, after)
        if readied:
            told["readied"] = list(readied[:_MOST_READIED])
        self.tell(saved, kind, by=by, **told)
        return saved

    def tell(self, row: FlowRow, kind: str, *, by: str | None = None, **told: Any) -> None:
        flow = row.flow
        data = {"flow": flow.id, "goal": cut(flow.goal, _GOAL), "revision": flow.revision, **told}
        self.flows.add_events(row, [Draft(f"flow.{kind}", data)], by=self.by if by is None else by, at=self.now)

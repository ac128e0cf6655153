"""What the board asks of a store about flows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from punchlist.core.events import Draft, Event
from punchlist.core.flow import Flow, FlowStatus, FlowStep
from punchlist.store.task_contract import TaskRow

OVERTAKEN = -1
"""The revision that a flow is said to be at when somebody else changed it between a look and a write."""


class FlowRow(NamedTuple):
    """A flow, and the task that it is kept as. `session` is that of the agent that it belongs to, if it is one."""

    task: TaskRow
    session: str | None
    flow: Flow


class FlowTable(Protocol):
    """The flows of a board."""

    def find(self, id: str) -> FlowRow | None: ...
    def like(self, beginning: str, *, limit: int = 10) -> Sequence[str]:
        """The ids that begin so."""
        ...

    def of_owner(self, owner: str) -> Sequence[FlowRow]:
        """The newest first."""
        ...

    def of_status(self, status: FlowStatus) -> Sequence[FlowRow]:
        """Those that changed longest ago first."""
        ...

    def page(self, *, limit: int) -> Sequence[FlowRow]:
        """Of the whole board, the newest first."""
        ...

    def ended_before(self, before: datetime, *, limit: int) -> Sequence[FlowRow]:
        """Flows that ended before a time and that no open flow comes after."""
        ...

    def add(self, flow: Flow, *, agent: int | None, name: str | None, session: str | None, by: str) -> FlowRow:
        """A new flow; `agent` is the store's number of the agent whose it is, `name` its name."""
        ...

    def save(self, row: FlowRow, flow: Flow) -> tuple[FlowRow, Sequence[str]]:
        """Puts the flow in place of what it was, if nobody else did since; and who may begin now that it is finished.

        Raises `FlowRevisionMismatch`.
        """
        ...

    def delete(self, row: FlowRow) -> None: ...
    def move(self, source: str, target: str) -> None:
        """The flows of a session belong to the same agents under its new name."""
        ...

    def link(self, row: FlowRow, before: FlowRow) -> bool:
        """Makes the one come after the other; False if it did. Raises `FlowCycle`."""
        ...

    def unlink(self, row: FlowRow, before: FlowRow) -> bool: ...
    def add_events(self, row: FlowRow, drafts: Iterable[Draft], *, by: str, at: datetime) -> None: ...
    def events(self, row: FlowRow, *, limit: int) -> Sequence[Event]:
        """The latest first."""
        ...

    def steps(self, row: FlowRow) -> Sequence[FlowStep]:
        """The oldest first."""
        ...

    def step(self, row: FlowRow, run_id: str) -> FlowStep | None: ...
    def save_step(self, row: FlowRow, step: FlowStep) -> None: ...

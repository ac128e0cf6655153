"""Flows as rows: each is a task of a list of their own, and a row beside it for what a task does not have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from punchlist.core.events import Draft, Event
from punchlist.core.flow import TERMINAL, Flow, FlowStatus, FlowStep
from punchlist.core.task import FLOWS, TaskStatus
from punchlist.errors import CycleRefused, FlowCycle, FlowRevisionMismatch, TaskRevisionConflict
from punchlist.store import codec
from punchlist.store.faults import RowDamaged, check_row, readable
from punchlist.store.flow_codec import flow_of, status_of, task_of
from punchlist.store.flow_contract import OVERTAKEN, FlowRow
from punchlist.store.records import Record
from punchlist.store.values import in_order

if TYPE_CHECKING:
    from punchlist.store.task_contract import TaskListRow
    from punchlist.store.transaction import Rows

_step = Record(FlowStep)


class FlowRows:
    """Reads and writes of flows, over the rows of one connection."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._tasks = rows.tasks

    # Looking.

    def find(self, id: str) -> FlowRow | None:
        row = self._rows.one("find_flow", {"id": id})
        return None if row is None else self._loaded(row)

    def like(self, beginning: str, *, limit: int = 10) -> Sequence[str]:
        values = {"id": beginning, "upto": f"{beginning}g", "limit": limit}  # no digit of an id comes behind f
        return [row[1] for row in self._rows.all("flows_like", values)]

    def of_owner(self, owner: str) -> Sequence[FlowRow]:
        return self._all("flows_of_owner", {"owner": owner})

    def of_status(self, status: FlowStatus) -> Sequence[FlowRow]:
        return self._all("flows_of_status", {"status": status.value})

    def page(self, *, limit: int) -> Sequence[FlowRow]:
        return self._all("flows_of_board", {"limit": limit})

    def ended_before(self, before: datetime, *, limit: int) -> Sequence[FlowRow]:
        values = {"before": codec.microseconds(before), "limit": limit}
        found = [row for end in sorted(TERMINAL) for row in self._all("flows_ended_before", {"status": end, **values})]
        return found[:limit]

    def _all(self, name: str, values: Any) -> list[FlowRow]:
        return [self._loaded(row) for row in self._rows.all(name, values)]

    def _loaded(self, row: Any) -> FlowRow:
        number, name, owner, session, status, total = row
        check_row(total, f"{number} {name}", owner.encode())
        task = self._tasks.get(number)
        if status_of(task.task.status).value != status:
            raise RowDamaged("a flow and its task do not agree")
        before: tuple[Any, ...] = ()
        if task.task.blocked_by:
            before = tuple(self._rows.all("flows_before", {"task": number}))
        held = tuple(each for each, status in before if status != TaskStatus.COMPLETED.value)
        after = tuple(each for each, _ in before)
        return FlowRow(task, session, readable(lambda task: flow_of(task, name, owner, after, held), task.task))

    # Changing.

    def _where(self, at: datetime) -> TaskListRow:
        return self._tasks.find_list(FLOWS) or self._tasks.add_list(FLOWS, project="", session=None, at=at)

    def add(self, flow: Flow, *, agent: int | None, name: str | None, session: str | None, by: str) -> FlowRow:
        where, made = self._where(flow.created_at), task_of(flow, None, by=by, name=name)
        task = self._tasks.add(where, made, parent=None, agent=agent)
        at, number = codec.microseconds(flow.created_at), task.number
        owner = flow.owner_session_key
        total = codec.checksum(f"{number} {flow.id}", owner.encode())
        self._rows.run("add_flow", (number, flow.id, owner, session, flow.status.value, at, at, total))
        return FlowRow(task, session, flow)

    def save(self, row: FlowRow, flow: Flow) -> tuple[FlowRow, Sequence[str]]:
        before = row.task
        task = task_of(flow, before.task)
        moved = task.status is not before.task.status
        readied = self._tasks.tell_dependents(before, task) if moved else ()
        try:
            saved = self._tasks.save(before, task, parent=None, agent=before.agent)
        except TaskRevisionConflict as error:
            raise FlowRevisionMismatch(id=flow.id, expected=row.flow.revision, actual=OVERTAKEN) from error
        values = {"status": flow.status.value, "at": codec.microseconds(flow.updated_at), "task": before.number}
        self._rows.run("save_flow", values)
        return FlowRow(saved, row.session, flow), [self._named(before.list, int(each)) for each in readied]

    def _named(self, where: TaskListRow, id: int) -> str:
        return self._rows.one("flow_of_task", {"list": where.number, "id": id})[0]

    def delete(self, row: FlowRow) -> None:
        self._tasks.delete(row.task)
        self._rows.run("delete_flow_steps", {"task": row.task.number})
        self._rows.run("delete_flow", {"task": row.task.number})

    def move(self, source: str, target: str) -> None:
        for number, name, owner, *_ in self._rows.all("flows_of_session", {"session": source}):
            new = owner.removesuffix(source) + target
            total = codec.checksum(f"{number} {name}", new.encode())
            self._rows.run("move_flow", {"owner": new, "session": target, "sum": total, "task": number})

    def link(self, row: FlowRow, before: FlowRow) -> bool:
        try:
            return self._tasks.add_edge(row.task, before.task)
        except CycleRefused as error:
            steps = str(error.data["path"]).split(" → ")
            named = [self._named(row.task.list, int(step)) if step.isdecimal() else step for step in steps]
            raise FlowCycle(flow=row.flow.id, before=before.flow.id, path=" → ".join(named)) from error

    def unlink(self, row: FlowRow, before: FlowRow) -> bool:
        return self._tasks.remove_edge(row.task, before.task)

    # What happened, and what was seen.

    def add_events(self, row: FlowRow, drafts: Iterable[Draft], *, by: str, at: datetime) -> None:
        self._tasks.add_events(row.task, drafts, by=by, at=at, agent=row.task.agent)

    def events(self, row: FlowRow, *, limit: int) -> Sequence[Event]:
        values = {"list": row.task.list.number, "task": int(row.task.task.id), "limit": limit}
        return in_order(0, self._rows.all("last_events_of_task", values)[::-1])[::-1]

    def steps(self, row: FlowRow) -> Sequence[FlowStep]:
        found = self._rows.all("flow_steps", {"task": row.task.number})
        return [_read_step(row.task.number, each) for each in found]

    def step(self, row: FlowRow, run_id: str) -> FlowStep | None:
        found = self._rows.one("find_flow_step", {"task": row.task.number, "id": run_id})
        return None if found is None else _read_step(row.task.number, found)

    def save_step(self, row: FlowRow, step: FlowStep) -> None:
        total, body = _step.written(f"{row.task.number} {step.run_id}", step)
        at = codec.microseconds(step.created_at)
        self._rows.run("save_flow_step", (row.task.number, step.run_id, at, total, body))


def _read_step(flow: int, row: Any) -> FlowStep:
    return readable(lambda row: _step.read(f"{flow} {row[0]}", row[1], row[2]), row)

"""Read and write flows as rows: each is a task of its own list, plus a row for the fields that a task lacks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.events import Draft, Event
from punchlist.core.flow import TERMINAL, Flow, FlowStatus, FlowStep, parse_condition
from punchlist.core.task import FLOWS, Task, TaskStatus, Wait
from punchlist.errors import CycleRefused, FlowCycle, FlowRevisionMismatch, TaskRevisionConflict
from punchlist.store import records
from punchlist.store.records import AgentRow, Record, RowDamaged, Rows, UnitOfWork, check_row, readable
from punchlist.store.tasks import TaskListRow, TaskRow, TaskRows

_step = Record(FlowStep)

OVERTAKEN = -1
"""The revision that a flow is said to be at when another process changed it between a look and a write."""

_STATUSES = {
    FlowStatus.CREATED: TaskStatus.PENDING,
    FlowStatus.RUNNING: TaskStatus.IN_PROGRESS,
    FlowStatus.WAITING: TaskStatus.WAITING,
    FlowStatus.CANCELLED: TaskStatus.CANCELLED,
    FlowStatus.FINISHED: TaskStatus.COMPLETED,
    FlowStatus.FAILED: TaskStatus.FAILED,
}
_BACK = {task: flow for flow, task in _STATUSES.items()}


class FlowRow(Struct, frozen=True):
    """A flow, and the task that it is stored as."""

    task: TaskRow
    flow: Flow


class FlowRows(Rows):
    def __init__(self, rows: UnitOfWork) -> None:
        super().__init__(rows)
        self._tasks = TaskRows(rows)

    def find(self, id: str) -> FlowRow | None:
        row = self._rows.one("find_flow", {"id": id})
        return None if row is None else self._load(row)

    def like(self, beginning: str, *, limit: int = 10) -> Sequence[str]:
        """Return the ids that begin so."""
        values = {"id": beginning, "upto": f"{beginning}g", "limit": limit}  # no digit of an id comes after f
        return [row[1] for row in self._rows.all("flows_like", values)]

    def of_owner(self, owner: str) -> Sequence[FlowRow]:
        """Return the flows of an owner, the newest first."""
        return self._all("flows_of_owner", {"owner": owner})

    def of_status(self, status: FlowStatus) -> Sequence[FlowRow]:
        """Return the flows of a status, those that changed longest ago first."""
        return self._all("flows_of_status", {"status": status.value})

    def page(self, *, limit: int) -> Sequence[FlowRow]:
        """Return the newest flows of the board."""
        return self._all("flows_of_board", {"limit": limit})

    def ended_before(self, before: datetime) -> Sequence[FlowRow]:
        """Return some of the flows that ended before a time and that no open flow comes after."""
        where = self._tasks.find_list(FLOWS)
        ended = () if where is None else self._tasks.ended_before(where, before, limit=100)
        found = [self.find(row.task.metadata["flow"]) for row in ended]
        return [row for row in found if row is not None]

    def _all(self, name: str, values: Any) -> list[FlowRow]:
        return [self._load(row) for row in self._rows.all(name, values)]

    def _load(self, row: Any) -> FlowRow:
        number, name, owner, status, total = row
        check_row(total, f"{number} {name}", owner.encode())
        task = self._tasks.get(number)
        if _BACK[task.task.status].value != status:
            raise RowDamaged("a flow and its task do not agree")
        before: tuple[Any, ...] = ()
        if task.task.blocked_by:
            before = tuple(self._rows.all("flows_before", {"task": number}))
        held = tuple(each for each, status in before if status != TaskStatus.COMPLETED.value)
        after = tuple(each for each, _ in before)
        return FlowRow(task, readable(lambda task: _make_flow(task, name, owner, after, held), task.task))

    def add(self, flow: Flow, *, agent: AgentRow | None, by: str) -> FlowRow:
        """Add a flow, without edges. `agent` is the one that owns it, if an agent of this board does."""
        at, owner = flow.created_at, flow.owner_session_key
        number, name, session = (None, None, None) if agent is None else (agent.number, agent.name, agent.session)
        where = self._tasks.find_list(FLOWS) or self._tasks.add_list(FLOWS, project="", session=None, at=at)
        new = Task(list=FLOWS, id="", subject="", owner=name, created_at=at, created_by=by)
        task = self._tasks.add(where, _make_task(flow, new), parent=None, agent=number)
        since = records.microseconds(at)
        total = records.checksum(f"{task.number} {flow.id}", owner.encode())
        values = (task.number, flow.id, owner, session, flow.status.value, since, since, total)
        self._rows.run("add_flow", values)
        return FlowRow(task, flow)

    def save(self, row: FlowRow, flow: Flow) -> tuple[FlowRow, Sequence[str]]:
        """Replace a flow; return its row, and the ids of flows that may begin. Raise `FlowRevisionMismatch`."""
        before = row.task
        task = _make_task(flow, before.task)
        moved = task.status is not before.task.status
        readied = self._tasks.tell_dependents(before, task) if moved else ()
        try:
            saved = self._tasks.save(before, task, parent=None, agent=before.agent)
        except TaskRevisionConflict as error:
            raise FlowRevisionMismatch(id=flow.id, expected=row.flow.revision, actual=OVERTAKEN) from error
        values = {"status": flow.status.value, "at": records.microseconds(flow.updated_at), "task": before.number}
        self._rows.run("save_flow", values)
        return FlowRow(saved, flow), [self._find_flow_id(before.list, int(each)) for each in readied]

    def _find_flow_id(self, where: TaskListRow, id: int) -> str:
        return self._rows.one("flow_of_task", {"list": where.number, "id": id})[0]

    def delete(self, row: FlowRow) -> None:
        self._tasks.delete(row.task)
        self._rows.run("delete_flow_steps", {"task": row.task.number})
        self._rows.run("delete_flow", {"task": row.task.number})

    def move(self, source: str, target: str) -> None:
        """Rename the session of flows; they stay with the same agents."""
        for number, name, owner in self._rows.all("flows_of_session", {"session": source}):
            new = owner.removesuffix(source) + target
            total = records.checksum(f"{number} {name}", new.encode())
            self._rows.run("move_flow", {"owner": new, "session": target, "sum": total, "task": number})

    def link(self, row: FlowRow, before: FlowRow) -> bool:
        """Make one flow come after another; False if it did. Raise `FlowCycle`."""
        try:
            return self._tasks.add_edge(row.task, before.task)
        except CycleRefused as error:
            steps = str(error.data["path"]).split(" → ")
            named = [self._find_flow_id(row.task.list, int(step)) if step.isdecimal() else step for step in steps]
            raise FlowCycle(flow=row.flow.id, before=before.flow.id, path=" → ".join(named)) from error

    def unlink(self, row: FlowRow, before: FlowRow) -> bool:
        return self._tasks.remove_edge(row.task, before.task)

    def add_events(self, row: FlowRow, drafts: Iterable[Draft], *, by: str, at: datetime) -> None:
        self._tasks.add_events(row.task, drafts, by=by, at=at, agent=row.task.agent)

    def events(self, row: FlowRow, *, limit: int) -> Sequence[Event]:
        """Return the events of a flow, the latest first."""
        return self._tasks.history(row.task.list, int(row.task.task.id), limit=limit)[::-1]

    def steps(self, row: FlowRow) -> Sequence[FlowStep]:
        found = self._rows.all("flow_steps", {"task": row.task.number})
        return [_read_step(row.task.number, each) for each in found]

    def step(self, row: FlowRow, run_id: str) -> FlowStep | None:
        found = self._rows.one("find_flow_step", {"task": row.task.number, "id": run_id})
        return None if found is None else _read_step(row.task.number, found)

    def save_step(self, row: FlowRow, step: FlowStep) -> None:
        total, body = _step.encode(f"{row.task.number} {step.run_id}", step)
        at = records.microseconds(step.created_at)
        self._rows.run("save_flow_step", (row.task.number, step.run_id, at, total, body))


def _read_step(flow: int, row: Any) -> FlowStep:
    return readable(lambda row: _step.decode(f"{flow} {row[0]}", row[1], row[2]), row)


def _make_task(flow: Flow, task: Task) -> Task:
    """Return the task that stores the flow, from the one that did before. Fields of flows go into its metadata."""
    told: dict[str, Any] = {
        "flow": flow.id,
        "controller_id": flow.controller_id,
        "requester_origin": flow.requester_origin,
        "current_step": flow.current_step,
    }
    if flow.wait is not None:
        told["wait"] = flow.wait
    began = flow.status is FlowStatus.RUNNING and task.started_at is None
    return replace(
        task,
        subject=flow.goal,
        status=_STATUSES[flow.status],
        state=flow.state,
        metadata=told,
        wait=_make_wait(flow) if flow.status is FlowStatus.WAITING else None,
        cancel_requested=flow.cancel_requested,
        started_at=flow.updated_at if began else task.started_at,
        finished_at=flow.updated_at if flow.status in TERMINAL else None,
        updated_at=flow.updated_at,
        revision=flow.revision,
    )


def _make_wait(flow: Flow) -> Wait | None:
    """Return the wait of a flow as one of a task, so that timers come due; None for a condition that says nothing."""
    found, since = parse_condition(flow.wait), flow.updated_at
    if found is None:
        return None
    if found.kind == "external_event":
        topic, correlation_id = found.topic, found.correlation_id
        return Wait(kind="event", topic=topic, correlation_id=correlation_id, since=since, then="in_progress")
    return Wait(kind=found.kind, at=found.at, since=since, then="in_progress")


def _make_flow(task: Task, id: str, owner: str, after: tuple[str, ...], held: tuple[str, ...]) -> Flow:
    told = task.metadata
    if task.created_at is None or task.updated_at is None or told["flow"] != id:
        raise ValueError("this task is no flow")
    return Flow(
        id=id,
        controller_id=told["controller_id"],
        goal=task.subject,
        owner_session_key=owner,
        requester_origin=told["requester_origin"],
        current_step=told["current_step"],
        state=task.state,
        wait=told.get("wait"),
        status=_BACK[task.status],
        cancel_requested=task.cancel_requested,
        revision=task.revision,
        created_at=task.created_at,
        updated_at=task.updated_at,
        after=after,
        held_by=held,
    )

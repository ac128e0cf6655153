"""Handlers of durable tasks: every verb of `board.tasks(…)`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict, replace

from punchlist.core.task import Task
from punchlist.core.task_rules import check_revision
from punchlist.server.api.calls import Answer, ApiCall
from punchlist.server.api.reading import EventView, Limit, show_event
from punchlist.server.api.routing import Handler
from punchlist.server.problems import ApiProblem
from punchlist.store import Transaction
from punchlist.tasks import Tasks
from punchlist.tasks.handle import ClaimOptions
from punchlist.views.list_owners import check_tasks_editable, open_list_owner
from punchlist.views.lists import TaskGraphView, TaskView, view_graph, view_task, view_todos

_MOST_IN_GRAPH: Final = 10_000
"""Tasks in one reply, which has all of them: 20 MB."""

# Queries and bodies. Limits of texts are those of tasks themselves; here are those of numbers and lists.

Fence = Annotated[int, Meta(ge=0, le=2**53, description="The fence of the claim: refused if another worker has it.")]
Status = Literal["pending", "in_progress", "waiting", "completed", "failed", "cancelled"]
TaskId = Annotated[str, Meta(min_length=1, max_length=20)]
TaskIds = Annotated[list[TaskId], Meta(max_length=1_000)]
Labels = Annotated[list[Annotated[str, Meta(min_length=1, max_length=100)]], Meta(max_length=1_000)]
Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Worker = Annotated[str, Meta(min_length=1, max_length=200)]


class TasksQuery(Struct, forbid_unknown_fields=True):
    status: Status | None = None
    owner: Annotated[str, Meta(max_length=200, description="Only tasks of this worker.")] | None = None
    label: Annotated[str, Meta(max_length=100, description="Only tasks with this label.")] | None = None
    parent: Annotated[str, Meta(max_length=20, description="Only what lies directly below this task.")] | None = None
    after: Annotated[str, Meta(pattern=r"^[0-9]{1,15}$", description="The `next` of the page before.")] | None = None
    limit: Limit = 100


class ReadyQuery(Struct, forbid_unknown_fields=True):
    label: Annotated[str, Meta(max_length=100, description="Only tasks with this label.")] | None = None
    limit: Limit = 20


class FenceQuery(Struct, forbid_unknown_fields=True):
    fence: Annotated[int, Meta(ge=0, le=2**53, description="Only if the claim is still this one.")] | None = None


class CheckLine(Struct, forbid_unknown_fields=True):
    """A line of a checklist."""

    text: Annotated[str, Meta(min_length=1, max_length=1_000)]
    done: bool = False


class _TaskFields(Struct, forbid_unknown_fields=True, kw_only=True):
    description: Annotated[str, Meta(max_length=100_000)] | UnsetType = UNSET
    active_form: Annotated[str, Meta(max_length=1000)] | UnsetType | None = UNSET
    parent: TaskId | UnsetType | None = UNSET
    priority: Annotated[int, Meta(ge=0, le=4)] | UnsetType = UNSET
    labels: Labels | UnsetType = UNSET
    checklist: Annotated[list[CheckLine], Meta(max_length=1_000)] | UnsetType = UNSET
    state: Any | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET
    owner: Worker | UnsetType | None = UNSET
    max_attempts: Annotated[int, Meta(ge=1, le=1000000)] | UnsetType | None = UNSET
    backoff: Annotated[float, Meta(ge=0, le=86_400)] | UnsetType = UNSET
    not_before: Annotated[datetime, Meta(tz=True)] | UnsetType | None = UNSET
    runs_after: Literal["completed", "ended"] | UnsetType = UNSET


class NewTaskBody(_TaskFields, kw_only=True):
    """A new task. It waits for those in `blocked_by`; those in `blocks` wait for it."""

    subject: Annotated[str, Meta(min_length=1, max_length=1_000)]
    blocked_by: TaskIds | UnsetType = UNSET
    blocks: TaskIds | UnsetType = UNSET


class TaskChangesBody(_TaskFields, kw_only=True):
    """Changes to a task: all of them, or none. `state` is merged key by key, and so is `metadata`.

    To complete a task use `complete`, to let it wait use `wait`.
    """

    subject: Annotated[str, Meta(min_length=1, max_length=1_000)] | UnsetType = UNSET
    status: Literal["pending", "in_progress", "failed", "cancelled"] | UnsetType = UNSET
    checked: Annotated[list[int | str], Meta(max_length=1_000)] | UnsetType = UNSET
    unchecked: Annotated[list[int | str], Meta(max_length=1_000)] | UnsetType = UNSET
    add_blocked_by: TaskIds | UnsetType = UNSET
    remove_blocked_by: TaskIds | UnsetType = UNSET
    add_blocks: TaskIds | UnsetType = UNSET
    remove_blocks: TaskIds | UnsetType = UNSET
    fence: Fence | None = None


class ClaimBody(Struct, forbid_unknown_fields=True, kw_only=True):
    """Claim the next ready tasks, or the one of `id`, for a worker, under a lease of so many seconds."""

    owner: Worker
    id: TaskId | None = None
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 1
    label: Annotated[str, Meta(max_length=100)] | None = None
    lease: Seconds | None = None
    reserve: Annotated[list[Annotated[str, Meta(max_length=4_096)]], Meta(max_length=1_000)] = []


class SignalBody(Struct, forbid_unknown_fields=True, kw_only=True):
    """An event for the tasks that wait for it. With `keep`, if none does, it is kept for the first that will."""

    topic: Annotated[str, Meta(min_length=1, max_length=200)]
    correlation_id: Annotated[str, Meta(min_length=1, max_length=200)]
    payload: Any = None
    keep: bool = False


class HeartbeatBody(Struct, forbid_unknown_fields=True):
    """The fence of the claim; it lasts `lease` seconds more, by default as long as before."""

    fence: Fence
    lease: Seconds | None = None


class FenceBody(Struct, forbid_unknown_fields=True):
    """The fence of the claim, if a worker does this."""

    fence: Fence | None = None


class EmptyTaskBody(Struct, forbid_unknown_fields=True):
    """Nothing has to be said."""


class CompleteBody(Struct, forbid_unknown_fields=True):
    """The result of a task. Without `force`, a task under another worker's lease is refused."""

    fence: Fence | None = None
    result: Any = None
    force: bool = False


class FailBody(Struct, forbid_unknown_fields=True):
    """Why the attempt failed."""

    reason: Annotated[str, Meta(max_length=10_000)] = ""
    fence: Fence | None = None


class CancelBody(Struct, forbid_unknown_fields=True):
    """Why it is cancelled. With `request` its worker is asked to; `force` does it under another worker's lease."""

    reason: Annotated[str, Meta(max_length=10_000)] | None = None
    request: bool = False
    fence: Fence | None = None
    force: bool = False


class TaskWaitBody(Struct, forbid_unknown_fields=True, kw_only=True):
    """The end of a wait: a time, so many seconds, an event, or without any of these a person."""

    until: Annotated[datetime, Meta(tz=True)] | None = None
    seconds: Annotated[float, Meta(ge=0, le=315_360_000)] | None = None
    topic: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    correlation_id: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    state: Any = None
    fence: Fence | None = None


class ResumeBody(Struct, forbid_unknown_fields=True):
    """Keys to merge into the task's state."""

    state: Any = None


class StepsBody(Struct, forbid_unknown_fields=True):
    """The agent that gets the steps of the task as its list."""

    session: Annotated[str, Meta(min_length=1, max_length=200)]
    agent: Annotated[str, Meta(min_length=1, max_length=200)] = "main"


class PromoteBody(StepsBody, forbid_unknown_fields=True):
    """The agent whose open items become tasks, below `parent` if that is given."""

    parent: TaskId | None = None


# Replies that hold several views, or tell what was done.


class TasksView(Struct, frozen=True, kw_only=True):
    """A page of tasks. `next` is the `after` of the next page; null on the last."""

    tasks: tuple[TaskView, ...]  # pyright: ignore[reportInvalidTypeForm]
    next: str | None = None


class TaskListView(Struct, frozen=True, kw_only=True):
    """A list of tasks. `created` counts those that it ever had."""

    list: str
    project: str
    session: str | None
    created: int


class TaskListsView(Struct, frozen=True):
    """Lists of tasks."""

    lists: tuple[TaskListView, ...]


class HistoryView(Struct, frozen=True):
    """Every event of one task, the oldest first."""

    events: tuple[EventView, ...]  # pyright: ignore[reportInvalidTypeForm]


# Reading.


def list_task_lists(call: ApiCall) -> TaskListsView:
    """List the lists of tasks."""
    rows = call.list_task_lists()
    return TaskListsView(
        tuple(
            TaskListView(list=row.name, project=row.project, session=row.session, created=count) for row, count in rows
        )
    )


def list_tasks(call: ApiCall, query: TasksQuery) -> TasksView:
    """List the tasks of a list, by id."""
    found = call.open_tasks().list(**asdict(replace(query, limit=query.limit + 1)))
    page = found[: query.limit]
    return TasksView(tasks=_show(page), next=page[-1].id if len(found) > len(page) else None)


def list_ready(call: ApiCall, query: ReadyQuery) -> TasksView:
    """List the tasks that a worker may claim now, in the order of claims."""
    return TasksView(tasks=_show(call.open_tasks().ready(query.limit, label=query.label)))


def show_graph(call: ApiCall) -> TaskGraphView:
    """Show all tasks of a list, and which waits for which."""
    tasks = call.open_tasks()
    if any(row.name == tasks.name and count > _MOST_IN_GRAPH for row, count in call.list_task_lists()):
        detail = f"The list has more than {_MOST_IN_GRAPH:,} tasks; read them page by page."
        raise ApiProblem(422, "list_too_long", detail, field="list")
    graph = tasks.graph()
    return view_graph(graph.tasks, graph.edges)


def show_task(call: ApiCall) -> Struct:
    """Show a task."""
    return view_task(call.open_tasks().get(call.path["task"]))


def show_history(call: ApiCall) -> HistoryView:
    """List every event of a task, also of one that was deleted."""
    events = call.open_tasks().history(call.path["task"])
    return HistoryView(tuple(show_event(event) for event in events))


def _show(tasks: tuple[Task, ...]) -> tuple[Struct, ...]:
    return tuple(view_task(task) for task in tasks)


# Changing. Gates may be asked about a new task and a completion: these, and claims, are told apart by their call ids.


def create_task(call: ApiCall, body: NewTaskBody) -> Struct:
    """Create a task; the list is made if it is not there yet."""
    tasks = _open_own(call, creates=True)
    if call.grant.machine and body.blocks is not UNSET:
        raise ApiProblem(403, "scope_missing", "A machine lets no task of others wait.", field="blocks")
    fields = _given(body)
    return view_task(tasks.create(fields.pop("subject"), call_id=call.take_call_id(), **fields))


def claim_tasks(call: ApiCall, body: ClaimBody) -> TasksView:
    """Claim the next ready tasks, or a certain one, under a lease; returns none if nothing is ready."""
    tasks = _open_own(call)
    call_id = call.take_call_id()
    options: ClaimOptions = {"label": body.label, "lease": body.lease, "reserve": body.reserve, "call_id": call_id}
    if body.id is not None:
        claimed = tasks.claim(body.owner, id=body.id, **options)
        return TasksView(tasks=() if claimed is None else _show((claimed,)))
    return TasksView(tasks=_show(tasks.claim(body.owner, limit=body.limit, **options)))


def signal_tasks(call: ApiCall, body: SignalBody) -> TasksView:
    """Deliver an event to the tasks that wait for it; returns those."""
    tasks = _open_own(call, is_awaited=True)
    woken = tasks.signal(body.topic, body.correlation_id, body.payload, keep=body.keep, call_id=call.take_call_id())
    return TasksView(tasks=_show(woken))


def complete_task(call: ApiCall, body: CompleteBody) -> Struct:
    """Complete a task."""
    tasks = _open_own(call)
    call.check_claim(tasks, body.fence)
    person = call.is_person and body.fence is None  # who shows a fence speaks as a worker
    call_id, fields = call.take_call_id(), _given(body)
    return view_task(
        tasks.complete(call.path["task"], revision=call.revision, call_id=call_id, person=person, **fields)
    )


def update_task(call: ApiCall, body: TaskChangesBody) -> Answer:
    """Change the fields, edges or status of a task, all or none."""
    return _change(call, "update", _given(body))


def delete_task(call: ApiCall, query: FenceQuery) -> Answer:
    """Delete a task from its list; its history stays. Returns it as it was."""
    return _change(call, "delete", _given(query))


def start_task(call: ApiCall, body: FenceBody) -> Answer:
    """Start a task, without a lease."""
    return _change(call, "update", {"status": "in_progress", **_given(body)})


def set_waiting(call: ApiCall, body: TaskWaitBody) -> Answer:
    """Let a task wait for a time, an event or a person."""
    given = _given(body)
    seconds = given.pop("seconds")
    if seconds is not None:
        given["until"] = timedelta(seconds=seconds)
    return _change(call, "wait", given)


def make_verb(name: str, body: type[Struct], about: str) -> Handler:
    """Return the handler of a verb whose body has the parameters of the method of `Work`, by their names."""

    def handle(call: ApiCall, body: Struct) -> Answer:
        return _change(call, name, _given(body))

    handle.__name__ = f"{name}_task"
    handle.__doc__ = about
    handle.__annotations__ = {"call": ApiCall, "body": body, "return": Answer}
    return handle


send_heartbeat: Final = make_verb("heartbeat", HeartbeatBody, "Renew the lease of a claim.")
release_task: Final = make_verb("release", FenceBody, "Release a task, so that others may claim it.")
fail_task: Final = make_verb("fail", FailBody, "Say that an attempt at a task failed.")
retry_task: Final = make_verb("retry", EmptyTaskBody, "Open a task again that has ended.")
cancel_task: Final = make_verb("cancel", CancelBody, "Cancel a task, or ask its worker to.")
resume_task: Final = make_verb("resume", ResumeBody, "Let a task go on, whatever it waits for.")


def give_steps(call: ApiCall, body: StepsBody) -> Answer:
    """Give an agent the steps of a task as its list; returns that list."""
    tasks, row = _open_own(call), call.find_agent(body.session, body.agent)
    call.check_steering(row.session)
    agent = open_list_owner(call.board, row.name, row.session, row.project)

    def run() -> Struct:
        todos = tasks.todos(call.path["task"], agent, by=call.by)
        return view_todos(todos, session=row.session, agent=row.name, project=row.project)

    return call.repeat(run)


def promote_items(call: ApiCall, body: PromoteBody) -> Answer:
    """Make tasks of the open items of an agent's list; again, it returns the same tasks."""
    tasks, row = _open_own(call, creates=True), call.find_agent(body.session, body.agent)
    agent = call.board.agent(row.name, session=row.session, project=row.project)
    return call.repeat(lambda: TasksView(tasks=_show(tasks.promote(agent, parent=body.parent))))


def _open_own(call: ApiCall, *, creates: bool = False, is_awaited: bool = False) -> Tasks:
    """Return the list of the path; raise if it is a copy, which its agent does not see, or not the caller's to steer.

    What a task waits for may come from anyone (`is_awaited`).
    """
    tasks = call.open_tasks(creates=creates)
    check_tasks_editable(tasks)
    if not is_awaited:
        call.check_list(tasks.name)
    return tasks


def _change(call: ApiCall, verb: str, given: Mapping[str, Any]) -> Answer:
    """Apply a verb to the task of the path, if it is at the revision of `If-Match`; of a machine, under its fence."""
    tasks, wanted = _open_own(call, is_awaited=verb == "resume"), call.path["task"]
    call.check_claim(tasks, given.get("fence"))

    def run(tx: Transaction) -> Struct:
        work = tasks.within(tx)
        if call.revision is not None:
            check_revision(work.row(wanted).task, call.revision)
        return view_task(getattr(work, verb)(wanted, **given))

    return call.commit(run)


def _given(body: Struct) -> dict[str, Any]:
    """Return the fields that were given, in the types of `board.tasks(…)`."""
    return msgspec.to_builtins(body, builtin_types=(datetime,))

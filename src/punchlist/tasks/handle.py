"""Read and change one list of tasks, each call in its own transaction."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, overload

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.events import Draft, Event
from punchlist.core.inputs import plain_json
from punchlist.core.task import Task, TaskStatus, Worked, name_task
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.errors import CycleRefused, GateRefused, StoreBusy, TaskError, TaskRevisionConflict, TaskUnknown
from punchlist.store import AgentRow, Store, Transaction
from punchlist.store.base import run_surely
from punchlist.store.tasks import TaskListRow, TaskRow
from punchlist.tasks.fields import (
    LONGEST,
    NewTask,
    TaskChanges,
    check_list_name,
    describe_completion,
    describe_new_task,
    parse_status,
)
from punchlist.tasks.gates import MOST_ASKED, Gate, ask_gates, has_gate
from punchlist.tasks.work import Work, parse_task_id, with_list_progress
from punchlist.text import repair_key
from punchlist.text.hashing import blake2b

T = TypeVar("T")
P = ParamSpec("P")
W_co = TypeVar("W_co", covariant=True)

SETTLE_WAIT = 1.0
"""Seconds that a reader waits for the lock to write what has come due."""


class ClaimOptions(TypedDict, total=False):
    """Options of a claim: only tasks with a label; seconds of lease; files that no other claim may reserve."""

    label: str | None
    lease: float | None
    reserve: Sequence[str]
    call_id: str | None


class TaskBoard(Protocol):
    store: Store

    @property
    def gates(self) -> Sequence[Gate]: ...
    def now(self) -> datetime: ...
    def events(self, after: int | str = 0) -> Iterator[Event]: ...


class TaskAgent(Protocol):
    """The parts of an agent's handle that its tasks need."""

    name: str
    session: str
    _grading: str

    @property
    def todos(self) -> TodoList: ...
    def restore_list(self, todos: TodoList, *, by: str, source: str) -> TodoList: ...
    def _join(self, tx: Transaction, now: datetime) -> AgentRow: ...


class TaskGraph(Struct, frozen=True):
    """Tasks, and the edges between them as pairs of ids: a blocker, and the task that waits for it."""

    tasks: tuple[Task, ...]
    edges: tuple[tuple[str, str], ...]


class Handle(Protocol[W_co]):
    """Opens a transaction for each call."""

    def _change(self, work: Callable[[W_co], T]) -> T: ...


def run_in_transaction(verb: Callable[Concatenate[W_co, P], T]) -> Callable[Concatenate[Handle[W_co], P], T]:
    """Return a method of a handle that runs a verb in a transaction of its own."""

    @wraps(verb)
    def method(handle: Handle[W_co], *args: P.args, **kwargs: P.kwargs) -> T:
        return handle._change(lambda work: verb(work, *args, **kwargs))  # pyright: ignore[reportPrivateUsage]

    return method


class Tasks:
    """One list of tasks. Makes no list before something is written to it; safe to use from many threads.

    A handle that is made for an agent acts in its name, and the agent's activity keeps its claims alive. Leases, timers
    and pauses that are over are written before a list is read, so nothing needs a poller.
    """

    def __init__(
        self, board: TaskBoard, name: str, *, project: str, agent: TaskAgent | None = None, by: str = "", lease: float
    ) -> None:
        self.board = board
        self.name = check_list_name(name)
        self.by = by or ("" if agent is None else agent.name)
        self.lease = lease
        self._project = project
        self._agent = agent

    def __repr__(self) -> str:
        return f"Tasks({self.name!r})"

    def within(self, tx: Transaction, *, now: datetime | None = None) -> Work:
        """Return the verbs of this list for a transaction that is already open. Gates are not asked there."""
        now = now or self.board.now()
        agent = self._agent
        if agent is None:
            return Work(tx, self.name, project=self._project, now=now, by=self.by)
        row = agent._join(tx, now)  # pyright: ignore[reportPrivateUsage]
        grades = agent._grading  # pyright: ignore[reportPrivateUsage]
        return Work(tx, self.name, project=self._project, now=now, by=self.by, agent=row, grades=grades)

    def _change(self, work: Callable[[Work], T]) -> T:
        return self.board.store.transact(lambda tx: work(self.within(tx)))

    # Reading.

    def _read(self, what: Callable[[Transaction, TaskListRow], T], nothing: T) -> T:
        """Read the list; only if something has come due meanwhile, write that first.

        If another process holds the lock for long, the list is read as it stands: a reader does not wait for it.
        """

        def read(tx: Transaction, *, as_it_stands: bool = False) -> tuple[bool, T]:
            known = tx.tasks.find_list_and_due(self.name, now)
            if known is None:
                return False, nothing
            where, due = known
            if due and not as_it_stands:
                return True, nothing
            return False, what(tx, where)

        def settle(tx: Transaction) -> None:
            Work(tx, self.name, project=self._project, now=now)

        now = self.board.now()
        due, found = self.board.store.read(read)
        if due:
            with suppress(StoreBusy):
                self.board.store.transact(settle, wait=SETTLE_WAIT)
            _, found = self.board.store.read(lambda tx: read(tx, as_it_stands=True))
        return found

    def get(self, id: str) -> Task:
        """Return one task; raise `TaskUnknown`."""

        def read(tx: Transaction, where: TaskListRow) -> Task | None:
            row = tx.tasks.find(where, parse_task_id(id) or 0)
            return None if row is None else with_list_progress(tx, row)

        task = self._read(read, None)
        if task is None:
            raise TaskUnknown(id=str(id)[:80], list=self.name)
        return task

    def list(
        self,
        *,
        status: str | None = None,
        owner: str | None = None,
        label: str | None = None,
        parent: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> tuple[Task, ...]:
        """Return the tasks of the list by id, those after `after` and no more than `limit`."""
        word = None if status is None else parse_status(status).value

        def read(tx: Transaction, where: TaskListRow) -> tuple[Task, ...]:
            above: TaskRow | None = None
            if parent is not None:
                above = tx.tasks.find(where, parse_task_id(parent) or 0)
                if above is None:
                    raise TaskUnknown(id=parent[:80], list=self.name)
            rows = tx.tasks.page(
                where,
                after=0 if after is None else parse_task_id(after) or 0,
                limit=None if limit is None else _clamp_limit(limit),
                status=word,
                owner=None if owner is None else repair_key(owner),
                label=None if label is None else repair_key(label),
                parent=None if above is None else above.number,
            )
            return _show(tx, rows)

        return self._read(read, ())

    def ready(self, limit: int = 20, *, label: str | None = None) -> tuple[Task, ...]:
        """Return the tasks that a worker may claim now, in the order of claims: by priority, then id."""

        wanted = label and repair_key(label)
        return self._read(
            lambda tx, where: _show(tx, tx.tasks.ready(where, limit=_clamp_limit(limit), label=wanted)), ()
        )

    def history(self, id: str) -> tuple[Event, ...]:
        """Return every event of a task, also of one that was deleted."""
        found = self._read(lambda tx, where: tuple(tx.tasks.history(where, parse_task_id(id) or 0)), ())
        if not found:
            raise TaskUnknown(id=str(id)[:80], list=self.name)
        return found

    def graph(self) -> TaskGraph:
        """Return the whole list with its edges."""
        return self._read(
            lambda tx, where: TaskGraph(_show(tx, tx.tasks.page(where)), tuple(tx.tasks.edges(where))),
            TaskGraph((), ()),
        )

    # Creating and changing.

    def create(self, subject: str, *, call_id: str | None = None, **fields: Unpack[NewTask]) -> Task:
        """Create a task. The same `call_id` again creates no second one. For `fields` see `NewTask`."""
        if has_gate(self.board.gates, "create", self.name) and (call_id is None or not self._is_known(call_id)):
            self._ask_about_new(subject, fields)
        run = partial(self._change, lambda work: work.create(subject, call_id=call_id, **fields))
        return run_surely(run, is_known=call_id is not None)

    def _is_known(self, call_id: str) -> bool:
        """True if a call id was answered before: gates are not asked about it again."""

        def read(tx: Transaction) -> bool:
            where = tx.tasks.find_list(self.name)
            return where is not None and tx.tasks.call(where, call_id) is not None

        return self.board.store.read(read)

    def _ask_about_new(self, subject: str, fields: NewTask) -> None:
        ask_gates(self.board.gates, "create", describe_new_task(self.name, subject, fields, by=self.by))

    def _complete(self, id: str, fence: int | None, given: TaskChanges, write: Callable[[Work], T]) -> T:
        """Write a completion; where it comes too late, keep its result and raise the error that says so."""
        try:
            return self._pass_gates(id, fence, given, write)
        except TaskError:
            if fence is None and self._agent is None:
                raise
            result = plain_json("result", given.get("result"))
            late = self._change(lambda work: work.find_late(id, fence, result))
            if late is None:
                raise
            raise late from None

    def _pass_gates(self, id: str, fence: int | None, given: TaskChanges, write: Callable[[Work], T]) -> T:
        """Write once the gates have agreed; ask them again if the task changed meanwhile.

        They see the task as it is to be, with all that is `given`, and are not asked about a write that is too late.
        """
        if not has_gate(self.board.gates, "complete", self.name):
            return self._change(write)
        task = self.get(id)
        for _ in range(MOST_ASKED):
            counts = fence is None or (fence == task.fence and not task.cancel_requested)
            if counts and task.status is not TaskStatus.COMPLETED:
                self._ask_about_end(describe_completion(task, given))
            written, task = self._change(lambda work, task=task: _write_if_unchanged(work, task, write))
            if written is not None:
                return written[0]
        raise TaskRevisionConflict(id=id, expected="what it was", actual=task.revision)

    def _ask_about_end(self, task: Task) -> None:
        try:
            ask_gates(self.board.gates, "complete", task)
        except GateRefused as refused:
            draft = Draft("task.refused", {**name_task(task), "on": "complete", "reason": str(refused)})
            self._change(lambda work: work.tell(work.row(task.id), draft))
            raise

    def update(
        self,
        id: str,
        *,
        revision: int | None = None,
        fence: int | None = None,
        person: bool = False,
        **changes: Unpack[TaskChanges],
    ) -> Task:
        """Change a task, all or nothing; with `revision` only if it is still at that. See `TaskChanges`.

        `person` as for `complete`.
        """

        def write(work: Work) -> Task:
            return work.update(id, revision=revision, fence=fence, person=person, **changes)

        done = changes.get("status") == "completed"
        return self._complete(id, fence, changes, write) if done else self._change(write)

    delete = run_in_transaction(Work.delete)

    # Working.

    @overload
    def claim(
        self, owner: str | None = None, *, id: str | None = None, limit: None = None, **options: Unpack[ClaimOptions]
    ) -> Task | None: ...

    @overload
    def claim(
        self, owner: str | None = None, *, id: None = None, limit: int, **options: Unpack[ClaimOptions]
    ) -> tuple[Task, ...]: ...

    @overload
    def claim(
        self,
        owner: str | None = None,
        *,
        id: str | None = None,
        limit: int | None = None,
        **options: Unpack[ClaimOptions],
    ) -> Task | tuple[Task, ...] | None: ...

    def claim(
        self,
        owner: str | None = None,
        *,
        id: str | None = None,
        limit: int | None = None,
        **options: Unpack[ClaimOptions],
    ) -> Task | tuple[Task, ...] | None:
        """Claim the next ready task, or None; with `id` that one; with `limit` up to so many, as a tuple.

        `label`: only tasks that have it. `lease`: seconds without a heartbeat after which the task is free again.
        `reserve`: files or patterns that no other claim may reserve as long as this one lasts. The same `call_id`
        again gets the same answer.
        """
        most = 1 if limit is None else limit
        if options.get("lease") is None:
            options["lease"] = self.lease
        run = partial(self._change, lambda work: work.claim(owner or self.by, id=id, limit=most, **options))
        taken = run_surely(run, is_known=options.get("call_id") is not None)
        return taken if limit is not None else next(iter(taken), None)

    heartbeat = run_in_transaction(Work.heartbeat)

    def complete(
        self,
        id: str,
        *,
        fence: int | None = None,
        result: Any = None,
        revision: int | None = None,
        call_id: str | None = None,
        person: bool = False,
        force: bool = True,
    ) -> Task:
        """Complete a task. A worker gives its `fence`; if another worker has the task by now, that raises `FenceStale`,
        and the result is kept in `late_results`.

        `person=True`: the host knows that a person does this. The task is `confirmed`, also if it was completed before;
        what anybody else completes is graded by the work of the task's agent. Without `force`, a task under another
        worker's lease raises `TaskTaken`, unless a fence is given.
        """

        def write(work: Work) -> Task | TaskError:
            return work.complete(
                id, fence=fence, result=result, revision=revision, call_id=call_id, person=person, force=force
            )

        run = partial(self._complete, id, fence, {} if result is None else {"result": result}, write)
        done = run_surely(run, is_known=call_id is not None or (fence is not None and revision is None))
        if isinstance(done, TaskError):
            raise done
        return done

    release = run_in_transaction(Work.release)
    fail = run_in_transaction(Work.fail)
    retry = run_in_transaction(Work.retry)
    cancel = run_in_transaction(Work.cancel)
    wait = run_in_transaction(Work.wait)
    signal = run_in_transaction(Work.signal)
    resume = run_in_transaction(Work.resume)

    # Todos.

    def todos(self, id: str, agent: TaskAgent, *, by: str = "") -> TodoList:
        """Give an agent a list of the steps of a task: its children, else its checklist, else the task itself.

        The task then shows the progress of that list. Items that were open on the agent's list before are set aside.
        """
        task = self.get(id)
        todos = agent.restore_list(
            _make_steps(task, self.list(parent=id)),
            by=by or self.by or agent.name,
            source=f"task {task.id} of {task.list}",
        )
        self._change(lambda work: _link_list(work, id, agent, todos.plan_id))
        return todos

    def promote(self, agent: TaskAgent, *, parent: str | None = None) -> tuple[Task, ...]:
        """Make tasks of the open items of an agent's list, each blocked by the one before. Again: the same tasks."""
        todos = agent.todos
        if has_gate(self.board.gates, "create", self.name):
            for item in self.board.store.read(lambda tx: _find_unpromoted(tx, self.name, agent, todos)):
                self._ask_about_new(_cut_subject(item), _make_promoted_fields(agent, todos, item, parent))
        return self._change(lambda work: _promote_items(work, agent, todos, parent))

    # The end.

    def prune(self, before: datetime) -> int:
        """Delete tasks that ended before a time and block no open task; return how many. Their history stays."""

        def some(work: Work) -> int:
            rows = work.tasks.ended_before(work.where, before, limit=100)
            for row in rows:
                work.delete(row.task.id)
            return len(rows)

        total = 0
        while count := self._change(some):
            total += count
        return total


def _write_if_unchanged(work: Work, asked: Task, write: Callable[[Work], T]) -> tuple[tuple[T] | None, Task]:
    now = work.row(asked.id).task
    return ((write(work),) if now.revision == asked.revision else None), now


def _show(tx: Transaction, rows: Sequence[TaskRow]) -> tuple[Task, ...]:
    return tuple([with_list_progress(tx, row) for row in rows])


def _clamp_limit(limit: int) -> int:
    """Return a limit that every engine takes: below 0 is none, and no list is longer than the most."""
    return min(max(0, limit), 10**9)


# A list made from a task, and tasks made from a list.


def _make_steps(task: Task, children: tuple[Task, ...]) -> TodoList:
    wanted = [child for child in children if child.status is not TaskStatus.CANCELLED]
    if wanted:
        parts = [(child.subject, not child.is_open) for child in wanted]
    elif task.checklist:
        parts = [(check.text, check.done) for check in task.checklist]
    else:
        parts = [(task.subject, False)]
    items = tuple(
        TodoItem(id=str(place), content=text, status=Status.COMPLETED if done else Status.PENDING)
        for place, (text, done) in enumerate(parts, 1)
    )
    return TodoList(items=items)


def _link_list(work: Work, task: str, agent: TaskAgent, plan_id: str) -> Task:
    row = work.row(task)
    worked = Worked(session=agent.session, agent=agent.name, plan_id=plan_id)
    known = work.tx.agent(agent.session, agent.name)
    if known is not None:
        work.tasks.save_worked(row, known.number)
    return work.write(row, replace(row.task, worked=worked), "task.changed").task


def _make_call_id(agent: TaskAgent, todos: TodoList, item: TodoItem) -> str:
    """Return the call id under which an item is promoted: the same each time, hashed where it would be too long."""
    said = f"promote {agent.session} {agent.name} {todos.plan_id} {item.id}"
    if len(said) <= LONGEST["name"] and said.isprintable():
        return said
    return f"promote {blake2b(said.encode(errors='replace'), digest_size=16).hexdigest()}"


def _make_promoted_fields(agent: TaskAgent, todos: TodoList, item: TodoItem, parent: str | None) -> NewTask:
    origin = {"session": agent.session, "agent": agent.name, "plan_id": todos.plan_id, "item": item.id}
    given: NewTask = {"metadata": {"todo": origin}}
    if item.active_form:
        given["active_form"] = item.active_form
    if item.notes:
        given["description"] = "\n".join(item.notes)
    if parent is not None:
        given["parent"] = parent
    return given


def _cut_subject(item: TodoItem) -> str:
    return item.content[: LONGEST["subject"]]


def _find_unpromoted(tx: Transaction, name: str, agent: TaskAgent, todos: TodoList) -> list[TodoItem]:
    where = tx.tasks.find_list(name)
    items = todos.open_items
    return [item for item in items if where is None or tx.tasks.call(where, _make_call_id(agent, todos, item)) is None]


def _promote_items(work: Work, agent: TaskAgent, todos: TodoList, parent: str | None) -> tuple[Task, ...]:
    tasks: list[Task] = []
    for item in todos.open_items:

        def make(item: TodoItem = item) -> tuple[Task, ...]:
            before: NewTask = {"blocked_by": [tasks[-1].id]} if tasks else {}
            return (work.create(_cut_subject(item), **{**_make_promoted_fields(agent, todos, item, parent), **before}),)

        (task,) = work.once(_make_call_id(agent, todos, item), ["promote"], make)
        row = work.find(task.id)
        if row is not None:
            tasks.append(_put_after(work, row.task, tasks[-1]) if tasks else row.task)
    return tuple(tasks)


def _put_after(work: Work, task: Task, first: Task) -> Task:
    """Block a task by another; unless it was begun already, or comes before it by other edges."""
    if first.id in task.blocked_by or task.status not in {TaskStatus.PENDING, TaskStatus.WAITING}:
        return task
    try:
        return work.update(task.id, add_blocked_by=[first.id])
    except CycleRefused:
        return task

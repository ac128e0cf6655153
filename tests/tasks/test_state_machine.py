"""A list of tasks under random hands: workers, operators and a clock; a simple model says what must be so."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from punchlist import Task, TaskError
from punchlist.core.task import fold_task
from punchlist.errors import InvalidInput
from tests.sizes import size
from tests.tasks.boards import Desk, ids

OPEN = {"pending", "in_progress", "waiting"}
owners = st.sampled_from(["w1", "w2"])
numbers = st.integers(1, 6)


@dataclass
class Model:
    """One task as a person would keep it on paper."""

    status: str = "pending"
    owner: str | None = None
    worker: str | None = None
    priority: int = 2
    fence: int = 0
    lease_ends: float | None = None
    timer_ends: float | None = None
    rests_until: float | None = None
    waits_for: str | None = None
    goes_on: bool = False
    attempts: int = 0
    most: int | None = None
    blocked_by: set[int] = field(default_factory=set[int])

    def free(self) -> None:
        self.owner = self.lease_ends = self.timer_ends = self.waits_for = None


class TaskMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk()
        self.tasks = self.desk.tasks
        self.now = 0.0
        self.model: dict[int, Model] = {}
        self.made = self.calls = 0
        self.shown: list[tuple[int, int]] = []

    def teardown(self) -> None:
        self.desk.board.close()

    # What must follow.

    def held(self, task: int) -> bool:
        return any(self.model[blocker].status != "completed" for blocker in self.model[task].blocked_by)

    def ready(self) -> list[int]:
        found = [
            number
            for number, task in self.model.items()
            if task.status == "pending" and task.owner is None and task.rests_until is None and not self.held(number)
        ]
        return sorted(found, key=lambda number: (self.model[number].priority, number))

    def settle(self) -> None:
        for task in self.model.values():
            if task.lease_ends is not None and task.lease_ends <= self.now:
                spent = task.most is not None and task.attempts >= task.most
                owner = task.owner
                task.free()
                task.status, task.owner = ("failed", owner) if spent else ("pending", None)
            if task.timer_ends is not None and task.timer_ends <= self.now:
                self.resumed(task)
            if task.rests_until is not None and task.rests_until <= self.now:
                task.rests_until = None

    def resumed(self, task: Model) -> None:
        number = next(number for number, known in self.model.items() if known is task)
        on, owner = task.goes_on and not self.held(number), task.owner
        task.free()
        task.status, task.owner = ("in_progress", owner) if on else ("pending", None)

    def tried(self, action: Any) -> Task | None:
        """The task, or None if it was refused; a refusal changes nothing, which the invariant sees."""
        try:
            return action()
        except (TaskError, InvalidInput):
            return None

    # What may be done.

    @rule(priority=st.integers(0, 4), most=st.sampled_from([None, None, 2]), blockers=st.sets(numbers, max_size=2))
    def create(self, priority: int, most: int | None, blockers: set[int]) -> None:
        if self.made >= 6:
            return
        known = sorted(blockers & self.model.keys())
        task = self.tasks.create(
            "task", priority=priority, max_attempts=most, backoff=20, blocked_by=[str(number) for number in known]
        )
        self.made += 1
        assert task.id == str(self.made)
        self.model[self.made] = Model(priority=priority, most=most, blocked_by=set(known))

    @rule(owner=owners, lease=st.sampled_from([30, 100]), call=st.booleans())
    def claim(self, owner: str, lease: int, call: bool) -> None:
        ready = self.ready()
        self.calls += 1
        call_id = f"call {self.calls}" if call else None
        task = self.tasks.claim(owner, lease=lease, call_id=call_id)
        if call:
            assert self.tasks.claim(owner, lease=lease, call_id=call_id) == task
        if task is None:
            assert ready == []
            return
        assert int(task.id) == ready[0]
        self.took(task, owner, lease)

    @rule(owner=owners, number=numbers)
    def claim_that_one(self, owner: str, number: int) -> None:
        task = self.tried(lambda: self.tasks.claim(owner, id=str(number), lease=50))
        assert (task is not None) is (number in self.ready())
        if task is not None:
            self.took(task, owner, 50)

    def took(self, task: Task, owner: str, lease: int) -> None:
        known = self.model[int(task.id)]
        known.status, known.owner, known.lease_ends = "in_progress", owner, self.now + lease
        known.worker = owner
        known.fence += 1
        known.attempts += 1
        assert task.fence == known.fence
        self.shown.append((int(task.id), task.fence))

    @precondition(lambda self: self.shown)
    @rule(data=st.data(), verb=st.sampled_from(["complete", "fail", "release", "heartbeat", "wait"]))
    def work(self, data: st.DataObject, verb: str) -> None:
        """A worker uses a fence that it was given at some time."""
        number, fence = data.draw(st.sampled_from(self.shown))
        known = self.model.get(number)
        own = known is not None and known.fence == fence
        before = None if known is None or verb != "complete" else self.tasks.get(str(number)).late_results
        done = self.tried(lambda: self.act(verb, str(number), fence))
        if known is None or not own:
            assert done is None
            if known is not None and before is not None:
                assert self.tasks.get(str(number)).late_results != before or len(before) > 0
            return
        allowed = {
            "complete": known.status in {*OPEN, "failed"} and not self.held(number),  # failed: its last lease ran out
            "fail": known.status in {*OPEN, "failed"},  # the same, with its worker's own reason
            "release": known.status == "in_progress",
            "heartbeat": known.status == "in_progress" or (known.status == "pending" and not self.held(number)),
            "wait": known.status in OPEN,
        }[verb]
        assert (done is not None) is (allowed or (verb == "complete" and known.status == "completed"))
        if allowed:
            self.acted(known, verb)

    def act(self, verb: str, number: str, fence: int) -> Task:
        match verb:
            case "complete":
                return self.tasks.complete(number, fence=fence, result=fence)
            case "fail":
                return self.tasks.fail(number, "why", fence=fence)
            case "release":
                return self.tasks.release(number, fence=fence)
            case "heartbeat":
                return self.tasks.heartbeat(number, fence=fence, lease=40)
            case _:
                return self.tasks.wait(number, until=timedelta(seconds=60), fence=fence)

    def acted(self, known: Model, verb: str) -> None:
        leased, owner = known.lease_ends is not None, known.owner
        match verb:
            case "complete":
                known.free()
                known.status, known.owner, known.rests_until = "completed", owner, None
            case "fail":
                again = known.status != "failed" and known.most is not None and known.attempts < known.most
                known.free()
                known.status, known.owner = ("pending", None) if again else ("failed", owner)
                known.rests_until = self.now + 20 * 2 ** max(0, known.attempts - 1) if again else None
                known.fence += 1
            case "release":
                known.attempts -= leased
                known.free()
                known.status = "pending"
                known.fence += 1
            case "heartbeat":
                known.owner = known.worker
                known.status, known.lease_ends, known.rests_until = "in_progress", self.now + 40, None
            case _:
                known.goes_on = (
                    known.goes_on if known.status == "waiting" else known.status == "in_progress" and not leased
                )
                known.attempts -= leased
                known.status, known.lease_ends, known.timer_ends = "waiting", None, self.now + 60
                known.rests_until = None
                known.fence += leased

    @rule(number=numbers, verb=st.sampled_from(["start", "complete", "cancel", "retry", "delete", "resume"]))
    def operate(self, number: int, verb: str) -> None:
        """A person does something to a task, without a fence."""
        known, name = self.model.get(number), str(number)
        calls: dict[str, Any] = {
            "start": lambda: self.tasks.update(name, status="in_progress"),
            "complete": lambda: self.tasks.complete(name),
            "cancel": lambda: self.tasks.cancel(name),
            "retry": lambda: self.tasks.retry(name),
            "delete": lambda: self.tasks.delete(name),
            "resume": lambda: self.tasks.resume(name),
        }
        done = self.tried(calls[verb])
        if known is None:
            assert done is None
            return
        free = not self.held(number)
        another_s = known.status == "waiting" and known.goes_on and known.owner != "ada"
        allowed = {
            "start": known.status not in {"in_progress", "cancelled"} and free and not another_s,
            "complete": known.status == "completed" or (known.status in OPEN and free),
            "cancel": known.status != "completed",
            "retry": known.status not in OPEN or known.rests_until is not None,
            "delete": True,
            "resume": known.status == "waiting",
        }[verb]
        assert (done is not None) is allowed
        if allowed:
            self.operated(known, number, verb)

    def operated(self, known: Model, number: int, verb: str) -> None:
        owner, leased = known.owner, known.lease_ends is not None
        if verb == "start":
            known.free()
            known.status, known.owner, known.rests_until = "in_progress", "ada", None
            known.fence += 1
        elif verb == "complete" and known.status != "completed":
            known.free()
            known.status, known.owner, known.rests_until = "completed", owner, None
            known.fence += leased
        elif verb == "cancel" and known.status != "cancelled":
            known.free()
            known.status, known.owner, known.rests_until = "cancelled", owner, None
            known.fence += 1
        elif verb == "retry":
            known.fence += known.status != "failed"
            known.free()
            known.status, known.rests_until, known.attempts = "pending", None, 0
        elif verb == "delete":
            del self.model[number]
            for other in self.model.values():
                other.blocked_by.discard(number)
        elif verb == "resume":
            self.resumed(known)

    @rule(number=numbers, blocker=numbers, add=st.booleans())
    def link(self, number: int, blocker: int, add: bool) -> None:
        change: Any = {"add_blocked_by" if add else "remove_blocked_by": [str(blocker)]}
        done = self.tried(lambda: self.tasks.update(str(number), **change))
        known = number in self.model and blocker in self.model
        assert (done is not None) is (known and not (add and self.reaches(blocker, number)))
        if done is not None and add:
            self.model[number].blocked_by.add(blocker)
        elif done is not None:
            self.model[number].blocked_by.discard(blocker)

    def reaches(self, start: int, goal: int) -> bool:
        """Whether a task waits for another one, directly or not, or is it."""
        return start == goal or any(self.reaches(blocker, goal) for blocker in self.model[start].blocked_by)

    @rule(seconds=st.sampled_from([1, 25, 70, -50]))
    def pass_time(self, seconds: int) -> None:
        self.desk.clock.advance(seconds)
        self.now = max(self.now, (self.desk.clock() - _START).total_seconds())
        self.settle()

    # What must be so.

    @invariant()
    def the_tasks_are_as_on_paper(self) -> None:
        tasks = self.tasks.list()
        assert [int(task.id) for task in tasks] == sorted(self.model)
        for task in tasks:
            known = self.model[int(task.id)]
            assert (task.status, task.owner, task.fence) == (known.status, known.owner, known.fence), task.id
            assert task.attempts == known.attempts
            assert {int(blocker) for blocker in task.blocked_by} == known.blocked_by
            assert (task.lease_until is not None) is (known.lease_ends is not None)
        assert [int(number) for number in ids(self.tasks.ready())] == self.ready()

    @invariant()
    def each_history_folds_to_its_task(self) -> None:
        for number in self.model:
            folded: Task | None = None
            for event in self.tasks.history(str(number)):
                folded = fold_task(folded, event.kind, event.data, event.at)
            task = self.tasks.get(str(number))
            assert folded is not None
            derived = ("blocks", "blocked_by", "held_by", "open_blockers", "progress", "lease_until", "lease")
            assert replace(folded, **{name: getattr(task, name) for name in derived}) == task

    @invariant()
    def the_counts_are_right(self) -> None:
        assert self.desk.board.store.transact(lambda tx: tx.tasks.rebuild()) == 0


_START = Desk().clock()

TaskMachine.TestCase.settings = settings(
    max_examples=size(40, 3_000), stateful_step_count=25, deadline=None, print_blob=True
)
TestTasks = TaskMachine.TestCase

"""`punchlist tasks`: what changes a task. Each says what it did, or prints the task as a line of JSON."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypedDict

from punchlist.cli import FAILED, OK, complain
from punchlist.cli.arguments import open_board
from punchlist.cli.target import author
from punchlist.cli.task_target import chosen_list, fence_of, report, reserved, the_task, the_tasks, value_of
from punchlist.core.task import Check, Task, TaskStatus
from punchlist.errors import TaskError
from punchlist.text import repair

if TYPE_CHECKING:
    from punchlist.store import Transaction
    from punchlist.tasks import TaskChanges, Tasks

_LONGEST_INPUT = 1_000_000


def add(options: Namespace) -> int:
    with open_board(options) as board:
        tasks = chosen_list(board, options, by=author(options))
        task = tasks.create(
            repair(" ".join(options.words)).strip(),
            call_id=options.call_id,
            blocked_by=[the_task(tasks, each).id for each in options.blocked_by],
            blocks=[the_task(tasks, each).id for each in options.blocks],
            **_given(tasks, options),
        )
    after = f" (blocked by {_ids(task.blocked_by)})" if task.blocked_by else ""
    report(options, task, f"Added {named(task)}{after}")
    return OK


class Given(TypedDict, total=False):
    """What can be said about a task when it is added, and also later."""

    description: str
    parent: str | None
    priority: int
    labels: Sequence[str]
    checklist: Sequence[Check]
    owner: str | None
    max_attempts: int | None


def _given(tasks: Tasks, options: Namespace, known: Sequence[Check] = ()) -> Given:
    """What was said, and nothing else: the rest has its defaults elsewhere. An empty text takes away what was there.

    Of the `known` lines of a checklist, those that are said again stay ticked.
    """
    given: Given = {}
    if options.description is not None:
        text = sys.stdin.read(_LONGEST_INPUT) if options.description == "-" else options.description
        given["description"] = repair(text).rstrip("\n")
    if options.parent is not None:
        given["parent"] = the_task(tasks, options.parent).id if options.parent else None
    if options.priority is not None:
        given["priority"] = options.priority
    if options.label:
        given["labels"] = [repair(label) for label in options.label if label]
    if options.check:
        ticked = {check.text for check in known if check.done}
        lines = [repair(check) for check in options.check if check]
        given["checklist"] = [Check(line, line in ticked) for line in lines]
    if options.owner is not None:
        given["owner"] = repair(options.owner) or None
    if options.attempts is not None:
        given["max_attempts"] = options.attempts
    return given


def start(options: Namespace) -> int:
    def begin(tasks: Tasks, task: Task) -> Task:
        return tasks.update(task.id, status="in_progress", fence=fence_of(options, task))

    return each(options, begin, lambda task: f"Started {named(task)}")


def done(options: Namespace) -> int:
    result = value_of(options.result)

    def complete(tasks: Tasks, task: Task) -> Task:
        return tasks.complete(task.id, fence=fence_of(options, task), result=result, call_id=options.call_id)

    return each(options, complete, lambda task: f"Completed {named(task)}")


def fail(options: Namespace) -> int:
    def give_up(tasks: Tasks, task: Task) -> Task:
        return tasks.fail(task.id, _reason(options), fence=fence_of(options, task))

    def said(task: Task) -> str:
        if task.status is TaskStatus.PENDING:
            return (
                f"Attempt {task.attempts} of {task.max_attempts} failed: {named(task)}; it is tried again after a rest"
            )
        return f"Failed {named(task)}; `punchlist tasks retry {task.id}` opens it again"

    return _one(options, give_up, said)


def retry(options: Namespace) -> int:
    return each(options, lambda tasks, task: tasks.retry(task.id), lambda task: f"Opened again {named(task)}")


def cancel(options: Namespace) -> int:
    def give_up(tasks: Tasks, task: Task) -> Task:
        return tasks.cancel(task.id, _reason(options) or None, request=options.request, fence=fence_of(options, task))

    def said(task: Task) -> str:
        if task.status is TaskStatus.CANCELLED:
            return f"Cancelled {named(task)}"
        return f"Asked for {named(task)} to be cancelled by whoever works on it"

    return _one(options, give_up, said)


def delete(options: Namespace) -> int:
    def said(task: Task) -> str:
        return f"Deleted {named(task)}; `punchlist tasks history {task.id}` still has its story"

    return each(options, lambda tasks, task: tasks.delete(task.id), said)


def block(options: Namespace) -> int:
    def link(tasks: Tasks, task: Task) -> Task:
        return tasks.update(task.id, add_blocked_by=[the_task(tasks, each).id for each in options.blockers])

    return _one(options, link, lambda task: f"Blocked {named(task)} (by {_ids(task.blocked_by)})")


def unblock(options: Namespace) -> int:
    def unlink(tasks: Tasks, task: Task) -> Task:
        ids = [the_task(tasks, each).id for each in options.blockers] or task.blocked_by
        return tasks.update(task.id, remove_blocked_by=ids)

    def said(task: Task) -> str:
        return f"Unblocked {named(task)}" + (f" (still by {_ids(task.blocked_by)})" if task.blocked_by else "")

    return _one(options, unlink, said)


def check(options: Namespace) -> int:
    def tick(tasks: Tasks, task: Task) -> Task:
        lines = [_line(task, repair(line)) for line in options.lines] or list(range(len(task.checklist)))
        return tasks.update(task.id, unchecked=lines) if options.undo else tasks.update(task.id, checked=lines)

    def said(task: Task) -> str:
        missing = sum(not check.done for check in task.checklist)
        return f"Checked {named(task)} ({len(task.checklist) - missing} of {len(task.checklist)})"

    return _one(options, tick, said)


def _line(task: Task, said: str) -> int | str:
    """A line of a checklist by its number, from 1, or by its text."""
    return int(said) - 1 if said.isascii() and said.isdecimal() and 0 < int(said) <= len(task.checklist) else said


def edit(options: Namespace) -> int:
    def change(tasks: Tasks, task: Task) -> Task:
        given: TaskChanges = {**_given(tasks, options, task.checklist)}
        if options.subject is not None:
            given["subject"] = repair(options.subject)
        if not given:
            raise TaskError(problem="Say what is to change; see `punchlist tasks edit --help`.")
        return tasks.update(task.id, **given)

    return each(options, change, lambda task: f"Changed {named(task)}")


def claim(options: Namespace) -> int:
    with open_board(options) as board:
        tasks = chosen_list(board, options, by=author(options))
        taken = _claimed(tasks, options)
        for task in taken:
            report(options, task, f"Claimed {named(task)} (fence {task.fence}, lease {task.lease:g} s)")
    if taken:
        return OK
    return complain("Nothing is ready; `punchlist tasks list` shows what waits for what.", FAILED)


def _claimed(tasks: Tasks, options: Namespace) -> Sequence[Task]:
    lease, reserve, call_id = options.lease, reserved(options), options.call_id
    if not options.words:
        most = 1 if options.limit is None else options.limit
        return tasks.claim(limit=most, label=options.label, lease=lease, reserve=reserve, call_id=call_id)
    ids = [task.id for task in the_tasks(tasks, options.words)]
    calls = [call_id if call_id is None or len(ids) == 1 else f"{call_id} {each}" for each in ids]

    def together(tx: Transaction) -> list[Task]:
        """All of them or none, as one claim: what it reserves, it reserves for each."""
        work, length = tasks.within(tx), tasks.lease if lease is None else lease
        both = zip(ids, calls, strict=True)
        return [
            task
            for each, call in both
            for task in work.claim(tasks.by, id=each, label=options.label, lease=length, reserve=reserve, call_id=call)
        ]

    board = tasks.board
    board.tasks_wanted(tasks.name)
    taken = board.store.transact(together)
    board.tasks_changed(tasks.name)
    return taken


def release(options: Namespace) -> int:
    def give_back(tasks: Tasks, task: Task) -> Task:
        return tasks.release(task.id, fence=fence_of(options, task))

    def said(task: Task) -> str:
        return f"{'Cancelled' if task.status is TaskStatus.CANCELLED else 'Released'} {named(task)}"

    return each(options, give_back, said)


# What they have in common.


def named(task: Task) -> str:
    return f"{task.id}: {task.subject}"


def _ids(ids: tuple[str, ...]) -> str:
    return ", ".join(ids)


def _reason(options: Namespace) -> str:
    return repair(" ".join(options.reason)).strip()


Change = Callable[["Tasks", Task], Task]


def _one(options: Namespace, change: Change, said: Callable[[Task], str]) -> int:
    options.words = [options.task]
    return each(options, change, said)


def each(options: Namespace, change: Change, said: Callable[[Task], str]) -> int:
    """Changes the tasks that are meant, one after the other; what was said was done."""
    with open_board(options) as board:
        tasks = chosen_list(board, options, by=author(options))
        for task in the_tasks(tasks, options.words):
            after = change(tasks, task)
            report(options, after, said(after))
    return OK

"""Completed tasks are graded by what was seen of the work on them, as the items of a list are."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from msgspec.structs import replace

from punchlist.agent.grading import CALLS_LOOKED_AT, UNSOUND, contradicted, named_item, work_after, work_on
from punchlist.core.commands import Problem
from punchlist.core.events import Event
from punchlist.core.grounding import (
    NOTHING,
    SOUND,
    Tally,
    combined,
    grade,
    is_task,
    regrade,
    task_key,
    task_of,
    work_during,
)
from punchlist.core.task import Task, TaskStatus
from punchlist.errors import TaskNotGrounded
from punchlist.store import AgentRow, Transaction
from punchlist.store.task_rows import TaskRow
from punchlist.tasks.work import Work


def graded(change: Work, row: TaskRow, after: Task, worker: int) -> Task:
    """The task as it is completed, with its grade; raises where only completions that hold up are accepted."""
    key = task_key(after.list, after.id)
    found = grade(_work(change.tx, {worker, row.agent}, key, after))
    if found not in SOUND and change.grades != "show":
        named, why = named_item(after.id, after.subject), UNSOUND.get(found, found)
        if change.grades == "require":
            raise TaskNotGrounded(id=after.id, task=named, why=why)
        text = f"Completed, but not borne out: {named} ({why})."
        change.doubts.append(Problem("graded", text, data={"items": [after.id]}))
    memory = change.tx.memory.load(worker)
    if memory.watched:
        change.tx.memory.save(worker, replace(memory, done=key))
    return replace(after, grade=found)


def regraded_tasks(tx: Transaction, agent: AgentRow, keys: Collection[str] | None, now: datetime) -> None:
    """Looks anew at completed tasks on which an agent worked: at those of these keys, or at all."""
    wanted = _keys(tx, agent) if keys is None else [key for key in keys if is_task(key)]
    for key in wanted:
        name, number = task_of(key)
        change = Work(tx, name, project=agent.project, now=now, by="punchlist")
        row = change.find(number)
        if row is None or row.task.status is not TaskStatus.COMPLETED or row.task.grade in (None, "confirmed"):
            continue
        own = _work(tx, {agent.number, row.agent}, key, row.task)
        found = regrade(None, own, work_after(tx, agent.number, key))
        if found != row.task.grade:
            change.write(row, replace(row.task, grade=found), "task.graded", whose=row.agent)


def contradictions(tx: Transaction, agent: AgentRow, found: Iterable[Event], now: datetime) -> list[str]:
    """The tasks among these, with new grades, that were called done and are contradicted now: each, and by what."""
    said: list[str] = []
    for name, number in dict.fromkeys((event.data["list"], event.data["id"]) for event in found):
        row = Work(tx, name, project=agent.project, now=now).find(number)
        if row is None or row.task.status is not TaskStatus.COMPLETED or row.task.grade != "contradicted":
            continue
        key = task_key(name, number)
        own = _work(tx, {agent.number, row.agent}, key, row.task)
        said.append(contradicted(number, row.task.subject, combined(own, [work_after(tx, agent.number, key)])))
    return said


def _keys(tx: Transaction, agent: AgentRow) -> Iterable[str]:
    return [key for key in tx.tool_calls.items(agent.number) if is_task(key)]


def _work(tx: Transaction, agents: Collection[int | None], key: str, task: Task) -> Tally:
    """What these agents did for the task, their children included; else what they did while they had it."""
    numbers = [number for number in agents if number is not None]
    own = combined(NOTHING, [work_on(tx, number, key) for number in numbers])
    if not own.is_empty:
        return own
    calls = [tx.tool_calls.of_agent(number, CALLS_LOOKED_AT) for number in numbers]
    return combined(NOTHING, [work_during(each, task.started_at, task.finished_at) for each in calls])

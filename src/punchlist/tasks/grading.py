"""Grade completions by the rows of a board: find the window of an item or a task, and judge it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from msgspec.structs import replace

from punchlist.core.commands import Problem
from punchlist.core.grounding.grades import (
    DOUBTFUL,
    Completion,
    Grade,
    Judgement,
    is_about_failure,
    judge,
    look_back,
    with_proof,
)
from punchlist.core.grounding.tool_call import ToolCall, task_key
from punchlist.core.task import Task
from punchlist.errors import TaskNotGrounded
from punchlist.store import Transaction
from punchlist.store.agents import CompletingWrite
from punchlist.text import cut, for_prompt

_WHY: Final[dict[str, str]] = {"unseen": "no work on it was seen", "failing": "a check fails"}


class CompletedWork(NamedTuple):
    """An item or a task that is completed now: its key, its text, and since when it was in progress."""

    key: str
    text: str
    started_at: datetime | None


def find_windows(tx: Transaction, agent: int, completed: Sequence[CompletedWork], now: datetime) -> list[Completion]:
    """Return the windows of the items and tasks that an agent completes in one write.

    A window begins at the agent's previous completing write, or when the item went in progress, if that was earlier.
    """
    session, project = tx.record(agent).row.session, tx.record(agent).row.project
    previous, position = tx.record(agent).completed, tx.last_seq()
    since, at = (0, None) if previous is None else (previous.position, previous.at)
    dropped = tx.memory.load(agent).dropped
    last_change = tx.completions.load_record(session).last_change.get(agent, 0)
    windows: dict[datetime | None, Completion] = {}  # by when an item went in progress, if that was before
    found: list[Completion] = []
    for one in completed:
        begun = one.started_at if at is not None and one.started_at is not None and one.started_at < at else None
        if begun not in windows:
            calls = (
                tx.tool_calls.in_window(agent, since, position)
                if begun is None
                else calls_since(tx, agent, begun, position)
            )
            window = Completion(
                key="",
                agent=agent,
                position=position,
                at=now,
                since=since,
                begun=begun,
                batch=len(completed),
                is_lossy=_has_dropped(dropped, begun or at, now),
                last_change=last_change,
            )
            windows[begun] = look_back(window, [call for _, call in calls], project)
        found.append(replace(windows[begun], key=one.key, is_about_failure=is_about_failure(one.text)))
    return found


def calls_since(tx: Transaction, agent: int, begun: datetime, position: int) -> list[tuple[int, ToolCall]]:
    """Return the calls of an agent and its subagents since a completing write before a time, each with its agent."""
    first = tx.completions.find_previous(agent, begun)
    return tx.tool_calls.in_window(agent, 0 if first is None else first.position, position)


def _has_dropped(dropped: Iterable[tuple[datetime, datetime]], start: datetime | None, end: datetime) -> bool:
    """True if reports were lost between these times."""
    return any(since <= end and (start is None or start <= until) for since, until in dropped)


def save_completions(tx: Transaction, agent: int, given: Iterable[tuple[Completion, Grade]]) -> None:
    """Keep completions of one write with their grades; the windows of earlier ones end here."""
    fresh = list(given)
    tx.completions.save(fresh)
    if fresh:
        tx.record(agent).completed = CompletingWrite(fresh[-1][0].position, fresh[-1][0].at)


def grade_task(tx: Transaction, task: Task, worker: int, policy: str, now: datetime) -> tuple[Task, Problem | None]:
    """Return a completed task with its grade, and the doubt to tell; raise where the policy requires a sound grade."""
    completed = CompletedWork(task_key(task.list, task.id), task.subject, task.started_at)
    (done,) = find_windows(tx, worker, [completed], now)
    found = judge(done, tx.completions.load_record(tx.record(worker).row.session))
    if found.grade in DOUBTFUL and policy == "require":
        raise TaskNotGrounded(id=task.id, task=item_name(task.id, task.subject), why=explain(found))
    save_completions(tx, worker, [(with_proof(done, found), found.grade)])
    task = replace(task, grade=found.grade)
    if found.grade not in DOUBTFUL or policy == "show":
        return task, None
    name = item_name(task.id, task.subject)
    text = f"Marked done, but the work seen does not confirm it: {name} ({explain(found)})."
    return task, Problem("graded", text, data={"items": [task.id]})


def explain(found: Judgement) -> str:
    """Return why a completion is doubtful, for the model: the check that fails, or that nothing was seen."""
    return _WHY[found.grade] if found.run is None else f"{found.run.command or found.run.name} failed"


def item_name(id: str, text: str) -> str:
    """Return the name of an item or a task for the model."""
    return f"{id} {for_prompt(cut(text, 80))}"

"""Grade completions by the rows of a board: find the window of an item or a task, and judge it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from punchlist.core.commands import Problem
from punchlist.core.grounding.grades import DOUBTFUL, Completion, Grade, Judgement, judge, look_back
from punchlist.core.grounding.tool_call import task_key
from punchlist.core.task import Task
from punchlist.errors import TaskNotGrounded
from punchlist.store import Transaction
from punchlist.text import cut, for_prompt

_WHY: Final[dict[str, str]] = {"unseen": "no work on it was seen", "failing": "a check fails"}


def find_window(
    tx: Transaction,
    agent: int,
    key: str,
    text: str,
    *,
    started_at: datetime | None,
    now: datetime,
    batch: int = 1,
) -> Completion:
    """Return the window of what is completed now: since the last completing write, and while it was in progress."""
    session, project = tx.place_of(agent)
    previous = tx.completions.find_previous(agent)
    since, at = (0, None) if previous is None else previous
    begun = started_at if at is not None and started_at is not None and started_at < at else None
    first = None if begun is None else tx.completions.find_previous(agent, begun)
    position = tx.last_seq()
    window = Completion(
        key=key,
        agent=agent,
        position=position,
        at=now,
        since=since,
        begun=begun,
        batch=batch,
        is_lossy=_has_dropped(tx.memory.load(agent).dropped, begun or at, now),
        last_change=tx.completions.load_record(session).last_change.get(agent, 0),
    )
    oldest = since if begun is None else 0 if first is None else first.position
    return look_back(window, text, (call for _, call in tx.tool_calls.in_window(agent, oldest, position)), project)


def _has_dropped(dropped: Iterable[tuple[datetime, datetime]], start: datetime | None, end: datetime) -> bool:
    """True if reports were lost between these times."""
    return any(since <= end and (start is None or start <= until) for since, until in dropped)


def save_completions(tx: Transaction, agent: int, given: Iterable[tuple[Completion, Grade]]) -> None:
    """Keep completions of one write with their grades; the windows of earlier ones end here."""
    for done, grade in given:
        tx.completions.close(agent, done.position)
        tx.completions.save(done, grade)


def grade_task(tx: Transaction, task: Task, worker: int, policy: str, now: datetime) -> tuple[Task, Problem | None]:
    """Return a completed task with its grade, and the doubt to tell; raise where the policy requires a sound grade."""
    key = task_key(task.list, task.id)
    done = find_window(tx, worker, key, task.subject, started_at=task.started_at, now=now)
    session, _ = tx.place_of(worker)
    found = judge(done, tx.completions.load_record(session))
    if found.grade in DOUBTFUL and policy == "require":
        raise TaskNotGrounded(id=task.id, task=item_name(task.id, task.subject), why=explain(found))
    save_completions(tx, worker, [(done, found.grade)])
    task = replace(task, grade=found.grade)
    if found.grade not in DOUBTFUL or policy == "show":
        return task, None
    text = f"Completed, but not borne out: {item_name(task.id, task.subject)} ({explain(found)})."
    return task, Problem("graded", text, data={"items": [task.id]})


def explain(found: Judgement) -> str:
    """Return why a completion is doubtful, for the model: the check that fails, or that nothing was seen."""
    return _WHY[found.grade] if found.run is None else f"{found.run.command or found.run.name} failed"


def item_name(id: str, text: str) -> str:
    """Return the name of an item or a task for the model."""
    return f"{id} {for_prompt(cut(text, 80))}"

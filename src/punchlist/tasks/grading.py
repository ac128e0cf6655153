"""Load what completions are graded by, and save their grades; the rules are `core/grounding/grades.py`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from punchlist.core.commands import Problem
from punchlist.core.grounding import grades
from punchlist.core.grounding.tool_call import ToolCall, task_key
from punchlist.core.overview import CompletingWrite
from punchlist.core.task import Task
from punchlist.errors import TaskNotGrounded
from punchlist.settings.environment import find_local_root
from punchlist.store import Transaction
from punchlist.text import cut, for_prompt

_WHY: Final[dict[str, str]] = {"unseen": "no work on it was seen", "failing": "a check fails"}


def load_work_before(tx: Transaction, agent: int, completed: Sequence[grades.CompletedWork]) -> grades.WorkBefore:
    """Return everything that the windows of these items and tasks follow from."""
    record, position = tx.record(agent), tx.last_seq()
    previous = record.completed
    since = 0 if previous is None else previous.position
    calls: dict[datetime | None, list[ToolCall]] = {}
    for begun in {grades.find_begun(one, previous) for one in completed}:
        found = (
            tx.tool_calls.in_window(agent, since, position)
            if begun is None
            else calls_since(tx, agent, begun, position)
        )
        calls[begun] = [call for _, call in found]
    return grades.WorkBefore(
        agent=agent,
        project=find_local_root(record.row.folder),
        position=position,
        previous=previous,
        calls=calls,
        dropped=tx.memory.load(agent).dropped,
        record=tx.completions.load_record(record.row.session),
    )


def calls_since(tx: Transaction, agent: int, begun: datetime, position: int) -> list[tuple[int, ToolCall]]:
    """Return the calls of an agent and its subagents since a completing write before a time, each with its agent."""
    first = tx.completions.find_previous(agent, begun)
    return tx.tool_calls.in_window(agent, 0 if first is None else first.position, position)


def save_completions(tx: Transaction, agent: int, given: Sequence[tuple[grades.Completion, grades.Grade]]) -> None:
    """Save the completions of one write with their grades; the windows of earlier ones end here."""
    tx.completions.save(given)
    if given:
        done, _ = given[-1]
        tx.completions.close(agent, done.position)
        tx.record(agent).completed = CompletingWrite(done.position, done.at)


def grade_task(
    task: Task, before: grades.WorkBefore, policy: str, now: datetime
) -> tuple[grades.Completion, grades.Judgement]:
    """Return the window of a completed task and its grade; raise where the policy requires a sound one."""
    completed = grades.CompletedWork(task_key(task.list, task.id), task.subject, task.started_at)
    (done,) = grades.form_windows([completed], before, now)
    found = grades.judge(done, before.record)
    if found.grade in grades.DOUBTFUL and policy == "require":
        raise TaskNotGrounded(id=task.id, task=item_name(task.id, task.subject), why=explain(found))
    return grades.with_proof(done, found), found


def add_task_grade(tx: Transaction, task: Task, worker: int, policy: str, now: datetime) -> tuple[Task, Problem | None]:
    """Grade a completed task and save its completion; return it with its grade, and the doubt to tell."""
    completed = grades.CompletedWork(task_key(task.list, task.id), task.subject, task.started_at)
    done, found = grade_task(task, load_work_before(tx, worker, [completed]), policy, now)
    save_completions(tx, worker, [(done, found.grade)])
    task = replace(task, grade=found.grade)
    if found.grade not in grades.DOUBTFUL or policy == "show":
        return task, None
    name = item_name(task.id, task.subject)
    text = f"Marked done, but the work seen does not confirm it: {name} ({explain(found)})."
    return task, Problem("graded", text, data={"items": [task.id]})


def explain(found: grades.Judgement) -> str:
    """Return why a completion is doubtful, for the model: the check that fails, or that nothing was seen."""
    return _WHY[found.grade] if found.run is None else f"{found.run.command or found.run.name} failed"


def item_name(id: str, text: str) -> str:
    """Return the name of an item or a task for the model."""
    return f"{id} {for_prompt(cut(text, 80))}"

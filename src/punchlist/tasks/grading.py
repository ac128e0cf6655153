"""Grade completed tasks by the reported work on them, as the items of a list are graded."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from msgspec.structs import replace

from punchlist.core.commands import Problem
from punchlist.core.grounding.grades import SOUND, against, grade
from punchlist.core.grounding.tally import NOTHING, Tally, combined, tally_of, work_during
from punchlist.core.grounding.tool_call import task_key
from punchlist.core.task import Task
from punchlist.errors import TaskNotGrounded
from punchlist.store import Transaction
from punchlist.text import cut, for_prompt

CALLS_LOOKED_AT: Final = 4000
"""Calls that are searched for evidence, the latest ones: all of a long session would be slow."""

UNSOUND: Final = {
    "asserted": "no work on it was seen",
    "contradicted": "the last that was seen of it failed",
}


def grade_task(tx: Transaction, task: Task, agents: Collection[int | None], policy: str) -> tuple[Task, Problem | None]:
    """Return a completed task with its grade, and the doubt to tell; raise where the policy requires a sound grade."""
    found = grade(work_on_task(tx, agents, task_key(task.list, task.id), task))
    task = replace(task, grade=found)
    if found in SOUND or policy == "show":
        return task, None
    named, why = item_name(task.id, task.subject), UNSOUND.get(found, found)
    if policy == "require":
        raise TaskNotGrounded(id=task.id, task=named, why=why)
    return task, Problem("graded", f"Completed, but not borne out: {named} ({why}).", data={"items": [task.id]})


def work_on_task(tx: Transaction, agents: Collection[int | None], key: str, task: Task) -> Tally:
    """Count the work of these agents on a task, with that of their children; else their work while they had it."""
    numbers = [number for number in agents if number is not None]
    own = combined(NOTHING, [work_on(tx, number, key) for number in numbers])
    if not own.is_empty:
        return own
    calls = [tx.tool_calls.of_agent(number, CALLS_LOOKED_AT) for number in numbers]
    return combined(NOTHING, [work_during(each, task.started_at, task.finished_at) for each in calls])


def work_on(tx: Transaction, agent: int, key: str) -> Tally:
    """Count the work of an agent on an item or a task, with that of children who were started for it."""
    own = tally_of(tx.tool_calls.of_item(agent, key))
    waiting, seen, found = list(tx.subagents.of_item(agent, key)), set[int](), list[Tally]()
    while waiting:
        child = waiting.pop()
        if child not in seen:
            seen.add(child)
            found.append(tally_of(call for call in tx.tool_calls.of_agent(child) if call.started is not None))
            waiting.extend(tx.subagents.of_agent(child))
    return combined(own, found, as_children=True)


def work_after(tx: Transaction, agent: int, key: str) -> Tally:
    """Count what was seen after an item was called done, with nothing else in focus."""
    return tally_of(tx.tool_calls.after_item(agent, key))


def contradiction_sentence(id: str, text: str, work: Tally) -> str:
    """Return a sentence about a completed item or task, and the work that contradicts it."""
    why = against(work) or UNSOUND["contradicted"]
    return f"{item_name(id, text)} was called done, and what was seen since contradicts it: {why}."


def item_name(id: str, text: str) -> str:
    """Return the name of an item or a task for the model."""
    return f"{id} {for_prompt(cut(text, 80))}"

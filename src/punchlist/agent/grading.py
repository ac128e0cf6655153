"""Grade completions in the transaction that writes them, and again when later reports contradict them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from punchlist.core.apply import Applied
from punchlist.core.commands import Problem
from punchlist.core.events import Draft, Event, decode_item, draft_header, with_fields
from punchlist.core.grounding.evidence import completion_before, grounded_by, match_evidence, with_unclaimed
from punchlist.core.grounding.fold import is_within
from punchlist.core.grounding.grades import SOUND, Grade, grade, limit_grade, regrade, stays
from punchlist.core.grounding.tally import NOTHING, Tally, combined
from punchlist.core.grounding.tool_call import ToolCall, is_task, item_key, task_key, task_of
from punchlist.core.task import TaskStatus
from punchlist.core.todo import ListState, Status, TodoItem, TodoList
from punchlist.store import AgentRow, Transaction
from punchlist.tasks.grading import (
    CALLS_LOOKED_AT,
    UNSOUND,
    contradiction_sentence,
    item_name,
    work_after,
    work_on,
    work_on_task,
)
from punchlist.tasks.work import Work


class Claim(NamedTuple):
    """An item that a write calls done, and the event that says so."""

    item: TodoItem
    draft: Draft


def find_claims(before: TodoList, drafts: Iterable[Draft]) -> list[Claim]:
    """Return the completions among the events of a write; also of items that its dialect removed at once."""
    found: list[Claim] = []
    for draft in drafts:
        if draft.kind == "item.completed":
            known = before.find(draft.data["id"])
            if known is not None:
                found.append(Claim(with_fields(known, draft.data["set"]), draft))
        elif draft.kind == "item.added" and draft.data["item"].get("status") == Status.COMPLETED:
            found.append(Claim(decode_item(draft.data["item"]), draft))
    return found


def add_grades(applied: Applied, given: Collection[tuple[Claim, str]]) -> Applied:
    """Add these grades to the items and events of a change, in place: no other code holds them yet."""
    if not given:
        return applied
    grades = {claim.item.id: one for claim, one in given}
    for claim, one in given:
        fields = claim.draft.data["item" if claim.draft.kind == "item.added" else "set"]
        fields["grade"] = one
    todos = applied.state.todos
    items = tuple(replace(item, grade=grades[item.id]) if item.id in grades else item for item in todos.items)
    state = ListState(replace(todos, items=items), applied.state.shown)
    return applied._replace(state=state)


# The work on an item, as the rows of its calls tell.


def work_on_item(tx: Transaction, row: AgentRow, plan_id: str, item: TodoItem) -> Tally:
    """Count the work on an item; for one that never was in progress, what was done with nothing in focus."""
    tally = work_on(tx, row.number, item_key(plan_id, item.id))
    if tally.is_empty and item.started_at is None and item.status is Status.COMPLETED:
        since = completion_before(item, row.state.todos.items)
        tally = with_unclaimed(NOTHING, item, tx.tool_calls.of_item(row.number, ""), since=since)
    return tally


def _work_with_evidence(tx: Transaction, row: AgentRow, plan_id: str, item: TodoItem) -> Tally:
    """Count the work on an item with the calls that its evidence names."""
    tally = work_on_item(tx, row, plan_id, item)
    if not item.evidence:
        return tally
    calls = tx.tool_calls.of_agent(row.number, CALLS_LOOKED_AT)
    matches = match_evidence(item.evidence, calls, until=item.finished_at)
    return grounded_by(tally, matches, item=item_key(plan_id, item.id), since=item.created_at)


def _limit_grade(tx: Transaction, row: AgentRow, item: TodoItem, found: Grade) -> Grade | None:
    """Return the grade to give, in the light of reports that were dropped while the agent worked on the item."""
    dropped = tx.memory.load(row.number).dropped
    return limit_grade(found, is_lossy=is_within(dropped, item.started_at or item.created_at, item.finished_at))


def judge_claims(tx: Transaction, row: AgentRow, applied: Applied) -> list[tuple[Claim, str]]:
    """Return each completion of a change with its grade, but for those that cannot be judged."""
    given: list[tuple[Claim, str]] = []
    for claim in find_claims(row.state.todos, applied.events):
        found = grade(_work_with_evidence(tx, row, applied.state.todos.plan_id, claim.item))
        limited = _limit_grade(tx, row, claim.item, found)
        if limited is not None:
            given.append((claim, limited))
    return given


def refusal(given: Iterable[tuple[Claim, str]]) -> Problem | None:
    """Return the refusal where only completions that hold up are accepted; None if they all do."""
    bad = [(claim, one) for claim, one in given if one not in SOUND]
    if not bad:
        return None
    text = (
        f"Not accepted as completed: {_list_claims(bad)}. Do the work or run a check while the item is in progress, "
        "then send this again. Nothing was changed."
    )
    return Problem("not_grounded", text, fatal=True, data={"items": [claim.item.id for claim, _ in bad]})


def doubt(given: Iterable[tuple[Claim, str]]) -> Problem | None:
    """Return the problem to tell the model of completions that nothing bears out; None if there are none."""
    bad = [(claim, one) for claim, one in given if one not in SOUND]
    if not bad:
        return None
    data = {"items": [claim.item.id for claim, _ in bad]}
    return Problem("graded", f"Completed, but not borne out: {_list_claims(bad)}.", data=data)


def regrade_after(tx: Transaction, row: AgentRow, call: ToolCall, now: datetime, *, failed: bool) -> None:
    """Look again at the grades that a call, which has ended, bears on: its item's, and those of the agents above."""
    todos = row.state.todos
    graded = {
        item_key(todos.plan_id, item.id): item
        for item in todos.items
        if item.grade is not None and item.status is Status.COMPLETED
    }
    keys: list[str] = []
    for key in (call.item, call.after):
        item = graded.get(key)
        if item is None:
            if is_task(key):
                keys.append(key)
        elif item.evidence or not stays(item.grade or "", call, failed=failed, later=key == call.after):
            keys.append(key)
    if keys:
        regrade_items(tx, row, keys, now)
    if row.parent is not None:
        _regrade_above(tx, row, now)


def regrade_items(tx: Transaction, row: AgentRow, keys: Collection[str] | None, now: datetime) -> None:
    """Look again at completions of the present list: at those of these keys, or at all."""
    todos, changed = row.state.todos, dict[str, Grade]()
    for item in todos.items:
        if item.grade in (None, "confirmed") or item.status is not Status.COMPLETED:
            continue
        key = item_key(todos.plan_id, item.id)
        if keys is not None and key not in keys:
            continue
        own = _work_with_evidence(tx, row, todos.plan_id, item)
        found = regrade(None, own, work_after(tx, row.number, key))
        limited = _limit_grade(tx, row, item, found)
        if limited is not None and limited != item.grade:
            changed[item.id] = limited
    if changed:
        _write(tx, row, changed, now)
    if keys is None or any(map(is_task, keys)):
        _regrade_tasks(tx, row, keys, now)


def _regrade_tasks(tx: Transaction, agent: AgentRow, keys: Collection[str] | None, now: datetime) -> None:
    """Look again at completed tasks on which an agent worked: at those of these keys, or at all."""
    for key in filter(is_task, tx.tool_calls.items(agent.number) if keys is None else keys):
        name, number = task_of(key)
        work = Work(tx, name, project=agent.project, now=now, by="punchlist")
        row = work.find(number)
        if row is None or row.task.status is not TaskStatus.COMPLETED or row.task.grade in (None, "confirmed"):
            continue
        own = work_on_task(tx, {agent.number, row.agent}, key, row.task)
        found = regrade(None, own, work_after(tx, agent.number, key))
        if found != row.task.grade:
            work.write(row, replace(row.task, grade=found), "task.graded", whose=row.agent)


def _regrade_above(tx: Transaction, row: AgentRow, now: datetime) -> None:
    """Look again at completions of the agents above, where this one was started for them."""
    for parent, child in tx.ancestors(row):
        key = tx.subagents.started_for(child.number)
        if key:
            regrade_items(tx, parent, [key], now)


def _write(tx: Transaction, row: AgentRow, grades: dict[str, Grade], now: datetime) -> None:
    before = row.state.todos
    items = tuple(replace(item, grade=grades[item.id]) if item.id in grades else item for item in before.items)
    todos = replace(before, items=items, revision=before.revision + 1)
    drafts = [
        Draft("item.changed", {"id": item.id, "content": item.content, "set": {"grade": item.grade}})
        for item in items
        if item.id in grades
    ]
    drafts.append(draft_header("list.graded", before, todos))
    for draft in drafts:
        draft.data.setdefault("revision", todos.revision)
    state = ListState(todos, row.state.shown)
    tx.save_list(row, state, unseen=row.unseen, at=now, events=drafts)
    tx.add_events(row, drafts, by="punchlist", at=now)


def contradictions(tx: Transaction, row: AgentRow, ids: Collection[str]) -> list[str]:
    """Describe each of these items that was called done and is contradicted now, and by what."""
    todos, said = row.state.todos, list[str]()
    for item in todos.items:
        if item.id in ids and item.status is Status.COMPLETED and item.grade == "contradicted":
            own = _work_with_evidence(tx, row, todos.plan_id, item)
            later = work_after(tx, row.number, item_key(todos.plan_id, item.id))
            said.append(contradiction_sentence(item.id, item.content, combined(own, [later])))
    return said


def task_contradictions(tx: Transaction, agent: AgentRow, found: Iterable[Event], now: datetime) -> list[str]:
    """Return a sentence for each task of these events that was called done and is contradicted now."""
    said: list[str] = []
    for name, number in dict.fromkeys((event.data["list"], event.data["id"]) for event in found):
        row = Work(tx, name, project=agent.project, now=now).find(number)
        if row is None or row.task.status is not TaskStatus.COMPLETED or row.task.grade != "contradicted":
            continue
        key = task_key(name, number)
        own = work_on_task(tx, {agent.number, row.agent}, key, row.task)
        said.append(
            contradiction_sentence(number, row.task.subject, combined(own, [work_after(tx, agent.number, key)]))
        )
    return said


def _list_claims(bad: Iterable[tuple[Claim, str]]) -> str:
    named = [f"{item_name(claim.item.id, claim.item.content)} ({UNSOUND.get(one, one)})" for claim, one in bad]
    more = f"; and {len(named) - 10} more" if len(named) > 10 else ""
    return "; ".join(named[:10]) + more

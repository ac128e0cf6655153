"""Completions are graded in the transaction that writes them, and anew when later facts say otherwise."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Final, NamedTuple

from msgspec.structs import replace

from punchlist.agent.family import above
from punchlist.agent.kept import kept
from punchlist.agent.kept_work import attribute, later, work_on
from punchlist.core.apply import Applied
from punchlist.core.commands import Problem
from punchlist.core.events import Draft, decode_item, draft_header, with_fields
from punchlist.core.grounding import (
    NOTHING,
    SOUND,
    Grade,
    Grounding,
    Tally,
    ToolCall,
    against,
    combined,
    completion_before,
    grade,
    grounded_by,
    is_task,
    item_key,
    match_evidence,
    regrade,
    with_unclaimed,
)
from punchlist.core.todo import ListState, Status, TodoItem, TodoList
from punchlist.store import AgentRow, Transaction
from punchlist.text import cut, for_prompt

CALLS_LOOKED_AT: Final = 4000
"""Runtime events behind which evidence is looked for."""

UNSOUND: Final = {
    "asserted": "no work on it was seen",
    "contradicted": "the last that was seen of it failed",
}


class Claim(NamedTuple):
    """An item that a write calls done, and the event that says so."""

    item: TodoItem
    draft: Draft


def claims(before: TodoList, drafts: Iterable[Draft]) -> list[Claim]:
    """The completions among the events of a write; also of items that its dialect took off the list at once."""
    found: list[Claim] = []
    for draft in drafts:
        if draft.kind == "item.completed":
            known = before.find(draft.data["id"])
            if known is not None:
                found.append(Claim(with_fields(known, draft.data["set"]), draft))
        elif draft.kind == "item.added" and draft.data["item"].get("status") == Status.COMPLETED:
            found.append(Claim(decode_item(draft.data["item"]), draft))
    return found


def graded(applied: Applied, given: Collection[tuple[Claim, str]]) -> Applied:
    """The same change with these grades in its items and in its events, which are still its own."""
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


class Judging:
    """Grades the completions of one agent by what was seen of it."""

    def judged(
        self, tx: Transaction, row: AgentRow, applied: Applied, *, strict: bool = False
    ) -> list[tuple[Claim, str]]:
        """Each claim of a change with its grade; `strict` says that one which does not hold up undoes the change."""
        found = claims(row.state.todos, applied.events)
        if not found:
            return []
        open_calls, plan_id = list(kept(tx, row.number).watcher.open.values()), applied.state.todos.plan_id
        calls, given, unclaimed = _Calls(tx, row), list[tuple[Claim, str]](), dict[str, Tally]()
        for claim in found:
            item, key = claim.item, item_key(plan_id, claim.item.id)
            tally = work_on(tx, row.number, key, open_calls)
            if tally.is_empty and item.started_at is None:
                since = completion_before(item, row.state.todos.items)
                tally = unclaimed[key] = with_unclaimed(NOTHING, item, calls.all(), since=since)
            given.append((claim, grade(_with_evidence(calls, item, key, tally))))
        if unclaimed and (not strict or refusal(given) is None):
            attribute(tx, row.number, unclaimed)
        return given


def refusal(given: Iterable[tuple[Claim, str]]) -> Problem | None:
    """What is said where only completions that hold up are accepted; None if they all do."""
    bad = [(claim, one) for claim, one in given if one not in SOUND]
    if not bad:
        return None
    text = (
        f"Not accepted as completed: {_listed(bad)}. Do the work or run a check while the item is in progress, then "
        "send this again. Nothing was changed."
    )
    return Problem("not_grounded", text, fatal=True, data={"items": [claim.item.id for claim, _ in bad]})


def doubt(given: Iterable[tuple[Claim, str]]) -> Problem | None:
    """What the model is told once of completions that nothing bears out; None if there are none."""
    bad = [(claim, one) for claim, one in given if one not in SOUND]
    if not bad:
        return None
    data = {"items": [claim.item.id for claim, _ in bad]}
    return Problem("graded", f"Completed, but not borne out: {_listed(bad)}.", data=data)


def regraded(
    tx: Transaction, row: AgentRow, keys: Collection[str] | None, open_calls: Iterable[ToolCall], now: datetime
) -> None:
    """Looks anew at completions of the present list: at those of these keys, or at all."""
    todos, changed = row.state.todos, dict[str, Grade]()
    judged = [item for item in todos.items if item.grade is not None and item.status is Status.COMPLETED]
    calls, open_calls = _Calls(tx, row), list(open_calls) if judged else ()
    for item in judged:
        if item.grade == "confirmed":
            continue
        key = item_key(todos.plan_id, item.id)
        if keys is not None and key not in keys:
            continue
        own = _with_evidence(calls, item, key, work_on(tx, row.number, key, open_calls))
        found = regrade(None, own, later(tx, row.number, key))
        if found != item.grade:
            changed[item.id] = found
    if changed:
        _write(tx, row, changed, now)
    if keys is None or any(map(is_task, keys)):
        from punchlist.tasks.grading import regraded_tasks  # only for those who work on tasks

        regraded_tasks(tx, row, keys, now)


def regraded_above(tx: Transaction, row: AgentRow, now: datetime) -> None:
    """Looks anew at what those above an agent called done, where it was started for that."""
    for parent, child in above(tx, row):
        watcher = kept(tx, parent.number).watcher
        keys = {key for key, children in watcher.children.items() if key and child.number in children}
        if keys:
            regraded(tx, parent, keys, watcher.open.values(), now)


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


class _Calls:
    """The latest calls of an agent, read from the log if somebody asks for them, and then once."""

    def __init__(self, tx: Transaction, row: AgentRow) -> None:
        self._tx, self._row = tx, row
        self._found: list[ToolCall] | None = None

    def all(self) -> list[ToolCall]:
        if self._found is None:
            events = self._tx.work.events(self._row.number, CALLS_LOOKED_AT)
            self._found = Grounding(events).calls_by(self._row.session, self._row.name)
        return self._found


def _with_evidence(calls: _Calls, item: TodoItem, key: str, tally: Tally) -> Tally:
    """The work on an item with the calls that its evidence names. Only where evidence was given is the log asked."""
    if not item.evidence:
        return tally
    matches = match_evidence(item.evidence, calls.all(), until=item.finished_at)
    return grounded_by(tally, matches, item=key, since=item.created_at)


def contradictions(tx: Transaction, row: AgentRow, ids: Collection[str]) -> list[str]:
    """Those of these items that were called done and are contradicted now: each, and by what."""
    todos, calls, open_calls = row.state.todos, _Calls(tx, row), list(kept(tx, row.number).watcher.open.values())
    said: list[str] = []
    for item in todos.items:
        if item.id in ids and item.status is Status.COMPLETED and item.grade == "contradicted":
            key = item_key(todos.plan_id, item.id)
            own = _with_evidence(calls, item, key, work_on(tx, row.number, key, open_calls))
            said.append(contradicted(item.id, item.content, combined(own, [later(tx, row.number, key)])))
    return said


def contradicted(id: str, text: str, work: Tally) -> str:
    """An item or a task that was called done, and what speaks against it."""
    why = against(work) or UNSOUND["contradicted"]
    return f"{named_item(id, text)} was called done, and what was seen since contradicts it: {why}."


def named_item(id: str, text: str) -> str:
    """An item or a task, as the model is reminded of it."""
    return f"{id} {for_prompt(cut(text, 80))}"


def _listed(bad: Iterable[tuple[Claim, str]]) -> str:
    named = [f"{named_item(claim.item.id, claim.item.content)} ({UNSOUND.get(one, one)})" for claim, one in bad]
    more = f"; and {len(named) - 10} more" if len(named) > 10 else ""
    return "; ".join(named[:10]) + more

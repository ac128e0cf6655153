"""Grade completions in the transaction that writes them, and again when a check comes out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, cast

from msgspec.structs import replace

from punchlist.core.apply import Applied
from punchlist.core.checks.outcome import accept_named
from punchlist.core.commands import Problem
from punchlist.core.events import Draft, Event, decode_item, draft_header, with_fields
from punchlist.core.grounding.grades import (
    DOUBTFUL,
    CompletedWork,
    Completion,
    Grade,
    Judgement,
    WorkBefore,
    form_windows,
    judge,
    with_proof,
)
from punchlist.core.grounding.offers import note_work
from punchlist.core.grounding.session import Change, CheckRun, SessionRecord, find_touched, runs_of
from punchlist.core.grounding.tally import Tally, tally_of
from punchlist.core.grounding.tool_call import (
    ToolCall,
    changed_code,
    changes_code,
    hash_path,
    is_task,
    item_key,
    task_key,
    task_of,
)
from punchlist.core.overview import Stint
from punchlist.core.shell.touches import SNAPSHOTS
from punchlist.core.task import TaskStatus
from punchlist.core.todo import ListState, Status, TodoItem, TodoList
from punchlist.settings.environment import find_local_root
from punchlist.settings.project_checks import find_named_checks
from punchlist.store import AgentRow, Transaction
from punchlist.store.runtime import CompletionRow
from punchlist.tasks.grading import calls_since, explain, load_work_before, save_completions
from punchlist.tasks.work import Work
from punchlist.text import cut, for_prompt


class Claim(NamedTuple):
    """An item that a write marks done, and the event of that."""

    item: TodoItem
    draft: Draft


class Graded(NamedTuple):
    """A claim with its window and its grade. `is_resent`: the item was finished before, and keeps its grade."""

    claim: Claim
    done: Completion | None
    grade: Grade | None
    why: str = ""
    is_resent: bool = False

    @property
    def is_doubtful(self) -> bool:
        return self.grade in DOUBTFUL and not self.is_resent


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


def grade_change(tx: Transaction, row: AgentRow, applied: Applied, now: datetime) -> list[Graded]:
    """Return each completion of a change with its grade."""
    claims = find_claims(row.state.todos, applied.events)
    if not claims:
        return []
    plan = applied.state.todos.plan_id
    resent = _find_resent(tx, row, claims)
    fresh = [claim for claim in claims if claim.item.id not in resent]
    completed: list[CompletedWork] = []
    for item, _ in fresh:
        counts = is_check_accepted(item, row.folder)
        completed.append(CompletedWork(item_key(plan, item.id), item.content, item.started_at, item.check, counts))
    return [*resent.values(), *judge_claims(fresh, completed, load_work_before(tx, row.number, completed), now)]


def is_check_accepted(item: TodoItem, project: str) -> bool:
    """True if the check of an item may verify it. The file of the project is read only for a model's check."""
    check = item.check
    return check is not None and (check.by != "model" or accept_named(check, find_named_checks(project)))


def doubt_checks(row: AgentRow, applied: Applied) -> Problem | None:
    """Return the problem to tell the model of checks that it set just now and that verify nothing; None without one."""
    known = {item.check for item in row.state.todos.items}
    named = [item for item in applied.state.todos.items if item.check is not None and item.check not in known]
    bad = [item for item in named if not is_check_accepted(item, row.folder)]
    if not bad:
        return None
    listed = ", ".join(f"{item.id} ({for_prompt(cut(item.check.command, 80))})" for item in bad[:10] if item.check)
    text = f"Kept as a remark, verifies nothing: the check of {listed}. Name a test or build, or one of the project."
    return Problem("check_unknown", text, data={"items": [item.id for item in bad]})


def judge_claims(
    claims: Sequence[Claim], completed: Sequence[CompletedWork], before: WorkBefore, now: datetime
) -> list[Graded]:
    """Return the claims of one write with their grades. All that one write completes share its window."""
    given: list[Graded] = []
    for claim, done in zip(claims, form_windows(completed, before, now), strict=True):
        found = judge(done, before.record)
        why = explain(found) if found.grade in DOUBTFUL else ""
        given.append(Graded(claim, with_proof(done, found), found.grade, why))
    return given


def _find_resent(tx: Transaction, row: AgentRow, claims: Sequence[Claim]) -> dict[str, Graded]:
    """Return the items that are new on the list and that the session finished before, by id: they keep their grade.

    A person's word is about the item of one agent, and goes to no other.
    """
    added = {claim.item.content.strip(): claim for claim in claims if claim.draft.kind == "item.added"}
    found: dict[str, Graded] = {}
    for kept in tx.overviews.finished_items(row.session) if any(added) else ():
        item = kept.kept.item
        claim = added.get(item.content.strip())
        if claim is None or (item.grade == "confirmed" and kept.agent != row.number):
            continue
        del added[item.content.strip()]
        known = tx.completions.find(kept.agent, item_key(kept.plan, item.id))
        done = None if known is None else known.completion
        found[claim.item.id] = Graded(claim, done, cast("Grade | None", item.grade), is_resent=True)
    return found


def save_graded(tx: Transaction, row: AgentRow, applied: Applied, given: Sequence[Graded]) -> Applied:
    """Keep the completions of a change, and add their grades to it."""
    if not given:
        return applied
    for one in given:
        if one.is_resent and one.done is not None:
            key = item_key(applied.state.todos.plan_id, one.claim.item.id)
            tx.completions.move(one.done, agent=row.number, key=key)
    fresh: list[tuple[Completion, Grade]] = [
        (one.done, one.grade) for one in given if one.done is not None and one.grade is not None and not one.is_resent
    ]
    save_completions(tx, row.number, fresh)
    return add_grades(applied, [(one.claim, one.grade) for one in given])


def add_grades(applied: Applied, given: Collection[tuple[Claim, Grade | None]]) -> Applied:
    """Add grades to the items and events of a change, in place: no other code holds them yet."""
    grades = {claim.item.id: grade for claim, grade in given}
    for claim, grade in given:
        draft = claim.draft
        draft.data["item" if draft.kind == "item.added" else "set"]["grade"] = grade
    todos = applied.state.todos
    items = tuple(replace(item, grade=grades[item.id]) if item.id in grades else item for item in todos.items)
    return applied._replace(state=ListState(replace(todos, items=items), applied.state.shown))


def refusal(given: Iterable[Graded]) -> Problem | None:
    """Return the refusal of completions that are failing or unseen; None if there are none."""
    bad = [one for one in given if one.is_doubtful]
    if not bad:
        return None
    text = (
        f"Not accepted as completed: {_list_claims(bad)}. Do the work, or run a check that passes, then send this "
        "again. Nothing was changed."
    )
    return Problem("not_grounded", text, fatal=True, data={"items": [one.claim.item.id for one in bad]})


def doubt(given: Iterable[Graded]) -> Problem | None:
    """Return the problem to tell the model of completions that are failing or unseen; None if there are none."""
    bad = [one for one in given if one.is_doubtful]
    if not bad:
        return None
    data = {"items": [one.claim.item.id for one in bad]}
    return Problem("graded", f"Marked done, but the work seen does not confirm it: {_list_claims(bad)}.", data=data)


def _list_claims(bad: Sequence[Graded]) -> str:
    named = [f"{_quote(one.claim.item.content)} ({one.why})" for one in bad]
    more = f"; and {len(named) - 10} more" if len(named) > 10 else ""
    return "; ".join(named[:10]) + more


# Calls that end: code changes and checks.


def record_call_end(tx: Transaction, row: AgentRow, call: ToolCall, position: int, now: datetime) -> None:
    """Add a call that has ended to the record of the session; grade completions again where it was a check."""
    root = find_local_root(row.folder)
    runs = runs_of(call, row.number, position, now, root)
    if not runs and not call.touches and not changes_code(call, root):
        return
    lineage = (row.number,) if row.parent is None else tx.tool_calls.lineage(row.number)
    if runs:
        tx.expect_change(row)
        tx.completions.expect_open(row.session)
    ended = tx.tool_calls.ended_since(row.session, runs[0].started) if runs else ()
    before = tx.completions.load_record(row.session)
    record = add_call_end(
        before,
        call,
        runs,
        ended,
        position=position,
        lineage=lineage,
        project=root,
        turn=None if _has_open_work(tx, row) else tx.memory.load(row.number).turn,
    )
    if record.last_change.get(row.number) != before.last_change.get(row.number):
        paths = changed_code(call, root, record.gone)
        record = note_work(record, row.number, row.state.todos, paths)
    if record == before:
        return
    tx.completions.save_record(row.session, record, at=now)
    if record.checks != before.checks:
        _save_new_grades(tx, row.session, record, now)


def _has_open_work(tx: Transaction, row: AgentRow) -> bool:
    """True if an item of the agent's list is open, or a task that it works on."""
    if row.state.todos.open_items:
        return True
    tasks = tx.tasks.of_agent(row) if tx.has_tasks else ()
    return any(one.task.status is TaskStatus.IN_PROGRESS for one in tasks)


def add_call_end(
    record: SessionRecord,
    call: ToolCall,
    runs: Sequence[CheckRun],
    ended: Iterable[ToolCall],
    *,
    position: int,
    lineage: tuple[int, ...],
    project: str,
    turn: int | None = None,
) -> SessionRecord:
    """Return the record of a session with a call that has ended. `ended` are the calls that ended since it began.

    `turn` is the position of the prompt before it, None if an item is open.
    """
    # A line that changes code and then checks it has made its change before the check.
    is_checked = call.check is not None and call.check.checks_changes and call.started is not None
    touches = find_touched(call, project)
    is_before = is_checked or any(path == SNAPSHOTS for _, path in touches)
    at = call.started.order if is_before and call.started is not None else position
    is_known = not (changes_code(call, project) and not call.files)
    record = record.add_change(Change(touches, at, lineage, is_known, turn))
    others = [other for other in ended if not is_checked or other.started != call.started]
    scratch = {*record.gone, *(hash_path(one.path) for one in record.scratch)}
    changes = sum(changes_code(other, project, scratch) for other in others)
    for run in runs:
        if run.named or not any(map(record.is_written, run.runs)):
            record = record.add_run(replace(run, runs=()), lineage, changes_since=changes)
    return record


def _save_new_grades(tx: Transaction, session: str, record: SessionRecord, now: datetime) -> None:
    """Judge the completions again that a check may change, and write those whose grade is another one now."""
    for name, rows in tx.completions.open_to_checks(session).items():
        judged = [(row, judge(row.completion, record)) for row in rows]
        news: list[tuple[Completion, Grade]] = [
            (with_proof(row.completion, found), found.grade) for row, found in judged if found.grade != row.grade
        ]
        tx.completions.save(news)
        changed: dict[str, Grade] = {done.key: grade for done, grade in news}
        agent = tx.agent(session, name) if changed else None
        if agent is None:
            continue
        _write_items(tx, agent, {key: grade for key, grade in changed.items() if not is_task(key)}, now)
        for key in filter(is_task, changed):
            _write_task(tx, agent, key, changed[key], now)


def _write_items(tx: Transaction, row: AgentRow, grades: dict[str, Grade], now: datetime) -> None:
    """Write grades of items: on the present list, and of items that are on none any more."""
    before, drafts = row.state.todos, list[Draft]()
    present = {item_key(before.plan_id, item.id): item for item in before.items if _is_graded(item)}
    changed = {present[key].id: grade for key, grade in grades.items() if key in present}
    gone = [_draft_gone(tx, row.number, key, grade) for key, grade in grades.items() if key not in present]
    if changed:
        items = tuple(replace(item, grade=changed.get(item.id, item.grade)) for item in before.items)
        todos = replace(before, items=items, revision=before.revision + 1)
        drafts = [
            Draft("item.changed", {"id": item.id, "content": item.content, "set": {"grade": item.grade}})
            for item in items
            if item.id in changed
        ]
        drafts.append(draft_header("list.graded", before, todos))
        for draft in drafts:
            draft.data.setdefault("revision", todos.revision)
        tx.save_list(row, ListState(todos, row.state.shown), unseen=row.unseen, at=now)
    drafts += [draft for draft in gone if draft is not None]
    if drafts:
        tx.add_events(row, drafts, by="punchlist", at=now)


def _draft_gone(tx: Transaction, agent: int, key: str, grade: Grade) -> Draft | None:
    """Return the event that grades an item which left its list after it was completed."""
    plan, _, item_id = key.partition("/")
    kept = tx.overviews.find_item(agent, plan, item_id)
    if kept is None or not _is_graded(kept.item):
        return None
    return Draft("item.graded", {"plan": plan, "id": item_id, "content": kept.item.content, "set": {"grade": grade}})


def _is_graded(item: TodoItem) -> bool:
    """True if the grade of an item may change: it is completed, and not by a person's word."""
    return item.status is Status.COMPLETED and item.grade not in (None, "confirmed")


def _write_task(tx: Transaction, agent: AgentRow, key: str, grade: Grade, now: datetime) -> None:
    name, number = task_of(key)
    work = Work(tx, name, project=agent.project, now=now, by="punchlist")
    row = work.find(number)
    if row is not None and row.task.status is TaskStatus.COMPLETED and row.task.grade not in (None, "confirmed"):
        work.write(row, replace(row.task, grade=grade), "task.graded", whose=row.agent)


# The calls behind an item.


def find_calls(
    tx: Transaction, agent: int, done: Completion | None, stints: Sequence[Stint]
) -> list[tuple[int, ToolCall]]:
    """Return the calls in the window of a completion, or while an item was in progress; each with its agent."""
    if done is not None and done.begun is None:
        calls = tx.tool_calls.in_window(agent, done.since, done.position)
    elif done is not None and done.begun is not None:
        calls = calls_since(tx, agent, done.begun, done.position)
    elif stints:
        calls = calls_since(tx, agent, stints[0].start, tx.last_seq())
    else:
        return []
    return [
        (maker, call) for maker, call in calls if (_is_during(call, stints) if done is None else done.includes(call))
    ]


def _is_during(call: ToolCall, stints: Sequence[Stint]) -> bool:
    at = None if call.started is None else call.started.at
    return at is not None and any(start <= at and (end is None or at <= end) for start, end in stints)


def tally_of_family(agent: int | None, calls: Sequence[tuple[int, ToolCall]]) -> Tally:
    """Count calls of an agent and its subagents."""
    return tally_of((call for _, call in calls), child_calls=sum(maker != agent for maker, _ in calls))


# Completions that fail now, for the model.


def describe_failing(tx: Transaction, row: AgentRow, ids: Collection[str]) -> list[str]:
    """Describe each of these items of the present list that was called done and fails now, and by which check."""
    todos, record = row.state.todos, tx.completions.load_record(row.session)
    failing = [item for item in todos.items if item.id in ids and item.grade == "failing"]
    return [
        _failing_sentence(
            tx.completions.find(row.number, item_key(todos.plan_id, item.id)), record, _quote(item.content)
        )
        for item in failing
    ]


def describe_failing_tasks(tx: Transaction, agent: AgentRow, found: Iterable[Event], now: datetime) -> list[str]:
    """Return a sentence for each task of these events that was called done and fails now."""
    record, said = tx.completions.load_record(agent.session), list[str]()
    for name, number in dict.fromkeys((event.data["list"], event.data["id"]) for event in found):
        row = Work(tx, name, project=agent.project, now=now).find(number)
        if row is None or row.task.status is not TaskStatus.COMPLETED or row.task.grade != "failing":
            continue
        known = tx.completions.find(agent.number, task_key(name, number))
        said.append(_failing_sentence(known, record, f"#{number} {_quote(row.task.subject)}"))
    return said


def _quote(text: str) -> str:
    return f"'{for_prompt(cut(text, 80))}'"


def _failing_sentence(known: CompletionRow | None, record: SessionRecord, name: str) -> str:
    found = Judgement("failing") if known is None else judge(known.completion, record)
    why = explain(found) if found.grade in DOUBTFUL else "a check failed"
    return f"{name} is marked done, but {why}."

"""The page of a proposed plan: its text, what changed since the revision before, and the decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from typing import Literal

from msgspec import Struct

from punchlist.board import Board
from punchlist.core.approval import Plan
from punchlist.core.overview import PersonWait
from punchlist.errors import PlanMissing
from punchlist.surfaces.headlines import count_words


class DiffLine(Struct, frozen=True):
    """A line of a plan; `sign` says if it is new, gone or as before."""

    sign: Literal["+", "-", " "]
    text: str


class RevisionView(Struct, frozen=True):
    revision: int
    state: str
    title: str
    at: datetime | None
    by: str
    reason: str


class PlanView(Struct, frozen=True, kw_only=True):
    """A revision of a plan. `wait` is None if there is nothing to decide."""

    session: str
    project: str
    agent: str
    at: datetime
    plan: Plan
    wait: PersonWait | None
    steps: int
    changes: str
    lines: Sequence[DiffLine]
    has_diff: bool
    revisions: Sequence[RevisionView]


def load_plan(board: Board, session: str, agent: str, revision: int | None = None) -> PlanView:
    """Return a revision of an agent's plan, by default the latest; raise `PlanMissing` if there is none."""
    plans = [plan for plan in board.handle(agent, session=session).plans if plan.text]
    chosen = next((plan for plan in reversed(plans) if revision in (None, plan.revision)), None)
    if chosen is None:
        raise PlanMissing
    before = next((plan for plan in reversed(plans) if plan.revision < chosen.revision), None)
    now = board.now()
    waits = board.waits(session=session)
    wait = next((one for one in waits if (one.kind, one.agent, one.id) == ("plan", agent, str(chosen.revision))), None)
    lines = list(_compare("" if before is None else before.text, chosen.text))
    return PlanView(
        session=session,
        project=board.store.read(lambda tx: tx.session_project(session)) or "",
        agent=agent,
        at=now,
        plan=chosen,
        wait=wait,
        steps=len(chosen.todos.items),
        changes="" if before is None else _count_changes(before, chosen),
        lines=lines if before is not None else [DiffLine(" ", line.text) for line in lines],
        has_diff=before is not None,
        revisions=[_view_revision(plan, now) for plan in plans],
    )


def _compare(old: str, new: str) -> Iterator[DiffLine]:
    """Yield the lines of the new text, with those of the old one that are gone in their place."""
    before, after = old.splitlines(), new.splitlines()
    for kind, begin, end, start, stop in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from (DiffLine(" ", line) for line in after[start:stop])
        else:
            yield from (DiffLine("-", line) for line in before[begin:end])
            yield from (DiffLine("+", line) for line in after[start:stop])


def _count_changes(before: Plan, after: Plan) -> str:
    old = {item.content for item in before.todos.items}
    new = {item.content for item in after.todos.items}
    return f"+{len(new - old)} −{len(old - new)} since r{before.revision}"


def _view_revision(plan: Plan, now: datetime) -> RevisionView:
    return RevisionView(
        plan.revision,
        "expired" if plan.expired(now) else plan.state.value,
        plan.title,
        plan.decided_at or plan.proposed_at or plan.created_at,
        plan.decided_by or "",
        plan.reason or "",
    )


def describe_steps(view: PlanView) -> str:
    """Return the number of steps, and how many came and went: `6 steps (+2 −1 since r1)`."""
    return _step_words(view.steps, view.changes)


def describe_plan(board: Board, wait: PersonWait) -> str:
    """Return the same of a plan that waits."""
    plans = [plan for plan in board.handle(wait.agent, session=wait.session).plans if plan.text]
    chosen = next((plan for plan in plans if str(plan.revision) == wait.id), None)
    if chosen is None:
        return ""
    before = next((plan for plan in reversed(plans) if plan.revision < chosen.revision), None)
    return _step_words(len(chosen.todos.items), "" if before is None else _count_changes(before, chosen))


def _step_words(steps: int, changes: str) -> str:
    said = count_words(steps, "step") if steps else ""
    return f"{said} ({changes})" if said and changes else said

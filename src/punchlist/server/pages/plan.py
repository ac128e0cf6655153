"""The page of a proposed plan: its text, what changed since the revision before, and the decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from difflib import SequenceMatcher

from msgspec import Struct

from punchlist.board import Board
from punchlist.core.approval import Plan
from punchlist.core.overview import PersonWait
from punchlist.errors import PlanMissing
from punchlist.surfaces.headlines import count_words


class PlanView(Struct, frozen=True, kw_only=True):
    """A revision of a plan, and all revisions. `wait` is None if there is nothing to decide."""

    session: str
    project: str
    agent: str
    at: datetime
    plan: Plan
    wait: PersonWait | None
    steps: str
    lines: Sequence[tuple[str, str]]
    """`+`, `-` or a space, if a line is new, gone or as before, and its text."""
    has_diff: bool
    revisions: Sequence[Plan]


def load_plan(board: Board, session: str, agent: str, revision: int | None = None) -> PlanView:
    """Return a revision of an agent's plan, by default the latest; raise `PlanMissing` if there is none."""
    plans = _list_plans(board, session, agent)
    chosen = next((plan for plan in reversed(plans) if revision in (None, plan.revision)), None)
    if chosen is None:
        raise PlanMissing
    before = _find_before(plans, chosen)
    own = ("plan", agent, str(chosen.revision))
    return PlanView(
        session=session,
        project=board.store.read(lambda tx: tx.session_project(session)) or "",
        agent=agent,
        at=board.now(),
        plan=chosen,
        wait=next((one for one in board.waits(session=session) if (one.kind, one.agent, one.id) == own), None),
        steps=_describe_steps(chosen, before),
        lines=list(_compare(chosen if before is None else before, chosen)),
        has_diff=before is not None,
        revisions=plans,
    )


def describe_plan(board: Board, wait: PersonWait) -> str:
    """Return the number of steps of a plan that waits, and how many came and went: `6 steps (+2 −1 since r1)`."""
    plans = _list_plans(board, wait.session, wait.agent)
    chosen = next((plan for plan in plans if str(plan.revision) == wait.id), None)
    return "" if chosen is None else _describe_steps(chosen, _find_before(plans, chosen))


def _list_plans(board: Board, session: str, agent: str) -> list[Plan]:
    return [plan for plan in board.agent(agent, session=session).plans if plan.text]


def _find_before(plans: Sequence[Plan], chosen: Plan) -> Plan | None:
    return next((plan for plan in reversed(plans) if plan.revision < chosen.revision), None)


def _describe_steps(plan: Plan, before: Plan | None) -> str:
    steps = {item.content for item in plan.todos.items}
    if not steps:
        return ""
    said = count_words(len(plan.todos.items), "step")
    if before is None:
        return said
    old = {item.content for item in before.todos.items}
    return f"{said} (+{len(steps - old)} −{len(old - steps)} since r{before.revision})"


def _compare(before: Plan, after: Plan) -> Iterator[tuple[str, str]]:
    """Yield the lines of the later plan, with those of the earlier one that are gone in their place."""
    old, new = before.text.splitlines(), after.text.splitlines()
    for kind, begin, end, start, stop in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from ((" ", line) for line in new[start:stop])
        else:
            yield from (("-", line) for line in old[begin:end])
            yield from (("+", line) for line in new[start:stop])

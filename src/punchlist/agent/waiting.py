"""What waits on a person, over all agents of a board."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from punchlist.agent.handle import check_name
from punchlist.agent.plan_calls import resolve
from punchlist.dialects.base import Invalid
from punchlist.dialects.nexo_plans import resolution
from punchlist.errors import PlanMissing, PlanRefused
from punchlist.store import Store, Transaction
from punchlist.store.waiting import PlanRow, QuestionRow

_UNKNOWN = datetime.min.replace(tzinfo=UTC)


def waiting_plans(store: Store, now: datetime, project: str | None) -> Sequence[PlanRow]:
    rows = store.read(lambda tx: tx.plans.proposed())
    found = [row for row in rows if row.plan.waits(now) and project in (None, row.project)]
    return sorted(found, key=lambda row: row.plan.proposed_at or _UNKNOWN)


def open_questions(store: Store, project: str | None) -> Sequence[QuestionRow]:
    """Those whose item is still open on its list."""

    def look(tx: Transaction) -> list[QuestionRow]:
        rows = [row for row in tx.questions.open() if project in (None, row.project)]
        return [row for row in rows if _is_owed(tx, row)]

    return sorted(store.read(look), key=lambda row: row.question.asked_at or _UNKNOWN)


def _is_owed(tx: Transaction, row: QuestionRow) -> bool:
    agent = tx.agent(row.session, row.agent)
    if agent is None or agent.state.todos.plan_id != row.question.plan_id:
        return False
    item = agent.state.todos.find(row.question.item)
    return item is not None and item.is_open


def resolve_message(store: Store, message: str, *, by: str, now: Callable[[], datetime]) -> bool:
    check_name("author", by)
    call = resolution(message)
    if call is None:
        return False
    if isinstance(call, Invalid):
        raise PlanRefused(problem="A rejection needs a reason; write `reason=…` behind the id of the plan.")
    if not store.transact(lambda tx: resolve(tx, call, now=now(), by=by)):
        raise PlanMissing
    return True

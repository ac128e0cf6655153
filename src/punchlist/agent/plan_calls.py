"""The model's calls of plan tools, and the operator's."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, assert_never

from punchlist.agent.plan_changes import enter, entered_at, new_plan_id, save
from punchlist.core.approval import approve, propose, reject
from punchlist.core.events import Draft
from punchlist.dialects.base import Invalid, Reply, reply_invalid
from punchlist.dialects.plan_tools import Entered, EnterPlan, Exit, PlanSettings, ResolvePlan, SubmitPlan
from punchlist.errors import PlanRefused
from punchlist.store import AgentRow, Transaction


def answering(
    planning: PlanSettings, name: str, args: Any, *, by: str
) -> Callable[[Transaction, AgentRow, datetime], tuple[Reply, bool]]:
    """What answers one call. The id of a plan is made here, so that a second run of the work makes the same one."""
    call = planning.wire.parse(name, args)
    plan_id = new_plan_id()

    def reply(tx: Transaction, row: AgentRow, now: datetime) -> Reply:
        match call:
            case Invalid():
                return reply_invalid(call)
            case EnterPlan():
                return _enter(planning, tx, row, call, now, by)
            case SubmitPlan():
                return _submit(planning, tx, row, call, now, by, plan_id)
            case ResolvePlan():
                return _resolve(planning, tx, call, now, by)
            case _:
                assert_never(call)

    def answer(tx: Transaction, row: AgentRow, now: datetime) -> tuple[Reply, bool]:
        said = reply(tx, row, now)
        if said.is_error:
            problem = said.problems[0]
            refused = Draft("approval.refused", {"code": problem.code, "problem": problem.text[:500]})
            tx.add_events(row, [refused], by=by, at=now)
        return said, False

    return answer


def _enter(planning: PlanSettings, tx: Transaction, row: AgentRow, call: EnterPlan, now: datetime, by: str) -> Reply:
    interactive = row.parent is None if planning.interactive is None else planning.interactive
    if not interactive:
        return planning.wire.unavailable()
    already = row.mode == "plan"
    if already:
        since = entered_at(tx, row, now)
    else:
        enter(tx, row, by=by, now=now, reason=call.reason)
        since = now
    return planning.wire.entered(Entered(since, already, call.reason))


def _submit(
    planning: PlanSettings, tx: Transaction, row: AgentRow, call: SubmitPlan, now: datetime, by: str, plan_id: str
) -> Reply:
    if row.mode != "plan":
        return planning.wire.outside()
    since = entered_at(tx, row, now)
    required = planning.require_approval
    try:
        decision = propose(
            tx.plans.current(row.number),
            call.text,
            id=plan_id,
            by=by,
            now=now,
            lasts=planning.timeout if required else None,
            blank=planning.wire.takes_blank,
            entered_at=since,
        )
    except PlanRefused as error:
        return reply_invalid(Invalid(str(error), code=error.code))
    save(tx, row, decision, by=by, now=now)
    plan = decision.plan
    if not required:
        decision = approve(plan, by=by, now=now)
        save(tx, row, decision, by=by, now=now)
        plan = decision.plan
    return planning.wire.exited(Exit(plan, since, now, required))


def _resolve(planning: PlanSettings, tx: Transaction, call: ResolvePlan, now: datetime, by: str) -> Reply:
    return planning.wire.resolved(call.id, done=resolve(tx, call, now=now, by=by))


def resolve(tx: Transaction, call: ResolvePlan, *, now: datetime, by: str) -> bool:
    """Decides about the plan of that id, of whichever agent; False if none such waits."""
    found = tx.plans.find(call.id)
    row = None if found is None else tx.agent(found.session, found.agent)
    if found is None or row is None or not found.plan.waits(now):
        return False
    if call.rejected is None:
        decision = approve(found.plan, by=by, now=now)
    else:
        decision = reject(found.plan, call.rejected, by=by, now=now)
    save(tx, row, decision, by=by, now=now)
    return True

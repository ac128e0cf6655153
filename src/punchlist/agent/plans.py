"""Approval plans: proposed by the agent, decided by a person, kept. A plan is never the todo list."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING

from punchlist.agent.handle import Handle, check_name
from punchlist.dialects.base import Reply
from punchlist.errors import InvalidInput, PlanMissing
from punchlist.store import AgentRow, Transaction

if TYPE_CHECKING:
    from punchlist.core.approval import Decision, Plan

# What is imported in functions here is not for those who only keep a list.


class Plans(Handle):
    """The agent's plan, and the decision about it."""

    @property
    def plan(self) -> Plan | None:
        """The latest revision of the plan, whatever became of it; None if there was none."""
        row = self._row()
        return None if row is None else self.board.store.read(lambda tx: tx.plans.current(row.number))

    @property
    def plans(self) -> tuple[Plan, ...]:
        """All revisions, the oldest first."""
        row = self._row()
        return () if row is None else tuple(self.board.store.read(lambda tx: tx.plans.history(row.number)))

    def propose_plan(self, text: str, *, by: str | None = None, timeout: float | None = None) -> Plan:
        """Puts a plan before a person. An earlier one that is still open is superseded; the same text stays as it is.

        After `timeout` seconds it can no longer be approved. Raises `PlanRefused` for an empty or too long text.
        """
        from punchlist.agent.plan_changes import entered_at, new_plan_id
        from punchlist.core.approval import propose

        author, plan_id = by or self.name, new_plan_id()
        check_name("author", author)
        lasts = _lasting(timeout)

        def decide(tx: Transaction, row: AgentRow, now: datetime) -> Decision:
            since = entered_at(tx, row, now) if row.mode == "plan" else None
            current = tx.plans.current(row.number)
            return propose(current, text, id=plan_id, by=author, now=now, lasts=lasts, entered_at=since)

        return self._decide(decide, by=author)

    def approve_plan(self, revision: int | None = None, *, by: str = "user", todos: bool = False) -> Plan:
        """Agrees to the plan and ends plan mode. With `todos` its steps become the todo list, in the same step.

        `revision` is the one that was looked at: if the plan is at another by now, nothing is approved. Raises
        `PlanMissing`, `PlanRevisionConflict`, `PlanDecided`, `PlanExpired` or `PlanWithoutSteps`.
        """
        from punchlist.core.approval import approve

        def decide(tx: Transaction, row: AgentRow, now: datetime) -> Decision:
            return approve(tx.plans.current(row.number), by=by, now=now, revision=revision)

        plan = self._decide(decide, by=by, todos=todos)
        if todos:
            self._changed()
        return plan

    def reject_plan(self, reason: str, *, by: str = "user", revision: int | None = None) -> Plan:
        """Refuses the plan and says why; plan mode stays on. `revision` as for `approve_plan`."""
        from punchlist.core.approval import reject

        def decide(tx: Transaction, row: AgentRow, now: datetime) -> Decision:
            return reject(tx.plans.current(row.number), reason, by=by, now=now, revision=revision)

        return self._decide(decide, by=by)

    def _decide(
        self, decide: Callable[[Transaction, AgentRow, datetime], Decision], *, by: str, todos: bool = False
    ) -> Plan:
        from punchlist.agent.plan_changes import save

        check_name("author", by)

        def work(tx: Transaction) -> Plan:
            now = self.board.now()
            row = self._joined(tx, now)
            decision = decide(tx, row, now)
            save(tx, row, decision, by=by, now=now, todos=todos)
            return decision.plan

        return self.board.store.transact(work)

    # Waiting for the decision.

    def wait_for_plan(self, id: str | None = None, *, timeout: float | None = None) -> Plan:
        """The plan once it is decided, superseded or too late; or as it stands after `timeout` seconds.

        Without an `id` the latest. It blocks this thread, and holds no lock: others decide meanwhile, in whichever
        process. Raises `PlanMissing`.
        """
        ends = None if timeout is None else monotonic() + timeout
        while True:
            seen = self.board.store.last_seq()
            plan = self._plan_of(id)
            left = seconds_left(plan, self.board.now(), None if ends is None else ends - monotonic())
            if left is not None and left <= 0:
                return plan
            self.board.store.wait(seen, left)

    def _plan_of(self, id: str | None) -> Plan:
        found = self.plan if id is None else next((plan for plan in self.plans if plan.id == id), None)
        if found is None:
            raise PlanMissing
        return found

    def plan_reply(self, plan: Plan) -> Reply:
        """How a plan stands, as the answer to the call that submitted it, in the words of this handle's dialect."""
        from punchlist.dialects.plan_tools import Exit, outcome

        now = self.board.now()
        if self._planning is None:
            return outcome(plan, now)
        since = plan.entered_at or plan.proposed_at or now
        return self._planning.wire.exited(Exit(plan, since, now, plan.expires_at is not None))


def _lasting(timeout: float | None) -> timedelta | None:
    if timeout is None:
        return None
    if not 0 < timeout < 10**9:
        raise InvalidInput(problem="`timeout` is a number of seconds above 0 and below a thousand million.")
    return timedelta(seconds=timeout)


def seconds_left(plan: Plan, now: datetime, timeout: float | None) -> float | None:
    """Seconds to wait for news of a plan; 0 or less if there is nothing to wait for, None for as long as it takes."""
    if not plan.is_open or plan.expired(now):
        return 0.0
    until = None if plan.expires_at is None else (plan.expires_at - now).total_seconds()
    return min((seconds for seconds in (until, timeout) if seconds is not None), default=None)

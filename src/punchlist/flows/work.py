"""What may be done to flows within one transaction: each change is one revision and one event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack, get_args
from uuid import uuid4

from punchlist.core import flow as rules
from punchlist.core.flow import FIRST_STEP, Flow, FlowStep, StepRuntime, StepStatus, is_waiting_for, owner_key
from punchlist.errors import InvalidInput
from punchlist.flows.change import FlowChange
from punchlist.flows.values import EMPTY, NewFlow, id_of, state_of, text_of, wait_of, word_of
from punchlist.store.flows import FlowRow
from punchlist.tasks.fields import plain


class FlowWork(FlowChange):
    """Whoever has a transaction open, a dialect say, uses this as it is."""

    def create_managed(self, controller_id: str, goal: str, **fields: Unpack[NewFlow]) -> Flow:
        """A flow that does not run yet. With an `id` that is there already, that flow is the answer."""
        flow = self._described(controller_id, goal, fields)
        known = self.flows.find(flow.id)
        return self._added(flow, fields.get("after", ())).flow if known is None else _same(known.flow, flow)

    def _described(self, controller_id: str, goal: str, fields: NewFlow) -> Flow:
        agent, clean = self.agent, self.cleaner
        owner, origin, wanted = fields.get("owner_session_key"), fields.get("requester_origin"), fields.get("id")
        if owner is None:
            owner = "" if agent is None else owner_key(agent.name, agent.session)
        if origin is None:
            origin = "" if agent is None else agent.session
        return Flow(
            id=str(uuid4()) if wanted is None else id_of(wanted),
            controller_id=text_of("controller_id", controller_id, clean),
            goal=text_of("goal", goal, clean),
            owner_session_key=text_of("owner_session_key", owner, clean, blank=True),
            requester_origin=text_of("requester_origin", origin, clean, blank=True),
            current_step=text_of("current_step", fields.get("current_step", FIRST_STEP), clean),
            state=state_of(fields.get("state", EMPTY)),
            created_at=self.now,
            updated_at=self.now,
        )

    def _added(self, flow: Flow, after: Iterable[str]) -> FlowRow:
        agent = self.agent
        if agent is not None and flow.owner_session_key != owner_key(agent.name, agent.session):
            agent = None  # made for somebody else
        row = self.flows.add(
            flow,
            agent=None if agent is None else agent.number,
            name=None if agent is None else agent.name,
            session=None if agent is None else agent.session,
            by=self.by,
        )
        before = [self.row(each) for each in dict.fromkeys(map(id_of, after))]
        for each in before:
            self.flows.link(row, each)
        told: dict[str, Any] = {"controller_id": flow.controller_id, "current_step": flow.current_step}
        if before:
            told["after"] = [each.flow.id for each in before]
            row = self.row(flow.id)
        self.tell(row, "created", **told)
        return row

    def create_mirrored(self, controller_id: str, goal: str, **fields: Unpack[NewFlow]) -> Flow:
        """A flow whose work is under way elsewhere: created, and running at once."""
        flow = self.create_managed(controller_id, goal, **fields)
        return flow if flow.revision else self.start_running(flow.id)

    def start_running(self, id: str, *, revision: int | None = None) -> Flow:
        row = self.row(id, revision)
        return self.write(row, rules.start(row.flow, self.now), "started").flow

    def set_waiting(self, id: str, wait: Any, *, revision: int | None = None) -> Flow:
        """`wait` is a `WaitCondition` or any JSON; what says no condition is left to whoever wrote it."""
        row, kept = self.row(id, revision), wait_of(wait)
        return self.write(row, rules.wait(row.flow, kept, self.now), "waiting", wait=kept).flow

    def resume(self, id: str, patch: tuple[Any] | None = None, *, revision: int | None = None) -> Flow:
        row = self.row(id, revision, settled=False)
        kept = _kept("patch", patch)
        after = rules.resume(row.flow, self.now, kept)
        return self.write(row, after, "resumed", state_patch=None if kept is None else kept[0]).flow

    def try_resume_external(self, id: str, topic: str, correlation_id: str, payload: Any = None) -> Flow | None:
        """Lets a flow go on if it waits for just this event; the payload is in its state as `resume_event`."""
        row = self.find(id_of(id))
        if row is None or not is_waiting_for(row.flow, topic, correlation_id):
            return None
        return self.resume(id, None if payload is None else ({"resume_event": payload},))

    def finish(self, id: str, patch: tuple[Any] | None = None, *, revision: int | None = None) -> Flow:
        row, kept = self.row(id, revision), _kept("final_state", patch)
        after = rules.finish(row.flow, self.now, kept)
        return self.write(row, after, "finished", final_state=None if kept is None else kept[0]).flow

    def fail(self, id: str, reason: str, *, revision: int | None = None) -> Flow:
        row, said = self.row(id, revision), text_of("reason", reason, self.cleaner)
        return self.write(row, rules.fail(row.flow, said, self.now), "failed", reason=said).flow

    def request_cancel(self, id: str, *, revision: int | None = None) -> Flow:
        row = self.row(id, revision)
        return self.write(row, rules.request_cancel(row.flow, self.now), "cancel_requested").flow

    def cancel(self, id: str, *, revision: int | None = None) -> Flow:
        row = self.row(id, revision, settled=False)
        return self.write(row, rules.cancel(row.flow, self.now), "cancelled").flow

    def update_state(
        self, id: str, patch: Any = EMPTY, *, next_step: str | None = None, revision: int | None = None
    ) -> Flow:
        row, kept = self.row(id, revision), state_of(patch)
        step = None if next_step is None else text_of("next_step", next_step, self.cleaner)
        after = rules.update(row.flow, self.now, kept, step)
        return self.write(row, after, "state_updated", patch=kept, next_step=step).flow

    # Who comes before whom.

    def come_after(self, id: str, before: str) -> Flow:
        """Makes a flow wait for another one before it begins; raises `FlowCycle`."""
        row, other = self.row(id), self.row(before)
        rules.check_not_started(row.flow)
        return self._relinked(row, other, "linked") if self.flows.link(row, other) else row.flow

    def come_freely(self, id: str, before: str) -> Flow:
        """Takes that back."""
        row, other = self.row(id), self.row(before)
        rules.check_not_started(row.flow)
        return self._relinked(row, other, "unlinked") if self.flows.unlink(row, other) else row.flow

    def _relinked(self, row: FlowRow, other: FlowRow, kind: str) -> Flow:
        self.tell(row, kind, before=other.flow.id)
        return self.row(row.flow.id).flow

    # Steps.

    def record_step_observation(
        self,
        id: str,
        run_id: str,
        task: str,
        status: StepStatus,
        *,
        child_session_key: str | None = None,
        result: Any = None,
        runtime: StepRuntime = "mirrored",
    ) -> FlowStep:
        """What was seen of one run, in place of what was seen of it before. A session that was known stays known."""
        row = self.row(id)
        run = text_of("run_id", run_id, self.cleaner)
        known = self.flows.step(row, run)
        step = FlowStep(
            id=str(uuid4()) if known is None else known.id,
            flow_id=row.flow.id,
            run_id=run,
            task=text_of("task", task, self.cleaner),
            status=word_of("status of a step", status, get_args(StepStatus)),
            created_at=self.now if known is None else known.created_at,
            updated_at=self.now,
            runtime=word_of("runtime", runtime, get_args(StepRuntime)) if known is None else known.runtime,
            child_session_key=_session(child_session_key, known, self),
            result=plain("result", result),
        )
        self.flows.save_step(row, step)
        self.tell(row, "step_observed", run_id=run, status=step.status, runtime=step.runtime)
        return step


def _session(given: str | None, known: FlowStep | None, work: FlowChange) -> str | None:
    if given is not None:
        return text_of("child_session_key", given, work.cleaner)
    return None if known is None else known.child_session_key


def _kept(what: str, patch: tuple[Any] | None) -> tuple[Any] | None:
    return None if patch is None else (plain(what, patch[0]),)


def _same(known: Flow, asked: Flow) -> Flow:
    """Asked for again: the flow that is there, if it is that one."""
    told = [(flow.controller_id, flow.goal, flow.owner_session_key) for flow in (known, asked)]
    if told[0] != told[1]:
        raise InvalidInput(problem=f"The id `{known.id}` belongs to another flow; use a new one.")
    return known

"""Whatever is done to flows in whatever order: the board agrees with a model that is a few dictionaries."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from punchlist.core.flow import LEGAL, TERMINAL, FlowStatus, format_rfc3339
from punchlist.errors import FlowCycle, FlowError
from tests.flows.boards import Desk
from tests.sizes import size

S = FlowStatus
EVENT = {"kind": "external_event", "topic": "t", "correlation_id": "c"}


@dataclass
class Known:
    """What the model knows of a flow."""

    status: FlowStatus = S.CREATED
    asked: bool = False
    revision: int = 0
    state: Any = field(default_factory=dict[str, Any])
    wait: Any = None
    due: datetime | None = None
    after: set[str] = field(default_factory=set[str])


class Flows(RuleBasedStateMachine):
    """Each rule tries a deed on the board; the model says whether it had to be refused."""

    made = Bundle("made")

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk()
        self.known: dict[str, Known] = {}

    def teardown(self) -> None:
        self.desk.board.close()

    def settle(self, flow: str) -> Known:
        """A timer that is over is over for whoever looks."""
        known, now = self.known[flow], self.desk.board.now()
        if known.status is S.WAITING and not known.asked and known.due is not None and known.due <= now:
            self.move(known, S.RUNNING, wait=None)
        return known

    def move(self, known: Known, to: FlowStatus, **values: Any) -> None:
        known.status = to
        known.revision += 1
        for name, value in values.items():
            setattr(known, name, value)

    def held(self, known: Known) -> bool:
        return any(self.known[each].status is not S.FINISHED for each in known.after)

    def may(self, known: Known, to: FlowStatus) -> bool:
        if known.status in TERMINAL or (known.asked and to is not S.CANCELLED) or to not in LEGAL[known.status]:
            return False
        return not (to is S.RUNNING and self.held(known))

    def tried(self, deed: Any, *arguments: Any) -> bool:
        try:
            deed(*arguments)
        except FlowError:
            return False
        return True

    @rule(target=made)
    def create(self) -> str:
        flow = self.desk.created()
        self.known[flow.id] = Known()
        return flow.id

    @rule(flow=made)
    def start(self, flow: str) -> None:
        known = self.settle(flow)
        assert self.tried(self.desk.flows.start_running, flow) is self.may(known, S.RUNNING)
        if self.may(known, S.RUNNING):
            self.move(known, S.RUNNING)

    @rule(flow=made, seconds=st.none() | st.integers(-5, 20))
    def wait(self, flow: str, seconds: int | None) -> None:
        known = self.settle(flow)
        due = None if seconds is None else self.desk.board.now() + timedelta(seconds=seconds)
        wait = EVENT if due is None else {"kind": "timer", "at": format_rfc3339(due.astimezone(UTC), utc="Z")}
        assert self.tried(self.desk.flows.set_waiting, flow, wait) is self.may(known, S.WAITING)
        if self.may(known, S.WAITING):
            self.move(known, S.WAITING, wait=wait, due=due)

    @rule(flow=made, patch=st.none() | st.dictionaries(st.sampled_from("ab"), st.integers(0, 3)))
    def resume(self, flow: str, patch: dict[str, int] | None) -> None:
        known = self.known[flow]
        assert self.tried(self.desk.flows.resume, flow, patch) is self.may(known, S.RUNNING)
        if self.may(known, S.RUNNING):
            self.move(known, S.RUNNING, wait=None, state={**known.state, **(patch or {})})

    @rule(flow=made)
    def deliver(self, flow: str) -> None:
        known = self.settle(flow)
        awaited = known.status is S.WAITING and known.wait == EVENT
        if awaited and known.asked:
            assert not self.tried(self.desk.flows.try_resume_external, flow, "t", "c")
            return
        assert (self.desk.flows.try_resume_external(flow, "t", "c", 7) is not None) is awaited
        if awaited:
            self.move(known, S.RUNNING, wait=None, state={**known.state, "resume_event": 7})

    @rule(flow=made, patch=st.dictionaries(st.sampled_from("ab"), st.integers(0, 3)))
    def update(self, flow: str, patch: dict[str, int]) -> None:
        known = self.settle(flow)
        may = known.status not in TERMINAL and not known.asked
        assert self.tried(self.desk.flows.update_state, flow, patch) is may
        if may:
            self.move(known, known.status, state={**known.state, **patch})

    @rule(flow=made, end=st.sampled_from(["finish", "fail", "cancel"]))
    def end(self, flow: str, end: str) -> None:
        known = self.known[flow] if end == "cancel" else self.settle(flow)
        to = {"finish": S.FINISHED, "fail": S.FAILED, "cancel": S.CANCELLED}[end]
        told = ("no disk",) if end == "fail" else ()
        may, now = self.may(known, to), self.desk.board.now()
        assert self.tried(getattr(self.desk.flows, end), flow, *told) is may
        if may:
            failure = {"failure": {"reason": "no disk", "at": format_rfc3339(now)}} if end == "fail" else {}
            self.move(known, to, state={**known.state, **failure})

    @rule(flow=made)
    def ask(self, flow: str) -> None:
        known = self.settle(flow)
        self.desk.flows.request_cancel(flow)
        if known.status not in TERMINAL and not known.asked:
            self.move(known, known.status, asked=True)

    @rule(flow=made, before=made)
    def link(self, flow: str, before: str) -> None:
        known = self.settle(flow)
        self.settle(before)
        if known.status is not S.CREATED or known.asked:
            assert not self.tried(self.desk.flows.come_after, flow, before)
            return
        try:
            self.desk.flows.come_after(flow, before)
        except FlowCycle:
            assert self.reaches(before, flow)
            return
        known.after.add(before)
        assert not self.reaches(before, flow)

    def reaches(self, start: str, goal: str) -> bool:
        return start == goal or any(self.reaches(each, goal) for each in self.known[start].after)

    @rule(seconds=st.integers(0, 15))
    def pass_time(self, seconds: int) -> None:
        self.desk.clock.advance(seconds)

    @rule()
    def tick(self) -> None:
        report = self.desk.flows.tick()
        resumed = cancelled = scanned = 0
        for flow, known in self.known.items():
            scanned += known.status is S.WAITING
            if known.status is S.WAITING and known.asked:
                self.move(known, S.CANCELLED)
                cancelled += 1
            elif known.status is S.WAITING and self.settle(flow).status is S.RUNNING:
                resumed += 1
        assert (report.scanned, report.resumed, report.cancelled, report.errors) == (scanned, resumed, cancelled, 0)
        assert report.still_waiting == scanned - resumed - cancelled

    @invariant()
    def the_board_agrees(self) -> None:
        found = {flow.id: flow for flow in self.desk.flows.list()}
        assert found.keys() == self.known.keys()
        for name, flow in found.items():
            known = self.settle(name)
            assert (flow.status, flow.cancel_requested, flow.revision) == (known.status, known.asked, known.revision)
            assert flow.state == known.state
            assert set(flow.after) == known.after
            assert bool(flow.held_by) is self.held(known)
            if known.status in (S.CREATED, S.WAITING):
                assert flow.wait == known.wait

    @invariant()
    def every_change_has_its_event(self) -> None:
        for name, known in self.known.items():
            events = [event for event in self.desk.flows.list_events(name) if not event.kind.endswith("linked")]
            assert [event.data["revision"] for event in events] == list(range(known.revision, -1, -1))


Flows.TestCase.settings = settings(max_examples=size(15, 5_000), stateful_step_count=25, deadline=None)
TestFlows = Flows.TestCase

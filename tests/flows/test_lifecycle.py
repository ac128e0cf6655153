"""The life of a flow on a board: every change is one revision and one event, and nothing else happens to it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar, cast
from uuid import UUID, uuid4

import pytest

from punchlist import Board, flows
from punchlist.core import flow as rules
from punchlist.errors import (
    FlowCancelPending,
    FlowEnded,
    FlowRevisionMismatch,
    FlowTransitionRefused,
    FlowUnknown,
    InvalidInput,
    RevisionConflict,
)
from punchlist.flows import Flow, FlowStatus
from punchlist.store import Store, Transaction
from punchlist.store.flows import OVERTAKEN, FlowRow, FlowRows
from punchlist.testing import FaultyStore
from tests.flows.boards import MANUAL, OWNER, Desk

T = TypeVar("T")


def test_one_module_has_all_public_names_of_flows() -> None:
    names = {"Flow", "FlowStatus", "FlowStep", "FlowWork", "Flows", "NewFlow", "TickReport", "WaitCondition"}
    assert {*names, "owner_key"} == set(flows.__all__) <= set(dir(flows))


def test_a_flow_goes_its_whole_way(desk: Desk) -> None:
    made = desk.created(state={"messages": 10, "done": 0}, current_step="classify")
    assert (made.status, made.revision, made.owner_session_key) == (FlowStatus.CREATED, 0, OWNER)
    assert (made.requester_origin, made.current_step, made.wait) == ("s1", "classify", None)
    assert str(UUID(made.id)) == made.id
    assert desk.flows.start_running(made.id).revision == 1
    waiting = desk.flows.set_waiting(made.id, MANUAL)
    assert (waiting.status, waiting.wait, waiting.revision) == (FlowStatus.WAITING, MANUAL, 2)
    again = desk.flows.resume(made.id, {"done": 5})
    assert (again.status, again.wait, again.state) == (FlowStatus.RUNNING, None, {"messages": 10, "done": 5})
    moved = desk.flows.update_state(made.id, {"done": 9}, next_step="answer")
    assert (moved.status, moved.current_step, moved.revision) == (FlowStatus.RUNNING, "answer", 4)
    end = desk.flows.finish(made.id, {"summary": "10 done"})
    assert (end.status, end.state) == (FlowStatus.FINISHED, {"messages": 10, "done": 9, "summary": "10 done"})
    assert desk.seen(made) == end
    assert desk.kinds(made) == ["created", "started", "waiting", "resumed", "state_updated", "finished"]


def test_every_event_says_what_was_done(desk: Desk) -> None:
    flow = desk.waiting()
    desk.flows.resume(flow.id, {"a": 1})
    desk.flows.update_state(flow.id, {"b": 2}, next_step="x")
    desk.flows.fail(flow.id, "no disk")
    told = [
        {key: value for key, value in event.data.items() if key not in ("flow", "goal", "revision")}
        for event in desk.flows.list_events(flow.id)
    ][::-1]
    assert told == [
        {"controller_id": "kate/inbox", "current_step": "init"},
        {},
        {"wait": MANUAL},
        {"state_patch": {"a": 1}},
        {"patch": {"b": 2}, "next_step": "x"},
        {"reason": "no disk"},
    ]
    first = desk.flows.list_events(flow.id)[-1]
    assert (first.session, first.agent, first.project, first.by) == ("s1", "kate", "/projects/desk", "kate")
    assert [event.data["revision"] for event in desk.flows.list_events(flow.id)] == [5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize(("limit", "count"), [(-1, 0), (0, 0), (2, 2), (100, 3)])
def test_events_come_the_latest_first_and_a_negative_limit_is_none(desk: Desk, limit: int, count: int) -> None:
    flow = desk.waiting()
    found = desk.flows.list_events(flow.id, limit)
    assert [event.kind for event in found] == ["flow.waiting", "flow.started", "flow.created"][:count]


def test_a_mirrored_flow_runs_at_once(desk: Desk) -> None:
    flow = desk.flows.create_mirrored("nightly", "Copy the files")
    assert (flow.status, flow.revision) == (FlowStatus.RUNNING, 1)
    assert desk.kinds(flow) == ["created", "started"]


def test_the_same_id_makes_no_second_flow(desk: Desk) -> None:
    wanted = str(uuid4())
    first = desk.flows.create_mirrored("nightly", "Copy", id=wanted)
    assert desk.flows.create_mirrored("nightly", "Copy", id=f"{{{wanted.upper()}}}") == first
    assert desk.kinds(first) == ["created", "started"]
    with pytest.raises(InvalidInput):
        desk.flows.create_managed("nightly", "Something else", id=wanted)
    with pytest.raises(InvalidInput):
        desk.flows.create_managed("nightly", "Copy", id="7")


def test_a_cancel_that_was_asked_for_sticks(desk: Desk) -> None:
    flow = desk.running()
    asked = desk.flows.request_cancel(flow.id)
    assert (asked.status, asked.cancel_requested, asked.revision) == (FlowStatus.RUNNING, True, 2)
    assert desk.flows.request_cancel(flow.id) == asked
    forbidden: list[Callable[[], object]] = [
        lambda: desk.flows.finish(flow.id),
        lambda: desk.flows.fail(flow.id, "no"),
        lambda: desk.flows.set_waiting(flow.id, MANUAL),
        lambda: desk.flows.update_state(flow.id, {"a": 1}),
    ]
    for deed in forbidden:
        with pytest.raises(FlowCancelPending):
            deed()
    assert desk.flows.cancel(flow.id).status is FlowStatus.CANCELLED
    assert desk.kinds(flow) == ["created", "started", "cancel_requested", "cancelled"]
    with pytest.raises(FlowEnded):
        desk.flows.cancel(flow.id)
    ended = desk.seen(flow)
    assert desk.flows.request_cancel(flow.id) == ended


def test_what_is_refused_leaves_no_trace(desk: Desk) -> None:
    flow = desk.created()
    before = list(desk.board.events())
    with pytest.raises(FlowTransitionRefused):
        desk.flows.finish(flow.id, {"a": 1})
    with pytest.raises(FlowUnknown):
        desk.flows.finish(str(uuid4()))
    with pytest.raises(InvalidInput):
        desk.flows.finish("no id")
    for bad in ({"a": object()}, {"a": "x" * 1_000_001}):
        with pytest.raises(InvalidInput):
            desk.flows.update_state(flow.id, bad)
    with pytest.raises(InvalidInput):
        desk.flows.create_managed("", "goal")
    assert list(desk.board.events()) == before
    assert desk.seen(flow) == flow
    assert desk.flows.get(str(uuid4())) is None


def test_a_state_does_not_grow_without_end(desk: Desk) -> None:
    flow = desk.running(state={"a": "x" * 600_000})
    with pytest.raises(InvalidInput):
        desk.flows.update_state(flow.id, {"b": "x" * 600_000})
    assert desk.seen(flow) == flow


# Revisions.


def test_a_change_for_another_revision_is_refused(desk: Desk) -> None:
    flow = desk.running()
    with pytest.raises(FlowRevisionMismatch) as refused:
        desk.flows.finish(flow.id, revision=0)
    assert (refused.value.data["expected"], refused.value.data["actual"]) == (0, 1)
    assert isinstance(refused.value, RevisionConflict)
    assert desk.flows.finish(flow.id, revision=1).revision == 2


def test_a_write_from_an_old_look_is_refused_by_the_store(desk: Desk) -> None:
    flow = desk.running()

    def work(tx: Transaction) -> None:
        row = tx.flows.find(flow.id)
        assert row is not None
        tx.flows.save(row, rules.update(row.flow, desk.board.now(), {"a": 1}))
        tx.flows.save(row, rules.update(row.flow, desk.board.now(), {"a": 2}))

    with pytest.raises(FlowRevisionMismatch) as refused:
        desk.board.store.transact(work)
    assert refused.value.data["actual"] == OVERTAKEN
    assert desk.seen(flow) == flow


class OvertakenFlows:
    """The flows of a transaction in which somebody else's change comes first, as long as there are `times` left."""

    def __init__(self, flows: FlowRows, store: "Overtaking") -> None:
        self._flows = flows
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._flows, name)

    def save(self, row: FlowRow, flow: Flow) -> Any:
        if self._store.times:
            self._store.times -= 1
            raise FlowRevisionMismatch(id=flow.id, expected=row.flow.revision, actual=OVERTAKEN)
        return self._flows.save(row, flow)


class OvertakenTransaction:
    def __init__(self, tx: Transaction, store: "Overtaking") -> None:
        self._tx = tx
        self.flows = OvertakenFlows(tx.flows, store)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)


class Overtaking(FaultyStore):
    """An engine on which others can come between a look and a write."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.times = 0

    def transact(self, work: Callable[[Transaction], T], *, durable: bool = True, wait: float | None = None) -> T:
        def overtaken(tx: Transaction) -> T:
            return work(cast("Any", OvertakenTransaction(tx, self)))

        return super().transact(overtaken, durable=durable, wait=wait)


def test_a_change_that_was_overtaken_is_tried_once_more(desk: Desk) -> None:
    store = Overtaking(desk.board.store)
    flow, flows = desk.running(), Board(store, clock=desk.clock).flows()
    store.times = 1
    assert flows.update_state(flow.id, {"a": 1}).revision == 2
    store.times = 2
    with pytest.raises(FlowRevisionMismatch) as refused:
        flows.update_state(flow.id, {"a": 2})
    assert (refused.value.data["expected"], refused.value.data["actual"]) == (2, -1)
    assert desk.seen(flow).state == {"a": 1}


def test_so_is_the_call_of_a_model_and_then_it_is_told(desk: Desk) -> None:
    store = Overtaking(desk.board.store)
    agent = Board(store, clock=desk.clock).agent("kate", session="s1", dialect="taskflow")
    flow = desk.running()
    store.times = 1
    asked = {"action": "advance", "flow_id": flow.id, "patch": {"a": 1}}
    assert agent.call("taskflow", asked).data["flow"]["revision"] == 2
    store.times = 2
    reply = agent.call("taskflow", asked)
    assert reply.is_error
    assert reply.text == "revision mismatch: expected 2, found -1"
    assert desk.seen(flow).revision == 2


# Lists.


def test_flows_of_an_owner_come_the_newest_first_and_those_of_a_status_the_longest_unchanged(desk: Desk) -> None:
    first, second, third = (desk.running(goal) for goal in ("one", "two", "three"))
    desk.clock.advance(1)
    desk.flows.update_state(first.id, {"a": 1})
    other = desk.board.agent("kate", session="s2").flows().create_mirrored("c", "theirs")
    assert [flow.goal for flow in desk.flows.list_by_owner()] == ["three", "two", "one"]
    assert [flow.goal for flow in desk.flows.list_by_owner(other.owner_session_key)] == ["theirs"]
    assert desk.flows.list_by_owner("nobody") == ()
    assert [flow.goal for flow in desk.flows.list_by_status("running")] == ["two", "three", "one", "theirs"]
    assert desk.flows.list_by_status("waiting") == ()
    assert [flow.goal for flow in desk.flows.list(limit=2)] == ["theirs", "three"]
    assert {flow.id for flow in desk.flows.list()} == {first.id, second.id, third.id, other.id}
    with pytest.raises(InvalidInput):
        desk.flows.list_by_status("asleep")


def test_a_flow_survives_its_board(tmp_path: Any) -> None:
    with Board.open(tmp_path / "board.db") as board:
        flow = board.agent("kate", session="s1").flows().create_mirrored("c", "last", state={"a": [1, None]})
        board.flows().request_cancel(flow.id)
    with Board.open(tmp_path / "board.db") as board:
        found = board.flows().get(flow.id)
        assert found is not None
        assert (found.goal, found.state, found.cancel_requested) == ("last", {"a": [1, None]}, True)
        with pytest.raises(FlowCancelPending):
            board.flows().finish(flow.id)


def test_a_session_that_is_moved_keeps_its_flows(desk: Desk) -> None:
    flow = desk.running()
    desk.board.move_session("s1", "s9")
    assert desk.seen(flow).owner_session_key == "agent:kate:session:s9"
    moved = desk.board.agent("kate", session="s9", dialect="taskflow")
    assert moved.call("taskflow", {"action": "list_mine"}).data["count"] == 1


def test_a_flow_is_the_current_work_of_its_agent(desk: Desk) -> None:
    flow = desk.running("Sort the inbox")
    agent = desk.board.agent("kate", session="s1")
    (task,) = agent.work.tasks
    assert (task.subject, task.metadata["flow"]) == ("Sort the inbox", flow.id)
    assert agent.work.focus == task
    desk.flows.finish(flow.id)
    assert agent.work.is_finished


def test_flows_are_not_touched_as_tasks(desk: Desk) -> None:
    desk.running()
    with pytest.raises(InvalidInput):
        desk.board.tasks("board:flows")


# Pruning.


def test_only_what_ended_so_long_ago_is_pruned(desk: Desk) -> None:
    old, open_one = desk.running("old"), desk.running("open")
    desk.flows.record_step_observation(old.id, "r1", "look", "succeeded")
    desk.flows.finish(old.id)
    desk.clock.advance(timedelta(days=31).total_seconds())
    fresh = desk.running("fresh")
    desk.flows.cancel(fresh.id)
    assert desk.flows.prune_terminal_flows(30) == 1
    assert desk.flows.get(old.id) is None
    assert {flow.goal for flow in desk.flows.list()} == {"open", "fresh"}
    assert desk.seen(open_one).status is FlowStatus.RUNNING
    last = list(desk.board.events())[-1]
    assert (last.kind, last.data["flow"]) == ("flow.pruned", old.id)
    with pytest.raises(FlowUnknown):
        desk.flows.list_steps(old.id)
    desk.clock.advance(1)
    assert desk.flows.prune_terminal_flows(-5) == 1


def test_more_than_one_slice_is_pruned(desk: Desk) -> None:
    for number in range(120):
        desk.flows.cancel(desk.created(str(number)).id)
    desk.clock.advance(86_401)
    assert desk.flows.prune_terminal_flows(1) == 120


def test_no_task_tool_opens_the_list_of_flows(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    flow = desk.running()
    call = {"type": "tool_use", "id": "t1", "name": "TaskCreate", "input": {"subject": "Paint", "description": ""}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "Task #1 created successfully: Paint"}
    told_by_a_transcript: list[dict[str, Any]] = [
        {"type": "assistant", "sessionId": "s2", "message": {"role": "assistant", "content": [call]}},
        {"type": "user", "sessionId": "s2", "message": {"role": "user", "content": [answer]}},
    ]
    with pytest.raises(InvalidInput, match=r"use `board\.flows"):
        desk.board.agent("zoe", session="s2", dialect="claude-tasks", task_list="board:flows")
    monkeypatch.setenv("CLAUDE_CODE_TASK_LIST_ID", "board:flows")
    with pytest.raises(InvalidInput, match=r"use `board\.flows"):
        desk.board.agent("zoe", session="s2", dialect="claude-tasks")
    agent = desk.board.agent("zoe", session="s2")  # it has no use for it
    assert agent.compaction_block() is None
    with pytest.raises(InvalidInput, match=r"use `board\.flows"):
        agent.restore_tasks(told_by_a_transcript)
    assert desk.seen(flow) == flow

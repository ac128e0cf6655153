"""What flows wait for, how it reaches them, and what a tick does."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from punchlist import Board
from punchlist.core.flow import format_rfc3339
from punchlist.errors import FlowCancelPending, InvalidInput
from punchlist.flows import FlowStatus, TickReport, WaitCondition
from punchlist.store.sidecars import SidecarLock, limit_wait
from punchlist.testing import FakeClock
from tests.flows.boards import Desk

EVENT = {"kind": "external_event", "topic": "mail.reply", "correlation_id": "c-42"}


def timer(desk: Desk, seconds: float) -> dict[str, Any]:
    return {"kind": "timer", "at": format_rfc3339(desk.board.now() + timedelta(seconds=seconds))}


def test_a_tick_lets_a_flow_go_on_whose_time_has_come(desk: Desk) -> None:
    flow = desk.waiting(timer(desk, 60))
    assert desk.flows.tick() == TickReport(scanned=1, still_waiting=1)
    desk.clock.advance(60)
    assert desk.flows.tick() == TickReport(scanned=1, resumed=1)
    assert (desk.seen(flow).status, desk.seen(flow).wait) == (FlowStatus.RUNNING, None)
    assert desk.flows.tick() == TickReport()
    assert desk.kinds(flow)[-1] == "resumed"


def test_a_time_in_the_past_is_over_at_once(desk: Desk) -> None:
    desk.waiting(timer(desk, -60))
    assert desk.flows.tick() == TickReport(scanned=1, resumed=1)


def test_whoever_looks_finds_a_flow_running_whose_time_has_come(desk: Desk) -> None:
    looks = [
        lambda: desk.flows.list_by_owner()[0],
        lambda: desk.flows.list()[0],
        lambda: desk.flows.list_by_status("running")[0] if desk.flows.list_by_status("waiting") == () else None,
        lambda: desk.flows.finish(desk.flows.list()[0].id),
    ]
    for look in looks:
        flow = desk.waiting(timer(desk, 60))
        desk.clock.advance(61)
        seen = look()
        assert seen is not None
        assert seen.status in (FlowStatus.RUNNING, FlowStatus.FINISHED)
        assert "resumed" in desk.kinds(flow)
        if not desk.seen(flow).is_terminal:
            desk.flows.finish(flow.id)


@pytest.mark.sqlite
def test_a_reader_does_not_wait_for_a_process_that_was_stopped_with_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path, clock=FakeClock()) as board:
        flow = board.flows().create_mirrored("c", "g")
        board.flows().set_waiting(flow.id, {"kind": "timer", "at": "2020-01-01T00:00:00Z"})
        lock = SidecarLock(f"{path}.lock")
        with closing(lock), lock.hold(), limit_wait(0.01):
            assert [each.status for each in board.flows().list()] == [FlowStatus.WAITING]
        assert [each.status for each in board.flows().list()] == [FlowStatus.RUNNING]


def test_the_board_ticks_flows_with_tasks(desk: Desk) -> None:
    flow = desk.waiting(timer(desk, 60))
    desk.clock.advance(61)
    assert desk.board.tick() == 1
    assert desk.kinds(flow)[-1] == "resumed"
    assert desk.board.tick() == 0


def test_events_and_people_are_not_hurried_by_a_tick(desk: Desk) -> None:
    for wait in (EVENT, {"kind": "manual"}, WaitCondition(kind="manual")):
        desk.waiting(wait)
    desk.clock.advance(1_000_000)
    assert desk.flows.tick() == TickReport(scanned=3, still_waiting=3)


def test_a_wait_that_says_nothing_is_skipped(desk: Desk) -> None:
    flow = desk.waiting({"kind": "moon", "phase": "full"})
    desk.waiting([])
    assert desk.flows.tick() == TickReport(scanned=2)
    assert desk.seen(flow).wait == {"kind": "moon", "phase": "full"}
    assert desk.flows.resume(flow.id).status is FlowStatus.RUNNING


def test_a_tick_cancels_what_waits_and_is_to_be_cancelled_before_anything_else(desk: Desk) -> None:
    flow = desk.waiting(timer(desk, 60))
    running, made = desk.running(), desk.created()
    for each in (flow, running, made):
        desk.flows.request_cancel(each.id)
    desk.clock.advance(61)
    assert desk.seen(flow).status is FlowStatus.WAITING
    with pytest.raises(FlowCancelPending):
        desk.flows.resume(flow.id)
    assert desk.flows.tick() == TickReport(scanned=1, cancelled=1)
    assert desk.seen(flow).status is FlowStatus.CANCELLED
    assert desk.seen(running).status is FlowStatus.RUNNING
    assert desk.seen(made).status is FlowStatus.CREATED


def test_an_event_reaches_only_the_flow_that_waits_for_just_that(desk: Desk) -> None:
    flow = desk.waiting(EVENT)
    flows = desk.flows
    assert flows.try_resume_external(flow.id, "mail.reply", "c-43") is None
    assert flows.try_resume_external(flow.id, "mail", "c-42") is None
    assert flows.try_resume_external(str(uuid4()), "mail.reply", "c-42") is None
    assert desk.seen(flow) == flow
    resumed = flows.try_resume_external(flow.id, "mail.reply", "c-42", {"answer": 42})
    assert resumed is not None
    assert (resumed.status, resumed.state) == (FlowStatus.RUNNING, {"resume_event": {"answer": 42}})
    assert flows.try_resume_external(flow.id, "mail.reply", "c-42") is None


def test_an_event_without_a_payload_leaves_the_state(desk: Desk) -> None:
    flow = desk.waiting(EVENT)
    resumed = desk.flows.try_resume_external(flow.id, "mail.reply", "c-42")
    assert resumed is not None
    assert resumed.state == {}


def test_an_event_for_a_flow_that_is_to_be_cancelled_is_refused(desk: Desk) -> None:
    flow = desk.waiting(EVENT)
    desk.flows.request_cancel(flow.id)
    with pytest.raises(FlowCancelPending):
        desk.flows.try_resume_external(flow.id, "mail.reply", "c-42")


def test_a_time_is_kept_in_one_form(desk: Desk) -> None:
    flow = desk.waiting({"kind": "timer", "at": "2030-05-04 14:00:00.250+02:00", "note": "x"})
    assert flow.wait == {"kind": "timer", "at": "2030-05-04T12:00:00.250Z"}
    with pytest.raises(InvalidInput):
        desk.flows.set_waiting(desk.running().id, object())

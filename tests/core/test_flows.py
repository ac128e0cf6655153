"""The rules of flows: six statuses, exactly nexo's transitions, a sticky cancel, a shallow merge, and waits."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from punchlist.core import flow as rules
from punchlist.core.flow import (
    LEGAL,
    TERMINAL,
    Flow,
    FlowStatus,
    WaitCondition,
    check_condition,
    decide_wait,
    format_rfc3339,
    is_wait_over,
    is_waiting_for,
    move,
    owner_key,
    parse_condition,
    parse_time,
)
from punchlist.errors import FlowCancelPending, FlowEnded, FlowError, FlowHeld, FlowTransitionRefused, FlowWaitRefused

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
S = FlowStatus
WAYS = {
    (S.CREATED, S.RUNNING),
    (S.RUNNING, S.WAITING),
    (S.RUNNING, S.FINISHED),
    (S.RUNNING, S.FAILED),
    (S.WAITING, S.RUNNING),
    (S.WAITING, S.FAILED),
    (S.CREATED, S.CANCELLED),
    (S.RUNNING, S.CANCELLED),
    (S.WAITING, S.CANCELLED),
}


def flow(status: FlowStatus = S.RUNNING, **fields: Any) -> Flow:
    made = Flow(id="f", controller_id="c", goal="g", owner_session_key="o", created_at=NOW, updated_at=NOW)
    return replace(made, status=status, **fields)


def test_just_these_transitions_are_legal() -> None:
    assert {(status, to) for status, ways in LEGAL.items() for to in ways} == WAYS
    assert {S.CANCELLED, S.FINISHED, S.FAILED} == TERMINAL


@pytest.mark.parametrize("status", FlowStatus)
@pytest.mark.parametrize("to", FlowStatus)
def test_a_transition_is_made_or_refused_by_that_table(status: FlowStatus, to: FlowStatus) -> None:
    if (status, to) in WAYS:
        after = move(flow(status), to, LATER)
        assert (after.status, after.revision, after.updated_at) == (to, 1, LATER)
        return
    with pytest.raises(FlowEnded if status in TERMINAL else FlowTransitionRefused):
        move(flow(status), to, LATER)


@pytest.mark.parametrize("status", FlowStatus)
@pytest.mark.parametrize("to", FlowStatus)
def test_an_end_is_said_before_a_pending_cancel_and_that_before_an_illegal_step(
    status: FlowStatus, to: FlowStatus
) -> None:
    asked = flow(status, cancel_requested=True)
    if status in TERMINAL:
        with pytest.raises(FlowEnded):
            move(asked, to, LATER)
    elif to is S.CANCELLED:
        assert move(asked, to, LATER).status is S.CANCELLED
    else:
        with pytest.raises(FlowCancelPending):
            move(asked, to, LATER)


@pytest.mark.parametrize("status", FlowStatus)
def test_to_ask_for_a_cancel_changes_no_status_is_idempotent_and_nothing_at_the_end(status: FlowStatus) -> None:
    before = flow(status)
    after = rules.request_cancel(before, LATER)
    assert after.status is status
    assert after.cancel_requested is (status not in TERMINAL)
    assert rules.request_cancel(after, LATER) is after
    if status in TERMINAL:
        assert after is before


def test_a_state_is_updated_in_every_open_status_but_not_with_a_cancel_pending() -> None:
    for status in FlowStatus:
        if status in TERMINAL:
            with pytest.raises(FlowEnded):
                rules.update(flow(status), LATER, {"a": 1})
        else:
            assert rules.update(flow(status), LATER, {"a": 1}).status is status
            with pytest.raises(FlowCancelPending):
                rules.update(flow(status, cancel_requested=True), LATER, {"a": 1})


@pytest.mark.parametrize(
    ("state", "patch", "merged"),
    [
        ({"a": 1, "b": {"x": 1}}, {"b": {"y": 2}}, {"a": 1, "b": {"y": 2}}),
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, {"a": None}, {"a": None}),
        ({"a": 1}, [1, 2], [1, 2]),
        ({"a": 1}, None, None),
        ([1], {"a": 1}, {"a": 1}),
        (None, {"a": 1}, {"a": 1}),
    ],
)
def test_a_patch_is_merged_by_its_top_keys_and_anything_else_replaces_the_state(
    state: Any, patch: Any, merged: Any
) -> None:
    assert rules.update(flow(state=state), LATER, patch).state == merged
    assert rules.finish(flow(state=state), LATER, (patch,)).state == merged
    assert rules.resume(flow(S.WAITING, state=state), LATER, (patch,)).state == merged


def test_an_end_without_a_patch_leaves_the_state_and_a_failure_is_told_in_it() -> None:
    assert rules.finish(flow(state={"a": 1}), LATER).state == {"a": 1}
    failed = rules.fail(flow(state={"a": 1}), "no disk", LATER)
    assert failed.state == {"a": 1, "failure": {"reason": "no disk", "at": "2026-05-04T12:01:00+00:00"}}


def test_a_wait_is_gone_when_the_flow_goes_on_and_stays_known_when_it_fails() -> None:
    waiting = rules.wait(flow(), {"kind": "manual"}, LATER)
    assert waiting.wait == {"kind": "manual"}
    assert rules.resume(waiting, LATER).wait is None
    assert rules.fail(waiting, "too late", LATER).wait == {"kind": "manual"}


def test_a_step_is_kept_unless_another_one_is_named() -> None:
    at = flow(current_step="classify")
    assert rules.update(at, LATER, {}).current_step == "classify"
    assert rules.update(at, LATER, {}, "answer").current_step == "answer"


def test_a_flow_does_not_begin_before_those_that_hold_it() -> None:
    held = flow(S.CREATED, after=("a", "b"), held_by=("b",))
    for begin in (rules.start, rules.resume):
        with pytest.raises(FlowHeld, match="`b`"):
            begin(held, LATER)
    assert rules.cancel(held, LATER).status is S.CANCELLED
    assert rules.start(replace(held, held_by=()), LATER).status is S.RUNNING


def test_a_clock_that_was_set_back_does_not_take_a_flow_back() -> None:
    assert rules.update(flow(), NOW - timedelta(days=1), {}).updated_at == NOW


def test_an_owner_is_an_agent_in_a_session() -> None:
    assert owner_key("kate", "s1") == "agent:kate:session:s1"


@pytest.mark.parametrize(
    ("microsecond", "said"),
    [(0, "12:00:00+00:00"), (123_000, "12:00:00.123+00:00"), (123_400, "12:00:00.123400+00:00")],
)
def test_times_have_no_digits_or_three_or_six(microsecond: int, said: str) -> None:
    assert format_rfc3339(NOW.replace(microsecond=microsecond)) == f"2026-05-04T{said}"


# Waits.


@pytest.mark.parametrize(
    ("value", "json"),
    [
        ({"kind": "timer", "at": "2026-05-04T12:00:00Z"}, {"kind": "timer", "at": "2026-05-04T12:00:00Z"}),
        ({"kind": "timer", "at": "2026-05-04T14:00:00.5+02:00"}, {"kind": "timer", "at": "2026-05-04T12:00:00.500Z"}),
        ({"kind": "timer", "at": "2026-05-04 12:00:00z", "x": 1}, {"kind": "timer", "at": "2026-05-04T12:00:00Z"}),
        (
            {"kind": "external_event", "topic": "t", "correlation_id": " "},
            {"kind": "external_event", "topic": "t", "correlation_id": " "},
        ),
        ({"kind": "manual", "signal": "go"}, {"kind": "manual"}),
    ],
)
def test_a_condition_is_read_and_written_in_one_form(value: Any, json: Any) -> None:
    found = parse_condition(value)
    assert found is not None
    assert found.json == json
    assert parse_condition(found.json) == found


@pytest.mark.parametrize(
    "value",
    [
        None, "manual", [], {}, {"kind": "Manual"}, {"kind": ["manual"]}, {"kind": "timer"}, {"kind": "timer", "at": 7},
        {"kind": "timer", "at": "tomorrow"}, {"kind": "timer", "at": "2026-05-04T12:00:00"},
        {"kind": "timer", "at": "2026-13-04T12:00:00Z"}, {"kind": "timer", "at": "0001-01-01T00:00:00+23:00"},
        {"kind": "external_event", "topic": "t"}, {"kind": "external_event", "topic": 1, "correlation_id": "c"},
    ],
)  # fmt: skip
def test_what_says_no_condition_is_none(value: Any) -> None:
    assert parse_condition(value) is None


@given(st.datetimes(timezones=st.just(UTC)) | st.datetimes(timezones=st.just(timezone(timedelta(hours=-7)))))
def test_every_time_that_is_written_is_read_again(at: datetime) -> None:
    try:
        utc = at.astimezone(UTC)
    except OverflowError:
        return
    assert parse_time(at.isoformat()) == utc
    assert parse_condition(WaitCondition(kind="timer", at=utc).json) == WaitCondition(kind="timer", at=utc)


@given(st.text(max_size=40) | st.from_regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"))
def test_no_text_breaks_the_reading_of_times(text: str) -> None:
    found = parse_time(text)
    assert found is None or found.tzinfo is UTC


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        (WaitCondition(kind="timer", at=NOW), "timer.at must be in the future"),
        (WaitCondition(kind="timer", at=NOW + timedelta(days=30, seconds=1)), "timer.at exceeds max horizon (30 days)"),
        (
            WaitCondition(kind="external_event", topic=" ", correlation_id=""),
            "external_event.topic cannot be empty",
        ),
        (
            WaitCondition(kind="external_event", topic="t", correlation_id="\t"),
            "external_event.correlation_id cannot be empty",
        ),
    ],
)
def test_the_guard_rails_before_a_wait(condition: WaitCondition, problem: str) -> None:
    with pytest.raises(FlowWaitRefused) as refused:
        check_condition(condition, NOW)
    assert str(refused.value) == problem


@pytest.mark.parametrize(
    "condition",
    [
        WaitCondition(kind="timer", at=NOW + timedelta(days=30)),
        WaitCondition(kind="timer", at=NOW + timedelta(microseconds=1)),
        WaitCondition(kind="external_event", topic="t", correlation_id="c"),
        WaitCondition(kind="manual"),
    ],
)
def test_what_the_guard_rails_let_pass(condition: WaitCondition) -> None:
    check_condition(condition, NOW)


TIMER = {"kind": "timer", "at": "2026-05-04T12:00:00Z"}
EVENT = {"kind": "external_event", "topic": "t", "correlation_id": "c"}


@pytest.mark.parametrize(
    ("wait", "now", "done"),
    [
        (TIMER, NOW, "resume"),
        (TIMER, NOW - timedelta(microseconds=1), "wait"),
        (EVENT, LATER, "wait"),
        ({"kind": "manual"}, LATER, "wait"),
        (None, LATER, "skip"),
        ({"kind": "moon"}, LATER, "skip"),
    ],
)
def test_only_a_timer_is_over_by_itself_and_a_cancel_comes_first(wait: Any, now: datetime, done: str) -> None:
    waiting = flow(S.WAITING, wait=wait)
    assert decide_wait(waiting, now) == done
    assert is_wait_over(waiting, now) is (done == "resume")
    assert not is_wait_over(replace(waiting, status=S.RUNNING), now)
    assert decide_wait(replace(waiting, cancel_requested=True), now) == "cancel"
    assert not is_wait_over(replace(waiting, cancel_requested=True), now)


def test_an_event_has_to_match_in_both_names() -> None:
    waiting = flow(S.WAITING, wait=EVENT)
    assert is_waiting_for(waiting, "t", "c")
    assert not is_waiting_for(waiting, "t", "C")
    assert not is_waiting_for(waiting, "T", "c")
    assert not is_waiting_for(replace(waiting, status=S.RUNNING), "t", "c")
    assert not is_waiting_for(replace(waiting, wait=TIMER), "t", "c")


DEEDS: dict[str, Callable[[Flow, datetime], Flow]] = {
    "start": rules.start,
    "wait": lambda flow, now: rules.wait(flow, {"kind": "manual"}, now),
    "resume": rules.resume,
    "finish": rules.finish,
    "fail": lambda flow, now: rules.fail(flow, "no", now),
    "cancel": rules.cancel,
    "ask": rules.request_cancel,
    "update": lambda flow, now: rules.update(flow, now, {"a": 1}),
}


@given(st.lists(st.sampled_from(sorted(DEEDS)), max_size=30))
def test_whatever_is_tried_only_legal_transitions_happen(deeds: list[str]) -> None:
    now, at = NOW, flow(S.CREATED)
    for deed in deeds:
        now += timedelta(seconds=1)
        try:
            after = DEEDS[deed](at, now)
        except FlowError:
            continue
        if after is not at:
            assert after.revision == at.revision + 1
            assert after.status is at.status or (at.status, after.status) in WAYS
            assert at.status not in TERMINAL
            assert not at.cancel_requested or after.status is S.CANCELLED
            assert after.cancel_requested or not at.cancel_requested
        at = after

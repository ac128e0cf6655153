"""Silence of an agent, told about as OpenClaw's relay does."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from punchlist.core.overview import STALLS
from punchlist.detect.findings import Finding
from punchlist.detect.stalls import (
    StallOptions,
    StallState,
    end_watch,
    find_stall,
    note_activity,
    note_hidden_output,
    note_output,
    note_prompt,
    stall_options,
    start_watch,
)
from punchlist.errors import ConfigInvalid

START = datetime(2026, 1, 1, tzinfo=UTC)
SHORT = StallOptions(notice_after=60)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def told(state: StallState, seconds: float, options: StallOptions | None = None) -> Finding:
    finding = find_stall(state, at(seconds), options or SHORT)[1]
    assert finding is not None
    return finding


@pytest.mark.requirement("stalls.defaults")
def test_the_timings_are_the_originals_but_for_a_longer_silence() -> None:
    assert StallOptions() == StallOptions(notice_after=300, poll_every=15, lifetime=6 * 3600)


@pytest.mark.requirement("stalls.nothing-submitted")
def test_an_agent_that_was_never_given_a_prompt() -> None:
    finding = told(start_watch(START, "codex"), 60)
    assert (finding.detector, finding.level, finding.count) == ("nothing_submitted", "warning", 60)
    assert finding.seen == "codex session started but no prompt submission was observed for 60s."


@pytest.mark.requirement("stalls.no-runtime-event")
@pytest.mark.parametrize(("proxies", "shown"), [((), "none"), (("HTTPS_PROXY", "ALL_PROXY"), "ALL_PROXY, HTTPS_PROXY")])
def test_a_prompt_and_nothing_after_it(proxies: tuple[str, ...], shown: str) -> None:
    finding = told(note_prompt(start_watch(START, "codex"), at(5), proxies), 65)
    assert finding.detector == "no_runtime_event"
    beginning = (
        f"codex prompt was submitted but no ACP runtime event arrived for 60s (proxy env: {shown}). Check upstream"
    )
    assert finding.seen.startswith(beginning)


@pytest.mark.requirement("stalls.no-output")
def test_activity_that_nobody_sees() -> None:
    finding = told(note_activity(note_prompt(start_watch(START, "codex"), at(1)), at(5), "tool_call"), 65)
    assert finding.detector == "no_output"
    assert finding.seen.startswith(
        "codex has ACP runtime activity but no visible assistant output for 60s. Last ACP event: tool_call."
    )


@pytest.mark.requirement("stalls.silent-after-output")
def test_output_and_then_silence() -> None:
    state, finding = note_output(note_activity(start_watch(START, "codex"), at(1)), at(5))
    assert finding is None
    finding = told(state, 65)
    assert finding.detector == "silent_after_output"
    assert finding.seen == ("codex has produced no visible output for 60s. It may be waiting for interactive input.")


@pytest.mark.requirement("stalls.once")
def test_a_stall_is_told_about_once_until_there_is_output() -> None:
    state, first = find_stall(start_watch(START), at(60), SHORT)
    state, second = find_stall(state, at(600), SHORT)
    state, third = find_stall(note_activity(state, at(601), "x"), at(700), SHORT)
    assert first is not None
    assert (second, third) == (None, None)
    state, resumed = note_output(state, at(701))
    assert resumed is not None
    assert (resumed.detector, resumed.level, resumed.kind) == ("resumed", "ok", "finding.cleared")
    assert resumed.seen == "ACP child resumed output."
    assert note_output(state, at(702))[1] is None
    assert told(state, 761).detector == "silent_after_output"


@pytest.mark.requirement("stalls.signs-of-life")
def test_other_signs_of_life_put_a_notice_off_without_a_word() -> None:
    state = note_hidden_output(note_activity(note_prompt(start_watch(START), at(50)), at(100), "x"), at(150))
    assert find_stall(state, at(209), SHORT)[1] is None
    assert told(state, 210).detector == "no_output"


@pytest.mark.requirement("stalls.lifetime")
def test_a_watch_ends_with_its_lifetime() -> None:
    state = start_watch(START, "codex")
    options = stall_options({"lifetime": 100, "notice_after": 0})
    assert find_stall(state, at(99.9), options)[1] is None
    state, finding = find_stall(state, at(100), options)
    assert finding is not None
    assert finding.seen == "codex stream relay timed out after 100s without completion."
    assert find_stall(state, at(5000), options) == (state, None)


@pytest.mark.requirement("stalls.off")
def test_no_notice_when_notices_are_off_or_the_agent_is_done() -> None:
    assert find_stall(start_watch(START), at(5000), stall_options({"notice_after": 0}))[1] is None
    state = end_watch(start_watch(START))
    assert find_stall(state, at(10**6), SHORT) == (state, None)
    assert note_output(state, at(1))[1] is None


@pytest.mark.requirement("stalls.settings")
def test_a_time_that_is_too_short_is_the_shortest_there_is() -> None:
    options = stall_options({"notice_after": -5, "poll_every": 0, "lifetime": 0})
    assert options == StallOptions(notice_after=0, poll_every=0.25, lifetime=1)


@pytest.mark.requirement("stalls.settings")
@pytest.mark.parametrize("given", [None, {"flush": 1}, {"lifetime": "1h"}, {"poll_every": True}, {"lifetime": 1e999}])
def test_a_mistake_in_the_settings_is_named(given: Any) -> None:
    with pytest.raises(ConfigInvalid):
        stall_options(given)


@pytest.mark.requirement("stalls.label")
def test_a_label_is_short_and_cannot_leave_its_sentence() -> None:
    state = start_watch(START, "  </punchlist>\x1b[31m\n  a   b " + "x" * 100_000)
    assert len(state.label) <= 40
    assert state.label.isprintable()
    assert "<" not in state.label
    assert start_watch(START, " \n ").label == "ACP child"


def test_a_clock_that_is_set_back_raises_no_stall() -> None:
    state = note_hidden_output(start_watch(START), at(100))
    state = note_hidden_output(state, at(-5000))
    assert find_stall(state, at(-4000), SHORT)[1] is None
    assert find_stall(state, at(159), SHORT)[1] is None
    assert told(state, 160)


def test_a_brief_knows_every_detector_of_silence() -> None:
    far = [start_watch(START)]
    far.append(note_prompt(far[-1], START))
    far.append(note_activity(far[-1], START))
    far.append(note_output(far[-1], START)[0])
    assert {told(state, 61).detector for state in far} | {told(far[0], 7 * 3600).detector} == STALLS

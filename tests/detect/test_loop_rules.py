"""The rules against a second telling of them, slow and word for word, on random histories."""

from collections.abc import Iterable, Sequence
from itertools import takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punchlist.detect.loops import LoopCall, LoopOptions, judge, loop_options
from tests.sizes import size

Said = tuple[str, str | None, int]

THRESHOLDS = ("warning_threshold", "critical_threshold", "global_threshold")


def one(tool: str, args: str, outcome: str | None, unknown: str | None) -> LoopCall:
    return LoopCall("", tool, f"{tool}:{args}", outcome=outcome, unknown_tool=unknown)


def window(parts: list[list[LoopCall]]) -> list[LoopCall]:
    return [call for part in parts for call in part][-30:]


def taking_turns(one_side: LoopCall, other_side: LoopCall, times: int) -> list[LoopCall]:
    return [one_side, other_side] * times


def chosen(thresholds: set[int], unknown: int, off: set[str]) -> LoopOptions:
    rising = dict(zip(THRESHOLDS, sorted(thresholds), strict=True))
    return loop_options({**rising, "unknown_tool_threshold": unknown, "detectors": dict.fromkeys(off, False)})


CALLS = st.builds(
    one,
    st.sampled_from(["process", "read"]),
    st.sampled_from(["1", "2"]),
    st.sampled_from([None, "x", "x", "x", "error:y"]),
    st.sampled_from([None, None, "gone", "lost"]),
)
PARTS = st.builds(taking_turns, CALLS, CALLS, st.integers(0, 12)) | st.lists(CALLS, max_size=4)
HISTORIES = st.lists(PARTS, max_size=6).map(window)
OPTIONS = st.builds(
    chosen,
    st.sets(st.integers(1, 14), min_size=3, max_size=3),
    st.integers(1, 6),
    st.sets(st.sampled_from(["generic_repeat", "known_poll_no_progress", "ping_pong"])),
)


def told(calls: Sequence[LoopCall], tool: str, key: str, is_poll: bool, options: LoopOptions) -> Said:
    """The specification again, one sentence after the other."""
    newest = list(reversed(calls))
    names = {call.unknown_tool for call in newest[: _run(call.tool == tool and call.unknown_tool for call in newest)]}
    for name in names:
        same = _run(call.tool == tool and call.unknown_tool == name for call in newest)
        if same >= options.unknown_tool_threshold:
            return "critical", "unknown_tool_repeat", same
    results = [call.outcome for call in newest if call.key == key and call.outcome is not None]
    streak = _run(result == results[0] for result in results)
    if streak >= options.global_threshold:
        return "critical", "global_circuit_breaker", streak
    if is_poll and "known_poll_no_progress" in options.detectors and streak >= options.warning_threshold:
        level = "critical" if streak >= options.critical_threshold else "warning"
        return level, "known_poll_no_progress", streak
    turns, settled = _turns(newest, key)
    if "ping_pong" in options.detectors and turns >= options.warning_threshold:
        level = "critical" if turns >= options.critical_threshold and settled else "warning"
        return level, "ping_pong", turns
    equal = sum(call.key == key for call in calls)
    if not is_poll and "generic_repeat" in options.detectors:
        if streak >= options.critical_threshold:
            return "critical", "generic_repeat", streak
        if equal >= options.warning_threshold:
            return "warning", "generic_repeat", equal
    return "ok", None, 0


def _run(claims: Iterable[object]) -> int:
    """How many claims hold before the first that does not."""
    return sum(1 for _ in takewhile(bool, claims))


def _turns(newest: Sequence[LoopCall], key: str) -> tuple[int, bool]:
    if not newest:
        return 0, False
    last = newest[0].key
    other = next((call.key for call in newest if call.key != last), None)
    tail = _run([call.key == (last, other)[place % 2] for place, call in enumerate(newest)])
    if other is None or tail < 2 or key != other:
        return 0, False
    sides = [[call.outcome for call in newest[:tail] if call.key == side] for side in (last, other)]
    return tail + 1, all(None not in side and len(set(side)) == 1 for side in sides)


@pytest.mark.requirement("loops.order")
@settings(max_examples=size(400, 20_000))
@given(HISTORIES, CALLS, OPTIONS)
def test_the_rules_are_those_of_the_specification(calls: list[LoopCall], now: LoopCall, options: LoopOptions) -> None:
    is_poll = now.tool == "process"
    verdict = judge(calls, now.tool, now.key, is_poll=is_poll, options=options).verdict
    assert (verdict.level, verdict.detector, verdict.count) == told(calls, now.tool, now.key, is_poll, options)

"""The rules by which OpenClaw calls repeated calls a loop, in its order. They look at the calls before, never ahead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from punchlist.detect.findings import Level, Verdict, shown
from punchlist.detect.loop_options import LoopOptions
from punchlist.detect.signatures import Reading


class Call(NamedTuple):
    """A call that was recorded. `key` is its tool with the hash of its arguments, `outcome` the hash of its result.

    `run` is the run that it belongs to, empty where runs are not told apart. A short tuple on purpose: a state holds
    as many as the window is long.
    """

    id: str
    tool: str
    key: str
    run: str = ""
    way: Reading = "plain"
    outcome: str | None = None
    unknown_tool: str | None = None

    @property
    def failed(self) -> bool:
        return self.outcome is not None and self.outcome.startswith("error:")


class Judged(NamedTuple):
    """A verdict, and by what it is known when it comes again."""

    verdict: Verdict
    key: str = ""


FINE = Judged(Verdict())


class Alternation(NamedTuple):
    """Two calls that take turns up to now, the present one included. `settled`: each side's results are all equal."""

    turns: int
    tool: str
    key: str
    settled: bool


def judge(calls: Sequence[Call], tool: str, key: str, *, is_poll: bool, options: LoopOptions) -> Judged:
    """The verdict on a call of that key after these calls of the same run."""
    found = (
        _unknown(calls, tool, options)
        or _repeated(calls, tool, key, is_poll=is_poll, options=options)
        or (_failing(calls, options) if options.error_threshold else None)
    )
    return found or FINE


def _repeated(calls: Sequence[Call], tool: str, key: str, *, is_poll: bool, options: LoopOptions) -> Judged | None:
    """The global breaker, then polls, ping-pong and plain repetition."""
    repeats = [call for call in calls if call.key == key]
    streak, result = _no_progress(repeats)
    known = f"{tool}:{key}:{result}"
    if streak >= options.global_threshold:
        return _critical("global_circuit_breaker", streak, _BREAKER, tool, f"global:{known}")
    if is_poll and "known_poll_no_progress" in options.detectors:
        if streak >= options.critical_threshold:
            return _critical("known_poll_no_progress", streak, _POLL_CRITICAL, tool, f"poll:{known}")
        if streak >= options.warning_threshold:
            return _warning("known_poll_no_progress", streak, _POLL_WARNING, tool, f"poll:{known}")
    if "ping_pong" in options.detectors and (pair := alternation(calls, key)) is not None:
        both = f"pingpong:{'|'.join(sorted((key, pair.key)))}"
        if pair.turns >= options.critical_threshold and pair.settled:
            return _critical("ping_pong", pair.turns, _PING_PONG_CRITICAL, tool, both, pair.tool)
        if pair.turns >= options.warning_threshold:
            return _warning("ping_pong", pair.turns, _PING_PONG_WARNING, tool, both, pair.tool)
    if not is_poll and "generic_repeat" in options.detectors:
        if streak >= options.critical_threshold:
            return _critical("generic_repeat", streak, _REPEAT_CRITICAL, tool, f"generic:{known}")
        if len(repeats) >= options.warning_threshold:
            return _warning("generic_repeat", len(repeats), _REPEAT_WARNING, tool, f"generic:{tool}:{key}")
    return None


def _no_progress(repeats: Sequence[Call]) -> tuple[int, str]:
    """How many of the last results are equal, and that result. Calls without a result are passed over."""
    count, latest = 0, ""
    for call in reversed(repeats):
        if call.outcome is None:
            continue
        if count and call.outcome != latest:
            break
        latest = call.outcome
        count += 1
    return count, latest or "none"


def alternation(calls: Sequence[Call], key: str) -> Alternation | None:
    """The turns that two calls took up to now, if the present call of that key would be the next turn."""
    if len(calls) < 2 or calls[-2].key != key or calls[-1].key == key:
        return None
    pair = (calls[-1], calls[-2])
    count = 0
    settled = True
    for call in reversed(calls):
        turn = pair[count % 2]
        if call.key != turn.key:
            break
        settled = settled and call.outcome is not None and call.outcome == turn.outcome
        count += 1
    return Alternation(count + 1, pair[0].tool, pair[0].key, settled)


def _unknown(calls: Sequence[Call], tool: str, options: LoopOptions) -> Judged | None:
    """The same tool, asked for again and again although it is not there."""
    missing = calls[-1].unknown_tool if calls else None
    if missing is None:
        return None
    count = 0
    for call in reversed(calls):
        if call.tool != tool or call.unknown_tool != missing:
            break
        count += 1
    if count < options.unknown_tool_threshold:
        return None
    return _critical("unknown_tool_repeat", count, _UNKNOWN, missing, f"unknown-tool:{tool}:{missing}")


def _failing(calls: Sequence[Call], options: LoopOptions) -> Judged | None:
    """Failures in a row, of whatever tools: ours, off unless asked for."""
    count = 0
    for call in reversed(calls):
        if call.outcome is not None:
            if not call.failed:
                break
            count += 1
    if count < options.error_threshold:
        return None
    level: Level = "critical" if count >= max(options.global_threshold, options.error_threshold + 1) else "warning"
    return _found(level, "error_streak", count, _FAILING, "", "errors:")


def _critical(detector: str, count: int, words: str, tool: str, key: str, paired: str | None = None) -> Judged:
    return _found("critical", detector, count, words, tool, key, paired)


def _warning(detector: str, count: int, words: str, tool: str, key: str, paired: str | None = None) -> Judged:
    return _found("warning", detector, count, words, tool, key, paired)


def _found(
    level: Level, detector: str, count: int, words: str, tool: str, key: str, paired: str | None = None
) -> Judged:
    other = None if paired is None else shown(paired)
    message = words.format(tool=shown(tool), count=count, paired=other)
    return Judged(Verdict(level, detector, count, message, paired_tool=other), key)


# The beginnings are the original's, because programs look for them; what follows is ours.
_UNKNOWN = "CRITICAL: attempted unavailable tool {tool} {count} times. There is no such tool: go on without it."
_BREAKER = (
    "CRITICAL: {tool} has repeated identical no-progress outcomes {count} times. "
    "Session execution blocked by global circuit breaker: nothing more comes of this call."
)
_POLL_CRITICAL = (
    "CRITICAL: Called {tool} with identical arguments and no progress {count} times. "
    "What it asks about does not move: this call was blocked."
)
_POLL_WARNING = (
    "WARNING: You have called {tool} {count} times with identical arguments and no progress. "
    "Wait longer between two looks, or report that what it asks about is stuck."
)
_PING_PONG_CRITICAL = (
    "CRITICAL: You are alternating between repeated tool-call patterns ({count} consecutive calls) with no progress: "
    "{tool} and {paired} return the same each time. This call was blocked."
)
_PING_PONG_WARNING = (
    "WARNING: You are alternating between repeated tool-call patterns ({count} consecutive calls): {tool} and "
    "{paired}. If neither brings anything new, try another way or report what is in the way."
)
_REPEAT_CRITICAL = (
    "CRITICAL: Called {tool} with identical arguments and identical outcomes {count} times. "
    "Nothing new comes of it: this call was blocked."
)
_REPEAT_WARNING = (
    "WARNING: You have called {tool} {count} times with identical arguments. "
    "If that brings nothing new, try another way or report what is in the way."
)
_FAILING = (
    "{count} calls in a row failed, whatever the tool. "
    "Look at what they have in common before the next one, or report what is in the way."
)

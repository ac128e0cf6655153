"""Detect loops in an agent's tool calls, by OpenClaw's rules.

`judge_start` judges a call by the calls before it and records it; `record_end` adds its outcome. A call judged
critical counts only if it ran in spite of that, or with `count_blocked`. A `LoopState` is a value: the board builds it
from the latest rows of `tool_calls` and from the agent's memory, and stores what changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Any, NamedTuple, cast

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.inputs import Count, CountOrOff, invalid_option, parse_options
from punchlist.detect.findings import FINE, Level, Verdict, clean_name
from punchlist.detect.signatures import Outcome, Reading, Sight, outcome, shorten_id, sight
from punchlist.text.hashing import blake2b
from punchlist.text.tool_values import UNKEYED, Signer

DETECTORS = ("generic_repeat", "known_poll_no_progress", "ping_pong")
"""Detectors that can be switched off. `unknown_tool_repeat` and `global_circuit_breaker` cannot."""

STEP = 10
"""A warning is news again when its count has reached the next multiple of this."""

_MOST_HELD = 8
_MOST_WARNINGS = 256
_STOP = "!"
"""Prefix of the key of a critical verdict among the warnings. There is at most one, the last of them."""


class LoopOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Thresholds from which a repeated call is a loop: OpenClaw's, with its defaults, and three of our own.

    Ours: `count_blocked` (a call judged critical counts as one more repetition, so that a blocked loop reaches the
    global breaker), `tell_model` (a warning is for the model too, once), `error_threshold` (so many failures in a row,
    of whatever tools, are a warning; 0 for none). `compaction_window` is the number of calls that the guard watches
    after a compaction; 0 for none.
    """

    enabled: bool = True
    history_size: Count = 30
    warning_threshold: Count = 10
    critical_threshold: Count = 20
    global_threshold: Count = 30
    unknown_tool_threshold: Count = 10
    count_blocked: bool = False
    tell_model: bool = False
    error_threshold: CountOrOff = 0
    compaction_window: CountOrOff = 3
    detectors: frozenset[str] = frozenset(DETECTORS)


DEFAULT = LoopOptions()
OFF = LoopOptions(enabled=False)

_NAME = "loop_detection"
_THRESHOLDS = ("warning_threshold", "critical_threshold", "global_threshold")


class _Switches(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    generic_repeat: bool = True
    known_poll_no_progress: bool = True
    ping_pong: bool = True


def loop_options(given: object = True) -> LoopOptions:
    """Return the options that a person gave as true, false or a mapping; raise `ConfigInvalid` for a wrong one.

    Thresholds rise from warning to critical to global: two that are given have to, else the later one is moved up.
    """
    if isinstance(given, bool):
        return DEFAULT if given else OFF
    options, switches = given, _Switches()
    if isinstance(given, Mapping) and "detectors" in given:
        options = dict(cast("Mapping[str, Any]", given))
        switches = parse_options(_Switches, options.pop("detectors"), f"{_NAME}.detectors")
    found = parse_options(LoopOptions, options, _NAME, hidden=("enabled",))
    found = replace(found, detectors=frozenset(name for name in DETECTORS if getattr(switches, name)))
    for before, name in pairwise(_THRESHOLDS):
        below, value = getattr(found, before), getattr(found, name)
        if value <= below:
            if {name, before} <= cast("Mapping[str, Any]", given).keys():
                raise invalid_option(f"{_NAME}.{name}", value, f"it has to be above `{before}`, which is {below}")
            found = replace(found, **{name: below + 1})
    return found


class LoopCall(NamedTuple):
    """A recorded call: `key` is its tool with the hash of its arguments, `outcome` the hash of its result.

    `run` is the run that it belongs to, empty where runs are not told apart.
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


class Guard(Struct, frozen=True):
    """The watch after a compaction: True in `persisted` if the calls after it are one call with one result.

    `same` is the key of the call and its outcome. `told` is 0 until the verdict was given, then one more than the last
    step at which it was news.
    """

    run: str = ""
    left: int = 0
    seen: int = 0
    same: str = ""
    tool: str = ""
    persisted: bool = False
    told: int = 0


class LoopState(Struct, frozen=True):
    """The calls of one agent that count, oldest first, and the warnings that were given, each with its last step.

    `held` are the latest calls that were judged critical, of which no outcome is known yet.
    """

    calls: tuple[LoopCall, ...] = ()
    warned: tuple[tuple[str, int], ...] = ()
    guard: Guard = Guard()
    held: tuple[LoopCall, ...] = ()


class Finished(NamedTuple):
    """The state after a call ended, and the call as recorded now, None if nothing changed.

    `is_newest`: the call was held back, and is recorded only now, as the newest.
    """

    state: LoopState
    recorded: LoopCall | None = None
    is_newest: bool = False


def judge_start(
    state: LoopState,
    call_id: str,
    name: str | Sight,
    args: object = None,
    *,
    run: str | None = None,
    options: LoopOptions = DEFAULT,
    signer: Signer = UNKEYED,
) -> tuple[LoopState, Verdict]:
    """Judge a call that is about to run; return the state after it and the verdict. A recorded call is the last one.

    The call is given by its tool and arguments, or as it was seen where it runs. Only calls of the same `run` count, or
    those of none where it is None. The same call reported again is judged again and recorded once. An empty `call_id`
    is no id: such a call is never taken for another.
    """
    if not options.enabled:
        return state, FINE
    seen = name if isinstance(name, Sight) else sight(name, args, signer)
    call = LoopCall(shorten_id(call_id), seen.tool, seen.key, shorten_id(run) if run else "", seen.way)
    before = [known for known in state.calls if known.run == call.run]
    same = (place for place, known in enumerate(before) if known.id == call.id and known.key == call.key)
    place = next(same, None) if call.id else None
    is_known = place is not None or _find_held(state.held, call.id, call.key, call.run) is not None
    guard = state.guard
    has_persisted = guard.persisted and guard.run == call.run
    if has_persisted and (not guard.told or guard.same.rpartition("=")[0] == call.key):
        guard, verdict = _judge_persisted(guard)
        state = replace(state, guard=guard)
    else:
        judged = judge(before[:place], call.tool, call.key, is_poll=seen.is_poll, options=options)
        warned, verdict = _mark_news(state.warned, judged, call.run, options)
        if has_persisted or warned is not state.warned:
            state = replace(state, warned=warned, guard=Guard() if has_persisted else guard)
    if is_known:
        return state, verdict
    if verdict.level != "critical":
        return _record(state, call, options), verdict
    return _hold(state, call, before, options), verdict


def record_end(
    state: LoopState,
    call_id: str,
    result: object = None,
    is_error: bool = False,
    *,
    name: str | None = None,
    args: object = None,
    run: str | None = None,
    options: LoopOptions = DEFAULT,
    signer: Signer = UNKEYED,
) -> Finished:
    """Add the outcome of a call. A call that has its outcome, or is unknown, changes nothing.

    `result` may be an `Outcome` that was read before.
    A call that was judged critical has run all the same, unless its result is our own refusal. With `name` and `args`
    a call that was never seen to start is recorded too. A result that is None is unknown, and so no sign of a loop.
    """
    if not options.enabled:
        return Finished(state)
    seen = None if name is None else sight(name, args, signer)
    key = None if seen is None else seen.key
    call_id, run = shorten_id(call_id), shorten_id(run) if run else ""
    held = _find_held(state.held, call_id, key, run)
    if held is not None:
        came = _read_outcome(held.way, result, is_error, signer)
        return _record_run_of_held(state, held, came, options) if came.may_have_run else Finished(state)
    place, is_over = _find_open_call(state.calls, call_id, key, run)
    if place is not None:
        call = state.calls[place]
    elif is_over or seen is None or key is None:
        return Finished(state)
    else:
        call = LoopCall(call_id, seen.tool, key, run, seen.way)
    came = _read_outcome(call.way, result, is_error, signer)
    if came.hash is None:
        return Finished(state)
    call = call._replace(outcome=came.hash, unknown_tool=came.unknown_tool)
    if place is None:
        state = _record(state, call, options)
    else:
        state = replace(state, calls=(*state.calls[:place], call, *state.calls[place + 1 :]))
    return Finished(replace(state, guard=_update_guard(state.guard, call)), call, is_newest=place is None)


def _read_outcome(way: Reading, result: object, is_error: bool, signer: Signer) -> Outcome:
    return result if isinstance(result, Outcome) else outcome(way, result, is_error=is_error, signer=signer)


def watch_compaction(state: LoopState, *, run: str | None = None, options: LoopOptions = DEFAULT) -> LoopState:
    """Return the state after the agent's context was compacted: the next calls of the run are watched closely.

    If the whole window is one call with one result, `state.guard.persisted` is true as soon as the last of them has
    finished, and the next call of the run is judged critical by `compaction_loop_persisted`.
    """
    if not options.enabled or not options.compaction_window:
        return state
    return replace(state, guard=Guard(run=shorten_id(run or ""), left=options.compaction_window))


# The calls that are remembered.


def _record(state: LoopState, call: LoopCall, options: LoopOptions) -> LoopState:
    return replace(state, calls=(*state.calls, call)[-options.history_size :])


def _hold(state: LoopState, call: LoopCall, before: Sequence[LoopCall], options: LoopOptions) -> LoopState:
    """Hold a call that was judged critical until its outcome; with `count_blocked` it is recorded now."""
    if call.id:
        state = replace(state, held=(*state.held, call)[-_MOST_HELD:])
    if not options.count_blocked:
        return state
    last = next((known for known in reversed(before) if known.key == call.key and known.outcome is not None), None)
    last = last or next((known for known in reversed(before) if known.tool == call.tool), None)
    blocked = call._replace(way="plain")
    if last is not None:  # nothing has changed since, so its outcome is that of the call before it
        blocked = call._replace(way=last.way, outcome=last.outcome, unknown_tool=last.unknown_tool)
    return _record(state, blocked, options)


def _record_run_of_held(state: LoopState, held: LoopCall, came: Outcome, options: LoopOptions) -> Finished:
    """Record a call that was judged critical and ran all the same, as the newest.

    Where it was counted as blocked, its real outcome replaces that.
    """
    if came.hash is None:
        return Finished(state)
    call = held._replace(outcome=came.hash, unknown_tool=came.unknown_tool)
    calls = state.calls
    if options.count_blocked:
        calls = tuple(known for known in calls if known.id != call.id or known.key != call.key)
    rest = tuple(known for known in state.held if known is not held)
    state = LoopState(calls, state.warned, _update_guard(state.guard, call), rest)
    return Finished(_record(state, call, options), call, is_newest=True)


def _find_open_call(calls: Sequence[LoopCall], call_id: str, key: str | None, run: str) -> tuple[int | None, bool]:
    """Find the newest matching call without an outcome; else return True if a matching call has its outcome."""
    if not call_id and key is None:
        return None, False
    is_over = False
    for place in range(len(calls) - 1, -1, -1):
        call = calls[place]
        if call.run == run and (not call_id or call.id == call_id) and (key is None or call.key == key):
            if call.outcome is None:
                return place, False
            if key is None:
                return None, True  # an id that was given again stands for the newest call of that id
            is_over = is_over or bool(call_id)
    return None, is_over


def _find_held(held: Sequence[LoopCall], call_id: str, key: str | None, run: str) -> LoopCall | None:
    """Return the call of that id that was judged critical and has no outcome yet."""
    return next((c for c in reversed(held) if c.id == call_id and c.run == run and (key is None or c.key == key)), None)


# When a verdict is news.


def _mark_news(
    warned: tuple[tuple[str, int], ...], judged: Judged, run: str, options: LoopOptions
) -> tuple[tuple[tuple[str, int], ...], Verdict]:
    """Mark a verdict as news: the first of its kind, and each that has come a step further.

    A warning is remembered for good; a critical verdict until another one comes between.
    """
    verdict = judged.verdict
    stopped = warned[-1] if warned and warned[-1][0].startswith(_STOP) else None
    others = warned if stopped is None else warned[:-1]
    if verdict.level == "ok":
        return others, verdict
    key = blake2b(f"{run}|{judged.key}".encode(errors="replace"), digest_size=8).hexdigest()
    step = verdict.count // STEP
    if verdict.level == "critical":
        if stopped is not None and stopped[0] == _STOP + key and step <= stopped[1]:
            return warned, verdict
        return (*others[-_MOST_WARNINGS + 1 :], (_STOP + key, step)), replace(verdict, is_news=True)
    last = next((step for known, step in others if known == key), None)
    if last is not None and step <= last:
        return others, verdict
    told = verdict.message if options.tell_model and last is None else ""
    rest = tuple(entry for entry in others if entry[0] != key)
    return (*rest, (key, step))[-_MOST_WARNINGS:], replace(verdict, is_news=True, for_model=told)


def _update_guard(guard: Guard, call: LoopCall) -> Guard:
    if guard.run != call.run or not (guard.left > 0 or guard.told):
        return guard
    same = f"{call.key}={call.outcome}"
    if guard.seen and same != guard.same:
        return Guard()
    if guard.left > 1:
        return replace(guard, left=guard.left - 1, seen=guard.seen + 1, same=same, tool=call.tool)
    return Guard(guard.run, 0, guard.seen + 1, same, call.tool, persisted=True, told=guard.told)


def _judge_persisted(guard: Guard) -> tuple[Guard, Verdict]:
    """Judge a call after a window in which nothing but one call was seen; return the guard after that."""
    message = (
        f"CRITICAL: tool {clean_name(guard.tool)} repeated {guard.seen} times with identical arguments and identical "
        "results after compaction, which did not end the loop. This run should stop here."
    )
    step = 1 + guard.seen // STEP
    is_news = step > guard.told
    verdict = Verdict("critical", "compaction_loop_persisted", guard.seen, message, is_news=is_news)
    return replace(guard, told=step) if is_news else guard, verdict


# The rules, in OpenClaw's order. They look at the calls before, never ahead.


class Judged(NamedTuple):
    """A verdict, and by what it is known when it comes again."""

    verdict: Verdict
    key: str = ""


NOTHING_SEEN = Judged(Verdict())


class Alternation(NamedTuple):
    """Two calls that take turns up to now, the present one included. `settled`: each side's results are all equal."""

    turns: int
    tool: str
    key: str
    settled: bool


def judge(calls: Sequence[LoopCall], tool: str, key: str, *, is_poll: bool, options: LoopOptions) -> Judged:
    """Return the verdict on a call of that key after these calls of the same run."""
    found = (
        _find_unknown_tool(calls, tool, options)
        or _find_repetition(calls, tool, key, is_poll=is_poll, options=options)
        or (_find_error_streak(calls, options) if options.error_threshold else None)
    )
    return found or NOTHING_SEEN


def _find_repetition(
    calls: Sequence[LoopCall], tool: str, key: str, *, is_poll: bool, options: LoopOptions
) -> Judged | None:
    """Ask the global breaker, then the detectors of polls, ping-pong and plain repetition."""
    repeats = [call for call in calls if call.key == key]
    streak, result = _count_unchanged(repeats)
    known = f"{tool}:{key}:{result}"
    if streak >= options.global_threshold:
        return _judge_as("critical", "global_circuit_breaker", streak, _BREAKER, tool, f"global:{known}")
    if is_poll and "known_poll_no_progress" in options.detectors:
        if streak >= options.critical_threshold:
            return _judge_as("critical", "known_poll_no_progress", streak, _POLL_CRITICAL, tool, f"poll:{known}")
        if streak >= options.warning_threshold:
            return _judge_as("warning", "known_poll_no_progress", streak, _POLL_WARNING, tool, f"poll:{known}")
    if "ping_pong" in options.detectors and (pair := find_alternation(calls, key)) is not None:
        both = f"pingpong:{'|'.join(sorted((key, pair.key)))}"
        if pair.turns >= options.critical_threshold and pair.settled:
            return _judge_as("critical", "ping_pong", pair.turns, _PING_PONG_CRITICAL, tool, both, pair.tool)
        if pair.turns >= options.warning_threshold:
            return _judge_as("warning", "ping_pong", pair.turns, _PING_PONG_WARNING, tool, both, pair.tool)
    if not is_poll and "generic_repeat" in options.detectors:
        if streak >= options.critical_threshold:
            return _judge_as("critical", "generic_repeat", streak, _REPEAT_CRITICAL, tool, f"generic:{known}")
        if len(repeats) >= options.warning_threshold:
            return _judge_as("warning", "generic_repeat", len(repeats), _REPEAT_WARNING, tool, f"generic:{tool}:{key}")
    return None


def _count_unchanged(repeats: Sequence[LoopCall]) -> tuple[int, str]:
    """Count the last results that are equal, and return that result. Calls without a result are passed over."""
    results = [call.outcome for call in reversed(repeats) if call.outcome is not None]
    if not results:
        return 0, "none"
    return sum(1 for _ in takewhile(results[0].__eq__, results)), results[0]


def find_alternation(calls: Sequence[LoopCall], key: str) -> Alternation | None:
    """Return the turns that two calls took so far, if a call of that key would be the next turn."""
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


def _find_unknown_tool(calls: Sequence[LoopCall], tool: str, options: LoopOptions) -> Judged | None:
    missing = calls[-1].unknown_tool if calls else None
    if missing is None:
        return None
    count = sum(1 for _ in takewhile(lambda call: (call.tool, call.unknown_tool) == (tool, missing), reversed(calls)))
    if count < options.unknown_tool_threshold:
        return None
    return _judge_as("critical", "unknown_tool_repeat", count, _UNKNOWN, missing, f"unknown-tool:{tool}:{missing}")


def _find_error_streak(calls: Sequence[LoopCall], options: LoopOptions) -> Judged | None:
    """Detect failures in a row, of any tools. This rule is ours, and off by default."""
    ended = (call for call in reversed(calls) if call.outcome is not None)
    count = sum(1 for _ in takewhile(lambda call: call.failed, ended))
    if count < options.error_threshold:
        return None
    level: Level = "critical" if count >= max(options.global_threshold, options.error_threshold + 1) else "warning"
    return _judge_as(level, "error_streak", count, _FAILING, "", "errors:")


def _judge_as(
    level: Level, detector: str, count: int, words: str, tool: str, key: str, paired: str | None = None
) -> Judged:
    other = None if paired is None else clean_name(paired)
    message = words.format(tool=clean_name(tool), count=count, paired=other)
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

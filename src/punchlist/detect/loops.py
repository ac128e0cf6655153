"""Loop detection over the calls of an agent: OpenClaw's, call by call.

`started` judges a call by those before it and records it; `finished` adds what it came to. A call judged critical
counts only if it is seen to have run all the same, or with `count_blocked`. The state holds the last `history_size`
calls and a few that were held back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from punchlist.core.verdict import Verdict
from punchlist.detect.findings import shown
from punchlist.detect.loop_options import DEFAULT, LoopOptions
from punchlist.detect.loop_rules import Call, Judged, judge
from punchlist.detect.signatures import Outcome, is_known_poll, kept, outcome, reading, signature

STEP = 10
"""A warning is news again when its count has reached the next multiple of this."""

_MOST_WARNINGS = 256
_MOST_HELD = 8
_STOP = "!"
"""Before the key of a critical verdict among the warnings that were given. There is at most one, the last of them."""

_UNKEPT = 48
"""Digits of a hash that a state does not keep: 16 of 64 tell calls apart as well, and the state is stored each time."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The watch after a compaction: whether the calls behind it are the same one, with the same result, again."""

    run: str = ""
    left: int = 0
    seen: int = 0
    same: str = ""
    tool: str = ""
    persisted: bool = False


@dataclass(frozen=True, slots=True)
class LoopState:
    """The calls of one agent that count, oldest first, and the warnings that were given: each with its last step.

    `held` are the latest calls that were judged critical, of which nobody has said yet whether they ran all the same.
    """

    calls: tuple[Call, ...] = ()
    warned: tuple[tuple[str, int], ...] = ()
    guard: Guard = Guard()
    held: tuple[Call, ...] = ()


def started(
    state: LoopState,
    call_id: str,
    name: str,
    args: object,
    *,
    run: str | None = None,
    options: LoopOptions = DEFAULT,
    flat: bytes | None = None,
) -> tuple[LoopState, Verdict]:
    """What is thought of a call that is about to run, and the state behind it.

    Only calls of the same `run` count, or those of none where it is None. The same call reported again is judged
    anew and recorded once. An empty `call_id` is no id: such a call is never taken for another. `flat` is what
    `flat_json` makes of the arguments, where that is known.
    """
    if not options.enabled:
        return state, Verdict()
    tool, key, within, call_id = kept(name), signature(name, args, flat)[:-_UNKEPT], kept(run or ""), kept(call_id)
    before = [call for call in state.calls if call.run == within]
    known = call_id in [call.id for call in before] if call_id else False
    if known:
        places = [place for place, call in enumerate(before) if call.id == call_id and call.key == key]
        known = bool(places)
        before = before[: places[0]] if places else before
    if state.guard.persisted and state.guard.run == within:
        return replace(state, guard=Guard()), _persisted(state.guard)
    judged = judge(before, tool, key, is_poll=is_known_poll(name, args), options=options)
    warned, verdict = _in_steps(state.warned, judged, within, options)
    calls, held = state.calls, state.held
    if known or (held and any(call.id == call_id and call.key == key and call.run == within for call in held)):
        return LoopState(calls, warned, state.guard, held), verdict
    if verdict.level != "critical":
        calls = (*calls, Call(call_id, tool, key, within, reading(name, args)))[-options.history_size :]
    else:
        if options.count_blocked:
            calls = (*calls, _blocked(before, call_id, tool, key, within))[-options.history_size :]
        if call_id:
            held = (*held, Call(call_id, tool, key, within, reading(name, args)))[-_MOST_HELD:]
    return LoopState(calls, warned, state.guard, held), verdict


def finished(
    state: LoopState,
    call_id: str,
    result: object = None,
    is_error: bool = False,
    *,
    name: str | None = None,
    args: object = None,
    run: str | None = None,
    options: LoopOptions = DEFAULT,
) -> LoopState:
    """The state with what a call came to. A call that has its outcome, or that nobody knows, changes nothing.

    One that was judged critical has run all the same, unless its result is our own refusal. With `name` and `args` a
    call that was never seen to start is recorded too, unless it was. A result that is None is not known, and so no
    sign of a loop.
    """
    if not options.enabled:
        return state
    call_id, within = kept(call_id), kept(run or "")
    key = None if name is None else signature(name, args)[:-_UNKEPT]
    if state.held and (held := _held(state.held, call_id, key, within)) is not None:
        return _ran(state, held, outcome(held.way, result, is_error=is_error), options)
    place, is_over = _place(state.calls, call_id, key, within)
    if place is None and (is_over or name is None or key is None):
        return state
    way = reading(name or "", args) if place is None else state.calls[place].way
    came = outcome(way, result, is_error=is_error)
    if came.hash is None:
        return state
    result_hash = came.hash[:-_UNKEPT]
    if place is None:
        call = Call(call_id, kept(name), key or "", within, way, result_hash, came.unknown_tool)
        calls = (*state.calls, call)[-options.history_size :]
    else:
        call = state.calls[place]
        call = Call(call.id, call.tool, call.key, call.run, call.way, result_hash, came.unknown_tool)
        calls = (*state.calls[:place], call, *state.calls[place + 1 :])
    return LoopState(calls, state.warned, _observed(state.guard, call), state.held)


def recorded(state: LoopState, call: Call, room: int) -> LoopState:
    """The state with a call that was recorded elsewhere: as the newest of `room` calls, or, with 0, as it ended."""
    if room:
        return LoopState((*state.calls, call)[-room:], state.warned, state.guard, state.held)
    place, _ = _place(state.calls, call.id, None, call.run)
    if place is None:
        return state
    calls = (*state.calls[:place], call, *state.calls[place + 1 :])
    return LoopState(calls, state.warned, state.guard, state.held)


def compacted(state: LoopState, *, run: str | None = None, options: LoopOptions = DEFAULT) -> LoopState:
    """The state after the agent's context was compacted: the next calls of the run are watched closely.

    If the whole window is one call with one result, `state.guard.persisted` is true as soon as the last of them has
    finished, and the next call of the run is judged critical by `compaction_loop_persisted`.
    """
    if not options.enabled or not options.compaction_window:
        return state
    return replace(state, guard=Guard(run=kept(run or ""), left=options.compaction_window))


def _place(calls: Sequence[Call], call_id: str, key: str | None, run: str) -> tuple[int | None, bool]:
    """Where the newest call without an outcome is that this may be; else whether one that has its outcome is it."""
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


def _held(held: Sequence[Call], call_id: str, key: str | None, run: str) -> Call | None:
    """The call of that id that was judged critical and has not been heard of since."""
    return next((c for c in reversed(held) if c.id == call_id and c.run == run and (key is None or c.key == key)), None)


def _ran(state: LoopState, held: Call, came: Outcome, options: LoopOptions) -> LoopState:
    """The state once a call that was judged critical turns out to have run: it counts like any other.

    Where it was counted as blocked, what it really came to stands in for that.
    """
    if came.hash is None:
        return state
    call = Call(held.id, held.tool, held.key, held.run, held.way, came.hash[:-_UNKEPT], came.unknown_tool)
    calls, rest = state.calls, tuple([known for known in state.held if known is not held])
    if options.count_blocked:
        calls = tuple([known for known in calls if known.id != call.id or known.key != call.key])
    return LoopState((*calls, call)[-options.history_size :], state.warned, _observed(state.guard, call), rest)


def _blocked(before: Sequence[Call], call_id: str, tool: str, key: str, run: str) -> Call:
    """A call that is not let through comes to what the one before it came to: nothing has changed."""
    last = next((call for call in reversed(before) if call.key == key and call.outcome is not None), None)
    last = last or next((call for call in reversed(before) if call.tool == tool), None)
    if last is None:
        return Call(call_id, tool, key, run)
    return Call(call_id, tool, key, run, last.way, last.outcome, last.unknown_tool)


def _in_steps(
    warned: tuple[tuple[str, int], ...], judged: Judged, run: str, options: LoopOptions
) -> tuple[tuple[tuple[str, int], ...], Verdict]:
    """Marks a verdict as news: the first of its kind, and each that has come a step further.

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


def _observed(guard: Guard, call: Call) -> Guard:
    if guard.left <= 0 or guard.run != call.run:
        return guard
    same = f"{call.key}={call.outcome}"
    if guard.seen and same != guard.same:
        return Guard()
    if guard.left > 1:
        return replace(guard, left=guard.left - 1, seen=guard.seen + 1, same=same, tool=call.tool)
    return Guard(run=guard.run, seen=guard.seen + 1, tool=call.tool, persisted=True)


def _persisted(guard: Guard) -> Verdict:
    message = (
        f"CRITICAL: tool {shown(guard.tool)} repeated {guard.seen} times with identical arguments and identical "
        "results after compaction, which did not end the loop. This run should stop here."
    )
    return Verdict("critical", "compaction_loop_persisted", guard.seen, message, is_news=True)

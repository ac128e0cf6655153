"""Loop detection in place, for whoever keeps the state of an agent in memory from one call to the next."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from punchlist.detect.findings import FINE, Verdict
from punchlist.detect.loop_options import DEFAULT, LoopOptions
from punchlist.detect.loop_rules import FINE as NOTHING_SEEN
from punchlist.detect.loop_rules import Call, judge
from punchlist.detect.loop_state import Guard, LoopState, in_steps, observed, persisted
from punchlist.detect.refusals import is_refusal
from punchlist.detect.signatures import Outcome, Sight, kept, outcome, sight

_MOST_HELD = 8
_UNKEPT = 48
"""Digits of a hash that a state does not keep: 16 of 64 tell calls apart as well, and the state is stored each time."""

_id = attrgetter("id")
_key = attrgetter("key")


class Window:
    """A `LoopState` that calls are taken into, in place. What `state` gives is never changed again."""

    __slots__ = ("_calls", "_marks", "guard", "held", "warned")

    def __init__(self, state: LoopState) -> None:
        self._calls = list(state.calls)
        self._marks: set[str] | None = None
        self.warned = state.warned
        self.guard = state.guard
        self.held = state.held

    def state(self) -> LoopState:
        return LoopState(tuple(self._calls), self.warned, self.guard, self.held)

    def started(
        self,
        call_id: str,
        name: str,
        args: object,
        *,
        run: str | None = None,
        options: LoopOptions = DEFAULT,
        flat: bytes | None = None,
    ) -> tuple[Verdict, Call | None]:
        """What is thought of a call that is about to run; and what is recorded as the newest, None if nothing is."""
        seen = sight(name, args, flat)
        tool, key, way, _ = seen
        call = Call(kept(call_id), tool, key[:-_UNKEPT], kept(run) if run else "", way)
        if self.guard.persisted and self.guard.run == call.run:
            if not self.guard.told or self.guard.is_same(call):
                self.guard, verdict = persisted(self.guard)
                before = [known for known in self._calls if known.run == call.run]
                return verdict, None if self._is_known(before, call) else self._hold(call, before, options)
            self.guard = Guard()
        if options.error_threshold or not self._is_new(call):
            return self._judged(call, seen, options)
        if self.warned:
            self.warned, _ = in_steps(self.warned, NOTHING_SEEN, call.run, options)
        self._record(call, options.history_size)
        return FINE, call

    def finished(
        self,
        call_id: str,
        result: object = None,
        is_error: bool = False,
        *,
        name: str | None = None,
        args: object = None,
        run: str | None = None,
        options: LoopOptions = DEFAULT,
    ) -> Call | None:
        """Takes in what a call came to: the call as it is recorded now, None if nothing has changed."""
        seen = None if name is None else sight(name, args)
        key, call_id, run = None if seen is None else seen.key[:-_UNKEPT], kept(call_id), kept(run) if run else ""
        if self.held and (held := _held(self.held, call_id, key, run)) is not None:
            if result is None or is_refusal(result):
                return None
            return self._ran(held, outcome(held.way, result, is_error=is_error), options)
        place, is_over = _place(self._calls, call_id, key, run)
        if place is not None:
            call = self._calls[place]
        elif is_over or seen is None or key is None:
            return None
        else:
            call = Call(call_id, seen.tool, key, run, seen.way)
        came = outcome(call.way, result, is_error=is_error)
        if came.hash is None:
            return None
        call = _ended(call, came.hash, came.unknown_tool)
        if place is None:
            self._record(call, options.history_size)
        else:
            self._calls[place] = call
        self.guard = observed(self.guard, call)
        return call

    def compacted(self, *, run: str | None = None, options: LoopOptions = DEFAULT) -> bool:
        """Takes in that the agent's context was compacted; False if nobody is to watch it for that."""
        if not options.enabled or not options.compaction_window:
            return False
        self.guard = Guard(run=kept(run or ""), left=options.compaction_window)
        return True

    def recorded(self, call: Call, room: int) -> None:
        """Takes in a call that was recorded elsewhere: as the newest of `room` calls, or, with 0, as it ended."""
        if room:
            self._record(call, room)
            return
        place, _ = _place(self._calls, call.id, None, call.run)
        if place is not None:
            self._calls[place] = call

    def _is_new(self, call: Call) -> bool:
        """Whether nothing that is remembered has to do with a call. Quick; now and then it is no though it were yes."""
        calls = self._calls
        if self.held:
            return False
        if not calls:
            return True
        last = calls[-1]
        if last.key == call.key or last.run != call.run or last.unknown_tool is not None:
            return False
        if self._marks is None:
            self._marks = _marks(calls)
        return call.key not in self._marks and call.id not in self._marks

    def _judged(self, call: Call, seen: Sight, options: LoopOptions) -> tuple[Verdict, Call | None]:
        """Judges a call by those before it of the same run. One that was recorded already is not recorded again."""
        call_id, tool, key, run = call[:4]
        before = [known for known in self._calls if known.run == run]
        place = _first(before, call_id, key) if call_id and call_id in map(_id, before) else None
        if place is not None:
            before = before[:place]
        judged = judge(before, tool, key, is_poll=seen.is_poll, options=options)
        self.warned, verdict = in_steps(self.warned, judged, run, options)
        if place is not None or (self.held and _held(self.held, call_id, key, run) is not None):
            return verdict, None
        if verdict.level != "critical":
            self._record(call, options.history_size)
            return verdict, call
        return verdict, self._hold(call, before, options)

    def _is_known(self, before: Sequence[Call], call: Call) -> bool:
        """Whether a call that begins is one of those of before, or of those held back; without an id it is neither."""
        if not call.id:
            return False
        return (
            _first(before, call.id, call.key) is not None or _held(self.held, call.id, call.key, call.run) is not None
        )

    def _hold(self, call: Call, before: Sequence[Call], options: LoopOptions) -> Call | None:
        """Keeps a call in mind that was judged critical; what is recorded of it now, None if nothing is."""
        if call.id:
            self.held = (*self.held, call)[-_MOST_HELD:]
        if not options.count_blocked:
            return None
        blocked = _blocked(before, call)
        self._record(blocked, options.history_size)
        return blocked

    def _ran(self, held: Call, came: Outcome, options: LoopOptions) -> Call | None:
        """A call that was judged critical turns out to have run: it counts like any other.

        Where it was counted as blocked, what it really came to stands in for that.
        """
        if came.hash is None:
            return None
        call = _ended(held, came.hash, came.unknown_tool)
        self.held = tuple([known for known in self.held if known is not held])
        if options.count_blocked:
            self._calls = [known for known in self._calls if known.id != call.id or known.key != call.key]
        self._record(call, options.history_size)
        self.guard = observed(self.guard, call)
        return call

    def _record(self, call: Call, room: int) -> None:
        calls, marks = self._calls, self._marks
        calls.append(call)
        if len(calls) > room:
            del calls[:-room]
        if marks is None:
            return
        marks.add(call.key)
        if call.id:
            marks.add(call.id)
        if len(marks) > 4 * room + 64:  # most of them are those of calls that are no longer here
            self._marks = _marks(calls)


def _marks(calls: Sequence[Call]) -> set[str]:
    """What these calls are known by; an empty id is none."""
    marks = {*map(_key, calls), *map(_id, calls)}
    marks.discard("")
    return marks


def _first(calls: Sequence[Call], call_id: str, key: str) -> int | None:
    """Where the first of these calls is that has this id and this key."""
    return next((place for place, call in enumerate(calls) if call.id == call_id and call.key == key), None)


def _ended(call: Call, outcome: str, unknown_tool: str | None) -> Call:
    return Call(call.id, call.tool, call.key, call.run, call.way, outcome[:-_UNKEPT], unknown_tool)


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


def _blocked(before: Sequence[Call], call: Call) -> Call:
    """A call that is not let through comes to what the one before it came to: nothing has changed."""
    last = next((known for known in reversed(before) if known.key == call.key and known.outcome is not None), None)
    last = last or next((known for known in reversed(before) if known.tool == call.tool), None)
    if last is None:
        return Call(call.id, call.tool, call.key, call.run)
    return Call(call.id, call.tool, call.key, call.run, last.way, last.outcome, last.unknown_tool)

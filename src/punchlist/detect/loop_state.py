"""What loop detection remembers of an agent: its last calls, warnings that were given, the guard after a compaction."""

from __future__ import annotations

from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import replace

from punchlist.detect.findings import Verdict, shown
from punchlist.detect.loop_options import LoopOptions
from punchlist.detect.loop_rules import Call, Judged

STEP = 10
"""A warning is news again when its count has reached the next multiple of this."""

_MOST_WARNINGS = 256
_STOP = "!"
"""Before the key of a critical verdict among the warnings that were given. There is at most one, the last of them."""


class Guard(Struct, frozen=True):
    """The watch after a compaction: whether the calls behind it are the same one, with the same result, again.

    `persisted`: they were, and are until another call has run. `told` is 0 until somebody heard of it, and then one
    more than the last step at which that was news.
    """

    run: str = ""
    left: int = 0
    seen: int = 0
    same: str = ""
    tool: str = ""
    persisted: bool = False
    told: int = 0

    def is_same(self, call: Call) -> bool:
        """Whether a call is the one that came again and again, whatever it comes to."""
        return self.same.rpartition("=")[0] == call.key


class LoopState(Struct, frozen=True):
    """The calls of one agent that count, oldest first, and the warnings that were given: each with its last step.

    `held` are the latest calls that were judged critical, of which nobody has said yet whether they ran all the same.
    """

    calls: tuple[Call, ...] = ()
    warned: tuple[tuple[str, int], ...] = ()
    guard: Guard = Guard()
    held: tuple[Call, ...] = ()


def in_steps(
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


def observed(guard: Guard, call: Call) -> Guard:
    """The guard after a call that has finished."""
    if guard.run != call.run or not (guard.left > 0 or guard.told):
        return guard
    same = f"{call.key}={call.outcome}"
    if guard.seen and same != guard.same:
        return Guard()
    if guard.left > 1:
        return replace(guard, left=guard.left - 1, seen=guard.seen + 1, same=same, tool=call.tool)
    return Guard(guard.run, 0, guard.seen + 1, same, call.tool, persisted=True, told=guard.told)


def persisted(guard: Guard) -> tuple[Guard, Verdict]:
    """What is thought of a call behind a window in which nothing but one call was seen, and the guard behind that."""
    message = (
        f"CRITICAL: tool {shown(guard.tool)} repeated {guard.seen} times with identical arguments and identical "
        "results after compaction, which did not end the loop. This run should stop here."
    )
    step = 1 + guard.seen // STEP
    is_news = step > guard.told
    verdict = Verdict("critical", "compaction_loop_persisted", guard.seen, message, is_news=is_news)
    return replace(guard, told=step) if is_news else guard, verdict

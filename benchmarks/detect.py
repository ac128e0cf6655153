"""Judging a tool call: what loop detection costs, and that neither a long session nor a large call makes it dear."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count
from statistics import median
from typing import Any

from benchmarks.measure import interleaved, paired, seconds_each
from benchmarks.report import Must, Row
from benchmarks.scale import Scale
from punchlist.detect.guardrail import GuardrailState, after, before
from punchlist.detect.loops import LoopState, judge_start, record_end

NOTE = (
    "Microseconds a call, started and finished, in the best of many short stretches: what it costs on an idle machine. "
    "Arguments of 200 bytes, a full window of 30 calls."
)
_LIMIT = Must("≤", 1000, "µs")
_STRETCH = 50


def run(scale: Scale) -> Iterator[Row]:
    stretches = scale.count(400, least=4)
    yield _row("calls that all differ", _best(stretches, _Session(differ=True).call))
    yield _row("one call again and again: warned of, then critical", _best(stretches, _Session(differ=False).call))
    yield _row("the same by Hermes' guardrail", _best(stretches, _Turn().call), must=None)
    yield _flat(scale)
    size = scale.count(10_000_000, least=1000)
    for what, args in _large(size):
        taken = min(_seconds(args) for _ in range(5))
        yield Row(f"{what} of about {size / 1e6:g} MB", f"{taken * 1e3:.2f} ms")


class _Session:
    """An agent that calls one tool, with other arguments each time or with the same."""

    def __init__(self, *, differ: bool) -> None:
        self.state = LoopState()
        self.numbers = count()
        self.differ = differ

    def call(self) -> None:
        number = next(self.numbers)
        call_id = f"toolu_{number}"
        args = _arguments(number if self.differ else 0)
        self.state, _ = judge_start(self.state, call_id, "edit", args)
        self.state = record_end(self.state, call_id, "The file was changed.").state


class _Turn:
    def __init__(self) -> None:
        self.state = GuardrailState()
        self.numbers = count()

    def call(self) -> None:
        args = _arguments(next(self.numbers) % 100)
        self.state, _ = before(self.state, "edit", args)
        self.state, _ = after(self.state, "edit", args, "The file was changed.")


def _arguments(number: int) -> dict[str, Any]:
    return {
        "file_path": "/home/ada/project/src/app/components/login.py",
        "old_string": "def login(user):\n    return None",
        "new_string": "def login(user):\n    return session(user)",
        "replace_all": False,
        "line": number,
    }


def _best(stretches: int, call: Callable[[], None]) -> float:
    return min(seconds_each(call, _STRETCH) for _ in range(stretches)) * 1e6


def _row(what: str, taken: float, must: Must | None = _LIMIT) -> Row:
    return Row(what, f"{taken:.1f} µs", must=must, value=taken)


def _flat(scale: Scale) -> Row:
    """A call late in a long session, beside one at the moment when the window was first full."""
    early, late = _Session(differ=True), _Session(differ=True)
    calls = scale.count(100_000, least=100)
    for _ in range(40):
        early.call()
    for _ in range(calls):
        late.call()
    rounds = scale.count(60, least=3)
    taken = interleaved(
        rounds, {"late": lambda: seconds_each(late.call, _STRETCH), "early": lambda: seconds_each(early.call, _STRETCH)}
    )
    ours, theirs = median(taken["late"]) * 1e6, median(taken["early"]) * 1e6
    ratio = paired(taken["late"], taken["early"])
    return Row(
        f"a call after {calls:,} calls", f"{ours:.1f} µs", f"after 40 calls {theirs:.1f} µs", ratio, Must("≤", 1.2)
    )


def _large(size: int) -> Iterator[tuple[str, Any]]:
    yield "one text", {"content": "x" * size}
    yield "a list of numbers", {"list": list(range(size // 8))}
    yield "an object with many keys", {f"key{index}": index for index in range(size // 20)}
    deep: list[Any] = []
    for _ in range(size // 100):
        deep = [deep]
    yield "lists within lists", {"deep": deep}


def _seconds(args: Any) -> float:
    start = time.perf_counter()
    state, _ = judge_start(LoopState(), "c", "edit", args)
    record_end(state, "c", args)
    return time.perf_counter() - start

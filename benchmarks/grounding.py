"""Folding runtime events: what one more report costs, after few and after many, and what is kept of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from statistics import median
from time import process_time

from benchmarks.report import Must, Row
from benchmarks.scale import Scale
from punchlist.core.checks import analyse_command, read_any_summary
from punchlist.core.events import Event
from punchlist.core.grounding.fold import Grounding
from punchlist.core.grounding.grades import grade
from punchlist.core.grounding.observe import end_facts, start_facts
from punchlist.core.grounding.tool_call import subject
from punchlist.text.redaction import redact

NOTE = (
    "Microseconds of CPU time. The fold is the median of rounds of 1,000 events; a call is two events and belongs to "
    "one of 20 items of an agent. The rows below it are what a host pays for an event before there is one."
)
_AT = datetime(2026, 3, 1, tzinfo=UTC)
_COMMANDS = ("ls -la src", "cd app && uv run pytest -q 2>&1 | tail -20", "git commit -am wip", "sed -i s/a/b/ src/x.py")
_OUTPUT = "tests/test_a.py ........ [ 50%]\n" * 60 + "================ 120 passed, 3 warnings in 4.31s ================"


def run(scale: Scale) -> Iterator[Row]:
    rounds = scale.count(200, least=4)
    events = _events(rounds * 1000)
    work = Grounding()
    taken: list[float] = []
    for first in range(0, len(events), 1000):
        part = events[first : first + 1000]
        start = process_time()
        for event in part:
            work.add(event)
        taken.append((process_time() - start) / len(part))
    few, many = taken[: max(1, rounds // 10)], taken[-max(1, rounds // 10) :]
    growth = median(many) / median(few)
    what = f"fold of a runtime event, after {len(events) - len(many) * 1000:,} others"
    first_events = f"{median(few) * 1e6:.1f} µs for the first {len(few) * 1000:,}"
    yield Row(what, f"{median(many) * 1e6:.1f} µs", first_events, growth, Must("≤", 1.2))
    mine = subject("s", "a", "p1/3")
    count = scale.count(2000, least=5)
    yield Row("grade of an item", _each(lambda: grade(work.tally(mine)), count))
    yield Row("look at a command with wrapper, pipe and `cd`", _each(lambda: analyse_command(_COMMANDS[1]), count))
    yield Row(f"facts of a beginning, of {len(_COMMANDS[1])} characters", _each(lambda: _started(1), count))
    facts = _started(1)
    yield Row(
        f"facts of an end, of {len(_OUTPUT):,} characters", _each(lambda: end_facts(_OUTPUT, started=facts), count)
    )
    long = _OUTPUT * 40
    yield Row("summary in an output of 64 kB", _each(lambda: read_any_summary(long), count // 10 or 1))
    text = ("export PATH=/usr/bin and token=abcdef then run it with --verbose\n" * 25)[:1600]
    yield Row("redaction of 1,600 characters", _each(lambda: redact(text), count))


def _each(call: Callable[[], object], count: int) -> str:
    call()
    start = process_time()
    for _ in range(count):
        call()
    return f"{(process_time() - start) / count * 1e6:.1f} µs"


def _started(number: int) -> dict[str, object]:
    command = _COMMANDS[number % len(_COMMANDS)]
    return start_facts("Bash", {"command": command}, kind="shell", changes=True, item=f"p1/{number % 20}")


def _events(count: int) -> list[Event]:
    """Beginnings and ends of calls, one after the other, every tenth check failing."""
    starts = [_started(number) for number in range(20)]
    ends = [
        end_facts("1 failed in 0.1s" if number % 10 == 1 else _OUTPUT, started=starts[number]) for number in range(20)
    ]
    found: list[Event] = []
    for number in range(count // 2):
        data = {"call_id": f"c{number}", "name": "Bash"}
        for offset, kind, facts in ((0, "tool.started", starts), (1, "tool.finished", ends)):
            seq = 2 * number + offset
            at = _AT + timedelta(seconds=seq)
            found.append(Event(seq, at, kind, "a", "/p", "s", "a", {**facts[number % 20], **data}))
    return found

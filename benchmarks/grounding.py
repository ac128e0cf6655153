"""Grading: what a grade, a state and the facts of a call cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from time import process_time

from benchmarks.report import Row
from benchmarks.scale import Scale
from punchlist.core.checks.outcome import analyse_command
from punchlist.core.checks.summaries import read_any_summary
from punchlist.core.grounding.grades import Completion, judge
from punchlist.core.grounding.observe import end_facts, start_facts
from punchlist.core.grounding.session import NO_RECORD, Change, CheckRun, session_state
from punchlist.core.shell.touches import Touch
from punchlist.text.redaction import redact

NOTE = (
    "Microseconds of CPU time. The first rows are what a check costs when it ends; the rows below are what a host pays "
    "for an event before there is one."
)
_AT = datetime(2026, 3, 1, tzinfo=UTC)
_COMMANDS = ("ls -la src", "cd app && uv run pytest -q 2>&1 | tail -20", "git commit -am wip", "sed -i s/a/b/ src/x.py")
_OUTPUT = "tests/test_a.py ........ [ 50%]\n" * 60 + "================ 120 passed, 3 warnings in 4.31s ================"


def run(scale: Scale) -> Iterator[Row]:
    record = NO_RECORD
    for number in range(scale.count(400, least=20)):
        edit = Touch("edited", f"src/part{number}.py")
        record = record.add_change(Change((edit,), 10 * number, (number % 8,)))
        record = record.add_run(_run(number), (number % 8,), changes_since=0)
    done = Completion(key="p1/3", agent=3, position=5_000, at=_AT, since=0, calls=12, files=("src/part3.py",))
    count = scale.count(2000, least=5)
    yield Row(f"grade of an item, by {len(record.checks)} checks", _each(lambda: judge(done, record), count))
    yield Row("state of a session", _each(lambda: session_state("s", record), count))
    yield Row("one more run of a check", _each(lambda: record.add_run(_run(9), (1,), changes_since=0), count))
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


def _run(number: int) -> CheckRun:
    """A run of one of 64 check programs, every tenth failing."""
    return CheckRun(
        name=f"check{number % 64}",
        family="test",
        outcome="failed" if number % 10 == 1 else "passed",
        started=10 * number + 1,
        finished=10 * number + 2,
        at=_AT,
        agent=number % 8,
        call=f"c{number}",
    )

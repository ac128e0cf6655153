"""Read all that a session did, from its beginning: tool calls, list writes and the user's turns, with their times.

Transcripts of Claude Code and Codex tell this. The subagents of a session are read along with it, in the order of time.
Half-written lines and unknown records are passed over.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from heapq import merge

from msgspec.structs import replace

from punchlist.errors import InvalidInput, PunchlistError
from punchlist.transcripts import zst
from punchlist.transcripts.formats import LOGS
from punchlist.transcripts.steps import (
    CallEnd,
    CallStart,
    ListWrite,
    Step,
    StepReader,
    SubagentStart,
    TokenUse,
    TurnEnd,
    add_bounded,
)
from punchlist.transcripts.values import MAIN, Transcript

_MOST_SEEN = 65_536
"""Ids of calls remembered to pass over copies: a resumed session begins with a copy of the one before."""

_NO_TIME = datetime.min.replace(tzinfo=UTC)


def read_steps(transcript: Transcript) -> Iterator[Step]:
    """Yield the steps of a session and its subagents, in order. `MAIN` is the agent whose transcript it is."""
    source, form = transcript.source, LOGS.get(transcript.format)
    if form is None or form.find_subagents is None or not os.path.isfile(source):
        problem = f"Tool calls are read from files of Claude Code and Codex; `{source}` is of {transcript.format}."
        raise InvalidInput(problem=problem)
    if transcript.origin.agent == MAIN:
        files = [_read_file(source, StepReader(form, None))]
        for file, begun in form.find_subagents(source, transcript.origin.session):
            files.append(_after(begun, _read_file(file, StepReader(form, begun.agent))))
    else:
        files = [_read_file(source, StepReader(form, MAIN))]
    steps = _without_copies(merge(*map(_with_times, files), key=_time_of))
    yield from (step for step in steps if not isinstance(step, TurnEnd | TokenUse))


def _read_file(file: str, reader: StepReader) -> Iterator[Step]:
    for found in zst.read_records(file):
        yield from reader.take(found)


def _after(begun: SubagentStart, steps: Iterator[Step]) -> Iterator[Step]:
    """Yield the start of a subagent at the time of its first step, then its steps as far as they can be read."""
    with suppress(OSError, PunchlistError):
        for step in steps:
            yield replace(begun, at=step.at)
            yield step
            yield from steps


def _with_times(steps: Iterable[Step]) -> Iterator[Step]:
    """Give each step without a time, or with an earlier one, that of the step before: files are merged by time."""
    last: datetime | None = None
    for step in steps:
        if step.at is not None and (last is None or step.at >= last):
            last = step.at
            yield step
        else:
            yield replace(step, at=last)


def _time_of(step: Step) -> datetime:
    return step.at or _NO_TIME


def _without_copies(steps: Iterable[Step]) -> Iterator[Step]:
    seen: dict[tuple[type[Step], str], None] = {}
    for step in steps:
        if isinstance(step, CallStart | CallEnd | ListWrite):
            key = (type(step), step.call_id)
            if key in seen:
                continue
            add_bounded(seen, key, None, _MOST_SEEN)
        yield step

"""What a Claude Code transcript tells of tasks: `TaskCreate` and `TaskUpdate` calls, each with its answer.

The id of a new task stands only in the answer, so a transcript is read forwards, and from where the last reading
ended. A call without an answer yet is left for the next reading. Where several answers share a line, their result
object is nobody's in particular, and the text is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import blake2b

from msgspec import Struct

from punchlist.core.task import CreateTask, UpdateTask
from punchlist.dialects.claude_tasks import parse
from punchlist.transcripts.at_hand import RecordTranscript
from punchlist.transcripts.decoding import name, object_at
from punchlist.transcripts.lines import LineTranscript
from punchlist.transcripts.reverse import Log
from punchlist.transcripts.values import Call, Outcome

TOOLS = ("TaskCreate", "TaskUpdate")
_CREATED = re.compile(r"Task #(\d{1,18}) created successfully")
_UPDATED = re.compile(r"Updated task #\d{1,18}\b")
_PATIENCE = 4 * 1024 * 1024
"""Bytes behind a call after which nobody waits for its answer any more."""

_MARK = 256


class TaskWrite(Struct, frozen=True):
    """A call that succeeded. `task` is the id that a new task was given, or of the task that was changed."""

    task: str
    command: CreateTask | UpdateTask
    call: Call


class TaskReading:
    """The task calls of a transcript from a place on. `end` is where to read on, once all were read."""

    def __init__(self, transcript: LineTranscript | RecordTranscript, start: int = 0) -> None:
        self._transcript = transcript
        self._start = start
        self.end = transcript.end

    def __iter__(self) -> Iterator[TaskWrite]:
        for at, call, outcome in self._transcript.answered(*TOOLS, start=self._start):
            if outcome is None:
                if call.call_id is not None and self._transcript.end - at < _PATIENCE:
                    self.end = min(self.end, at)
                continue
            write = task_write(call, outcome)
            if write is not None:
                yield write


def task_write(call: Call, outcome: Outcome) -> TaskWrite | None:
    """What a call did, by its answer; None if it did nothing."""
    if outcome.is_error or call.name not in TOOLS:
        return None
    command = parse(call.name, call.args)
    if isinstance(command, CreateTask):
        told = _CREATED.search(outcome.text)
        task = name(object_at(outcome.data, "task").get("id")) or (None if told is None else told[1])
        return None if task is None else TaskWrite(task, command, call)
    if isinstance(command, UpdateTask) and _succeeded(outcome):
        return TaskWrite(command.id, command, call)
    return None


def _succeeded(outcome: Outcome) -> bool:
    said = object_at(outcome.data).get("success")
    return said if isinstance(said, bool) else _UPDATED.match(outcome.text) is not None


def mark(path: str, place: int) -> bytes | None:
    """What stands before a place of a file, as a fingerprint; None if the file ends before it.

    A transcript grows at its end, so before a place that was once read there is always the same.
    """
    with Log(path) as log:
        if place > log.size:
            return None
        return blake2b(log.read(max(0, place - _MARK), place), digest_size=16).digest()

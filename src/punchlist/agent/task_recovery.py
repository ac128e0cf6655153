"""Tasks that come back: the task calls of a Claude Code transcript, replayed in order and at their own time."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from punchlist.agent.calls import fingerprint_of, kept
from punchlist.agent.history import History
from punchlist.dialects import dialect as dialect_named
from punchlist.errors import InvalidInput
from punchlist.store import Transaction
from punchlist.store.contract import StoredCall

if TYPE_CHECKING:
    from punchlist.core.task import Task, TaskResult
    from punchlist.tasks import Work
    from punchlist.transcripts.at_hand import RecordTranscript
    from punchlist.transcripts.claude_tasks import TaskReading, TaskWrite
    from punchlist.transcripts.lines import LineTranscript

_SLICE = 0.01
_AT_ONCE = 128
_DIALECT = "claude-tasks"
_UNANSWERED = StoredCall(b"", b"")
"""Stands for a reply that is not known."""


class TaskRecovery(History):
    """Takes tasks over from transcripts."""

    def restore(
        self,
        records_or_path: Any,
        format: str | None = None,
        *,
        session: str | None = None,
        subagent: str | None = None,
        by: str | None = None,
        force: bool = False,
    ) -> bool:
        """Takes over the list of a transcript, or its tasks where this agent's dialect writes tasks.

        See `Recovery.restore` for lists. Of tasks there is one list a session, so `session`, `subagent`, `by` and
        `force` mean nothing for them; True: what the transcript tells of tasks is on the board.
        """
        if self._dialect.layer != "tasks":
            return super().restore(records_or_path, format, session=session, subagent=subagent, by=by, force=force)
        count = self.restore_tasks(records_or_path, format)
        return count > 0 or self.board.store.read(self._has_tasks)

    def _has_tasks(self, tx: Transaction) -> bool:
        return tx.tasks.find_list(self.task_list) is not None

    def restore_tasks(self, records_or_path: Any, format: str | None = None) -> int:
        """Replays the task calls of a transcript on this agent's list of tasks; how many were new.

        Of a file only what was added since the last time is read. A call that the board has answered itself, or read
        before, is passed over; a task that was changed on the board later than the transcript says keeps its state.
        """
        from punchlist.transcripts.at_hand import RecordTranscript
        from punchlist.transcripts.claude_tasks import TaskReading
        from punchlist.transcripts.formats import open_transcript
        from punchlist.transcripts.lines import LineTranscript

        transcript = open_transcript(records_or_path, format)
        if transcript.format != "claude-code" or not isinstance(transcript, LineTranscript | RecordTranscript):
            problem = f"Tasks are restored from transcripts of Claude Code; `{transcript.source}` is none."
            raise InvalidInput(problem=problem)
        reading = TaskReading(transcript, self._read_before(transcript))
        writes = iter(reading)
        count = 0
        while batch := list(islice(writes, _AT_ONCE)):
            count += self._replay_tasks(batch, transcript.source)
        self._read_upto(transcript, reading)
        if count:
            self.board.tasks_changed(self.task_list)
        return count

    def _read_before(self, transcript: LineTranscript | RecordTranscript) -> int:
        """Where the last reading of this file ended; its beginning where it is not the file that it was."""
        from punchlist.transcripts.claude_tasks import mark

        def known(tx: Transaction) -> tuple[int, bytes] | None:
            where = tx.tasks.find_list(self.task_list)
            return None if where is None else tx.tasks.reading(where, transcript.source)

        found = self.board.store.read(known) if os.path.isabs(transcript.source) else None
        if found is None or mark(transcript.source, found[0]) != found[1]:
            return 0
        return found[0]

    def _read_upto(self, transcript: LineTranscript | RecordTranscript, reading: TaskReading) -> None:
        from punchlist.transcripts.claude_tasks import mark

        stands = mark(transcript.source, reading.end) if os.path.isabs(transcript.source) else None

        def save(tx: Transaction) -> None:
            where = tx.tasks.find_list(self.task_list)
            if where is not None and stands is not None:
                tx.tasks.save_reading(where, transcript.source, reading.end, stands)

        self.board.store.transact(save, lasting=False)  # it can be read again

    def _replay_tasks(self, writes: Sequence[TaskWrite], source: str) -> int:
        """Replays calls in as many slices as it takes, so that others may write between; how many were new."""
        done = count = 0
        while done < len(writes):
            rest = writes[done:]
            seen, new = self.board.store.transact(lambda tx, rest=rest: self._replay_slice(tx, rest, source))
            done += seen
            count += new
        return count

    def _replay_slice(self, tx: Transaction, writes: Sequence[TaskWrite], source: str) -> tuple[int, int]:
        from punchlist.tasks.work import Work

        ends, now = time.monotonic() + _SLICE, self.board.now()
        row = self._joined(tx, min(writes[0].call.origin.at or now, now), active=False)
        seen = new = 0
        for write in writes:
            seen += 1
            call_id = write.call.call_id
            if call_id is None or tx.call(row, call_id) is None:
                at = min(write.call.origin.at or now, now)
                work = Work(tx, self.task_list, project=row.project, now=at, by=self.name, agent=row)
                answer = self._done_again(work, write)
                if call_id is not None:
                    tx.save_call(row, call_id, answer, at=at)
                new += 1
            if time.monotonic() > ends:
                break
        return seen, new

    def _done_again(self, work: Work, write: TaskWrite) -> StoredCall:
        """Does what the call did; its reply, for the same call coming again."""
        result = _replayed(work, write)
        if result is None:
            return _UNANSWERED
        dialect = dialect_named(_DIALECT)
        fingerprint = fingerprint_of(f"{_DIALECT}/{write.call.name}", write.call.args)
        return kept(fingerprint, dialect.render(result))


def _replayed(work: Work, write: TaskWrite) -> TaskResult | None:
    """What came of the call; None if it is history, or about a task that is not here."""
    from punchlist.core.task import CreateTask, TaskResult
    from punchlist.tasks.change import number_of
    from punchlist.tasks.facts import record_change, record_new

    command = write.command
    if isinstance(command, CreateTask):
        number = number_of(write.task)
        after = None if number is None else record_new(work, number, command.subject, command.fields)
        return None if after is None else TaskResult(command, after=after)
    row = work.find(write.task)
    if row is None or _is_later(row.task, work.now):
        return None
    before = row.task
    if command.delete:
        work.delete(before.id, fence=before.fence)  # it was done, whoever has the task by now
        return TaskResult(command, before)
    fields = dict(command.fields)
    if before.status in command.unless:
        fields.pop("status", None)
    return TaskResult(command, before, record_change(work, before.id, fields))


def _is_later(task: Task, at: datetime) -> bool:
    return task.updated_at is not None and task.updated_at > at

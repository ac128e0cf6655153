"""Restore lists and tasks: from a transcript, or from the session that this one continues."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

from punchlist.agent.calls import PASSED, RECORDED, describe_late_write, encode_call, fingerprint_of
from punchlist.agent.context import AgentRunner, check_name
from punchlist.core.apply import Applied, adopt, apply, recover
from punchlist.core.commands import Policy
from punchlist.core.events import Draft
from punchlist.core.task import CreateTask, TaskResult, TaskStatus
from punchlist.core.todo import ListState, TodoList
from punchlist.dialects import dialect as dialect_named
from punchlist.dialects.base import Result
from punchlist.errors import InvalidInput
from punchlist.store import AgentRow, Transaction
from punchlist.store.records import SNAPSHOT_EVERY, LastWrite, StoredCall
from punchlist.tasks.exchange import record_change, record_new
from punchlist.tasks.work import Work, parse_task_id
from punchlist.transcripts.claude_code import TaskReading, TaskWrite, fingerprint_before
from punchlist.transcripts.decoding import decode
from punchlist.transcripts.formats import list_earlier_calls, list_sessions, open_transcript
from punchlist.transcripts.lines import LineTranscript
from punchlist.transcripts.values import MAIN, Transcript, TranscriptCall, Written, name_write

T = TypeVar("T")

SLICE = 0.01
"""Seconds after which an import lets other writers in; its commit comes on top."""

_READ, _WRITTEN = 128, 32
"""Writes that are read ahead, and that go into one transaction at most."""

_TASKS_DIALECT = "claude-tasks"


class _Base(NamedTuple):
    """The list before the restore: its state, the row that has it, and its agent's last write."""

    state: ListState
    row: AgentRow | None = None
    last: LastWrite | None = None
    session: str | None = None
    """The session from which the list is adopted, with these `events`."""
    events: tuple[Draft, ...] = ()


class _Past(NamedTuple):
    """Earlier session ids of a transcript, and the calls near its latest list; the latest first."""

    sessions: Sequence[str] = ()
    calls: Sequence[TranscriptCall] = ()


class Recovery:
    """Restores an agent's list, its history and its tasks from transcripts."""

    def __init__(self, agent: AgentRunner) -> None:
        self._agent = agent

    def restore_list(
        self, transcript: Transcript, written: Written | None, *, by: str, force: bool, label: str | None
    ) -> tuple[bool, str | None]:
        """Return True if the transcript's list is the agent's now, and the session whose other agents' lists follow."""
        check_name("author", by)
        past = self._past(transcript, written)

        def work(tx: Transaction) -> tuple[bool, str | None]:
            now = self._agent.board.now()
            row = tx.agent(self._agent.session, self._agent.name)
            base = self._base(tx, row, transcript, past)
            state, events, taken = base.state, base.events, bool(base.events)
            calls: dict[str, StoredCall] = {}
            if written is not None:
                at = min(written.origin.at or now, now)
                applied = self._recover_list(state, written, transcript, at, by=by)
                known = base.row is not None and tx.call(base.row, name_write(written)) is not None
                late = not force and (known or _is_late(base.last, written, past.calls))
                taken = taken or not late or not applied.events
                if not late:
                    calls |= {call.call_id: PASSED for call in past.calls}
                if known or not late:
                    calls[name_write(written)] = self._reply(written, state, applied, transcript, at)
                if not late:
                    state, events = applied.state, (*events, *applied.events)
            if events:
                row = row or self._agent.join(tx, now, active=False, label=label)
                tx.save_list(row, state, unseen=row.unseen, at=now)
                tx.add_events(row, events, by=by, at=now)
            if row is not None:
                for key in [key for key in calls if tx.call(row, key) is None]:
                    tx.save_call(row, key, calls[key], at=now)
            return taken, base.session

        return self._agent.board.store.transact(work)

    def _past(self, transcript: Transcript, written: Written | None) -> _Past:
        calls: Sequence[TranscriptCall] = ()
        if written is not None:
            agent = written.origin.agent
            calls = list_earlier_calls(transcript, subagent=None if agent == MAIN else agent)
        row = self._agent.load_row()
        has_list = row is not None and row.state.todos.revision > 0
        return _Past(() if has_list else list_sessions(transcript), calls)

    def _base(self, tx: Transaction, row: AgentRow | None, transcript: Transcript, past: _Past) -> _Base:
        if row is not None and row.state.todos.revision:
            return _Base(row.state, row, tx.history.last_write(row))
        state = ListState(TodoList()) if row is None else row.state
        for session in chain(past.sessions, self._find_answered_sessions(tx, transcript, past.calls)):
            before = tx.agent(session, self._agent.name) if session != self._agent.session else None
            if before is not None and before.state.todos.revision and before.project == self._agent.project:
                last = tx.history.last_write(before)
                written_at = None if last is None else last.at
                applied = adopt(state, before.state, source=f"session {session}", written_at=written_at)
                return _Base(applied.state, before, last, session, applied.events)
        return _Base(state)

    def _find_answered_sessions(
        self, tx: Transaction, transcript: Transcript, calls: Sequence[TranscriptCall]
    ) -> Iterator[str]:
        """Yield sessions in which the board answered these calls: a copied transcript has new ids, not new calls."""
        for call in () if transcript.is_store else calls:
            fingerprint = _fingerprint(transcript.dialect, call)
            session = tx.history.find_session_of_call(self._agent.project, self._agent.name, call.call_id, fingerprint)
            if session is not None:
                yield session

    def _recover_list(
        self, state: ListState, written: Written, transcript: Transcript, at: datetime, *, by: str
    ) -> Applied:
        return recover(
            state,
            written.command,
            self._policy_of(transcript.dialect),
            at,
            by=by,
            source=transcript.source,
            written_at=written.origin.at,
            call_id=written.call_id,
        )

    def _reply(
        self, written: Written, before: ListState, applied: Applied, transcript: Transcript, at: datetime
    ) -> StoredCall:
        """Return the reply to store, for the same call coming again by another road."""
        call, dialect = written.call, dialect_named(transcript.dialect)
        if call is None or not dialect.has_tool(call.name):
            return RECORDED
        todos, after, durable = before.todos, applied.state.todos, self._agent.board.store.durable
        result = Result(written.command, todos, after, applied.problems, durable=durable, now=at)
        return encode_call(_fingerprint(dialect.name, call), dialect.render(result))

    def _policy_of(self, dialect: str) -> Policy:
        return self._agent.policy if dialect == self._agent.dialect.name else dialect_named(dialect).policy

    def open_latest(
        self, records_or_path: Any, format: str | None, *, session: str | None, subagent: str | None
    ) -> tuple[Transcript, Written | None]:
        transcript = open_transcript(records_or_path, format)
        return transcript, transcript.latest(subagent=subagent, session=self._conversation(transcript, session))

    def _conversation(self, transcript: Transcript, session: str | None) -> str | None:
        """Return the conversation to read from a store of several, by default this agent's own."""
        if not transcript.is_store or session is not None:
            return session
        if self._agent.session in transcript.sessions:
            return self._agent.session
        if len(transcript.sessions) > 1:
            problem = f"`{transcript.source}` holds {len(transcript.sessions)} conversations; name one with `session`."
            raise InvalidInput(problem=problem)
        return None

    # The whole history of a list.

    def import_history(
        self, records_or_path: Any, format: str | None, *, session: str | None, subagent: str | None
    ) -> int:
        transcript = open_transcript(records_or_path, format)
        writes = transcript.history(subagent=subagent, session=self._conversation(transcript, session))
        count = 0
        with ThreadPoolExecutor(1, thread_name_prefix="punchlist-transcript") as pool:
            batch = list(islice(writes, _READ))
            while batch:
                coming = pool.submit(lambda: list(islice(writes, _READ)))  # read on while these are written
                count += self._record_all(batch[:-1], transcript, durable=False)
                more = coming.result()
                # Only the last write of all waits for the disk, and with it all before it.
                count += self._record_all(batch[-1:], transcript, durable=not more)
                batch = more
        return count

    def _record_all(self, writes: Sequence[Written], transcript: Transcript, *, durable: bool) -> int:
        return self._transact_in_slices(
            writes, lambda tx, rest: self._record(tx, rest[:_WRITTEN], transcript), durable=durable
        )

    def _transact_in_slices(
        self,
        writes: Sequence[T],
        step: Callable[[Transaction, Sequence[T]], tuple[int, int]],
        *,
        durable: bool = True,
    ) -> int:
        """Run `step` on the rest of the writes until none is left, each in its own transaction; sum what was new.

        A step takes about `SLICE` seconds, so that other processes can write between two of them. It returns how
        many writes it looked at, and how many of them were new.
        """
        done = count = 0
        while done < len(writes):
            rest = writes[done:]
            seen, new = self._agent.board.store.transact(lambda tx, rest=rest: step(tx, rest), durable=durable)
            done += seen
            count += new
        return count

    def _record(self, tx: Transaction, writes: Sequence[Written], transcript: Transcript) -> tuple[int, int]:
        ends = time.monotonic() + SLICE
        now = self._agent.board.now()
        row = self._agent.join(tx, min(writes[0].origin.at or now, now))
        last, state = tx.history.last_write(row), row.state
        since = None if last is None else last.at
        keys = [name_write(written) for written in writes]
        stored = {key: call for key in keys if (call := tx.call(row, key)) is not None}
        known = {key for key, call in stored.items() if call != PASSED}
        calls: list[tuple[str, StoredCall, datetime]] = []
        seen = 0
        for written, key in zip(writes, keys, strict=True):
            seen += 1
            if key not in known:
                known.add(key)
                told = written.origin.at or since or now
                at = min(told, now)
                if key in stored or (since is not None and told < since):
                    note = describe_late_write(written.command, source=transcript.source, call_id=written.call_id)
                    tx.add_events(row, [note], by=self._agent.name, at=at)
                    calls.append((key, RECORDED, at))
                else:
                    applied = self._replay(tx, row, state, written, transcript, at)
                    calls.append((key, self._reply(written, state, applied, transcript, at), at))
                    state, since = applied.state, told
                    if state.todos.revision % SNAPSHOT_EVERY == 0:
                        row = _save_list(tx, row, state, at)
            if time.monotonic() > ends:
                break
        if calls and since is not None:
            _save_list(tx, row, state, min(since, now))
        for key, answer, at in calls:
            tx.save_call(row, key, answer, at=at)
        return seen, len(calls)

    def _replay(
        self, tx: Transaction, row: AgentRow, state: ListState, written: Written, transcript: Transcript, at: datetime
    ) -> Applied:
        """Apply a write as if the agent made it then, and add its events; the caller saves the list."""
        applied = apply(state, written.command, self._policy_of(transcript.dialect), at, by=self._agent.name)
        if applied.refused:
            problem = applied.problems[0]
            refused = Draft("list.refused", {"code": problem.code, "problem": problem.text[:500]})
            tx.add_events(row, [refused], by=self._agent.name, at=at)
            return applied
        *events, last = applied.events
        if last.kind == "list.replaced":
            last = Draft(last.kind, {**last.data, "source": transcript.source})
        tx.add_events(row, (*events, last), by=self._agent.name, at=at)
        return applied

    # Tasks: the task calls of a Claude Code transcript, replayed in order and at their own time.

    def restore_tasks(self, records_or_path: Any, format: str | None) -> int:
        transcript = open_transcript(records_or_path, format)
        if transcript.format != "claude-code" or not isinstance(transcript, LineTranscript):
            problem = f"Tasks are restored from transcripts of Claude Code; `{transcript.source}` is none."
            raise InvalidInput(problem=problem)
        source = transcript.source
        reading = TaskReading(transcript, self._read_before(source))
        writes = iter(reading)
        count = 0
        while batch := list(islice(writes, _READ)):
            count += self._transact_in_slices(batch, self._replay_tasks)
        self._save_reading(source, reading)
        return count

    def _read_before(self, source: str) -> int:
        """Return where the last reading of this file ended; 0 where it is not the file that it was."""

        def load(tx: Transaction) -> tuple[int, bytes] | None:
            where = tx.tasks.find_list(self._agent.task_list)
            return None if where is None else tx.tasks.reading(where, source)

        found = self._agent.board.store.read(load) if os.path.isabs(source) else None
        if found is None or fingerprint_before(source, found[0]) != found[1]:
            return 0
        return found[0]

    def _save_reading(self, source: str, reading: TaskReading) -> None:
        stands = fingerprint_before(source, reading.end) if os.path.isabs(source) else None

        def save(tx: Transaction) -> None:
            where = tx.tasks.find_list(self._agent.task_list)
            if where is not None and stands is not None:
                tx.tasks.save_reading(where, source, reading.end, stands)

        self._agent.board.store.transact(save, durable=False)  # if it is lost, the file is read again

    def _replay_tasks(self, tx: Transaction, writes: Sequence[TaskWrite]) -> tuple[int, int]:
        ends, now = time.monotonic() + SLICE, self._agent.board.now()
        row = self._agent.join(tx, min(writes[0].call.origin.at or now, now), active=False)
        seen = new = 0
        for write in writes:
            seen += 1
            call_id = write.call.call_id
            if tx.call(row, call_id) is None:
                at = min(write.call.origin.at or now, now)
                work = Work(tx, self._agent.task_list, project=row.project, now=at, by=self._agent.name, agent=row)
                tx.save_call(row, call_id, _replay_task(work, write), at=at)
                new += 1
            if time.monotonic() > ends:
                break
        return seen, new


def _replay_task(work: Work, write: TaskWrite) -> StoredCall:
    """Do what a task call did; return its reply, for the same call coming again."""
    result = _task_result(work, write)
    if result is None:
        return RECORDED
    fingerprint = fingerprint_of(f"{_TASKS_DIALECT}/{write.call.name}", write.call.args)
    return encode_call(fingerprint, dialect_named(_TASKS_DIALECT).render(result))


def _task_result(work: Work, write: TaskWrite) -> TaskResult | None:
    """Return the result of the call; None if the task is not here, or was changed later."""
    command = write.command
    if isinstance(command, CreateTask):
        number = parse_task_id(write.task)
        after = None if number is None else record_new(work, number, command.subject, command.fields)
        return None if after is None else TaskResult(command, after=after)
    row = work.find(write.task)
    if row is None or (row.task.updated_at is not None and row.task.updated_at > work.now):
        return None
    before = row.task
    if command.delete:
        work.delete(before.id, fence=before.fence)  # it was done, no matter which worker has the task now
        return TaskResult(command, before)
    fields = dict(command.fields)
    if before.status in command.unless and before.status is not TaskStatus.IN_PROGRESS:
        fields.pop("status", None)
    return TaskResult(command, before, record_change(work, before.id, fields))


def _save_list(tx: Transaction, row: AgentRow, state: ListState, at: datetime) -> AgentRow:
    tx.save_list(row, state, unseen=row.unseen, at=at)
    return tx.agent(row.session, row.name) or row


def _fingerprint(dialect: str, call: TranscriptCall) -> bytes:
    """Return the fingerprint of the call as a host would make it; some transcripts keep arguments as JSON text."""
    args = decode(call.args) if isinstance(call.args, str) else call.args
    return fingerprint_of(f"{dialect}/{call.name}", args)


def _is_late(last: LastWrite | None, written: Written, earlier: Sequence[TranscriptCall]) -> bool:
    """True if the board's list is the later one; where nothing tells, the board's stands.

    Where the board's came out of the same transcript, the order there decides, and no clock.
    """
    if last is None or (last.call_id is not None and any(call.call_id == last.call_id for call in earlier)):
        return False
    return written.origin.at is None or written.origin.at < last.at

"""A list that comes back: from a transcript, or from the session that this one goes on from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple

from punchlist.agent.calls import PASSED, RECORDED, fingerprint_of, kept
from punchlist.agent.handle import Handle, check_name
from punchlist.core.apply import Applied
from punchlist.core.commands import Policy
from punchlist.core.events import Draft
from punchlist.core.recovery import adopted, recovered
from punchlist.core.todo import ListState, TodoList
from punchlist.dialects import dialect as dialect_named
from punchlist.dialects.base import Result
from punchlist.errors import InvalidInput
from punchlist.store import AgentRow, Transaction
from punchlist.store.contract import LastWrite, StoredCall
from punchlist.transcripts.values import MAIN, Call, Transcript, Written


class _Base(NamedTuple):
    """The list before: what it is, whose row has it, and what its agent wrote last.

    `session` is the one from which it was adopted, with what `events`.
    """

    state: ListState
    row: AgentRow | None = None
    last: LastWrite | None = None
    session: str | None = None
    events: tuple[Draft, ...] = ()


class _Past(NamedTuple):
    """What a transcript tells of the time before: ids of sessions, and calls near its latest list; latest first."""

    sessions: Sequence[str] = ()
    calls: Sequence[Call] = ()


class Recovery(Handle):
    """Takes lists over from transcripts."""

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
        """Takes over the list of a transcript: a path, or its records, oldest first.

        True: the transcript's list is this agent's, as far as people have not changed it since; nothing is written
        if it already was. False: there is none, or the agent wrote the list on the board later, which stands (`force`
        puts it aside all the same). A write that was taken over once, by whichever road, is history from then on.
        A session of the same project under whose id the conversation went on before is adopted first, with the lists of
        all its agents.

        `format` is one of `transcripts.formats.FORMATS`, by default told from the transcript. `session` chooses in a
        store of several conversations, by default this agent's own. `subagent` is the id of one whose list is meant.
        """
        from punchlist.transcripts.formats import open_transcript

        transcript = open_transcript(records_or_path, format)
        conversation = self._conversation(transcript, session)
        written = transcript.latest(subagent=subagent, session=conversation)
        return self.take_over(transcript, written, by=by, force=force)

    def take_over(
        self,
        transcript: Transcript,
        written: Written | None,
        *,
        by: str | None = None,
        force: bool = False,
        label: str | None = None,
    ) -> bool:
        """`restore`, for a transcript that was read already. `label` is for an agent that is not on the board yet."""
        author = by or self.name
        check_name("author", author)
        past = self._past(transcript, written)
        changed, before = False, None

        def work(tx: Transaction) -> bool:
            nonlocal changed, before
            now = self.board.now()
            row = tx.agent(self.session, self.name)
            base = self._base(tx, row, transcript, past)
            state, before, events, taken = base.state, base.session, base.events, bool(base.events)
            calls: dict[str, StoredCall] = {}
            if written is not None:
                at = min(written.origin.at or now, now)
                applied = self._recovered(state, written, transcript, at, by=author)
                known = base.row is not None and tx.call(base.row, key_of(written)) is not None
                late = not force and (known or _is_late(base.last, written, past.calls))
                taken = taken or not late or not applied.events
                if not late:
                    calls |= {call.call_id: PASSED for call in past.calls if call.call_id is not None}
                if known or not late:
                    calls[key_of(written)] = self._reply(written, state, applied, transcript, at)
                if not late:
                    state, events = applied.state, (*events, *applied.events)
            changed = bool(events)
            if changed:
                row = row or self._welcomed(tx, now, label)
                tx.save_list(row, state, unseen=row.unseen, at=now)
                tx.add_events(row, events, by=author, at=now)
            if row is not None:
                for key in [key for key in calls if tx.call(row, key) is None]:
                    tx.save_call(row, key, calls[key], at=now)
            return taken

        taken = self.board.store.transact(work)
        if changed:
            self._changed()
        if before is not None:
            self.board.adopt(before, self.session, by=author)
        return taken

    def _past(self, transcript: Transcript, written: Written | None) -> _Past:
        from punchlist.transcripts.past import calls_before, sessions_of  # loads what reads lines

        calls: Sequence[Call] = ()
        if written is not None:
            agent = written.origin.agent
            calls = calls_before(transcript, subagent=None if agent == MAIN else agent)
        row = self._row()
        has_list = row is not None and row.state.todos.revision > 0
        return _Past(() if has_list else sessions_of(transcript), calls)

    def _base(self, tx: Transaction, row: AgentRow | None, transcript: Transcript, past: _Past) -> _Base:
        if row is not None and row.state.todos.revision:
            return _Base(row.state, row, tx.history.last_write(row))
        state = ListState(TodoList()) if row is None else row.state
        for session in chain(past.sessions, self._answered(tx, transcript, past.calls)):
            before = tx.agent(session, self.name) if session != self.session else None
            if before is not None and before.state.todos.revision and before.project == self._project:
                last = tx.history.last_write(before)
                written_at = None if last is None else last.at
                applied = adopted(state, before.state, source=f"session {session}", written_at=written_at)
                return _Base(applied.state, before, last, session, applied.events)
        return _Base(state)

    def _answered(self, tx: Transaction, transcript: Transcript, calls: Sequence[Call]) -> Iterator[str]:
        """Sessions in which the board answered these very calls: a copy may have its ids rewritten, not its calls."""
        for call in () if transcript.is_store else calls:
            fingerprint = _fingerprint(transcript.dialect, call)
            session = tx.history.answered(self._project, self.name, call.call_id or "", fingerprint)
            if session is not None:
                yield session

    def _recovered(
        self, state: ListState, written: Written, transcript: Transcript, at: datetime, *, by: str
    ) -> Applied:
        policy, told = self._policy_of(transcript.dialect), written.origin.at
        return recovered(
            state,
            written.command,
            policy,
            at,
            by=by,
            source=transcript.source,
            written_at=told,
            call_id=written.call_id,
        )

    def _reply(
        self, written: Written, before: ListState, applied: Applied, transcript: Transcript, at: datetime
    ) -> StoredCall:
        """The reply, for the same call coming again by another road."""
        call, dialect = written.call, dialect_named(transcript.dialect)
        if call is None or not dialect.has_tool(call.name):
            return RECORDED
        todos, after, durable = before.todos, applied.state.todos, self.board.store.durable
        result = Result(written.command, todos, after, applied.problems, durable=durable, now=at)
        return kept(_fingerprint(dialect.name, call), dialect.render(result))

    def _welcomed(self, tx: Transaction, now: datetime, label: str | None) -> AgentRow:
        row = tx.add_agent(self.session, self.name, project=self._project, at=now, label=label)
        tx.add_events(row, [Draft("agent.joined", {"project": row.project})], by=self.name, at=now)
        return row

    def _policy_of(self, dialect: str) -> Policy:
        return self._policy if dialect == self.dialect else dialect_named(dialect).policy

    def _conversation(self, transcript: Transcript, session: str | None) -> str | None:
        if not transcript.is_store or session is not None:
            return session
        if self.session in transcript.sessions:
            return self.session
        if len(transcript.sessions) > 1:
            problem = f"`{transcript.source}` holds {len(transcript.sessions)} conversations; name one with `session`."
            raise InvalidInput(problem=problem)
        return None


def key_of(written: Written) -> str:
    """What a write is known by: the id of its call, else its time and what it says."""
    if written.call_id is not None:
        return written.call_id
    said = repr((written.origin.at, written.command)).encode("utf-8", "backslashreplace")
    return f"transcript {blake2b(said, digest_size=12).hexdigest()}"


def _fingerprint(dialect: str, call: Call) -> bytes:
    """That of the call as a host would make it; some transcripts keep its arguments as a JSON text."""
    from punchlist.transcripts.decoding import decode

    args = decode(call.args) if isinstance(call.args, str) else call.args
    return fingerprint_of(f"{dialect}/{call.name}", args)


def _is_late(last: LastWrite | None, written: Written, earlier: Sequence[Call]) -> bool:
    """Whether the board's list is the later one; where nothing tells, the board's stands.

    Where the board's came out of the same transcript, the order there decides, and no clock.
    """
    if last is None or (last.call_id is not None and any(call.call_id == last.call_id for call in earlier)):
        return False
    return written.origin.at is None or written.origin.at < last.at

"""A list that comes back: from a transcript, or from the session that this one goes on from."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from punchlist.agent.handle import Handle, check_name
from punchlist.core.commands import Policy
from punchlist.core.events import Draft
from punchlist.core.recovery import adopted, recovered
from punchlist.core.todo import ListState, TodoList
from punchlist.dialects import dialect as dialect_named
from punchlist.errors import InvalidInput
from punchlist.store import AgentRow, Transaction
from punchlist.transcripts.values import Transcript, Written


class _Base(NamedTuple):
    """The list before: what it is, when it was written, and from which session it was adopted, with what events."""

    state: ListState
    since: datetime | None
    session: str | None = None
    events: tuple[Draft, ...] = ()


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
        if it already was. False: there is none, or the list on the board was written later and stands (`force` puts it
        aside all the same). A session of the same project under whose id the conversation went on before is adopted
        first, with the lists of all its agents.

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
        changed, before = False, None

        def work(tx: Transaction) -> bool:
            nonlocal changed, before
            now = self.board.now()
            row = tx.agent(self.session, self.name)
            base = self._base(tx, row, transcript)
            state, before, events, taken = base.state, base.session, base.events, bool(base.events)
            if written is not None:
                at = min(written.origin.at or now, now)
                policy = self._policy_of(transcript.dialect)
                applied = recovered(state, written.command, policy, at, by=author, source=transcript.source)
                late = not force and (_is_late(base.since, written) or _is_known(tx, row, written))
                taken = taken or not late or not applied.events
                if not late:
                    state, events = applied.state, (*events, *applied.events)
            changed = bool(events)
            if changed:
                row = row or self._welcomed(tx, now, label)
                tx.save_list(row, state, unseen=row.unseen, at=now)
                tx.add_events(row, events, by=author, at=now)
            return taken

        taken = self.board.store.transact(work)
        if changed:
            self._changed()
        if before is not None:
            self.board.adopt(before, self.session, by=author)
        return taken

    def _base(self, tx: Transaction, row: AgentRow | None, transcript: Transcript) -> _Base:
        if row is not None and row.state.todos.revision:
            return _Base(row.state, tx.history.written_at(row))
        state = ListState(TodoList()) if row is None else row.state
        for session in () if transcript.is_store else transcript.sessions:
            before = tx.agent(session, self.name) if session != self.session else None
            if before is not None and before.state.todos.revision and before.project == self._project:
                applied = adopted(state, before.state, source=f"session {session}")
                return _Base(applied.state, tx.history.written_at(before), session, applied.events)
        return _Base(state, None)

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


def _is_late(since: datetime | None, written: Written) -> bool:
    """Whether the board's list is the later one; without a time nobody can tell, and the board's stands."""
    return since is not None and (written.origin.at is None or written.origin.at < since)


def _is_known(tx: Transaction, row: AgentRow | None, written: Written) -> bool:
    """Whether this very call was answered by the board, so that what came after it came after it here too."""
    return row is not None and written.call_id is not None and tx.call(row, written.call_id) is not None

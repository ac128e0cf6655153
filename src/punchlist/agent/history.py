"""The whole history of a transcript: every write of its list, in order and at its own time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from itertools import islice
from typing import Any

from punchlist.agent.calls import fingerprint_of, kept
from punchlist.agent.recovery import Recovery
from punchlist.core.apply import Applied, apply
from punchlist.core.events import Draft
from punchlist.core.todo import WORDS, ListState
from punchlist.dialects import dialect as dialect_named
from punchlist.dialects.base import Result
from punchlist.store import AgentRow, Transaction
from punchlist.store.contract import StoredCall
from punchlist.store.transaction import SNAPSHOT_EVERY
from punchlist.transcripts.values import Transcript, Written

SLICE = 0.01
"""Seconds after which an import lets others write; its commit comes on top."""

_READ, _WRITTEN = 128, 32
"""How many writes are read ahead, and how many are written at once at most."""

_UNANSWERED = StoredCall(b"", b"")
"""Stands for a reply that is not known."""


class History(Recovery):
    """Records what an agent did before the board knew it."""

    def import_history(
        self,
        records_or_path: Any,
        format: str | None = None,
        *,
        session: str | None = None,
        subagent: str | None = None,
    ) -> int:
        """Records every list write of a transcript, in order and at its own time; how many were new.

        Each is applied as the agent's own write, and the last one is the list. Where the board's list was written
        later, older writes are noted (`transcript.write`) and change nothing. What the board knows by its call id is
        passed over, so the same transcript may be imported again.
        """
        from concurrent.futures import ThreadPoolExecutor

        from punchlist.transcripts.formats import open_transcript

        transcript = open_transcript(records_or_path, format)
        writes = transcript.history(subagent=subagent, session=self._conversation(transcript, session))
        count = 0
        with ThreadPoolExecutor(1, thread_name_prefix="punchlist-transcript") as pool:
            batch = list(islice(writes, _READ))
            while batch:
                coming = pool.submit(lambda: list(islice(writes, _READ)))  # read on while these are written
                count += self._record_all(batch[:-1], transcript, lasting=False)
                more = coming.result()
                # Only the last write of all waits for the disk, and with it all before it.
                count += self._record_all(batch[-1:], transcript, lasting=not more)
                batch = more
        if count:
            self._changed()
        return count

    def _record_all(self, writes: Sequence[Written], transcript: Transcript, *, lasting: bool) -> int:
        """Records writes in as many slices as it takes; how many were new."""
        done = count = 0
        while done < len(writes):
            rest = writes[done : done + _WRITTEN]
            seen, new = self.board.store.transact(
                lambda tx, rest=rest: self._record(tx, rest, transcript), lasting=lasting
            )
            done += seen
            count += new
        return count

    def _record(self, tx: Transaction, writes: Sequence[Written], transcript: Transcript) -> tuple[int, int]:
        """Records writes until a slice of time is used up: how many were looked at, and how many were new."""
        ends = time.monotonic() + SLICE
        now = self.board.now()
        row = self._joined(tx, min(writes[0].origin.at or now, now))
        since, state = tx.history.written_at(row), row.state
        keys = [written.call_id or _key(written) for written in writes]
        known = {key for key in keys if tx.call(row, key) is not None}
        calls: list[tuple[str, StoredCall, datetime]] = []
        seen = 0
        for written, key in zip(writes, keys, strict=True):
            seen += 1
            if key not in known:
                known.add(key)
                at = min(written.origin.at or since or now, now)
                if since is not None and at < since:
                    tx.add_events(row, [_note(written, transcript.source)], by=self.name, at=at)
                    calls.append((key, _UNANSWERED, at))
                else:
                    applied = self._replay(tx, row, state, written, transcript, at)
                    calls.append((key, self._reply(written, state, applied, transcript, at), at))
                    state, since = applied.state, at
                    if state.todos.revision % SNAPSHOT_EVERY == 0:
                        row = _saved(tx, row, state, at)
            if time.monotonic() > ends:
                break
        if calls and since is not None:
            _saved(tx, row, state, since)
        for key, answer, at in calls:
            tx.save_call(row, key, answer, at=at)
        return seen, len(calls)

    def _replay(
        self, tx: Transaction, row: AgentRow, state: ListState, written: Written, transcript: Transcript, at: datetime
    ) -> Applied:
        """The write as if the agent made it then, with its events; its list is for the caller to save."""
        applied = apply(state, written.command, self._policy_of(transcript.dialect), at, by=self.name)
        if applied.refused:
            problem = applied.problems[0]
            refused = Draft("list.refused", {"code": problem.code, "problem": problem.text[:500]})
            tx.add_events(row, [refused], by=self.name, at=at)
            return applied
        *events, last = applied.events
        if last.kind == "list.replaced":
            last = Draft(last.kind, {**last.data, "source": transcript.source})
        tx.add_events(row, (*events, last), by=self.name, at=at)
        return applied

    def _reply(
        self, written: Written, before: ListState, applied: Applied, transcript: Transcript, at: datetime
    ) -> StoredCall:
        """The reply, for the same call coming again by another road."""
        call, dialect = written.call, dialect_named(transcript.dialect)
        if call is None or not dialect.has_tool(call.name):
            return _UNANSWERED
        todos, after, durable = before.todos, applied.state.todos, self.board.store.durable
        result = Result(written.command, todos, after, applied.problems, durable=durable, now=at)
        return kept(fingerprint_of(f"{dialect.name}/{call.name}", call.args), dialect.render(result))


def _saved(tx: Transaction, row: AgentRow, state: ListState, at: datetime) -> AgentRow:
    tx.save_list(row, state, unseen=row.unseen, at=at)
    return tx.agent(row.session, row.name) or row


def _key(written: Written) -> str:
    """What a write without a call id is known by: its time and what it says."""
    said = repr((written.origin.at, written.command)).encode("utf-8", "backslashreplace")
    return f"transcript {blake2b(said, digest_size=12).hexdigest()}"


def _note(written: Written, source: str) -> Draft:
    items = [{"content": entry.content, "status": WORDS[entry.status]} for entry in written.command.entries]
    return Draft("transcript.write", {"source": source, "call_id": written.call_id, "items": items})

"""The whole history of a transcript: every write of its list, in order and at its own time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from punchlist.agent.calls import PASSED, RECORDED, noted
from punchlist.agent.recovery import Recovery, key_of
from punchlist.core.apply import Applied, apply
from punchlist.core.events import Draft
from punchlist.core.todo import ListState
from punchlist.store import AgentRow, Transaction
from punchlist.store.contract import StoredCall
from punchlist.store.transaction import SNAPSHOT_EVERY
from punchlist.transcripts.values import Transcript, Written

SLICE = 0.01
"""Seconds after which an import lets others write; its commit comes on top."""

_READ, _WRITTEN = 128, 32
"""How many writes are read ahead, and how many are written at once at most."""


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
        last, state = tx.history.last_write(row), row.state
        since = None if last is None else last.at
        keys = [key_of(written) for written in writes]
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
                    note = noted(written.command, source=transcript.source, call_id=written.call_id)
                    tx.add_events(row, [note], by=self.name, at=at)
                    calls.append((key, RECORDED, at))
                else:
                    applied = self._replay(tx, row, state, written, transcript, at)
                    calls.append((key, self._reply(written, state, applied, transcript, at), at))
                    state, since = applied.state, told
                    if state.todos.revision % SNAPSHOT_EVERY == 0:
                        row = _saved(tx, row, state, at)
            if time.monotonic() > ends:
                break
        if calls and since is not None:
            _saved(tx, row, state, min(since, now))
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


def _saved(tx: Transaction, row: AgentRow, state: ListState, at: datetime) -> AgentRow:
    tx.save_list(row, state, unseen=row.unseen, at=at)
    return tx.agent(row.session, row.name) or row

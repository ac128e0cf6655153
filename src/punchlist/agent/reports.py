"""What a host reports of tool calls: guidance counts it and grounding keeps it, in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from punchlist.agent.family import above
from punchlist.agent.kept import Kept, kept
from punchlist.agent.steps import Steps, as_text, short
from punchlist.core.events import Draft
from punchlist.core.verdict import FINE, Verdict
from punchlist.detect.pace import pace_of
from punchlist.guidance.memory import Record
from punchlist.guidance.situation import is_own
from punchlist.store import AgentRow, Transaction

T = TypeVar("T")


class Reports(Steps):
    """Like every step, none of these raises: on a fault it changes nothing, and logs."""

    def tool_started(self, call_id: str, name: str, args: Any) -> Verdict:
        tool, watching = short(name), self._ground.watching
        ours = is_own(tool, self._own)
        try:
            seen = watching.look(tool, args, ours=ours)  # before the transaction begins
        except Exception:
            return self._failed(FINE)

        item: str | None = None

        def decide(tx: Transaction, row: AgentRow, known: Kept, now: datetime) -> Verdict:
            nonlocal item
            if item is None or not tx.is_anew:
                item = watching.focus(tx, row)
            key, verdict = watching.started(tx, row, known, short(call_id), seen, now, item)
            if watching.beside:
                verdict = watching.guarded(tx, row, key, seen, verdict, now)
            known.guidance.started(key, tool, changes=seen.changes, ours=ours)
            if verdict.for_model:
                known.guidance.noticed(verdict.for_model)
            return verdict

        return self._prepared(decide, FINE)

    def tool_ended(
        self, call_id: str, result: Any, *, is_error: bool | None, exit_code: int | None, name: str, event: str
    ) -> None:
        watching, accounts = self._ground.watching, self._ground.accounts

        def decide(tx: Transaction, row: AgentRow, known: Kept, now: datetime) -> None:
            writes = accounts.tally(row.ledger).writes
            key, failed = watching.ended(
                tx,
                row,
                known,
                short(call_id),
                result,
                now,
                is_error=None if is_error is None else bool(is_error),
                exit_code=exit_code,
                name=short(name),
                event=event,
                writes=writes,
            )
            if watching.beside:
                watching.guard_ended(tx, row, key, result, now, failed)
            known.guidance.ended(key, writes, is_error=failed)

        self._prepared(decide, None)

    def tool_updated(self, call_id: str, text: str, name: str) -> None:
        def decide(tx: Transaction, row: AgentRow, record: Record) -> tuple[Record, None]:
            now = self._ground.board.now()
            self._ground.watching.updated(tx, row, short(call_id), as_text(text), now, name=short(name))
            return record, None

        self._step(decide, None)

    def output(self, text: str) -> None:
        said = as_text(text)
        data: dict[str, Any] = {"characters": len(said), **self._ground.watching.said(said)}

        def decide(tx: Transaction, row: AgentRow, record: Record) -> tuple[Record, None]:
            row = self._watched(tx, row)
            self._add(tx, row, Draft("agent.output", _given(data)))
            self._ground.watching.spoke(tx, row, self._ground.board.now())
            return record, None

        if said:
            self._step(decide, None)

    def finished(self, outcome: str, text: str) -> None:
        data: dict[str, Any] = {"outcome": outcome, **self._ground.watching.said(as_text(text))}

        def decide(tx: Transaction, row: AgentRow, record: Record) -> tuple[Record, None]:
            row = self._watched(tx, row)
            self._ground.watching.turn_ended(tx, row, self._ground.board.now(), Draft("agent.finished", _given(data)))
            return record, None

        self._step(decide, None, ends=True)

    def compacted(self) -> None:
        def decide(tx: Transaction, row: AgentRow, record: Record) -> tuple[Record, None]:
            self._ground.watching.compacted(tx, row)
            return record, None

        self._step(decide, None)

    def _watched(self, tx: Transaction, row: AgentRow) -> AgentRow:
        """The agent's row; it says from now on that its calls are reported."""
        ledger = self._ground.accounts.watching(row.ledger)
        if ledger is None:
            return row
        pace = pace_of(self._ground.accounts.tally(row.ledger).pace)
        tx.save_ledger(row, ledger)
        self._ground.watching.begin(tx, row, self._ground.board.now(), pace)
        for parent, _ in above(tx, row):  # what a child does is work of theirs, and their completions are judged by it
            pace = pace_of(self._ground.accounts.tally(parent.ledger).pace)
            known = self._ground.accounts.watching(parent.ledger)
            if known is not None:
                tx.save_ledger(parent, known)
                self._ground.watching.begin(tx, parent, self._ground.board.now(), pace)
        return row._replace(ledger=ledger)

    def _prepared(self, decide: Callable[[Transaction, AgentRow, Kept, datetime], T], otherwise: T) -> T:
        """A report on a tool call. What is decided anew happened when it was first told."""
        ground = self._ground
        at: datetime | None = None

        def work(tx: Transaction) -> tuple[T, list[str]]:
            nonlocal at
            at = now = at if at is not None and tx.is_anew else ground.board.now()
            row = ground.join(tx, now)
            if not ground.accounts.tally(row.ledger).watched:
                row = self._watched(tx, row)
            settled = [] if ground.watching.standing(row.state.todos).focus else ground.settle(tx, row, now)
            known = kept(tx, row.number)
            news, behind = known.guidance.news, known.behind
            try:
                result = decide(tx, row, known, now)
            except BaseException:
                tx.work.held.pop(row.number, None)
                raise
            if known.guidance.news != news and known.behind <= behind:
                known.is_due = True  # no hint tells of it
            known.reported(tx)
            return result, settled

        try:
            result, settled = ground.board.store.transact(work, lasting=False, lane=self._lane, soon=True)
            for name in settled:
                ground.board.tasks_changed(name)
            return result
        except Exception:
            return self._failed(otherwise)


def _given(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value}

"""What a host reports of tool calls: guidance counts it and grounding keeps it, in one transaction."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from punchlist.agent.family import above
from punchlist.agent.kept import Kept, kept
from punchlist.agent.steps import Ground, Steps, as_text, short
from punchlist.core.events import Draft
from punchlist.detect.findings import FINE, Verdict
from punchlist.detect.pace import pace_of
from punchlist.guidance.decisions import is_own
from punchlist.guidance.memory import Record
from punchlist.store import AgentRow, Transaction

if TYPE_CHECKING:
    from punchlist.agent.watching import Look

T = TypeVar("T")


class Reports(Steps):
    """Like every step, none of these raises: on a fault it changes nothing, and logs."""

    def tool_started(self, call_id: str, name: str, args: Any) -> Verdict:
        tool = short(name)
        ours = is_own(tool, self._own)
        try:
            seen = self._ground.watching.look(tool, args, ours=ours)  # before the transaction begins
        except Exception:
            return self._failed(FINE)
        return self._told(_Beginning(self, call_id, seen), FINE)

    def tool_ended(
        self, call_id: str, result: Any, *, is_error: bool | None, exit_code: int | None, name: str, event: str
    ) -> None:
        failed = None if is_error is None else bool(is_error)
        self._told(_End(self, call_id, result, failed, exit_code, name, event), None)

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

        self._step(decide, None)

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

    def _told(self, report: _Report[T], otherwise: T) -> T:
        """Takes in a report on a tool call."""
        ground = self._ground
        try:
            result, settled = ground.board.store.transact(report, durable=False)
            for name in settled:
                ground.board.tasks_changed(name)
            return result
        except Exception:
            return self._failed(otherwise)

    def take_in(self, report: _Report[T], tx: Transaction, now: datetime) -> tuple[T, list[str]]:
        """What a report comes to, and the lists of tasks in which something had come due."""
        ground = self._ground
        row = ground.join(tx, now)
        if not ground.accounts.tally(row.ledger).watched:
            row = self._watched(tx, row)
        settled = [] if ground.watching.standing(row.state.todos).focus else ground.settle(tx, row, now)
        known = kept(tx, row.number)
        news, behind = known.guidance.news, known.behind
        try:
            result = report.decide(tx, row, known, ground, now)
        except BaseException:
            tx.work.held.pop(row.number, None)
            raise
        if known.guidance.news != news and known.behind <= behind:
            known.is_due = True  # no hint tells of it
        known.reported(tx)
        return result, settled


class _Report(Generic[T]):
    """A report, to be decided within a transaction."""

    __slots__ = ("_call_id", "_steps")

    def __init__(self, steps: Reports, call_id: str) -> None:
        self._steps = steps
        self._call_id = short(call_id)

    def __call__(self, tx: Transaction) -> tuple[T, list[str]]:
        return self._steps.take_in(self, tx, self._steps.now())

    def decide(self, tx: Transaction, row: AgentRow, known: Kept, ground: Ground, now: datetime) -> T:
        raise NotImplementedError


class _Beginning(_Report[Verdict]):
    __slots__ = ("_seen",)

    def __init__(self, steps: Reports, call_id: str, seen: Look) -> None:
        super().__init__(steps, call_id)
        self._seen = seen

    def decide(self, tx: Transaction, row: AgentRow, known: Kept, ground: Ground, now: datetime) -> Verdict:
        watching, seen = ground.watching, self._seen
        item = watching.focus(tx, row)
        key, verdict = watching.started(tx, row, known, self._call_id, seen, now, item)
        if watching.beside:
            verdict = watching.guarded(tx, row, key, seen, verdict, now)
        known.guidance.started(key, seen.name, changes=seen.changes, ours=seen.ours)
        if verdict.for_model:
            known.guidance.noticed(verdict.for_model)
        return verdict


class _End(_Report[None]):
    __slots__ = ("_event", "_exit_code", "_is_error", "_name", "_result")

    def __init__(
        self,
        steps: Reports,
        call_id: str,
        result: Any,
        is_error: bool | None,
        exit_code: int | None,
        name: str,
        event: str,
    ) -> None:
        super().__init__(steps, call_id)
        self._result = result
        self._is_error = is_error
        self._exit_code = exit_code
        self._name = short(name)
        self._event = event

    def decide(self, tx: Transaction, row: AgentRow, known: Kept, ground: Ground, now: datetime) -> None:
        watching, writes = ground.watching, ground.accounts.tally(row.ledger).writes
        key, failed = watching.ended(
            tx,
            row,
            known,
            self._call_id,
            self._result,
            now,
            is_error=self._is_error,
            exit_code=self._exit_code,
            name=self._name,
            event=self._event,
            writes=writes,
        )
        if watching.beside:
            watching.guard_ended(tx, row, key, self._result, now, failed)
        known.guidance.ended(key, writes, is_error=failed)


def _given(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value}

"""What a host reports of tool calls: guidance counts it and grounding keeps it, in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from punchlist.agent.steps import Steps, short
from punchlist.core.events import Draft
from punchlist.core.verdict import FINE, Verdict
from punchlist.detect.pace import pace_of
from punchlist.guidance.memory import Record
from punchlist.guidance.running import ended, noticed, started
from punchlist.guidance.situation import is_own
from punchlist.store import AgentRow, Transaction
from punchlist.text.previews import LENGTH, preview

T = TypeVar("T")


class Reports(Steps):
    """Like every step, none of these raises: on a fault it changes nothing, and logs."""

    def tool_started(self, call_id: str, name: str, args: Any) -> Verdict:
        tool = short(name)
        ours = is_own(tool, self._own)

        def prepare() -> Callable[[Transaction, AgentRow, Record], tuple[Record, Verdict]]:
            seen = self._ground.watching.look(tool, args, ours=ours)

            def decide(tx: Transaction, row: AgentRow, record: Record) -> tuple[Record, Verdict]:
                row, now = self._watched(tx, row), self._ground.board.now()
                key, verdict = self._ground.watching.started(tx, row, short(call_id or ""), seen, now)
                verdict = self._ground.watching.guarded(tx, row, key, seen, verdict, now)
                after = started(record, key, tool, changes=seen.changes, ours=ours)
                if verdict.for_model:
                    after = noticed(after, verdict.for_model)
                return after, verdict

            return decide

        return self._prepared(prepare, FINE)

    def tool_ended(
        self, call_id: str, result: Any, *, is_error: bool, exit_code: int | None, name: str, event: str
    ) -> None:
        def decide(tx: Transaction, row: AgentRow, record: Record) -> tuple[Record, None]:
            row, now = self._watched(tx, row), self._ground.board.now()
            key, failed = self._ground.watching.ended(
                tx,
                row,
                short(call_id or ""),
                result,
                now,
                is_error=bool(is_error),
                exit_code=exit_code,
                name=short(name),
                event=event,
            )
            self._ground.watching.guard_ended(tx, row, key, result, now, failed)
            writes = self._ground.accounts.tally(row.ledger).writes
            after, _ = ended(record, key, writes, is_error=failed)
            return after, None

        self._step(decide, None)

    def tool_updated(self, call_id: str, text: str) -> None:
        def decide(tx: Transaction, row: AgentRow, record: Record) -> tuple[Record, None]:
            now = self._ground.board.now()
            self._ground.watching.updated(tx, row, short(call_id), str(text), now)
            return record, None

        self._step(decide, None)

    def output(self, text: str) -> None:
        said = str(text)
        data: dict[str, Any] = {"characters": len(said), "preview": self._preview(said)}

        def decide(tx: Transaction, row: AgentRow, record: Record) -> tuple[Record, None]:
            row = self._watched(tx, row)
            self._add(tx, row, Draft("agent.output", _given(data)))
            self._ground.watching.spoke(tx, row, self._ground.board.now())
            return record, None

        if said:
            self._step(decide, None)

    def finished(self, outcome: str, text: str) -> None:
        data: dict[str, Any] = {"outcome": outcome, "preview": self._preview(str(text))}

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

    def _preview(self, text: str) -> str:
        return preview(text, min(LENGTH, self._ground.watching.previews))

    def _watched(self, tx: Transaction, row: AgentRow) -> AgentRow:
        """The agent's row; it says from now on that its calls are reported."""
        ledger = self._ground.accounts.watching(row.ledger)
        if ledger is None:
            return row
        pace = pace_of(self._ground.accounts.tally(row.ledger).pace)
        tx.save_ledger(row, ledger)
        self._ground.watching.begin(tx, row, self._ground.board.now(), pace)
        return row._replace(ledger=ledger)

    def _prepared(self, prepare: Callable[[], Any], otherwise: T) -> T:
        """A step for which something has to be found out before its transaction begins."""
        try:
            decide = prepare()
        except Exception:
            return self._failed(otherwise)
        return self._step(decide, otherwise)


def _given(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value}

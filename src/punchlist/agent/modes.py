"""Plan mode: on and off."""

from __future__ import annotations

from punchlist.agent.handle import Handle, Mode
from punchlist.core.events import Draft
from punchlist.store import Transaction


class Modes(Handle):
    """Whether the agent plans or works."""

    def enter_plan_mode(self, *, by: str | None = None) -> None:
        self._set_mode("plan", by)

    def exit_plan_mode(self, *, by: str | None = None) -> None:
        self._set_mode("execute", by)

    def _set_mode(self, mode: Mode, by: str | None) -> None:
        def work(tx: Transaction) -> None:
            now = self.board.now()
            row = self._joined(tx, now)
            if row.mode != mode:
                tx.save_mode(row, mode, at=now)
                tx.add_events(row, [Draft("mode.changed", {"mode": mode})], by=by or self.name, at=now)

        self.board.store.transact(work)

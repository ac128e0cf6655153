"""Plan mode: on and off, and what may be called while it is on."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from punchlist.agent.handle import Handle, Mode
from punchlist.core.events import Draft
from punchlist.errors import InvalidInput, StoreError
from punchlist.store import AgentRow, Transaction
from punchlist.store.codec import moment
from punchlist.text import clean, cut

if TYPE_CHECKING:
    from punchlist.guidance.plan_mode import Because, PlanMode, Refusal


class Modes(Handle):
    """Whether the agent plans or works."""

    _unjudged: frozenset[str] = frozenset()

    @property
    def plan_mode(self) -> PlanMode | None:
        """Since when and why plan mode is on; None while the agent works."""

        def look(tx: Transaction) -> PlanMode | None:
            row = tx.agent(self.session, self.name)
            return None if row is None or row.mode != "plan" else _entered(tx, row)

        return self.board.store.read(look)

    def enter_plan_mode(
        self, reason: str | None = None, *, by: str | None = None, because: Because | None = None
    ) -> PlanMode:
        """Switches plan mode on; where it is on, nothing changes. What holds now, with when and why it was entered.

        `because` says who wanted it: by default the model, if `by` is this agent or nobody, else a person. For
        `auto_destructive` the reason is the check that tripped.
        """
        from punchlist.guidance.plan_mode import LONGEST_REASON, PlanMode

        wanted = because or ("model_requested" if by in (None, self.name) else "operator_requested")
        _check(wanted)
        said = cut(clean(reason, lines=False).text, LONGEST_REASON) if reason is not None else None

        def work(tx: Transaction) -> PlanMode:
            now = self.board.now()
            row = self._joined(tx, now)
            if row.mode == "plan":
                return _entered(tx, row)
            mode = PlanMode(now, wanted, said, by or self.name)
            tx.modes.save(row, "plan", mode.record(), at=now)
            self._note(tx, row, "plan", mode.by, because=wanted, reason=said)
            return mode

        return self.board.store.transact(work)

    def exit_plan_mode(self, *, by: str | None = None) -> None:
        def work(tx: Transaction) -> None:
            now = self.board.now()
            row = self._joined(tx, now)
            if row.mode != "execute":
                tx.modes.save(row, "execute", None, at=now)
                self._note(tx, row, "execute", by or self.name)

        self.board.store.transact(work)

    def _note(self, tx: Transaction, row: AgentRow, mode: Mode, by: str, **why: Any) -> None:
        tx.add_events(row, [Draft("mode.changed", {"mode": mode, **why})], by=by, at=self.board.now())

    def permits(self, tool: str, args: Any = None) -> Refusal | None:
        """None if the agent may call this tool now; in plan mode, what to answer a call that would change something.

        Tools that read pass, and shell commands that are known to only read. A tool of which nothing is known passes,
        with an event that says so; see `unjudged_tools` and the options `reading_tools` and `changing_tools`.
        """
        from punchlist.guidance.plan_mode import gate, refusal

        tool = str(tool)
        own = self._dialect.has_tool(tool.rpartition("__")[2]) or self._dialect.has_tool(tool)
        found = "todo" if own else gate(tool, args, self._own_tools)
        if found is None or (found == "todo" and (not own or self._dialect.refused_in_plan_mode is None)):
            return None
        mode = self.plan_mode
        if mode is None:
            return None
        refused = refusal(mode, self._dialect, tool, found)
        if refused is not None:
            self._report(Draft("mode.refused", {"tool": refused.data["tool_name"], "kind": refused.kind}))
        elif found == "unknown" and tool not in self._unjudged:
            self._unjudged |= {tool}
            self._report(Draft("mode.unjudged", {"tool": cut(tool, 200)}))
        return refused

    def unjudged_tools(self, tools: Iterable[str]) -> tuple[str, ...]:
        """Those of the host's tools of which plan mode knows nothing, and which it would let pass."""
        from punchlist.guidance.tools import kind

        return tuple(
            tool
            for tool in tools
            if not self._dialect.has_tool(tool) and kind(tool, None, self._own_tools) == "unknown"
        )

    def _report(self, draft: Draft) -> None:
        def work(tx: Transaction) -> None:
            row = tx.agent(self.session, self.name)
            if row is not None:
                tx.add_events(row, [draft], by=self.name, at=self.board.now())

        with suppress(StoreError):  # a full disk is no reason to leave the host without an answer
            self.board.store.transact(work, lasting=False)


def _entered(tx: Transaction, row: AgentRow) -> PlanMode:
    from punchlist.guidance.plan_mode import PlanMode, recorded

    data = tx.modes.entered(row.number)
    return PlanMode(moment(row.recent), "model_requested") if data is None else recorded(data)


def _check(because: str) -> None:
    from typing import get_args

    from punchlist.guidance.plan_mode import Because

    known = get_args(Because)
    if because not in known:
        raise InvalidInput(problem=f"`{because}` is no reason for plan mode: use one of {', '.join(known)}.")

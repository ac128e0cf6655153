"""Hermes' guardrail on a board: a second opinion on tool calls, for agents that are given one.

What it counts belongs to one turn: the next message of the person begins anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from punchlist.agent.beside import Beside
from punchlist.agent.kept import Raised, encode
from punchlist.core.events import Draft
from punchlist.detect.findings import Finding, Verdict
from punchlist.detect.guardrail import GuardrailState, Signature, after, before
from punchlist.detect.guardrail_options import GuardrailOptions
from punchlist.detect.values import less, more
from punchlist.store import AgentRow, Transaction

PART: Final = "guardrail"
_RUNNING: Final = 64


class Begun(NamedTuple):
    """A call that runs: what it is known by, whether it only looks something up, and whether it should not run."""

    tool: str
    args_hash: str
    reads: bool
    refused: bool = False


class Guarded(Struct, frozen=True):
    """What is known of a turn. `halted` is why it should have ended, `raised` what was said in it."""

    state: GuardrailState = field(default_factory=GuardrailState)
    running: Mapping[str, Begun] = field(default_factory=dict[str, Begun])
    halted: Finding | None = None
    raised: Raised = ()


_NEW: Final = Guarded()
_decode = msgspec.msgpack.Decoder(Guarded).decode


class Guarding(Beside):
    """Watches the calls of one agent, through one handle."""

    def __init__(self, options: GuardrailOptions, name: str) -> None:
        self._options = options
        self._name = name

    def began(
        self, tx: Transaction, row: AgentRow, call_id: str, call: tuple[str, Any, str], verdict: Verdict, now: datetime
    ) -> Verdict:
        known = _kept(tx, row.number)
        if call_id in known.running:
            return verdict
        name, args, kind = call
        state, decision = before(known.state, name, args, reads=kind == "read", options=self._options)
        finding = known.halted or decision.finding()
        mark, refused = decision.signature, "critical" in (verdict.level, finding and finding.level)
        begun = Begun(mark.tool_name, mark.args_hash, kind == "read", refused)
        running = more(known.running, call_id, begun, _RUNNING)
        raised, is_news = self._said(tx, row, known.raised, finding, now)
        _keep(tx, row.number, Guarded(state, running, known.halted, raised))
        if finding is None or verdict.level == "critical":
            return verdict
        return Verdict(finding.level, finding.detector, finding.count, finding.seen, is_news=is_news)

    def ended(
        self, tx: Transaction, row: AgentRow, call_id: str, result: Any, now: datetime, *, failed: bool | None
    ) -> None:
        """A result that nobody calls a failure is read as Hermes reads it.

        A call that was to be refused, and of whose end nothing more is said, did not run.
        """
        known = _kept(tx, row.number)
        begun = known.running.get(call_id)
        if begun is None:
            return
        if begun.refused and result is None:
            _keep(tx, row.number, replace(known, running=less(known.running, call_id)))
            return
        mark = Signature(begun.tool, begun.args_hash)
        state, decision = after(
            known.state, mark, result=result, failed=failed or None, reads=begun.reads, options=self._options
        )
        finding = decision.finding()
        raised, _ = self._said(tx, row, known.raised, finding, now)
        halted = finding if decision.action == "halt" else known.halted
        _keep(tx, row.number, Guarded(state, less(known.running, call_id), halted, raised))

    def turn_began(self, tx: Transaction, row: AgentRow, now: datetime) -> None:
        """All counts begin anew."""
        known = _kept(tx, row.number)
        if known != _NEW:
            over = [Finding(detector, "ok", "Another turn has begun.", subject=of) for detector, of in known.raised]
            self._add(tx, row, over, now)
            _keep(tx, row.number, _NEW)

    def _said(
        self, tx: Transaction, row: AgentRow, raised: Raised, finding: Finding | None, now: datetime
    ) -> tuple[Raised, bool]:
        """What has been said in this turn, and whether this was news: it is once for each code and tool."""
        if finding is None or (finding.detector, finding.subject) in raised:
            return raised, False
        self._add(tx, row, [finding], now)
        return (*raised, (finding.detector, finding.subject)), True

    def _add(self, tx: Transaction, row: AgentRow, findings: Iterable[Finding], now: datetime) -> None:
        drafts = [Draft(one.kind, one.data()) for one in findings]
        if drafts:
            tx.add_events(row, drafts, by=self._name, at=now)


def _kept(tx: Transaction, number: int) -> Guarded:
    body = tx.work.get(number, PART)
    return _NEW if body is None else _decode(body)


def _keep(tx: Transaction, number: int, known: Guarded) -> None:
    tx.work.save(number, encode(known), PART)

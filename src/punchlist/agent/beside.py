"""Who looks on beside the rest, where that is asked for. Loaded only then: most agents have none of them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from punchlist.detect.findings import Verdict
from punchlist.store import AgentRow, Transaction

if TYPE_CHECKING:
    from punchlist.detect.guardrail_options import GuardrailOptions
    from punchlist.detect.rounds import RoundOptions


class Beside:
    """One who looks on. What it finds it adds to the log by itself."""

    def began(
        self, tx: Transaction, row: AgentRow, call_id: str, call: tuple[str, Any, str], verdict: Verdict, now: datetime
    ) -> Verdict:
        """What is thought of a call, all in all. `call` is its tool, its arguments, and what it is for."""
        return verdict

    def ended(
        self, tx: Transaction, row: AgentRow, call_id: str, result: Any, now: datetime, *, failed: bool | None
    ) -> None:
        """A call has ended."""

    def round_ended(self, tx: Transaction, row: AgentRow, now: datetime, *, looping: bool) -> None:
        """The agent has said something to its host, and its tools were run."""

    def turn_began(self, tx: Transaction, row: AgentRow, now: datetime) -> None:
        """The person spoke."""


def beside(guardrail: GuardrailOptions | None, rounds: RoundOptions | None, name: str) -> tuple[Beside, ...]:
    """Those who look on through the handle of that agent."""
    found: list[Beside] = []
    if guardrail is not None:
        from punchlist.agent.guarding import Guarding

        found.append(Guarding(guardrail, name))
    if rounds is not None:
        from punchlist.agent.rounds import Rounds

        found.append(Rounds(rounds, name))
    return tuple(found)

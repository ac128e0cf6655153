"""What a board's methods return, as it is sent: the records of the library, whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from punchlist.agent.detectors import Stall
from punchlist.core.overview import AgentOverview, PersonWait
from punchlist.core.report import Brief, Report
from punchlist.guidance.ledger import AgentCost
from punchlist.store import ListRow, SessionRow
from punchlist.store.plans import PlanRow

RECORDS: Final[Mapping[str, Any]] = {
    "brief": Brief,
    "costs": tuple[AgentCost, ...],
    "lists": tuple[ListRow, ...],
    "overview": tuple[AgentOverview, ...],
    "plans": tuple[PlanRow, ...],
    "report": Report,
    "sessions": tuple[SessionRow, ...],
    "stalls": tuple[Stall, ...],
    "waits": tuple[PersonWait, ...],
    "work": tuple[ListRow, ...],
}
"""The methods of a board that are answered by `GET /api/v1/records/NAME`, and what each returns."""

"""Small rules of a report: what it belongs to, and what is to be said of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from punchlist.agent.kept import Kept, Raised, alive, watch
from punchlist.core.events import Draft, Event
from punchlist.core.grounding import task_key
from punchlist.core.task import TaskStatus
from punchlist.detect import stalls
from punchlist.detect.findings import Finding, Verdict, finding_of
from punchlist.detect.loop_state import LoopState
from punchlist.detect.window import Window
from punchlist.store import AgentRow, Transaction

if TYPE_CHECKING:
    from punchlist.detect.stalls import StallState

_NO_CALLS: Final = LoopState()


def loop_findings(raised: Raised, verdict: Verdict, tool: str) -> tuple[list[Draft], Raised]:
    """What is to be said of a verdict, and what still holds: a call that is fine ends what was said before."""
    finding = finding_of(verdict, tool) if verdict.is_news else None
    if finding is not None:
        known = (finding.detector, finding.subject)
        return [Draft(finding.kind, finding.data())], raised if known in raised else (*raised, known)
    if verdict.level != "ok" or not raised:
        return [], raised
    over = [Finding(detector, "ok", "Another call was made.", subject=subject) for detector, subject in raised]
    return [Draft(one.kind, one.data()) for one in over], ()


def begin_run(known: Kept) -> tuple[list[Draft], bool]:
    """The person spoke: calls before count no more, nor does a guard. What is over with that, and whether any did."""
    over = [Finding(detector, "ok", "Another turn has begun.", subject=subject) for detector, subject in known.raised]
    anew = bool(over) or known.window.state() != _NO_CALLS
    if anew:
        known.raised, known.window = (), Window(_NO_CALLS)
    return [Draft(one.kind, one.data()) for one in over], anew


def still_alive(state: StallState | None, row: AgentRow, now: datetime, name: str) -> StallState:
    """A sign of life of an agent that may not have been watched before, or whose turn was over."""
    return stalls.active(watch(row, now), now, name) if state is None or state.over else alive(state, now, name)


def task_in_focus(tx: Transaction, row: AgentRow) -> str:
    """The key of the task that an agent works on, where no item of its list is in focus; empty if there is none."""
    for one in reversed(tx.tasks.of_agent(row)) if tx.has_tasks else ():
        if one.task.status is TaskStatus.IN_PROGRESS:
            return task_key(one.list.name, one.task.id)
    return ""


def plan_of(row: AgentRow, drafts: Iterable[Draft]) -> str:
    """The plan that these events end in."""
    started = [draft.data["plan_id"] for draft in drafts if draft.kind == "plan.started"]
    return started[-1] if started else row.state.todos.plan_id


def event_of(row: AgentRow, kind: str, data: Mapping[str, Any], at: datetime, by: str) -> Event:
    return Event(0, at, kind, by, row.project, row.session, row.name, data)

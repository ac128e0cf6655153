"""One pass over all flows that wait: what a look at each of them did."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from punchlist.core.flow import FlowStatus, decide_wait
from punchlist.errors import FlowError
from punchlist.flows.work import FlowWork

if TYPE_CHECKING:
    from punchlist.board import Board

_Deed = Literal["resumed", "cancelled", "nothing"]


class TickReport(Struct, frozen=True):
    """How many flows waited, and what became of them. Those whose wait says nothing are counted only as scanned."""

    scanned: int = 0
    resumed: int = 0
    cancelled: int = 0
    still_waiting: int = 0
    errors: int = 0


class _Count(Struct):
    resumed: int = 0
    cancelled: int = 0
    still_waiting: int = 0
    errors: int = 0
    due: list[str] = field(default_factory=list[str])


def tick(board: Board, now: datetime) -> TickReport:
    """Lets flows go on whose timer is over, and cancels those that are to be. Any number of processes may do it.

    Each flow has a transaction of its own, so that nobody waits long, and looks again there.
    """
    waiting = [row.flow for row in board.store.read(lambda tx: tx.flows.of_status(FlowStatus.WAITING))]
    count = _Count()
    for flow in waiting:
        match decide_wait(flow, now):
            case "wait":
                count.still_waiting += 1
            case "skip":
                pass
            case "resume" | "cancel":
                count.due.append(flow.id)
    for each in count.due:
        try:
            deed = board.store.transact(lambda tx, each=each: _act(FlowWork(tx, now=now), each))
        except FlowError:
            count.errors += 1
            continue
        count.resumed += deed == "resumed"
        count.cancelled += deed == "cancelled"
    return TickReport(len(waiting), count.resumed, count.cancelled, count.still_waiting, count.errors)


def _act(work: FlowWork, id: str) -> _Deed:
    """What is to be done now; somebody else may have done it meanwhile."""
    row = work.flows.find(id)
    if row is None or row.flow.status is not FlowStatus.WAITING:
        return "nothing"
    match decide_wait(row.flow, work.now):
        case "cancel":
            work.cancel(id)
            return "cancelled"
        case "resume":
            work.settled(row)
            return "resumed"
        case _:
            return "nothing"

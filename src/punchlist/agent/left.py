"""Reports that a process had acknowledged when it was killed: they come in late, as any report may."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from punchlist.agent.grading import regraded, regraded_above
from punchlist.agent.kept import Kept, kept
from punchlist.core.grounding.watched import is_made
from punchlist.store import Transaction
from punchlist.store.contract import LeftEvent
from punchlist.store.work import Hinted


def take_in(tx: Transaction, events: Sequence[LeftEvent], now: datetime) -> None:
    """Adds these events, counts what they tell, and looks anew at the grades that they may bear on."""
    touched: dict[int, LeftEvent] = {}
    renamed: dict[tuple[int, str], str] = {}
    for event in events:
        row = tx.agent(event.session, event.agent)
        if row is None:
            continue
        known = kept(tx, row.number)
        if _was_told(tx, known, event):
            continue
        data = {**event.data, "call_id": _own_id(known, event, renamed)}
        seq = tx.add_report(row, event.kind, data, by=event.by, at=event.at, hint=event.hint)
        known.take_in(tx, Hinted(seq, event.at, event.kind, data, event.hint))
        touched[row.number] = event
    for event in touched.values():
        row = tx.agent(event.session, event.agent)  # as those before it have left it
        if row is not None:
            known = kept(tx, row.number)
            known.write(tx)
            regraded(tx, row, None, known.watcher.open.values(), now)
            regraded_above(tx, row, now)


def _own_id(known: Kept, event: LeftEvent, renamed: dict[tuple[int, str], str]) -> str:
    """The id of a call: another one where it is one that we made up, and have given to others since."""
    call_id: str = event.data["call_id"]
    key = (known.number, call_id)
    if event.kind == "tool.started" and is_made(call_id) and int(call_id[1:]) <= known.watcher.made:
        renamed[key] = f"#{known.watcher.made + 1}"  # which it takes once it is taken in
    return renamed.get(key, call_id)


def _was_told(tx: Transaction, known: Kept, event: LeftEvent) -> bool:
    """Whether another process has reported the same since. Ids that we make up say nothing about that."""
    call_id: str = event.data["call_id"]
    if is_made(call_id):
        return False
    if call_id in known.watcher.ended or known.is_past(tx, call_id):
        return True
    call = known.watcher.open.get(call_id)
    if call is None:
        return False
    if event.kind == "tool.started":
        return call.started is not None
    return call.finished is not None and call.outcome != "abandoned"

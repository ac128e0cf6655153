"""Reports and briefs: folds of the log of a session, of a project, or of the whole board."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from punchlist.agent.upkeep import storm_until
from punchlist.config import project_of
from punchlist.core import brief as briefs
from punchlist.core.brief import Brief, Noticed
from punchlist.core.events import Event
from punchlist.core.report import Report, Reporting
from punchlist.detect.list_rules import STORM
from punchlist.detect.pace import pace_of
from punchlist.guidance.tally import decode_tally
from punchlist.store import Transaction

if TYPE_CHECKING:
    from punchlist.board import Board, Folder


def report(board: Board, session: str | None, project: Folder) -> Report:
    return Reporting(_log(board, session, project)).report(board.now())


def brief(board: Board, after: int, session: str | None, project: Folder) -> Brief:
    now = board.now()
    found = briefs.write_brief(_log(board, session, project), after=after, now=now)
    storms = [one for one in found.noticed if one.detector == STORM]
    if not storms:
        return found
    over = board.store.read(lambda tx: [one for one in storms if _is_over(tx, one, now)])
    return replace(found, noticed=tuple(one for one in found.noticed if one not in over))


def _is_over(tx: Transaction, storm: Noticed, now: datetime) -> bool:
    """Whether a storm has ended since by itself: nobody calls any more, and so nobody has told of its end."""
    row = tx.agent(storm.session, storm.agent)
    if row is None:
        return True
    tally = decode_tally(row.ledger)
    if tally.watched:
        until = storm_until(tx, row.number)
        return until is None or until < now
    return pace_of(tally.pace).storm_until < now.timestamp()


def _log(board: Board, session: str | None, project: Folder) -> Iterator[Event]:
    """The events of the agents of a session or a project, or all events."""
    if session is None and project is None:
        yield from board.events()
        return
    where, cursor = None if project is None else project_of(project), 0
    while page := board.store.read(lambda tx, after=cursor: tx.work.log(session, where, after)):
        yield from page
        cursor = page[-1].seq

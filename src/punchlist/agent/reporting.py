"""Reports and briefs: folds of the log of a session, of a project, or of the whole board."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from punchlist.config import project_of
from punchlist.core import brief as briefs
from punchlist.core.brief import Brief
from punchlist.core.events import Event
from punchlist.core.report import Report, Reporting

if TYPE_CHECKING:
    from punchlist.board import Board, Folder


def report(board: Board, session: str | None, project: Folder) -> Report:
    return Reporting(_log(board, session, project)).report(board.now())


def brief(board: Board, after: int, session: str | None, project: Folder) -> Brief:
    return briefs.brief(_log(board, session, project), after=after, now=board.now())


def _log(board: Board, session: str | None, project: Folder) -> Iterator[Event]:
    """The events of the agents of a session or a project, or all events; what was reported just now is among them."""
    board.store.wait_for_others()
    if session is None and project is None:
        yield from board.events()
        return
    where, cursor = None if project is None else project_of(project), 0
    while page := board.store.read(lambda tx, after=cursor: tx.work.log(session, where, after)):
        yield from page
        cursor = page[-1].seq

"""Load what `punchlist todos` draws: lists with their tasks, their subagents, and the states of their sessions."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from punchlist.core.overview import AgentState
from punchlist.reader import BoardReader
from punchlist.store import ListRow
from punchlist.views.grades import Reasons, load_reasons, load_state
from punchlist.views.list_owners import SessionNames, load_names

Helped = Mapping[str, tuple[str, ...]]
"""The subagents at work on items, by the ids of these."""


class ListScreen(Struct, frozen=True, kw_only=True):
    """The lists as they are; `helpers`, `why` and `activities` have one entry for each row, `states` one by session."""

    rows: tuple[ListRow, ...]
    helpers: tuple[Helped, ...]
    states: Mapping[str, tuple[str, int]]
    why: tuple[Mapping[str, str], ...]
    activities: tuple[AgentState, ...]
    names: SessionNames
    waits: int

    @property
    def helped(self) -> Mapping[int, Helped]:
        return {row.number: one for row, one in zip(self.rows, self.helpers, strict=True)}

    @property
    def reasons(self) -> Reasons:
        return {row.number: one for row, one in zip(self.rows, self.why, strict=True)}


def load_list_screen(
    board: BoardReader, *, project: str | None, session: str | None, agent: str | None, limit: int
) -> ListScreen:
    """Return the lists of a project or a session, the latest first, with all that is drawn of them."""
    if board.is_remote:
        return board.load("list_screen", ListScreen, project=project, session=session, agent=agent, limit=limit)
    # Agents are picked by name here, not by the store: more than the latest lists have to be read for one.
    found = board.work(project=project, session=session, limit=1000 if agent else limit)
    rows = tuple(row for row in found if agent in (None, row.agent))[:limit]
    helpers = {one: board.helpers(one) for one in dict.fromkeys(row.session for row in rows)}
    waits = board.waits(project=project, session=session)
    reasons = board.store.read(lambda tx: load_reasons(tx, rows))
    return ListScreen(
        rows=rows,
        helpers=tuple(helpers[row.session].get(row.agent, {}) for row in rows),
        states=board.store.read(lambda tx: {one: load_state(tx, one) for one in helpers}),
        why=tuple(reasons.get(row.number, {}) for row in rows),
        activities=board.store.read(lambda tx: tuple(tx.overviews.load_activity(row.number).state for row in rows)),
        names=board.store.read(lambda tx: load_names(tx, filter(None, (*helpers, session)))),
        waits=sum(agent in (None, wait.agent) for wait in waits),
    )


def load_session_names(board: BoardReader, session: str) -> SessionNames:
    """Return the names of the agents of a session, of a board on a server too."""
    if board.is_remote:
        return load_list_screen(board, project=None, session=session, agent=None, limit=0).names
    return board.store.read(lambda tx: load_names(tx, [session]))

"""Find what stands before the items of a report or a brief: agents that stopped, and agents that are silent."""

from __future__ import annotations

from collections.abc import Container

from punchlist.board import Board
from punchlist.core.overview import AgentOverview
from punchlist.hosts.own_lists import is_own_list
from punchlist.surfaces.headlines import Around, Stopped, place_words
from punchlist.surfaces.sentences import Silent


def find_around(board: Board, project: str | None, news: Container[str], session: str | None = None) -> Around:
    """Return which agents stopped, of the sessions with news, and which are silent."""
    agents = {(one.session, one.agent): one for one in board.overview(project=project)}
    now = board.now()
    return Around(
        own=frozenset(one.session for one in agents.values() if is_own_list(one.session, one.agent, one.project)),
        stopped=[
            Stopped(one.session, one.agent, left, _name_place(one))
            for one in agents.values()
            if one.session in news and not one.waits and (left := _count_left(one))
        ],
        stalls=[
            Silent(*owner, one.finding.detector, now - one.since, _name_place(agents[owner]))
            for one in board.stalls(project=project)
            if session in (None, one.session) and (owner := (one.session, one.agent)) in agents
        ],
    )


def _count_left(one: AgentOverview) -> int:
    """Count the items that an agent which is no longer at work has left open, but for those that wait."""
    if one.state not in ("idle", "finished"):
        return 0
    return one.counts.get("pending", 0) + one.counts.get("in_progress", 0)


def _name_place(one: AgentOverview) -> str:
    call = one.last_call
    return place_words(one.focus, call.preview or call.name if call is not None and call.outcome == "running" else "")

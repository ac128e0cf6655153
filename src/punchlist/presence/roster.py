"""Load the first screen: every agent of this machine and of the board with its work, and what waits on a person."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, cast

import msgspec
from msgspec.structs import replace

from punchlist.agent.processes import find_place
from punchlist.core.grounding.session import session_state
from punchlist.core.overview import NO_LINE, AgentWork, SessionLine
from punchlist.core.presence import Presence, ProcessLook
from punchlist.detect.stalls import StallOptions, find_silence
from punchlist.presence.running_agents import find_presence
from punchlist.reader import BoardReader
from punchlist.settings.environment import Folder, name_worktree, project_of, stall_timings
from punchlist.store import Transaction
from punchlist.store.current_work import SavedLine, list_lines, load_line, load_waits
from punchlist.store.records import RowDamaged
from punchlist.store.subagents import StallMemory
from punchlist.views.list_owners import is_personal_list
from punchlist.views.now import BoardAgent, DoneView, Roster, list_agents
from punchlist_statusline import find_process

_MOST_SESSIONS: Final = 1_000
_MOST_SUBAGENTS: Final = 20
_MOST_CONVERSATIONS: Final = 200
_LONGEST_ABSENCE: Final = timedelta(days=1)
"""The longest time back of which finished items are counted; `punchlist brief` tells of earlier ones."""

_decode_line = msgspec.json.Decoder(SessionLine).decode


def load_roster(
    board: BoardReader,
    *,
    project: Folder = None,
    who: str = "",
    present: Sequence[Presence] | None = None,
    seen_at: datetime | None = None,
) -> Roster:
    """Return what the first screen shows to a person: the agents, what waits, and what was done since they looked.

    `present` are the agents that hosts know, if they have been looked for already, at `seen_at`.
    """
    if board.is_remote:
        return board.load("roster", Roster, project=project)
    since = _find_last_look(board, who)
    where = None if project is None else project_of(project)
    seen = find_presence(board) if present is None else present
    now = board.now()

    def load(tx: Transaction) -> Roster:
        waits = tuple(load_waits(tx, now, project=where))
        sessions = {one.board_session for one in seen}
        agents = list_agents(seen, _load_agents(tx, sessions, now, since), waits, now, seen_at)
        hosts = {row.list_session: row.host for row in agents}
        waits = tuple(replace(one, host=one.host or hosts.get(one.session, "")) for one in waits)
        done = None
        if where is None:
            items, sessions = tx.completions.grades_since(since), tx.completions.session_states_since(since)
            done = DoneView(since=since, items=items, sessions=sessions)
        # A list that a person began by hand is no agent.
        rows = (row for row in agents if row.host or not is_personal_list(row.session, row.agent, row.project))
        return Roster(at=now, agents=tuple(row for row in rows if where in (None, row.project)), waits=waits, done=done)

    return board.store.read(load)


def _find_last_look(board: BoardReader, who: str) -> datetime:
    """Return when the person's last `brief` was; a day ago if that is longer ago, or there was none."""
    here = project_of(os.getcwd())
    marks = board.store.read(lambda tx: [tx.log.mark(f"brief {who} {where}") for where in ("", here)])
    event = next(board.events(max(marks) - 1), None) if max(marks) else None
    earliest = board.now() - _LONGEST_ABSENCE
    return earliest if event is None else max(earliest, event.at)


def _load_agents(tx: Transaction, present: set[str], now: datetime, looked_at: datetime) -> list[BoardAgent]:
    """Return the root agents of the sessions with a change in the last day, and of those whose agent runs.

    A call may hang since the evening, and its process go on after the person has `looked_at` it.
    """
    # The time of a session's last change is kept to the minute.
    since = now - _LONGEST_ABSENCE - timedelta(minutes=1)
    # A conversation that continues another session may have been read from its log too: it is one row.
    moved = {one.id for one in tx.hosts.conversations(limit=_MOST_CONVERSATIONS) if one.session != one.id}
    lines = [saved for saved in list_lines(tx, since, present, _MOST_SESSIONS) if saved.session not in moved]
    timings = stall_timings()
    return [agent for saved in lines for agent in _load_session(tx, saved, now, looked_at, timings)]


def _load_session(
    tx: Transaction, saved: SavedLine, now: datetime, looked_at: datetime, timings: StallOptions
) -> list[BoardAgent]:
    session, state, line, folder, title = saved
    try:
        rows = [row for row in tx.overviews.of_session(session, _MOST_SUBAGENTS)[0] if row.parent is None]
        check = session_state(session, tx.completions.load_record(session)).decided_by if state == "red" else None
        found: list[BoardAgent] = []
        for row in rows:
            memory = tx.subagents.load_stall(row.number)
            found.append(
                BoardAgent(
                    project=row.project,
                    worktree=name_worktree(row.project, folder),
                    session=session,
                    agent=row.agent,
                    title=title or "",
                    activity=row.activity,
                    host=tx.find_host(session),
                    line=_read_line(tx, row, line, now, is_alone=len(rows) == 1),
                    session_state=state,
                    check_at=None if check is None else check.at,
                    silent_since=_find_silence(memory, now, timings),
                    process=memory.process,
                    look=cast("ProcessLook", find_process(memory.process)),
                    heard_at=memory.heard_at,
                    is_prompted=memory.is_prompted,
                    is_here=row.activity.host_place in ("", find_place()),
                    is_unread=memory.heard_at is not None and memory.heard_at > looked_at,
                )
            )
        return found
    except RowDamaged:
        return []  # `doctor` tells of it; the other sessions are shown


def _read_line(tx: Transaction, row: AgentWork, line: str | None, now: datetime, *, is_alone: bool) -> SessionLine:
    """Return the work of an agent: the prepared line of its session, which is about one agent, or one of its own."""
    if line == "":
        return NO_LINE
    if is_alone and line is not None:
        try:
            return _decode_line(line)
        except msgspec.DecodeError:
            pass  # of a later version
    return load_line(tx, row.session, now, agent=None if is_alone else row.agent) or NO_LINE


def _find_silence(memory: StallMemory, now: datetime, timings: StallOptions) -> datetime | None:
    state, options = memory.stall, memory.stall_options or timings
    return None if state is None or find_silence(state, now, options) is None else state.alive_at

"""Join what is known of agents at this moment: their state by their hosts, by our hooks, and their work on the board.

An agent may be seen by several roads. It is one row, by its host and the host's own id of the conversation.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.overview import WATCHED, Activity, PersonWait, TokenTotal
from punchlist.core.programs import PROGRAMS
from punchlist.core.session_line import NO_LINE, SessionLine, name_wait

PresenceState = Literal["busy", "waiting", "idle", "gone"]
Road = Literal["hooks", "files", "host"]

STATES: Final[tuple[PresenceState, ...]] = ("waiting", "busy", "idle", "gone")
"""All states; what needs a person comes first."""

_ROADS: Final[tuple[Road, ...]] = ("hooks", "files", "host")
"""Roads by which an agent is seen, the most trusted last: the host itself knows best."""

_PATH: Final = re.compile(r'"(?:file_?[pP]ath|path|notebook_path|absolute_path)": ?"([^"]+)"')
"""The file in the preview of a call's arguments, which are JSON."""

GONE_SHOWN: Final = timedelta(hours=12)
"""An agent whose process ended is shown for so long after its last change of state."""

SILENT_ENDS: Final = timedelta(minutes=10)
"""A watched agent of another host counts as gone so long after its last sign."""


class Presence(Struct, frozen=True, kw_only=True):
    """An agent as its host, or our hooks, know it now."""

    host: str
    session: str
    """The host's own id of the conversation."""
    state: PresenceState
    since: datetime | None = None
    """Begin of the state; of a process that is gone, the last that is known of it."""
    project: str = ""
    waits_for: str = ""
    title: str = ""
    pid: int | None = None
    doing: str = ""
    """The tool call that runs, or the last one."""
    list_session: str = ""
    """The session of the board that a handoff bound the conversation to; empty for the one of its own id."""
    road: Road = "host"

    @property
    def board_session(self) -> str:
        """The session of the board that the conversation belongs to."""
        return self.list_session or self.session


def join_roads(found: Iterable[Presence]) -> list[Presence]:
    """Return one entry per agent: of a living process before a dead one, by the most trusted road, else the latest.

    What the chosen entry does not know is taken from the others.
    """
    agents: dict[tuple[str, str], list[Presence]] = {}
    for one in found:
        agents.setdefault((one.host, one.session), []).append(one)
    return [_join(sorted(roads, key=_trust, reverse=True)) for roads in agents.values()]


def _trust(one: Presence) -> tuple[bool, int, float]:
    return one.state != "gone", _ROADS.index(one.road), 0.0 if one.since is None else one.since.timestamp()


def _join(roads: Sequence[Presence]) -> Presence:
    joined = roads[0]
    for other in roads[1:]:
        joined = replace(
            joined,
            project=joined.project or other.project,
            title=joined.title or other.title,
            pid=joined.pid or other.pid,
            doing=joined.doing or other.doing,
            list_session=joined.list_session or other.list_session,
        )
    return joined


def find_missing(before: Iterable[Presence], after: Iterable[Presence], at: datetime) -> list[Presence]:
    """Return the agents that were seen before and are not seen now, each as gone since this time."""
    known = {one.board_session for one in after}
    return [
        replace(one, state="gone", since=at, waits_for="", doing="")
        for one in before
        if one.state != "gone" and one.board_session not in known
    ]


# The rows that a person sees.


class BoardAgent(Struct, frozen=True, kw_only=True):
    """A root agent of the board: its activity, its work in short, and the check by which its session has its state."""

    project: str
    session: str
    agent: str
    activity: Activity
    line: SessionLine = NO_LINE
    session_state: str = "idle"
    check_at: datetime | None = None
    silent_since: datetime | None = None


class AgentNow(Struct, frozen=True, kw_only=True):
    """One agent as a person sees it now. An agent without a list is one like any other: `total` is 0."""

    project: str
    host: str
    session: str
    agent: str
    state: PresenceState
    since: datetime | None = None
    waits_for: str = ""
    title: str = ""
    pid: int | None = None
    doing: str = ""
    """The tool call that runs, or the last one."""
    is_watched_only: bool = False
    """Nothing of it is on the board."""
    line: SessionLine = NO_LINE
    session_state: str = "idle"
    check_at: datetime | None = None
    silent_since: datetime | None = None
    list_session: str = ""
    """The session of the board; empty if it has none."""
    tokens: TokenTotal | None = None
    """Tokens that it has used, without its subagents; None where no log tells of them."""


class DoneSince(Struct, frozen=True, kw_only=True):
    """Counts of completions since the reader last looked, or since a time: items by grade, their sessions by state."""

    since: datetime
    grades: dict[str, int]
    sessions: dict[str, int]
    has_looked: bool = True
    """The time is that of the reader's last look."""


class Roster(Struct, frozen=True, kw_only=True):
    """Every agent of this machine and of the board, sorted by need, and what waits on a person."""

    at: datetime
    agents: tuple[AgentNow, ...]
    waits: tuple[PersonWait, ...]
    done: DoneSince | None = None


def list_agents(
    present: Iterable[Presence],
    work: Iterable[BoardAgent],
    waits: Sequence[PersonWait],
    now: datetime,
    seen_at: datetime | None = None,
) -> list[AgentNow]:
    """Join agents that hosts know with those of the board, one row each, those that need a person first.

    `seen_at` is when hosts were asked; None for now.
    """
    on_board = list(work)
    rows: list[AgentNow] = []
    # Of two conversations that share a list, it is shown with the one that lives.
    for seen in sorted(present, key=lambda one: one.state == "gone"):
        own = next((one for one in on_board if one.session == seen.board_session), None)
        if own is not None:
            on_board.remove(own)
        rows.append(_show_present(seen, None if own is None or own.activity.is_state_only else own))
    rows += [row for one in on_board if (row := _show_board_only(one, now, seen_at or now)) is not None]
    rows = [_with_waits(row, waits) for row in rows]
    return sorted(rows, key=_need)


def _show_present(seen: Presence, own: BoardAgent | None) -> AgentNow:
    row = AgentNow(
        project=seen.project if own is None else own.project,
        host=seen.host,
        session=seen.session,
        agent="" if own is None else own.agent,
        state=seen.state,
        since=seen.since,
        waits_for=seen.waits_for,
        title=seen.title,
        pid=seen.pid,
        doing=seen.doing,
        is_watched_only=own is None,
    )
    if own is None:
        return row
    return replace(
        row,
        doing=seen.doing or _describe_last_call(own.activity),
        line=own.line,
        session_state=own.session_state,
        check_at=own.check_at,
        # Only an agent that should be at work can be silent.
        silent_since=own.silent_since if seen.state == "busy" else None,
        list_session=own.session,
        tokens=own.activity.tokens,
    )


def _show_board_only(own: BoardAgent, now: datetime, seen_at: datetime) -> AgentNow | None:
    """Return the row of an agent that no host tells of; None if it has finished, or was not heard of for long."""
    activity = own.activity
    if activity.state == "finished" or activity.at is None or now - activity.at > WATCHED:
        return None
    host = activity.copy_format or activity.host
    is_busy = activity.state == "working" and not activity.rests
    state: PresenceState = "busy" if is_busy else "idle"
    if activity.host_state and activity.host_at is not None and activity.host_at > seen_at:
        # Another program has asked the host later.
        state = cast("PresenceState", activity.host_state)
    # A host that told of it once would tell of it now.
    elif activity.host_state or (activity.copy_of and _has_ended(host, activity.at, now)):
        state = "gone"
    return AgentNow(
        project=own.project,
        host=host,
        session=own.session,
        agent=own.agent,
        state=state,
        since=activity.at,
        waits_for=activity.waits_for if state == "waiting" else "",
        doing=_describe_last_call(activity),
        is_watched_only=activity.is_state_only,
        line=own.line,
        session_state=own.session_state,
        check_at=own.check_at,
        silent_since=own.silent_since if state == "busy" else None,
        list_session="" if activity.is_state_only else own.session,
    )


def _has_ended(host: str, at: datetime, now: datetime) -> bool:
    """True if an agent that is known from its log alone has ended: its host tells of no process of it, or it is old."""
    return (host in PROGRAMS and PROGRAMS[host].is_seen) or now - at > SILENT_ENDS


def _with_waits(row: AgentNow, waits: Sequence[PersonWait]) -> AgentNow:
    """Return the row as waiting, if something of it waits on a person and its agent does nothing else meanwhile."""
    own = [one for one in waits if row.list_session and (one.session, one.agent) == (row.list_session, row.agent)]
    if not own or row.state == "gone":
        return row
    first = own[0]
    if row.state == "busy" and (row.host or _has_gone_on(row, own)):
        return row
    return replace(row, state="waiting", since=first.since or row.since, waits_for=name_wait(first))


def _has_gone_on(row: AgentNow, waits: Iterable[PersonWait]) -> bool:
    """True if an agent that only the board knows has done something after it began to wait."""
    asked = [wait.since for wait in waits if wait.since is not None]
    return not asked or row.since is None or row.since > max(asked)


def describe_call(name: str, preview: str) -> str:
    """Return a tool call in a few words, by the preview of its arguments: a command line, `Edit README.md`, a name."""
    if preview and not preview.startswith("{"):
        return preview
    path = _PATH.search(preview)
    return f"{name} {posixpath.basename(path[1]) or path[1]}" if path else name


def _describe_last_call(activity: Activity) -> str:
    call = activity.last_call
    return "" if call is None else describe_call(call.name, call.preview)


def _need(row: AgentNow) -> tuple[int, bool, bool, float]:
    """Order by state; what is silent or red comes first, then what has waited longest, or changed last."""
    since = 0.0 if row.since is None else row.since.timestamp()
    is_waiting = row.state == "waiting"
    return (
        STATES.index(row.state),
        row.silent_since is None,
        row.session_state != "red",
        since if is_waiting else -since,
    )

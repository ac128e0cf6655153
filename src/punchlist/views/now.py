"""The first screen as values: every agent of this machine and of the board, what waits on a person, what was done.

`list_agents` joins agents that hosts know with those of the board: one row each. `WaitView` is work that waits on a
person, with the commands that resolve it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from shlex import quote
from typing import Final, cast

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from punchlist.core.overview import NO_LINE, WATCHED, Activity, Offer, PersonWait, SessionLine, TokenTotal, name_wait
from punchlist.core.presence import Presence, PresenceState, describe_call
from punchlist.core.programs import PROGRAMS
from punchlist.settings.environment import name_worktree

_STATES: Final[tuple[PresenceState, ...]] = ("waiting", "busy", "idle", "gone")
"""All states; what needs a person comes first."""

_SILENT_ENDS: Final = timedelta(minutes=10)
"""A watched agent of another host counts as gone so long after its last sign."""


class WaitView(PersonWait, frozen=True, kw_only=True):
    """Something that waits on a person. `answer` has the commands that resolve it in a terminal."""

    answer: tuple[str, ...]


def view_wait(wait: PersonWait) -> WaitView:
    """Return a wait with the commands that resolve it."""
    return WaitView(**asdict(wait), answer=answer_commands(wait))


def answer_commands(wait: PersonWait) -> tuple[str, ...]:
    """Return the commands that resolve a wait and no other, from whichever folder: with its list or its agent."""
    agent = (("--session", wait.session), ("--agent", wait.agent))
    places = (("--list", wait.list),) if wait.list else agent
    place = "".join(f" {option} {quote(name)}" for option, name in places if name)
    return tuple(f"punchlist answer {wait.name} {answer}{place}" for answer in wait.answers)


class ReceiptView(Struct, frozen=True, kw_only=True):
    """How far news went to an agent: sent to its host, accepted by it, seen by the model."""

    state: str
    sent: datetime | None = None
    accepted: datetime | None = None
    """The host began a turn."""
    seen: datetime | None = None
    """The model answered after it was told."""


class SubagentNowView(Struct, frozen=True):
    """A subagent at work."""

    name: str
    done: int
    total: int


class AgentNowView(Struct, frozen=True, kw_only=True):
    """An agent as a person sees it now."""

    state: PresenceState
    since: datetime | None = None
    project: str
    worktree: str = ""
    """The name of its worktree; empty in the first checkout."""
    host: str
    session: str
    agent: str = ""
    waits_for: str = ""
    title: str = ""
    pid: int | None = None
    doing: str = ""
    """The tool call that runs, or the last one."""
    on_board: bool = True
    """False if it is only watched: nothing of it is on the board."""
    focus: str = ""
    focus_since: datetime | None = None
    focus_check: str = ""
    """The check that the item in focus carries."""
    done: int = 0
    total: int = 0
    """An agent without a list is one like any other: this is 0."""
    session_state: str = "idle"
    check: str = ""
    check_at: datetime | None = None
    changes_since: int = 0
    """Code changes since the last check, of a session that is not checked."""
    offer: Offer | None = None
    """The item in progress, if it looks done: a green check covers its files."""
    silent_since: datetime | None = None
    tokens: TokenTotal | None = None
    """Tokens that it has used, without its subagents; None where no log tells of them."""
    subagents: tuple[SubagentNowView, ...] = ()


class AgentNow(AgentNowView, frozen=True, kw_only=True):
    """An agent as the screens show it: with what a program has no use for."""

    next: str = ""
    """The first item that is pending."""
    more: int = 0
    """Subagents at work that are not named."""
    list_session: str = ""
    """The session of the board; empty if it has none."""


class DoneView(Struct, frozen=True, kw_only=True):
    """Completions since a time: items by grade, and their sessions by state."""

    since: datetime
    items: dict[str, int]
    sessions: dict[str, int]


class DoneSince(DoneView, frozen=True, kw_only=True):
    """Completions since the reader last looked, or since a time."""

    has_looked: bool = True
    """The time is that of the reader's last look."""


class NowView(Struct, frozen=True):
    """The first screen: every agent, what waits on a person, and what was done since a time."""

    at: datetime
    agents: tuple[AgentNowView, ...]
    waits: tuple[WaitView, ...]
    done: DoneView | None


class Roster(Struct, frozen=True, kw_only=True):
    """Every agent of this machine and of the board, sorted by need, and what waits on a person."""

    at: datetime
    agents: tuple[AgentNow, ...]
    waits: tuple[PersonWait, ...]
    done: DoneSince | None = None


def view_now(roster: Roster) -> NowView:
    """Return the first screen as programs get it."""
    agents = msgspec.convert(roster.agents, tuple[AgentNowView, ...], from_attributes=True)
    done = msgspec.convert(roster.done, DoneView | None, from_attributes=True)
    return NowView(roster.at, agents, tuple(map(view_wait, roster.waits)), done)


# The rows.


class BoardAgent(Struct, frozen=True, kw_only=True):
    """A root agent of the board: its activity, its work in short, and the check by which its session has its state."""

    project: str
    worktree: str = ""
    session: str
    agent: str
    activity: Activity
    line: SessionLine = NO_LINE
    session_state: str = "idle"
    check_at: datetime | None = None
    silent_since: datetime | None = None


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
        state=seen.state,
        since=seen.since,
        project=seen.project,
        worktree=name_worktree(seen.project, seen.folder),
        host=seen.host,
        session=seen.session,
        waits_for=seen.waits_for,
        title=seen.title,
        pid=seen.pid,
        doing=seen.doing,
        on_board=own is not None,
    )
    if own is None:
        return row
    doing = seen.doing or _describe_last_call(own.activity)
    return _with_work(
        replace(row, project=own.project, worktree=own.worktree, doing=doing, tokens=own.activity.tokens), own
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
    row = AgentNow(
        state=state,
        since=activity.at,
        project=own.project,
        worktree=own.worktree,
        host=host,
        session=own.session,
        waits_for=activity.waits_for if state == "waiting" else "",
        doing=_describe_last_call(activity),
        on_board=not activity.is_state_only,
    )
    return _with_work(row, own)


def _with_work(row: AgentNow, own: BoardAgent) -> AgentNow:
    """Return the row with what the board knows of the agent's work."""
    line = own.line
    return replace(
        row,
        agent=own.agent,
        focus=line.focus,
        focus_since=datetime.fromtimestamp(line.since, UTC) if line.since else None,
        focus_check=line.focus_check,
        done=line.done,
        total=line.total,
        session_state=own.session_state,
        check=line.check,
        check_at=own.check_at,
        changes_since=line.changes,
        offer=line.offer,
        # Only an agent that should be at work can be silent.
        silent_since=own.silent_since if row.state == "busy" else None,
        subagents=tuple(SubagentNowView(*one) for one in line.subagents),
        next=line.next,
        more=line.more,
        list_session=own.session if row.on_board else "",
    )


def _has_ended(host: str, at: datetime, now: datetime) -> bool:
    """True if an agent that is known from its log alone has ended: its host tells of no process of it, or it is old."""
    return (host in PROGRAMS and PROGRAMS[host].is_seen) or now - at > _SILENT_ENDS


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


def _describe_last_call(activity: Activity) -> str:
    call = activity.last_call
    return "" if call is None else describe_call(call.name, call.preview)


def _need(row: AgentNow) -> tuple[int, bool, bool, float]:
    """Order by state; what is silent or red comes first, then what has waited longest, or changed last."""
    since = 0.0 if row.since is None else row.since.timestamp()
    is_waiting = row.state == "waiting"
    return (
        _STATES.index(row.state),
        row.silent_since is None,
        row.session_state != "red",
        since if is_waiting else -since,
    )

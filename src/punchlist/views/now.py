"""The first screen as values: every agent of this machine and of the board, what waits on a person, what was done.

`list_agents` joins agents that hosts know with those of the board: one row each. `WaitView` is work that waits on a
person, with the commands that resolve it.
"""

from collections.abc import Container, Iterable, Sequence
from datetime import UTC, datetime
from shlex import quote
from typing import Final, cast

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from punchlist.core.overview import NO_LINE, WATCHED, Activity, Offer, PersonWait, SessionLine, TokenTotal, name_wait
from punchlist.core.presence import Presence, PresenceState, ProcessLook, decide_state, describe_call
from punchlist.core.programs import PROGRAMS, find_alike, name_session, short_id
from punchlist.settings.environment import name_worktree
from punchlist.views.findings import place_words

_STATES: Final[tuple[PresenceState, ...]] = ("waiting", "busy", "idle", "unknown", "gone")
"""All states; what needs a person comes first."""


class WaitView(PersonWait, frozen=True, kw_only=True):
    """Something that waits on a person. `answer` has the commands that resolve it in a terminal."""

    answer: tuple[str, ...]


def view_waits(waits: Sequence[PersonWait]) -> tuple[WaitView, ...]:
    """Return waits with the commands that resolve them."""
    alike = find_alike(wait.session for wait in waits)
    return tuple(WaitView(**asdict(wait), answer=answer_commands(wait, alike)) for wait in waits)


def answer_commands(wait: PersonWait, alike: Container[str] = ()) -> tuple[str, ...]:
    """Return the commands that resolve a wait and no other, from whichever folder: with its list or its agent."""
    place = _name_option("--list", wait.list) or name_place(wait.session, wait.agent, alike)
    return tuple(f"punchlist answer {wait.name} {answer}{place}" for answer in wait.answers)


def find_next_command(wait: PersonWait, waits: Iterable[PersonWait], alike: Container[str] = ()) -> str:
    """Return the shortest command that goes on from a wait, one of `waits`: a plan is read before it is decided."""
    others = [one for one in waits if one.session == wait.session and one.agent != wait.agent]
    is_plan = wait.kind == "plan"
    if not any(one.kind == "plan" if is_plan else one.name == wait.name for one in others):
        wait = replace(wait, agent="main")
    place = name_place(wait.session, wait.agent, alike)
    return f"punchlist plan show{place}" if is_plan else answer_commands(wait, alike)[0].replace(" [TEXT]", "")


def name_place(session: str, agent: str, alike: Container[str] = ()) -> str:
    """Return the options that mean an agent of a session; without one, its main agent is meant."""
    named = _name_option("--agent", agent if agent != "main" else "")
    return _name_option("--session", short_id(session, alike)) + named


def _name_option(option: str, name: str) -> str:
    """Return an option with its value, which may begin with a dash; empty for none."""
    sign = "=" if name.startswith("-") else " "
    return f" {option}{sign}{quote(name)}" if name else ""


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
    machine: str = ""
    """The machine of the team on which it runs; empty for the one of the board."""
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
    hung: bool = False
    """A call ran when it fell silent, and has not ended."""
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
    program: str = ""
    """The host, of an agent whose host does not tell of it now."""
    process: str = ""
    """The process that was noted with the agent, by which a screen sees its end at once."""
    place: str = ""
    """The call that still runs, else the item that it is at, in words."""
    is_alike: bool = False
    """Another session that is shown has the same short id."""

    @property
    def stopped_at(self) -> datetime | None:
        """When its work stopped; None while it is at work."""
        return None if self.state in ("busy", "waiting") else self.since

    @property
    def name(self) -> str:
        """Its name, as every surface shows it."""
        session, host = self.list_session or self.session, self.host or self.program
        alike = (session,) if self.is_alike else ()
        return name_session(self.project, session, self.agent or "main", host, self.worktree, alike)


class DoneView(Struct, frozen=True, kw_only=True):
    """Completions since a time: items by grade, and their sessions by state."""

    since: datetime
    items: dict[str, int]
    sessions: dict[str, int]


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
    done: DoneView | None = None


def view_now(roster: Roster) -> NowView:
    """Return the first screen as programs get it."""
    agents = msgspec.convert(roster.agents, tuple[AgentNowView, ...], from_attributes=True)
    return NowView(roster.at, agents, view_waits(roster.waits), roster.done)


# The rows.


class BoardAgent(Struct, frozen=True, kw_only=True):
    """A root agent of the board: its activity, its work in short, and the check by which its session has its state."""

    project: str
    worktree: str = ""
    session: str
    agent: str
    title: str = ""
    """The first prompt of its session, where it is known."""
    activity: Activity
    host: str = ""
    line: SessionLine = NO_LINE
    session_state: str = "idle"
    check_at: datetime | None = None
    silent_since: datetime | None = None
    process: str = ""
    look: ProcessLook = "none"
    heard_at: datetime | None = None
    is_prompted: bool = False
    """A prompt was sent, and the turn has not ended."""
    is_here: bool = True
    """Its host was last seen on this machine, in this pid namespace."""
    is_unread: bool = False
    """Nobody has looked since it was last heard of."""

    @property
    def is_on_board(self) -> bool:
        """True unless nothing is known of it but what its host said of its state."""
        return self.heard_at is not None or not self.activity.is_state_only

    @property
    def said(self) -> PresenceState:
        """Its state by its own events."""
        is_at_work = self.activity.state == "working" and not self.activity.rests
        return "busy" if is_at_work or self.is_prompted else "idle"

    @property
    def is_hung(self) -> bool:
        """True if a call ran when it fell silent, and has not ended."""
        call = self.activity.last_call
        return self.silent_since is not None and call is not None and call.outcome == "running"


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
    for seen in present:
        own = next((one for one in on_board if one.session == seen.board_session), None)
        if own is not None:
            on_board.remove(own)
        # A conversation that continues another session may have been read from its log too: it is one row.
        on_board = [one for one in on_board if one.session != seen.session]
        rows.append(_show_present(seen, own if own is not None and own.is_on_board else None, waits, now))
    rows += [row for one in on_board if (row := _show_board_only(one, waits, now, seen_at or now)) is not None]
    alike = find_alike([*(row.list_session or row.session for row in rows), *(wait.session for wait in waits)])
    rows = [replace(row, is_alike=True) if alike & {row.list_session, row.session} else row for row in rows]
    return sorted(rows, key=_need)


def _show_present(seen: Presence, own: BoardAgent | None, waits: Sequence[PersonWait], now: datetime) -> AgentNow:
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
        machine=seen.machine,
        doing=seen.doing,
        on_board=own is not None,
    )
    if own is None:
        return row
    doing = seen.doing or _describe_last_call(own.activity)
    row = replace(row, project=own.project, worktree=own.worktree, doing=doing, tokens=own.activity.tokens)
    # Hooks know no more than its events, of which some came by other roads. One that ended may go on in a program.
    goes_on = seen.state != "gone" or (seen.process == "none" and own.look == "runs")
    # What a process began that ended, such as that of another conversation of the session, does not go on.
    is_left = own.look == "ended" and own.said == "busy"
    if seen.road == "hooks" and own.heard_at is not None and goes_on and not is_left:
        row = replace(row, state=own.said)
    # Who saw it asked for the process; where nobody could, the one counts that was noted with the agent.
    look = own.look if seen.process == "none" else seen.process
    heard_at = max(filter(None, (seen.heard_at, own.heard_at)), default=None)
    return _with_work(_decide(row, own, look, heard_at, waits, now), own)


def _show_board_only(own: BoardAgent, waits: Sequence[PersonWait], now: datetime, seen_at: datetime) -> AgentNow | None:
    """Return the row of an agent that no host tells of; None if it has finished, or was not heard of for long.

    One that runs, or hangs and was not looked at, is shown however long it was not heard of.
    """
    activity = own.activity
    if activity.state == "finished" or activity.at is None:
        return None
    is_kept = own.look == "runs" or (own.is_hung and own.is_unread)
    if now - activity.at > WATCHED and not is_kept:
        return None
    host = activity.program
    is_seen = host in PROGRAMS and PROGRAMS[host].is_seen
    said = own.said
    if activity.host_state and activity.host_at is not None and activity.host_at > seen_at:
        # Another program has asked the host later.
        said = cast("PresenceState", activity.host_state)
    # A host that told of it once would tell of it now, and one whose processes are seen has none of it.
    elif own.look != "runs" and own.is_here and (activity.host_state or (activity.copy_of and is_seen)):
        said = "gone"
    row = AgentNow(
        state=said,
        since=activity.at,
        project=own.project,
        worktree=own.worktree,
        host=host,
        session=own.session,
        waits_for=activity.waits_for if said == "waiting" else "",
        doing=_describe_last_call(activity),
        on_board=own.is_on_board,
    )
    return _with_work(_decide(row, own, own.look, own.heard_at or activity.at, waits, now), own)


def _decide(
    row: AgentNow,
    own: BoardAgent,
    look: ProcessLook,
    heard_at: datetime | None,
    waits: Sequence[PersonWait],
    now: datetime,
) -> AgentNow:
    """Return a row with its state, by what was said of the agent, a look at its process, and what waits on a person."""
    asked = [one for one in waits if row.on_board and (one.session, one.agent) == (own.session, own.agent)]
    is_asked = bool(asked) and (row.state in ("idle", "waiting") or not _has_gone_on(own, asked))
    quiet = 0.0 if heard_at is None else (now - heard_at).total_seconds()
    state = decide_state(row.state, look, quiet, is_hung=own.is_hung, is_asked=is_asked)
    if state == "waiting" and is_asked:
        return replace(row, state=state, since=asked[0].since or row.since, waits_for=name_wait(asked[0]))
    if state in ("unknown", "gone"):
        last = max(filter(None, (row.since, heard_at)), default=None)
        return replace(row, state=state, since=heard_at if state == "unknown" else last, waits_for="")
    return replace(row, state=state)


def _with_work(row: AgentNow, own: BoardAgent) -> AgentNow:
    """Return the row with what the board knows of the agent's work."""
    line = own.line
    is_silent = row.state == "busy"  # only an agent that should be at work can be silent
    is_over = row.state in ("unknown", "gone")
    return replace(
        row,
        agent=own.agent,
        title=own.title or row.title,
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
        silent_since=own.silent_since if is_silent else None,
        hung=is_silent and own.is_hung,
        subagents=() if is_over else tuple(SubagentNowView(*one) for one in line.subagents),
        next=line.next,
        more=0 if is_over else line.more,
        process=own.process,
        place=place_words(line.focus, own.activity.last_call),
        list_session=own.session if row.on_board else "",
        program=own.host,
    )


def _has_gone_on(own: BoardAgent, waits: Iterable[PersonWait]) -> bool:
    """True if an agent has done something after it began to wait."""
    asked = [wait.since for wait in waits if wait.since is not None]
    return not asked or own.activity.at is None or own.activity.at > max(asked)


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

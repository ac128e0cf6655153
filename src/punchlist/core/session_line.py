"""Prepare the line of a session: the few facts about its work that a status line shows.

The store keeps it as JSON in the session's row, in the transaction of the change that it follows from. The program
that prints it (`punchlist_statusline.py`) reads that row and imports nothing of the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.overview import WATCHED, Activity, ListSummary, PersonWait, is_under_way
from punchlist.core.todo import Status
from punchlist.text import cut, for_terminal

_LONGEST: Final = 160
"""Characters of a text; a status line is rarely wider."""

_MOST_SUBAGENTS: Final = 3
"""Subagents that are named; the others are counted."""

_DOUBTFUL: Final = ("unseen", "failing")


class AgentWork(NamedTuple):
    """An agent of a session: its activity, and its items and tasks in short. `parent` is None for a root agent."""

    number: int
    name: str
    parent: int | None
    activity: Activity
    list: ListSummary


class SubagentLine(NamedTuple):
    name: str
    done: int
    total: int


class SessionLine(Struct, frozen=True, omit_defaults=True):
    """The values of a session that its status line shows. Every text is one line, safe for a terminal."""

    focus: str = ""
    """The item in progress, in its active form."""
    since: int = 0
    """When work on it began, in seconds since 1970."""
    done: int = 0
    total: int = 0
    next: str = ""
    """The first item that is pending."""
    blocked: str = ""
    """The first one that is blocked."""
    failed: str = ""
    """The first one that has failed."""
    doubtful: int = 0
    """Completed items without evidence, or with a failing check."""
    state: str = ""
    """The state of the session: red, unchecked or green."""
    check: str = ""
    """The check program by which it has that state."""
    waits: int = 0
    """How much waits on a person."""
    wait: str = ""
    """The one that waits longest."""
    subagents: tuple[SubagentLine, ...] = ()
    """Subagents at work, the oldest first."""
    more: int = 0
    """Subagents at work that are not named."""


NO_LINE: Final = SessionLine()


def prepare_line(
    agents: Sequence[AgentWork], *, state: str, check: str, waits: Sequence[PersonWait], now: datetime
) -> SessionLine:
    """Return the line of a session: the work of its root agent, and what its other agents, checks and people do.

    `agents` come oldest first; of what `waits` on a person, what waits longest.
    """
    shown = find_shown_agent(agents)
    work = ListSummary() if shown is None else shown.list
    busy = [
        agent for agent in agents if agent is not shown and agent.parent is not None and is_at_work(agent.activity, now)
    ]
    done, total = _progress(work)
    if shown is not None and not is_under_way(Status.IN_PROGRESS, shown.activity.state):
        work = replace(work, focus=None, since=None, next=work.focus or work.next)
    return SessionLine(
        focus=_line(work.focus),
        since=0 if work.since is None else int(work.since.timestamp()),
        done=done,
        total=total,
        next=_line(work.next),
        blocked=_line(work.blocked),
        failed=_line(work.failed),
        doubtful=sum(work.grades.get(grade, 0) for grade in _DOUBTFUL),
        state="" if state == "idle" else state,
        check="" if state == "idle" else _line(check),
        waits=len(waits),
        wait=_line(name_wait(waits[0])) if waits else "",
        subagents=tuple(SubagentLine(_line(one.name), *_progress(one.list)) for one in busy[:_MOST_SUBAGENTS]),
        more=len(busy[_MOST_SUBAGENTS:]),
    )


def find_shown_agent(agents: Sequence[AgentWork]) -> AgentWork | None:
    """Return the agent whose work a status line shows: the first root agent that has any, one at work before others.

    Where no root agent has a list, a subagent at work stands in.
    """
    having = [agent for agent in agents if agent.list.counts]
    roots = [agent for agent in having if agent.parent is None]
    at_work = [agent for agent in roots if agent.activity.state != "finished"]
    others = [agent for agent in having if agent.parent is not None and agent.activity.state != "finished"]
    return next(iter((*at_work, *roots, *others)), None)


def is_at_work(activity: Activity, now: datetime) -> bool:
    """True unless a subagent has finished, ended its turn, or was silent for so long that it must be gone."""
    if activity.rests or activity.state == "finished":
        return False
    return activity.at is None or now - activity.at < WATCHED


def name_wait(wait: PersonWait) -> str:
    """Return what waits on a person in a few words: the question itself, the title of the plan, the blocked item."""
    if wait.kind == "question":
        return wait.text
    if wait.kind == "plan":
        return f"plan: {wait.title}"
    return f"{wait.title}: {wait.text}" if wait.text else wait.title


def _progress(work: ListSummary) -> tuple[int, int]:
    counts = work.counts
    return counts.get("completed", 0), sum(counts.values()) - counts.get("cancelled", 0)


def _line(text: str | None) -> str:
    return cut(for_terminal(text), _LONGEST) if text else ""

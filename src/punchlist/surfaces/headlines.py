"""Render the first lines of reports and briefs: sessions, Git, what waits on a person, what stopped or stalled."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from punchlist.core.grounding.session import CheckState, SessionState
from punchlist.core.overview import STALLS, PersonWait
from punchlist.core.report import Noticed
from punchlist.surfaces.lists import STATES
from punchlist.surfaces.spans import Glyphs, Line, Span, Style, pack, safe_line
from punchlist.text import cut, fit
from punchlist.views.findings import finding_words, short_session, stall_words
from punchlist.views.reports import Around, GitSummary, Stopped

WAITING: Final = "Waiting on you"
STOPPED: Final = "Stopped, stalled or looping"

MOST_COMMITS: Final = 4
"""Commits that are shown with their subjects; what is beyond is counted."""

MOST_FAILURES: Final = 3
"""Failing checks of a session that are shown with their last lines, the latest ones."""

_MOST_SESSIONS: Final = 8
_MOST_LINES: Final = 3
_MARGIN: Final = 4
_PLACE: Final = 40


def first_lines(
    sessions: Sequence[SessionState],
    around: Around,
    waits: Sequence[PersonWait],
    noticed: Iterable[Noticed],
    glyphs: Glyphs,
    columns: int = 0,
    *,
    most: int = 0,
    tails: bool = False,
    named: bool = False,
) -> Iterator[Line]:
    """Yield the lines before the items. With `columns` they fit into them; `most` limits the rows of a section.

    With `tails` a red session has its failing commands and their last lines below it. Sessions have their names where
    there are several, or if they are to be `named`.
    """
    yield from _state_lines(sessions, glyphs, columns, tails=tails, named=named or len(sessions) > 1)
    for summary in around.git:
        yield from _git_lines(summary, git_name(summary, around), glyphs, columns)
    waiting, stopped = waiting_words(waits), stopped_words(around, noticed)
    yield from section(glyphs, WAITING, [wrap_row(text, glyphs, columns) for text in waiting], "accent", most, "answer")
    yield from section(glyphs, STOPPED, [wrap_row(text, glyphs, columns) for text in stopped], "warning", most)


def section(
    glyphs: Glyphs, name: str, rows: Sequence[Sequence[str]], style: Style, most: int = 0, see: str = "report"
) -> Iterator[Line]:
    """Yield rows of one or more lines each, under their name; of more than `most` rows, the last are counted.

    `see` is the command that shows all of them.
    """
    if not rows:
        return
    yield (Span(f"{name} ({len(rows)})", style),)
    kept = rows if not most or len(rows) <= most else rows[: most - 1]
    for first, *more in kept:
        yield (Span(f"  {glyphs.dot} {first}"),)
        yield from ((Span(f"    {line}", "dim"),) for line in more)
    if len(kept) < len(rows):
        said = f"  {glyphs.ellipsis} and {len(rows) - len(kept)} more"
        yield (Span(f"{said}; `punchlist {see}` shows them", "dim"),)


def wrap_row(text: str, glyphs: Glyphs, columns: int) -> Sequence[str]:
    """Wrap a text on a few lines of that many columns, with the margin of a row."""
    room = max(1, columns - _MARGIN) if columns else 0
    lines = list(pack([safe_line(text)], room, ""))
    if len(lines) <= _MOST_LINES:
        return lines or [""]
    return [*lines[: _MOST_LINES - 1], fit(" ".join(lines[_MOST_LINES - 1 :]), room, glyphs.ellipsis)]


# Words.


def count_words(number: int, what: str, many: str = "") -> str:
    return f"{number:,} {what if number == 1 else many or what + 's'}"


def names(owners: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return a name for each session and agent: with the session where two agents have one name."""
    known = list(owners)
    said = [agent for _, agent in known]
    return {
        (session, agent): agent if said.count(agent) == 1 else f"{agent} in {short_session(session)}"
        for session, agent in known
    }


def name_task_list(name: str) -> str:
    """Return a list of tasks as people say it: the project's own by the project's folder."""
    kind, _, rest = name.partition(":")
    return f"the tasks of {os.path.basename(rest) if kind == 'project' else name}"


# The state of each session.


def state_words(session: SessionState) -> str:
    """Say by which check a session has its state, when, and how many code changes ago."""
    check = session.decided_by
    if session.state == "idle":
        return "nothing was changed, and nothing was checked"
    if check is None:
        return f"{count_words(session.changes, 'change')}, and no check ran"
    at = _time_words(check.at)
    if session.state == "red":
        done = count_words(session.done_since, "item was", "items were")
        after = f"; {done} marked done after it" if session.done_since else ""
        return f"{_name_check(check)} failed {at} and was not green since{after}"
    if session.state == "green":
        return f"{_name_check(check)} passed {at}, nothing changed since"
    return f"{count_words(session.changes_since, 'change')} since the last check ({_name_check(check)}, {at})"


def _time_words(at: datetime) -> str:
    """Return a time of today as `03:12`, any other with its day."""
    local = at.astimezone()
    is_today = local.date() == datetime.now(local.tzinfo).date()
    return f"{local:%H:%M}" if is_today else f"{local.day} {local:%b %H:%M}"


def _name_check(check: CheckState) -> str:
    where = ", ".join(path for path in check.scope[:2] if path)
    return f"{check.program} {where}" if where else check.program


def red_commands(sessions: Iterable[SessionState]) -> frozenset[tuple[str, str]]:
    """Return the failing commands that the lines of these sessions tell of, each with its session."""
    red = ((one.session, one.decided_by) for one in sessions if one.state == "red")
    return frozenset((session, check.command) for session, check in red if check is not None)


def failing_checks(session: SessionState) -> list[CheckState]:
    """Return the latest checks of a session that fail and whose command is known, the latest first."""
    return [check for check in session.checks if check.outcome == "failed" and check.command][:MOST_FAILURES]


def _state_lines(
    sessions: Sequence[SessionState], glyphs: Glyphs, columns: int, *, tails: bool, named: bool
) -> Iterator[Line]:
    """Yield each session that is not idle: its state, its name, then why."""
    told = [session for session in sessions if session.state != "idle"]
    for session in told[:_MOST_SESSIONS]:
        name = f" {glyphs.dot} {safe_line(short_session(session.session))}" if named else ""
        state = f"session {session.state}"
        first, *more = _wrap(f"{state}{name}: {safe_line(state_words(session))}", columns)
        yield (Span(state, STATES[session.state]), Span(first.removeprefix(state)))
        yield from ((Span(line),) for line in more)
        for check in failing_checks(session) if tails else ():
            for line in (f"  $ {check.command}", *(f"    {line}" for line in check.tail.splitlines())):
                text = safe_line(line)
                yield (Span(fit(text, columns, glyphs.ellipsis) if columns else text, "dim"),)
    if len(told) > _MOST_SESSIONS:
        yield (Span(f"{glyphs.ellipsis} and {len(told) - _MOST_SESSIONS} more sessions", "dim"),)


def _wrap(text: str, columns: int) -> Iterator[str]:
    """Yield a text in lines of so many columns, all but the first indented."""
    for place, line in enumerate(pack([text], max(1, columns - 2) if columns else 0, "")):
        yield f"  {line}" if place else line


# Git.


def git_name(summary: GitSummary, around: Around) -> str:
    """Return the name of a repository, which needs one only where there are several."""
    return "git" if len(around.git) == 1 else f"git {os.path.basename(summary.project)}"


def git_words(summary: GitSummary) -> str:
    """Return what was committed and what was not: `2 commits; 3 files, +120 -14 uncommitted`."""
    said: list[str] = []
    if summary.commits or summary.complete:
        said.append(count_words(len(summary.commits), "commit") if summary.commits else "no commits")
    lines = summary.uncommitted
    if lines.files:
        said.append(f"{count_words(lines.files, 'file')}, +{lines.added:,} -{lines.removed:,} uncommitted")
    elif summary.complete:
        said.append("nothing uncommitted")
    if not summary.complete:
        said.append("Git did not tell everything")
    return "; ".join(said)


def commit_words(summary: GitSummary) -> list[str]:
    """Return the short hash and the subject of the latest commits, and the number of the others."""
    said = [f"{commit.hash[:7]} {commit.subject}" for commit in summary.commits]
    more = len(said) - MOST_COMMITS
    return said if more <= 1 else [*said[:MOST_COMMITS], f"and {more} more"]


def _git_lines(summary: GitSummary, name: str, glyphs: Glyphs, columns: int) -> Iterator[Line]:
    yield from ((Span(line),) for line in _wrap(safe_line(f"{name}: {git_words(summary)}"), columns))
    for said in commit_words(summary):
        text = f"  {safe_line(said)}"
        yield (Span(fit(text, columns, glyphs.ellipsis) if columns else text, "dim"),)


# What waits, and what does not go on.


def waiting_words(waits: Sequence[PersonWait]) -> list[str]:
    """Return what waits on a person, a sentence each; an agent with its session, which the reader will look for."""
    return [_wait_words(wait, f"{wait.agent} in {short_session(wait.session)}") for wait in waits]


def _wait_words(wait: PersonWait, who: str) -> str:
    match wait.kind:
        case "question":
            return f"{who} asks: {wait.text}"
        case "plan":
            return f"{who} proposes a plan: {wait.title}"
        case "item":
            title = f"{wait.title} waits on {wait.on}" if wait.on else wait.title
            return f"{title}: {wait.text}" if wait.text else title
        case _:
            return f"{wait.kind} {wait.id[:8]} waits for a person: {wait.title}"


def stopped_words(around: Around, noticed: Iterable[Noticed] = ()) -> list[str]:
    """Return the agents that stopped, those that are or were silent, and other findings, as sentences."""
    known = list(noticed)
    owners = dict.fromkeys((one.session, one.agent) for one in (*around.stopped, *around.stalls, *known))
    stopped = names(owners)
    # A silence or a loop is told while it lasts: the reader will look for that session.
    called = {(session, agent): f"{agent} in {short_session(session)}" for session, agent in owners}
    silent = {(one.session, one.agent) for one in around.stalls}
    said = [_stop_words(stopped[one.session, one.agent], one) for one in around.stopped]
    said += [stall_words(called[one.session, one.agent], one) for one in around.stalls]
    for one in known:
        owner = (one.session, one.agent)
        if one.detector not in STALLS or owner not in silent:
            said.append(finding_words(called[owner], one.detector, one.subject, one.seen))
    return list(dict.fromkeys(said))


def _stop_words(who: str, stopped: Stopped) -> str:
    where = f" {stopped.place}" if stopped.place else ""
    return f"{who} stopped{where}, with {count_words(stopped.open, 'item')} open."


def place_words(focus: str | None, running: str = "") -> str:
    """Return where an agent is: in a call that still runs, else at an item; empty if neither is known."""
    if running:
        return f"in `{cut(running, _PLACE)}`"
    return f'at "{cut(focus, _PLACE)}"' if focus else ""

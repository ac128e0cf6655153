"""Render work reports as terminal lines and Markdown, briefs on one screen, and the cost of the layer as a table.

First the lines that reports and briefs begin with: sessions, Git, what waits on a person, what stopped or stalled.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from punchlist.core.grounding.evidence import Matched
from punchlist.core.grounding.session import CheckState, SessionState
from punchlist.core.grounding.tally import Tally
from punchlist.core.grounding.tool_call import Subject, is_task, task_of
from punchlist.core.overview import STALLS, PersonWait
from punchlist.core.report import Brief, ItemReport, ListNews, Noticed, Report, Totals
from punchlist.core.todo import Status
from punchlist.guidance.ledger import Cost
from punchlist.terminal.lists import GRADES, STATES, blocker_words, helper_words, own_check_words
from punchlist.terminal.spans import Glyphs, Line, Span, Style, pack, plural, safe_line
from punchlist.text import cut, fit, width
from punchlist.views.findings import finding_words, short_session, span, stall_words
from punchlist.views.reports import Around, Changed, Changes, GitSummary, said_size

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
    said: list[str] = []
    for one in around.stopped:
        where = f" {one.place}" if one.place else ""
        said.append(f"{stopped[one.session, one.agent]} stopped{where}, with {count_words(one.open, 'item')} open.")
    said += [stall_words(called[one.session, one.agent], one) for one in around.stalls]
    for one in known:
        owner = (one.session, one.agent)
        if one.detector not in STALLS or owner not in silent:
            said.append(finding_words(called[owner], one.detector, one.subject, one.seen))
    return list(dict.fromkeys(said))


def place_words(focus: str | None, running: str = "") -> str:
    """Return where an agent is: in a call that still runs, else at an item; empty if neither is known."""
    if running:
        return f"in `{cut(running, _PLACE)}`"
    return f'at "{cut(focus, _PLACE)}"' if focus else ""


COLUMNS = ("item", "status", "grade", "evidence", "time", "work", "files", "changes")
MOST_FILES: Final = 8
"""The most file names shown per item; the rest is counted."""

_MOMENT: Final = timedelta(seconds=1)
_IN, _DEEPER = "    ", "      "


Told = frozenset[tuple[str, str]]
"""Failing commands that a report has told of already, each with its session."""


# The words that all forms share.


def owner_words(of: Subject, around: Around) -> tuple[str, str]:
    """Return the heading of an agent's items and tasks: its name, and its session; tasks of nobody are `Tasks`."""
    if not of.session:
        return (of.agent, "tasks") if of.agent else ("Tasks", "")
    yours = "yours, " if of.session in around.own else ""
    return of.agent, f"{yours}session {of.session}"


def item_label(key: str) -> str:
    """Name the item or task that work belongs to, if any."""
    return "/".join(task_of(key)) if is_task(key) else key or "no item"


def status_words(entry: ItemReport) -> str:
    """Return the status of an item; one that a finished agent has in progress was left so."""
    if entry.is_gone:
        return "left out"
    left = "left " if entry.item.status is Status.IN_PROGRESS and not entry.is_under_way else ""
    return left + entry.item.status.value.replace("_", " ")


def call_words(tally: Tally) -> str:
    """Return the number of calls by kind: `4 calls (3 shell, 1 edit; 2 by subagents)`."""
    kinds = sorted(tally.kinds.items(), key=lambda entry: -entry[1])
    names = [("other" if kind == "unknown" else kind, number) for kind, number in kinds if number]
    said = names[0][0] if len(names) == 1 else ", ".join(f"{number:,} {name}" for name, number in names)
    if tally.child_calls:
        said += f"; {tally.child_calls:,} by subagents"
    return f"{count_words(tally.calls, 'call')} ({said})"


def work_words(tally: Tally, *, kinds: bool = True) -> list[str]:
    """Describe reported work in a few words each, without files and checks."""
    if tally.is_empty:
        return ["nothing seen"]
    said = [call_words(tally) if kinds else count_words(tally.calls, "call")]
    if tally.failures:
        said.append(f"{tally.failures:,} failed")
    if tally.running:
        said.append(f"{tally.running:,} running")
    if tally.active >= _MOMENT:
        said.append(f"{span(tally.active)} active")
    return said


def tally_words(tally: Tally, *, kinds: bool = True) -> list[str]:
    """Describe all reported work that belongs to no item."""
    check = tally.last_check
    said = [] if check is None else [f"{check.name} {check.outcome}"]
    files = [count_words(len(tally.files), "file")] if tally.files else []
    return [*said, *work_words(tally, kinds=kinds), *files]


def check_words(entry: ItemReport, told: Told) -> list[str]:
    """Return the evidence for a grade: the command that decided it, unless that was told already, and the remarks.

    An item without a grade has the last check that was seen.
    """
    check = entry.check if entry.grade is not None else entry.last_check
    if check is None or (entry.grade == "failing" and (entry.subject.session, check.command) in told):
        return list(entry.remarks)
    return [f"{check.command or check.name} {check.outcome}", *entry.remarks]


def proof_words(entry: ItemReport, told: Told) -> list[str]:
    """Return the evidence for a grade, then what was given as evidence, but for a command that decided the grade."""
    given = [f"{match.evidence.text} ({evidence_words(match)})" for match in given_evidence(entry)]
    return [*check_words(entry, told), *given]


def given_evidence(entry: ItemReport) -> Iterator[Matched]:
    decided_by = None if entry.check is None else entry.check.command
    return (match for match in entry.evidence if match.evidence.text != decided_by)


def item_words(entry: ItemReport) -> list[str]:
    """Describe the work on an item that was begun, subagents at work first."""
    said = [helper_words(entry.helpers)] if entry.helpers else []
    if entry.elapsed is not None or not entry.tally.is_empty:
        said += work_words(entry.tally)
    return said


def file_words(tally: Tally, root: str = "") -> list[str]:
    """Return the files that were touched; those below `root` from there."""
    names = [path.removeprefix(f"{root}/") if root else path for path in tally.files]
    more = len(names) - MOST_FILES
    return names if more <= 1 else [*names[:MOST_FILES], f"{more} more"]


def evidence_words(match: Matched) -> str:
    """Return the kind of evidence, and whether the call that it names was seen, and went well."""
    return f"{match.kind}, {'held' if match.holds else 'seen' if match.is_seen else 'not seen'}"


def change_words(changed: Changed | None) -> str:
    """Return the number of lines that version control saw change."""
    if changed is None or not (changed.files or changed.commits):
        return ""
    return f"+{changed.added:,} -{changed.removed:,} in {count_words(changed.files, 'file')}"


def changed_words(changed: Changed | None) -> str:
    """Return the number of changed lines and of commits."""
    said = change_words(changed)
    if changed is None or not changed.commits:
        return said
    shared = f" ({changed.shared} shared with others)" if changed.shared else ""
    return f"{said}, {count_words(len(changed.commits), 'commit')}{shared}"


def total_words(totals: Totals) -> list[tuple[str, str]]:
    """Return the totals, each with its name."""
    done = f"{totals.completed} of {totals.items - totals.cancelled} done"
    items = f"{done}, {totals.open} open" + (f", {totals.cancelled} given up" if totals.cancelled else "")
    grades = ", ".join(f"{count} {grade}" for grade, count in totals.grades.items()) or "none"
    if totals.unjudged:
        grades += f"; {totals.unjudged} not judged, because no tool calls were reported"
    work = f"{count_words(totals.calls, 'call')}, {totals.failures:,} failed, {span(totals.active)} active"
    return [("items", items), ("grades", grades), ("work", work)]


# For a terminal.


def report_lines(
    report: Report, around: Around, changes: Changes, glyphs: Glyphs, columns: int = 0, *, root: str = ""
) -> Iterator[Line]:
    """Yield the state of the work, each item under its agent with all that is known of it, and the totals.

    With `columns`, lines fit into them: only an item's text is cut. Files below `root` are named from there.
    """
    first = list(first_lines(report.sessions, around, report.waits, (), glyphs, columns, tails=True))
    yield from first
    told = red_commands(report.sessions)
    owner = None
    for entry in report.items:
        if owner_words(entry.subject, around) != owner:
            if first or owner:
                yield ()
            owner = name, where = owner_words(entry.subject, around)
            yield (Span(safe_line(name), "bold"), Span(f" {glyphs.dot} {safe_line(where)}" if where else "", "dim"))
        yield _item_line(entry, glyphs, columns)
        for parts, between in _details(entry, changes, glyphs, root, told):
            yield from _indent(parts, between, columns)
    if report.elsewhere:
        if first or owner:
            yield ()
        yield (Span("Beside the lists", "bold"),)
    for of, tally in report.elsewhere.items():
        yield (Span(f"  {safe_line(of.agent)}, {safe_line(item_label(of.item))}"),)
        yield from _indent(tally_words(tally), f" {glyphs.dot} ", columns)
    yield ()
    for name, value in total_words(report.totals):
        lines = pack([f"{name}: {value}"], columns, "")
        for place, line in enumerate(lines):
            head = f"{name}: " if place == 0 and line.startswith(f"{name}: ") else ""
            yield (Span(head, "dim"), Span(f"{'' if place == 0 else '  '}{line.removeprefix(head)}"))


def _item_line(entry: ItemReport, glyphs: Glyphs, columns: int = 0) -> Line:
    status = status_words(entry)
    grade = f"  {entry.grade or status}" if entry.grade is not None or status.startswith("left ") else ""
    text = f"  {glyphs.boxes[entry.item.status.value]} {safe_line(entry.item.content)}"
    if columns:
        text = fit(text, max(0, columns - len(grade)), glyphs.ellipsis)
    return (Span(text), Span(grade, GRADES.get(entry.grade or "", "dim")))


def _details(
    entry: ItemReport, changes: Changes, glyphs: Glyphs, root: str, told: Told
) -> Iterator[tuple[list[str], str]]:
    """Yield what else is known of an item: groups of words, and the text between them."""
    dot = f" {glyphs.dot} "
    for said in filter(None, (blocker_words(entry.item), own_check_words(entry.item))):
        yield [said], dot
    yield check_words(entry, told), dot
    said = [span(entry.elapsed), changed_words(changes.get(entry.subject)), *item_words(entry)]
    yield [part for part in said if part], dot
    files = file_words(entry.tally, root)
    if files:
        yield [f"files: {files[0]}", *files[1:]], ", "
    for match in given_evidence(entry):
        yield [f"evidence ({evidence_words(match)}): {match.evidence.text}"], ""


def _indent(parts: Iterable[str], between: str, columns: int) -> Iterator[Line]:
    room = max(1, columns - len(_DEEPER)) if columns else 0
    for place, line in enumerate(pack(map(safe_line, parts), room, between)):
        yield (Span(f"{_IN if place == 0 else _DEEPER}{line}", "dim"),)


# As Markdown.


def report_markdown(report: Report, around: Around, changes: Changes, *, root: str = "") -> str:
    """Return a table for each agent, in which no text of a board is markup. Files below `root` are named from there."""
    lines = ["# Work report", ""]
    for one in report.sessions:
        if one.state != "idle":
            lines.append(f"- session {one.state} ({_escape(short_session(one.session))}): {_escape(state_words(one))}")
        for check in failing_checks(one):
            lines.append(f"  - $ {_escape(check.command)}")
            lines += [f"    - {_escape(line.strip())}" for line in check.tail.splitlines()]
    for summary in around.git:
        lines.append(f"- {_escape(git_name(summary, around))}: {_escape(git_words(summary))}")
        lines += [f"  - {_escape(text)}" for text in commit_words(summary)]
    for name, texts in ((WAITING, waiting_words(report.waits)), (STOPPED, stopped_words(around))):
        if texts:
            lines += ["", f"## {name}", "", *(f"- {_escape(text)}" for text in texts)]
    told = red_commands(report.sessions)
    owner = None
    for entry in report.items:
        if owner_words(entry.subject, around) != owner:
            owner = owner_words(entry.subject, around)
            lines += ["", f"## {_escape(', '.join(filter(None, owner)))}", ""]
            lines += [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
        cells = [
            entry.item.content,
            "; ".join(filter(None, (status_words(entry), blocker_words(entry.item), own_check_words(entry.item)))),
            entry.grade or "",
            "; ".join(proof_words(entry, told)),
            span(entry.elapsed),
            ", ".join(item_words(entry)),
            ", ".join(file_words(entry.tally, root)),
            changed_words(changes.get(entry.subject)),
        ]
        lines.append(f"| {' | '.join(_escape(cell) for cell in cells)} |")
    if report.elsewhere:
        lines += ["", "## Beside the lists", ""]
    for of, tally in report.elsewhere.items():
        lines.append(f"- {_escape(f'{of.agent}, {item_label(of.item)}')}: {_escape(', '.join(tally_words(tally)))}")
    lines += ["", "## Totals", "", *(f"- {name}: {_escape(value)}" for name, value in total_words(report.totals))]
    return "\n".join(line for place, line in enumerate(lines) if line or (place and lines[place - 1])) + "\n"


def _escape(text: str) -> str:
    """Return a text from a board as one cell of Markdown without markup."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>#|!~&" else char for char in safe_line(text))


# A brief: the work since the reader was away, on one screen.


_TEXT: Final = 80
"""Characters of an item's text where a line may be of any length."""

_LEAST: Final = 24
"""Cells that an item's text keeps on a line with what is known of it."""

_NARROW: Final = 76
"""On fewer columns what is known of an item is on lines of its own."""

_MOST_KNOWN: Final = 2
_NAME: Final = 32

_MOST_ROWS: Final = 4
"""Rows of one section; what is beyond is counted."""


def _item_row(entry: ItemReport, facts: Iterable[str], glyphs: Glyphs, columns: int) -> Sequence[str]:
    text, parts, mark = safe_line(entry.item.content), list(map(safe_line, facts)), glyphs.ellipsis
    if not columns:
        return [f" {glyphs.dash} ".join(filter(None, (cut(text, _TEXT, mark), ", ".join(parts))))]
    room = max(1, columns - _MARGIN)
    if columns < _NARROW:
        *more, last = list(pack(parts, room, ", "))[:_MOST_KNOWN] or [""]
        return [fit(text, room, mark), *more, *([last.rstrip(",")] if last else [])]
    known = _fit_parts(parts, room - min(width(text), _LEAST) - 3)
    if not known:
        return [fit(text, room, mark)]
    return [f"{fit(text, room - width(known) - 3, mark)} {glyphs.dash} {known}"]


def _item_facts(
    entry: ItemReport, called: Mapping[tuple[str, str], str], changed: Changed | None, told: Told, glyphs: Glyphs
) -> Iterator[str]:
    """Yield the facts about an item, the more important first; agents are named where there are several."""
    owner = (entry.subject.session, entry.subject.agent)
    said = [
        entry.grade if entry.grade in ("failing", "unseen", "confirmed") else "",
        helper_words(entry.helpers) if entry.helpers else "",
        *check_words(entry, told)[:1],
        change_words(changed),
        cut(called[owner], _NAME, glyphs.ellipsis) if len(called) > 1 or not owner[0] else "",
        span(entry.elapsed),
        count_words(len(changed.commits), "commit") if changed is not None and changed.commits else "",
        *(work_words(entry.tally, kinds=False) if entry.grade is None and not entry.tally.is_empty else ()),
    ]
    return (part for part in said if part)


def _fit_parts(parts: Iterable[str], room: int) -> str:
    kept: list[str] = []
    for part in parts:
        if width(", ".join([*kept, part])) <= room:
            kept.append(part)
    return ", ".join(kept)


def is_empty(brief: Brief, around: Around) -> bool:
    """True if there is nothing to tell; work that only goes on is nothing new."""
    return brief.is_empty and not around.stalls


def brief_lines(brief: Brief, around: Around, changes: Changes, glyphs: Glyphs, columns: int = 0) -> Iterator[Line]:
    """Yield the lines of a brief, one screen at most; with `columns`, they fit into them."""
    if opening := _opening_words(brief, around):
        yield from ((Span(line),) for line in pack([opening], columns, ""))
    if is_empty(brief, around) and not brief.under_way and not brief.red:
        return
    sessions = (*brief.sessions, *brief.red)
    named = bool(brief.red)  # of these nothing else in the brief tells
    yield from first_lines(sessions, around, brief.waits, brief.noticed, glyphs, columns, most=_MOST_ROWS, named=named)
    items, told = (*brief.completed, *brief.failed, *brief.under_way), red_commands(sessions)
    called = names({(entry.subject.session, entry.subject.agent) for entry in items})
    lists = [wrap_row(text, glyphs, columns) for text in _list_words(brief.lists, around)]
    yield from section(glyphs, "Lists", lists, "plain", _MOST_ROWS)
    sections: Sequence[tuple[str, Sequence[ItemReport], Style]] = (
        ("Failed", brief.failed, "bad"),
        ("Marked done, but failing or unseen", brief.doubtful, "bad"),
        ("Done and checked", brief.verified, "good"),
        ("Done, confirmed by a person", brief.confirmed, "good"),
        ("Done, not checked", brief.unchecked, "plain"),
        ("Done, not judged", brief.unjudged, "dim"),
        ("Under way", brief.under_way, "focus"),
    )
    for name, entries, style in sections:
        rows: list[Sequence[str]] = []
        for entry in entries:
            facts = _item_facts(entry, called, changes.get(entry.subject), told, glyphs)
            rows.append(_item_row(entry, facts, glyphs, columns))
        yield from section(glyphs, name, rows, style, _MOST_ROWS)
    if brief.work.is_empty and not around.tokens:
        return
    cost = f"; the todo layer cost about {count_words(around.tokens, 'token')}" if around.tokens else ""
    said = f"Work since: {', '.join(tally_words(brief.work, kinds=False))}{cost}."
    yield from ((Span(line, "dim"),) for line in pack([said], columns, ""))


def _opening_words(brief: Brief, around: Around) -> str:
    """Return the words before all else: a greeting, or that nothing is new; mostly empty."""
    if around.is_first and is_empty(brief, around) and not brief.under_way:
        return 'Hello. There is nothing here yet; begin with `punchlist todo append "My first item"`.'
    if around.is_first:
        return "Hello. This is your first brief here, on all that there is; the next one says what is new."
    if not is_empty(brief, around):
        shown = (brief.completed, brief.failed, brief.under_way, brief.lists, brief.waits, brief.noticed)
        is_bare = not any((*shown, around.stopped, around.stalls)) and brief.work.is_empty
        return "Nothing was finished since you last looked; `punchlist events` shows what changed." if is_bare else ""
    if brief.under_way:
        return "Work is going on. Nothing is new since you last looked, and nothing waits on you."
    return "Nothing happened since you last looked, and nothing waits on you."


def _list_words(lists: Sequence[ListNews], around: Around) -> Iterator[str]:
    """Yield which lists were begun, and onto which items came."""
    called = names({(one.session, one.agent) for one in lists if one.session not in around.own and not one.list})
    for one in lists:
        items = count_words(one.added, "task" if one.list else "item")
        who = called.get((one.session, one.agent), "You")
        if one.list:
            yield f"{items} added to {name_task_list(one.list)}"
        elif one.by != one.agent and one.session not in around.own:
            yield f"{one.by} added {items} to the list of {who}, which has {one.total:,} now"
        elif one.added == one.total:
            yield f"{who} began a list of {items}"
        else:
            yield f"{who} added {items} to a list, which has {one.total:,} now"


# The cost of the todo layer itself, as the cells of a table.


COST_HEADINGS: Final = ("turns", "calls", "share", "tools", "said", "written", "read", "tokens", "a turn")
COST_LEGEND: Final = (
    "Estimated tokens (4 bytes of ASCII each, 3 of anything else). tools: their descriptions, once a turn, as every "
    "request carries them; said: put before the model; written: arguments of calls; read: replies."
)


def cost_title(cost: Cost) -> str:
    """Return the name of a row: the dialect, and the profile if there is one."""
    return f"{cost.dialect}/{cost.profile}" if cost.profile else cost.dialect


def cost_cells(cost: Cost) -> tuple[str, ...]:
    """Return the cells of a row, as `COST_HEADINGS` names them."""
    parts = (cost.spent.descriptions, said_size(cost), cost.calls.arguments, cost.calls.replies)
    return (
        f"{cost.spent.turns:,}",
        f"{cost.calls.arguments.count:,}",
        f"{cost.share:.0%}",
        *(f"{part.tokens:,}" for part in parts),
        f"{cost.tokens:,}",
        f"{cost.tokens / cost.spent.turns:,.1f}" if cost.spent.turns else "-",
    )


def cost_remarks(cost: Cost) -> str:
    """Return what is out of the ordinary about a row; empty if nothing is."""
    kinds = ", ".join(f"{size.count} × {kind}" for kind, size in sorted(cost.spent.injections.items()))
    spent = cost.spent
    facts = (
        f"said: {kinds}" if kinds else "",
        f"{plural(spent.caused, 'turn')} caused by the stop guard" if spent.caused else "",
        f"{plural(spent.own_turns, 'turn')} with no other tool than ours" if spent.own_turns else "",
        f"{plural(cost.calls.refused, 'call')} refused" if cost.calls.refused else "",
        f"{plural(spent.withheld, 'text')} kept back by the budget" if spent.withheld else "",
    )
    return "; ".join(fact for fact in facts if fact)

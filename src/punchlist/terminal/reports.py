"""Render work reports as terminal lines and Markdown, and the cost of the layer as a table.

First the lines that a report begins with: sessions, Git, what waits on a person, what stopped or stalled.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import groupby
from typing import Final

from punchlist.core.grounding.evidence import Matched
from punchlist.core.grounding.session import CheckState, SessionState
from punchlist.core.grounding.tally import Tally
from punchlist.core.grounding.tool_call import Subject, is_task, relative_path, task_of
from punchlist.core.overview import PersonWait
from punchlist.core.report import ItemReport, Report, Totals
from punchlist.core.todo import Status
from punchlist.guidance.ledger import Cost
from punchlist.settings.environment import find_local_root
from punchlist.terminal.lists import GRADES, STATES, blocker_words, helper_words, mark_item, own_check_words
from punchlist.terminal.spans import UNICODE, Glyphs, Line, Span, Style, pack, safe_line, show_name
from punchlist.text import fit, plural, width
from punchlist.text.shell import drop_cd
from punchlist.views.findings import count_words, span, stall_words
from punchlist.views.grades import Explained, explain_grade, state_name, state_reason
from punchlist.views.list_owners import SessionNames
from punchlist.views.reports import Around, GitSummary, said_size

WAITING: Final = "Waiting on you"
STOPPED: Final = "Stopped, stalled or looping"

MOST_COMMITS: Final = 4
"""Commits that are shown with their subjects; what is beyond is counted."""

MOST_FAILURES: Final = 3
"""Failing checks of a session that are shown with their last lines, the latest ones."""

_MOST_SESSIONS: Final = 8
_MOST_LINES: Final = 3
_MARGIN: Final = 4


def _first_lines(report: Report, around: Around, glyphs: Glyphs, columns: int) -> Iterator[Line]:
    """Yield the lines before the items. Several sessions have their names."""
    sessions = report.sessions
    yield from _state_lines(sessions, glyphs, columns, around.names if len(sessions) > 1 else None)
    for summary in around.git:
        yield from _git_lines(summary, git_name(summary, around), glyphs, columns)
    yield from _section_lines(WAITING, waiting_words(report.waits), "accent", glyphs, columns)
    yield from _section_lines(STOPPED, stopped_words(around), "warning", glyphs, columns)


def _section_lines(name: str, texts: Sequence[str], style: Style, glyphs: Glyphs, columns: int) -> Iterator[Line]:
    """Yield texts under their name, each on one or more lines."""
    if not texts:
        return
    yield (Span(f"{name} ({len(texts)})", style),)
    for text in texts:
        first, *more = _wrap_row(text, glyphs, columns)
        yield (Span(f"  {glyphs.dot} {first}"),)
        yield from ((Span(f"    {line}", "dim"),) for line in more)


def _wrap_row(text: str, glyphs: Glyphs, columns: int) -> Sequence[str]:
    """Wrap a text on a few lines of that many columns, with the margin of a row."""
    room = max(1, columns - _MARGIN) if columns else 0
    lines = list(pack([safe_line(text)], room, ""))
    if len(lines) <= _MOST_LINES:
        return lines or [""]
    return [*lines[: _MOST_LINES - 1], fit(" ".join(lines[_MOST_LINES - 1 :]), room, glyphs.ellipsis)]


# Words.


def name_task_list(name: str) -> str:
    """Return a list of tasks as people say it: the project's own by the project's folder. A flow has no list."""
    if not name:
        return "flows"
    kind, _, rest = name.partition(":")
    return f"the tasks of {os.path.basename(rest) if kind == 'project' else name}"


# The state of each session.


def failing_checks(session: SessionState) -> list[CheckState]:
    """Return the latest checks of a session that fail and whose command is known, the latest first."""
    return [check for check in session.checks if check.outcome == "failed" and check.command][:MOST_FAILURES]


def _state_lines(
    sessions: Sequence[SessionState], glyphs: Glyphs, columns: int, called: SessionNames | None
) -> Iterator[Line]:
    """Yield the state of each session, with the failing commands and their last lines below a red one."""
    told = [session for session in sessions if session.state != "idle"]
    for session in told[:_MOST_SESSIONS]:
        name = "" if called is None else f" {glyphs.dot} {show_name(called.name(session.session), glyphs)}"
        state = f"session {state_name(session.state, session.changes_since)}"
        first, *more = _wrap(f"{state}{name}: {safe_line(state_reason(session))}", columns)
        yield (Span(state, STATES[session.state]), Span(first.removeprefix(state)))
        yield from ((Span(line),) for line in more)
        for check in failing_checks(session):
            for line in (f"  $ {drop_cd(check.command)}", *(f"    {line}" for line in check.tail.splitlines())):
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
    return list(map(_wait_words, waits))


def _wait_words(wait: PersonWait) -> str:
    match wait.kind:
        case "question":
            return f"{wait.owner} asks: {wait.text}"
        case "plan":
            return f"{wait.owner} proposes a plan: {wait.title}"
        case "item":
            title = f"{wait.title} waits on {wait.on}" if wait.on else wait.title
            return f"{title}: {wait.text}" if wait.text else title
        case _:
            return f"{wait.kind} {wait.id[:8]} waits for a person: {wait.title}"


def stopped_words(around: Around) -> list[str]:
    """Return the agents that stopped, and those that are silent, as sentences."""
    called = around.names.name
    said: list[str] = []
    for one in around.stopped:
        where = f" {one.place}" if one.place else ""
        said.append(f"{called(one.session, one.agent)} stopped{where}, with {count_words(one.open, 'item')} open.")
    said += [stall_words(called(one.session, one.agent), one) for one in around.stalls]
    return list(dict.fromkeys(said))


COLUMNS = ("item", "status", "grade", "evidence", "time", "work", "files")
MOST_FILES: Final = 3
"""The most file names shown per item; the rest is counted."""

_LEAST: Final = 20
"""Cells that an item's text keeps on a line with what is known of it."""

_MOMENT: Final = timedelta(seconds=1)
_IN, _DEEPER = "    ", "      "


# The words that all forms share.


def owner_words(of: Subject, around: Around) -> str:
    """Return the heading of an agent's items and tasks: its name; tasks of nobody are `Tasks`."""
    if not of.session:
        return f"{of.agent} · tasks" if of.agent else "Tasks"
    return around.names.name(of.session, of.agent)


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


def explain(entry: ItemReport) -> Explained:
    """Return the grade of an item, what it rests on, and other remarks; of an item without a grade its last check."""
    if entry.grade is not None:
        return explain_grade(entry.grade, entry.check, entry.remarks)
    last = entry.last_check
    return Explained("", "" if last is None else f"{last.name} {last.outcome}", entry.remarks)


def proof_words(entry: ItemReport) -> list[str]:
    """Return what a grade rests on, the remarks, then what was given as evidence."""
    found = explain(entry)
    given = [f"{match.evidence.text} ({evidence_words(match)})" for match in given_evidence(entry)]
    return [*filter(None, [found.reason]), *found.remarks, *given]


def given_evidence(entry: ItemReport) -> Iterator[Matched]:
    decided_by = None if entry.check is None else entry.check.command
    return (match for match in entry.evidence if match.evidence.text != decided_by)


def item_words(entry: ItemReport) -> list[str]:
    """Describe the work on an item that was begun, subagents at work first."""
    said = [helper_words(entry.helpers)] if entry.helpers else []
    if entry.elapsed is not None or not entry.tally.is_empty:
        said += work_words(entry.tally)
    return said


def file_words(entry: ItemReport) -> list[str]:
    """Return the files that were touched, from the project's folder, three at most."""
    names = [relative_path(path, find_local_root(entry.folder)) or path for path in entry.tally.files]
    more = len(names) - MOST_FILES
    return names if more <= 1 else [*names[:MOST_FILES], f"{more} more"]


def evidence_words(match: Matched) -> str:
    """Return the kind of evidence, and whether the call that it names was seen, and went well."""
    return f"{match.kind}, {'held' if match.holds else 'seen' if match.is_seen else 'not seen'}"


def total_words(totals: Totals) -> list[tuple[str, str]]:
    """Return the totals, each with its name."""
    done = f"{totals.completed} of {totals.items - totals.cancelled} done"
    items = f"{done}, {totals.open} open" + (f", {totals.cancelled} given up" if totals.cancelled else "")
    grades = ", ".join(f"{count} {grade}" for grade, count in totals.grades.items()) or "none"
    if totals.unjudged:
        grades += f"; {totals.unjudged} not judged, because no tool calls were reported"
    active = f", {span(totals.active)} active" if totals.active >= _MOMENT else ""
    work = f"{count_words(totals.calls, 'call')}, {totals.failures:,} failed{active}"
    return [("items", items), ("grades", grades), ("work", work)]


# For a terminal.


def report_lines(report: Report, around: Around, glyphs: Glyphs, columns: int = 0) -> Iterator[Line]:
    """Yield the totals, the state of the work, and each item under its agent with all that is known of it.

    With `columns`, lines fit into them: only an item's text is cut.
    """
    for name, value in total_words(report.totals):
        lines = pack([f"{name}: {value}"], columns, "")
        for place, line in enumerate(lines):
            head = f"{name}: " if place == 0 and line.startswith(f"{name}: ") else ""
            yield (Span(head, "dim"), Span(f"{'' if place == 0 else '  '}{line.removeprefix(head)}"))
    first = list(_first_lines(report, around, glyphs, columns))
    yield from ((), *first) if first else ()
    owner = None
    for group in group_batches(report.items):
        entry = group[0]
        if owner_words(entry.subject, around) != owner:
            yield ()
            owner = owner_words(entry.subject, around)
            yield (Span(show_name(owner, glyphs), "bold"),)
        for one in group:
            is_last = one is group[-1]
            yield from _item_lines(one, glyphs, columns, is_alone=len(group) == 1)
            for parts, between in _details(one, glyphs, is_last=is_last, is_alone=len(group) == 1):
                yield from _indent(parts, between, columns)
    if report.elsewhere:
        yield ()
        yield (Span("Beside the lists", "bold"),)
    for of, tally in report.elsewhere:
        yield (
            Span(f"  {show_name(around.names.name(of.session, of.agent), glyphs)}, {safe_line(item_label(of.item))}"),
        )
        yield from _indent(tally_words(tally), f" {glyphs.dot} ", columns)


def group_batches(items: Iterable[ItemReport]) -> Iterator[list[ItemReport]]:
    """Yield items in groups: those that one write completed for the same reason together, each other one alone."""
    for (batch, *_), group in groupby(items, key=_batch_key):
        found = list(group)
        yield from [found] if batch else [[entry] for entry in found]


def _batch_key(entry: ItemReport) -> tuple[int, str, str, str, tuple[str, ...]]:
    of, found = entry.subject, explain(entry)
    return entry.batch, of.session, of.agent, found.words, tuple(found.remarks)


def _item_lines(entry: ItemReport, glyphs: Glyphs, columns: int, *, is_alone: bool) -> Iterator[Line]:
    """Yield an item with its grade and, if it is alone, the reason; this has its own line where there is no room."""
    status, found = status_words(entry), explain(entry)
    mark, text = mark_item(entry.item, glyphs), safe_line(entry.item.content)
    name = found.name or (status if status.startswith("left ") else "")
    reason = safe_line(found.reason) if is_alone and found.name else ""
    said = ": ".join(filter(None, (name, reason)))
    room = max(0, columns - width(mark.text) - 5) if columns else 0
    has_room = not columns or width(said) <= room - min(width(text), _LEAST)
    said = said if has_room else name
    text = fit(text, max(0, room - width(said)), glyphs.ellipsis) if columns else text
    yield (Span("  "), mark, Span(f" {text}"), Span(f"  {said}" if said else "", GRADES.get(entry.grade or "", "dim")))
    if not has_room:
        yield from _indent([reason], "", columns)


def _details(entry: ItemReport, glyphs: Glyphs, *, is_last: bool, is_alone: bool) -> Iterator[tuple[list[str], str]]:
    """Yield what else is known of an item: groups of words, and the text between them.

    The last item of a batch has what all of them share.
    """
    dot, found = f" {glyphs.dot} ", explain(entry)
    for said in filter(None, (blocker_words(entry.item), own_check_words(entry.item))):
        yield [said], dot
    if is_last:
        reason = [] if is_alone and found.name else [found.reason]
        yield [part for part in (*reason, *found.remarks) if part], dot
    said = [span(entry.elapsed), *(item_words(entry) if is_last else ())]
    yield [part for part in said if part], dot
    files = file_words(entry) if is_last else []
    if files:
        yield [f"files: {files[0]}", *files[1:]], ", "
    for match in given_evidence(entry):
        yield [f"evidence ({evidence_words(match)}): {match.evidence.text}"], ""


def _indent(parts: Iterable[str], between: str, columns: int) -> Iterator[Line]:
    room = max(1, columns - len(_DEEPER)) if columns else 0
    for place, line in enumerate(pack(map(safe_line, parts), room, between)):
        yield (Span(f"{_IN if place == 0 else _DEEPER}{line}", "dim"),)


# As Markdown.


def report_markdown(report: Report, around: Around) -> str:
    """Return the totals, and a table for each agent, in which no text of a board is markup."""
    lines = ["# Work report", "", *(f"- {name}: {_escape(value)}" for name, value in total_words(report.totals))]
    for one in report.sessions:
        if one.state != "idle":
            state = state_name(one.state, one.changes_since)
            lines.append(f"- session {state} ({_escape(around.names.name(one.session))}): {_escape(state_reason(one))}")
        for check in failing_checks(one):
            lines.append(f"  - $ {_escape(drop_cd(check.command))}")
            lines += [f"    - {_escape(line.strip())}" for line in check.tail.splitlines()]
    for summary in around.git:
        lines.append(f"- {_escape(git_name(summary, around))}: {_escape(git_words(summary))}")
        lines += [f"  - {_escape(text)}" for text in commit_words(summary)]
    for name, texts in ((WAITING, waiting_words(report.waits)), (STOPPED, stopped_words(around))):
        if texts:
            lines += ["", f"## {name}", "", *(f"- {_escape(text)}" for text in texts)]
    owner = None
    for entry in report.items:
        if owner_words(entry.subject, around) != owner:
            owner = owner_words(entry.subject, around)
            lines += ["", f"## {_escape(owner)}", ""]
            lines += [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
        cells = [
            entry.item.content,
            "; ".join(filter(None, (status_words(entry), blocker_words(entry.item), own_check_words(entry.item)))),
            f"{UNICODE.grades[entry.grade]} {explain(entry).name}" if entry.grade else "",
            "; ".join(proof_words(entry)),
            span(entry.elapsed),
            ", ".join(item_words(entry)),
            ", ".join(file_words(entry)),
        ]
        lines.append(f"| {' | '.join(_escape(cell) for cell in cells)} |")
    if report.elsewhere:
        lines += ["", "## Beside the lists", ""]
    for of, tally in report.elsewhere:
        name = f"{around.names.name(of.session, of.agent)}, {item_label(of.item)}"
        lines.append(f"- {_escape(name)}: {_escape(', '.join(tally_words(tally)))}")
    return "\n".join(line for place, line in enumerate(lines) if line or (place and lines[place - 1])) + "\n"


def _escape(text: str) -> str:
    """Return a text from a board as one cell of Markdown without markup."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>#|!~&" else char for char in safe_line(text))


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

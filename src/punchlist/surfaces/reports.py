"""Render work reports as terminal lines and Markdown, with shared words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Final

from punchlist.core.grounding.evidence import Matched
from punchlist.core.grounding.tally import Tally
from punchlist.core.grounding.tool_call import Subject, is_task, task_of
from punchlist.core.report import ItemReport, Report, Totals
from punchlist.core.todo import Status
from punchlist.surfaces.headlines import (
    STOPPED,
    WAITING,
    commit_words,
    count_words,
    failing_checks,
    first_lines,
    git_name,
    git_words,
    red_commands,
    state_words,
    stopped_words,
    waiting_words,
)
from punchlist.surfaces.lists import GRADES, blocker_words, helper_words
from punchlist.surfaces.spans import Glyphs, Line, Span, pack, safe_line
from punchlist.text import fit
from punchlist.views.findings import short_session, span
from punchlist.views.reports import Around, Changed, Changes

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
    """Return an item with its grade, for which there is always room."""
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
    if why := blocker_words(entry.item):
        yield [why], dot
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
            "; ".join(filter(None, (status_words(entry), blocker_words(entry.item)))),
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

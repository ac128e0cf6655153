"""Render work reports as terminal lines and Markdown, briefs on one screen, and the cost of the layer as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Final

from punchlist.core.brief import Brief, ListNews
from punchlist.core.grounding.evidence import Matched
from punchlist.core.grounding.tally import Tally
from punchlist.core.grounding.tool_call import Subject, is_task, task_of
from punchlist.core.report import ItemReport, Report, Totals
from punchlist.core.todo import Status
from punchlist.guidance.ledger import Cost
from punchlist.surfaces.headlines import (
    STOPPED,
    WAITING,
    commit_words,
    count_words,
    failing_checks,
    first_lines,
    git_name,
    git_words,
    name_task_list,
    names,
    red_commands,
    section,
    state_words,
    stopped_words,
    waiting_words,
    wrap_row,
)
from punchlist.surfaces.lists import GRADES, blocker_words, helper_words
from punchlist.surfaces.spans import Glyphs, Line, Span, Style, pack, plural, safe_line
from punchlist.text import cut, fit, width
from punchlist.views.findings import short_session, span
from punchlist.views.reports import Around, Changed, Changes, said_size

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


# A brief: the work since the reader was away, on one screen.


_MARGIN: Final = 4
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


class ItemRows:
    """The items of one brief as rows of lines; agents are named where there are several, workers always."""

    def __init__(
        self, entries: Iterable[ItemReport], changes: Changes, told: Told, glyphs: Glyphs, columns: int
    ) -> None:
        self._names = names({(entry.subject.session, entry.subject.agent) for entry in entries})
        self._changes = changes
        self._told = told
        self._glyphs = glyphs
        self._columns = columns

    def of(self, entries: Iterable[ItemReport]) -> list[Sequence[str]]:
        return [self._row(entry) for entry in entries]

    def _row(self, entry: ItemReport) -> Sequence[str]:
        text, parts, mark = (
            safe_line(entry.item.content),
            list(map(safe_line, self._item_facts(entry))),
            self._glyphs.ellipsis,
        )
        if not self._columns:
            return [f" {self._glyphs.dash} ".join(filter(None, (cut(text, _TEXT, mark), ", ".join(parts))))]
        room = max(1, self._columns - _MARGIN)
        if self._columns < _NARROW:
            *more, last = list(pack(parts, room, ", "))[:_MOST_KNOWN] or [""]
            return [fit(text, room, mark), *more, *([last.rstrip(",")] if last else [])]
        known = _fit_parts(parts, room - min(width(text), _LEAST) - 3)
        if not known:
            return [fit(text, room, mark)]
        return [f"{fit(text, room - width(known) - 3, mark)} {self._glyphs.dash} {known}"]

    def _item_facts(self, entry: ItemReport) -> Iterator[str]:
        """Yield the facts about an item, the more important first."""
        owner, changed = (entry.subject.session, entry.subject.agent), self._changes.get(entry.subject)
        said = [
            entry.grade if entry.grade in ("failing", "unseen", "confirmed") else "",
            helper_words(entry.helpers) if entry.helpers else "",
            *check_words(entry, self._told)[:1],
            change_words(changed),
            cut(self._names[owner], _NAME, self._glyphs.ellipsis) if len(self._names) > 1 or not owner[0] else "",
            span(entry.elapsed),
            count_words(len(changed.commits), "commit") if changed is not None and changed.commits else "",
            *(work_words(entry.tally, kinds=False) if entry.grade is None and not entry.tally.is_empty else ()),
        ]
        return (part for part in said if part)


def _fit_parts(parts: Iterable[str], room: int) -> str:
    """Return as many parts as there is room for, none of them cut."""
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
    items, told = (*completed_items(brief), *brief.failed, *brief.under_way), red_commands(sessions)
    rows = ItemRows(items, changes, told, glyphs, columns)
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
        yield from section(glyphs, name, rows.of(entries), style, _MOST_ROWS)
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
        shown = (completed_items(brief), brief.failed, brief.under_way, brief.lists, brief.waits, brief.noticed)
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


def completed_items(brief: Brief) -> tuple[ItemReport, ...]:
    """Return all items that were marked done."""
    return (*brief.verified, *brief.confirmed, *brief.unchecked, *brief.doubtful, *brief.unjudged)


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
        tokens_each(cost.tokens, cost.spent.turns),
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


def tokens_each(total: float, turns: int) -> str:
    """Return the tokens of one turn; a dash without turns."""
    return f"{total / turns:,.1f}" if turns else "-"

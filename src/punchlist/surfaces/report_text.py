"""A report for a terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from punchlist.core.report import ItemReport, Report
from punchlist.surfaces.report_values import Changes, beside, changed_words, span, total_words, work_words
from punchlist.surfaces.spans import Glyphs, Line, Span, Style, shown
from punchlist.text import fit

GRADE_STYLES: dict[str | None, Style] = {
    "verified": "good",
    "confirmed": "good",
    "worked": "plain",
    "asserted": "warning",
    "contradicted": "bad",
}


def report_lines(report: Report, changes: Changes, glyphs: Glyphs, columns: int = 0) -> Iterator[Line]:
    """Two lines for each item, under the agent that it belongs to; then the totals. In so many `columns`, if any."""
    owner = None
    for entry in report.items:
        of = entry.subject
        if (of.session, of.agent) != owner:
            if owner is not None:
                yield ()
            owner = (of.session, of.agent)
            yield (Span(shown(of.agent), "bold"), Span(f" {glyphs.dot} session {shown(of.session)}", "dim"))
        yield item_line(entry, glyphs, columns)
        yield (Span(f"    {details(entry, changes, glyphs)}", "dim"),)
    for of, tally in report.elsewhere.items():
        what = beside(of.item)
        said = f" {glyphs.dot} ".join(work_words(tally))
        yield (Span(f"Beside the lists ({shown(f'{of.agent} {what}'.strip())}): "), Span(shown(said), "dim"))
    yield ()
    for name, value in total_words(report.totals):
        yield (Span(f"{name}: ", "dim"), Span(value))


def item_line(entry: ItemReport, glyphs: Glyphs, columns: int = 0) -> Line:
    """An item with its grade, for which there is always room."""
    grade = f"  {entry.grade}" if entry.grade is not None else "  left out" if entry.is_gone else ""
    text = f"  {glyphs.boxes[entry.item.status.value]} {shown(entry.item.content)}"
    if columns:
        text = fit(text, max(0, columns - len(grade)), glyphs.ellipsis)
    return (Span(text), Span(grade, GRADE_STYLES.get(entry.grade, "dim")))


def details(entry: ItemReport, changes: Changes, glyphs: Glyphs) -> str:
    """What else is known of an item, in one line."""
    said = [span(entry.elapsed), *work_words(entry.tally), changed_words(changes.get(entry.subject))]
    if entry.later.calls:
        said.append(f"{entry.later.calls} more after it was called done")
    for match in entry.evidence:
        state = "held" if match.holds else "seen" if match.is_seen else "not seen"
        said.append(f"evidence ({match.kind}, {state}): {match.evidence.text}")
    return shown(f" {glyphs.dot} ".join(part for part in said if part))


def report_markdown(report: Report, changes: Changes) -> str:
    """The same as a page of Markdown: a table for each agent."""
    lines = ["# Work report", ""]
    owner = None
    for entry in report.items:
        of = entry.subject
        if (of.session, of.agent) != owner:
            owner = (of.session, of.agent)
            lines += ["", f"## {escaped(of.agent)}, session {escaped(of.session)}", ""]
            lines += ["| item | status | grade | time | work | changes | evidence |", "|---|---|---|---|---|---|---|"]
        cells = [
            entry.item.content,
            entry.item.status.value.replace("_", " "),
            entry.grade or "",
            span(entry.elapsed),
            ", ".join(work_words(entry.tally)),
            changed_words(changes.get(of)),
            "; ".join(f"{match.evidence.text} ({'seen' if match.is_seen else 'not seen'})" for match in entry.evidence),
        ]
        lines.append(f"| {' | '.join(escaped(cell) for cell in cells)} |")
    lines += ["", "## Totals", "", *(f"- {name}: {escaped(value)}" for name, value in total_words(report.totals))]
    return "\n".join(line for place, line in enumerate(lines) if line or (place and lines[place - 1])) + "\n"


def escaped(text: str) -> str:
    """A text from a board as one cell of Markdown, in which nothing means anything."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>#|!~&" else char for char in shown(text))

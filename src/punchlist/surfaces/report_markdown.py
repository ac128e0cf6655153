"""A report as a page of Markdown: a table for each agent, in which no text of a board means anything."""

from __future__ import annotations

from punchlist.core.report import Report
from punchlist.surfaces.report_values import Changes
from punchlist.surfaces.report_words import (
    beside,
    changed_words,
    evidence_words,
    file_words,
    item_words,
    span,
    tally_words,
    total_words,
)
from punchlist.surfaces.spans import shown

_COLUMNS = ("item", "status", "grade", "time", "work", "files", "changes", "evidence")


def report_markdown(report: Report, changes: Changes, *, root: str = "") -> str:
    """The whole page. Files below `root` are named from there."""
    lines = ["# Work report", ""]
    owner = None
    for entry in report.items:
        of = entry.subject
        if (of.session, of.agent) != owner:
            owner = (of.session, of.agent)
            lines += ["", f"## {escaped(of.agent)}, session {escaped(of.session)}", ""]
            lines += [f"| {' | '.join(_COLUMNS)} |", "|---" * len(_COLUMNS) + "|"]
        cells = [
            entry.item.content,
            "left out" if entry.is_gone else entry.item.status.value.replace("_", " "),
            entry.grade or "",
            span(entry.elapsed),
            ", ".join(item_words(entry)),
            ", ".join(file_words(entry.tally, root)),
            changed_words(changes.get(of)),
            "; ".join(f"{match.evidence.text} ({evidence_words(match)})" for match in entry.evidence),
        ]
        lines.append(f"| {' | '.join(escaped(cell) for cell in cells)} |")
    if report.elsewhere:
        lines += ["", "## Beside the lists", ""]
    for of, tally in report.elsewhere.items():
        lines.append(f"- {escaped(f'{of.agent}, {beside(of.item)}')}: {escaped(', '.join(tally_words(tally)))}")
    lines += ["", "## Totals", "", *(f"- {name}: {escaped(value)}" for name, value in total_words(report.totals))]
    return "\n".join(line for place, line in enumerate(lines) if line or (place and lines[place - 1])) + "\n"


def escaped(text: str) -> str:
    """A text from a board as one cell of Markdown, in which nothing means anything."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>#|!~&" else char for char in shown(text))

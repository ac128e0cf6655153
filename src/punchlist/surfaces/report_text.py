"""A report for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from punchlist.core.report import ItemReport, Report
from punchlist.surfaces.packing import packed
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
from punchlist.surfaces.spans import Glyphs, Line, Span, Style, shown
from punchlist.text import fit

GRADE_STYLES: dict[str | None, Style] = {
    "verified": "good",
    "confirmed": "good",
    "worked": "plain",
    "asserted": "warning",
    "contradicted": "bad",
}
_IN, _DEEPER = "    ", "      "


def report_lines(
    report: Report, changes: Changes, glyphs: Glyphs, columns: int = 0, *, root: str = ""
) -> Iterator[Line]:
    """Each item under the agent that it belongs to, with all that is known of it below; then the totals.

    In so many `columns`, if any: only an item's text is cut. Files below `root` are named from there.
    """
    owner = None
    for entry in report.items:
        of = entry.subject
        if (of.session, of.agent) != owner:
            if owner is not None:
                yield ()
            owner = (of.session, of.agent)
            yield (Span(shown(of.agent), "bold"), Span(f" {glyphs.dot} session {shown(of.session)}", "dim"))
        yield item_line(entry, glyphs, columns)
        for parts, between in _details(entry, changes, glyphs, root):
            yield from _indented(parts, between, columns)
    if report.elsewhere:
        yield ()
        yield (Span("Beside the lists", "bold"),)
    for of, tally in report.elsewhere.items():
        yield (Span(f"  {shown(of.agent)}, {shown(beside(of.item))}"),)
        yield from _indented(tally_words(tally), f" {glyphs.dot} ", columns)
    yield ()
    for name, value in total_words(report.totals):
        lines = packed([f"{name}: {value}"], columns, "")
        for place, line in enumerate(lines):
            head = f"{name}: " if place == 0 and line.startswith(f"{name}: ") else ""
            yield (Span(head, "dim"), Span(f"{'' if place == 0 else '  '}{line.removeprefix(head)}"))


def item_line(entry: ItemReport, glyphs: Glyphs, columns: int = 0) -> Line:
    """An item with its grade, for which there is always room."""
    grade = f"  {entry.grade}" if entry.grade is not None else "  left out" if entry.is_gone else ""
    text = f"  {glyphs.boxes[entry.item.status.value]} {shown(entry.item.content)}"
    if columns:
        text = fit(text, max(0, columns - len(grade)), glyphs.ellipsis)
    return (Span(text), Span(grade, GRADE_STYLES.get(entry.grade, "dim")))


def _details(entry: ItemReport, changes: Changes, glyphs: Glyphs, root: str) -> Iterator[tuple[list[str], str]]:
    """What else is known of an item: groups of words, and what stands between them."""
    said = [span(entry.elapsed), changed_words(changes.get(entry.subject)), *item_words(entry)]
    yield [part for part in said if part], f" {glyphs.dot} "
    files = file_words(entry.tally, root)
    if files:
        yield [f"files: {files[0]}", *files[1:]], ", "
    for match in entry.evidence:
        yield [f"evidence ({evidence_words(match)}): {match.evidence.text}"], ""


def _indented(parts: Iterable[str], between: str, columns: int) -> Iterator[Line]:
    room = max(1, columns - len(_DEEPER)) if columns else 0
    for place, line in enumerate(packed(map(shown, parts), room, between)):
        yield (Span(f"{_IN if place == 0 else _DEEPER}{line}", "dim"),)

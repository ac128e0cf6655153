"""A brief on one screen: what somebody has to know who was away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from punchlist.core.brief import Brief
from punchlist.core.report import ItemReport
from punchlist.surfaces.report_values import Changes, changed_words, counted, item_data, span, work_words
from punchlist.surfaces.spans import Glyphs, Line, Span, Style, shown
from punchlist.text import cut

MOST: int = 4
"""Lines of one section; what is beyond is counted."""

_TEXT = 44
"""Characters of an item's text, so that what is known of it fits behind it."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a brief shows beside what the log says: who waits for the reader, who is silent, and what it cost since."""

    questions: Sequence[str] = ()
    plans: Sequence[str] = ()
    stalls: Sequence[str] = ()
    tokens: int = 0


def is_empty(brief: Brief, around: Around) -> bool:
    return brief.is_empty and not (around.questions or around.plans or around.stalls)


def brief_lines(brief: Brief, around: Around, changes: Changes, glyphs: Glyphs) -> Iterator[Line]:
    """One screen at most."""
    if is_empty(brief, around):
        yield (Span("Nothing happened since you last looked, and nothing waits for you."),)
        return
    waiting = [*around.questions, *around.plans, *(_blocked(entry) for entry in brief.waiting)]
    stalled = dict.fromkeys((*around.stalls, *(f"{one.agent}: {one.seen}" for one in brief.noticed)))
    yield from _section("Waiting on you", waiting, "accent", glyphs)
    yield from _section("Done, but not borne out", _items(brief.doubtful, changes, glyphs), "bad", glyphs)
    yield from _section("Failed", _items(brief.failed, changes, glyphs), "bad", glyphs)
    yield from _section("Stalled or going in circles", stalled, "warning", glyphs)
    yield from _section("Done and checked", _items(brief.verified, changes, glyphs), "good", glyphs)
    yield from _section("Done, with work behind it", _items(brief.worked, changes, glyphs), "plain", glyphs)
    yield from _section("Done, not judged", _items(brief.unjudged, changes, glyphs), "dim", glyphs)
    yield from _section("Under way", _items(brief.under_way, changes, glyphs), "focus", glyphs)
    cost = f"; the todo layer cost about {counted(around.tokens, 'token')}" if around.tokens else ""
    yield (Span(f"Work since: {', '.join(work_words(brief.work))}{cost}.", "dim"),)


def brief_data(brief: Brief, around: Around, changes: Changes) -> dict[str, Any]:
    """The same as JSON values."""
    names = ("verified", "worked", "doubtful", "unjudged", "failed", "waiting", "under_way")
    return {
        **{name: [item_data(entry, changes.get(entry.subject)) for entry in getattr(brief, name)] for name in names},
        "noticed": [
            {
                "session": one.session,
                "agent": one.agent,
                "detector": one.detector,
                "seen": one.seen,
                "at": one.at.isoformat(),
            }
            for one in brief.noticed
        ],
        "questions": list(around.questions),
        "plans": list(around.plans),
        "stalled": list(around.stalls),
        "calls": brief.work.calls,
        "failures": brief.work.failures,
        "active_seconds": brief.work.active.total_seconds(),
        "layer_tokens": around.tokens,
        "until": brief.until,
    }


def _section(name: str, rows: Iterable[str], style: Style, glyphs: Glyphs) -> Iterator[Line]:
    found = list(rows)
    if not found:
        return
    yield (Span(f"{name} ({len(found)})", style),)
    kept = found if len(found) <= MOST else found[: MOST - 1]
    for row in kept:
        yield (Span(f"  {glyphs.dot} {shown(row)}"),)
    if len(kept) < len(found):
        yield (Span(f"  {glyphs.ellipsis} and {len(found) - len(kept)} more; `punchlist report` shows them", "dim"),)


def _items(entries: Iterable[ItemReport], changes: Changes, glyphs: Glyphs) -> Iterator[str]:
    for entry in entries:
        said = [
            entry.grade if entry.grade in ("contradicted", "asserted", "confirmed") else "",
            span(entry.elapsed),
            *(work_words(entry.tally) if not entry.tally.is_empty else ()),
            changed_words(changes.get(entry.subject)),
        ]
        known = ", ".join(part for part in said if part)
        text = cut(entry.item.content, _TEXT, glyphs.ellipsis)
        yield f"{text} {glyphs.dash} {entry.subject.agent}{': ' if known else ''}{known}"


def _blocked(entry: ItemReport) -> str:
    why = entry.item.blocker.reason if entry.item.blocker is not None else ""
    return f"{entry.item.content}{': ' if why else ''}{why}"

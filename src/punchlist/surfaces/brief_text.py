"""A brief on one screen: what somebody has to know who was away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from punchlist.core.brief import STALLS, Brief
from punchlist.core.report import ItemReport
from punchlist.surfaces.brief_rows import ItemRows, names, wrapped
from punchlist.surfaces.packing import packed
from punchlist.surfaces.report_values import Changes, item_data
from punchlist.surfaces.report_words import counted, tally_words
from punchlist.surfaces.silences import Silent, silence_words
from punchlist.surfaces.spans import Glyphs, Line, Span, Style

MOST: int = 4
"""Rows of one section; what is beyond is counted."""


class Around(Struct, frozen=True):
    """What a brief shows beside what the log says: who waits for the reader, who is silent, and what it cost since."""

    questions: Sequence[str] = ()
    plans: Sequence[str] = ()
    stalls: Sequence[Silent] = ()
    tokens: int = 0


def is_empty(brief: Brief, around: Around) -> bool:
    return brief.is_empty and not (around.questions or around.plans or around.stalls)


def brief_lines(brief: Brief, around: Around, changes: Changes, glyphs: Glyphs, columns: int = 0) -> Iterator[Line]:
    """One screen at most, of so many `columns`, if any."""
    if is_empty(brief, around):
        yield (Span("Nothing happened since you last looked, and nothing waits for you."),)
        return
    rows = ItemRows((*done(brief), *brief.failed, *brief.under_way), changes, glyphs, columns)

    def section(name: str, found: Sequence[Sequence[str]], style: Style) -> Iterator[Line]:
        return _section(name, found, style, glyphs)

    waiting = [*around.questions, *around.plans, *(_blocked(entry) for entry in brief.waiting)]
    stalled = noticed_words(brief, around)
    yield from section("Waiting on you", [wrapped(text, glyphs, columns) for text in waiting], "accent")
    yield from section("Done, but not borne out", rows.of(brief.doubtful), "bad")
    yield from section("Failed", rows.of(brief.failed), "bad")
    yield from section("Stalled or going in circles", [wrapped(text, glyphs, columns) for text in stalled], "warning")
    yield from section("Done and checked", rows.of(brief.verified), "good")
    yield from section("Done, with work behind it", rows.of(brief.worked), "plain")
    yield from section("Done, not judged", rows.of(brief.unjudged), "dim")
    yield from section("Under way", rows.of(brief.under_way), "focus")
    cost = f"; the todo layer cost about {counted(around.tokens, 'token')}" if around.tokens else ""
    said = f"Work since: {', '.join(tally_words(brief.work, kinds=False))}{cost}."
    yield from ((Span(line, "dim"),) for line in packed([said], columns, ""))


def noticed_words(brief: Brief, around: Around) -> list[str]:
    """Who is silent now, who was, and what else detectors found; agents of one name are told apart."""
    owners = {(one.session, one.agent) for one in (*around.stalls, *brief.noticed)}
    called, silent = names(owners), {(one.session, one.agent) for one in around.stalls}
    said = [silence_words(called[one.session, one.agent], one) for one in around.stalls]
    for one in brief.noticed:
        owner = (one.session, one.agent)
        if one.detector not in STALLS:
            said.append(f"{called[owner]}: {one.seen}")
        elif owner not in silent:
            said.append(silence_words(called[owner], Silent(*owner, one.detector)))
    return list(dict.fromkeys(said))


def done(brief: Brief) -> tuple[ItemReport, ...]:
    """All that was called done."""
    return (*brief.verified, *brief.worked, *brief.doubtful, *brief.unjudged)


def brief_data(brief: Brief, around: Around, changes: Changes) -> dict[str, Any]:
    """The same as JSON values."""
    parts = ("verified", "worked", "doubtful", "unjudged", "failed", "waiting", "under_way")
    called = names({(one.session, one.agent) for one in around.stalls})
    return {
        **{name: [item_data(entry, changes.get(entry.subject)) for entry in getattr(brief, name)] for name in parts},
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
        "stalled": [silence_words(called[one.session, one.agent], one) for one in around.stalls],
        "calls": brief.work.calls,
        "failures": brief.work.failures,
        "active_seconds": brief.work.active.total_seconds(),
        "layer_tokens": around.tokens,
        "until": brief.until,
    }


def _section(name: str, rows: Sequence[Sequence[str]], style: Style, glyphs: Glyphs) -> Iterator[Line]:
    """Rows of one or more lines each, under their name."""
    if not rows:
        return
    yield (Span(f"{name} ({len(rows)})", style),)
    kept = rows if len(rows) <= MOST else rows[: MOST - 1]
    for first, *more in kept:
        yield (Span(f"  {glyphs.dot} {first}"),)
        yield from ((Span(f"    {line}", "dim"),) for line in more)
    if len(kept) < len(rows):
        yield (Span(f"  {glyphs.ellipsis} and {len(rows) - len(kept)} more; `punchlist report` shows them", "dim"),)


def _blocked(entry: ItemReport) -> str:
    why = entry.item.blocker.reason if entry.item.blocker is not None else ""
    return f"{entry.item.content}{': ' if why else ''}{why}"

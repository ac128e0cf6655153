"""A report as one page of HTML: nothing is loaded, nothing runs, and every text from a board is only text."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from datetime import datetime
from hashlib import sha256
from html import escape

from punchlist.core.report import ItemReport, Report
from punchlist.surfaces.report_values import Changes, beside, changed_words, span, total_words, work_words
from punchlist.surfaces.spans import shown

_STYLE = """
:root { color-scheme: light dark; --line: #8885; --verified: #2a9d5c; --worked: #3b82c4; --asserted: #c98a1b;
  --contradicted: #d1453b; --none: #8889; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% } td, th { border-bottom: 1px solid var(--line); padding: .35rem .5rem;
  text-align: left; vertical-align: top; overflow-wrap: anywhere } th { font-weight: 600 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem } dt { font-weight: 600 } dd { margin: 0 }
.grade { white-space: nowrap; font-weight: 600 }
.verified, .confirmed { color: var(--verified) } .worked { color: var(--worked) } .asserted { color: var(--asserted) }
.contradicted { color: var(--contradicted) }
svg { width: 100%; height: auto; display: block } svg text { font: 11px system-ui, sans-serif; fill: currentColor }
rect { fill: var(--none) } rect.verified, rect.confirmed { fill: var(--verified) } rect.worked { fill: var(--worked) }
rect.asserted { fill: var(--asserted) } rect.contradicted { fill: var(--contradicted) }
rect.span { opacity: .35 } .axis { stroke: var(--line) } .scroll { overflow-x: auto }
"""
_WIDTH, _LEFT, _ROW = 1000, 320, 22
_MOST_ROWS = 400


def report_page(report: Report, changes: Changes, *, title: str, now: datetime) -> str:
    """The whole page."""
    allowed = b64encode(sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_text(title)}</title>",
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{_text(title)}</h1>",
        f'<p>As of <time datetime="{now.isoformat()}">{now:%Y-%m-%d %H:%M} UTC</time>.</p>',
        "<dl>",
        *(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in total_words(report.totals)),
        "</dl>",
        *_timeline(report.items, now),
        *_tables(report.items, changes),
        *_elsewhere(report),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _timeline(items: Iterable[ItemReport], now: datetime) -> Iterator[str]:
    begun = [(entry, start) for entry in items if (start := entry.item.started_at) is not None][:_MOST_ROWS]
    if not begun:
        return
    first = min(start for _, start in begun)
    last = max(max(entry.item.finished_at or now, start) for entry, start in begun)
    scale = (_WIDTH - _LEFT - 10) / max((last - first).total_seconds(), 1.0)

    def place(at: datetime) -> float:
        return _LEFT + max(0.0, (at - first).total_seconds()) * scale

    height = _ROW * (len(begun) + 1)
    yield "<h2>Timeline</h2>"
    yield f'<div class="scroll"><svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="Timeline of the items">'
    yield f'<line class="axis" x1="{_LEFT}" y1="0" x2="{_LEFT}" y2="{height - _ROW}"/>'
    for row, (entry, start) in enumerate(begun):
        top, end = row * _ROW, max(entry.item.finished_at or now, start)
        grade = entry.grade or "none"
        what = f"{shown(entry.item.content)} ({grade if entry.grade else entry.item.status.value}, {span(end - start)})"
        yield f'<text x="0" y="{top + 15}">{_text(_cut(entry.item.content, 48))}</text>'
        wide = max(place(end) - place(start), 2.0)
        yield (
            f'<rect class="span {grade}" x="{place(start):.1f}" y="{top + 4}" width="{wide:.1f}" height="14">'
            f"<title>{_text(what)}</title></rect>"
        )
        for begin, stop in entry.tally.spans.kept:
            busy = max(place(min(stop, last)) - place(begin), 1.0)
            yield f'<rect class="{grade}" x="{place(begin):.1f}" y="{top + 7}" width="{busy:.1f}" height="8"/>'
    base = height - 6
    yield f'<text x="{_LEFT}" y="{base}">{first:%Y-%m-%d %H:%M:%S}</text>'
    yield f'<text x="{_WIDTH - 10}" y="{base}" text-anchor="end">{last:%Y-%m-%d %H:%M:%S} UTC</text>'
    yield "</svg></div>"


def _tables(items: Iterable[ItemReport], changes: Changes) -> Iterator[str]:
    owner = None
    for entry in items:
        of, item = entry.subject, entry.item
        if (of.session, of.agent) != owner:
            if owner is not None:
                yield "</tbody></table></div>"
            owner = (of.session, of.agent)
            yield f"<h2>{_text(of.agent)}, session {_text(of.session)}</h2>"
            yield '<div class="scroll"><table><thead><tr>'
            names = ("item", "status", "grade", "time", "work", "changes", "evidence")
            yield "".join(f'<th scope="col">{name}</th>' for name in names) + "</tr></thead><tbody>"
        evidence = "<br>".join(
            _text(f"{match.evidence.text} ({'held' if match.holds else 'seen' if match.is_seen else 'not seen'})")
            for match in entry.evidence
        )
        grade = f'<span class="grade {entry.grade}">{entry.grade}</span>' if entry.grade else ""
        yield (
            f"<tr><td>{_text(item.content)}</td><td>{item.status.value.replace('_', ' ')}</td><td>{grade}</td>"
            f"<td>{_text(span(entry.elapsed))}</td><td>{_text(', '.join(work_words(entry.tally)))}</td>"
            f"<td>{_text(changed_words(changes.get(of)))}</td><td>{evidence}</td></tr>"
        )
    if owner is not None:
        yield "</tbody></table></div>"


def _elsewhere(report: Report) -> Iterator[str]:
    if not report.elsewhere:
        return
    yield "<h2>Work beside the lists</h2><ul>"
    for of, tally in report.elsewhere.items():
        what = beside(of.item)
        yield f"<li>{_text(f'{of.agent} {what}'.strip())}: {_text(', '.join(work_words(tally)))}</li>"
    yield "</ul>"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _text(text: str) -> str:
    """A text from a board: cleaned, on one line, and nothing but text."""
    return escape(shown(text), quote=True)

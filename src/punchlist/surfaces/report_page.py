"""Render a work report as one page of HTML: nothing is loaded, nothing runs, and board texts are only text."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from datetime import datetime
from hashlib import sha256
from html import escape

from punchlist.core.events import json_time
from punchlist.core.report import ItemReport, Report
from punchlist.surfaces.headlines import (
    STOPPED,
    WAITING,
    Around,
    commit_words,
    git_name,
    git_words,
    red_commands,
    short_session,
    state_words,
    stopped_words,
    waiting_words,
)
from punchlist.surfaces.reports import (
    COLUMNS,
    Changes,
    Told,
    changed_words,
    file_words,
    item_label,
    item_words,
    proof_words,
    status_words,
    tally_words,
    total_words,
)
from punchlist.surfaces.sentences import span
from punchlist.surfaces.spans import safe_line

_STYLE = """
:root { color-scheme: light dark; --line: #8885; --verified: #2a9d5c; --unchecked: #3b82c4; --unseen: #c98a1b;
  --failing: #d1453b; --none: #8889; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem;
  overflow-wrap: break-word }
h1 { font-size: 1.4rem } .first { margin: .4rem 0 } ul { margin: .2rem 0 } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% } th { font-weight: 600; white-space: nowrap }
td, th { border-bottom: 1px solid var(--line); padding: .35rem .5rem; text-align: left; vertical-align: top }
td div { overflow-wrap: anywhere } .item { min-width: 14rem } .said { min-width: 7rem } .few { white-space: nowrap }
td div + div { margin-top: .2rem } .kind { opacity: .75 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem } dt { font-weight: 600 } dd { margin: 0 }
.grade { font-weight: 600 }
.verified, .confirmed, .green { color: var(--verified) }
.unchecked { color: var(--unchecked) } .unseen { color: var(--unseen) }
.failing, .red { color: var(--failing) }
.row, .axis { display: grid; grid-template-columns: minmax(8rem, 32%) 1fr; column-gap: 1rem; align-items: center }
.label { overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
svg { display: block; width: 100%; height: 16px; border-left: 1px solid var(--line) }
rect { fill: var(--none) } rect.verified, rect.confirmed { fill: var(--verified) }
rect.unchecked { fill: var(--unchecked) }
rect.unseen { fill: var(--unseen) } rect.failing { fill: var(--failing) } rect.span { opacity: .35 }
.times { grid-column: 2; display: flex; flex-wrap: wrap; justify-content: space-between; column-gap: 1rem;
  font-size: 12px; opacity: .75 }
.scroll { overflow-x: auto }
@media (max-width: 60rem) {
  thead { display: none } table, tbody, tr, td { display: block } tr { border-bottom: 1px solid var(--line);
    padding: .5rem 0 } td { border: 0; padding: .1rem 0 } td:empty { display: none } td.item { font-weight: 600 }
  td[data-name] { display: grid; grid-template-columns: 6rem 1fr } td[data-name]::before { content: attr(data-name);
    opacity: .75 } .cell { min-width: 0 }
}
@media (max-width: 40rem) {
  .row, .axis { display: block; margin-top: .4rem } dl { display: block } dt { margin-top: .4rem }
}
"""
_PLACES = re.compile(r"((?<=\w)[/_:?=]+)(?=\w)")
_MOST_ROWS = 400


def report_page(report: Report, around: Around, changes: Changes, *, title: str, now: datetime, root: str = "") -> str:
    """Return the whole page. Files below `root` are named from there."""
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
        f'<p>As of <time datetime="{json_time(now)}">{now.astimezone():%Y-%m-%d %H:%M %Z}</time>.</p>',
        *_first_lines(report, around),
        *_tables(report.items, changes, red_commands(report.sessions), root),
        *_timeline(report.items, now),
        *_elsewhere(report),
        "<h2>Totals</h2><dl>",
        *(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in total_words(report.totals)),
        "</dl>",
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _first_lines(report: Report, around: Around) -> Iterator[str]:
    """Yield the state of each session, what Git saw, what waits on a person, and what stopped."""
    several = len(report.sessions) > 1
    for one in report.sessions:
        if one.state != "idle":
            name = f' <span class="kind">{_text(short_session(one.session))}</span>' if several else ""
            state = f'<strong class="{one.state}">session {one.state}</strong>'
            yield f'<p class="first">{state}{name}: {_breakable(state_words(one))}</p>'
    for summary in around.git:
        yield f'<p class="first">{_text(git_name(summary, around))}: {_text(git_words(summary))}</p>'
        yield from _list(commit_words(summary))
    for name, texts in ((WAITING, waiting_words(report.waits)), (STOPPED, stopped_words(around))):
        if texts:
            yield f"<h2>{name}</h2>"
            yield from _list(texts)


def _list(texts: Iterable[str]) -> Iterator[str]:
    rows = "".join(f"<li>{_breakable(text)}</li>" for text in texts)
    if rows:
        yield f"<ul>{rows}</ul>"


def _timeline(items: Iterable[ItemReport], now: datetime) -> Iterator[str]:
    """Yield a row for each item: its name, and on a common axis when it was in progress and when calls ran for it.

    Places are shares of the axis, so that neither letters nor bars are scaled with the page.
    """
    every = [entry for entry in items if entry.stints]
    begun = every[:_MOST_ROWS]
    if not begun:
        return
    first = min(stint.start for entry in begun for stint in entry.stints)
    last = max(max(stint.end or now, stint.start) for entry in begun for stint in entry.stints)
    whole = max((last - first).total_seconds(), 1.0)

    def place(at: datetime) -> float:
        return 100 * min(max((at - first).total_seconds() / whole, 0.0), 1.0)

    def bar(begin: datetime, stop: datetime) -> str:
        left, wide = place(begin), max(place(stop) - place(begin), 0.3)
        return f'x="{min(left, 99.7):.2f}%" width="{wide:.2f}%"'

    yield "<h2>Timeline</h2>"
    for entry in begun:
        grade, state = entry.grade or "none", entry.grade or entry.item.status.value.replace("_", " ")
        what = _text(f"{entry.item.content} ({state}, {span(entry.elapsed)})")
        yield f'<div class="row"><div class="label" dir="auto" title="{what}">{_text(entry.item.content)}</div>'
        yield f'<svg role="img" aria-label="{what}"><title>{what}</title>'
        for begin, stop in entry.stints:
            yield f'<rect class="span {grade}" {bar(begin, stop or now)} y="1" height="14"/>'
        for begin, stop in entry.tally.spans:
            yield f'<rect class="{grade}" {bar(begin, min(stop, last))} y="4" height="8"/>'
        yield "</svg></div>"
    yield f'<div class="axis"><div class="times"><span>{first.astimezone():%Y-%m-%d %H:%M:%S}</span>'
    yield f"<span>{last.astimezone():%Y-%m-%d %H:%M:%S %Z}</span></div></div>"
    if len(begun) < len(every):
        yield f"<p>The first {len(begun)} of {len(every)} items.</p>"


def _tables(items: Iterable[ItemReport], changes: Changes, told: Told, root: str) -> Iterator[str]:
    owner = None
    for entry in items:
        of = entry.subject
        if (of.session, of.agent) != owner:
            if owner is not None:
                yield "</tbody></table></div>"
            owner = (of.session, of.agent)
            yield f"<h2>{_text(of.agent)}, session {_text(of.session)}</h2>"
            yield '<div class="scroll"><table><thead><tr>'
            yield "".join(f'<th scope="col">{name}</th>' for name in COLUMNS) + "</tr></thead><tbody>"
        yield f"<tr>{''.join(_cells(entry, changes, told, root))}</tr>"
    if owner is not None:
        yield "</tbody></table></div>"


def _cells(entry: ItemReport, changes: Changes, told: Told, root: str) -> Iterator[str]:
    grade = f'<span class="grade {entry.grade}">{entry.grade}</span>' if entry.grade else ""
    yield f'<td class="item" dir="auto"><div>{_breakable(entry.item.content)}</div></td>'
    yield _cell("status", status_words(entry), few=True)
    yield _cell("grade", grade, few=True)
    yield _cell("evidence", _rows(proof_words(entry, told)))
    yield _cell("time", _text(span(entry.elapsed)), few=True)
    yield _cell("work", _rows(item_words(entry)))
    yield _cell("files", _rows(file_words(entry.tally, root)))
    yield _cell("changes", _rows(changed_words(changes.get(entry.subject)).split(", ")))


def _cell(name: str, inside: str, *, few: bool = False) -> str:
    """Return a cell with its name, which stands before it where there is no room for columns."""
    kind = "few" if few else "said"
    return f'<td class="{kind}" data-name="{name}"><div class="cell">{inside}</div></td>' if inside else "<td></td>"


def _rows(texts: Iterable[str]) -> str:
    return "".join(f"<div>{_breakable(text)}</div>" for text in texts if text)


def _breakable(text: str) -> str:
    """Let a path or an address go on in the next line."""
    return _PLACES.sub(r"\1<wbr>", _text(text))


def _elsewhere(report: Report) -> Iterator[str]:
    if not report.elsewhere:
        return
    yield "<h2>Beside the lists</h2>"
    yield from _list(
        f"{of.agent}, {item_label(of.item)}: {', '.join(tally_words(tally))}" for of, tally in report.elsewhere.items()
    )


def _text(text: str) -> str:
    """Return a text from a board on one line, cleaned and escaped."""
    return escape(safe_line(text), quote=True)

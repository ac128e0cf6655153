"""Render a work report as one page of HTML: nothing is loaded, nothing runs, and board texts are only text."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from html import escape
from itertools import groupby
from typing import Final

from punchlist.core.events import json_time
from punchlist.core.grounding.session import SessionState
from punchlist.core.overview import PersonWait
from punchlist.core.report import ItemReport, Report
from punchlist.core.todo import Status
from punchlist.surfaces.headlines import (
    STOPPED,
    WAITING,
    Around,
    GitSummary,
    answer_command,
    count_words,
    failing_checks,
    git_name,
    git_words,
    short_session,
    state_words,
    stopped_words,
    waiting_words,
)
from punchlist.surfaces.lists import DOUBTFUL, blocker_words
from punchlist.surfaces.reports import (
    Changed,
    Changes,
    change_words,
    file_words,
    item_label,
    item_words,
    owner_words,
    proof_words,
    status_words,
    tally_words,
    total_words,
)
from punchlist.surfaces.sentences import span
from punchlist.surfaces.spans import UNICODE, safe_line
from punchlist.surfaces.timeline import Axis

_STYLE = """
:root { color-scheme: light dark; --line: #8885; --dim: #5c6066; --box: #8881; --good: #1c7a45; --calm: #1f64a8;
  --warn: #96610a; --bad: #bb2a22; --none: #8889 }
@media (prefers-color-scheme: dark) { :root { --dim: #a4a9b0; --good: #4cc381; --calm: #6fb1ee; --warn: #e0a840;
  --bad: #f4776d } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem;
  overflow-wrap: break-word }
h1 { font-size: 1.5rem; margin-bottom: .3rem } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem }
h3 { font-size: 1rem; margin: 1rem 0 .2rem } p { margin: .4rem 0 } ul { margin: .2rem 0; padding-left: 1.4rem }
h2 .kind { font-size: 13px } .kind, .axis, .note { color: var(--dim); font-weight: 400 } .note { font-size: 13px }
.eyes { border-left: 4px solid var(--bad); padding: 0 0 0 1rem } .eyes h2 { margin-top: 1.2rem }
.calm { border-color: var(--good) }
pre, code { font: 13px/1.45 ui-monospace, Menlo, Consolas, monospace }
pre { background: var(--box); border-radius: 4px; margin: .3rem 0 .6rem; padding: .5rem .75rem; white-space: pre-wrap }
.legend { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 0 2rem; font-size: 14px }
summary { color: var(--dim); cursor: pointer } details { margin: .5rem 0 } td details { margin: 0 }
table { border-collapse: collapse; width: 100% } th { font-weight: 600; white-space: nowrap }
td, th { border-bottom: 1px solid var(--line); padding: .35rem .5rem; text-align: left; vertical-align: top }
td div { overflow-wrap: anywhere } td div + div { margin-top: .2rem }
.items { table-layout: fixed } .items th { width: 17% } .items th:nth-child(1) { width: 25% }
.items th:nth-child(2), .items th:nth-child(4) { width: 8.5% } .items th:nth-child(6) { width: 23% }
tr:has(+ .more) td { border: 0 } .more td { padding: 0 .5rem .35rem 2rem }
.item > div { display: flex; gap: .5rem } .mark { flex: none; width: 1em; text-align: center }
.few { white-space: nowrap } .struck { text-decoration: line-through }
.commits td { border: 0; padding: .1rem .8rem .1rem 0 } .commits td:last-child { width: 100% }
dl { display: grid; margin: .5rem 0; grid-template-columns: max-content 1fr; gap: .2rem 1rem } dd { margin: 0 }
.grade, dt { font-weight: 600 }
.verified, .confirmed, .green, .completed { color: var(--good) } .unchecked, .in_progress { color: var(--calm) }
.unseen, .blocked { color: var(--warn) } .failing, .red, .failed { color: var(--bad) }
.row, .axis { display: grid; grid-template-columns: minmax(8rem, 32%) 1fr; column-gap: 1rem; align-items: center }
.label { overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
svg { display: block; width: 100%; height: 20px; border-left: 1px solid var(--line) }
.axis svg { border: 0; height: 32px }
rect { fill: var(--none) } rect.verified, rect.confirmed { fill: var(--good) } rect.unchecked { fill: var(--calm) }
rect.unseen { fill: var(--warn) } rect.failing { fill: var(--bad) } rect.span { opacity: .35 }
.gap { fill: Canvas } .fold { fill: none; stroke: var(--dim); stroke-dasharray: 2 3; vector-effect: non-scaling-stroke }
text { fill: var(--dim); font-size: 12px }
.times { grid-column: 2; display: flex; flex-wrap: wrap; justify-content: space-between; column-gap: 1rem;
  font-size: 12px }
.scroll { overflow-x: auto }
@media (max-width: 60rem) {
  .items thead { display: none } .items, .items tbody, .items tr, .items td { display: block; width: auto }
  .items tr { border-bottom: 1px solid var(--line); padding: .5rem 0 } .items td { border: 0; padding: .1rem 0 }
  .items tr:has(+ .more) { border: 0; padding-bottom: 0 } .items .more { padding-top: 0 }
  td:empty { display: none } td.item { font-weight: 600 } td.item .note { font-weight: 400 }
  td[data-name] { display: grid !important; grid-template-columns: 5.5rem 1fr }
  td[data-name]::before { content: attr(data-name); color: var(--dim) } .cell { min-width: 0 }
}
@media (max-width: 40rem) {
  body { margin: 1rem auto } .row, .axis { display: block; margin-top: .4rem } dl { display: block }
  dt { margin-top: .4rem } .commits, .commits tbody, .commits tr, .commits td { display: block; padding: 0 }
  .commits tr { padding: .2rem 0 } .commits td { display: inline; margin-right: .4rem }
}
"""
_PLACES = re.compile(r"((?<=\w)(?!(?<=\d):\d)[/_:?=]+)(?=\w)")
_MOST_ROWS: Final = 400
_MOST_COMMITS: Final = 50
_COLUMNS: Final = ("item", "grade", "evidence", "time", "work", "changes")
_LEGEND: Final[Mapping[str, Mapping[str, str]]] = {
    "Items": {
        "pending": "not begun",
        "in_progress": "the agent is at it, or left it like that",
        "blocked": "it cannot go on; the reason stands below it",
        "completed": "the agent says that it is done; the grade says what was seen of that",
        "failed": "it was tried without success, and is still to be done",
        "cancelled": "given up",
    },
    "Grades of completed items": {
        "verified": "a check passed that began after the last code change",
        "confirmed": "a person says that it is done",
        "unchecked": "work was seen, and no check that passed after it",
        "unseen": "no work was seen",
        "failing": "a check failed, and has not passed since",
    },
    "Sessions": {
        "green": "the last checks passed, and no code was changed since",
        "unchecked": "code was changed after the last check, or no check ran",
        "red": "a check failed, and has not passed since",
        "idle": "nothing was changed, and nothing was checked",
    },
}


def report_page(report: Report, around: Around, changes: Changes, *, title: str, now: datetime, root: str = "") -> str:
    """Return the whole page. Files below `root` are named from there."""
    allowed = b64encode(sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    (_, items), (_, grades), *_ = total_words(report.totals)
    at = f'<time datetime="{json_time(now)}">{now.astimezone():%Y-%m-%d %H:%M %Z}</time>'
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_text(title)}</title>",
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{_text(title)}</h1>",
        f'<p class="kind">As of {at}: {_text(items)}. Grades: {_text(grades)}.</p>',
        *_legend(),
        *_needs_eyes(report, around),
        *_sessions(report.sessions),
        *_git(around),
        *_tables(report.items, around, changes, root),
        *_timeline(report, around, now),
        *_elsewhere(report),
        "<h2>Totals</h2><dl>",
        *(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in total_words(report.totals)),
        "</dl>",
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _legend() -> Iterator[str]:
    yield '<details><summary>What the marks and words mean</summary><div class="legend">'
    for heading, words in _LEGEND.items():
        yield f"<div><h3>{heading}</h3><dl>"
        for word, meaning in words.items():
            mark = f"{UNICODE.boxes[word]} " if heading == "Items" else ""
            yield f'<dt class="{word}">{mark}{word.replace("_", " ")}</dt><dd>{meaning}</dd>'
        yield "</dl></div>"
    yield "</div></details>"


def _needs_eyes(report: Report, around: Around) -> Iterator[str]:
    """Yield what a person should look at: red sessions, what waits on them, what stopped, doubtful completions."""
    red = [one for one in report.sessions if one.state == "red"]
    doubtful = [entry for entry in report.items if entry.grade in DOUBTFUL and not entry.is_gone]
    sections = {
        WAITING: [*map(_wait, report.waits, waiting_words(report.waits))],
        STOPPED: [_breakable(text) for text in stopped_words(around)],
        "Marked done, but doubtful": [_doubt(entry, owner_words(entry.subject, around)) for entry in doubtful],
    }
    is_calm = not red and not any(sections.values())
    yield f'<section class="eyes{" calm" if is_calm else ""}"><h2>Needs your eyes</h2>'
    if is_calm:
        yield "<p>Nothing: no check is red, nothing waits on you, and no completion is doubtful.</p>"
    for one in red:
        yield _session_line(one, several=len(report.sessions) > 1)
        for check in failing_checks(one):
            yield _output(check.command, check.tail)
    for name, rows in sections.items():
        if rows:
            yield f"<h3>{name} ({len(rows)})</h3>{_list(rows)}"
    yield "</section>"


def _wait(wait: PersonWait, text: str) -> str:
    """Return what waits on a person, and the commands that resolve it."""
    commands = [f"<code>{_breakable(answer_command(wait, answer))}</code>" for answer in wait.answers]
    return f'{_breakable(text)}<div class="note">{" or ".join(commands)}</div>'


def _doubt(entry: ItemReport, owner: tuple[str, str]) -> str:
    check = entry.check
    why = "no work was seen" if check is None else f"{check.command or check.name} failed"
    who = f'<span class="kind">({_text(", ".join(filter(None, owner)))})</span>'
    return f"{_breakable(entry.item.content)} {who} {_grade(entry)}: {_breakable(why)}"


def _output(command: str, tail: str) -> str:
    """Return a command and the last lines that it printed."""
    lines = "".join(f"\n{_breakable(line)}" for line in tail.splitlines())
    return f"<pre><strong>$ {_breakable(command)}</strong>{lines}</pre>"


def _sessions(sessions: Sequence[SessionState]) -> Iterator[str]:
    """Yield the sessions that are not red: those stand above."""
    others = [one for one in sessions if one.state in ("unchecked", "green")]
    if others:
        yield "<h2>Other sessions</h2>" if len(others) < len(sessions) else "<h2>Sessions</h2>"
    for one in others:
        yield _session_line(one, several=len(sessions) > 1)


def _session_line(one: SessionState, *, several: bool) -> str:
    name = f' <span class="kind">{_text(short_session(one.session))}</span>' if several else ""
    return f'<p><strong class="{one.state}">session {one.state}</strong>{name}: {_breakable(state_words(one))}</p>'


# What Git saw.


def _git(around: Around) -> Iterator[str]:
    for summary in around.git:
        name = git_name(summary, around)
        yield f"<h2>{'Git' if name == 'git' else _text(name)}</h2><p>{_text(git_words(summary))}</p>"
        if summary.commits:
            yield f'<table class="commits"><tbody>{"".join(_commit_rows(summary))}</tbody></table>'


def _commit_rows(summary: GitSummary) -> Iterator[str]:
    for commit in summary.commits[:_MOST_COMMITS]:
        yield f'<tr><td><code>{_text(commit.hash[:7])}</code></td><td class="few kind">{_clock(commit.at)}</td>'
        yield f"<td>{_breakable(commit.subject)}</td></tr>"
    if len(summary.commits) > _MOST_COMMITS:
        yield f"<tr><td></td><td></td><td>and {len(summary.commits) - _MOST_COMMITS} more</td></tr>"


def _subjects(around: Around) -> dict[str, str]:
    """Return the subject of each commit by the first 12 digits of its hash, as items name it."""
    return {commit.hash[:12]: commit.subject for summary in around.git for commit in summary.commits}


# The items of each agent.


def _tables(items: Iterable[ItemReport], around: Around, changes: Changes, root: str) -> Iterator[str]:
    subjects = _subjects(around)
    for owner, entries in groupby(items, key=lambda entry: owner_words(entry.subject, around)):
        yield f"<h2>{_name_owner(owner)}</h2>"
        yield '<div class="scroll"><table class="items"><thead><tr>'
        yield "".join(f'<th scope="col">{name}</th>' for name in _COLUMNS) + "</tr></thead><tbody>"
        for entry in entries:
            yield f"<tr>{''.join(_cells(entry, changes.get(entry.subject), subjects, root))}</tr>"
            if entry.grade == "failing" and entry.check is not None and entry.check.tail:
                shown = _output(entry.check.command, entry.check.tail)
                details = f"<details><summary>Last lines of the failing check</summary>{shown}</details>"
                yield f'<tr class="more"><td colspan="{len(_COLUMNS)}">{details}</td></tr>'
        yield "</tbody></table></div>"


def _name_owner(owner: tuple[str, str]) -> str:
    name, where = map(_text, owner)
    return f'{name} <span class="kind">{where}</span>' if where else name


def _cells(entry: ItemReport, changed: Changed | None, subjects: Mapping[str, str], root: str) -> Iterator[str]:
    status = entry.item.status.value
    look = entry.grade or status
    mark = f'<span class="mark {look}" title="{_text(status_words(entry))}">{UNICODE.boxes[status]}</span>'
    struck = ' class="struck"' if entry.item.status is Status.CANCELLED else ""
    text = f'<div dir="auto"{struck}>{_breakable(entry.item.content)}</div>'
    yield f'<td class="item"><div>{mark}<div>{text}{_item_note(entry)}</div></div></td>'
    yield _cell("grade", _grade(entry), few=True)
    yield _cell("evidence", _rows(proof_words(entry, frozenset())))
    yield _cell("time", _text(span(entry.elapsed)), few=True)
    yield _cell("work", _breakable(", ".join(item_words(entry))))
    commits = [f"{name[:7]} {subjects.get(name, '')}" for name in changed.commits] if changed is not None else []
    yield _cell("changes", _rows([change_words(changed), *commits, *file_words(entry.tally, root)]))


def _item_note(entry: ItemReport) -> str:
    """Return why an item waits, else its status, if it is not completed."""
    if entry.item.status is Status.COMPLETED and not entry.is_gone:
        return ""
    return f'<div class="note">{_breakable(blocker_words(entry.item) or status_words(entry))}</div>'


def _grade(entry: ItemReport) -> str:
    return f'<span class="grade {entry.grade}">{entry.grade}</span>' if entry.grade else ""


def _cell(name: str, inside: str, *, few: bool = False) -> str:
    """Return a cell with its name, which stands before it where there is no room for columns."""
    kind = ' class="few"' if few else ""
    return f'<td{kind} data-name="{name}"><div class="cell">{inside}</div></td>' if inside else "<td></td>"


# The timeline.

_LABEL: Final = 13.0
"""Percent of the axis that a label needs, on a phone."""

_MOST_FOLDS: Final = 5


def _timeline(report: Report, around: Around, now: datetime) -> Iterator[str]:
    """Yield a row for each item: its name, and on a common axis when it was in progress and when calls ran for it.

    Places are shares of the axis, so that neither letters nor bars are scaled with the page.
    """
    every = [entry for entry in report.items if entry.stints]
    begun = every[:_MOST_ROWS]
    if not begun:
        return
    ends = [(at, at) for entry in begun for begin, stop in entry.stints for at in (begin, max(stop or now, begin))]
    axis = Axis([*ends, *(busy for entry in begun for busy in entry.tally.spans)])
    folds = _draw_folds(axis)
    rows = [(owner_words(entry.subject, around), entry) for entry in begun]
    several = len({owner for owner, _ in rows}) > 1
    yield "<h2>Timeline</h2>"
    for owner, entries in groupby(rows, key=lambda row: row[0]):
        if several:
            yield f"<h3>{_name_owner(owner)}</h3>"
        for _, entry in entries:
            yield from _draw_row(entry, axis, folds, now)
    yield from _draw_scale(axis)
    if len(begun) < len(every):
        yield f"<p>The first {len(begun)} of {len(every)} items.</p>"


def _draw_row(entry: ItemReport, axis: Axis, folds: str, now: datetime) -> Iterator[str]:
    grade, state = entry.grade or "none", entry.grade or entry.item.status.value.replace("_", " ")
    what = _text(f"{entry.item.content} ({state}, {span(entry.elapsed)})")
    yield f'<div class="row"><div class="label" dir="auto" title="{what}">{_text(entry.item.content)}</div>'
    yield f'<svg role="img" aria-label="{what}"><title>{what}</title>'
    for begin, stop in entry.stints:
        yield f'<rect class="span {grade}" {axis.bar(begin, stop or now)} y="3" height="14"/>'
    for begin, stop in entry.tally.spans:
        yield f'<rect class="{grade}" {axis.bar(begin, stop)} y="6" height="8"/>'
    yield f"{folds}</svg></div>"


def _draw_folds(axis: Axis) -> str:
    """Return the folds as one shape that hides the bars below it, and one of dashed lines: there may be hundreds."""
    if not axis.folds:
        return ""
    hidden = "".join(f"M{left + 0.3:.2f} 0h{axis.fold - 0.3:.2f}v20h-{axis.fold - 0.3:.2f}z" for left in axis.folds)
    lines = "".join(f"M{left + axis.fold / 2:.2f} 0v20" for left in axis.folds)
    shapes = f'<path class="gap" d="{hidden}"/><path class="fold" d="{lines}"/>'
    return f'<svg viewBox="0 0 100 20" preserveAspectRatio="none">{shapes}</svg>'


def _draw_scale(axis: Axis) -> Iterator[str]:
    """Yield the lengths of the folds below them, the first and the last moment, and when each fold begins and ends."""
    idle = list(zip(axis.folds, axis.idle, strict=True))
    if idle:
        yield '<div class="axis"><div></div><svg aria-hidden="true">'
        lines = [-_LABEL, -_LABEL]  # where the last label of each line is
        for left, (start, end) in idle:
            middle = min(max(left + axis.fold / 2, _LABEL / 2), 100 - _LABEL / 2)
            free = [line for line, last in enumerate(lines) if middle - last >= _LABEL]
            if free:
                lines[free[0]] = middle
                place = f'x="{middle:.2f}%" y="{13 + 14 * free[0]}"'
                yield f'<text {place} text-anchor="middle">{_round(end - start)}</text>'
        yield "</svg></div>"
    first, end = axis.stretches[0][0], axis.stretches[-1][1]
    yield f'<div class="axis"><div class="times"><span>{first.astimezone():%Y-%m-%d %H:%M:%S}</span>'
    yield f"<span>{end.astimezone():%Y-%m-%d %H:%M:%S %Z}</span></div></div>"
    if idle:
        longest = sorted(sorted(axis.idle, key=lambda gap: gap[0] - gap[1])[:_MOST_FOLDS])
        said = [f"{_clock(start)} to {_clock(end)} ({span(end - start)})" for start, end in longest]
        more = f"; and {len(idle) - len(said)} shorter ones" if len(idle) > len(said) else ""
        yield f'<p class="note">Dashed lines: time without activity is left out. {"; ".join(said)}{more}.</p>'


def _round(length: timedelta) -> str:
    """Return a length of time in its largest unit."""
    hours = round(length.total_seconds() / 3600)
    if hours >= 48:
        return count_words(round(hours / 24), "day")
    return f"{hours} h" if length >= timedelta(hours=1) else span(length)


def _clock(at: datetime) -> str:
    local = at.astimezone()
    return f"{local.day} {local:%b %H:%M}"


# Texts.


def _elsewhere(report: Report) -> Iterator[str]:
    if not report.elsewhere:
        return
    yield "<h2>Beside the lists</h2>"
    yield _list(
        _breakable(f"{of.agent}, {item_label(of.item)}: {', '.join(tally_words(tally))}")
        for of, tally in report.elsewhere.items()
    )


def _list(rows: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{row}</li>' for row in rows)}</ul>"


def _rows(texts: Iterable[str]) -> str:
    return "".join(f"<div>{_breakable(text)}</div>" for text in texts if text)


def _breakable(text: str) -> str:
    """Let a path or an address go on in the next line."""
    return _PLACES.sub(r"\1<wbr>", _text(text))


def _text(text: str) -> str:
    """Return a text from a board on one line, cleaned and escaped."""
    return escape(safe_line(text), quote=True)

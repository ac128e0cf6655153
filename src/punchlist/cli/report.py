"""`punchlist report` and `punchlist brief`: the work on each item, in full or since the reader last looked."""

from __future__ import annotations

import os
import shlex
import subprocess
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache

import msgspec
from msgspec.structs import replace

from punchlist.board import Board
from punchlist.bridges.git import GitFacts, ItemWork, find_makers, git_facts
from punchlist.bridges.replay import replay_in_memory
from punchlist.cli import FAILED, OK, UNUSABLE, complain
from punchlist.cli.arguments import Parser, author, command_parser, find_folder, parse_count
from punchlist.cli.boards import open_board
from punchlist.cli.files import check_place, replace_file
from punchlist.cli.terminal import detect_display, show, show_json
from punchlist.config import project_of
from punchlist.core.brief import Brief
from punchlist.core.grounding.commits import CommitCall
from punchlist.core.grounding.tool_call import Subject, is_task
from punchlist.core.report import ItemReport, Report
from punchlist.errors import InvalidInput, StoreBusy
from punchlist.hosts.surroundings import find_around
from punchlist.store import Transaction
from punchlist.surfaces.brief import brief_data, brief_lines, completed_items, is_empty
from punchlist.surfaces.headlines import Around, GitCommit, GitSummary
from punchlist.surfaces.report_page import report_page
from punchlist.surfaces.reports import Changed, Changes, report_data, report_lines, report_markdown
from punchlist.surfaces.spans import UNICODE, plain_text, safe_line

_FORMATS = ("text", "markdown", "json", "html")
_EXAMPLES = """\
  punchlist report                              what became of this project's items, and how they were proved
  punchlist report --session s1 --format markdown
  punchlist report --html -o report.html        one page with a timeline; nothing in it is loaded or run
  punchlist report --transcript run.jsonl       a session that was never watched, by its transcript alone
"""


def parser() -> Parser:
    about = "Shows the state of each session, then for each item its grade, the time, the work and the evidence."
    made = command_parser("report", about, run=_report, examples=_EXAMPLES)
    made.add_argument("--session", metavar="S", help="only this session")
    made.add_all()
    made.add_argument(
        "--transcript", metavar="FILE", help="report on a transcript of Claude Code or Codex; no board is touched"
    )
    made.add_argument("--format", choices=_FORMATS, default="text", help="how to write it (default: text)")
    made.add_argument("--json", action="store_const", const="json", dest="format", help="the same as --format json")
    made.add_argument("--html", action="store_const", const="html", dest="format", help="the same as --format html")
    made.add_argument("-o", "--output", metavar="FILE", help="write it to this file, readable by you alone")
    return made


def _report(options: Namespace) -> None:
    with _replay_board(options) if options.transcript else open_board(options, reads=True) as board:
        report = board.report(session=options.session, project=None if options.session else find_folder(options))
        calls = None if options.session else report.committing
        git, changes = _ask_git(board, _find_beginnings(report), report.items, calls)
        news = {one.session for one in report.sessions}
        around = find_around(board, None if options.session else find_folder(options), news, options.session)
        around = replace(around, git=git)
        now = board.now()
    if options.output:
        _write(options.output, _render(report, around, changes, options, now))
        print(f"Wrote the report on {len(report.items)} items to {safe_line(options.output)}.")
    elif options.format == "json":
        show_json(report_data(report, around, changes))
    elif options.format != "text":
        print(_render(report, around, changes, options, now), end="")
    elif not report.items and not report.elsewhere:
        more = "" if options.all or options.transcript else "; `punchlist report --all` looks at every project"
        print(f"Nothing to report here yet{more}.")
    else:
        display, root = detect_display(), project_of(options.project)
        lines = report_lines(report, around, changes, display.glyphs, display.columns or 0, root=root)
        show(map(display.cut, lines))


def _replay_board(options: Namespace) -> Board:
    """Return a board in memory with what the transcript tells; set the options so that the report is on all of it."""
    if options.session or options.all or options.project:
        raise InvalidInput(
            problem="`--transcript` reports on one file; leave out `--session`, `--project` and `--all`."
        )
    board, options.project = replay_in_memory(options.transcript)
    return board


def _render(report: Report, around: Around, changes: Changes, options: Namespace, now: datetime) -> str:
    root = project_of(options.project)
    match options.format:
        case "json":
            data = msgspec.json.encode(report_data(report, around, changes))
            return msgspec.json.format(data, indent=2).decode() + "\n"
        case "markdown":
            return report_markdown(report, around, changes, root=root)
        case "html":
            where = "all projects" if options.all else os.path.basename(root)
            whose = f"session {options.session}" if options.session else where
            return report_page(report, around, changes, title=f"Work report: {whose}", now=now, root=root)
        case _:
            return plain_text(report_lines(report, around, changes, UNICODE, root=root))


def _write(path: str, text: str) -> None:
    """Write a file for its owner alone, in place of the old one; a device or a pipe is written to as it is."""
    check_place(path)
    if os.path.exists(path) and not os.path.isfile(path):
        with open(os.open(path, os.O_WRONLY | os.O_NOFOLLOW), "w", encoding="utf-8") as device:
            device.write(text)
    else:
        replace_file(path, text, private=True)


_BRIEF_EXAMPLES = """\
  punchlist brief                              of this project; the next one continues from here
  punchlist brief --all --keep                 of every project, without moving your mark
  punchlist brief --push "mail -s Brief ada"   hand it to a command, if there is anything to tell
"""
_PUSH_SECONDS = 60


def brief_parser() -> Parser:
    about = "Shows what happened since you last looked: done, doubtful, waiting on you, stalled."
    made = command_parser("brief", about, run=_brief, examples=_BRIEF_EXAMPLES)
    made.add_all()
    made.add_by("whose mark to continue from")
    made.add_argument("--after", type=parse_count, metavar="N", help="continue from this event, 0 for the first")
    made.add_argument("--keep", action="store_true", help="leave your mark where it is")
    made.add_argument("--push", metavar="CMD", help="give it to this command line on its standard input")
    made.add_json()
    return made


def _brief(options: Namespace) -> int:
    if options.push is not None and (problem := _check_command(options.push)):
        return complain(problem, UNUSABLE)
    with open_board(options, reads=True) as board:
        project = find_folder(options)
        mark = f"brief {author(options)} {'' if project is None else project_of(project)}"
        after, spent_before = options.after, 0
        if after is None:
            after = board.store.read(lambda tx: tx.log.mark(mark))
            spent_before = board.store.read(lambda tx: tx.log.mark(f"{mark} tokens"))
        found = board.brief(after, project=project)
        spent = sum(row.cost.tokens for row in board.costs(project=project))
        news = {one.session for one in found.sessions}
        items = (*completed_items(found), *found.failed, *found.under_way)
        git, changes = _ask_git(board, dict.fromkeys(news, _find_time(board, after)), items, None)
        around = replace(
            find_around(board, project, news),
            git=git,
            tokens=max(0, spent - spent_before),
            is_first=options.after is None and options.push is None and not after,
        )
        code = _tell(found, around, changes, options)
        if code == OK and not options.keep and found.until > after:

            def save_marks(tx: Transaction) -> None:
                tx.log.save_mark(mark, found.until)
                tx.log.save_mark(f"{mark} tokens", spent)

            with suppress(StoreBusy):  # the mark is not worth the wait for a process that was stopped with the lock
                board.store.transact(save_marks, durable=False, wait=1.0)
    return code


def _tell(found: Brief, around: Around, changes: Changes, options: Namespace) -> int:
    if options.push is not None:
        return OK if is_empty(found, around) else _push(found, around, changes, options.push)
    if options.json:
        show_json(brief_data(found, around, changes))
    else:
        display = detect_display()
        lines = brief_lines(found, around, changes, display.glyphs, display.columns or 0)
        show(map(display.cut, lines))
    return OK


def _push(found: Brief, around: Around, changes: Changes, command: str) -> int:
    """Run the user's command by their shell; the text is on its standard input, never in the line."""
    text = plain_text(brief_lines(found, around, changes, UNICODE))
    try:
        ended = subprocess.run(command, shell=True, input=text.encode(), timeout=_PUSH_SECONDS, check=False)
    except OSError as error:
        problem = f"cannot be run: {error.strerror}"
    except subprocess.TimeoutExpired:
        problem = f"took more than {_PUSH_SECONDS} s"
    else:
        if ended.returncode == 0:
            return OK
        problem = f"ended with code {ended.returncode}"
    return complain(f"`{shlex.split(command)[0]}` {problem}; your mark stays where it is.", FAILED)


def _check_command(command: str) -> str:
    """Return why a text is no command; empty if it is one."""
    try:
        return "" if shlex.split(command) else '`--push` needs a command, as in --push "mail -s Brief ada".'
    except ValueError as error:
        return f"`--push` cannot be read as a command: {error}."


# What Git saw of the work.


def _find_beginnings(report: Report) -> dict[str, datetime]:
    """Return for each session when its work began: with its first item in progress, or its first call."""
    begun: dict[str, list[datetime]] = {}
    tallies = [(entry.subject, entry.tally) for entry in report.items]
    for of, tally in (*tallies, *report.elsewhere.items()):
        begun.setdefault(of.session, []).extend(start for start, _ in tally.spans)
    for entry in report.items:
        begun[entry.subject.session].extend(start for start, _ in entry.stints)
    return {session: min(times) for session, times in begun.items() if times}


def _find_time(board: Board, after: int) -> datetime:
    """Return the time of the event at a cursor, or of the first one after it."""
    event = next(board.events(max(0, after - 1)), None)
    return board.now() if event is None else event.at


def _ask_git(
    board: Board, begun: Mapping[str, datetime], items: Iterable[ItemReport], calls: Sequence[CommitCall] | None
) -> tuple[list[GitSummary], Changes]:
    """Return what Git saw in each project since the work there began, and of the work on each item.

    `begun` has the sessions to ask for. `calls` are those that make commits, of all agents there; None if only some
    agents were looked at. A project that is no repository is left out.
    """

    @cache
    def where(session: str) -> str:
        return board.store.read(lambda tx: tx.session_project(session)) or ""

    since: dict[str, datetime] = {}
    for session, at in begun.items():
        since[where(session)] = min(at, since.get(where(session), at))
    entries: dict[str, list[ItemReport]] = {}
    for entry in items:
        if entry.item.started_at is not None:
            entries.setdefault(where(entry.subject.session), []).append(entry)
    summaries, changes = list[GitSummary](), dict[Subject, Changed]()
    for project in sorted({*since, *entries}):
        if not project or not os.path.exists(os.path.join(project, ".git")):
            continue
        here = entries.get(project, [])
        times = [entry.item.started_at for entry in here if entry.item.started_at is not None]
        facts = git_facts(project_of(project), min([*times, *([since[project]] if project in since else [])]))
        if facts is None:
            continue
        if project in since:
            summaries.append(_sum_up(facts, since[project]))
        known = board.report(project=project).committing if calls is None and facts.commits else calls or ()
        there = [call for call in known if where(call.of[0].session) == project]
        changes.update(_share_changes(facts, here, there))
    return summaries, changes


def _sum_up(facts: GitFacts, since: datetime) -> GitSummary:
    made = [GitCommit(one.hash, one.at, one.subject) for one in reversed(facts.commits) if one.span[1] > since]
    lines = [file.lines for file in facts.changed.values()]
    added, removed = sum(one.added for one in lines), sum(one.removed for one in lines)
    return GitSummary(facts.root, tuple(made), len(lines), added, removed, facts.is_complete)


_Owner = tuple[str, str]
"""A session and an agent."""

_Groups = Mapping[_Owner, Sequence[ItemReport]]
_Place = tuple[_Owner, int | None]
"""An item by its owner and its index among the owner's; None where only the owner is known."""


def _share_changes(
    facts: GitFacts, entries: Iterable[ItemReport], calls: Sequence[CommitCall]
) -> Iterator[tuple[Subject, Changed]]:
    """Yield the changes of each item; commits that belong to none are counted for none."""
    groups: dict[_Owner, list[ItemReport]] = {}
    for entry in entries:
        groups.setdefault((entry.subject.session, entry.subject.agent), []).append(entry)
    made = {commit.hash: made for commit in facts.commits if (made := find_makers(commit, calls))}
    places = {name: [place for call in each if (place := _find_place(call, groups))] for name, each in made.items()}
    shares = {owner: facts.shares(_collect_work(group), _find_makers(owner, places)) for owner, group in groups.items()}
    times = Counter(commit.hash for group in shares.values() for share in group for commit in share.commits)
    for owner, group in groups.items():
        for entry, share in zip(group, shares[owner], strict=True):
            shared = sum(times[commit.hash] > 1 for commit in share.commits)
            names = tuple(commit.hash[:12] for commit in share.commits)
            yield entry.subject, Changed(names, share.files, *share.lines, shared)


def _collect_work(entries: Iterable[ItemReport]) -> list[ItemWork]:
    return [
        ItemWork(at, entry.item.finished_at, entry.tally.files, entry.tally.spans, entry.commands)
        for entry in entries
        if (at := entry.item.started_at) is not None
    ]


def _find_place(call: CommitCall, groups: _Groups) -> _Place | None:
    """Return where a call counts: for its item; without one, for its agent, else for the item that started that."""
    for of in call.of:
        for owner, group in groups.items():
            for place, entry in enumerate(group):
                if entry.subject == of or (is_task(of.item) and entry.subject.item == of.item):
                    return owner, place
        if of.item:
            return None  # an item that nobody asked for
        if (of.session, of.agent) in groups:
            return (of.session, of.agent), None
    return None


def _find_makers(owner: _Owner, places: Mapping[str, Sequence[_Place]]) -> dict[str, int | None]:
    """Return for one agent which of its items made each commit, None where none of them did."""
    found: dict[str, int | None] = {}
    for name, made_by in places.items():
        mine = [place for maker, place in made_by if maker == owner]
        if None not in mine or any(place is not None for place in mine):
            found[name] = next((place for place in mine if place is not None), None)
    return found

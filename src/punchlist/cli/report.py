"""`punchlist report` and `punchlist brief`: the work on each item, in full or since the reader last looked."""

from __future__ import annotations

import os
import shlex
import subprocess
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from punchlist.bridges.git import GitFacts, ItemWork, git_facts, makers
from punchlist.cli import FAILED, OK, UNUSABLE, complain
from punchlist.cli.arguments import Parser, add_all, add_json, author, command_parser, count, here, open_board
from punchlist.cli.files import check_place, replace_file
from punchlist.cli.terminal import detect_display, show, show_json
from punchlist.config import project_of
from punchlist.core.grounding import Subject, is_task
from punchlist.core.grounding.tool_call import todo_subject
from punchlist.core.report import Report
from punchlist.errors import SessionUnknown
from punchlist.surfaces.brief import Around, Silent, brief_data, brief_lines, done, is_empty, names
from punchlist.surfaces.reports import Changed, Changes, report_data
from punchlist.surfaces.spans import UNICODE, plain, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from punchlist.board import Board
    from punchlist.core.brief import Brief
    from punchlist.core.grounding.fold import Committing
    from punchlist.core.report import ItemReport
    from punchlist.store import Transaction
    from punchlist.store.plans import QuestionRow

_FORMATS = ("text", "markdown", "json", "html")
_EXAMPLES = """\
  punchlist report                              what became of this project's items, and how they were proved
  punchlist report --session s1 --format markdown
  punchlist report --format html -o report.html     one page with a timeline; nothing in it is loaded or run
"""


def parser() -> Parser:
    made = command_parser(
        "report",
        "Shows for each item the time, the work that was seen, its grade and evidence.",
        run=run,
        examples=_EXAMPLES,
    )
    made.add_argument("--session", metavar="S", help="only this session")
    add_all(made)
    made.add_argument("--format", choices=_FORMATS, default="text", help="how to write it (default: text)")
    made.add_argument("--json", action="store_const", const="json", dest="format", help="the same as --format json")
    made.add_argument("-o", "--output", metavar="FILE", help="write it to this file, readable by you alone")
    return made


def run(options: Namespace) -> int:
    with open_board(options, reads=True) as board:
        if options.session and not board.lists(session=options.session):
            raise SessionUnknown(session=options.session)
        report = board.report(session=options.session, project=None if options.session else here(options))
        changes = changes_of(board, report.items, None if options.session else report.committing)
        now = board.now()
    if options.output:
        _write(options.output, _as_text(report, changes, options, now))
        print(f"Wrote the report on {len(report.items)} items to {shown(options.output)}.")
    elif options.format == "json":
        show_json(report_data(report, changes))
    elif options.format != "text":
        print(_as_text(report, changes, options, now), end="")
    elif not report.items and not report.elsewhere:
        more = "" if options.all else "; `punchlist report --all` looks at every project"
        print(f"Nothing to report here yet{more}.")
    else:
        from punchlist.surfaces.reports import report_lines

        display = detect_display()
        root = project_of(options.project)
        show(
            display.cut(line) for line in report_lines(report, changes, display.glyphs, display.columns or 0, root=root)
        )
    return OK


def _as_text(report: Report, changes: Changes, options: Namespace, now: datetime) -> str:
    root = project_of(options.project)
    match options.format:
        case "json":
            import msgspec

            return msgspec.json.format(msgspec.json.encode(report_data(report, changes)), indent=2).decode() + "\n"
        case "markdown":
            from punchlist.surfaces.reports import report_markdown

            return report_markdown(report, changes, root=root)
        case "html":
            from punchlist.surfaces.report_page import report_page

            where = "all projects" if options.all else os.path.basename(root)
            whose = f"session {options.session}" if options.session else where
            return report_page(report, changes, title=f"Work report: {whose}", now=now, root=root)
        case _:
            from punchlist.surfaces.reports import report_lines
            from punchlist.surfaces.spans import UNICODE

            return "\n".join(plain(line).rstrip() for line in report_lines(report, changes, UNICODE, root=root)) + "\n"


def _write(path: str, text: str) -> None:
    """Write a file for its owner alone, in place of the old one; a device or a pipe is written to as it is."""
    check_place(path)
    if os.path.exists(path) and not os.path.isfile(path):
        with open(os.open(path, os.O_WRONLY | os.O_NOFOLLOW), "w", encoding="utf-8") as device:
            device.write(text)
    else:
        replace_file(path, text, private=True)


_BRIEF_EXAMPLES = """\
  punchlist brief                              of this project; the next one goes on from here
  punchlist brief --all --keep                 of every project, without moving your mark
  punchlist brief --push "mail -s Brief ada"   hand it to a command, if there is anything to tell
"""
_SECONDS = 60


def brief_parser() -> Parser:
    made = command_parser(
        "brief",
        "Shows what happened since you last looked: done, doubtful, waiting on you, stalled.",
        run=run_brief,
        examples=_BRIEF_EXAMPLES,
    )
    add_all(made)
    made.add_argument("--by", metavar="NAME", help="whose mark to go on from (default: your login name)")
    made.add_argument("--after", type=count, metavar="N", help="go on from this event instead, 0 for the first")
    made.add_argument("--keep", action="store_true", help="leave your mark where it is")
    made.add_argument("--push", metavar="CMD", help="give it to this command line on its standard input")
    add_json(made)
    return made


def run_brief(options: Namespace) -> int:
    problem = "" if options.push is None else _unusable(options.push)
    if problem:
        return complain(problem, UNUSABLE)
    with open_board(options, reads=True) as board:
        project = here(options)
        mark = f"brief {author(options)} {'' if project is None else project_of(project)}"
        after = options.after
        if after is None:
            after = board.store.read(lambda tx: tx.log.mark(mark))
        found = _without_asked(board.brief(after, project=project), board.questions(project=project))
        spent = sum(row.cost.tokens for row in board.costs(project=project))
        before = 0 if options.after is not None else board.store.read(lambda tx: tx.log.mark(f"{mark} tokens"))
        around = _around(board, project, max(0, spent - before))
        told = (*done(found), *found.failed, *found.under_way)
        code = _tell(found, around, changes_of(board, told, found.report.committing), options)
        if code == OK and not options.keep and found.until > after:
            board.store.transact(lambda tx: _save(tx, mark, found.until, spent), durable=False)
    return code


def _save(tx: Transaction, mark: str, until: int, spent: int) -> None:
    tx.log.save_mark(mark, until)
    tx.log.save_mark(f"{mark} tokens", spent)


def _without_asked(found: Brief, questions: Iterable[QuestionRow]) -> Brief:
    """A question is one thing to answer, and not also an item that waits for its answer."""
    asked = {todo_subject(row.session, row.agent, row.question.plan_id, row.question.item) for row in questions}
    return replace(found, waiting=tuple(entry for entry in found.waiting if entry.subject not in asked))


def _tell(found: Brief, around: Around, changes: Changes, options: Namespace) -> int:
    if options.push is not None:
        return OK if is_empty(found, around) else _push(found, around, changes, options.push)
    if options.json:
        show_json(brief_data(found, around, changes))
    else:
        display = detect_display()
        lines = brief_lines(found, around, changes, display.glyphs, display.columns or 0)
        show(display.cut(line) for line in lines)
    return OK


def _push(found: Brief, around: Around, changes: Changes, command: str) -> int:
    """Runs the command of the user's, by their shell; the text is on its standard input, never in the line."""
    text = "\n".join(plain(line).rstrip() for line in brief_lines(found, around, changes, UNICODE)) + "\n"
    words = shlex.split(command)
    try:
        done = subprocess.run(command, shell=True, input=text.encode(), timeout=_SECONDS, check=False)
    except OSError as error:
        return complain(f"`{words[0]}` cannot be run: {error.strerror}; your mark stays where it is.", FAILED)
    except subprocess.TimeoutExpired:
        return complain(f"`{words[0]}` took more than {_SECONDS} s; your mark stays where it is.", FAILED)
    if done.returncode:
        return complain(f"`{words[0]}` ended with code {done.returncode}; your mark stays where it is.", FAILED)
    return OK


def _unusable(command: str) -> str:
    """Why a text is no command; empty if it is one."""
    try:
        return "" if shlex.split(command) else '`--push` needs a command, as in --push "mail -s Brief ada".'
    except ValueError as error:
        return f"`--push` cannot be read as a command: {error}."


def _around(board: Board, project: str | None, tokens: int) -> Around:
    asked, proposed = board.questions(project=project), board.plans(project=project)
    called = names({(row.session, row.agent) for row in (*asked, *proposed)})
    questions = [f"{called[row.session, row.agent]} asks: {row.question.question}" for row in asked]
    plans = [f"{called[row.session, row.agent]} proposes a plan; `punchlist plan show` shows it" for row in proposed]
    now = board.now()
    stalls = [
        Silent(one.session, one.agent, one.finding.detector, now - one.since) for one in board.stalls(project=project)
    ]
    return Around(questions, plans, stalls, tokens)


_Whose = tuple[str, str]
"""A session and an agent."""

_Groups = Mapping[_Whose, Sequence["ItemReport"]]
_Place = tuple[_Whose, int | None]
"""An item by its agent and its place among those; None where only the agent is known."""


def changes_of(board: Board, items: Iterable[ItemReport], calls: Sequence[Committing] | None) -> Changes:
    """What Git saw of the work on each item that was begun, in the projects that still are where they were.

    `calls` are those that make commits, of all agents there; None if only some agents were looked at.
    """

    @cache
    def where(session: str) -> str:
        rows = board.lists(session=session)
        return rows[0].project if rows else ""

    found: dict[Subject, Changed] = {}
    for project, entries in _by_project(items, where).items():
        begun = min(entry.item.started_at for entry in entries if entry.item.started_at is not None)
        facts = git_facts(project_of(project), begun)
        if facts is not None:
            known = board.report(project=project).committing if calls is None and facts.commits else calls or ()
            there = [call for call in known if where(call.of[0].session) == project]
            found.update(_changes(facts, entries, there))
    return found


def _by_project(items: Iterable[ItemReport], where: Callable[[str], str]) -> dict[str, list[ItemReport]]:
    """Those that were begun, by the project of their session, where that is a repository."""
    found: dict[str, list[ItemReport]] = {}
    for entry in items:
        if entry.item.started_at is not None and (project := where(entry.subject.session)):
            found.setdefault(project, []).append(entry)
    return {project: group for project, group in found.items() if os.path.exists(os.path.join(project, ".git"))}


def _changes(
    facts: GitFacts, entries: Iterable[ItemReport], calls: Sequence[Committing]
) -> Iterator[tuple[Subject, Changed]]:
    """What is to be said of each item; what belongs to none is counted for none."""
    groups: dict[_Whose, list[ItemReport]] = {}
    for entry in entries:
        groups.setdefault((entry.subject.session, entry.subject.agent), []).append(entry)
    made = {commit.hash: made for commit in facts.commits if (made := makers(commit, calls))}
    places = {name: [place for call in each if (place := _place(call, groups))] for name, each in made.items()}
    shares = {whose: facts.shares(_works(group), _known(whose, places)) for whose, group in groups.items()}
    times = Counter(commit.hash for group in shares.values() for share in group for commit in share.commits)
    for whose, group in groups.items():
        for entry, share in zip(group, shares[whose], strict=True):
            shared = sum(times[commit.hash] > 1 for commit in share.commits)
            names = tuple(commit.hash[:12] for commit in share.commits)
            yield entry.subject, Changed(names, share.files, *share.lines, shared)


def _works(entries: Iterable[ItemReport]) -> list[ItemWork]:
    """The work on items that were begun."""
    return [
        ItemWork(at, entry.item.finished_at, entry.tally.files, entry.tally.spans.kept, entry.commands)
        for entry in entries
        if (at := entry.item.started_at) is not None
    ]


def _place(call: Committing, groups: _Groups) -> _Place | None:
    """Where a call counts: for its item; without one, for its agent, else for what that was started for."""
    for of in call.of:
        for whose, group in groups.items():
            for place, entry in enumerate(group):
                if entry.subject == of or (is_task(of.item) and entry.subject.item == of.item):
                    return whose, place
        if of.item:
            return None  # an item that nobody asked for
        if (of.session, of.agent) in groups:
            return (of.session, of.agent), None
    return None


def _known(whose: _Whose, places: Mapping[str, Sequence[_Place]]) -> dict[str, int | None]:
    """What is known of commits for one agent: which of its items made them, or that none of them did."""
    found: dict[str, int | None] = {}
    for name, made_by in places.items():
        mine = [place for owner, place in made_by if owner == whose]
        if None not in mine or any(place is not None for place in mine):
            found[name] = next((place for place in mine if place is not None), None)
    return found

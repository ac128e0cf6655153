"""`punchlist brief`: what happened since you last looked."""

from __future__ import annotations

import shlex
import subprocess
from argparse import Namespace
from typing import TYPE_CHECKING

from msgspec.structs import replace

from punchlist.cli import FAILED, OK, UNUSABLE, complain
from punchlist.cli.arguments import Parser, add_all, add_json, command_parser, count, here, open_board
from punchlist.cli.target import author
from punchlist.cli.terminal import look, show, show_json
from punchlist.cli.work import changes_of
from punchlist.config import project_of
from punchlist.core.grounding.calls import todo_subject
from punchlist.surfaces.brief_rows import names
from punchlist.surfaces.brief_text import Around, brief_data, brief_lines, done, is_empty
from punchlist.surfaces.report_values import Changes
from punchlist.surfaces.silences import Silent
from punchlist.surfaces.spans import UNICODE, cut, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from punchlist.board import Board
    from punchlist.core.brief import Brief
    from punchlist.store import Transaction
    from punchlist.store.waiting import QuestionRow

_EXAMPLES = """\
  punchlist brief                              of this project; the next one goes on from here
  punchlist brief --all --keep                 of every project, without moving your mark
  punchlist brief --push "mail -s Brief ada"   hand it to a command, if there is anything to tell
"""
_SECONDS = 60


def parser() -> Parser:
    made = command_parser(
        "brief",
        "Shows what happened since you last looked: done, doubtful, waiting on you, stalled.",
        examples=_EXAMPLES,
    )
    add_all(made)
    made.add_argument("--by", metavar="NAME", help="whose mark to go on from (default: your login name)")
    made.add_argument("--after", type=count, metavar="N", help="go on from this event instead, 0 for the first")
    made.add_argument("--keep", action="store_true", help="leave your mark where it is")
    made.add_argument("--push", metavar="CMD", help="give it to this command line on its standard input")
    add_json(made)
    return made


def run(options: Namespace) -> int:
    problem = "" if options.push is None else _unusable(options.push)
    if problem:
        return complain(problem, UNUSABLE)
    with open_board(options, reads=True) as board:
        project = here(options)
        mark = f"brief {author(options)} {'' if project is None else project_of(project)}"
        after = options.after
        if after is None:
            after = board.store.read(lambda tx: tx.work.mark(mark))
        found = _without_asked(board.brief(after, project=project), board.questions(project=project))
        spent = sum(row.cost.tokens for row in board.costs(project=project))
        before = 0 if options.after is not None else board.store.read(lambda tx: tx.work.mark(f"{mark} tokens"))
        around = _around(board, project, max(0, spent - before))
        told = (*done(found), *found.failed, *found.under_way)
        code = _tell(found, around, changes_of(board, told, found.report.committing), options)
        if code == OK and not options.keep and found.until > after:
            board.store.transact(lambda tx: _save(tx, mark, found.until, spent), lasting=False)
    return code


def _save(tx: Transaction, mark: str, until: int, spent: int) -> None:
    tx.work.save_mark(mark, until)
    tx.work.save_mark(f"{mark} tokens", spent)


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
        seen = look()
        lines = brief_lines(found, around, changes, seen.glyphs, seen.columns or 0)
        show(cut(line, seen.columns, seen.glyphs) for line in lines)
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

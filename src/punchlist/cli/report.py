"""`punchlist report` and `punchlist brief`: the work on each item, in full or since the reader last looked."""

import os
import shlex
import subprocess
from argparse import Namespace
from contextlib import suppress
from datetime import datetime
from functools import partial

from msgspec.structs import replace

from punchlist.board import Board
from punchlist.cli import FAILED, OK, UNUSABLE, arguments, complain
from punchlist.cli.terminal import detect_display, json_text, show, show_json
from punchlist.errors import InvalidInput, StoreBusy
from punchlist.logs.replay import replay_in_memory
from punchlist.presence.roster import load_roster
from punchlist.reports.work_reports import LoadedBrief, LoadedReport, load_brief, load_report, mark_seen
from punchlist.settings.environment import project_of
from punchlist.settings.table import replace_file
from punchlist.terminal.brief import brief_lines, is_empty
from punchlist.terminal.reports import report_lines, report_markdown
from punchlist.terminal.spans import UNICODE, plain_text, safe_line
from punchlist.views.reports import view_brief, view_report

_FORMATS = ("text", "markdown", "json", "html")
_EXAMPLES = """\
  punchlist report                              what became of this project's items, and how they were proved
  punchlist report --session s1 --format markdown
  punchlist report --html -o report.html        one page with a timeline; nothing in it is loaded or run
  punchlist report --transcript run.jsonl       a session that was never watched, by its transcript alone
"""


def parser() -> arguments.Parser:
    about = "Shows the state of each session, then for each item its grade, the time, the work and the evidence."
    made = arguments.command_parser("report", about, run=_report, examples=_EXAMPLES)
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
    with _replay_board(options) if options.transcript else arguments.open_board(options, reads=True) as board:
        project = None if options.session else arguments.find_folder(options)
        loaded = load_report(board, load_roster(board), session=options.session, project=project)
        if options.transcript:  # nobody can say what its agents do now
            loaded = replace(loaded, around=replace(loaded.around, stopped=(), stalls=()))
        is_shown = options.format == "text" and not options.output
        text = "" if is_shown else _render(board, loaded, options)
    report, around = loaded.report, loaded.around
    if options.output:
        _write(options.output, text)
        print(f"Wrote the report on {len(report.items)} items to {safe_line(options.output)}.")
    elif not is_shown:
        print(text, end="")
    elif not report.items and not report.elsewhere:
        more = "" if options.all or options.transcript else "; `punchlist report --all` looks at every project"
        print(f"Nothing to report here yet{more}.")
    else:
        display = detect_display()
        lines = report_lines(report, around, display.glyphs, display.columns or 0)
        show(map(display.cut, lines))


def _replay_board(options: Namespace) -> Board:
    """Return a board in memory with what the transcript tells; set the options so that the report is on all of it."""
    if options.session or options.all or options.project:
        raise InvalidInput(
            problem="`--transcript` reports on one file; leave out `--session`, `--project` and `--all`."
        )
    board, options.project = replay_in_memory(options.transcript)
    return board


def _render(board: Board, loaded: LoadedReport, options: Namespace) -> str:
    report, around = loaded.report, loaded.around
    root = project_of(options.project)
    match options.format:
        case "json":
            return json_text(view_report(report, around)) + "\n"
        case "markdown":
            return report_markdown(report, around)
        case "html":
            from punchlist.server.pages.report import render_report  # loads Jinja2

            where = "all projects" if options.all else os.path.basename(root)
            whose = f"session {options.session}" if options.session else where
            return render_report(board, loaded, f"Work report: {whose}")
        case _:
            return plain_text(report_lines(report, around, UNICODE))


def _write(path: str, text: str) -> None:
    """Write a file for its owner alone, in place of the old one; a device or a pipe is written to as it is."""
    arguments.check_place(path)
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


def brief_parser() -> arguments.Parser:
    about = "Shows what to do now, what to look at first and what was checked; `punchlist report` shows every item."
    made = arguments.command_parser("brief", about, run=_brief, examples=_BRIEF_EXAMPLES)
    made.add_all()
    made.add_by("whose mark to continue from")
    made.add_argument(
        "--after", type=arguments.parse_count, metavar="N", help="continue from this event, 0 for the first"
    )
    made.add_argument("--keep", action="store_true", help="leave your mark where it is")
    made.add_argument("--push", metavar="CMD", help="give it to this command line on its standard input")
    made.add_json()
    return made


def _brief(options: Namespace) -> int:
    if options.push is not None:
        try:
            words = shlex.split(options.push)
        except ValueError as error:
            return complain(f"`--push` cannot be read as a command: {error}.", UNUSABLE)
        if not words:
            return complain('`--push` needs a command, as in --push "mail -s Brief ada".', UNUSABLE)
    with arguments.open_board(options, reads=True) as board:
        project = arguments.find_folder(options)
        roster = load_roster(board, project=project, who=arguments.author(options))
        loaded = load_brief(board, roster, options.after, project=project, who=arguments.author(options))
        code = _tell(loaded, roster.at, options)
        if code == OK and not options.keep:
            with suppress(StoreBusy):
                mark_seen(board, loaded, project)
    return code


def _tell(loaded: LoadedBrief, now: datetime, options: Namespace) -> int:
    where = " --all" if options.all else ""
    if options.project:
        where = f" --project {shlex.quote(options.project)}"
    draw = partial(brief_lines, loaded.brief, loaded.groups, loaded.around, now, more=f"punchlist report{where}")
    if options.push is not None:
        return OK if is_empty(loaded.brief, loaded.groups) else _push(plain_text(draw(UNICODE)), options.push)
    if options.json:
        show_json(view_brief(loaded.brief, loaded.groups, loaded.around))
    else:
        display = detect_display()
        show(draw(display.glyphs, display.columns or 0))
    return OK


def _push(text: str, command: str) -> int:
    """Run the user's command by their shell; the text is on its standard input, never in the line."""
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

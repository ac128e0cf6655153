"""`punchlist report`: for each item time, work, grade and evidence; and the totals."""

from __future__ import annotations

import os
import stat
from argparse import Namespace
from datetime import datetime

from punchlist.cli import OK
from punchlist.cli.arguments import Parser, add_all, command_parser, here, open_board
from punchlist.cli.terminal import look, show, show_json
from punchlist.cli.work import changes_of
from punchlist.config import project_of
from punchlist.core.report import Report
from punchlist.errors import SessionUnknown
from punchlist.surfaces.report_values import Changes, report_data
from punchlist.surfaces.spans import cut, plain, shown

_FORMATS = ("text", "markdown", "json", "html")
_EXAMPLES = """\
  punchlist report                              what became of this project's items, and how they were proved
  punchlist report --session s1 --format markdown
  punchlist report --format html -o report.html     one page with a timeline; nothing in it is loaded or run
"""


def parser() -> Parser:
    made = command_parser(
        "report", "Shows for each item the time, the work that was seen, its grade and evidence.", examples=_EXAMPLES
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
        from punchlist.surfaces.report_text import report_lines

        seen = look()
        root = project_of(options.project)
        show(
            cut(line, seen.columns, seen.glyphs)
            for line in report_lines(report, changes, seen.glyphs, seen.columns or 0, root=root)
        )
    return OK


def _as_text(report: Report, changes: Changes, options: Namespace, now: datetime) -> str:
    root = project_of(options.project)
    match options.format:
        case "json":
            import msgspec

            return msgspec.json.format(msgspec.json.encode(report_data(report, changes)), indent=2).decode() + "\n"
        case "markdown":
            from punchlist.surfaces.report_markdown import report_markdown

            return report_markdown(report, changes, root=root)
        case "html":
            from punchlist.surfaces.report_page import report_page

            where = "all projects" if options.all else os.path.basename(root)
            whose = f"session {options.session}" if options.session else where
            return report_page(report, changes, title=f"Work report: {whose}", now=now, root=root)
        case _:
            from punchlist.surfaces.report_text import report_lines
            from punchlist.surfaces.spans import UNICODE

            return "\n".join(plain(line).rstrip() for line in report_lines(report, changes, UNICODE, root=root)) + "\n"


def _write(path: str, text: str) -> None:
    """Writes a file that the user alone can read, also over one that others could; a device is written to as it is."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            os.chmod(file.fileno(), 0o600)
            file.truncate()
        file.write(text)

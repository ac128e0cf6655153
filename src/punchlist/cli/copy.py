"""The command `copy`: a board into another one, between SQLite and PostgreSQL too."""

import os
import sys
from argparse import Namespace

from punchlist.cli.arguments import Parser, command_parser
from punchlist.errors import BoardMissing
from punchlist.store import is_address, open_store, store_path
from punchlist.store.copy import copy_board
from punchlist.text import plural

_BAR = 30
_EXAMPLES = """\
  punchlist copy board.db postgresql://punchlist@db.example/team
  punchlist copy postgresql://punchlist@db.example/team backup.db
"""


def parser() -> Parser:
    about = (
        "Copies a board into an empty one, then compares both. Run it again after it was cut short: it goes on where "
        "it was. What agents write to the source meanwhile is not in the copy."
    )
    made = command_parser("copy", about, run=_copy, examples=_EXAMPLES)
    made.add_argument("source", metavar="SRC", help="the board to copy: a path or `postgresql://…`")
    made.add_argument("target", metavar="DST", help="the board to fill, which is made if it is not there")
    return made


def _copy(options: Namespace) -> None:
    path = store_path(options.source)
    if not is_address(path) and not os.path.exists(path):
        raise BoardMissing(path=path)
    is_shown = sys.stderr.isatty()

    def tell(done: int, total: int) -> None:
        if is_shown:
            bar = "█" * (_BAR * done // total)
            print(f"\r\x1b[K{bar:░<{_BAR}} {done:,} of {total:,} rows", end="", file=sys.stderr, flush=True)

    source, target = open_store(options.source), open_store(options.target)
    try:
        copied = copy_board(source, target, tell)
    finally:
        source.close()
        target.close()
        if is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    rows = sum(table.rows for table in copied)
    print(f"Copied {plural(rows, 'row')} of {plural(len(copied), 'table')}; counts and checksums are equal.")

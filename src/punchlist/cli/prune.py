"""`punchlist prune`: todos are not long-term memory; what nobody touched for a while is deleted."""

from __future__ import annotations

import argparse
import sys
from argparse import Namespace
from datetime import timedelta

from punchlist.cli import OK
from punchlist.cli.arguments import Parser, command_parser, open_board
from punchlist.surfaces.text import plural

_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_EXAMPLES = """\
  punchlist prune --older-than 30d --dry-run    how much that would be
  punchlist prune --older-than 8w
"""


def parser() -> Parser:
    said = "Deletes the sessions to which nobody wrote for that long, with their lists and events."
    made = command_parser("prune", said, examples=_EXAMPLES)
    made.add_argument("--older-than", type=duration, required=True, metavar="AGE", help="such as 12h, 30d or 8w")
    made.add_argument("--dry-run", action="store_true", help="only say how much that would be")
    return made


def duration(text: str) -> timedelta:
    """A time such as `12h`, `30d` or `8w`."""
    number, unit = text[:-1], text[-1:]
    if not (number.isascii() and number.isdigit() and unit in _UNITS and len(number) <= 5):
        raise argparse.ArgumentTypeError(f"`{text}` is no age; use 12h, 30d or 8w")
    return timedelta(**{_UNITS[unit]: int(number)})


def run(options: Namespace) -> int:
    with open_board(options) as board:
        before = board.now() - options.older_than
        if options.dry_run:
            from punchlist.store.inspect import count_old_agents

            total = count_old_agents(board.store.path, before) if board.store.durable else 0
            print(f"Would delete {plural(total, 'agent')} of sessions untouched since then; nothing was deleted.")
            return OK
        deleted = board.prune(before, progress=_progress if sys.stderr.isatty() else None)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    print(f"Deleted {plural(deleted, 'agent')} with their lists and events.")
    return OK


def _progress(total: int) -> None:
    print(f"\rDeleting: {plural(total, 'agent')} so far", end="", file=sys.stderr, flush=True)

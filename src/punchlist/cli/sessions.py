"""`punchlist sessions` and `punchlist prune`: list, copy, move and delete sessions."""

from __future__ import annotations

import argparse
import sys
from argparse import Namespace
from datetime import timedelta

from punchlist.cli import OK
from punchlist.cli.arguments import (
    Parser,
    add_all,
    add_db,
    add_json,
    add_limit,
    author,
    command_parser,
    here,
    open_board,
)
from punchlist.cli.terminal import look, show, show_json
from punchlist.surfaces.spans import Span, cut, padded, plural, shown

_EXAMPLES = """\
  punchlist sessions                    of this project, the latest first
  punchlist sessions copy s1 s2         the lists of s1 into a new session s2
  punchlist sessions move s1 s2         s1 is called s2 from now on
"""


def parser() -> Parser:
    made = command_parser(
        "sessions", "Lists the sessions of this project, the latest first.", run=_list, examples=_EXAMPLES
    )
    add_all(made)
    add_limit(made, 50, "sessions (default: 50)")
    add_json(made)
    verbs = made.add_subparsers(metavar="VERB", parser_class=Parser)
    for name, said, run in (
        ("copy", "copy the lists of a session into a new one", _copy),
        ("move", "give a session another id", _move),
    ):
        added: argparse.ArgumentParser = verbs.add_parser(name, help=said, description=f"{said.capitalize()}.")
        add_db(added)
        added.add_argument("old", metavar="OLD", help="the session that is there")
        added.add_argument("new", metavar="NEW", help="an id that is free")
        added.add_argument("--by", metavar="NAME", help="who does it (default: your login name)")
        added.set_defaults(run=run)
    return made


def _list(options: Namespace) -> int:
    with open_board(options, reads=True) as board:
        rows = board.sessions(project=here(options), limit=options.limit)
        now = board.now()
    if options.json:
        show_json([row._asdict() for row in rows])
        return OK
    if not rows:
        where = "on this board" if options.all else "in this project; `punchlist sessions --all` shows every project's"
        print(f"There are no sessions {where}.")
        return OK
    from punchlist.surfaces.spans import ago, plural

    seen = look()
    for row in rows:
        line = (
            *padded((Span(shown(row.id), "bold"),), 24, seen.glyphs),
            Span(f"  {plural(row.agents, 'agent'):<10}"),
            Span(f"  {ago(row.updated_at or row.created_at, now):<15}", "dim"),
            Span(f"  {shown(row.project)}" if options.all else "", "dim"),
        )
        show([cut(line, seen.columns, seen.glyphs)])
    return OK


def _copy(options: Namespace) -> int:
    with open_board(options) as board:
        board.copy_session(options.old, options.new, by=author(options))
    print(f"Copied session {shown(options.old)} to {shown(options.new)}.")
    return OK


def _move(options: Namespace) -> int:
    with open_board(options) as board:
        board.move_session(options.old, options.new, by=author(options))
    print(f"Session {shown(options.old)} is now {shown(options.new)}.")
    return OK


_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_PRUNE_EXAMPLES = """\
  punchlist prune --older-than 30d --dry-run    how much that would be
  punchlist prune --older-than 8w
"""


def prune_parser() -> Parser:
    said = "Deletes the sessions to which nobody wrote for that long, with their lists and events."
    made = command_parser("prune", said, run=run_prune, examples=_PRUNE_EXAMPLES)
    made.add_argument("--older-than", type=duration, required=True, metavar="AGE", help="such as 12h, 30d or 8w")
    made.add_argument("--dry-run", action="store_true", help="only say how much that would be")
    return made


def duration(text: str) -> timedelta:
    """A time such as `12h`, `30d` or `8w`."""
    number, unit = text[:-1], text[-1:]
    if not (number.isascii() and number.isdigit() and unit in _UNITS and len(number) <= 5):
        raise argparse.ArgumentTypeError(f"`{text}` is no age; use 12h, 30d or 8w")
    return timedelta(**{_UNITS[unit]: int(number)})


def run_prune(options: Namespace) -> int:
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

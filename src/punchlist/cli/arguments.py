"""What the commands' arguments have in common."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from punchlist.cli import UNUSABLE, complain
from punchlist.cli.terminal import columns
from punchlist.errors import BoardMissing

if TYPE_CHECKING:
    from punchlist.board import Board


_EVERYTHING = 10**9 - 1


class _Help(argparse.RawDescriptionHelpFormatter):
    """Knows its width from the start: argparse would import four compression libraries to find it out."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=min(columns(sys.stdout) or 100, 100) - 2)


class Parser(argparse.ArgumentParser):
    """A parser that complains as the other parts of the program do, and never guesses an abbreviation.

    Options may stand among words. Not so behind a `--`, where they belong to another command.
    """

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", _Help)
        super().__init__(allow_abbrev=False, **settings)
        self._among = True

    def add_subparsers(self, **settings: Any) -> Any:
        self._among = False
        return super().add_subparsers(**settings)

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, args: Any = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        if not self._among or args is None or "--" in args:
            return super().parse_known_args(args, namespace)
        self._among = False  # the method below calls this one
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._among = True

    def error(self, message: str) -> NoReturn:
        raise SystemExit(complain(f"{message}; see `{self.prog} --help`.", UNUSABLE))


def command_parser(name: str, description: str, *, examples: str = "") -> Parser:
    parser = Parser(prog=f"punchlist {name}", description=description, epilog=f"examples:\n{examples}".rstrip())
    if not examples:
        parser.epilog = None
    add_db(parser)
    return parser


def with_verb(words: list[str], first: str) -> list[str]:
    """The arguments of a command that has verbs, `first` among them where they name none."""
    place = verb_place(words)
    rest = words[place:]
    if rest and (not rest[0].startswith("-") or rest[0] in ("-h", "--help")):
        return words
    return [*words[:place], first, *rest]


def verb_place(words: list[str]) -> int:
    """Where the verb stands, behind a `--db`."""
    place = 0
    while words[place : place + 1] and words[place].partition("=")[0] == "--db":
        place += 1 if "=" in words[place] else 2
    return place


def add_db(parser: argparse.ArgumentParser) -> None:
    """`--db`. It has no default, so that a subcommand without it does not hide what was given before."""
    parser.add_argument(
        "--db", metavar="URL", default=argparse.SUPPRESS, help="the board (default: $PUNCHLIST_DB, else your own)"
    )


def add_json(parser: argparse.ArgumentParser, *, lines: bool = False) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, one line each" if lines else "print JSON")


def add_limit(parser: argparse.ArgumentParser, default: int | None, what: str) -> None:
    parser.add_argument("--limit", type=count, default=default, metavar="N", help=f"at most N {what}")


def most_of(options: argparse.Namespace, usual: int) -> int:
    """How many to show. A program that names no number gets them all: it would not see that some are missing."""
    if options.limit is not None:
        return options.limit
    return _EVERYTHING if options.json else usual


def add_all(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--all", action="store_true", help="of every project, not only this one")
    where.add_argument("--project", metavar="DIR", help="of the project to which this folder belongs")


def count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"`{text}` is no number from 0 up")
    return int(text)


def board_url(options: argparse.Namespace) -> str | None:
    return getattr(options, "db", None)


def open_board(options: argparse.Namespace, *, reads: bool = False) -> Board:
    """The board that is meant. Who only `reads` makes no new one where `--db` names a file that is not there."""
    from punchlist.board import Board

    url = board_url(options)
    if reads and url is not None:
        from punchlist.store.opening import store_path

        path = store_path(url)
        if path and not os.path.exists(path):
            raise BoardMissing(path=path)
    board = Board.open(url)
    if os.environ.get("PUNCHLIST_CLAUDE_TODOS"):
        from punchlist.bridges.claude_files import attach_configured  # only those who asked for it pay for it

        attach_configured(board)
    if os.environ.get("PUNCHLIST_CLAUDE_TASKS"):
        from punchlist.bridges.claude_tasks import attach_configured as attach_tasks

        attach_tasks(board)
    return board


def here(options: argparse.Namespace) -> str | None:
    """The folder whose project is meant; None with `--all`."""
    return None if options.all else options.project or os.getcwd()

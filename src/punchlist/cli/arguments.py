"""Options and parsers that commands share, and the board, project and list that they name."""

from __future__ import annotations

import argparse
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from punchlist.cli import UNUSABLE, complain
from punchlist.cli.terminal import columns
from punchlist.config import project_of
from punchlist.errors import BoardMissing, EditRefused, SessionUnknown

if TYPE_CHECKING:
    from punchlist.agent import Agent
    from punchlist.board import Board
    from punchlist.store import ListRow

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
        self.first_verb = ""

    def add_subparsers(self, **settings: Any) -> Any:
        self._among = False
        return super().add_subparsers(**settings)

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, args: Any = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        if self.first_verb and args is not None:
            args = with_verb(args, self.first_verb)
        if not self._among or args is None or "--" in args:
            return super().parse_known_args(args, namespace)
        self._among = False  # the method below calls this one
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._among = True

    def error(self, message: str) -> NoReturn:
        raise SystemExit(complain(f"{message}; see `{self.prog} --help`.", UNUSABLE))


def command_parser(
    name: str, description: str, *, run: Callable[[argparse.Namespace], int] | None = None, examples: str = ""
) -> Parser:
    """Return a command's parser with `--db`. A command with verbs leaves `run` to the parsers of its verbs."""
    parser = Parser(prog=f"punchlist {name}", description=description, epilog=f"examples:\n{examples}".rstrip())
    if not examples:
        parser.epilog = None
    parser.set_defaults(run=run)
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
        from punchlist.store.files import store_path

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


MAIN = "main"


def add_target(parser: ArgumentParser) -> None:
    parser.add_argument("--session", metavar="S", help="the list of this session (default: the project's latest)")
    parser.add_argument("--agent", metavar="A", help="the list of the agent of this name")
    parser.add_argument("--by", metavar="NAME", help="who makes the change (default: your login name)")


def author(options: Namespace) -> str:
    """The name under which a change is recorded."""
    if options.by:
        return options.by
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "user"


def chosen_agent(board: Board, options: Namespace, *, create: bool = False, filled: bool = True) -> Agent:
    """The agent whose list is meant.

    By name; else the latest list of the session (`$PUNCHLIST_SESSION` if none is named); else that of the project.
    `filled` passes over lists that are empty now. With `create` there is always one: in a project without any, a
    session named after it, with the agent `main`.
    """
    session: str | None = options.session or os.environ.get("PUNCHLIST_SESSION") or None
    rows = _candidates(board, session, filled=filled)
    if options.agent:
        rows = [row for row in rows if row.agent == options.agent]
    found = max(rows, key=lambda row: row.updated_at, default=None)
    if found is not None:
        return board.agent(found.agent, session=found.session, project=found.project)
    if create:
        return board.agent(options.agent or MAIN, session=session or own_session(project_of()))
    if options.session and not board.lists(session=options.session):
        raise SessionUnknown(session=options.session)
    raise EditRefused(
        problem='No todos here. Use `punchlist todo append "My first item"` to start a list, '
        "or name one with --session and --agent."
    )


def _candidates(board: Board, session: str | None, *, filled: bool) -> list[ListRow]:
    if session is not None:
        rows = list(board.lists(session=session))
    elif filled:
        return list(board.lists(project=os.getcwd(), limit=1000))
    else:
        latest = board.sessions(project=os.getcwd(), limit=1)
        rows = [row for found in latest for row in board.lists(session=found.id)]
    return [row for row in rows if (row.todos.items if filled else row.todos.revision)]


def own_session(project: str) -> str:
    """The session of a person who starts a list by hand: the project's name, and a hash of its path.

    A session belongs to one project for good, so the name alone would not do for two projects called `api`.
    """
    from hashlib import blake2b

    name = "".join(char if char.isalnum() else "-" for char in os.path.basename(project)).strip("-")[:40]
    return f"{name or 'project'}-{blake2b(os.fsencode(project), digest_size=3).hexdigest()}"

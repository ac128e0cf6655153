"""What commands share: their parsers and options, and the boards, sessions and files that options name."""

from __future__ import annotations

import argparse
import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from punchlist import errors
from punchlist.cli import OVER_HTTP, UNUSABLE, complain
from punchlist.cli.terminal import columns, is_typed
from punchlist.core.programs import doubt_person, short_id
from punchlist.settings.environment import login_name
from punchlist.settings.servers import check_server
from punchlist.settings.table import read_age, read_setting

if TYPE_CHECKING:
    from punchlist.board import Board
    from punchlist.reader import BoardReader

Run = Callable[[Namespace], int | None]
"""The function of a command or a verb: takes its options, returns the exit code, None for 0."""

_EVERYTHING = 10**9 - 1
_SHORTEST_PART = 4
"""Characters of a session's id that may stand for all of it."""

_MOST_SESSIONS = 5
"""Sessions that are named where a part of an id may mean several."""

_MOST_LOADED = 10_000
"""Sessions of a server among which one is looked for."""

_MOST_READ = 16 * 1024 * 1024
"""Characters that are read of a file: far more than any list has, and less than would fill the memory."""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Knows its width from the start: argparse would import four compression libraries to find it out."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=min(columns(sys.stdout) or 100, 100) - 2)


class Parser(ArgumentParser):
    """Complains as the other parts of the program do, and never guesses an abbreviation.

    Options may stand among words, but not after a `--`, where they belong to another command.
    """

    first_verb = ""
    """The verb of a command that is called without one."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", _Help)
        super().__init__(allow_abbrev=False, **settings)
        self._intermixed = True

    def add_subparsers(self, **settings: Any) -> Any:
        self._intermixed = False  # argparse cannot intermix where there are verbs; their own parsers do
        return super().add_subparsers(**settings)

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, args: Any = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        if self.first_verb and args is not None:
            args = insert_verb(args, self.first_verb)
        if not self._intermixed or args is None or "--" in args:
            return super().parse_known_args(args, namespace)
        self._intermixed = False  # the method below calls this one
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._intermixed = True

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        what, known = "verb", ""
        if action.nargs != argparse.PARSER:
            what = f"`{action.option_strings[-1] if action.option_strings else action.metavar or action.dest}`"
            known = f"; use one of {', '.join(action.choices)}"
        self.error(f"There is no {what} `{value}`{errors.suggest(str(value), action.choices)}{known}")

    def error(self, message: str) -> NoReturn:
        raise SystemExit(complain(f"{message}; see `{self.prog} --help`.", UNUSABLE))

    def add_verbs(self, *, first: str = "", required: bool = True) -> Callable[[str, str, Run], Parser]:
        """Return a function that adds a verb by its name, its line in the help and the function that it runs."""
        self.first_verb = first
        verbs = self.add_subparsers(metavar="VERB", required=required, parser_class=Parser)

        def add_verb(name: str, help: str, run: Run) -> Parser:
            added: Parser = verbs.add_parser(name, help=help, description=describe_verb(help))
            added.set_defaults(run=run)
            added.add_db()
            return added

        return add_verb

    def add_db(self) -> None:
        """Add `--db`. It has no default, so that a verb without it does not hide the one given before."""
        where = "the board (default: $PUNCHLIST_DB, else your own)"
        self.add_argument("--db", metavar="URL", default=argparse.SUPPRESS, help=where)
        if self.prog.split()[1] in OVER_HTTP:
            server = "the server of the board (default: $PUNCHLIST_SERVER, else `server` of the settings)"
            self.add_argument("--server", metavar="URL", default=argparse.SUPPRESS, help=server)

    def add_json(self, *, lines: bool = False) -> None:
        self.add_argument("--json", action="store_true", help="print JSON, one line each" if lines else "print JSON")

    def add_limit(self, default: int | None, what: str) -> None:
        self.add_argument("--limit", type=parse_count, default=default, metavar="N", help=f"at most N {what}")

    def add_all(self) -> None:
        where = self.add_mutually_exclusive_group()
        where.add_argument("--all", action="store_true", help="of every project, not only this one")
        where.add_argument("--project", metavar="DIR", help="of the project to which this folder belongs")

    def add_by(self, who: str = "who does it") -> None:
        self.add_argument("--by", metavar="NAME", help=f"{who} (default: your login name)")


def command_parser(name: str, description: str, *, run: Run | None = None, examples: str = "") -> Parser:
    """Return a command's parser with `--db`. A command with verbs leaves `run` to the parsers of its verbs."""
    epilog = f"examples:\n{examples}".rstrip() if examples else None
    parser = Parser(prog=f"punchlist {name}", description=description, epilog=epilog)
    parser.set_defaults(run=run)
    parser.add_db()
    return parser


def describe_verb(help: str) -> str:
    return f"{help[0].upper()}{help[1:]}."


def insert_verb(words: list[str], first: str) -> list[str]:
    """Return the arguments of a command that has verbs, with the `first` one where they name none."""
    place = find_verb(words)
    rest = words[place:]
    if rest and (not rest[0].startswith("-") or rest[0] in ("-h", "--help")):
        return words
    return [*words[:place], first, *rest]


def find_verb(words: list[str]) -> int:
    """Return the index of the verb, which stands after a `--db`."""
    place = 0
    while words[place : place + 1] and words[place].partition("=")[0] in ("--db", "--server"):
        place += 1 if "=" in words[place] else 2
    return place


def choose_limit(options: Namespace, usual: int) -> int:
    """Return how many to show. A program that names no number gets all: it would not see that some are missing."""
    if options.limit is not None:
        return options.limit
    return _EVERYTHING if options.json else usual


def find_folder(options: Namespace) -> str | None:
    """Return the folder whose project is meant; None with `--all`."""
    return None if options.all else options.project or os.getcwd()


def author(options: Namespace) -> str:
    """Return the name under which a change is recorded."""
    return options.by or login_name()


def find_doubt(options: Namespace) -> str | None:
    """Return why this command is not counted as a person's word; None if it is."""
    by: str | None = getattr(options, "by", None)
    other = by if by != login_name() else None
    return doubt_person(os.environ, is_terminal=is_typed(), author=other)


def check_person(deed: str, *, decides: bool = False) -> None:
    """Raise `PersonDoubted` unless a person types this command; `decides`: the settings may do without a terminal."""
    is_terminal = is_typed() or (decides and read_setting("decide_without_terminal"))
    doubt = doubt_person(os.environ, is_terminal=is_terminal)
    if doubt is not None:
        where = "`punchlist top`, the page or another terminal" if decides else "a terminal of your own"
        raise errors.PersonDoubted(deed=deed, doubt=doubt, where=where)


def explain_doubt(doubt: str) -> str:
    return f"Not counted as a person's word: {doubt}."


def is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def parse_count(text: str) -> int:
    if not is_number(text) or len(text) > 9:
        raise argparse.ArgumentTypeError(f"`{text}` is no number from 0 up")
    return int(text)


def parse_age(text: str) -> timedelta:
    """Return the length of a time such as `12h`, `30d` or `8w`."""
    if not re.fullmatch("[0-9]{1,5} ?[hdw]", text):
        raise argparse.ArgumentTypeError(f"`{text}` is no age; use 12h, 30d or 8w")
    return read_age(text)


def board_url(options: Namespace, *, reads: bool = False) -> str | None:
    """Return the URL of `--db`. A folder that it names has to exist, with `reads` the file too: it may be mistyped."""
    from punchlist.store import is_address, store_path  # dear: `mcp` answers its first requests without the store

    url = getattr(options, "db", None)
    path = "" if url is None else store_path(url)
    if is_address(path):
        return url
    if path and reads and not os.path.lexists(path):
        raise errors.BoardMissing(path=path)
    if path and not os.path.lexists(folder := os.path.dirname(path)):
        raise errors.FolderMissing(folder=folder)
    return url


def find_server(options: Namespace) -> str:
    """Return the server whose board is meant; empty for a board of this machine, which `--db` names."""
    given: str | None = getattr(options, "server", None)
    if given is None and (getattr(options, "db", None) or options.typed[0] not in OVER_HTTP):
        return ""
    url: str = read_setting("server", given)
    return check_server(url) if url else ""


def has_inbox(url: str | None) -> bool:
    """True if hooks of agents left events next to the board that no process has ingested yet."""
    from punchlist.store import side_path

    path = side_path(url)
    return bool(path) and os.path.lexists(f"{path}.inbox")


def open_board(options: Namespace, *, reads: bool = False) -> Board:
    """Open the board that is meant. With `reads`, the file of `--db`, the session and the agent have to exist."""
    if server := find_server(options):
        from punchlist.remote.board import RemoteBoard  # most boards are here

        board = RemoteBoard(server, is_typed=find_doubt(options) is None)
        _settle_names(board, options, reads=reads)
        return board
    from punchlist.board import Board  # dear: most that show something do with a reader

    url = board_url(options, reads=reads)
    board = Board.open(url)
    board.agents_process = ""  # a command or a server acts for agents that live elsewhere
    if has_inbox(url):
        from punchlist.hooks.inbox import ingest  # most boards have none

        try:
            ingest(board)
        except (errors.StoreFull, errors.StoreFailed):
            if not reads:  # the inbox stays; what is on the board can still be shown
                board.close()
                raise
    _settle_names(board, options, reads=reads)
    return board


def open_reader(options: Namespace, *, reads: bool = True) -> BoardReader:
    """Open the board that is meant, for a command that shows lists, sessions or events; without `reads`, later ones."""
    from punchlist.reader import BoardReader

    if find_server(options):
        return open_board(options, reads=reads)
    url = board_url(options, reads=reads)
    if has_inbox(url):
        # To ingest needs more than a reader. If it fails the inbox stays; what is on the board can still be shown.
        with suppress(errors.StoreFull, errors.StoreFailed):
            open_board(options).close()
    board = BoardReader.open(url)
    _settle_names(board, options, reads=reads)
    return board


def _settle_names(board: BoardReader, options: Namespace, *, reads: bool) -> None:
    """Complete `--session`; with `reads`, check that it and `--agent` exist. Close the board if they name nothing."""
    try:
        complete_session(board, options)
        if reads:
            check_session(board, options)
            _check_agent(board, options)
    except errors.PunchlistError:
        board.close()
        raise


def settle_due_tasks(board: BoardReader) -> None:
    """Bring tasks up to date whose lease or timer has ended, before they are shown."""
    if not board.is_remote and board.store.read(lambda tx: tx.tasks.lists_due(board.now())):
        from punchlist.board import Board, settle_due  # tasks are a third of all that a command loads

        settle_due(Board(board.store))


def _check_agent(board: BoardReader, options: Namespace) -> None:
    session: str | None = getattr(options, "session", None)
    agent: str | None = getattr(options, "agent", None)
    if not agent or board.is_remote:
        return
    known = board.store.read(lambda tx: tx.agent(session, agent) is not None if session else tx.has_agent(agent))
    if not known:
        raise errors.AgentUnknown(
            agent=agent, where=f"in session `{short_id(session)}`" if session else "on this board"
        )


def complete_session(board: BoardReader, options: Namespace, name: str = "session") -> None:
    """Replace a part of an id in the options by the only session that it may mean.

    Raise `SessionAmbiguous` if there are several; leave alone what names none.
    """
    given: str | None = getattr(options, name, None)
    part = (given or "").removesuffix("…").removesuffix("...")  # as tables cut it
    if len(part) < _SHORTEST_PART or _has_session(board, given or ""):
        return
    if board.is_remote:
        every = [one.id for one in board.sessions(limit=_MOST_LOADED)]
        found = [one for one in every if one.startswith(part) or one.endswith(part)][:_MOST_SESSIONS]
    else:
        found = board.store.read(lambda tx: tx.list_sessions_by_part(part, _MOST_SESSIONS))
    if len(found) == 1:
        setattr(options, name, found[0])
    elif found:
        more = ", …" if len(found) == _MOST_SESSIONS else ""
        raise errors.SessionAmbiguous(session=part, names=", ".join(f"`{one}`" for one in found) + more)


def check_session(board: BoardReader, options: Namespace) -> None:
    """Raise `SessionUnknown` if `--session` names none of its sessions."""
    session: str | None = getattr(options, "session", None)
    if session and not _has_session(board, session):
        raise errors.SessionUnknown(session=session)


def _has_session(board: BoardReader, session: str) -> bool:
    if board.is_remote:
        return any(one.id == session for one in board.sessions(limit=_MOST_LOADED))
    return board.store.read(lambda tx: tx.session_project(session)) is not None


# Files: read whole, never written through a link.


def read_file(path: str) -> str:
    """Return the text of a file, or of standard input for `-`."""
    if path == "-":
        return sys.stdin.read(_MOST_READ)
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(_MOST_READ)


def check_place(path: str) -> None:
    """Raise if a file of that name cannot be put there."""
    if os.path.islink(path):
        raise errors.InvalidInput(
            problem=f"`{path}` is a symbolic link and is not written through; name its target instead."
        )
    if os.path.isdir(path):
        raise errors.InvalidInput(problem=f"`{path}` is a folder; name a file in it.")

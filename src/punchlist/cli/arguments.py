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

from punchlist.cli import UNUSABLE, complain
from punchlist.cli.terminal import columns, is_typed
from punchlist.core.programs import doubt_person, short_id
from punchlist.errors import (
    AgentUnknown,
    BoardMissing,
    FolderMissing,
    InvalidInput,
    PersonDoubted,
    PunchlistError,
    SessionAmbiguous,
    SessionUnknown,
    StoreFailed,
    StoreFull,
    suggest,
)
from punchlist.settings.environment import login_name
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
        self.error(f"There is no {what} `{value}`{suggest(str(value), action.choices)}{known}")

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
    while words[place : place + 1] and words[place].partition("=")[0] == "--db":
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
    other = options.by if options.by != login_name() else None
    return doubt_person(os.environ, is_terminal=is_typed(), author=other)


def check_person(deed: str, *, decides: bool = False) -> None:
    """Raise `PersonDoubted` unless a person types this command; `decides`: the settings may do without a terminal."""
    is_terminal = is_typed() or (decides and read_setting("decide_without_terminal"))
    doubt = doubt_person(os.environ, is_terminal=is_terminal)
    if doubt is not None:
        where = "`punchlist top`, the page or another terminal" if decides else "a terminal of your own"
        raise PersonDoubted(deed=deed, doubt=doubt, where=where)


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
    if not re.fullmatch("[0-9]{1,5}[hdw]", text):
        raise argparse.ArgumentTypeError(f"`{text}` is no age; use 12h, 30d or 8w")
    return read_age(text)


def board_url(options: Namespace, *, reads: bool = False) -> str | None:
    """Return the URL of `--db`. A folder that it names has to exist, with `reads` the file too: it may be mistyped."""
    from punchlist.store import store_path  # dear: `mcp` answers its first requests without the store

    url = getattr(options, "db", None)
    path = "" if url is None else store_path(url)
    if path and reads and not os.path.lexists(path):
        raise BoardMissing(path=path)
    if path and not os.path.lexists(folder := os.path.dirname(path)):
        raise FolderMissing(folder=folder)
    return url


def has_inbox(url: str | None) -> bool:
    """True if hooks of agents left events next to the board that no process has ingested yet."""
    from punchlist.store import store_path

    path = store_path(url)
    return bool(path) and os.path.lexists(f"{os.path.realpath(path)}.inbox")


def open_board(options: Namespace, *, reads: bool = False) -> Board:
    """Open the board that is meant. With `reads`, the file of `--db`, the session and the agent have to exist."""
    from punchlist.board import Board  # dear: most that show something do with a reader

    url = board_url(options, reads=reads)
    board = Board.open(url)
    board.agents_process = ""  # a command or a server acts for agents that live elsewhere
    if has_inbox(url):
        from punchlist.hooks.inbox import ingest  # most boards have none

        try:
            ingest(board)
        except (StoreFull, StoreFailed):
            if not reads:  # the inbox stays; what is on the board can still be shown
                board.close()
                raise
    _settle_names(board, options, reads=reads)
    return board


def open_reader(options: Namespace, *, reads: bool = True) -> BoardReader:
    """Open the board that is meant, for a command that shows lists, sessions or events; without `reads`, later ones."""
    from punchlist.reader import BoardReader

    url = board_url(options, reads=reads)
    if has_inbox(url):
        # To ingest needs more than a reader. If it fails the inbox stays; what is on the board can still be shown.
        with suppress(StoreFull, StoreFailed):
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
    except PunchlistError:
        board.close()
        raise


def settle_due_tasks(board: BoardReader) -> None:
    """Bring tasks up to date whose lease or timer has ended, before they are shown."""
    if board.store.read(lambda tx: tx.tasks.lists_due(board.now())):
        from punchlist.board import Board, settle_due  # tasks are a third of all that a command loads

        settle_due(Board(board.store))


def _check_agent(board: BoardReader, options: Namespace) -> None:
    session: str | None = getattr(options, "session", None)
    agent: str | None = getattr(options, "agent", None)
    if not agent:
        return
    known = board.store.read(lambda tx: tx.agent(session, agent) is not None if session else tx.has_agent(agent))
    if not known:
        raise AgentUnknown(agent=agent, where=f"in session `{short_id(session)}`" if session else "on this board")


def complete_session(board: BoardReader, options: Namespace, name: str = "session") -> None:
    """Replace a part of an id in the options by the only session that it may mean.

    Raise `SessionAmbiguous` if there are several; leave alone what names none.
    """
    given: str | None = getattr(options, name, None)
    part = (given or "").removesuffix("…").removesuffix("...")  # as tables cut it
    if len(part) < _SHORTEST_PART or board.store.read(lambda tx: tx.session_project(given or "")) is not None:
        return
    found = board.store.read(lambda tx: tx.list_sessions_by_part(part, _MOST_SESSIONS))
    if len(found) == 1:
        setattr(options, name, found[0])
    elif found:
        more = ", …" if len(found) == _MOST_SESSIONS else ""
        raise SessionAmbiguous(session=part, names=", ".join(f"`{one}`" for one in found) + more)


def check_session(board: BoardReader, options: Namespace) -> None:
    """Raise `SessionUnknown` if `--session` names none of its sessions."""
    session: str | None = getattr(options, "session", None)
    if session and board.store.read(lambda tx: tx.session_project(session)) is None:
        raise SessionUnknown(session=session)


# Files: read whole, replaced whole or not at all, never written through a link.


def read_file(path: str) -> str:
    """Return the text of a file, or of standard input for `-`."""
    if path == "-":
        return sys.stdin.read(_MOST_READ)
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(_MOST_READ)


def check_place(path: str) -> None:
    """Raise if a file of that name cannot be put there."""
    if os.path.islink(path):
        raise InvalidInput(problem=f"`{path}` is a symbolic link and is not written through; name its target instead.")
    if os.path.isdir(path):
        raise InvalidInput(problem=f"`{path}` is a folder; name a file in it.")


def replace_file(path: str, text: str, *, private: bool = False) -> None:
    """Put a new file in place of the old one, whole or not at all; a `private` one is readable by its owner alone.

    An `OSError` names the file that was asked for. A link that appears meanwhile is replaced, never followed.
    """
    folder, name = os.path.split(os.path.abspath(path))
    temporary = os.path.join(folder, f".{name}.{os.urandom(4).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(temporary, flags, 0o600 if private else 0o666)
        with open(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path) and not private:
            os.chmod(temporary, os.stat(path).st_mode & 0o777)
        os.replace(temporary, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
    finally:
        if os.path.lexists(temporary):
            os.unlink(temporary)

"""`punchlist serve` and `token`: the board as a page and an API, and the tokens by which others reach it."""

from __future__ import annotations

import os
import secrets
import signal
import sys
from argparse import ArgumentTypeError, Namespace
from contextlib import ExitStack
from hashlib import sha256

from punchlist.cli import FAILED, OK, leave
from punchlist.cli.arguments import Parser, board_url, check_person, command_parser, is_number, open_board
from punchlist.cli.terminal import detect_display, is_typed, show, show_json
from punchlist.core.programs import doubt_person
from punchlist.errors import InvalidInput
from punchlist.server.run_files import (
    RunningServer,
    ServerRecord,
    describe_unit,
    find_running,
    load_secret,
    log_path,
    read_secret,
    start_in_background,
    stop_running,
)
from punchlist.settings.environment import login_name, project_of
from punchlist.store import Transaction, store_path
from punchlist.terminal.spans import Span, ago, safe_line

_EXAMPLES = """\
  punchlist serve                 open the link that it prints
  punchlist serve --background    the same, until `punchlist serve --stop`
  punchlist serve --port 9000     on this port, and on no other
"""


def parser() -> Parser:
    about = (
        "Serves the board as a page in a browser, and as an API for programs, until you interrupt it. Only programs of "
        "this machine reach it; the link that it prints holds the token that it asks for. Reads the logs of agents "
        "meanwhile, as `punchlist watch` does."
    )
    made = command_parser("serve", about, run=_run, examples=_EXAMPLES)
    made.add_argument("--host", metavar="ADDRESS", default="127.0.0.1", help="listen here (default: 127.0.0.1)")
    made.add_argument(
        "--port", type=_parse_port, metavar="N", help="listen on this port (default: 8137, or the next free one)"
    )
    made.add_argument("--no-watch", action="store_true", help="do not read the logs of agents meanwhile")
    made.add_argument("--no-link", action="store_true", help="print the address without its token, as for a log")
    how = made.add_mutually_exclusive_group()
    how.add_argument("--background", action="store_true", help="start it, print the link and return")
    how.add_argument("--stop", action="store_true", help="stop the server of this board")
    how.add_argument("--status", action="store_true", help="print the link of the server that runs")
    how.add_argument("--systemd", action="store_true", help="print a unit that runs it for your user")
    return made


def _parse_port(text: str) -> int:
    if not is_number(text) or len(text) > 5 or int(text) > 65_535:
        raise ArgumentTypeError(f"`{text}` is no port from 0 to 65535")
    return int(text)


def _run(options: Namespace) -> int:
    board = store_path(board_url(options))
    if not (options.background or options.stop or options.status or options.systemd):
        return _serve(options, board)
    if not board:
        raise InvalidInput(problem="A board in memory is gone with the process; name one with `--db`.")
    if options.systemd:
        print(describe_unit(board, _list_arguments(options)), end="")
        return OK
    if options.background:
        running = find_running(board)
        if running is not None:
            return _tell_running(running, options, board)
        running = start_in_background(board, _list_arguments(options))
        _print_link(running.make_link(board))
        print(f"`punchlist serve --stop` stops it; its log is {log_path(board)}")
        return OK
    if options.stop:
        stopped = stop_running(board)
        print("No server runs for this board." if stopped is None else f"Stopped the server at {stopped.origin}/")
        return OK
    running = find_running(board)
    if running is None:
        print("No server runs for this board; `punchlist serve --background` starts one.")
        return FAILED
    _print_link(running.make_link(board))
    print(f"Process {running.pid}, since {running.started_at.astimezone():%Y-%m-%d %H:%M}.")
    if running.has_link and read_secret(board) is None:
        print("The file of the link's token is gone; stop the server and start it again for a new link.")
    return OK


def _print_link(link: str) -> None:
    """Print the address of the page; with the owner's token only for a person."""
    doubt = doubt_person(os.environ, is_terminal=is_typed())
    address, _, token = link.partition("?")
    print(f"Punchlist is at {address if doubt else link}", flush=True)
    if doubt and token:
        print(f"Its token is not shown: {doubt}. `punchlist serve --status` in your own terminal shows it.", flush=True)


def _list_arguments(options: Namespace) -> list[str]:
    """Return the options that the server itself needs. None of them is a secret."""
    given = [] if options.host == "127.0.0.1" else ["--host", options.host]
    if options.port is not None:
        given += ["--port", str(options.port)]
    return [*given, "--no-watch"] if options.no_watch else given


def _tell_running(running: RunningServer, options: Namespace, board: str) -> int:
    """A board has one server: print the link of the one that runs, unless another place was asked for."""
    if options.port is not None or options.host != "127.0.0.1":
        problem = f"This board is served at {running.origin}/ already; `punchlist serve --stop` stops that server."
        raise InvalidInput(problem=problem)
    _print_link(f"{running.origin}/" if options.no_link else running.make_link(board))
    print("It runs already; `punchlist serve --stop` stops it.")
    return OK


def _serve(options: Namespace, path: str) -> int:
    from punchlist.server.access import Access, is_loopback
    from punchlist.server.app import BoardServer, bind
    from punchlist.server.connections import raise_file_limit
    from punchlist.server.state import ServerState

    with ExitStack() as stack:
        board = stack.enter_context(open_board(options))
        board.store.restart = "`punchlist serve`"
        if not is_loopback(options.host) and not board.store.read(lambda tx: tx.tokens.list()):
            problem = (
                f"Others would reach {options.host}, and no token was made for them: run `punchlist token create NAME` "
                "first, or leave out `--host`."
            )
            raise InvalidInput(problem=problem)
        record = stack.enter_context(ServerRecord(path)) if path else None
        if record is not None and not record.claim():
            running = find_running(path)
            if running is None:
                raise InvalidInput(problem="Another server of this board is just starting; try again.")
            return _tell_running(running, options, path)
        listener = stack.enter_context(bind(options.host, options.port))
        access = Access(load_secret(path), board.store, host=options.host, port=listener.getsockname()[1])
        raise_file_limit()
        server = BoardServer(ServerState(board, access, is_watched=not options.no_watch))
        if record is not None:
            record.write(RunningServer(os.getpid(), access.origin, access.has_link, board.now()))
        _print_link(f"{access.origin}/" if options.no_link else access.link)
        if sys.stdout.isatty():
            print("Ctrl-C stops it.", flush=True)
        # uvicorn stops at a signal and then raises it again: by then our own handler is back, and the board is closed.
        signal.signal(signal.SIGTERM, leave)
        signal.signal(signal.SIGINT, leave)
        server.run([listener])
    return OK


# Tokens.

_SCOPES = {
    "look": "read everything",
    "answer": "and answer questions, decide on plans",
    "edit": "and change lists and tasks",
}
_LONGEST_NAME = 60
_TOKEN_EXAMPLES = """\
  punchlist token create dashboard                    to look only
  punchlist token create ci --scope edit --project .   to change lists and tasks of this project
  punchlist token revoke ci
"""


def token_parser() -> Parser:
    about = (
        "Makes, lists and revokes tokens for `punchlist serve`. A program sends one as `Authorization: Bearer …`; a "
        "person opens `http://…/?token=…`. The board keeps a hash of it, so it is shown only once."
    )
    made = command_parser("token", about, examples=_TOKEN_EXAMPLES)
    add_verb = made.add_verbs(first="list")
    create = add_verb("create", "make a token and print it, once", _create)
    create.add_argument("name", metavar="NAME", help="what it is for")
    which = "; ".join(f"{scope}: {about}" for scope, about in _SCOPES.items())
    create.add_argument("--scope", choices=list(_SCOPES), default="look", metavar="S", help=f"{which} (default: look)")
    create.add_argument("--project", metavar="DIR", help="only for the project to which this folder belongs")
    create.add_argument("--person", action="store_true", help="for a person: what they do on the page is theirs")
    create.add_json()
    add_verb("list", "list the tokens", _list).add_json()
    add_verb("revoke", "end a token at once", _revoke).add_argument("name", metavar="NAME", help="its name")
    return made


def _create(options: Namespace) -> None:
    name: str = options.name
    if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise InvalidInput(problem=f"A token's name has 1 to {_LONGEST_NAME} printable characters.")
    if name == login_name():
        problem = f"`{name}` is your own name, and what the token changes would count as done by you; take another."
        raise InvalidInput(problem=problem)
    if options.person:
        check_person("No token was made")
    secret = f"pl_{secrets.token_urlsafe(32)}"
    project = None if options.project is None else project_of(options.project)

    def add(tx: Transaction) -> None:
        if tx.tokens.find(name=name) is not None:
            raise InvalidInput(problem=f"There is a token `{name}` already; revoke it, or take another name.")
        tx.tokens.add(
            name, sha256(secret.encode()).digest(), options.scope, project, at=board.now(), is_person=options.person
        )

    with open_board(options) as board:
        board.store.transact(add)
    if options.json:
        given = {"name": name, "scope": options.scope, "project": project, "is_person": options.person}
        show_json({**given, "token": secret})
    else:
        print(secret)


def _list(options: Namespace) -> None:
    with open_board(options, reads=True) as board:
        rows, now = board.store.read(lambda tx: tx.tokens.list()), board.now()
    if options.json:
        fields = ("name", "scope", "project", "is_person", "created_at")
        show_json([{name: getattr(row, name) for name in fields} for row in rows])
        return
    if not rows:
        print("There are no tokens; `punchlist token create NAME` makes one.")
    display = detect_display()
    for row in rows:
        name = Span(f"{safe_line(row.name):<24}", "bold")
        facts = Span(f"  {row.scope:<7}  {ago(row.created_at, now):<15}", "dim")
        show([display.cut((name, facts, Span(f"  {safe_line(row.project)}" if row.project else "")))])


def _revoke(options: Namespace) -> None:
    with open_board(options, reads=True) as board:
        if not board.store.transact(lambda tx: tx.tokens.remove(options.name)):
            raise InvalidInput(problem=f"There is no token `{options.name}`; `punchlist token list` shows them.")
    print(f"Revoked {safe_line(options.name)}.")

"""`punchlist serve` and `token`: the board as a page and an API, and the tokens by which others reach it."""

from __future__ import annotations

import os
import re
import secrets
import signal
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import timedelta

from punchlist.cli import FAILED, OK, leave
from punchlist.cli.arguments import Parser, board_url, check_person, command_parser, is_number, open_board, parse_age
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
from punchlist.settings.environment import login_name, normalise_remote, project_of
from punchlist.store import Transaction, side_path
from punchlist.store.tokens import TokenRow, digest_of
from punchlist.terminal.spans import Span, safe_line
from punchlist.views.findings import ago

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
    made.add_argument("--name", metavar="HOST", default="", help="the name by which others reach it, over TLS")
    made.add_argument("--tls-cert", metavar="FILE", help="speak TLS with this certificate, in a file of PEM")
    made.add_argument("--tls-key", metavar="FILE", help="and its key (default: in the same file)")
    about = "with --host: start without TLS; a proxy that speaks it stands before this server"
    made.add_argument("--no-tls", action="store_true", help=about)
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
    board = side_path(board_url(options))
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
    given += ["--name", options.name] if options.name else []
    for option, file in (("--tls-cert", options.tls_cert), ("--tls-key", options.tls_key)):
        given += [option, os.path.abspath(file)] if file else []
    flags = (("--no-tls", options.no_tls), ("--no-watch", options.no_watch))
    return [*given, *(option for option, is_set in flags if is_set)]


def _tell_running(running: RunningServer, options: Namespace, board: str) -> int:
    """A board has one server: print the link of the one that runs, unless another place was asked for."""
    if options.port is not None or options.host != "127.0.0.1" or options.name or options.tls_cert:
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

    _check_tls(options)
    with ExitStack() as stack:
        board = stack.enter_context(open_board(options))
        board.store.restart = "`punchlist serve`"
        if not is_loopback(options.host) and not board.store.read(lambda tx: tx.tokens.list()):
            problem = f"Others would reach {options.host}, and no token was made for them"
            raise InvalidInput(problem=f"{problem}: run `punchlist token create NAME` first, or leave out `--host`.")
        if not (is_loopback(options.host) or options.tls_cert or options.no_tls):
            problem = f"Tokens would go to {options.host} unprotected: name a certificate with `--tls-cert`"
            raise InvalidInput(problem=f"{problem}, or say `--no-tls` where a proxy with TLS stands before it.")
        record = stack.enter_context(ServerRecord(path)) if path else None
        if record is not None and not record.claim():
            running = find_running(path)
            if running is None:
                raise InvalidInput(problem="Another server of this board is just starting; try again.")
            return _tell_running(running, options, path)
        listener = stack.enter_context(bind(options.host, options.port))
        access = Access(
            load_secret(path),
            board.store,
            host=options.host,
            port=listener.getsockname()[1],
            name=options.name.lower(),
            has_tls=options.tls_cert is not None,
        )
        raise_file_limit()
        state = ServerState(board, access, is_watched=not options.no_watch)
        server = BoardServer(state, certificate=options.tls_cert, key=options.tls_key)
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


def _check_tls(options: Namespace) -> None:
    """Refuse what cannot be served, in a sentence, before anything is opened."""
    import ssl

    if options.name and not re.fullmatch(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?", options.name):
        raise InvalidInput(problem=f"`{options.name}` is no name of a host, such as board.example.org.")
    if options.tls_key and not options.tls_cert:
        raise InvalidInput(problem="`--tls-key` is the key of a certificate: name that with `--tls-cert`.")
    if options.tls_cert:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(options.tls_cert, options.tls_key)
        except (OSError, ValueError) as error:  # `SSLError` is one of the first
            problem = f"The certificate {options.tls_cert} cannot be used with its key: {error}."
            raise InvalidInput(problem=problem) from error


# Tokens.

_SIGN_IN_LIFETIME = timedelta(minutes=10)
_SCOPES = {
    "look": "read everything",
    "answer": "and answer questions, decide on plans",
    "edit": "and change lists and tasks",
    "report": "report what the agents of one machine do, and nothing else",
}
_LONGEST_NAME = 60
_MACHINE_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9._-]*")
_REPORT_LIFETIME = timedelta(days=90)
_TOKEN_EXAMPLES = """\
  punchlist token create dashboard                    to look only
  punchlist token create ci --scope edit --project .   to change lists and tasks of this project
  punchlist token create laptop-1 --scope report --project https://git.example.org/shop
  punchlist token create ada --scope edit --person    for a person, who signs in with the link of the next line
  punchlist token link ada
  punchlist token revoke ci
"""


def token_parser() -> Parser:
    about = (
        "Makes, lists and revokes tokens for `punchlist serve`. A program sends one as `Authorization: Bearer …`; a "
        "person signs in with a link. The board keeps a hash of it, so it is shown only once."
    )
    made = command_parser("token", about, examples=_TOKEN_EXAMPLES)
    add_verb = made.add_verbs(first="list")
    create = add_verb("create", "make a token and print it, once", _create)
    create.add_argument("name", metavar="NAME", help="what it is for")
    which = "; ".join(f"{scope}: {about}" for scope, about in _SCOPES.items())
    create.add_argument("--scope", choices=list(_SCOPES), default="look", metavar="S", help=f"{which} (default: look)")
    about = "only for the project of this folder; for `report` the URL of a repository, more than once, or `*` for all"
    create.add_argument("--project", metavar="DIR", action="append", default=[], help=about)
    create.add_argument("--owner", metavar="NAME", help="for `report`: the person whose machine it is (default: you)")
    about = "until when it is good, such as 30d (default for `report`: 90d; for the others it does not end)"
    create.add_argument("--expires", type=parse_age, metavar="AGE", help=about)
    create.add_argument("--person", action="store_true", help="for a person: what they do on the page is theirs")
    create.add_json()
    add_verb("list", "list the tokens", _list).add_json()
    renew = add_verb("renew", "give a token a new secret and a new end; what it may do stays", _renew)
    renew.add_argument("name", metavar="NAME", help="its name")
    about = "for `report`: the repositories from now on, all of them (default: as before)"
    renew.add_argument("--project", metavar="URL", action="append", default=[], help=about)
    renew.add_argument("--expires", type=parse_age, metavar="AGE", help="until when it is good (default: as `create`)")
    add_verb("link", "print a link that signs a browser in once, within 10 minutes", _print_sign_in).add_argument(
        "name", metavar="NAME", help="the token whose person it is for"
    )
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
    secret = _make_secret()
    projects, machine = _read_machine(options)
    project = project_of(options.project[0]) if options.project and not machine else None
    owner = (options.owner or login_name()) if machine else ""
    lifetime = options.expires or (_REPORT_LIFETIME if machine else None)

    def add(tx: Transaction) -> None:
        if tx.tokens.find(name=name) is not None:
            raise InvalidInput(problem=f"There is a token `{name}` already; revoke it, or take another name.")
        now = board.now()
        tx.tokens.add(
            name,
            digest_of(secret),
            options.scope,
            project,
            at=now,
            by=login_name(),
            is_person=options.person,
            machine=machine,
            projects=projects,
            owner=owner,
            expires_at=None if lifetime is None else now + lifetime,
        )

    with open_board(options) as board:
        board.store.transact(add)
    if options.json:
        given = {"name": name, "scope": options.scope, "project": project, "is_person": options.person}
        given |= {"machine": machine, "projects": projects, "owner": owner} if machine else {}
        show_json({**given, "token": secret})
    else:
        print(secret)


def _read_machine(options: Namespace) -> tuple[list[str], str]:
    """Return the projects and the id of the machine that a token of scope `report` is for; empty for another token."""
    given: list[str] = options.project
    if options.scope != "report":
        if options.owner is not None or len(given) > 1:
            raise InvalidInput(problem="`--owner` and several projects are for tokens with `--scope report`.")
        return [], ""
    if options.person:
        raise InvalidInput(problem="Nothing that a machine reports is a person's: leave out `--person`.")
    if not _MACHINE_NAME.fullmatch(options.name):
        raise InvalidInput(problem="The name of a machine has letters, digits, `.`, `_` and `-`, such as `laptop-1`.")
    if not given:
        problem = "Name the repositories that the machine reports on, as in `--project https://git.example.org/shop`."
        raise InvalidInput(problem=problem)
    return _read_projects(given), secrets.token_hex(8)


def _read_projects(given: Sequence[str]) -> list[str]:
    projects = [one if one == "*" else normalise_remote(one) for one in given]
    for project, typed in zip(projects, given, strict=True):
        if project != "*" and ("/" not in project or project.startswith(("/", "."))):
            raise InvalidInput(problem=f"`{typed}` is no URL of a repository; a folder has none.")
    return projects


def _list(options: Namespace) -> None:
    with open_board(options, reads=True) as board:
        rows, now = board.store.read(lambda tx: tx.tokens.list()), board.now()
    if options.json:
        fields = ("name", "scope", "project", "is_person", "created_at", "projects", "owner", "expires_at")
        show_json([{name: getattr(row, name) for name in fields} for row in rows])
        return
    if not rows:
        print("There are no tokens; `punchlist token create NAME` makes one.")
    display = detect_display()
    for row in rows:
        name = Span(f"{safe_line(row.name):<24}", "bold")
        facts = Span(f"  {row.scope:<7}  {ago(row.created_at, now):<15}", "dim")
        where, ends = ", ".join(row.projects) or row.project or "", "" if row.is_good(now) else "  expired"
        show([display.cut((name, facts, Span(ends, "bad"), Span(f"  {safe_line(where)}" if where else "")))])


def _make_secret(kind: str = "pl_") -> str:
    return f"{kind}{secrets.token_urlsafe(32)}"


def _find(tx: Transaction, name: str) -> TokenRow:
    found = tx.tokens.find(name=name)
    if found is None:
        raise InvalidInput(problem=f"There is no token `{name}`; `punchlist token list` shows them.")
    return found


def _renew(options: Namespace) -> None:
    secret = _make_secret()

    def renew(tx: Transaction) -> None:
        token, now = _find(tx, options.name), board.now()
        if token.is_person:
            check_person("The token was not renewed")
        lifetime = options.expires or (_REPORT_LIFETIME if token.machine else None)
        ends = None if lifetime is None else now + lifetime
        projects = _read_projects(options.project) if token.machine and options.project else token.projects
        tx.tokens.renew(token, digest_of(secret), projects, by=login_name(), at=now, expires_at=ends)

    with open_board(options) as board:
        board.store.transact(renew)
    print(secret)


def _print_sign_in(options: Namespace) -> None:
    from punchlist.server.access import SIGN_IN

    running = find_running(side_path(board_url(options)))
    if running is None:
        raise InvalidInput(problem="No server runs for this board; `punchlist serve` starts one.")
    secret = _make_secret(SIGN_IN)

    def add(tx: Transaction) -> None:
        token, now = _find(tx, options.name), board.now()
        if token.machine:
            raise InvalidInput(problem=f"`{token.name}` is the token of a machine, which signs no browser in.")
        if token.is_person:
            check_person("No link was made")
        tx.tokens.add_sign_in(digest_of(secret), token.id, expires_at=now + _SIGN_IN_LIFETIME)

    with open_board(options) as board:
        board.store.transact(add)
    print(f"{running.origin}/?token={secret}")


def _revoke(options: Namespace) -> None:
    with open_board(options, reads=True) as board:
        now = board.now()
        if not board.store.transact(lambda tx: tx.tokens.remove(options.name, by=login_name(), at=now)):
            raise InvalidInput(problem=f"There is no token `{options.name}`; `punchlist token list` shows them.")
    print(f"Revoked {safe_line(options.name)}.")

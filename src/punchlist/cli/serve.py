"""`punchlist serve`: the board as a page in a browser and as an API, on this machine."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace

from punchlist.cli.arguments import Parser, command_parser, is_number
from punchlist.cli.boards import open_board
from punchlist.errors import ExtraMissing, InvalidInput

_EXAMPLES = """\
  punchlist serve                 open the link that it prints
  punchlist serve --port 9000     on this port, and on no other
"""


def parser() -> Parser:
    about = (
        "Serves the board as a page in a browser, and as an API for programs, until you interrupt it. Only programs of "
        "this machine reach it; the link that it prints holds the token that it asks for."
    )
    made = command_parser("serve", about, run=_serve, examples=_EXAMPLES)
    made.add_argument("--host", metavar="ADDRESS", default="127.0.0.1", help="listen here (default: 127.0.0.1)")
    made.add_argument(
        "--port", type=_parse_port, metavar="N", help="listen on this port (default: 8137, or the next free one)"
    )
    made.add_argument("--no-watch", action="store_true", help="do not read the logs of agents meanwhile")
    made.add_argument("--no-link", action="store_true", help="print the address without its token, as for a log")
    return made


def _parse_port(text: str) -> int:
    if not is_number(text) or len(text) > 5 or int(text) > 65_535:
        raise ArgumentTypeError(f"`{text}` is no port from 0 to 65535")
    return int(text)


def _serve(options: Namespace) -> int:
    try:
        from punchlist.server.access import Access, is_loopback
        from punchlist.server.process import BoardServer, bind, load_secret
        from punchlist.server.state import ServerState
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("punchlist"):
            raise
        raise ExtraMissing(what="`punchlist serve`", extra="serve") from error

    with open_board(options) as board:
        if not is_loopback(options.host) and not board.store.read(lambda tx: tx.tokens.list()):
            problem = (
                f"Others would reach {options.host}, and no token was made for them: run `punchlist token create NAME` "
                "first, or leave out `--host`."
            )
            raise InvalidInput(problem=problem)
        secret = load_secret(board.store.path if board.store.durable else "")
        with bind(options.host, options.port) as listener:
            access = Access(secret, board.store, host=options.host, port=listener.getsockname()[1])
            server = BoardServer(ServerState(board, access, is_watched=not options.no_watch))
            shown = f"{access.origin}/" if options.no_link else access.link
            print(f"Punchlist is at {shown}", flush=True)
            print("Ctrl-C stops it.", flush=True)
            server.run([listener])
    return 0

"""`punchlist mcp`: serve the board to an agent over standard input and output."""

from __future__ import annotations

import os
import signal
import sys
from argparse import Namespace
from contextlib import suppress
from typing import TYPE_CHECKING

from punchlist.cli import complain, leave
from punchlist.cli.arguments import Parser, command_parser
from punchlist.dialects import REGISTRY
from punchlist.errors import InvalidInput, StoreTooNew, UnknownName
from punchlist.mcp.server import HookListener, McpServer, ToolSet
from punchlist.mcp.stdio import Connection, Dispatcher
from punchlist.settings.table import load_settings, read_setting

if TYPE_CHECKING:
    from punchlist.board import Board

_AGENT = "the agent, which starts `punchlist mcp` again"
"""The program to restart when a newer one has upgraded the board."""

_EXAMPLES = """\
  in the configuration of an MCP client:  {"command": "punchlist", "args": ["mcp"]}
  punchlist mcp --dialect claude-code     offer `TodoWrite` in place of our own tools
"""


def parser() -> Parser:
    about = (
        "Serves the board to an agent over MCP, on standard input and output: its todo list and the project's tasks as "
        "tools, with resources and prompts. An agent starts it; it ends when its input does."
    )
    made = command_parser("mcp", about, run=_serve, examples=_EXAMPLES)
    which = "offer the tools of this dialect; may be given again (default: the setting `dialect`)"
    made.add_argument("--dialect", action="append", choices=list(REGISTRY), metavar="D", help=which)
    made.add_argument("--host", metavar="NAME", help="the agent program that starts it (default: the client's name)")
    return made


def _serve(options: Namespace) -> int:
    def open_board() -> Board:
        from punchlist.cli.arguments import open_board

        try:
            board = open_board(options)
        except StoreTooNew as error:  # upgraded before this process first needed it, or by another installation
            raise StoreTooNew(**{**error.data, "next": f"upgrade Punchlist, then restart {_AGENT}"}) from error
        board.store.restart = _AGENT
        board.agents_process = None  # it ends with its client
        return board

    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - it was closed before we started
        return complain("An MCP client is needed on standard input, and it is closed.")
    if sys.stdin.isatty():
        print("punchlist mcp waits for the messages of an MCP client here; Ctrl-C ends it.", file=sys.stderr)
    try:
        dialects = options.dialect or load_settings().dialect if read_setting("todos") else ()
        tools = ToolSet(dialects)
    except (InvalidInput, UnknownName) as error:
        return complain(str(error))
    # Only messages go to the client: whatever else is printed here or by a child process goes to stderr.
    target = os.dup(1)
    with suppress(OSError):  # stderr may be closed
        os.dup2(2, 1)
    sys.stdout = sys.stderr
    signal.signal(signal.SIGTERM, leave)
    connection = Connection(sys.stdin.buffer, target)
    relay = team_calls = None
    if load_settings().team.server:
        from punchlist.mcp.team_calls import Relay, TeamCalls  # HTTP and TLS, which others need not load

        relay = Relay(lambda: server.open()[0])
        team_calls = TeamCalls(relay, dialects)
    server = McpServer(open_board, tools, connection, host=options.host, team_calls=team_calls)
    hooks = HookListener(getattr(options, "db", None), lambda: server.open()[0], relay)
    hooks.start()
    try:
        Dispatcher(connection, server.run).serve()
    finally:
        hooks.close()
        server.close()
    return 0

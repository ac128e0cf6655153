"""`punchlist handoff`: let another agent continue a session's list."""

from __future__ import annotations

import os
import shlex
from argparse import Namespace

from msgspec.structs import asdict

from punchlist.bridges.programs import find_program
from punchlist.cli import FAILED, complain
from punchlist.cli.arguments import Parser, author, command_parser, open_board
from punchlist.cli.terminal import show_json
from punchlist.core.programs import PROGRAMS
from punchlist.hosts.handoff import TARGETS, make_handoff
from punchlist.text import for_terminal

_EXAMPLES = """\
  punchlist handoff 7c0ffee1 --to codex            print the command that starts Codex on the same list
  punchlist handoff 7c0ffee1 --to codex --start    start it here
"""


def parser() -> Parser:
    about = (
        "Lets another agent continue a session: prints, or starts, its command with the open items, notes, blockers "
        "and the last failing check. The new conversation goes on with the same list and the same ids. The command "
        "holds for a day."
    )
    made = command_parser("handoff", about, run=_hand_off, examples=_EXAMPLES)
    made.add_argument("session", metavar="SESSION", help="the session, as `punchlist sessions` shows it")
    made.add_argument("--to", required=True, choices=TARGETS, metavar="AGENT", help=" or ".join(TARGETS))
    made.add_argument("--start", action="store_true", help="start the agent here, in the session's folder")
    made.add_by("who hands it over")
    made.add_json()
    return made


def _hand_off(options: Namespace) -> int:
    host = PROGRAMS[options.to]
    if options.start and find_program(host) is None:
        problem = f"`{host.command}` is not on your PATH"
        return complain(f"{problem}; install {host.title}, or leave out --start to print its command.", FAILED)
    with open_board(options, reads=True) as board:
        made = make_handoff(board, options.session, options.to, by=author(options))
    if options.start:
        os.chdir(made.project)
        os.execv(made.command[0], made.command)
    if options.json:
        show_json(asdict(made))
    else:
        command = shlex.join([host.command, made.prompt])
        print(for_terminal(f"cd {shlex.quote(made.project)} && {command}", lines=True))
    return 0

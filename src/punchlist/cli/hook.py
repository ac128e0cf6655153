"""`punchlist hook`: take a hook event of an agent from standard input, and print the answer. Never an error."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace

from punchlist.cli.arguments import Parser, board_url, command_parser
from punchlist.core.programs import ATTACHABLE
from punchlist.hosts.inbox import answer_hook
from punchlist.store import store_path
from punchlist_hook import append_line, log_error, make_line, read_event

_EXAMPLES = """\
  punchlist hook claude-code < event.json
"""


def parser() -> Parser:
    about = (
        "Takes one hook event, a JSON object on standard input, and prints the answer for the agent; nothing for most "
        "events. Agents start `punchlist-hook`, which does the same and is quicker."
    )
    made = command_parser("hook", about, run=_run, examples=_EXAMPLES)
    made.add_argument("host", metavar="HOST", choices=tuple(ATTACHABLE), help=f"the agent: {', '.join(ATTACHABLE)}")
    return made


def _run(options: Namespace) -> None:
    board = ""
    try:
        board = os.path.realpath(store_path(board_url(options)))
        line = make_line(options.host, read_event(sys.stdin.fileno()))
        append_line(board, line)
        answer = answer_hook(board, line)
    except Exception as error:  # an agent must not fail by its todo list
        if board:
            log_error(board, f"{type(error).__name__}: {error}")
        return
    if answer:
        print(json.dumps(answer))

"""`punchlist sessions`, `prune`, `handoff`: list, copy, move, delete sessions, and let another agent continue one."""

from __future__ import annotations

import os
import shlex
from argparse import Namespace
from collections import Counter
from datetime import datetime
from functools import partial

from msgspec.structs import asdict

from punchlist.cli import FAILED, complain
from punchlist.cli.arguments import Parser, author, command_parser, complete_session, find_folder, open_board, parse_age
from punchlist.cli.terminal import detect_display, show, show_json
from punchlist.core.programs import PROGRAMS
from punchlist.logs.programs import find_program
from punchlist.store import SessionRow
from punchlist.store.sqlite import count_old_agents
from punchlist.terminal.lists import state_spans, waiting_lines
from punchlist.terminal.spans import Display, Line, Span, ago, cells, pad, plural, safe_line, show_name
from punchlist.text import for_terminal
from punchlist.views.list_owners import load_names

_EXAMPLES = """\
  punchlist sessions                    of this project, the latest first
  punchlist sessions copy s1 s2         the lists of s1 into a new session s2
  punchlist sessions move s1 s2         s1 is called s2 from now on
"""
_PRUNE_EXAMPLES = """\
  punchlist prune --older-than 30d --dry-run    how much that would be
  punchlist prune --older-than 8w
"""


def parser() -> Parser:
    description = (
        "Lists the sessions of this project, the latest first. Other commands take a beginning or an end of an id, of "
        "at least four characters, where it can mean one session only."
    )
    made = command_parser("sessions", description, run=_list, examples=_EXAMPLES)
    made.add_all()
    made.add_limit(50, "sessions (default: 50)")
    made.add_json()
    add_verb = made.add_verbs(required=False)
    for added in (
        add_verb("copy", "copy the lists of a session into a new one", partial(_change_id, copies=True)),
        add_verb("move", "give a session another id", partial(_change_id, copies=False)),
    ):
        added.add_argument("old", metavar="OLD", help="the session that is there")
        added.add_argument("new", metavar="NEW", help="an id that is free")
        added.add_by()
    return made


def _list(options: Namespace) -> None:
    with open_board(options, reads=True) as board:
        rows = board.sessions(project=find_folder(options), limit=options.limit)
        waits = Counter(wait.session for wait in board.waits(project=find_folder(options)))
        names = board.store.read(lambda tx: load_names(tx, [row.id for row in rows]))
        now = board.now()
    if options.json:
        show_json([{**row._asdict(), "waits": waits[row.id]} for row in rows])
    elif not rows:
        where = "on this board" if options.all else "in this project; `punchlist sessions --all` shows every project's"
        print(f"There are no sessions {where}.")
    else:
        display = detect_display()
        called = {row.id: show_name(names.name(row.id), display.glyphs) for row in rows}
        width = max(cells((Span(name),)) for name in called.values())
        show(_row(row, called[row.id], waits[row.id], width, display, now, project=options.all) for row in rows)
        show(waiting_lines(waits.total()))


def _row(row: SessionRow, name: str, waits: int, width: int, display: Display, now: datetime, *, project: bool) -> Line:
    line = (
        *pad((Span(name, "bold"),), width, display.glyphs),
        Span(f"  {plural(row.agents, 'agent'):<10}"),
        Span(f"  {ago(row.updated_at or row.created_at, now):<15}", "dim"),
        *state_spans(row.state, before="  "),
        Span(f"  {waits} {'waits' if waits == 1 else 'wait'} on you" if waits else "", "accent"),
        Span(f"  {safe_line(row.project)}" if project else "", "dim"),
    )
    return display.cut(line)


def _change_id(options: Namespace, *, copies: bool) -> None:
    with open_board(options) as board:
        complete_session(board, options, "old")
        change = board.copy_session if copies else board.move_session
        change(options.old, options.new, by=author(options))
    old, new = safe_line(options.old), safe_line(options.new)
    print(f"Copied session {old} to {new}." if copies else f"Session {old} is now {new}.")


def prune_parser() -> Parser:
    description = "Deletes sessions without a change for that long, with their lists and events."
    made = command_parser("prune", description, run=_prune, examples=_PRUNE_EXAMPLES)
    made.add_argument("--older-than", type=parse_age, required=True, metavar="AGE", help="such as 12h, 30d or 8w")
    made.add_argument("--dry-run", action="store_true", help="only say how much that would be")
    return made


def _prune(options: Namespace) -> None:
    with open_board(options) as board:
        before = board.now() - options.older_than
        if options.dry_run:
            total = count_old_agents(board.store.path, before) if board.store.durable else 0
            print(f"Would delete {plural(total, 'agent')} of sessions untouched since then; nothing was deleted.")
            return
        deleted = board.prune(before)
    print(f"Deleted {plural(deleted, 'agent')} with their lists and events.")


# Handoffs.

_HANDOFF_EXAMPLES = """\
  punchlist handoff 7c0ffee1 --to codex            print the command that starts Codex on the same list
  punchlist handoff 7c0ffee1 --to codex --start    start it here
"""


def handoff_parser() -> Parser:
    from punchlist.attach.handoff import TARGETS  # dear: the other commands here do without what attaches agents

    about = (
        "Lets another agent continue a session: prints, or starts, its command with the open items, notes, blockers "
        "and the last failing check. The new conversation goes on with the same list and the same ids. The command "
        "holds for a day."
    )
    made = command_parser("handoff", about, run=_hand_off, examples=_HANDOFF_EXAMPLES)
    made.add_argument("session", metavar="SESSION", help="the session, as `punchlist sessions` shows it")
    made.add_argument("--to", required=True, choices=TARGETS, metavar="AGENT", help=" or ".join(TARGETS))
    made.add_argument("--start", action="store_true", help="start the agent here, in the session's folder")
    made.add_by("who hands it over")
    made.add_json()
    return made


def _hand_off(options: Namespace) -> int:
    from punchlist.attach.handoff import make_handoff

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

"""`punchlist sessions`, `prune`, `handoff`: list, copy, move, delete sessions, and let another agent continue one."""

from __future__ import annotations

import os
import shlex
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from glob import escape, glob

from msgspec.structs import asdict

from punchlist.board import Board
from punchlist.cli import FAILED, OK, complain
from punchlist.cli.arguments import (
    Parser,
    author,
    check_session,
    command_parser,
    complete_session,
    find_folder,
    open_board,
    parse_age,
)
from punchlist.cli.terminal import ask, detect_display, show, show_json, warn
from punchlist.core.programs import PROGRAMS
from punchlist.errors import InvalidInput
from punchlist.logs.programs import find_program
from punchlist.settings.environment import project_of
from punchlist.store import SessionRow
from punchlist.store.pruning import Pruning, count_pruned
from punchlist.terminal.lists import state_spans, waiting_lines
from punchlist.terminal.spans import Display, Line, Span, cells, pad, safe_line, show_name
from punchlist.text import for_terminal, plural
from punchlist.views.findings import ago
from punchlist.views.list_owners import load_names

_EXAMPLES = """\
  punchlist sessions                    of this project, the latest first
  punchlist sessions copy s1 s2         the lists of s1 into a new session s2
  punchlist sessions move s1 s2         s1 is called s2 from now on
"""
_PRUNE_EXAMPLES = """\
  punchlist prune --older-than 30d --dry-run    how much that would be
  punchlist prune --older-than 8w
  punchlist prune --session 7c0ffee1            one session, with all that is kept of it
  punchlist prune --project . --yes             this project, without a question
  punchlist prune --machine laptop-1            what a machine of the team sent
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
    description = (
        "Deletes sessions with their lists, tool calls and events: those without a change for a while, one by its id, "
        "or all of a project or of a machine of the team. One that is named goes with its tasks, and the board's file "
        "is rewritten."
    )
    made = command_parser("prune", description, examples=_PRUNE_EXAMPLES)
    made.set_defaults(run=partial(_prune, made))
    made.add_argument("--older-than", type=parse_age, metavar="AGE", help="such as 12h, 30d or 8w")
    named = made.add_mutually_exclusive_group()
    named.add_argument("--session", metavar="S", help="this session")
    named.add_argument("--project", metavar="DIR", help="the project to which this folder belongs, with its tasks")
    named.add_argument("--machine", metavar="NAME", help="what a machine of the team sent, by the name of its token")
    made.add_argument("--yes", action="store_true", help="do not ask whether to delete what is named")
    made.add_argument("--dry-run", action="store_true", help="only say how much that would be")
    return made


def _prune(parser: Parser, options: Namespace) -> int:
    if options.older_than is None and not (options.session or options.project or options.machine):
        parser.error("Name what to delete: --older-than AGE, --session S, --project DIR or --machine NAME")
    with open_board(options) as board:
        complete_session(board, options)
        check_session(board, options)
        before = None if options.older_than is None else board.now() - options.older_than
        where = "" if options.project is None else project_of(options.project)
        machines = _find_machines(board, options.machine) if options.machine else [""]
        all_of = [Pruning(before, options.session or "", where, machine) for machine in machines]
        total = sum(board.store.read(lambda tx, what=what: count_pruned(tx, what)) for what in all_of)
        agents, said = plural(total, "agent"), safe_line(options.session or where or options.machine or "")
        if options.dry_run:
            print(f"Would delete {agents} with their lists and events; nothing was deleted.")
            return OK
        if said and not (options.yes or ask(f"Delete {said} from the board, {agents}? It cannot be undone.")):
            return complain("Nothing was deleted; --yes deletes without a question.", FAILED)
        deleted = sum(
            board.prune(before, session=what.session, project=options.project, machine=what.machine) for what in all_of
        )
        print(f"Deleted {plural(deleted, 'agent')} with their lists and events.")
        if said and not board.compact():
            warn("another program reads the board; what was deleted is in its WAL until you repeat this command")
        for copy in sorted(glob(f"{escape(board.store.files)}.before-*")) if board.store.files else ():
            warn(f"{copy}, a copy from before an upgrade, still holds what it held; delete it if you need it no more")
    return OK


def _find_machines(board: Board, name: str) -> Sequence[str]:
    found = board.store.read(lambda tx: tx.machines.named(name))
    if not found:
        raise InvalidInput(problem=f"No machine `{name}` has reported here; `punchlist token list` shows their names.")
    return found


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

"""`punchlist now`: show every agent of this machine, what it does, and what waits on you."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress

from punchlist.bridges.homes import find_logs
from punchlist.cli.arguments import Parser, author, command_parser, open_reader, settle_due_tasks
from punchlist.cli.terminal import detect_display, show, show_json
from punchlist.config import project_of
from punchlist.core.presence import Roster
from punchlist.errors import AttachRefused
from punchlist.hosts.programs import HOSTS, find_home, is_found
from punchlist.hosts.roster import load_first_screen
from punchlist.surfaces.now import now_data, now_lines
from punchlist.surfaces.spans import Line, Span, safe_line

_EXAMPLES = """\
  punchlist now                  every agent of this machine, attached or not
  punchlist now --project .      those of this project
  punchlist now --json           for a program
"""


def parser() -> Parser:
    about = "Shows every agent of this machine: which one waits on you, which are at work, idle or gone."
    made = command_parser("now", about, run=_show, examples=_EXAMPLES)
    made.add_argument("--project", metavar="DIR", help="of the project to which this folder belongs")
    made.add_by("whose last `brief` counts as the last look")
    made.add_json()
    return made


def _show(options: Namespace) -> None:
    with open_reader(options) as board:
        settle_due_tasks(board)
        roster = load_first_screen(board, project=options.project, who=author(options))
    if options.json:
        show_json(now_data(roster))
    elif roster.agents or roster.waits:
        display = detect_display()
        show(now_lines(roster, display))
        show(map(display.cut, _offer_attach(roster)))
    else:
        display = detect_display()
        show(map(display.cut, explain_nothing(options.project)))


def _offer_attach(roster: Roster) -> Iterator[Line]:
    """Yield how to attach the agents that run and of which nothing is on the board."""
    seen = {row.host for row in roster.agents if row.is_watched_only and row.state != "gone"}
    if not seen:
        return
    from punchlist.hosts.attach import find_attachment  # most people have attached their agents

    hints: list[Line] = []
    for host in HOSTS.values():
        with suppress(AttachRefused, OSError):
            if host.name in seen and find_attachment(host) is None:
                gains = "gives its agents a list, checks and answers from here"
                hints.append((Span(f"`punchlist attach {host.name}` {gains}.", "dim"),))
    if hints and not roster.waits:  # else the hints have begun
        yield ()
    yield from hints


def explain_nothing(project: str | None) -> Iterator[Line]:
    """Yield what was looked for, and how to attach what is installed."""
    where = f" in {safe_line(project_of(project))}" if project else " on this machine"
    yield (Span(f"No agent runs{where}, and nothing waits on you.", "bold"),)
    yield ()
    yield (Span("Looked for:"),)
    yield (Span(f"  Claude Code   {safe_line(os.path.join(find_home(HOSTS['claude-code']), 'sessions'))}", "dim"),)
    yield (Span(f"  Codex         its daemon and sessions in {safe_line(find_home(HOSTS['codex']))}", "dim"),)
    yield (Span(f"  opencode      {safe_line(find_logs('opencode'))}", "dim"),)
    yield (Span("  others        attached agents, and agents of your own programs, on the board", "dim"),)
    installed = [host for host in HOSTS.values() if is_found(host)]
    yield ()
    if installed:
        yield (Span("Start one of these; attached, it gets a list, checks and answers too:"),)
        for host in installed:
            yield (Span(f"  punchlist attach {host.name}", "accent"),)
    else:
        yield (Span("No agent that Punchlist knows is installed here; `punchlist demo` shows how it looks."),)

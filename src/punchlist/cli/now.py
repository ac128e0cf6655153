"""`punchlist now`: show every agent of this machine, what it does, and what waits on you."""

from argparse import Namespace
from collections.abc import Iterator

from punchlist.attach.attachments import list_attached, list_dead
from punchlist.cli.arguments import Parser, author, command_parser, open_reader, settle_due_tasks
from punchlist.cli.terminal import detect_display, shorten_home, show, show_json
from punchlist.core.overview import WATCHED
from punchlist.core.programs import ATTACHABLE, PROGRAMS
from punchlist.logs.discovery import find_unread
from punchlist.logs.programs import find_home, find_logs, is_found
from punchlist.presence.roster import load_roster
from punchlist.reader import BoardReader
from punchlist.settings.environment import project_of
from punchlist.terminal.now import now_lines
from punchlist.terminal.spans import Line, Span, safe_line
from punchlist.text import plural
from punchlist.views.now import Roster, view_now

_EXAMPLES = """\
  punchlist now                  every agent of this machine, attached or not
  punchlist now --project .      those of this project
  punchlist now --json           for a program
"""


def parser() -> Parser:
    about = "Shows every agent of this machine: which one waits on you, which are at work, idle or ended."
    made = command_parser("now", about, run=_show, examples=_EXAMPLES)
    made.add_argument("--project", metavar="DIR", help="of the project to which this folder belongs")
    made.add_by("whose last `brief` counts as the last look")
    made.add_json()
    return made


def _show(options: Namespace) -> None:
    with open_reader(options) as board:
        settle_due_tasks(board)
        roster = load_roster(board, project=options.project, who=author(options))
        is_here = not board.is_remote
        more = _count_unseen(board, roster) if is_here and not (options.json or options.project) else 0
    if options.json:
        show_json(view_now(roster))
        return
    display = detect_display()
    if roster.agents or roster.waits:
        show(now_lines(roster, display))
        show(map(display.cut, _offer_attach(roster) if is_here else ()))
    else:
        show(map(display.cut, explain_nothing(options.project, is_here=is_here)))
    if not is_here:
        return
    show((Span(safe_line(dead), "warning"),) for dead in list_dead())
    if more:
        said = (
            f"`punchlist top`, `serve` or `watch` finds {plural(more, 'more session')} in logs that were not read yet."
        )
        show(map(display.cut, [(), (Span(said, "dim"),)]))


def _count_unseen(board: BoardReader, roster: Roster) -> int:
    """Count the sessions that their logs alone tell of: nobody has read these, and hosts and hooks know nothing."""
    places = board.store.read(lambda tx: tx.hosts.list_file_places())
    logs = {(log.host, log.session) for log in find_unread(places, roster.at - WATCHED)}
    shown = {name for row in roster.agents for name in (row.session, row.list_session)}
    unseen = [(host, session) for host, session in logs if session not in shown]
    return board.store.read(lambda tx: sum(tx.hosts.find_conversation(*one) is None for one in unseen))


def _offer_attach(roster: Roster) -> Iterator[Line]:
    seen = {row.host for row in roster.agents if not row.on_board and row.state != "gone"}
    if not seen:
        return
    gains = "gives its agents a list, checks and answers from here"
    attached = list_attached()
    names = [name for name, host in ATTACHABLE.items() if name in seen and host not in attached]
    hints: list[Line] = [(Span(f"`punchlist attach {name}` {gains}.", "dim"),) for name in names]
    if hints and not roster.waits:  # else the hints have begun
        yield ()
    yield from hints


def explain_nothing(project: str | None, *, is_here: bool = True) -> Iterator[Line]:
    """Yield what was looked for, and how to attach what is installed, for the board of this machine."""
    if not is_here:
        yield (Span("No agent of this board is at work, and nothing waits on you."),)
        return
    where = f" in {safe_line(project_of(project))}" if project else " on this machine"
    yield (Span(f"No agent runs{where}, and nothing waits on you.", "bold"),)
    installed = [host for host in ATTACHABLE.values() if is_found(host)]
    if installed:
        yield ()
        yield (Span("Installed here. Start one, and it appears; attached, it also has a list here:"),)
        attached = list_attached()
        for host in installed:
            offer = Span(f"punchlist attach {host.name}", "accent")
            yield (Span(f"  {host.title:<12}  "), Span("is attached", "good") if host in attached else offer)
    yield ()
    yield (Span("Looked for:", "plain" if installed else "bold"),)
    places = {
        "claude-code": find_home("claude-code", "sessions"),
        "codex": f"{find_home('codex')} (its daemon and sessions)",
        "gemini": find_logs("gemini"),
        "opencode": find_logs("opencode"),
    }
    for name, place in places.items():
        yield (Span(f"  {PROGRAMS[name].title:<12}  {shorten_home(place)}", "dim"),)
    logs = ", ".join(program.title for program in PROGRAMS.values() if program.name not in ATTACHABLE)
    yield (Span(f"  {'others':<12}  logs of {logs}", "dim"),)
    yield (Span(f"  {'your own':<12}  agents of your programs, on the board", "dim"),)
    yield ()
    yield (Span("`punchlist demo` "), Span("shows how it looks when agents are at work.", "dim"))

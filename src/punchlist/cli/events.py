"""`punchlist events` and `hook`: show the log of the board, follow it live, and take the events of agents' hooks."""

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from datetime import date, datetime
from functools import partial
from itertools import islice

from punchlist.cli.arguments import Parser, board_url, command_parser, open_reader, parse_count
from punchlist.cli.terminal import detect_display, has_colours, paint, show_json
from punchlist.core.events import Event, make_filter
from punchlist.core.programs import ATTACHABLE, short_id
from punchlist.reader import BoardReader
from punchlist.store import side_path
from punchlist.terminal.sentences import sentence
from punchlist.terminal.spans import Span, pad, safe_line
from punchlist.views.list_screen import load_session_names

Filter = Callable[[Event], bool]

_LAST = 50
_PAGE = 1000
_EXAMPLES = """\
  punchlist events                        the last 50
  punchlist events --follow               and then each one as it happens
  punchlist events --kind item --json     events about items, one JSON object a line
"""


def parser() -> Parser:
    made = command_parser("events", "Shows what happened on the board, oldest first.", run=_show, examples=_EXAMPLES)
    made.add_argument("--follow", action="store_true", help="then print each event as it happens")
    made.add_argument("--after", type=parse_count, metavar="SEQ", help="all events after this number")
    made.add_argument("--session", metavar="S", help="only this session")
    made.add_argument("--agent", metavar="A", help="only agents of this name")
    made.add_argument("--kind", metavar="K", help="only this kind, such as `item.started`, or group, such as `item`")
    made.add_limit(None, f"events of the past (default: the last {_LAST}; all with --after)")
    made.add_json(lines=True)
    return made


def _show(options: Namespace) -> None:
    kinds = [options.kind] if options.kind else []
    with open_reader(options, reads=not options.follow) as board:
        write = partial(show_json, indent=0) if options.json else make_writer(board)
        # Only now: opening the board has completed a part of a session's id.
        is_wanted = make_filter(session=options.session, agent=options.agent, kinds=kinds).is_wanted
        last = board.store.last_seq()
        for event in _read_past(board, options, last, is_wanted):
            write(event)
        if options.follow:
            for event in filter(is_wanted, board.follow(max(last, options.after or 0))):
                write(event)


def _read_past(board: BoardReader, options: Namespace, last: int, is_wanted: Filter) -> Iterable[Event]:
    if options.after is not None:
        later = (event for event in board.events(options.after) if event.seq <= last and is_wanted(event))
        return islice(later, options.limit)
    return _read_latest(board, last, _LAST if options.limit is None else options.limit, is_wanted)


def _read_latest(board: BoardReader, last: int, limit: int, is_wanted: Filter) -> list[Event]:
    """Return the last `limit` wanted events, oldest first. Reads the log backwards, a page at a time."""
    found: list[Event] = []
    page = _PAGE if limit > _LAST else _LAST
    while last > 0 and len(found) < limit:
        start = max(0, last - page)
        events = [event for event in board.store.events_after(start, page) if event.seq <= last and is_wanted(event)]
        found = [*events, *found]
        last, page = start, _PAGE
    return found[max(0, len(found) - limit) :] if limit else []


def make_writer(board: BoardReader) -> Callable[[Event], None]:
    """Return a function that prints an event as one line."""
    display, colour, today = detect_display(), has_colours(), datetime.now().astimezone().date()
    hosts: dict[str, str] = {}

    def write(event: Event) -> None:
        session = event.session or ""
        if not hosts.get(session):  # a log may tell it later
            hosts[session] = load_session_names(board, session).known[session][1] if session else ""
        line = (
            Span(f"{clock(event.at, today)}  ", "dim"),
            *pad((Span(safe_line(short_id(session)), "dim"),), 12, display.glyphs),
            Span("  "),
            Span(sentence(event, display.glyphs, hosts[session])),
        )
        print(paint(display.cut(line), colour=colour), flush=True)

    return write


def clock(at: datetime, today: date) -> str:
    """Return the local time, with the date where that is not today."""
    local = at.astimezone()
    return local.strftime("%H:%M:%S" if local.date() == today else "%Y-%m-%d %H:%M:%S")


# Hooks.

_HOOK_EXAMPLES = """\
  punchlist hook claude-code < event.json
"""


def hook_parser() -> Parser:
    about = (
        "Takes one hook event, a JSON object on standard input, and prints the answer for the agent; nothing for most "
        "events. Agents start `punchlist-hook`, which does the same and is quicker."
    )
    made = command_parser("hook", about, run=_take_event, examples=_HOOK_EXAMPLES)
    made.add_argument("host", metavar="HOST", choices=tuple(ATTACHABLE), help=f"the agent: {', '.join(ATTACHABLE)}")
    return made


def _take_event(options: Namespace) -> None:
    """Print the answer to an event. Never an error: an agent must not fail by its todo list."""
    import json  # the log is shown without these

    from punchlist.hooks.inbox import answer_hook
    from punchlist_hook import append_line, log_error, make_line, read_event

    board = ""
    try:
        board = side_path(board_url(options))
        line = make_line(options.host, read_event(sys.stdin.fileno()))
        append_line(board, line)
        answer = answer_hook(board, line)
    except Exception as error:
        if board:
            log_error(board, f"{type(error).__name__}: {error}")
        return
    if answer:
        print(json.dumps(answer))  # in ASCII, whatever the locale of the agent is

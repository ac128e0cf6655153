"""`punchlist events`: what happened, and what happens now."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from datetime import date, datetime
from itertools import islice
from typing import TYPE_CHECKING

from punchlist.cli import OK
from punchlist.cli.arguments import Parser, add_json, add_limit, command_parser, count, open_board
from punchlist.cli.terminal import colours, detect_display, painted, show_json
from punchlist.surfaces.sentences import sentence
from punchlist.surfaces.spans import Display, Span, padded, shown

if TYPE_CHECKING:
    from punchlist.board import Board
    from punchlist.core.events import Event

_LAST = 50
_PAGE = 1000
_EXAMPLES = """\
  punchlist events                        the last 50
  punchlist events --follow               and then each one as it happens
  punchlist events --kind item --json     events about items, one JSON object a line
"""


def parser() -> Parser:
    made = command_parser("events", "Shows what happened on the board, oldest first.", run=run, examples=_EXAMPLES)
    made.add_argument("--follow", action="store_true", help="go on with each event as it happens")
    made.add_argument("--after", type=count, metavar="SEQ", help="all events behind this number")
    made.add_argument("--session", metavar="S", help="only this session")
    made.add_argument("--agent", metavar="A", help="only agents of this name")
    made.add_argument("--kind", metavar="K", help="only this kind, such as `item.started`, or group, such as `item`")
    add_limit(made, None, f"events of the past (default: the last {_LAST}; all with --after)")
    add_json(made, lines=True)
    return made


def run(options: Namespace) -> int:
    wanted = _filter(options)
    write = _write_json if options.json else _writer(detect_display(), colour=colours())
    with open_board(options, reads=not options.follow) as board:
        last = board.store.last_seq()
        for event in _past(board, options, last, wanted):
            write(event)
        if options.follow:
            for event in board.follow(max(last, options.after or 0)):
                if wanted(event):
                    write(event)
    return OK


def _filter(options: Namespace) -> Callable[[Event], bool]:
    kind: str | None = options.kind.removesuffix("*").rstrip(".") if options.kind else None

    def wanted(event: Event) -> bool:
        return (
            options.session in (None, event.session)
            and options.agent in (None, event.agent)
            and (kind is None or event.kind == kind or event.kind.startswith(f"{kind}."))
        )

    return wanted


def _past(board: Board, options: Namespace, last: int, wanted: Callable[[Event], bool]) -> Iterator[Event]:
    """History up to `last`: all of it behind `--after`, else the latest ones."""
    if options.after is not None:
        behind = (event for event in board.events(options.after) if event.seq <= last and wanted(event))
        return islice(behind, options.limit)
    return iter(_latest(board, last, _LAST if options.limit is None else options.limit, wanted))


def _latest(board: Board, last: int, limit: int, wanted: Callable[[Event], bool]) -> list[Event]:
    """The last so many that are wanted, oldest first. Reads the log backwards, a page at a time."""
    found: list[Event] = []
    page = _PAGE if limit > _LAST else _LAST
    while last > 0 and len(found) < limit:
        start = max(0, last - page)
        events = [event for event in board.store.events_after(start, page) if event.seq <= last and wanted(event)]
        found = [*events, *found]
        last, page = start, _PAGE
    return found[max(0, len(found) - limit) :] if limit else []


def _write_json(event: Event) -> None:
    show_json(event, indent=0)


def _writer(display: Display, *, colour: bool) -> Callable[[Event], None]:
    today = datetime.now().astimezone().date()

    def write(event: Event) -> None:
        line = (
            Span(f"{clock(event.at, today)}  ", "dim"),
            *padded((Span(shown(event.session or ""), "dim"),), 12, display.glyphs),
            Span("  "),
            Span(sentence(event, display.glyphs)),
        )
        print(painted(display.cut(line), colour=colour), flush=True)

    return write


def clock(at: datetime, today: date) -> str:
    """The local time, with the date where that is not today."""
    local = at.astimezone()
    return local.strftime("%H:%M:%S" if local.date() == today else "%Y-%m-%d %H:%M:%S")

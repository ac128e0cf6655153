"""`punchlist demo`: three scripted agents at work, live in the terminal."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from argparse import Namespace
from collections.abc import Iterator

from punchlist.board import Board
from punchlist.cli import OK
from punchlist.cli.arguments import Parser, board_url, command_parser
from punchlist.cli.demo_script import PERSON, Step, Troupe
from punchlist.cli.screen import Screen
from punchlist.cli.terminal import look, show
from punchlist.core.events import Event
from punchlist.surfaces.panel import Frame, frame_lines
from punchlist.surfaces.sentences import sentence
from punchlist.surfaces.spans import Glyphs, Line, Span, Style, plain, shown
from punchlist.surfaces.text import board_lines

_TITLE = "Punchlist: three agents at work"
_BEAT = 0.1
_QUIET = frozenset(
    {"agent.joined", "list.replaced", "list.edited", "list.confirmed", "list.ordered", "item.changed", "item.added"}
)
_COLOURS: dict[str, Style] = {
    "item.completed": "good",
    "item.blocked": "warning",
    "list.refused": "warning",
    "mode.changed": "warning",
}


def parser() -> Parser:
    said = "Plays a scripted run of three agents with subagents, on a board of its own in memory."
    made = command_parser("demo", said)
    made.add_argument("--speed", type=_speed, default=1.0, metavar="X", help="2 is twice as fast, 0 does not wait")
    return made


def _speed(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not math.isfinite(value) or value < 0:
        raise argparse.ArgumentTypeError(f"`{text}` is no speed; use a number from 0 up, such as 2")
    return value


def run(options: Namespace) -> int:
    session = f"demo-{os.urandom(2).hex()}"
    with Board.open(board_url(options) or "memory:") as board:
        play = Play(board, session)
        if sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
            _play_live(play, options.speed)
        else:
            _play_plainly(play, options.speed)
    show(_farewell(session if board_url(options) else None))
    return OK


class Play:
    """The script on its way: what it shows now, and what happened so far."""

    def __init__(self, board: Board, session: str) -> None:
        self.board = board
        self.session = session
        self.troupe = Troupe(board, session)
        self.caption = ""
        self.seconds = 0.0
        self.rows = board.lists(session=session)
        self._seen = board.store.last_seq()

    def perform(self, step: Step, glyphs: Glyphs) -> list[Line]:
        """Lets a step happen; the lines that it adds to the feed."""
        self.caption = step.caption or self.caption
        step.act()
        self.rows = self.board.lists(session=self.session)
        lines: list[Line] = []
        for event in self.board.events(self._seen):
            self._seen = event.seq
            if event.session == self.session and _is_news(event):
                lines.append(_news(event, glyphs))
        for agent, text in self.troupe.told:
            lines.append((Span(f"{agent} is told: "), Span(shown(text), "warning")))
        self.troupe.told.clear()
        return lines


def _is_news(event: Event) -> bool:
    return event.kind not in _QUIET or (event.kind == "item.added" and event.by == PERSON)


def _news(event: Event, glyphs: Glyphs) -> Line:
    style: Style = "accent" if event.by == PERSON else _COLOURS.get(event.kind, "plain")
    return (Span(sentence(event, glyphs), style),)


def _play_live(play: Play, speed: float) -> None:
    feed: list[Line] = []
    tick = 0
    begun, due = time.monotonic(), 0.0
    with Screen() as screen:

        def draw() -> None:
            frame = Frame(_TITLE, _clock(play.seconds), play.caption, play.rows, feed, play.troupe.tools, tick)
            screen.draw(frame_lines(frame, screen.look, screen.height - 5))

        for step in play.troupe.steps():
            news = play.perform(step, screen.look.glyphs)
            feed.extend((Span(f"{_clock(play.seconds)}  ", "dim"), *line) for line in news)
            del feed[:-40]
            draw()
            due += step.seconds / speed if speed else 0.0
            while (left := due - (time.monotonic() - begun)) > 0:
                time.sleep(min(_BEAT, left))
                play.seconds = time.monotonic() - begun
                tick += 1
                draw()


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _play_plainly(play: Play, speed: float) -> None:
    seen = look()
    print(_TITLE)
    for step in play.troupe.steps():
        news = play.perform(step, seen.glyphs)
        if step.caption:
            print(f"\n{step.caption}")
        for line in news:
            print(f"  {plain(line)}", flush=True)
        if speed:
            time.sleep(step.seconds / speed)
    print()
    rows = [row for row in play.rows if row.todos.items]
    show(board_lines(rows, seen, now=play.board.now()))


def _farewell(session: str | None) -> Iterator[Line]:
    """What to try next."""
    narrow = (look().columns or 100) < 90
    yield ()
    yield (Span(" Now with your own work:", "bold"),)
    first = f"punchlist todos --session {session}" if session else 'punchlist todo append "My first item"'
    for command, meaning in (
        (first, "look at what the demo left behind" if session else "begin a list in this project"),
        ("punchlist todos", "see what is open, of people and agents"),
        ("punchlist events --follow", "watch it change, live, from another terminal"),
    ):
        if narrow:
            yield (Span(f"   {command}", "focus"),)
        yield (
            (Span(f"     {meaning}", "dim"),) if narrow else (Span(f"   {command:<40} ", "focus"), Span(meaning, "dim"))
        )

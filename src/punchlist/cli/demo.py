"""`punchlist demo`: three scripted agents at work on a real board, live in the terminal."""

import argparse
import math
import os
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress

from msgspec.structs import replace

from punchlist.board import Board
from punchlist.cli.arguments import Parser, board_url, command_parser
from punchlist.cli.screen import Screen, can_draw
from punchlist.cli.terminal import detect_display, show
from punchlist.terminal.lists import Frame, board_lines, find_news, frame_lines, item_line
from punchlist.terminal.sentences import sentence
from punchlist.terminal.spans import Glyphs, Line, Span, Style, pack, plain, safe_line
from punchlist.testing.demo_script import PERSON, STORY_ITEM, Scene, Troupe
from punchlist.views.grades import load_reasons

_TITLE = "Punchlist: three agents at work"
_FRAME_SECONDS = 0.1
_LONGEST_CAPTION = 90
_STORY_COLUMNS = 100
_COLOURS: dict[str, Style] = {
    "item.completed": "good",
    "item.blocked": "warning",
    "list.refused": "warning",
    "mode.changed": "warning",
}


def parser() -> Parser:
    about = "Plays a scripted run of three agents with subagents, on a board of its own in memory."
    made = command_parser("demo", about, run=_play)
    made.add_argument(
        "--speed", type=_parse_speed, default=1.0, metavar="X", help="2 is twice as fast, 0 does not wait"
    )
    return made


def _parse_speed(text: str) -> float:
    with suppress(ValueError):
        if 0 <= float(text) < math.inf:
            return float(text)
    raise argparse.ArgumentTypeError(f"`{text}` is no speed; use a number from 0 up, such as 2")


def _play(options: Namespace) -> None:
    session = f"demo-{os.urandom(2).hex()}"
    with Board.open(board_url(options) or "memory:") as board:
        play = Play(board, session)
        if can_draw():
            _play_live(play, options.speed)
        else:
            _play_plainly(play, options.speed)
        show(_open_item(play))
    show(_next_steps(session if board_url(options) else None))


class Play:
    """A run of the script: the lists and the caption to show now, and the events that were shown."""

    def __init__(self, board: Board, session: str) -> None:
        self.board = board
        self.session = session
        self.troupe = Troupe(board, session)
        self.caption = ""
        self.seconds = 0.0
        self.rows = board.lists(session=session)
        self._seen = board.store.last_seq()

    def perform(self, scene: Scene, glyphs: Glyphs) -> list[Line]:
        self.caption = scene.caption or self.caption
        scene.act()
        self.rows = self.board.lists(session=self.session)
        lines: list[Line] = []
        events = list(self.board.events(self._seen))
        self._seen = max([self._seen, *(event.seq for event in events)])
        for event in find_news([event for event in events if event.session == self.session]):
            style: Style = "accent" if event.by == PERSON else _COLOURS.get(event.kind, "plain")
            lines.append((Span(sentence(event, glyphs), style),))
        for agent, text in self.troupe.told:
            lines.append((Span(f"{agent} is told: "), Span(safe_line(text), "warning")))
        self.troupe.told.clear()
        return lines


def _play_live(play: Play, speed: float) -> None:
    feed: list[Line] = []
    tick = 0
    begun, due = time.monotonic(), 0.0
    with Screen() as screen:

        def draw() -> None:
            tools = play.troupe.tools
            notes: dict[int, Line] = {row.number: (Span(tools.get(row.agent, ""), "dim"),) for row in play.rows}
            rows = 1 if (screen.display.columns or 80) >= _LONGEST_CAPTION + 5 else 2
            clock = _clock(play.seconds)
            frame = Frame(_TITLE, clock, play.caption, play.rows, feed, notes, tick, caption_rows=rows)
            screen.draw(frame_lines(frame, screen.display, screen.height - 5))

        for scene in play.troupe.scenes():
            news = play.perform(scene, screen.display.glyphs)
            feed.extend((Span(f"{_clock(play.seconds)}  ", "dim"), *line) for line in news)
            del feed[:-40]
            draw()
            due += scene.seconds / speed if speed else 0.0
            while (left := due - (time.monotonic() - begun)) > 0:
                time.sleep(min(_FRAME_SECONDS, left))
                play.seconds = time.monotonic() - begun
                tick += 1
                draw()


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _play_plainly(play: Play, speed: float) -> None:
    display = detect_display()
    print(_TITLE)
    for scene in play.troupe.scenes():
        news = play.perform(scene, display.glyphs)
        if scene.caption:
            print(f"\n{scene.caption}")
        for line in news:
            print(f"  {plain(line)}", flush=True)
        if speed:
            time.sleep(scene.seconds / speed)
    print()
    rows = [row for row in play.rows if row.todos.items]
    show(board_lines(rows, display, now=play.board.now()))


def _open_item(play: Play) -> Iterator[Line]:
    """Yield the item that was failing and became verified, with its story."""
    display = detect_display()
    row = next(row for row in play.rows if row.agent == play.troupe.builder.name)
    reasons = play.board.store.read(lambda tx: load_reasons(tx, [row]))
    item = next(item for item in row.todos.items if item.content == STORY_ITEM)
    yield ()
    yield item_line(replace(item, notes=()), display, indent=1, reason=reasons[row.number][item.id])
    yield from ((Span(f"   {line}", "dim"),) for note in item.notes for line in pack([note], _STORY_COLUMNS, ""))


def _next_steps(session: str | None) -> Iterator[Line]:
    yield ()
    yield (Span(" Now with your own work:", "bold"),)
    first = f"punchlist todos --session {session}" if session else 'punchlist todo append "My first item"'
    for command, meaning in (
        (first, "look at what the demo left behind" if session else "begin a list in this project"),
        ("punchlist todos", "see what is open, of people and agents"),
        ("punchlist todos --follow", "watch it change, live, from another terminal"),
    ):
        yield (Span(f"   {command}", "focus"),)
        yield (Span(f"     {meaning}", "dim"),)

"""Write docs/images/top.svg: the screen of `punchlist top`, drawn by its own code from agents that are made up."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from tools.night import EVENING, write_night

from punchlist.board import Board
from punchlist.presence.roster import load_roster
from punchlist.reports.work_reports import load_brief
from punchlist.terminal.now import Detail, TopFrame, arrange_rows, key_of, top_lines
from punchlist.terminal.spans import UNICODE, Display, Line, Style
from punchlist.testing import FakeClock
from punchlist.text import width

PLACE = Path(__file__).parents[1] / "docs" / "images" / "top.svg"
COLUMNS, HEIGHT = 120, 31
CELL, ROW = 9.0, 19.0
STYLES: dict[Style, str] = {
    "plain": "fill:#e6edf3",
    "dim": "fill:#8b949e",
    "bold": "fill:#e6edf3;font-weight:bold",
    "focus": "fill:#56d4dd;font-weight:bold",
    "good": "fill:#3fb950",
    "warning": "fill:#d29922",
    "bad": "fill:#ff7b72",
    "struck": "fill:#8b949e;text-decoration:line-through",
    "accent": "fill:#d2a8ff",
}


def draw() -> str:
    """Return the picture: the morning after the night of seven projects."""
    clock, display = FakeClock(EVENING), Display(UNICODE, COLUMNS)
    with Board.open("memory:", clock=clock) as board:
        write_night(board, clock)
        roster = load_roster(board, present=())
        groups = load_brief(board, roster, None, project=None, who="ada", asks_git=False).groups
        rows = arrange_rows(groups, roster, display, "")
        chosen, *others = [row for row in rows.rows if row.agent and row.agent.total]
        frame = TopFrame(
            rows=rows,
            now=board.now(),
            selected=key_of(chosen.of),
            detail=Detail(str(chosen.owner), chosen, rows=board.work(session=chosen.row.session)),
            lists=[(row, board.work(session=row.row.session)) for row in others],
            feed="live, watching",
        )
        lines = top_lines(frame, display, HEIGHT)
    label = "punchlist top: what to do now, to look at first, at work and checked, and the lists of agents"
    return frame_lines(lines, COLUMNS, label)


def frame_lines(lines: Sequence[Line], columns: int, label: str) -> str:
    """Return lines of a terminal as a picture, in a window of their own."""
    drawn = [draw_line(line, place) for place, line in enumerate(lines)]
    wide, high = round(columns * CELL + 30), round(len(drawn) * ROW + 30)
    styles = "".join(f".{name}{{{style}}}" for name, style in STYLES.items())
    return (
        f'<svg viewBox="0 0 {wide} {high}" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}">\n'
        f"<style>text{{font:15px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace}}{styles}</style>\n"
        f'<rect x=".5" y=".5" width="{wide - 1}" height="{high - 1}" rx="10" fill="#161b22" stroke="#30363d"/>\n'
        f'<g transform="translate(15,15)">\n{"".join(drawn)}</g>\n</svg>\n'
    )


def draw_line(line: Line, place: int) -> str:
    parts: list[str] = []
    left = 0
    for span in line:
        wide = width(span.text)
        if span.text.strip():
            text = span.text.rstrip().replace(" ", "\xa0")
            length = f'x="{left * CELL:g}" y="{place * ROW + 14:g}" textLength="{width(text) * CELL:g}"'
            parts.append(f'<text class="{span.style}" {length}>{escape(text)}</text>')
        left += wide
    return "".join(parts) + "\n"


if __name__ == "__main__":
    PLACE.write_text(draw(), encoding="utf-8")

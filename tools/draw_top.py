"""Write docs/images/top.svg: the screen of `punchlist top`, drawn by its own code from agents that are made up."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from html import escape
from pathlib import Path
from typing import Any

from punchlist.core.overview import PersonWait
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.store import ListRow
from punchlist.terminal.now import Detail, TopFrame, arrange_rows, key_of, top_lines
from punchlist.terminal.spans import UNICODE, Display, Line, Style
from punchlist.text import width
from punchlist.views.now import AgentNow, DoneSince, Roster, SubagentNowView

PLACE = Path(__file__).parents[1] / "docs" / "images" / "top.svg"
COLUMNS, HEIGHT = 135, 18
NOW = datetime(2026, 3, 2, 10, 4).astimezone()
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
    "selected": "fill:#0d1117",
}


def ago(**time: int) -> datetime:
    return NOW - timedelta(**time)


def make_agent(project: str, session: str, **fields: Any) -> AgentNow:
    return AgentNow(project=f"/home/ada/{project}", session=session, agent="main", list_session=session, **fields)


def make_roster() -> Roster:
    agents = (
        make_agent("infra", "i", host="claude-code", state="waiting", since=ago(minutes=4),
                   waits_for="permission: rm -r old"),
        make_agent("till", "t", host="codex", state="busy", focus="Fixing the rounding", focus_since=ago(minutes=6),
                   done=2, total=5, session_state="red", check="pytest", check_at=ago(seconds=40)),
        make_agent("shop", "s", host="claude-code", state="busy", focus="Writing the migration",
                   focus_since=ago(seconds=74), done=3, total=7, session_state="green"),
        make_agent("docs", "d", host="claude-code", state="busy", since=ago(seconds=12), doing="Edit README.md",
                   subagents=(SubagentNowView("explore", 1, 2),)),
        make_agent("web", "w", host="opencode", state="idle", since=ago(minutes=31), done=4, total=4),
        make_agent("mail", "m", host="gemini", state="gone", since=ago(hours=2), title="Sort the inbox"),
    )  # fmt: skip
    waits = (
        PersonWait(kind="question", project="/home/ada/api", session="a", agent="login", id="3",
                   title="Choose the region", text="Which region: eu-west or us-east?", since=ago(minutes=3)),
        PersonWait(kind="plan", project="/home/ada/shop", session="p", agent="checkout", id="2",
                   title="Move the basket to the server", since=ago(minutes=12)),
    )  # fmt: skip
    grades, sessions = {"verified": 9, "unchecked": 3, "failing": 1}, {"green": 3, "unchecked": 1, "red": 1}
    return Roster(
        at=NOW, agents=agents, waits=waits, done=DoneSince(since=ago(hours=2), items=grades, sessions=sessions)
    )


def make_list() -> ListRow:
    texts = ("Find the old schema", "Name the new columns", "Ask for a copy of the data", "Write the migration",
             "Test it on the copy", "Run it", "Check the totals")  # fmt: skip
    statuses = [*[Status.COMPLETED] * 3, Status.IN_PROGRESS, *[Status.PENDING] * 3]
    items = tuple(
        TodoItem(
            id=str(place),
            content=text,
            status=status,
            active_form="Writing the migration" if status is Status.IN_PROGRESS else None,
            grade="verified" if status is Status.COMPLETED else None,
            created_at=ago(hours=1),
            created_by="main",
            started_at=ago(seconds=74) if status is Status.IN_PROGRESS else None,
        )
        for place, (text, status) in enumerate(zip(texts, statuses, strict=True), 1)
    )
    return ListRow(1, "s", "main", None, None, "/home/ada/shop", "execute", NOW, TodoList(items=items))


def draw() -> str:
    """Return the picture."""
    roster, display = make_roster(), Display(UNICODE, COLUMNS)
    chosen = roster.agents[2]
    frame = TopFrame(
        roster=roster,
        rows=arrange_rows(roster, display, ""),
        now=NOW,
        selected=key_of(chosen),
        detail=Detail("shop / claude-code", rows=[make_list()]),
        feed="live, watching",
    )
    label = "punchlist top: what waits on you, agents at work, idle and gone, and the selected list"
    return frame_lines(list(top_lines(frame, display, HEIGHT)), COLUMNS, label)


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
        if span.style == "selected":
            size = f'width="{wide * CELL:g}" height="{ROW:g}"'
            parts.append(f'<rect x="{left * CELL:g}" y="{place * ROW:g}" {size} fill="#e6edf3"/>')
        if span.text.strip():
            text = span.text.rstrip().replace(" ", "\xa0")
            length = f'x="{left * CELL:g}" y="{place * ROW + 14:g}" textLength="{width(text) * CELL:g}"'
            parts.append(f'<text class="{span.style}" {length}>{escape(text)}</text>')
        left += wide
    return "".join(parts) + "\n"


if __name__ == "__main__":
    PLACE.write_text(draw(), encoding="utf-8")

"""Write docs/images/rows.svg: the rows under Claude Code's prompt, printed by their own code from a board."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
from tools.draw_top import frame_lines

from punchlist.board import Board
from punchlist.store.current_work import load_line
from punchlist.terminal.spans import Line, Span
from punchlist.testing import FakeClock
from punchlist_statusline import UNICODE, decode_object, render_rows

PLACE = Path(__file__).parents[1] / "docs" / "images" / "rows.svg"
COLUMNS = 84
PROJECT = "/home/ada/till"
ITEMS = ("Find where totals are rounded", "Round half up", "Test it with last year's receipts", "Tell accounting")


def make_board(clock: FakeClock) -> Board:
    """Return a board on which an agent works: two items are done, and a question waits."""
    board = Board.open("memory:", clock=clock)
    agent = board.agent("main", session="s1", project=PROJECT)
    agent.call("todo", {"set": list(ITEMS), "start": "1"})
    agent.call("todo", {"done": "1", "start": "2"})
    agent.tool_started("c1", "Edit", {"file_path": f"{PROJECT}/totals.py"})
    agent.tool_finished("c1", "ok")
    agent.tool_started("c2", "Bash", {"command": "pytest -q"})
    agent.tool_finished("c2", "48 passed in 1.2s", exit_code=0)
    agent.call("todo", {"done": "2", "start": "3"})
    agent.ask("4", "Who at accounting should hear of it?")
    clock.advance(74)
    return board


def list_rows() -> list[Line]:
    """Return the rows that the status line prints for the session."""
    clock = FakeClock(datetime(2026, 3, 2, 10, 4, tzinfo=UTC))
    with make_board(clock) as board:
        line = board.store.read(lambda tx: load_line(tx, "s1", board.now()))
        found = decode_object(msgspec.json.encode(line))
        rows = render_rows(found, now=board.now().timestamp(), columns=COLUMNS - 2, glyphs=UNICODE)
    return [(Span("  "), *(Span(text, style) for text, style in row)) for row in rows]  # pyright: ignore[reportArgumentType]


def draw() -> str:
    """Return the picture: the end of a conversation, the prompt, and the rows below it."""
    across = "─" * (COLUMNS - 2)
    window: list[Line] = [
        (Span("● ", "good"), Span("Bash", "bold"), Span("(pytest -q)")),
        (Span("  └ 48 passed in 1.2s", "dim"),),
        (),
        (Span(f"╭{across}╮", "dim"),),
        (Span("│ ", "dim"), Span(f"{'>':<{COLUMNS - 4}}"), Span(" │", "dim")),
        (Span(f"╰{across}╯", "dim"),),
    ]
    label = (
        "Claude Code with Punchlist's rows under the prompt: the item in progress, the count, the checks, what waits"
    )
    return frame_lines([*window, *list_rows()], COLUMNS, label)


if __name__ == "__main__":
    PLACE.write_text(draw(), encoding="utf-8")

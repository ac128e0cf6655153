"""Write docs/images/page-light.png and page-dark.png: Home of `punchlist serve`, after the night of seven projects."""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from tests.server.conftest import Running
from tools.draw_screens import CHROMIUM
from tools.night import EVENING, write_night

from punchlist import Board
from punchlist.testing import FakeClock

ROOT = Path(__file__).parents[1]
WIDTH = 1160


def main() -> None:
    clock = FakeClock(EVENING)
    with (
        tempfile.TemporaryDirectory() as place,
        Board.open(Path(place) / "board.db", clock=clock) as board,
        sync_playwright() as playwright,
    ):
        write_night(board, clock)
        server = Running(board)
        server.start()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for theme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": WIDTH, "height": 300}, device_scale_factor=1.5, color_scheme=theme
            )
            page = context.new_page()
            page.goto(server.access.link)
            page.get_by_text("live", exact=True).wait_for()
            page.screenshot(path=ROOT / "docs" / "images" / f"page-{theme}.png", full_page=True)
        browser.close()
        server.stop()


if __name__ == "__main__":
    main()

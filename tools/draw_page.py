"""Write docs/images/page-light.png and page-dark.png: the first page of `punchlist serve`, with made-up agents."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import sync_playwright
from punchlist.server.pages.now import count_waits, load_now
from tools.draw_top import make_roster

from punchlist.board import Board
from punchlist.server.pages.rendering import render

ROOT = Path(__file__).parents[1]
STYLE = ROOT / "src" / "punchlist" / "server" / "static" / "style.css"
CHROMIUM = "/usr/bin/chromium"


def render_page() -> str:
    """Return the page as one file: with its style, and without its script."""
    roster = make_roster()
    frame = {"path": "/", "back": "/", "query": "", "theme": "auto", "next_theme": "light", "notice": ""}
    frame |= {"waits": count_waits(roster), "epoch": 0, "scope": "edit"}
    with Board.open("memory:") as board:
        page = render("now.html", {"page": frame, "now": load_now(board, roster)})
    page = re.sub(r"<script.*?</script>|<link[^>]*>", "", page)
    page = page.replace('role="status" hidden></p>', 'role="status">live</p>')
    return page.replace("</head>", f"<style>{STYLE.read_text()}</style></head>")


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for theme in ("light", "dark"):
            shown = browser.new_page(device_scale_factor=1.5, color_scheme=theme)
            shown.set_viewport_size({"width": 1120, "height": 300})
            shown.set_content(render_page())
            height = shown.evaluate("document.querySelector('main').lastElementChild.getBoundingClientRect().bottom")
            shown.set_viewport_size({"width": 1120, "height": int(height) + 16})
            shown.screenshot(path=ROOT / "docs" / "images" / f"page-{theme}.png")
        browser.close()


if __name__ == "__main__":
    main()

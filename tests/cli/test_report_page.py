"""The page of a report as a real browser lays it out, from a phone to a desk."""

import json
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest

from punchlist.board import Board
from tests.cli.conftest import Run

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDTHS = (390, 800, 1200)

# For each width: words that are broken, how much too wide the page is, and labels that run over the axis beside them.
LOOK = r"""
const found = [];
for (const frame of document.querySelectorAll("iframe")) {
  const page = frame.contentDocument, broken = [], over = [];
  const walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest("svg")) continue;
    for (const word of node.data.matchAll(/(?<![\p{L}\d])[\p{L}\d]{1,14}(?![\p{L}\d])/gu)) {
      const range = page.createRange();
      range.setStart(node, word.index); range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map(rect => Math.round(rect.top)));
      if (lines.size > 1) broken.push(word[0]);
    }
  }
  for (const row of page.querySelectorAll(".row")) {
    const [label, bar] = [row.children[0].getBoundingClientRect(), row.children[1].getBoundingClientRect()];
    if (label.right > bar.left && label.bottom > bar.top + 1) over.push(row.textContent);
    if (getComputedStyle(row.children[0]).overflow !== "hidden") over.push(row.textContent);
  }
  const wide = page.documentElement.scrollWidth - page.documentElement.clientWidth;
  found.push({broken, over, wide, rows: page.querySelectorAll(".row").length});
}
document.querySelector("pre").textContent = JSON.stringify(found);
"""


def laid_out(page: str, folder: Path) -> list[dict[str, Any]]:
    """What a browser makes of the page at each width. Its own policy lets nobody look, so that is taken out here."""
    assert BROWSER is not None
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    frames = "".join(f'<iframe width="{width}" height="900" srcdoc="{escape(page)}"></iframe>' for width in WIDTHS)
    outer = folder / "outer.html"
    outer.write_text(f"<!doctype html><pre></pre>{frames}<script>onload = () => {{ {LOOK} }}</script>")
    words = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/browser", "--dump-dom"]
    done = subprocess.run([BROWSER, *words, outer.as_uri()], capture_output=True, check=True, timeout=60)
    (said,) = re.findall(r"<pre>(.*?)</pre>", done.stdout.decode())
    return json.loads(unescape(said))


@pytest.mark.skipif(BROWSER is None, reason="there is no browser here")
def test_a_page_breaks_no_word_and_fits_the_screen_from_a_phone_to_a_desk(
    run: Run, board: Board, tmp_path: Path
) -> None:
    agent = board.agent("main", session="0198c2d4-7a51-7c2e-9f1b-2f1de6a0b1c2")
    texts = [
        "Read the parser and find out why nested lists lose their indentation when they are written back",
        "MAKE THE WHOLE DEPLOYMENT WORK ON WINDOWS AND MACOS WITHOUT ANY WARNINGS AT ALL",
        "Write a failing test in tests/markdown/test_round_trip.py",
        "x" * 200,
    ]
    agent.call("todo", {"set": texts})
    for number in range(1, 5):
        agent.tool_started(f"e{number}", "Edit", {"file_path": f"/srv/acme/punchlist/markdown/file_{number}.py"})
        agent.tool_finished(f"e{number}", result="ok")
        agent.tool_started(f"c{number}", "Bash", {"command": "pytest -q"})
        agent.tool_finished(f"c{number}", result="1 failed" if number % 2 else "9 passed", is_error=bool(number % 2))
        evidence = ["pytest -q", "https://github.com/acme/punchlist/actions/runs/123456789012"]
        agent.call("todo", {"done": str(number), "evidence": evidence})
    for seen in laid_out(run("report", "--format", "html").out, tmp_path):
        assert seen == {"broken": [], "over": [], "wide": 0, "rows": 4}

"""The page of a report: what stands on it in which order, and how a real browser lays it out."""

import json
import re
import shutil
import subprocess
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from punchlist import Agent
from punchlist.board import Board
from punchlist.core.commands import Block, Target
from punchlist.terminal.spans import UNICODE
from punchlist.testing import FakeClock
from tests.cli.conftest import Run
from tests.cli.test_report_forms import git, ran

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
  const labels = page.querySelectorAll(".lanes > .lane-name");
  for (const row of labels) {
    const [label, bar] = [row.getBoundingClientRect(), row.nextElementSibling.getBoundingClientRect()];
    if (label.right > bar.left && label.bottom > bar.top + 1) over.push(row.textContent);
    if (getComputedStyle(row).overflow !== "hidden") over.push(row.textContent);
  }
  const wide = page.documentElement.scrollWidth - page.documentElement.clientWidth;
  found.push({broken, over, wide, rows: labels.length});
}
document.querySelector("pre").textContent = JSON.stringify(found);
"""


LONG_OUTPUT = (
    f"{'=' * 20} short test summary info {'=' * 20}\nFAILED tests/markdown/{'nested_' * 12}x.py\n1 failed in 1s"
)


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


class Sections(HTMLParser):
    """The headings of a page in their order, each with the text below it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}
        self.heading: str | None = None
        self.name = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("h2", "h3"):
            self.heading = ""

    def handle_endtag(self, tag: str) -> None:
        if tag in ("h2", "h3") and self.heading is not None:
            self.name, self.heading = self.heading, None
            self.texts.setdefault(self.name, "")

    def handle_data(self, data: str) -> None:
        if self.heading is not None:
            self.heading += data
        elif self.name:
            self.texts[self.name] += data


OUTPUT = "E   assert <b>90</b> == 100\nFAILED tests/test_cart.py::test_total\n1 failed in 0.1s"


@pytest.fixture
def page(run: Run, board: Board, project: Path) -> str:
    """A red session with a commit, a blocked item and one with nothing behind it; and a green one."""
    (project / ".git").rmdir()
    git("init")
    agent = board.agent("main", session="s1", project=project)
    agent.call("todo", {"set": ["Paint", "Sand", "Wax", "Deploy"]})
    edit(agent, "e1", project / "cart.py")
    agent.tool_started("c1", "Bash", {"command": "git commit"})
    git("add", ".")
    git("commit", "-m", "Paint <i>it</i>")
    agent.tool_finished("c1", result="")
    ran(agent, "c2", "pytest -q tests/test_cart.py", OUTPUT, is_error=True)
    agent.call("todo", {"done": "1"})
    agent.call("todo", {"done": "2"})
    agent.edit([Block(Target("Deploy"), "no <key>", on="ada")], by="main")
    other = board.agent("other", session="s2", project=project)
    other.call("todo", {"set": ["Oil", "Polish"]})
    edit(other, "e1", project / "oil.py")
    ran(other, "c1", "pytest -q", "3 passed in 0.1s")
    other.call("todo", {"done": "1"})
    return run("report", "--html").out


def edit(agent: Agent, call_id: str, path: Path) -> None:
    agent.tool_started(call_id, "Edit", {"file_path": str(path)})
    path.write_text("x = 1\n")
    agent.tool_finished(call_id, result="ok")


def test_what_needs_a_persons_eyes_comes_first(page: str, project: Path) -> None:
    sections = Sections(page).texts
    names = list(sections)
    after = names.index("Needs your eyes")
    git_heading = next(name for name in names if name.startswith("Git "))
    red, green = f"{project.name} · main s1", f"{project.name} · other s2"
    assert names[after + 1 : after + 5] == [
        "Waiting on you (1)",
        "Marked done, but failing or unseen (2)",
        git_heading,
        red,
    ]
    assert names[after + 5 :] == ["main", "Timeline", green, "other"]
    assert (
        sections["Needs your eyes"]
        .strip()
        .startswith("session red project · main s1: pytest tests/test_cart.py failed")
    )
    assert "Red: pytest tests/test_cart.py failed" in sections[red]
    assert re.search(rf"✗ failed pytest -q tests/test_cart.py\d+ \w+ \d\d:\d\d{re.escape(OUTPUT)}\n", sections[red])
    assert (
        sections["Waiting on you (1)"]
        .strip()
        .startswith("Deploy waits on ada: no <key>punchlist answer 4 [TEXT] --session s1")
    )
    doubtful = sections["Marked done, but failing or unseen (2)"]
    assert "Paint (project · main s1) ✗ failing: pytest tests/test_cart.py, " in doubtful
    assert "Sand (project · main s1) · unseen: no work on it was seen" in doubtful
    assert "Green: pytest passed" in sections[green]
    assert "ended" not in sections[green]  # nobody was asked whether it has


def test_the_legend_has_every_mark_grade_and_session_state(page: str) -> None:
    sections = Sections(page).texts
    for status, mark in UNICODE.boxes.items():
        assert f"{mark} {status.replace('_', ' ')}" in sections["Items"]
    for grade, mark in UNICODE.grades.items():
        assert f"{mark} {grade}" in sections["Grades of completed items"]
    for state in ("green", "red", "not checked", "idle"):
        assert state in sections["Sessions"]


def test_an_item_has_its_failing_check_and_why_it_waits_and_commits_are_told_of_by_project(page: str) -> None:
    sections = Sections(page).texts
    said = sections["main"]
    assert said.startswith("2 of 4 done: 1 unseen, 1 failing")
    assert f"Checkpytest -q tests/test_cart.py{OUTPUT}" in said
    assert re.search(r"Deploy\s+waits on ada: no <key>", said)
    (commits,) = [text for name, text in sections.items() if name.startswith("Git ")]
    assert re.search(r"[0-9a-f]{7} \d+ \w+ \d\d:\d\d Paint <i>it</i>", commits)


def test_a_report_of_several_sessions_gives_no_id_twice_and_asks_for_nothing_that_only_a_server_has(page: str) -> None:
    ids = re.findall(r' id="([^"]+)"', page)
    assert ids
    assert len(ids) == len(set(ids))
    assert set(re.findall(r' aria-labelledby="([^"]+)"', page)) <= set(ids)
    for part in ("<form", "<input", "<button", "<script", "<a ", "<link", "data-topic", " data-age>", "src="):
        assert part not in page
    # Marks are drawn once, on the page itself.
    assert {mark.removeprefix("#") for mark in re.findall(r'href="([^"]*)"', page)} <= set(ids)


def test_a_report_has_earlier_plans_too_which_the_list_no_longer_shows(run: Run, board: Board) -> None:
    agent = board.agent("main", session="s1", dialect="claude-code")
    for status in ("in_progress", "completed"):
        agent.call("TodoWrite", {"todos": [{"content": "Sow", "status": status, "activeForm": "Sowing"}]})
    agent.call("TodoWrite", {"todos": [{"content": "Reap", "status": "pending", "activeForm": "Reaping"}]})
    page = run("report", "--html").out
    sections = Sections(page).texts
    assert sections["main"].startswith("1 of 2 done")
    assert "Reap" in sections["main"]
    assert "Sow" not in sections["main"]
    assert "Sow" in sections["No longer on the list"]
    # The status of an item is said by its mark.
    assert re.search(r'aria-label="pending">(?:(?!</li>).)*Reap', page, re.DOTALL)


def test_subagents_stand_below_the_agent_that_started_them(run: Run, board: Board) -> None:
    agent = board.agent("main", session="s1", dialect="claude-code")
    agent.call("TodoWrite", {"todos": [{"content": "Sow", "status": "in_progress", "activeForm": "Sowing"}]})
    child = agent.spawn("helper")
    child.call("TodoWrite", {"todos": [{"content": "Dig", "status": "in_progress", "activeForm": "Digging"}]})
    names = list(Sections(run("report", "--html").out).texts)
    assert names.index("main") < names.index("⤷ helper")


def test_a_page_says_that_nothing_needs_a_persons_eyes(run: Run, board: Board) -> None:
    agent = board.agent("main", session="s1")
    agent.call("todo", {"set": ["Oil", "Polish"]})
    ran(agent, "c1", "pytest -q", "3 passed in 0.1s")
    agent.call("todo", {"done": "1"})
    sections = Sections(run("report", "--html").out).texts
    assert sections["Needs your eyes"].strip().startswith("Nothing: no check is red")


def test_the_timeline_leaves_out_idle_time_and_says_how_much(run: Run) -> None:
    clock = FakeClock()
    with Board.open(clock=clock) as board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Paint", "Sand", "Wax"]})
        for number, pause in ((1, 14 * 3600), (2, 9 * 60), (3, 25 * 60)):
            agent.tool_started(f"c{number}", "Bash", {"command": "make"})
            clock.advance(60)
            agent.tool_finished(f"c{number}", result="ok")
            clock.advance(pause)
            agent.call("todo", {"done": str(number)})
    page = run("report", "--html").out
    said = Sections(page).texts["Timeline"]
    assert "14 h without activity25 min without activity" in said
    assert "nothing happened" in said
    rows = re.findall(r'<svg class="lane" role="img".*?</svg>', page, re.DOTALL)
    bars = [[float(x) for x in re.findall(r'<rect class="stint \w+" x="([\d.]+)%" width', row)] for row in rows]
    assert len(rows) == 3
    # The second item began after the night, and both parts of the axis are to be seen.
    assert bars[0][0] < 5
    assert 10 < bars[1][0] < 60
    assert [row.count('class="fold"') for row in rows] == [2, 2, 2]


def test_a_timeline_without_idle_time_has_no_folds(page: str) -> None:
    assert 'class="fold"' not in page
    assert "nothing happened" not in Sections(page).texts["Timeline"]


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
        agent.tool_finished(f"c{number}", result=LONG_OUTPUT if number % 2 else "9 passed", is_error=bool(number % 2))
        evidence = ["pytest -q", "https://github.com/acme/punchlist/actions/runs/123456789012"]
        agent.call("todo", {"done": str(number), "evidence": evidence})
    for seen in laid_out(run("report", "--format", "html").out, tmp_path):
        assert seen == {"broken": [], "over": [], "wide": 0, "rows": 4}

"""The pages of all sessions, of one session and of a plan, as a reader gets them."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from punchlist.agent import Agent
from punchlist.board import Board
from punchlist.hooks.events import answer_event
from punchlist.server.pages import sessions
from punchlist.server.pages.plan import compare, render_markdown
from punchlist.testing import FakeClock
from tests.server.conftest import Running

NOW = datetime(2026, 11, 16, 8, 0, tzinfo=UTC)


def begin(board: Board, session: str, project: str = "api", name: str = "main", item: str = "Write it") -> Agent:
    agent = board.agent(name, session=session, project=f"/home/ada/{project}")
    agent.edit({"op": "init", "items": [item, "Test it"]}, by=name)
    return agent


def run(agent: Agent, command: str, output: str, code: int) -> None:
    call = f"c{agent.board.store.last_seq()}"
    agent.tool_started(call, "Bash", {"command": command})
    agent.tool_finished(call, output, exit_code=code)


def titles(page: httpx.Response) -> list[str]:
    assert page.status_code == 200
    return [unescape(title) for title in re.findall(r'class="title-link[^>]*>([^<]*)<', page.text)]


# All sessions.


def test_every_session_is_listed_newest_first_ended_ones_too(browser: httpx.Client, board: Board) -> None:
    begin(board, "s1", item="First").finished()
    begin(board, "s2", item="Second")
    page = browser.get("/sessions")
    assert titles(page) == ["Second", "First"]
    assert "Ended, nothing was changed" in page.text
    assert page.text.count('href="/sessions/s1"') == 2  # its title, and its name


def test_a_session_has_its_name_however_long_ago_its_program_told_of_it(browser: httpx.Client, board: Board) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=3)
    for name in ("UserPromptSubmit", "SessionEnd"):
        event = {
            "hook_event_name": name,
            "session_id": "0000bede30",
            "cwd": "/projects/api",
            "prompt": "Round the totals",
        }
        answer_event(board, "claude-code", event, long_ago)
    page = browser.get("/sessions")
    assert titles(page) == ["Round the totals"]
    assert re.search(r"<strong>api</strong>.*?claude.*?bede30", page.text, re.DOTALL)
    assert titles(browser.get("/sessions?agent=claude")) == ["Round the totals"]


def test_sessions_are_filtered_by_project_state_agent_and_text(browser: httpx.Client, board: Board) -> None:
    red = begin(board, "s-red", "api", "claude", "Cache the rates")
    run(red, "pytest -q", "FAILED t.py::test_a\n2 failed, 3 passed in 0.1s", 1)
    green = begin(board, "s-green", "shop", "codex", "Round the totals")
    run(green, "pytest -q", "5 passed in 0.1s", 0)
    begin(board, "s-ended", "shop", "claude", "Remove jQuery").finished()
    asking = begin(board, "s-asking", "infra", "claude", "Apply the plan")
    asking.ask("1", "Which region?")
    found = {
        "project=/home/ada/shop": ["Remove jQuery", "Round the totals"],
        "state=red": ["Cache the rates"],
        "state=green": ["Round the totals"],
        "state=ended": ["Remove jQuery"],
        "state=waits": ["Apply the plan"],
        "agent=codex": ["Round the totals"],
        "q=s-red": ["Cache the rates"],
        "q=test+it": ["Apply the plan", "Remove jQuery", "Round the totals", "Cache the rates"],
        "q=jquery+remove&agent=claude": ["Remove jQuery"],
        "q=jquery&agent=codex": [],
    }
    assert {query: titles(browser.get(f"/sessions?{query}")) for query in found} == found
    assert "Red</strong>: pytest, 2 of 5 failed" in browser.get("/sessions?state=red").text


def test_filter_that_finds_nothing_offers_to_drop_it(browser: httpx.Client, board: Board) -> None:
    begin(board, "s1")
    page = browser.get("/sessions?q=nowhere&project=/home/ada/api").text
    assert 'href="?project=%2Fhome%2Fada%2Fapi">Drop the text</a>' in page


def test_a_page_has_fifty_sessions_and_older_ones_follow(
    browser: httpx.Client, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(120):
        begin(board, f"s{number:03}", item=f"Number {number}")
    first, last = browser.get("/sessions"), browser.get("/sessions?page=3")
    assert titles(first) == [f"Number {number}" for number in range(119, 69, -1)]
    assert titles(last) == [f"Number {number}" for number in range(19, -1, -1)]
    assert titles(browser.get("/sessions?page=99")) == titles(last)
    assert "1 to 50 of 120" in first.text
    # No more than a step is read for one page: what is older is a step further.
    monkeypatch.setattr(sessions, "STEP", 60)
    assert "Number 60" in titles(browser.get("/sessions?page=2"))
    assert 'step=1">Older' in browser.get("/sessions?page=2").text
    assert titles(browser.get("/sessions?step=1"))[0] == "Number 59"


# A session.


@pytest.fixture
def night(tmp_path: Path) -> Iterator[tuple[Board, FakeClock, httpx.Client]]:
    """A board whose clock a test moves, and a reader of its pages."""
    clock = FakeClock(NOW)
    with Board.open(tmp_path / "night.db", clock=clock) as board:
        server = Running(board)
        server.start()
        with server.open_client(headers={"Accept": "text/html"}) as client:
            client.get(server.access.link)
            yield board, clock, client
        server.stop()


def test_ended_session_offers_neither_adding_nor_history(browser: httpx.Client, board: Board) -> None:
    agent = begin(board, "s1")
    agent.edit({"op": "done", "item": "1"}, by="main")
    present = browser.get("/sessions/s1").text
    assert "Add an item" in present
    assert "History, 2 versions" in present
    agent.finished()
    ended = browser.get("/sessions/s1").text
    assert "Add an item" not in ended
    assert "History" not in ended


def test_head_of_a_session_tells_title_name_and_state(browser: httpx.Client, board: Board) -> None:
    session = "c6b77a52-0f6f-4f0c-9b1c-1f3c5e0d299b"
    agent = begin(board, session, "api", "claude", "Move auth to tokens")
    run(agent, "pytest -q", "FAILED t.py::test_a\n2 failed, 3 passed in 0.1s", 1)
    agent.edit({"op": "done", "item": "1"}, by="claude")
    page = browser.get(f"/sessions/{session}").text
    assert '<h1 class="title" dir="auto">Move auth to tokens</h1>' in page
    assert f'<code title="{session}">0d299b</code>' in page
    assert re.search(r"Red</strong>: pytest failed \d\d:\d\d and was not green since; 1 item was marked done", page)
    assert f'href="/sessions?project={quote("/home/ada/api")}"' in page


def test_done_items_carry_their_grade_and_are_not_struck(browser: httpx.Client, board: Board) -> None:
    agent = begin(board, "s1")
    agent.edit({"op": "start", "item": "1"}, by="main")
    agent.tool_started("c1", "Edit", {"file_path": "/home/ada/api/a.py"})
    agent.tool_finished("c1", "ok")
    run(agent, "pytest -q", "5 passed in 0.1s", 0)
    agent.edit({"op": "done", "item": "1"}, by="main")
    page = browser.get("/sessions/s1").text
    assert 'class="m m-green" role="img" aria-label="verified"' in page
    assert "s-struck" not in page


def test_list_of_a_subagent_is_within_that_of_its_parent(browser: httpx.Client, board: Board) -> None:
    agent = begin(board, "s1")
    agent.edit({"op": "start", "item": "1"}, by="main")
    child = agent.spawn("explore", label="Look for readers")
    child.edit({"op": "append", "items": ["Search"]}, by="explore")
    page = browser.get("/sessions/s1").text
    lists = page.split('data-agent="main"', 1)[1].split('id="timeline"')[0]
    assert 'class="list subs"' in lists.split("Test it")[0]
    assert page.count("Add an item</summary>") == 1


def test_times_have_no_seconds(night: tuple[Board, FakeClock, httpx.Client]) -> None:
    board, clock, client = night
    agent = begin(board, "s1")
    agent.edit({"op": "start", "item": "1"}, by="main")
    clock.advance(27 * 60)
    run(agent, "pytest -q", "5 passed in 0.1s", 0)
    page = client.get("/sessions/s1").text
    words = re.sub(r"<[^>]*>", " ", page.split("<main", 1)[1])
    assert f"{(NOW + timedelta(minutes=27)).astimezone():%H:%M}" in words
    assert not re.search(r"\d\d:\d\d:\d\d", words)


# Plans.

PLAN = """# Move

Some **words**.

1. Turn it on
2. Generate the types once, by hand
3. Replace the paths

- [ ] Tell the team
"""


def test_plan_is_shown_as_markdown_with_what_changed(browser: httpx.Client, board: Board) -> None:
    agent = begin(board, "s1")
    agent.enter_plan_mode()
    agent.propose_plan(PLAN)
    agent.reject_plan("Ask first", by="ada")
    agent.propose_plan(PLAN.replace("once, by hand", "in the build").replace("3. Replace", "3. Ask\n4. Replace"))
    page = browser.get("/sessions/s1/plan?agent=main").text
    assert "<strong>words</strong>" in page
    assert '<li class="new">Ask <span class="tag new">new</span></li>' in page
    assert "Generate the types <del>once, by hand</del><ins>in the build</ins>" in page
    assert "1 changed, 1 new" in page
    assert "☐ Tell the team" in page
    assert "Approve revision 2</button>" in page
    assert "Revision 1 was rejected by ada: <q>Ask first</q>" in page


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "[x](/tasks)",
        "![x](https://evil.example/x.png)",
        '<https://evil.example/" onmouseover=alert(1)>',
        "[x]: javascript:alert(1)\n\n[x]",
        '```x" onload=alert(1)\n<img src=x onerror=alert(1)>\n```',
        "| a |\n|:-:|\n| <b>b</b> |",
        "<div style='position:fixed'>x</div>",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "\x1b[31m\u202e# red",
    ],
)
def test_markdown_of_a_plan_injects_nothing(text: str) -> None:
    html = str(render_markdown(f"1. {text}\n\n{text}", {}))
    tags = set(re.findall(r"<(\w+)", html))
    assert tags <= {"h3", "p", "ol", "li", "a", "pre", "code", "table", "thead", "tbody", "tr", "th", "td"}
    assert not re.search(r"<[^>]*\s(?:style|src|on\w+)\s*=", html)
    assert all(address.startswith(("http://", "https://")) for address in re.findall(r'href="([^"]*)"', html))
    assert "\x1b" not in html
    assert "\u202e" not in html


def test_largest_plan_is_compared_and_shown_at_once() -> None:
    for line in ("a\n", "- same words here\n", f"{'word ' * 11_000}\n", "[" * 30 + "\n"):
        old = line * (60_000 // len(line))
        new = old.replace("a", "b", 3).replace("word", "sword", 3)
        changes = {change.line: change.kind for change in compare(old, new)}
        assert render_markdown(new, changes)


def test_markup_without_words_is_no_change_of_a_plan() -> None:
    before = "# Move\n\nWords"
    after = "# Move\n\n## Steps\n\n```sh\nmake\n```\n\n---\n\n| a | b |\n|---|:-:|\n\nWords"
    changed = [change.pieces for change in compare(before, after)]
    assert changed == [[("ins", "Steps")], [("ins", "make")], [("ins", "| a | b |")]]


def test_a_change_is_placed_in_its_step_and_the_title_is_no_place() -> None:
    before = "# Move\n\nWe go soon.\n\n1. Pack\n2. Drive\n\n## Later\n\nWe rest."
    after = "# Move\n\nWe go now.\n\n1. Pack\n2. Drive\n\n   - slowly\n\n## Later\n\nWe rest well."
    assert [(change.place, change.kind) for change in compare(before, after)] == [
        ("", "changed"),
        ("Step 2", "new"),
        ("Later", "changed"),
    ]


def test_approval_says_what_happens_next(browser: httpx.Client, board: Board) -> None:
    agent = begin(board, "s1", name="claude")
    agent.enter_plan_mode()
    agent.propose_plan(PLAN)
    page = browser.get("/sessions/s1/plan?agent=claude").text
    assert "the agent is told at its next turn, and begins" in page
    assert "make its 1 step the list of api · claude s1" in page
    agent.approve_plan(1, by="ada")
    decided = browser.get("/sessions/s1/plan?agent=claude").text
    assert "Revision 1 is approved, by ada" in decided
    assert "Approve revision" not in decided

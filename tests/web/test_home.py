"""Home says in one look what to do, what to look at, what runs and what was checked, for one agent and for 200."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tools.draw_screens import write_agents
from tools.night import EVENING, write_night

from punchlist.agent import Agent
from punchlist.board import Board
from punchlist.testing import FakeClock
from tests.server.conftest import Running
from tests.web.conftest import Tabs
from tests.web.test_reading import find_violations


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(EVENING)


@pytest.fixture
def board(tmp_path: Path, clock: FakeClock) -> Iterator[Board]:
    with Board.open(tmp_path / "data" / "board.db", clock=clock) as board:
        yield board


def read_rows(page: Page, section: str) -> list[str]:
    """Return the project and the sentence of each row."""
    rows = page.locator(f"{section} .row")
    return [" ".join(row.inner_text().split()) for row in rows.all()]


def test_home_has_the_groups_of_the_brief_in_its_order(tabs: Tabs, board: Board, clock: FakeClock) -> None:
    write_night(board, clock)
    page = tabs.open("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("3 wait for you, 2 to look at first")
    titles = [title.split()[0] for title in page.get_by_role("heading", level=2).all_inner_texts()]
    assert titles == ["Do", "Look", "At", "Checked"]
    assert [row.split()[0] for row in read_rows(page, "#do-now")] == ["infra", "mobile", "batch"]
    assert [row.split()[0] for row in read_rows(page, "#look-first")] == ["api", "site"]
    assert "Red: pytest, 2 of 120 failed; 2 items marked done after it" in read_rows(page, "#look-first")[0]
    assert "3 items claimed, nothing was run" in read_rows(page, "#look-first")[1]
    assert "4 of 4 verified, pytest green after the last change" in read_rows(page, "#checked")[0]
    expect(page.locator(".not-checked")).to_contain_text("Not checked: docs 7 changes")
    expect(page.locator("#items summary")).to_contain_text("14 items done")


def test_home_is_read_from_the_mark_that_the_person_moves(tabs: Tabs, board: Board, clock: FakeClock) -> None:
    write_night(board, clock)
    page = tabs.open("/")
    page.get_by_role("button", name="Mark as read").click()
    expect(page.locator(".notice")).to_contain_text("Marked as read")
    expect(page.locator("#checked .row")).to_have_count(0)
    expect(page.locator("#do-now .row")).to_have_count(3)  # what waits goes on waiting
    page.goto(f"{tabs.origin}/brief")
    assert page.url == f"{tabs.origin}/"  # the brief has no page of its own any more


@pytest.mark.parametrize("number", [20, 40, 200])
def test_home_is_at_most_3000_px_tall(tabs: Tabs, board: Board, clock: FakeClock, number: int) -> None:
    write_agents(board, clock, number)
    for width in (390, 1440):
        page = tabs.open("/", width=width)
        assert page.evaluate("document.documentElement.scrollHeight") <= 3000, width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert find_violations(page) == []


def test_crowd_in_60_projects_is_at_most_3000_px_tall(tabs: Tabs, board: Board, clock: FakeClock) -> None:
    write_agents(board, clock, 200, [f"project{number}" for number in range(60)])
    for path in ("/", "/search?q=the"):
        for width in (390, 1440):
            page = tabs.open(path, width=width)
            assert page.evaluate("document.documentElement.scrollHeight") <= 3000, (path, width)
    page.goto(f"{tabs.origin}/")
    expect(page.get_by_role("link", name="more projects")).to_have_attribute("href", "/sessions?state=unchecked")


@pytest.mark.parametrize("done", [0, 60, 100])
def test_page_of_a_session_with_100_items_is_at_most_3000_px_tall(tabs: Tabs, agent: Agent, done: int) -> None:
    agent.call("todo", {"set": [f"Write part {number} of the change" for number in range(100)]})
    for number in range(done):
        agent.tool_started(f"edit {number}", "Edit", {"file_path": "src/main.py"})
        agent.tool_finished(f"edit {number}", "ok")
        exit_code = int(number == 5)
        agent.tool_started(f"test {number}", "Bash", {"command": "pytest -q"})
        agent.tool_finished(f"test {number}", "1 failed" if exit_code else "4 passed", exit_code=exit_code)
        agent.call("todo", {"done": str(number + 1)})
    for width in (390, 1440):
        page = tabs.open("/sessions/s1", width=width)
        assert page.evaluate("document.documentElement.scrollHeight") <= 3000, width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert find_violations(page) == []
    page.keyboard.press("j")  # goes to what is shown, not to what is folded
    expect(page.locator(".item:focus")).to_be_in_viewport()


def test_crowd_is_grouped_by_project_and_filtered(tabs: Tabs, board: Board, clock: FakeClock) -> None:
    write_agents(board, clock, 200)
    page = tabs.open("/")
    projects = page.locator(".project")
    expect(projects).to_have_count(12)
    expect(projects.locator(":scope > summary", has_text="api")).to_contain_text("at work")
    expect(projects.nth(0).locator(".row:visible")).to_have_count(3)
    expect(projects.nth(1).locator(".row:visible")).to_have_count(0)
    projects.nth(1).locator(":scope > summary").click()
    expect(projects.nth(1).locator(".row:visible")).to_have_count(3)
    page.get_by_label("Filter the rows").fill("billing")
    page.keyboard.press("Enter")
    expect(page.locator(".row:visible").first).to_contain_text("billing")
    assert {row.split()[0] for row in read_rows(page, "main")} == {"billing"}
    expect(page.get_by_role("heading", level=1)).to_have_text("8 found for “billing”")  # not "Nothing waits for you"
    for beside in ("Mark as read", "Not checked", "Costs"):
        expect(page.get_by_text(beside)).to_have_count(0)
    page.get_by_role("link", name="All", exact=True).click()
    expect(projects).to_have_count(12)


def test_long_id_that_a_person_chose_gives_way_to_its_project(tabs: Tabs, board: Board) -> None:
    agent = board.agent("claude", session="refactor-the-payment-service-of-the-shop", project="/p/payments")
    agent.call("todo", {"set": ["Paint"], "ask": [{"id": "1", "text": "Which colour?"}]})
    for width in (390, 1440):
        who = tabs.open("/", width=width).locator("#do-now .who")
        is_cut = "one => one.scrollWidth > one.clientWidth"
        assert not who.locator("strong").evaluate(is_cut)
        assert who.locator("code").evaluate(is_cut)


def test_single_keys_are_turned_off(tabs: Tabs, agent: Agent) -> None:
    page = tabs.open("/sessions/s1")
    page.get_by_text("More", exact=True).click()
    page.get_by_role("button", name="Keys").click()
    page.get_by_label("Single keys are on").uncheck()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.reload()
    page.keyboard.press("j")
    expect(page.locator("body")).to_be_focused()
    page.get_by_text("More", exact=True).click()
    page.get_by_role("button", name="Keys").click()
    page.get_by_label("Single keys are on").check()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()


def test_first_run_offers_a_command_and_the_demo(tabs: Tabs) -> None:
    page = tabs.open("/")
    expect(page.locator(".command pre").first).to_contain_text("punchlist attach")
    expect(page.get_by_role("button", name="Copy").first).to_be_visible()
    expect(page.get_by_role("button", name="Play the demo")).to_be_visible()
    assert find_violations(page) == []


def test_errors_have_the_frame_one_sentence_and_one_link(chromium: Browser, running: Running) -> None:
    page = chromium.new_page()
    for path, words in {"/": "sign-in link", "/?token=wrong": "sign-in link", "/nowhere": "no such page"}.items():
        page.goto(running.origin + path)
        expect(page.get_by_role("heading", level=1)).to_contain_text(words)
        expect(page.get_by_role("navigation")).to_contain_text("Sessions")
        expect(page.locator("main p")).to_have_count(1)
        expect(page.locator("main a")).to_have_count(1)
    page.goto(running.access.link)
    page.goto(f"{running.origin}/nowhere")
    expect(page.get_by_role("heading", level=1)).to_contain_text("no such page")
    page.close()


def test_connection_is_told_of_once(tabs: Tabs, agent: Agent) -> None:
    page = tabs.open("/")
    expect(page.locator("#link")).to_have_text("live")
    page.evaluate(
        """() => {
        window.spoken = 0;
        const watched = { childList: true, subtree: true, characterData: true };
        for (const region of document.querySelectorAll("[role=status], [role=alert], [aria-live]"))
          new MutationObserver((changes) => { window.spoken += changes.length; }).observe(region, watched);
        }"""
    )
    for text in ("One", "Two", "Three"):
        agent.edit({"op": "append", "items": [text]}, by="main")
    expect(page.locator("#at-work")).to_contain_text("0/6")
    assert page.evaluate("window.spoken") == 0

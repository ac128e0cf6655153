"""Pages are read without a script, on a phone, in both themes, by anyone."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # pyright: ignore[reportMissingTypeStubs]
from playwright.sync_api import Page, expect

from punchlist.agent import Agent
from punchlist.board import Board
from tests.web.conftest import SHOP, Tabs

PATHS = {
    "home": "/",
    "filtered": "/?q=shop",
    "sessions": "/sessions",
    "session": "/sessions/s1",
    "past": "/sessions/s1?agent=main&revision=1",
    "plan": "/sessions/plans/plan?agent=main",
    "tasks": "/tasks",
    "list": "/tasks/default",
    "table": "/tasks/default?view=table",
    "graph": "/tasks/default?view=graph",
    "task": "/tasks/default/1",
    "stats": "/stats",
    "search": "/search?q=the",
    "missing": "/sessions/nothing",
    "no page": "/nowhere",
    "wrong token": "/?token=wrong",
}


@pytest.fixture
def life(board: Board, agent: Agent) -> None:
    """Something of everything: a question, a plan, a subagent, a red check, blocked and completed items."""
    agent.tool_started("c1", "Edit", {"file_path": f"{SHOP}/a.py"})
    agent.tool_finished("c1", "ok")
    agent.tool_started("c2", "Bash", {"command": "pytest -q tests/a-very-long-name-of-a-folder/test_totals.py"})
    agent.tool_finished("c2", "FAILED tests/test_totals.py::test_discount\n1 failed in 0.1s", exit_code=1)
    agent.edit({"op": "done", "item": "1"}, by="main")
    agent.edit(
        [{"op": "block", "item": "3", "reason": "a key"}, {"op": "note", "item": "2", "text": "x" * 300}], by="ada"
    )
    child = agent.spawn("explore", label="Look for readers of the old column")
    child.edit({"op": "append", "items": ["Search", "Report"]}, by="explore")
    agent.ask("2", "Which region should it be in: eu-west or us-east?")
    tasks = board.tasks("default", by="ada")
    for subject in ("Design the schema", "Write the importer", "Release"):
        tasks.create(subject, labels=["db"], blocked_by=[task.id for task in tasks.list()])
    tasks.claim("worker-1")
    board.tasks("long", by="ada").create("Copy " + "the tables of the old store " * 12)
    board.tasks("long", by="ada").claim("worker-2")
    planner = board.agent("main", session="plans", project="/projects/infra")
    planner.enter_plan_mode()
    planner.propose_plan("# Move\n\n1. Pack")
    planner.reject_plan("Ask first", by="ada")
    planner.propose_plan("# Move\n\n1. Ask\n2. Pack")


def find_violations(page: Page) -> list[str]:
    """Return all that axe finds on a page, each with the first place."""
    run: Any = Axe().run  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    found: list[dict[str, Any]] = run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]


@pytest.mark.usefixtures("life")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(tabs: Tabs, theme: str) -> None:
    context = tabs.open_context(theme=theme)
    for name, path in PATHS.items():
        page = context.new_page()
        page.goto(tabs.origin + path)
        for details in page.locator("details").all():
            details.evaluate("element => { element.open = true }")
        assert find_violations(page) == [], name
        page.close()


@pytest.mark.usefixtures("life")
@pytest.mark.parametrize("width", [390, 768, 3840])
def test_no_page_is_wider_than_the_window(tabs: Tabs, width: int) -> None:
    context = tabs.open_context(width=width)
    for path in PATHS.values():
        page = context.new_page()
        page.goto(tabs.origin + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        page.close()


@pytest.mark.usefixtures("life")
def test_everything_is_read_and_nothing_changed_without_a_script(tabs: Tabs, board: Board, agent: Agent) -> None:
    # Only a script can send the key of the browser, which ports do not share.
    page = tabs.open("/", scripts=False)
    expect(page.locator("#do-now")).to_contain_text("Run the suite: a key (and 1 more)")  # one row per session
    page.get_by_role("link", name="shop", exact=False).first.click()
    expect(page.locator(".item").first).to_contain_text("Write the migration")
    # The first failing item is open, and closed by its line; what is rarely used is behind a word.
    page.locator(".ev summary", has_text="failing:").click()
    expect(page.locator(".ev pre").first).to_be_hidden()
    page.get_by_text("History,").first.click()
    page.locator("input[type=range]").first.fill("1")
    page.get_by_role("button", name="Show").first.click()
    expect(page.locator(".past").first).to_contain_text("Version 1 of")
    page.get_by_role("link", name="Back to the present").click()
    waits = board.waits()
    page.get_by_label("Your answer").fill("eu-west")
    page.get_by_role("button", name="Answer").click()
    expect(page.get_by_text("allow scripts")).to_be_visible()
    assert board.waits() == waits
    assert agent.take_answers() is None


def test_theme_follows_the_switch(tabs: Tabs) -> None:
    page = tabs.open("/", theme="light")
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    for theme in ("light", "dark"):
        page.get_by_text("More", exact=True).click()  # the switch is behind the menu, with a label
        page.get_by_role("button", name="Theme").click()
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate(background) != light

"""Lists are changed by keyboard alone, and by hand; what a person types is not lost."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from punchlist.agent import Agent
from punchlist.board import Board
from punchlist.core.todo import Status
from tests.web.conftest import Tabs


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def contents(agent: Agent) -> list[str]:
    return [item.content for item in agent.todos.items]


def test_question_is_answered_by_keyboard(tabs: Tabs, board: Board, agent: Agent) -> None:
    agent.ask("1", "Which region?")
    page = tabs.open("/")
    press(page, "j", "Enter")
    page.keyboard.type("eu-west")
    press(page, "Enter")
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    expect(page.locator(".notice")).to_contain_text("Answered")
    assert not board.waits()
    assert "eu-west" in (agent.take_answers() or "")


def test_plan_is_approved_by_keyboard(tabs: Tabs, board: Board, agent: Agent) -> None:
    agent.enter_plan_mode()
    agent.propose_plan("# Move\n\n1. Pack")
    page = tabs.open("/")
    press(page, "j", "Enter")
    expect(page.get_by_role("heading", name="Move")).to_be_visible()
    approve = page.get_by_role("button", name="Approve")
    for _ in range(20):
        press(page, "Tab")
        if approve.evaluate("element => element === document.activeElement"):
            break
    press(page, "Enter")
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    assert not board.waits()


def test_reason_stays_when_a_newer_revision_came_meanwhile(tabs: Tabs, board: Board, agent: Agent) -> None:
    agent.propose_plan("# Move\n\n1. Pack")
    page = tabs.open("/sessions/s1/plan?agent=main&revision=1")
    page.get_by_label("What should be different?").fill("Ask first")
    agent.propose_plan("# Move\n\n1. Burn")
    page.get_by_role("button", name="Reject revision 1").click()
    expect(page.get_by_role("alert")).to_contain_text("Revision 2 came meanwhile")
    expect(page.locator(".plan")).to_contain_text("Burn")
    expect(page.get_by_label("What should be different?")).to_have_value("Ask first")
    page.get_by_role("button", name="Reject revision 2").click()
    expect(page.locator(".notice")).to_contain_text("Revision 2 of the plan is rejected")
    assert agent.plan is not None
    assert agent.plan.reason == "Ask first"


def test_list_is_edited_by_keyboard(tabs: Tabs, agent: Agent) -> None:
    page = tabs.open("/sessions/s1")
    items = page.locator(".item")
    press(page, "j", "d")
    expect(items.nth(0)).to_have_class(re.compile(r"\bcompleted\b"))
    press(page, "j", "e")
    page.keyboard.type("Backfill in slices")
    press(page, "Enter")
    expect(items.nth(1)).to_contain_text("Backfill in slices")
    press(page, "a")
    page.keyboard.type("Tell the data team")
    press(page, "Enter")
    expect(items).to_have_count(4)
    press(page, "Escape", "j", "k")
    expect(items.nth(1)).to_be_focused()
    press(page, "Alt+ArrowDown")
    expect(items.nth(2)).to_contain_text("Backfill in slices")
    expect(items.nth(2)).to_be_focused()
    assert contents(agent) == ["Write the migration", "Run the suite", "Backfill in slices", "Tell the data team"]
    press(page, "u")
    expect(items.nth(1)).to_contain_text("Backfill in slices")
    assert agent.todos.items[0].status is Status.COMPLETED


class Gate:
    """Holds the changes that a page sends, until it is opened; then also those that come later."""

    def __init__(self) -> None:
        self._held: list[Route] = []
        self._act: Callable[[Route], None] = self._held.append

    def take(self, route: Route) -> None:
        if route.request.method == "POST":
            self._act(route)
        else:
            route.continue_()

    def open(self, act: Callable[[Route], None]) -> None:
        """Do something to each change: let it go, or break it off."""
        self._act = act
        for route in self._held:
            act(route)


@pytest.fixture
def held(tabs: Tabs, agent: Agent) -> tuple[Page, Gate]:
    """Return the page of a session whose changes the server does not get before the test lets them go."""
    agent.ask("3", "Which suite?")
    page, gate = tabs.open("/sessions/s1"), Gate()
    expect(page.locator("#link")).to_have_text("live")
    page.route(re.compile(r"/(sessions/s1|answer)$"), gate.take)
    return page, gate


def test_person_types_on_while_a_change_is_under_way(held: tuple[Page, Gate], agent: Agent) -> None:
    page, gate = held
    press(page, "j", "j", "e")
    page.keyboard.type("Backfill in slices")
    press(page, "Enter", "a")
    page.keyboard.type("Tell the data team")
    press(page, "Enter")
    page.keyboard.type("And the oth")
    gate.open(Route.continue_)
    expect(page.locator(".item")).to_have_count(4)
    expect(page.locator(".item").nth(1)).to_contain_text("Backfill in slices")
    page.keyboard.type("ers")
    expect(page.get_by_label("Add an item to the list of main")).to_have_value("And the others")
    assert contents(agent) == ["Write the migration", "Backfill in slices", "Run the suite", "Tell the data team"]


def test_text_that_does_not_reach_the_server_comes_back(held: tuple[Page, Gate], agent: Agent) -> None:
    page, gate = held
    page.get_by_placeholder("Your answer").fill("All of them")
    page.get_by_role("button", name="Answer").click()
    press(page, "j", "e")
    page.keyboard.type("Write it")
    press(page, "Enter")
    agent.answer("3", "The short one", by="ada")
    expect(page.locator("#count")).to_be_hidden()  # a count of 0 is not shown
    gate.open(Route.abort)
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    expect(page.get_by_placeholder("Your answer")).to_have_value("All of them")
    expect(page.locator(".item").nth(0).get_by_label("Text")).to_have_value("Write it")
    expect(page.locator(".item").nth(0).get_by_label("Text")).to_be_visible()


def test_item_is_dragged_to_another_place(tabs: Tabs, agent: Agent) -> None:
    page = tabs.open("/sessions/s1")
    items = page.locator(".item")
    items.nth(2).locator(".mark").drag_to(items.nth(0))
    expect(items.nth(0)).to_contain_text("Run the suite")
    assert contents(agent) == ["Run the suite", "Write the migration", "Backfill"]


def test_slider_shows_the_past(tabs: Tabs, agent: Agent) -> None:
    agent.edit({"op": "remove", "item": "2"}, by="ada")
    page = tabs.open("/sessions/s1")
    expect(page.locator(".item")).to_have_count(2)
    page.get_by_text("History, 3 versions").click()  # the slider is behind a word: few look for it
    page.locator("input[type=range]").fill("1")
    expect(page.locator(".item")).to_have_count(3)
    expect(page.locator(".past")).to_contain_text("Version 1 of 3")
    page.locator("input[type=range]").fill("3")
    expect(page.locator(".item")).to_have_count(2)
    expect(page.locator(".past")).to_have_count(0)


@pytest.mark.usefixtures("agent")
def test_refusal_is_told_and_the_text_stays(tabs: Tabs) -> None:
    page = tabs.open("/sessions/s1")
    page.get_by_text("+ Add an item").click()  # adding is a `+` until it is wanted
    page.get_by_label("Add an item to the list of main").fill("One more")
    # As on a page that has not heard of the new list yet. At once: the first message of the stream would tell it.
    send = "element => { element.value = 'p99'; element.form.querySelector('[value=add]').click() }"
    page.locator(".add input[name=plan]").evaluate(send)
    expect(page.get_by_role("alert")).to_contain_text("new list meanwhile")
    expect(page.get_by_label("Add an item to the list of main")).to_have_value("One more")


def test_keys_are_explained(tabs: Tabs) -> None:
    page = tabs.open("/")
    press(page, "?")
    expect(page.get_by_role("dialog")).to_contain_text("mark the item done")
    press(page, "Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    press(page, "/")
    expect(page.get_by_role("searchbox")).to_be_focused()

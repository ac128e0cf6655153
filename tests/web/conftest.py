"""A real browser, signed in to a real server; what it complains of fails the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from punchlist.agent import Agent
from punchlist.board import Board
from tests.server.conftest import Running

HERE = Path(__file__).parent
SHOP = "/projects/shop"
_CHROMIUM = "/usr/bin/chromium"
PATIENCE = 60_000
"""Milliseconds after which something that a test waits for will not come, on however busy a machine."""
expect.set_options(timeout=PATIENCE)  # here, because tests with real agents open tabs without the fixtures below
_NETWORK = ("net::ERR_", "Failed to load resource")
"""Complaints about a server that a test has stopped, or a form that it refused."""

_WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.violations.push(`${event.blockedURI} ${event.violatedDirective}`);
});
window.alert = window.confirm = window.prompt = () => { window.violations.push("a script of a text ran"); };
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("web")
            item.add_marker(pytest.mark.needs("chromium"))


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    with Board.open(tmp_path / "data" / "board.db") as board:
        yield board


@pytest.fixture
def running(board: Board) -> Iterator[Running]:
    server = Running(board)
    server.start()
    yield server
    server.stop()


class Tabs:
    """Opens tabs that are signed in, and keeps what they complain of."""

    def __init__(self, browser: Browser, link: str, origin: str) -> None:
        self._browser = browser
        self._link = link
        self.origin = origin
        self.complaints: list[str] = []
        self._contexts: list[BrowserContext] = []

    def open_context(self, *, width: int = 1280, theme: str = "light", scripts: bool = True) -> BrowserContext:
        """Return a browser of its own, which was signed in by the link."""
        context = self._browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if theme == "dark" else "light",
            java_script_enabled=scripts,
        )
        context.set_default_timeout(PATIENCE)
        context.add_init_script(_WATCH)
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        context.on("console", self._hear)
        page = context.new_page()
        page.goto(self._link)
        page.wait_for_url(f"{self.origin}/")
        page.close()
        self._contexts.append(context)
        return context

    def open(self, path: str = "/", *, width: int = 1280, theme: str = "light", scripts: bool = True) -> Page:
        page = self.open_context(width=width, theme=theme, scripts=scripts).new_page()
        page.goto(self.origin + path)
        return page

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(words in message.text for words in _NETWORK):
            self.complaints.append(message.text)

    def close(self) -> None:
        for context in self._contexts:
            for page in context.pages:
                if not page.is_closed():
                    self.complaints += page.evaluate("window.violations ?? []")
            context.close()


@pytest.fixture
def tabs(chromium: Browser, running: Running) -> Iterator[Tabs]:
    opened = Tabs(chromium, running.access.link, running.origin)
    yield opened
    opened.close()
    assert opened.complaints == []


@pytest.fixture
def agent(board: Board) -> Agent:
    agent = board.agent("main", session="s1", project=SHOP)
    agent.edit({"op": "init", "items": ["Write the migration", "Backfill", "Run the suite"]}, by="main")
    agent.edit({"op": "start", "item": "1"}, by="main")
    return agent

"""A server on another port of this machine is sent the browser's cookie: with all that it gets it changes nothing."""

import re
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from punchlist.agent import Agent
from punchlist.board import Board
from tests.server.conftest import Running
from tests.server.test_gate import list_rows
from tests.web.conftest import Tabs

NAMES = ("127.0.0.1", "localhost", "punchlist.localhost", "[::1]")
"""Every name of this machine that a foreign server can know."""
READ = ("/", "/sessions/s1", "/tasks", "/stats", "/sessions", "/api/v1/now", "/openapi.json", "/static/sign_in.js")


class ForeignServer:
    """A dev server that turned bad. It keeps the cookies that it is sent, under every name of this machine."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.cookies: dict[str, str] = {}
        """By the name in `Host`."""
        foreign = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.headers["Host"].rpartition(":")[0]
                foreign.cookies[name] = self.headers.get("Cookie", "")
                place = NAMES.index(name)
                is_last = place + 1 == len(NAMES)
                if self.path == "/redirect" and not is_last:
                    self.send_response(302)
                    self.send_header("Location", f"http://{NAMES[place + 1]}:{foreign.port}/redirect")
                    self.end_headers()
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(foreign.draw_page().encode())

            def do_POST(self) -> None:
                """Send the browser on with its body, as 307 does."""
                self.send_response(307)
                self.send_header("Location", f"{foreign.target}/sessions/s1")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Listener6(ThreadingHTTPServer):
            address_family = socket.AF_INET6

        first = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port: int = first.server_address[1]
        self._servers = (first, Listener6(("::1", self.port), Handler))
        for server in self._servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()

    def draw_page(self) -> str:
        fields = "<input name=agent value=main><input name=do value=add><input name=text value=evil>"
        return (
            f"<!doctype html><title>A dev server</title><iframe src='{self.target}/sessions/s1'></iframe>"
            f"<img src='{self.target}/'><form id=direct method=post action='{self.target}/sessions/s1'>{fields}</form>"
            f"<form id=around method=post action='/'>{fields}</form>"
        )

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()


@pytest.fixture
def foreign(running: Running) -> Iterator[ForeignServer]:
    server = ForeignServer(running.origin)
    yield server
    server.close()


def test_foreign_server_changes_nothing_with_the_cookies_that_it_is_sent(
    tabs: Tabs, running: Running, board: Board, agent: Agent, foreign: ForeignServer
) -> None:
    context = tabs.open_context()
    page = context.new_page()
    for name in NAMES[:2]:  # the names by which the server of the board is reached
        page.goto(running.access.link.replace("127.0.0.1", name))
        page.wait_for_url(f"http://{name}:{running.access.port}/")
    before = board.store.last_seq()
    page.goto(f"http://{NAMES[0]}:{foreign.port}/redirect")
    page.wait_for_url(f"http://{NAMES[-1]}:{foreign.port}/redirect")
    assert list(foreign.cookies) == list(NAMES)
    for name in NAMES:
        page.goto(f"http://{name}:{foreign.port}/")
        assert page.evaluate("Object.keys(localStorage)") == []
    sent = {name: cookies for name, cookies in foreign.cookies.items() if running.access.cookie_name in cookies}
    assert list(sent) == ["127.0.0.1", "localhost"]  # else this test would show nothing
    for name, cookies in sent.items():
        replay(running, name, cookies)
    for form in ("direct", "around"):
        page.goto(f"http://{NAMES[0]}:{foreign.port}/")
        with page.expect_navigation(url=f"{running.origin}/sessions/s1") as answered:
            page.evaluate(f"document.getElementById('{form}').submit()")
        assert answered.value.status == 403
    page.goto(f"http://{NAMES[0]}:{foreign.port}/")
    asked = "{method: 'POST', credentials: 'include', headers: {'X-Punchlist-Key': ''}}"
    assert page.evaluate(f"fetch('{running.origin}/demo', {asked}).then(() => 'sent', () => 'refused')") == "refused"
    assert board.store.last_seq() == before
    tabs.complaints.clear()  # of the foreign page: it was refused to embed ours, and to ask for it
    own = context.new_page()
    own.goto(f"{running.origin}/sessions/s1")
    own.get_by_text("+ Add an item").first.click()
    own.get_by_label("Add an item to the list of main").fill("One more")
    own.keyboard.press("Enter")
    expect(own.locator(".item", has_text="One more")).to_be_visible()
    assert len(agent.todos.items) == 4


def replay(running: Running, name: str, cookies: str) -> None:
    """Ask for every change as the foreign server can: with the cookie, and any secret that it reads with it."""
    host = f"{name}:{running.access.port}"
    headers = {"Cookie": cookies, "Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    with running.open_client(headers=headers) as client:
        pages = [client.get(path, headers={"Accept": "text/html"}) for path in READ]
        assert {page.status_code for page in pages} == {200}
        found = {secret for page in pages for secret in re.findall(r"[\w-]{40,}", page.text)}
        keys = ["", *found, *re.findall(r"[0-9a-f]{64}", cookies)]
        changes = [row for row in list_rows() if row.method not in ("GET", "HEAD")]
        assert len(changes) > 30
        for row in changes:
            kind = "application/json" if row.path.startswith(("/api/", "/mcp")) else "application/x-www-form-urlencoded"
            for key in keys:
                sent = {"Content-Type": kind, "X-Punchlist-Key": key}
                answer = client.request(row.method, row.path, headers=sent, content="{}")
                assert (answer.status_code, answer.json()["code"]) == (403, "key_missing"), row


def test_browser_without_its_key_reads_and_is_told_to_open_the_link_again(
    tabs: Tabs, running: Running, agent: Agent
) -> None:
    page = tabs.open("/sessions/s1")
    page.evaluate("localStorage.clear()")  # as of a browser that was signed in before there were keys
    page.get_by_text("+ Add an item").first.click()  # the form is behind a word
    field = page.get_by_label("Add an item to the list of main")
    field.fill("One more")
    page.keyboard.press("Enter")
    expect(page.locator(".notice")).to_contain_text("open the link of `punchlist serve --status` again")
    expect(field).to_have_value("One more")
    page.goto(running.access.link)
    page.wait_for_url(f"{running.origin}/")
    page.goto(f"{running.origin}/sessions/s1")
    page.get_by_text("+ Add an item").first.click()
    field.fill("One more")
    page.keyboard.press("Enter")
    expect(page.locator(".item", has_text="One more")).to_be_visible()
    assert len(agent.todos.items) == 4

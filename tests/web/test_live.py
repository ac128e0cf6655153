"""Pages follow the board: what another process writes is painted, and a lost connection comes back by itself."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from random import randrange

import pytest
from playwright.sync_api import Browser, expect

from punchlist.agent import Agent
from punchlist.board import Board
from punchlist.server.run_files import load_secret
from punchlist.testing.demo_script import Troupe
from tests.web.conftest import Tabs


def run_command(board: Board, *words: str) -> None:
    """Run `punchlist` as another process, as an agent or a person does."""
    command = [sys.executable, "-m", "punchlist", *words, "--db", board.store.path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def port() -> int:
    """Return a free port from a range of which the system gives none by itself: the server gets it twice."""
    while True:
        with suppress(OSError), socket.create_server(("127.0.0.1", randrange(20_000, 32_000))) as listener:
            return listener.getsockname()[1]


@contextmanager
def serving(path: str, port: int) -> Generator[tuple[subprocess.Popen[str], str]]:
    """Run `punchlist serve` on a port; yield its process and its link, whose token it only prints to a terminal."""
    command = [sys.executable, "-m", "punchlist", "serve", "--no-watch", "--port", str(port), "--db", path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().split()[-1]
            yield process, f"{address}?token={load_secret(path)}"
        finally:
            process.kill()


def test_write_of_another_process_is_painted(tabs: Tabs, board: Board, agent: Agent) -> None:
    now, session = tabs.open("/"), tabs.open("/sessions/s1")
    expect(now.locator("#link")).to_have_text("live")
    expect(session.locator("#link")).to_have_text("live")
    run_command(board, "todo", "append", "From elsewhere", "--session", "s1")
    expect(session.locator(".item", has_text="From elsewhere")).to_be_visible()
    expect(now.locator("#at-work .row")).to_contain_text("0/4")
    agent.ask("1", "Which region?")
    expect(now.locator("#do-now")).to_contain_text("Which region?")
    expect(now.locator("#count")).to_contain_text("1 waits for you")


def test_demo_ends_on_a_page_that_was_open_all_the_time(tabs: Tabs, board: Board) -> None:
    scenes = Troupe(board, "demo", project="/demo").scenes()
    for scene in islice(scenes, 3):
        scene.act()
    page = tabs.open("/sessions/demo")
    expect(page.locator("#link")).to_have_text("live")
    for scene in scenes:
        scene.act()
    opened = page.locator("details.ev[open]")
    expect(opened).to_have_count(1)
    expect(opened).to_contain_text("verified: pytest, 12 passed")
    expect(opened).to_contain_text("called this done while pytest failed")
    opened.locator("summary").click()
    board.agent("tester", session="demo").edit({"op": "append", "items": ["One more"]}, by="ada")
    expect(page.locator(".item", has_text="One more")).to_be_visible()
    expect(opened).to_have_count(0)  # the reader closed it


def test_half_typed_text_and_focus_stay_while_the_page_changes(tabs: Tabs, agent: Agent) -> None:
    agent.ask("1", "Which region?")
    page = tabs.open("/sessions/s1")
    expect(page.locator("#link")).to_have_text("live")
    page.get_by_text("+ Add an item").click()
    field = page.get_by_label("Add an item to the list of main")
    field.fill("half a sen")
    field.evaluate("element => element.setSelectionRange(2, 4)")
    page.locator(".item").nth(1).locator("summary", has_text="Edit").evaluate("element => element.click()")
    agent.edit([{"op": "reword", "item": "2", "text": "Backfill, again"}, {"op": "start", "item": "2"}], by="main")
    expect(page.locator(".item").nth(1)).to_contain_text("Backfill, again")
    expect(field).to_be_focused()
    expect(field).to_have_value("half a sen")
    assert field.evaluate("element => [element.selectionStart, element.selectionEnd]") == [2, 4]
    expect(page.locator(".item").nth(1).locator("details.edit")).to_have_attribute("open", "")


def test_half_typed_answer_stays_with_its_question(tabs: Tabs, agent: Agent) -> None:
    # On the page of the session: Home has one row per session, for the question that waits longest.
    agent.ask("1", "Which region?")
    agent.ask("2", "Which day?")
    page = tabs.open("/sessions/s1")
    expect(page.locator("#link")).to_have_text("live")
    fields = page.get_by_placeholder("Your answer")
    fields.nth(1).fill("on Mon")
    agent.ask("3", "Which suite?")
    expect(fields).to_have_count(3)
    agent.answer("1", "eu-west", by="ada")
    expect(fields).to_have_count(2)
    expect(page.locator(".wait", has_text="Which day?").get_by_placeholder("Your answer")).to_have_value("on Mon")
    expect(fields.nth(0)).to_be_focused()
    expect(page.locator(".stale")).to_have_count(0)
    page.keyboard.type("day")
    page.keyboard.press("Enter")
    expect(fields).to_have_count(1)
    assert "on Monday" in (agent.take_answers() or "")


def test_answer_that_is_being_typed_stays_when_the_question_is_answered_elsewhere(tabs: Tabs, agent: Agent) -> None:
    agent.ask("1", "Which region?")
    page = tabs.open("/")
    expect(page.locator("#link")).to_have_text("live")
    page.get_by_placeholder("Your answer").fill("eu-we")
    agent.answer("1", "us-east", by="ada")
    expect(page.locator("#count")).to_be_hidden()
    expect(page.get_by_placeholder("Your answer")).to_have_value("eu-we")
    page.get_by_role("button", name="Answer").click()
    expect(page.get_by_role("alert")).to_contain_text("waits no more")


def test_answer_that_is_being_typed_does_not_go_to_the_next_question(tabs: Tabs, board: Board, agent: Agent) -> None:
    agent.ask("1", "Keep the old table?")
    page = tabs.open("/")
    expect(page.locator("#link")).to_have_text("live")
    page.get_by_placeholder("Your answer").fill("no")
    agent.ask("1", "Keep the backups?")
    expect(page.locator("#do-now")).to_contain_text("Keep the backups?")
    stale = page.locator(".wait.stale")
    expect(stale).to_contain_text("Keep the old table?")
    expect(stale.get_by_placeholder("Your answer")).to_have_value("no")
    stale.get_by_placeholder("Your answer").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("asks something else")
    assert [wait.text for wait in board.waits()] == ["Keep the backups?"]


def test_eight_tabs_are_live_over_one_connection(tabs: Tabs, board: Board, agent: Agent) -> None:
    context = tabs.open_context()
    pages = [context.new_page() for _ in range(8)]
    for number, page in enumerate(pages):
        other = board.agent("main", session=f"tab{number}", project="/projects/tabs")
        other.edit({"op": "init", "items": [f"Item of {number}"]}, by="main")
        page.goto(f"{tabs.origin}/sessions/tab{number}")
    for page in pages:
        expect(page.locator("#link")).to_have_text("live")
    for number in range(8):
        board.agent("main", session=f"tab{number}").edit({"op": "append", "items": [f"More of {number}"]}, by="main")
    for number, page in enumerate(pages):
        expect(page.locator(".item", has_text=f"More of {number}")).to_be_visible()


def test_killed_server_is_told_of_and_eight_tabs_go_on_without_a_gap(
    chromium: Browser, tmp_path: Path, port: int
) -> None:
    path = str(tmp_path / "board.db")
    with Board.open(path) as board:
        agents = [board.agent("main", session=f"s{number}", project="/projects/shop") for number in range(7)]
        for agent in agents:
            agent.edit({"op": "init", "items": ["First"]}, by="main")
        with serving(path, port) as (process, link):
            tabs = Tabs(chromium, link, f"http://127.0.0.1:{port}")
            context = tabs.open_context()
            sessions, now = [context.new_page() for _ in agents], context.new_page()
            for number, page in enumerate(sessions):
                page.goto(f"{tabs.origin}/sessions/s{number}")
            now.goto(tabs.origin)
            for page in (*sessions, now):
                expect(page.locator("#link")).to_have_text("live")
            os.kill(process.pid, signal.SIGKILL)
            for page in (*sessions, now):
                expect(page.locator("#link")).to_contain_text("connection lost")
            sessions[0].get_by_text("+ Add an item").click()
            field = sessions[0].get_by_label("Add an item to the list of main")
            field.fill("Lost?")
            sessions[0].get_by_role("button", name="Add", exact=True).click()
            expect(sessions[0].get_by_role("alert")).to_contain_text("nothing was changed")
        for agent in agents:
            agent.edit({"op": "append", "items": ["While it was down"]}, by="main")
        with serving(path, port):
            for page in sessions:
                expect(page.locator("#link")).to_have_text("live")
                expect(page.locator(".item", has_text="While it was down")).to_be_visible()
            expect(now.locator("#at-work .row")).to_have_count(7)
            for row in now.locator("#at-work .row").all():
                expect(row).to_contain_text("0/2")
            expect(field).to_have_value("Lost?")
            agents[6].ask("1", "Which region?")
            expect(now.locator("#do-now")).to_contain_text("Which region?")
            expect(sessions[6].locator("#session-waits")).to_contain_text("Which region?")
            tabs.close()
            assert tabs.complaints == []

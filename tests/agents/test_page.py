"""The whole loop: a real agent asks, a person answers in a browser, the model hears it, the page shows the receipt."""

import subprocess
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect, sync_playwright

from punchlist.server.run_files import load_secret
from tests.agents.model_api import Call, Say, Script
from tests.agents.programs import ClaudeCode, Sandbox
from tests.agents.terminal import Terminal
from tests.agents.test_back_channel import ASK, SET, TOOL, punchlist, wait_until_idle
from tests.web.conftest import Tabs


def serve(stack: ExitStack, sandbox: Sandbox) -> str:
    """Start `punchlist serve` in the home of the sandbox, and return the link that it prints."""
    command = ["punchlist", "serve", "--port", "0"]
    server = stack.enter_context(
        subprocess.Popen(command, cwd=sandbox.project, env=sandbox.env, stdout=subprocess.PIPE, text=True)
    )
    stack.callback(server.kill)
    assert server.stdout is not None
    board = sandbox.home / ".local" / "share" / "punchlist" / "board.db"
    address = server.stdout.readline().split()[-1]
    return f"{address}?token={load_secret(str(board))}"  # without a terminal it is not printed


@pytest.mark.needs("chromium")
def test_question_is_answered_in_the_page_and_the_receipt_shows(
    claude: Callable[[Script], ClaudeCode], stack: ExitStack, open_terminal: Callable[..., Terminal]
) -> None:
    program = claude([[Call(TOOL, SET)], [Call(TOOL, ASK)], [Say("Which grit?")], [Say("Thank you.")]])
    punchlist(program.sandbox, "attach", "claude-code", "--yes")
    link = serve(stack, program.sandbox)
    browser = stack.enter_context(sync_playwright()).chromium.launch(
        executable_path="/usr/bin/chromium", args=["--no-sandbox"]
    )
    stack.callback(browser.close)
    tabs = Tabs(browser, link, link.partition("/?")[0])
    context = tabs.open_context()
    now, session = context.new_page(), context.new_page()
    now.goto(tabs.origin)
    expect(now.locator("#do-now")).to_be_hidden()

    terminal = open_terminal(program)
    terminal.wait_for_text("❯")
    terminal.submit("go")
    terminal.wait_for_text("requests your input")
    terminal.press("Escape", "● Which grit?")
    wait_until_idle(program.sandbox)
    row = now.locator("#do-now .row", has_text="Which grit?")
    expect(row).to_be_visible()
    expect(now.locator("#count")).to_contain_text("1 waits for you")
    session.goto(f"{tabs.origin}{row.get_by_role('link').first.get_attribute('href')}")
    expect(session.locator("#head")).to_contain_text("waits since")

    before = len(program.api.main_requests)
    row.get_by_placeholder("Your answer").fill("Use grit 120")
    row.get_by_role("button", name="Answer").click()
    expect(now.locator(".notice")).to_contain_text("Answered")
    expect(now.locator("#do-now")).to_be_hidden()
    program.api.wait_for(lambda requests: any("Use grit 120" in one.text for one in requests))
    assert program.api.main_requests[before].text.count("Use grit 120") == 1
    terminal.wait_for_text("Thank you.")

    expect(session.locator("#head")).to_contain_text("your last answer: seen by the model")
    tabs.close()
    assert tabs.complaints == []

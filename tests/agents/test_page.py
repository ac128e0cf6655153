"""The whole loop: a real agent asks, a person answers in a browser, the model hears it, the page shows the receipt."""

import subprocess
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect, sync_playwright

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
    return server.stdout.readline().split()[-1]


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
    expect(now.locator("#waits")).to_contain_text("Nothing waits on you.")

    terminal = open_terminal(program)
    terminal.wait_for_text("❯")
    terminal.submit("go")
    terminal.wait_for_text("requests your input")
    terminal.press("Escape", "● Which grit?")
    wait_until_idle(program.sandbox)
    row = now.locator("#waits .row", has_text="Which grit?")
    expect(row).to_be_visible()
    expect(now.locator("#count")).to_contain_text("1 waits on you")
    session.goto(f"{tabs.origin}{row.get_by_role('link').get_attribute('href')}")
    expect(session.locator("#head")).to_contain_text("waits on you")

    before = len(program.api.main_requests)
    row.get_by_placeholder("Your answer").fill("Use grit 120")
    row.get_by_role("button", name="Answer").click()
    expect(now.locator(".notice")).to_contain_text("Answered")
    expect(now.locator("#waits")).to_contain_text("Nothing waits on you.")
    program.api.wait_for(lambda requests: any("Use grit 120" in one.text for one in requests))
    assert program.api.main_requests[before].text.count("Use grit 120") == 1
    terminal.wait_for_text("Thank you.")

    expect(session.locator("#head")).to_contain_text("Your last answer: seen by the model.")
    tabs.close()
    assert tabs.complaints == []

"""Real agents on one host work on the board of a server on another."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from tests.agents.model_api import Call, Say
from tests.agents.programs import ClaudeCode, Codex
from tests.agents.terminal import Terminal
from tests.team.hosts import Browser, Machine, Server, await_that, run

pytestmark = [pytest.mark.agents, pytest.mark.needs("root"), pytest.mark.needs("ip"), pytest.mark.needs("openssl")]

TOOL = "mcp__plugin_punchlist_punchlist__todo"
LIST = {"add": [{"text": "Fix the sum"}, {"text": "Write docs"}], "start": "1"}
CHANGE, CHECK = "echo 'total = 1' > shop.py", "./pytest"


def write_check(machine: Machine) -> None:
    script = machine.sandbox.project / "pytest"
    script.write_text("#!/bin/sh\necho '1 passed in 0.01s'\n")
    script.chmod(0o755)


def find_grades(server: Server) -> dict[str, str]:
    """Return the grades of what is done on the server's board, by the text of the item."""
    rows = json.loads(run(server.sandbox, "todos", "--all", "--json"))
    items = [item for row in rows for item in row["items"]]
    return {item["content"]: item["grade"] for item in items if item["status"] == "completed"}


def describe(server: Server, machine: Machine) -> str:
    events = [(event["kind"], event["data"]) for event in server.events()]
    return f"server: {events}\nmachine: {machine.faults()}\n{run(machine.sandbox, 'status')}"


def test_claude_code_writes_a_list_and_verified_work_on_the_teams_board(
    server: Server, machine: Machine, stack: ExitStack
) -> None:
    write_check(machine)
    machine.attach("claude-code")
    done = {"done": ["1"]}
    script = [[Call(TOOL, LIST)], [Call("Bash", {"command": CHANGE})], [Call("Bash", {"command": CHECK})]]
    script += [[Call(TOOL, done)], [Say("All done.")], [Say("Really.")]]
    program = stack.enter_context(ClaudeCode(machine.sandbox, script))
    program.run("Fix the basket", "--allowedTools", "Bash")
    grades = await_that(lambda: find_grades(server), lambda: describe(server, machine))
    assert grades == {"Fix the sum": "verified"}, describe(server, machine)
    kinds = [event["kind"] for event in server.events()]
    assert kinds.count("tool.started") == kinds.count("tool.finished") == 2
    assert "tool.started" not in run(machine.sandbox, "events", "--json")


def test_codex_writes_a_list_and_verified_work_on_the_teams_board(
    server: Server, machine: Machine, stack: ExitStack
) -> None:
    write_check(machine)
    shell = [Call("exec_command", {"cmd": command}) for command in (CHANGE, CHECK)]
    ours = [Call("todo", given, namespace="mcp__punchlist") for given in (LIST, {"done": ["1"]})]
    script = [[ours[0]], [shell[0]], [shell[1]], [ours[1]], [Say("All done.")], [Say("Really.")]]
    program = stack.enter_context(Codex(machine.sandbox, script))
    machine.attach("codex")
    program.run("Fix the basket", "--dangerously-bypass-hook-trust")
    grades = await_that(lambda: find_grades(server), lambda: describe(server, machine))
    assert grades == {"Fix the sum": "verified"}, describe(server, machine)


def test_an_answer_on_the_page_wakes_idle_claude_code_and_the_receipt_is_shown_there(
    server: Server, machine: Machine, stack: ExitStack, open_terminal: Callable[..., Terminal]
) -> None:
    machine.attach("claude-code")
    browser = Browser(server, "ada")
    stack.callback(browser.close)
    ask = {"ask": [{"id": "1", "text": "Which grit?"}]}
    script = [[Call(TOOL, LIST)], [Call(TOOL, ask)], [Say("I wait for the grit.")], [Say("Thank you.")]]
    program = stack.enter_context(ClaudeCode(machine.sandbox, script))
    terminal = open_terminal(program)
    terminal.wait_for_text("❯")
    terminal.submit("go")
    terminal.wait_for_text("● I wait for the grit.")
    await_that(lambda: "turn.ended" in str(server.events()), lambda: describe(server, machine))
    before = len(program.api.main_requests)
    browser.answer("Use grit 120")
    program.api.wait_for(lambda requests: len(requests) > before)
    request = program.api.main_requests[before]
    assert request.text.count("Use grit 120") == 1, describe(server, machine)
    assert "ada answered your question" in request.text
    steps = {"news.sent", "news.accepted", "news.seen"}
    await_that(lambda: steps <= {event["kind"] for event in server.events()}, lambda: describe(server, machine))
    (session,) = {event["session"] for event in server.events() if event["kind"] == "news.seen"}
    assert "your last answer: seen" in browser.read(f"/sessions/{session}")

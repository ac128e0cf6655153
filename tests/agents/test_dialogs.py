"""Plans and questions in the dialogs of the real agents, and in runs that no person attends."""

import json
import re
import time
from collections.abc import Callable
from typing import Any

from tests.agents.model_api import Call, Request, Say, Script
from tests.agents.programs import ClaudeCode, Codex, Sandbox
from tests.agents.terminal import Terminal

TODO = "mcp__plugin_punchlist_punchlist__todo"
PLAN = "# Paint the door\n- Sand it\n- Paint it"


def attach(sandbox: Sandbox, host: str) -> None:
    done = sandbox.run(["punchlist", "attach", host, "--yes"])
    assert done.returncode == 0, done.stderr


def read_plans(sandbox: Sandbox) -> list[dict[str, Any]]:
    return json.loads(sandbox.run(["punchlist", "plan", "history", "--json"]).stdout)


def has_text(text: str) -> Callable[[list[Request]], bool]:
    return lambda requests: any(text in request.text for request in requests)


def open_plan(program: ClaudeCode, open_terminal: Callable[..., Terminal]) -> Terminal:
    """Start Claude Code, and let its model propose a plan; return the terminal with the dialog."""
    print(program.version())
    attach(program.sandbox, "claude-code")
    terminal = open_terminal(program)
    terminal.wait_for_text("❯")
    terminal.submit("Paint the door")
    terminal.wait_for_text("requests your input")
    for text in ("2 steps: Paint the door", "Steps: Sand it · Paint it", "punchlist plan show"):
        terminal.wait_for_text(text)
    return terminal


def accept(terminal: Terminal, answer: str) -> None:
    """Go from the last field to the button and press it; `answer` is what the model says next."""
    terminal.press("Down", "❯ Accept")
    terminal.press("Enter", answer)


def test_accepting_the_dialog_approves_the_plan(
    claude: Callable[[Script], ClaudeCode], open_terminal: Callable[..., Terminal]
) -> None:
    program = claude([[Call(TODO, {"plan": PLAN})], [Say("I begin.")]])
    terminal = open_plan(program, open_terminal)
    terminal.press("Right", "◯ approve")
    terminal.press("Enter", "Decision: approve")
    accept(terminal, "I begin.")
    program.api.wait_for(has_text("The plan was approved"))
    (plan,) = read_plans(program.sandbox)
    assert (plan["state"], plan["revision"]) == ("approved", 1)
    assert plan["decided_by"]


def test_a_rejection_gives_the_model_the_reason(
    claude: Callable[[Script], ClaudeCode], open_terminal: Callable[..., Terminal]
) -> None:
    program = claude([[Call(TODO, {"plan": PLAN})], [Say("I revise it.")]])
    terminal = open_plan(program, open_terminal)
    terminal.press("Right", "◯ reject")
    terminal.press("Down", "❯ ◯ reject")
    terminal.press("Enter", "Decision: reject")
    terminal.fill("Prime it first", "Reason: Prime it first")
    accept(terminal, "I revise it.")
    program.api.wait_for(has_text("Prime it first"))
    (plan,) = read_plans(program.sandbox)
    assert (plan["state"], plan["reason"]) == ("rejected", "Prime it first")


def test_an_answer_in_the_dialog_comes_back_with_the_call(
    claude: Callable[[Script], ClaudeCode], open_terminal: Callable[..., Terminal]
) -> None:
    ask = {"set": [{"text": "Paint"}], "ask": [{"id": "1", "text": "Which colour?"}]}
    program = claude([[Call(TODO, ask)], [Say("Red it is.")]])
    attach(program.sandbox, "claude-code")
    terminal = open_terminal(program)
    terminal.wait_for_text("❯")
    terminal.submit("Paint the door")
    terminal.wait_for_text("Which colour?")
    terminal.fill("Carmine", "Answer: Carmine")
    accept(terminal, "Red it is.")
    program.api.wait_for(has_text("answered: Carmine"))


def show_plan(claude: Callable[[Script], ClaudeCode], open_terminal: Callable[..., Terminal]) -> Terminal:
    """Let the model of Claude Code show a plan in the host's own dialog; return the terminal with it."""

    def play(request: Request) -> list[Say | Call]:
        file = re.search(r'/[^\s"\\]*\.claude/plans/[\w-]+\.md', request.text)
        if "Shown already" in request.text or file is None:
            return [Say("I see.")]
        if PLAN.splitlines()[0] not in request.text:
            return [Call("Write", {"file_path": file[0], "content": PLAN})]
        return [Say("Shown already"), Call("ExitPlanMode", {})]

    program = claude(play)
    attach(program.sandbox, "claude-code")
    terminal = open_terminal(program, "--permission-mode", "plan")
    terminal.wait_for_text("❯")
    terminal.submit("Make a plan")
    terminal.wait_for_text("Would you like to proceed?")
    return terminal


def wait_for_state(sandbox: Sandbox, state: str) -> dict[str, Any]:
    for _ in range(200):
        plans = read_plans(sandbox)
        if plans and plans[-1]["state"] == state:
            return plans[-1]
        time.sleep(0.1)
    raise AssertionError(read_plans(sandbox))


def test_a_plan_declined_in_the_dialog_of_claude_code_waits_no_longer(
    claude: Callable[[Script], ClaudeCode], open_terminal: Callable[..., Terminal], sandbox: Sandbox
) -> None:
    terminal = show_plan(claude, open_terminal)
    wait_for_state(sandbox, "proposed")
    terminal.press("Escape", "rejected")
    terminal.submit("And now?")
    terminal.wait_for_text("I see.")
    plan = wait_for_state(sandbox, "rejected")
    assert (plan["decided_by"], plan["reason"]) == ("claude-code", "declined in Claude Code")


def test_a_plan_approved_in_the_dialog_of_claude_code_is_decided_by_the_person(
    claude: Callable[[Script], ClaudeCode], open_terminal: Callable[..., Terminal], sandbox: Sandbox
) -> None:
    terminal = show_plan(claude, open_terminal)
    terminal.press("Enter", "I see.")  # its first choice: yes, and go on in auto mode
    assert wait_for_state(sandbox, "approved")["decided_by"] == "user"


def open_plan_in_codex(program: Codex, open_terminal: Callable[..., Terminal]) -> Terminal:
    print(program.version())
    attach(program.sandbox, "codex")
    # Escape in its review of hooks, which comes first without the last word, ended Codex once.
    terminal = open_terminal(program, "--disable", "daemon_auto_start", "--dangerously-bypass-hook-trust")
    terminal.wait_for_text("Ask Codex")
    terminal.submit("Paint the front door")
    terminal.wait_for_text("1. approve")
    assert "- Sand it" in terminal.screen()
    return terminal


def test_accepting_the_dialog_of_codex_approves_the_plan(
    codex: Callable[[Script], Codex], open_terminal: Callable[..., Terminal]
) -> None:
    program = codex([[Call("todo", {"plan": PLAN}, namespace="mcp__punchlist")], [Say("I begin.")]])
    terminal = open_plan_in_codex(program, open_terminal)
    terminal.press("Enter", "I begin.")
    (plan,) = read_plans(program.sandbox)
    assert (plan["state"], plan["revision"]) == ("approved", 1)


def test_a_rejection_in_codex_gives_the_model_the_reason(
    codex: Callable[[Script], Codex], open_terminal: Callable[..., Terminal]
) -> None:
    program = codex([[Call("todo", {"plan": PLAN}, namespace="mcp__punchlist")], [Say("I revise it.")]])
    terminal = open_plan_in_codex(program, open_terminal)
    terminal.press("Down", "› 2. reject")
    terminal.press("Enter", "Why do you reject")
    terminal.fill("Prime it first", "Prime it first")
    terminal.press("Enter", "I revise it.")
    assert has_text("Prime it first")(program.api.main_requests)
    assert [plan["reason"] for plan in read_plans(program.sandbox)] == ["Prime it first"]


def test_a_plan_waits_where_no_person_attends_claude_code(claude: Callable[[Script], ClaudeCode]) -> None:
    program = claude([[Call(TODO, {"plan": PLAN})], [Say("I wait.")]])
    attach(program.sandbox, "claude-code")
    program.run("Paint the door")
    assert has_text("waits for a person")(program.api.main_requests)
    assert [plan["state"] for plan in read_plans(program.sandbox)] == ["proposed"]


def test_a_plan_waits_where_no_person_attends_codex(codex: Callable[[Script], Codex]) -> None:
    program = codex([[Call("todo", {"plan": PLAN}, namespace="mcp__punchlist")], [Say("I wait.")]])
    print(program.version())
    attach(program.sandbox, "codex")
    program.run("Paint the door")
    assert has_text("waits for a person")(program.api.main_requests)
    assert [plan["state"] for plan in read_plans(program.sandbox)] == ["proposed"]

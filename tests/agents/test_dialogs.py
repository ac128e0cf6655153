"""Plans and questions in the dialogs of the real agents, and in runs that no person attends."""

import json
from collections.abc import Callable
from contextlib import suppress
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


def press(terminal: Terminal, key: str, shown: str) -> None:
    """Press a key until its effect shows: Claude Code drops keys that come right after a change of its dialog."""
    while True:
        terminal.send(key)
        with suppress(TimeoutError):
            terminal.wait_for_text(shown, timeout=2)
            return


def accept(terminal: Terminal, answer: str) -> None:
    """Go from the last field to the button and press it; `answer` is what the model says next."""
    press(terminal, "Down", "❯ Accept")
    press(terminal, "Enter", answer)


def test_accepting_the_dialog_approves_the_plan(
    claude: Callable[[Script], ClaudeCode], open_terminal: Callable[..., Terminal]
) -> None:
    program = claude([[Call(TODO, {"plan": PLAN})], [Say("I begin.")]])
    terminal = open_plan(program, open_terminal)
    press(terminal, "Right", "◯ approve")
    press(terminal, "Enter", "Decision: approve")
    accept(terminal, "I begin.")
    program.api.wait_for(has_text("The plan was approved"), timeout=20)
    (plan,) = read_plans(program.sandbox)
    assert (plan["state"], plan["revision"]) == ("approved", 1)
    assert plan["decided_by"]


def test_a_rejection_gives_the_model_the_reason(
    claude: Callable[[Script], ClaudeCode], open_terminal: Callable[..., Terminal]
) -> None:
    program = claude([[Call(TODO, {"plan": PLAN})], [Say("I revise it.")]])
    terminal = open_plan(program, open_terminal)
    press(terminal, "Right", "◯ reject")
    press(terminal, "Down", "❯ ◯ reject")
    press(terminal, "Enter", "Decision: reject")
    terminal.type("Prime it first")
    terminal.wait_for_text("Reason: Prime it first")
    accept(terminal, "I revise it.")
    program.api.wait_for(has_text("Prime it first"), timeout=20)
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
    terminal.type("Carmine")
    terminal.wait_for_text("Answer: Carmine")
    accept(terminal, "Red it is.")
    program.api.wait_for(has_text("answered: Carmine"), timeout=20)


def open_plan_in_codex(program: Codex, open_terminal: Callable[..., Terminal]) -> Terminal:
    print(program.version())
    attach(program.sandbox, "codex")
    terminal = open_terminal(program, "--disable", "daemon_auto_start")
    terminal.wait_for_text("Hooks need review")
    press(terminal, "Escape", "Ask Codex")
    terminal.submit("Paint the front door")
    terminal.wait_for_text("1. approve")
    assert "- Sand it" in terminal.screen()
    return terminal


def test_accepting_the_dialog_of_codex_approves_the_plan(
    codex: Callable[[Script], Codex], open_terminal: Callable[..., Terminal]
) -> None:
    program = codex([[Call("todo", {"plan": PLAN}, namespace="mcp__punchlist")], [Say("I begin.")]])
    terminal = open_plan_in_codex(program, open_terminal)
    press(terminal, "Enter", "I begin.")
    (plan,) = read_plans(program.sandbox)
    assert (plan["state"], plan["revision"]) == ("approved", 1)


def test_a_rejection_in_codex_gives_the_model_the_reason(
    codex: Callable[[Script], Codex], open_terminal: Callable[..., Terminal]
) -> None:
    program = codex([[Call("todo", {"plan": PLAN}, namespace="mcp__punchlist")], [Say("I revise it.")]])
    terminal = open_plan_in_codex(program, open_terminal)
    press(terminal, "Down", "› 2. reject")
    press(terminal, "Enter", "Why do you reject")
    terminal.type("Prime it first")
    terminal.wait_for_text("Prime it first")
    press(terminal, "Enter", "I revise it.")
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

"""The end of real agents that are attached: seen within two seconds, on every screen, and clocks stop with it."""

import os
import re
import signal
from collections.abc import Callable

import pytest

from tests.agents.model_api import Call, Request, Say, Script, Turn
from tests.agents.programs import ClaudeCode, Codex, Sandbox
from tests.agents.terminal import Terminal
from tests.agents.test_now import read_agents, wait_for_states

_TOOL = "mcp__plugin_punchlist_punchlist__todo"
_LOOP = "until [ -e go ]; do sleep 0.1; done"
_ITEMS = {"set": [{"text": "Run the tests", "doing": "Running the tests"}, "Ship"], "start": "1"}
Open = Callable[..., Terminal]


def _punchlist(sandbox: Sandbox, *words: str) -> str:
    done = sandbox.run(["punchlist", *words])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _check_ended(sandbox: Sandbox, session: str) -> None:
    """Check all that a person can ask: nothing says that the agent is at work, or silent."""
    shown = _punchlist(sandbox, "now")
    assert "Ended 1" in shown
    assert re.search('stopped (at "Running the tests"|in `.+`), 2 items open', shown)  # a call may have run
    rows = _punchlist(sandbox, "statusline", "--session", session)
    assert "\n‖ Running the tests\n" in rows
    told = _punchlist(sandbox, "brief", "--all", "--keep")
    assert "Under way" not in told
    assert "silent" not in shown + told


@pytest.mark.parametrize("hooks", [True, False], ids=["hooks", "tools only"])
def test_a_codex_exec_that_finished_has_ended(codex: Callable[[Script], Codex], hooks: bool) -> None:
    program = codex([[Call("todo", _ITEMS, namespace="mcp__punchlist")], [Say("I wait.")], [Say("I wait.")]])
    _punchlist(program.sandbox, "attach", "codex", "--yes")
    program.run("go", *(("--dangerously-bypass-hook-trust",) if hooks else ()))
    (session,) = read_agents(program.sandbox)
    wait_for_states(program.sandbox, {session: "gone"}, seconds=2)
    _check_ended(program.sandbox, session)


def test_a_claude_code_that_was_killed_at_work_has_ended(
    claude: Callable[[Script], ClaudeCode], open_terminal: Open
) -> None:
    def answer(request: Request) -> Turn:
        if "Running the tests" in request.text:
            return [Call("Bash", {"command": _LOOP, "description": "Wait"})]
        return [Call(_TOOL, _ITEMS)]

    program = claude(answer)
    _punchlist(program.sandbox, "attach", "claude-code", "--yes", "--statusline")
    session = "00000000-0000-4000-8000-000000000000"
    terminal = open_terminal(program, "--session-id", session, "--allowedTools", "Bash")
    terminal.wait_for_text("❯")
    terminal.submit("go")
    terminal.wait_for_text("▸ Running the tests  ")
    found = wait_for_states(program.sandbox, {session: "busy"})[session]
    assert found["focus"] == "Running the tests"
    os.kill(terminal.pid, signal.SIGKILL)
    wait_for_states(program.sandbox, {session: "gone"}, seconds=2)
    _check_ended(program.sandbox, session)


def test_the_clock_under_the_prompt_stops_with_the_turn(
    claude: Callable[[Script], ClaudeCode], open_terminal: Open
) -> None:
    program = claude([[Call(_TOOL, _ITEMS)], *[[Say("Begun.")] for _ in range(4)]])
    _punchlist(program.sandbox, "attach", "claude-code", "--yes", "--statusline")
    terminal = open_terminal(program)
    terminal.wait_for_text("❯")
    terminal.submit("go")
    terminal.wait_for_text("‖ Running the tests")
    ((session, _),) = read_agents(program.sandbox).items()
    wait_for_states(program.sandbox, {session: "idle"})
    assert "○" in _punchlist(program.sandbox, "now")

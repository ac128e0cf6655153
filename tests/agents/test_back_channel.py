"""What a person says in another shell reaches an idle session of the real agents, and the receipt says so."""

import json
import os
import subprocess
import time
from collections.abc import Callable
from typing import Any

from tests.agents.model_api import Call, Say, Script
from tests.agents.programs import ClaudeCode, Codex, Program, Sandbox
from tests.agents.terminal import Terminal
from tests.agents.test_now import wait_for_states

TOOL = "mcp__plugin_punchlist_punchlist__todo"
SET = {"set": ["paint", "sand"]}
ASK = {"ask": [{"id": "2", "text": "Which grit?"}]}
Open = Callable[..., Terminal]


def punchlist(sandbox: Sandbox, *words: str) -> str:
    done = sandbox.run(["punchlist", *words])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def wait_until_idle(sandbox: Sandbox, turns: int = 1) -> None:
    """Wait until the hooks have told that so many turns are over."""
    for _ in range(200):
        if punchlist(sandbox, "events", "--json").count('"turn.ended"') >= turns:
            return
        time.sleep(0.1)
    raise AssertionError(punchlist(sandbox, "events"))


def wait_for_receipt(sandbox: Sandbox) -> None:
    """Wait until the receipt of an answer says that the model has seen it."""
    for _ in range(200):
        if "news.seen" in punchlist(sandbox, "events", "--json"):
            return
        time.sleep(0.1)
    raise AssertionError(punchlist(sandbox, "events"))


def answer(program: Program, *words: str) -> dict[str, Any]:
    """Answer as a person does, at a terminal."""
    ours, theirs = os.openpty()
    sandbox, command = program.sandbox, ["punchlist", "answer", *words, "--json"]
    done = subprocess.run(command, cwd=sandbox.project, env=sandbox.env, stdin=theirs, capture_output=True, check=False)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def test_an_answer_wakes_idle_claude_code_and_is_seen(
    claude: Callable[[Script], ClaudeCode], open_terminal: Open
) -> None:
    program = claude([[Call(TOOL, SET)], [Call(TOOL, ASK)], [Say("Which grit?")], [Say("Thank you.")]])
    punchlist(program.sandbox, "attach", "claude-code", "--yes")
    terminal = open_terminal(program)
    terminal.wait_for_text("❯")
    terminal.submit("go")
    terminal.wait_for_text("requests your input")
    terminal.press("Escape", "● Which grit?")
    wait_until_idle(program.sandbox)
    before = len(program.api.main_requests)
    time.sleep(1)
    assert len(program.api.main_requests) == before  # no answer, no request
    answer(program, "sand", "Use grit 120", "--by", "ada")
    wait_for_receipt(program.sandbox)
    request = program.api.main_requests[before]
    assert request.text.count("Use grit 120") == 1
    assert "ada answered your question on item 2" in request.text


def test_a_session_whose_turn_was_broken_off_with_escape_is_woken(
    claude: Callable[[Script], ClaudeCode], open_terminal: Open
) -> None:
    wait = {"command": "python3 -c 'import time; time.sleep(60)'", "description": "Wait"}
    program = claude([[Call(TOOL, SET)], [Call("Bash", wait)], [Say("Thank you.")]])
    punchlist(program.sandbox, "config", "set", "wake", "edits")
    punchlist(program.sandbox, "attach", "claude-code", "--yes")
    terminal = open_terminal(program, "--permission-mode", "default", "--allowedTools", "Bash")
    terminal.wait_for_text("❯")
    terminal.submit("go")
    terminal.wait_for_text("time.sleep(60)")
    terminal.press("Escape", "What should Claude do instead?")
    before = len(program.api.main_requests)
    session = str(program.api.main_requests[0].session)
    wait_for_states(program.sandbox, {session: "idle"})  # it writes its state a moment later
    punchlist(program.sandbox, "todo", "append", "varnish", "--by", "ada", "--agent", "main", "--session", session)
    program.api.wait_for(lambda requests: len(requests) > before)
    assert "varnish" in program.api.main_requests[before].text


def test_an_approval_waits_for_the_persons_own_prompt_in_claude_code(
    claude: Callable[[Script], ClaudeCode], open_terminal: Open
) -> None:
    program = claude([[Call(TOOL, SET)], [Call(TOOL, {"plan": "# Varnish\n- Stir it\n- Brush it"})], [Say("Waiting.")]])
    punchlist(program.sandbox, "attach", "claude-code", "--yes")
    terminal = open_terminal(program)
    terminal.wait_for_text("❯")
    terminal.submit("go")
    terminal.wait_for_text("requests your input")
    terminal.press("Escape", "● Waiting.")
    wait_until_idle(program.sandbox)
    before = len(program.api.main_requests)
    said = answer(program, "plan-1", "approve", "--by", "ada")
    assert said["receipt"]["state"] == "waits for its next turn"
    punchlist(program.sandbox, "todo", "append", "varnish", "--by", "ada")
    time.sleep(2)
    assert len(program.api.main_requests) == before
    terminal.submit("and now")
    program.api.wait_for(lambda requests: any("ada approved your plan" in one.text for one in requests))
    assert program.api.main_requests[before].text.count("ada approved your plan") == 1


def ours(arguments: dict[str, Any]) -> Call:
    return Call("todo", arguments, namespace="mcp__punchlist")


def test_an_answer_is_sent_and_not_accepted_where_codex_has_no_daemon(
    codex: Callable[[Script], Codex], open_terminal: Open
) -> None:
    program = codex([[ours(SET)], [ours(ASK)], [Say("Which grit?")]])
    punchlist(program.sandbox, "attach", "codex", "--yes")
    terminal = open_terminal(program, "--disable", "daemon_auto_start", "--dangerously-bypass-hook-trust")
    terminal.wait_for_text("Ask Codex")
    terminal.submit("go")
    terminal.wait_for_text("Which grit?")
    terminal.press("Escape", "• Which grit?")
    wait_until_idle(program.sandbox)
    said = answer(program, "sand", "Use grit 120", "--by", "ada")
    assert said["receipt"]["state"] == "sent", punchlist(program.sandbox, "events")


def test_an_answer_is_queued_for_idle_codex_and_seen(codex: Callable[[Script], Codex], open_terminal: Open) -> None:
    program = codex([[ours(SET)], [ours(ASK)], [Say("Which grit?")], [Say("Thank you.")]])
    punchlist(program.sandbox, "attach", "codex", "--yes")
    program.start_daemon()
    terminal = open_terminal(program)  # without options that keep it from its daemon, which looks at the queue at once
    terminal.wait_for_text("Trust all and continue")
    terminal.press("Down", "› 2. Trust all")
    terminal.press("Enter", "Ask Codex")
    terminal.submit("go")
    terminal.wait_for_text("Which grit?")
    terminal.press("Escape", "• Which grit?")
    wait_until_idle(program.sandbox)
    before = len(program.api.main_requests)
    answer(program, "sand", "Use grit 120", "--by", "ada")
    wait_for_receipt(program.sandbox)
    request = program.api.main_requests[before]
    assert request.text.count("Use grit 120") == 1

"""`punchlist now` beside real agents that are not attached: busy, in a dialog, idle, killed."""

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import groupby
from typing import Any

from tests.agents.model_api import PATIENCE, Call, Request, Say, Script, Turn
from tests.agents.programs import ClaudeCode, Codex, Opencode, Sandbox
from tests.agents.terminal import Terminal
from tests.agents.test_codex_plans import running
from tests.agents.test_watch import events

_QUESTION = {
    "question": "Which region?",
    "header": "Region",
    "multiSelect": False,
    "options": [{"label": "eu", "description": "Europe"}, {"label": "us", "description": "America"}],
}
_LOOP = "until [ -e go ]; do sleep 0.1; done"
Open = Callable[..., Terminal]


def read_agents(sandbox: Sandbox) -> dict[str, dict[str, Any]]:
    done = sandbox.run(["punchlist", "now", "--json"])
    assert done.returncode == 0, done.stderr
    return {agent["session"]: agent for agent in json.loads(done.stdout)["agents"]}


def wait_for_states(sandbox: Sandbox, wanted: dict[str, str], seconds: float = PATIENCE) -> dict[str, dict[str, Any]]:
    """Look until each session has its state; raise TimeoutError otherwise."""
    deadline = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        found = read_agents(sandbox)
        if {session: one["state"] for session, one in found.items()} == wanted:
            return found
        if began > deadline:  # a look that began before may have taken long, and shows what was
            raise TimeoutError(f"{found}")


def answer_claude(request: Request) -> Turn:
    """Do what the prompt of each conversation says."""
    text = request.text
    if '"tool_result"' in text:
        return [Say("Good morning.")]
    if "please be busy" in text:
        return [Call("Bash", {"command": _LOOP, "description": "Wait"})]
    if "please ask me" in text:
        return [Call("AskUserQuestion", {"questions": [_QUESTION]})]
    if "please touch it" in text:
        return [Call("Write", {"file_path": "/etc/door", "content": "green"})]
    return [Say("Good morning.")]


def test_claude_code(claude: Callable[[Script], ClaudeCode], open_terminal: Open) -> None:
    program = claude(answer_claude)
    print(program.version())
    sandbox = program.sandbox
    prompts = {"please be busy": "busy", "please ask me": "waiting", "please touch it": "waiting", "hello": "idle"}
    sessions = {prompt: f"0000000{number}-0000-4000-8000-000000000000" for number, prompt in enumerate(prompts)}
    terminals: dict[str, Terminal] = {}
    for prompt, session in sessions.items():
        options = ("--session-id", session, "--permission-mode", "default", "--allowedTools", "Bash")
        terminals[prompt] = open_terminal(program, *options)
        terminals[prompt].wait_for_text("❯")
        terminals[prompt].submit(prompt)
    shown = ("until [", "Which region?", "Do you want to create", "Good morning.")
    for terminal, text in zip(terminals.values(), shown, strict=True):
        terminal.wait_for_text(text)
    wanted = {sessions[prompt]: state for prompt, state in prompts.items()}
    found = wait_for_states(sandbox, wanted)
    assert {one["project"] for one in found.values()} == {str(sandbox.project)}
    assert all(one["since"] and one["host"] == "claude-code" and not one["on_board"] for one in found.values())
    assert {found[session]["waits_for"] for session in sessions.values()} == {
        "",
        "Which region?",
        "permission: Write door",
    }
    assert found[sessions["please be busy"]]["doing"] == _LOOP
    killed = terminals["please be busy"].pid
    assert found[sessions["please be busy"]]["pid"] == killed
    os.kill(killed, signal.SIGKILL)
    wait_for_states(sandbox, wanted | {sessions["please be busy"]: "gone"})
    terminals["please ask me"].press("Enter", "Good morning.")  # the first answer
    wait_for_states(sandbox, wanted | {sessions["please be busy"]: "gone", sessions["please ask me"]: "idle"})
    text = sandbox.run(["punchlist", "now"]).stdout
    print(text)
    assert "permission: Write door" in text


def test_two_watchers_record_each_change_of_state_once(
    claude: Callable[[Script], ClaudeCode], codex: Callable[[Script], Codex], open_terminal: Open
) -> None:
    program, other = claude(answer_claude), codex(answer_codex)
    sandbox = program.sandbox
    session = "00000000-0000-4000-8000-000000000000"
    with running(sandbox, "punchlist", "watch"), running(sandbox, "punchlist", "watch"):
        terminal = open_terminal(program, "--session-id", session, "--allowedTools", "Bash")
        terminal.wait_for_text("❯")
        terminal.submit("please be busy")
        wait_for_event(sandbox, session, "busy")
        thread_terminal = open_terminal(other, "--disable", "daemon_auto_start")
        thread_terminal.wait_for_text("›")
        thread_terminal.submit("hello")
        other.api.wait_for(lambda requests: any(not request.is_side for request in requests))
        thread = str(other.api.main_requests[0].session)
        wait_for_event(sandbox, thread, "busy")
        (sandbox.project / "go").touch()
        for one in (session, thread):
            wait_for_event(sandbox, one, "idle")
        for one in (terminal, thread_terminal):
            os.kill(one.pid, signal.SIGKILL)
        for one in (session, thread):
            wait_for_event(sandbox, one, "gone")
    wait_for_states(sandbox, {session: "gone", thread: "gone"})
    for one in (session, thread):
        states = read_states(sandbox, one)
        assert [state for state, _ in groupby(states)] == states  # none twice in a row
        assert states[-3:] == ["busy", "idle", "gone"]


def read_states(sandbox: Sandbox, session: str) -> list[str]:
    found = [event for event in events(sandbox) if event["kind"] == "agent.state" and event["session"] == session]
    return [event["data"]["state"] for event in found]


def wait_for_event(sandbox: Sandbox, session: str, state: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while read_states(sandbox, session)[-1:] != [state]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{session} is not {state}: {read_states(sandbox, session)}")


def answer_codex(request: Request) -> Turn:
    if "function_call_output" in request.text:
        return [Say("Good morning.")]
    if "ask me" in request.text:
        escalated = {"sandbox_permissions": "require_escalated", "justification": "It is needed"}
        return [Call("exec_command", {"cmd": "touch /etc/door", **escalated})]
    return [Call("exec_command", {"cmd": _LOOP, "yield_time_ms": 30_000})]


def test_codex_files(codex: Callable[[Script], Codex], open_terminal: Open) -> None:
    program = codex(answer_codex)
    print(program.version())
    terminal = open_terminal(program, "--disable", "daemon_auto_start")
    terminal.wait_for_text("›")
    terminal.submit("hello")
    program.api.wait_for(lambda requests: any(not request.is_side for request in requests))
    session = str(program.api.main_requests[0].session)
    found = wait_for_states(program.sandbox, {session: "busy"})[session]
    assert (found["host"], found["project"], found["doing"]) == (
        "codex",
        str(program.sandbox.project),
        _LOOP,
    )
    (program.sandbox.project / "go").touch()
    terminal.wait_for_text("Good morning.")
    wait_for_states(program.sandbox, {session: "idle"})
    os.kill(terminal.pid, signal.SIGKILL)
    wait_for_states(program.sandbox, {})


def test_codex_daemon(codex: Callable[[Script], Codex], open_terminal: Open) -> None:
    program = codex(answer_codex)
    program.start_daemon()
    terminal = open_terminal(program, "-a", "on-request")
    terminal.wait_for_text("›")
    terminal.submit("ask me")
    terminal.wait_for_text("Would you like to run")
    session = str(program.api.main_requests[0].session)
    found = wait_for_states(program.sandbox, {session: "waiting"})[session]
    assert (found["waits_for"], found["doing"], found["title"]) == ("approval", "touch /etc/door", "ask me")
    terminal.press("Escape", lambda screen: "Would you like to run" not in screen)
    wait_for_states(program.sandbox, {session: "idle"})
    os.kill(terminal.pid, signal.SIGKILL)  # the daemon lives on, and keeps the thread
    # A terminal elsewhere that resumes a thread may show this one: those of other tests end meanwhile.
    wait_for_states(program.sandbox, {session: "gone"}, seconds=90)


def test_opencode(sandbox: Sandbox, stack: ExitStack, open_terminal: Open) -> None:
    question = {key: value for key, value in _QUESTION.items() if key != "multiSelect"}
    script: Script = [
        [Call("bash", {"command": _LOOP, "description": "Wait"})],
        [Call("question", {"questions": [question]})],
        [Say("Good morning.")],
    ]
    program = stack.enter_context(Opencode(sandbox, script))
    print(program.version())
    terminal = open_terminal(program)
    terminal.wait_for_text("Ask anything")
    terminal.submit("hello")
    session, found = wait_for_one(sandbox, "busy", _LOOP)
    assert (found["host"], found["project"], found["pid"]) == ("opencode", str(sandbox.project), terminal.pid)
    (sandbox.project / "go").touch()
    terminal.wait_for_text("Which region?")
    found = wait_for_states(sandbox, {session: "waiting"})[session]
    assert found["waits_for"] == "Which region?"
    terminal.press("Enter", "Good morning.")
    wait_for_states(sandbox, {session: "idle"})
    os.kill(terminal.pid, signal.SIGKILL)
    wait_for_states(sandbox, {})


def wait_for_one(sandbox: Sandbox, state: str, doing: str) -> tuple[str, dict[str, Any]]:
    """Look until one agent has this state and does this; return its session and it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        for session, found in read_agents(sandbox).items():
            if (found["state"], found["doing"]) == (state, doing):
                return session, found
        if time.monotonic() > deadline:
            raise TimeoutError(f"{read_agents(sandbox)}")

"""Real agents that are not attached: what they log is on the board."""

import json
import signal
import sys
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from hashlib import blake2b
from subprocess import PIPE, Popen
from typing import Any

import pytest

from tests.agents.model_api import Call, Request, Say, Script, Turn
from tests.agents.programs import ClaudeCode, Codex, Gemini, Opencode, Sandbox
from tests.agents.test_hooks import TODO, attach, punchlist, write_test

EDIT, CHECK = "echo 'x = 1' > sum.py", "pytest -q test_sum.py"


def watch(sandbox: Sandbox) -> None:
    done = sandbox.run(["punchlist", "watch", "--once"])
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)


def events(sandbox: Sandbox) -> list[dict[str, Any]]:
    done = sandbox.run(["punchlist", "events", "--after", "0", "--json"])
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def count_calls(sandbox: Sandbox) -> Counter[str]:
    return Counter(event["kind"] for event in events(sandbox) if event["kind"].startswith("tool."))


def check_home(sandbox: Sandbox, folder: str) -> str:
    """Return a checksum over the files of an agent."""
    found = sorted(path for path in (sandbox.home / folder).rglob("*") if path.is_file())
    return blake2b(repr([(str(path), path.read_bytes()) for path in found]).encode()).hexdigest()


def test_a_session_of_claude_code_that_is_not_attached_is_graded(claude: Callable[[Script], ClaudeCode]) -> None:
    program = claude(
        [
            [Call("TaskCreate", {"subject": "Fix the bug", "description": "x"})],
            [Call("TaskUpdate", {"taskId": "1", "status": "in_progress"})],
            [Call("Bash", {"command": EDIT, "description": "write"})],
            [Call("Bash", {"command": CHECK, "description": "test"})],
            [Call("TaskUpdate", {"taskId": "1", "status": "completed"})],
            [Say("Done.")],
        ]
    )
    print(program.version())
    write_test(program.sandbox.project)
    program.run("do it", "--allowedTools", "Bash", "TaskCreate", "TaskUpdate")
    before = check_home(program.sandbox, ".claude")
    watch(program.sandbox)
    assert check_home(program.sandbox, ".claude") == before
    assert count_calls(program.sandbox) == {"tool.started": 2, "tool.finished": 2}
    (session,) = {event["session"] for event in events(program.sandbox)}
    (item,) = punchlist(program.sandbox, "report", "--session", session)["items"]
    assert item["grade"] == "verified"


def test_a_rollout_of_codex_that_is_not_attached_is_graded(codex: Callable[[Script], Codex]) -> None:
    check = f"{sys.executable} -m {CHECK}"
    program = codex(
        [
            [Call("exec_command", {"cmd": EDIT})],
            [Call("exec_command", {"cmd": check})],
            [Say("Done.")],
        ]
    )
    print(program.version())
    write_test(program.sandbox.project)
    program.run("do it")
    before = check_home(program.sandbox, ".codex/sessions")
    watch(program.sandbox)
    assert check_home(program.sandbox, ".codex/sessions") == before
    assert count_calls(program.sandbox) == {"tool.started": 2, "tool.finished": 2}
    (session,) = {event["session"] for event in events(program.sandbox)}
    assert punchlist(program.sandbox, "report", "--session", session)["state"] == "green"


LIST = [{"text": "Fix the bug", "status": "in_progress"}]
DONE = [{"text": "Fix the bug", "status": "completed"}]


@contextmanager
def watching(sandbox: Sandbox) -> Generator[None]:
    """Watch live while an agent runs, and once more at the end."""
    command = ["punchlist", "watch"]
    for folder in (".claude/projects", ".codex/sessions"):
        (sandbox.home / folder).mkdir(parents=True, exist_ok=True)
    with Popen(command, cwd=sandbox.project, env=sandbox.env, stdout=PIPE) as program:
        assert program.stdout is not None
        program.stdout.readline()
        yield
        program.send_signal(signal.SIGINT)
        print(program.stdout.read().decode())


@pytest.mark.parametrize("live", [True, False])
def test_claude_code_attached_and_watched_tells_each_fact_once(
    claude: Callable[[Script], ClaudeCode], live: bool
) -> None:
    explore = {"description": "Look", "prompt": "Look around.", "subagent_type": "general-purpose"}

    def play(request: Request) -> Turn:
        if "Look around." in request.text and "do it" not in request.text:
            return [Say("Seen.")]
        turns: list[Turn] = [
            [Call(TODO, {"set": LIST})],
            [Call("Bash", {"command": EDIT, "description": "write"})],
            [Call("Agent", explore)],
            [Call("Bash", {"command": CHECK, "description": "test"})],
            [Call(TODO, {"set": DONE})],
        ]
        done = sum(message["role"] == "assistant" for message in request.body["messages"])
        return turns[done] if done < len(turns) else [Say("Done.")]

    program = claude(play)
    write_test(program.sandbox.project)
    attach(program, "claude-code")
    with watching(program.sandbox) if live else nullcontext():
        program.run("do it", "--allowedTools", "Bash", "Agent")
    watch(program.sandbox)
    found = Counter(event["kind"] for event in events(program.sandbox))
    assert (found["tool.started"], found["tool.finished"]) == (3, 3)
    assert (found["list.edited"] + found["list.replaced"], found["agent.spawned"]) == (2, 1)
    turns = Counter(event["agent"] for event in events(program.sandbox) if event["kind"] == "turn.ended")
    assert turns["main"] == 1
    assert set(turns.values()) == {1}  # that of the subagent may have been told, too
    (row,) = punchlist(program.sandbox, "todos")
    assert [item["grade"] for item in row["items"]] == ["verified"]


@pytest.mark.parametrize("live", [True, False])
def test_codex_attached_and_watched_tells_each_fact_once(codex: Callable[[Script], Codex], live: bool) -> None:
    program = codex(
        [
            [Call("todo", {"set": LIST}, namespace="mcp__punchlist")],
            [Call("exec_command", {"cmd": EDIT})],
            [Call("exec_command", {"cmd": f"{sys.executable} -m {CHECK}"})],
            [Call("todo", {"set": DONE}, namespace="mcp__punchlist")],
            [Say("Done.")],
        ]
    )
    write_test(program.sandbox.project)
    attach(program, "codex")
    with watching(program.sandbox) if live else nullcontext():
        program.run("do it", "--dangerously-bypass-hook-trust")
    watch(program.sandbox)
    found = Counter(event["kind"] for event in events(program.sandbox))
    assert (found["tool.started"], found["tool.finished"]) == (2, 2)
    assert found["list.edited"] + found["list.replaced"] == 2
    (row,) = punchlist(program.sandbox, "todos")
    assert [item["grade"] for item in row["items"]] == ["verified"]


def test_a_session_of_opencode_is_graded(sandbox: Sandbox) -> None:
    def write(status: str) -> Call:
        return Call("todowrite", {"todos": [{"content": "Fix the bug", "status": status, "priority": "high"}]})

    script: Script = [
        [write("in_progress")],
        [Call("bash", {"command": EDIT, "description": "write"})],
        [Call("bash", {"command": f"{sys.executable} -m {CHECK}", "description": "test"})],
        [write("completed")],
        [Say("Done.")],
    ]
    with Opencode(sandbox, script) as program:
        print(program.version())
        write_test(sandbox.project)
        program.run("do it")
        watch(sandbox)
        watch(sandbox)
        found = Counter(event["kind"] for event in events(sandbox))
        assert (found["tool.started"], found["tool.finished"]) == (2, 2)
        assert found["list.replaced"] + found["list.restored"] == 2
        (session,) = {event["session"] for event in events(sandbox)}
        (item,) = punchlist(sandbox, "report", "--session", session)["items"]
        assert item["grade"] == "verified"


def test_a_session_of_gemini_cli_is_graded(sandbox: Sandbox) -> None:
    script: Script = [
        [Say("I write it."), Call("run_shell_command", {"command": EDIT})],
        [Call("run_shell_command", {"command": f"{sys.executable} -m {CHECK}"})],
        [Say("Done.")],
    ]
    with Gemini(sandbox, script) as program:
        print(program.version())
        write_test(sandbox.project)
        program.run("do it", "--yolo")
        before = check_home(sandbox, ".gemini")
        watch(sandbox)
        watch(sandbox)
        assert check_home(sandbox, ".gemini") == before
        assert count_calls(sandbox) == {"tool.started": 2, "tool.finished": 2}
        (session,) = {event["session"] for event in events(sandbox)}
        assert punchlist(sandbox, "report", "--session", session)["state"] == "green"


@pytest.mark.parametrize("agent", ["gemini", "opencode"])
def test_agents_that_name_no_conversation_to_our_server_tell_each_fact_once(sandbox: Sandbox, agent: str) -> None:
    tool = {"gemini": "mcp_punchlist_todo", "opencode": "punchlist_todo"}[agent]
    script: Script = [[Call(tool, {"set": LIST})], [Call(tool, {"set": DONE})], [Say("Done.")]]
    with Gemini(sandbox, script) if agent == "gemini" else Opencode(sandbox, script) as program:
        attach(program, agent)
        program.run("do it", *(["--yolo"] if agent == "gemini" else []))
        watch(sandbox)
        found = Counter(event["kind"] for event in events(sandbox))
        assert found["list.edited"] + found["list.replaced"] == 2

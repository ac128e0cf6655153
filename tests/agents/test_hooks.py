"""Hooks in the real agents: open work after compaction and resume, the stop guard, grades, kills in the middle."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agents.model_api import Call, Request, Say, Script, Turn
from tests.agents.programs import ClaudeCode, Codex, Program, Sandbox

TODO = "mcp__plugin_punchlist_punchlist__todo"
LIST = {"set": [{"text": "Read the code", "status": "completed"}, {"text": "Fix the bug", "status": "in_progress"}]}


def punchlist(sandbox: Sandbox, *words: str) -> Any:
    """Run a command of ours in the sandbox; return its JSON."""
    done = sandbox.run(["punchlist", *words, "--json"])
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def attach(program: Program, host: str) -> None:
    print(program.version())
    done = program.sandbox.run(["punchlist", "attach", host, "--yes"])
    assert done.returncode == 0, done.stdout + done.stderr


def faults(sandbox: Sandbox) -> list[str]:
    """Return what hooks have logged."""
    return [
        line for path in sandbox.home.rglob("*.hooks.log") for line in path.read_text(encoding="utf-8").splitlines()
    ]


def count_said(request: Request, text: str) -> int:
    return request.text.count(text)


def session_of(sandbox: Sandbox) -> str:
    (session,) = {row["session"] for row in punchlist(sandbox, "todos")}
    return session


def test_a_stop_with_open_work_is_blocked_once(claude: Callable[[Script], ClaudeCode]) -> None:
    program = claude([[Call(TODO, LIST)], [Say("I have fixed it.")], [Say("Really.")], [Say("Never asked.")]])
    attach(program, "claude-code")
    program.run("do it")
    requests = program.api.main_requests
    assert len(requests) == 3
    assert "still open" in requests[2].text
    assert faults(program.sandbox) == []


def test_a_stop_with_a_question_to_the_person_is_let_pass(claude: Callable[[Script], ClaudeCode]) -> None:
    program = claude([[Call(TODO, LIST)], [Say("Which of the two regions should I deploy to?")]])
    attach(program, "claude-code")
    program.run("do it")
    assert len(program.api.main_requests) == 2


def test_no_stop_is_blocked_where_the_setting_says_so(claude: Callable[[Script], ClaudeCode]) -> None:
    program = claude([[Call(TODO, LIST)], [Say("I have fixed it.")]])
    program.sandbox.variables["PUNCHLIST_STOP_TRIES"] = "0"
    attach(program, "claude-code")
    program.run("do it")
    assert len(program.api.main_requests) == 2


@pytest.mark.parametrize("way", ["resume", "compact"])
def test_open_items_reach_the_model_once(claude: Callable[[Script], ClaudeCode], way: str) -> None:
    program = claude([[Call(TODO, LIST)], [Say("Which one do you prefer?")]])
    attach(program, "claude-code")
    program.run("do it")
    session = session_of(program.sandbox)
    if way == "compact":
        program.run("/compact", "--resume", session)
    program.api.change_script([[Say("Which one do you prefer?")]])
    before = len(program.api.main_requests)
    program.run("go on", "--resume", session)
    request = program.api.main_requests[before]
    heading = "Open work from before"
    assert count_said(request, heading) == 1
    said = request.text.partition(heading)[2].partition("</punchlist>")[0]
    assert "Fix the bug" in said
    assert "Read the code" not in said


def write_test(project: Path) -> None:
    (project / "test_sum.py").write_text("def test_sum():\n    assert 1 + 1 == 2\n", encoding="utf-8")


def test_a_real_pytest_run_verifies_an_item(claude: Callable[[Script], ClaudeCode]) -> None:
    done = {"set": [{"text": "Fix the bug", "status": "completed"}]}
    edit = {"command": "echo 'x = 1' > sum.py", "description": "write"}
    check = {"command": "pytest -q test_sum.py", "description": "test"}
    program = claude(
        [
            [Call(TODO, {"set": [{"text": "Fix the bug", "status": "in_progress"}]})],
            [Call("Bash", edit)],
            [Call("Bash", check)],
            [Call(TODO, done)],
            [Say("Done.")],
        ]
    )
    write_test(program.sandbox.project)
    attach(program, "claude-code")
    program.run("do it", "--allowedTools", "Bash")
    (row,) = punchlist(program.sandbox, "todos")
    assert [item["grade"] for item in row["items"]] == ["verified"]


def test_codex_calls_are_seen_too(codex: Callable[[Script], Codex]) -> None:
    program = codex(
        [
            [Call("todo", {"set": [{"text": "Fix the bug", "status": "in_progress"}]}, namespace="mcp__punchlist")],
            [Call("exec_command", {"cmd": "echo 'x = 1' > sum.py"})],
            [Call("exec_command", {"cmd": f"{sys.executable} -m pytest -q test_sum.py"})],
            [Call("todo", {"set": [{"text": "Fix the bug", "status": "completed"}]}, namespace="mcp__punchlist")],
            [Say("Done.")],
        ]
    )
    write_test(program.sandbox.project)
    attach(program, "codex")
    program.run("do it", "--dangerously-bypass-hook-trust")
    (row,) = punchlist(program.sandbox, "todos")
    assert [item["grade"] for item in row["items"]] == ["verified"]
    assert faults(program.sandbox) == []


def kill_ours(home: Path) -> int:
    """Kill every process of ours in a home; return how many there were."""
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_there = f"HOME={home}".encode() in (folder / "environ").read_bytes().split(b"\0")
            words = (folder / "cmdline").read_bytes()
            if is_there and b"punchlist" in words and b"claude" not in words.split(b"\0")[0]:
                os.kill(int(folder.name), signal.SIGKILL)
                count += 1
        except OSError:
            continue
    return count


def test_a_turn_ends_well_when_every_process_of_ours_is_killed(claude: Callable[[Script], ClaudeCode]) -> None:
    home: list[Path] = []
    begin, stop, turns = threading.Event(), threading.Event(), 8

    def play(request: Request) -> Turn:
        number = len(program.api.main_requests)
        if number == 1:
            return [Call(TODO, LIST)]
        if number == 2:
            begin.set()
        if number < turns:
            return [Call("Bash", {"command": f"echo {number}", "description": "x"})]
        return [Say("Which one do you prefer?")]

    program = claude(play)
    home.append(program.sandbox.home)
    attach(program, "claude-code")

    def kill_now_and_then() -> None:
        begin.wait()
        while not stop.wait(0.2):
            kill_ours(home[0])

    killer = threading.Thread(target=kill_now_and_then)
    killer.start()
    try:
        program.run("do it", "--allowedTools", "Bash", timeout=120)
    finally:
        begin.set()
        stop.set()
        killer.join()
    (row,) = punchlist(program.sandbox, "todos")
    assert [item["content"] for item in row["items"]] == ["Read the code", "Fix the bug"]
    events = punchlist_lines(program.sandbox, "events", "--limit", "1000")
    started = [event["data"]["call_id"] for event in events if event["kind"] == "tool.started"]
    assert len(started) == len(set(started))
    assert not list(home[0].rglob("*.inbox"))


def punchlist_lines(sandbox: Sandbox, *words: str) -> list[Any]:
    done = sandbox.run(["punchlist", *words, "--json"])
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]

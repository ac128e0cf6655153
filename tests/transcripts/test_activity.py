"""What a session did, read from its transcript step by step."""

import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import zstandard

from punchlist.errors import InvalidInput
from punchlist.transcripts.formats import open_transcript, read_steps
from punchlist.transcripts.steps import CallEnd, CallStart, ListWrite, Step, SubagentStart, UserTurn
from tests.transcripts.records import line, save
from tests.transcripts.sessions import START, ClaudeSession, CodexSession


def steps_of(path: Path) -> list[Step]:
    return list(read_steps(open_transcript(path)))


def told(steps: list[Step]) -> list[Any]:
    """Steps as short texts: `"Bash pytest"` begins, `"-Bash"` ends, `"=TodoWrite"` writes, `"user"`, `"+agent"`."""
    found: list[str] = []
    for step in steps:
        own = "" if step.agent == "main" else f"{step.agent}: "
        match step:
            case CallStart():
                found.append(f"{own}{step.name}")
            case CallEnd():
                found.append(f"{own}-{step.name}")
            case ListWrite():
                found.append(f"{own}={step.name}")
            case UserTurn():
                found.append("user")
            case SubagentStart():
                found.append(f"+{step.agent}")
            case _:
                pass
    return found


def claude() -> ClaudeSession:
    session = ClaudeSession()
    session.user("Add a login page")
    session.todo("> Write the form", "Test it")
    session.edit("src/login.py")
    with session.subagent("Look at the tests", "a1", "Explore") as child:
        child.grep("login")
        child.bash("pytest -q", "1 failed", 1)
    session.todo("x Write the form", "> Test it")
    session.user("<system-reminder>The file changed.</system-reminder>")
    session.user("Go on")
    session.bash("pytest -q", "3 passed in 0.1s")
    return session


def test_calls_writes_turns_and_subagents_come_in_the_order_of_time(tmp_path: Path) -> None:
    steps = steps_of(claude().save(tmp_path))
    assert told(steps) == [
        "user",
        "=TodoWrite",
        "Edit",
        "-Edit",
        "Task",
        "+a1",
        "a1: Grep",
        "a1: -Grep",
        "a1: Bash",
        "a1: -Bash",
        "-Task",
        "=TodoWrite",
        "user",
        "Bash",
        "-Bash",
    ]
    times = [step.at for step in steps if step.at is not None]
    assert (len(times), times) == (len(steps), sorted(times))
    assert times[0] > START


def test_a_call_has_its_arguments_and_its_end_the_result(tmp_path: Path) -> None:
    steps = steps_of(claude().save(tmp_path))
    begun = [step for step in steps if isinstance(step, CallStart) and step.name == "Bash"]
    ended = [step for step in steps if isinstance(step, CallEnd) and step.name == "Bash"]
    assert [step.args["command"] for step in begun] == ["pytest -q", "pytest -q"]
    assert [(step.result, step.is_error) for step in ended] == [
        ("Exit code 1\n1 failed", True),
        ("3 passed in 0.1s", False),
    ]
    assert [step.cwd for step in begun] == ["/projects/shop"] * 2
    task = next(step for step in steps if isinstance(step, CallEnd) and step.name == "Task")
    started = next(step for step in steps if isinstance(step, SubagentStart))
    assert (task.subagent, started.name, started.call_id) == ("a1", "Explore", task.call_id)


def test_a_subagents_own_file_is_read_as_the_main_agents(tmp_path: Path) -> None:
    claude().save(tmp_path)
    file = next(tmp_path.glob("*/subagents/agent-a1.jsonl"))
    assert told(steps_of(file)) == ["Grep", "-Grep", "Bash", "-Bash"]


def test_lines_of_a_sidechain_belong_to_a_subagent(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "c1", "name": "Grep", "input": {"pattern": "x"}}
    answer = {"type": "tool_result", "tool_use_id": "c1", "content": "found"}
    path = save(
        tmp_path / "old.jsonl",
        [
            line("assistant", call, second=1, isSidechain=True),
            line("user", answer, second=2, isSidechain=True),
        ],
    )
    assert told(steps_of(path)) == ["+sidechain", "sidechain: Grep", "sidechain: -Grep"]


def test_refused_writes_are_left_out_and_tasks_have_their_ids(tmp_path: Path) -> None:
    session = ClaudeSession()
    session.tool("TodoWrite", {"todos": "none"}, "InputValidationError", error=True)
    session.add_task("7", "Paint")
    session.tool("TaskUpdate", {"taskId": "9", "status": "completed"}, "Task not found", data={"success": False})
    session.set_task("7", "completed")
    steps = steps_of(session.save(tmp_path))
    assert [(step.name, step.task) for step in steps if isinstance(step, ListWrite)] == [
        ("TaskCreate", "7"),
        ("TaskUpdate", "7"),
    ]
    assert told(steps) == ["=TaskCreate", "=TaskUpdate"]


def test_a_list_of_mid_2025_is_read_in_todays_shape(tmp_path: Path) -> None:
    session = ClaudeSession()
    old = [{"content": "Paint", "status": "pending", "priority": "high", "id": "1"}]
    session.tool("TodoWrite", {"todos": old}, "Todos have been modified")
    (step,) = steps_of(session.save(tmp_path))
    assert isinstance(step, ListWrite)
    assert step.args == {"todos": [{"content": "Paint", "status": "pending", "activeForm": "Paint"}]}


def test_copies_of_calls_are_passed_over(tmp_path: Path) -> None:
    session = claude()
    session.lines += session.lines[:6]
    assert told(steps_of(session.save(tmp_path))).count("Edit") == 1


def codex() -> CodexSession:
    session = CodexSession()
    session.user("Speed up the import")
    session.plan("> Measure", "Cache")
    session.shell("pytest -q", "2 failed", 1)
    session.patch("src/cache.py")
    with session.subagent("Look for other readers", "0198f2ab-0000-7000-8000-000000000002", "Ada") as child:
        child.exec("rg cache", "src/a.py")
    session.plan("x Measure", "> Cache")
    session.exec("pytest -q", "5 passed")
    return session


@pytest.mark.parametrize("packed", [False, True])
def test_a_rollout_is_read_with_its_subagents(tmp_path: Path, *, packed: bool) -> None:
    path = codex().save(tmp_path)
    if packed:
        path.with_suffix(".jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(path.read_bytes()))
        path.unlink()
        path = path.with_suffix(".jsonl.zst")
    steps = steps_of(path)
    child = "0198f2ab-0000-7000-8000-000000000002"
    assert told(steps) == [
        "user",
        "=update_plan",
        "shell",
        "-shell",
        "apply_patch",
        "-apply_patch",
        "spawn_agent",
        "-spawn_agent",
        f"+{child}",
        f"{child}: exec_command",
        f"{child}: -exec_command",
        "wait_agent",
        "-wait_agent",
        "=update_plan",
        "exec_command",
        "-exec_command",
    ]
    shell = next(step for step in steps if isinstance(step, CallEnd) and step.name == "shell")
    assert (shell.is_error, json.loads(shell.result)["metadata"]["exit_code"]) == (None, 1)


def test_the_exit_code_of_an_event_belongs_to_its_call(tmp_path: Path) -> None:
    session = CodexSession()
    call = {"type": "local_shell_call", "call_id": "c1", "action": {"type": "exec", "command": ["make"]}}
    session.record("response_item", call)
    session.record("event_msg", {"type": "exec_command_end", "call_id": "c1", "exit_code": 2})
    session.record("response_item", {"type": "function_call_output", "call_id": "c1", "output": "make: error"})
    begun, ended = steps_of(session.save(tmp_path))
    assert isinstance(begun, CallStart)
    assert isinstance(ended, CallEnd)
    assert (begun.name, begun.args["command"], ended.exit_code) == ("local_shell", ["make"], 2)


@pytest.mark.parametrize("session", [claude, codex])
def test_damage_costs_only_the_lines_that_it_hits(tmp_path: Path, session: Any) -> None:
    path: Path = session().save(tmp_path)
    whole = path.read_bytes()
    sound = len(steps_of(path))
    path.write_bytes(b'{"type": 7, "payload": []}\n' + whole + b'[1]\n"text"\nnull\n{"type":"future"}\n' + whole[:70])
    assert len(steps_of(path)) == sound
    chance = random.Random(7)
    for _ in range(30):
        body = bytearray(whole)
        for _ in range(20):
            body[chance.randrange(len(body))] = chance.randrange(256)
        path.write_bytes(body)
        steps = list(read_steps(open_transcript(path, "codex" if session is codex else "claude-code")))
        assert len(steps) <= sound + 2


@pytest.mark.parametrize("value", [None, 7, "text", [], [None, 7, []], {}, {"content": 7}, {"type": {}}])
def test_records_of_any_shape_are_passed_over(tmp_path: Path, value: Any) -> None:
    keys = ("message", "payload", "type", "timestamp", "toolUseResult", "agentId", "isSidechain")
    odd = [line("user", {"type": "tool_result", "tool_use_id": value, "content": value}, toolUseResult=value)]
    odd += [line("assistant", {"type": "tool_use", "id": value, "name": value, "input": value})]
    odd += [line("assistant", **{key: value}) for key in keys]
    odd += [
        {"type": "response_item", "timestamp": value, "payload": {"type": kind, "call_id": value, "output": value}}
        for kind in ("function_call", "function_call_output", "custom_tool_call", "exec_command_end")
    ]
    path = save(tmp_path / "odd.jsonl", odd)
    for kind in ("claude-code", "codex"):
        assert len(list(read_steps(open_transcript(path, kind)))) <= len(odd)


def test_subagents_of_a_workflow_are_read_too(tmp_path: Path) -> None:
    path = claude().save(tmp_path)
    file = next(tmp_path.glob("*/subagents/agent-a1.jsonl"))
    (file.parent / "workflows" / "wf_1").mkdir(parents=True)
    file.rename(file.parent / "workflows" / "wf_1" / file.name)
    assert "a1: Bash" in told(steps_of(path))


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with path.open("w") as file:
        for number in range(3000):
            session = ClaudeSession()
            session.calls = number
            session.bash("make", "x" * 2000)
            file.write("\n".join(session.lines) + "\n")
    tracemalloc.start()
    count = sum(1 for _ in read_steps(open_transcript(path)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 6000
    assert peak < path.stat().st_size / 3


def test_other_formats_are_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "todo.json", [{"content": "Paint", "status": "pending", "priority": "high"}])
    path.write_text(json.dumps([{"content": "Paint", "status": "pending", "priority": "high"}]))
    with pytest.raises(InvalidInput, match="Claude Code and Codex"):
        list(read_steps(open_transcript(path)))

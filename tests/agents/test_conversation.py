"""What Claude Code and Codex show the person of the list, and what of it reaches the model."""

from collections.abc import Callable
from typing import Any

from tests.agents.model_api import Call, Say, Script, Turn
from tests.agents.programs import ClaudeCode, Codex, Program, Sandbox
from tests.agents.terminal import Terminal
from tests.agents.test_hooks import TODO, attach, faults, punchlist

STEPS = {"set": ["Parse dates", "Handle time zones"]}
LINE = "✓ Parse dates · ▸ Handle time zones · 1/2"


PAINT = {"add": ["Paint"]}


def call_todo(program: Program, given: dict[str, Any], id: str | None = None) -> Turn:
    if isinstance(program, Codex):
        return [Call("todo", given, namespace="mcp__punchlist", id=id)]
    return [Call(TODO, given, id=id)]


def lists(sandbox: Sandbox) -> dict[str, list[str]]:
    return {row["session"]: [item["content"] for item in row["items"]] for row in punchlist(sandbox, "todos", "--all")}


def test_a_change_is_a_line_for_the_person_and_a_nudge_is_no_error(
    claude: Callable[[Script], ClaudeCode], open_terminal: Callable[..., Terminal]
) -> None:
    program = claude([[Call(TODO, STEPS)], [Call(TODO, {"done": "1"})], [Say("Done.")], [Say("Really.")]])
    attach(program, "claude-code")
    terminal = open_terminal(program)
    terminal.wait_for_text("❯")
    terminal.submit("go")
    terminal.wait_for_text(LINE)
    screen = terminal.wait_for_text("Really.")
    print(screen)
    assert "error" not in screen.lower()
    requests = program.api.main_requests
    assert len(requests) == 4
    assert "still open" in requests[3].text
    assert "hook error" not in requests[3].text.lower()
    assert all(LINE not in request.text for request in requests)
    assert faults(program.sandbox) == []


def test_codex_shows_the_line_too(codex: Callable[[Script], Codex], open_terminal: Callable[..., Terminal]) -> None:
    program = codex([])
    program.api.change_script([call_todo(program, STEPS), call_todo(program, {"done": "1"}), [Say("Which one?")]])
    attach(program, "codex")
    terminal = open_terminal(program, "--dangerously-bypass-hook-trust", "--disable", "daemon_auto_start")
    terminal.wait_for_text("›")
    terminal.submit("go")
    print(terminal.wait_for_text("Which one?"))
    terminal.wait_for_text(LINE)
    assert all(LINE not in request.text for request in program.api.main_requests)


def test_the_command_costs_no_request_to_the_model(claude: Callable[[Script], ClaudeCode]) -> None:
    program = claude([[Call(TODO, STEPS)], [Say("Which one?")]])
    attach(program, "claude-code")
    program.run("go")
    before = len(program.api.main_requests)
    (session,) = lists(program.sandbox)
    done = program.run("/punchlist:todos", "--resume", session)
    assert "▸ Parse dates" in done.stdout
    assert len(program.api.main_requests) == before
    assert faults(program.sandbox) == []


def test_call_ids_that_begin_again_in_each_conversation_and_resume_are_written(
    claude: Callable[[Script], ClaudeCode],
) -> None:
    program = claude([])
    attach(program, "claude-code")
    first: list[str] = []
    for number in range(3):  # a conversation, another one, and the first one resumed
        program.api.change_script([call_todo(program, PAINT, "call_1"), [Say("Which one?")]])
        program.run("go", *(first if number == 2 else []))
        first = first or ["--resume", next(iter(lists(program.sandbox)))]
    assert sorted(lists(program.sandbox).values()) == [["Paint"], ["Paint", "Paint"]]


def test_codex_call_ids_that_begin_again_are_written(codex: Callable[[Script], Codex]) -> None:
    program = codex([])
    attach(program, "codex")
    for resumed in ([], [], ["resume", "--last"]):
        program.api.change_script([call_todo(program, PAINT, "call_1"), [Say("Which one?")]])
        argv = ["codex", "exec", "--sandbox", "danger-full-access", "--dangerously-bypass-hook-trust", *resumed, "go"]
        done = program.sandbox.run(argv, env=program.variables)
        assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(lists(program.sandbox).values()) == [["Paint"], ["Paint", "Paint"]]


def test_a_server_that_was_added_by_hand_is_named_until_it_is_removed(claude: Callable[[Script], ClaudeCode]) -> None:
    program = claude([])
    attach(program, "claude-code")
    for scope in ("user", "local", "project"):
        add = ["claude", "mcp", "add", "punchlist", "-s", scope, "--", "punchlist", "mcp"]
        assert program.sandbox.run(add, env=program.variables).returncode == 0
        said = " ".join(program.sandbox.run(["punchlist", "status"]).stdout.split())
        command = f"claude mcp remove punchlist -s {scope}"
        assert f"`{command}`" in said
        assert program.sandbox.run(command.split(), env=program.variables).returncode == 0
        assert "tool twice" not in " ".join(program.sandbox.run(["punchlist", "status"]).stdout.split())

"""What Claude Code shows the person of the list, and what of it reaches the model."""

from collections.abc import Callable

from tests.agents.model_api import Call, Say, Script
from tests.agents.programs import ClaudeCode
from tests.agents.test_hooks import TODO, attach, faults

STEPS = {"set": ["Parse dates", "Handle time zones"]}
LINE = "✓ Parse dates · ▸ Handle time zones · 1/2"


def test_a_change_is_a_line_for_the_person_and_a_nudge_is_no_error(claude: Callable[[Script], ClaudeCode]) -> None:
    program = claude([[Call(TODO, STEPS)], [Call(TODO, {"done": "1"})], [Say("Done.")], [Say("Really.")]])
    attach(program, "claude-code")
    done = program.run("do it", "--output-format", "stream-json", "--verbose", "--include-hook-events")
    print(done.stdout)
    requests = program.api.main_requests
    assert len(requests) == 4
    assert "still open" in requests[3].text
    assert "hook error" not in requests[3].text.lower()
    assert all(LINE not in request.text for request in requests)
    assert LINE in done.stdout.encode().decode("unicode_escape", "replace") or LINE in done.stdout
    assert faults(program.sandbox) == []


def test_the_command_costs_no_request_to_the_model(claude: Callable[[Script], ClaudeCode]) -> None:
    program = claude([[Say("Never asked.")]])
    attach(program, "claude-code")
    done = program.run("/punchlist:todos")
    print(done.stdout, done.stderr)
    assert program.api.main_requests == []
    assert faults(program.sandbox) == []

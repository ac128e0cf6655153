"""Leftovers in the real agents: a new conversation is told once of what the last one left, and takes it over."""

import json
from collections.abc import Callable

from tests.agents.model_api import Call, Say, Script
from tests.agents.programs import ClaudeCode, Codex
from tests.agents.test_hooks import TODO, attach, faults, punchlist

OFFER = "This is an offer, not work to do"
LEFT = {"set": [{"text": "Read the code", "status": "completed"}, {"text": "Fix the bug"}]}


def test_claude_code_takes_over_what_its_last_session_left(claude: Callable[[Script], ClaudeCode]) -> None:
    program = claude([[Call(TODO, LEFT)], [Say("Which of the two do you prefer?")]])
    attach(program, "claude-code")
    program.run("do it")
    (row,) = punchlist(program.sandbox, "todos")
    name, before = row["session"][-6:], len(program.api.main_requests)
    program.api.change_script([[Call(TODO, {"continue": name})], [Say("Shall I go on with it?")]])
    program.run("hello")
    first, second = program.api.main_requests[before:][:2]
    assert first.text.count(OFFER) == 1
    said = first.text.partition(OFFER)[2].partition("</punchlist>")[0]
    assert "Fix the bug" in said
    assert "Read the code" not in said
    assert f"Took over 1 item of session {name}" in second.text
    lists = {one["session"]: one["items"] for one in punchlist(program.sandbox, "todos")}
    assert [item["status"] for item in lists.pop(row["session"])] == ["completed", "cancelled"]
    assert [[item["content"] for item in items] for items in lists.values()] == [["Fix the bug"]]
    assert faults(program.sandbox) == []


def test_codex_is_offered_what_its_last_session_left(codex: Callable[[Script], Codex]) -> None:
    program = codex([[Call("todo", LEFT, namespace="mcp__punchlist")], [Say("Which of the two do you prefer?")]])
    attach(program, "codex")
    program.run("do it", "--dangerously-bypass-hook-trust")
    before = len(program.api.main_requests)
    program.api.change_script([[Say("Hello.")]])
    program.run("hello", "--dangerously-bypass-hook-trust")
    texts = [json.dumps(request.text) for request in program.api.main_requests[before:]]
    assert texts[0].count(OFFER) == 1

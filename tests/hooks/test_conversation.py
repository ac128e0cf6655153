"""What the person sees of the list within a conversation of the host, without a word to the model."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from punchlist import Board
from punchlist.hooks.events import answer_event
from tests.hooks.hosts import OWN_SERVER, OWN_TOOL, Host

STEPS = ["Parse dates", "Handle time zones", "Test it"]


class Conversation:
    """A host whose events are answered by a board at once."""

    def __init__(self, board: Board, host: Host) -> None:
        self.board = board
        self.host = host
        self.count = 0

    def tell(self, name: str, **fields: Any) -> dict[str, Any]:
        return answer_event(self.board, self.host.host, self.host.event(name, **fields), datetime.now(UTC))

    def todo(self, **given: Any) -> dict[str, Any]:
        """Call our own tool; return the answer to the hook after it."""
        self.count += 1
        tool = OWN_TOOL if self.host.host == "claude-code" else "mcp__punchlist__todo"
        call: dict[str, Any] = {"tool_name": tool, "tool_input": given, "tool_use_id": f"t{self.count}"}
        call["mcp_server"] = OWN_SERVER
        self.tell("PreToolUse", **call)
        assert not self.board.agent("main", session="s-1").call("todo", given, call_id=call["tool_use_id"]).is_error
        return self.tell("PostToolUse", **call, tool_response="")


@pytest.fixture(params=["claude-code", "codex"])
def talk(request: pytest.FixtureRequest, host: Host) -> Any:
    host.host = request.param
    with Board.open(host.board) as board:
        yield Conversation(board, host)


def test_a_change_of_the_list_is_one_line_under_the_call(talk: Conversation) -> None:
    assert talk.todo(set=STEPS) == {"systemMessage": "▸ Parse dates · 0/3"}
    assert talk.todo(done="1") == {"systemMessage": "✓ Parse dates · ▸ Handle time zones · 1/3"}
    assert talk.todo(view=True) == {}


def test_the_setting_shows_the_list_or_nothing(talk: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    talk.todo(set=STEPS)
    monkeypatch.setenv("PUNCHLIST_CONVERSATION", "list")
    assert talk.todo(done="1") == {"systemMessage": "Todos 1/3\n✓ Parse dates\n▸ Handle time zones\n○ Test it"}
    monkeypatch.setenv("PUNCHLIST_CONVERSATION", "off")
    assert talk.todo(done="2") == {}


def test_the_command_shows_the_list_without_a_request_to_the_model(talk: Conversation) -> None:
    talk.todo(set=STEPS)
    talk.tell("Stop", last_assistant_message="Which one?")
    answer = talk.tell("UserPromptSubmit", prompt="/punchlist:todos")
    assert answer == {"decision": "block", "reason": "Todos 0/3\n▸ Parse dates\n○ Handle time zones\n○ Test it"}
    (one,) = talk.board.store.read(lambda tx: tx.hosts.conversations("s-1"))
    assert one.state == "idle"


def test_a_stop_is_answered_once_per_state_of_the_list(talk: Conversation) -> None:
    talk.tell("UserPromptSubmit", prompt="do it")
    talk.todo(set=STEPS)
    assert talk.tell("Stop", last_assistant_message="Done.")
    for prompt in ("What is the time?", "And now?"):
        talk.tell("UserPromptSubmit", prompt=prompt)
        assert talk.tell("Stop", last_assistant_message="Noon.") == {}
    talk.tell("UserPromptSubmit", prompt="go on")
    talk.todo(done="1")
    assert talk.tell("Stop", last_assistant_message="Done.")


def test_the_hosts_own_task_tools_are_refused_with_the_name_of_ours(
    talk: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = {"tool_name": "TaskCreate", "tool_input": {"subject": "Fix", "description": ""}, "tool_use_id": "n1"}
    said = talk.tell("PreToolUse", **call)["hookSpecificOutput"]
    assert (said["permissionDecision"], "`todo`" in said["permissionDecisionReason"]) == ("deny", True)
    monkeypatch.setenv("PUNCHLIST_TODOS", "off")  # without our tool its own is the list
    assert talk.tell("PreToolUse", **call) == {}


def test_two_tools_write_one_list_with_one_item_in_progress(talk: Conversation) -> None:
    native = {
        "TodoWrite": {"todos": [{"content": "Fix it", "status": "in_progress", "activeForm": "Fixing it"}]},
        "update_plan": {"plan": [{"step": "Fix it", "status": "in_progress"}]},
    }
    agent = talk.board.agent("main", session="s-1")
    for number, (tool, given) in enumerate(native.items()):
        talk.todo(set=STEPS)
        for name in ("PreToolUse", "PostToolUse"):
            talk.tell(name, tool_name=tool, tool_input=given, tool_use_id=f"n{number}", tool_response={})
        assert [item.content for item in agent.todos.items if item.status == "in_progress"] == ["Fix it"]
        talk.todo(add=[{"text": "Ship", "status": "in_progress"}])
        assert len([item for item in agent.todos.items if item.status == "in_progress"]) == 1


def test_a_question_is_shown_with_its_item(talk: Conversation) -> None:
    talk.todo(set=STEPS)
    assert talk.todo(ask={"1": "Which format?"}) == {"systemMessage": "! Parse dates · 0/3"}


def test_a_call_that_only_read_shows_nothing_later(talk: Conversation) -> None:
    talk.todo(set=STEPS)
    later = datetime.now(UTC) + timedelta(seconds=1)
    call = {"tool_name": OWN_TOOL, "tool_use_id": "t9", "mcp_server": OWN_SERVER}
    for name in ("PreToolUse", "PostToolUse"):
        fields = talk.host.event(name, **call, tool_input={})
        assert "systemMessage" not in answer_event(talk.board, talk.host.host, fields, later)

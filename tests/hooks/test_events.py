"""What each hook event of an agent does on the board, and how it is answered."""

from __future__ import annotations

from typing import Any

import pytest

from punchlist import Board
from punchlist.conversations.bindings import list_conversations
from punchlist.hooks.inbox import ingest
from tests.hooks.hosts import OWN_SERVER, OWN_TOOL, Host, find_owner
from tests.transcripts.records import result, write


def _open(host: Host) -> Board:
    board = Board.open(host.board)
    ingest(board)
    return board


def _context(answer: dict[str, Any]) -> str:
    return answer["hookSpecificOutput"]["additionalContext"]


def test_events_of_tools_are_silent_and_the_list_of_the_native_tool_is_on_the_board(host: Host) -> None:
    assert host.hook("SessionStart", source="startup") == {}
    assert host.hook("UserPromptSubmit", prompt="do it") == {}
    host.write_todos("t1", Read="completed", Fix="in_progress")
    with _open(host) as board:
        agent = board.agent("main", session="s-1")
        assert [(item.content, str(item.status)) for item in agent.todos.items] == [
            ("Read", "completed"),
            ("Fix", "in_progress"),
        ]
        assert agent.project == str(host.project)
    assert not host.inbox.exists()
    assert host.problems() == []


def test_a_list_is_written_under_a_call_id_that_a_log_of_an_earlier_run_has_told_of(host: Host) -> None:
    with _open(host) as board:
        agent = board.agent("main", session="s-1", dialect="claude-code", project=host.project)
        assert agent.restore([write("t1", "> Read", "Fix"), result("t1", "> Read", "Fix")])
    host.hook("SessionStart", source="resume")
    host.write_todos("t1", Read="completed", Fix="in_progress", Tell="pending")
    with _open(host) as board:
        todos = board.agent("main", session="s-1").todos
    assert [str(item.status) for item in todos.items] == ["completed", "in_progress", "pending"]


def test_the_calls_that_hooks_saw_grade_items(host: Host) -> None:
    host.write_todos("t1", Fix="in_progress")
    host.call("t2", "Edit", {"file_path": str(host.project / "a.py"), "old_string": "a", "new_string": "b"})
    done = {"stdout": "3 passed in 0.10s", "stderr": "", "interrupted": False, "isImage": False}
    host.call("t3", "Bash", {"command": "pytest -q"}, done)
    host.write_todos("t4", Fix="completed")
    with _open(host) as board:
        report = board.report(session="s-1")
        assert (report.state, [item.grade for item in report.items]) == ("green", ["verified"])


def test_a_check_that_fails_arrives_as_a_failure_and_is_red(host: Host) -> None:
    host.write_todos("t1", Fix="in_progress")
    host.call("t2", "Edit", {"file_path": str(host.project / "a.py"), "old_string": "a", "new_string": "b"})
    given = {"command": "pytest -q"}
    host.hook("PreToolUse", tool_name="Bash", tool_input=given, tool_use_id="t3")
    error = "Exit code 1\n1 failed, 2 passed in 0.10s"
    host.hook(
        "PostToolUseFailure", tool_name="Bash", tool_input=given, tool_use_id="t3", error=error, is_interrupt=False
    )
    host.write_todos("t4", Fix="completed")
    with _open(host) as board:
        report = board.report(session="s-1")
        assert (report.state, [item.grade for item in report.items]) == ("red", ["failing"])


def test_an_interrupted_check_proves_nothing(host: Host) -> None:
    host.write_todos("t1", Fix="in_progress")
    host.call("t2", "Edit", {"file_path": str(host.project / "a.py"), "old_string": "a", "new_string": "b"})
    done = {"stdout": "3 passed in 0.10s", "stderr": "", "interrupted": True, "isImage": False}
    host.call("t3", "Bash", {"command": "pytest -q"}, done)
    host.write_todos("t4", Fix="completed")
    with _open(host) as board:
        assert [item.grade for item in board.report(session="s-1").items] != ["verified"]


def test_a_stop_with_open_work_is_blocked_once_per_prompt(host: Host) -> None:
    host.hook("UserPromptSubmit", prompt="do it")
    host.write_todos("t1", Fix="in_progress")
    answer = host.hook("Stop", last_assistant_message="Done.", stop_hook_active=False, background_tasks=[])
    assert "still open" in answer["hookSpecificOutput"]["additionalContext"]
    assert "Fix" in _context(answer)
    assert answer.keys() == {"hookSpecificOutput"}  # a decision would show as an error of the hook
    assert host.hook("Stop", last_assistant_message="Done.", stop_hook_active=True, background_tasks=[]) == {}
    with _open(host) as board:
        assert [one.state for one in list_conversations(board)] == ["idle"]


@pytest.mark.parametrize(
    ("fields", "env"),
    [
        ({"last_assistant_message": "Which region should I use?"}, {}),
        ({"last_assistant_message": "Done.", "background_tasks": [{"id": "b", "status": "running"}]}, {}),
        ({"last_assistant_message": "Done.", "permission_mode": "plan"}, {}),
        ({"last_assistant_message": "Done."}, {"PUNCHLIST_STOP_TRIES": "0"}),
        ({"last_assistant_message": "Done."}, {"PUNCHLIST_PROFILE": "off"}),
    ],
)
def test_a_stop_is_let_pass(
    host: Host, fields: dict[str, Any], env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    host.write_todos("t1", Fix="in_progress")
    assert host.hook("Stop", **fields) == {}


def test_our_own_monitor_is_no_work_in_the_background(host: Host) -> None:
    host.write_todos("t1", Fix="in_progress")
    command = "exec python3 -I -S /lib/punchlist_hook.py monitor claude-code --board /b"
    monitor = {"id": "b", "type": "shell", "status": "running", "command": command}
    assert _context(host.hook("Stop", last_assistant_message="Done.", background_tasks=[monitor]))


@pytest.mark.parametrize("source", ["resume", "compact"])
def test_open_items_are_told_once_after_compaction_and_resume(host: Host, source: str) -> None:
    host.write_todos("t1", Read="completed", Fix="in_progress", Test="pending")
    if source == "compact":
        assert host.hook("PreCompact", trigger="manual") == {}
    said = _context(host.hook("SessionStart", source=source))
    assert "Fix" in said
    assert "Test" in said
    assert "Read" not in said
    assert ("was resumed" in said, "was compacted" in said) == (source == "resume", source == "compact")
    assert host.hook("UserPromptSubmit", prompt="go on") == {}


def test_open_items_that_a_model_still_knows_are_not_told_again(host: Host) -> None:
    host.write_todos("t1", Fix="in_progress", Test="pending")
    assert host.hook("SessionStart", source="resume")
    assert host.hook("SessionStart", source="compact") == {}
    host.hook("UserPromptSubmit", prompt="go on")
    assert host.hook("SessionStart", source="compact")
    assert host.hook("SessionStart", source="resume") == {}
    host.write_todos("t2", Fix="completed", Test="pending")
    assert "Test" in _context(host.hook("SessionStart", source="resume"))


@pytest.mark.parametrize("source", ["startup", "clear"])
def test_a_new_conversation_is_told_nothing(host: Host, source: str) -> None:
    host.write_todos("t1", Fix="in_progress")
    assert host.hook("SessionStart", source=source) == {}


def test_without_open_items_nothing_is_told_at_resume(host: Host) -> None:
    host.write_todos("t1", Fix="completed")
    assert host.hook("SessionStart", source="resume") == {}


def test_a_prompt_brings_answers_and_edits_of_people_once(host: Host) -> None:
    host.write_todos("t1", Deploy="in_progress")
    with _open(host) as board:
        agent = board.agent("main", session="s-1")
        agent.ask("Deploy", "Which region?")
        agent.answer("Deploy", "eu-west", by="ada", person=True)
    assert "eu-west" in _context(host.hook("UserPromptSubmit", prompt="go on"))
    assert host.hook("UserPromptSubmit", prompt="go on") == {}


def test_a_prompt_of_the_host_itself_is_no_turn_of_the_person(host: Host) -> None:
    host.hook("UserPromptSubmit", prompt="do it")
    host.write_todos("t1", Fix="in_progress")
    assert host.hook("Stop", last_assistant_message="Done.")
    host.hook("UserPromptSubmit", prompt="<task-notification>\n<event>x</event>")
    assert host.hook("Stop", last_assistant_message="Done.") == {}
    host.hook("UserPromptSubmit", prompt="go on")
    assert host.hook("Stop", last_assistant_message="Done.") == {}  # nothing changed in this prompt
    host.write_todos("t2", Fix="in_progress", Test="pending")
    assert host.hook("Stop", last_assistant_message="Done.")


def test_a_call_of_our_own_tool_is_permitted_and_tied_to_its_conversation(host: Host) -> None:
    fields: dict[str, Any] = {"tool_name": OWN_TOOL, "tool_input": {}, "tool_use_id": "toolu_1"}
    answer = host.hook("PreToolUse", **fields, mcp_server=OWN_SERVER)
    assert answer["hookSpecificOutput"]["permissionDecision"] == "allow"
    host.hook("PostToolUse", **fields, mcp_server=OWN_SERVER, tool_response=[{"type": "text", "text": "ok"}])
    with _open(host) as board:
        assert find_owner(board, "toolu_1") == ("s-1", "main")
        assert find_owner(board, "toolu_2") is None
        board.store.transact(
            lambda tx: tx.hosts.bind_conversation("claude-code", "s-1", "other", project="/p", at=board.now())
        )
        assert find_owner(board, "toolu_1") == ("other", "main")
        assert not board.report(session="s-1").items


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_name": OWN_TOOL, "mcp_server": {}},
        {"tool_name": OWN_TOOL, "mcp_server": {"name": "plugin_punchlist_punchlist", "source": "project"}},
        {"tool_name": OWN_TOOL, "mcp_server": {"name": "plugin:punchlist:punchlist", "source": "project"}},
        {"tool_name": "mcp__punchlist__todo", "mcp_server": {"name": "punchlist", "source": "project"}},
        {"tool_name": "Bash", "mcp_server": OWN_SERVER},
        {"tool_name": "Bash"},
    ],
)
def test_no_other_tool_is_permitted(host: Host, fields: dict[str, Any]) -> None:
    assert host.hook("PreToolUse", **fields, tool_input={"command": "x"}, tool_use_id="1") == {}


def test_our_tool_is_known_by_its_name_where_claude_code_names_no_server(host: Host) -> None:
    """As in 2.1.197: without this each call of the tool asks the person, and `claude -p` refuses it."""
    answer = host.hook("PreToolUse", tool_name=OWN_TOOL, tool_input={"view": True}, tool_use_id="1")
    assert answer["hookSpecificOutput"]["permissionDecision"] == "allow"


@pytest.mark.parametrize("prefix", ["mcp__other__", "mcp__punchlist__", "mcp__plugin_punchlist_punchlist__"])
def test_a_server_of_the_project_with_our_name_gets_no_better_grades(host: Host, prefix: str) -> None:
    written, server = {"path": "a.py", "content": "x"}, {"name": "punchlist", "source": "project"}
    fields: dict[str, Any] = {"tool_name": f"{prefix}write_file", "tool_input": written, "tool_use_id": "t4"}
    host.hook("UserPromptSubmit", prompt="go")
    host.write_todos("t1", Fix="in_progress", Other="pending")
    host.call("t2", "Edit", {"file_path": "a.py", "old_string": "a", "new_string": "b"}, {})
    host.call("t3", "Bash", {"command": "pytest -q"}, {"stdout": "1 passed in 0.1s", "stderr": ""})
    host.hook("PreToolUse", **fields, mcp_server=server)
    host.hook("PostToolUse", **fields, mcp_server=server, tool_response=[{"type": "text", "text": "written"}])
    host.write_todos("t5", Fix="completed", Other="pending")
    with _open(host) as board:
        assert find_owner(board, "t4") is None
        (items,) = (row.todos.items for row in board.lists(session="s-1"))
        assert [str(item.grade) for item in items if item.content == "Fix"] == ["unchecked"]


def test_a_subagent_is_a_child_with_calls_and_a_stop_of_its_own(host: Host) -> None:
    host.write_todos("t1", Explore="in_progress", Fix="pending")
    asked = {"description": "Explore", "prompt": "look", "subagent_type": "explore"}
    host.hook("PreToolUse", tool_name="Agent", tool_input=asked, tool_use_id="t2")
    child = {"agent_id": "a1", "agent_type": "explore"}
    assert host.hook("SubagentStart", **child) == {}
    host.hook("PreToolUse", **child, tool_name="Grep", tool_input={"pattern": "x"}, tool_use_id="c1")
    host.hook("PostToolUse", **child, tool_name="Grep", tool_input={}, tool_response={}, tool_use_id="c1")
    own = {"tool_name": OWN_TOOL, "tool_input": {}, "tool_use_id": "c2", "mcp_server": OWN_SERVER}
    host.hook("PreToolUse", **child, **own)
    assert host.hook("SubagentStop", **child, last_assistant_message="Found it.") == {}
    with _open(host) as board:
        labels = {row.agent: row.label for row in board.lists(session="s-1")}
        assert labels == {"main": None, "explore": "Explore"}
        assert find_owner(board, "c2") == ("s-1", "explore")
        assert [one.state for one in list_conversations(board)] == ["busy"]


def test_a_subagent_has_its_label_though_another_conversation_has_a_call_of_the_same_id(host: Host) -> None:
    other = Host(host.board, host.project, session="s-2")
    for one, label in ((host, "Explore"), (other, "Review")):
        one.hook(
            "PreToolUse",
            tool_name="Agent",
            tool_input={"description": label, "subagent_type": "explore"},
            tool_use_id="call_1",
        )
    for one in (host, other):
        one.hook("SubagentStart", agent_id="a1", agent_type="explore")
    with _open(host) as board:
        rows = [row for session in ("s-1", "s-2") for row in board.lists(session=session) if row.agent == "explore"]
    assert {row.session: row.label for row in rows} == {"s-1": "Explore", "s-2": "Review"}


def test_the_stop_of_a_subagent_that_never_began_is_passed_over(host: Host) -> None:
    host.write_todos("t1", Fix="in_progress")
    assert host.hook("SubagentStop", agent_id="fork", agent_type="", last_assistant_message="<summary>") == {}
    with _open(host) as board:
        assert [row.agent for row in board.lists(session="s-1")] == ["main"]


def test_a_plan_of_the_host_is_proposed_and_approved_by_the_person(host: Host) -> None:
    given = {"plan": "1. Read\n2. Write"}
    host.hook("UserPromptSubmit", prompt="plan it", permission_mode="plan")
    host.hook("PreToolUse", tool_name="ExitPlanMode", tool_input=given, tool_use_id="t1", permission_mode="plan")
    with _open(host) as board:
        agent = board.agent("main", session="s-1")
        assert agent.mode == "plan"
        assert agent.plan is not None
        assert agent.plan.state == "proposed"
    host.hook("PostToolUse", tool_name="ExitPlanMode", tool_input=given, tool_response={}, tool_use_id="t1")
    with _open(host) as board:
        agent = board.agent("main", session="s-1")
        assert agent.mode == "execute"
        assert agent.plan is not None
        assert agent.plan.state == "approved"


SHOWN = {"tool_name": "ExitPlanMode", "tool_input": {"plan": "1. Read"}, "tool_use_id": "t1", "permission_mode": "plan"}
"""The call by which Claude Code shows a plan to the person."""


def _read_plan(host: Host) -> tuple[str, str | None, str | None]:
    with _open(host) as board:
        plan = board.agent("main", session="s-1").plan
        assert plan is not None
        return str(plan.state), plan.decided_by, plan.reason


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("UserPromptSubmit", {"prompt": "and now?"}),
        ("Stop", {"last_assistant_message": "Fine."}),
        ("PreToolUse", {"tool_name": "Read", "tool_input": {}, "tool_use_id": "t2"}),
    ],
)
def test_a_plan_that_the_host_shows_no_longer_was_declined(host: Host, name: str, fields: dict[str, Any]) -> None:
    host.hook("PreToolUse", **SHOWN)
    host.hook("PreToolUse", tool_name="Read", tool_input={}, tool_use_id="c1", agent_id="a1", agent_type="Explore")
    assert _read_plan(host) == ("proposed", None, None)  # a subagent works on while the dialog is open
    answer = host.hook(name, **fields, permission_mode="plan")
    assert "declined" not in str(answer)  # the model knows by the result of its call
    assert _read_plan(host) == ("rejected", "claude-code", "declined in Claude Code")
    with _open(host) as board:
        assert not any(event.data.get("person") for event in board.events())


def test_a_declined_plan_does_not_switch_the_stop_guard_off(host: Host) -> None:
    host.hook("UserPromptSubmit", prompt="go")
    host.write_todos("t0", Fix="in_progress")
    host.hook("PreToolUse", **SHOWN)
    assert "still open" in host.hook("Stop", last_assistant_message="Done.")["hookSpecificOutput"]["additionalContext"]


def test_a_plan_of_our_own_tool_waits_on(host: Host) -> None:
    with _open(host) as board:
        board.agent("main", session="s-1").propose_plan("1. Read")
    host.hook("UserPromptSubmit", prompt="and now?")
    host.hook("Stop", last_assistant_message="Fine.")
    assert _read_plan(host) == ("proposed", None, None)


def test_a_call_that_fails_is_no_decision_of_a_person(host: Host) -> None:
    host.hook("PreToolUse", **SHOWN)
    host.hook("PostToolUseFailure", **SHOWN, error="InputValidationError: too long")
    assert _read_plan(host) == ("rejected", "claude-code", "InputValidationError: too long")


@pytest.mark.parametrize(("attended", "by"), [("1", "user"), ("0", "claude-code"), ("", "claude-code")])
def test_a_person_who_attends_approves_the_plan_in_any_mode(
    host: Host, monkeypatch: pytest.MonkeyPatch, attended: str, by: str
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ATTENDED", attended)
    host.hook("PreToolUse", **SHOWN)
    host.hook("PostToolUse", **{**SHOWN, "permission_mode": "auto", "tool_response": {"plan": "1. Read"}})
    assert _read_plan(host) == ("approved", by, None)


def test_a_call_beside_a_plan_does_not_decline_it(host: Host) -> None:
    host.hook("PreToolUse", **SHOWN)
    host.hook("PreToolUse", tool_name="Read", tool_input={}, tool_use_id="t2")
    host.hook("PostToolUse", **SHOWN, tool_response={"plan": "1. Read"})
    assert _read_plan(host) == ("approved", "user", None)


def test_native_tasks_are_on_the_board_and_gates_may_refuse_them(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.call("t1", "TaskCreate", {"subject": "Ship", "description": "it"}, {"task": {"id": "1", "subject": "Ship"}})
    host.call("t2", "TaskUpdate", {"taskId": "1", "status": "in_progress"}, {"success": True, "taskId": "1"})
    told = {"task_id": "2", "task_subject": "Other", "task_description": "x"}
    assert host.hook("TaskCreated", **told) == {}
    monkeypatch.setenv("PUNCHLIST_GATE_COMPLETE", "echo not yet >&2; exit 1")
    assert host.hook("TaskCompleted", **told) == {"decision": "block", "reason": "not yet"}
    monkeypatch.delenv("PUNCHLIST_GATE_COMPLETE")
    with _open(host) as board:
        tasks = board.tasks("session:s-1").list()
        assert [(task.subject, str(task.status)) for task in tasks] == [("Ship", "in_progress")]


def test_the_state_of_a_conversation_follows_its_events(host: Host) -> None:
    states: list[str] = []
    for name in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"):
        host.hook(name, source="startup", prompt="x", last_assistant_message="Done.")
        with _open(host) as board:
            states += [one.state for one in list_conversations(board)]
    assert states == ["idle", "busy", "idle", "ended"]


def test_codex_tells_its_plan_by_its_own_tool(tmp_path: Any, host: Host) -> None:
    codex = Host(host.board, host.project, session="c-1", host="codex")
    plan = [{"step": "Read", "status": "completed"}, {"step": "Write", "status": "in_progress"}]
    codex.call("1", "update_plan", {"plan": plan}, "Plan updated")
    with _open(codex) as board:
        todos = board.agent("main", session="c-1").todos
        assert [(item.content, str(item.status)) for item in todos.items] == [
            ("Read", "completed"),
            ("Write", "in_progress"),
        ]


def test_an_event_of_another_kind_changes_nothing_but_the_time_it_was_seen(host: Host) -> None:
    assert host.hook("FileChanged", path="/etc/passwd") == {}
    with _open(host) as board:
        assert [one.event for one in list_conversations(board)] == ["FileChanged"]
        assert not board.lists()


def test_a_call_id_that_begins_again_in_another_conversation_names_the_later_call(host: Host) -> None:
    own = {"tool_name": OWN_TOOL, "tool_input": {}, "tool_use_id": "call_1", "mcp_server": OWN_SERVER}
    host.hook("PreToolUse", **own)
    other = Host(host.board, host.project, session="s-2")
    other.hook("PreToolUse", **own)
    with _open(host) as board:
        assert find_owner(board, "call_1") == ("s-2", "main")


def test_a_native_call_whose_id_begins_again_is_written(host: Host) -> None:
    other = Host(host.board, host.project, session="s-2")
    for one in (host, other, host, host):  # ids that begin again in each conversation and in each run of one
        one.write_todos("call_1", Fix="in_progress")
        one.write_todos("call_2", Fix="completed")
        with _open(host) as board:
            ingest(board)
            assert not [item for item in board.agent("main", session=one.session).todos.items if item.is_open]
    with _open(host) as board:
        kinds = [event.kind for event in board.events() if event.session == "s-1"]
        assert kinds.count("item.completed") == 3

"""What a tool call is: kinds by name, changes by what is called, whatever a host or model sends."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.guidance.tools import OwnTools, changes, kind

KINDS = {
    "read": ("Read", "read_file", "ReadManyFiles", "view_image", "Glob", "grep_search", "LS", "list_dir", "WebFetch"),
    "edit": (
        "Edit",
        "Write",
        "MultiEdit",
        "NotebookEdit",
        "apply_patch",
        "write_file",
        "replace",
        "delete_file",
        "move",
    ),
    "shell": ("Bash", "shell", "exec_command", "run_shell_command", "terminal", "execute_command", "run_terminal_cmd"),
    "delegate": ("Task", "spawn_agent", "delegate_to", "TeamCreate"),
    "dispatch": ("program_phase", "dispatch_followup", "KillShell"),
    "schedule": ("ScheduleCron", "cron_create"),
    "outbound": ("RemoteTrigger", "whatsapp.send", "browser.click", "functions.shell"),
    "config": ("Config",),
    "todo": ("TodoWrite", "update_plan", "todo", "write_todos", "manage_todo_list", "task_tracker"),
    "unknown": ("", "frobnicate", "readme", "x" * 10_000, "édit", "__", "mcp__a__"),
}
CASES = [(name, wanted) for wanted, names in KINDS.items() for name in names]


@pytest.mark.parametrize(("name", "wanted"), CASES, ids=[f"{wanted}-{name[:20]}" for name, wanted in CASES])
def test_a_tool_is_known_by_its_name_however_it_is_spelled(name: str, wanted: str) -> None:
    for spelled in (name, name.upper(), name.lower(), f"mcp__some_server__{name}"):
        assert kind(spelled) == wanted


@pytest.mark.parametrize("name", ["Edit", "Write", "delete_file", "move", "apply_patch", "developer__text_editor"])
def test_an_edit_a_delete_and_a_move_change(name: str) -> None:
    assert changes(name, {"file_path": "a"})


@pytest.mark.parametrize("name", ["Read", "Task", "TodoWrite", "whatsapp.send", "Config", "cron_create", "frobnicate"])
def test_nothing_else_counts_as_a_change(name: str) -> None:
    assert not changes(name, {"command": "rm -rf x"})


@pytest.mark.parametrize(
    ("name", "args", "wanted"),
    [
        ("str_replace_editor", {"command": "view", "path": "a"}, "read"),
        ("str_replace_editor", {"command": "create", "path": "a"}, "edit"),
        ("str_replace_editor", '{"command": "view"}', "read"),
        ("Write", {"command": "view", "action": "read"}, "edit"),
        ("process", {"action": "poll"}, "read"),
        ("process", {"action": "kill"}, "shell"),
        ("Config", {"op": "read"}, "read"),
        ("Config", {"op": "apply"}, "config"),
        ("Config", {"op": ["read"]}, "config"),
    ],
)
def test_some_tools_read_or_change_by_an_argument(name: str, args: Any, wanted: str) -> None:
    assert kind(name, args) == wanted


@pytest.mark.parametrize(
    "args",
    [
        {"command": "ls -la"},
        {"cmd": "git status"},
        {"command": ["bash", "-lc", "cat a | head"]},
        {"command": ["git", "diff"]},
        {"command": "ls", "script": "cat a"},
        '{"command": "ls"}',
        "ls",
    ],
)
def test_a_shell_command_that_reads_is_found_in_the_arguments(args: Any) -> None:
    assert not changes("Bash", args)


@pytest.mark.parametrize(
    "args",
    [
        None,
        {},
        [],
        3,
        {"command": None},
        {"command": 3},
        {"command": ["ls", 3]},
        {"command": []},
        {"command": {"ls": 1}},
        {"command": ["ls", "rm -rf x"]},
        {"command": ["bash", "-lc", "rm x"]},
        {"command": "ls", "cmd": "rm x"},
        {"commands": ["ls", "rm x"]},
        '{"command": "rm x"}',
        "{" * 5_000,
        "[" * 100_000,
        {"command": ["ls"] * 100_000},
        {"command": "ls " * 100_000},
    ],
    ids=lambda args: ascii(args)[:30],
)
def test_a_shell_call_without_a_command_that_is_known_to_read_changes(args: Any) -> None:
    assert changes("Bash", args)


@pytest.mark.parametrize("name", ["PowerShell", "execute_code", "python", "js_repl", "write_stdin"])
def test_what_runs_something_other_than_a_shell_line_changes(name: str) -> None:
    assert changes(name, {"command": "ls", "code": "1"})


def test_codex_polls_a_process_by_writing_nothing_to_it() -> None:
    assert not changes("write_stdin", {"session_id": 4711, "chars": ""})
    assert changes("write_stdin", {"session_id": 4711, "chars": "y\n"})


def test_a_host_says_what_its_own_tools_do() -> None:
    own = OwnTools.from_names(reading=["my_lookup", "Bash"], changing=["deploy-it", "WebFetch", "whatsapp.send"])
    assert (kind("MyLookup", None, own), changes("my_lookup", None, own)) == ("read", False)
    assert (kind("deploy_it", None, own), changes("mcp__x__deploy_it", None, own)) == ("edit", True)
    assert (kind("web_fetch", None, own), changes("WebFetch", None, own)) == ("edit", True)
    assert (kind("whatsapp.send", None, own), changes("whatsapp.send", None, own)) == ("outbound", True)
    assert not changes("Bash", {"command": "rm x"}, own)
    assert kind("x" * 1_000, None, OwnTools.from_names(reading=["", "__"])) == "unknown"


_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["command", "cmd", "op"]), inner),
    max_leaves=6,
)


@given(st.sampled_from([name for name, _ in CASES]) | st.text(), _anything)
def test_every_call_has_a_kind_and_none_raises(name: str, args: Any) -> None:
    assert kind(name, args) in KINDS
    assert changes(name, args) in (True, False)


@pytest.mark.parametrize("name", [None, 3, b"Bash", ["Bash"]])
def test_a_name_that_is_no_text_is_unknown(name: Any) -> None:
    assert kind(name) == "unknown"
    assert not changes(name)

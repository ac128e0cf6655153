"""Classify tool calls: their kind, by the names that tools of the field have, and whether they change something.

Names are compared without case, `_` and `-`, and without the prefix of a server (`mcp__files__read_file`). A name is
known or not; only `may_change` guesses from a part of it. Nothing here raises, whatever a model or host sends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, cast

from msgspec import Struct

from punchlist.core.shell.programs import effect_of_line
from punchlist.text.tool_values import as_object, find_command_lines

Kind = Literal[
    "read", "edit", "shell", "delegate", "outbound", "dispatch", "schedule", "config", "todo", "talk", "unknown"
]

_READ: Final = """
    read file_read read_file read_files read_many_files view view_file view_image cat open_file notebook_read
    read_notebook glob find find_files find_path grep grep_search search search_files search_file_content file_search
    codebase_search semantic_search search_code find_symbol find_references get_symbols_overview
    list_code_definition_names ls list list_dir list_directory list_files tree lsp diagnostics get_diagnostics
    get_errors get_problems get_changed_files read_lints web_fetch fetch fetch_url fetch_webpage web_search
    google_web_search search_web url_context bash_output task_output agent_output get_command_output command_status
    read_terminal get_terminal_output list_mcp_resources list_mcp_resource_templates read_mcp_resource tool_search
    list_tools ask_user_question ask_user ask_followup_question request_user_input question skill cron_list
    memory_search memory_get agent_query
    agent_turns_tail session_logs what_do_i_know who_am_i my_stats synthetic_output sessions_list sessions_history
    session_search list_agents
"""
_EDIT: Final = """
    edit write multi_edit notebook_edit edit_notebook edit_notebook_cell apply_patch apply_diff patch
    str_replace str_replace_editor str_replace_based_edit_tool text_editor file_editor editor write_file write_to_file
    file_write file_edit create create_file create_directory make_directory mkdir replace replace_in_file
    search_replace search_and_replace insert insert_content insert_edit_into_file replace_string_in_file
    multi_replace_string_in_file edit_file edit_files ast_edit save_file undo_edit delete delete_file delete_files
    delete_path remove remove_file rm move move_file move_path rename rename_file rename_symbol copy_file copy_path
    replace_symbol_body insert_after_symbol insert_before_symbol create_new_file create_new_jupyter_notebook
"""
_SHELL: Final = """
    bash shell sh zsh exec exec_command execute execute_command run_command run_shell_command run_terminal_cmd
    run_terminal_command run_in_terminal terminal local_shell shell_command run_bash execute_bash bash_tool
    unified_exec command cmd
"""
_CODE: Final = """
    write_stdin process python ipython execute_python execute_ipython_cell execute_code run_code run_python eval
    js_repl repl code_interpreter powershell pwsh run_notebook_cell
"""
_KINDS: Final[Mapping[Kind, str]] = {
    "read": _READ,
    "edit": _EDIT,
    "shell": _SHELL + _CODE,
    "delegate": """task agent spawn_agent subagent sub_agent run_subagent run_agent delegate delegate_to delegate_task
        new_task sessions_spawn dispatch_agent team_create team_delete""",
    "outbound": """remote_trigger send_message send_email send_input sessions_send message notify post_message
        create_pull_request create_issue push_notification browser computer""",
    "dispatch": """program_phase dispatch_followup kill_shell kill_bash task_stop stop_agent close_agent kill_agent
        resume_agent""",
    "schedule": """schedule_cron schedule cron cron_create cron_delete cron_pause cron_resume schedule_wakeup
        schedule_task""",
    "config": "config configure set_config update_config update_settings",
    "talk": """think thinking think_tool sequential_thinking sleep enter_plan_mode exit_plan_mode plan_exit
        plan_enter""",
    "todo": """todo todos todo_write todo_read todo_list update_plan write_todos set_todo_list manage_todo_list
        update_todo_list update_todo task_tracker task_create task_update task_list task_get read_todos""",
}


def _fold_name(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


_BY_NAME: Final[Mapping[str, Kind]] = {
    _fold_name(name): kind for kind, names in _KINDS.items() for name in names.split()
}
_UNREAD: Final = frozenset(_fold_name(name) for name in _CODE.split())
"""Tools that run something other than a shell line: never taken for reading."""

_VIEWS: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    **{
        _fold_name(name): ("command", frozenset({"view"}))
        for name in ("str_replace_editor", "str_replace_based_edit_tool", "text_editor", "file_editor", "editor")
    },
    "writestdin": ("chars", frozenset({""})),  # Codex polls a process by writing nothing to it
    "process": ("action", frozenset({"poll", "log", "list"})),
    "config": ("op", frozenset({"read"})),
}
"""Tools that both read and change: the argument that decides, and its values that read."""

_LOOKING: Final = frozenset({
    "get", "list", "read", "search", "find", "fetch", "show", "view", "describe", "query", "lookup", "look", "check",
    "count", "status", "inspect", "browse", "browser", "screenshot", "snapshot", "navigate", "explain", "ask", "wait",
    "resolve", "retrieve", "summarize", "analyze", "scan", "open", "load", "print", "log", "ping", "think", "recall",
})  # fmt: skip
_WRITING: Final = frozenset({
    "create", "update", "write", "edit", "delete", "remove", "replace", "fix", "put", "set", "add", "apply", "insert",
    "patch", "move", "rename", "save", "modify", "append", "upload", "install", "run", "execute", "exec", "format",
})  # fmt: skip
"""Words in an unknown name: a tool only looks if the first word is in `_LOOKING` and none is in `_WRITING`."""

_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LONGEST_NAME: Final = 200


class OwnTools(Struct, frozen=True):
    """Names of a host's own tools, which override the tables here. Made by `from_names`."""

    reading: frozenset[str] = frozenset()
    changing: frozenset[str] = frozenset()

    @classmethod
    def from_names(cls, reading: Iterable[str] = (), changing: Iterable[str] = ()) -> OwnTools:
        return cls(frozenset(map(_normalize, reading)) - {""}, frozenset(map(_normalize, changing)) - {""})


NONE: Final = OwnTools()


def kind(name: str, args: Any = None, own: OwnTools = NONE) -> Kind:
    """Return the kind of a call. An unknown name with a dot belongs to another service: `outbound`.

    A thought is allowed wherever reading is, so it counts as `read` here.
    """
    found = _classify(name, args, own)
    return "read" if found == "talk" else found


def _classify(name: str, args: Any, own: OwnTools) -> Kind:
    word = _normalize(name)
    if word in own.reading:
        return "read"
    is_service = isinstance(name, str) and "." in name  # pyright: ignore[reportUnnecessaryIsInstance]
    found = _BY_NAME.get(word) or ("outbound" if is_service else "unknown")
    if word in own.changing:
        return "edit" if found in ("unknown", "read", "talk") else found
    view = _VIEWS.get(word)
    return "read" if view is not None and _is_viewing(args, *view) else found


def changes(name: str, args: Any = None, own: OwnTools = NONE) -> bool:
    """True if this call edits, deletes or moves something, or runs a command that is not known to only read."""
    return _changes(kind(name, args, own), name, args, own)


def _changes(found: Kind, name: str, args: Any, own: OwnTools) -> bool:
    if found == "edit":
        return True
    word = _normalize(name)
    if found != "shell":
        return word in own.changing
    if word in _UNREAD or word in own.changing:
        return True
    lines = find_command_lines(as_object(args))
    return not lines or any(effect_of_line(line) != "reads" for line in lines)


def may_change(name: str, found: Kind) -> bool:
    """True if an unknown tool of this kind may have changed what was checked before: its name does not say it looks.

    Grades ask this, where too much care costs little; no call is refused for it.
    """
    if found not in ("unknown", "outbound") or _BY_NAME.get(_normalize(name)) is not None:
        return False
    words = _WORDS.findall(re.split(r"__|[./:]", name[:_LONGEST_NAME])[-1])
    said = [word.lower() for word in words]
    return not said or said[0] not in _LOOKING or not _WRITING.isdisjoint(said)


def classify_call(name: str, args: Any = None, own: OwnTools = NONE) -> tuple[Kind, bool, bool]:
    """Return the kind of a call, whether it `changes` something, and whether it does or `may_change`.

    A call that neither does nor reads anything is `talk`.
    """
    found = _classify(name, args, own)
    if found in ("unknown", "outbound") and isinstance(given := as_object(args), Mapping) and find_command_lines(given):
        found = "shell"  # whatever it is called, it is told what to run
    changing = _changes(found, name, args, own)
    return found, changing, changing or may_change(name, found)


def _normalize(name: str) -> str:
    """Return the name as the tables have it, without the prefix of a server."""
    if not isinstance(name, str) or len(name) > _LONGEST_NAME:  # pyright: ignore[reportUnnecessaryIsInstance]
        return ""
    word = _fold_name(name)
    return word if word in _BY_NAME or "__" not in name else _fold_name(name.rpartition("__")[2])


def _is_viewing(args: Any, key: str, reading: frozenset[str]) -> bool:
    given = as_object(args)
    value = cast("Mapping[Any, Any]", given).get(key) if isinstance(given, Mapping) else None
    return isinstance(value, str) and value in reading


def is_own(name: str, own: frozenset[str]) -> bool:
    """True for a tool of ours, also after the name of a server: `mcp__punchlist__todo`."""
    return name in own or name.rpartition("__")[2] in own

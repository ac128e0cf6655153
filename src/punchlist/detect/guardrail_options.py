"""The settings of Hermes' guardrail, under the names of its `tool_loop_guardrails`."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from punchlist.detect.settings import flag, mapping, whole

IDEMPOTENT = frozenset(
    {"read_file", "search_files", "web_search", "web_extract", "session_search", "skill_view", "skills_list"}
    | {"browser_snapshot", "browser_console", "browser_get_images"}
    | {"mcp_filesystem_read_file", "mcp_filesystem_read_text_file", "mcp_filesystem_read_multiple_files"}
    | {"mcp_filesystem_list_directory", "mcp_filesystem_list_directory_with_sizes", "mcp_filesystem_directory_tree"}
    | {"mcp_filesystem_get_file_info", "mcp_filesystem_search_files"}
)
"""Tools that only read: the same answer to the same question is no progress."""

MUTATING = frozenset(
    {"terminal", "execute_code", "write_file", "patch", "todo", "todo_list", "memory", "skill_manage"}
    | {"browser_click", "browser_type", "browser_press", "browser_scroll", "browser_navigate"}
    | {"send_message", "cronjob", "cronjob_manage", "delegate_task", "process", "process_manage"}
)
"""Tools that change something: repeating them is never taken for a loop of reads."""


class GuardrailOptions(Struct, frozen=True, kw_only=True):
    """When the guardrail speaks, and when it stops a call. A cap of 0 is none."""

    warnings_enabled: bool = True
    hard_stop_enabled: bool = False
    exact_failure_warn_after: int = 2
    same_tool_failure_warn_after: int = 3
    no_progress_warn_after: int = 2
    exact_failure_block_after: int = 5
    same_tool_failure_halt_after: int = 8
    no_progress_block_after: int = 5
    max_web_searches: int = 50
    max_subagents: int = 50
    idempotent_tools: frozenset[str] = IDEMPOTENT
    mutating_tools: frozenset[str] = MUTATING

    def is_idempotent(self, tool: str, *, reads: bool = False) -> bool:
        """Whether a tool only looks something up, as its name says or somebody knows."""
        return (reads or tool in self.idempotent_tools) and tool not in self.mutating_tools


DEFAULT = GuardrailOptions()

_NAME = "tool_loop_guardrails"
_FLAGS = ("warnings_enabled", "hard_stop_enabled")
_SECTIONS = {
    "warn_after": {
        "exact_failure": "exact_failure_warn_after",
        "same_tool_failure": "same_tool_failure_warn_after",
        "idempotent_no_progress": "no_progress_warn_after",
    },
    "hard_stop_after": {
        "exact_failure": "exact_failure_block_after",
        "same_tool_failure": "same_tool_failure_halt_after",
        "idempotent_no_progress": "no_progress_block_after",
    },
    "loop_caps": {"max_web_searches": "max_web_searches", "max_subagents": "max_subagents"},
}


def guardrail_options(given: object) -> GuardrailOptions:
    """The options in Hermes' form: two switches, and the sections `warn_after`, `hard_stop_after` and `loop_caps`."""
    options = mapping(_NAME, given, (*_FLAGS, *_SECTIONS))
    found: dict[str, Any] = {name: flag(f"{_NAME}.{name}", options[name]) for name in _FLAGS if name in options}
    for section, names in _SECTIONS.items():
        if section in options:
            least = 0 if section == "loop_caps" else 1
            for name, value in mapping(f"{_NAME}.{section}", options[section], names).items():
                found[names[name]] = whole(f"{_NAME}.{section}.{name}", value, least=least)
    return GuardrailOptions(**found)

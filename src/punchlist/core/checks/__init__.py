"""Recognise checks (tests, builds, lints, probes) in command lines, and tell how they came out."""

from punchlist.core.checks.commands import FAMILIES, Family, Pattern, Patterns, add_own_patterns
from punchlist.core.checks.outcome import (
    Check,
    CheckedLine,
    CommandAnalysis,
    Outcome,
    analyse_command,
    find_checks,
    find_main_commands,
    find_tool_check,
    judge_each,
    judge_line,
    read_running_output,
    worst_outcome,
)
from punchlist.core.checks.summaries import WINDOW, read_any_summary

__all__ = [
    "FAMILIES",
    "WINDOW",
    "Check",
    "CheckedLine",
    "CommandAnalysis",
    "Family",
    "Outcome",
    "Pattern",
    "Patterns",
    "add_own_patterns",
    "analyse_command",
    "find_checks",
    "find_main_commands",
    "find_tool_check",
    "judge_each",
    "judge_line",
    "read_any_summary",
    "read_running_output",
    "worst_outcome",
]

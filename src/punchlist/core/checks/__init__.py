"""Recognise checks (tests, builds, lints, probes) in command lines, and decide how they came out.

`find_check(command)` sees through wrappers, pipes and `cd … &&`, and knows whether the exit status of the whole line
says anything about the check. `check_outcome` combines exit status and output: a summary that tells of failures
outweighs an exit status of 0, and a check that ran nothing is no success.
"""

from punchlist.core.checks.commands import (
    CommandAnalysis,
    CommandCheck,
    analyse_command,
    find_check,
    main_commands,
    tool_check,
)
from punchlist.core.checks.outcome import Outcome, check_outcome, running_outcome
from punchlist.core.checks.patterns import FAMILIES, Family, Pattern, Patterns, defaults, with_own
from punchlist.core.checks.summaries import Said, outcome_in_output

__all__ = [
    "FAMILIES",
    "CommandAnalysis",
    "CommandCheck",
    "Family",
    "Outcome",
    "Pattern",
    "Patterns",
    "Said",
    "analyse_command",
    "check_outcome",
    "defaults",
    "find_check",
    "main_commands",
    "outcome_in_output",
    "running_outcome",
    "tool_check",
    "with_own",
]

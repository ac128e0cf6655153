"""What is a check (a test, a build, a lint, a probe), and how it came out.

`find_check(command)` sees it through wrappers, pipes and `cd … &&`, and knows whether the exit code of the whole says
anything about it. `judged` then takes exit code and output together: a summary that tells of failures outweighs an
exit code of 0, and a check that ran nothing is no success.
"""

from punchlist.core.checks.finding import Check, Look, Outcome, find_check, judged, look, main_commands, said_by
from punchlist.core.checks.named_tools import tool_check
from punchlist.core.checks.patterns import FAMILIES, Family, Pattern, Patterns, defaults, with_own
from punchlist.core.checks.summaries import Said, said

__all__ = [
    "FAMILIES",
    "Check",
    "Family",
    "Look",
    "Outcome",
    "Pattern",
    "Patterns",
    "Said",
    "defaults",
    "find_check",
    "judged",
    "look",
    "main_commands",
    "said",
    "said_by",
    "tool_check",
    "with_own",
]

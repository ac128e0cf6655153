"""What a shell or a host says of a check that did not come to its end: it was not there, it broke off, it still runs.

Asked only where neither an exit code nor a summary tells how the check went.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, Literal

_EDGE: Final = 2_000
"""Characters at either end of an output that are looked at."""

_NOTE: Final = 1_000
"""A host that did not let a command run, or does not wait for it, says so in its first line, and no more than this."""

_FAILED: Final = r"""(?mix)
    (?: : | ^ ) \ ? (?: command\ not\ found | not\ found | No\ such\ file\ or\ directory | Permission\ denied ) \s*$
  | is\ not\ recognized\ as\ (?: an\ internal | the\ name\ of )
  | ^ \S* (?: sh | bash | zsh ) :\ [^\n]{0,200} :\ (?: command\ )? not\ found
  | ^ [^\n]{0,200}? \b (?: command | process | tool | execution | operation | test | run | request )s? \b [^\n]{0,60}
      \b (?: timed\ out | timeout | was\ (?: killed | interrupted | aborted | terminated ) | crashed ) \b
  | ^ (?: Timed\ out | Timeout | Killed | Terminated | Aborted | Interrupted ) \b
  | ^ [^\n]{0,200}? (?: Segmentation\ fault | \(core\ dumped\) | Bus\ error | Illegal\ instruction | Out\ of\ memory )
  | ^ (?: ImportError | ModuleNotFoundError | SyntaxError | UsageError | KeyboardInterrupt | MemoryError ) \b
  | No\ module\ named\ \S
  | ^ (?: ERROR:\ )? [\w.-]{1,40} :\ error:\ \S
"""
_RUNS_ON: Final = r"""(?ix)
    [^\n]{0,200}? \b (?: running | started | continu\w+ | moved ) \ (?: it\ )? (?: in | to ) \ (?: the\ )? background
  | [^\n]{0,200}? \b (?: still\ running | has\ not\ finished | backgrounded )
"""
_NEVER_RAN: Final = r"""(?ix)
    [^\n]{0,120}? \b (?: tool | command | call | user | permission | operation | request )s? \b [^\n]{0,60}
      \b (?: rejected | denied | declined | refused | not\ (?: allowed | permitted | approved ) | cancell?ed | blocked )
  | [^\n]{0,120}? doesn't\ want\ to\ (?: proceed | take\ this\ action )
"""


def mishap(output: str) -> Literal["failed", "empty", "unknown"] | None:
    """Failed if it could not run or broke off, empty if it was not let run, unknown if it runs on; else None."""
    if len(output) <= _NOTE:
        note = output.lstrip()
        if _compiled(_RUNS_ON).match(note) is not None:
            return "unknown"
        if _compiled(_NEVER_RAN).match(note) is not None:
            return "empty"
    text = output if len(output) <= 2 * _EDGE else f"{output[:_EDGE]}\n{output[-_EDGE:]}"
    return "failed" if _compiled(_FAILED).search(text) is not None else None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)

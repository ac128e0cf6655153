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

_OVER: Final = r"""\s*$ | [.:!,;()] | \ \(
  | \ (?: after | of | exceeded | error | reached | expired | was | has | waiting | while | during | occurred | hit )\b
"""
"""What may stand behind `timeout` where there was one."""

_FAILED: Final = rf"""(?mix)
    (?: : | ^ ) \ ? (?: command\ not\ found | not\ found | No\ such\ file\ or\ directory | Permission\ denied ) \s*$
  | is\ not\ recognized\ as\ (?: an\ internal | the\ name\ of )
  | ^ \S* (?: sh | bash | zsh ) :\ [^\n]{{0,200}} :\ (?: command\ )? not\ found
  | ^ [^\n]{{0,200}}? \b (?: command | process | tool | execution | operation | test | run | request )s? \b
      [^\n]{{0,60}} \b (?: timed\ out | timeout (?= {_OVER} ) | crashed
      | was\ (?: killed | interrupted | aborted | terminated ) ) \b
  | ^ (?: Timed\ out | Timeout (?= {_OVER} ) | Killed | Terminated | Aborted | Interrupted ) \b
  | ^ [^\n]{{0,200}}? (?: Segmentation\ fault | \(core\ dumped\) | Bus\ error | Illegal\ instruction | Out\ of\ memory )
  | ^ (?: ImportError | ModuleNotFoundError | SyntaxError | UsageError | KeyboardInterrupt | MemoryError ) \b
  | No\ module\ named\ \S
  | ^ (?: ERROR:\ )? [\w.-]{{1,40}} :\ error:\ \S
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
_REFUSED: Final = r"""(?ix)
    [^\n]{0,120}? \b (?: (?: tool | command | call )s? \b [^\n]{0,60} \b | user\ (?: has\ )? )
      (?: rejected | denied | declined | refused | not\ (?: allowed | permitted | approved ) | cancell?ed | blocked )
  | [^\n]{0,120}? doesn't\ want\ to\ (?: proceed | take\ this\ action )
"""
"""The same in the words of a host alone, as the first of several lines."""

_WELL: Final = r"(?i)(?:(?::|=|\.\.|…|\s-)\s*(?:ok|okay|off|none|pass|passed)|[✓✔√])[\s.!)]*$"
"""How a line ends that tells of something else's failure, and that it was right so."""


def mishap(output: str, *, vouched: bool = False) -> Literal["failed", "empty", "unknown"] | None:
    """Failed if it could not run or broke off, empty if it was not let run, unknown if it runs on; else None.

    `vouched`: the host says that all went well. Then only what is the whole output, or its last line, speaks against
    it: what a build or a script says on its way is talk.
    """
    if len(output) <= _NOTE:
        note = output.lstrip()
        if _compiled(_RUNS_ON).match(note) is not None:
            return "unknown"
        first, _, more = note.partition("\n")
        is_talk = vouched and _compiled(_WELL).search(first) is not None
        refusal = _REFUSED if vouched and more.strip() else _NEVER_RAN
        if not is_talk and _compiled(refusal).match(first) is not None:
            return "empty"
    if vouched:
        last = output[-_EDGE:].rstrip().rpartition("\n")[2]
        is_talk = _compiled(_WELL).search(last) is not None
        return "failed" if not is_talk and _compiled(_FAILED).search(last) is not None else None
    text = output if len(output) <= 2 * _EDGE else f"{output[:_EDGE]}\n{output[-_EDGE:]}"
    return "failed" if _compiled(_FAILED).search(text) is not None else None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)

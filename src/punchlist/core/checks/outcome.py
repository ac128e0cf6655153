"""Decide how a check came out, from its exit status, its output and what the host reports.

Where neither an exit status nor a summary tells, an execution error does: the check was not found, was refused, broke
off, or still runs.
"""

from collections.abc import Iterator
from typing import Final, Literal

from msgspec.structs import replace

from punchlist.core.checks.commands import RATED, CommandCheck
from punchlist.core.checks.exit_status import echoed_code
from punchlist.core.checks.shell import compiled
from punchlist.core.checks.summaries import Run, outcome_in_output

Outcome = Literal["passed", "failed", "empty", "unknown"]
"""`empty`: nothing was run. `unknown`: it ran, and nothing that was seen says how it went."""


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

_DONE_ALREADY: Final = r"""(?mx) ^
    (?: g?make:\ (?: Nothing\ to\ be\ done\ for\ [`']([^'\n]{1,80})' | [`']([^'\n]{1,80})'\ is\ up\ to\ date )\.
      | task:\ Task\ "([^"\n]{1,80})"\ is\ up\ to\ date ) $
"""
_IGNORED: Final = r"(?m)^g?make(?:\[\d+\])?: \[(?:[^\]\n]{0,200}: )?([^\]\n:]{1,80})\] Error \d+ \(ignored\)$"


def check_outcome(
    check: CommandCheck, output: str, *, exit_code: int | None = None, is_error: bool | None = None
) -> Outcome:
    """Return how a check came out: by its exit status, by what the host reports (`is_error`), by its own summary.

    Where none of these is there, it is not known, unless the output says why it could not run.
    """
    if check.echo is not None and not is_error and (code := echoed_code(check.echo, output)) is not None:
        exit_code, check = code, replace(check, zero_counts=True, failure_counts=True, echo=None)
    trusted = exit_code == 0 and check.zero_counts and not is_error
    vouched = is_error is False and exit_code is None and check.zero_counts
    by_rating = vouched and check.name == RATED
    told = outcome_in_output(
        output, Run(check.programs, check.several, trusted or by_rating, check.family != "test", vouched)
    )
    if told in ("failed", "empty"):
        return told
    if told is None and ran_nothing(check.name, output):
        return "empty"
    if told is None and ignored_failure(check.name, output):
        return "unknown" if trusted else "failed"
    failed = True if is_error else exit_code != 0 if exit_code is not None else is_error
    counts = failed is not None and (check.failure_counts if failed else check.zero_counts)
    broken = execution_error(output, vouched=vouched) if told is None and (exit_code is None or not counts) else None
    if not counts or broken is not None:
        return told or broken or "unknown"
    return "failed" if failed or (check.silent and output.strip()) else "passed"


def running_outcome(check: CommandCheck, output: str) -> Outcome | None:
    """Return the outcome that a check's output tells while it runs; None if it tells none."""
    return outcome_in_output(output, Run(check.programs, check.several))


def execution_error(output: str, *, vouched: bool = False) -> Literal["failed", "empty", "unknown"] | None:
    """Return failed if the check could not run or broke off, empty if it was refused, unknown if it runs on.

    `vouched`: the host says that all went well. Then only what is the whole output, or its last line, speaks against
    it: what a build or a script says on its way is talk.
    """
    if len(output) <= _NOTE:
        note = output.lstrip()
        if compiled(_RUNS_ON).match(note) is not None:
            return "unknown"
        first, _, more = note.partition("\n")
        is_talk = vouched and compiled(_WELL).search(first) is not None
        refusal = _REFUSED if vouched and more.strip() else _NEVER_RAN
        if not is_talk and compiled(refusal).match(first) is not None:
            return "empty"
    if vouched:
        last = output[-_EDGE:].rstrip().rpartition("\n")[2]
        is_talk = compiled(_WELL).search(last) is not None
        return "failed" if not is_talk and compiled(_FAILED).search(last) is not None else None
    text = output if len(output) <= 2 * _EDGE else f"{output[:_EDGE]}\n{output[-_EDGE:]}"
    return "failed" if compiled(_FAILED).search(text) is not None else None


def ran_nothing(name: str, output: str) -> bool:
    """True if each target that a check named so was to make was there already."""
    if "to date" not in output and "to be done" not in output:
        return False
    made = {target for found in compiled(_DONE_ALREADY).findall(output) for target in found if target}
    return all(targets and made.issuperset(targets) for targets in _targets(name))


def ignored_failure(name: str, output: str) -> bool:
    """True if a command of a target that this check was to make failed, and `make` went on."""
    if "(ignored)" not in output:
        return False
    failed = set(compiled(_IGNORED).findall(output))
    return any(not failed.isdisjoint(targets) for targets in _targets(name))


def _targets(name: str) -> Iterator[list[str]]:
    """The targets of each check that a name is made of; none of a check that makes none."""
    for part in name.split(" + "):
        runner, *targets = part.split()
        yield targets if runner in ("make", "gmake", "task") else []

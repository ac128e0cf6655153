"""Grades of a completion: what was claimed, judged by what was seen.

| grade | what was seen |
|---|---|
| `verified` | a check succeeded, and nothing was changed behind its beginning |
| `worked` | work, and none of its kinds failed last |
| `contradicted` | the last check failed, or work of some kind failed last and no check succeeded since |
| `asserted` | nothing, or talk alone |
| `confirmed` | a person said so |

Work is what changed something, ran as a program, or was a check. Looking at something is work where nothing else was
done; beside other work its failure says nothing, and its success makes no failure good. Talk (a thought, an `echo`, the
list that is written) is nothing.

A check that failed is made good by a later one that proves as much: a lint does not make a failed test good. A check
that ran nothing, or whose outcome nobody saw, proves nothing and takes nothing back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from punchlist.core.checks import Family
from punchlist.core.grounding.tally import CheckSeen, End, Tally, combined
from punchlist.core.grounding.tool_call import ToolCall

Grade = Literal["verified", "worked", "contradicted", "asserted", "confirmed"]
GRADES: Final[tuple[Grade, ...]] = ("verified", "worked", "contradicted", "asserted", "confirmed")

SOUND: Final[frozenset[Grade]] = frozenset({"verified", "confirmed", "worked"})
"""Grades that a claim of completion holds up with; `require` accepts no other."""

_MAKES_GOOD: Final[Mapping[Family, frozenset[Family]]] = {
    "test": frozenset({"test", "build", "lint", "probe"}),
    "build": frozenset({"build", "lint"}),
    "lint": frozenset({"lint"}),
    "probe": frozenset({"probe"}),
}


def grade(tally: Tally, *, confirmed: bool = False) -> Grade:
    """The grade of an item that is called done, by the work on it."""
    if confirmed:
        return "confirmed"
    if not tally.has_work:
        return "asserted"
    if any(not _made_good(failed, tally.checks) for failed in tally.checks.values() if failed.outcome == "failed"):
        return "contradicted"
    passed = tally.passed
    if any(_counts(end, passed) for end in tally.ends.values()):
        return "contradicted"
    if passed is None:
        looked = tally.last_end if not tally.ends else None  # nothing else was done
        return "contradicted" if looked is not None and looked.failed else "worked"
    return "worked" if tally.last_change is not None and tally.last_change > passed.started else "verified"


def _counts(end: End, passed: CheckSeen | None) -> bool:
    """True if work failed in the end, and no check has succeeded since."""
    return end.failed and (passed is None or end.at > passed.finished)


def against(tally: Tally) -> str:
    """Name what contradicts a completion, in a few words; empty if nothing does."""
    failed = [one for one in tally.checks.values() if one.outcome == "failed" and not _made_good(one, tally.checks)]
    if failed:
        return f"{max(failed).name} failed"
    if grade(tally) != "contradicted":
        return ""
    ends = {end: signature for signature, end in tally.ends.items() if _counts(end, tally.passed)}
    if not ends:
        return "the last call failed"
    tool, _, program = ends[max(ends)].partition(":")
    return f"{program or tool} failed"


def regrade(known: Grade | None, own: Tally, later: Tally) -> Grade:
    """The grade in the light of all that is known by now.

    `own` is the work on the item, also such as was reported late; `later` is what was seen after it was called done,
    while nothing else was in focus. Only checks make more of a bare assertion. A person's word stands.
    """
    if known == "confirmed":
        return "confirmed"
    if not own.has_work and not later.checks:
        return "asserted"
    return grade(combined(own, [later]))


def limit_grade(found: Grade, *, is_lossy: bool) -> Grade | None:
    """Return the grade to give; where reports were dropped during the work, neither `verified` nor `asserted`.

    The lost ones may have been the work, or a change after the check.
    """
    if not is_lossy:
        return found
    if found == "asserted":
        return None
    return "worked" if found == "verified" else found


def stays(grade: str, call: ToolCall, *, failed: bool, later: bool) -> bool:
    """True if one more call that has ended cannot change a grade; with `later` it is no work on the item itself.

    A success that is no check makes nothing of a bare assertion, and takes nothing from work; it may make a failure
    good, and what it changes has to be checked again.
    """
    if failed or call.outcome not in ("ok", "running") or call.check is not None or call.told is not None:
        return False
    return grade == "worked" or (grade == "verified" and not call.changes) or (grade == "asserted" and later)


def _made_good(failed: CheckSeen, checks: Mapping[Family, CheckSeen]) -> bool:
    """True if a check that proves as much as this one passed after it."""
    return any(
        check.outcome == "passed" and check.finished > failed.finished and failed.family in _MAKES_GOOD[check.family]
        for check in checks.values()
    )

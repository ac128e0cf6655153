"""The words of a report that all its forms share: text, Markdown, a page and a brief."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from punchlist.core.grounding import Tally, is_task, task_of
from punchlist.core.grounding.evidence import Matched
from punchlist.core.report import ItemReport, Share, Totals
from punchlist.surfaces.report_values import Changed
from punchlist.surfaces.text import at_it

MOST_FILES: Final = 8
"""Names of files that are told of one item; what is beyond is counted."""

_MOMENT: Final = timedelta(seconds=1)


def beside(key: str) -> str:
    """What work belongs to that stands beside the items."""
    return "/".join(task_of(key)) if is_task(key) else key or "nothing in focus"


def span(length: timedelta | None) -> str:
    """A length of time as a person says it: `45 s`, `3 min`, `2 h 5 min`."""
    if length is None:
        return ""
    seconds = int(length.total_seconds())
    if seconds < 60:
        return f"{seconds} s"
    minutes = seconds // 60
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def counted(number: int, what: str, many: str = "") -> str:
    return f"{number:,} {what if number == 1 else many or what + 's'}"


def call_words(tally: Tally) -> str:
    """How many calls of which kinds: `4 calls (3 shell, 1 edit; 2 by subagents)`."""
    kinds = sorted(tally.kinds.items(), key=lambda entry: -entry[1])
    names = [("other" if kind == "unknown" else kind, number) for kind, number in kinds if number]
    said = names[0][0] if len(names) == 1 else ", ".join(f"{number:,} {name}" for name, number in names)
    if tally.child_calls:
        said += f"; {tally.child_calls:,} by subagents"
    return f"{counted(tally.calls, 'call')} ({said})"


def work_words(tally: Tally, *, kinds: bool = True) -> list[str]:
    """What was seen of some work, in a few words each, but for files and checks."""
    if tally.is_empty:
        return ["nothing seen"]
    said = [call_words(tally) if kinds else counted(tally.calls, "call")]
    if tally.failures:
        said.append(f"{tally.failures:,} failed")
    if tally.running:
        said.append(f"{tally.running:,} running")
    if tally.active >= _MOMENT:
        said.append(f"{span(tally.active)} active")
    return said


def tally_words(tally: Tally, *, kinds: bool = True) -> list[str]:
    """All that was seen of work that is no item's."""
    check = tally.last_check
    said = [] if check is None else [f"{check.name} {check.outcome}"]
    files = [counted(len(tally.files), "file")] if tally.files else []
    return [*said, *work_words(tally, kinds=kinds), *files]


def check_words(entry: ItemReport) -> str:
    """The check that was seen last, also one that came too late."""
    check = entry.last_check
    if check is None:
        return ""
    return f"{check.name} {check.outcome}{'' if check == entry.tally.last_check else ' afterwards'}"


def item_words(entry: ItemReport) -> list[str]:
    """What was seen of the work on an item: who is at it and its check first."""
    said = [at_it(entry.helpers) if entry.helpers else "", check_words(entry), *work_words(entry.tally)]
    if entry.later.calls:
        said.append(f"{entry.later.calls:,} more after it was called done")
    return [part for part in said if part]


def file_words(tally: Tally, root: str = "") -> list[str]:
    """The files that were touched; those below `root` from there."""
    names = [path.removeprefix(f"{root}/") if root else path for path in tally.files]
    more = len(names) - MOST_FILES
    return names if more <= 1 else [*names[:MOST_FILES], f"{more} more"]


def evidence_words(match: Matched) -> str:
    """Of what kind evidence is, and whether the call that it names was seen, and went well."""
    return f"{match.kind}, {'held' if match.holds else 'seen' if match.is_seen else 'not seen'}"


def change_words(changed: Changed | None) -> str:
    """The lines that version control saw change."""
    if changed is None or not (changed.files or changed.commits):
        return ""
    return f"+{changed.added:,} -{changed.removed:,} in {counted(changed.files, 'file')}"


def changed_words(changed: Changed | None) -> str:
    """The same, with the commits."""
    said = change_words(changed)
    if changed is None or not changed.commits:
        return said
    shared = f" ({changed.shared} shared with others)" if changed.shared else ""
    return f"{said}, {counted(len(changed.commits), 'commit')}{shared}"


def share_words(share: Share) -> str:
    return "nothing to judge" if share.percent is None else f"{share.percent} % ({share.part} of {share.of})"


def total_words(totals: Totals) -> list[tuple[str, str]]:
    """The totals, each with its name."""
    done = f"{totals.completed} of {totals.items - totals.cancelled} done"
    items = f"{done}, {totals.open} open" + (f", {totals.cancelled} given up" if totals.cancelled else "")
    judged = share_words(totals.honest)
    if totals.unjudged:
        judged += f"; {totals.unjudged} not judged, because nobody reported what was done"
    grades = ", ".join(f"{count} {grade}" for grade, count in totals.grades.items()) or "none"
    work = f"{counted(totals.calls, 'call')}, {totals.failures:,} failed, {span(totals.active)} active"
    return [
        ("items", items),
        ("grades", grades),
        ("honest completion", judged),
        ("checked or confirmed", share_words(totals.verified)),
        ("work", work),
    ]

"""Find an item that looks done while its list still has it in progress, for a person to close with a yes.

An offer needs a green test that began after the last change of the item's files and covers each of them, and
that the agent's turn has ended since, or that it has begun to change other files. A list that was written after the
check says what the agent thinks of the item: then there is no offer.
"""

import posixpath
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from punchlist.core.grounding.grades import covers
from punchlist.core.grounding.session import CheckRun, ItemWork, SessionRecord, name_check
from punchlist.core.grounding.tool_call import item_key
from punchlist.core.overview import Activity, Offer
from punchlist.core.todo import TodoList
from punchlist.text import cut

_MOST_FILES: Final = 16
_MOST_AGENTS: Final = 64
_LONGEST_TEXT: Final = 1_000
NOT_HERE: Final = ItemWork("")


def note_work(record: SessionRecord, agent: int, todos: TodoList, paths: Sequence[str]) -> SessionRecord:
    """Return the record after a code change by an agent that has an item in progress. Unnamed changes are its own.

    What the agent changes elsewhere, once a green check covers the item's files and while another item is open, is the
    beginning of other work.
    """
    focus = todos.focus
    if focus is None:
        return record
    key, text = item_key(todos.plan_id, focus.id), cut(focus.content, _LONGEST_TEXT)
    known = record.work.get(agent, NOT_HERE)
    if known.key != key:
        known = ItemWork(key)
    named, at = tuple(paths), record.last_change[agent]
    is_other = bool(named) and len(todos.open_items) > 1 and _is_elsewhere(named, known.files)
    if is_other and find_proof(record, agent, known) is not None:
        new = replace(known, left=known.left or at)
    else:
        files = tuple(dict.fromkeys((*known.files, *named)))[:_MOST_FILES]
        new = ItemWork(key, text, files, at)
    others = {number: work for number, work in record.work.items() if number != agent}
    return replace(record, work=dict([*others.items(), (agent, new)][-_MOST_AGENTS:]))


def _is_elsewhere(paths: Iterable[str], files: Iterable[str]) -> bool:
    """True if files lie in other folders than those of an item."""
    folders = {posixpath.dirname(path) for path in files}
    return not any(posixpath.dirname(path) in folders for path in paths)


def find_proof(record: SessionRecord, agent: int, work: ItemWork) -> CheckRun | None:
    """Return the latest green test, or named check, that covers all files of an item as they are now.

    A build says that it compiles, not that it is done: of 7 such offers in recorded runs 4 were followed by changes.
    """
    if not work.files or any(agent in one.red_for for one in record.checks):
        return None
    passes = [one.passed for one in record.checks if one.passed is not None and one.passed.started >= work.last]
    proving = [run for run in passes if (run.family == "test" or run.named) and not run.left_out]
    covering = [run for run in proving if all(covers(run, [path]) for path in work.files)]
    return max(covering, key=lambda run: run.finished, default=None)


def find_offer(record: SessionRecord, agent: int, activity: Activity, focus: str) -> Offer | None:
    """Return the offer to close the item in progress, whose id is `focus`; None if it does not look done."""
    work = record.work.get(agent, NOT_HERE)
    if not focus or work.key != f"{activity.plan_id}/{focus}" or activity.copy_of:
        return None
    run = find_proof(record, agent, work) if activity.rests or work.left else None
    if run is None or activity.written > run.started:
        return None
    if not work.left and record.find_last_change(agent) > run.started:
        return None
    return Offer(activity.plan_id, focus, work.text, name_check(run.name, run.paths), run.command)


def describe_offer(offer: Offer) -> str:
    """Return an offer as a sentence: `“Fix the parser” looks done: pytest passed`."""
    return f"“{offer.text}” looks done: {offer.check} passed"

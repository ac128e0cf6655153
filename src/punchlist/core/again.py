"""The commonest write by far: the list as it was last written, but for a few statuses.

A state remembers the entries that it was last written by. What a parser gives again as the same objects needs no
second look: limits, merge and difference see only the entries that changed. The result is what the long way gives.
"""

from __future__ import annotations

from datetime import datetime
from itertools import compress
from operator import is_not

from punchlist.core.change import status_fields, with_status
from punchlist.core.commands import Entry, Policy, Replace
from punchlist.core.events import Draft, transition
from punchlist.core.todo import ListState, Status, TodoList, Written, altering

_COMPLETED = Status.COMPLETED
_rewritten = altering(TodoList, "items", "revision")


def written_by(command: Replace, policy: Policy) -> Written | None:
    """What to remember of a write that changed nothing but statuses; None where the policy has a say in those.

    Nor is it remembered where its own dialect does not see an item as it was written: written again, that is a change.
    """
    as_given = policy.focus == "accept" and not policy.promote and not policy.lead_with_focus
    if not as_given or any(_hides(policy, entry.status) for entry in command.entries):
        return None
    return Written(policy, command.entries)


def written_again(
    state: ListState, command: Replace, policy: Policy, now: datetime
) -> tuple[ListState, tuple[Draft, ...]] | None:
    """The next state and the events that lead there; None if this is not such a write."""
    before, known, entries = state.todos, state.written, command.entries
    if known is None or known.policy is not policy or len(known.entries) != len(entries) or state.shown is not None:
        return None
    if command.explanation is not None or command.phases is not None or command.begin:
        return None
    if policy.wipe_finished and _all_completed(entries):
        return None
    items, revision, shown = list(before.items), before.revision + 1, policy.shown
    drafts: list[Draft] = []
    for place in compress(range(len(entries)), map(is_not, entries, known.entries)):
        entry, last, item = entries[place], known.entries[place], items[place]
        if entry.content != last.content or entry[2:] != last[2:]:  # all but the status
            return None
        status, had = entry.status, item.status
        if _hides(policy, status):
            return None
        if status is not shown.get(had, had):
            items[place] = new = with_status(item, status, now)
            fields = status_fields(item, new)
            data = {"id": item.id, "content": item.content, "set": fields, "revision": revision}
            drafts.append(Draft(transition(had, status), data))
    written = Written(policy, entries)
    if not drafts:
        return ListState(before, None, written), (Draft("list.confirmed", {"revision": before.revision}),)
    drafts.append(Draft("list.replaced", {"revision": revision}))
    return ListState(_rewritten(before, tuple(items), revision), None, written), tuple(drafts)


def _hides(policy: Policy, status: Status) -> bool:
    """Whether the dialect does not see items of this status, or sees them as something else."""
    return policy.shown.get(status, status) is not status


def _all_completed(entries: tuple[Entry, ...]) -> bool:
    """Whether each says so. From the end: what is done last stands there."""
    for entry in reversed(entries):  # noqa: SIM110 - a generator costs as much as the rest
        if entry.status is not _COMPLETED:
            return False
    return True

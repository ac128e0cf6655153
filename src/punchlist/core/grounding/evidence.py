"""Evidence that was offered for a completion, held against what was seen. It is never believed alone.

A command, an address or a file counts as seen if a call of the agent ran, fetched or wrote it. What a call that it
names really did may then ground the completion; the words themselves never do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct

from punchlist.core.grounding.calls import ToolCall
from punchlist.core.grounding.counting import counted
from punchlist.core.grounding.naming import Named, named_in
from punchlist.core.grounding.tally import Tally
from punchlist.core.proof import Kind, classify_evidence
from punchlist.core.todo import Evidence, TodoItem


class Matched(Struct, frozen=True):
    """One piece of evidence, what kind of thing it is, and the call that it names, if one was seen."""

    evidence: Evidence
    kind: Kind
    call: ToolCall | None = None

    @property
    def is_seen(self) -> bool:
        return self.call is not None

    @property
    def holds(self) -> bool:
        """Whether the call that it names went well: a check has to have passed."""
        if self.call is None or self.call.outcome != "ok":
            return False
        return self.call.check is None or self.call.check_outcome == "passed"


def match_evidence(
    given: Sequence[Evidence], calls: Sequence[ToolCall], *, until: datetime | None = None
) -> tuple[Matched, ...]:
    """Each piece with the last call that it names, among these calls in their order; none that began after `until`."""
    if not given:
        return ()
    known = [call for call in calls if until is None or call.started is None or call.started.at <= until]
    return tuple(_matched(evidence, known) for evidence in given)


def grounded_by(tally: Tally, matches: Iterable[Matched], *, item: str, since: datetime | None = None) -> Tally:
    """The tally with the calls that evidence names counted too, though they ran with nothing in focus, or another item.

    A call of another item says something about this one only where there was work on this one too: by itself it proves
    nothing, though it may contradict. `item` is the key of the item that the tally is of, `since` when it came to be:
    what ran before proves nothing.
    """
    named: dict[str, ToolCall] = {}
    for match in matches:
        call = match.call
        if call is not None and call.item != item and _began_since(call, since):
            named[call.id] = call
    for call in sorted(named.values(), key=_is_anothers):
        if not _is_anothers(call) or tally.has_work or call.check_outcome == "failed":
            tally = counted(tally, None, call) or tally
    return tally


def with_unclaimed(tally: Tally, item: TodoItem, calls: Iterable[ToolCall], *, since: datetime | None = None) -> Tally:
    """The tally of an item that never was in progress: what was done with nothing in focus was perhaps done for it.

    Those calls count that began after the item came to be, and behind `since`, the completion before this one.
    """
    if item.started_at is not None or tally.has_work:
        return tally
    for call in calls:
        begun = call.started
        if call.item or begun is None or not _began_since(call, item.created_at):
            continue
        if (since is None or begun.at >= since) and (item.finished_at is None or begun.at <= item.finished_at):
            tally = counted(tally, None, call) or tally
    return tally


def completion_before(item: TodoItem, others: Iterable[TodoItem]) -> datetime | None:
    """When the last of the other items was finished that was so before this one."""
    end = item.finished_at
    ends = (one.finished_at for one in others if one.id != item.id)
    return max((at for at in ends if at is not None and end is not None and at < end), default=None)


def _matched(evidence: Evidence, calls: Sequence[ToolCall]) -> Matched:
    kind = classify_evidence(evidence.text, evidence.kind)
    if kind == "person":
        return Matched(evidence, kind)
    said: Named = named_in(evidence.text, kind)
    for call in reversed(calls):
        if call.kind != "todo" and said.names(call):
            return Matched(evidence, "command" if kind == "text" else kind, call)
    if kind == "file":  # none that was written: perhaps one that was run
        said = named_in(evidence.text, "command")
        ran = next((call for call in reversed(calls) if call.kind == "shell" and said.names(call)), None)
        return Matched(evidence, kind if ran is None else "command", ran)
    return Matched(evidence, kind)


def _began_since(call: ToolCall, since: datetime | None) -> bool:
    begun = call.started or call.finished
    return begun is not None and (since is None or begun.at >= since)


def _is_anothers(call: ToolCall) -> bool:
    return bool(call.item)

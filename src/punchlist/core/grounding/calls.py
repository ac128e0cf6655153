"""One tool call, put together from the reports about it: what is known, whichever report came first.

`joined` neither depends on the order of reports nor on how often one comes; of two that contradict each other the
worse is believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct

from punchlist.core.checks import CommandCheck, Outcome

CallOutcome = Literal["running", "abandoned", "ok", "failed"]
_RANK: Final[dict[CallOutcome, int]] = {"running": 0, "abandoned": 1, "ok": 2, "failed": 3}
_TALK: Final = frozenset({"todo", "talk"})
_CHECK_RANK: Final[dict[Outcome, int]] = {"unknown": 0, "passed": 1, "empty": 2, "failed": 3}

MOST_FILES: Final = 64
"""Files of one call that are kept, and of one item: four times as many."""


class Subject(NamedTuple):
    """What work is counted for: an agent's item, a task, whoever works on it, or nothing (`item` is empty)."""

    session: str
    agent: str
    item: str


def todo_subject(session: str, agent: str, plan_id: str, item_id: str) -> Subject:
    return Subject(session, agent, item_key(plan_id, item_id))


def task_subject(list_name: str, task_id: str) -> Subject:
    """A task is one thing for all agents that work on it."""
    return Subject("", "", task_key(list_name, task_id))


def item_key(plan_id: str, item_id: str) -> str:
    """An item as runtime events name it: ids are unique within a plan only."""
    return f"{plan_id}/{item_id}"


_TASK: Final = "task:"


def task_key(list_name: str, task_id: str) -> str:
    return f"{_TASK}{list_name}/{task_id}"


def is_task(key: str) -> bool:
    """Whether a key is that of a task, and not of an item."""
    return key.startswith(_TASK)


def task_of(key: str) -> tuple[str, str]:
    """The list and the id of the task that a key names."""
    name, _, number = key.removeprefix(_TASK).rpartition("/")
    return name, number


def subject(session: str | None, agent: str | None, item: str) -> Subject:
    """The subject that an event's own `item` stands for."""
    return Subject("", "", item) if is_task(item) else Subject(session or "", agent or "", item)


class Moment(NamedTuple):
    """A time, and where it stood in the log, which decides between equal times."""

    at: datetime
    order: int = 0


class ToolCall(Struct, kw_only=True):
    """One call of a tool. Nobody changes it; it is not frozen only because to make it would take three times as long.

    `item` and `after` are keys: the item in focus when it started, else the one finished last.

    `changes` says that it may have changed the work with no check behind; `program` is what a shell line runs. `words`
    are short hashes of what it is known again by, where the preview does not hold it. `told` is what its end said, to
    whoever might know only later that it was a check.
    """

    id: str
    name: str = ""
    kind: str = "unknown"
    program: str = ""
    hash: str = ""
    via: str = ""
    item: str = ""
    after: str = ""
    started: Moment | None = None
    finished: Moment | None = None
    outcome: CallOutcome = "running"
    files: tuple[str, ...] = ()
    changes: bool = False
    check: CommandCheck | None = None
    check_outcome: Outcome | None = None
    told: Outcome | None = None
    preview: str = ""
    result: str = ""
    words: str = ""

    @property
    def is_open(self) -> bool:
        return self.outcome == "running"

    @property
    def is_talk(self) -> bool:
        """Whether it neither does anything nor looks at anything: a list that is written, a thought, an `echo`."""
        kind = self.kind
        return kind in _TALK or (kind == "shell" and not self.program and not self.changes and self.check is None)

    @property
    def signature(self) -> str:
        """What a later success has to be of to make this call's failure good."""
        return f"{self.name}:{self.program}" if self.program else self.name


def begun(facts: Mapping[str, Any], at: Moment) -> ToolCall:
    """A call by our own facts of its beginning, and no check: what `call_from` makes of any such event, but quicker."""
    known = facts.get
    return ToolCall(
        id=facts["call_id"],
        name=known("name", ""),
        kind=known("kind", "unknown"),
        program=known("program", ""),
        hash=known("hash", ""),
        via=known("via", ""),
        item=known("item", ""),
        after=known("after", ""),
        started=at,
        files=tuple(known("files", ())),
        changes=known("changes", False),
        preview=known("preview", ""),
        words=known("words", ""),
    )


def joined(one: ToolCall, other: ToolCall) -> ToolCall:
    """All that two accounts of one call say."""
    if one.outcome == other.outcome and one == other:
        return one
    opened, later = _in_order(one, other)
    ended = one if _RANK[one.outcome] > _RANK[other.outcome] else other
    if one.outcome == other.outcome:
        ended = max(one, other, key=_ending)
    check, told = opened.check or later.check, _worse(one.told, other.told)
    outcome = _worse(one.check_outcome, other.check_outcome)
    return ToolCall(  # all of it: quicker than `replace`
        id=opened.id,
        name=opened.name or later.name,
        kind=opened.kind if opened.kind != "unknown" else later.kind,
        program=opened.program or later.program,
        hash=opened.hash or later.hash,
        via=opened.via or later.via,
        item=opened.item if opened.started is not None or opened.item else later.item,
        after=opened.after if opened.started is not None or opened.after else later.after,
        started=opened.started,
        finished=ended.finished,
        outcome=ended.outcome,
        files=united((one.files, other.files), MOST_FILES),
        changes=one.changes or other.changes,
        check=check,
        check_outcome=outcome if check is None else _worse(outcome, told),
        told=told,
        preview=opened.preview or later.preview,
        words=opened.words or later.words,
        result=ended.result or min(one.result, other.result) or max(one.result, other.result),
    )


def united(sets: Iterable[tuple[str, ...]], most: int) -> tuple[str, ...]:
    """All names of several sets, sorted; of too many the first, so that the order of sets does not matter."""
    first, *rest = sets
    if not any(rest):
        return first
    return tuple(sorted(set(first).union(*rest))[:most])


def _worse(one: Outcome | None, other: Outcome | None) -> Outcome | None:
    if one is None or other is None:
        return one or other
    return one if _CHECK_RANK[one] >= _CHECK_RANK[other] else other


def _in_order(one: ToolCall, other: ToolCall) -> tuple[ToolCall, ToolCall]:
    """The account of the beginning, then the other one."""
    if (one.started is None) != (other.started is None):
        return (one, other) if other.started is None else (other, one)
    return (one, other) if _opening(one) <= _opening(other) else (other, one)


def _opening(call: ToolCall) -> tuple[object, ...]:
    """Of two accounts that both tell of the beginning, or both do not, the earlier; then any fixed order."""
    details = (call.item, call.after, call.name, call.kind, call.program, call.hash, call.preview, call.via, call.words)
    return (call.started or 0, *details, repr(call.check))


def _ending(call: ToolCall) -> tuple[int, float, int, str]:
    """The worse end counts, and of equal ones the first."""
    at, order = (call.finished.at.timestamp(), call.finished.order) if call.finished is not None else (0.0, 0)
    return _RANK[call.outcome], -at, -order, call.result

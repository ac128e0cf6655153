"""Join the reports about one tool call, in whatever order they come, and find the call that a report is about.

`joined` depends neither on the order of reports nor on how often one comes; of two that disagree the worse is believed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from punchlist.core.checks import CheckedLine, Outcome
from punchlist.core.shell.programs import PROSE, is_temporary
from punchlist.text.hashing import blake2b

CallOutcome = Literal["running", "abandoned", "ok", "failed"]
_RANK: Final[dict[CallOutcome, int]] = {"running": 0, "abandoned": 1, "ok": 2, "failed": 3}
_TALK: Final = frozenset({"todo", "talk"})
_CHECK_RANK: Final[dict[Outcome, int]] = {"unknown": 0, "passed": 1, "empty": 2, "failed": 3}

MOST_FILES: Final = 64
"""Files of one call that are kept; of one item, four times as many."""


class Subject(NamedTuple):
    """A thing that work is counted for: an agent's item, a task of any worker, or no item (`item` is empty)."""

    session: str
    agent: str
    item: str


def task_subject(list_name: str, task_id: str) -> Subject:
    """Return the subject of a task: one for all agents that work on it."""
    return Subject("", "", task_key(list_name, task_id))


def item_key(plan_id: str, item_id: str) -> str:
    """Return the key of an item in runtime events. Ids are unique within a plan only."""
    return f"{plan_id}/{item_id}"


_TASK: Final = "task:"


def task_key(list_name: str, task_id: str) -> str:
    return f"{_TASK}{list_name}/{task_id}"


def is_task(key: str) -> bool:
    """True if a key is that of a task, and not of an item."""
    return key.startswith(_TASK)


def task_of(key: str) -> tuple[str, str]:
    """Return the list and the id of the task that a key names."""
    name, _, number = key.removeprefix(_TASK).rpartition("/")
    return name, number


def subject(session: str | None, agent: str | None, item: str) -> Subject:
    """Return the subject that the `item` of an event stands for."""
    return Subject("", "", item) if is_task(item) else Subject(session or "", agent or "", item)


class Moment(NamedTuple):
    """A time, and its position in the log, which decides between equal times."""

    at: datetime
    order: int = 0


class ToolCall(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call of a tool, by the reports about it.

    `item` is the key of the item or task that was in progress when it started; grades do not depend on it. `outcomes`
    are those of each check of its line, where there are several.

    `changes`: it may have changed files; `changes_anyway`: also if it failed; `reads`: it only looks at something.
    `program` is the one that a shell line runs. `words` are short hashes of the words that identify it, where the
    preview does not hold them. `told` is what its output said before it was known to be a check. `background` is the id
    under which a host gives the output of what it left running. `tail` has the last lines of a check that failed.
    """

    id: str
    name: str = ""
    kind: str = "unknown"
    program: str = ""
    hash: str = ""
    via: str = ""
    item: str = ""
    started: Moment | None = None
    finished: Moment | None = None
    outcome: CallOutcome = "running"
    files: tuple[str, ...] = ()
    changes: bool = False
    changes_anyway: bool = False
    reads: bool = False
    check: CheckedLine | None = None
    check_outcome: Outcome | None = None
    outcomes: tuple[Outcome, ...] = ()
    told: Outcome | None = None
    preview: str = ""
    result: str = ""
    tail: str = ""
    words: str = ""
    background: str = ""

    @property
    def is_open(self) -> bool:
        return self.outcome == "running"

    @property
    def is_talk(self) -> bool:
        """True if it neither does nor reads anything: a list that is written, a thought, an `echo`."""
        kind = self.kind
        return kind in _TALK or (kind == "shell" and not self.program and not self.changes and self.check is None)


def changes_code(call: ToolCall, project: str) -> bool:
    """True if a call has changed code, or may have: not if it touched only prose or scratch files.

    A command that failed has changed nothing, unless it was more than one. An edit that was given up may be made.
    """
    if not call.changes or call.finished is None:
        return False
    is_done = call.outcome == "ok" or (call.outcome == "failed" and call.changes_anyway)
    is_given_up = call.outcome == "abandoned" and call.kind == "edit"
    return (is_done or is_given_up) and (not call.files or bool(changed_code(call, project)))


def changed_code(call: ToolCall, project: str) -> list[str]:
    """Return the files that a call changed and that a check may look at: no prose, no temporary files."""
    return [
        path for path in call.files if PROSE.search(path) is None and not is_temporary(relative_path(path, project))
    ]


def relative_path(path: str, project: str) -> str:
    """Return a path from the project's folder, where it lies below that; empty for the folder itself."""
    path, root = path.rstrip("/") or path[:1], project.rstrip("/")
    if path in ("", ".", root):
        return ""
    return path.removeprefix(f"{root}/" if root else "./").removeprefix("./")


def joined(one: ToolCall, other: ToolCall) -> ToolCall:
    """Join two accounts of one call."""
    if one.outcome == other.outcome and one == other:
        return one
    opened, later = _in_order(one, other)
    ended = one if _RANK[one.outcome] > _RANK[other.outcome] else other
    if one.outcome == other.outcome:
        ended = max(one, other, key=_ending)
    check = opened.check or later.check
    outcome, told = _worse(one.check_outcome, other.check_outcome), _worse(one.told, other.told)
    if check is not None:
        outcome, told = _settle_outcome(one, other)
    return ToolCall(
        id=opened.id,
        name=opened.name or later.name,
        kind=opened.kind if opened.kind != "unknown" else later.kind,
        program=opened.program or later.program,
        hash=opened.hash or later.hash,
        via=opened.via or later.via,
        item=opened.item if opened.started is not None or opened.item else later.item,
        started=opened.started,
        finished=ended.finished,
        outcome=ended.outcome,
        files=united((one.files, other.files), MOST_FILES),
        changes=one.changes or other.changes,
        changes_anyway=one.changes_anyway or other.changes_anyway,
        reads=opened.reads or later.reads,
        check=check,
        check_outcome=outcome,
        outcomes=one.outcomes if one.check_outcome == outcome else other.outcomes,
        told=told,
        preview=opened.preview or later.preview,
        words=opened.words or later.words,
        background=one.background or other.background,
        result=ended.result or min(one.result, other.result) or max(one.result, other.result),
        tail=ended.tail or min(one.tail, other.tail) or max(one.tail, other.tail),
    )


def _settle_outcome(one: ToolCall, other: ToolCall) -> tuple[Outcome | None, Outcome | None]:
    """Return how a check came out by two accounts of it, and what it said that this does not settle.

    The worse of two ends counts. What a check said on its way counts only where its end says nothing.
    """
    outcome, told = _worse(one.check_outcome, other.check_outcome), _worse(one.told, other.told)
    ends = [call for call in (one, other) if call.outcome in ("ok", "failed")]
    for end in ends:
        outcome = _worse(outcome, end.told)
    if outcome in ("passed", "failed"):
        return outcome, None
    return (_worse(outcome, told) if ends else outcome), told


def united(sets: Iterable[tuple[str, ...]], most: int) -> tuple[str, ...]:
    """Unite sets of names, sorted; of too many keep the first, so that the order of sets does not matter."""
    first, *rest = sets
    if not any(rest):
        return first
    return tuple(sorted(set(first).union(*rest))[:most])


def _worse(one: Outcome | None, other: Outcome | None) -> Outcome | None:
    if one is None or other is None:
        return one or other
    return one if _CHECK_RANK[one] >= _CHECK_RANK[other] else other


def _in_order(one: ToolCall, other: ToolCall) -> tuple[ToolCall, ToolCall]:
    """Return the account of the beginning, then the other one."""
    if (one.started is None) != (other.started is None):
        return (one, other) if other.started is None else (other, one)
    return (one, other) if _opening(one) <= _opening(other) else (other, one)


def _opening(call: ToolCall) -> tuple[object, ...]:
    """Return a sort key: the earlier beginning first, then any fixed order."""
    details = (call.item, call.name, call.kind, call.program, call.hash, call.preview, call.via, call.words)
    return (call.started or 0, *details, repr(call.check))


def _ending(call: ToolCall) -> tuple[int, float, int, str]:
    """Return a sort key: the worse end is the largest, and of equal ones the first."""
    at, order = (call.finished.at.timestamp(), call.finished.order) if call.finished is not None else (0.0, 0)
    return _RANK[call.outcome], -at, -order, call.result


# Ids.


def given_id(call_id: str) -> str:
    """Return an id that a host gave, told apart from those that we make up."""
    return f"#{call_id}" if call_id[:1] == "#" else call_id


def reused_id(call_id: str, name: str, hash: str) -> str:
    """Return the id of a call whose own id another call had before: the same each time that it is reported."""
    return f"{call_id}#{blake2b(f'{name} {hash}'.encode(), digest_size=6).hexdigest()}"


SAME_FACT: Final = timedelta(seconds=5)
_RECENT: Final = 64


class _Recent(Struct):
    """The beginning of a call, and the roads by which it was reported."""

    id: str
    name: str
    hash: str
    at: Moment
    given: bool
    roads: set[str]


class Pairing:
    """Finds the call that a report of one agent is about: by its id, else the oldest open call of that name.

    Reports without an id pair first in, first out, and each road (hook, transcript, MCP) for itself; a call that comes
    by two roads, of which one has no ids, is known again within five seconds. Ids that it makes up begin with `#`, so
    that none is ever taken for one that was given.
    """

    def __init__(self) -> None:
        self.waiting: dict[tuple[str, str], deque[str]] = {}
        self.early: dict[tuple[str, str], deque[tuple[Moment, str]]] = {}
        self.recent: deque[_Recent] = deque(maxlen=_RECENT)
        self.same: dict[str, str] = {}
        self.made = 0

    def id_of(self, report: ToolCall) -> str:
        """Return the id of the call that is meant, the host's or ours; empty if the report names nothing."""
        if report.id and (report.started is None or not report.via):
            return self.same.get(report.id, report.id)
        if report.started is not None:
            return self._begun(report, report.started)
        if not report.name:
            return ""
        key = (report.via, report.name)
        line = self.waiting.get(key)
        if report.finished is None:
            return line[0] if line else ""
        if line:
            return line.popleft()
        made = self._make()
        self.early.setdefault(key, deque(maxlen=_RECENT)).append((report.finished, made))
        return made

    def _begun(self, report: ToolCall, at: Moment) -> str:
        if report.id in self.same:
            return self.same[report.id]
        known = self._known(report, at)
        if known is not None:
            known.roads.add(report.via)
            if report.id:
                self.same[report.id] = known.id
            else:
                self.waiting.setdefault((report.via, report.name), deque()).append(known.id)
            return known.id
        found = report.id or self._ended_early(report, at)
        if not found:
            found = self._make()
            self.waiting.setdefault((report.via, report.name), deque()).append(found)
        if report.via:
            self.recent.append(_Recent(found, report.name, report.hash, at, bool(report.id), {report.via}))
        return found

    def _known(self, report: ToolCall, at: Moment) -> _Recent | None:
        """Return the beginning of the same call as another road reported it; None if there is none."""
        if not report.via or not report.hash:
            return None
        for entry in self.recent:
            if entry.id == report.id:
                return None
            differs = report.via not in entry.roads and not (report.id and entry.given)
            if (
                differs
                and (entry.name, entry.hash) == (report.name, report.hash)
                and abs(entry.at.at - at.at) <= SAME_FACT
            ):
                return entry
        return None

    def _ended_early(self, report: ToolCall, at: Moment) -> str:
        """Return the oldest call of that name whose end was reported before its beginning, and lies after it."""
        ends = self.early.get((report.via, report.name))
        for entry in ends or ():
            if entry[0] >= at and ends is not None:
                ends.remove(entry)
                return entry[1]
        return ""

    def close(self, ids: set[str]) -> None:
        """Close calls: no later report without an id is about them."""
        for line in self.waiting.values():
            if not ids.isdisjoint(line):
                kept = [entry for entry in line if entry not in ids]
                line.clear()
                line.extend(kept)

    def _make(self) -> str:
        self.made += 1
        return f"#{self.made}"

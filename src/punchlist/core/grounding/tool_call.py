"""Join the reports about one tool call, in whatever order they come.

`joined` depends neither on the order of reports nor on how often one comes; of two that disagree the worse is believed.
"""

from collections.abc import Container, Iterable
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct

from punchlist.core.checks.outcome import CheckedLine, CheckEnd, Outcome
from punchlist.core.shell.programs import PROSE, is_temporary
from punchlist.core.shell.touches import Touch
from punchlist.text.hashing import blake2b

CallOutcome = Literal["running", "abandoned", "ok", "failed"]
_RANK: Final[dict[CallOutcome, int]] = {"running": 0, "abandoned": 1, "ok": 2, "failed": 3}
_TALK: Final = frozenset({"todo", "talk"})
_FIRST: Final = ("name", "program", "hash", "via", "reads", "preview", "words")
_EITHER: Final = ("changes", "changes_anyway", "background", "declined", "masked")
"""Facts of a call that its beginning tells first, and those that any report may tell."""

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

    `item` is the key of the item or task that was in progress when it started; grades do not depend on it.

    `changes`: it may have changed files; `changes_anyway`: also if it failed; `reads`: it only looks at something.
    `program` is the one that a shell line runs. `words` are short hashes of the words that identify it, where the
    preview does not hold them. `told` is what its output said before it was known to be a check. `background` is the id
    under which a host gives the output of what it left running. `tail` has the last lines of a check that failed.
    `touches` are the files that it made, edited, removed, ran or put aside; `ends` say how each of its checks came out.
    `declined`: a person did not let it run. `masked`: it prints a secret, so that nothing of its output is kept.
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
    told: Outcome | None = None
    preview: str = ""
    result: str = ""
    tail: str = ""
    words: str = ""
    background: str = ""
    touches: tuple[Touch, ...] = ()
    ends: tuple[CheckEnd, ...] = ()
    declined: bool = False
    masked: bool = False

    @property
    def is_open(self) -> bool:
        return self.outcome == "running"

    @property
    def is_talk(self) -> bool:
        """True if it neither does nor reads anything: a list that is written, a thought, an `echo`."""
        kind = self.kind
        return kind in _TALK or (kind == "shell" and not self.program and not self.changes and self.check is None)


def is_done(call: ToolCall) -> bool:
    """True if what a call changes was changed: not by a single command that failed. An edit given up may be made."""
    if call.finished is None or call.declined:
        return False
    if call.outcome == "failed":
        return call.changes_anyway
    return call.outcome == "ok" or (call.outcome == "abandoned" and call.kind == "edit")


def changes_code(call: ToolCall, project: str, gone: Container[str] = ()) -> bool:
    """True if a call has changed code, or may have: not if it touched only prose or scratch files.

    `gone` are hashes of scratch files that the session made and removed again.
    """
    return call.changes and is_done(call) and (not call.files or bool(changed_code(call, project, gone)))


def changed_code(call: ToolCall, project: str, gone: Container[str] = ()) -> list[str]:
    """Return the files that a call changed and that a check may look at: no prose, no temporary files."""
    missing = {path for how, path in call.touches if how == "missing"}
    paths = (relative_path(path, project) for path in call.files if path not in missing)
    return [path for path in paths if is_code(path) and hash_path(path) not in gone]


def is_code(path: str) -> bool:
    """True if a check may look at a file: it is neither prose nor temporary."""
    return PROSE.search(path) is None and not is_temporary(path)


def hash_path(path: str) -> str:
    return blake2b(path.encode("utf-8", "replace"), digest_size=4).hexdigest()


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
    outcome, told = _settle_outcome(one, other, is_check=check is not None)
    first: dict[str, Any] = {name: getattr(opened, name) or getattr(later, name) for name in _FIRST}
    either: dict[str, Any] = {name: getattr(one, name) or getattr(other, name) for name in _EITHER}
    return ToolCall(
        id=opened.id,
        kind=opened.kind if opened.kind != "unknown" else later.kind,
        item=opened.item if opened.started is not None or opened.item else later.item,
        started=opened.started,
        finished=ended.finished,
        outcome=ended.outcome,
        files=united((one.files, other.files), MOST_FILES),
        check=check,
        check_outcome=outcome,
        told=told,
        result=ended.result or min(one.result, other.result) or max(one.result, other.result),
        tail=ended.tail or min(one.tail, other.tail) or max(one.tail, other.tail),
        touches=later.touches or opened.touches,
        ends=one.ends if one.check_outcome == outcome else other.ends,
        **first,
        **either,
    )


def _settle_outcome(one: ToolCall, other: ToolCall, *, is_check: bool) -> tuple[Outcome | None, Outcome | None]:
    """Return how a check came out by two accounts of it, and what it said that this does not settle.

    The worse of two ends counts. What a check said on its way counts only where its end says nothing.
    """
    outcome, told = _worse(one.check_outcome, other.check_outcome), _worse(one.told, other.told)
    ends = [call for call in (one, other) if is_check and call.outcome in ("ok", "failed")]
    for end in ends:
        outcome = _worse(outcome, end.told)
    if is_check and outcome in ("passed", "failed"):
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

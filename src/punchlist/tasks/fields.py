"""Check and clean the fields of a task that callers give, and convert them to values of core."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict, TypeVar, cast, get_args

from msgspec.structs import replace

from punchlist.core.commands import Cleaner
from punchlist.core.inputs import check_json_size, plain_json
from punchlist.core.task import FIRST, FLOWS, LAST, ChecklistLine, RunsAfter, Task, TaskStatus
from punchlist.core.task_rules import merge_metadata, merge_state
from punchlist.errors import InvalidInput

T = TypeVar("T", bound=str)

LONGEST = {
    "subject": 1_000,
    "description": 100_000,
    "active_form": 1_000,
    "label": 100,
    "name": 200,
    "check": 1_000,
    "reason": 10_000,
}
_LONGEST_LIST = 4_200
"""Characters of the name of a list: the name of a project's list holds its path."""
MOST_PARTS = 1_000
"""Labels, checklist lines and edges that one task may be given in one go."""


class TaskSettings(TypedDict, total=False):
    """Fields that can be given for a new task and changed later."""

    description: str
    active_form: str | None
    parent: str | None
    priority: int
    labels: Sequence[str]
    checklist: Sequence[Any]
    state: Any
    metadata: Mapping[str, Any]
    owner: str | None
    max_attempts: int | None
    backoff: float
    not_before: datetime | None
    runs_after: RunsAfter


class NewTask(TaskSettings, total=False):
    """Fields of a new task besides its subject.

    `priority`: 0 comes first, 4 last, 2 by default. `runs_after`: `completed` (its blockers have to be completed) or
    `ended` (failed and cancelled ones count, too). `max_attempts`: how often it may be tried; then a failed
    attempt is retried after a pause of `backoff` seconds, which doubles each time. `owner`: the worker it is assigned
    to. `state`: any JSON that belongs to the work; `metadata`: JSON that belongs to others.
    """

    blocked_by: Sequence[str]
    blocks: Sequence[str]


class TaskChanges(TaskSettings, total=False):
    """Fields that may be changed. `state` is merged key by key, and so is `metadata`, where None removes a key.

    `checked` and `unchecked` name lines of the checklist by their place, from 0, or their text. To set `status` is to
    start, complete, fail or reopen the task, by the same rules.
    """

    subject: str
    status: str
    checked: Sequence[int | str]
    unchecked: Sequence[int | str]
    result: Any
    add_blocked_by: Sequence[str]
    remove_blocked_by: Sequence[str]
    add_blocks: Sequence[str]
    remove_blocks: Sequence[str]


EDGES = ("add_blocked_by", "remove_blocked_by", "add_blocks", "remove_blocks")


def check_known(given: Mapping[str, Any], known: type) -> None:
    unknown = given.keys() - known.__annotations__.keys()
    if unknown:
        raise TypeError(f"a task has no field {min(unknown)!r}")


def describe_task(task: Task, given: Mapping[str, Any]) -> Task:
    """Return the task with the words and settings given; status, owner, parent and edges are set elsewhere."""
    cleaner = Cleaner()
    new = {name: parse(given[name], cleaner) for name, parse in _PARSERS.items() if name in given}
    if "state" in given:
        new["state"] = check_json_size("state", merge_state(task.state, plain_json("state", given["state"])))
    if "metadata" in given:
        patch = plain_json("metadata", given["metadata"])
        if not isinstance(patch, dict):
            raise InvalidInput(problem="The `metadata` of a task is an object.")
        new["metadata"] = check_json_size("metadata", merge_metadata(task.metadata, cast("dict[str, Any]", patch)))
    task = replace(task, **new)
    for name in ("checked", "unchecked"):
        if name in given:
            task = replace(task, checklist=_tick_lines(task, given[name], done=name == "checked"))
    return task


def describe_new_task(name: str, subject: str, given: Mapping[str, Any], *, by: str) -> Task:
    """Return a task as it is to be created, for the gates that are asked first."""
    new = describe_task(Task(list=name, id="", subject=""), {**given, "subject": subject})
    around = {each: tuple(str(other) for other in given.get(each) or ()) for each in ("blocked_by", "blocks")}
    return replace(new, owner=given.get("owner"), parent=given.get("parent"), created_by=by, **around)


def describe_completion(task: Task, given: Mapping[str, Any]) -> Task:
    """Return a task as it is to be completed, with the changes of the same call, for the gates that are asked first."""
    task = describe_task(task, given)
    if "owner" in given:
        task = replace(task, owner=None if given["owner"] is None else check_name("owner", given["owner"]))
    if "parent" in given:
        task = replace(task, parent=given["parent"])
    return replace(task, result=plain_json("result", given["result"])) if "result" in given else task


def check_text(
    what: str, value: Any, cleaner: Cleaner, *, blank: bool = True, of: str = "task", longest: int | None = None
) -> str:
    most = LONGEST[what] if longest is None else longest
    if not isinstance(value, str):
        raise InvalidInput(problem=f"The `{what}` of a {of} is a text.")
    cleaned = cleaner.text(value)
    if not blank and not cleaned.strip():
        raise InvalidInput(problem=f"A {of} needs a `{what}` that is not empty.")
    if len(cleaned) > most:
        raise InvalidInput(problem=f"The `{what}` has {len(cleaned)} characters; at most {most} fit. Shorten it.")
    return cleaned


def check_name(what: str, value: Any, *, longest: int = LONGEST["name"]) -> str:
    """Return a worker's name, a call id or a topic; raise unless it is one line that is not empty."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > longest:
        said = repr(value)[:80]
        raise InvalidInput(problem=f"{said} cannot be the {what}: use 1 to {longest} printable characters.")
    return value


def check_list_name(name: str) -> str:
    """Return the name of a list of tasks; raise for the list of flows, which have their own rules."""
    if name == FLOWS:
        raise InvalidInput(
            problem=f"The list `{FLOWS}` holds flows, which have rules of their own: use `board.flows()`."
        )
    return check_name("name of a list", name, longest=_LONGEST_LIST)


def _check_several(what: str, value: Any) -> list[Any]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidInput(problem=f"The `{what}` of a task are a list.")
    entries = list(cast("Iterable[Any]", value))
    if len(entries) > MOST_PARTS:
        raise InvalidInput(problem=f"{len(entries)} `{what}` are too many; at most {MOST_PARTS} fit.")
    return entries


def _parse_labels(value: Any, cleaner: Cleaner) -> tuple[str, ...]:
    labels = (check_text("label", each, cleaner, blank=False).strip() for each in _check_several("labels", value))
    return tuple(dict.fromkeys(labels))


def _parse_checklist(value: Any, cleaner: Cleaner) -> tuple[ChecklistLine, ...]:
    checks: list[ChecklistLine] = []
    for entry in _check_several("checklist", value):
        if isinstance(entry, ChecklistLine):
            said, done = entry.text, entry.done
        elif isinstance(entry, Mapping):
            entry = cast("Mapping[str, Any]", entry)
            said, done = entry.get("text"), entry.get("done", False)
        else:
            said, done = entry, False
        checks.append(ChecklistLine(check_text("check", said, cleaner, blank=False), done is True))
    return tuple(checks)


def _tick_lines(task: Task, wanted: Any, *, done: bool) -> tuple[ChecklistLine, ...]:
    checks = list(task.checklist)
    for which in _check_several("checked", wanted):
        places = [place for place, check in enumerate(checks) if which in (place, check.text)]
        if not places or isinstance(which, bool):
            said = repr(which)[:80]
            raise InvalidInput(problem=f"The checklist of task `{task.id}` has no line {said}; it has {len(checks)}.")
        for place in places:
            checks[place] = ChecklistLine(checks[place].text, done)
    return tuple(checks)


def _is_number(value: Any, kinds: Any, least: int, most: int) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool) and least <= value <= most


def _accept(value: Any, is_valid: bool, problem: str) -> Any:
    if not is_valid:
        raise InvalidInput(problem=problem)
    return value


_PARSERS: Mapping[str, Callable[[Any, Cleaner], Any]] = {
    "subject": lambda value, cleaner: check_text("subject", value, cleaner, blank=False),
    "description": lambda value, cleaner: check_text("description", value, cleaner),
    "active_form": lambda value, cleaner: None if value is None else check_text("active_form", value, cleaner) or None,
    "labels": _parse_labels,
    "checklist": _parse_checklist,
    "priority": lambda value, _: _accept(
        value,
        _is_number(value, int, FIRST, LAST),
        f"A priority is a number from {FIRST}, which comes first, to {LAST}.",
    ),
    "max_attempts": lambda value, _: _accept(
        value,
        value is None or _is_number(value, int, 1, 10**6),
        "`max_attempts` is a number from 1 to a million, or None for no limit.",
    ),
    "backoff": lambda value, _: float(
        _accept(value, _is_number(value, int | float, 0, 86_400), "`backoff` is a number of seconds, from 0 to a day.")
    ),
    "not_before": lambda value, _: _accept(
        value,
        value is None or (isinstance(value, datetime) and value.tzinfo is not None),
        "`not_before` is a time with a time zone, or None.",
    ),
    "runs_after": lambda value, _: _accept(
        value, value in get_args(RunsAfter), "`runs_after` is `completed` or `ended`."
    ),
}


def parse_status(word: Any) -> TaskStatus:
    return parse_word("status", word, tuple(TaskStatus))


def parse_word(what: str, value: Any, known: tuple[T, ...]) -> T:
    """Return the one of the known words that a value is; raise if it is none."""
    for each in known:
        if value == each:
            return each
    raise InvalidInput(problem=f"There is no {what} `{str(value)[:80]}`; known are: {', '.join(known)}.")

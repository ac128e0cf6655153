"""Tasks of a file, before they are tasks here: read entry by entry, and looked at as a whole.

What is refused is named as the file names it: its ids mean nothing on the board, and the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple, cast

from punchlist.core.task import Task, Wait, with_fields
from punchlist.errors import InvalidInput
from punchlist.tasks.fields import status_of
from punchlist.text import cut, for_prompt

_MOST_NAMED = 12


class Foreign(NamedTuple):
    """A task of a file, under its id there, and the ids there that it waits for."""

    task: Task
    blocked_by: Sequence[str] = ()


def foreign(place: int, entry: Any) -> Foreign:
    """The task of an entry, by its place in the file from 1; raises `InvalidInput`, saying what is wrong with it."""
    if not isinstance(entry, dict):
        raise _refused(place, "it is no object")
    told = cast("dict[str, Any]", entry)
    for name in ("id", "subject"):
        if not isinstance(told.get(name), str):
            raise _refused(place, f"its `{name}` is no text")
    if not isinstance(told.get("parent"), str | None):
        raise _refused(place, "its `parent` is no text")
    blockers = told.get("blocked_by", [])
    if not isinstance(blockers, list) or not all(isinstance(each, str) for each in cast("list[Any]", blockers)):
        raise _refused(place, "its `blocked_by` is no list of ids")
    task = Task(list="", id=told["id"], subject=told["subject"])
    for name, value in told.items():
        task = _with(place, task, name, value)
    _check_wait(place, task.wait)
    return Foreign(task, list(dict.fromkeys(cast("list[str]", blockers))))


def _with(place: int, task: Task, name: str, value: Any) -> Task:
    try:
        return with_fields(task, {name: status_of(value) if name == "status" else value})
    except InvalidInput as error:
        raise _refused(place, str(error).rstrip(".")) from error
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise _refused(place, f"its `{_shown(name)}` is not what an export has there") from error


def _check_wait(place: int, wait: Wait | None) -> None:
    """What is looked at before the rules of a new task are asked. Everything else they check themselves."""
    if wait is None:
        return
    texts: list[Any] = [wait.topic, wait.correlation_id]
    if not all(isinstance(text, str | None) for text in texts):
        raise _refused(place, "the topic that it waits for is no text")
    if wait.at is not None and wait.at.tzinfo is None:
        raise _refused(place, "the time that it waits for has no time zone")


def check_whole(found: Sequence[Foreign]) -> None:
    """Raises `InvalidInput` if tasks cannot stand together: an id twice, an edge or a parent to nowhere, a circle."""
    ids = {each.task.id for each in found}
    if len(ids) < len(found):
        raise InvalidInput(problem="The file has two tasks with one id; give each its own.")
    for each in found:
        for blocker in each.blocked_by:
            if blocker not in ids:
                raise _nowhere(each.task, "waits for", blocker)
        if each.task.parent is not None and each.task.parent not in ids:
            raise _nowhere(each.task, "lies below", each.task.parent)
    _check_circle({each.task.id: each.blocked_by for each in found}, "wait for each other in a circle")
    below = {each.task.id: [each.task.parent] for each in found if each.task.parent is not None}
    _check_circle(below, "lie below each other in a circle")


def _check_circle(edges: Mapping[str, Iterable[str]], said: str) -> None:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        way = cast("list[str]", error.args[1])[::-1]
        named = " → ".join(_shown(each) for each in way[:_MOST_NAMED]) + (" → …" if len(way) > _MOST_NAMED else "")
        raise InvalidInput(problem=f"Tasks of the file {said}: {named}; nothing was imported.") from None


def _nowhere(task: Task, said: str, other: str) -> InvalidInput:
    named = f"Task `{_shown(task.id)}` of the file {said} `{_shown(other)}`, which is not in it"
    return InvalidInput(problem=f"{named}; mend the file. Nothing was imported.")


def _refused(place: int, problem: str) -> InvalidInput:
    return InvalidInput(problem=f"Task number {place} of the file cannot be read: {problem}. Nothing was imported.")


def _shown(said: str) -> str:
    return for_prompt(cut(said, 80))

"""Find the item, phase or task that a few letters mean, by the rules of oh-my-pi's `/todo` commands."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from punchlist.core.task import Task
from punchlist.core.todo import Phase, Status, TodoItem, TodoList

UNPHASED = "Todos"
"""The phase that a first item goes to when none is named."""

_BUSY = (Status.IN_PROGRESS, Status.PENDING)


def tokens(text: str) -> list[str]:
    """Split a command into words: double quotes group, a backslash takes the next character as it is."""
    words: list[str] = []
    word: list[str] | None = None
    grouped = False
    characters = iter(text)
    for character in characters:
        if character == "\\":
            word = word or []
            word.append(next(characters, "\\"))
        elif character == '"':
            grouped = not grouped
            word = word or []
        elif character.isspace() and not grouped:
            if word is not None:
                words.append("".join(word))
            word = None
        else:
            word = word or []
            word.append(character)
    if word is not None:
        words.append("".join(word))
    return words


def find_item(items: Sequence[TodoItem], query: str) -> TodoItem | None:
    """Return the item with that id; else of that text; else the only one that holds it; of several, the only busy one.

    Busy is in progress or pending. Case and whitespace around the query do not count.
    """
    wanted = query.strip()
    by_id = next((item for item in items if item.id == wanted.removeprefix("#")), None)
    if by_id is not None or not wanted:
        return by_id
    wanted = wanted.lower()
    for item in items:
        if item.content.strip().lower() == wanted:
            return item
    holding = [item for item in items if wanted in item.content.lower()]
    if len(holding) > 1:
        holding = [item for item in holding if item.status in _BUSY]
    return holding[0] if len(holding) == 1 else None


def find_phase(phases: Sequence[Phase], query: str) -> Phase | None:
    """Return the phase of that name; else the only one that begins with it; else the only one that holds it."""
    wanted = query.strip().lower()
    if not wanted:
        return None
    names = [(phase, phase.name.strip().lower()) for phase in phases]
    for phase, name in names:
        if name == wanted:
            return phase
    for found in (
        [phase for phase, name in names if name.startswith(wanted)],
        [phase for phase, name in names if wanted in name],
    ):
        if len(found) == 1:
            return found[0]
    return None


class Addition(Struct, frozen=True):
    """An item to append; `phase` is None where it joins a list without phases."""

    phase: str | None
    content: str


def parse_addition(todos: TodoList, words: Sequence[str], *, phase: str | None = None) -> Addition | None:
    """Return what `append` adds: one word is the task, of several the first names the phase. None without a task.

    With `phase` given apart, all words are the task. A task without a phase goes to the last one; on an empty list
    that is a new one, `Todos`. A new phase gets its words capitalised, a task its first letter.
    """
    if phase is None and len(words) > 1:
        phase, words = words[0], words[1:]
    content = " ".join(words).strip()
    if not content:
        return None
    content = content[0].upper() + content[1:]
    if phase is not None and phase.strip():
        known = find_phase(todos.phases, phase)
        return Addition(known.name if known is not None else _capitalise(phase.strip()), content)
    if todos.phases:
        return Addition(todos.phases[-1].name, content)
    return Addition(None if todos.items else UNPHASED, content)


def _capitalise(name: str) -> str:
    return " ".join(word[:1].upper() + word[1:] for word in name.split(" "))


def find_tasks(tasks: Sequence[Task], query: str) -> Sequence[Task]:
    """Return the tasks of that subject, else all that hold it; of several, those still open.

    Several mean that the query does not tell them apart. Case and whitespace around it do not count.
    """
    wanted = query.strip().lower()
    if not wanted:
        return ()
    equal = [task for task in tasks if task.subject.strip().lower() == wanted]
    found = equal or [task for task in tasks if wanted in task.subject.lower()]
    return [task for task in found if task.is_open] or found if len(found) > 1 else found

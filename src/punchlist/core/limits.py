"""Check the size of a command on the text as sent, before anything is changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from punchlist.core.commands import (
    Append,
    Block,
    Command,
    Done,
    Edit,
    Entry,
    Fail,
    Init,
    Limits,
    Merge,
    Note,
    Operation,
    Problem,
    Replace,
    Reword,
    Target,
)


def check_limits(command: Command, limits: Limits) -> Problem | None:
    """Return the first limit that the input breaks: the count, then each item, blank before long, then other texts."""
    if isinstance(command, Edit) and len(command.operations) > 4 * limits.items + 100:
        return _too_many_operations(len(command.operations), 4 * limits.items + 100)
    count = _count(command)
    if count > limits.items:
        return too_many_items(count, limits)
    for index, (content, form) in enumerate(_texts_of(command)):
        fields = [("content", content)] if form is None else [("content", content), ("active_form", form)]
        for name, text in fields:
            if limits.refuse_blank and not text.strip():
                data = {"field": name}
                return Problem("blank", f"Item {index}: `{name}` is empty.", fatal=True, at=index, data=data)
        for name, text in fields:
            problem = _too_long(text, name, index, limits)
            if problem is not None:
                return problem
    return _other_too_long(command, limits)


def _other_too_long(command: Command, limits: Limits) -> Problem | None:
    for name, text in _others_of(command):
        if text is not None and len(text) > limits.other:
            said = f"A `{name}` has {len(text)} characters; at most {limits.other} fit. Shorten it."
            data = {"field": name, "size": len(text), "max": limits.other, "unit": "characters"}
            return Problem("too_long", said, fatal=True, data=data)
    return None


def _count(command: Command) -> int:
    """Count the items that the command brings or names; a note or a new text is none."""
    match command:
        case Replace(entries):
            return len(entries)
        case Merge(patches, placeholder):
            return 0 if placeholder else len(patches)  # with a placeholder, what is too much is left out one by one
        case Edit(operations):
            return (0 if command.first is None else len(command.first.entries)) + sum(
                len(operation.entries)
                if isinstance(operation, Append)
                else sum(len(group.entries) for group in operation.groups)
                for operation in operations
                if isinstance(operation, Append | Init)
            )
        case _:
            assert_never(command)


def too_many_items(count: int, limits: Limits) -> Problem:
    text = f"{count} items are too many; at most {limits.items} fit. Put small steps together."
    return Problem("too_many_items", text, fatal=True, data={"count": count, "max": limits.items})


def _too_many_operations(count: int, most: int) -> Problem:
    text = f"{count} operations are too many for one call; at most {most} fit."
    return Problem("too_many_operations", text, fatal=True, data={"count": count, "max": most})


def _too_long(text: str, name: str, index: int, limits: Limits) -> Problem | None:
    size, most, unit = len(text), limits.characters, "characters"
    if limits.bytes is not None:
        size, most, unit = len(text.encode(errors="surrogatepass")), limits.bytes, "bytes"
    if size <= most:
        return None
    said = f"Item {index}: `{name}` has {size} {unit}; at most {most} fit. Shorten it, or use a note."
    return Problem(
        "too_long", said, fatal=True, at=index, data={"field": name, "size": size, "max": most, "unit": unit}
    )


def _texts_of(command: Command) -> Iterator[tuple[str, str | None]]:
    """Yield content and active form of everything in a command that becomes part of an item."""
    match command:
        case Replace(entries):
            yield from _texts(entries)
        case Merge(patches):
            for patch in patches:
                yield patch.content or "-", None
        case Edit(operations):
            if command.first is not None:
                yield from _texts(command.first.entries)
            for operation in operations:
                match operation:
                    case Init(groups):
                        for group in groups:
                            yield from _texts(group.entries)
                    case Append(entries):
                        yield from _texts(entries)
                    case Reword(_, content, form):
                        yield content, form
                    case Note(_, text) | Block(_, text) | Fail(_, text):
                        yield text or "-", None
                    case _:
                        pass


def _texts(entries: tuple[Entry, ...]) -> list[tuple[str, str | None]]:
    return [(entry.content, entry.active_form) for entry in entries]


Named = tuple[str, str | None]
"""The name of a field, and its text if it has one."""


def _others_of(command: Command) -> Iterator[Named]:
    """Yield every other text of a command: notes, names, reasons, explanations."""
    match command:
        case Replace(entries, explanation, phases):
            yield "explanation", explanation
            yield from (("phase", name) for name in phases or ())
            yield from _others(entries)
        case Merge(patches):
            for patch in patches:
                yield "id", patch.alias
                yield "parent", patch.parent
        case Edit(operations, explanation):
            yield "explanation", explanation
            if command.first is not None:
                yield from _others_of(command.first)
            for operation in operations:
                yield from _others_of_one(operation)
        case _:
            assert_never(command)


def _others_of_one(operation: Operation) -> Iterator[Named]:
    target: Target | None = getattr(operation, "target", None)
    if target is not None:
        yield "item", target.item
        yield "phase", target.phase
    match operation:
        case Init(groups):
            for group in groups:
                yield "phase", group.phase
                yield from _others(group.entries)
        case Append(entries, phase):
            yield "phase", phase
            yield from _others(entries)
        case Done(_, evidence):
            for proof in evidence:
                yield "evidence", proof.text
                yield "kind", proof.kind
        case Block(_, _, on):
            yield "on", on
        case _:
            pass


def _others(entries: Iterable[Entry]) -> Iterator[Named]:
    for entry in entries:
        yield "id", entry.alias
        yield "phase", entry.phase
        yield "priority", entry.priority
        yield "parent", entry.parent
        yield from (("note", note) for note in entry.notes or ())
        if entry.blocker is not None:
            yield "reason", entry.blocker.reason
            yield "on", entry.blocker.on

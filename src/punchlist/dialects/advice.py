"""Describe a tool to a model: the JSON Schema of its input, and the longer description for small models.

A long description says when to use the tool and when not, one focus, complete at once, both forms, and a small call to
copy. Nothing here presses a model to use the tool more often, and nothing asks it to keep the list from anybody.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace


class Tool(Struct, frozen=True):
    """A tool as a model is offered it."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    annotations: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The original's own flags, under its own names."""
    examples: tuple[Mapping[str, Any], ...] = ()
    verbose: str = ""
    """A longer description, for small models."""

    def in_full(self) -> Tool:
        """Return the tool with its longer description, if it has one."""
        return replace(self, description=self.verbose) if self.verbose else self


Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}


def one_of(words: Iterable[str]) -> Schema:
    return {"type": "string", "enum": list(words)}


def object_of(
    fields: Mapping[str, Schema], *, required: Iterable[str] | None = None, others: bool | None = None
) -> Schema:
    """Return the schema of an object with these fields, all required by default. `others`: it may have more."""
    schema: Schema = {
        "type": "object",
        "properties": dict(fields),
        "required": list(fields if required is None else required),
    }
    return schema if others is None else {**schema, "additionalProperties": others}


def list_of(items: Schema, **limits: int) -> Schema:
    return {"type": "array", **limits, "items": items}


def add_description(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


def sample_items(
    text: str = "content", form: str | None = None, ids: tuple[str, ...] | None = None
) -> list[dict[str, str]]:
    """Return two items for an example: their texts in the field `text`, their active forms in `form`."""
    items = [{text: "Read the parser", "status": "in_progress"}, {text: "Fix the loop", "status": "pending"}]
    if ids is not None:
        items = [{"id": name, **item} for name, item in zip(ids, items, strict=True)]
    if form is not None:
        items[0][form], items[1][form] = "Reading the parser", "Fixing the loop"
    return items


_WHEN = (
    "When to use it: the work takes three or more steps, several things were asked for, or new work turns up on the "
    "way. When not: one easy step, a question, a chat. Then just do it."
)
_ITEMS = "Write short items that can be checked, each one piece of work, in the order in which they are to be done."
_WHOLE = "Each call sends the whole list: an item that is left out is taken off."
_FORMS = "Give both forms of each text: {} says what to do (Run the tests), {} what is being done (Running the tests)."
_HONEST = (
    "While tests fail or something is missing, it stays open; add an item for what stands in the way, and take off "
    "what is no longer needed."
)


def verbose(
    does: str,
    example: Mapping[str, Any],
    *,
    doing: str = "in_progress",
    done: str = "completed",
    whole: bool = True,
    several: bool = False,
    forms: tuple[str, str] | None = None,
    rules: str = "",
) -> str:
    """Return a description of 600 to 1,500 characters: `does` sums up the tool, `rules` adds what only it has.

    `doing` and `done` are the tool's words for the two statuses; `forms` its fields for the text of an item and for
    its form while in progress; `several`: more than one item may be in progress.
    """
    focus = (
        f"Keep at least one item {doing} while work is left, several only if they run side by side."
        if several
        else f"Work on one item at a time: make it {doing} before you begin it."
    )
    parts = [
        does,
        _WHEN,
        _ITEMS,
        *([_WHOLE] if whole else []),
        f"{focus} Make it {done} as soon as it is really done, before the next one, not several at the end. {_HONEST}",
        *([_FORMS.format(*forms)] if forms is not None else []),
        *([rules] if rules else []),
        f"For example: {json.dumps(example, ensure_ascii=False)}",
    ]
    return "\n".join(parts)

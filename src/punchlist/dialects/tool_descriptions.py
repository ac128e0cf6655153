"""Describe a tool to a model, with the JSON Schema of its input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field


class Tool(Struct, frozen=True):
    """A tool as a model is offered it."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    annotations: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The original's own flags, under its own names."""
    examples: tuple[Mapping[str, Any], ...] = ()


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

"""The JSON Schemas of the tools: objects, and the lists of items that nearly all of them take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}


def one_of(words: Iterable[str]) -> Schema:
    return {"type": "string", "enum": list(words)}


def object_of(
    fields: Mapping[str, Schema], *, required: Iterable[str] | None = None, others: bool | None = None
) -> Schema:
    """An object with these fields, all required unless it is said which. `others`: whether it may have more."""
    schema: Schema = {
        "type": "object",
        "properties": dict(fields),
        "required": list(fields if required is None else required),
    }
    return schema if others is None else {**schema, "additionalProperties": others}


def list_of(items: Schema, **limits: int) -> Schema:
    return {"type": "array", **limits, "items": items}

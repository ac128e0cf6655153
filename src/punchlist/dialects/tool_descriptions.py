"""Describe a tool to a model, with the JSON Schema of its input."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from msgspec import Struct, field

from punchlist.errors import UnknownName

WireForm = Literal["anthropic", "openai", "openai-responses", "mcp"]


class Tool(Struct, frozen=True):
    """A tool as a model is offered it."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    annotations: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The original's own flags, under its own names."""
    examples: tuple[Mapping[str, Any], ...] = ()

    def to(self, form: WireForm) -> dict[str, Any]:
        """Return the tool as an API takes it: Anthropic's, OpenAI's Chat or Responses, or MCP's `tools/list`."""
        named = {"name": self.name, "description": self.description}
        schema = dict(self.input_schema)
        match form:
            case "anthropic":
                return {**named, "input_schema": schema}
            case "openai":
                return {"type": "function", "function": {**named, "parameters": schema}}
            case "openai-responses":  # strict unless it says otherwise, and then every field would be required
                return {"type": "function", **named, "parameters": schema, "strict": False}
            case "mcp":
                return {**named, "inputSchema": schema}
            case _:  # pyright: ignore[reportUnnecessaryComparison]
                raise UnknownName(what="form of a tool", name=form, known=", ".join(get_args(WireForm)))


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

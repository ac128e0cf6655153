"""Offer the tools of dialects to an MCP client, and put replies into the form of the protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from punchlist.core.commands import Elsewhere, Query
from punchlist.dialects import dialect
from punchlist.dialects.base import Dialect, Reply, Tool
from punchlist.errors import InvalidInput

Described = dict[str, Any]

_TITLES: Mapping[str, str] = {"todo": "Todo list", "task": "Shared tasks"}


class ToolSet:
    """The tools that one server offers, by name, with their dialects."""

    def __init__(self, dialects: Sequence[str]) -> None:
        self._found: dict[str, tuple[Dialect, Tool]] = {}
        for name in dialects:
            known = dialect(name)
            for tool in known.tools:
                if tool.name in self._found:
                    other = self._found[tool.name][0].name
                    raise InvalidInput(problem=f"`{other}` and `{name}` both have a tool `{tool.name}`: offer one.")
                self._found[tool.name] = (known, tool)

    @property
    def tools(self) -> list[Tool]:
        return [tool for _, tool in self._found.values()]

    def find_dialect(self, name: Any) -> str | None:
        """Return the dialect of a tool; None if no such tool is offered."""
        found = self._found.get(name) if isinstance(name, str) else None
        return None if found is None else found[0].name

    def only_reads(self, name: Any, arguments: Any) -> bool:
        """True for a call of an offered tool that changes nothing."""
        found = self._found.get(name) if isinstance(name, str) else None
        parsed = None if found is None else found[0].parse(name, arguments)
        return isinstance(parsed, Query | Elsewhere) and parsed.reads

    def describe(self) -> list[Described]:
        return [describe_tool(tool) for tool in self.tools]


def describe_tool(tool: Tool) -> Described:
    """Return a tool as `tools/list` has it."""
    title = _TITLES.get(tool.name, tool.name)
    reads = bool(tool.annotations.get("readOnly"))
    return {
        "name": tool.name,
        "title": title,
        "description": tool.description,
        "inputSchema": dict(tool.input_schema),
        "annotations": {
            "title": title,
            "readOnlyHint": reads,
            "destructiveHint": False,  # the board keeps all that a call changes or leaves out
            "idempotentHint": reads or bool(tool.annotations.get("idempotent")),
            "openWorldHint": False,
        },
        # Claude Code would else leave the tool out of the first request, until the model searches for it.
        "_meta": {"anthropic/alwaysLoad": True},
    }


def describe_reply(reply: Reply, more: Sequence[str] = ()) -> Described:
    """Return a reply as the result of `tools/call`; `more` are further texts for the model."""
    texts = [reply.text, *more]
    result: Described = {"content": [{"type": "text", "text": text} for text in texts], "isError": reply.is_error}
    if _is_same(reply.text, reply.data):
        result["structuredContent"] = reply.data
    return result


def _is_same(text: str, data: Any) -> bool:
    """True if the text is the JSON of the data. Only then is it sent as well: hosts show it in place of the text."""
    if not isinstance(data, dict) or not text.startswith("{"):
        return False
    try:
        return json.loads(text) == data
    except (ValueError, RecursionError):
        return False

"""What a tool gave back, whatever its shape: its text, its exit code, and whether the call failed.

Agents put these in different places: a string with the code in its first or last lines, an object with `exit_code`,
`returncode` or `metadata`, a list of content parts, or JSON as text. Never raises; looks at a bounded part.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, cast

from punchlist.core.checks.summaries import WINDOW

_TEXTS: Final = (
    "output",
    "stdout",
    "stderr",
    "aggregated_output",
    "formatted_output",
    "content",
    "text",
    "result",
    "llmContent",
    "error",
    "message",
)
_CODES: Final = (
    "exit_code",
    "exitCode",
    "exit_status",
    "exitStatus",
    "returncode",
    "return_code",
    "returnCode",
    "code",
)
_DEEPEST: Final = 4
_MOST_PARTS: Final = 64
_EDGE: Final = 600
"""Characters at either end of a text in which an exit code is looked for."""

_LONGEST_JSON: Final = 262_144
_EXIT: Final = r"""(?mix) ^[\[(<\s]{0,4} (?: error:\ )? (?:
      exit[ _](?:code|status)\W{1,4} (?:was\ |of\ )? (?P<first>-?\d{1,4})\b
    | (?:the\ )?(?:command|process)\ (?:completed|exited|failed|finished|ended|terminated)(?:\ \w+)?
        \ with\ (?:exit\ )?(?:code|status)\ (?P<second>-?\d{1,4})\b
    | <?(?:returncode|exit_code)>(?P<third>-?\d{1,4})<
)"""
_REFUSED: Final = ("Error executing tool '", "<tool_use_error>", "Error calling tool", "MCP error ")
"""How a text begins that tells of a call which did not come about."""


class Result(NamedTuple):
    """`failed` is None where nothing says how the call went."""

    text: str
    exit_code: int | None
    failed: bool | None


def read_result(result: Any, is_error: bool | None = None) -> Result:
    """What a result says. `is_error` is what the host said of it: True is believed, False is looked into."""
    value = _decoded(result)
    text = _text(value, 0)[-WINDOW:]
    code = None if isinstance(value, str) else _code(value, 0)
    if code is None and isinstance(result, str):
        code = _written_code(text)
    failed = bool(is_error) or (code is not None and code != 0) or _says_failure(value) or text.startswith(_REFUSED)
    return Result(text, code, failed or (None if is_error is None and code is None else False))


def _decoded(result: Any) -> Any:
    if not isinstance(result, str):
        return result
    if len(result) > _LONGEST_JSON or not result.lstrip().startswith(("{", "[")):
        return result
    try:
        return json.loads(result)
    except (ValueError, RecursionError):
        return result


def _text(value: Any, depth: int) -> str:
    if isinstance(value, str):
        return value
    if depth == _DEEPEST or value is None:
        return ""
    if isinstance(value, Mapping):
        fields = cast("Mapping[Any, Any]", value)
        return "\n".join(found for name in _TEXTS if name in fields and (found := _text(fields[name], depth + 1)))
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        parts = cast("Sequence[Any]", value)[-_MOST_PARTS:]
        return "\n".join(found for part in parts if (found := _text(part, depth + 1)))
    return ""


def _code(value: Any, depth: int) -> int | None:
    if not isinstance(value, Mapping) or depth == _DEEPEST:
        return None
    fields = cast("Mapping[Any, Any]", value)
    for name in _CODES:
        code = fields.get(name)
        if isinstance(code, int) and not isinstance(code, bool):
            return code
    for name in ("metadata", "result", "details", "output"):
        code = _code(fields.get(name), depth + 1)
        if code is not None:
            return code
    return None


def _written_code(text: str) -> int | None:
    """The exit code in the text's first or last lines, where hosts write it."""
    for part in (text[:_EDGE], text[-_EDGE:]) if len(text) > _EDGE else (text,):
        if part.isascii() and "code" not in (lowered := part.lower()) and "status" not in lowered:
            continue
        found = _exit().search(part)
        if found is not None:
            return int(found["first"] or found["second"] or found["third"])
    return None


def _says_failure(value: Any) -> bool:
    """Hermes' rule: `success` or `ok` is false, or there is an `error` and no content."""
    if isinstance(value, str) or not isinstance(value, Mapping):
        return False
    fields = cast("Mapping[Any, Any]", value)
    if fields.get("success") is False or fields.get("ok") is False or fields.get("isError") is True:
        return True
    return bool(fields.get("error")) and not any(fields.get(name) for name in ("content", "output", "stdout", "result"))


@cache
def _exit() -> re.Pattern[str]:
    return re.compile(_EXIT)

"""Read the arguments of a tool call, whichever way a host hands them on."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

_LONGEST: Final = 1_000_000
"""Characters of the longest JSON text that is decoded; a longer one stays as it is."""

_LINES: Final = ("command", "cmd", "script", "commands")
_MOST_WORDS: Final = 1_000


def as_object(arguments: Any) -> Any:
    """Return the object in a JSON text, as OpenAI's function calls have their arguments; anything else as it was.

    A text that is no JSON object stays one: it may be a command line.
    """
    if not isinstance(arguments, str) or arguments.lstrip()[:1] != "{":
        return arguments
    read = parse_json(arguments, _LONGEST)
    return cast("Any", read) if isinstance(read, dict) else arguments


def parse_json(text: str, longest: int) -> Any:
    """Return the value of a JSON text; None if the text is none, or longer than this."""
    if len(text) > longest:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def find_command_lines(arguments: Any) -> list[str | list[str]]:
    """Return the lines that a shell tool is to run; a line may be the words of one command, as Codex sends them.

    OpenAI's tools have them in an object `action`. Empty where there is none, or something else in its place.
    """
    if isinstance(arguments, str):
        return [arguments]
    if not isinstance(arguments, Mapping):
        return []
    fields = cast("Mapping[Any, Any]", arguments)
    action = fields.get("action")
    if isinstance(action, Mapping) and not any(name in fields for name in _LINES):
        fields = cast("Mapping[Any, Any]", action)
    found: list[str | list[str]] = []
    for name in _LINES:
        value = fields.get(name)
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            words = [word for word in cast("list[Any]", value)[:_MOST_WORDS] if isinstance(word, str)]
            if not words or len(words) < len(cast("list[Any]", value)):
                return []
            found += words if name == "commands" else [words]
        elif value is not None:
            return []
    return found


def join_command_lines(lines: Sequence[str | list[str]]) -> str | list[str] | None:
    """Return one line for all, which succeeds where each of them does; None for none."""
    if len(lines) == 1:
        return lines[0]
    texts = [line for line in lines if isinstance(line, str)]
    return " && ".join(f"{{ {text}\n}}" for text in texts) or None

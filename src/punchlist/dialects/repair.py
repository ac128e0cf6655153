"""Repair malformed input, for the dialects that allow it. Each dialect names the repairs that its original makes.

- `json_string`: a JSON text where an array or object belongs
- `bare_object`: one object where a list belongs
- `active_form`: `active_form` for `activeForm`, or the other way round
- `status_spelling`: `done`, `complete`, `todo`, hyphens, blanks, capitals
- `numeric_id`: a number, or `#3`, where an id belongs
- `task_id`: `id` or `task_id` for `taskId`
- `new_task`: JSON text, an object within `task` or `tasks`, `title`, `content` or `name` for `subject`, no description
"""

from typing import Any, cast

import msgspec

from punchlist.core.commands import Limits
from punchlist.core.todo import Status
from punchlist.text import cut, for_prompt, repair

_TOO_LONG = Limits().characters
ALL = frozenset({"json_string", "bare_object", "active_form", "status_spelling", "numeric_id", "task_id", "new_task"})

_SPELLINGS = {status.value.replace("_", ""): status for status in Status} | {
    "todo": Status.PENDING,
    "open": Status.PENDING,
    "new": Status.PENDING,
    "notstarted": Status.PENDING,
    "doing": Status.IN_PROGRESS,
    "active": Status.IN_PROGRESS,
    "started": Status.IN_PROGRESS,
    "done": Status.COMPLETED,
    "complete": Status.COMPLETED,
    "finished": Status.COMPLETED,
    "canceled": Status.CANCELLED,
    "dropped": Status.CANCELLED,
    "abandoned": Status.CANCELLED,
    "waiting": Status.BLOCKED,
}


def mend(text: str) -> str:
    """Replace lone surrogates. A text beyond every limit is left alone: it is refused anyway."""
    return text if text.isascii() or len(text) > _TOO_LONG else repair(text)


def from_json(value: Any) -> Any:
    """Decode a JSON text of an array or object; return anything else as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return msgspec.json.decode(repair(value))
    except (msgspec.DecodeError, RecursionError):
        return value


def as_list(value: Any) -> Any:
    """Return a list for a JSON text of one, or for a single object; anything else as it is."""
    value = from_json(value)
    return [value] if isinstance(value, dict) else value


def as_status(value: Any) -> Status | None:
    """Return the status meant by any usual spelling, or None."""
    if not isinstance(value, str):
        return None
    return _SPELLINGS.get("".join(char for char in value.casefold() if char.isalnum()))


def as_id(value: Any) -> str | None:
    """Return an id given as text, as a number or as `#3`; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return str(int(value)) if abs(value) < 10**15 else None
    if isinstance(value, str):
        return repair(value).strip().removeprefix("#").strip() or None
    return None


def as_object(value: Any) -> dict[str, Any] | None:
    """Return the arguments of a call as an object; None if they are not one."""
    value = from_json(value)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def read_fields(value: Any) -> dict[str, Any]:
    """Return the fields of an object; none for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def key_name(key: object) -> str:
    """Return a key of the input for a message, on one line; its type if it is not text."""
    return for_prompt(cut(repair(key), 80)) if isinstance(key, str) else type_name(key)


def type_name(value: Any) -> str:
    """Return the JSON name of a value's type."""
    names: list[tuple[type | tuple[type, ...], str]] = [
        (bool, "boolean"),
        (str, "string"),
        ((int, float), "number"),
        (dict, "object"),
        ((list, tuple), "array"),
    ]
    return "null" if value is None else next((name for kind, name in names if isinstance(value, kind)), "unknown")

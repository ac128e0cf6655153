"""Put our status line into Claude Code's settings and take it out again, leaving every other byte alone.

The text is edited, never parsed and written back: comments are refused, but spaces, order and line ends stay.
"""

from __future__ import annotations

import json
from typing import Any, cast

from msgspec import Struct

KEY = "statusLine"
OURS = "punchlist_statusline.py"
"""A status line that runs this file is ours."""

_OURS_TO_SET = ("type", "command", "refreshInterval")
"""The options that are ours while our status line is there; all others are the person's."""

_SPACE = " \t\n\r"


class StatusLineRecord(Struct, frozen=True, omit_defaults=True):
    """A record by which `detach` restores the setting: the text of the person's own value, or our inserted text."""

    before: str | None = None
    inserted: str | None = None
    made_file: bool = False


class _Member(Struct, frozen=True):
    key: str
    start: int
    """Where the key begins."""
    value: int
    """Where the value begins."""
    end: int


def read_status_line(text: str) -> Any:
    """Return the value of the status line, None if there is none; raise `ValueError` for what is no JSON object."""
    member = _find_member(text)
    return None if member is None else json.loads(text[member.value : member.end])


def is_ours(value: Any) -> bool:
    command = cast("dict[str, Any]", value).get("command") if isinstance(value, dict) else None
    return isinstance(command, str) and OURS in command


def insert_status_line(text: str | None, value: dict[str, Any]) -> tuple[str, StatusLineRecord]:
    """Return the settings with our status line, and the record that takes it out; None means that no file exists."""
    own = json.dumps(value, ensure_ascii=False)
    if text is None:
        return f'{{\n  "{KEY}": {own}\n}}\n', StatusLineRecord(made_file=True)
    members = _list_members(text)
    found = _find_member(text)
    if found is not None:
        before = text[found.value : found.end]
        return text[: found.value] + own + text[found.end :], StatusLineRecord(before=before)
    if not members:
        place = text.index("{") + 1
        inserted = f'\n  "{KEY}": {own}\n'
    else:
        place = members[-1].end
        # The space before the first key is how this file separates its members.
        space = text[text.index("{") + 1 : members[0].start]
        inserted = f',{space or " "}"{KEY}": {own}'
    return text[:place] + inserted + text[place:], StatusLineRecord(inserted=inserted)


def remove_status_line(text: str, record: StatusLineRecord) -> str | None:
    """Return the settings without our status line; None if the file was ours alone. Another's value stays."""
    found = _find_member(text)
    current: Any = None if found is None else json.loads(text[found.value : found.end])
    if found is None or not is_ours(current):
        return text
    if record.before is not None:
        return text[: found.value] + _restore_value(record.before, current) + text[found.end :]
    if record.inserted is not None and text.count(record.inserted) == 1:
        return text.replace(record.inserted, "")
    members = _list_members(text)
    if len(members) == 1:
        return None if record.made_file else text[: text.index("{") + 1] + text[text.rindex("}") :]
    place = members.index(found)
    if place == 0:
        return text[: found.start] + text[members[1].start :]
    return text[: members[place - 1].end] + text[found.end :]


def _restore_value(before: str, current: dict[str, Any]) -> str:
    """Return the text of the person's own value, with the options that they changed on ours since."""
    value: Any = json.loads(before)
    theirs = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if theirs.get("type") != "command" or not isinstance(theirs.get("command"), str):
        return before  # nothing of it was on ours
    own = {key: value for key, value in theirs.items() if key in _OURS_TO_SET}
    restored = {**own, **{key: value for key, value in current.items() if key not in _OURS_TO_SET}}
    return before if restored == theirs else json.dumps(restored, ensure_ascii=False)


def _find_member(text: str) -> _Member | None:
    found = [member for member in _list_members(text) if member.key == KEY]
    if len(found) > 1:
        raise ValueError(f"it has the key `{KEY}` twice")
    return found[0] if found else None


def _list_members(text: str) -> list[_Member]:
    """Return where the members of a JSON object stand in its text; raise `ValueError` for anything else."""
    if not isinstance(json.loads(text), dict):
        raise ValueError("it is no JSON object")
    # The text is valid from here on, so that every character looked for is there.
    decoder = json.JSONDecoder()
    members: list[_Member] = []
    at = _skip_space(text, text.index("{") + 1)
    while text[at] != "}":
        start = at
        key, at = decoder.raw_decode(text, start)
        value = _skip_space(text, text.index(":", at) + 1)
        end = decoder.raw_decode(text, value)[1]
        members.append(_Member(key, start, value, end))
        at = _skip_space(text, end)
        if text[at] == ",":
            at = _skip_space(text, at + 1)
    return members


def _skip_space(text: str, at: int) -> int:
    while text[at] in _SPACE:
        at += 1
    return at

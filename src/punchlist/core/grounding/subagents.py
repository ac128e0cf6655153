"""Which open item a subagent works on, by its description: oh-my-pi's rule, and only where it is one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from punchlist.core.todo import TodoItem

LEAST: Final = 6
"""Characters that the shorter text needs to count when it lies within the longer one."""

_WINDOW: Final = 4000


def folded(text: str) -> str:
    """Lower case, with one blank for each run of anything but letters and digits."""
    lowered = text[:_WINDOW].lower()
    return " ".join("".join(char if char.isalnum() else " " for char in lowered).split())


def matching_item(description: str, items: Iterable[TodoItem]) -> TodoItem | None:
    """The open item that the description names: equal when folded, else one within the other. None if several do."""
    wanted = folded(description)
    if not wanted:
        return None
    texts = [(folded(item.content), item) for item in items if item.is_open]
    equal = [item for text, item in texts if text == wanted]
    if equal:
        return equal[0] if len(equal) == 1 else None
    near = [item for text, item in texts if _lies_within(text, wanted) or _lies_within(wanted, text)]
    return near[0] if len(near) == 1 else None


def _lies_within(short: str, long: str) -> bool:
    return len(short) >= LEAST and short in long

"""Write the layers that explain the todo tool to a model, each a text of its own.

They are the six that Claude Code uses, in our words. A text depends on the dialect and the settings, never on the list,
so the cached part of a prompt stays the same.
"""

from collections.abc import Collection, Iterable
from typing import Final, Literal, get_args

from msgspec import Struct

from punchlist.dialects.base import Tool
from punchlist.errors import ConfigInvalid
from punchlist.guidance.words import FROM
from punchlist.text import fence

Name = Literal["prompt_section", "doing_tasks", "prompt_footer", "tool_description", "reminder", "tool_result"]
Place = Literal["prompt", "tool", "turn", "result"]
NAMES: Final[tuple[Name, ...]] = get_args(Name)

PLACES: Final[dict[Name, Place]] = {
    "prompt_section": "prompt",
    "doing_tasks": "prompt",
    "prompt_footer": "prompt",
    "tool_description": "tool",
    "reminder": "turn",
    "tool_result": "result",
}
PROFILES: Final[dict[str, tuple[Name, ...]]] = {
    "quiet": ("tool_description", "reminder"),
    "classic": ("prompt_section", "doing_tasks", "prompt_footer", "tool_description", "reminder"),
    "off": (),
}
"""Layers by profile. `tool_result` is in none: a reply is the original's, to the letter."""

_TEXTS: Final[dict[Name, str]] = {
    "prompt_section": (
        "# Todo list (Punchlist)\n"
        "For work of several steps, keep a list with {tools}: what is to do, what is in progress and what is done. "
        "The person you work for sees it. A single step or a question needs no list."
    ),
    "doing_tasks": "- If the work takes several steps, list them with {tools} first.",
    "prompt_footer": "Keep the list in {tools} up to date; people follow your progress by it.",
    "reminder": "the list has not been updated for a while. If it is out of date, update it with {tools}.",
    "tool_result": "Continue with the item in progress.",
}


class Layer(Struct, frozen=True):
    """One text, and its place: system prompt, tool description, a turn of its own, or a tool's reply."""

    name: Name
    text: str
    place: Place

    @property
    def bytes(self) -> int:
        """Size in UTF-8, each time that it is sent."""
        return len(self.text.encode())


def layers(tools: Iterable[Tool], names: Iterable[str], *, writers: Collection[str] = ()) -> tuple[Layer, ...]:
    """Return these layers for the offered tools, in the order of a request; none without tools.

    They name the tools that write, where others only read.
    """
    offered = tuple(tools)
    named = [tool.name for tool in offered if not writers or tool.name in writers]
    wanted = check_names(names)
    return tuple(
        Layer(name, _write_text(name, offered, named), PLACES[name]) for name in NAMES if name in wanted and offered
    )


def check_names(names: Iterable[str]) -> frozenset[str]:
    """Check that all names are names of layers; raises `ConfigInvalid` otherwise."""
    wanted = frozenset(names)
    if unknown := wanted - set(NAMES):
        raise ConfigInvalid(name="layers", value=min(unknown), problem=f"use any of {', '.join(NAMES)}")
    return wanted


def prompt(pieces: Iterable[Layer]) -> str:
    """Return the layers of the system prompt as one text; empty if there are none."""
    return "\n\n".join(piece.text for piece in pieces if piece.place == "prompt")


def _write_text(name: Name, tools: tuple[Tool, ...], named: list[str]) -> str:
    if name == "tool_description":
        return "\n\n".join(tool.description for tool in tools)
    said = _TEXTS[name].format(tools=" and ".join(f"`{tool}`" for tool in named))
    return fence([f"{FROM}: {said}"]) if name == "reminder" else said

"""The settings of the projector, with OpenClaw's defaults and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, cast, get_args

from msgspec import Struct, field

from punchlist.detect.settings import flag, mapping, refused, whole

Delivery = Literal["final_only", "live"]
Separator = Literal["none", "space", "newline", "paragraph"]

VISIBLE: Final[Mapping[str, bool]] = {
    "agent_message_chunk": True,
    "tool_call": False,
    "tool_call_update": False,
    "usage_update": False,
    "available_commands_update": False,
    "current_mode_update": False,
    "config_option_update": False,
    "session_info_update": False,
    "plan": False,
    "agent_thought_chunk": False,
}
"""Which tags are shown. A tag that is not here is, and so is what has none."""

_BOUNDS: Final = {
    "output_characters": (1, 500_000),
    "update_characters": (64, 8_000),
    "idle_milliseconds": (0, 5_000),
    "chunk_characters": (50, 4_000),
}
_KNOWN: Final = ("delivery", "separator", "suppress_repeats", "tags", *_BOUNDS)


class ProjectorOptions(Struct, frozen=True, kw_only=True):
    """`delivery`: everything at the end of a turn, or as it comes. `separator` stands where a tool call is hidden.

    `output_characters` is for the text of one turn, `update_characters` for one line about a tool or a status,
    `chunk_characters` for one message; `idle_milliseconds` is how long live text waits for more, never below 750.
    """

    delivery: Delivery = "final_only"
    separator: Separator | None = None
    suppress_repeats: bool = True
    output_characters: int = 24_000
    update_characters: int = 320
    idle_milliseconds: int = 350
    chunk_characters: int = 1_800
    tags: Mapping[str, bool] = field(default_factory=dict[str, bool])

    def shows(self, tag: str | None) -> bool:
        return True if not tag else self.tags.get(tag, VISIBLE.get(tag, True))

    @property
    def between(self) -> str:
        """The text of the separator: by default a paragraph, or a blank in live delivery."""
        chosen = self.separator or ("space" if self.delivery == "live" else "paragraph")
        return {"none": "", "space": " ", "newline": "\n", "paragraph": "\n\n"}[chosen]


def projector_options(given: object) -> ProjectorOptions:
    """The options that a person gave. A number out of its bounds is the nearest within, as in the original."""
    options = dict(mapping("projector", given, _KNOWN))
    for name, choices in (("delivery", get_args(Delivery)), ("separator", get_args(Separator))):
        if name in options and options[name] not in choices:
            raise refused(f"projector.{name}", options[name], f"use one of {', '.join(choices)}")
    for name, (least, most) in _BOUNDS.items():
        if name in options:
            options[name] = max(least, min(most, whole(f"projector.{name}", options[name], least=-(1 << 31))))
    if "suppress_repeats" in options:
        flag("projector.suppress_repeats", options["suppress_repeats"])
    if "tags" in options:
        options["tags"] = _tags(options["tags"])
    return ProjectorOptions(**options)


def _tags(given: Any) -> dict[str, bool]:
    if not isinstance(given, Mapping):
        raise refused("projector.tags", given, "use a mapping of tags to true or false")
    tags = cast("Mapping[Any, Any]", given)
    return {str(tag): flag(f"projector.tags.{tag}", shown) for tag, shown in tags.items()}

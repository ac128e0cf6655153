"""Define findings and verdicts, the values that every detector returns."""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from punchlist.text import cut, for_prompt

Value = TypeVar("Value")
Raised = tuple[tuple[str, str], ...]
"""Detectors whose finding still holds, each with its subject."""

LONGEST_NAME = 80
"""The most characters of a name from a model that a sentence shows."""


Level = Literal["ok", "warning", "critical"]


class Verdict(Struct, frozen=True):
    """The judgement on a tool call that is about to run, from the calls before it.

    `detector` is its name, None when all is well; `count` is how often it has seen this. `is_news` says
    that this is worth an event: the first of its kind is, and then one at every tenth count. `for_model` is a text for
    the model, mostly empty. `paired_tool` is the other tool of a ping-pong.
    """

    level: Level = "ok"
    detector: str | None = None
    count: int = 0
    message: str = ""
    paired_tool: str | None = None
    is_news: bool = False
    for_model: str = ""


FINE = Verdict()


class Finding(Struct, frozen=True):
    """Something that a detector saw. `subject` is what it saw it of: a tool, an item's id, an agent.

    `seen` is a sentence that may be shown to a person or a model as it is. The level `ok` means that something seen
    before is over.
    """

    detector: str
    level: Level
    seen: str
    count: int = 0
    subject: str = ""

    @property
    def kind(self) -> str:
        return "finding.cleared" if self.level == "ok" else "finding.raised"

    def data(self) -> dict[str, Any]:
        return asdict(self)


def finding_of(verdict: Verdict, tool: str) -> Finding | None:
    """Return the finding about a call of that tool; None if the call is fine. A ping-pong names both tools."""
    if verdict.detector is None:
        return None
    name = clean_name(tool)
    if verdict.paired_tool is not None and verdict.paired_tool != name:
        name = ", ".join(sorted((name, verdict.paired_tool)))
    return Finding(verdict.detector, verdict.level, verdict.message, verdict.count, name)


def clean_name(name: str) -> str:
    """Return a name from outside in a form that is safe in a sentence: one line, short, without a fence."""
    if len(name) <= LONGEST_NAME and name.isascii() and name.isprintable() and "<" not in name and "&" not in name:
        return name
    return for_prompt(cut(name[: 4 * LONGEST_NAME], LONGEST_NAME))


def without_entry(entries: Mapping[str, Value], key: str) -> Mapping[str, Value]:
    return {known: value for known, value in entries.items() if known != key} if key in entries else entries


def with_entry(entries: Mapping[str, Value], key: str, value: Value, most: int) -> Mapping[str, Value]:
    """Return the entries with this one as the newest, and no more than `most`."""
    rest = without_entry(entries, key)
    if len(rest) >= most:
        rest = dict(list(rest.items())[len(rest) - most + 1 :])
    return {**rest, key: value}

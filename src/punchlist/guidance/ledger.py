"""What the layer itself costs: bytes and estimated tokens, by dialect and profile. Small values that add up.

Two halves, because a call must not write more than its list: a `Tally` (`tally.py`) goes with the list of an agent and
is counted by its calls; a `Spent` goes with what guidance remembers and is counted by its turns. The estimate is a
token for every 4 bytes of ASCII, and for every 3 bytes of anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from punchlist.dialects.base import Tool

_encode = msgspec.json.Encoder().encode
_WIDE = bytes(range(128, 256))


class Size(msgspec.Struct, frozen=True, array_like=True):
    """So many texts of so many bytes in UTF-8, `wide` of them not ASCII."""

    count: int = 0
    bytes: int = 0
    wide: int = 0

    @property
    def tokens(self) -> int:
        """The estimate."""
        return round((self.bytes - self.wide) / 4 + self.wide / 3)

    def __add__(self, other: Size) -> Size:
        return Size(self.count + other.count, self.bytes + other.bytes, self.wide + other.wide)


NOTHING = Size()


def size_of(text: str) -> Size:
    if text.isascii():
        return Size(1, len(text))
    return size_of_bytes(text.encode("utf-8", "replace"))


def size_of_bytes(body: bytes) -> Size:
    wide = 0 if body.isascii() else len(body) - len(body.translate(None, _WIDE))
    return Size(1, len(body), wide)


def size_of_json(value: Any) -> Size:
    """The size of a value as the JSON that a model wrote; what cannot be JSON counts as nothing."""
    try:
        return size_of_bytes(_encode(value))
    except (TypeError, ValueError, RecursionError, OverflowError):
        return Size(1)


def size_of_tools(tools: Iterable[Tool]) -> Size:
    """What a request carries for the tools: name, description and schema."""
    sizes = (size_of_json([tool.name, tool.description, tool.input_schema]) for tool in tools)
    total = sum(sizes, NOTHING)
    return total if total.count == 0 else Size(1, total.bytes, total.wide)


class Calls(msgspec.Struct, frozen=True, array_like=True):
    """The calls in one dialect and profile: what the model wrote, what it read, how many were refused."""

    arguments: Size = NOTHING
    replies: Size = NOTHING
    refused: int = 0

    def __add__(self, other: Calls) -> Calls:
        return Calls(self.arguments + other.arguments, self.replies + other.replies, self.refused + other.refused)


class Spent(msgspec.Struct, frozen=True, array_like=True):
    """What turns in one dialect and profile cost.

    `others` counts calls of tools that are not ours. `own_turns` had no other tool than ours; `caused` are turns
    that only happened because the model was kept from stopping. `withheld` counts what the budget kept back.
    """

    turns: int = 0
    others: int = 0
    own_turns: int = 0
    caused: int = 0
    withheld: int = 0
    descriptions: Size = NOTHING
    injections: dict[str, Size] = {}

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.turns + other.turns,
            self.others + other.others,
            self.own_turns + other.own_turns,
            self.caused + other.caused,
            self.withheld + other.withheld,
            self.descriptions + other.descriptions,
            merged(self.injections, other.injections),
        )


def merged(one: Mapping[str, Size], other: Mapping[str, Size]) -> dict[str, Size]:
    return {kind: one.get(kind, NOTHING) + other.get(kind, NOTHING) for kind in dict.fromkeys((*one, *other))}


class Cost(msgspec.Struct, frozen=True):
    """All that one dialect and profile cost some agents."""

    dialect: str
    profile: str
    calls: Calls = Calls()
    spent: Spent = Spent()

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.dialect, self.profile, self.calls + other.calls, self.spent + other.spent)

    @property
    def tokens(self) -> int:
        """Everything that the layer put before a model or had it write, as an estimate."""
        return self.total.tokens

    @property
    def total(self) -> Size:
        said = sum(self.spent.injections.values(), NOTHING)
        return self.spent.descriptions + said + self.calls.arguments + self.calls.replies

    @property
    def share(self) -> float:
        """Our part of all tool calls that were seen; 0 when there were none."""
        ours = self.calls.arguments.count
        every = ours + self.spent.others
        return ours / every if every else 0.0


class AgentCost(NamedTuple):
    """What one dialect and profile cost one agent."""

    session: str
    agent: str
    cost: Cost


def key_of(dialect: str, profile: str) -> str:
    return f"{dialect}/{profile}"


def summed(costs: Iterable[Cost]) -> list[Cost]:
    """The same added up: one entry for each dialect and profile, the dearest first."""
    total: dict[tuple[str, str], Cost] = {}
    for cost in costs:
        key = (cost.dialect, cost.profile)
        total[key] = total[key] + cost if key in total else cost
    return sorted(total.values(), key=lambda cost: (-cost.tokens, cost.dialect, cost.profile))

"""Count what guidance goes by, and the cost of Punchlist itself: bytes and estimated tokens, by dialect and profile.

`Memory` is what guidance remembers of an agent; its size does not grow with the conversation. A cost has two halves,
because a call must not write more than its list: `CallCounts` are stored with the list of an agent and counted by its
calls; `Spent` is stored with the memory and counted by its turns. The estimate is a token for every 4 bytes of ASCII,
and for every 3 bytes of anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from punchlist.core.todo import TodoList
from punchlist.dialects.base import Reply, Tool
from punchlist.text.hashing import blake2b

_encode = msgspec.json.Encoder().encode
_WIDE = bytes(range(128, 256))


class Size(msgspec.Struct, frozen=True, array_like=True):
    """Number of texts and their bytes in UTF-8, `wide` of them not ASCII."""

    count: int = 0
    bytes: int = 0
    wide: int = 0

    @property
    def tokens(self) -> int:
        return round((self.bytes - self.wide) / 4 + self.wide / 3)

    def __add__(self, other: Size) -> Size:
        return Size(self.count + other.count, self.bytes + other.bytes, self.wide + other.wide)


NOTHING = Size()


def size_of(text: str) -> Size:
    return size_of_bytes(text.encode("utf-8", "replace"))


def size_of_bytes(body: bytes) -> Size:
    wide = 0 if body.isascii() else len(body) - len(body.translate(None, _WIDE))
    return Size(1, len(body), wide)


def size_of_json(value: Any) -> Size:
    """Return the size of a value as the JSON that a model wrote; a value that cannot be JSON has no bytes."""
    try:
        return size_of_bytes(_encode(value))
    except (TypeError, ValueError, RecursionError, OverflowError):
        return Size(1)


def size_of_tools(tools: Iterable[Tool]) -> Size:
    """Return the size of the tools in a request: names, descriptions and schemas."""
    sizes = (size_of_json([tool.name, tool.description, tool.input_schema]) for tool in tools)
    total = sum(sizes, NOTHING)
    return total if total.count == 0 else Size(1, total.bytes, total.wide)


class CallCost(msgspec.Struct, frozen=True, array_like=True):
    """Cost of the calls in one dialect and profile: arguments written, replies read, calls refused."""

    arguments: Size = NOTHING
    replies: Size = NOTHING
    refused: int = 0

    def __add__(self, other: CallCost) -> CallCost:
        return CallCost(self.arguments + other.arguments, self.replies + other.replies, self.refused + other.refused)


class Spent(msgspec.Struct, frozen=True, array_like=True):
    """Cost of the turns in one dialect and profile. Stored by position: add fields at the end only."""

    turns: int = 0
    others: int = 0
    """Calls of tools that are not ours."""
    own_turns: int = 0
    """Turns with no other tool than ours."""
    caused: int = 0
    """Turns that only happened because the model was kept from stopping."""
    withheld: int = 0
    """Texts that the budget kept back."""
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
            merge_sizes(self.injections, other.injections),
        )


def merge_sizes(one: Mapping[str, Size], other: Mapping[str, Size]) -> dict[str, Size]:
    return {kind: one.get(kind, NOTHING) + other.get(kind, NOTHING) for kind in dict.fromkeys((*one, *other))}


class Cost(msgspec.Struct, frozen=True):
    """Cost of one dialect and profile, for one agent or several."""

    dialect: str
    profile: str
    calls: CallCost = CallCost()
    spent: Spent = Spent()

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.dialect, self.profile, self.calls + other.calls, self.spent + other.spent)

    @property
    def tokens(self) -> int:
        """Estimated tokens that a model read or wrote because of Punchlist."""
        return self.total.tokens

    @property
    def total(self) -> Size:
        """Descriptions, injections, arguments and replies together."""
        said = sum(self.spent.injections.values(), NOTHING)
        return self.spent.descriptions + said + self.calls.arguments + self.calls.replies

    @property
    def share(self) -> float:
        """Our share of all tool calls seen; 0 when there were none."""
        ours = self.calls.arguments.count
        every = ours + self.spent.others
        return ours / every if every else 0.0


class AgentCost(NamedTuple):
    """Cost of one dialect and profile for one agent."""

    session: str
    agent: str
    cost: Cost


def cost_key(dialect: str, profile: str) -> str:
    return f"{dialect}/{profile}"


def sum_costs(costs: Iterable[Cost]) -> list[Cost]:
    """Add up costs: one entry for each dialect and profile, the most expensive first."""
    total: dict[tuple[str, str], Cost] = {}
    for cost in costs:
        key = (cost.dialect, cost.profile)
        total[key] = total[key] + cost if key in total else cost
    return sorted(total.values(), key=lambda cost: (-cost.tokens, cost.dialect, cost.profile))


_TEXT = 300
"""Most characters of a failure or a note that are stored."""

_OURS = frozenset({"cleaned", "omitted", "graded"})
"""Problems that no original knows, so that its reply cannot say them."""


class CallCounts(msgspec.Struct, frozen=True, array_like=True):
    """Counters of one agent's calls of the todo tool. Stored by position: add fields at the end only."""

    calls: int = 0
    writes: int = 0
    """Accepted writes."""
    failures: int = 0
    failure: str = ""
    """Reply to the last failed call; empty once a write was accepted."""
    noted: int = 0
    """Calls with something to say beyond the reply."""
    notes: tuple[str, ...] = ()
    """The notes of the last of them."""
    batch: int = 0
    """Items that one write completed, when there were several."""
    batch_write: int = 0
    """The number of that write."""
    costs: dict[str, CallCost] = {}
    applied: str = ""
    """What the last failed call changed all the same."""


def count_call(
    tally: CallCounts,
    key: str | None,
    arguments: Size,
    reply: Reply,
    *,
    wrote: bool,
    completed: int = 0,
    applied: str = "",
    foreign: bool = True,
) -> CallCounts:
    """Add one call. `foreign`: the dialect's reply cannot say what we add to it.

    Without a key its cost is not ours: the tool was another program's.
    """
    costs, failed = tally.costs, reply.is_error
    if key is not None:
        costs = {**costs, key: costs.get(key, CallCost()) + CallCost(arguments, size_of(reply.text), int(failed))}
    noted, notes = tally.noted, tally.notes
    if foreign and reply.problems:
        new = tuple(problem.text[:_TEXT] for problem in reply.problems if problem.code in _OURS)
        noted, notes = (noted + 1, new) if new else (noted, notes)
    writes = tally.writes + wrote
    batch, batch_write = (completed, writes) if completed > 1 else (tally.batch, tally.batch_write)
    failure = reply.text[:_TEXT] if failed else "" if wrote else tally.failure
    applied = applied if failed or wrote else tally.applied
    return CallCounts(
        tally.calls + 1, writes, tally.failures + failed, failure, noted, notes, batch, batch_write, costs, applied
    )


def list_costs(tally: CallCounts, spent: Mapping[str, Spent]) -> list[Cost]:
    """Return the costs of one agent, by dialect and profile."""
    found: list[Cost] = []
    for key in dict.fromkeys((*tally.costs, *spent)):
        dialect, _, profile = key.partition("/")
        found.append(Cost(dialect, profile, tally.costs.get(key, CallCost()), spent.get(key, Spent())))
    return found


TOLD = 64
"""States remembered as told, the latest ones: enough for a session, and a bounded record."""


class Memory(msgspec.Struct, frozen=True, array_like=True):
    """Counters and marks of one agent. Stored by position: add fields at the end only."""

    turns: int = 0
    used: int = 0
    """Turns before the message that last used our tool: `turns - used` counts that message, as Claude Code does."""
    named: bool = False
    """The last turn named our tool."""
    reminded: int = 0
    rounds: int = 0
    """Turns with tools since our tool was used."""
    changes: int = 0
    """Changing calls since the last write."""
    reported: bool = False
    """The host reports each tool call, so `tools_used` is not counted."""
    others: int = 0
    """Calls of other tools since the last turn."""
    calls: int = 0
    """From here to `batch`: the part of `CallCounts` that was seen."""
    writes: int = 0
    failures: int = 0
    noted: int = 0
    batch: int = 0
    revision: int = 0
    """Revision of the list that the model was told of."""
    told: tuple[int, ...] = ()
    """Fingerprints of states that it was reminded of."""
    hinted: bool = False
    prompt_reminders: int = 0
    session_reminders: int = 0
    stops: int = 0
    stopped_at: int = 0
    """Fingerprint of the open items about which the stop guard has nothing more to say."""
    planned: int = 0
    """Turns in plan mode."""
    turn_characters: int = 0
    turn_injections: int = 0
    session_characters: int = 0
    session_injections: int = 0
    drifted: int = -1
    """Writes so far when drift was last spoken of."""
    entered: str = ""
    """The stay in plan mode that `planned` counts."""
    finding: str = ""
    """Findings that the model has not been told yet, one per line."""
    found: int = 0
    """Last event that was searched for findings."""
    heard: tuple[str, ...] = ()
    """Findings that the model was told and that still hold."""
    regraded: int = 0
    """Revision up to which changed grades were searched."""
    tasks_regraded: int = 0
    """Event up to which changed grades of tasks were searched."""
    judged: int = 0
    """Revision up to which the stop guard has judged which open items the model left out of its list."""
    counted: Literal["", "message", "tools"] = ""
    """A message without tools, or with some, was counted, and no request was built since."""


def fingerprint(todos: TodoList, *, unfinished: bool = False) -> int:
    """Return a number for the content of a list, or of its open items; never 0, which stands for none."""
    items = todos.open_items if unfinished else todos.items
    said = "\x00".join(f"{item.id}\x01{item.status}\x01{item.content}" for item in items)
    digest = blake2b(f"{todos.plan_id}\x00{said}".encode("utf-8", "replace"), digest_size=7).digest()
    return int.from_bytes(digest) or 1

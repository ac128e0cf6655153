"""What a decision is made from, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from punchlist.core.commands import Policy
from punchlist.core.todo import TodoItem, TodoList
from punchlist.dialects.base import shown_items
from punchlist.guidance import words
from punchlist.guidance.injection import Injection
from punchlist.guidance.memory import Memory
from punchlist.guidance.tally import Tally
from punchlist.guidance.tools import NONE, OwnTools


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What is known at the moment of a decision.

    `todos` is the agent's list, with its tasks behind it; `shown` is what the model knows of the list where others
    changed it since, else None. `tool` is the one that the texts name, `own` are the names of all our tools, `writers`
    those whose use counts, if not all do; `tools` are those that the message used, and `host` what the host says about
    its own. `notice` is the text for plan mode, and `entered` says which stay in it this is. `beyond`: the items that
    none of our tools that this agent has can report.
    """

    todos: TodoList
    tally: Tally
    policy: Policy
    tool: str
    own: frozenset[str]
    writers: frozenset[str] = frozenset()
    shown: tuple[TodoItem, ...] | None = None
    planning: bool = False
    offered: bool = True
    tools: Sequence[str] = ()
    notice: str = ""
    entered: str = ""
    host: OwnTools = NONE
    beyond: words.Beyond = words.NOTHING_BEYOND

    def items(self, *, unfinished: bool = False) -> words.Shown:
        """The items that the dialect shows, each with the status that it shows."""
        found = shown_items(self.todos, self.policy)
        return [(item, status) for item, status in found if item.is_open] if unfinished else found


class Outcome(NamedTuple):
    """What to remember, what to say, how much the budget kept back, and whether the model now sees its whole list."""

    memory: Memory
    said: tuple[Injection, ...] = ()
    withheld: int = 0
    shows_list: bool = False


def is_own(name: str, own: frozenset[str]) -> bool:
    """Whether a tool is ours, also behind the name of a server: `mcp__punchlist__todo`."""
    return name in own or name.rpartition("__")[2] in own

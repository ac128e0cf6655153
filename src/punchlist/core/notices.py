"""Records of what a person is told of agents, and of what was seen before. `views/notices.py` finds the news."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final, Literal, NamedTuple, get_args

from msgspec import Struct

from punchlist.core.presence import PresenceState

FactKind = Literal["waits", "finished", "stalled", "red"]
NoticeKind = Literal["waits", "finished", "stalled", "red", "progress", "summary", "test"]

FACT_KINDS: Final[tuple[FactKind, ...]] = get_args(FactKind)


class PersonNotice(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message to a person. `title` and `text` are clean: no control character is left in them.

    `at` is when the fact began; `answer` is the name by which `punchlist answer` finds what waits.
    """

    kind: NoticeKind
    title: str
    text: str = ""
    at: datetime | None = None
    project: str = ""
    host: str = ""
    session: str = ""
    agent: str = ""
    answer: str = ""
    subject: str = ""
    """Its subject, in the memory of what was told."""


class SeenAgent(Struct, frozen=True, omit_defaults=True):
    """An agent as it was last seen, and the latest begin of each kind of fact that is known of it."""

    name: str
    project: str = ""
    host: str = ""
    session: str = ""
    agent: str = ""
    state: PresenceState = "idle"
    since: datetime | None = None
    waits_for: str = ""
    """The cause of its wait by its host; empty if the board knows that."""
    busy_since: datetime | None = None
    finished_since: datetime | None = None
    """Begin of the work whose end is known."""
    waited_since: datetime | None = None
    silent_since: datetime | None = None
    is_red: bool = False
    red_at: datetime | None = None
    missing_since: datetime | None = None


class NoticeMemory(NamedTuple):
    """Agents and waits that were seen before. Nothing is news that was so before `began`, the first look."""

    began: datetime
    agents: Mapping[str, SeenAgent]
    waits: Collection[str]


class News(NamedTuple):
    """The facts to tell, and what has to be remembered: the agents that changed, and the waits that are new."""

    facts: Sequence[PersonNotice]
    agents: Mapping[str, SeenAgent]
    waits: Collection[str]

"""Work that waits on a person, with the commands that resolve it."""

from __future__ import annotations

from datetime import datetime
from shlex import quote

from msgspec import Struct
from msgspec.structs import asdict

from punchlist.core.overview import PersonWait


class WaitView(PersonWait, frozen=True, kw_only=True):
    """Something that waits on a person. `answer` has the commands that resolve it in a terminal."""

    answer: tuple[str, ...]


def view_wait(wait: PersonWait) -> WaitView:
    """Return a wait with the commands that resolve it."""
    return WaitView(**asdict(wait), answer=answer_commands(wait))


def answer_commands(wait: PersonWait) -> tuple[str, ...]:
    """Return the commands that resolve a wait and no other, from whichever folder: with its list or its agent."""
    agent = (("--session", wait.session), ("--agent", wait.agent))
    places = (("--list", wait.list),) if wait.list else agent
    place = "".join(f" {option} {quote(name)}" for option, name in places if name)
    return tuple(f"punchlist answer {wait.name} {answer}{place}" for answer in wait.answers)


class ReceiptView(Struct, frozen=True, kw_only=True):
    """How far news went to an agent: sent to its host, accepted by it, seen by the model."""

    state: str
    sent: datetime | None = None
    accepted: datetime | None = None
    """The host began a turn."""
    seen: datetime | None = None
    """The model answered after it was told."""

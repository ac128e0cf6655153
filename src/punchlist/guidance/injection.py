"""A piece of text for a model."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Kind = Literal["reminder", "hint", "stop", "verify", "changed", "failed", "problems", "plan_mode", "answer", "finding"]
Place = Literal["tail", "before_results"]
Role = Literal["user", "developer"]

KINDS: dict[Kind, str] = {
    "reminder": "the list was not updated for a while",
    "hint": "there is a tool for work of several steps",
    "stop": "the model wants to stop with work still open",
    "verify": "several items were completed at once, and no check was seen",
    "changed": "somebody else changed the list",
    "failed": "the last write failed",
    "problems": "what Punchlist did to the last call beyond its reply: characters removed, an item left out",
    "plan_mode": "plan mode is on",
    "answer": "a person answered what the agent asked; said in every profile, and beyond every ceiling",
    "finding": "a detector saw something, or a completion was contradicted later, where the model is to hear of it",
}
"""Everything that guidance says, and why."""


class Injection(Struct, frozen=True):
    """Text to append to the next request, and to that one alone: what a provider has cached stays as it was.

    `place` is the tail of the request, or in front of the tool results. With `once`, leave it out of the requests
    after. `for_user` is a line that a host may show to the person at the same time.
    """

    kind: Kind
    text: str
    place: Place = "tail"
    role: Role = "user"
    once: bool = True
    for_user: str = ""

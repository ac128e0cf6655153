"""What is thought of a tool call that is about to run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "critical"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is thought of a tool call that is about to run, from the calls before it.

    `detector` names who thinks so, None when all is well; `count` is how often it has seen the like.
    """

    level: Level = "ok"
    detector: str | None = None
    count: int = 0
    message: str = ""


FINE = Verdict()

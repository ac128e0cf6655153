"""What is thought of a tool call that is about to run."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Level = Literal["ok", "warning", "critical"]


class Verdict(Struct, frozen=True):
    """What is thought of a tool call that is about to run, from the calls before it.

    `detector` names who thinks so, None when all is well; `count` is how often it has seen the like. `is_news` says
    that this is worth an event: the first of its kind is, and then one at every tenth count. `for_model` is what the
    model is to be told now, empty mostly. `paired_tool` is the other tool of a ping-pong.
    """

    level: Level = "ok"
    detector: str | None = None
    count: int = 0
    message: str = ""
    paired_tool: str | None = None
    is_news: bool = False
    for_model: str = ""


FINE = Verdict()

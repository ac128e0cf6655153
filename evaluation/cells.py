"""What is run: each cell is a world, a model and the rate that is swept."""

from __future__ import annotations

from typing import NamedTuple

from evaluation.arms import MAIN
from evaluation.models import Rates
from evaluation.worlds import Scenario


class Cell(NamedTuple):
    name: str
    about: str
    scenario: Scenario
    field: str
    """The rate that is swept, and its values from never to often."""
    values: tuple[float, ...]
    more_arms: tuple[str, ...] = ()
    arms: tuple[str, ...] = MAIN

    def rates(self, value: float) -> Rates:
        return Rates()._replace(**{self.field: value})


_FORGETS = (1.0, 0.8, 0.5)

CELLS = (
    Cell(
        "series, forgetful",
        "12 edits in a row; a fact survives a compaction with the rate `keep`.",
        Scenario(),
        "keep",
        _FORGETS,
        ("quiet, no block", "quiet, no guard"),
    ),
    Cell(
        "requests, forgetful",
        "12 edits, and 3 more that the person asks for meanwhile.",
        Scenario(requests=3),
        "keep",
        _FORGETS,
        ("quiet, no block", "quiet, no guard"),
    ),
    Cell(
        "follow-ups, lazy",
        "12 edits that bring up 4 more; the model stops with the rate `stop` although it knows of open steps.",
        Scenario(follow_ups=4),
        "stop",
        (0.0, 0.05, 0.15),
        ("quiet, no guard",),
    ),
    Cell(
        "series, eager",
        "12 edits; a step is ticked off without being done with the rate `claim`.",
        Scenario(),
        "claim",
        (0.0, 0.1, 0.3),
        ("quiet, grades told",),
    ),
    Cell(
        "requests, rewriter",
        "15 edits; each write is the whole list from memory, without an open item with the rate `drop`.",
        Scenario(requests=3),
        "drop",
        (0.0, 0.1, 0.3),
        ("quiet, no set-aside", "quiet, no guard"),
    ),
    Cell(
        "series, looper",
        "12 edits; the last one is done again with the rate `loop`.",
        Scenario(),
        "loop",
        (0.0, 0.2, 0.4),
    ),
    Cell(
        "crash, forgetful",
        "16 edits, 2 asked for later and 2 found; in the middle the conversation is lost, and the request said again.",
        Scenario(follow_ups=2, requests=2, crash_at=14),
        "keep",
        _FORGETS,
        ("quiet, no leftovers",),
    ),
    Cell(
        "edits, forgetful",
        "12 edits, 3 of which the person cancels meanwhile: on the list where there is one, else in a prompt.",
        Scenario(edits=3),
        "keep",
        _FORGETS,
    ),
    Cell(
        "ticks, forgetful",
        "15 edits; a finished step is ticked off with the rate `tick`.",
        Scenario(requests=3),
        "tick",
        (0.9, 0.6, 0.3),
    ),
    Cell(
        "queue, two workers",
        "12 edits for two workers with conversations of their own, in turn.",
        Scenario(workers=2),
        "keep",
        _FORGETS,
        arms=("no list", "LangChain", "pydantic-ai", "quiet", "shared tasks"),
    ),
)

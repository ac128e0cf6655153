"""The lists that are written: twenty items of about forty characters, one status changed a call."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

ITEMS = 20
_VERBS = ("Read", "Fix", "Test", "Write", "Move")
_THINGS = ("parser", "lexer", "cache", "queue")

TEXTS = tuple(
    f"{_VERBS[index % 5]} the {_THINGS[index % 4]} of module {index:02} until it holds".ljust(40, ".")[:40]
    for index in range(ITEMS)
)
DOING = tuple(f"Working on: {text}"[:40] for text in TEXTS)

Statuses = tuple[str, ...]
Todos = list[dict[str, str]]


def forward() -> list[Statuses]:
    """Statuses that differ in one place from one to the next, as work gets done; never all done."""
    statuses = ["pending"] * ITEMS
    there = [tuple(statuses)]
    for index in range(ITEMS):
        for word in ("in_progress", "completed")[: 1 if index == ITEMS - 1 else 2]:
            statuses[index] = word
            there.append(tuple(statuses))
    return there


def walk() -> list[Statuses]:
    """The same, and all the way back, so that it can go round."""
    there = forward()
    return there + there[-2:0:-1]


def claude_code(steps: list[Statuses] | None = None) -> list[Todos]:
    """The walk, or other steps, as arguments of `TodoWrite`."""
    return [
        [
            {"content": text, "status": status, "activeForm": doing}
            for text, status, doing in zip(TEXTS, statuses, DOING, strict=True)
        ]
        for statuses in steps or walk()
    ]


def calls() -> Iterator[dict[str, Todos]]:
    """Arguments of one `TodoWrite` after another, without end."""
    return cycle([{"todos": todos} for todos in claude_code()])

"""What the life of a list costs a model to read and write, in our own dialect and in `claude-code`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from benchmarks import work
from benchmarks.report import Must, Row
from benchmarks.scale import Scale
from punchlist import Board

NOTE = (
    "Bytes of arguments, as compact JSON, and of reply texts together: 20 items of 40 characters are written, "
    "then each is finished and the next started in one call."
)


def run(_scale: Scale) -> Iterator[Row]:
    theirs = spent("claude-code", _claude_code_life())
    ours = spent("punchlist", _punchlist_life())
    yield Row(
        "the life of a list of 20 items",
        f"punchlist: {ours:,} bytes",
        f"claude-code: {theirs:,} bytes",
        ours / theirs,
        Must("≤", 0.1),
    )


def spent(dialect: str, calls: list[dict[str, Any]]) -> int:
    with Board.open("memory:") as board:
        agent = board.agent(session="bytes", dialect=dialect)
        (tool,) = agent.tools
        total = 0
        for args in calls:
            reply = agent.call(tool.name, args)
            sent = json.dumps(args, separators=(",", ":"), ensure_ascii=False)
            total += len(sent.encode()) + len(reply.text.encode())
        return total


def _punchlist_life() -> list[dict[str, Any]]:
    return [{"set": list(work.TEXTS)}, *({"done": str(index + 1)} for index in range(work.ITEMS))]


def _claude_code_life() -> list[dict[str, Any]]:
    return [{"todos": _todos(done)} for done in range(work.ITEMS + 1)]


def _todos(done: int) -> work.Todos:
    """The first `done` items completed, the next one in progress."""
    statuses = ["completed"] * done + ["in_progress"] + ["pending"] * work.ITEMS
    return [
        {"content": text, "status": status, "activeForm": doing}
        for text, doing, status in zip(work.TEXTS, work.DOING, statuses, strict=False)
    ]

"""The slowest answers to input that nobody means: megabytes of garbage, deep nesting, a flood of items or keys."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from benchmarks.report import Row
from benchmarks.scale import Scale
from punchlist import Board
from punchlist.dialects import REGISTRY

NOTE = "Milliseconds of one call in memory, the slowest of all kinds of input; nothing is demanded here."
_ARGUMENT = {"claude-code": "todos", "punchlist": "set"}
_TEXT = {"claude-code": "content", "punchlist": "text"}


def run(scale: Scale) -> Iterator[Row]:
    size = scale.count(10_000_000, least=1000)
    for dialect in REGISTRY:
        taken = {name: _milliseconds(dialect, args) for name, args in _inputs(dialect, size)}
        worst, *others = sorted(taken, key=lambda name: taken[name], reverse=True)
        peer = "then " + ", ".join(f"{name} {taken[name]:.0f} ms" for name in others[:2])
        yield Row(f"{dialect}: the slowest of {len(taken)} inputs", f"{taken[worst]:.0f} ms, {worst}", peer)


def _milliseconds(dialect: str, args: Any) -> float:
    with Board.open("memory:") as board:
        agent = board.agent(session="worst", dialect=dialect)
        (tool,) = agent.tools
        start = time.perf_counter()
        agent.call(tool.name, args)
        return (time.perf_counter() - start) * 1e3


def _inputs(dialect: str, size: int) -> Iterator[tuple[str, Any]]:
    """Inputs of about `size` bytes each, made one at a time so that they are not all in memory."""
    key, text = _ARGUMENT[dialect], _TEXT[dialect]

    def item(content: Any) -> dict[str, Any]:
        return {text: content, "status": "pending", "activeForm": "x"} if text == "content" else {text: content}

    yield "a long text", {key: [item("x" * size)]}
    yield "escape sequences", {key: [item("\x1b[31m\x1b]8;;" * (size // 10))]}
    yield "an escape without end", {key: [item("\x1b]" + "x" * size)]}
    yield "combining marks", {key: [item("e" + "\u0301" * (size // 2))]}
    yield "joined emoji", {key: [item("\U0001f469\u200d" * (size // 7))]}
    yield "lone surrogates", {key: [item("\ud83d" * (size // 3))]}
    yield "a string for the list", {key: "x" * size}
    yield "a string for the arguments", "x" * size
    yield "brackets for the arguments", "[" * size
    yield "brackets for the list", {key: "[" * size}
    yield "objects in a string", {key: '{"a":' * (size // 5)}
    yield "digits in a string", {key: "1" * size}
    yield "deep lists", {key: _nested(size // 100)}
    yield "deep lists in an item", {key: [item(_nested(size // 100))]}
    yield "numbers for items", {key: [1] * (size // 8)}
    yield "many items", {key: [item(f"item {index}") for index in range(size // 40)]}
    yield "many equal items", {key: [item("same")] * (size // 40)}
    yield "many keys", {f"key{index}": index for index in range(size // 20)}
    yield "many keys in an item", {key: [{**item("x"), **{f"key{index}": index for index in range(size // 20)}}]}


def _nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner

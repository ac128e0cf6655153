"""The slowest answers to input that nobody means: megabytes of garbage, deep nesting, a flood of items or keys."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from benchmarks.report import Row
from benchmarks.scale import Scale
from punchlist import Board
from punchlist.dialects import dialect as dialect_named
from punchlist.dialects import dialects_of

NOTE = "Milliseconds of one call in memory, the slowest of all kinds of input; nothing is demanded here."
_TEXTS = ("content", "text", "description", "title", "step", "task")


def run(scale: Scale) -> Iterator[Row]:
    size = scale.count(10_000_000, least=1000)
    for dialect in dialects_of("todos"):
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
    args, key = _frame(dialect)
    kind = args[key]

    def within(value: Any) -> dict[str, Any]:
        """The arguments with this for the list; one of texts is given as rows where the dialect takes a text."""
        rows = isinstance(kind, str) and isinstance(value, list) and all(isinstance(row, str) for row in value)
        return {**args, key: "\n".join(value) if rows else value}

    def item(content: Any) -> Any:
        if isinstance(kind, str):
            return f"- [ ] {content}" if isinstance(content, str) else content
        template = kind[0]
        if isinstance(template, str):
            return {"text": content}
        text = next(name for name in _TEXTS if name in template)
        return {**template, text: content}

    yield "a long text", within([item("x" * size)])
    yield "escape sequences", within([item("\x1b[31m\x1b]8;;" * (size // 10))])
    yield "an escape without end", within([item("\x1b]" + "x" * size)])
    yield "combining marks", within([item("e" + "\u0301" * (size // 2))])
    yield "joined emoji", within([item("\U0001f469\u200d" * (size // 7))])
    yield "lone surrogates", within([item("\ud83d" * (size // 3))])
    yield "a string for the list", within("x" * size)
    yield "a string for the arguments", "x" * size
    yield "brackets for the arguments", "[" * size
    yield "brackets for the list", within("[" * size)
    yield "objects in a string", within('{"a":' * (size // 5))
    yield "digits in a string", within("1" * size)
    yield "deep lists", within(_nested(size // 100))
    yield "deep lists in an item", within([item(_nested(size // 100))])
    yield "numbers for items", within([1] * (size // 8))
    yield "many items", within([item(f"item {index}") for index in range(size // 40)])
    yield "many equal items", within([item("same")] * (size // 40))
    yield "many keys", {f"key{index}": index for index in range(size // 20)}
    many = {f"key{index}": index for index in range(size // 20)}
    yield "many keys in an item", within([many if isinstance(kind, str) else {**item("x"), **many}])


def _frame(dialect: str) -> tuple[dict[str, Any], str]:
    """Good arguments of the dialect, and the key of the list or text in them."""
    tool = dialect_named(dialect).tools[0]
    example = dict(tool.examples[0]) if tool.examples else _sample(tool.input_schema)
    return example, next(
        key for key in ("todos", "set", "ops", "plan", "todoList", "content", "task_list") if key in example
    )


def _sample(schema: Any, *, within: bool = False) -> Any:
    """A value that the schema allows; of an item within a list, the fields that are no lists."""
    schema = schema.get("anyOf", [schema])[0]
    match schema["type"]:
        case "object":
            fields = schema["properties"].items()
            return {key: _sample(part) for key, part in fields if not within or part["type"] != "array"}
        case "array":
            return [_sample(schema["items"], within=True)]
        case "boolean":
            return False
        case "number":
            return 1
        case _:
            return schema.get("enum", ["x"])[-1]


def _nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner

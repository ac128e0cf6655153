"""Finding the old items again in a list of 256 long texts, all reworded and moved by one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from statistics import median

from benchmarks.measure import seconds_each
from benchmarks.report import Row
from benchmarks.scale import Scale
from punchlist import Board

NOTE = (
    "Milliseconds a write in memory, the median; the design asks for milliseconds. "
    "`kept` counts the items that are known again by their old id."
)
_ITEMS, _CHARACTERS = 256, 4000


def run(scale: Scale) -> Iterator[Row]:
    writes = scale.count(20, least=2)
    yield _row("texts that differ", writes, lambda index: [f"word{index}x{place}" for place in range(600)])
    shared = [f"word{place}" for place in range(20)]
    yield _row("texts that share most words", writes, lambda index: [f"number{index}", *shared * 40])
    yield _row("texts beyond ASCII", writes, lambda index: [f"wörd{index}é{place}" for place in range(600)])


def _row(what: str, writes: int, words_of: Callable[[int], list[str]]) -> Row:
    first = [" ".join(words_of(index))[:_CHARACTERS] for index in range(_ITEMS)]
    moved = first[1:] + first[:1]
    lists = cycle([[f"again {text}"[:_CHARACTERS] for text in moved], first])
    with Board.open("memory:") as board:
        agent = board.agent(session="identity")
        agent.call("todo", {"set": first})
        ids = [item.id for item in agent.todos.items]
        taken = [seconds_each(lambda: agent.call("todo", {"set": next(lists)}), 1)]
        now = [item.id for item in agent.todos.items]
        kept = sum(map(str.__eq__, now, ids[1:] + ids[:1]))
        taken += [seconds_each(lambda: agent.call("todo", {"set": next(lists)}), 1) for _ in range(writes)]
    ours = f"{median(taken) * 1e3:.0f} ms, kept {kept} of {_ITEMS}"
    return Row(f"{_ITEMS} × {_CHARACTERS:,} characters, {what}", ours)

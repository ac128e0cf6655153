"""Calls a second of every dialect in memory, on 5, 20 and 50 items, beside the Python peers that there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

from benchmarks import work
from benchmarks.measure import interleaved, seconds_each
from benchmarks.report import Row, not_measured
from benchmarks.scale import Scale
from benchmarks.wire import WRITERS
from punchlist import Board
from punchlist.dialects import dialect, dialects_of

NOTE = (
    "Calls a second on a board in memory, the best of many turns: the whole list is written with one status changed "
    "(by oh-my-pi the change alone; a list that is longer than the dialect allows is left out). Ours checks, merges, "
    "keeps ids and writes events. Ratios are times, ours to the peer's: LangChain's tool validates and returns the "
    "list, its bare function only builds the message, pydantic-ai-todo validates and stores."
)
SIZES = (5, 20, 50)


def run(scale: Scale) -> Iterator[Row]:
    rounds, each = scale.count(20, least=2), scale.count(50, least=4)
    best: dict[tuple[str, int], float] = {}
    for name in dialects_of("todos"):
        sizes = [size for size in SIZES if size <= dialect(name).policy.limits.items]
        with Board.open("memory:") as board:
            contenders = {str(size): _contender(board, name, size, each) for size in sizes}
            for contender in contenders.values():
                contender()
            taken = interleaved(rounds, contenders)
        best |= {(name, size): min(taken[str(size)]) for size in sizes}
        yield Row(f"{name}: full write", ", ".join(f"{size}: {1 / best[name, size]:,.0f}/s" for size in sizes))
    for size in SIZES:
        yield from _beside_peers(size, best["langchain", size], rounds, each)


def _contender(board: Board, name: str, size: int, each: int) -> Callable[[], float]:
    agent = board.agent(session=f"{name}-{size}", dialect=name)
    (tool,) = agent.tools
    calls = cycle(_calls(name, size))
    first = WRITERS[name](_texts(size), _walk(size)[0], ())
    assert not agent.call(tool.name, first).is_error
    return lambda: seconds_each(lambda: agent.call(tool.name, next(calls)), each)


def _calls(name: str, size: int) -> list[dict[str, Any]]:
    texts, steps = _texts(size), _walk(size)
    return [WRITERS[name](texts, now, before) for before, now in zip([steps[-1], *steps], steps, strict=False)]


def _texts(size: int) -> list[str]:
    return [f"{work.TEXTS[place % work.ITEMS][:36]} {place:03}" for place in range(size)]


def _walk(size: int) -> list[work.Statuses]:
    """Statuses that differ in one place from one to the next, all round; never all done, one in progress at most."""
    statuses = ["pending"] * size
    there = [tuple(statuses)]
    for place in range(size - 1):
        for word in ("in_progress", "completed"):
            statuses[place] = word
            there.append(tuple(statuses))
    return there + there[-2:0:-1]


def _beside_peers(size: int, ours: float, rounds: int, each: int) -> Iterator[Row]:
    try:
        from benchmarks import peers
    except ImportError as error:
        yield not_measured(
            f"langchain beside its peers, {size} items", f"`{error.name}` is not installed: `make bench`"
        )
        return
    written: list[work.Todos] = [call["todos"] for call in _calls("claude-code", size)]
    through_tool, bare = peers.langchain(written)
    contenders: dict[str, Callable[[], float]] = {
        "LangChain's write_todos through its tool": lambda: seconds_each(through_tool, each),
        "LangChain's write_todos, bare function": lambda: seconds_each(bare, each),
        "pydantic-ai-todo's write_todos": lambda: peers.pydantic_ai_todo(each, written),
    }
    for name, taken in interleaved(rounds, contenders).items():
        theirs = min(taken)
        yield Row(
            f"langchain, {size} items, beside {name}", f"{1 / ours:,.0f}/s", f"{1 / theirs:,.0f}/s", ours / theirs
        )

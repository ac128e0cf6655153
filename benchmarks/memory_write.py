"""The same write in memory, beside LangChain's `write_todos` and pydantic-ai-todo's."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.measure import interleaved, seconds_each
from benchmarks.report import Must, Row, not_measured
from benchmarks.scale import Scale
from benchmarks.writers import Team
from punchlist import Board

NOTE = (
    "Microseconds a call, the best of many turns; each list is worked through once. Ours checks, merges, keeps ids and "
    "writes events; LangChain's tool validates and returns the list; its bare function only builds the message; "
    "pydantic-ai-todo validates and stores."
)
_MUSTS: dict[str, Must | None] = {
    "LangChain's write_todos through its tool": Must("≤", 2),
    "LangChain's write_todos, bare function": None,
    "pydantic-ai-todo's write_todos": None,
}


def run(scale: Scale) -> Iterator[Row]:
    rounds, each = scale.count(60, least=2), scale.count(100, least=4)
    with Board.open("memory:") as board:
        team = Team(board, 1, (rounds + 1) * each)
        contenders: dict[str, Callable[[], float]] = {"ours": lambda: seconds_each(team.write_alone, each)}
        try:
            from benchmarks import peers
        except ImportError as error:
            for name, must in _MUSTS.items():
                yield not_measured(_what(name), f"`{error.name}` is not installed: `make bench`", must)
        else:
            through_tool, bare = peers.langchain()
            contenders |= {
                "LangChain's write_todos through its tool": lambda: seconds_each(through_tool, each),
                "LangChain's write_todos, bare function": lambda: seconds_each(bare, each),
                "pydantic-ai-todo's write_todos": lambda: peers.pydantic_ai_todo(each),
            }
        for contender in contenders.values():
            contender()
        best = {name: min(taken) for name, taken in interleaved(rounds, contenders).items()}
    ours = best.pop("ours")
    for name, seconds in best.items():
        yield Row(_what(name), f"{ours * 1e6:.0f} µs", f"{seconds * 1e6:.0f} µs", ours / seconds, _MUSTS[name])


def _what(peer: str) -> str:
    return f"one write, beside {peer}"

"""One agent's list, and any past revision of it, on a small board and on one with a million events."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks import boards, work
from benchmarks.measure import interleaved, seconds_each
from benchmarks.report import Must, Row
from benchmarks.scale import Scale
from punchlist import Agent, Board

NOTE = (
    "Microseconds a read, the best of many turns. The agent's own writes lie spread among those of 1,000 others. "
    "Past revisions are taken at every distance from a stored list; the worst is the slowest revision of all that "
    "were read, each the best of three."
)
_SAME, _WORST = Must("≤", 1.2), Must("≤", 20, "ms")
_SLICES = 10


def run(scale: Scale) -> Iterator[Row]:
    few, many = 1000, scale.count(1_000_000, least=2000)
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as name:
        paths = Path(name) / "few.db", Path(name) / "many.db"
        _build(paths[0], revisions=150, events=few)
        _build(paths[1], revisions=scale.count(3000, least=150), events=many)
        with Board.open(paths[0]) as small, Board.open(paths[1]) as large:
            counts = tuple(board.store.last_seq() for board in (small, large))
            agents = tuple(board.agent(session="read", dialect="claude-code") for board in (small, large))
            yield from _present(scale, agents, counts)
            yield from _past(scale, agents, counts)


def _build(path: Path, *, revisions: int, events: int) -> None:
    """The agent under test writes through its handle, in slices, with the others' events between them."""
    calls = work.calls()
    for part in range(1, _SLICES + 1):
        with Board.open(path, durability="normal") as board:
            agent = board.agent(session="read", dialect="claude-code")
            for _ in range(revisions // _SLICES):
                agent.call("TodoWrite", next(calls))
            own = board.store.last_seq()
        boards.noise(path, events * part // _SLICES - own)


def _present(scale: Scale, agents: tuple[Agent, ...], counts: tuple[int, ...]) -> Iterator[Row]:
    small, large = agents
    each = scale.count(200, least=5)
    taken = interleaved(
        scale.count(60, least=2),
        {
            "small": lambda: seconds_each(lambda: small.todos, each),
            "large": lambda: seconds_each(lambda: large.todos, each),
        },
    )
    yield _row("the list", taken, counts)


def _past(scale: Scale, agents: tuple[Agent, ...], counts: tuple[int, ...]) -> Iterator[Row]:
    small, large = agents
    some = scale.count(250, least=50)
    chosen = {id(agent): _revisions(agent, some) for agent in agents}

    def read_all(agent: Agent) -> float:
        wanted = iter(chosen[id(agent)])
        return seconds_each(lambda: agent.at(next(wanted)), some)

    rounds = scale.count(12, least=2)
    taken = interleaved(rounds, {"small": lambda: read_all(small), "large": lambda: read_all(large)})
    yield _row("a past revision", taken, counts)
    each = [min(seconds_each(lambda r=r: large.at(r), 1) for _ in range(3)) for r in chosen[id(large)]]
    worst = max(each) * 1e3
    ours = f"{worst:.2f} ms"
    yield Row(f"the worst of {some} past revisions", ours, f"median {median(each) * 1e3:.2f} ms", None, _WORST, worst)


def _revisions(agent: Agent, count: int) -> list[int]:
    """Revisions all over the history, as many at each distance from the last stored list."""
    chance = random.Random(1)
    last = agent.todos.revision // 50
    return [max(1, 50 * chance.randrange(last) + index % 50) for index in range(count)]


def _row(what: str, taken: dict[str, list[float]], counts: tuple[int, ...]) -> Row:
    small, large = min(taken["small"]), min(taken["large"])
    peer = f"{counts[0]:,} events: {small * 1e6:.0f} µs"
    return Row(f"{what}, {counts[1]:,} events", f"{large * 1e6:.0f} µs", peer, large / small, _SAME)

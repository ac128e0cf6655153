"""What a turn costs: the decision alone, however long the conversation; and `assistant_turn` on disk."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from statistics import median

from benchmarks import work
from benchmarks.measure import interleaved, paired, seconds_each
from benchmarks.report import Must, Row
from benchmarks.scale import Scale
from punchlist import Board
from punchlist.dialects import dialect
from punchlist.guidance.decisions import Situation, TurnDecision, count_message, decide_before_request
from punchlist.guidance.ledger import CallCounts, Memory, count_call, size_of_json
from punchlist.guidance.rules import GuidanceSettings, rules

NOTE = (
    "The decision is the best of many rounds, after so many turns in which nothing was due; its ratio is to that after "
    "10 turns. `assistant_turn` reads, decides and writes one row in a transaction that does not wait for the disk; "
    "the bare transaction updates a row of the same size, at the board's durability and, in the second row, without "
    "waiting for the disk either. A call's part of the ledger is measured by itself."
)
_PAST = (10, 1_000, 100_000)
_STATE = 220


def run(scale: Scale) -> Iterator[Row]:
    yield from _decisions(scale)
    yield from _turns(scale)
    yield _tally(scale)


def _decisions(scale: Scale) -> Iterator[Row]:
    with Board.open("memory:") as board:
        agent = board.agent(session="decision", dialect="claude-code")
        agent.call("TodoWrite", {"todos": work.claude_code()[work.ITEMS]})
        todos = agent.todos
    code = dialect("claude-code")
    seen = Situation(todos=todos, tally=CallCounts(), policy=code.policy, dialect=code)
    found, own = rules("claude-code", "quiet", GuidanceSettings()), frozenset({"TodoWrite"})

    def decide(memory: Memory) -> TurnDecision:
        return decide_before_request(count_message(memory, ("Read",), seen.tally, code, own=own), seen, found)

    memories: dict[str, Memory] = {}
    for past in _PAST:
        memory = Memory()
        for _ in range(scale.count(past, least=10) if past > 10 else past):
            memory = decide(memory).memory
        memories[f"{past:,}"] = memory
    each = scale.count(2_000, least=50)

    def best(memory: Memory) -> float:
        return seconds_each(lambda: decide(memory), each)

    taken = interleaved(
        scale.count(40, least=3), {past: lambda memory=memory: best(memory) for past, memory in memories.items()}
    )
    seconds = {past: min(times) for past, times in taken.items()}
    for past, best_of in seconds.items():
        micro = best_of * 1e6
        yield Row(f"decision after {past} turns", f"{micro:.1f} µs", must=Must("≤", 1000, "µs"), value=micro)
    first = seconds[f"{_PAST[0]:,}"]
    for past in _PAST[1:]:
        ratio = seconds[f"{past:,}"] / first
        yield Row(f"decision after {past:,} turns, beside 10", f"{ratio:.2f} ×", "", ratio, Must("≤", 1.2))


def _turns(scale: Scale) -> Iterator[Row]:
    rounds, each = scale.count(40, least=2), scale.count(100, least=8)
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as name:
        folder = Path(name)
        with Board.open(folder / "ours.db", durability="full") as board:
            agent = board.agent(session="turns", dialect="claude-code")
            agent.call("TodoWrite", {"todos": work.claude_code()[work.ITEMS]})
            full, normal = _Bare(folder / "full.db", "FULL"), _Bare(folder / "normal.db", "NORMAL")
            taken = interleaved(
                rounds,
                {
                    "ours": lambda: seconds_each(lambda: agent.assistant_turn(tools_used=["Read"]), each),
                    "full": lambda: seconds_each(full.write, each),
                    "normal": lambda: seconds_each(normal.write, each),
                },
            )
            full.close()
            normal.close()
    ours = f"{median(taken['ours']) * 1e6:.0f} µs"
    for name, what, must in (
        ("full", "assistant_turn, beside a bare transaction", None),
        ("normal", "assistant_turn, beside a bare one that does not wait for the disk", None),
    ):
        peer = f"bare sqlite3, {name}: {median(taken[name]) * 1e6:.0f} µs"
        yield Row(what, ours, peer, paired(taken["ours"], taken[name]), must)


def _tally(scale: Scale) -> Row:
    """What one call's accounting takes, of all that the call does."""
    with Board.open("memory:") as board:
        agent = board.agent(session="tally", dialect="claude-code")
        args = {"todos": work.claude_code()[work.ITEMS]}
        reply = agent.call("TodoWrite", args)
    counts = CallCounts()

    def once() -> None:
        nonlocal counts
        counts = count_call(counts, "claude-code/quiet", size_of_json(args), reply, wrote=True)

    rounds = scale.count(40, least=3)
    micro = min(seconds_each(once, scale.count(2_000, least=50)) for _ in range(rounds)) * 1e6
    return Row("the ledger's part of a call with 20 items", f"{micro:.1f} µs")


class _Bare:
    """The least that a turn can be: one row of the same size, updated in one transaction of plain `sqlite3`."""

    def __init__(self, path: Path, synchronous: str) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute(f"PRAGMA synchronous = {synchronous}")
        self._connection.execute("CREATE TABLE guidance (agent INTEGER PRIMARY KEY, sum INTEGER, state BLOB)")
        self._connection.execute("INSERT INTO guidance VALUES (1, 0, zeroblob(?))", (_STATE,))
        self._numbers = count(1)

    def write(self) -> None:
        number = next(self._numbers)
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        execute("UPDATE guidance SET sum = ?, state = ? WHERE agent = 1", (number, bytes([number % 250]) * _STATE))
        execute("COMMIT")

    def close(self) -> None:
        self._connection.close()

"""Rates of durable writes: ours from one caller and from eight threads, and a bare transaction's, turn by turn."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import work
from benchmarks.bare import BareList
from benchmarks.measure import interleaved, seconds_each
from benchmarks.scale import Scale
from benchmarks.writers import Team
from punchlist import Board
from punchlist.store import Durability, codec


def rates(scale: Scale, durability: Durability) -> dict[str, list[float]]:
    """Writes a second in each turn, by `one`, `eight` and `bare`."""
    rounds, each = scale.count(40, least=2), scale.count(50, least=8)
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as name:
        folder = Path(name)
        with Board.open(folder / "ours.db", durability=durability) as board:
            one, eight = Team(board, 1, (rounds + 1) * each), Team(board, 8, rounds * max(1, each // 2))
            bare = BareList(folder / "bare.db", _body_size(board), synchronous=durability.upper())
            for writer in (one.write_alone, bare.write):
                seconds_each(writer, each)
            taken = interleaved(
                rounds,
                {
                    "one": lambda: 1 / seconds_each(one.write_alone, each),
                    "bare": lambda: 1 / seconds_each(bare.write, each),
                    "eight": lambda: _rate_of_all(eight, max(1, each // 2)),
                },
            )
            bare.close()
    return taken


def _body_size(board: Board) -> int:
    """How many bytes the board stores for such a list, half of it done."""
    agent = board.agent(session="size", dialect="claude-code")
    agent.call("TodoWrite", {"todos": work.claude_code()[work.ITEMS]})
    return len(codec.encode_list(agent.todos))


def _rate_of_all(team: Team, each: int) -> float:
    start = time.perf_counter()
    team.write_together(each)
    return each * len(team) / (time.perf_counter() - start)


if __name__ == "__main__":
    print(json.dumps(rates(Scale(int(sys.argv[1])), "full")))

"""Write a list of 20 items, one status changed, on disk: CPU per write, and eight threads against one."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from benchmarks import work
from benchmarks.bare import BareList
from benchmarks.measure import interleaved, paired, seconds_each
from benchmarks.report import Must, Row
from benchmarks.scale import Scale
from benchmarks.writers import Team
from punchlist import Board
from punchlist.store import records

NOTE = (
    "At full durability, median of short turns. The bare transaction inserts an event of 150 bytes and updates a body "
    "as long as our whole list, in the same folder at the same durability."
)


def run(scale: Scale) -> Iterator[Row]:
    rounds, each = scale.count(40, least=2), scale.count(50, least=8)
    together = max(1, each // 4)
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as name:
        folder = Path(name)
        with Board.open(folder / "ours.db") as board:
            one, eight = Team(board, 1, 3 * rounds * each), Team(board, 8, rounds * together)
            bare = BareList(folder / "bare.db", _body_size(board), synchronous="FULL")
            seconds_each(one.write_alone, each)
            taken = interleaved(
                rounds,
                {
                    "one": lambda: 1 / seconds_each(one.write_alone, each),
                    "bare": lambda: 1 / seconds_each(bare.write, each),
                    "eight": lambda: 8 / seconds_each(lambda: eight.write_together(together), 1) * together,
                    "cpu": lambda: _cpu_each(one.write_alone, each),
                },
            )
            bare.close()
    cpu = median(taken["cpu"]) * 1e3
    yield Row("CPU of one write", f"{cpu:.2f} ms", must=Must("≤", 1, "ms"), value=cpu)
    one_rate, bare_rate = median(taken["one"]), median(taken["bare"])
    ratio = paired(taken["one"], taken["bare"])
    yield Row("one caller", f"{one_rate:,.0f}/s", f"bare sqlite3: {bare_rate:,.0f}/s", ratio)
    ratio = paired(taken["eight"], taken["one"])
    eight_rate = median(taken["eight"])
    yield Row("8 threads in total", f"{eight_rate:,.0f}/s", f"one caller: {one_rate:,.0f}/s", ratio, Must("≥", 1))


def _cpu_each(call: Callable[[], None], count: int) -> float:
    start = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - start) / count


def _body_size(board: Board) -> int:
    """Return the bytes that the board stores for such a list, half of it done."""
    agent = board.agent(session="size", dialect="claude-code")
    agent.call("TodoWrite", {"todos": work.claude_code()[work.ITEMS]})
    return len(records.encode_list(agent.todos))

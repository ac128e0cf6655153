"""A list of 20 items written whole, one status changed, on disk; beside a bare `sqlite3` transaction."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks import work
from benchmarks.bare import BareList
from benchmarks.fsyncs import fsyncs_per_write
from benchmarks.measure import interleaved, paired, seconds_each
from benchmarks.report import Must, Row, not_measured
from benchmarks.scale import Scale
from benchmarks.writers import Team
from punchlist import Board
from punchlist.store import Durability, codec

NOTE = (
    "Rates in writes a second, the median of short turns; the ratio is the median of the ratios turn by turn. "
    "The bare transaction inserts an event of 150 bytes and updates a body as long as our whole list, "
    "in the same folder at the same durability. Fsyncs are counted under strace, in a run apart. "
    "The slower the disk, the kinder the ratios: read them beside the bare rate. "
    "`normal` shows what is left without fsync."
)
_ONE, _EIGHT = Must("≥", 0.6), Must("≥", 2)
_BODY = 4500


def run(scale: Scale) -> Iterator[Row]:
    yield from _rates(scale, "full", _ONE, _EIGHT)
    yield from _rates(scale, "normal", None, None)
    yield from _fsyncs(scale)


def _rates(scale: Scale, durability: Durability, one_must: Must | None, eight_must: Must | None) -> Iterator[Row]:
    rounds, each = scale.count(40, least=2), scale.count(50, least=8)
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as name:
        folder = Path(name)
        with Board.open(folder / "ours.db", durability=durability) as board:
            one, eight = Team(board, 1), Team(board, 8)
            bare = BareList(folder / "bare.db", _body_size(board), synchronous=durability.upper())
            for writer in (one.write_alone, bare.write):
                seconds_each(writer, each)
            taken = interleaved(
                rounds,
                {
                    "ours": lambda: 1 / seconds_each(one.write_alone, each),
                    "bare": lambda: 1 / seconds_each(bare.write, each),
                    "eight": lambda: _rate_of_all(eight, max(1, each // 2)),
                },
            )
            bare.close()
    peer = f"bare sqlite3, one caller: {median(taken['bare']):,.0f}/s"
    for name, who, must in (("ours", "one caller", one_must), ("eight", "8 threads", eight_must)):
        ratio = paired(taken[name], taken["bare"])
        yield Row(f"durability {durability}, {who}", f"{median(taken[name]):,.0f}/s", peer, ratio, must)


def _body_size(board: Board) -> int:
    """How many bytes the board stores for such a list, half of it done."""
    agent = board.agent(session="size", dialect="claude-code")
    agent.call("TodoWrite", {"todos": work.claude_code()[work.ITEMS]})
    return len(codec.encode_list(agent.todos))


def _rate_of_all(team: Team, each: int) -> float:
    start = time.perf_counter()
    team.write_together(each)
    return each * len(team) / (time.perf_counter() - start)


def _fsyncs(scale: Scale) -> Iterator[Row]:
    writes = scale.count(400, least=16) // 8 * 8
    bare = fsyncs_per_write("bare", writes, each=writes, last=_BODY)
    for who, threads in (("one caller", 1), ("8 threads", 8)):
        found = fsyncs_per_write("write", writes, each=writes // threads, last=threads)
        what = f"fsyncs a write, durability full, {who}"
        if isinstance(found, str) or isinstance(bare, str):
            yield not_measured(what, str(found))
        else:
            yield Row(what, f"{found:.2f}", f"bare sqlite3, one caller: {bare:.2f}")

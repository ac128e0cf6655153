"""A list of 20 items written whole, one status changed, on disk; beside a bare `sqlite3` transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from benchmarks.durable_rates import rates
from benchmarks.fsyncs import fsyncs_per_write
from benchmarks.measure import paired
from benchmarks.report import Must, Row, not_measured
from benchmarks.scale import Scale
from benchmarks.slow_disk import rates_on_slow_disk

NOTE = (
    "Rates in writes a second, the median of short turns; the ratio is the median of the ratios turn by turn. "
    "The bare transaction inserts an event of 150 bytes and updates a body as long as our whole list, "
    "in the same folder at the same durability. Fsyncs are counted under strace, in a run apart. "
    "What we do beside the fsync takes the same time on every disk, so the ratios depend on the disk: they are given "
    "for the one that is here, and for one with about 2,250 bare commits a second, by a nap after each fsync. "
    "`normal` shows what is left without fsync."
)
_ONE, _EIGHT = Must("≥", 0.6), Must("≥", 2)
_BODY = 4500
_COMMON = 2250
"""Bare commits a second of a common disk: the targets were set on one with 2,000 to 2,500."""

_OVERSLEPT = 60.0
"""Microseconds by which a nap is longer than asked for."""


def run(scale: Scale) -> Iterator[Row]:
    full = rates(scale, "full")
    yield from _rows("durability full", full, _ONE, _EIGHT)
    yield from _on_common_disk(scale, median(full["bare"]))
    yield from _rows("durability normal", rates(scale, "normal"))
    yield from _fsyncs(scale)


def _rows(
    what: str, taken: Mapping[str, Sequence[float]], one: Must | None = None, eight: Must | None = None
) -> Iterator[Row]:
    peer = f"bare sqlite3, one caller: {median(taken['bare']):,.0f}/s"
    for name, who, must in (("one", "one caller", one), ("eight", "8 threads", eight)):
        ratio = paired(taken[name], taken["bare"])
        yield Row(f"{what}, {who}", f"{median(taken[name]):,.0f}/s", peer, ratio, must)


def _on_common_disk(scale: Scale, bare: float) -> Iterator[Row]:
    missing = 1e6 / _COMMON - 1e6 / bare - _OVERSLEPT
    if missing <= 0:
        return  # this disk is no faster
    found = rates_on_slow_disk(missing, scale.divisor)
    what = "the same on a disk of common speed"
    if isinstance(found, str):
        yield not_measured(what, found)
    else:
        yield from _rows(what, found, _ONE, _EIGHT)


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

"""Writes under ids that come again: some agents begin to count anew with every message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from punchlist.transcripts.values import Written

_MOST_SEEN = 65_536


def distinct(writes: Iterable[Written]) -> Iterator[Written]:
    """Writes in their order, each once; of several under one id only the first is named by it."""
    seen: dict[str, int] = {}
    for written in writes:
        call_id = written.call_id
        if call_id is None:
            yield written
            continue
        told = hash((written.origin.at, written.command))
        before = seen.pop(call_id, None)
        if before is None and len(seen) >= _MOST_SEEN:
            del seen[next(iter(seen))]
        seen[call_id] = told
        if before != told:
            yield written if before is None else replace(written, call_id=None)

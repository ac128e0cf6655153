"""When something was in progress: from each start to the next end, pause or wait."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from punchlist.core.grounding.calls import Subject
from punchlist.core.todo import Status


class Stint(NamedTuple):
    """`end` is None while it lasts."""

    start: datetime
    end: datetime | None = None


class Stints:
    """Takes in what status something has, in the order of the log."""

    def __init__(self) -> None:
        self._known: dict[Subject, list[Stint]] = {}

    def add(self, of: Subject, status: Status | None, at: datetime) -> None:
        """From then on it has this status; None if it is no longer there."""
        known = self._known.get(of)
        lasting = known[-1] if known and known[-1].end is None else None
        if status is Status.IN_PROGRESS:
            if lasting is None:
                self._known.setdefault(of, []).append(Stint(at))
        elif known and lasting is not None:
            known[-1] = Stint(lasting.start, max(at, lasting.start))

    def of(self, subject: Subject) -> tuple[Stint, ...]:
        return tuple(self._known.get(subject, ()))


def elapsed(stints: tuple[Stint, ...], now: datetime) -> timedelta | None:
    """How long all of them took by now; None if there is none."""
    if not stints:
        return None
    return sum((max((end or now) - start, timedelta(0)) for start, end in stints), timedelta(0))

"""The time of a board, from a clock that may be set back: it never goes back itself, nor stands still for long."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

PATIENCE = timedelta(hours=1)
"""By so much a clock may be set back, and is waited for."""

_FIRST = datetime.min.replace(tzinfo=UTC)
_NONE = timedelta()


@dataclass(frozen=True, slots=True)
class Moment:
    """`now` as the board has it; what the clock `read` then; by how much the board goes `ahead` of it."""

    now: datetime = _FIRST
    read: datetime = _FIRST
    ahead: timedelta = _NONE


def gone_on(moment: Moment, read: datetime) -> Moment:
    """The moment at which the clock reads this.

    A clock that was set back a little is waited for. After one that had run far ahead, and was set right, time goes on
    from where it was: leases and timers end after their length, until the clock has caught up.
    """
    if read >= moment.now:
        return Moment(read, read)
    far = read < moment.read and moment.now - read > PATIENCE
    ahead = moment.now - read if far else moment.ahead
    return Moment(max(moment.now, read + ahead), read, ahead)

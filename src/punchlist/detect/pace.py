"""How a list is written, seen from its writes alone: churn, storms and bouncing, for agents whose tools nobody reports.

The rules and words are those of `staleness`, which also knows what the tools do. This is the part that can be kept with
every agent, because it is small: it stands in the row of the list itself, and an ordinary write leaves little in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from punchlist.core.events import Draft
from punchlist.core.todo import TodoList
from punchlist.detect.list_rules import (
    PROGRESS,
    STORM,
    WRITES,
    Raised,
    StalenessOptions,
    bouncing,
    calmed,
    churn,
    is_back,
    is_closed,
    over,
    status_after,
    storm,
)
from punchlist.detect.values import more

if TYPE_CHECKING:
    from punchlist.detect.findings import Finding

_MOST_BOUNCING = 32


class Pace(NamedTuple):
    """`writes` are those in a row behind which no item had moved on, `times` of the last calls, in whole seconds.

    `storm_until` is when a storm of calls will be over if no more come, 0 if there is none. `backs` says how often
    items that still are on the list went back; `raised` are findings that still hold.
    """

    writes: int = 0
    times: tuple[int, ...] = ()
    storm_until: int = 0
    backs: Mapping[str, int] = {}
    raised: Raised = ()


NO_PACE = Pace()


def pace_of(stored: Sequence[Any]) -> Pace:
    """A pace as it was stored: fields that came later have their defaults."""
    if isinstance(stored, Pace):
        return stored
    pace = Pace(*stored)
    return pace if not pace.raised else pace._replace(raised=tuple((name, subject) for name, subject in pace.raised))


def wrote(
    pace: Pace, drafts: Sequence[Draft], before: TodoList, after: TodoList, at: datetime, options: StalenessOptions
) -> tuple[Pace, tuple[Finding, ...]]:
    """The pace after a write of the agent's own, of which these are the events, and what there is to say."""
    writes, times, until, backs, raised = pace
    news: list[Finding] = []
    moved = anew = False
    for kind, data in drafts:
        if kind in WRITES:
            writes, times = 0 if moved else writes + 1, _recent(times, int(at.timestamp()), options)
            if writes and (finding := churn(writes, options)) is not None:
                news.append(finding)
            before_it, until = until, _storm_until(times, options)
            if until and not before_it:
                news.append(storm(len(times), times[-1] - times[0]))
        elif kind == "plan.started":
            backs, moved, anew = NO_PACE.backs, True, True
        elif kind.startswith("item."):
            moved = moved or kind in PROGRESS
            if kind != "item.completed" and (item := _gone_back(before, kind, data)):
                backs = more(backs, item, backs.get(item, 0) + 1, _MOST_BOUNCING)
                if (finding := bouncing(item, backs[item], options)) is not None:
                    news.append(finding)
    if news or (raised and not _all_stand(raised, writes, until > 0, () if anew else drafts)):
        raised, ended = over(raised, news, lambda known: _holds(writes, until > 0, after, known))
        news += ended
    return Pace(writes, times, until, backs, raised), tuple(news)


def called(pace: Pace, at: datetime, options: StalenessOptions) -> tuple[Pace, Sequence[Finding]]:
    """The pace after a call of the agent's own that wrote nothing, and what there is to say."""
    times = _recent(pace.times, int(at.timestamp()), options)
    until = _storm_until(times, options)
    after = pace._replace(times=times, storm_until=until)
    if until and not pace.storm_until:
        return after._replace(raised=(*pace.raised, (STORM, ""))), (storm(len(times), times[-1] - times[0]),)
    if until or not pace.storm_until:
        return after, ()
    raised, ended = calmed(pace.raised)
    return after._replace(raised=raised), ended


def calm(pace: Pace) -> tuple[Pace, Sequence[Finding]]:
    """The pace once the calls of before count no more towards a storm, and what there is to say."""
    raised, ended = calmed(pace.raised)
    return pace._replace(times=(), storm_until=0, raised=raised), ended


def _all_stand(raised: Raised, writes: int, storming: bool, drafts: Sequence[Draft]) -> bool:
    """Whether the findings plainly still hold: those of items that nobody touched in a list that goes on."""
    for detector, item in raised:
        match detector:
            case "todo_storm":
                stands = storming
            case "churn":
                stands = writes > 0
            case "bouncing":
                stands = len(drafts) > 0 and all(data.get("id") != item for _, data in drafts)
            case _:
                stands = False
        if not stands:
            return False
    return True


def _recent(times: tuple[int, ...], now: int, options: StalenessOptions) -> tuple[int, ...]:
    """The times of writes that may be one storm with that of now. They rise, if the clock was not set back."""
    most, seconds = options.storm_calls, options.storm_seconds
    if not most:
        return ()
    if times and (now - times[0] > seconds or now < times[-1]):
        times = tuple(time for time in times if 0 <= now - time <= seconds)
    return (*times, now)[-most:]


def _storm_until(times: tuple[int, ...], options: StalenessOptions) -> int:
    """When these calls, the latest, will be no storm any more; 0 if they are none now."""
    return times[0] + ceil(options.storm_seconds) if 0 < options.storm_calls <= len(times) else 0


def _gone_back(before: TodoList, kind: str, data: Mapping[str, object]) -> str:
    """The id of an item that went back to an earlier status."""
    status, name = status_after(kind, data), data.get("id")
    if status is None or not isinstance(name, str):
        return ""
    for item in before.items:
        if item.id == name:
            return name if is_back(item.status.value, status) else ""
    return ""


def _holds(writes: int, storming: bool, after: TodoList, known: tuple[str, str]) -> bool:
    detector, subject = known
    match detector:
        case "churn":
            return writes > 0
        case "todo_storm":
            return storming
        case "bouncing":
            return any(item.id == subject and not is_closed(item.status.value) for item in after.items)
        case _:
            return False

"""Whether anybody keeps the list: seen from an agent's own events, one after the other.

- `stale_item`: an item has been in progress for long while the work went elsewhere.
- `churn`: the list is written again and again, and no item moves on.
- `bouncing`: an item goes back, and forth, and back.
- `todo_storm`: many calls of the todo tool, writes and reads, in a short time.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from punchlist.core.events import Event
from punchlist.core.todo import Status, TodoList
from punchlist.detect.findings import Finding, shown
from punchlist.detect.list_rules import (
    DEFAULT,
    PROGRESS,
    WRITES,
    StalenessOptions,
    bouncing,
    churn,
    is_back,
    is_closed,
    status_after,
    storm,
)
from punchlist.detect.pace import Pace
from punchlist.detect.settings import mapping, seconds, whole
from punchlist.detect.signatures import kept
from punchlist.detect.values import fields, less, more

_MOST_ITEMS = 512
_MOST_ACTIVE = 32

_SECONDS = ("stale_after", "storm_seconds")
_COUNTS = ("stale_calls", "churn_writes", "bounces", "storm_calls")


def staleness_options(given: object) -> StalenessOptions:
    options = mapping("staleness", given, (*_SECONDS, *_COUNTS))
    times = {name: seconds(f"staleness.{name}", options[name]) for name in _SECONDS if name in options}
    counts = {name: whole(f"staleness.{name}", options[name], least=0) for name in _COUNTS if name in options}
    found: dict[str, Any] = {**times, **counts}
    return StalenessOptions(**found)


class Seen(NamedTuple):
    """The status of an item, and how often it went back to an earlier one."""

    status: str
    bounces: int = 0


class Active(NamedTuple):
    """An item in progress: when it was begun or last worked on, and how many calls have gone elsewhere since."""

    since: datetime
    elsewhere: int = 0
    told: bool = False


class StalenessState(Struct, frozen=True):
    """What of one agent's list counts: at most 512 items, 32 of them in progress, and the last few writes.

    `writes` is the number of writes in a row behind which no item had moved on; `moved` is about the one under way.
    `times` are those of the last calls, and `storm_until` is when a storm of them will be over if no more come.
    """

    items: Mapping[str, Seen] = field(default_factory=dict[str, Seen])
    active: Mapping[str, Active] = field(default_factory=dict[str, Active])
    writes: int = 0
    moved: bool = False
    times: tuple[datetime, ...] = ()
    storm_until: datetime | None = None


def observed(
    state: StalenessState, event: Event, options: StalenessOptions = DEFAULT
) -> tuple[StalenessState, tuple[Finding, ...]]:
    """The state after one more event of the agent, and what there is to say. Other kinds of events change nothing.

    Writes by somebody else than the agent are no churn and no storm. Of `tool.started` the data's `item` is the id of
    the item that the call belongs to; a call without one has gone elsewhere.
    """
    kind = event.kind
    if kind == "tool.started":
        return _worked(state, event, options)
    if kind in WRITES:
        return _written(state, event, options) if event.by == event.agent else (state, ())
    if kind == "plan.started":
        return replace(state, items={}, active={}, moved=True), ()
    if kind.startswith("item."):
        return _item_changed(state, event, options)
    return state, ()


def called(
    state: StalenessState, at: datetime, options: StalenessOptions = DEFAULT
) -> tuple[StalenessState, tuple[Finding, ...]]:
    """The state after a call of the agent's todo tool, also one that only reads, and whether that makes a storm."""
    times = (*state.times, at)[-options.storm_calls :] if options.storm_calls else (at,)
    taken = at - times[0]
    longest = timedelta(seconds=options.storm_seconds)
    is_storm = 0 < options.storm_calls <= len(times) and timedelta() <= taken <= longest
    until = times[0] + longest if is_storm else None
    found = (storm(len(times), taken.total_seconds()),) if is_storm and state.storm_until is None else ()
    return replace(state, times=times, storm_until=until), found


def calm(state: StalenessState) -> StalenessState:
    """The state once the calls of before count no more towards a storm."""
    return state if state.storm_until is None else replace(state, times=(), storm_until=None)


def standing(todos: TodoList, now: datetime) -> StalenessState:
    """The state of a list that is looked at for the first time."""
    latest = todos.items[-_MOST_ITEMS:]
    busy = [item for item in latest if item.status is Status.IN_PROGRESS][-_MOST_ACTIVE:]
    return StalenessState(
        items={item.id: Seen(item.status.value) for item in latest},
        active={item.id: Active(item.started_at or now) for item in busy},
    )


def taken_over(state: StalenessState, pace: Pace) -> StalenessState:
    """The state of a list that was written at that pace before anybody looked more closely."""
    times = tuple(datetime.fromtimestamp(time, UTC) for time in pace.times)
    items = {name: seen._replace(bounces=pace.backs.get(name, 0)) for name, seen in state.items.items()}
    until = datetime.fromtimestamp(pace.storm_until, UTC) if pace.storm_until else None
    return replace(state, items=items, writes=pace.writes, times=times, storm_until=until)


def holds(state: StalenessState, detector: str, subject: str) -> bool:
    """Whether a finding that was told of is still so."""
    match detector:
        case "stale_item":
            entry = state.active.get(subject)
            return entry is not None and entry.told
        case "churn":
            return state.writes > 0
        case "bouncing":
            seen = state.items.get(subject)
            return seen is not None and not is_closed(seen.status)
        case "todo_storm":
            return state.storm_until is not None
        case _:
            return False


def _worked(
    state: StalenessState, event: Event, options: StalenessOptions
) -> tuple[StalenessState, tuple[Finding, ...]]:
    if not state.active:
        return state, ()
    busy = kept(event.data.get("item") or "")
    found: list[Finding] = []
    active: dict[str, Active] = {}
    for item, entry in state.active.items():
        if item == busy:
            active[item] = Active(max(entry.since, event.at))
            continue
        calls, told = entry.elsewhere + 1, entry.told
        silent = (event.at - entry.since).total_seconds()
        if not told and 0 < options.stale_calls <= calls and silent >= options.stale_after:
            told = True
            said = f"Item {shown(item)} has been in progress for {int(silent // 60)} min, and the last {calls} calls"
            found.append(Finding("stale_item", "warning", f"{said} were not for it.", calls, item))
        active[item] = Active(entry.since, calls, told)
    return replace(state, active=active), tuple(found)


def _written(
    state: StalenessState, event: Event, options: StalenessOptions
) -> tuple[StalenessState, tuple[Finding, ...]]:
    writes = 0 if state.moved else state.writes + 1
    churned = churn(writes, options)
    state, found = called(replace(state, writes=writes, moved=False), event.at, options)
    return state, found if churned is None else (churned, *found)


def _item_changed(
    state: StalenessState, event: Event, options: StalenessOptions
) -> tuple[StalenessState, tuple[Finding, ...]]:
    item, status = _named(event)
    if not item:
        return state, ()
    moved = state.moved or event.kind in PROGRESS
    before = state.items.get(item)
    if event.kind in ("item.removed", "item.omitted"):
        return replace(state, items=less(state.items, item), active=less(state.active, item)), ()
    if status is None:
        return state, ()
    bounces = 0 if before is None else before.bounces + is_back(before.status, status)
    items = more(state.items, item, Seen(status, bounces), _MOST_ITEMS)
    active = state.active
    if status != "in_progress":
        active = less(active, item)
    elif item not in active:
        active = more(active, item, Active(event.at), _MOST_ACTIVE)
    bounced = bouncing(item, bounces, options) if before is not None and bounces > before.bounces else None
    found = () if bounced is None else (bounced,)
    return replace(state, items=items, active=active, moved=moved), found


def _named(event: Event) -> tuple[str, str | None]:
    """The item that an event is about, and the status that it has behind it, where the event says so."""
    data = event.data
    if event.kind == "item.added":
        data = fields(data.get("item"))
        status = data.get("status", "pending")
    else:
        status = status_after(event.kind, data)
    return kept(data.get("id") or ""), status if isinstance(status, str) else None

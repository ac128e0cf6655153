"""Detect lists that are not maintained, from an agent's own events in order.

- `stale_item`: an item has been in progress for a long time, and the last calls were for other items.
- `churn`: the list is written again and again, and no item moves on.
- `bouncing`: an item goes back, and forth, and back.
- `todo_storm`: many calls of the todo tool, writes and reads, in a short time.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from punchlist.core.events import ARRIVALS, RETURNS, Event
from punchlist.core.inputs import CountOrOff, Seconds, parse_options
from punchlist.core.todo import Status, TodoList
from punchlist.detect.findings import Finding, Raised, clean_name
from punchlist.detect.signatures import fields

STORM = "todo_storm"
Value = TypeVar("Value")

_WRITES = frozenset({"list.replaced", "list.merged", "list.edited", "list.confirmed", "list.refused"})
"""The events that a call of a todo tool ends with, unless it only reads."""

_MOVES: Mapping[str, str] = {
    **{kind: status.value for status, kind in ARRIVALS.items()},
    **dict.fromkeys((*RETURNS.values(), "item.reopened"), "pending"),
}
_PROGRESS = frozenset({"item.started", "item.completed", "item.cancelled", "item.blocked", "item.unblocked"})
_CLOSED = frozenset({"completed", "cancelled"})

_MOST_ITEMS = 512
_MOST_ACTIVE = 32


class StalenessOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seconds and counts from which on there is something to say. A count of 0 switches its detector off."""

    stale_after: Seconds = 30 * 60.0
    stale_calls: CountOrOff = 20
    churn_writes: CountOrOff = 5
    bounces: CountOrOff = 3
    storm_calls: CountOrOff = 10
    storm_seconds: Seconds = 60.0


DEFAULT = StalenessOptions()


def staleness_options(given: object) -> StalenessOptions:
    """Return the options that a person gave; a time below 0 is 0."""
    found = parse_options(StalenessOptions, given, "staleness")
    return replace(found, stale_after=max(0.0, found.stale_after), storm_seconds=max(0.0, found.storm_seconds))


class Seen(NamedTuple):
    """The status of an item, and how often it went back to an earlier one."""

    status: str
    bounces: int = 0


_UNBOUNCED = {status: Seen(status.value) for status in Status}


class Active(NamedTuple):
    """An item in progress: when it was begun or last worked on, and how many calls have gone elsewhere since."""

    since: datetime
    elsewhere: int = 0
    told: bool = False


class StalenessState(Struct, frozen=True):
    """The facts about one agent's list that count: at most 512 items, 32 of them in progress, and the last writes.

    `writes` is the number of writes in a row after which no item had moved on; `moved` is about the one under way.
    `times` are those of the last calls, and `storm_until` is when a storm of them will be over if no more come.
    """

    items: Mapping[str, Seen] = field(default_factory=dict[str, Seen])
    active: Mapping[str, Active] = field(default_factory=dict[str, Active])
    writes: int = 0
    moved: bool = False
    times: tuple[datetime, ...] = ()
    storm_until: datetime | None = None


class Upkeep(Struct, frozen=True):
    """The memory of how an agent keeps its list, and the findings about it that still hold."""

    state: StalenessState = StalenessState()
    raised: Raised = ()


def observe_write(
    upkeep: Upkeep, before: TodoList, events: Iterable[Event], now: datetime, options: StalenessOptions = DEFAULT
) -> tuple[Upkeep, list[Finding]]:
    """Observe the events of one write of the list `before`; return the findings, those that are over included."""
    state, found = sync_items(upkeep.state, before, now), list[Finding]()
    for event in events:
        state, news = observe_event(state, event, options)
        found.extend(news)
    return _add_cleared(upkeep, state, found)


def observe_call(upkeep: Upkeep, now: datetime, options: StalenessOptions = DEFAULT) -> tuple[Upkeep, list[Finding]]:
    """Observe a call of the todo tool that wrote nothing."""
    state, found = count_call(upkeep.state, now, options)
    return _add_cleared(upkeep, state, found)


def observe_work(
    upkeep: Upkeep, item: str, now: datetime, options: StalenessOptions = DEFAULT
) -> tuple[Upkeep, list[Finding]]:
    """Count a tool call for the item of that id; the id is empty if the call is for no item of the list."""
    if not upkeep.state.active:
        return upkeep, []
    state, found = _find_stale_items(upkeep.state, item, now, options)
    return _add_cleared(upkeep, state, found)


def end_storm(upkeep: Upkeep) -> tuple[Upkeep, list[Finding]]:
    """End a storm of calls: those of the last turn no longer count."""
    if upkeep.state.storm_until is None:
        return upkeep, []
    return _add_cleared(upkeep, replace(upkeep.state, times=(), storm_until=None), ())


def sync_items(state: StalenessState, todos: TodoList, now: datetime) -> StalenessState:
    """Return the state with the items as they stand in a list, which others may have changed meanwhile."""
    items: dict[str, Seen] = {}
    active: dict[str, Active] = {}
    for item in todos.items[-_MOST_ITEMS:]:
        known = state.items.get(item.id)
        items[item.id] = _UNBOUNCED[item.status] if known is None else Seen(item.status.value, known.bounces)
        if item.status is Status.IN_PROGRESS:
            active[item.id] = state.active.get(item.id) or Active(item.started_at or now)
    return replace(state, items=items, active=_keep_latest(active, _MOST_ACTIVE))


def _keep_latest(entries: dict[str, Value], most: int) -> dict[str, Value]:
    return entries if len(entries) <= most else dict(list(entries.items())[-most:])


def _add_cleared(upkeep: Upkeep, state: StalenessState, found: Sequence[Finding]) -> tuple[Upkeep, list[Finding]]:
    """Return the upkeep to remember, and the findings together with those that are over now."""
    known = dict.fromkeys((*upkeep.raised, *((one.detector, one.subject) for one in found)))
    gone = [entry for entry in known if not _holds(state, *entry)]
    over = [Finding(entry[0], "ok", "This is over.", subject=entry[1]) for entry in gone if entry in upkeep.raised]
    # Items that never went back need not be stored: `sync_items` finds them in the list.
    bounced = {name: seen for name, seen in state.items.items() if seen.bounces}
    raised = tuple(entry for entry in known if entry not in gone)
    return Upkeep(replace(state, items=bounced), raised), [*found, *over]


def _holds(state: StalenessState, detector: str, subject: str) -> bool:
    match detector:
        case "stale_item":
            entry = state.active.get(subject)
            return entry is not None and entry.told
        case "churn":
            return state.writes > 0
        case "bouncing":
            seen = state.items.get(subject)
            return seen is not None and seen.status not in _CLOSED
        case "todo_storm":
            return state.storm_until is not None
        case _:
            return False


def observe_event(
    state: StalenessState, event: Event, options: StalenessOptions = DEFAULT
) -> tuple[StalenessState, tuple[Finding, ...]]:
    """Return the state after one more event of the agent, and the findings. Other kinds of events change nothing.

    Writes by other authors than the agent are no churn and no storm. In `tool.started` the data's `item` is the id of
    the item that the call belongs to; a call without one has gone elsewhere.
    """
    kind = event.kind
    if kind == "tool.started":
        return _find_stale_items(state, str(event.data.get("item") or ""), event.at, options)
    if kind in _WRITES:
        return _count_write(state, event, options) if event.by == event.agent else (state, ())
    if kind == "plan.started":
        return replace(state, items={}, active={}, moved=True), ()
    if kind.startswith("item."):
        return _observe_item_change(state, event, options)
    return state, ()


def count_call(
    state: StalenessState, at: datetime, options: StalenessOptions = DEFAULT
) -> tuple[StalenessState, tuple[Finding, ...]]:
    """Count a call of the agent's todo tool, write or read; return the state, and a storm if this call makes one."""
    times = (*state.times, at)[-options.storm_calls :] if options.storm_calls else (at,)
    taken = at - times[0]
    longest = timedelta(seconds=options.storm_seconds)
    is_storm = 0 < options.storm_calls <= len(times) and timedelta() <= taken <= longest
    until = times[0] + longest if is_storm else None
    said = f"{len(times)} calls of the todo tool within {round(taken.total_seconds())} s."
    is_new = is_storm and state.storm_until is None
    found = (Finding(STORM, "warning", said, len(times)),) if is_new else ()
    return replace(state, times=times, storm_until=until), found


def _find_stale_items(
    state: StalenessState, busy: str, at: datetime, options: StalenessOptions
) -> tuple[StalenessState, tuple[Finding, ...]]:
    found: list[Finding] = []
    active: dict[str, Active] = {}
    for item, entry in state.active.items():
        if item == busy:
            active[item] = Active(max(entry.since, at))
            continue
        calls, told = entry.elsewhere + 1, entry.told
        silent = (at - entry.since).total_seconds()
        if not told and 0 < options.stale_calls <= calls and silent >= options.stale_after:
            told = True
            said = (
                f"Item {clean_name(item)} has been in progress for {int(silent // 60)} min, and the last {calls} calls"
            )
            found.append(Finding("stale_item", "warning", f"{said} were not for it.", calls, item))
        active[item] = Active(entry.since, calls, told)
    return replace(state, active=active), tuple(found)


def _count_write(
    state: StalenessState, event: Event, options: StalenessOptions
) -> tuple[StalenessState, tuple[Finding, ...]]:
    writes = 0 if state.moved else state.writes + 1
    state, found = count_call(replace(state, writes=writes, moved=False), event.at, options)
    if not writes or not options.churn_writes or writes % options.churn_writes:
        return state, found
    said = f"The todo tool was called to write the list {writes} times in a row, and no item has moved on."
    return state, (Finding("churn", "warning", said, writes), *found)


def _observe_item_change(
    state: StalenessState, event: Event, options: StalenessOptions
) -> tuple[StalenessState, tuple[Finding, ...]]:
    item, status = _item_and_status(event)
    if not item:
        return state, ()
    moved = state.moved or event.kind in _PROGRESS
    items, active = dict(state.items), dict(state.active)
    before, known = items.pop(item, None), active.pop(item, None)
    if event.kind in ("item.removed", "item.omitted"):
        return replace(state, items=items, active=active), ()
    if status is None:
        return state, ()
    bounced = before is not None and _is_back(before.status, status)
    bounces = 0 if before is None else before.bounces + bounced
    items[item] = Seen(status, bounces)
    if status == "in_progress":
        active[item] = known or Active(event.at)
    items, active = _keep_latest(items, _MOST_ITEMS), _keep_latest(active, _MOST_ACTIVE)
    state = replace(state, items=items, active=active, moved=moved)
    if not bounced or not options.bounces or bounces % options.bounces:
        return state, ()
    said = f"Item {clean_name(item)} went back to an earlier status {bounces} times."
    return state, (Finding("bouncing", "warning", said, bounces, item),)


def _item_and_status(event: Event) -> tuple[str, str | None]:
    """Return the item that an event is about, and the status that it has after it, where the event says so."""
    if event.kind == "item.added":
        data = fields(event.data.get("item"))
        status = data.get("status", "pending")
    else:
        data = event.data
        status = _MOVES.get(event.kind) or fields(data.get("set")).get("status")
    item = data.get("id")
    return item if isinstance(item, str) else "", status if isinstance(status, str) else None


def _is_back(before: str, after: str) -> bool:
    """True if work that was begun or done is not any more."""
    if before in _CLOSED:
        return after not in _CLOSED
    return before == "in_progress" and after == "pending"

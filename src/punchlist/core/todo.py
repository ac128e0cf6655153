"""What a todo list is: items, phases, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from punchlist.core.commands import Entry, Policy


R = TypeVar("R")


class Status(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_open(self) -> bool:
        """Whether work is still owed: everything but completed and cancelled."""
        return self not in CLOSED


CLOSED = frozenset({Status.COMPLETED, Status.CANCELLED})

WORDS: Mapping[Status, str] = {status: status.value for status in Status}
"""Each status as a plain string; much quicker to get than `.value`."""


SOMEBODY = "somebody else"
"""On whom a task waits that comes after another's."""


@dataclass(frozen=True, slots=True)
class Blocker:
    """Why an item waits, and on whom; `on` is a person, an agent or a thing, when known.

    A pending item has one too, where it is to be begun after others: its reason is then `after` and their names.
    """

    reason: str = ""
    on: str | None = None

    @property
    def is_order(self) -> bool:
        """Whether it only says what comes first."""
        return self.on is None and self.reason.startswith("after ")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was offered as proof of a completion. Stored and shown, never believed alone."""

    text: str
    kind: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TodoItem:
    """One thing to do. `id` is ours: short, unique within its plan, and the same in every dialect."""

    id: str
    content: str
    active_form: str | None = None
    status: Status = Status.PENDING
    phase_id: str | None = None
    phase: str | None = None
    notes: tuple[str, ...] = ()
    priority: str | None = None
    parent: str | None = None
    blocker: Blocker | None = None
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    created_at: datetime | None = None
    created_by: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    evidence: tuple[Evidence, ...] = ()
    grade: str | None = None

    @property
    def label(self) -> str:
        """What a person reads while the item is worked on."""
        return self.active_form or self.content

    @property
    def is_open(self) -> bool:
        return self.status not in CLOSED


@dataclass(frozen=True, slots=True)
class Phase:
    """A named stretch of a list. Names may repeat; ids do not."""

    id: str
    name: str


class Progress(NamedTuple):
    """Completed items among those that are not cancelled; `percent` is rounded half up."""

    done: int
    total: int
    percent: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TodoList:
    """The list of one agent at one revision. `next_id` numbers the items and phases of this plan."""

    items: tuple[TodoItem, ...] = ()
    phases: tuple[Phase, ...] = ()
    revision: int = 0
    plan_id: str = "p0"
    explanation: str | None = None
    omitted: tuple[TodoItem, ...] = ()
    next_id: int = 1

    @property
    def focus(self) -> TodoItem | None:
        """The first item in progress."""
        for item in self.items:  # half the time of a generator
            if item.status is Status.IN_PROGRESS:
                return item
        return None

    @property
    def progress(self) -> Progress:
        done = sum(item.status is Status.COMPLETED for item in self.items)
        total = sum(item.status is not Status.CANCELLED for item in self.items)
        return Progress(done, total, (200 * done + total) // (2 * total) if total else 0)

    @property
    def open_items(self) -> tuple[TodoItem, ...]:
        return tuple(item for item in self.items if item.status not in CLOSED)

    @property
    def is_finished(self) -> bool:
        """Whether nothing is owed: an empty list is finished too."""
        return all(item.status in CLOSED for item in self.items)

    def find(self, item_id: str) -> TodoItem | None:
        return next((item for item in self.items if item.id == item_id), None)


def altering(kind: type[R], *names: str) -> Callable[..., R]:
    """A function that makes a record of a slotted class anew, with other values for these fields, in this order.

    `dataclasses.replace` in a third of its time. Every write makes a few records anew.
    """
    kept = tuple(name for name in _slots(kind) if name not in names)
    values, setters = attrgetter(*kept), tuple(getattr(kind, name).__set__ for name in (*kept, *names))
    make = object.__new__

    def altered(record: R, *changes: Any) -> R:
        new = make(kind)
        for put, value in zip(setters, (*values(record), *changes)):  # noqa: B905 - being strict costs as two fields
            put(new, value)
        return new

    return altered


def _altering_any(kind: type[R]) -> Callable[..., R]:
    """The same for fields that are named in each call."""
    names = _slots(kind)
    values, setters = attrgetter(*names), {name: getattr(kind, name).__set__ for name in names}
    all_setters = tuple(setters.values())

    def altered(record: R, **changes: Any) -> R:
        new = object.__new__(kind)
        for put, value in zip(all_setters, values(record), strict=True):
            put(new, value)
        for name, value in changes.items():
            setters[name](new, value)
        return new

    return altered


def _slots(kind: Any) -> tuple[str, ...]:
    return kind.__slots__


altered = _altering_any(TodoItem)
"""The item with other values."""

altered_list = _altering_any(TodoList)
"""The list with other values."""


class Written(NamedTuple):
    """The entries by which a list was last written, one for each item, and the policy under which they came."""

    policy: Policy
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class ListState:
    """A list, and what its agent last wrote or was shown of it; None when that is the list as it stands.

    `written` says nothing new, and is not stored: it makes the next write quicker (see `again.py`).
    """

    todos: TodoList
    shown: tuple[TodoItem, ...] | None = None
    written: Written | None = field(default=None, compare=False, repr=False)

"""Define todo lists: items, phases, and the values computed from them."""

import re
from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal, NamedTuple

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from punchlist.errors import InvalidInput
from punchlist.text.patterns import compile_later


class Status(StrEnum):
    """The status of an item. Completed and cancelled items are closed; all others are open."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_open(self) -> bool:
        """True unless completed or cancelled: work is still owed."""
        return self not in CLOSED


CLOSED = frozenset({Status.COMPLETED, Status.CANCELLED})
ENDED = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED})


MOST_OMITTED = 256
"""A list keeps so many items that rewrites left out, the latest ones; the log has the rest.

Without a limit an agent that never repeats its list would make each write slower than the one before.
"""


ANYBODY = "a person"
"""The person that an item waits on when none is named."""


_PERSON: Final = compile_later(
    r"\b(?:(?:a?wait|approv|confirm|review|agree|decid|answer|clarif|sign(?:s|ed)?[ -]?off)\w*"
    r"|users?|humans?|persons?|people|operators?|maintainers?|managers?|customers?|clients?|owners?|team|legal|you|your"
    r"|permissions?|go-ahead|decisions?|credentials?|passwords?|access)\b",
    re.IGNORECASE,
)
"""Words of a reason that waits for a person: our tool has no field for whom an item waits on.

In doubt it is a person: a model that waits may begin another item itself, one that is pushed on cannot be called back.
"""


class Blocker(Struct, frozen=True):
    """The reason why an item is blocked; `on` is a person, an agent or a thing, when known.

    A pending item has one too, where it is to be begun after others: its reason is then `after` and their names.
    """

    reason: str = ""
    on: str | None = None

    @property
    def is_order(self) -> bool:
        """True if it only says what comes first."""
        return self.on is None and self.reason.startswith("after ")

    @property
    def is_on_person(self) -> bool:
        """True if it names whom the item waits on, or its reason speaks of a person's word."""
        return self.on is not None or _PERSON.search(self.reason) is not None


class Evidence(Struct, frozen=True):
    """Evidence that was offered for a completion. Stored and shown, never believed alone."""

    text: str
    kind: str | None = None


class NamedCheck(Struct, frozen=True):
    """A command that a project, a person or a model names as a check, for all work or for one item.

    `by`: `project` stands for what a person has trusted or set for the project. A model's word counts only where the
    tables know the command as a test or build, or the project names it too: whoever is graded does not set the bar.
    """

    command: str
    by: Literal["project", "person", "model"]


class TodoItem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing to do. `id` is ours: short, unique within its list, and the same in every dialect."""

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
    check: NamedCheck | None = None
    """The command that shows that it is done."""

    def __post_init__(self) -> None:
        if type(self.status) is not Status:  # msgspec checks types only where it decodes
            if self.status not in list(Status):
                known = ", ".join(Status)
                raise InvalidInput(problem=f"`{self.status}` is no status of an item; use one of {known}.")
            force_setattr(self, "status", Status(self.status))
        if self.active_form == "":
            force_setattr(self, "active_form", None)

    @property
    def label(self) -> str:
        """The text that a person reads while the item is in progress."""
        return self.active_form or self.content

    @property
    def is_open(self) -> bool:
        """True unless completed or cancelled."""
        return self.status not in CLOSED

    @property
    def waits_on_person(self) -> bool:
        """True if the item is blocked until a person acts: no later item is started by itself meanwhile."""
        return self.status is Status.BLOCKED and self.blocker is not None and self.blocker.is_on_person


class Phase(Struct, frozen=True):
    """A named stretch of a list. Names may repeat; ids do not."""

    id: str
    name: str


class Progress(NamedTuple):
    """Completed items among those that are not cancelled; `percent` is rounded half up."""

    done: int
    total: int
    percent: int


class TodoList(Struct, frozen=True, kw_only=True):
    """The list of one agent at one revision. `plan_id` tells one list from the next, `next_id`
    numbers its items and phases.
    """

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
        return next((item for item in self.items if item.status is Status.IN_PROGRESS), None)

    @property
    def progress(self) -> Progress:
        """Completed items among those that are not cancelled."""
        done = sum(item.status is Status.COMPLETED for item in self.items)
        total = sum(item.status is not Status.CANCELLED for item in self.items)
        return Progress(done, total, (200 * done + total) // (2 * total) if total else 0)

    @property
    def open_items(self) -> tuple[TodoItem, ...]:
        """Items that are neither completed nor cancelled, in order."""
        return tuple(item for item in self.items if item.status not in CLOSED)

    @property
    def waits_on_person(self) -> bool:
        """True if an item is blocked until a person acts."""
        return any(item.waits_on_person for item in self.items)

    @property
    def is_finished(self) -> bool:
        """True if every item is closed; an empty list is finished too."""
        return all(item.status in CLOSED for item in self.items)

    def find(self, item_id: str) -> TodoItem | None:
        """Return the item of that id, or None."""
        return next((item for item in self.items if item.id == item_id), None)


class ListState(Struct, frozen=True):
    """A list, and the items that its agent last wrote or was shown; None if that is the present list."""

    todos: TodoList
    shown: tuple[TodoItem, ...] | None = None


def set_status(item: TodoItem, status: Status, now: datetime) -> TodoItem:
    """Return the item in that status. `started_at` keeps the first start; leaving an end clears how it ended."""
    before, started = item.status, item.started_at
    if before is status:
        return item
    ended, earlier = status in ENDED, started or item.created_at
    at = now if earlier is None or earlier <= now else earlier  # a clock may be set back: nothing ends before it began
    return replace(
        item,
        status=status,
        started_at=at if started is None and status is Status.IN_PROGRESS else started,
        finished_at=at if ended else None,
        grade=item.grade if ended else None,
        blocker=None if ended or before is Status.BLOCKED else item.blocker,
        evidence=item.evidence if ended else (),
    )


def make_phase(phases: Sequence[Phase], name: str) -> Phase:
    """Return a phase with an id that none of these has."""
    numbers = (int(phase.id[1:]) for phase in phases if phase.id[1:].isdecimal())
    return Phase(f"f{max(numbers, default=0) + 1}", name)


def put_in_phase(item: TodoItem, phase: Phase | None) -> TodoItem:
    phase_id, name = (phase.id, phase.name) if phase is not None else (None, None)
    return item if (item.phase_id, item.phase) == (phase_id, name) else replace(item, phase_id=phase_id, phase=name)


def assign_phases(todos: TodoList, renewed: Sequence[Phase] | None, new: Set[str]) -> TodoList:
    """Put every item of a list in one of its phases, or in none.

    `renewed` are the phases from now on; without it the known ones stay. An item that only has a phase name
    joins the first phase of that name, which is made at the end if missing; a new one without a name joins the
    phase of the item before it, unless the phases are replaced.
    """
    if renewed is None and not todos.phases and all(item.phase is None for item in todos.items):
        return todos
    phases = list(todos.phases if renewed is None else renewed)
    by_id = {phase.id: phase for phase in phases}
    by_name: dict[str, Phase] = {}
    for phase in phases:
        by_name.setdefault(phase.name, phase)
    items: list[TodoItem] = []
    before: Phase | None = None
    for item in todos.items:
        phase = by_id.get(item.phase_id) if item.phase_id is not None else None
        if phase is None or phase.name != item.phase:
            joins = before if renewed is None and item.id in new else None
            phase = by_name.get(item.phase) if item.phase is not None else joins
        if phase is None and item.phase is not None:
            phase = make_phase([*todos.phases, *phases], item.phase)
            phases.append(phase)
            by_id[phase.id] = by_name[phase.name] = phase
        items.append(put_in_phase(item, phase))
        before = phase
    return replace(todos, items=tuple(items), phases=tuple(phases))


def renew_phases(old: Sequence[Phase], names: Sequence[str]) -> list[Phase]:
    """Return phases of these names in this order; each takes over the first unused old one of its name."""
    free = list(old)
    phases: list[Phase] = []
    for name in names:
        known = next((phase for phase in free if phase.name == name), None)
        if known is not None:
            free.remove(known)
        phases.append(known or make_phase([*old, *phases], name))
    return phases


def sort_by_phase(todos: TodoList) -> Sequence[TodoItem]:
    """Return the items as a dialect of phases shows them: those without one first, then phase by phase."""
    places: dict[str | None, int] = {phase.id: place for place, phase in enumerate(todos.phases, 1)}
    return sorted(todos.items, key=lambda item: places.get(item.phase_id, 0))


# The item or phase that a few letters mean.

_BUSY = (Status.IN_PROGRESS, Status.PENDING)


class ItemMatch(NamedTuple):
    """An item that a query may mean, and the place of its list among those that were searched."""

    place: int
    item: TodoItem


def find_items(lists: Sequence[Sequence[TodoItem]], query: str) -> list[ItemMatch]:
    """Return the items with that id, else of that text, else that hold it; of several, those in progress or pending."""
    wanted = query.strip().lower()
    if not wanted:
        return []
    everything = [ItemMatch(place, item) for place, items in enumerate(lists) for item in items]
    found = (
        [match for match in everything if match.item.id.lower() == wanted.removeprefix("#")]
        or [match for match in everything if match.item.content.strip().lower() == wanted]
        or [match for match in everything if wanted in match.item.content.lower()]
    )
    if len(found) == 1:
        return found
    return [match for match in found if match.item.status in _BUSY] or found


def find_item(items: Sequence[TodoItem], query: str) -> TodoItem | None:
    """Return the only item of one list that the query may mean; None if there is none, or several."""
    found = find_items([items], query)
    return found[0].item if len(found) == 1 else None


def find_phase(phases: Sequence[Phase], query: str) -> Phase | None:
    """Return the phase of that name; else the only one that begins with it; else the only one that holds it."""
    wanted = query.strip().lower()
    if not wanted:
        return None
    names = [(phase, phase.name.strip().lower()) for phase in phases]
    equal = [phase for phase, name in names if name == wanted][:1]
    first = [phase for phase, name in names if name.startswith(wanted)]
    holding = [phase for phase, name in names if wanted in name]
    return next((found[0] for found in (equal, first, holding) if len(found) == 1), None)

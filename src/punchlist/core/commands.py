"""Define the commands on a list, and the policy by which a dialect applies them."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal, NamedTuple

from msgspec import Struct, field

from punchlist.core.todo import Blocker, Evidence, Status, TodoItem
from punchlist.text import clean

Focus = Literal["first", "accept", "refuse"]


class Limits(Struct, frozen=True, kw_only=True):
    """The largest input of one write. Lengths count the text as sent; both ends are inclusive.

    `characters` and `bytes` are for content, active form, notes and reasons; `other` is for every other text.
    """

    items: int = 10_000
    characters: int = 100_000
    bytes: int | None = None
    other: int = 100_000
    refuse_blank: bool = False

    def admit(self, text: str) -> bool:
        """True if a text of a list could be written again under these limits."""
        if self.refuse_blank and not text.strip():
            return False
        return len(text) <= self.characters and (self.bytes is None or len(text.encode(errors="replace")) <= self.bytes)


class Policy(Struct, frozen=True, kw_only=True):
    """The rules of one dialect."""

    dialect: str = "punchlist"
    limits: Limits = field(default_factory=Limits)
    focus: Focus = "accept"
    """A second item in progress goes back to pending (`first`), is accepted, or refuses the call."""

    promote: bool = False
    """With nothing in progress, the first pending item is started."""

    wipe_finished: bool = False
    """A list whose items are all completed is cleared."""

    atomic: bool = True
    """One refused operation refuses the whole call."""

    advance: bool = False
    """Finishing the item in focus starts the next one."""

    sweep: bool = False
    """An operation on a phase or on everything reaches closed items too."""

    lead_with_focus: bool = False
    """The first item in progress stands before every pending one."""

    hide_closed_after: float = -1.0
    """Seconds after which the dialect no longer sees a closed item; below 0 it always does."""

    orphans: str | None = None
    """The name of the phase that items without a phase seem to have."""

    one_line: bool = False
    """A content is one line of text; runs of whitespace in it count as one space."""

    confirms: bool = False
    """A person uses this dialect: an item that they complete is graded `confirmed`."""

    secrets: re.Pattern[str] | None = None
    """Removed from evidence, in addition to the secrets that are known anyway."""

    shown: Mapping[Status, Status | None] = field(default_factory=dict[Status, Status | None])
    """The nearest status that the dialect has; None where it cannot show such an item."""

    def shows(self, status: Status) -> Status | None:
        return self.shown.get(status, status)

    def visible(self, items: Sequence[TodoItem]) -> list[TodoItem]:
        """Return the items that the dialect can express: in a status that it shows, within the limits of one write."""
        admit = self.limits.admit
        seen = [item for item in items if self.shows(item.status) is not None]
        return [item for item in seen if admit(item.content) and admit(item.label)][: self.limits.items]

    def hides(self, item: TodoItem, now: datetime) -> bool:
        """True if the item was closed so long ago that the dialect no longer sees it."""
        if self.hide_closed_after < 0 or item.is_open:
            return False
        return item.finished_at is None or (now - item.finished_at).total_seconds() >= self.hide_closed_after


class Entry(NamedTuple):
    """One item as a dialect gives it, text as sent. None means that the dialect did not say.

    `keeps`: the status is only for a new item, a known one keeps its own. `word` is a status as sent, where a dialect
    takes any. A named tuple, because a call makes as many of them as the list has items.
    """

    content: str
    status: Status = Status.PENDING
    active_form: str | None = None
    alias: str | None = None
    phase: str | None = None
    phase_place: int | None = None
    notes: tuple[str, ...] | None = None
    priority: str | None = None
    parent: str | None = None
    blocker: Blocker | None = None
    keeps: bool | None = None
    word: str | None = None
    check: str | None = None


class Replace(NamedTuple):
    """The whole list, in order. Merged with what others did since the author last saw it.

    With `phases` the phases are replaced too, and an entry's `phase_place` is its place among them. `begin`: with
    nothing in progress, the first pending item is started. A named tuple, because nearly every write is one.
    """

    entries: tuple[Entry, ...]
    explanation: str | None = None
    phases: tuple[str, ...] | None = None
    begin: bool = False


class Patch(Struct, frozen=True, kw_only=True):
    """Changes to the item that the dialect calls `alias`; a field that is None stays."""

    alias: str
    content: str | None = None
    status: Status | None = None
    parent: str | None = None


class Merge(Struct, frozen=True):
    """Items by id: known ones are changed, unknown ones appended, up to the limit; `placeholder` stands for no text."""

    patches: tuple[Patch, ...]
    placeholder: str = ""


class Target(Struct, frozen=True):
    """The items that an operation is about: an item, else a phase, else everything. `by` says how an item is named."""

    item: str | None = None
    phase: str | None = None
    by: Literal["id", "text", "any"] = "any"


EVERYTHING = Target()


class Group(Struct, frozen=True):
    """Entries of one phase; None stands for no phase."""

    phase: str | None
    entries: tuple[Entry, ...]


class Init(Struct, frozen=True):
    """A fresh list. Open items that are not in it count as omitted."""

    groups: tuple[Group, ...]


class Append(Struct, frozen=True):
    """Entries at the end of a phase, made if missing; None is the last. `unique` refuses known texts, and all after."""

    entries: tuple[Entry, ...]
    phase: str | None = None
    unique: bool = False


class Start(Struct, frozen=True):
    """Start an item; others in progress go back to pending, unless `beside`."""

    target: Target
    beside: bool = False


class Done(Struct, frozen=True):
    target: Target = EVERYTHING
    evidence: tuple[Evidence, ...] = ()
    advance: bool = True


class Fail(Struct, frozen=True):
    target: Target
    reason: str = ""


class Drop(Struct, frozen=True):
    target: Target = EVERYTHING


class Reopen(Struct, frozen=True):
    target: Target


class Remove(Struct, frozen=True):
    """Take items off the list. With `phases`, a phase that is removed whole goes too."""

    target: Target = EVERYTHING
    phases: bool = False


class Note(Struct, frozen=True):
    target: Target
    text: str


class Block(Struct, frozen=True):
    target: Target
    reason: str = ""
    on: str | None = None


class Ask(Struct, frozen=True):
    """Block an item until a person answers; the agent's call also records the question."""

    target: Target
    question: str


class Unblock(Struct, frozen=True):
    target: Target = EVERYTHING


class Reword(Struct, frozen=True):
    target: Target
    content: str
    active_form: str | None = None


class Restore(Struct, frozen=True):
    """Bring omitted items back as pending; all of them if the target names nothing."""

    target: Target = EVERYTHING


class Refuse(Struct, frozen=True):
    """An operation that cannot be meant: refused in its turn, with the text of its dialect."""

    text: str


Operation = (
    Init | Refuse | Append | Start | Done | Fail | Drop | Reopen | Remove | Note | Block | Ask | Unblock | Reword
    | Restore
)  # fmt: skip


class Edit(Struct, frozen=True):
    """Targeted operations, in order, after a whole write if `first` has one; `view` asks for the list in the reply."""

    operations: tuple[Operation, ...]
    explanation: str | None = None
    view: bool = False
    first: Replace | None = None


Command = Replace | Merge | Edit


class Query(Struct, frozen=True):
    """A read: changes nothing."""

    reads: ClassVar[bool] = True


class Elsewhere(Struct, frozen=True):
    """A command for another layer than the todo list. `reads`: it changes nothing."""

    reads: ClassVar[bool] = False


class Repeat(Exception):
    """Raised within a call to roll back what it wrote, run `meanwhile` outside the transaction, and decide again."""

    def __init__(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.meanwhile = meanwhile


class Problem(Struct, frozen=True):
    """A problem to report to the caller. `fatal`: the call, or that operation, was refused.

    `text` is our sentence; a dialect may say it in its own words, from `code`, `at` (the index of the entry
    or operation) and `data`.
    """

    code: str
    text: str
    fatal: bool = False
    at: int | None = None
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Cleaner(Struct):
    """Clean the texts of one call, and remember which characters were removed."""

    removed: set[str] = field(default_factory=set[str])

    def text(self, raw: str) -> str:
        cleaned, removed = clean(raw)
        if removed:
            self.removed.update(removed)
        return cleaned

    def optional(self, raw: str | None) -> str | None:
        return None if raw is None else self.text(raw) or None

    def notes(self, raw: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(note for text in raw if (note := self.text(text)))

    def blocker(self, raw: Blocker | None) -> Blocker | None:
        return None if raw is None or raw == Blocker() else Blocker(self.text(raw.reason), self.optional(raw.on))

    def problems(self) -> list[Problem]:
        if not self.removed:
            return []
        kinds = ", ".join(sorted(self.removed))
        return [Problem("cleaned", f"Removed from the text: {kinds}.", data={"removed": sorted(self.removed)})]

"""Changes to one item: a new status with its times, cleaned texts, new items."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from punchlist.core.records import Fields, changed_fields
from punchlist.core.todo import WORDS, Blocker, Status, TodoItem, altering
from punchlist.text import clean

if TYPE_CHECKING:
    from punchlist.core.commands import Entry, Problem

_STATUS_FIELDS = ("started_at", "finished_at", "status", "grade", "blocker", "evidence")
STATUS_FIELDS = Fields(*_STATUS_FIELDS)
"""What a new status may change."""

ENDED = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED})

_moved = altering(TodoItem, *_STATUS_FIELDS)
_IN_PROGRESS, _BLOCKED = Status.IN_PROGRESS, Status.BLOCKED  # a member of an enumeration is slow to look up


def status_fields(before: TodoItem, after: TodoItem) -> dict[str, Any]:
    """`changed_fields` of an item that only has another status; the commonest change, and told without a search."""
    if before.grade is not None or before.blocker is not None or before.evidence:
        return changed_fields(before, after, STATUS_FIELDS)
    fields: dict[str, Any] = {}
    started, finished = after.started_at, after.finished_at
    if started != before.started_at:
        fields["started_at"] = started and started.isoformat()
    if finished != before.finished_at:
        fields["finished_at"] = finished and finished.isoformat()
    fields["status"] = WORDS[after.status]
    return fields


def with_status(item: TodoItem, status: Status, now: datetime) -> TodoItem:
    """The item in that status. `started_at` keeps the first start; leaving an end clears how it ended."""
    before, started = item.status, item.started_at
    if before is status:
        return item
    ended, earlier = status in ENDED, started or item.created_at
    at = now if earlier is None or earlier <= now else earlier  # a clock may be set back: nothing ends before it began
    return _moved(
        item,
        at if started is None and status is _IN_PROGRESS else started,
        at if ended else None,
        status,
        item.grade if ended else None,
        None if ended or before is _BLOCKED else item.blocker,
        item.evidence if ended else (),
    )


@dataclass(slots=True)
class Cleaner:
    """Cleans texts and remembers what it took out, for one call."""

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
        from punchlist.core.commands import Problem  # a command that changes no list starts without it

        kinds = ", ".join(sorted(self.removed))
        return [Problem("cleaned", f"Removed from the text: {kinds}.", data={"removed": sorted(self.removed)})]


def new_item(
    entry: Entry, text: str, *, item_id: str, dialect: str, now: datetime, by: str, cleaner: Cleaner
) -> TodoItem:
    """The item that an entry makes. Its phase is not set here."""
    status = entry.status
    return TodoItem(
        id=item_id,
        content=text,
        active_form=cleaner.optional(entry.active_form),
        status=status,
        notes=cleaner.notes(entry.notes) if entry.notes else (),
        priority=cleaner.optional(entry.priority),
        parent=cleaner.optional(entry.parent),
        blocker=None if status in ENDED else cleaner.blocker(entry.blocker),
        aliases={dialect: cleaner.text(entry.alias)} if entry.alias is not None and dialect != "punchlist" else {},
        created_at=now,
        created_by=by,
        started_at=now if status is Status.IN_PROGRESS else None,
        finished_at=now if status in ENDED else None,
    )

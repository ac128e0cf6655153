"""Changes to one item: a new status with its times, cleaned texts, new items."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from punchlist.core.todo import Blocker, Status, TodoItem
from punchlist.text import clean

if TYPE_CHECKING:
    from punchlist.core.commands import Entry, Problem

ENDED = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED})


def with_status(item: TodoItem, status: Status, now: datetime) -> TodoItem:
    """The item in that status. `started_at` keeps the first start; leaving an end clears how it ended."""
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


class Cleaner(Struct):
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

"""Plans side by side: the list is the one that was written last of those that were not removed since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec.structs import replace

from punchlist.core.commands import Replace
from punchlist.transcripts.values import Origin, Removed, Written


class Standing:
    """Judges what was told from the newest on."""

    def __init__(self) -> None:
        self._removed: dict[str, Origin] = {}
        self._since: Origin | None = None
        self._place = 0

    def judge(self, told: Written | Removed) -> Written | None:
        """The list, if this is it."""
        if isinstance(told, Removed):
            self._removed.setdefault(told.plan, told.origin)
            return None
        if told.plan in self._removed:
            self._note(told.plan)
            return None
        return told if self._since is None else since(told, self._since.at)

    def _note(self, plan: str) -> None:
        """The newest of the removals that took something away is when the list became what it is."""
        place = list(self._removed).index(plan)
        if self._since is None or place < self._place:
            self._since, self._place = self._removed[plan], place

    def nothing(self) -> Written | None:
        """The empty list, if all that was told was removed again; None if nothing was."""
        return None if self._since is None else Written(Replace(()), self._since)


def since(written: Written, at: datetime | None) -> Written:
    """A list that is the present one again since some time."""
    return replace(written, origin=written.origin._replace(at=at or written.origin.at))


def changes(told: Iterable[Written | Removed]) -> Iterator[Written]:
    """Every list that was the present one, in order."""
    plans: dict[str | None, Written] = {}
    for one in told:
        if isinstance(one, Written):
            plans.pop(one.plan, None)
            plans[one.plan] = one
            yield one
        elif one.plan in plans:
            was_present = next(reversed(plans)) == one.plan
            del plans[one.plan]
            if was_present:
                left = next(reversed(plans.values()), None)
                yield Written(Replace(()), one.origin) if left is None else since(left, one.origin.at)

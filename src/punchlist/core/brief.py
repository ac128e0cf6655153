"""Build the brief for a person who comes back: items done, doubtful, waiting or stalled since then, and tool use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from punchlist.core.grounding.grades import DOUBTFUL
from punchlist.core.grounding.session import SessionState
from punchlist.core.grounding.tally import Tally, tally_of
from punchlist.core.grounding.tool_call import ToolCall
from punchlist.core.overview import Activity, PersonWait
from punchlist.core.report import ItemReport, worst_first
from punchlist.core.todo import Status


class Noticed(Struct, frozen=True):
    """A finding of a detector that is new or still holds. `seq` is its event."""

    session: str
    agent: str
    detector: str
    seen: str
    subject: str
    at: datetime
    seq: int = 0


class ListNews(Struct, frozen=True):
    """Items that came onto a list since, and how many it has now; with `list`, tasks that came onto that one.

    `by` added them: the agent itself, a person or another agent.
    """

    session: str
    agent: str
    added: int
    total: int
    list: str = ""
    by: str = ""


class Brief(Struct, frozen=True):
    """Items by what became of them: the first five were completed or graded since, the rest stands now.

    `sessions` are the states of the sessions with news, the worst first; `red` those of others that are still at work
    and red. `doubtful` items are failing or unseen;
    `waits` is what waits on a person; `work` is what tools did since. `has_news`: there is any event since.
    """

    sessions: tuple[SessionState, ...]
    verified: tuple[ItemReport, ...]
    confirmed: tuple[ItemReport, ...]
    unchecked: tuple[ItemReport, ...]
    doubtful: tuple[ItemReport, ...]
    unjudged: tuple[ItemReport, ...]
    failed: tuple[ItemReport, ...]
    waits: tuple[PersonWait, ...]
    under_way: tuple[ItemReport, ...]
    noticed: tuple[Noticed, ...]
    lists: tuple[ListNews, ...]
    work: Tally
    has_news: bool
    until: int
    red: tuple[SessionState, ...] = ()
    after: int = 0
    """The event after which the news began: that of the reader, or the first one of those that were looked at."""

    @property
    def completed(self) -> tuple[ItemReport, ...]:
        return (*self.verified, *self.confirmed, *self.unchecked, *self.doubtful, *self.unjudged)

    @property
    def is_empty(self) -> bool:
        """True if nothing happened and nothing waits."""
        return not (self.has_news or self.failed or self.waits or self.noticed)


def assemble_brief(
    sessions: Iterable[SessionState],
    items: Sequence[ItemReport],
    calls: Iterable[ToolCall],
    noticed: tuple[Noticed, ...],
    *,
    waits: tuple[PersonWait, ...] = (),
    lists: tuple[ListNews, ...] = (),
    red: Iterable[SessionState] = (),
    after: int,
    until: int,
) -> Brief:
    """Sort reports of items into a brief. `calls` are those that began or ended since."""
    done = [entry for entry in _with(items, Status.COMPLETED) if entry.touched > after]
    under_way = [entry for entry in items if entry.is_under_way]
    return Brief(
        sessions=worst_first(sessions),
        verified=tuple(entry for entry in done if entry.grade == "verified"),
        confirmed=tuple(entry for entry in done if entry.grade == "confirmed"),
        unchecked=tuple(entry for entry in done if entry.grade == "unchecked"),
        doubtful=tuple(entry for entry in done if entry.grade in DOUBTFUL),
        unjudged=tuple(entry for entry in done if entry.grade is None),
        failed=_with(items, Status.FAILED),
        waits=waits,
        under_way=tuple(sorted(under_way, key=lambda entry: entry.item.status is not Status.IN_PROGRESS)),
        noticed=noticed,
        lists=lists,
        work=tally_of(calls),
        has_news=until > after,
        until=until,
        red=tuple(red),
        after=after,
    )


def _with(items: Iterable[ItemReport], status: Status) -> tuple[ItemReport, ...]:
    return tuple(entry for entry in items if entry.item.status is status and not entry.is_gone)


def find_noticed(activities: Mapping[tuple[str, str], Activity], after: int, now: datetime) -> tuple[Noticed, ...]:
    """Return the findings of all agents after the event `after`, and earlier ones that still matter, in their order."""
    found = [(one, owner) for owner, known in activities.items() for one in known.find_news(after, now)]
    found.sort(key=lambda pair: pair[0].first)
    return tuple(Noticed(*owner, one.detector, one.seen, one.subject, one.at, one.seq) for one, owner in found)

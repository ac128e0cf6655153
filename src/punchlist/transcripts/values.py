"""Values that a transcript yields whatever its format."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.apply import check_limits
from punchlist.core.commands import Replace
from punchlist.dialects import dialect

MAIN = "main"
"""The agent that a transcript belongs to; any other name is the id of a subagent."""


class Origin(NamedTuple):
    """Agent, session, folder and time of something in a transcript; None where it does not say."""

    agent: str = MAIN
    session: str | None = None
    cwd: str | None = None
    at: datetime | None = None


class TranscriptCall(NamedTuple):
    """A tool call as recorded, with its arguments as they were sent."""

    name: str
    args: Any
    call_id: str
    origin: Origin


class CallOutcome(NamedTuple):
    """The answer to a tool call."""

    call_id: str
    result: Any
    """The text that the model read."""
    data: Any = None
    """The structured form, if recorded."""
    is_error: bool | None = None
    """None where the transcript does not say."""
    origin: Origin = Origin()
    tool: str | None = None
    """The tool that answers, where the answer names it."""
    subagent: str | None = None
    """The id of the subagent that ended with this call."""


class Removed(NamedTuple):
    """The removal of one plan of several."""

    plan: str
    origin: Origin


class Written(Struct, frozen=True):
    """A whole list as it was written. `call` is the tool call that wrote it, where there was one.

    `call_id` names the write: it is None where there is no id, or where an earlier write has the same. `plan` is the id
    of a plan that has others beside it.
    """

    command: Replace
    origin: Origin
    call_id: str | None = None
    call: TranscriptCall | None = None
    plan: str | None = None

    @property
    def counts(self) -> tuple[int, int]:
        """Number of completed items, and of all that were not cancelled."""
        done = sum(entry.status == "completed" for entry in self.command.entries)
        return done, sum(entry.status != "cancelled" for entry in self.command.entries)


ListFact = TranscriptCall | CallOutcome | Written | Removed
"""A fact that may say something of a list."""


class Transcript(Protocol):
    """An open transcript. Each method reads it again; what cannot be read is skipped and counted.

    `sessions` are the ids under which its conversation went on, the present one first; in a store of several
    conversations (`is_store`) theirs, of which `session` chooses one, by default the latest with a list. `subagent` is
    the id of one whose list is meant; None is the agent that the transcript belongs to. `origin` is what it says of
    itself as a whole.
    """

    is_store: bool
    format: str
    dialect: str
    source: str
    sessions: tuple[str, ...]
    origin: Origin

    @property
    def skipped(self) -> int: ...
    def latest(self, *, subagent: str | None = None, session: str | None = None) -> Written | None: ...
    def history(self, *, subagent: str | None = None, session: str | None = None) -> Iterator[Written]: ...


def admit_list(command: object, name: str) -> Replace | None:
    """Return the command if it is a whole list within the limits of that dialect, else None."""
    if not isinstance(command, Replace) or check_limits(command, dialect(name).policy.limits) is not None:
        return None
    return command


def name_write(written: Written) -> str:
    """Return the key of a write: the id of its call, else a hash of its time and contents."""
    if written.call_id is not None:
        return written.call_id
    said = repr((written.origin.at, written.command)).encode("utf-8", "backslashreplace")
    return f"transcript {blake2b(said, digest_size=12).hexdigest()}"


def active_lists(told: Iterable[Written | Removed]) -> Iterator[Written]:
    """Yield every list that was active, in order: the last one written of those not removed since."""
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
                active = next(reversed(plans.values()), Written(Replace(()), one.origin))
                at = one.origin.at or active.origin.at
                yield replace(active, origin=active.origin._replace(at=at))


_MOST_SEEN = 65_536
"""Ids remembered; a copy of a write stands near the write."""


def name_once(writes: Iterable[Written]) -> Iterator[Written]:
    """Yield each write once; of several under one id only the first keeps it, as some agents count anew."""
    seen: dict[str, int] = {}
    for written in writes:
        call_id = written.call_id
        if call_id is None:
            yield written
            continue
        told = hash((written.origin.at, written.command))
        before = seen.pop(call_id, None)
        if before is None and len(seen) >= _MOST_SEEN:
            del seen[next(iter(seen))]
        seen[call_id] = told
        if before != told:
            yield written if before is None else replace(written, call_id=None)


class ListTranscript:
    """Lists of one conversation, or of a store of several; `find` yields those of a session, newest first.

    `session` is the id of the one conversation, `stored` are those of a store. Subagents have no lists here.
    """

    def __init__(
        self,
        format: str,
        source: str,
        find: Callable[[str | None], Iterable[Written]],
        *,
        dialect: str | None = None,
        session: str | None = None,
        stored: Iterable[str] | None = None,
        skipped: int = 0,
    ) -> None:
        self.format = format
        self.dialect = dialect or format
        self.source = source
        self.is_store = stored is not None
        self.sessions = tuple(stored or filter(None, [session]))
        self.origin = Origin(session=session)
        self.skipped = skipped
        self._find = find

    def latest(self, *, subagent: str | None = None, session: str | None = None) -> Written | None:
        return None if subagent else next(iter(self._find(session)), None)

    def history(self, *, subagent: str | None = None, session: str | None = None) -> Iterator[Written]:
        return name_once(() if subagent else reversed(list(self._find(session))))


def hold_states(states: Mapping[str, Written], format: str, source: str, *, skipped: int = 0) -> ListTranscript:
    """Return a store of one present list per session; the list that was written last comes first."""

    def find(session: str | None) -> list[Written]:
        chosen = session or next(iter(states), "")
        return [states[chosen]] if chosen in states else []

    return ListTranscript(format, source, find, stored=states, skipped=skipped)

"""Stores that hold each session's list as it is now: no history, one list a session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from punchlist.transcripts.values import Origin, Written

_NEVER = datetime.min.replace(tzinfo=UTC)


class State(NamedTuple):
    """The list of one session."""

    session: str
    written: Written

    def age(self) -> datetime:
        """What to sort by; a list without a time is the oldest."""
        return self.written.origin.at or _NEVER


class StateTranscript:
    """Such a store, or a file that is one session's. The list that was written last comes first."""

    is_store = True
    origin = Origin()

    def __init__(
        self, states: Sequence[State], *, format: str, source: str, dialect: str | None = None, skipped: int = 0
    ) -> None:
        self.format = format
        self.dialect = dialect or format
        self.source = source
        self.skipped = skipped
        self._states = {state.session: state.written for state in reversed(states)}
        self.sessions = tuple(reversed(self._states))

    def latest(self, *, subagent: str | None = None, session: str | None = None) -> Written | None:
        own = session or next(iter(self.sessions), None)
        return None if subagent or own is None else self._states.get(own)

    def history(self, *, subagent: str | None = None, session: str | None = None) -> Iterator[Written]:
        found = self.latest(subagent=subagent, session=session)
        return iter(() if found is None else (found,))

"""Read and write the record of a session's checks, and the completions that are graded by it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, cast

import msgspec

from punchlist.core.grounding.grades import Completion, Grade
from punchlist.core.grounding.session import NO_RECORD, SessionRecord, session_state
from punchlist.store import records
from punchlist.store.agents import CompletingWrite
from punchlist.store.records import Record, RowDamaged, Rows, SealedRecord

_record = SealedRecord(SessionRecord, "the record of a session's checks is not what was written")
_completion = Record(Completion)

_MOST_OPEN: Final = 5_000
"""Completions that are graded again when a check comes out, the latest ones."""


class CompletionRow(NamedTuple):
    completion: Completion
    grade: Grade


class CompletionRows(Rows):
    """Reads and writes completions and the records of sessions, within one transaction."""

    # The record of a session.

    def load_record(self, session: str) -> SessionRecord:
        found = self._rows.find_checks(session)
        return NO_RECORD if found is None or found.checks is None else _decode_record(found.checks)

    def save_record(self, session: str, record: SessionRecord, *, at: datetime) -> None:
        found, checks = session_state(session, record), self._rows.find_checks(session)
        if checks is None:
            return
        checks.state = found.state
        checks.check_name = "" if found.decided_by is None else found.decided_by.program
        checks.checks = _record.encode(record)
        checks.is_changed = True
        self._rows.marked[session] = at

    def records(self, *, session: str | None = None, project: str | None = None) -> dict[str, SessionRecord]:
        """Return the records of a session, of a project or of the board, by session."""
        rows = self._rows.all("session_checks", {"session": session, "project": project})
        return {name: _decode_record(body) for name, body in rows}

    # Completions.

    def find_previous(self, agent: int, at: datetime) -> CompletingWrite | None:
        """Return the last completing write of an agent up to a time."""
        found = self._rows.one("previous_completion", {"agent": agent, "at": records.microseconds(at)})
        return None if found is None else CompletingWrite(found[0], records.moment(found[1]))

    def save(self, given: Sequence[tuple[Completion, Grade]]) -> None:
        """Save completions with their grades."""
        rows: list[tuple[Any, ...]] = []
        for done, grade in given:
            total, body = _completion.encode(_head(done.agent, done.key), done)
            rows.append((done.agent, done.key, done.position, records.microseconds(done.at), grade, total, body))
        self._rows.insert("save_completion", rows)

    def move(self, done: Completion, *, agent: int, key: str) -> None:
        """Move a completion to the item under which its text was sent again."""
        known = self.find(done.agent, done.key)
        self._rows.run("delete_completion", (done.agent, done.key))
        if known is not None:
            self.save([(msgspec.structs.replace(known.completion, agent=agent, key=key), known.grade)])

    def find(self, agent: int, key: str) -> CompletionRow | None:
        found = self._rows.one("find_completion", (agent, key))
        return None if found is None else _row(*found)

    def open_to_checks(self, session: str) -> dict[str, list[CompletionRow]]:
        """Return the completions of a session whose grade a check may still change, by the name of their agent."""
        found: dict[str, list[CompletionRow]] = {}
        for name, *row in self._rows.all("completions_open_to_checks", (session, _MOST_OPEN)):
            found.setdefault(name, []).append(_row(*row))
        return found

    def count_since(self, session: str, position: int) -> int:
        """Return how many items and tasks of a session were completed since."""
        return self._rows.one("count_completions_since", (session, position))[0]

    def grades_since(self, at: datetime) -> dict[str, int]:
        """Return how many items and tasks were completed since a time, by grade."""
        return dict(self._rows.all("grades_since", {"since": records.microseconds(at)}))

    def session_states_since(self, at: datetime) -> dict[str, int]:
        """Return in how many sessions something was completed since a time, by the state of the session."""
        return dict(self._rows.all("states_of_sessions_since", {"since": records.microseconds(at)}))


def _decode_record(sealed: bytes) -> SessionRecord:
    """Return a record; nothing where it is damaged: then the session is unchecked, and its next check counts again."""
    try:
        return _record.decode(sealed)
    except RowDamaged:
        return NO_RECORD


def _head(agent: int, key: str) -> str:
    return f"completion {agent} {key}"


def _row(agent: int, key: str, until: int | None, grade: str, total: int, body: bytes) -> CompletionRow:
    done = _completion.decode(_head(agent, key), total, body)
    return CompletionRow(msgspec.structs.replace(done, until=until), cast("Grade", grade))

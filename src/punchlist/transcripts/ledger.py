"""OpenClaw's event ledger: many sessions, each with its updates; a JSON file, or tables of its SQLite store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from punchlist.transcripts import sqlite
from punchlist.transcripts.decoding import decode, name, object_at, objects
from punchlist.transcripts.lines import RecordTranscript
from punchlist.transcripts.openclaw import FORMAT
from punchlist.transcripts.values import Origin, Written

TABLES = frozenset({"acp_replay_sessions", "acp_replay_events"})
_EVENTS = """
SELECT acp_replay_events.session_id, cwd, at, update_json
FROM acp_replay_events JOIN acp_replay_sessions ON acp_replay_sessions.session_id = acp_replay_events.session_id
ORDER BY updated_at DESC, acp_replay_events.session_id, seq
"""


def knows(value: Any) -> bool:
    sessions = object_at(value, "sessions")
    return "version" in object_at(value) and all("events" in object_at(entry) for entry in sessions.values())


class LedgerTranscript:
    """A ledger. Without a session named, the one that holds a list and was changed last is meant."""

    format = FORMAT.name
    dialect = FORMAT.dialect
    is_store = True
    origin = Origin()

    def __init__(self, sessions: dict[str, RecordTranscript], source: str) -> None:
        self._sessions = sessions
        self.source = source

    @property
    def sessions(self) -> tuple[str, ...]:
        return tuple(self._sessions)

    @property
    def skipped(self) -> int:
        return sum(session.skipped for session in self._sessions.values())

    def _chosen(self, session: str | None) -> list[RecordTranscript]:
        if session is None:
            return list(self._sessions.values())
        return [self._sessions[session]] if session in self._sessions else []

    def latest(self, *, subagent: str | None = None, session: str | None = None) -> Written | None:
        found = (one.latest(subagent=subagent) for one in self._chosen(session))
        return next((written for written in found if written is not None), None)

    def history(self, *, subagent: str | None = None, session: str | None = None) -> Iterator[Written]:
        for one in self._chosen(session):
            if one.latest(subagent=subagent) is not None:
                yield from one.history(subagent=subagent)
                return


def from_file(value: Any, source: str) -> LedgerTranscript:
    """The ledger in a JSON file."""
    told = [
        (key, object_at(entry))
        for given, entry in object_at(value, "sessions").items()
        if (key := name(given)) is not None
    ]
    told.sort(key=lambda one: _number(one[1].get("updatedAt")), reverse=True)
    sessions = {key: _transcript(objects(entry.get("events")), key, entry.get("cwd"), source) for key, entry in told}
    return LedgerTranscript(sessions, source)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e18 else 0.0


def _transcript(events: list[dict[str, Any]], session: str, cwd: Any, source: str) -> RecordTranscript:
    records = [{**event, "sessionId": session, "cwd": cwd} for event in events]
    return RecordTranscript(records, FORMAT, source=source)


def from_store(path: str) -> LedgerTranscript:
    """The ledger in a SQLite store."""
    folders: dict[str, Any] = {}
    events: dict[str, list[dict[str, Any]]] = {}
    for given, cwd, at, body in sqlite.rows(path, _EVENTS):
        if (session := name(given)) is not None:
            folders[session] = cwd
            update = decode(body) if isinstance(body, str) else None
            events.setdefault(session, []).append({"at": at, "update": update})
    return LedgerTranscript({key: _transcript(told, key, folders[key], path) for key, told in events.items()}, path)

"""Rows about the hosts that Punchlist is attached to: conversations, their calls and events, the place in the inbox."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple

from punchlist.store.records import Rows, microseconds, moment

ConversationState = Literal["busy", "idle", "ended"]

_MOST_CALLS: Final = 2_000
_MOST_EVENTS: Final = 5_000
"""Rows that are kept, the latest: a call is asked for within seconds, a line that was handed over twice lies in the
inbox with the lines after it."""


HANDOFF_LIFETIME: Final = timedelta(days=1)
"""How long a token of a handoff binds: the person starts the other agent soon, and perhaps a second time."""


class Conversation(NamedTuple):
    """A conversation of a host as it was last seen, and the session of the board that it belongs to."""

    host: str
    id: str
    session: str
    project: str
    process: str
    """The mark of its host's process (`mark_process`); empty if the process is not known or on another machine."""
    state: ConversationState
    event: str
    """Name of the last hook event."""
    since: datetime
    """Begin of the present state."""
    seen_at: datetime
    sent_upto: int = 0
    """The last event that a message to the host covers, until the host begins a turn with it; 0 for none."""
    told_upto: int = 0
    """The last event that a text for the model covers, until the model has answered; 0 for none."""
    is_begun: bool = False
    """Its first prompt was seen."""
    machine: str = ""
    """The machine of the team that tells of it; empty for that of the board."""

    @property
    def pid(self) -> int | None:
        """The id of its process, which means that process only where `process` was noted."""
        pid = self.process.partition(" ")[0]
        return int(pid) if pid.isdigit() else None


class HostCall(NamedTuple):
    """A call that a hook told of: whose it is, when it began, and the process of its host."""

    session: str
    agent: str
    at: datetime
    process: str


class NotedCall(NamedTuple):
    """A call of our own tool as a hook told of it; `arguments` is a mark of these."""

    agent: str
    at: datetime
    arguments: str


class FilePlace(NamedTuple):
    """How far a watched file was read. `file` is its device and inode, `sum` a fingerprint of what is before `place`.

    `state` is what its reader has to know to go on, as JSON.
    """

    file: str
    place: int
    sum: bytes
    state: str


class HostRows(Rows):
    def find_conversation(self, host: str, id: str) -> Conversation | None:
        key = host, id
        if key not in self._rows.kept:
            row = self._rows.one("find_conversation", {"host": host, "id": id})
            self._rows.kept[key] = None if row is None else _conversation(row)
        return self._rows.kept[key]

    def conversations(self, session: str | None = None, limit: int = 100) -> list[Conversation]:
        """Return the conversations of a session or of the board, the latest first."""
        if session is None:
            rows = self._rows.all("conversations_of_board", {"limit": limit})
        else:
            rows = self._rows.all("conversations_of_session", {"session": session, "limit": limit})
        return [_conversation(row) for row in rows]

    def is_continued_on(self, machine: str, session: str) -> bool:
        """True if a conversation on a machine belongs to a session."""
        return self._rows.one("has_conversation_of_machine", {"session": session, "machine": machine}) is not None

    def conversations_on(self, machine: str, after: int | None = None, limit: int = 200) -> list[Conversation]:
        """Return the conversations of a machine, the latest first, of `after` only changed sessions."""
        values = {"machine": machine, "after": -1 if after is None else after, "limit": limit}
        name = "conversations_of_machine" if after is None else "conversations_of_machine_after"
        return [_conversation(row) for row in self._rows.all(name, values)]

    def save_conversation(self, one: Conversation) -> None:
        """Write a conversation as it was last seen. The session and the project of one that is known stay."""
        times = {"since": microseconds(one.since), "seen_at": microseconds(one.seen_at)}
        self._rows.run("save_conversation", {**one._asdict(), **times, "is_begun": int(one.is_begun)})
        self._rows.kept[one.host, one.id] = one

    def bind_conversation(
        self, host: str, id: str, session: str, *, project: str, at: datetime, machine: str = ""
    ) -> None:
        values = {"host": host, "id": id, "session": session, "project": project, "at": microseconds(at)}
        self._rows.kept.pop((host, id), None)
        self._rows.run("bind_conversation", {**values, "machine": machine})

    def find_served_session(self, host: str, project: str, at: datetime, *, within: timedelta) -> str | None:
        """Return the session that our MCP server made for a client of this host, by when it was first called."""
        first, last = microseconds(at - within), microseconds(at + within)
        values = {"project": project, "prefix": f"{host}-", "first": first, "last": last, "at": microseconds(at)}
        return self._rows.value("find_served_session", values)

    def find_told(self, host: str, id: str) -> tuple[str | None, bool]:
        """Return the hash of the open work that a model was last told of; True if no request held it yet."""
        row = self._rows.one("find_told", {"host": host, "id": id})
        return (None, False) if row is None else (row[0], bool(row[1]))

    def mark_read(self, host: str, id: str) -> None:
        self._rows.run("mark_read", {"host": host, "id": id})

    def save_told(self, host: str, id: str, told: str | None) -> None:
        self._rows.run("save_told", {"host": host, "id": id, "told": told})

    def save_delivery(self, conversation: Conversation, *, sent_upto: int, told_upto: int) -> None:
        values = {"host": conversation.host, "id": conversation.id}
        self._rows.kept.pop((conversation.host, conversation.id), None)
        self._rows.run("save_delivery", {**values, "sent": sent_upto, "told": told_upto})

    def add_handoff(self, token: str, session: str, host: str, *, at: datetime) -> None:
        values = {"token": token, "session": session, "host": host, "at": microseconds(at)}
        self._rows.run("add_handoff", values)
        self._rows.run("forget_handoffs", {"before": microseconds(at - HANDOFF_LIFETIME)})

    def find_handoff(self, token: str, host: str, *, at: datetime) -> str | None:
        """Return the session that a conversation of this host may continue by a token; None for none."""
        since = microseconds(at - HANDOFF_LIFETIME)
        return self._rows.value("find_handoff", {"token": token, "host": host, "since": since})

    def add_call(
        self,
        id: str,
        host: str,
        conversation: str,
        agent: str,
        *,
        at: datetime,
        spawns: str | None = None,
        label: str | None = None,
    ) -> None:
        values = {"id": id, "host": host, "conversation": conversation, "agent": agent, "at": microseconds(at)}
        self._rows.run("add_host_call", {**values, "spawns": spawns, "label": label})
        self._rows.run("forget_host_calls", {"most": _MOST_CALLS})

    def find_call(self, id: str) -> HostCall | None:
        row = self._rows.one("find_host_call", {"id": id})
        if row is None:
            return None
        session, agent, at, process = row
        return HostCall(session, agent, moment(at), process)

    def list_session_calls(self, session: str, prefix: str, suffix: str) -> list[NotedCall]:
        """Return the calls that were noted for agents of a session, under names between these texts, in order."""
        values = {"session": session, "prefix": prefix, "suffix": suffix}
        rows = self._rows.all("find_session_calls", values)
        return [NotedCall(agent, moment(at), arguments) for agent, at, arguments in rows]

    def is_answered(self, session: str, agent: str, id: str, renamed: str, since: datetime) -> bool:
        """True if a call of this id, or under its other name, was answered since a time."""
        values = {"session": session, "agent": agent, "id": id, "renamed": renamed, "since": microseconds(since)}
        return self._rows.one("find_answered_call", values) is not None

    def has_earlier_call(self, session: str, agent: str, id: str, before: datetime) -> bool:
        """True if a call of this id was answered before a time."""
        values = {"session": session, "agent": agent, "id": id, "before": microseconds(before)}
        return self._rows.one("find_earlier_call", values) is not None

    def take_label(self, host: str, conversation: str, spawns: str) -> str | None:
        """Return the label of the next subagent of a type, once."""
        row = self._rows.one("find_label", {"host": host, "conversation": conversation, "spawns": spawns})
        if row is None:
            return None
        number, label = row
        self._rows.run("use_label", {"number": number})
        return label

    def find_answers(self, ids: Sequence[str]) -> dict[str, bytes | None]:
        """Return the answers to the events that are known of these; None to one that got none."""
        return dict(self._rows.all_of("find_host_events", ids)) if ids else {}

    def add_events(self, events: Sequence[tuple[str, datetime, bytes | None]], machine: str = "") -> None:
        """Note events of a machine as taken, each with its time and its answer."""
        if events:
            rows = [(event, microseconds(at), answer, machine) for event, at, answer in events]
            self._rows.insert("add_host_event", rows)
            self._rows.run("forget_host_events", {"machine": machine, "most": _MOST_EVENTS})

    def save_answer(self, id: str, answer: bytes) -> None:
        """Keep the answer to an event that was taken before."""
        self._rows.run("answer_host_event", {"id": id, "answer": answer})

    def inbox_place(self, generation: str) -> int:
        """Return how many bytes of an inbox of this generation were ingested."""
        return self._rows.value("inbox_place", {"generation": generation}) or 0

    def save_inbox_place(self, generation: str, place: int) -> None:
        self._rows.run("save_inbox_place", {"generation": generation, "place": place})

    def find_file_place(self, path: str) -> FilePlace | None:
        row = self._rows.one("find_watched_file", {"path": path})
        return None if row is None else FilePlace(*row)

    def list_file_places(self) -> dict[str, tuple[str, int]]:
        """Return device and inode, and the place, of every watched file."""
        return {path: (file, place) for path, file, place in self._rows.all("list_watched_files")}

    def forget_file_place(self, path: str, *, before: datetime) -> None:
        """Forget the place in a file, if it was saved before a time."""
        self._rows.run("forget_watched_file", {"path": path, "before": microseconds(before)})

    def save_file_place(self, path: str, found: FilePlace, *, at: datetime) -> None:
        self._rows.run("save_watched_file", {"path": path, **found._asdict(), "at": microseconds(at)})


def _conversation(row: tuple[Any, ...]) -> Conversation:
    one = Conversation(*row)
    return one._replace(since=moment(row[7]), seen_at=moment(row[8]), is_begun=bool(one.is_begun))

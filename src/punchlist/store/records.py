"""Read and write rows: the encoding of values with a checksum, named queries, and the unit of work of a transaction.

A step of an agent reads and changes the same few rows again and again: its memory, its activity, its list, the record
of its session. The `UnitOfWork` reads each of them with the agent, keeps it while the transaction runs, and writes it
once, before the commit. Events get their numbers when they are appended, and are inserted together. A query that could
miss what waits to be written has it written first: see `UnitOfWork._execute`. A row that does not agree with its
checksum raises `RowDamaged`.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from time import monotonic
from typing import Any, Final, Generic, NamedTuple, TypeVar
from zlib import crc32

import msgspec
from msgspec.structs import replace

from punchlist.core.overview import NO_ACTIVITY, Activity, CompletingWrite, KeptItem, ListSummary, summarise_list
from punchlist.core.task import Task
from punchlist.core.todo import ListState, Status, TodoItem, TodoList
from punchlist.settings.environment import Project, name_worktree

_UNREADABLE_ROW = (TypeError, ValueError, LookupError, ArithmeticError, msgspec.MsgspecError, StopIteration)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HALF = 1 << 31

T = TypeVar("T")

encode = msgspec.json.Encoder().encode
decode_list = msgspec.json.Decoder(TodoList).decode
_decode_items = msgspec.json.Decoder(tuple[TodoItem, ...]).decode
decode_data = msgspec.json.Decoder(dict[str, Any]).decode
decode_texts = msgspec.json.Decoder(tuple[str, ...]).decode

NO_LIMIT = 2**62
"""More rows than any statement finds. PostgreSQL takes no `LIMIT -1`."""


def microseconds(at: datetime) -> int:
    since = at - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def moment(at: int) -> datetime:
    return _EPOCH + timedelta(microseconds=at)


Clock = Callable[[], datetime]


def system_clock() -> datetime:
    return datetime.now(UTC)


class SteadyClock:
    """A clock that never goes back: it continues at the pace of `steady` when the clock that it reads is set back.

    Otherwise time would stand still until that clock has caught up, with leases that never end, or an event would seem
    to happen before its cause. Without `steady` it does stand still. A clock that is set forward is believed.
    """

    def __init__(self, wall: Clock = system_clock, steady: Callable[[], float] | None = monotonic) -> None:
        self._wall = wall
        self._steady = steady
        self._latest = datetime.min.replace(tzinfo=UTC)
        self._at = 0.0

    def __call__(self) -> datetime:
        said = self._wall()
        at = 0.0 if self._steady is None else self._steady()
        if said < self._latest:
            said = self._latest + timedelta(seconds=max(0.0, at - self._at))
        self._latest, self._at = said, at
        return said


def checksum(head: str, body: bytes | bytearray, more: bytes | None = None) -> int:
    """Return a number that tells a damaged row from one that was written so; SQLite has none for its pages.

    It takes four bytes in a row, not six, because it is negative as often as not.
    """
    total = crc32(body, crc32(head.encode()))
    return (total if more is None else crc32(more, total)) - _HALF


class RowDamaged(sqlite3.DatabaseError):
    """A row that SQLite could read does not hold what was written to it."""


def readable(convert: Callable[[Any], T], row: Any) -> T:
    """Convert a row. Whatever error that raises, the row is not what was written."""
    try:
        return convert(row)
    except _UNREADABLE_ROW as error:
        raise RowDamaged(f"a row is not readable: {type(error).__name__}") from error


def check_row(total: int | None, head: str, body: bytes, more: bytes | None = None) -> None:
    """Raise `RowDamaged` unless a row agrees with its checksum, if it has one."""
    if total is not None and checksum(head, body, more) != total:
        raise RowDamaged("a row is not what was written")


def encode_list(todos: TodoList) -> bytes:
    body: dict[str, Any] = {"items": todos.items}
    body |= {"revision": todos.revision, "plan_id": todos.plan_id, "next_id": todos.next_id}
    if todos.explanation is not None:
        body["explanation"] = todos.explanation
    if todos.phases:
        body["phases"] = todos.phases
    if todos.omitted:
        body["omitted"] = todos.omitted
    return encode(body)


class Record(Generic[T]):
    """Writes and reads records of one type. `head` is the row's key, so that no row passes for another."""

    def __init__(self, kind: type[T]) -> None:
        self._decode = msgspec.json.Decoder(kind).decode

    def encode(self, head: str, value: T) -> tuple[int, bytes]:
        """Return the checksum and the body of a row."""
        body = encode(value)
        return checksum(head, body), body

    def decode(self, head: str, total: int, body: bytes) -> T:
        check_row(total, head, body)
        return readable(self._decode, body)


class SealedRecord(Generic[T]):
    """Writes and reads records of one type as MessagePack, a checksum of four bytes behind it."""

    def __init__(self, kind: type[T], problem: str) -> None:
        self._decode = msgspec.msgpack.Decoder(kind).decode
        self._problem = problem

    def encode(self, value: T) -> bytes:
        body = msgspec.msgpack.encode(value)
        return body + crc32(body).to_bytes(4)

    def decode(self, sealed: Any) -> T:
        try:
            if crc32(sealed[:-4]).to_bytes(4) == sealed[-4:]:
                return self._decode(sealed[:-4])
        except (TypeError, ValueError, msgspec.MsgspecError) as error:
            raise RowDamaged(self._problem) from error
        raise RowDamaged(self._problem)


# Lists and sessions as terminal show them, and answered calls.


class ListRow(NamedTuple):
    """An agent and its list, as a surface shows them. `tasks` are read with its current work alone."""

    number: int
    session: str
    agent: str
    parent: int | None
    label: str | None
    project: str
    mode: str
    updated_at: datetime
    todos: TodoList
    tasks: tuple[Task, ...] = ()
    folder: str = ""
    """The root of the worktree of its session."""

    @property
    def worktree(self) -> str:
        """The name of the worktree; empty in the first checkout."""
        return name_worktree(self.project, self.folder)


class SessionRow(NamedTuple):
    """A session, with the number of its agents and its last change. `state` is red, unchecked, green or idle."""

    id: str
    project: str
    created_at: datetime
    agents: int
    updated_at: datetime | None
    state: str = "idle"


class BrowsedSession(NamedTuple):
    """A session with its first agent: its name, its label and its activity. `at` is its last change."""

    id: str
    project: str
    created_at: datetime
    at: datetime
    state: str
    agent: str
    label: str
    activity: Activity
    host: str
    """The program that runs it; empty if no conversation and no log tells."""


class StoredCall(msgspec.Struct, frozen=True):
    fingerprint: bytes
    reply: bytes


class LastWrite(msgspec.Struct, frozen=True):
    """A write of a list by its own agent: when it was made there, and by which call if it came from a transcript."""

    at: datetime
    call_id: str | None = None


def session_row(row: Any) -> SessionRow:
    name, project, at, agents, last, state = row
    return SessionRow(name, project, moment(at), agents, None if last is None else moment(last), state)


def browsed_session(row: Any) -> BrowsedSession:
    name, project, created, recent, state, agent, label, activity, host = row
    try:
        known = decode_activity(activity)
    except RowDamaged:
        known = NO_ACTIVITY  # `doctor` tells of it; the other sessions are shown
    at = moment(recent) if known.at is None else max(moment(recent), known.at)
    host = host or known.program
    return BrowsedSession(name, project, moment(created), at, state, agent or "", label or "", known, host)


# Named queries, and the schema of `migrations/`.

_FOLDER = os.path.dirname(__file__)
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


class Rows:
    """Base of the repositories: each reads and writes the rows of one thing, within one transaction."""

    def __init__(self, rows: UnitOfWork) -> None:
        self._rows = rows


@cache
def queries() -> dict[str, str]:
    """Read each query of the SQL files, by its name and without its comments."""
    found: dict[str, str] = {}
    for text in _texts("sql"):
        _, *parts = _NAME.split(text)
        for name, body in zip(parts[::2], parts[1::2], strict=True):
            lines = [line for line in body.splitlines() if line and not line.startswith("--")]
            found[name] = "\n".join(lines).rstrip(";")
    return found


@cache
def migrations() -> tuple[str, ...]:
    """Return the scripts that lead from an empty file to the present schema, in order."""
    return tuple(_texts("migrations"))


def _texts(folder: str) -> list[str]:
    where = os.path.join(_FOLDER, folder)
    texts: list[str] = []
    for name in sorted(os.listdir(where)):
        if name.endswith(".sql"):
            with open(os.path.join(where, name), encoding="utf-8") as file:
                texts.append(file.read())
    return texts


def statements(script: str) -> list[str]:
    """Split a script into its statements. A semicolon ends one only at the end of a line."""
    return [part for part in (piece.strip() for piece in re.split(r";\s*$", script, flags=re.MULTILINE)) if part]


# Agents and sessions within one transaction.

SNAPSHOT_EVERY: Final = 50
"""A past revision is at most this many changes away from a stored list."""

MINUTE: Final = 60_000_000
"""Microseconds after which an agent's place among the recent ones is written again: its indexes change no oftener."""

_DAMAGED: Final = "a read model is not what was written; `punchlist doctor --rebuild` rebuilds it"
_activity = SealedRecord(Activity, _DAMAGED)
_summary = SealedRecord(ListSummary, _DAMAGED)
_item = SealedRecord(KeptItem, _DAMAGED)
decode_item = _item.decode

_WAITING_TABLES: Final = re.compile(r"\b(agents|lists|events|sessions|kept_items)\b")
"""Tables of which rows may wait to be written."""

_WHOSE: Final = frozenset(
    {"tool_calls_in_window", "tool_calls_ended_since", "completions_open_to_checks", "lineage", "find_tool_call",
     "loop_window", "line_of_session"}
)  # fmt: skip
"""Statements that read of agents only whose they are: that is written at once, and never changes. Their caller knows
what waits of the rest."""


class AgentRow(msgspec.Struct, frozen=True):
    """An agent as stored, with its list. `number` is the store's own key."""

    number: int
    session: str
    name: str
    parent: int | None
    label: str | None
    project: str
    mode: str
    recent: int
    unseen: int
    state: ListState
    folder: str
    """The root of the worktree of its session, from which paths are told; `project` is the same for all worktrees."""


class AgentRecord(msgspec.Struct):
    """One agent within a transaction: its row, and what changes with every step."""

    row: AgentRow
    updated_at: int
    memory: bytes | None = None
    """Sealed; `store/runtime.py` reads it, which commands that only show lists do not load."""
    stored_activity: bytes | None = None
    summary: bytes | None = None
    has_open_tasks: bool = False
    completed: CompletingWrite | None = None
    """The last write of the agent that completed anything."""
    is_changed: bool = False
    has_new_list: bool = False
    has_moved: bool = False
    """Its place among the recent ones is another."""
    last_at: int | None = None
    """The time of its last event, once that was read."""
    _activity: Activity | None = None

    @property
    def activity(self) -> Activity:
        """The activity of the agent, folded from its events."""
        if self._activity is None:
            self._activity = decode_activity(self.stored_activity)
        return self._activity

    @activity.setter
    def activity(self, activity: Activity) -> None:
        self._activity = activity
        self.stored_activity = _activity.encode(activity)


class SessionChecks(msgspec.Struct):
    """The checks of one session within a transaction, and its line."""

    state: str
    check_name: str
    checks: bytes | None
    """Sealed; `store/runtime.py` reads it."""
    line: str | None
    is_changed: bool = False
    record: Any = None
    """The value of `checks`, once it was read or written in this transaction."""


class BoardHeader(msgspec.Struct):
    """The head of a board within a transaction: its schema, its last event, and whether it has lists of tasks."""

    version: int
    last_seq: int
    has_tasks: bool


class PendingEvent(NamedTuple):
    """The columns of an event that waits to be inserted."""

    seq: int
    at: int
    kind: str
    author: str
    agent: int | None
    revision: int | None
    sum: int
    data: bytes
    task_list: int | None
    task: int | None


class UnitOfWork:
    """Runs named queries on one connection. Reads each row of an agent once, and writes what changed together."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._expect: Callable[[str, Any], None] | None = getattr(connection, "expect", None)
        self._sql = queries()
        self.watched = False
        """Set to True where the events of a transaction are read from an agent's log: the agent is not heard of."""
        self._header: BoardHeader | None = None
        self._agents: dict[int, AgentRecord] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self._sessions: dict[str, SessionChecks] = {}
        self.replies: dict[tuple[int, str], StoredCall | None] = {}
        self._items: dict[tuple[int, str], dict[str, KeptItem | bytes]] = {}
        self._new_events: list[PendingEvent] = []
        self._new_items: dict[tuple[int, str, str], KeptItem] = {}
        self.kept: dict[int | tuple[str, ...], Any] = {}
        """Rows that each line of a batch needs: the plan of an agent by its number, conversations by host and id, and
        calls by session, agent and id."""
        self.task_revisions: dict[int, int] = {}
        """The revisions of the tasks that were read or written in this transaction."""
        self.marked: dict[str, datetime] = {}
        """Sessions that changed in a way that their line may show, and when."""

    @property
    def header(self) -> BoardHeader:
        if self._header is None:
            self._header = BoardHeader(*self.one("board_header"))
        return self._header

    def last_seq(self) -> int:
        """Return the number of the last event, 0 on a new board."""
        return self.header.last_seq

    @property
    def has_tasks(self) -> bool:
        """True if there is any list of tasks on the board."""
        return bool(self.header.has_tasks)

    def _send(self, name: str, values: Any) -> sqlite3.Cursor:
        try:
            return self.connection.execute(self._sql[name], values)
        except UnicodeDecodeError as error:  # in SQLite's own message about the schema, which quotes it
            raise RowDamaged("the schema is not readable") from error

    def _execute(self, name: str, values: Any) -> sqlite3.Cursor:
        """Run a statement, after what waits for the tables that it reads or writes was written."""
        tables = _list_tables(name)
        if tables:
            self._flush(tables)
        return self._send(name, values)

    def one(self, name: str, values: Any = ()) -> Any:
        """Return the first row that a named query finds, or None."""
        return self._execute(name, values).fetchone()

    def value(self, name: str, values: Any = ()) -> Any:
        """Return the first column of the first row that a named query finds, or None."""
        found = self.one(name, values)
        return None if found is None else found[0]

    def all(self, name: str, values: Any = ()) -> list[Any]:
        """Return all rows that a named query finds."""
        return self._execute(name, values).fetchall()

    def all_of(self, name: str, keys: Sequence[Any]) -> list[Any]:
        """Return all rows that a named query for one key finds for several."""
        return self.connection.execute(_for_rows(name, len(keys)), keys).fetchall()

    def expect(self, name: str, values: Any) -> None:
        """Ask early what this step is likely to ask: a database elsewhere then answers it together with the next."""
        if self._expect is not None:
            self._expect(self._sql[name], values)

    def count(self, name: str, values: Any = ()) -> int:
        """Run a named statement; return how many rows it changed."""
        return self._execute(name, values).rowcount

    def one_with_header(self, name: str, values: Any) -> Any:
        """Return the row that a statement finds after the header of the board, or None."""
        found = self.one(name, values)
        if found is None:
            raise RowDamaged("the row of the board is missing")
        if self._header is None:
            self._header = BoardHeader(*found[:3])
        return None if found[3] is None else found[3:]

    def run(self, name: str, values: Any = ()) -> None:
        """Run a statement. What was read of its tables is read again. A fault may be raised by a later statement."""
        self._execute(name, values)
        if _list_tables(name):
            self.forget()

    def forget(self) -> None:
        """Forget what was read: another statement may have changed it."""
        self.flush()
        self._header = None
        for known in (self._agents, self._numbers, self._sessions, self._items, self.kept):
            known.clear()

    def discard(self) -> None:
        """Forget all that was read, and what waits to be written: it was rolled back."""
        self.__init__(self.connection)

    def find_record(self, session: str, name: str, call_id: str | None = None) -> AgentRecord | None:
        """Return an agent; one statement reads it with its list, its session, and the reply to a call."""
        number = self._numbers.get((session, name))
        if number is not None:
            return self._agents[number]
        found = self.one_with_header("find_agent", {"session": session, "name": name, "call_id": call_id})
        if found is None:
            return None
        record = readable(_agent_record, found[:22])
        self._add(record)
        self._sessions.setdefault(session, SessionChecks(*found[22:26]))
        if call_id is not None:
            self.replies[record.row.number, call_id] = stored_call(record.row.number, call_id, found[26:])
        return record

    def record(self, number: int) -> AgentRecord:
        """Return the agent of this number."""
        found = self.find_number(number)
        if found is None:
            raise RowDamaged(f"there is no agent {number}")
        return found

    def find_number(self, number: int) -> AgentRecord | None:
        """Return the agent of this number; None if it was deleted."""
        if number in self._agents:
            return self._agents[number]
        key = self.one("key_of_agent", (number,))
        return None if key is None else self.find_record(*key)

    def _add(self, record: AgentRecord) -> None:
        row = record.row
        self._agents[row.number] = record
        self._numbers[row.session, row.name] = row.number

    def add_agent(
        self,
        session: str,
        name: str,
        *,
        project: Project | str,
        at: datetime,
        parent: int | None = None,
        label: str | None = None,
        spawn_id: str | None = None,
    ) -> AgentRow:
        """Add an agent with an empty list, and its session if it is the first one there.

        Of a project whose key alone is known, the folder is taken to be that of the key.
        """
        now = microseconds(at)
        where = Project(project, "folder", project) if isinstance(project, str) else project
        added = {
            "project": where.key,
            "source": where.source,
            "remote": where.remote,
            "folder": where.folder,
            "machine": where.machine,
        }
        self.run("add_session", {"session": session, **added, "at": now})
        key, folder = self.one("find_session", {"session": session})
        values = {"session": session, "name": name, "parent": parent, "label": label, "spawn_id": spawn_id}
        (number,) = self.one("add_agent", {**values, "project": key, "at": now})
        state = ListState(TodoList())
        row = AgentRow(number, session, name, parent, label, key, "execute", now, 0, state, folder or key)
        self._add(AgentRecord(row, updated_at=now))
        return row

    def save_title(self, agent: AgentRow, title: str) -> None:
        """Give a session its title: the label of its first agent."""
        record = self.record(agent.number)
        record.row = replace(record.row, label=title)
        self.run("title_agent", {"agent": agent.number, "label": title})

    def save_list(self, agent: AgentRow, state: ListState, *, unseen: int, at: datetime) -> None:
        """Replace the agent's list. The events that led to it have to be added separately."""
        record, now = self.record(agent.number), microseconds(at)
        before, todos = record.row.state, state.todos
        if todos is not before.todos:
            record.has_new_list = True
            self.save_summary(agent.number, todos)
            record.updated_at = now
            self.marked[agent.session] = at
            if now - record.row.recent >= MINUTE or len(before.todos.items) != len(todos.items):
                record.has_moved = True
                record.row = replace(record.row, recent=max(now, record.row.recent))
        elif state.shown == before.shown and unseen == record.row.unseen:
            return
        record.row = replace(record.row, state=state, unseen=unseen)
        record.is_changed = True

    def add_snapshot(self, agent: int, todos: TodoList) -> None:
        """Keep a list as it is at its revision."""
        whole = encode_list(todos)
        total = checksum(list_head(agent, todos.revision), whole)
        self._send("add_snapshot", (agent, todos.revision, total, whole))

    def touch(self, agent: int, at: datetime) -> None:
        """Note that an agent was at work elsewhere than on its list: its session is not an old one."""
        record, now = self.record(agent), microseconds(at)
        if now > record.updated_at:
            record.updated_at = now
            record.is_changed = True
        if now - record.row.recent >= MINUTE:
            record.row = replace(record.row, recent=now)
            record.is_changed = record.has_moved = True

    def save_summary(self, agent: int, todos: TodoList) -> None:
        """Keep the list of an agent in short."""
        record = self.record(agent)
        record.summary = _summary.encode(summarise_list(todos))
        record.is_changed = True

    def save_activity(self, agent: int, activity: Activity) -> None:
        record = self.record(agent)
        record.activity = activity
        record.is_changed = True

    def find_checks(self, session: str) -> SessionChecks | None:
        """Return the checks of a session; None if there is no such session."""
        if session not in self._sessions:
            found = self.one("find_session_checks", (session,))
            if found is None:
                return None
            self._sessions[session] = SessionChecks(*found)
        return self._sessions[session]

    def find_item(self, agent: int, plan: str, item_id: str) -> KeptItem | None:
        """Return an item that a list of an agent has or had."""
        items = self._items.get((agent, plan))
        if items is None:
            items = self._items[agent, plan] = dict(self.all("items_of_plan", (agent, plan)))
        found = items.get(item_id)
        if isinstance(found, bytes):
            found = items[item_id] = decode_item(found)
        return found

    def has_new_blocked_item(self) -> bool:
        """True if an item was blocked in this transaction, and that is not written yet."""
        return any(kept.item.status is Status.BLOCKED for kept in self._new_items.values())

    def find_loaded(self, number: int) -> AgentRecord | None:
        """Return an agent that this transaction has read."""
        return self._agents.get(number)

    def save_item(self, agent: int, plan: str, item_id: str, kept: KeptItem) -> None:
        if (agent, plan) in self._items:
            self._items[agent, plan][item_id] = kept
        self._new_items[agent, plan, item_id] = kept

    def append(self, event: PendingEvent) -> None:
        self._new_events.append(event)
        self.header.last_seq = event.seq
        record = None if event.agent is None else self._agents.get(event.agent)
        if record is not None and record.last_at is not None:
            record.last_at = max(record.last_at, event.at)

    def flush(self) -> None:
        """Write all that waits."""
        self._flush(_ALL_TABLES)

    def _flush(self, tables: frozenset[str]) -> None:
        if self._new_events and "events" in tables:
            events, self._new_events = self._new_events, []
            self.insert("add_event", events)
        if self._new_items and "kept_items" in tables:
            items, self._new_items = self._new_items, {}
            rows: list[tuple[Any, ...]] = []
            for key, kept in items.items():
                rows.append((*key, kept.touched, kept.item.status.value, kept.is_gone, _item.encode(kept)))
            self.insert("save_kept_item", rows)
        if "agents" in tables or "lists" in tables:
            for record in self._agents.values():
                if record.is_changed:
                    self._write_agent(record)
        if "sessions" in tables:
            for session, checks in self._sessions.items():
                if checks.is_changed:
                    checks.is_changed = False
                    values = (checks.state, checks.check_name, checks.checks, checks.line, session)
                    self._send("save_session_checks", values)

    def insert(self, name: str, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows together, by a statement that inserts one."""
        for start in range(0, len(rows), _MOST_ROWS):
            part = rows[start : start + _MOST_ROWS]
            self.connection.execute(_for_rows(name, len(part)), [value for row in part for value in row])

    def _write_agent(self, record: AgentRecord) -> None:
        row, todos = record.row, record.row.state.todos
        record.is_changed = False
        shown = None if row.state.shown is None else encode(row.state.shown)
        total = checksum(row_head(row.number, row.name, todos.revision), shown or b"")
        state = (row.unseen, record.updated_at, todos.revision, total, shown)
        self._send("save_agent", (*state, record.memory, record.stored_activity, record.summary, row.number))
        if record.has_new_list:
            record.has_new_list = False
            whole = encode_list(todos)
            total = checksum(list_head(row.number, todos.revision), whole)
            self._send("save_list", (row.number, total, whole))
            if todos.revision % SNAPSHOT_EVERY == 0:
                self.add_snapshot(row.number, todos)
        if record.has_moved:
            record.has_moved = False
            self._send("save_place", (row.recent, len(todos.items), row.number))
            self._send("save_session_place", (row.recent, row.session, row.recent))


_ALL_TABLES: Final = frozenset({"agents", "lists", "events", "sessions", "kept_items"})
_MOST_ROWS: Final = 25
"""Rows of one INSERT: few enough that SQLite keeps the statements prepared."""

_VALUES: Final = re.compile(r"VALUES (\([?, ]+\))")


@cache
def _list_tables(name: str) -> frozenset[str]:
    """Return the tables in a named statement of which rows may wait to be written."""
    return frozenset() if name in _WHOSE else frozenset(_WAITING_TABLES.findall(queries()[name]))


@cache
def _for_rows(name: str, count: int) -> str:
    """Return a statement that inserts one row as one that inserts several."""
    return _VALUES.sub(lambda found: f"VALUES {', '.join([found[1]] * count)}", queries()[name])


def row_head(number: int, name: str, revision: int) -> str:
    return f"{number} {revision} {name}"


def list_head(number: int, revision: int) -> str:
    return f"{number} {revision}"


def read_list(number: int, revision: int, total: int | None, body: bytes | None) -> TodoList:
    """Return the list of an agent, which is at that revision."""
    if body is None:
        todos = TodoList()
    else:
        check_row(total, list_head(number, revision), body)
        todos = decode_list(body)
    if todos.revision != revision:
        raise RowDamaged("a list is not at the revision that its agent's row says")
    return todos


def list_row(row: Any) -> ListRow:
    number, session, name, parent, label, project, mode, updated, folder, *stored = row
    todos = read_list(number, *stored)
    return ListRow(number, session, name, parent, label, project, mode, moment(updated), todos, (), folder or "")


def _agent_record(columns: Sequence[Any]) -> AgentRecord:
    number, session, name, parent, label, project, mode, recent, unseen, updated_at, *rest = columns
    revision, total, shown, list_total, body, memory, activity, summary, has_open_tasks, position, at, folder = rest
    check_row(total, row_head(number, name, revision), shown or b"")
    known = None if shown is None else _decode_items(shown)
    state = ListState(read_list(number, revision, list_total, body), known)
    row = AgentRow(number, session, name, parent, label, project, mode, recent, unseen, state, folder or project)
    completed = None if position is None else CompletingWrite(position, moment(at))
    return AgentRecord(row, updated_at, memory, activity, summary, bool(has_open_tasks), completed)


def stored_call(owner: int, call_id: str, columns: Sequence[Any] | None) -> StoredCall | None:
    """Return what was answered to an agent, or about a list of tasks."""
    if columns is None or columns[1] is None:
        return None
    total, fingerprint, reply = columns
    readable(lambda reply: check_row(total, f"{owner} {call_id}", reply, fingerprint), reply)
    return StoredCall(fingerprint, reply)


def call_values(owner: int, call_id: str, call: StoredCall, at: datetime) -> tuple[Any, ...]:
    total = checksum(f"{owner} {call_id}", call.reply, call.fingerprint)
    return owner, call_id, microseconds(at), total, call.fingerprint, call.reply


def decode_activity(body: bytes | None) -> Activity:
    return NO_ACTIVITY if body is None else _activity.decode(body)


def decode_summary(body: bytes | None) -> ListSummary:
    return ListSummary() if body is None else _summary.decode(body)

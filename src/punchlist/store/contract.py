"""What the board asks of a store. Every engine keeps to it; `punchlist.testing.contract` tests it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

from punchlist.core.events import Draft, Event
from punchlist.core.todo import ListState, TodoList

if TYPE_CHECKING:
    from punchlist.store.flow_contract import FlowTable
    from punchlist.store.task_contract import TaskTransaction
    from punchlist.store.waiting import PlanTable, QuestionTable
    from punchlist.store.work import WorkTable

T = TypeVar("T")
Durability = Literal["full", "normal"]


class AgentRow(NamedTuple):
    """An agent as stored, with its list. `number` is the store's own key; `ledger` is its calls' tally, bytes to us."""

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
    ledger: bytes | None = None


class ListRow(NamedTuple):
    """An agent and its list, as a surface shows them."""

    number: int
    session: str
    agent: str
    parent: int | None
    label: str | None
    project: str
    mode: str
    updated_at: datetime
    todos: TodoList


class SessionRow(NamedTuple):
    id: str
    project: str
    created_at: datetime
    agents: int
    updated_at: datetime | None


class StoredCall(NamedTuple):
    fingerprint: bytes
    reply: bytes


class CostRow(NamedTuple):
    """What an agent's calls and turns left behind for the ledger."""

    session: str
    agent: str
    ledger: bytes | None
    state: bytes | None


class GuidanceTable(Protocol):
    """What guidance remembers of an agent, as bytes that the store does not read."""

    def get(self, number: int) -> bytes | None: ...
    def save(self, number: int, body: bytes) -> None: ...

    def costs(self, *, project: str | None = None, session: str | None = None) -> Sequence[CostRow]: ...


class ModeTable(Protocol):
    """The modes of agents, each with what was said when it was entered."""

    def entered(self, agent: int) -> dict[str, Any] | None: ...
    def save(self, agent: AgentRow, mode: str, entered: Mapping[str, Any] | None, *, at: datetime) -> None: ...


class LastWrite(NamedTuple):
    """A write of a list by its own agent: when it was made there, and by which call if it came from a transcript."""

    at: datetime
    call_id: str | None = None


class ListHistory(Protocol):
    """What the log tells of one list."""

    def last_write(self, agent: AgentRow) -> LastWrite | None:
        """When the agent last wrote its list, or said it again as it is; None if it never did."""
        ...

    def answered(self, project: str, name: str, call_id: str, fingerprint: bytes) -> str | None:
        """The session of the project in which an agent of that name, with a list, had this very call answered."""
        ...

    def wiped(self, agent: AgentRow, plan_id: str) -> tuple[int, int] | None:
        """How many items of a plan its dialect cleared when they were done, and the revision of the last time."""
        ...


class Transaction(Protocol):
    """What may be done within one transaction. All of it is committed together, or none of it."""

    @property
    def flows(self) -> FlowTable: ...
    @property
    def history(self) -> ListHistory: ...
    @property
    def guidance(self) -> GuidanceTable: ...
    @property
    def modes(self) -> ModeTable: ...
    @property
    def plans(self) -> PlanTable: ...
    @property
    def questions(self) -> QuestionTable: ...
    @property
    def has_tasks(self) -> bool:
        """Whether there is any list of tasks. Asked before `tasks`, it spares a process the loading of them."""
        ...

    @property
    def tasks(self) -> TaskTransaction:
        """Durable tasks, their lists and their edges."""
        ...

    @property
    def work(self) -> WorkTable:
        """What is remembered of tool calls."""
        ...

    def renew(self, agent: AgentRow, at: datetime) -> None:
        """The agent was seen at work: its leases begin anew. Costs next to nothing when it has none."""
        ...

    def agent(self, session: str, name: str) -> AgentRow | None: ...
    def session_project(self, session: str) -> str | None: ...
    def add_agent(
        self,
        session: str,
        name: str,
        *,
        project: str,
        at: datetime,
        parent: int | None = None,
        label: str | None = None,
        spawn_id: str | None = None,
    ) -> AgentRow: ...
    def spawned(self, session: str, parent: int, spawn_id: str) -> str | None: ...
    def names(self, session: str) -> set[str]: ...
    def save_list(
        self,
        agent: AgentRow,
        state: ListState,
        *,
        unseen: int,
        at: datetime,
        events: Sequence[Draft] = (),
        ledger: bytes | None = None,
    ) -> None:
        """Puts the list in place of the agent's last one. `events` lead from that one to this one, if they are known.

        They are to be added besides; here they only say what is new about the list. `ledger` is the new tally of
        the agent's calls; None leaves it as it is.
        """
        ...

    def save_ledger(self, agent: AgentRow, ledger: bytes | None) -> None:
        """The new tally of the agent's calls, after one that wrote no list."""
        ...

    def add_events(self, agent: AgentRow, drafts: Iterable[Draft], *, by: str, at: datetime) -> int:
        """The number of the last of them."""
        ...

    def add_report(
        self, agent: AgentRow, kind: str, data: Mapping[str, Any], *, by: str, at: datetime, hint: bytes
    ) -> int:
        """The number of an event that is not about a list; `hint` is stored beside it, for `work.hinted`."""
        ...

    def list_at(self, number: int, revision: int) -> TodoList | None: ...
    def last_change(self, number: int, by: str) -> int | None: ...
    def call(self, agent: AgentRow, call_id: str) -> StoredCall | None: ...
    def save_call(self, agent: AgentRow, call_id: str, call: StoredCall, *, at: datetime) -> None: ...
    def move_session(self, source: str, target: str) -> None: ...
    def copy_session(self, source: str, target: str, *, at: datetime) -> None: ...
    def prune(self, before: datetime, *, limit: int) -> int: ...


class Store(Protocol):
    """A board's state. Calls come from any thread; `transact` runs one piece of work at a time."""

    @property
    def path(self) -> str: ...
    @property
    def durable(self) -> bool: ...
    def transact(self, work: Callable[[Transaction], T], *, lasting: bool = True, lane: str = "") -> T:
        """Runs the work in a transaction and returns once that is committed. An exception takes it all back.

        What is not `lasting` is safe against the end of the process at once, against power loss within a second.
        It is for what was seen at runtime; lists, plans and tasks last. It does not wait for the disk because something
        else lasts, unless that came before it in the same `lane` (an agent, say) or in none.

        The work may be run again from its start, when what it was to be committed together with failed; only its
        last run counts. A transaction cannot be started inside another one.
        """
        ...

    def read(self, what: Callable[[Transaction], T]) -> T:
        """Runs a piece of work that only reads. It waits for no writer, and sees what was committed."""
        ...

    def agent(self, session: str, name: str) -> AgentRow | None: ...
    def list_at(self, number: int, revision: int) -> TodoList | None: ...
    def lists(
        self, *, project: str | None = None, session: str | None = None, limit: int = 20
    ) -> Sequence[ListRow]: ...
    def sessions(self, *, project: str | None = None, limit: int = 50) -> Sequence[SessionRow]: ...
    def events_after(self, after: int, limit: int = 1000) -> Sequence[Event]:
        """Events behind a cursor, in order."""
        ...

    def last_events(self, limit: int) -> Sequence[Event]: ...
    def last_seq(self) -> int: ...
    def wait(self, after: int, timeout: float | None) -> bool:
        """Blocks until there may be events behind `after`; False when the time is up or the store closes."""
        ...

    def close(self) -> None: ...

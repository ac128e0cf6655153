"""Append and read the log: events in order of their numbers, and the read models that change with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from punchlist.core.events import REPORTS, Draft, Event, fold
from punchlist.core.overview import (
    NO_ACTIVITY,
    SIGNS_OF_AGENT,
    Activity,
    AgentWork,
    KeptItem,
    as_new,
    find_item_id,
    fold_activity,
    fold_item,
)
from punchlist.core.todo import TodoList
from punchlist.store import records
from punchlist.store.records import (
    AgentRow,
    LastWrite,
    PendingEvent,
    RowDamaged,
    Rows,
    UnitOfWork,
    check_row,
    decode_activity,
    decode_item,
    decode_summary,
    list_head,
    moment,
    readable,
)


class KeptRow(Struct, frozen=True):
    """An item, with its agent and the plan that it belongs to."""

    agent: int
    plan: str
    kept: KeptItem


class PlacedItem(NamedTuple):
    """An item, with the project, the session and the name of its agent."""

    kept: KeptItem
    project: str
    session: str
    agent: str


class OverviewRows(Rows):
    def add_events(self, agent: int, events: Iterable[tuple[int, str, dict[str, Any]]], at: datetime, by: str) -> None:
        """Bring the read models of an agent up to date with events that are appended to its log."""
        record = self._rows.record(agent)
        activity = record.activity
        for seq, kind, data in events:
            # Only after an agent finished does it matter who acts: the agent that goes on, or a person.
            own = activity.state == "finished" and by == record.row.name
            activity = fold_activity(activity, kind, data, at, seq, own=own)
            item_id = find_item_id(kind, data)
            if item_id:
                plan = data.get("plan", activity.plan_id)  # an item that left its list may be of an earlier plan
                self._add_item_event(agent, plan, item_id, kind, data, at, seq)
            elif kind == "agent.spawned":
                name = data.get("child")
                child = self._rows.find_record(record.row.session, name) if isinstance(name, str) else None
                if child is not None:  # it may be started again
                    self._wake(child.row.number)
        if activity.rests != record.activity.rests:
            self._rows.marked[record.row.session] = at
        self._rows.save_activity(agent, activity)

    def _add_item_event(
        self, agent: int, plan: str, item_id: str, kind: str, data: dict[str, Any], at: datetime, seq: int
    ) -> None:
        known = self.find_item(agent, plan, item_id)
        if known is None and kind == "item.restored":
            earlier = self._rows.one("latest_kept_item", (agent, item_id))  # of the plan that left it out
            known = None if earlier is None else as_new(decode_item(earlier[0]))
        kept = fold_item(known, kind, data, at, seq)
        if kept is not None:
            self._rows.save_item(agent, plan, item_id, kept)

    def _wake(self, agent: int) -> None:
        activity = self.load_activity(agent)
        if activity.rests:
            self._rows.save_activity(agent, msgspec.structs.replace(activity, rests=False))

    def of_session(self, session: str, most: int) -> tuple[list[AgentWork], bool, bool]:
        """Return the root agents of a session and its latest subagents, so many at most, oldest first.

        Return also whether anything of it may wait on a person, and whether it has tasks.
        """
        agents: list[AgentWork] = []
        may_wait, has_tasks = self._rows.has_new_blocked_item(), False
        for *row, waits, works in self._rows.all("line_of_session", {"session": session, "most": most}):
            loaded = self._rows.find_loaded(row[0])  # it may have changed since
            models = row[6:] if loaded is None else [loaded.stored_activity, loaded.summary]
            agents.append(_agent_work([*row[:6], *models]))
            may_wait, has_tasks = may_wait or bool(waits), has_tasks or bool(works)
        return agents, may_wait, has_tasks

    def load_activity(self, agent: int) -> Activity:
        found = self._rows.find_number(agent)
        return NO_ACTIVITY if found is None else found.activity

    def all(self, *, session: str | None = None, project: str | None = None) -> Sequence[AgentWork]:
        """Return the agents of a session, of a project or of the board, oldest first."""
        if session is not None:
            rows = self._rows.all("overviews_of_session", {"session": session})
        elif project is not None:
            rows = self._rows.all("overviews_of_project", {"project": project})
        else:
            rows = self._rows.all("overviews_of_board")
        return [_agent_work(row) for row in rows]

    def find_item(self, agent: int, plan: str, item_id: str) -> KeptItem | None:
        return self._rows.find_item(agent, plan, item_id)

    def standing_items(self) -> Sequence[KeptRow]:
        """Return the items that are in progress, blocked or failed, and still on a list."""
        return [_kept_row(*row) for row in self._rows.all("standing_items")]

    def finished_items(self, session: str) -> Sequence[KeptRow]:
        """Return all completed items of a session, the latest first."""
        return [_kept_row(*row) for row in self._rows.all("finished_items", (session,))]

    def latest_items(self, limit: int, *, status: str | None = None) -> Sequence[PlacedItem]:
        """Return the items of all lists, past ones too, the last changed first; with a status, those in it."""
        rows = self._rows.all("latest_items", {"status": status, "limit": limit})
        return [PlacedItem(decode_item(body), *place) for body, *place in rows]

    def items_since(self, agent: int, after: int) -> Sequence[KeptRow]:
        """Return the items of an agent that an event after a cursor is about."""
        return [_kept_row(agent, *row) for row in self._rows.all("items_since", (agent, after))]

    def items_of_agent(self, agent: int) -> Sequence[KeptRow]:
        """Return every item that the lists of an agent ever had."""
        return [_kept_row(agent, *row) for row in self._rows.all("items_of_agent", (agent,))]

    def agents_since(self, after: int) -> dict[int, int]:
        """Return the agents that have events after a cursor, each with the number of its last one."""
        return dict(self._rows.all("agents_since", (after,)))

    def tasks_since(self, after: int) -> Sequence[tuple[int, int]]:
        """Return the tasks that events after a cursor are about, by the number of the list and the id."""
        return self._rows.all("tasks_since", (after,))

    def others_since(self, after: int) -> Sequence[tuple[int | None, int | None, int]]:
        """Return the tasks about which people have events after a cursor, each with the number of the last one."""
        return self._rows.all("others_since", (after,))

    def tasks_of_agents(self, agents: Iterable[int]) -> set[tuple[int, int]]:
        """Return the tasks about which any of these agents has an event."""
        return {(task_list, task) for agent in agents for task_list, task in self._rows.all("tasks_in_log", (agent,))}

    def standing_tasks(self) -> Sequence[tuple[int, int]]:
        """Return the tasks that are in progress, waiting or failed."""
        return self._rows.all("standing_tasks")

    def names_after(self, after: int, limit: int) -> Sequence[tuple[int, str, str]]:
        """Return the number, the session and the name of the agents after one, oldest first."""
        return self._rows.all("names_of_agents", {"after": after, "limit": limit})

    def rebuild(self, agent: int, todos: TodoList, log: Iterable[Event], woken: Iterable[int] = ()) -> None:
        """Replace the rows of an agent by a fold of its log. `woken` are the events by which its parent started it."""
        for name in ("clear_read_models", "delete_kept_items"):
            self._rows.run(name, {"agent": agent})
        starts = sorted(woken, reverse=True)
        for event in log:
            while starts and starts[-1] < event.seq:
                starts.pop()
                self._wake(agent)
            self.add_events(agent, [(event.seq, event.kind, dict(event.data))], event.at, event.by)
        if starts:
            self._wake(agent)
        self._rows.save_summary(agent, todos)


def _kept_row(agent: int, plan: str, body: bytes) -> KeptRow:
    return KeptRow(agent, plan, decode_item(body))


def _agent_work(row: Any) -> AgentWork:
    number, session, name, project, parent, started_for, activity, summary, *state = row
    known, short = decode_activity(activity), decode_summary(summary)
    return AgentWork(number, session, name, project, parent, started_for or "", known, short, *state)


_UNNUMBERED = frozenset({"list.confirmed", "list.refused"})
"""Kinds that tell the revision of a list, and did not make it."""

_UNMARKED = (
    REPORTS | _UNNUMBERED | {"agent.output", "approval.delta", "guidance.said", "finding.raised", "finding.cleared"}
)
"""Frequent kinds of which a status line shows nothing."""


def append_events(
    unit: UnitOfWork,
    drafts: Iterable[Draft],
    *,
    by: str,
    at: datetime,
    agent: int | None,
    task: tuple[int, int] | None = None,
) -> int:
    """Append events and return the number of the last one. `task` is the list and the id of the task they are about."""
    now, seq = records.microseconds(at), unit.last_seq()
    added: list[tuple[int, str, dict[str, Any]]] = []
    for kind, given in drafts:
        seq += 1
        data = {**given, "watched": True} if unit.watched and kind in SIGNS_OF_AGENT else given
        revision = None if task is not None or kind in _UNNUMBERED else data.get("revision")
        body = records.encode(data)
        total = records.checksum(event_head(seq, now, kind, by, agent, revision, 1), body)
        unit.append(PendingEvent(seq, now, kind, by, agent, revision, total, body, *(task or (None, None))))
        added.append((seq, kind, data))
    if agent is not None and added:
        OverviewRows(unit).add_events(agent, added, at, by)
        if any(kind not in _UNMARKED for _, kind, _ in added):
            unit.marked[unit.record(agent).row.session] = at
    return seq


def event_head(seq: int, at: int, kind: str, by: str, number: int | None, revision: int | None, version: int) -> str:
    return f"{seq} {at} {number} {revision} {version} {kind} {by}"


def _event(row: Any) -> Event:
    seq, at, kind, by, number, revision, version, total, data, project, session, agent = row
    check_row(total, event_head(seq, at, kind, by, number, revision, version), data)
    return Event(seq, records.moment(at), kind, by, project, session, agent, records.decode_data(data), version)


def in_order(after: int, rows: list[Any]) -> list[Event]:
    """Read events. Numbers that do not rise, as where a damaged page leads back, would loop for ever: they raise."""
    events = [readable(_event, row) for row in rows]
    for event in events:
        if event.seq <= after:
            raise RowDamaged("the events are out of order")
        after = event.seq
    return events


class ListPlace(NamedTuple):
    session: str
    agent: str


class ListHistory(Rows):
    """Reads the history of one list from the log."""

    def at(self, number: int, revision: int) -> TodoList | None:
        """Return an agent's list as it was at a revision; None if it has not come so far, or that part was pruned."""
        found = self._rows.one("snapshot_before", {"agent": number, "upto": revision})
        start, todos = (0, TodoList()) if found is None else readable(lambda row: _snapshot(number, row), found)
        for row in self._rows.all("events_of_list", {"agent": number, "after": start, "upto": revision}):
            todos = readable(lambda row, todos=todos: _fold_row(todos, row), row)
        return todos if todos.revision == revision else None

    def last_change(self, number: int, by: str) -> int | None:
        """Return the last revision by this author that was not undone since."""
        undone: set[int] = set()
        for revision, kind, data in self._rows.all("changes_by_author", {"agent": number, "author": by}):
            if kind == "list.undone":
                undone.add(readable(records.decode_data, data)["undid"])
            elif revision not in undone:
                return revision
        return None

    def lists_changed_by(self, by: str, *, project: str, session: str | None = None) -> list[ListPlace]:
        """Return the lists that have a change by this author to undo, the latest first."""
        if session is None:
            rows = self._rows.all("lists_of_project_changed_by", {"author": by, "project": project})
        else:
            rows = self._rows.all("lists_of_session_changed_by", {"author": by, "session": session})
        return [ListPlace(where, name) for number, where, name in rows if self.last_change(number, by) is not None]

    def last_write(self, agent: AgentRow) -> LastWrite | None:
        """Return when the agent last wrote its list, or confirmed it as it is; None if it never did."""
        values = {"agent": agent.number, "author": agent.name}
        found = self._rows.one("last_write", values)
        written = None if found is None else readable(_write, found)
        again = self._rows.one("said_again", values)
        confirmed = None if again is None else LastWrite(records.moment(again[0]))
        writes = [write for write in (written, confirmed) if write is not None]
        return max(writes, key=lambda write: write.at, default=None)

    def find_session_of_call(self, project: str, name: str, call_id: str, fingerprint: bytes) -> str | None:
        """Return the project's session in which an agent of that name has a list and got this call answered."""
        values = {"project": project, "name": name, "call_id": call_id, "fingerprint": fingerprint}
        return self._rows.value("answered", values)

    def count_wiped(self, agent: AgentRow, plan_id: str) -> tuple[int, int] | None:
        """Count the items of a plan that its dialect cleared when done; return the last such revision too."""
        first = plan_id.removeprefix("p")
        if not first.isdecimal():
            return None
        found = self._rows.all("wiped_from_plan", {"agent": agent.number, "first": int(first), "most": 2**62})
        if not found:
            return None
        return sum(len(readable(records.decode_data, data)["ids"]) for _, data in found), found[-1][0]


def _fold_row(todos: TodoList, row: Any) -> TodoList:
    seq, at, kind, by, number, revision, version, total, data = row
    check_row(total, event_head(seq, at, kind, by, number, revision, version), data)
    return fold(todos, kind, records.decode_data(data))


def _snapshot(number: int, row: Any) -> tuple[int, TodoList]:
    revision, total, body = row
    check_row(total, list_head(number, revision), body)
    return revision, records.decode_list(body)


def _write(row: Any) -> LastWrite:
    """Read a write. A list that came from a transcript was written when that says, not when it was imported."""
    at, data = row
    facts = records.decode_data(data)
    written_at = facts.get("written_at")
    written = records.moment(at) if written_at is None else datetime.fromisoformat(written_at)
    return LastWrite(written, facts.get("call_id"))


class LogQueries(Rows):
    """Reads the log of an agent, a session or a project, and stores marks: the events up to which a reader has read."""

    def page(self, session: str | None, project: str | None, after: int, limit: int = 1000) -> Sequence[Event]:
        """Return the events of all agents of a session, else of a project, after a cursor, in order."""
        name = "log_of_project" if session is None else "log_of_session"
        values = {"session": session, "project": project, "after": after, "limit": limit}
        return in_order(0, self._rows.all(name, values))

    def of_agent(self, agent: int) -> Sequence[Event]:
        return in_order(0, self._rows.all("log_of_agent", (agent,)))

    def latest(self, agents: Iterable[int], limit: int, *, before: int = 2**62) -> Sequence[Event]:
        """Return the latest events of these agents, the last one first; only those before an event, if it is given."""
        values = {"before": before, "limit": limit}
        rows = [row for agent in agents for row in self._rows.all("latest_of_agent", {"agent": agent, **values})]
        return in_order(0, sorted(rows, key=lambda row: row[0])[-limit:])[::-1]

    def maker_of(self, agent: int, revision: int) -> Event | None:
        """Return the event that closed the change of an agent's list to a revision; None if it is not in the log."""
        found = self._rows.one("maker_of_revision", {"agent": agent, "revision": revision})
        return None if found is None else in_order(0, [found])[0]

    def of_task(self, task_list: int, task: int) -> Sequence[Event]:
        return in_order(0, self._rows.all("events_of_one_task", (task_list, task)))

    def findings(self, agent: int, after: int) -> tuple[Sequence[Event], int]:
        """Return the findings about an agent after a cursor, raised and cleared, and the cursor to go on from."""
        rows = self._rows.all("findings_of_agent", {"agent": agent, "after": after})
        return in_order(0, rows), self._rows.last_seq()

    def regraded_items(self, agent: int, revision: int) -> Sequence[Event]:
        """Return the changes of an agent's items after a revision that gave them another grade, in order."""
        return in_order(0, self._rows.all("regraded_items", {"agent": agent, "after": revision}))

    def authors_of_items(self, agent: int, revision: int, *, but: str, kind: str = "") -> Mapping[str, str]:
        """Return the authors, but for one, of the last changes (of a kind) to an agent's items after a revision."""
        values = {"agent": agent, "after": revision, "author": but}
        events = in_order(0, self._rows.all("item_changes_of_others", values))
        meant = (event for event in events if kind in ("", event.kind))
        return {event.data["id"] if "id" in event.data else event.data["item"]["id"]: event.by for event in meant}

    def left_out_items(self, agent: int, revision: int, *, author: str) -> frozenset[str]:
        """Return the ids of items that this author's rewrites left out of an agent's list after a revision."""
        values = {"agent": agent, "after": revision, "author": author}
        return frozenset(event.data["id"] for event in in_order(0, self._rows.all("left_out_items", values)))

    def regraded_tasks(self, agent: int, after: int) -> tuple[Sequence[Event], int]:
        """Return changes of the grades of an agent's tasks after a cursor, and the cursor to go on from."""
        rows = self._rows.all("regraded_tasks", {"agent": agent, "after": after})
        return in_order(0, rows), self._rows.last_seq()

    def last_kind(self, agent: int) -> str:
        """Return the kind of the latest event of an agent; empty if there is none."""
        return self._rows.value("last_kind", {"agent": agent}) or ""

    def last_time(self, agent: int) -> datetime | None:
        """Return the time of the latest event of an agent; None if there is none."""
        record = self._rows.record(agent)
        if record.last_at is None:
            (record.last_at,) = self._rows.one("last_time", {"agent": agent})
        return None if record.last_at is None else moment(record.last_at)

    def mark(self, name: str) -> int:
        """Return the event up to which this reader has read, 0 at first."""
        return self._rows.value("find_mark", (name,)) or 0

    def save_mark(self, name: str, seq: int) -> None:
        self._rows.run("save_mark", (name, seq))

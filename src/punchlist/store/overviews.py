"""Update and read the read models: a summary of each agent's activity and list, and every item it ever had.

They change in the transaction that appends the events, and can be rebuilt from the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from punchlist.core.events import Event
from punchlist.core.overview import (
    NO_ACTIVITY,
    Activity,
    KeptItem,
    ListSummary,
    as_new,
    find_item_id,
    fold_activity,
    fold_item,
)
from punchlist.core.todo import TodoList
from punchlist.store.agents import decode_activity, decode_item, decode_summary
from punchlist.store.records import Rows


class OverviewRow(Struct, frozen=True):
    """An agent with its read models; `started_for` is the key of the item that its parent started it for."""

    number: int
    session: str
    agent: str
    project: str
    parent: int | None
    started_for: str
    activity: Activity
    list: ListSummary


class KeptRow(Struct, frozen=True):
    """An item, with its agent and the plan that it belongs to."""

    agent: int
    plan: str
    kept: KeptItem


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
                self._wake_child(agent, data.get("child"))
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

    def _wake_child(self, parent: int, name: Any) -> None:
        """Mark a child that is started again as at work."""
        session = self._rows.record(parent).row.session
        child = self._rows.find_record(session, name) if isinstance(name, str) else None
        if child is not None:
            self._wake(child.row.number)

    def _wake(self, agent: int) -> None:
        activity = self.load_activity(agent)
        if activity.rests:
            self._rows.save_activity(agent, msgspec.structs.replace(activity, rests=False))

    def of_session(self, session: str, most: int) -> tuple[list[OverviewRow], bool, bool]:
        """Return the root agents of a session and its latest subagents, so many at most, oldest first.

        Return also whether anything of it may wait on a person, and whether it has tasks.
        """
        rows = self._rows.all("line_of_session", {"session": session, "most": most})
        agents = [overview_row(row[:-2]) for row in rows]
        return agents, any(row[-2] for row in rows), any(row[-1] for row in rows)

    def load_activity(self, agent: int) -> Activity:
        found = self._rows.find_number(agent)
        return NO_ACTIVITY if found is None else found.activity

    def all(self, *, session: str | None = None, project: str | None = None) -> Sequence[OverviewRow]:
        """Return the agents of a session, of a project or of the board, oldest first."""
        return [overview_row(row) for row in self._rows.all("overviews", {"session": session, "project": project})]

    # Items.

    def find_item(self, agent: int, plan: str, item_id: str) -> KeptItem | None:
        return self._rows.find_item(agent, plan, item_id)

    def standing_items(self) -> Sequence[KeptRow]:
        """Return the items that are in progress, blocked or failed, and still on a list."""
        return [KeptRow(agent, plan, decode_item(body)) for agent, plan, body in self._rows.all("standing_items")]

    def finished_items(self, session: str) -> Sequence[KeptRow]:
        """Return all completed items of a session, the latest first."""
        return [
            KeptRow(agent, plan, decode_item(body))
            for agent, plan, body in self._rows.all("finished_items", (session,))
        ]

    def latest_items(self, limit: int, *, status: str | None = None) -> Sequence[KeptRow]:
        """Return the items of all lists, past ones too, the last changed first; with a status, those in it."""
        rows = self._rows.all("latest_items", {"status": status, "limit": limit})
        return [KeptRow(agent, plan, decode_item(body)) for agent, plan, body in rows]

    def places(self) -> dict[int, tuple[str, str, str]]:
        """Return the project, the session and the name of every agent, by its number."""
        return {number: (project, session, name) for number, project, session, name in self._rows.all("agent_places")}

    def items_since(self, agent: int, after: int) -> Sequence[KeptRow]:
        """Return the items of an agent that an event after a cursor is about."""
        return [KeptRow(agent, plan, decode_item(body)) for plan, body in self._rows.all("items_since", (agent, after))]

    def items_of_agent(self, agent: int) -> Sequence[KeptRow]:
        """Return every item that the lists of an agent ever had."""
        return [KeptRow(agent, plan, decode_item(body)) for plan, body in self._rows.all("items_of_agent", (agent,))]

    # The log since a cursor.

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

    def task_lists(self) -> dict[str, tuple[int, str]]:
        """Return the number and the project of each list of tasks, by its name."""
        return {name: (number, project) for number, name, project in self._rows.all("names_of_task_lists")}

    # Rebuilding.

    def names(self) -> Sequence[tuple[str, str]]:
        """Return the session and the name of each agent, oldest first."""
        return self._rows.all("names_of_agents")

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


def overview_row(row: Any) -> OverviewRow:
    number, session, name, project, parent, started_for, activity, summary = row
    known, short = decode_activity(activity), decode_summary(summary)
    return OverviewRow(number, session, name, project, parent, started_for or "", known, short)

"""Write the lines of sessions that a transaction has changed, by the rule of `core/session_line.py`."""

from __future__ import annotations

from collections.abc import Container, Iterable
from datetime import datetime
from typing import NamedTuple

import msgspec

from punchlist.core.overview import (
    AgentState,
    AgentWork,
    ListSummary,
    SessionLine,
    find_shown_agent,
    is_at_work,
    prepare_line,
    show_left_open,
    summarise_list,
)
from punchlist.core.task import Task, find_shown_focus, show_tasks
from punchlist.core.todo import Status, TodoList
from punchlist.store.agents import SessionChecks
from punchlist.store.current_work import load_waits, read_current_work
from punchlist.store.records import RowDamaged, microseconds
from punchlist.store.transaction import Transaction

_MOST_SUBAGENTS = 20
"""Subagents of a session that are looked at, the latest: a session may have had hundreds."""

_MOST_AGENTS = 1000

_NOTHING = SessionLine()
_encode = msgspec.json.Encoder().encode


def write_lines(tx: Transaction) -> None:
    """Write the lines of the sessions that the transaction marked; one that is equal to the last is not written."""
    if not tx.marked:
        return
    now = max(tx.marked.values())
    for session in tx.marked:
        checks = tx.find_checks(session)
        if checks is None:  # the session was deleted
            continue
        try:
            line = _load_line(tx, session, checks, now)
            text = "" if line == _NOTHING else _encode(line).decode()
        except RowDamaged:
            text = None  # of another agent, perhaps: what shows in a status line must not stop this one
        if text != checks.line:
            checks.line = text
            checks.is_changed = True
    tx.marked.clear()


def load_line(tx: Transaction, session: str, now: datetime, *, agent: str | None = None) -> SessionLine | None:
    """Return the line of a session as its rows are now, or that of one of its agents; None if it is not there."""
    checks = tx.find_checks(session)
    return None if checks is None else _load_line(tx, session, checks, now, agent)


class SavedLine(NamedTuple):
    """The line of a session as it was written: JSON, empty for nothing to show, None if it was never written."""

    session: str
    state: str
    line: str | None


def list_lines(tx: Transaction, since: datetime, others: Iterable[str], limit: int) -> list[SavedLine]:
    """Return the lines of the sessions with a change since a time, the latest first, and of some other ones."""
    rows = tx.all("lines_of_recent_sessions", {"since": microseconds(since), "limit": limit})
    found = {row[0]: SavedLine(*row) for row in rows}
    for session in others:
        checks = None if session in found else tx.find_checks(session)
        if checks is not None:
            found[session] = SavedLine(session, checks.state, checks.line)
    return list(found.values())


def _load_line(
    tx: Transaction, session: str, checks: SessionChecks, now: datetime, agent: str | None = None
) -> SessionLine:
    rows, may_wait, has_tasks = tx.overviews.of_session(session, _MOST_SUBAGENTS)
    work = _load_work_with_tasks(tx, session) if has_tasks else {}
    agents: list[AgentWork] = []
    for row in rows:
        summary = _summarise(*work[row.number], row.activity.state) if row.number in work else row.list
        agents.append(AgentWork(row.number, row.agent, row.parent, row.activity, summary))
    if agent is not None:
        agents = [one._replace(parent=None) for one in agents if one.name == agent]
    shown = find_shown_agent(agents)
    if shown is not None:
        at_work = (row for row in rows if row.parent == shown.number and is_at_work(row.activity, now))
        started_for = {row.started_for for row in at_work if row.started_for}
        if (started_for and shown.list.focus is None) or shown.activity.state == "finished":
            # The list itself has to be read: its focus does not say what is under way.
            todos, tasks = work.get(shown.number) or (_load_list(tx, session, shown.name), ())
            summary = _summarise(todos, tasks, shown.activity.state, started_for)
            agents[agents.index(shown)] = shown._replace(list=summary)
    # What waits is read for the whole board, so only where this session has any.
    waits = load_waits(tx, now, session=session) if may_wait else ()
    return prepare_line(agents, state=checks.state, check=checks.check_name, waits=waits, now=now)


def _load_work_with_tasks(tx: Transaction, session: str) -> dict[int, tuple[TodoList, tuple[Task, ...]]]:
    """Return the lists and tasks of the agents that have tasks."""
    rows = read_current_work(tx, session=session, limit=_MOST_AGENTS, outlines=True)
    return {row.number: (row.todos, row.tasks) for row in rows if row.tasks}


def _load_list(tx: Transaction, session: str, agent: str) -> TodoList:
    row = tx.agent(session, agent)
    return TodoList() if row is None else row.state.todos


def _summarise(
    todos: TodoList, tasks: tuple[Task, ...], state: AgentState, started_for: Container[str] = ()
) -> ListSummary:
    """Return items and tasks in short. A pending item that a subagent at work was `started_for` can be the focus."""
    helped = {item.id: ("",) for item in todos.items if f"{todos.plan_id}/{item.id}" in started_for}
    shown = show_left_open(show_tasks(todos, tasks), state, helped)
    focus = None if state == "finished" else find_shown_focus(todos, tasks)
    pending = (item for item in shown.items if item.status is Status.PENDING and item.id in helped)
    return summarise_list(shown, focus or shown.focus or next(pending, None))

"""Offer and take over the open items of a session that ended, in the same worktree.

Nothing is moved while the old session lives. Who continues first has the items: they are cancelled on the old list in
the same transaction.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from punchlist.agent.context import AgentBoard, AgentRunner
from punchlist.agent.edits import apply_edit
from punchlist.agent.turns import spend
from punchlist.core.apply import Applied, items_known_to_agent, take_over
from punchlist.core.commands import Drop, Edit, Note, Problem, Query, Target
from punchlist.core.presence import GONE_SHOWN
from punchlist.core.programs import short_id
from punchlist.core.todo import ListState
from punchlist.dialects.base import ContinueWork, Invalid, Reply, Result, reply_invalid
from punchlist.errors import EditRefused, SessionUnknown
from punchlist.guidance.ledger import size_of
from punchlist.guidance.words import offer_leftovers
from punchlist.settings.environment import find_project, name_path_session
from punchlist.settings.table import read_setting
from punchlist.store import AgentRow, Transaction
from punchlist.store.hosts import Conversation

OLDEST: Final = timedelta(days=14)
"""Items of an older session are not offered."""

_MOST_SESSIONS: Final = 20
_MAIN: Final = "main"
"""The first agent of a session, whose list goes on."""


class Continued(NamedTuple):
    """The session that has the items now, and what became of them."""

    into: str
    sentence: str


# Who left what.


def find_leftovers(tx: Transaction, folder: str, now: datetime, *, but: str = "") -> Iterator[AgentRow]:
    """Yield the agents of sessions in a worktree that ended with open items, the latest first."""
    for row in _list_agents(tx, folder, now, but):
        if not find_obstacle(tx, row, now):
            yield row


def find_heir(tx: Transaction, folder: str, now: datetime, *, but: str = "") -> AgentRow | None:
    """Return the agent at work in a worktree that a person means: that of the latest session that lives."""
    return next((row for row in _list_agents(tx, folder, now, but) if _lives(tx, row, now)), None)


def _list_agents(tx: Transaction, folder: str, now: datetime, but: str) -> Iterator[AgentRow]:
    sessions = tx.list_sessions_in(folder, now - OLDEST, but=but, limit=_MOST_SESSIONS)
    return (row for session in sessions if (row := tx.agent(session, _MAIN)) is not None)


def find_obstacle(tx: Transaction, row: AgentRow, now: datetime) -> str:
    """Return why the items of a session cannot be taken over; empty if it ended with open ones."""
    if not row.state.todos.open_items:
        return "has no open items: they are done or were taken"
    if row.session in (name_path_session(row.project), name_path_session(row.folder)):
        return "is a person's own list, which does not end"
    if tx.overviews.load_activity(row.number).copy_of:
        return "is read-only: only its log is known"
    return "still lives, so its items stay with it; end it first" if _lives(tx, row, now) else ""


def _lives(tx: Transaction, row: AgentRow, now: datetime) -> bool:
    """True if a session may go on: one of its conversations has not ended, or it was heard of lately."""
    seen = tx.hosts.conversations(row.session)
    if seen:
        return any(one.state != "ended" and _runs(one, now) for one in seen)
    activity = tx.overviews.load_activity(row.number)
    if activity.state == "finished" or activity.host_state == "gone" or activity.copy_of:
        return False
    return activity.at is not None and now - activity.at < GONE_SHOWN


def _runs(one: Conversation, now: datetime) -> bool:
    if one.pid is None or not os.path.exists("/proc/self"):
        return now - one.seen_at < GONE_SHOWN
    return os.path.exists(f"/proc/{one.pid}")


def write_offer(agent: AgentRunner) -> str | None:
    """Return what a new conversation is told of the newest leftovers, and add its size to the ledger; None for none."""
    if agent.profile == "off" or not agent.offered or not read_setting("leftovers"):
        return None

    def read(tx: Transaction) -> AgentRow | None:
        return next(find_leftovers(tx, agent.place.folder, agent.now(), but=agent.session), None)

    row = agent.board.store.read(read)
    if row is None:
        return None
    text = offer_leftovers(short_id(row.session), row.state.todos.open_items)
    agent.attempt(lambda ctx: spend(agent, ctx, {"leftovers": size_of(text)}), None)
    return text


# Taking over.


def continue_work(tx: Transaction, into: AgentRow, wanted: str, now: datetime, *, by: str) -> Continued:
    """Move the open items of an ended session to an agent's list, or decline them; raise `EditRefused`.

    `wanted` is its id or a part of it, empty for the newest that is offered, `none` to decline all that are.
    """
    offered = list(find_leftovers(tx, into.folder, now, but=into.session))
    if wanted == "none":
        for row in offered:
            tx.decline_session(row.session)
        return Continued(into.session, "Declined: what ended sessions left here is offered no more.")
    source = _find_source(tx, into, wanted, offered)
    if source is None:
        raise EditRefused(problem="There is no such session that ended here with open items.")
    if obstacle := find_obstacle(tx, source, now):
        raise EditRefused(problem=f"Session {short_id(source.session)} {obstacle}.")
    items = source.state.todos.open_items
    applied, renamed = take_over(into.state, source.state.todos, now, source=f"session {source.session}")
    targets = [Target(item=item.id, by="id") for item in items]
    note = f"continued in session {into.session}"
    closing = Edit(tuple(change for one in targets for change in (Note(one, note), Drop(one))))
    closed = apply_edit(source.state, closing, now, by=by, own=False)
    # Under its own name the old agent would seem to be at work.
    _save(tx, source, closed, now, by=f"session {short_id(into.session)}" if by == source.name else by)
    shown = None if by == into.name else items_known_to_agent(into.state, applied.state.todos)
    _save(tx, into, applied._replace(state=ListState(applied.state.todos, shown)), now, by=by)
    ids = "".join(f"; {old} is {new} now" for old, new in renamed.items())
    count = "1 item" if len(items) == 1 else f"{len(items)} items"
    return Continued(into.session, f"Took over {count} of session {short_id(source.session)}{ids}.")


def _find_source(tx: Transaction, into: AgentRow, wanted: str, offered: Sequence[AgentRow]) -> AgentRow | None:
    """Return the agent of the session that is meant: one that is offered, else any other one of the project."""
    named = tx.list_sessions_by_part(wanted, _MOST_SESSIONS) if wanted else []
    rows = [row for session in named if (row := tx.agent(session, _MAIN)) is not None]
    known = [row for row in offered if not wanted or row.session in named]
    return next((row for row in (*known, *rows) if row.project == into.project and row.number != into.number), None)


def _save(tx: Transaction, row: AgentRow, applied: Applied, now: datetime, *, by: str) -> None:
    tx.save_list(row, applied.state, unseen=row.unseen, at=now)
    tx.add_events(row, applied.events, by=by, at=now)


def continue_for_person(board: AgentBoard, source: str, *, folder: str, into: str = "", by: str) -> Continued:
    """Take over the open items of an ended session for a person, as `continue_work` does; raise what it raises.

    They go into a session, by default the one at work in the worktree, else onto the person's own list.
    """
    place = find_project(folder)

    def work(tx: Transaction) -> Continued:
        now, own = board.now(), name_path_session(place.key)
        row = tx.agent(into, _MAIN) if into else find_heir(tx, place.folder, now, but=source)
        if into not in ("", own) and row is None:
            raise SessionUnknown(session=into)
        row = row or tx.agent(own, _MAIN) or tx.add_agent(own, _MAIN, project=place, at=now)
        return continue_work(tx, row, source, now, by=by)

    return board.store.transact(work)


def answer_continue(
    agent: AgentRunner, call: ContinueWork
) -> Callable[[Transaction, AgentRow, datetime], tuple[Reply, bool]]:
    """Return the function that answers a model which takes leftovers over, or declines them."""

    def answer(tx: Transaction, row: AgentRow, now: datetime) -> tuple[Reply, bool]:
        try:
            done = continue_work(tx, row, call.session, now, by=agent.name)
        except EditRefused as error:
            return reply_invalid(Invalid(f"Nothing changed: {error}", code=error.code)), False
        after = tx.record(row.number).row.state.todos
        said = Problem("continued", done.sentence)
        return agent.dialect.render(
            Result(Query(), row.state.todos, after, (said,), now=now)
        ), after is not row.state.todos

    return answer

"""Offer and take over the open items of a session that ended, in the same worktree.

Nothing is moved while the old session lives. Who continues first has the items: they are cancelled on the old list in
the same transaction.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from punchlist.agent.context import AgentBoard, AgentRunner
from punchlist.agent.edits import apply_edit
from punchlist.agent.turns import spend
from punchlist.core.apply import items_known_to_agent, take_over
from punchlist.core.commands import Drop, Edit, Note, Problem, Query, Target
from punchlist.core.presence import GONE_SHOWN
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

NONE: Final = "none"
"""Stands for no session: the leftovers are declined."""


class Continued(Struct, frozen=True):
    """Items that were taken over, as sentences say it. `into` is the session that has them now."""

    source: str
    into: str
    count: int
    renamed: dict[str, str]

    @property
    def sentence(self) -> str:
        """Say how many items came from where, and which ids are new."""
        ids = ", ".join(f"{old} is {new} now" for old, new in self.renamed.items())
        items = "1 item" if self.count == 1 else f"{self.count} items"
        return f"Took over {items} of session {short_id(self.source)}{f'; {ids}' if ids else ''}."


def short_id(session: str) -> str:
    """Return the end of a session's id, by which people and models name it."""
    return session[-6:]


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
    if one.pid is None:
        return now - one.seen_at < GONE_SHOWN
    try:
        os.kill(one.pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


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


def continue_work(
    tx: Transaction, into: AgentRow, wanted: str, now: datetime, *, by: str, shows: bool = False
) -> Continued:
    """Move the open items of an ended session to an agent's list; raise `EditRefused`.

    `wanted` is its id or a part of it, empty for the newest that is offered. `shows`: the agent is shown its list.
    """
    source = _find_source(tx, into, wanted, now)
    if obstacle := find_obstacle(tx, source, now):
        raise EditRefused(problem=f"Session {short_id(source.session)} {obstacle}.")
    taken = take_over(into.state, source.state.todos, now, source=f"session {source.session}")
    # Under its own name the old agent would seem to be at work.
    _close(tx, source, into, now, by=f"session {short_id(into.session)}" if by == source.name else by)
    known = None if shows else items_known_to_agent(into.state, taken.applied.state.todos)
    tx.save_list(into, ListState(taken.applied.state.todos, known), unseen=0 if shows else into.unseen, at=now)
    tx.add_events(into, taken.applied.events, by=by, at=now)
    return Continued(source.session, into.session, len(taken.items), taken.renamed)


def decline(tx: Transaction, into: AgentRow, now: datetime) -> int:
    """Offer the present leftovers of a worktree no more; return how many sessions they are of."""
    sessions = [row.session for row in find_leftovers(tx, into.folder, now, but=into.session)]
    for session in sessions:
        tx.decline_session(session)
    return len(sessions)


def _find_source(tx: Transaction, into: AgentRow, wanted: str, now: datetime) -> AgentRow:
    offered = list(find_leftovers(tx, into.folder, now, but=into.session))
    found = [row for row in offered if row.session.startswith(wanted) or row.session.endswith(wanted)]
    if found:
        return found[0]
    named = [wanted, *tx.list_sessions_by_part(wanted, 2)] if wanted else []
    rows = [row for session in named if (row := tx.agent(session, _MAIN)) is not None and row.number != into.number]
    if not rows or rows[0].project != into.project:
        raise EditRefused(
            problem="No session that ended here has open items" + (f" and is `{wanted}`." if wanted else ".")
        )
    return rows[0]


def _close(tx: Transaction, source: AgentRow, into: AgentRow, now: datetime, *, by: str) -> None:
    """Cancel what was taken over on the old list, with a note that says where it is."""
    note = f"continued in session {into.session}"
    targets = [Target(item=item.id, by="id") for item in source.state.todos.open_items]
    operations = [change for one in targets for change in (Note(one, note), Drop(one))]
    applied = apply_edit(source.state, Edit(tuple(operations)), now, by=by, own=False)
    tx.save_list(source, applied.state, unseen=source.unseen, at=now)
    tx.add_events(source, applied.events, by=by, at=now)


def continue_for_person(board: AgentBoard, source: str, *, folder: str, into: str = "", by: str) -> Continued | None:
    """Take over the open items of an ended session for a person; return None if they declined with `none`.

    They go into a session, by default the one at work in the worktree, else onto the person's own list.
    """
    place = find_project(folder)

    def work(tx: Transaction) -> Continued | None:
        now = board.now()
        own = name_path_session(place.key)
        row = tx.agent(into, _MAIN) if into else find_heir(tx, place.folder, now, but=source)
        if into not in ("", own) and row is None:
            raise SessionUnknown(session=into)
        row = row or tx.agent(own, _MAIN) or tx.add_agent(own, _MAIN, project=place, at=now)
        if source == NONE:
            decline(tx, row, now)
            return None
        return continue_work(tx, row, source, now, by=by)

    return board.store.transact(work)


def answer_continue(
    agent: AgentRunner, call: ContinueWork
) -> Callable[[Transaction, AgentRow, datetime], tuple[Reply, bool]]:
    """Return the function that answers a model which takes leftovers over, or declines them."""

    def answer(tx: Transaction, row: AgentRow, now: datetime) -> tuple[Reply, bool]:
        if call.session == NONE:
            count = decline(tx, row, now)
            return Reply(f"Declined: {count} sessions with open items are offered no more.", {"declined": count}), False
        try:
            done = continue_work(tx, row, call.session, now, by=agent.name, shows=True)
        except EditRefused as error:
            return reply_invalid(Invalid(f"Nothing changed: {error}", code=error.code)), False
        after = tx.record(row.number).row.state.todos
        said = Problem("continued", done.sentence, data={"items": done.renamed})
        return agent.dialect.render(Result(Query(), row.state.todos, after, (said,), now=now)), True

    return answer

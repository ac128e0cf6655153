"""Offer and take over the open items of a session that ended, in the same worktree.

Nothing is moved while the old session lives. Who continues first has the items: they are cancelled on the old list in
the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from punchlist.agent.context import AgentBoard, AgentRunner, save_applied
from punchlist.agent.edits import apply_edit
from punchlist.agent.processes import join_looks, look_up_process
from punchlist.agent.turns import spend
from punchlist.core.apply import items_known_to_agent, take_over
from punchlist.core.commands import Drop, Edit, Note, Problem, Query, Target
from punchlist.core.presence import GONE_SHOWN, PresenceState, decide_state
from punchlist.core.programs import short_id
from punchlist.core.todo import ListState, Status
from punchlist.dialects.base import ContinueWork, Invalid, Reply, Result, reply_invalid
from punchlist.errors import EditRefused, SessionUnknown
from punchlist.guidance.ledger import size_of
from punchlist.guidance.words import offer_leftovers, quote_items
from punchlist.settings.environment import find_project, name_path_session
from punchlist.settings.table import read_setting
from punchlist.store import AgentRow, Transaction
from punchlist_statusline import find_process

OLDEST: Final = timedelta(days=14)
"""Items of an older session are not offered."""

_MOST_SESSIONS: Final = 20
_MOST_DONE: Final = 20
"""Items that were done there and are named to whoever takes over the others."""

_MAIN: Final = "main"
"""The first agent of a session, whose list goes on."""


class Continued(NamedTuple):
    """The session that has the items now, and what became of them."""

    into: str
    sentence: str
    done: str = ""
    """What was done there: a model that begins from the first request would do it again."""


# Who left what.


def find_leftovers(tx: Transaction, folder: str, now: datetime, *, but: str = "") -> Iterator[AgentRow]:
    """Yield the agents of sessions in a worktree that ended with open items, the latest first."""
    for row in _list_agents(tx, folder, now, but):
        if not find_obstacle(tx, row, now):
            yield row


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
    """True if a session may go on: a process of it runs, or it was heard of lately and none can be looked up."""
    activity, memory = tx.overviews.load_activity(row.number), tx.memory.load(row.number)
    seen = tx.hosts.conversations(row.session)
    living = [one for one in seen if one.event and one.state != "ended"]
    look = join_looks({find_process(memory.process), *(look_up_process(tx, one, now) for one in living)})
    heard_at = memory.heard_at or activity.at or now
    # A host that told of its end did so after all that it told before.
    has_ended = activity.host_state == "gone" and (activity.host_at is None or activity.host_at >= heard_at)
    has_left = bool(seen) and not living and look != "runs"
    said: PresenceState = "gone" if has_ended or has_left or not activity.is_live else "idle"
    quiet = now - heard_at
    state = decide_state(said, look, quiet.total_seconds())
    return state == "idle" or (state == "unknown" and quiet < GONE_SHOWN)


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
    tx: Transaction, into: AgentRow, wanted: str, now: datetime, *, by: str, is_person: bool = False
) -> Continued:
    """Move the open items of an ended session to an agent's list, or decline them; raise `EditRefused`.

    `wanted` is its id or a part of it, empty for the newest that is offered, `none` to decline all that are.
    A model reaches the sessions of its own machine alone.
    """
    machine = None if is_person else find_machine_at_work(tx, into.session)
    offered = [
        row
        for row in find_leftovers(tx, into.folder, now, but=into.session)
        if machine in (None, find_machine_at_work(tx, row.session))
    ]
    if wanted == "none":
        for row in offered:
            tx.decline_session(row.session)
        return Continued(into.session, "Declined: what ended sessions left here is offered no more.")
    source = _find_source(tx, into, wanted, offered, machine)
    if source is None:
        raise EditRefused(problem="There is no such session that ended here with open items.")
    if obstacle := find_obstacle(tx, source, now):
        raise EditRefused(problem=f"Session {short_id(source.session)} {obstacle}.")
    items = source.state.todos.open_items
    applied, renamed = take_over(into.state, source.state.todos, now, source=f"session {short_id(source.session)}")
    targets = [Target(item=item.id, by="id") for item in items]
    note = f"continued in session {short_id(into.session)}"
    closing = Edit(tuple(change for one in targets for change in (Note(one, note), Drop(one))))
    closed = apply_edit(source.state, closing, now, by=by, own=False)
    # Under its own name the old agent would seem to be at work.
    closer = f"session {short_id(into.session)}" if by == source.name else by
    save_applied(tx, source, closed, by=closer, at=now)
    shown = None if by == into.name else items_known_to_agent(into.state, applied.state.todos)
    save_applied(tx, into, applied._replace(state=ListState(applied.state.todos, shown)), by=by, at=now)
    ids = "".join(f"; {old} is {new} now" for old, new in renamed.items())
    count = "1 item" if len(items) == 1 else f"{len(items)} items"
    done = [item for item in source.state.todos.items if item.status is Status.COMPLETED]
    sentence = f"Took over {count} of session {short_id(source.session)}{ids}."
    return Continued(into.session, sentence, quote_items(done, most=_MOST_DONE))


def find_machine_at_work(tx: Transaction, session: str) -> str | None:
    """Return the machine whose conversation works on a session, else the one that began it, as `find_machine` does."""
    seen = tx.hosts.conversations(session, 1)
    return seen[0].machine if seen else tx.find_machine(session)


def _find_source(
    tx: Transaction, into: AgentRow, wanted: str, offered: Sequence[AgentRow], machine: str | None
) -> AgentRow | None:
    """Return the agent of the session that is meant: one that is offered, else any other one of the project.

    With `machine` it is one of that machine.
    """
    named = tx.list_sessions_by_part(wanted, _MOST_SESSIONS) if wanted else []
    named = [one for one in named if machine in (None, find_machine_at_work(tx, one))]
    rows = [row for session in named if (row := tx.agent(session, _MAIN)) is not None]
    known = [row for row in offered if not wanted or row.session in named]
    return next((row for row in (*known, *rows) if row.project == into.project and row.number != into.number), None)


def continue_for_person(board: AgentBoard, source: str, *, folder: str, into: str = "", by: str) -> Continued:
    """Take over the open items of an ended session for a person, as `continue_work` does; raise what it raises.

    They go into a session, by default the one at work in the worktree, else onto the person's own list.
    """
    place = find_project(folder)

    def work(tx: Transaction) -> Continued:
        now, own = board.now(), name_path_session(place.key)
        living = (one for one in _list_agents(tx, place.folder, now, source) if _lives(tx, one, now))
        row = tx.agent(into, _MAIN) if into else next(living, None)
        if into not in ("", own) and row is None:
            raise SessionUnknown(session=into)
        row = row or tx.agent(own, _MAIN) or tx.add_agent(own, _MAIN, project=place, at=now)
        return continue_work(tx, row, source, now, by=by, is_person=True)

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
        rest = f" Done there already: {done.done}." if done.done else ""
        said = Problem("continued", done.sentence + rest)
        return agent.dialect.render(
            Result(Query(), row.state.todos, after, (said,), now=now)
        ), after is not row.state.todos

    return answer

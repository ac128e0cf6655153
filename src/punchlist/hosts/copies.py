"""Tell the lists of agents from copies of them, which are read-only: an agent that is not attached sees no change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from punchlist.board import Board
from punchlist.core.overview import NO_ACTIVITY, Activity
from punchlist.core.programs import ATTACHABLE
from punchlist.errors import EditRefused, TaskError
from punchlist.store import Transaction
from punchlist.tasks import Tasks

if TYPE_CHECKING:
    from punchlist.agent import Agent  # commands on tasks start without it


def open_agent(board: Board, agent: str, session: str, project: str | None = None, *, reads: bool = False) -> Agent:
    """Return the agent of a list; raise if the list is a copy, which its agent does not see."""
    known = board.store.read(lambda tx: load_activity(tx, agent, session))
    if known.copy_of and not reads:
        what = f"The list of {agent} in session {session} is read-only: it is a copy from {known.copy_of}"
        own = "`punchlist todo append --mine` adds to your own list"
        raise EditRefused(problem=f"{what}, {explain_attaching(known, agent, session)}; {own}.")
    return board.agent(agent, session=session, project=project)


def load_activity(tx: Transaction, agent: str, session: str) -> Activity:
    row = tx.agent(session, agent)
    return NO_ACTIVITY if row is None else tx.overviews.load_activity(row.number)


def explain_attaching(known: Activity, agent: str, session: str) -> str:
    """Return why the copy of an agent's work is read-only, and how to attach the agent."""
    host = ATTACHABLE.get(known.copy_format)
    if host is None:
        how = f'`board.agent("{agent}", session="{session}")` in the program that runs the agent attaches it'
    else:
        how = f"`punchlist attach {host.name}` attaches {host.title}; then resume the session there"
    return f"and its agent is not attached to this board. {how}"


def check_own_tasks(tasks: Tasks) -> None:
    """Raise if the tasks are those of a session that is known from its transcript alone: its agent sees no change."""
    session = tasks.name.removeprefix("session:")
    if session == tasks.name:
        return
    rows = tasks.board.store.lists(session=session)
    known = tasks.board.store.read(lambda tx: tx.overviews.load_activity(rows[0].number)) if rows else NO_ACTIVITY
    if known.copy_of:
        what = f"The tasks of session {session} are read-only: they are a copy from {known.copy_of}"
        own = "`punchlist tasks add` adds to the project's own list"
        raise TaskError(problem=f"{what}, {explain_attaching(known, rows[0].agent, session)}; {own}.")

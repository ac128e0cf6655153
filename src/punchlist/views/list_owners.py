"""Tell whose list it is: a person's own, that of an agent, or the copy of an agent's, which is read-only here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from punchlist.core.overview import NO_ACTIVITY, Activity
from punchlist.core.programs import ATTACHABLE
from punchlist.errors import EditRefused, TaskError
from punchlist.settings.environment import name_path_session

if TYPE_CHECKING:  # commands on tasks start without agents, and a status line without boards
    from punchlist.agent import Agent
    from punchlist.board import Board
    from punchlist.store import Transaction
    from punchlist.tasks import Tasks

MAIN: Final = "main"
"""The name of the first agent of a session or conversation, whose children its subagents are, and of the agent under
which a person's own list is kept."""


# The list that a person keeps by hand.


def is_personal_list(session: str, agent: str, project: str) -> bool:
    """True for the list that a person began by hand in a project, and that no agent works on."""
    return (session, agent) == (name_path_session(project), MAIN)


# Copies: an agent that is not attached sees no change of its list here.


def open_list_owner(
    board: Board, agent: str, session: str, project: str | None = None, *, reads: bool = False
) -> Agent:
    """Return the agent of a list; raise `EditRefused` if the list is a copy, unless it is only read."""
    known = board.store.read(lambda tx: load_owner_activity(tx, agent, session))
    if known.copy_of and not reads:
        what = f"The list of {agent} in session {session} is read-only: it is a copy from {known.copy_of}"
        own = "`punchlist todo append --mine` adds to your own list"
        raise EditRefused(problem=f"{what}, {explain_attaching(known, agent, session)}; {own}.")
    return board.agent(agent, session=session, project=project)


def load_owner_activity(tx: Transaction, agent: str, session: str) -> Activity:
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


def check_tasks_editable(tasks: Tasks) -> None:
    """Raise `TaskError` if the tasks are those of a session that is known from its transcript alone."""
    session = tasks.name.removeprefix("session:")
    if session == tasks.name:
        return
    rows = tasks.board.store.lists(session=session)
    known = tasks.board.store.read(lambda tx: tx.overviews.load_activity(rows[0].number)) if rows else NO_ACTIVITY
    if known.copy_of:
        what = f"The tasks of session {session} are read-only: they are a copy from {known.copy_of}"
        own = "`punchlist tasks add` adds to the project's own list"
        raise TaskError(problem=f"{what}, {explain_attaching(known, rows[0].agent, session)}; {own}.")

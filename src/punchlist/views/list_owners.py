"""Tell whose list it is: a person's own, that of an agent, or the copy of an agent's, which is read-only here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from punchlist.core.overview import NO_ACTIVITY, Activity
from punchlist.core.programs import ATTACHABLE, find_alike, name_session
from punchlist.errors import EditRefused, TaskError
from punchlist.settings.environment import name_path_session, name_worktree

if TYPE_CHECKING:  # commands on tasks start without agents, and a status line without boards
    from punchlist.agent import Agent
    from punchlist.board import Board
    from punchlist.store import Store, Transaction
    from punchlist.tasks import Tasks

MAIN: Final = "main"
"""The name of the first agent of a session or conversation, whose children its subagents are, and of the agent under
which a person's own list is kept."""


# The list that a person keeps by hand.


def is_personal_list(session: str, agent: str, project: str) -> bool:
    """True for the list that a person began by hand in a project, and that no agent works on."""
    return (session, agent) == (name_path_session(project), MAIN)


# The names of sessions.


class SessionNames(Struct, frozen=True):
    """The names of agents, as every surface shows them; `known` has project, host and worktree of each session."""

    known: Mapping[str, tuple[str, str, str]] = {}
    first: Mapping[str, str] = {}
    """The first agent of each session."""
    alike: frozenset[str] = frozenset()
    """Sessions that share their short id with another one."""
    attached: frozenset[str] = frozenset()
    """Sessions whose host reports every tool call by its hooks."""

    def name(self, session: str, agent: str = "") -> str:
        """Return the name of an agent of a session, by default of the first."""
        project, host, worktree = self.known.get(session, ("", "", ""))
        agent = agent or self.first.get(session, MAIN)
        if is_personal_list(session, agent, project):
            return name_session(project, "", "yours")
        return name_session(project, session, agent, host, worktree, self.alike)


def load_names(tx: Transaction, sessions: Iterable[str]) -> SessionNames:
    """Return the names of the agents of these sessions."""
    known: dict[str, tuple[str, str, str]] = {}
    for one in dict.fromkeys(sessions):
        project = tx.session_project(one) or ""
        known[one] = project, tx.find_host(one), name_worktree(project, tx.session_folder(one) or "")
    first = {one: tx.first_agent(one) for one in known}
    attached = frozenset(one for one in known if tx.hosts.conversations(one, 1))
    return SessionNames(known, first, find_alike(known), attached)


def load_session_name(store: Store, session: str, agent: str = "") -> str:
    """Return the name of an agent of a session, by default of the first."""
    return store.read(lambda tx: load_names(tx, [session])).name(session, agent)


# Copies: an agent that is not attached sees no change of its list here.


def open_list_owner(
    board: Board, agent: str, session: str, project: str | None = None, *, reads: bool = False
) -> Agent:
    """Return the agent of a list; raise `EditRefused` if the list is a copy, unless it is only read."""
    if board.is_remote:  # the server refuses to change a copy
        return board.agent(agent, session=session, project=project)
    known = board.store.read(lambda tx: load_owner_activity(tx, agent, session))
    if known.copy_of and not reads:
        name = load_session_name(board.store, session, agent)
        what = f"The list of {name} is read-only: it is a copy from {known.copy_of}"
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
        name = load_session_name(tasks.board.store, session)
        what = f"The tasks of {name} are read-only: they are a copy from {known.copy_of}"
        own = "`punchlist tasks add` adds to the project's own list"
        raise TaskError(problem=f"{what}, {explain_attaching(known, rows[0].agent, session)}; {own}.")

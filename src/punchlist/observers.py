"""Who wants to know what happens on a board, in this process; and who keeps its lists of tasks in step elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from punchlist.agent import Agent

T = TypeVar("T")
Observer = Callable[["Agent"], None]
TasksObserver = Callable[[str], None]


class TasksKeeper(Protocol):
    """Keeps lists of tasks in step with something outside the board, files say. Every name is that of a list."""

    def look(self, list: str) -> None:
        """The list is about to be read: brings it up to date."""
        ...

    def hold(self, list: str) -> AbstractContextManager[None]:
        """Entered before a transaction that changes the list, left after its commit, or with what it raised.

        Brings the list up to date, and lets nobody outside change it before the change is written there too. Holds
        what it holds while the transaction waits for the store; so it may never be waited for within one.
        """
        ...

    def write(self, list: str) -> None:
        """The list was changed in another way than within `hold`."""
        ...


class Observed:
    """Calls back in this process, outside any transaction."""

    def __init__(self) -> None:
        self._on_agent: list[Observer] = []
        self._on_change: list[Observer] = []
        self._on_tasks: list[TasksObserver] = []
        self._before_tasks: list[TasksObserver] = []
        self._keepers: list[TasksKeeper] = []

    def observe(
        self,
        *,
        on_agent: Observer | None = None,
        on_change: Observer | None = None,
        on_tasks: TasksObserver | None = None,
        before_tasks: TasksObserver | None = None,
        keeper: TasksKeeper | None = None,
    ) -> None:
        """Calls back in this process: when a handle is made, and after each committed change to a list.

        `on_tasks` gets the name of a list of tasks that may have changed, `before_tasks` of one that is about to be
        read or changed: outside any transaction, so that it may bring the list up to date. A `keeper` holds the list
        still besides while it is changed.
        """
        if on_agent is not None:
            self._on_agent.append(on_agent)
        if on_change is not None:
            self._on_change.append(on_change)
        if on_tasks is not None:
            self._on_tasks.append(on_tasks)
        if before_tasks is not None:
            self._before_tasks.append(before_tasks)
        if keeper is not None:
            self._keepers.append(keeper)

    def announce(self, agent: Agent) -> None:
        """Tells those who observe the board that there is a new handle."""
        for observer in self._on_agent:
            observer(agent)

    def changed(self, agent: Agent) -> None:
        for observer in self._on_change:
            observer(agent)

    def tasks_wanted(self, list: str) -> None:
        """A list of tasks is about to be read."""
        for keeper in self._keepers:
            keeper.look(list)
        for observer in self._before_tasks:
            observer(list)

    def tasks_changed(self, list: str) -> None:
        """A list of tasks may have changed, in another way than by `change_tasks`."""
        for keeper in self._keepers:
            keeper.write(list)
        for observer in self._on_tasks:
            observer(list)

    def change_tasks(self, list: str, work: Callable[[], T]) -> T:
        """Does `work`, one transaction that changes a list of tasks, while whoever keeps that list holds it still."""
        for observer in self._before_tasks:
            observer(list)
        with ExitStack() as held:
            for keeper in self._keepers:
                held.enter_context(keeper.hold(list))
            done = work()
        for observer in self._on_tasks:
            observer(list)
        return done

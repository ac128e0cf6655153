"""What an agent is at: its todos and its tasks, as one value; and the lists of tasks in its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from punchlist.agent.handle import Handle
from punchlist.agent.settling import look
from punchlist.store import Transaction

if TYPE_CHECKING:
    from punchlist.core.current_work import CurrentWork
    from punchlist.flows import Flows
    from punchlist.tasks import Tasks


class CurrentWorks(Handle):
    """Reads todos and tasks together."""

    @property
    def work(self) -> CurrentWork:
        """Its list, and the open tasks that it started or owns: also what failed, and what was given to its name."""
        look(self)
        return self.board.store.read(self._work_in)

    def _work_in(self, tx: Transaction) -> CurrentWork:
        """The same, within a transaction."""
        from punchlist.core.current_work import CurrentWork  # who never asks, a hook say, does not load what a task is

        row = tx.agent(self.session, self.name)
        if row is None:
            return CurrentWork()
        return CurrentWork(row.state.todos, tuple(each.task for each in tx.tasks.of_agent(row)))

    def tasks(self, list: str | None = None, *, lease: float | None = None) -> Tasks:
        """A list of tasks in this agent's name, by default the project's. Its activity keeps its claims alive."""
        return self.board.tasks(list, project=self._project, agent=self, lease=lease)

    def flows(self) -> Flows:
        """The flows of the board, in this agent's name: new ones belong to it and its session."""
        return self.board.flows(agent=self)

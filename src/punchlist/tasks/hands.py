"""In whose hands a task is, seen from whoever writes: its own, another's, or lost to another."""

from __future__ import annotations

from collections.abc import Iterator

from punchlist.core import task_rules as rules
from punchlist.core.task import Task, TaskStatus, fold_task
from punchlist.store import AgentRow
from punchlist.store.task_rows import TaskRow
from punchlist.tasks.change import Change


class Hands(Change):
    """An agent of this board is known by itself, a worker by the fence that it shows.

    A name is neither: many have the same. It only says for whom a task is meant that nobody has begun.
    """

    def has(self, row: TaskRow, fence: int | None) -> bool:
        """Whether whoever writes has the task, or may take it up. `fence` is the task's own, if one was shown."""
        task, agent = row.task, self.agent
        if fence is not None:
            return True
        if agent is not None:
            return row.agent == agent.number if row.agent is not None else task.owner in {None, agent.name}
        if task.status is TaskStatus.IN_PROGRESS:
            return self.by == task.owner is not None and not self.is_at_work(row)
        return not self.by or (row.agent is None and task.owner in {None, self.by})

    def is_at_work(self, row: TaskRow) -> bool:
        """Whether somebody is at a task in progress: an agent, a worker with a lease, or who began it by name.

        It may also be nobody's, or given to somebody who has not taken it up yet.
        """
        if row.agent is not None or row.task.lease_until is not None:
            return True
        if row.task.owner is None:
            return False
        events = self.tasks.history(self.where, int(row.task.id))
        kinds = [event.kind for event in events if "fence" in event.data.get("set", ())]
        return kinds[-1:] != ["task.changed"]

    def holder(self, row: TaskRow) -> str | None:
        """Who has the task, by name: its owner, else the agent that began it."""
        return row.task.owner or (None if row.agent is None else self.tasks.agent_name(row.agent))

    def check_hands(self, row: TaskRow, fence: int | None) -> None:
        """Raises for a worker that shows an old fence, and for an agent that shows none and has lost the task."""
        rules.check_fence(row.task, self.stands_under(row, fence))

    def stands_under(self, row: TaskRow, fence: int | None) -> int | None:
        """The fence under which a write stands: the one shown; else the one under which an agent had the task that
        another has taken since; else None."""
        agent = self.agent
        if fence is not None or agent is None or row.task.status is not TaskStatus.IN_PROGRESS:
            return fence
        return None if row.agent == agent.number else self._lost(row, agent)

    def _lost(self, row: TaskRow, agent: AgentRow) -> int | None:
        """The fence under which an agent had this task last; None if it never did, or gave it away itself."""
        had = None
        for kind, task in self._changes_of_hands(row, agent):
            its = kind == "task.claimed" or task.owner in {None, agent.name}
            had = task.fence if its and task.status is TaskStatus.IN_PROGRESS else None
        return None if had == row.task.fence else had

    def is_under_another_name(self, row: TaskRow) -> bool:
        """Whether the owner may be what the agent calls itself: nobody is known by that name, and it was the agent
        that began the task, if it was begun."""
        agent, task = self.agent, row.task
        if agent is None or row.agent is not None or task.owner is None or task.lease_until is not None:
            return False
        if self.tx.agent(agent.session, task.owner) is not None:
            return False
        begun = task.status is TaskStatus.IN_PROGRESS
        return not begun or any(each.fence == task.fence for _, each in self._changes_of_hands(row, agent))

    def _changes_of_hands(self, row: TaskRow, agent: AgentRow) -> Iterator[tuple[str, Task]]:
        """What an agent did to the task that gave it a new fence: the kind of each event, and the task after it."""
        task: Task | None = None
        for event in self.tasks.history(self.where, int(row.task.id)):
            fence, task = None if task is None else task.fence, fold_task(task, event.kind, event.data, event.at)
            by_it = (event.session, event.agent) == (agent.session, agent.name)
            if task is not None and by_it and task.fence != fence:
                yield event.kind, task

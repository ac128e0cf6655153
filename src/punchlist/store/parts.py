"""The parts of a transaction that not every call needs: each has a file of its own, imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from punchlist.store.flows import FlowRows
    from punchlist.store.modes import ModeRows
    from punchlist.store.plans import PlanRows
    from punchlist.store.questions import QuestionRows
    from punchlist.store.tasks import TaskRows
    from punchlist.store.transaction import Rows
    from punchlist.store.work import WorkRows


class Parts:
    """What the parts stand on: named queries within one transaction."""

    _flows: FlowRows | None = None
    _plans: PlanRows | None = None
    _questions: QuestionRows | None = None
    _tasks: TaskRows | None = None
    _work: WorkRows | None = None
    _keeps: bool = False
    _knows_tasks: bool | None = None
    """None: it has to be looked up, for another process may have made the first list of tasks, or this one."""

    def one(self, name: str, values: Any) -> Any:
        raise NotImplementedError

    def all(self, name: str, values: Any) -> list[Any]:
        raise NotImplementedError

    def run(self, name: str, values: Any) -> None:
        raise NotImplementedError

    @property
    def plans(self) -> PlanRows:
        if self._plans is None:
            from punchlist.store.plans import PlanRows

            self._plans = PlanRows(self)
        return self._plans

    @property
    def questions(self) -> QuestionRows:
        if self._questions is None:
            from punchlist.store.questions import QuestionRows

            self._questions = QuestionRows(self)
        return self._questions

    @property
    def tasks(self) -> TaskRows:
        """Durable tasks."""
        if self._tasks is None:
            from punchlist.store.tasks import TaskRows

            self._tasks = TaskRows(cast("Rows", self))
        return self._tasks

    @property
    def work(self) -> WorkRows:
        """What is remembered of tool calls."""
        if self._work is None:
            from punchlist.store.work import WorkRows

            self._work = WorkRows(cast("Rows", self), keeps=self._keeps)
        return self._work

    @property
    def flows(self) -> FlowRows:
        if self._flows is None:
            from punchlist.store.flows import FlowRows

            self._flows = FlowRows(cast("Rows", self))
        return self._flows

    @property
    def has_tasks(self) -> bool:
        """Whether there is any list of tasks on the board."""
        known = self._knows_tasks
        if known is None:
            known = self.one("any_task_list", ()) is not None
            if self._keeps:
                self._knows_tasks = known
        return known

    def has_more_tasks(self) -> None:
        """To be called when a list of tasks was made."""
        self._knows_tasks = None

    @property
    def modes(self) -> ModeRows:
        from punchlist.store.modes import ModeRows

        return ModeRows(cast("Rows", self))

"""Putting a task aside until a time, an event or a person lets it go on."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from punchlist.core import task_rules as rules
from punchlist.core.task import Task, TaskStatus
from punchlist.core.task_rules import make_wait
from punchlist.tasks.fields import fitting, plain
from punchlist.tasks.hands import Hands


class Waits(Hands):
    """What tasks wait for, and how it reaches them."""

    def wait(
        self,
        id: str,
        *,
        until: datetime | timedelta | None = None,
        topic: str | None = None,
        correlation_id: str | None = None,
        state: Any = None,
        fence: int | None = None,
        revision: int | None = None,
    ) -> Task:
        """Waiting; `state` is merged into that of the task. An event that was kept for it is delivered at once."""
        row = self.row(id)
        self.check_hands(row, fence)
        rules.check_revision(row.task, revision)
        wait = make_wait(self.now, until=until, topic=topic, correlation_id=correlation_id)
        after = rules.wait(row.task, wait, self.now)
        if state is not None:
            after = rules.patch_state(after, plain("state", state))
            fitting("state", after.state)
        row = self.write(row, after, "task.waiting", fence=fence)
        if wait.topic is not None and wait.correlation_id is not None:
            kept = self.tasks.take_signal(self.where, wait.topic, wait.correlation_id)
            if kept is not None:
                return self._deliver(row.task.id, kept[0])
        return row.task

    def signal(
        self, topic: str, correlation_id: str, payload: Any = None, *, keep: bool = False, call_id: str | None = None
    ) -> tuple[Task, ...]:
        """Delivers an event to those who wait for it, each once: it is in their state as `resume_event`.

        With `keep` an event that nobody waits for yet is delivered to the first who does.
        """
        wait = make_wait(self.now, topic=topic, correlation_id=correlation_id)
        payload = plain("payload", payload)
        where, topic, correlation_id = self.where, wait.topic or "", wait.correlation_id or ""

        def run() -> tuple[Task, ...]:
            rows = self.tasks.waiting_for(where, topic, correlation_id)
            if not rows and keep:
                self.tasks.keep_signal(where, topic, correlation_id, payload, at=self.now)
            return tuple(self._deliver(row.task.id, payload) for row in rows)

        return self.once(call_id, ["signal", topic, correlation_id, payload, keep], run, empty=keep)

    def _deliver(self, id: str, payload: Any) -> Task:
        row = self.row(id)
        after = rules.resume(row.task, self.now, {"resume_event": payload})
        kind = "task.cancelled" if after.status is TaskStatus.CANCELLED else "task.resumed"
        return self.write(row, after, kind).task

    def resume(self, id: str, *, state: Any = None, revision: int | None = None) -> Task:
        """Lets a task go on, whatever it waits for; `state` is merged into that of the task."""
        row = self.row(id)
        rules.check_revision(row.task, revision)
        after = rules.resume(row.task, self.now, None if state is None else plain("state", state))
        if state is not None:
            fitting("state", after.state)
        kind = "task.cancelled" if after.status is TaskStatus.CANCELLED else "task.resumed"
        return self.write(row, after, kind).task

"""Turn the events of a board into Codex's own notifications about its plan, for programs that read Codex.

The app server's notifications, the events of its core, and the lines of `exec --json`. The shapes are those of
`dialects.codex`; this module decides when each is sent. A turn is over when the agent stops, or the person speaks
again. Turns are numbered, unless a host sets `turn`.
"""

from datetime import datetime
from typing import Any, Literal

from punchlist.core.events import TURN_ENDS, Event
from punchlist.core.todo import TodoList
from punchlist.dialects import codex as codex_wire
from punchlist.projections.followed_lists import Lists, Look

Style = Literal["app-server", "core"]
_SUFFIX = "-plan"


class _PlanFeed:
    """Follows the list of one agent."""

    def __init__(self, session: str, agent: str, look: Look | None) -> None:
        self.lists = Lists(look)
        self._whose = (session, agent)

    def tick(self, now: datetime) -> list[dict[str, Any]]:
        """Return nothing: Codex holds nothing back."""
        return []

    def _is_own(self, event: Event) -> bool:
        return (event.session, event.agent) == self._whose

    def _read_list(self, event: Event) -> TodoList | None:
        """Return the list, if the event says that it was written."""
        change = self.lists.add(event)
        if event.kind == "list.confirmed":
            return self.lists.known(*self._whose)
        return None if change is None or event.kind == "list.graded" else change.shown  # a grade is no write


class CodexFeed(_PlanFeed):
    """The notifications of one thread, or with the style `core` the events of Codex's core."""

    def __init__(
        self,
        session: str,
        agent: str = "main",
        *,
        thread_id: str | None = None,
        style: Style = "app-server",
        look: Look | None = None,
    ) -> None:
        super().__init__(session, agent, look)
        self.thread_id = session if thread_id is None else thread_id
        self.turn = "turn-1"
        self._style = style
        self._turns = 1

    def add(self, event: Event) -> list[dict[str, Any]]:
        """Return the messages of one event. Each write of the list is sent, an equal one too, as Codex does."""
        if not self._is_own(event):
            return []
        if event.kind in TURN_ENDS:
            self._turns += 1
            self.turn = f"turn-{self._turns}"
            return []
        step = codex_wire.plan_step(event.kind, event.data)
        if step is not None:
            return self._plan_messages(*step, event)
        todos = self._read_list(event)
        if todos is None:
            return []
        if self._style == "core":
            return [codex_wire.plan_update(todos)]
        return [codex_wire.turn_plan_updated(todos, thread_id=self.thread_id, turn_id=self.turn)]

    def _plan_messages(self, item: str, step: codex_wire.PlanStreamStep, event: Event) -> list[dict[str, Any]]:
        turn = item.removesuffix(_SUFFIX) if item.endswith(_SUFFIX) else self.turn
        if self._style == "core":
            said = codex_wire.plan_event(step, thread_id=self.thread_id, turn_id=turn, item_id=item, at=event.at)
        else:
            said = codex_wire.plan_notification(step, thread_id=self.thread_id, turn_id=turn, item_id=item)
        return [] if said is None else [said]


class ExecFeed(_PlanFeed):
    """The lines of `exec --json` about the list. `items` is the counter that all items of the thread share."""

    def __init__(self, session: str, agent: str = "main", *, look: Look | None = None) -> None:
        super().__init__(session, agent, look)
        self.items = codex_wire.ExecItems()

    def add(self, event: Event) -> list[dict[str, Any]]:
        if not self._is_own(event):
            return []
        if event.kind in TURN_ENDS:
            return self.turn_ended()
        todos = self._read_list(event)
        return [] if todos is None else [self.items.updated(todos)]

    def turn_ended(self) -> list[dict[str, Any]]:
        """Return what comes before the turn's own closing line, for hosts that report no turns."""
        return list(self.items.turn_ended())

"""What the tests of flows share: a board in memory, a clock to set, and one agent's flows."""

from __future__ import annotations

from typing import Any

from punchlist import Board
from punchlist.flows import Flow, Flows
from punchlist.testing import FakeClock

OWNER = "agent:kate:session:s1"
MANUAL = {"kind": "manual"}


class Desk:
    """A board, its clock and the flows of `kate` in session `s1`."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.board = Board.open("memory:", clock=self.clock)
        self.flows: Flows = self.board.agent("kate", session="s1", project="/projects/desk").flows()

    def created(self, goal: str = "Sort the inbox", **fields: Any) -> Flow:
        return self.flows.create_managed("kate/inbox", goal, **fields)

    def running(self, goal: str = "Sort the inbox", **fields: Any) -> Flow:
        return self.flows.start_running(self.created(goal, **fields).id)

    def waiting(self, wait: Any = None) -> Flow:
        return self.flows.set_waiting(self.running().id, MANUAL if wait is None else wait)

    def seen(self, flow: Flow) -> Flow:
        """The flow as it is now."""
        found = self.flows.get(flow.id)
        assert found is not None
        return found

    def kinds(self, flow: Flow) -> list[str]:
        """What happened to it, the oldest first."""
        return [event.kind.removeprefix("flow.") for event in self.flows.list_events(flow.id)][::-1]

"""Calls of `taskflow`, shared by its tests."""

from __future__ import annotations

from typing import Any

from punchlist import Agent, Board, Reply
from punchlist.testing import FakeClock

ACTIONS = ["start", "status", "advance", "wait", "finish", "fail", "cancel", "list_mine"]
ON_ONE = ["status", "advance", "wait", "finish", "fail", "cancel"]
MANUAL = {"kind": "manual"}
BAD_SHAPE = "invalid wait_condition shape; expected {kind:'timer'|'external_event'|'manual', ...}"


class Desk:
    """A board at a fixed time, and one agent with the tool."""

    def __init__(self) -> None:
        self.clock = FakeClock()  # 2025-01-01 09:00:00 UTC
        self.board = Board.open("memory:", clock=self.clock)
        self.agent: Agent = self.board.agent("kate", session="s1", dialect="taskflow")

    def call(self, action: str, flow: str | None = None, **more: Any) -> Reply:
        named = {} if flow is None else {"flow_id": flow}
        return self.agent.call("taskflow", {"action": action, **named, **more})

    def flow(self, action: str, flow: str | None = None, **more: Any) -> dict[str, Any]:
        reply = self.call(action, flow, **more)
        assert not reply.is_error, reply.text
        assert reply.data["ok"] is True
        return reply.data["flow"]

    def started(self, **more: Any) -> str:
        return self.flow("start", controller_id="kate/inbox", goal="Sort the inbox", **more)["id"]

    def refused(self, action: str, flow: str | None = None, **more: Any) -> str:
        before = self.board.flows().list()
        reply = self.call(action, flow, **more)
        assert reply.is_error
        assert self.board.flows().list() == before
        return reply.text

"""Whatever a model sends to `taskflow`: no uncaught exception, a reply that can be sent, and only legal transitions."""

import json
import random
from typing import Any

import pytest

from punchlist import Agent, Board
from punchlist.core.flow import LEGAL, FlowStatus
from punchlist.testing import FakeClock
from tests.dialects.calls import mutated, value
from tests.sizes import size

CALLS = size(6_000, 1_000_000)
SLICE = 1_000
STATUS_AFTER = {
    "created": FlowStatus.CREATED,
    "started": FlowStatus.RUNNING,
    "resumed": FlowStatus.RUNNING,
    "waiting": FlowStatus.WAITING,
    "finished": FlowStatus.FINISHED,
    "failed": FlowStatus.FAILED,
    "cancelled": FlowStatus.CANCELLED,
}


def call(rng: random.Random, ids: list[str]) -> Any:
    """A real call, a broken one, or anything at all."""
    flow = rng.choice(ids) if ids and rng.random() < 0.9 else "00000000-0000-0000-0000-000000000000"
    real = rng.choice(
        [
            {"action": "start", "controller_id": "c", "goal": "Sort", "state": {"a": 1}, "current_step": "x"},
            {"action": "status", "flow_id": flow},
            {"action": "advance", "flow_id": flow, "patch": {"b": [1]}, "current_step": "y"},
            {"action": "advance", "flow_id": flow, "patch": value(rng)},
            {"action": "wait", "flow_id": flow, "wait_condition": {"kind": "manual"}},
            {"action": "wait", "flow_id": flow, "wait_condition": {"kind": "timer", "at": "2025-01-01T09:30:00Z"}},
            {
                "action": "wait",
                "flow_id": flow,
                "wait_condition": {"kind": "external_event", "topic": "t", "correlation_id": "c"},
            },
            {"action": "finish", "flow_id": flow, "final_state": {"c": 1}},
            {"action": "fail", "flow_id": flow, "reason": "no"},
            {"action": "cancel", "flow_id": flow},
            {"action": "list_mine"},
        ]
    )
    kind = rng.random()
    if kind < 0.5:
        return real
    return mutated(rng, real) if kind < 0.95 else value(rng)


def check(agent: Agent, args: Any, call_id: str | None) -> None:
    reply = agent.call("taskflow", args, call_id=call_id)
    assert reply.text.encode()
    assert len(reply.text) < 5_000 or not reply.is_error
    if not reply.is_error:
        assert json.loads(reply.text) == json.loads(json.dumps(reply.data, allow_nan=False))
        assert set(reply.data) in ({"ok", "flow"}, {"ok", "count", "flows"}, {"ok", "error", "flow_id"})


@pytest.mark.parametrize("part", range(CALLS // SLICE))
def test_no_call_breaks_a_flow(part: int) -> None:
    rng, clock = random.Random(part), FakeClock()  # the parameter is the seed: it replays
    with Board.open("memory:", clock=clock) as board:
        agents = [board.agent(name, session="s", dialect="taskflow") for name in ("kate", "ana")]
        for _ in range(SLICE):
            clock.advance(rng.choice((0, 0, 1, 100)))
            ids = [flow.id for flow in board.flows().list(limit=6)]
            check(rng.choice(agents), call(rng, ids), str(rng.randrange(100)) if rng.random() < 0.1 else None)
            if ids and rng.random() < 0.05:
                board.flows().request_cancel(rng.choice(ids))
            if rng.random() < 0.02:
                board.tick()
        for flow in board.flows().list():
            check_history(board, flow.id)


def check_history(board: Board, flow: str) -> None:
    """Every event is one revision, and leads from one status to another that is legal from there."""
    status: FlowStatus | None = None
    asked = False
    for number, event in enumerate(board.flows().list_events(flow, 10_000)[::-1]):
        assert event.data["revision"] == number
        kind = event.kind.removeprefix("flow.")
        after = STATUS_AFTER.get(kind, status)
        assert after is not None
        assert status is None or after is status or after in LEGAL[status]
        assert not asked or after is FlowStatus.CANCELLED
        asked = asked or kind == "cancel_requested"
        status = after
    found = board.flows().get(flow)
    assert found is not None
    assert found.status is status

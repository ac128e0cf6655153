"""What every store has to keep about flows, as tests. A store's own test class inherits them and says how to make one.

class TestMyFlows(FlowContract):
    def make_store(self) -> Store:
        return MyStore(…)
"""

from __future__ import annotations

import os
import random
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from punchlist.board import Board
from punchlist.core.flow import FlowStatus
from punchlist.errors import FlowCycle, PunchlistError
from punchlist.flows import Flows
from punchlist.store import Store, Transaction, open_store
from punchlist.testing import FakeClock
from tests.store.contracts.checks import in_threads, raises

_WAITS: tuple[Any, ...] = (
    {"kind": "manual"},
    {"kind": "timer", "at": "2025-01-01T09:02:00Z"},
    {"kind": "external_event", "topic": "t", "correlation_id": "c"},
    {"kind": "moon"},
)


class FlowContract:
    """The tests. `histories` is how many random ones are played; each test makes its own store and closes it."""

    histories = 100

    def make_store(self) -> Store:
        """A new, empty store."""
        raise NotImplementedError

    @contextmanager
    def flows(self) -> Generator[tuple[Flows, FakeClock]]:
        clock = FakeClock()
        with Board(self.make_store(), clock=clock) as board:
            yield board.agent("main", session="s").flows(), clock

    def test_no_change_to_a_flow_is_lost_however_many_come_at_once(self) -> None:
        with self.flows() as (flows, _):
            flow = flows.create_mirrored("c", "g").id

            def work(number: int) -> None:
                for step in range(10):
                    flows.update_state(flow, {f"{number} {step}": 1})

            in_threads(5, work)
            found = flows.get(flow)
            assert found is not None
            assert len(found.state) == 50
            assert found.revision == 51
            told = [event.data["revision"] for event in flows.list_events(flow, 1000)]
            assert told == list(range(51, -1, -1))

    def test_an_exception_takes_everything_back(self) -> None:
        with self.flows() as (flows, _):
            flow = flows.create_mirrored("c", "g")

            def work(tx: Transaction) -> None:
                within = flows.within(tx)
                within.finish(flow.id, ({"a": 1},))
                within.create_managed("c", "another")
                within.record_step_observation(flow.id, "r", "Look", "running")
                raise KeyError

            raises(KeyError, lambda: flows.board.store.transact(work))
            assert flows.list() == (flow,)
            assert flows.list_steps(flow.id) == ()
            assert len(flows.list_events(flow.id)) == 2

    def test_a_long_circle_is_refused_and_named(self) -> None:
        with self.flows() as (flows, _):
            made = [flows.create_managed("c", str(number)).id for number in range(20)]
            for each, before in zip(made[1:], made, strict=False):
                flows.come_after(each, before)
            raises(FlowCycle, lambda: flows.come_after(made[0], made[-1]))
            try:
                flows.come_after(made[0], made[-1])
            except FlowCycle as refused:
                path = str(refused.data["path"]).split(" → ")
                assert path[0] == path[-1] == made[0]
                assert path[1] == made[-1]

    def test_random_histories_of_flows_end_alike_in_memory_and_here(self) -> None:
        first = int(os.environ.get("PUNCHLIST_SEED", "0"))
        clocks = FakeClock(), FakeClock()
        with Board(open_store("memory:"), clock=clocks[0]) as known, Board(self.make_store(), clock=clocks[1]) as here:
            for seed in range(first, first + self.histories):
                pairs = ((known, clocks[0]), (here, clocks[1]))
                outcomes = [_play(board.agent("a", session=f"h{seed}").flows(), clock, seed) for board, clock in pairs]
                assert outcomes[0] == outcomes[1], f"replay with PUNCHLIST_SEED={seed}"
            events = [[(each.at, each.kind, each.by, each.data) for each in board.events()] for board in (known, here)]
            assert events[0] == events[1]


def _play(flows: Flows, clock: FakeClock, seed: int) -> list[Any]:
    """What came of each of some random steps; an error counts by its code."""
    rng = random.Random(seed)
    ids = [str(UUID(int=rng.getrandbits(128), version=4)) for _ in range(4)]
    outcomes: list[Any] = []
    for _ in range(25):
        clock.advance(rng.choice((0, 1, 40)))
        try:
            outcomes.append(_step(flows, rng, ids))
        except PunchlistError as error:
            outcomes.append(error.code)
    outcomes.append(flows.list_by_owner())
    outcomes.extend([flow.id for flow in flows.list_by_status(status)] for status in FlowStatus)
    return outcomes


def _step(flows: Flows, rng: random.Random, ids: list[str]) -> Any:
    flow, other = rng.choice(ids), rng.choice(ids)
    match rng.randrange(14):
        case 0 | 1 | 2:
            return flows.create_managed("c", flow[:8], id=flow, state={"n": 0})
        case 3 | 4:
            return flows.start_running(flow)
        case 5:
            return flows.set_waiting(flow, rng.choice(_WAITS))
        case 6:
            return flows.resume(flow, {"n": rng.randrange(3)})
        case 7:
            return flows.finish(flow, {"end": True})
        case 8:
            return rng.choice((flows.cancel, flows.request_cancel))(flow)
        case 9:
            return flows.update_state(flow, {"n": rng.randrange(9)}, next_step=rng.choice((None, "next")))
        case 10:
            return rng.choice((flows.come_after, flows.come_freely))(flow, other)
        case 11:
            return flows.try_resume_external(flow, "t", "c", [1])
        case 12:
            return (flows.record_step_observation(flow, "r", "Look", "running").status, len(flows.list_steps(flow)))
        case _:
            return rng.choice((flows.tick, lambda: flows.prune_terminal_flows(0), lambda: flows.fail(flow, "no")))()

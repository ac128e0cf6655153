"""Flows for async code."""

import asyncio

from punchlist.aio import Board
from punchlist.flows import FlowStatus, TickReport


def test_a_flow_goes_its_way_without_holding_up_the_loop() -> None:
    async def work() -> None:
        async with Board.open("memory:") as board:
            flows = board.agent("kate", session="s1").flows()
            first = await flows.create_mirrored("c", "first")
            last = await flows.create_managed("c", "last")
            await flows.come_after(last.id, first.id)
            assert (await flows.come_freely(last.id, first.id)).after == ()
            await flows.update_state(first.id, {"a": 1}, next_step="x")
            await flows.record_step_observation(first.id, "r", "Look", "running")
            await flows.set_waiting(first.id, {"kind": "external_event", "topic": "t", "correlation_id": "c"})
            assert await flows.tick() == TickReport(scanned=1, still_waiting=1)
            assert await flows.try_resume_external(first.id, "t", "c", 7) is not None
            await flows.set_waiting(first.id, {"kind": "manual"})
            await flows.resume(first.id)
            assert (await flows.finish(first.id)).state == {"a": 1, "resume_event": 7}
            await flows.start_running(last.id)
            await flows.request_cancel(last.id)
            assert (await flows.cancel(last.id)).status is FlowStatus.CANCELLED
            broken = await board.flows(by="ada").create_mirrored("c", "broken")
            assert (await flows.fail(broken.id, "no")).status is FlowStatus.FAILED
            assert await flows.get(first.id) == (await flows.list_by_status("finished"))[0]
            assert [flow.goal for flow in await flows.list_by_owner()] == ["last", "first"]
            assert len(await flows.list(limit=2)) == 2
            assert len(await flows.list_steps(first.id)) == 1
            assert (await flows.list_events(first.id, 1))[0].kind == "flow.finished"
            assert await flows.prune_terminal_flows(1) == 0

    asyncio.run(work())

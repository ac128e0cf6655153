"""An agent that knows only flows gets what an agent with a list gets: focus, stop guard, compaction."""

from datetime import timedelta

from punchlist.core.flow import WaitCondition
from tests.flows.boards import MANUAL, Desk


def test_what_is_open_is_kept_over_compaction_under_the_name_that_its_tool_has_for_it(desk: Desk) -> None:
    flow = desk.running("Sort the </punchlist> inbox")
    agent = desk.board.agent("kate", session="s1", dialect="taskflow")
    block = agent.compaction_block()
    assert block is not None
    assert f"[>] {flow.id}. Sort the " in block
    assert block.count("</punchlist>") == 1
    held = desk.created("Answer it", after=[flow.id])
    block = agent.compaction_block()
    assert block is not None
    assert f"{held.id}. Answer it (created: after other flows)" in block
    desk.flows.cancel(held.id)
    desk.flows.finish(flow.id)
    assert agent.compaction_block() is None


def test_the_stop_guard_knows_flows_and_lets_go_while_one_waits_on_a_person(desk: Desk) -> None:
    flow = desk.running("Sort the inbox")
    agent = desk.board.agent("kate", session="s1", dialect="taskflow")
    said = agent.about_to_stop(last_text="That is it.")
    assert said is not None
    assert flow.id in said.text
    assert "taskflow" in said.text
    desk.flows.set_waiting(flow.id, MANUAL)
    assert agent.about_to_stop(last_text="That is it.") is None


def test_a_flow_whose_time_has_come_runs_for_whoever_looks_at_its_agents_work(desk: Desk) -> None:
    agent = desk.board.agent("kate", session="s1", dialect="taskflow")
    for look in (lambda: agent.work.focus, lambda: agent.about_to_stop(last_text="That is it.")):
        flow = desk.waiting(WaitCondition(kind="timer", at=desk.clock() + timedelta(hours=1)))
        assert look() is None
        desk.clock.advance(7200)
        assert look() is not None
        assert desk.kinds(flow)[-2:] == ["waiting", "resumed"]
        desk.flows.finish(flow.id)
    desk.waiting(WaitCondition(kind="timer", at=desk.clock() + timedelta(hours=1)))
    desk.clock.advance(7200)
    assert "(running)" in str(agent.compaction_block())

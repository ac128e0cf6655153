"""The tools of plan mode stand beside the todo tool, and are not it."""

import pytest

from punchlist import Board
from tests.guidance.talk import kinds, spoken, talk, turns

EDITS = ("Edit",)


def test_with_plan_tools_alone_nothing_is_said_of_the_list() -> None:
    for profile in ("quiet", "classic"):
        with talk(profile=profile, plan_tools=True, offered=False) as agent:
            assert [tool.name for tool in agent.tools] == ["EnterPlanMode", "ExitPlanMode"]
            assert spoken(turns(agent, 30, EDITS)) == []
            assert agent.about_to_stop("Done.") is None
            assert agent.layers == ()


def test_the_layers_name_the_todo_tool_only() -> None:
    with talk(plan_tools=True) as agent:
        assert "`TodoWrite`" in agent.prompt
        assert "PlanMode" not in "".join(layer.text for layer in agent.layers)


def test_a_description_that_is_switched_off_is_not_sent() -> None:
    with talk(layers=["prompt_section"]) as agent:
        assert [tool.description for tool in agent.tools] == [""]
        assert [layer.name for layer in agent.layers] == ["prompt_section"]


def test_each_stay_in_plan_mode_begins_with_the_notice() -> None:
    with talk() as agent:
        agent.enter_plan_mode()
        assert spoken(turns(agent, 2)) == [1]
        agent.exit_plan_mode()
        agent.enter_plan_mode()
        assert [kinds(said) for said in turns(agent, 2)] == [["plan_mode"], []]


@pytest.mark.parametrize("refused", [False, True])
def test_only_a_write_ends_a_drift(refused: bool) -> None:
    with talk("hermes", "quiet") as agent:
        agent.call("todo", {"todos": [{"id": "1", "content": "One", "status": "in_progress"}]})
        said: list[str] = []
        for turn in range(30):
            if turn % 8 == 7:  # the host tells of the message first, and runs its tools then
                said += kinds(agent.assistant_turn(["todo"]))
                agent.call("todo", {"todos": 7} if refused else {})
            else:
                said += kinds(agent.assistant_turn(EDITS))
        assert said.count("reminder") == 1


def test_a_line_for_the_person_moves_no_cursor() -> None:
    with talk("oh-my-pi") as agent:
        agent.call("todo_write", {"ops": [{"op": "start", "task": "\x1b[2Jzz\n\n"}]})
        said = agent.assistant_turn()
        assert "failed" in kinds(said)
        assert all(one.for_user.isprintable() for one in said)


def test_an_agent_that_crush_started_gets_no_hint() -> None:
    with Board.open("memory:") as board:
        agent = board.agent(session="s", dialect="crush", profile="classic")
        assert kinds(agent.assistant_turn()) == ["hint"]
        assert agent.spawn("child", offered=True).assistant_turn() == []


def test_a_compaction_block_is_in_the_ledger() -> None:
    with talk() as agent:
        agent.call("TodoWrite", {"todos": [{"content": "One", "status": "pending", "activeForm": "One"}]})
        block = agent.compaction_block()
        assert block is not None
        (cost,) = agent.board.costs()
        assert cost.cost.spent.injections["compaction"].bytes == len(block.encode())

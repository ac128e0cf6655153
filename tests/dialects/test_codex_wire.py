"""What Codex tells others about its plan. The rules are those of manifest.toml, section codex."""

from collections.abc import Iterator

import pytest

from punchlist import Agent
from punchlist.dialects.codex import ExecItems, plan_update, turn_plan_updated
from tests.dialects.boards import memory_board, todo

PLAN = {
    "explanation": "Found more",
    "plan": [
        {"step": "a", "status": "completed"},
        {"step": "b", "status": "in_progress"},
        {"step": "c", "status": "pending"},
    ],
}


@pytest.fixture
def agent() -> Iterator[Agent]:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect="codex")
        agent.call("update_plan", PLAN)
        yield agent


@pytest.mark.requirement("codex.plan-update-event")
def test_the_core_event_holds_the_arguments(agent: Agent) -> None:
    assert plan_update(agent.todos) == {"type": "plan_update", **PLAN}
    agent.call("update_plan", {"plan": []})
    assert plan_update(agent.todos) == {"type": "plan_update", "explanation": None, "plan": []}


@pytest.mark.requirement("codex.turn-plan-updated")
def test_the_app_server_writes_statuses_in_camel_case_and_always_an_explanation(agent: Agent) -> None:
    assert turn_plan_updated(agent.todos, thread_id="t", turn_id="u") == {
        "method": "turn/plan/updated",
        "params": {
            "threadId": "t",
            "turnId": "u",
            "explanation": "Found more",
            "plan": [
                {"step": "a", "status": "completed"},
                {"step": "b", "status": "inProgress"},
                {"step": "c", "status": "pending"},
            ],
        },
    }
    agent.call("update_plan", {"plan": []})
    params = turn_plan_updated(agent.todos, thread_id="t", turn_id="u")["params"]
    assert (params["explanation"], params["plan"]) == (None, [])


@pytest.mark.requirement("codex.exec-items")
def test_exec_lines_start_update_and_complete_one_item_a_turn(agent: Agent) -> None:
    items = [{"text": "a", "completed": True}, {"text": "b", "completed": False}, {"text": "c", "completed": False}]
    first = {"id": "item_0", "type": "todo_list", "items": items}
    stream = ExecItems()
    assert stream.updated(agent.todos) == {"type": "item.started", "item": first}
    assert stream.updated(agent.todos) == {"type": "item.updated", "item": first}
    agent.call("update_plan", {"plan": [{"step": "a", "status": "completed"}]})
    last = {**first, "items": items[:1]}
    assert stream.updated(agent.todos) == {"type": "item.updated", "item": last}
    assert list(stream.turn_ended()) == [{"type": "item.completed", "item": last}]
    assert list(stream.turn_ended()) == []


@pytest.mark.requirement("codex.exec-ids")
def test_each_turn_takes_a_new_id_from_the_counter_of_all_items(agent: Agent) -> None:
    stream = ExecItems()
    assert stream.fresh_id() == "item_0"
    assert stream.updated(agent.todos)["item"]["id"] == "item_1"
    assert stream.fresh_id() == "item_2"
    assert stream.updated(agent.todos)["item"]["id"] == "item_1"
    assert [line["item"]["id"] for line in stream.turn_ended()] == ["item_1"]
    assert stream.updated(agent.todos) == {
        "type": "item.started",
        "item": {"id": "item_3", "type": "todo_list", "items": stream.updated(agent.todos)["item"]["items"]},
    }


@pytest.mark.requirement("codex.exec-ids")
def test_a_turn_without_a_plan_takes_no_id(agent: Agent) -> None:
    stream = ExecItems()
    assert list(stream.turn_ended()) == []
    assert stream.updated(agent.todos)["item"]["id"] == "item_0"


@pytest.mark.requirement("codex.wire-nearest")
def test_what_codex_has_no_word_for_is_shown_as_its_nearest(agent: Agent) -> None:
    todo(agent.board.agent("main", session="s"), block={"2": "no key"}, drop=["3"])
    assert plan_update(agent.todos)["plan"] == PLAN["plan"][:2]

"""The ledger: every byte that the layer puts before a model or has it write, accounted to the agent."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist import Board
from punchlist.guidance.ledger import NOTHING, Cost, Size, size_of, size_of_json, sum_costs
from tests.dialects.boards import write, written
from tests.guidance.talk import talk, turns
from tests.text.hostile import hostile_texts


def _cost(board: Board) -> Cost:
    (found,) = board.costs()
    return found.cost


def test_a_call_is_accounted_with_what_the_model_wrote_and_read() -> None:
    with talk(profile="quiet") as agent:
        args = written("> Paint", "Clean")
        reply = agent.call("TodoWrite", args)
        calls = _cost(agent.board).calls
        assert calls.arguments == Size(1, len(json.dumps(args, separators=(",", ":"))))
        assert calls.replies == Size(1, len(reply.text))
        assert calls.refused == 0


def test_reads_and_refused_calls_are_accounted_too() -> None:
    with talk("punchlist", "quiet") as agent:
        replies = [agent.call("todo", args) for args in ({"set": ["Paint"]}, {}, {}, {"done": "99"}, 7)]
        calls = _cost(agent.board).calls
        assert calls.replies == sum((size_of(reply.text) for reply in replies), NOTHING)
        assert (calls.arguments.count, calls.refused) == (5, 2)


def test_a_call_that_is_repeated_with_its_id_is_one_call() -> None:
    with talk() as agent:
        for _ in range(3):
            agent.call("TodoWrite", written("> Paint"), call_id="c1")
        assert _cost(agent.board).calls.arguments.count == 1


def test_a_read_leaves_the_list_and_its_revision_alone() -> None:
    with talk("punchlist", "quiet") as agent:
        agent.call("todo", {"set": ["Paint"]})
        before = agent.todos
        agent.call("todo", {})
        assert agent.todos == before


def test_what_is_said_is_accounted_by_kind() -> None:
    with talk() as agent:
        said = [injection for one in turns(agent, 10) for injection in one]
        spent = _cost(agent.board).spent
        assert spent.injections == {"reminder": sum((size_of(one.text) for one in said), NOTHING)}
        assert spent.turns == 10


def test_every_turn_carries_the_description_of_the_tools() -> None:
    with talk() as agent:
        turns(agent, 3)
        descriptions = _cost(agent.board).spent.descriptions
        tool = agent.tools[0]
        body = json.dumps([tool.name, tool.description, tool.input_schema], separators=(",", ":"), ensure_ascii=False)
        assert descriptions == Size(3, 3 * len(body.encode()))


def test_a_tool_that_is_not_offered_has_no_description_to_pay_for() -> None:
    with talk(offered=False) as agent:
        turns(agent, 3)
        assert _cost(agent.board).spent.descriptions == NOTHING


def test_our_share_of_all_tool_calls_is_known() -> None:
    with talk() as agent:
        write(agent, "> Paint")
        agent.assistant_turn(tools_used=["TodoWrite"])
        agent.assistant_turn(tools_used=["Read", "Edit", "mcp__x__TodoWrite"])
        agent.assistant_turn(tools_used=["Bash"])
        cost = _cost(agent.board)
        assert (cost.spent.others, cost.share) == (3, 0.25)
        assert cost.spent.own_turns == 1


def test_calls_that_are_reported_twice_are_counted_once() -> None:
    with talk() as agent:
        for number in range(3):
            agent.tool_started(f"c{number}", "Read")
        agent.assistant_turn(tools_used=["Read", "Read", "Read"])
        assert _cost(agent.board).spent.others == 3


def test_a_turn_that_the_stop_guard_caused_is_known_as_such() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint")
        agent.about_to_stop("Done.")
        spent = _cost(agent.board).spent
        assert (spent.caused, spent.turns, list(spent.injections)) == (1, 0, ["stop"])


def test_costs_are_kept_apart_by_dialect_and_profile_and_survive_a_restart(tmp_path: object) -> None:
    where = f"{tmp_path}/board.db"
    for dialect, profile in (("claude-code", "quiet"), ("claude-code", "classic"), ("punchlist", "quiet")):
        with Board.open(where) as board:
            agent = board.agent("main", session="s", dialect=dialect, profile=profile)
            agent.call(agent.tools[0].name, written("> Paint") if dialect == "claude-code" else {"add": ["Clean"]})
            agent.assistant_turn()
    with Board.open(where) as board:
        found = {(row.cost.dialect, row.cost.profile): row.cost for row in board.costs(session="s")}
        assert set(found) == {("claude-code", "quiet"), ("claude-code", "classic"), ("punchlist", "quiet")}
        assert all((cost.calls.arguments.count, cost.spent.turns) == (1, 1) for cost in found.values())


def test_costs_can_be_asked_for_by_session_and_project(tmp_path: object) -> None:
    with Board.open("memory:") as board:
        for session, folder in (("a", "one"), ("b", "one"), ("c", "two")):
            agent = board.agent("main", session=session, project=f"{tmp_path}/{folder}")
            agent.call("todo", {"set": ["Paint"]})
        assert [row.session for row in board.costs()] == ["a", "b", "c"]
        assert [row.session for row in board.costs(session="b")] == ["b"]
        assert [row.session for row in board.costs(project=f"{tmp_path}/one")] == ["a", "b"]
        (total,) = sum_costs(row.cost for row in board.costs())
        assert total.calls.arguments.count == 3


@given(hostile_texts)
def test_a_size_is_that_of_the_text_in_utf_8(text: str) -> None:
    body = text.encode("utf-8", "replace")
    wide = sum(byte > 127 for byte in body)
    assert size_of(text) == Size(1, len(body), wide)
    assert size_of(text).tokens == round((len(body) - wide) / 4 + wide / 3)


@given(st.lists(st.builds(Size, st.integers(0, 9), st.integers(0, 99), st.integers(0, 9))))
def test_sizes_add_up_in_any_order(sizes: list[Size]) -> None:
    assert sum(sizes, NOTHING) == sum(reversed(sizes), NOTHING)


@pytest.mark.parametrize("args", [object(), {1: {2}}, pytest.param(10**5000, id="huge"), float("nan"), None])
def test_arguments_of_any_kind_have_a_size(args: object) -> None:
    assert size_of_json(args).count == 1


def test_arguments_too_deep_to_write_down_are_survived() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert size_of_json(deep) == Size(1)
    with talk() as agent:
        assert agent.call("TodoWrite", {"todos": deep}).is_error

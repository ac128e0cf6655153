"""A person's decision on a plan reaches the model once, with the reason, by whichever road it was made or proposed."""

from collections.abc import Callable, Iterator

import pytest

from punchlist import Agent, Board
from punchlist.core.approval import Plan
from punchlist.guidance.words import Injection

PLAN = "# Sessions\n\n1. Write the tests\n2. Add the table\n"
Decide = Callable[[Board, Agent, Plan], object]


def _tool(board: Board, args: dict[str, object]) -> None:
    operator = board.agent("ada", session="desk", dialect="nexo", plan_tools={"operator": True})
    assert not operator.call("plan_mode_resolve", args).is_error


REJECT: dict[str, Decide] = {
    "python": lambda _board, agent, _plan: agent.reject_plan("Tests first", by="ada", person=True),
    "another handle": lambda board, agent, _plan: board.agent(agent.name, session=agent.session).reject_plan(
        "Tests first", by="ada"
    ),
    "chat": lambda board, _agent, plan: board.resolve_plan(
        f"[plan-mode] reject plan_id={plan.id} reason=Tests first", by="ada"
    ),
    "tool": lambda board, _agent, plan: _tool(
        board, {"plan_id": plan.id, "decision": "reject", "reason": "Tests first"}
    ),
}
APPROVE: dict[str, Decide] = {
    "python": lambda _board, agent, _plan: agent.approve_plan(by="ada", person=True),
    "chat": lambda board, _agent, plan: board.resolve_plan(f"[plan-mode] approve plan_id={plan.id}", by="ada"),
    "tool": lambda board, _agent, plan: _tool(board, {"plan_id": plan.id, "decision": "approve"}),
}


@pytest.fixture
def board() -> Iterator[Board]:
    with Board.open("memory:") as board:
        yield board


def _propose(board: Board, road: str) -> tuple[Agent, Plan]:
    """Propose a plan by `agent.propose_plan`, within plan mode or not, or by the plan tools of a dialect."""
    if road in ("method", "method in plan mode"):
        agent = board.agent("main", session="s", dialect="claude-code")
        if road == "method in plan mode":
            agent.enter_plan_mode()
        return agent, agent.propose_plan(PLAN)
    agent = board.agent("main", session="s", dialect=road, plan_tools={"require_approval": True})
    agent.call("EnterPlanMode", {})
    reply = agent.call("ExitPlanMode", {"final_plan": PLAN} if road == "nexo" else {"plan": PLAN})
    assert reply.awaits is not None
    plan = agent.plan
    assert plan is not None
    return agent, plan


PROPOSED = ["method", "method in plan mode", "nexo", "claude-code"]


def _decisions(said: list[Injection]) -> list[str]:
    return [one.text.split("\n")[2] for one in said if one.kind == "answer"]


@pytest.mark.parametrize("proposed", PROPOSED)
@pytest.mark.parametrize("road", REJECT)
def test_a_rejection_is_told_once_with_its_reason(board: Board, proposed: str, road: str) -> None:
    agent, plan = _propose(board, proposed)
    assert _decisions(agent.assistant_turn()) == []
    REJECT[road](board, agent, plan)
    told = _decisions(agent.assistant_turn())
    assert told == [
        "Revise your plan 'Sessions' (revision 1) and propose it again: ada rejected it because: Tests first"
    ]
    assert _decisions(agent.assistant_turn()) == []
    assert agent.take_answers() is None


@pytest.mark.parametrize("proposed", PROPOSED)
@pytest.mark.parametrize("road", APPROVE)
def test_an_approval_is_told_once(board: Board, proposed: str, road: str) -> None:
    agent, plan = _propose(board, proposed)
    APPROVE[road](board, agent, plan)
    assert _decisions(agent.assistant_turn()) == ["ada approved your plan 'Sessions' (revision 1). Begin with it."]
    assert _decisions(agent.assistant_turn()) == []


@pytest.mark.parametrize("proposed", PROPOSED)
def test_a_decision_that_the_reply_to_the_call_told_is_not_told_again(board: Board, proposed: str) -> None:
    agent, plan = _propose(board, proposed)
    agent.reject_plan("Tests first", by="ada")
    assert "Tests first" in agent.plan_reply(agent.wait_for_plan(plan.id)).text
    assert _decisions(agent.assistant_turn()) == []


@pytest.mark.parametrize("profile", ["quiet", "classic", "off"])
def test_no_profile_holds_a_decision_back(board: Board, profile: str) -> None:
    agent = board.agent("main", session="s", profile=profile)
    agent.propose_plan(PLAN)
    agent.reject_plan("Tests first", by="ada")
    assert len(_decisions(agent.assistant_turn())) == 1


def test_steps_that_became_the_list_are_told_in_the_same_text(board: Board) -> None:
    agent = board.agent("main", session="s", dialect="claude-code")
    agent.propose_plan(PLAN)
    agent.approve_plan(by="ada", todos=True, person=True)
    (told,) = agent.assistant_turn()
    assert told.text.split("\n")[2:-1] == [
        "ada approved your plan 'Sessions' (revision 1). Begin with it.",
        "The todo list was changed: ada added 'Write the tests', 'Add the table'. The list now:",
        "1. [pending] Write the tests",
        "2. [pending] Add the table",
    ]
    assert agent.assistant_turn() == []


def test_a_decision_is_told_at_the_stop_and_after_a_restart(tmp_path: object) -> None:
    with Board.open(f"{tmp_path}/board.db") as board:
        board.agent("main", session="s").propose_plan(PLAN)
    with Board.open(f"{tmp_path}/board.db") as board:
        board.agent("main", session="s").reject_plan("Tests first", by="ada")
    with Board.open(f"{tmp_path}/board.db") as board:
        agent = board.agent("main", session="s")
        told = agent.about_to_stop("I wait.")
        assert told is not None
        assert told.kind == "answer"
        assert "because: Tests first" in told.text
        assert agent.about_to_stop("I wait.") is None


def test_a_host_without_turns_takes_decisions_with_the_answers(board: Board) -> None:
    agent = board.agent("main", session="s")
    agent.call("todo", {"set": ["Deploy"]})
    agent.ask("1", "Which region?")
    agent.answer("1", "eu-west", by="ada", person=True)
    agent.propose_plan(PLAN)
    agent.reject_plan("Tests first", by="ada", person=True)
    told = agent.take_answers()
    assert told is not None
    assert told.split("\n")[2:-1] == [
        "You asked about 'Deploy': Which region?",
        "ada answered: eu-west",
        "Revise your plan 'Sessions' (revision 1) and propose it again: ada rejected it because: Tests first",
    ]
    assert agent.take_answers() is None


def test_a_plan_that_needs_no_approval_is_no_news(board: Board) -> None:
    agent = board.agent("main", session="s", dialect="claude-code", plan_tools={"require_approval": False})
    agent.call("EnterPlanMode", {})
    assert not agent.call("ExitPlanMode", {"plan": PLAN}).is_error
    assert agent.assistant_turn() == []


def test_a_rejection_is_told_though_another_plan_was_proposed_since(board: Board) -> None:
    agent = board.agent("main", session="s")
    agent.propose_plan(PLAN)
    agent.reject_plan("Tests first", by="ada")
    agent.propose_plan("1. Something else")
    assert "because: Tests first" in _decisions(agent.assistant_turn())[0]


def test_items_in_whose_place_a_plan_comes_are_set_aside_not_removed(board: Board) -> None:
    agent = board.agent("main", session="s")
    agent.call("todo", {"set": ["Sweep", "Paint"]})
    agent.assistant_turn(["todo"])
    agent.propose_plan(PLAN)
    agent.approve_plan(by="ada", todos=True, person=True)
    (told,) = agent.assistant_turn()
    assert "ada set aside 'Sweep', 'Paint'. Do not add set-aside items again unless you are asked to." in told.text
    assert "removed" not in told.text
    agent.edit({"op": "rm", "item": agent.todos.items[0].id}, by="ada")
    (told,) = agent.assistant_turn()
    assert "ada removed 'Write the tests'. Do not add removed items again unless you are asked to." in told.text

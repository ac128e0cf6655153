"""A plan that streams in with the model's text, on a board."""

from collections.abc import Iterator

import pytest

from punchlist import Agent, Board
from punchlist.errors import InvalidInput, PlanRefused, PlanUnfinished
from tests.dialects.boards import memory_board

WHOLE = "Look:\n<proposed_plan>\n1. Paint\n2. Sweep\n</proposed_plan>\nGood?\n"


@pytest.fixture
def board() -> Iterator[Board]:
    with memory_board() as board:
        yield board


@pytest.fixture
def agent(board: Board) -> Agent:
    agent = board.agent("main", session="s", dialect="codex")
    agent.enter_plan_mode()
    return agent


def approvals(board: Board) -> list[tuple[str, object]]:
    """What happened to plans: the last word of the kind, and the text that came with it."""
    return [
        (event.kind.removeprefix("approval."), event.data.get("delta", event.data.get("text")))
        for event in board.events()
        if event.kind.startswith("approval.")
    ]


def test_a_streamed_plan_is_a_draft_and_then_proposed(board: Board, agent: Agent):
    assert agent.plan_delta("Look:\n<proposed_plan>\n1. Pa", turn="t1") == "Look:\n"
    draft = agent.plan
    assert draft is not None
    assert (draft.state.value, draft.item, draft.text) == ("drafting", "t1-plan", "")
    with pytest.raises(PlanUnfinished):
        agent.approve_plan()
    assert agent.plan_delta("int\n2. Sweep\n</proposed_plan>\nGood?\n", turn="t1") == "Good?\n"
    left, plan = agent.plan_message(WHOLE, turn="t1")
    assert left == ""
    assert plan == agent.plan
    assert plan is not None
    assert (plan.id, plan.revision, plan.state.value) == (draft.id, 1, "proposed")
    assert plan.text == "1. Paint\n2. Sweep\n"
    assert approvals(board) == [
        ("started", None),
        ("delta", "1. Pa"),
        ("delta", "int\n2. Sweep\n"),
        ("proposed", "1. Paint\n2. Sweep\n"),
    ]


def test_the_text_of_the_message_counts(agent: Agent):
    agent.plan_delta("<proposed_plan>\nsomething else\n", turn="t1")
    _, plan = agent.plan_message(WHOLE, turn="t1")
    assert plan is not None
    assert plan.text == "1. Paint\n2. Sweep\n"


def test_a_turn_has_one_plan_and_the_next_turn_supersedes_it(agent: Agent):
    agent.plan_message(WHOLE, turn="t1")
    assert agent.plan_message("<proposed_plan>\nother\n</proposed_plan>", turn="t1")[1] is None
    agent.plan_delta("<proposed_plan>\n", turn="t2")
    assert [plan.state.value for plan in agent.plans] == ["superseded", "drafting"]
    agent.plan_message("<proposed_plan>\nother\n</proposed_plan>", turn="t2")
    assert [(plan.item, plan.state.value) for plan in agent.plans] == [
        ("t1-plan", "superseded"),
        ("t2-plan", "proposed"),
    ]


def test_a_message_without_a_plan_proposes_none(agent: Agent):
    assert agent.plan_delta("  \n", turn="t1") == ""
    assert agent.plan_delta("Just talk", turn="t1") == "  \nJust talk"
    assert agent.plan_message("  \nJust talk", turn="t1") == ("", None)
    assert agent.plan is None


def test_what_was_held_back_is_given_with_the_end_of_the_message(agent: Agent):
    assert agent.plan_delta("Hi\n<proposed_pl", turn="t1") == "Hi\n"
    assert agent.plan_message("Hi\n<proposed_pl", turn="t1") == ("<proposed_pl", None)


def test_outside_plan_mode_tags_are_text(board: Board, agent: Agent):
    agent.exit_plan_mode()
    assert agent.plan_delta(WHOLE, turn="t1") == WHOLE
    assert agent.plan_message(WHOLE, turn="t1") == ("", None)
    assert approvals(board) == []


def test_a_plan_too_long_or_empty_is_refused_and_the_draft_stays_one(agent: Agent):
    agent.plan_delta("<proposed_plan>\n", turn="t1")
    for body in ("x" * 70_000, ""):
        with pytest.raises(PlanRefused):
            agent.plan_message(f"<proposed_plan>\n{body}\n</proposed_plan>", turn=f"t-{len(body)}")
    assert [plan.state.value for plan in agent.plans] == ["drafting"]


def test_a_draft_that_comes_to_nothing_leaves_the_plan_that_waited(board: Board, agent: Agent):
    agent.plan_message(WHOLE, turn="t1")
    waiting = agent.plan
    assert agent.plan_delta("Hm.\n<proposed_plan>\nhalf", turn="t2") == "Hm.\n"
    assert agent.plan_message("Hm.\nSorry, no plan.", turn="t2") == ("", None)
    assert agent.plan == waiting
    assert agent.plans == (waiting,)
    assert [kind for kind, _ in approvals(board)][-3:] == ["delta", "dropped", "proposed"]
    assert [row.plan for row in board.plans()] == [waiting]
    assert agent.approve_plan(1, by="ada").state.value == "approved"


def test_a_first_draft_that_comes_to_nothing_is_no_plan(agent: Agent):
    agent.plan_delta("<proposed_plan>\nhalf", turn="t1")
    agent.plan_message("Sorry, no plan.", turn="t1")
    assert agent.plan is None
    _, plan = agent.plan_message(WHOLE, turn="t1")  # the turn goes on, with another message
    assert plan is not None
    assert (plan.revision, plan.item) == (1, "t1-plan")


def test_what_was_decided_before_a_draft_that_comes_to_nothing_stays_decided(agent: Agent):
    agent.plan_message(WHOLE, turn="t1")
    agent.reject_plan("too dear", by="ada")
    agent.plan_delta("<proposed_plan>\nhalf", turn="t2")
    agent.plan_message("Sorry, no plan.", turn="t2")
    assert [plan.state.value for plan in agent.plans] == ["rejected"]


def test_a_message_without_pieces_is_to_be_seen_as_a_whole(board: Board, agent: Agent):
    left, plan = agent.plan_message(WHOLE, turn="t1")
    assert left == "Look:\nGood?\n"
    assert plan is not None
    assert agent.plan_message("Just words", turn="t2") == ("Just words", None)
    assert agent.plan_message("and more", turn="t2") == ("and more", None)
    outside = board.agent("other", session="s", dialect="codex")
    assert outside.plan_message(WHOLE, turn="t1") == (WHOLE, None)


def test_a_turn_has_a_name(agent: Agent):
    with pytest.raises(InvalidInput):
        agent.plan_delta("x", turn="")


def test_an_approved_streamed_plan_ends_plan_mode_and_update_plan_works_again(agent: Agent):
    step = {"plan": [{"step": "Paint", "status": "pending"}]}
    assert agent.call("update_plan", step).is_error
    agent.plan_message(WHOLE, turn="t1")
    agent.approve_plan(1, by="ada")
    assert agent.call("update_plan", step).text == "Plan updated"

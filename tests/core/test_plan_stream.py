"""A plan while its turn streams in."""

from hypothesis import given
from hypothesis import strategies as st

from punchlist.core.plan import PlanStream, PlanStreamStep, extract, strip

MESSAGE = "  \nHere:\n<proposed_plan>\n1. Paint\n</proposed_plan>\nGood?\n"


def kinds(steps: list[PlanStreamStep]) -> list[str]:
    return [step.kind for step in steps]


def test_a_plan_starts_grows_and_is_complete_once():
    stream = PlanStream("t1")
    assert stream.item == "t1-plan"
    assert stream.push("Here:\n<proposed_plan>\n") == [PlanStreamStep("visible", "Here:\n"), PlanStreamStep("started")]
    assert stream.push("1. Paint\n") == [PlanStreamStep("delta", "1. Paint\n")]
    assert stream.push("</proposed_plan>\n") == []
    assert stream.message("Here:\n<proposed_plan>\n1. Paint\n</proposed_plan>\n") == [
        PlanStreamStep("completed", "1. Paint\n")
    ]
    assert stream.completed


def test_the_whole_message_counts_whatever_the_pieces_were():
    stream = PlanStream("t1")
    stream.push("<proposed_plan>\nfirst\n")
    assert stream.message("<proposed_plan>\nsecond\n</proposed_plan>") == [PlanStreamStep("completed", "second\n")]


def test_a_plan_that_never_streamed_starts_with_the_message():
    steps = PlanStream("t1").message("<proposed_plan>\nPaint\n</proposed_plan>")
    assert steps == [PlanStreamStep("started"), PlanStreamStep("completed", "Paint\n")]


def test_a_turn_has_one_plan():
    stream = PlanStream("t1")
    stream.message("<proposed_plan>\none\n</proposed_plan>")
    assert stream.push("<proposed_plan>\ntwo\n</proposed_plan>\nbye\n") == [PlanStreamStep("visible", "bye\n")]
    assert stream.message("<proposed_plan>\ntwo\n</proposed_plan>\nbye\n") == []


def test_blanks_are_held_back_until_there_is_something_to_see():
    stream = PlanStream("t1")
    assert stream.push(" \n") == []
    assert stream.push("\tHello") == [PlanStreamStep("visible", " \n\tHello")]
    assert stream.push(" ") == [PlanStreamStep("visible", " ")]


def test_a_message_of_blanks_and_a_plan_shows_nothing():
    stream = PlanStream("t1")
    text = "\n \n<proposed_plan>\nPaint\n</proposed_plan>\n \n"
    assert kinds(stream.push(text) + stream.message(text)) == ["started", "delta", "completed"]


def test_the_next_message_holds_its_own_blanks_back():
    stream = PlanStream("t1")
    stream.push("One")
    stream.message("One")
    assert stream.push("\n") == []
    assert stream.push("Two") == [PlanStreamStep("visible", "\nTwo")]


def test_an_empty_plan_is_one():
    assert PlanStream("t1").message("<proposed_plan>") == [PlanStreamStep("started"), PlanStreamStep("completed", "")]


@given(st.lists(st.sampled_from(["<proposed_plan>\n", "</proposed_plan>\n", "a", "\n", " ", "<prop"]), max_size=30))
def test_however_it_is_cut_the_visible_text_and_the_plan_are_the_same(pieces: list[str]):
    text = "".join(pieces)
    stream = PlanStream("t")
    steps = [step for piece in pieces for step in stream.push(piece)] + stream.message(text)
    visible = "".join(step.text for step in steps if step.kind == "visible")
    seen = strip(text)
    assert visible == (seen if seen.strip() else "")
    completed = [step.text for step in steps if step.kind == "completed"]
    assert completed == ([] if extract(text) is None else [extract(text)])
    assert kinds(steps).count("started") == len(completed)

"""Plans, progress and focus: what follows from the items of a list."""

import pytest

from punchlist.core.commands import Append, Edit, Init, Remove, Replace
from punchlist.core.todo import Progress, Status, TodoItem, TodoList
from tests.core.build import EMPTY, NARROW, after, edited, entry, ids, init, kinds, lines, listed, person, run, write


def counted(completed: int, pending: int, cancelled: int = 0) -> Progress:
    statuses = [Status.COMPLETED] * completed + [Status.PENDING] * pending + [Status.CANCELLED] * cancelled
    items = (TodoItem(id=str(place), content="", status=status) for place, status in enumerate(statuses))
    return TodoList(items=tuple(items)).progress


def test_a_first_list_begins_a_plan() -> None:
    assert (TodoList().plan_id, listed("a").todos.plan_id) == ("p0", "p1")


def test_a_rewrite_of_open_work_stays_in_its_plan() -> None:
    assert after(listed("a", "b"), write("something else entirely")).todos.plan_id == "p1"


def test_a_new_list_behind_a_finished_one_begins_a_plan_and_numbers_anew() -> None:
    state = after(listed("x a", "- b"), write("c", "d"))
    assert (state.todos.plan_id, ids(state), lines(state)) == ("p2", ["1", "2"], ["  c", "  d"])


def test_a_new_list_behind_an_empty_one_begins_a_plan() -> None:
    state = after(listed("> a", policy=NARROW), write("x a"), NARROW)
    assert lines(state) == []
    assert after(state, write("a"), NARROW).todos.plan_id == "p3"


def test_a_finished_list_that_is_written_again_with_more_goes_on() -> None:
    state = after(listed("x a"), write("x a", "b"))
    assert (state.todos.plan_id, ids(state)) == ("p1", ["1", "2"])


def test_a_text_that_is_merely_near_does_not_tie_a_new_list_to_a_finished_one() -> None:
    assert after(listed("x Fix the red door"), write("Fix the blue door")).todos.plan_id == "p2"


def test_the_explanation_does_not_leak_into_a_new_plan() -> None:
    done = after(EMPTY, Replace((entry("x a"),), "why"))
    assert after(done, write("b")).todos.explanation is None
    assert edited(edited(done, Remove()), Append((entry("b"),))).todos.explanation is None
    assert edited(done, init(A=["b"])).todos.explanation is None


def test_phases_of_a_wiped_list_do_not_leak_into_the_next() -> None:
    state = edited(EMPTY, init(A=["a"]))
    state = after(state, write("x a"), NARROW)
    assert state.todos.phases == ()
    assert edited(state, Append((entry("b"),))).todos.items[0].phase is None


def test_appending_to_an_empty_list_begins_a_plan_and_to_a_full_one_does_not() -> None:
    state = edited(EMPTY, Append((entry("a"),)))
    assert state.todos.plan_id == "p1"
    assert edited(state, Append((entry("b"),))).todos.plan_id == "p1"


def test_a_fresh_list_over_open_work_sets_that_aside() -> None:
    state = edited(listed("a", "b"), init(A=["b", "c"]))
    assert (ids(state), [gone.content for gone in state.todos.omitted]) == (["2", "3"], ["a"])


def test_a_fresh_list_keeps_the_aliases_and_the_birth_of_what_it_repeats() -> None:
    state = after(EMPTY, Replace((entry("a", alias="t-1"),)))
    state = run(state, Edit((init(A=["a"]),)), by="ada").state
    assert state.todos.items[0].aliases == {"plain": "t-1"}
    assert state.todos.items[0].created_by == "agent"


def test_an_empty_fresh_list_on_an_empty_list_changes_nothing() -> None:
    assert kinds(run(EMPTY, Edit((Init(()),)))) == ["list.confirmed"]


def test_what_was_omitted_outlives_the_plan_and_no_id_is_used_twice() -> None:
    state = after(listed("a", "x b"), write("x b"))
    state = after(state, write("c"))
    assert state.todos.plan_id == "p3"
    assert [gone.content for gone in state.todos.omitted] == ["a"]
    assert ids(state) == ["3"]


def test_focus_is_the_first_item_in_progress() -> None:
    focus = listed("a", "> b", "> c").todos.focus
    assert focus is not None
    assert focus.content == "b"
    assert listed("a").todos.focus is None


def test_done_counts_completed_and_total_leaves_out_cancelled() -> None:
    assert counted(2, 1, 4) == Progress(2, 3, 67)


@pytest.mark.parametrize(
    ("completed", "pending", "percent"),
    [(0, 0, 0), (0, 3, 0), (1, 7, 13), (1, 199, 1), (1, 200, 0), (1, 2, 33), (199, 1, 100), (197, 3, 99), (3, 0, 100)],
)
def test_percent_is_rounded_half_up(completed: int, pending: int, percent: int) -> None:
    assert counted(completed, pending).percent == percent


@pytest.mark.parametrize("status", Status)
def test_pending_in_progress_blocked_and_failed_are_open(status: Status) -> None:
    assert status.is_open == (status.value in {"pending", "in_progress", "blocked", "failed"})
    assert TodoItem(id="1", content="a", status=status).is_open == status.is_open


def test_the_label_is_the_active_form_or_else_the_content() -> None:
    assert TodoItem(id="1", content="Paint").label == "Paint"
    assert TodoItem(id="1", content="Paint", active_form="Painting").label == "Painting"


def test_a_wipe_takes_hidden_items_too_once_all_is_finished() -> None:
    state = after(listed("> a", "- b"), write("x a"), NARROW)
    assert lines(state) == []


def test_a_wipe_leaves_what_others_added() -> None:
    state = person(listed("> a", policy=NARROW), Append((entry("theirs"),)))
    applied = run(state, write("x a"), NARROW)
    assert lines(applied.state) == ["  theirs"]
    assert "list.wiped" in kinds(applied)
    assert lines(after(applied.state, write("x a", "b"), NARROW)) == ["  theirs", "x a", "  b"]


def test_writing_an_empty_list_sets_open_work_aside() -> None:
    state = after(listed("a", "x b"), write(), NARROW)
    assert (lines(state), [gone.content for gone in state.todos.omitted]) == ([], ["a"])

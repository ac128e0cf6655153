"""A whole list against what its author last saw and what others did since."""

import pytest
from msgspec.structs import replace

from punchlist.core.commands import (
    Append,
    Block,
    Done,
    Drop,
    Edit,
    Entry,
    Fail,
    Note,
    Remove,
    Reopen,
    Replace,
    Restore,
    Reword,
    Start,
)
from punchlist.core.todo import MOST_OMITTED, Blocker, ListState, Status
from tests.core.build import (
    EMPTY,
    NARROW,
    PLAIN,
    after,
    codes,
    edited,
    entry,
    ids,
    item,
    kinds,
    lines,
    listed,
    on,
    person,
    run,
    write,
)


def reordered(state: ListState, *texts: str) -> ListState:
    """A person put the items in another order."""
    items = tuple(item(state, text) for text in texts)
    return ListState(replace(state.todos, items=items, revision=state.todos.revision + 1), state.todos.items)


# Nobody else changed the list.


def test_the_result_is_the_input_to_the_letter() -> None:
    state = listed("> Paint", "Sweep", "x Plan")
    assert lines(after(state, write("x Paint", "New", "> Sweep now"))) == ["x Paint", "  New", "> Sweep now"]


def test_texts_and_forms_are_taken_as_given() -> None:
    state = after(EMPTY, Replace((entry("Paint a wall", active_form="Painting"),)))
    state = after(state, Replace((entry("Paint a red wall", active_form="Painting red"),)))
    assert (item(state, "Paint a red wall").active_form, ids(state)) == ("Painting red", ["1"])


def test_a_form_that_repeats_the_old_content_is_kept_when_the_content_changes() -> None:
    state = after(EMPTY, Replace((entry("Paint the wall"),)))
    state = after(state, Replace((entry("Paint the wall red", active_form="Paint the wall"),)))
    assert item(state, "Paint the wall red").label == "Paint the wall"


def test_a_form_that_only_repeats_the_content_is_no_change() -> None:
    state = listed("Paint")
    assert kinds(run(state, Replace((entry("Paint", active_form="Paint"),)))) == ["list.confirmed"]


def test_items_that_the_dialect_cannot_show_stay_behind_their_neighbour() -> None:
    state = edited(listed("a", "b", "c"), Drop(on("2")))
    state = after(state, write("> c", "a", "d"), NARROW)
    assert lines(state) == ["> c", "  a", "- b", "  d"]


def test_fields_that_the_dialect_cannot_show_stay() -> None:
    state = edited(listed("a"), Note(on("1"), "mind the step"), Start(on("1")))
    state = after(state, write("x a", "b"), NARROW)
    assert item(state, "a").notes == ("mind the step",)


def test_an_equal_write_keeps_the_revision_and_is_confirmed() -> None:
    state = listed("> a", "b")
    applied = run(state, write("> a", "b"))
    assert applied.state.todos is state.todos
    assert applied.events == (("list.confirmed", {"revision": 1}),)


@pytest.mark.parametrize("hidden", [Block(on("1"), "waiting for paint", "ada"), Fail(on("1"))])
def test_a_status_shown_as_its_nearest_and_given_back_is_no_change(hidden: Block | Fail) -> None:
    state = edited(listed("a", "b"), hidden)
    applied = run(state, write("> a", "b"), NARROW)
    assert kinds(applied) == ["list.confirmed"]


def test_a_status_that_differs_from_the_nearest_is_a_change() -> None:
    state = edited(listed("a", "b"), Block(on("1"), "waiting"))
    state = after(state, write("a", "b"), NARROW)
    assert (item(state, "a").status, item(state, "a").blocker) == (Status.PENDING, None)


def test_every_change_is_an_event_and_the_last_one_closes_it() -> None:
    applied = run(listed("a", "> b", "c"), write("> a", "x b", "d"))
    assert set(kinds(applied)[:-1]) == {"item.started", "item.completed", "item.added", "item.omitted"}
    assert kinds(applied)[-1] == "list.replaced"
    assert all(data["revision"] == 2 for _, data in applied.events)


def test_a_new_order_is_an_event() -> None:
    assert kinds(run(listed("a", "b"), write("b", "a"))) == ["list.ordered", "list.replaced"]


# Others changed it since.


def test_an_item_that_others_added_stays_behind_its_neighbour() -> None:
    state = edited(listed("a", "b"), Append((entry("x"),)))
    state = ListState(replace(state.todos, items=(state.todos.items[0], state.todos.items[2], state.todos.items[1])))
    state = ListState(state.todos, tuple(known for known in state.todos.items if known.content != "x"))
    assert lines(after(state, write("a", "> b"))) == ["  a", "  x", "> b"]
    assert lines(after(state, write("b", "> a"))) == ["  b", "> a", "  x"]


def test_an_item_that_others_put_first_stays_first() -> None:
    added = person(EMPTY, Append((entry("theirs"),)))
    assert lines(after(added, write("mine"))) == ["  theirs", "  mine"]


def test_an_item_whose_neighbour_goes_stays_where_it_can() -> None:
    state = person(listed("a", "b"), Append((entry("x"),)))
    assert lines(after(state, write("c"))) == ["  c", "  x"]
    assert [gone.content for gone in after(state, write("c")).todos.omitted] == ["a", "b"]


def test_repeating_a_shown_status_undoes_nothing() -> None:
    state = person(listed("> a", "b"), Done(on("1")))
    assert lines(after(state, write("> a", "> b"))) == ["x a", "> b"]


def test_repeating_a_shown_text_undoes_nothing() -> None:
    state = person(listed("> a wall", "b"), Reword(on("1"), "a red wall"))
    assert lines(after(state, write("x a wall", "b"))) == ["x a red wall", "  b"]


def test_repeating_a_shown_form_undoes_nothing() -> None:
    state = after(EMPTY, Replace((entry("> Paint", active_form="Painting"), entry("b"))))
    state = person(state, Reword(on("1"), "Paint", "Painting slowly"))
    state = after(state, Replace((entry("> Paint", active_form="Painting"), entry("x b"))))
    assert item(state, "Paint").active_form == "Painting slowly"


def test_repeating_the_shown_order_undoes_nothing() -> None:
    state = reordered(listed("a", "b", "c"), "c", "a", "b")
    assert lines(after(state, write("> a", "b", "c"))) == ["  c", "> a", "  b"]


def test_a_new_order_of_the_authors_own_holds() -> None:
    state = reordered(listed("a", "b", "c"), "c", "a", "b")
    assert lines(after(state, write("b", "a", "c"))) == ["  b", "  a", "  c"]


def test_a_new_item_moves_with_the_item_before_it_into_the_order_of_others() -> None:
    state = reordered(listed("a", "b"), "b", "a")
    assert lines(after(state, write("a", "new", "b"))) == ["  b", "  a", "  new"]


def test_repeating_an_item_that_others_removed_does_not_bring_it_back() -> None:
    state = person(listed("a", "b"), Remove(on("1")))
    assert lines(after(state, write("a", "> b"))) == ["> b"]


def test_repeating_an_item_that_others_set_aside_does_not_bring_it_back() -> None:
    first = listed("a", "b")
    state = run(first, write("b"), PLAIN).state
    state = ListState(state.todos, first.todos.items)
    again = after(state, write("a", "> b"))
    assert (lines(again), [gone.content for gone in again.todos.omitted]) == (["> b"], ["a"])


def test_saying_something_new_of_an_item_that_others_removed_brings_it_back() -> None:
    state = person(listed("a", "b"), Remove(on("1")))
    assert lines(after(state, write("> a", "b"))) == ["> a", "  b"]


def test_a_value_that_says_something_new_wins_over_others() -> None:
    state = person(listed("> a", "b"), Block(on("1"), "later"))
    assert lines(after(state, write("x a", "b"))) == ["x a", "  b"]


def test_an_item_that_others_changed_is_not_dropped_by_leaving_it_out() -> None:
    state = person(listed("> a", "b"), Done(on("2")))
    assert lines(after(state, write("> a"))) == ["> a", "x b"]


def test_what_a_person_reopened_is_not_wiped_with_the_finished_list() -> None:
    state = person(listed("x a", "> b", policy=NARROW), Reopen(on("1")))
    assert lines(after(state, write("x a", "x b"), NARROW)) == ["  a"]


def test_once_written_over_the_author_knows_the_list_again() -> None:
    state = person(listed("> a", "b"), Done(on("1")))
    state = after(state, write("x a", "> b"))
    assert state.shown is None
    assert lines(after(state, write("> a", "b"))) == ["> a", "  b"]


def test_a_second_write_still_remembers_what_was_never_shown() -> None:
    state = person(listed("a"), Append((entry("theirs"),)))
    state = after(state, write("> a"))
    assert lines(after(state, write("x a"))) == ["x a", "  theirs"]


def test_writing_nothing_leaves_others_items_and_is_no_change() -> None:
    state = person(EMPTY, Append((entry("theirs"),)))
    applied = run(state, write(), NARROW)
    assert (kinds(applied), applied.state.todos.revision) == (["list.confirmed"], 1)


def test_a_targeted_change_of_ones_own_keeps_what_was_not_shown_apart() -> None:
    state = person(listed("a", "b"), Append((entry("theirs"),)))
    state = edited(state, Start(on("2")))
    assert lines(after(state, write("a", "x b"))) == ["  a", "x b", "  theirs"]


def test_an_item_removed_by_its_own_agent_can_be_written_again() -> None:
    state = person(listed("a", "b"), Append((entry("theirs"),)))
    state = edited(state, Remove(on("1")))
    assert lines(after(state, write("a", "b"))) == ["  a", "  b", "  theirs"]


# What is left out.


def test_an_open_item_that_is_left_out_is_omitted_and_said() -> None:
    applied = run(listed("a", "> b", "x c"), write("a"))
    assert [gone.content for gone in applied.state.todos.omitted] == ["b"]
    assert codes(applied) == ["omitted"]
    assert applied.problems[0].data == {"items": ["2"]}


def test_a_closed_item_that_is_left_out_is_gone() -> None:
    applied = run(listed("> a", "x b"), write("> a"))
    assert (applied.state.todos.omitted, kinds(applied)) == ((), ["item.removed", "list.replaced"])


def test_an_omitted_item_can_be_restored_as_pending_under_its_id() -> None:
    state = after(listed("a", "> b"), write("a"))
    applied = run(state, Edit((Restore(on("2")),)))
    assert (lines(applied.state), applied.state.todos.omitted) == (["  a", "  b"], ())
    assert kinds(applied) == ["item.restored", "list.edited"]


def test_all_omitted_items_can_be_restored_at_once() -> None:
    state = edited(after(listed("a", "b", "c"), write("a")), Restore())
    assert lines(state) == ["  a", "  b", "  c"]


def test_an_omitted_item_that_is_written_again_comes_back_with_its_id() -> None:
    state = after(after(listed("a", "b"), write("a")), write("a", "B!"))
    assert (ids(state), state.todos.omitted) == (["1", "2"], ())


def test_an_omitted_item_can_be_removed_for_good() -> None:
    state = edited(after(listed("a", "b"), write("a")), Remove(on("2")))
    assert state.todos.omitted == ()


def test_the_note_on_omitted_items_is_one_line_and_bounded() -> None:
    applied = run(listed(*(f"item {number}\n{'x' * 3000}" for number in range(200))), write("other"))
    said = applied.problems[0].text
    assert len(said) < 2000
    assert "\n" not in said


def test_a_list_keeps_the_last_256_items_that_rewrites_left_out() -> None:
    state = EMPTY
    for number in range(100):
        state = after(state, write(*(f"item {number}-{part}" for part in range(10))))
    omitted = [gone.content for gone in state.todos.omitted]
    assert len(omitted) == MOST_OMITTED == 256
    assert (omitted[0], omitted[-1]) == ("item 73-4", "item 98-9")


def test_a_write_that_leaves_out_more_names_them_all_and_keeps_the_last() -> None:
    applied = run(listed(*(f"item {number}" for number in range(300))), write("item 299"))
    assert len(applied.problems[0].data["items"]) == 299
    assert [gone.id for gone in applied.state.todos.omitted] == [str(number) for number in range(44, 300)]


def test_the_oldest_omitted_item_comes_back_in_the_write_that_leaves_out_another() -> None:
    state = after(listed(*(f"item {number}" for number in range(257))), write("item 256"))
    applied = run(state, write("item 0"))
    assert lines(applied.state) == ["  item 0"]
    assert [gone.content for gone in applied.state.todos.omitted] == [f"item {number}" for number in range(1, 257)]


# The other values of an entry.


def test_values_that_an_entry_does_not_say_stay() -> None:
    full = Entry("a", notes=("n",), priority="high", parent="p", phase="A")
    state = after(after(EMPTY, Replace((full,))), Replace((Entry("a", Status.IN_PROGRESS),)))
    known = item(state, "a")
    assert (known.notes, known.priority, known.parent, known.phase) == (("n",), "high", "p", "A")


def test_a_blocker_comes_with_its_status_and_goes_with_it() -> None:
    waits = Entry("a", Status.BLOCKED, blocker=Blocker("no paint", "ada"))
    state = after(EMPTY, Replace((waits,)))
    assert item(state, "a").blocker == Blocker("no paint", "ada")
    assert item(after(state, write("a")), "a").blocker is None


def test_an_explanation_stays_until_another_is_given_or_it_is_emptied() -> None:
    state = after(EMPTY, Replace((entry("a"),), "why"))
    assert after(state, write("> a")).todos.explanation == "why"
    assert after(state, Replace((entry("a"),), "because")).todos.explanation == "because"
    assert after(state, Replace((entry("a"),), "")).todos.explanation is None


def test_what_was_cleaned_out_of_a_text_is_said() -> None:
    applied = run(EMPTY, write("red\x1b[31m wall"))
    assert lines(applied.state) == ["  red wall"]
    assert applied.problems[0].data == {"removed": ["escape sequences"]}


def test_an_item_that_others_set_aside_is_taken_up_once() -> None:
    first = listed("a", "b")
    state = ListState(after(first, write("b")).todos, first.todos.items)
    assert lines(after(state, write("> a", "b", "a"))) == ["> a", "  b", "  a"]

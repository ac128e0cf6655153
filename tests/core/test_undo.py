"""Taking an author's last change back, if nobody touched the same things since."""

import pytest
from msgspec.structs import replace

from punchlist.core.apply import undo
from punchlist.core.commands import Append, Done, Drop, Note, Operation, Remove, Replace, Restore, Reword, Start
from punchlist.core.todo import ListState, TodoList
from tests.core.build import EMPTY, after, edited, entry, ids, init, lines, listed, on, person, write


def undone(current: ListState, before: ListState, behind: ListState) -> ListState:
    todos = undo(current.todos, before.todos, behind.todos)
    assert isinstance(todos, TodoList)
    return ListState(todos)


def refused(current: ListState, before: ListState, behind: ListState) -> str:
    named = undo(current.todos, before.todos, behind.todos)
    assert isinstance(named, str)
    return named


@pytest.mark.parametrize(
    "operation",
    [
        Done(on("1")),
        Drop(),
        Remove(on("2")),
        Remove(phases=True),
        Reword(on("1"), "other"),
        Note(on("1"), "note"),
        Append((entry("more"),), phase="New"),
        init(B=["b", "c"]),
    ],
)
def test_an_operation_is_taken_back_whole(operation: Operation) -> None:
    before = edited(EMPTY, init(A=["> a", "b"]))
    changed = person(before, operation)
    assert replace(undone(changed, before, changed).todos, revision=1, next_id=3) == before.todos


def test_the_revision_and_the_numbering_do_not_go_back() -> None:
    before = listed("a")
    changed = person(before, Append((entry("b"),)))
    back = undone(changed, before, changed).todos
    assert (back.revision, back.next_id) == (changed.todos.revision, 3)


def test_what_others_did_elsewhere_stays() -> None:
    before = listed("a", "b")
    changed = person(before, Done(on("1")))
    current = edited(changed, Start(on("2")), Append((entry("c"),)))
    assert lines(undone(current, before, changed)) == ["  a", "> b", "  c"]


def test_what_was_touched_again_refuses_and_is_named() -> None:
    before = listed("a", "b")
    changed = person(before, Done(on("1")))
    assert refused(edited(changed, Note(on("1"), "really")), before, changed) == "a"
    assert refused(edited(changed, Remove(on("1"))), before, changed) == "a"


def test_a_removed_item_comes_back_behind_its_old_neighbour() -> None:
    before = listed("a", "b", "c")
    changed = person(before, Remove(on("2")))
    current = after(changed, write("a", "new", "c"))
    back = undone(current, before, changed)
    assert lines(back) == ["  a", "  b", "  new", "  c"]
    assert sorted(ids(back)) == ["1", "2", "3", "4"]


def test_an_omission_is_taken_back() -> None:
    before = listed("a", "b")
    changed = after(before, write("a"))
    assert undone(changed, before, changed).todos.omitted == ()
    restored = edited(changed, Restore())
    assert lines(undone(restored, changed, restored)) == ["  a"]
    assert [gone.id for gone in undone(restored, changed, restored).todos.omitted] == ["2"]


def test_a_new_order_is_taken_back_even_when_others_worked_on_the_items() -> None:
    before = listed("a", "b", "c")
    changed = after(before, write("c", "b", "a"))
    current = edited(changed, Done(on("2")), Append((entry("d"),)))
    assert lines(undone(current, before, changed)) == ["  a", "x b", "  c", "  d"]


def test_an_order_that_was_changed_again_refuses() -> None:
    before = listed("a", "b", "c")
    changed = after(before, write("c", "b", "a"))
    assert refused(after(changed, write("b", "c", "a")), before, changed) == "the order of the items"


def test_a_new_plan_is_taken_back_as_a_whole() -> None:
    before = listed("x a")
    changed = after(before, write("b"))
    back = undone(changed, before, changed)
    assert (lines(back), back.todos.plan_id) == (["x a"], "p1")


def test_a_new_plan_with_work_on_it_is_not_taken_back() -> None:
    before = listed("x a")
    changed = after(before, write("b", "c"))
    assert refused(edited(changed, Start(on("2"))), before, changed) == "c"
    assert refused(edited(changed, Remove(on("2"))), before, changed) == "the whole list"


def test_a_change_of_an_earlier_plan_is_not_taken_back() -> None:
    before = listed("> a")
    changed = person(before, Done(on("1")))
    assert refused(after(changed, write("b")), before, changed) == "the whole list"


def test_a_phase_that_others_use_by_now_is_not_taken_back() -> None:
    before = edited(EMPTY, init(A=["a"]))
    changed = person(before, Append((entry("b"),), phase="B"))
    assert refused(edited(changed, Append((entry("c"),), phase="B")), before, changed) == "the phases"


def test_an_explanation_is_taken_back_unless_it_was_changed_again() -> None:
    before = listed("a")
    changed = after(before, Replace((entry("a"),), "why"))
    assert undone(changed, before, changed).todos.explanation is None
    assert refused(after(changed, Replace((entry("a"),), "because")), before, changed) == "the explanation"

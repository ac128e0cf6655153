"""Phases: named stretches of a list, each with its own id."""

from punchlist.core.commands import Append, Edit, Entry, Group, Init, Remove, Replace, Reword, Target
from punchlist.core.todo import ListState, Phase
from tests.core.build import EMPTY, after, edited, entry, init, item, kinds, lines, listed, on, run, write


def placed(state: ListState) -> list[tuple[str, str | None]]:
    return [(known.content, known.phase_id) for known in state.todos.items]


def test_phases_have_ids_and_items_know_both() -> None:
    state = edited(EMPTY, init(Build=["a"], Test=["b"]))
    assert state.todos.phases == (Phase("f1", "Build"), Phase("f2", "Test"))
    assert (item(state, "b").phase_id, item(state, "b").phase) == ("f2", "Test")


def test_empty_phases_are_kept() -> None:
    state = edited(EMPTY, init(Build=["a"], Test=[]))
    assert [phase.name for phase in state.todos.phases] == ["Build", "Test"]
    assert [phase.name for phase in edited(state, Remove()).todos.phases] == ["Build", "Test"]


def test_phases_of_equal_names_are_kept_apart() -> None:
    twice = (Group("Build", (entry("a"),)), Group("Build", (entry("b"),)))
    assert placed(edited(EMPTY, Init(twice))) == [("a", "f1"), ("b", "f2")]


def test_items_without_a_phase_stand_beside_those_with_one() -> None:
    state = edited(EMPTY, Init((Group(None, (entry("a"),)), Group("Build", (entry("b"),)))))
    assert placed(state) == [("a", None), ("b", "f1")]


def test_an_append_goes_to_the_end_of_its_phase() -> None:
    state = edited(EMPTY, init(A=["a"], B=["b"]), Append((entry("c"),), phase="A"))
    assert placed(state) == [("a", "f1"), ("c", "f1"), ("b", "f2")]


def test_an_append_without_a_phase_goes_to_the_last_one() -> None:
    assert placed(edited(EMPTY, init(A=["a"], B=[]), Append((entry("c"),)))) == [("a", "f1"), ("c", "f2")]


def test_an_append_makes_a_phase_that_is_missing() -> None:
    state = edited(listed("a"), Append((entry("b"),), phase="New"))
    assert placed(state) == [("a", None), ("b", "f1")]


def test_entries_of_one_append_may_name_phases_of_their_own() -> None:
    more = (entry("x", phase="B"), entry("y", phase="A"), entry("z"))
    state = edited(EMPTY, init(A=["a"], B=["b"]), Append(more))
    assert placed(state) == [("a", "f1"), ("y", "f1"), ("b", "f2"), ("x", "f2"), ("z", "f2")]


def test_the_name_of_a_phase_is_cleaned() -> None:
    state = edited(EMPTY, Append((entry("a", phase="\x1b[31mRed"),)), Append((entry("b"),), phase="\x1b[1mRed"))
    assert state.todos.phases == (Phase("f1", "Red"),)


def test_a_write_without_phases_leaves_them_as_they_are() -> None:
    state = edited(EMPTY, init(A=["a"], B=["b"]))
    state = after(state, write("> a", "x b"))
    assert placed(state) == [("a", "f1"), ("b", "f2")]


def test_an_equal_write_leaves_items_outside_any_phase_alone() -> None:
    state = edited(EMPTY, init(A=["a"]))
    state = edited(state, Init((Group("A", (entry("a"),)), Group(None, (entry("b"),)))))
    applied = run(ListState(state.todos), Replace((Entry("a", alias=None, notes=()), Entry("b"))))
    assert kinds(applied) == ["list.confirmed"]


def test_a_new_item_in_a_write_without_phases_joins_the_phase_before_it() -> None:
    state = after(edited(EMPTY, init(A=["a"], B=["b"])), write("a", "new", "b"))
    assert placed(state) == [("a", "f1"), ("new", "f1"), ("b", "f2")]


def test_an_entry_may_name_its_phase() -> None:
    state = after(EMPTY, Replace((entry("a", phase="A"), entry("b", phase="B"))))
    assert placed(state) == [("a", "f1"), ("b", "f2")]
    assert placed(after(state, Replace((entry("a", phase="B"), entry("b"))))) == [("a", "f2"), ("b", "f2")]


def test_a_write_with_phases_gives_them_anew_and_known_names_keep_their_ids() -> None:
    state = edited(EMPTY, init(A=["a"], B=["b"]))
    entries = (Entry("b", phase_place=0), Entry("a", phase_place=2), Entry("c"))
    state = after(state, Replace(entries, phases=("B", "New", "A")))
    assert state.todos.phases == (Phase("f2", "B"), Phase("f3", "New"), Phase("f1", "A"))
    assert placed(state) == [("b", "f2"), ("a", "f1"), ("c", None)]


def test_removing_a_phase_whole_takes_its_name_too_only_when_asked() -> None:
    state = edited(EMPTY, init(A=["a"], B=["b"]))
    gone = edited(state, Remove(on("1")), Remove(Target(phase="B"), phases=True))
    assert (lines(gone), gone.todos.phases) == ([], (Phase("f1", "A"),))
    assert edited(state, Remove(phases=True)).todos.phases == ()


def test_a_change_of_phases_alone_is_a_change() -> None:
    state = edited(EMPTY, init(A=["a"]))
    applied = run(state, Edit((Append((), phase="Later"),)))
    assert (kinds(applied), applied.state.todos.revision) == (["list.edited"], 2)


def test_a_change_of_a_text_keeps_the_phase() -> None:
    assert placed(edited(EMPTY, init(A=["a"]), Reword(on("1"), "b"))) == [("b", "f1")]

"""Policies as values: each dialect states its own."""

import pytest
from msgspec.structs import replace

from punchlist.core.commands import (
    Append,
    Block,
    Command,
    Done,
    Drop,
    Edit,
    Entry,
    Limits,
    Merge,
    Note,
    Patch,
    Policy,
    Replace,
    Reword,
    Start,
)
from punchlist.core.todo import Blocker, Evidence, Status
from tests.core.build import (
    EMPTY,
    NARROW,
    NOW,
    PLAIN,
    after,
    codes,
    edited,
    entry,
    ids,
    init,
    item,
    lines,
    listed,
    on,
    run,
    write,
)

FIRST = replace(PLAIN, focus="first")
REFUSE = replace(PLAIN, focus="refuse")


def limited(limits: Limits) -> Policy:
    return replace(PLAIN, limits=limits)


def test_accept_keeps_several_items_in_progress() -> None:
    assert lines(after(EMPTY, write("> a", "> b"))) == ["> a", "> b"]


def test_first_keeps_the_first_item_in_progress_and_says_so() -> None:
    applied = run(EMPTY, write("> a", "> b", "> c"), FIRST)
    assert lines(applied.state) == ["> a", "  b", "  c"]
    assert applied.problems[0].code == "demoted"
    assert applied.problems[0].data == {"kept": "1", "items": ["2", "3"]}


def test_refuse_takes_no_second_item_in_progress() -> None:
    applied = run(EMPTY, write("> a", "> b"), REFUSE)
    assert (applied.refused, codes(applied)) == (True, ["several_in_progress"])


def test_refuse_takes_no_start_beside_another() -> None:
    state = listed("> a", "b")
    assert codes(run(state, Edit((Start(on("2")),)), REFUSE)) == ["several_in_progress"]
    assert lines(after(state, Edit((Done(on("1")), Start(on("2")))), REFUSE)) == ["x a", "> b"]
    assert lines(after(state, Edit((Start(on("1")),)), REFUSE)) == ["> a", "  b"]


def test_promote_starts_the_first_pending_item_when_nothing_is_in_progress() -> None:
    promoting = replace(PLAIN, promote=True)
    assert lines(after(EMPTY, write("x a", "! b", "c", "d"), promoting)) == ["x a", "! b", "> c", "  d"]
    assert lines(after(EMPTY, write("a", "> b"), promoting)) == ["  a", "> b"]
    assert lines(after(EMPTY, write("x a"), promoting)) == ["x a"]


def test_promotion_comes_once_behind_all_operations() -> None:
    policy = replace(PLAIN, promote=True, focus="first")
    state = edited(EMPTY, init(A=["a", "b"]), Done(on("1")), policy=policy)
    assert lines(state) == ["x a", "> b"]
    assert item(state, "a").started_at is None


def test_advance_starts_the_next_item_when_the_focus_is_finished() -> None:
    policy = replace(PLAIN, advance=True)
    state = listed("a", "> b", "c")
    assert lines(after(state, Edit((Done(on("2")),)), policy)) == ["  a", "x b", "> c"]
    assert lines(after(state, Edit((Drop(on("2")),)), policy)) == ["  a", "- b", "> c"]
    assert lines(after(state, Edit((Done(on("2"), advance=False),)), policy)) == ["  a", "x b", "  c"]
    assert lines(after(state, Edit((Done(on("1")),)), policy)) == ["x a", "> b", "  c"]


def test_behind_the_last_item_advance_goes_back_to_the_first_open_one() -> None:
    assert lines(after(listed("a", "> b"), Edit((Done(on("2")),)), replace(PLAIN, advance=True))) == ["> a", "x b"]


def test_atomic_means_that_one_bad_operation_refuses_all() -> None:
    applied = run(listed("a"), Edit((Done(on("1")), Done(on("9")))))
    assert (applied.refused, codes(applied), applied.problems[0].at) == (True, ["not_found"], 1)


def test_without_atomic_the_good_operations_hold_and_the_bad_are_named() -> None:
    policy = replace(PLAIN, atomic=False)
    applied = run(listed("a", "b"), Edit((Done(on("9")), Done(on("1")), Note(on("2"), " "))), policy)
    assert lines(applied.state) == ["x a", "  b"]
    assert [(problem.code, problem.at, problem.fatal) for problem in applied.problems] == [
        ("not_found", 0, True),
        ("missing_text", 2, True),
    ]
    assert not applied.refused


def test_without_atomic_a_wholly_bad_call_is_recorded_and_changes_nothing() -> None:
    state = listed("a")
    applied = run(state, Edit((Done(on("9")),)), replace(PLAIN, atomic=False))
    assert (applied.refused, applied.state.todos, codes(applied)) == (False, state.todos, ["not_found"])


def test_sweep_reaches_closed_items_too() -> None:
    state = listed("a", "x b", "- c")
    assert lines(edited(state, Drop())) == ["- a", "x b", "- c"]
    assert lines(edited(state, Drop(), policy=replace(PLAIN, sweep=True))) == ["- a", "- b", "- c"]


def test_a_wiping_policy_wipes_only_when_the_whole_input_is_completed() -> None:
    assert lines(after(EMPTY, write("x a", "> b"), NARROW)) == ["x a", "> b"]
    assert lines(after(EMPTY, write("x a", "x b"), NARROW)) == []
    assert lines(after(EMPTY, write("x a", "x b"))) == ["x a", "x b"]


def test_the_number_of_items_is_limited_and_the_limit_itself_fits() -> None:
    policy = limited(Limits(items=2))
    assert not run(EMPTY, write("a", "b"), policy).refused
    applied = run(EMPTY, write("a", "b", "c"), policy)
    assert (codes(applied), applied.problems[0].data) == (["too_many_items"], {"count": 3, "max": 2})


def test_the_number_is_limited_when_items_are_added_one_by_one() -> None:
    policy = limited(Limits(items=2))
    assert codes(run(listed("a", "b"), Edit((Append((entry("c"),)),)), policy)) == ["too_many_items"]
    assert not run(listed("a", "b", "c"), Edit((Done(on("1")),)), policy).refused


def test_notes_and_new_texts_do_not_count_as_items() -> None:
    operations = (Note(on("1"), "x"), Note(on("1"), "y"), Reword(on("1"), "z"))
    assert not run(listed("a"), Edit(operations), limited(Limits(items=2))).refused


@pytest.mark.parametrize(("text", "fits"), [("ü" * 4, True), ("ü" * 5, False)])
def test_lengths_count_characters_as_sent(text: str, fits: bool) -> None:
    assert run(EMPTY, write(text), limited(Limits(characters=4))).refused is not fits
    assert run(EMPTY, write(text[:-1] + "\x00"), limited(Limits(characters=4))).refused is not fits


@pytest.mark.parametrize(("text", "fits"), [("ü" * 2, True), ("üü.", False), ("....", True)])
def test_lengths_may_count_bytes(text: str, fits: bool) -> None:
    applied = run(EMPTY, write(text), limited(Limits(bytes=4)))
    assert applied.refused is not fits
    if not fits:
        assert applied.problems[0].data == {"field": "content", "size": 5, "max": 4, "unit": "bytes"}


def test_the_active_form_is_limited_too_and_the_item_is_named() -> None:
    command = Replace((entry("a"), entry("b", active_form="too long")))
    problem = run(EMPTY, command, limited(Limits(characters=4))).problems[0]
    assert (problem.code, problem.at, problem.data["field"]) == ("too_long", 1, "active_form")


@pytest.mark.parametrize("blank", ["", "  ", "\n\t"])
def test_blank_texts_are_refused_where_the_policy_says_so(blank: str) -> None:
    assert codes(run(EMPTY, Replace((Entry(blank),)), limited(Limits(refuse_blank=True)))) == ["blank"]
    assert not run(EMPTY, Replace((Entry(blank),))).refused


def test_the_count_is_checked_before_the_items_and_blank_before_long() -> None:
    policy = limited(Limits(items=2, characters=2, refuse_blank=True))
    assert codes(run(EMPTY, write("", "long", "x"), policy)) == ["too_many_items"]
    assert codes(run(EMPTY, Replace((Entry("long", active_form=" "),)), policy)) == ["blank"]


def test_merging_by_id_changes_known_items_and_appends_unknown_ones() -> None:
    state = after(EMPTY, Replace((entry("a", alias="x"), entry("b", alias="y"))))
    patches = (Patch(alias="y", status=Status.COMPLETED), Patch(alias="z", content="c"), Patch(alias="x", content="A"))
    state = after(state, Merge(patches))
    assert lines(state) == ["  A", "x b", "  c"]
    assert item(state, "c").aliases == {"plain": "z"}


def test_merging_by_id_finds_items_of_other_dialects_by_our_id_but_an_alias_wins() -> None:
    state = after(listed("ours"), Replace((entry("ours"), entry("theirs", alias="1"))), PLAIN)
    assert lines(after(state, Merge((Patch(alias="1", status=Status.COMPLETED),)))) == ["  ours", "x theirs"]
    assert lines(after(listed("ours"), Merge((Patch(alias="1", status=Status.COMPLETED),)))) == ["x ours"]


def test_one_merge_may_speak_of_an_item_twice_even_amid_phases() -> None:
    state = edited(EMPTY, init(A=["a"]))
    state = edited(state, init(A=["a"]), Append((), phase="B"))
    patches = (Patch(alias="n", content="new"), Patch(alias="n", status=Status.COMPLETED))
    assert lines(after(state, Merge(patches))) == ["  a", "x new"]


def test_a_patch_without_a_text_is_not_blank() -> None:
    policy = limited(Limits(refuse_blank=True))
    assert lines(after(listed("a"), Merge((Patch(alias="1", status=Status.COMPLETED),)), policy)) == ["x a"]


def test_a_status_given_back_as_shown_is_no_change_in_a_merge_by_id() -> None:
    state = listed("! a")
    assert run(state, Merge((Patch(alias="1", status=Status.IN_PROGRESS),)), NARROW).state.todos is state.todos


def test_an_empty_merge_is_confirmed() -> None:
    state = listed("a")
    assert run(state, Merge(()), PLAIN, at=NOW).state.todos is state.todos
    assert ids(state) == ["1"]


@pytest.mark.parametrize(
    "command",
    [
        Replace((entry("a", phase="long"),)),
        Replace((entry("a", alias="long"),)),
        Replace((entry("a", priority="long"),)),
        Replace((Entry("a", notes=("long",)),)),
        Replace((Entry("a", blocker=Blocker("x", "long")),)),
        Replace((), "long"),
        Replace((), phases=("long",)),
        Merge((Patch(alias="long"),)),
        Edit((), "long"),
        Edit((Append((), phase="long"),)),
        Edit((init(long=["a"]),)),
        Edit((Done(evidence=(Evidence("x", "long"),)),)),
        Edit((Block(on("1"), "", "long"),)),
    ],
)
def test_every_other_text_is_limited_too(command: Command) -> None:
    assert codes(run(listed("a"), command, limited(Limits(other=3)))) == ["too_long"]
    assert "too_long" not in codes(run(listed("a"), command, limited(Limits(other=4))))


def test_the_number_of_operations_is_limited() -> None:
    many = Edit((Done(on("1")),) * 200)
    assert codes(run(listed("a"), many, limited(Limits(items=10)))) == ["too_many_operations"]
    assert not run(listed("a"), many, limited(Limits(items=50))).refused


def test_a_refused_call_names_some_problems_and_not_a_thousand() -> None:
    assert len(run(listed("a"), Edit((Done(on("9")),) * 1000)).problems) == 10

"""Targeted operations: each on an item, on a phase and on everything."""

import pytest

from punchlist.core import commands as do
from punchlist.core.commands import EVERYTHING, Edit, Operation, Target
from punchlist.core.todo import Blocker, Evidence, ListState, Status
from tests.core.build import EMPTY, after, codes, edited, entry, ids, init, item, kinds, lines, listed, on, run, write

PHASE_B = Target(phase="B")


@pytest.fixture
def state() -> ListState:
    """Phase A with `a1` in progress and `a2` pending; phase B with `b1` completed and `b2` pending."""
    return edited(EMPTY, init(A=["> a1", "a2"], B=["x b1", "b2"]))


def marks(state: ListState) -> str:
    return "".join(line[0] for line in lines(state))


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (do.Start(on("2")), " >x "),
        (do.Start(PHASE_B), "  x>"),
        (do.Start(EVERYTHING), "> x "),
        (do.Start(on("2"), beside=True), ">>x "),
        (do.Start(on("3")), "  > "),
        (do.Done(on("2")), ">xx "),
        (do.Done(PHASE_B), "> xx"),
        (do.Done(), "xxxx"),
        (do.Fail(on("1"), "no paint"), "f x "),
        (do.Fail(PHASE_B), "> xf"),
        (do.Fail(EVERYTHING), "ffxf"),
        (do.Drop(on("1")), "- x "),
        (do.Drop(PHASE_B), "> x-"),
        (do.Drop(), "--x-"),
        (do.Reopen(on("3")), ">   "),
        (do.Reopen(PHASE_B), ">   "),
        (do.Reopen(EVERYTHING), "    "),
        (do.Remove(on("2")), ">x "),
        (do.Remove(PHASE_B), "> "),
        (do.Remove(), ""),
        (do.Block(on("1"), "why"), "! x "),
        (do.Block(PHASE_B), "> x!"),
        (do.Block(EVERYTHING), "!!x!"),
        (do.Unblock(on("1")), "> x "),
        (do.Unblock(PHASE_B), "> x "),
        (do.Unblock(), "> x "),
        (do.Reword(on("1"), "new"), "> x "),
        (do.Note(on("1"), "new"), "> x "),
    ],
)
def test_an_operation_reaches_its_item_its_phase_or_everything(
    state: ListState, operation: Operation, expected: str
) -> None:
    assert marks(edited(state, operation)) == expected


@pytest.mark.parametrize(
    "operation",
    [
        do.Start(on("9")),
        do.Done(on("9")),
        do.Fail(on("9")),
        do.Drop(on("9")),
        do.Reopen(on("9")),
        do.Remove(on("9")),
        do.Block(on("9")),
        do.Unblock(on("9")),
        do.Note(on("9"), "text"),
        do.Reword(on("9"), "text"),
        do.Restore(on("9")),
    ],
)
def test_an_unknown_item_is_refused_and_named(state: ListState, operation: Operation) -> None:
    applied = run(state, Edit((operation,)))
    assert (applied.refused, codes(applied), applied.problems[0].data["item"]) == (True, ["not_found"], "9")


def test_an_unknown_phase_is_refused_and_named(state: ListState) -> None:
    applied = run(state, Edit((do.Done(Target(phase="Z")),)))
    assert (codes(applied), applied.problems[0].data) == (["phase_not_found"], {"phase": "Z"})


def test_a_refusal_says_whether_the_list_is_empty() -> None:
    assert run(EMPTY, Edit((do.Done(on("1")),))).problems[0].data["empty"] is True
    assert run(listed("a"), Edit((do.Done(on("2")),))).problems[0].data["empty"] is False


def test_a_refusal_names_a_long_text_only_in_part(state: ListState) -> None:
    text = run(state, Edit((do.Done(on("x\n" * 100_000)),))).problems[0].text
    assert len(text) < 300
    assert "\n" not in text


def test_an_item_may_be_named_by_id_or_by_text_as_the_target_says() -> None:
    state = listed("2", "1")
    assert marks(edited(state, do.Done(Target("1", by="id")))) == "x "
    assert marks(edited(state, do.Done(Target("1", by="text")))) == " x"
    assert marks(edited(state, do.Done(Target("1")))) == "x "
    assert marks(edited(listed("Paint"), do.Done(Target("Paint")))) == "x"
    assert codes(run(listed("Paint"), Edit((do.Done(Target("Paint", by="id")),)))) == ["not_found"]


def test_an_item_beats_a_phase(state: ListState) -> None:
    assert marks(edited(state, do.Done(Target("2", "B")))) == ">xx "


def test_starting_pauses_what_was_in_progress_and_says_so(state: ListState) -> None:
    applied = run(state, Edit((do.Start(on("2")),)))
    assert kinds(applied) == ["item.paused", "item.started", "list.edited"]
    assert codes(applied) == ["demoted"]


@pytest.mark.parametrize("mark", ["x", "-", "f", "!"])
def test_starting_revives_what_was_ended_or_blocked(mark: str) -> None:
    assert marks(edited(listed(f"{mark} a"), do.Start(on("1")))) == ">"


def test_done_keeps_its_evidence_and_reopening_drops_it() -> None:
    proof = Evidence("12 passed\x1b[0m", "test\ud800")
    state = edited(listed("> a"), do.Done(on("1"), (proof,)))
    assert item(state, "a").evidence == (Evidence("12 passed", "text"),)
    assert item(edited(state, do.Reopen(on("1"))), "a").evidence == ()


def test_evidence_may_be_added_to_a_completed_item() -> None:
    state = edited(listed("x a"), do.Done(on("1"), (Evidence("one"),)), do.Done(on("1"), (Evidence("two"),)))
    assert [proof.text for proof in item(state, "a").evidence] == ["one", "two"]


def test_a_failure_keeps_its_reason_as_a_note() -> None:
    assert item(edited(listed("a"), do.Fail(on("1"), "no paint")), "a").notes == ("no paint",)


def test_a_blocker_says_why_and_on_whom_and_goes_when_unblocked() -> None:
    state = edited(listed("> a"), do.Block(on("1"), "needs a key", "ada"))
    assert item(state, "a").blocker == Blocker("needs a key", "ada")
    free = run(state, Edit((do.Unblock(on("1")),)))
    assert (item(free.state, "a").blocker, item(free.state, "a").status) == (None, Status.PENDING)
    assert kinds(free) == ["item.unblocked", "list.edited"]


def test_a_second_reason_replaces_the_first() -> None:
    state = edited(listed("a"), do.Block(on("1"), "one"), do.Block(on("1"), "two"))
    assert item(state, "a").blocker == Blocker("two")


def test_notes_pile_up_and_lose_blanks_at_their_end() -> None:
    state = edited(listed("a"), do.Note(on("1"), "line1\nline2  \n\n"), do.Note(on("1"), "second"))
    assert item(state, "a").notes == ("line1\nline2", "second")


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        (do.Note(on("1"), " \n"), "missing_text"),
        (do.Note(EVERYTHING, "x"), "missing_target"),
        (do.Reword(on("1"), ""), "missing_text"),
        (do.Reword(on("1"), "\x1b[0m"), "missing_text"),
    ],
)
def test_a_note_and_a_new_text_need_a_text_and_an_item(operation: Operation, code: str) -> None:
    assert codes(run(listed("a"), Edit((operation,)))) == [code]


def test_a_new_text_takes_a_new_form_with_it() -> None:
    state = edited(listed("a"), do.Reword(on("1"), "b", "doing b"))
    assert item(state, "b").active_form == "doing b"
    assert item(edited(state, do.Reword(on("1"), "c")), "c").active_form is None


def test_an_append_of_a_text_that_is_there_stops_where_it_must_be_unique() -> None:
    policy = do.Policy(atomic=False)
    more = (entry("b"), entry("a"), entry("c"))
    applied = run(listed("a"), Edit((do.Append(more, phase="New", unique=True),)), policy)
    assert (lines(applied.state), codes(applied)) == (["  a", "  b"], ["duplicate"])
    assert [phase.name for phase in applied.state.todos.phases] == ["New"]


def test_an_append_may_not_repeat_itself_where_it_must_be_unique() -> None:
    assert codes(run(EMPTY, Edit((do.Append((entry("a"), entry("a")), unique=True),)))) == ["duplicate"]
    assert lines(edited(EMPTY, do.Append((entry("a"), entry("a"))))) == ["  a", "  a"]


def test_restoring_finds_items_by_id_text_and_phase(state: ListState) -> None:
    left = after(state, write("b1"))
    assert lines(edited(left, do.Restore(on("a2")))) == ["  a2", "  b1"]
    assert lines(edited(left, do.Restore(on("2")))) == ["  a2", "  b1"]
    assert {known.content for known in edited(left, do.Restore(Target(phase="A"))).todos.items} == {"b1", "a1", "a2"}


def test_operations_run_in_order_and_see_each_other() -> None:
    state = edited(EMPTY, do.Append((entry("a"), entry("b"))), do.Start(on("1")), do.Done(on("1")), do.Start(on("2")))
    assert (lines(state), ids(state), state.todos.revision) == (["x a", "> b"], ["1", "2"], 1)


def test_an_operation_that_changes_nothing_is_confirmed() -> None:
    assert kinds(run(listed("x a"), Edit((do.Done(on("1")),)))) == ["list.confirmed"]


def test_an_edit_may_explain_itself() -> None:
    assert run(listed("a"), Edit((), explanation="why")).state.todos.explanation == "why"


@pytest.mark.parametrize(
    ("before", "after_", "kind"),
    [
        (" ", ">", "item.started"),
        (">", " ", "item.paused"),
        (">", "x", "item.completed"),
        (">", "f", "item.failed"),
        (">", "-", "item.cancelled"),
        (">", "!", "item.blocked"),
        ("!", " ", "item.unblocked"),
        ("x", " ", "item.reopened"),
        ("f", " ", "item.reopened"),
        ("!", ">", "item.started"),
    ],
)
def test_every_transition_is_its_own_event(before: str, after_: str, kind: str) -> None:
    assert kinds(run(listed(f"{before} aa", "b"), write(f"{after_} aa", "b")))[0] == kind

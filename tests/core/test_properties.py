"""What holds for whatever comes in: core is arithmetic, so its rules can be asked by the thousand."""

import json
from datetime import datetime

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from punchlist.core.apply import Applied, apply, undo
from punchlist.core.commands import Append, Command, Edit, Entry, Policy, Replace
from punchlist.core.events import KINDS, Draft, decode_item, diff, draft_header, encode_item, fold
from punchlist.core.merge import match, match_key
from punchlist.core.todo import MOST_OMITTED, ListState, Progress, Status, TodoItem, TodoList
from punchlist.text import clean
from tests.core import strategies as some
from tests.core.build import EMPTY, NARROW, NOW, PLAIN, folded
from tests.sizes import size

examples = settings(max_examples=size(100, 20_000), deadline=None, print_blob=True)

LENIENT = replace(PLAIN, atomic=False)
"""Takes what is good in an edit, so that random ones get somewhere."""

Step = tuple[Command, Policy, bool, datetime]
steps: st.SearchStrategy[Step] = st.tuples(some.commands, some.policies, st.booleans(), some.times)
histories = st.lists(steps, max_size=5)


def lived(history: list[Step]) -> ListState:
    """A state that a history leads to."""
    state = EMPTY
    for command, policy, own, at in history:
        state = apply(state, command, policy, at, by="agent" if own else "ada", own=own).state
    return state


def texts_of(todos: TodoList) -> list[str]:
    texts = [*(phase.name for phase in todos.phases), todos.explanation or ""]
    for item in (*todos.items, *todos.omitted):
        texts += [item.content, item.active_form or "", item.phase or "", item.priority or "", item.parent or ""]
        texts += [*item.notes, *item.aliases.values()]
        texts += [text for proof in item.evidence for text in (proof.text, proof.kind or "")]
        if item.blocker is not None:
            texts += [item.blocker.reason, item.blocker.on or ""]
    return texts


def visible(state: ListState, policy: Policy) -> list[tuple[str, Status, str]]:
    """The list as a dialect of that policy shows it."""
    shown = ((item, policy.shows(item.status)) for item in state.todos.items)
    return [(item.content, status, item.label) for item, status in shown if status is not None]


def read_back(state: ListState, policy: Policy) -> Replace:
    return Replace(tuple(Entry(content, status, label) for content, status, label in visible(state, policy)))


def wrote(state: ListState, command: Command, policy: Policy = NARROW) -> Applied:
    return apply(state, command, policy, NOW, by="agent")


@examples
@given(some.odd_states, some.commands, some.policies, st.booleans())
def test_apply_returns_for_any_state_and_any_command(
    state: ListState, command: Command, policy: Policy, own: bool
) -> None:
    applied = apply(state, command, policy, NOW, by="agent", own=own)
    assert applied.refused == (applied.state is state and not applied.events)


@examples
@given(histories, steps)
def test_folding_the_events_of_a_command_gives_the_list_behind_it(history: list[Step], step: Step) -> None:
    state = lived(history)
    command, policy, own, at = step
    applied = apply(state, command, policy, at, by="agent", own=own)
    assert folded(state.todos, applied) == applied.state.todos


@examples
@given(histories)
def test_folding_all_events_from_nothing_gives_the_list(history: list[Step]) -> None:
    state, todos = EMPTY, TodoList()
    for command, policy, own, at in history:
        applied = apply(state, command, policy, at, own=own)
        state, todos = applied.state, folded(todos, applied)
    assert todos == state.todos


@examples
@given(histories, histories)
def test_the_difference_of_any_two_lists_folds_to_the_second(first: list[Step], second: list[Step]) -> None:
    before, after = lived(first).todos, lived([*first, *second]).todos
    todos = before
    for kind, data in [*diff(before, after), draft_header("list.edited", before, after)]:
        todos = fold(todos, kind, data)
    assert todos == after


@examples
@given(histories)
def test_events_fold_to_the_list_and_are_undone_where_old_omissions_are_dropped(history: list[Step]) -> None:
    todos = wrote(EMPTY, Replace(tuple(Entry(f"task {number}") for number in range(MOST_OMITTED + 2)))).state
    state = wrote(todos, Replace((Entry("paint"), Entry("the door")))).state
    for command, policy, own, at in history:
        applied = apply(state, command, policy, at, own=own)
        before, after = state.todos, applied.state.todos
        assert folded(before, applied) == after
        assert len(after.omitted) <= MOST_OMITTED
        undone = undo(after, before, after)
        if applied.events and not isinstance(undone, str):
            assert replace(undone, revision=0, next_id=0) == replace(before, revision=0, next_id=0)
        state = applied.state


@examples
@given(histories)
def test_events_are_of_declared_kinds_and_json(history: list[Step]) -> None:
    state = EMPTY
    for command, policy, own, at in history:
        applied = apply(state, command, policy, at, own=own)
        for kind, data in applied.events:
            assert kind in KINDS
            assert json.loads(json.dumps(data)) == data
        state = applied.state


@examples
@given(histories)
def test_events_survive_json_and_still_fold_to_the_list(history: list[Step]) -> None:
    state, todos = EMPTY, TodoList()
    for command, policy, own, at in history:
        applied = apply(state, command, policy, at, own=own)
        wired = tuple(Draft(kind, json.loads(json.dumps(data))) for kind, data in applied.events)
        state, todos = applied.state, folded(todos, applied._replace(events=wired))
    assert todos == state.todos


@examples
@given(histories)
def test_ids_are_unique_among_items_and_omitted(history: list[Step]) -> None:
    todos = lived(history).todos
    ids = [item.id for item in (*todos.items, *todos.omitted)]
    assert len(ids) == len(set(ids))


@examples
@given(histories, steps)
def test_the_revision_goes_up_by_one_exactly_when_the_list_changes(history: list[Step], step: Step) -> None:
    state = lived(history)
    command, policy, own, at = step
    after = apply(state, command, policy, at, own=own).state.todos
    changed = replace(after, revision=0) != replace(state.todos, revision=0)
    assert after.revision == state.todos.revision + changed


@examples
@given(histories, steps)
def test_a_refused_command_leaves_the_state_and_says_why(history: list[Step], step: Step) -> None:
    state = lived(history)
    command, policy, own, at = step
    applied = apply(state, command, policy, at, own=own)
    if applied.refused:
        assert applied.state is state
        assert all(problem.fatal and problem.text for problem in applied.problems)


@examples
@given(histories, some.commands, st.booleans())
def test_one_item_at_most_is_in_progress_where_the_first_is_kept(
    history: list[Step], command: Command, own: bool
) -> None:
    applied = apply(lived(history), command, replace(PLAIN, focus="first"), NOW, own=own)
    if not applied.refused and applied.events[-1].kind != "list.confirmed":
        assert sum(item.status is Status.IN_PROGRESS for item in applied.state.todos.items) <= 1


@examples
@given(histories, some.commands)
def test_promotion_leaves_nothing_pending_without_an_item_at_work_or_one_that_waits_on_a_person(
    history: list[Step], command: Command
) -> None:
    applied = apply(lived(history), command, replace(PLAIN, promote=True), NOW)
    todos = applied.state.todos
    if not applied.refused:
        is_held = todos.waits_on_person
        assert todos.focus or is_held or not any(item.status is Status.PENDING for item in todos.items)


@examples
@given(some.odd_lists)
def test_progress_stays_within_its_bounds(todos: TodoList) -> None:
    done, total, percent = todos.progress
    assert isinstance(todos.progress, Progress)
    assert 0 <= done <= total <= len(todos.items)
    assert 0 <= percent <= 100
    assert abs(percent * total - 100 * done) * 2 <= total or total == 0


@examples
@given(histories, some.commands, some.policies)
def test_only_clean_text_gets_into_a_list(history: list[Step], command: Command, policy: Policy) -> None:
    todos = apply(lived(history), command, policy, NOW, by="agent").state.todos
    for text in texts_of(todos):
        assert clean(text) == (text, ())


@examples
@given(histories)
def test_nothing_ends_before_it_started_whatever_the_clock_does(history: list[Step]) -> None:
    for item in lived(history).todos.items:
        assert not (item.started_at and item.finished_at) or item.started_at <= item.finished_at
        assert not (item.created_at and item.started_at) or item.created_at <= item.started_at


@examples
@given(histories)
def test_every_item_is_in_a_phase_of_its_list_or_in_none(history: list[Step]) -> None:
    todos = lived(history).todos
    known = {phase.id: phase.name for phase in todos.phases}
    assert len(known) == len(todos.phases)
    for item in todos.items:
        assert item.phase_id is None or known[item.phase_id] == item.phase
        assert item.phase_id is not None or item.phase is None


@examples
@given(histories)
def test_nothing_that_ended_has_a_blocker(history: list[Step]) -> None:
    ended = (Status.COMPLETED, Status.FAILED, Status.CANCELLED)
    assert all(item.blocker is None for item in lived(history).todos.items if item.status in ended)


@examples
@given(histories)
def test_an_item_survives_its_json_form(history: list[Step]) -> None:
    for item in lived(history).todos.items:
        assert decode_item(json.loads(json.dumps(encode_item(item)))) == item


@examples
@given(histories, some.plain_writes)
def test_the_same_write_again_is_confirmed_and_keeps_the_revision(history: list[Step], command: Replace) -> None:
    once = wrote(lived(history), command, replace(NARROW, wipe_finished=False))
    again = wrote(once.state, command, replace(NARROW, wipe_finished=False))
    assert [draft.kind for draft in again.events] == ["list.confirmed"]
    assert again.state.todos is once.state.todos


@examples
@given(histories)
def test_giving_back_what_was_shown_changes_nothing(history: list[Step]) -> None:
    state = ListState(lived(history).todos)
    again = wrote(state, read_back(state, NARROW), replace(NARROW, wipe_finished=False))
    assert again.state.todos is state.todos


@examples
@given(histories, some.plain_writes)
def test_with_nobody_else_at_work_the_list_shows_the_input_to_the_letter(history: list[Step], command: Replace) -> None:
    state = ListState(lived(history).todos)
    assume(not state.todos.waits_on_person)  # such an item stays, though the author leaves it out
    applied = wrote(state, command, replace(NARROW, wipe_finished=False))
    given = [(entry.content, entry.status, entry.active_form) for entry in command.entries]
    assert visible(applied.state, NARROW) == given


@examples
@given(histories, some.plain_writes)
def test_what_a_dialect_cannot_show_it_does_not_touch(history: list[Step], command: Replace) -> None:
    state = ListState(lived(history).todos)
    after = wrote(state, command, replace(NARROW, wipe_finished=False)).state.todos
    if after.plan_id != state.todos.plan_id:
        return
    hidden = [item for item in state.todos.items if item.status is Status.CANCELLED]
    assert [after.find(item.id) for item in hidden] == hidden


@examples
@given(histories, some.plain_writes, st.lists(some.clean_texts, min_size=1, max_size=3), some.plain_writes)
def test_written_items_keep_the_order_of_the_input_and_others_stay_between_them(
    history: list[Step], first: Replace, added: list[str], second: Replace
) -> None:
    state = ListState(wrote(lived(history), first).state.todos)
    assume(not state.todos.waits_on_person)
    theirs = [f"{''.join(text.split())} from Ada {number}" for number, text in enumerate(added)]  # near to no other
    state = apply(state, Edit((Append(tuple(map(Entry, theirs))),)), PLAIN, NOW, by="ada", own=False).state
    merged = wrote(state, second, replace(NARROW, wipe_finished=False)).state
    shown = [content for content, _, _ in visible(merged, NARROW)]
    assert [text for text in shown if text not in theirs] == [entry.content for entry in second.entries]
    assert [text for text in shown if text in theirs] == theirs


@examples
@given(histories, some.plain_writes)
def test_items_keep_their_ids_over_a_rewrite_of_equal_texts(history: list[Step], command: Replace) -> None:
    state = ListState(lived(history).todos)
    after = wrote(state, command).state.todos
    if after.plan_id != state.todos.plan_id:
        return
    shown = [item for item in state.todos.items if item.status is not Status.CANCELLED]
    texts = [item.content for item in shown]
    wanted = [entry.content for entry in command.entries]
    for item in shown:
        if (
            texts.count(item.content) == 1
            and wanted.count(item.content) == 1
            and item.id in {i.id for i in after.items}
        ):
            assert next(i for i in after.items if i.id == item.id).content == item.content


@examples
@given(histories, some.edits)
def test_what_others_did_is_not_undone_by_repeating_what_was_shown(history: list[Step], foreign: Edit) -> None:
    policy = replace(NARROW, wipe_finished=False)
    state = ListState(lived(history).todos)
    repeated, plan_id = read_back(state, policy), state.todos.plan_id
    state = apply(state, foreign, LENIENT, NOW, by="ada", own=False).state
    after = wrote(state, repeated, policy).state.todos
    # A list of an older plan is no repetition of the one that a person began since: it comes in beside it.
    if state.shown is not None and after.plan_id == state.todos.plan_id == plan_id:
        assert after.items == state.todos.items


@examples
@given(histories, some.plain_writes, some.edits)
def test_an_open_item_that_a_write_drops_can_be_restored(history: list[Step], first: Replace, foreign: Edit) -> None:
    state = apply(lived(history), foreign, LENIENT, NOW, by="ada", own=False).state
    after = wrote(state, first, replace(NARROW, wipe_finished=False)).state.todos
    kept = {item.id for item in (*after.items, *after.omitted)}
    assert {item.id for item in state.todos.items if item.is_open} <= kept


@examples
@given(histories)
def test_aliases_stay_with_the_item_that_has_them(history: list[Step]) -> None:
    state = ListState(lived(history).todos)
    after = wrote(state, read_back(state, NARROW), replace(NARROW, wipe_finished=False)).state.todos
    assert [item.aliases for item in after.items] == [item.aliases for item in state.todos.items]


@examples
@given(st.lists(some.entries(), max_size=8), st.lists(some.items, max_size=8))
def test_no_old_item_is_matched_twice(entries: list[Entry], items: list[TodoItem]) -> None:
    texts = [clean(entry.content).text for entry in entries]
    found = [known for known in match(entries, texts, items, "plain") if known is not None]
    assert len({id(known) for known in found}) == len(found)


@examples
@given(some.hostile_texts)
def test_folding_a_match_key_again_changes_nothing(text: str) -> None:
    cleaned = clean(text).text
    assert match_key(match_key(cleaned)) == match_key(cleaned)


@examples
@given(histories, some.edits)
def test_undoing_an_edit_gives_the_list_before_it(history: list[Step], edit: Edit) -> None:
    before = lived(history).todos
    after = apply(ListState(before), edit, LENIENT, NOW, by="ada", own=False).state.todos
    if after is before:
        return
    undone = undo(after, before, after)
    assert isinstance(undone, TodoList)
    assert replace(undone, revision=before.revision, next_id=before.next_id) == before


@examples
@given(histories, some.edits, some.edits)
def test_an_undo_behind_others_work_keeps_that_work_or_refuses(history: list[Step], edit: Edit, later: Edit) -> None:
    before = lived(history).todos
    state = apply(ListState(before), edit, LENIENT, NOW, by="ada", own=False).state
    current = apply(state, later, LENIENT, NOW, by="agent").state.todos
    undone = undo(current, before, state.todos)
    if isinstance(undone, TodoList):
        changed = {item.id for item in current.items if item not in state.todos.items}
        ids = [item.id for item in (*undone.items, *undone.omitted)]
        assert len(ids) == len(set(ids))
        for item in current.items:
            if item.id in changed:
                assert item in undone.items

"""Lists from elsewhere, for any list that was there before."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from punchlist.core.apply import adopt, recover
from punchlist.core.commands import Policy, Replace
from tests.core import strategies as some
from tests.core.build import EMPTY, NARROW, NOW, folded
from tests.core.test_properties import Step, histories, lived

HIDING = replace(NARROW, hide_closed_after=60.0)
policies = st.sampled_from([NARROW, HIDING]) | some.policies


@given(histories, some.plain_writes, policies)
def test_folding_the_events_of_a_recovery_gives_its_list(history: list[Step], command: Replace, policy: Policy) -> None:
    state = lived(history)
    applied = recover(state, command, policy, NOW, by="agent", source="log")
    assert folded(state.todos, applied) == applied.state.todos
    if applied.events:
        assert applied.events[-1].kind == "list.restored"
        assert applied.events[-1].data["source"] == "log"
        assert applied.state.todos.revision == state.todos.revision + 1


@given(histories, some.plain_writes, policies)
def test_what_was_recovered_is_already_so_the_second_time(
    history: list[Step], command: Replace, policy: Policy
) -> None:
    state = recover(lived(history), command, policy, NOW, by="agent", source="log").state
    again = recover(state, command, policy, NOW, by="agent", source="log")
    if not policy.wipe_finished and not policy.lead_with_focus:
        assert (again.state, again.events) == (state, ())


@given(some.plain_writes)
def test_what_comes_closed_is_hidden_at_once_where_closed_items_are_hidden(command: Replace) -> None:
    items = recover(EMPTY, command, HIDING, NOW, by="agent", source="log").state.todos.items
    assert [HIDING.hides(item, NOW) for item in items] == [not item.is_open for item in items]


@given(histories)
def test_an_adopted_list_is_the_same_list_as_a_new_plan(history: list[Step]) -> None:
    other = lived(history)
    applied = adopt(EMPTY, other, source="session old")
    assert folded(EMPTY.todos, applied) == applied.state.todos
    if other.todos.revision:
        assert applied.state.todos == replace(other.todos, revision=1, plan_id="p1")
        assert applied.state.shown == other.shown
    assert adopt(other, other, source="session old").events == ()

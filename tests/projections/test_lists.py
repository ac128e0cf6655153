"""Lists followed through events, and what just changed in one, as crush says it."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from punchlist.core.events import Event
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.projections.followed_lists import Lists, looking_into
from punchlist.projections.relay import ListDelta, compare_lists, describe_delta
from tests.board.strategies import TOOLS, Call, calls
from tests.dialects.boards import memory_board, todo
from tests.projections.board_events import events_of, tool


def listed(*statuses: Status, plan: str = "p1") -> TodoList:
    items = [
        TodoItem(id=str(number), content=f"Item {number}", active_form=f"At {number}", status=status)
        for number, status in enumerate(statuses, 1)
    ]
    return TodoList(items=tuple(items), plan_id=plan)


@pytest.mark.requirement("crush.change")
def test_what_was_finished_and_what_was_begun_is_told() -> None:
    before = listed(Status.IN_PROGRESS, Status.PENDING, Status.COMPLETED, Status.CANCELLED)
    after = listed(Status.COMPLETED, Status.IN_PROGRESS, Status.COMPLETED, Status.CANCELLED)
    assert compare_lists(before, after)._asdict() == {
        "is_new": False,
        "just_completed": ("Item 1",),
        "just_started": "At 2",
        "completed": 2,
        "total": 3,
    }


@pytest.mark.requirement("crush.change")
def test_a_first_list_and_a_new_plan_are_new() -> None:
    first = listed(Status.IN_PROGRESS, Status.COMPLETED)
    assert compare_lists(TodoList(), first) == ListDelta(True, (), "At 1", 1, 2)
    assert compare_lists(first, replace(first, plan_id="p2")).is_new
    assert not compare_lists(TodoList(), TodoList()).is_new


@pytest.mark.requirement("crush.change")
def test_items_are_told_apart_by_id_not_by_text() -> None:
    before = listed(Status.IN_PROGRESS)
    after = replace(before, items=(replace(before.items[0], content="Better words", status=Status.COMPLETED),))
    assert compare_lists(before, after).just_completed == ("Better words",)
    assert describe_delta(compare_lists(before, replace(before, explanation="why"))) == ""


def changes(lists: Lists, events: Iterable[Event]) -> list[tuple[str, ListDelta]]:
    """The kind of the event that closed each change, and the change."""
    found = [(event.kind, change) for event in events if (change := lists.add(event)) is not None]
    return [(kind, compare_lists(change.before, change.shown)) for kind, change in found]


def test_the_events_of_a_board_are_changes() -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s1")
        todo(agent, set=["A", "B"])
        todo(agent, done="1")
        todo(agent, note={"2": "hm"})
        found = [(kind, news.just_completed, news.just_started) for kind, news in changes(Lists(), events_of(board))]
    assert found == [("list.replaced", (), "A"), ("list.edited", ("A",), "B"), ("list.edited", (), "")]


def test_an_event_without_an_agent_and_an_old_one_change_nothing() -> None:
    lists = Lists()
    lists.know("s1", "main", TodoList(revision=5))
    assert lists.add(tool("list.edited", revision=5)) is None
    assert lists.add(replace(tool("list.edited", revision=6), session=None)) is None
    assert lists.known("s1", "main").revision == 5


def test_a_look_for_an_agent_that_is_not_there_finds_nothing() -> None:
    with memory_board() as board:
        assert looking_into(board)("s", "nobody", 1) is None


def test_who_joins_in_the_middle_sees_what_changed_not_a_new_list() -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s1")
        todo(agent, set=["Run", "Ship"])
        seen = events_of(board)[-1].seq
        todo(agent, set=["Run", "Ship"])
        todo(agent, done="1")
        ((_, news),) = changes(Lists(looking_into(board)), board.events(seen))
    assert news == ListDelta(False, ("Run",), "Ship", 1, 2)


def test_who_joins_within_a_change_sees_all_of_it() -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s1")
        todo(agent, set=["Run", "Ship"])
        todo(agent, done="1")
        *_, completed, _, _ = events_of(board)
        assert completed.kind == "item.completed"
        ((_, news),) = changes(Lists(looking_into(board)), board.events(completed.seq))
    assert news == ListDelta(False, ("Run",), "Ship", 1, 2)


@given(st.lists(calls, max_size=6), st.integers(0, 40))
def test_whatever_is_written_the_list_that_is_followed_is_the_list(history: list[Call], start: int) -> None:
    """From the beginning, and from anywhere in the middle with a look into the board."""
    with memory_board() as board:
        for dialect, args in history:
            board.agent("main", session="s", dialect=dialect).call(TOOLS[dialect], args)
        todos = board.agent("main", session="s").todos
        events = events_of(board)
        whole, late = Lists(), Lists(looking_into(board))
        for event in events:
            whole.add(event)
        for event in events[start:]:
            late.add(event)
        assert whole.known("s", "main") == todos
        if any(
            event.kind.startswith("list.") and event.data.get("revision") == todos.revision for event in events[start:]
        ):
            assert late.known("s", "main") == todos

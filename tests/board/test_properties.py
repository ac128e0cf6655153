"""Properties of agents on a board: replay, history, hand-over, isolation."""

import json
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from punchlist import Agent, Board, TodoList
from punchlist.core.events import fold
from punchlist.errors import PunchlistError
from tests.board.strategies import TOOLS, Call, calls, edits, own_calls, own_items, todo_items
from tests.dialects.boards import memory_board
from tests.sizes import size

examples = settings(max_examples=size(30, 20_000), deadline=None, print_blob=True)


def agent_of(board: Board, dialect: str = "punchlist", name: str = "main") -> Agent:
    return board.agent(name, session="s", dialect=dialect)


def play(board: Board, history: list[Call]) -> None:
    for dialect, args in history:
        agent_of(board, dialect).call(TOOLS[dialect], args)


def tried(agent: Agent, ops: Any, by: str = "ada") -> bool:
    """Whether a person's edit was accepted."""
    try:
        agent.edit(ops, by=by)
    except PunchlistError:
        return False
    return True


@examples
@given(st.lists(calls, max_size=6))
def test_a_reply_can_always_be_sent(history: list[Call]) -> None:
    with memory_board() as board:
        for dialect, args in history:
            reply = agent_of(board, dialect).call(TOOLS[dialect], args)
            assert json.dumps([reply.text, reply.data], ensure_ascii=False).encode()


@examples
@given(st.lists(calls, max_size=5), calls)
def test_the_same_call_id_gets_the_same_reply_and_is_applied_once(history: list[Call], last: Call) -> None:
    with memory_board() as board:
        play(board, history)
        agent = agent_of(board, last[0])
        first = agent.call(TOOLS[last[0]], last[1], call_id="toolu_1")
        todos = agent.todos
        assert agent.call(TOOLS[last[0]], last[1], call_id="toolu_1") == first
        assert agent.todos == todos


@examples
@given(st.lists(calls, max_size=4), calls, calls)
def test_a_call_id_with_other_arguments_is_an_error(history: list[Call], first: Call, second: Call) -> None:
    assume(first != second)
    with memory_board() as board:
        play(board, history)
        agent_of(board, first[0]).call(TOOLS[first[0]], first[1], call_id="toolu_1")
        todos = agent_of(board).todos
        again = agent_of(board, second[0]).call(TOOLS[second[0]], second[1], call_id="toolu_1")
        assert (again.is_error, again.problems[0].code) == (True, "call_id_reused")
        assert agent_of(board).todos == todos


@examples
@given(st.lists(calls, max_size=6), st.lists(edits, max_size=3))
def test_folding_the_stored_log_gives_every_past_list(history: list[Call], changes: list[Any]) -> None:
    with memory_board() as board:
        play(board, history[:3])
        for change in changes:
            tried(agent_of(board), change)
        play(board, history[3:])
        agent = agent_of(board)
        todos, seen = TodoList(), {0: TodoList()}
        for event in board.events():
            todos = fold(todos, event.kind, event.data)
            if "revision" in event.data:
                seen[event.data["revision"]] = todos
        assert seen[agent.todos.revision] == agent.todos
        assert all(agent.at(revision) == past for revision, past in seen.items())


@examples
@given(st.lists(calls, max_size=5), edits)
def test_undoing_an_edit_restores_the_items(history: list[Call], change: Any) -> None:
    with memory_board() as board:
        play(board, [("punchlist", {"set": ["one", "two", "three", "four"]}), *history])
        agent = agent_of(board)
        before = agent.todos
        if not tried(agent, change) or agent.todos.revision == before.revision:
            return
        after = agent.undo(by="ada")
        assert (after.items, after.omitted, after.phases) == (before.items, before.omitted, before.phases)
        assert after.revision == before.revision + 2


@examples
@given(st.lists(calls, max_size=5), calls)
def test_a_call_in_plan_mode_changes_nothing_where_the_dialect_says_so(history: list[Call], last: Call) -> None:
    with memory_board() as board:
        play(board, history)
        agent = agent_of(board, last[0])
        before = agent.todos
        agent.enter_plan_mode()
        reply = agent.call(TOOLS[last[0]], last[1])
        assert last[0] == "punchlist" or (reply.is_error and agent.todos == before)
        assert agent_of(board).mode == "plan"


@examples
@given(st.lists(calls, max_size=5), st.lists(calls, max_size=3))
def test_agents_of_one_session_do_not_touch_each_other(mine: list[Call], theirs: list[Call]) -> None:
    with memory_board() as board:
        play(board, mine)
        before = agent_of(board).todos
        for dialect, args in theirs:
            agent_of(board, dialect, "other").call(TOOLS[dialect], args)
        assert agent_of(board).todos == before


@examples
@given(st.lists(own_items, min_size=1, max_size=5), st.lists(calls, max_size=4))
def test_a_list_handed_over_and_back_loses_nothing(items: list[Any], history: list[Call]) -> None:
    with memory_board() as board:
        play(board, history)
        ours, theirs = agent_of(board), agent_of(board, "claude-code")
        if ours.call("todo", {"set": items}).is_error:
            return
        before = ours.todos
        shown = theirs.call("TodoWrite", {"todos": given_back(theirs)})
        if shown.is_error or ours.todos.items == ():
            return
        assert ours.todos == before
        assert len(ours.call("todo", {}).text.splitlines()) > len(before.items)


def given_back(agent: Agent) -> list[dict[str, str]]:
    """The list as `TodoWrite` shows it."""
    shown = {"blocked": "in_progress", "failed": "in_progress"}
    return [
        {"content": item.content, "status": shown.get(item.status.value, item.status.value), "activeForm": item.label}
        for item in agent.todos.items
        if item.status.value != "cancelled"
    ]


@examples
@given(st.lists(todo_items, min_size=1, max_size=5), own_calls)
def test_a_list_of_claude_code_is_worked_on_by_ours_and_read_back_as_it_stands(todos: list[Any], change: Any) -> None:
    with memory_board() as board:
        theirs, ours = agent_of(board, "claude-code"), agent_of(board)
        theirs.call("TodoWrite", {"todos": todos})
        ours.call("todo", change)
        before = ours.todos
        reply = theirs.call("TodoWrite", {"todos": []})
        assert [item["content"] for item in reply.data["oldTodos"]] == [
            item.content for item in before.items if item.status.value != "cancelled"
        ]


@examples
@given(st.lists(calls, max_size=5), st.lists(edits, min_size=2, max_size=2))
def test_an_edit_of_several_operations_is_all_or_nothing(history: list[Call], ops: list[Any]) -> None:
    with memory_board() as board:
        play(board, history)
        agent = agent_of(board)
        before = agent.todos
        bad = {"op": "done", "item": "no such item"}
        assert not tried(agent, [*ops, bad])
        assert agent.todos == before


@examples
@given(st.lists(calls, min_size=1, max_size=6))
def test_the_numbers_of_events_rise_and_each_names_its_agent(history: list[Call]) -> None:
    with memory_board() as board:
        play(board, history)
        events = list(board.events())
        numbers = [event.seq for event in events]
        assert numbers == sorted(set(numbers))
        assert {(event.session, event.agent) for event in events} == {("s", "main")}
        assert list(board.events(after=numbers[0])) == events[1:]

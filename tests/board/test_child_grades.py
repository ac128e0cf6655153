"""What children do for an item of their parent: it grades the item, and may complete it."""

import logging

import pytest

from punchlist import Agent, Board
from punchlist.store.sqlite import SqliteStore
from punchlist.testing import FaultyStore
from tests.board.test_grades import grades, run


@pytest.mark.parametrize("policy", [False, True])
def test_a_child_whose_label_names_an_item_works_for_it_and_may_complete_it(policy: bool) -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", complete_by_subagents=policy)
        agent.call("todo", {"set": ["Paint the door", "Sand the floor"]})
        child = agent.spawn("explore", label="sand the floor!")
        run(child)
        child.finished("done")
        assert not policy or agent.work_on("2").child_calls == 1
        assert [item.status.value for item in agent.todos.items] == [
            "in_progress",
            "completed" if policy else "pending",
        ]
        assert grades(agent)[1] == ("verified" if policy else None)


def test_a_child_that_fails_completes_nothing() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", complete_by_subagents=True)
        agent.call("todo", {"set": ["Paint the door"]})
        agent.spawn("explore", label="Paint the door").finished("no", outcome="failed")
        assert agent.todos.items[0].is_open


def test_a_fault_while_a_child_completes_an_item_is_no_reason_to_raise(caplog: pytest.LogCaptureFixture) -> None:
    store = FaultyStore(SqliteStore(""))
    with Board(store) as board:
        agent = board.agent("main", session="s1", complete_by_subagents=True)
        agent.call("todo", {"set": ["Paint the door"]})
        child = agent.spawn("explore", label="Paint the door")
        with caplog.at_level(logging.ERROR, "punchlist.guidance"):
            store.plan("fail_before", at=2)
            child.finished("done")
        assert len(caplog.records) == 1
        assert agent.todos.items[0].is_open


def test_what_a_child_does_later_grades_the_item_of_its_parent_anew() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s")
        agent.call("todo", {"set": ["Write the parser", "Ship"]})
        child = agent.spawn("child", label="Write the parser")
        child.tool_started("0", "Edit", {"file_path": "a.py"})  # 8.5: it is charged for what it changed
        child.tool_finished("0", "ok")
        _checked(child, "1", passes=True)
        agent.call("todo", {"done": "1"})
        assert agent.todos.items[0].grade == "verified"
        _checked(child.spawn("grandchild"), "2", passes=False)
        assert agent.todos.items[0].grade == board.report(session="s").items[0].grade == "failing"


def test_an_item_is_graded_by_a_child_even_where_its_own_agent_was_never_reported_on() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s")
        agent.call("todo", {"set": ["Write the parser", "Ship"]})
        _checked(agent.spawn("child", label="Write the parser"), "1", passes=False)
        agent.call("todo", {"done": "1"})
        assert agent.todos.items[0].grade == "failing"


def test_a_child_completes_nothing_that_would_not_be_accepted_of_its_parent() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s", grades="require", complete_by_subagents=True)
        agent.call("todo", {"set": ["Write the parser", "Ship"]})
        child = agent.spawn("child", label="Write the parser")
        _checked(child, "1", passes=False)
        child.finished("all good")
        assert agent.todos.items[0].status == "in_progress"


def _checked(agent: Agent, call_id: str, *, passes: bool) -> None:
    agent.tool_started(call_id, "Bash", {"command": "pytest"})
    agent.tool_finished(call_id, result="3 passed in 1s" if passes else "3 failed in 1s", exit_code=0 if passes else 1)

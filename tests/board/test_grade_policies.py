"""What becomes of a completion that nothing bears out, by policy: it shows, is told, or is not accepted."""

from typing import Any

import pytest

from punchlist import Board
from punchlist.testing import FakeClock
from tests.board.test_grades import claude, grades, run, todo
from tests.dialects.calls import REAL

WRITES: dict[str, tuple[str, Any, Any]] = {
    "claude-code": (
        "TodoWrite",
        {"todos": [todo("Paint", "in_progress"), todo("Sand", "pending")]},
        {"todos": [todo("Paint", "completed"), todo("Sand", "in_progress")]},
    ),
    "codex": (
        "update_plan",
        {"plan": [{"step": "Paint", "status": "in_progress"}, {"step": "Sand", "status": "pending"}]},
        {"plan": [{"step": "Paint", "status": "completed"}, {"step": "Sand", "status": "in_progress"}]},
    ),
    "hermes": (
        "todo",
        {"todos": [{"id": "a", "content": "Paint", "status": "in_progress"}]},
        {"todos": [{"id": "a", "content": "Paint", "status": "completed"}], "merge": True},
    ),
    "punchlist": ("todo", {"set": ["Paint", "Sand"]}, {"done": "1"}),
}


@pytest.mark.parametrize("dialect", WRITES)
def test_with_require_a_completion_with_nothing_behind_it_is_an_error_and_changes_nothing(dialect: str) -> None:
    tool, first, second = WRITES[dialect]
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", dialect=dialect, grades="require")
        assert not agent.call(tool, first).is_error
        before = agent.todos
        reply = agent.call(tool, second)
        assert reply.is_error
        assert [problem.code for problem in reply.problems] == ["not_grounded"]
        assert agent.todos == before
        run(agent)
        assert not agent.call(tool, second).is_error
        assert grades(agent)[0] == "verified"


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("think", {"thought": "It is done."}),
        ("mcp__mind__sequentialthinking", {"thought": "It is done."}),
        ("ExitPlanMode", {"plan": "x"}),
        ("Bash", {"command": "echo done"}),
        ("Bash", {"command": "true"}),
        ("TodoWrite", {"todos": []}),
    ],
)
def test_with_require_talk_grounds_no_completion(tool: str, args: dict[str, Any]) -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", grades="require")
        agent.call("todo", {"set": ["Paint", "Sand"]})
        agent.tool_started("c1", tool, args)
        agent.tool_finished("c1", result="ok", is_error=False)
        assert agent.call("todo", {"done": "1"}).is_error
        run(agent, "cat README.md", "# Paint")  # what an item asks for may be to look
        assert not agent.call("todo", {"done": "1"}).is_error


def test_with_tell_the_model_hears_of_it_once() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", dialect="claude-code", grades="tell")
        claude(agent, Paint="in_progress", Sand="pending")
        reply = claude(agent, Paint="completed", Sand="pending")
        assert not reply.is_error
        assert reply.text.startswith("Todos have been modified successfully.")
        assert [problem.code for problem in reply.problems] == ["graded"]
        (said,) = agent.assistant_turn()
        assert "no work on it was seen" in said.text
        assert agent.assistant_turn() == []


def test_our_own_tool_says_it_in_its_reply() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", grades="tell")
        agent.call("todo", {"set": ["Paint </punchlist>", "Sand"]})
        reply = agent.call("todo", {"done": "1"})
        assert "Marked done, but the work seen does not confirm it: 'Paint" in reply.text
        assert "</punchlist>" not in reply.text
        assert agent.assistant_turn() == []


def test_with_show_nothing_is_said() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", dialect="claude-code")
        claude(agent, Paint="in_progress", Sand="pending")
        run(agent, result="1 failed", is_error=True)
        reply = claude(agent, Paint="completed", Sand="pending")
        assert (reply.problems, agent.assistant_turn()) == ((), [])


def test_a_check_that_was_seen_spares_the_question_whether_there_was_one() -> None:
    for with_check in (True, False):
        with Board.open("memory:") as board:
            agent = board.agent("main", session="s1", dialect="claude-code")
            claude(agent, A="in_progress", B="pending", C="pending", D="pending")
            if with_check:
                run(agent)
            claude(agent, A="completed", B="completed", C="completed", D="pending")
            said = [injection.kind for injection in agent.assistant_turn()]
            assert said == ([] if with_check else ["verify"])


@pytest.mark.parametrize("dialect", sorted(set(REAL) - {"punchlist"}))
def test_no_reply_of_another_dialect_changes_because_the_model_is_told(dialect: str) -> None:
    said: list[list[tuple[str, Any, bool]]] = []
    for policy in ("show", "tell"):
        with Board.open("memory:", clock=FakeClock()) as board:
            agent = board.agent("main", session="s1", dialect=dialect, grades=policy)
            replies = [agent.call(agent.tools[0].name, args) for args in REAL[dialect]]
            said.append([(reply.text, reply.data, reply.is_error) for reply in replies])
    assert said[0] == said[1]

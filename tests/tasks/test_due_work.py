"""Whoever looks at the work of an agent finds it as it stands by now: timers and leases that are over are."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from punchlist import Agent
from punchlist.core.task import Task
from tests.tasks.boards import Desk

LIST = "session:s1"


def _waiting(desk: Desk) -> Agent:
    """An agent whose only task waits for a time that has come, which nobody has looked at."""
    agent = desk.board.agent("main", session="s1", dialect="claude-tasks")
    agent.call("TaskCreate", {"subject": "Paint", "description": ""})
    agent.call("TaskUpdate", {"taskId": "1", "status": "in_progress"})
    desk.board.tasks(LIST).wait("1", until=timedelta(hours=1))
    agent.user_turn()
    desk.clock.advance(7200)
    return agent


def _focus(agent: Agent) -> str | None:
    focus = agent.work.focus
    return focus.subject if isinstance(focus, Task) else None


def _stop(agent: Agent) -> str | None:
    said = agent.about_to_stop(last_text="All done.")
    return None if said is None else said.text


@pytest.mark.parametrize("look", [_focus, _stop, Agent.compaction_block], ids=["work", "stop guard", "compaction"])
def test_a_timer_is_over_for_whoever_looks_at_the_agents_work(desk: Desk, look: Callable[[Agent], str | None]) -> None:
    text = look(_waiting(desk))
    assert text is not None
    assert "Paint" in text
    assert "blocked" not in text


def test_a_reminder_tells_of_what_goes_on_again_not_of_a_wait(desk: Desk) -> None:
    agent = _waiting(desk)
    agent.assistant_turn(["Bash"])
    kinds = [event.kind for event in desk.board.events()]
    assert kinds.count("task.resumed") == 1


def test_a_task_whose_lease_is_over_is_not_its_agents_any_more(desk: Desk) -> None:
    agent = desk.board.agent("main", session="s1")
    agent.tasks("team").create("Paint")
    agent.tasks("team").claim(lease=60)
    assert [task.id for task in agent.work.tasks] == ["1"]
    desk.clock.advance(61)
    assert agent.work.tasks == ()
    assert [task.id for task in desk.board.tasks("team").ready()] == ["1"]


def test_runtime_work_is_counted_for_a_task_whose_timer_is_over(desk: Desk) -> None:
    agent = _waiting(desk)
    agent.tool_started("call-1", "Bash", {"command": "make"})
    agent.tool_finished("call-1", result="ok")
    started = next(event for event in desk.board.events() if event.kind == "tool.started")
    assert "1" in str(started.data["item"])


def test_a_look_at_other_work_does_nothing_to_this(desk: Desk) -> None:
    _waiting(desk)
    other = desk.board.agent("other", session="s2", dialect="claude-tasks")
    other.call("TaskCreate", {"subject": "Paint", "description": ""})
    other.assistant_turn([])
    assert other.work.focus is None
    assert "task.resumed" not in [event.kind for event in desk.board.events()]

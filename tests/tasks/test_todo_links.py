"""Where todos and tasks meet, and what an agent is at."""

from itertools import pairwise

import pytest

from punchlist import Agent, CurrentWork, Task, TodoItem
from punchlist.errors import ChecklistOpen, GateRefused, TaskUnknown
from tests.tasks.boards import Desk, ids


def _agent(desk: Desk, name: str = "main", session: str = "s1") -> Agent:
    return desk.board.agent(name, session=session, project="/projects/desk")


def test_a_list_is_made_of_a_checklist_and_the_task_shows_how_far_it_is(desk: Desk) -> None:
    agent = _agent(desk)
    desk.tasks.create("one", checklist=["read", {"text": "write", "done": True}, "check"])
    todos = desk.tasks.todos("1", agent)
    assert [(item.content, item.status.value) for item in todos.items] == [
        ("read", "pending"),
        ("write", "completed"),
        ("check", "pending"),
    ]
    assert desk.tasks.get("1").progress == (1, 3, 33)
    agent.call("todo", {"done": "1"})
    assert desk.tasks.get("1").progress == desk.tasks.list()[0].progress == (2, 3, 67)
    desk.tasks.update("1", checked=["read", "check"])
    assert desk.tasks.complete("1").progress == desk.tasks.get("1").progress == (1, 1, 100)


def test_the_list_follows_its_agent_to_another_session(desk: Desk) -> None:
    agent = _agent(desk)
    desk.tasks.create("one", checklist=["read", "write"])
    desk.tasks.todos("1", agent)
    agent.call("todo", {"done": "1"})
    desk.board.move_session("s1", "s9")
    _agent(desk).call("todo", {"set": ["of somebody else"]})
    for task in (desk.tasks.get("1"), *desk.tasks.list(), *desk.tasks.ready(), *desk.tasks.graph().tasks):
        assert task.progress == (1, 2, 50)
        assert task.worked is not None
        assert task.worked.session == "s9"
    _agent(desk, session="s9").call("todo", {"done": "2"})
    assert desk.tasks.get("1").progress == (2, 2, 100)
    desk.tasks.delete("1")


@pytest.mark.parametrize("dialect", ["punchlist", "claude-code"])
def test_a_list_made_of_a_checklist_ticks_it(desk: Desk, dialect: str) -> None:
    agent = desk.board.agent("main", session="s1", dialect=dialect, project="/projects/desk")
    desk.tasks.create("one", checklist=["read", "write"])
    desk.tasks.todos("1", agent)

    def write(*statuses: str) -> None:
        agent.edit(
            [
                {"op": "done", "item": text}
                for text, status in zip(("read", "write"), statuses, strict=True)
                if status == "done"
            ],
            by="ada",
        )

    write("done", "open")
    with pytest.raises(ChecklistOpen) as refused:
        desk.tasks.complete("1")
    assert refused.value.data["open"] == "write"
    if dialect == "claude-code":
        todos = [{"content": text, "status": "completed", "activeForm": text} for text in ("read", "write")]
        agent.call("TodoWrite", {"todos": todos})
        assert agent.todos.items == ()
    else:
        write("open", "done")
    done = desk.tasks.complete("1")
    assert [check.done for check in done.checklist] == [True, True]
    assert desk.tasks.history("1")[-1].data["set"]["checklist"][1] == {"text": "write", "done": True}


def test_a_list_is_made_of_children_or_of_the_task_itself(desk: Desk) -> None:
    desk.tasks.create("parent")
    desk.tasks.create("child one", parent="1")
    desk.tasks.create("child two", parent="1")
    desk.tasks.complete("2")
    todos = desk.tasks.todos("1", _agent(desk))
    assert [item.content for item in todos.items] == ["child one", "child two"]
    assert todos.progress == (1, 2, 50)
    assert [item.content for item in desk.tasks.todos("3", _agent(desk, "other")).items] == ["child two"]
    with pytest.raises(TaskUnknown):
        desk.tasks.todos("9", _agent(desk))


def test_a_list_that_follows_another_plan_no_longer_counts_for_the_task(desk: Desk) -> None:
    agent = _agent(desk)
    desk.tasks.create("one")
    desk.tasks.todos("1", agent)
    agent.call("todo", {"done": "1"})
    assert desk.tasks.get("1").progress == (1, 1, 100)
    agent.call("todo", {"set": ["something", "else"]})
    assert desk.tasks.get("1").progress == (0, 1, 0)


def test_a_list_is_promoted_to_tasks_in_its_order_and_only_once(desk: Desk) -> None:
    agent = _agent(desk)
    agent.call("todo", {"set": ["read", "write", "check"], "note": {"1": "twice"}})
    agent.call("todo", {"done": "1"})
    agent.edit({"op": "reopen", "item": "1"}, by="ada")
    agent.edit({"op": "done", "item": "2"}, by="ada")
    desk.tasks.create("parent")
    tasks = desk.tasks.promote(agent, parent="1")
    assert [(task.subject, task.blocked_by, task.parent) for task in tasks] == [
        ("read", (), "1"),
        ("check", ("2",), "1"),
    ]
    assert tasks[0].metadata["todo"]["item"] == "1"
    assert ids(desk.tasks.promote(agent, parent="1")) == ids(tasks)
    agent.call("todo", {"add": ["ship"]})
    again = desk.tasks.promote(agent, parent="1")
    assert [(task.subject, task.blocked_by) for task in again][-1] == ("ship", ("3",))
    assert len(desk.tasks.list()) == 4
    assert agent.todos.open_items


def test_an_agent_is_at_its_todos_and_at_the_tasks_that_it_started_or_owns(desk: Desk) -> None:
    agent, other = _agent(desk), _agent(desk, "main", "s2")
    assert agent.work == CurrentWork()
    desk.many("one", "two", "three", "four")
    agent.call("todo", {"add": ["a step"]})
    first = agent.tasks("default").claim()
    other.tasks("default").claim()
    desk.clock.advance(1)
    agent.tasks("default").update("3", status="in_progress")
    work = agent.work
    assert ids(work.tasks) == ["1", "3"]
    assert work.tasks[1].owner is None
    assert ids(other.work.tasks) == ["2"]
    assert isinstance(work.focus, TodoItem | Task)
    assert [item.content for item in work.open_items] == ["a step"]
    assert first is not None
    agent.tasks("default").complete("1", fence=first.fence)
    assert ids(agent.work.tasks) == ["3"]
    desk.tasks.update("3", owner="bob")
    assert agent.work.tasks == ()


def test_the_focus_is_the_todo_in_progress_else_the_task_started_last(desk: Desk) -> None:
    agent = _agent(desk)
    desk.many("one", "two")
    for _ in range(2):
        agent.tasks("default").claim()
        desk.clock.advance(1)
    focus = agent.work.focus
    assert isinstance(focus, Task)
    assert focus.id == "2"
    agent.call("todo", {"set": ["a step"]})
    assert isinstance(agent.work.focus, TodoItem)
    assert not agent.work.is_finished


def test_tasks_of_a_session_s_list_belong_to_the_agent_of_that_name(desk: Desk) -> None:
    agent = _agent(desk)
    agent.call("todo", {})
    desk.board.tasks("session:s1").create("one", owner="main")
    desk.board.tasks("session:s2").create("two", owner="main")
    assert [task.subject for task in agent.work.tasks] == ["one"]
    failed = desk.board.tasks("session:s1").fail("1")
    assert failed.is_open


@pytest.mark.parametrize("dialect", ["claude-code", "nexo"])
def test_a_list_that_its_dialect_clears_when_finished_stays_at_a_hundred_percent(desk: Desk, dialect: str) -> None:
    agent = desk.board.agent("main", session="s1", project="/projects/desk", dialect=dialect)
    desk.tasks.create("one", checklist=["read", "write"])
    todos = desk.tasks.todos("1", agent)
    done = [{"content": item.content, "activeForm": item.content, "status": "completed"} for item in todos.items]
    assert not agent.call("TodoWrite", {"todos": done}).is_error
    assert agent.todos.items == ()
    assert desk.tasks.get("1").progress == (2, 2, 100)
    agent.call("TodoWrite", {"todos": [{"content": "more", "activeForm": "more", "status": "pending"}]})
    assert desk.tasks.get("1").progress == (2, 2, 100)


def test_a_cancelled_child_is_no_step(desk: Desk) -> None:
    desk.tasks.create("parent")
    for subject in ("child one", "child two"):
        desk.tasks.create(subject, parent="1")
    desk.tasks.cancel("2")
    agent = _agent(desk)
    assert [(item.content, item.status.value) for item in desk.tasks.todos("1", agent).items] == [
        ("child two", "pending")
    ]
    desk.tasks.cancel("3")
    assert [item.content for item in desk.tasks.todos("1", agent).items] == ["parent"]


def test_gates_are_asked_about_promoted_items_once_and_refuse_all_of_them(desk: Desk) -> None:
    asked: list[tuple[str, str | None]] = []

    def check(task: Task) -> str | None:
        asked.append((task.subject, task.parent))
        return "no" if task.subject == "bad" else None

    desk.tasks.create("parent")
    desk.board.gate("create", check)
    agent = _agent(desk)
    agent.call("todo", {"set": ["good", "bad"]})
    with pytest.raises(GateRefused):
        desk.tasks.promote(agent, parent="1")
    assert len(desk.tasks.list()) == 1
    agent.edit({"op": "done", "item": "2"}, by="ada")
    desk.tasks.promote(agent, parent="1")
    desk.tasks.promote(agent, parent="1")
    assert asked == [("good", "1"), ("bad", "1"), ("good", "1")]


def test_a_gate_sees_the_parent_and_the_blockers_of_a_new_task(desk: Desk) -> None:
    desk.many("one", "two")
    seen: list[Task] = []
    desk.board.gate("create", seen.append)
    desk.tasks.create("three", parent="1", blocked_by=["2"])
    assert [(task.parent, task.blocked_by) for task in seen] == [("1", ("2",))]


def test_items_of_a_session_with_a_long_name_are_all_promoted(desk: Desk) -> None:
    agent = _agent(desk, "main", "s" * 195)
    agent.call("todo", {"set": ["read", "write", "check"]})
    tasks = desk.tasks.promote(agent)
    assert [task.subject for task in tasks] == ["read", "write", "check"]
    assert ids(desk.tasks.promote(agent)) == ids(tasks)


def test_promoting_again_orders_what_was_put_in_front_and_bridges_what_was_deleted(desk: Desk) -> None:
    agent = _agent(desk)
    agent.call("todo", {"set": ["one", "two", "three"]})
    desk.tasks.promote(agent)
    desk.tasks.delete("2")
    agent.call("todo", {"set": ["zero", "one", "two", "three"]})
    again = desk.tasks.promote(agent)
    assert [task.subject for task in again] == ["zero", "one", "three"]
    assert all(before.id in after.blocked_by for before, after in pairwise(again))

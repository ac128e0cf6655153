"""What an agent is at: which tasks count as its own, and which of them has the focus."""

from punchlist import Agent, Task
from tests.tasks.boards import Desk


def _agent(desk: Desk, name: str = "main", session: str = "s1", dialect: str = "punchlist") -> Agent:
    return desk.board.agent(name, session=session, dialect=dialect, project="/projects/desk")


def _focus(agent: Agent) -> str | None:
    focus = agent.work.focus
    assert focus is None or isinstance(focus, Task)
    return None if focus is None else focus.subject


def _subjects(agent: Agent) -> list[str]:
    return [task.subject for task in agent.work.tasks]


def test_the_focus_is_the_task_that_was_taken_up_last_also_where_it_was_begun_before(desk: Desk) -> None:
    agent = _agent(desk)
    tasks = agent.tasks("default")
    desk.many("one", "two")
    first = tasks.claim(id="1")
    assert first is not None
    desk.clock.advance(60)
    tasks.release("1", fence=first.fence)
    tasks.claim(id="2")
    assert _focus(agent) == "two"
    desk.clock.advance(60)
    tasks.claim(id="1")
    assert _focus(agent) == "one"
    agent.tool_started("c1", "Bash", {"command": "ls"})
    assert list(desk.board.events())[-1].data["item"] == "task:default/1"


def test_a_task_that_went_on_after_its_wait_is_no_new_start(desk: Desk) -> None:
    agent = _agent(desk)
    tasks = agent.tasks("default")
    desk.many("one", "two")
    for each in ("1", "2"):
        tasks.update(each, status="in_progress")
        desk.clock.advance(60)
    tasks.wait("1")
    tasks.resume("1")
    assert _focus(agent) == "two"


def test_a_failed_task_is_still_its_agent_s_work(desk: Desk) -> None:
    agent = _agent(desk)
    tasks = agent.tasks("default")
    desk.many("one")
    taken = tasks.claim()
    assert taken is not None
    tasks.fail("1", "boom", fence=taken.fence)
    assert _subjects(agent) == ["one"]
    assert "one" in (agent.compaction_block() or "")
    tasks.cancel("1")
    assert _subjects(agent) == []


def test_what_failed_in_the_list_of_a_session_is_owed_by_its_agent(desk: Desk) -> None:
    agent = _agent(desk, dialect="claude-tasks")
    agent.call("TaskCreate", {"subject": "one", "description": ""})
    agent.call("TaskUpdate", {"taskId": "1", "status": "in_progress"})
    desk.board.tasks("session:s1").fail("1", "broken")
    assert _subjects(agent) == ["one"]
    assert "one" in (agent.compaction_block() or "")
    notice = agent.about_to_stop(last_text="Done.")
    assert notice is not None
    assert "#1 [pending] one" in notice.text


def test_a_flow_that_failed_has_ended_and_is_no_work(desk: Desk) -> None:
    agent = _agent(desk)
    flow = agent.flows().create_mirrored("controller", "goal")
    assert len(agent.work.tasks) == 1
    agent.flows().fail(flow.id, "broken")
    assert agent.work.tasks == ()


def test_what_a_person_gives_to_a_name_is_the_work_of_who_bears_it_until_somebody_has_it(desk: Desk) -> None:
    agent, other = _agent(desk), _agent(desk, "other")
    elsewhere = desk.board.agent("main", session="s3", project="/projects/elsewhere")
    for each in (agent, other, elsewhere):
        each.user_turn()
    desk.tasks.create("given", owner="main")
    assert (_subjects(agent), _subjects(other), _subjects(elsewhere)) == (["given"], [], [])
    namesake = _agent(desk, session="s2")
    namesake.tasks("default").claim()
    assert (_subjects(agent), _subjects(namesake)) == ([], ["given"])

"""A lease is renewed by whatever its agent is seen to do."""

from punchlist import Board
from punchlist.testing import FakeClock
from tests.tasks.boards import Desk, ids


def test_any_call_of_its_agent_keeps_a_claim(desk: Desk) -> None:
    agent = desk.board.agent("main", session="s1", project="/projects/desk")
    desk.tasks.create("one")
    task = agent.tasks("default").claim()
    assert task is not None
    assert task.owner == "main"
    for _ in range(6):
        desk.clock.advance(600)
        agent.call("todo", {"add": ["a step"]})
        assert desk.tasks.ready() == ()
    assert desk.tasks.get("1").revision == task.revision
    desk.clock.advance(901)
    assert ids(desk.tasks.ready()) == ["1"]


def test_a_person_who_edits_the_list_is_no_activity_of_its_agent(desk: Desk) -> None:
    agent = desk.board.agent("main", session="s1", project="/projects/desk")
    desk.tasks.create("one")
    agent.tasks("default").claim()
    desk.clock.advance(600)
    agent.edit({"op": "append", "items": "by a person"}, by="ada")
    desk.clock.advance(301)
    assert ids(desk.tasks.ready()) == ["1"]


def test_the_activity_of_one_agent_keeps_no_other_s_claim(desk: Desk) -> None:
    main, other = (desk.board.agent("main", session=session, project="/projects/desk") for session in ("s1", "s2"))
    desk.many("one", "two")
    main.tasks("default").claim()
    other.tasks("default").claim()
    desk.clock.advance(600)
    other.call("todo", {"add": ["a step"]})
    desk.clock.advance(301)
    assert ids(desk.tasks.ready()) == ["1"]


def test_activity_seen_by_another_process_keeps_the_claim(tmp_path: object) -> None:
    clock = FakeClock()
    path = f"{tmp_path}/board.db"
    with Board.open(path, clock=clock) as one, Board.open(path, clock=clock) as two:
        one.tasks("default").create("one")
        one.agent("main", session="s1").call("todo", {"add": ["a step"]})
        two.agent("main", session="s1").tasks("default").claim()
        clock.advance(600)
        one.agent("main", session="s1").call("todo", {"add": ["another"]})
        clock.advance(600)
        assert two.tasks("default").ready() == ()


def test_a_call_of_an_unknown_tool_and_streamed_text_keep_a_claim(desk: Desk) -> None:
    agent = desk.board.agent("main", session="s1", dialect="codex", project="/projects/desk")
    desk.tasks.create("one")
    agent.tasks("default").claim()
    seen = [
        lambda: agent.call("Nope", {}),
        lambda: agent.plan_delta("a long answer", turn="t"),
        lambda: agent.plan_message("a long answer", turn="t"),
    ]
    for act in seen:
        desk.clock.advance(600)
        act()
        assert desk.tasks.ready() == ()
    assert [event.kind for event in desk.board.events() if event.agent == "main"] == ["agent.joined", "task.claimed"]

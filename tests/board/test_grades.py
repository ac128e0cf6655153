"""Completions are graded when they are written, anew when later facts say otherwise, and by policy not accepted."""

from typing import Any

import pytest
from msgspec.structs import replace

from punchlist import Agent, Board, Status


def todo(content: str, status: str) -> dict[str, str]:
    return {"content": content, "status": status, "activeForm": content}


def claude(agent: Agent, **items: str) -> Any:
    return agent.call("TodoWrite", {"todos": [todo(content, status) for content, status in items.items()]})


def run(agent: Agent, command: str = "pytest -q", result: str = "3 passed", *, is_error: bool = False) -> None:
    call_id = f"c{agent.board.store.last_seq()}"
    agent.tool_started(call_id, "Bash", {"command": command})
    agent.tool_finished(call_id, result=result, is_error=is_error)


def grades(agent: Agent) -> list[str | None]:
    return [item.grade for item in agent.todos.items]


@pytest.mark.parametrize(
    ("calls", "wanted"),
    [
        ([("pytest -q", "3 passed", False)], "verified"),
        ([("touch a", "", False)], "unchecked"),
        ([("pytest -q", "1 failed", True)], "failing"),
        ([("pytest -q", "1 failed", True), ("pytest -q", "4 passed", False)], "verified"),
        ([("pytest -q", "3 passed", False), ("touch a", "", False)], "unchecked"),
    ],
)
def test_a_completion_is_graded_by_the_work_on_it(calls: list[tuple[str, str, bool]], wanted: str) -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", dialect="claude-code")
        claude(agent, Paint="in_progress", Sand="pending")
        for command, result, is_error in calls:
            run(agent, command, result, is_error=is_error)
        claude(agent, Paint="completed", Sand="in_progress")
        assert grades(agent) == [wanted, None]
        assert agent.at(agent.todos.revision) == agent.todos


@pytest.mark.parametrize(
    ("end", "wanted"),
    [
        ({}, "unchecked"),
        ({"result": "Command running in background with ID: 5"}, "unchecked"),
        # 8.1: a check that could not start says nothing.
        ({"result": "bash: pytest: command not found", "is_error": False}, "unchecked"),
        ({"result": {"stdout": "", "interrupted": True}}, "failing"),
        ({"result": "The tool use was rejected"}, "unchecked"),
        ({"exit_code": 0}, "verified"),
        ({"is_error": False}, "verified"),
        ({"result": "3 passed in 1s"}, "verified"),
    ],
)
def test_only_a_check_that_was_seen_to_succeed_verifies(end: dict[str, Any], wanted: str) -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Paint", "Sand"]})
        agent.tool_started("c1", "Bash", {"command": "pytest"})
        agent.tool_finished("c1", **end)
        agent.call("todo", {"done": "1"})
        assert grades(agent)[0] == wanted


@pytest.mark.parametrize(
    ("tool", "args", "wanted"),
    [
        ("Bash", {"command": "sed -Ei s/a/b/ a.py"}, "unchecked"),
        ("Bash", {"command": "echo $(rm a.py)"}, "unchecked"),
        ("edit_block", {"path": "a.py"}, "unchecked"),
        ("mcp__fs__put", {"path": "a.py"}, "unchecked"),
        ("fs.put", {"path": "a.py"}, "unchecked"),
        ("mcp__tracker__get_issue", {"id": 3}, "verified"),
        ("mcp__shell__search_and_replace_all", {"id": 3}, "unchecked"),
        ("Read", {"path": "a.py"}, "verified"),
        ("SendMessage", {"text": "hi"}, "verified"),
    ],
)
def test_a_tool_that_is_not_known_to_look_changes_what_was_checked(
    tool: str, args: dict[str, Any], wanted: str
) -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Paint", "Sand"]})
        run(agent)
        agent.tool_started("x", tool, args)
        agent.tool_finished("x", result="ok")
        agent.call("todo", {"done": "1"})
        assert grades(agent)[0] == wanted


def test_a_completion_without_any_work_is_unseen_once_calls_are_reported() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Paint", "Sand", "Wax"]})
        agent.call("todo", {"done": "1"})
        assert grades(agent)[0] is None  # nobody reports what this agent does: it is not judged
        run(agent)
        agent.call("todo", {"done": "2"})
        agent.call("todo", {"done": "3"})
        assert grades(agent) == [None, "verified", "unseen"]


def test_an_item_that_arrives_done_is_graded_too() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", dialect="claude-code")
        run(agent)
        claude(agent, Paint="completed", Sand="pending")
        assert grades(agent) == ["verified", None]
        assert agent.at(agent.todos.revision) == agent.todos


def test_a_file_that_an_edit_failed_to_change_is_not_among_the_files_of_an_item() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Paint"]})
        agent.tool_started("e1", "Edit", {"file_path": "/r/a.py"})
        agent.tool_failed("e1", "String to replace not found")
        agent.tool_started("e2", "Edit", {"file_path": "/r/b.py"})
        agent.tool_finished("e2", result="ok")
        assert agent.work_on("1").files == board.report().items[0].tally.files == ("/r/b.py",)


def test_the_grade_of_a_list_that_is_wiped_is_in_the_log() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", dialect="claude-code")
        claude(agent, Paint="in_progress")
        run(agent)
        claude(agent, Paint="completed")
        assert not agent.todos.items
        (completed,) = [event for event in board.events() if event.kind == "item.completed"]
        assert completed.data["set"]["grade"] == "verified"


def test_a_person_confirms_and_that_stands_whatever_is_seen_later() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Paint", "Sand"]})
        run(agent)
        agent.edit([{"op": "done", "item": "Paint"}], by="ada", person=True)
        assert grades(agent) == ["confirmed", None]
        run(agent, result="1 failed", is_error=True)
        assert grades(agent) == ["confirmed", None]


def test_a_person_confirms_what_was_called_done_before_and_takes_that_back() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Paint", "Sand"]})
        run(agent, result="1 failed", is_error=True)
        agent.call("todo", {"done": "1"})
        assert grades(agent) == ["failing", None]
        agent.edit([{"op": "done", "item": "Paint", "evidence": "I looked at it"}], by="ada", person=True)
        assert grades(agent) == ["confirmed", None]
        assert board.report(session="s1").items[0].grade == "confirmed"
        run(agent, result="1 failed", is_error=True)
        assert grades(agent) == ["confirmed", None]
        agent.undo(by="ada")
        assert grades(agent) == ["failing", None]


def test_who_calls_everything_done_confirms_only_what_was_open() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Paint", "Sand"]})
        run(agent, result="1 failed", is_error=True)
        agent.call("todo", {"done": "1"})
        agent.edit([{"op": "done"}], by="ada", person=True)
        assert grades(agent) == ["failing", "confirmed"]


@pytest.mark.parametrize("author", ["ada", "claude", "claude-code", "a hook"])
def test_an_author_of_whom_nobody_says_it_is_a_person_is_graded_by_the_work(author: str) -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Paint", "Sand"]})
        run(agent)
        agent.edit([{"op": "done", "item": "Paint"}], by=author)
        assert grades(agent) == ["verified", None]
        agent.edit([{"op": "done", "item": "Paint"}], by=author)
        assert grades(agent) == ["verified", None]


def test_an_author_is_not_graded_where_no_calls_are_reported() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Paint", "Sand"]})
        agent.edit([{"op": "done", "item": "Paint"}], by="ada")
        assert grades(agent) == [None, None]


def test_an_item_that_is_opened_again_loses_the_word_of_the_person() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Paint", "Sand"]})
        agent.edit([{"op": "done", "item": "Paint"}], by="ada", person=True)
        agent.edit([{"op": "reopen", "item": "Paint"}], by="claude")
        agent.edit([{"op": "done", "item": "Paint"}], by="claude")
        assert grades(agent) == [None, None]


def test_a_list_that_a_person_rewrites_is_confirmed_where_it_completes_something() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Paint", "Sand"]})
        agent.call("todo", {"done": "1"})
        done = tuple(replace(item, status=Status.COMPLETED) for item in agent.todos.items)
        agent.rewrite(replace(agent.todos, items=done), by="ada", person=True)
        assert grades(agent) == [None, "confirmed"]


@pytest.mark.parametrize("person", [True, False])
def test_steps_that_an_approved_plan_calls_done_are_confirmed_by_a_person_alone(person: bool) -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        agent.propose_plan("- [x] Sand\n- [ ] Paint")
        run(agent)
        agent.approve_plan(by="ada", todos=True, person=person)
        sand, paint = grades(agent)
        assert (sand == "confirmed", sand is None, paint) == (person, False, None)
        (approved,) = [event for event in board.events() if event.kind == "approval.approved"]
        assert approved.data.get("person", False) is person


def test_what_a_person_completes_takes_no_work_from_the_next_item() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", dialect="claude-code")
        claude(agent, Paint="pending", Sand="pending", Wax="pending")
        run(agent)
        agent.edit([{"op": "done", "item": "Paint"}], by="ada", person=True)
        claude(agent, Paint="completed", Sand="completed", Wax="pending")
        assert grades(agent) == ["confirmed", "verified", None]


def test_another_agent_confirms_nothing() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Paint", "Sand"]})
        run(agent)
        other = agent.spawn("reviewer")
        agent.edit([{"op": "done", "item": "Sand"}], by=other.name)
        agent.edit([{"op": "done", "item": "Paint"}], by=agent.name)
        agent.edit([{"op": "done", "item": "Sand"}], by=other.name)
        assert grades(agent) == ["verified", "verified"]


def test_what_is_seen_after_the_completion_takes_a_grade_back_and_gives_it_again() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", dialect="claude-code")
        claude(agent, Paint="in_progress", Sand="pending")
        run(agent, "sed -i s/a/b/ a.py", "")  # 8.5: only what changed code is charged with red that comes later
        run(agent)
        claude(agent, Paint="completed", Sand="pending")
        seen: list[str | None] = []
        for result, is_error in (("1 failed", True), ("3 passed", False)):
            run(agent, result=result, is_error=is_error)
            seen.append(grades(agent)[0])
            assert agent.at(agent.todos.revision) == agent.todos
        assert seen == ["failing", "verified"]
        assert sum(event.kind == "list.graded" for event in board.events()) == 2
        assert agent.assistant_turn() == []  # nobody else changed the list


def test_a_check_that_ends_behind_the_completion_counts_for_its_item() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", dialect="claude-code")
        claude(agent, Paint="in_progress", Sand="pending")
        agent.tool_started("c1", "Bash", {"command": "pytest"})
        claude(agent, Paint="completed", Sand="in_progress")
        assert grades(agent)[0] == "unchecked"
        agent.tool_finished("c1", result="2 failed", is_error=True)
        assert grades(agent)[0] == "failing"


def test_a_check_is_understood_when_it_ends_though_many_calls_began_since() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", loop_detection=False)
        agent.call("todo", {"set": ["Paint", "Sand"]})
        agent.tool_started("first", "Bash", {"command": "pytest"})
        for number in range(150):
            agent.tool_started(f"c{number}", "Read", {"path": str(number)})
        agent.tool_finished("first", result="1 failed in 1s", exit_code=1)
        agent.call("todo", {"done": "1"})
        assert grades(agent)[0] == "failing"


def test_the_work_of_a_child_grades_the_item_of_its_parent() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", dialect="claude-code")
        claude(agent, Paint="in_progress", Sand="pending")
        child = agent.spawn("painter")
        agent.tool_started("t", "Task", {"description": "paint"})
        run(child)
        agent.tool_finished("t", result="done")
        claude(agent, Paint="completed", Sand="in_progress")
        assert grades(agent)[0] == "verified"


def test_evidence_counts_for_what_it_names_and_never_by_itself() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Paint", "Sand", "Wax", "Dry"]})
        run(agent, "touch wax")
        run(agent, "touch paint")
        agent.call("todo", {"start": "3"})
        run(agent, "touch wax")
        agent.call("todo", {"start": "1"})
        run(agent, "pytest tests/wax")
        agent.call("todo", {"done": "3", "evidence": "pytest tests/wax"})
        agent.call("todo", {"done": "2", "evidence": "pytest tests/sand, all green"})
        agent.call("todo", {"done": "4", "evidence": "pytest tests/wax"})
        assert grades(agent)[1:] == ["unseen", "verified", "unseen"]


@pytest.mark.parametrize("words", ["test", "passed", "asse", "0", "I only looked at pytest -q tests/a.py"])
@pytest.mark.parametrize("previews", [160, 0])
def test_words_that_name_no_call_are_not_accepted_as_evidence(words: str, previews: int) -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", grades="require", previews=previews)
        agent.call("todo", {"set": ["Write the parser", "Deploy to production"]})
        agent.tool_started("0", "Bash", {"command": "pytest -q tests/a.py"})
        agent.tool_finished("0", result="3 passed in 1s", exit_code=0)
        agent.call("todo", {"done": "1"})
        assert agent.call("todo", {"done": "2", "evidence": words}).is_error


def test_evidence_is_stored_with_its_kind() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Paint", "Sand"]})
        agent.call("todo", {"done": "1", "evidence": ["pytest -q", {"kind": "person", "text": "Ada"}, "docs/a.md"]})
        assert [proof.kind for proof in agent.todos.items[0].evidence] == ["command", "person", "file"]


GOOSE = (
    "- [ ] Paint\n- [ ] Sand\n- [ ] Wax",
    "- [x] Paint\n- [ ] Sand\n- [ ] Wax",
    "- [x] Paint\n- [x] Sand\n- [ ] Wax",
)


def test_with_require_each_completing_write_needs_work_since_the_one_before() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", dialect="goose", grades="require")
        agent.call("todo_write", {"content": GOOSE[0]})
        assert agent.call("todo_write", {"content": GOOSE[1]}).is_error
        run(agent)
        assert not agent.call("todo_write", {"content": GOOSE[1]}).is_error
        assert agent.call("todo_write", {"content": GOOSE[2]}).is_error  # nothing was done since the first one
        run(agent, "touch a")
        assert not agent.call("todo_write", {"content": GOOSE[2]}).is_error
        reported = [item.grade for item in board.report(session="s1").items]
        assert grades(agent) == reported == ["verified", "unchecked", None]

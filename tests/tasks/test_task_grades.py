"""Completed tasks are graded by what was seen, like the items of a list."""

from __future__ import annotations

import pytest

from punchlist import Agent, Board
from punchlist.errors import TaskNotGrounded
from punchlist.terminal.tasks import standing_words


def _working(board: Board, grades: str = "show") -> Agent:
    """An agent that has one task in progress and has made one call for it."""
    agent = board.agent("main", session="s", dialect="claude-tasks", grades=grades)
    agent.call("TaskCreate", {"subject": "Fix the parser", "description": ""})
    agent.call("TaskUpdate", {"taskId": "1", "status": "in_progress"})
    return agent


def _test_run(agent: Agent, call_id: str, *, passes: bool) -> None:
    agent.tool_started(call_id, "Bash", {"command": "pytest"})
    said = "1 passed in 1s" if passes else "1 failed in 1s"
    agent.tool_finished(call_id, result=said, exit_code=0 if passes else 1)


def _complete(agent: Agent) -> str:
    return agent.call("TaskUpdate", {"taskId": "1", "status": "completed"}).text


def _grade(board: Board) -> str | None:
    return board.tasks("session:s").get("1").grade


@pytest.mark.parametrize(("passes", "grade"), [(True, "verified"), (False, "failing")])
def test_a_completed_task_has_the_grade_of_its_checks(passes: bool, grade: str) -> None:
    with Board.open("memory:") as board:
        agent = _working(board)
        _test_run(agent, "c", passes=passes)
        _complete(agent)
        assert _grade(board) == grade


def test_a_task_whose_agent_nobody_reported_on_has_no_grade() -> None:
    with Board.open("memory:") as board:
        _complete(_working(board))
        assert _grade(board) is None


def test_a_task_on_which_nothing_was_seen_is_unseen() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s", dialect="claude-tasks")
        _test_run(agent, "c", passes=True)
        for number in "12":
            agent.call("TaskCreate", {"subject": "Fix the parser", "description": ""})
            agent.call("TaskUpdate", {"taskId": number, "status": "completed"})
        assert [board.tasks("session:s").get(number).grade for number in "12"] == ["verified", "unseen"]


def test_a_later_check_grades_a_task_anew() -> None:
    with Board.open("memory:") as board:
        agent = _working(board)
        agent.tool_started("e", "Edit", {"file_path": "a.py"})  # 8.5: it is charged for what it changed
        agent.tool_finished("e", "ok")
        _test_run(agent, "c", passes=True)
        _complete(agent)
        _test_run(agent, "d", passes=False)
        assert _grade(board) == "failing"
        assert [event.kind for event in board.events() if event.kind == "task.graded"] == ["task.graded"]


def test_a_task_that_is_open_again_has_no_grade() -> None:
    with Board.open("memory:") as board:
        agent = _working(board)
        _test_run(agent, "c", passes=True)
        _complete(agent)
        board.tasks("session:s").update("1", status="pending")
        assert _grade(board) is None


def test_where_a_sound_grade_is_required_a_failing_task_stays_open() -> None:
    with Board.open("memory:") as board:
        agent = _working(board, "require")
        _test_run(agent, "c", passes=False)
        reply = agent.call("TaskUpdate", {"taskId": "1", "status": "completed"})
        assert reply.is_error
        assert [problem.code for problem in reply.problems] == ["not_grounded"]
        assert board.tasks("session:s").get("1").status == "in_progress"
        with pytest.raises(TaskNotGrounded):
            agent.tasks("session:s").complete("1")
        _test_run(agent, "d", passes=True)
        assert not agent.call("TaskUpdate", {"taskId": "1", "status": "completed"}).is_error


def test_a_doubtful_task_is_told_once() -> None:
    with Board.open("memory:") as board:
        agent = _working(board, "tell")
        _test_run(agent, "c", passes=False)
        reply = agent.call("TaskUpdate", {"taskId": "1", "status": "completed"})
        assert not reply.is_error
        assert [problem.code for problem in reply.problems] == ["graded"]
        told = [injection.text for injection in agent.assistant_turn() if "does not confirm it" in injection.text]
        assert len(told) == 1
        assert not [injection for injection in agent.assistant_turn() if "does not confirm it" in injection.text]


def test_reports_and_briefs_show_tasks_with_their_grades() -> None:
    with Board.open("memory:") as board:
        agent = _working(board)
        _test_run(agent, "c", passes=False)
        _complete(agent)
        for session in (None, "s"):
            (entry,) = board.report(session=session).items
            assert (entry.item.content, entry.grade, entry.subject.agent) == ("Fix the parser", "failing", "main")
            assert entry.tally.calls == 1
        assert [entry.item.content for entry in board.brief().doubtful] == ["Fix the parser"]


def test_tasks_that_nobody_began_are_no_work_to_report() -> None:
    with Board.open("memory:") as board:
        board.tasks("later").create("Some day")
        assert not board.report().items
        agent = board.agent("main", session="s")
        agent.tasks("later").claim()
        (entry,) = board.report().items
        assert (entry.item.content, entry.item.status) == ("Some day", "in_progress")


def test_the_work_on_a_task_is_found_under_its_key() -> None:
    with Board.open("memory:") as board:
        agent = _working(board)
        _test_run(agent, "c", passes=True)
        assert agent.work_on("task:session:s/1").calls == 1


def test_people_see_the_grade_of_a_task() -> None:
    with Board.open("memory:") as board:
        agent = _working(board)
        _test_run(agent, "c", passes=True)
        _complete(agent)
        task = board.tasks("session:s").get("1")
        assert standing_words(task, board.now()) == "verified"


def test_what_a_person_does_to_a_task_is_in_every_report_and_their_word_stands() -> None:
    with Board.open("memory:") as board:
        agent = _working(board)
        _test_run(agent, "c", passes=False)
        board.tasks("session:s", by="ada").complete("1", person=True)
        assert _grade(board) == "confirmed"
        for report in (board.report(), board.report(session="s"), board.report(project=agent.project)):
            (entry,) = report.items
            assert (entry.item.status, entry.grade) == ("completed", "confirmed")


@pytest.mark.parametrize("author", ["ada", "claude", "claude-code"])
def test_an_author_of_whom_nobody_says_it_is_a_person_is_graded_by_the_work(author: str) -> None:
    with Board.open("memory:") as board:
        _test_run(_working(board), "c", passes=True)
        board.tasks("session:s", by=author).complete("1")
        assert _grade(board) == "verified"
        board.tasks("session:s", by=author).complete("1")
        assert _grade(board) == "verified"


@pytest.mark.parametrize("person", [True, False])
def test_a_task_that_no_agent_worked_on_is_confirmed_or_not_graded(person: bool) -> None:
    with Board.open("memory:") as board:
        tasks = board.tasks("house", by="ada")
        for name in ("One", "Two"):
            tasks.create(name)
        assert tasks.complete("1", person=person).grade == ("confirmed" if person else None)
        assert tasks.update("2", status="completed", person=person).grade == ("confirmed" if person else None)


def test_a_person_confirms_with_a_change_of_status_too() -> None:
    with Board.open("memory:") as board:
        agent = _working(board)
        _test_run(agent, "c", passes=False)
        _complete(agent)
        board.tasks("session:s", by="ada").update("1", status="completed", person=True)
        assert _grade(board) == "confirmed"


def test_a_person_confirms_a_task_that_was_called_done_before() -> None:
    with Board.open("memory:") as board:
        agent = _working(board)
        _test_run(agent, "c", passes=False)
        _complete(agent)
        assert _grade(board) == "failing"
        task = board.tasks("session:s", by="ada").complete("1", person=True)
        assert (task.grade, _grade(board)) == ("confirmed", "confirmed")
        assert board.tasks("session:s", by="ada").complete("1", person=True).revision == task.revision
        assert board.report().items[0].grade == "confirmed"


def test_a_task_that_is_worked_through_its_list_is_graded_by_the_work_on_that() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s", grades="require")
        tasks = agent.tasks("release")
        tasks.create("Ship it", checklist=["Tests pass", "Notes are written"])
        tasks.claim()
        tasks.todos("1", agent)
        for item in ("1", "2"):
            agent.call("todo", {"start": item})
            _test_run(agent, item, passes=True)
            agent.call("todo", {"done": item})
        assert tasks.complete("1").grade == "verified"
        assert {entry.grade for entry in board.report(session="s").items} == {"verified"}


def test_the_check_of_another_worker_accuses_the_session_and_not_the_task() -> None:
    with Board.open("memory:") as board:
        helper = board.agent("helper", session="s", dialect="claude-tasks")
        helper.call("TaskCreate", {"subject": "Fix the parser", "description": ""})
        helper.call("TaskUpdate", {"taskId": "1", "status": "in_progress", "owner": "helper"})
        helper.tool_started("late", "Bash", {"command": "pytest"})
        main = board.agent("main", session="s", dialect="claude-tasks", grades="tell")
        main.call("TaskUpdate", {"taskId": "1", "owner": "main"})
        main.call("TaskUpdate", {"taskId": "1", "status": "in_progress"})
        _test_run(main, "c", passes=True)
        _complete(main)
        helper.tool_finished("late", result="1 failed in 1s", exit_code=1)
        report = board.report(session="s")
        assert (report.state, _grade(board), report.items[0].subject.agent) == ("red", "verified", "main")

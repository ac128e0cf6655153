"""Sessions whose work is durable tasks are shown as those with lists are: current work, never one layer."""

import json
from pathlib import Path

import pytest

from punchlist.agent import Agent
from punchlist.board import Board
from tests.cli.conftest import Run, read_rows


def _begin(board: Board, session: str = "s1", *subjects: str) -> Agent:
    """Return an agent that completed its first task, and began its second."""
    agent = board.agent("main", session=session, dialect="claude-tasks")
    for subject in subjects or ("Read", "Paint", "Ship"):
        agent.call("TaskCreate", {"subject": subject, "description": "", "activeForm": f"{subject}ing"})
    agent.call("TaskUpdate", {"taskId": "1", "status": "in_progress"})
    agent.tool_started("c1", "Edit", {"file_path": "a.py"})
    agent.tool_finished("c1", result="ok")
    agent.call("TaskUpdate", {"taskId": "1", "status": "completed"})
    agent.call("TaskUpdate", {"taskId": "2", "status": "in_progress"})
    return agent


def test_todos_shows_the_tasks_of_a_session_with_grades_and_the_state(run: Run, board: Board) -> None:
    with board:
        _begin(board)
    shown = "3 tasks: session not checked since 1 change\n  ? Read — unchecked\n  ▸ Painting\n  ○ Ship\n"
    assert run("todos").out == shown
    assert run("todos", "--session", "s1").out == shown
    assert run("todos", "--agent", "main").out == shown
    assert "○ #3 Ship" in run("todos", "--ids").out


def test_todos_as_json_holds_the_tasks_beside_the_items_and_counts_both(run: Run, board: Board) -> None:
    with board:
        _begin(board)
    (shown,) = json.loads(run("todos", "--json").out)
    assert shown["items"] == []
    assert [(task["id"], task["status"]) for task in shown["tasks"]] == [
        ("1", "completed"),
        ("2", "in_progress"),
        ("3", "pending"),
    ]
    assert shown["progress"] == {"done": 1, "total": 3, "percent": 33}
    assert (shown["focus"], shown["session_state"]) == ("#2", "unchecked")


def test_a_list_and_tasks_of_one_agent_are_shown_together(run: Run, board: Board) -> None:
    with board:
        _begin(board)
        board.agent("main", session="s1").call("todo", {"set": ["Look"]})
        board.agent("main", session="s2").call("todo", {"set": ["Else"]})
    out = run("todos").out
    assert "main — Items and tasks (1/4)\n    ▸ Look\n    ? Read — unchecked\n    ▸ Painting\n    ○ Ship\n" in out
    assert "main — Items (0/1)\n    ▸ Else\n" in out
    rows = read_rows(run("statusline", "--session", "s1").out)
    assert rows == ["1/4 · no test ran yet", "▸ Look"]  # the item comes first


def test_tasks_that_an_agent_began_on_a_shared_list_are_its_work_and_others_are_not(run: Run, board: Board) -> None:
    with board:
        tasks = board.agent("main", session="s1").tasks()
        for subject in ("Paint", "Sand", "Saw"):
            tasks.create(subject)
        tasks.claim(id="2")
        tasks.claim(id="3")
        tasks.complete("3")
    assert run("todos").out == "1 task:\n  ▸ Sand\n"
    assert read_rows(run("statusline").out) == ["0/1 · no test ran yet", "▸ Sand"]


def test_a_task_that_a_finished_agent_left_in_progress_is_only_open(run: Run, board: Board) -> None:
    with board:
        agent = _begin(board)
        agent.finished("Enough.")
        assert "○ Paint\n" in run("todos").out
        assert read_rows(run("statusline").out) == ["1/3 · 1 change, not checked"]
        agent.call("TaskUpdate", {"taskId": "3", "status": "in_progress"})  # it is at work again
    assert read_rows(run("statusline").out)[:2] == ["1/3 · no test ran yet", "▸ Shiping"]


def test_a_task_whose_lease_has_ended_is_nobodys_work(run: Run, board: Board) -> None:
    with board:
        _begin(board)
        board.agent("main", session="s2").tasks(lease=0.001).create("Sand")
        board.agent("main", session="s2").tasks(lease=0.001).claim()
        assert run("todos").out.startswith("3 tasks:")
        assert "Sand" not in run("statusline").out


def test_a_flow_is_the_work_of_the_agent_that_began_it(run: Run, board: Board) -> None:
    with board:
        agent = board.agent("main", session="s1", dialect="taskflow")
        started = agent.call("taskflow", {"action": "start", "controller_id": "c", "goal": "Paint the fence"})
        assert not started.is_error
    assert "Paint the fence" in run("todos").out
    assert "Paint the fence" in run("statusline").out


def test_each_agent_of_a_session_has_its_own_tasks_and_the_first_the_others(run: Run, board: Board) -> None:
    with board:
        main = _begin(board)
        child = main.spawn("painter")
        child.call("TaskUpdate", {"taskId": "3", "status": "in_progress"})
    out = run("todos").out
    assert "main — Tasks (1/2)\n    ? Read — unchecked\n    ▸ Painting\n" in out
    assert "painter — Tasks (0/1)\n      ▸ Shiping\n" in out


def test_tasks_that_all_ended_before_the_next_was_created_are_past_work(run: Run, board: Board) -> None:
    with board:
        agent = _begin(board)
        for number in ("2", "3"):
            agent.call("TaskUpdate", {"taskId": number, "status": "completed"})
        assert read_rows(run("statusline").out) == ["3/3 · 1 change, not checked"]
        agent.call("TaskCreate", {"subject": "Sweep", "description": ""})
    assert read_rows(run("statusline").out) == ["0/1 · 1 change, not checked"]
    assert run("todos").out.startswith("1 task:")
    assert run("report").out.startswith("items: 3 of 4 done, 1 open\n")  # nothing is lost


def test_the_focus_is_the_task_that_was_started_last(run: Run, board: Board) -> None:
    with board:
        agent = _begin(board)
        agent.call("TaskUpdate", {"taskId": "3", "status": "in_progress"})
    assert read_rows(run("statusline").out)[:2] == ["1/3 · no test ran yet", "▸ Shiping"]


def test_a_session_is_as_late_as_its_last_task_call(run: Run, board: Board) -> None:
    with board:
        agent = _begin(board)
        board.agent("main", session="s2").call("todo", {"set": ["Else"]})
        assert run("statusline").out.splitlines()[1].startswith("▸ Else")
        agent.call("TaskUpdate", {"taskId": "3", "status": "in_progress"})
    assert run("statusline").out.splitlines()[1].startswith("▸ Shiping")
    assert [row["session"] for row in json.loads(run("todos", "--json").out)] == ["s1", "s2"]


def test_brief_and_report_show_tasks_as_they_do_items(run: Run, board: Board) -> None:
    with board:
        _begin(board)
    report = run("report").out
    assert "project · main s1\n  ? Read  unchecked: no check passed" in report
    assert "items: 1 of 3 done, 2 open" in report
    whole = json.loads(run("report", "--json").out)
    assert [item["content"] for item in whole["items"]] == ["Read", "Paint", "Ship"]
    told = run("brief").out
    # A brief names the item of now and counts the others.
    assert told.startswith("At work      project · main s1  1/3 Painting")
    assert "1 item done: 1 unchecked" in told


def test_nothing_prints_an_empty_heading(run: Run, board: Board, project: Path) -> None:
    with board:
        board.agent("main", session="s1").tool_started("c1", "Bash", {"command": "ls"})
        board.agent("main", session="s2", dialect="claude-tasks").call("TaskList", {})
    for command in ("todos", "statusline", "report", "brief"):
        out = run(command).out
        assert "0 items" not in out
        assert "0 tasks" not in out
        assert "(0)" not in out
        assert "(0/0)" not in out
    assert run("todos").out.startswith("There are no lists in this project")


@pytest.mark.parametrize("verb", ["done", "start", "drop", "block"])
def test_an_edit_of_an_item_that_is_a_task_says_how_to_change_the_task(run: Run, board: Board, verb: str) -> None:
    with board:
        _begin(board)
    for query in ("ship", "#3"):
        ran = run("todo", verb, query)
        assert ran.code == 1
        assert "“Ship” is a task: `punchlist tasks done 3 --list session:s1` completes it" in ran.err
    assert run("tasks", "done", "3", "--list", "session:s1").code == 0

"""The rows of a brief: whose they are, what each says, and the command that goes on from there."""

import pytest

from punchlist import Board
from punchlist.agent import Agent
from punchlist.presence.roster import load_roster
from punchlist.reports.work_reports import load_brief
from punchlist.terminal.now import now_lines
from punchlist.terminal.spans import Display, plain_text
from punchlist.views.brief_groups import BriefGroups, JoinedRow, count_to_do, join_rows, split_name

ALIKE = ("11111111-2222-4333-8444-555555aaaaaa", "21111111-2222-4333-8444-555555aaaaaa")
BY_CLOCK = ("d0c4a68e-e34f-11f1-bff7-02fc00000001", "d0c4a76a-e34f-11f1-bff7-02fc00000001")


@pytest.fixture
def board() -> Board:
    return Board.open("memory:")


def ask(board: Board, session: str, text: str, *, agent: str = "main", project: str = "/home/ada/web") -> Agent:
    asking = board.agent(agent, session=session, project=project)
    asking.call("todo", {"set": ["Drop the table", "Rest"]})
    asking.ask("1", text)
    return asking


def look(board: Board) -> tuple[BriefGroups, dict[str, list[JoinedRow]]]:
    roster = load_roster(board, who="ada", present=())
    groups = load_brief(board, roster, None, project=None, who="ada").groups
    return groups, join_rows(groups, roster)


@pytest.mark.parametrize("sessions", [ALIKE, BY_CLOCK], ids=["alike", "made by clock"])
def test_two_sessions_whose_ids_end_alike_are_told_apart(board: Board, sessions: tuple[str, str]) -> None:
    for session, where in zip(sessions, ("staging", "production"), strict=True):
        ask(board, session, f"Drop it in {where}?")
    _, joined = look(board)
    rows = joined["do_now"]
    asked = {row.of.session: row.wait.text for row in rows if row.wait is not None}
    assert asked == {sessions[0]: "Drop it in staging?", sessions[1]: "Drop it in production?"}
    assert all(row.wait and row.wait.text in row.of.sentence for row in rows)
    assert len({row.of.name for row in rows}) == len({row.of.action for row in rows}) == 2


def test_an_agent_is_named_only_if_another_one_of_its_session_has_such_a_wait(board: Board) -> None:
    ask(board, "s1", "Staging?", agent="claude")
    assert look(board)[0].do_now[0].action == "punchlist answer 1 TEXT --session s1"
    ask(board, "s1", "Production?")
    assert look(board)[0].do_now[0].action == "punchlist answer 1 TEXT --session s1 --agent claude"


def test_a_question_is_the_row_of_the_agent_that_asks(board: Board) -> None:
    asking = ask(board, "s1", "Staging?", agent="builder")
    for name in ("tester", "writer"):
        other = board.agent(name, session="s1", project="/home/ada/web")
        other.call("todo", {"set": ["Paint"]})
        other.call("todo", {"done": "1"})
    asking.ask("2", "Production?")
    groups, joined = look(board)
    assert [row.agent for row in groups.do_now] == ["builder"]
    assert {row.of.agent: row.sentence for row in joined["at_work"]} == {"tester": "all done", "writer": "all done"}


def test_an_agent_without_a_list_is_known_by_its_first_prompt(board: Board) -> None:
    agent = board.agent("main", session="s1", project="/home/ada/web")
    agent.user_turn("Make the build faster\nIt takes an hour.")
    (row,) = look(board)[1]["at_work"]
    assert row.sentence == "Make the build faster"


def test_the_name_of_an_agent_that_begins_with_a_dash_is_no_option(board: Board) -> None:
    ask(board, "s1", "Staging?", agent="-x")
    ask(board, "s1", "Production?")
    assert look(board)[0].do_now[0].action == "punchlist answer 1 TEXT --session s1 --agent=-x"


def test_a_plan_is_read_before_it_is_decided(board: Board) -> None:
    board.agent("claude", session="s1", project="/home/ada/web").propose_plan("# Move\n\n1. Pack\n2. Drive")
    (row,) = look(board)[0].do_now
    assert (row.sentence, row.action) == ("approve or reject: Move (2 steps)", "punchlist plan show --session s1")


def test_a_red_session_that_asks_says_both_and_how_many_questions_there_are(board: Board) -> None:
    agent = ask(board, "s1", "Staging?")
    agent.ask("2", "Production?")
    agent.tool_started("c1", "Bash", {"command": "pytest -q"})
    agent.tool_finished("c1", result="1 failed in 0.1s", is_error=True)
    roster = load_roster(board, who="ada", present=())
    said = "answer: “Staging?” (and 1 more); pytest is red"
    assert look(board)[0].do_now[0].sentence == said
    assert said in plain_text(now_lines(roster, Display(columns=200)))


def test_an_agent_that_ended_is_told_in_the_same_words_by_now_and_the_brief(board: Board) -> None:
    agent = board.agent("main", session="s1", project="/home/ada/web")
    agent.call("todo", {"set": ["Transform", "Rest"], "start": "1"})
    agent.user_turn("Go")
    agent.assistant_turn()
    groups, _ = look(board)
    shown = plain_text(now_lines(load_roster(board, who="ada", present=()), Display(columns=200)))
    assert [row.sentence for row in groups.ended] == ['stopped at "Transform", 2 items open']
    assert groups.ended[0].sentence in shown


def test_projects_of_one_name_are_told_apart_by_the_folder_above(board: Board) -> None:
    for number, project in enumerate(("/home/ada/web", "/home/bob/web", "/home/ada/api")):
        agent = board.agent("main", session=f"s{number}", project=project)
        agent.tool_started("c1", "Write", {"file_path": f"{project}/a.py", "content": "x = 1"})
        agent.tool_finished("c1", result="ok")
    assert sorted(one.name for one in look(board)[0].not_checked) == ["ada/web", "api", "bob/web"]


def test_a_project_with_a_dot_in_its_name_is_one_part_of_the_name(board: Board) -> None:
    ask(board, "s1", "Staging?", project="/home/ada/a · b")
    (row,) = look(board)[0].do_now
    assert split_name(row.name) == ("a·b", "main", "s1")


def test_each_list_of_tasks_has_its_own_row_and_hides_no_other(board: Board) -> None:
    for name in ("archive", "release"):
        tasks = board.tasks(name, by="w1")
        tasks.wait(tasks.create("Approve it").id)
        tasks.fail(tasks.create("Copy it").id, "no disk")
        tasks.claim("w1", id=tasks.create("Index it").id)
    roster, (groups, _) = load_roster(board, who="ada", present=()), look(board)
    assert [row.name for row in groups.do_now] == ["archive · tasks", "release · tasks"]
    assert [row.name for row in groups.look_first] == ["archive · tasks", "release · tasks"]
    assert [(row.name, row.sentence) for row in groups.at_work] == [
        ("archive · w1", "Index it"),
        ("release · w1", "Index it"),
    ]
    assert count_to_do(roster) == 2


def test_a_task_that_waits_is_not_named_by_a_worker_on_another_list(board: Board) -> None:
    done = board.tasks("archive", by="w1")
    done.claim("w1", id=done.create("Copy it").id)
    done.complete("1")
    waiting = board.tasks("release", by="w1")
    waiting.wait(waiting.create("Approve it").id)
    (row,) = look(board)[0].do_now
    assert (row.name, row.list) == ("release · tasks", "release")


def test_a_command_of_the_brief_is_pasted_as_it_stands(board: Board) -> None:
    tasks = board.tasks("archive")
    tasks.wait(tasks.create("Approve it").id)
    agent = board.agent("main", session="s1", project="/home/ada/web")
    agent.call("todo", {"set": ["Deploy"], "block": {"1": "waits for ada"}})
    assert {row.action for row in look(board)[0].do_now} == {
        "punchlist answer task-1 --list archive",
        "punchlist answer 1 --session s1",
    }


def test_each_flow_that_waits_has_its_own_row(board: Board) -> None:
    for goal in ("Sort the inbox", "Pay the bills"):
        flow = board.flows(by="ada").create_mirrored("kate/mail", goal)
        board.flows(by="ada").set_waiting(flow.id, {"kind": "manual"})
    groups, _ = look(board)
    assert [row.name for row in groups.do_now] == ["flows", "flows"]
    assert [row.sentence.partition(": ")[2] for row in groups.do_now] == ["Sort the inbox", "Pay the bills"]


def test_a_question_of_an_agent_that_finished_is_not_told_in_the_name_of_another(board: Board) -> None:
    ask(board, "s1", "Staging?", agent="codex").finished()
    for name in ("main", "builder"):
        board.agent(name, session="s1", project="/home/ada/web").propose_plan(f"# Plan of {name}")
    roster, (groups, _) = load_roster(board, who="ada", present=()), look(board)
    assert {(row.agent, row.kind) for row in groups.do_now} == {
        ("codex", "question"),
        ("main", "plan"),
        ("builder", "plan"),
    }
    assert count_to_do(roster) == 3

"""`punchlist todo`: a person changes a list."""

import pytest

from punchlist.board import Board
from punchlist.cli.targets import own_session
from punchlist.config import project_of
from punchlist.core import commands as do
from punchlist.core.todo import Status, TodoList
from tests.cli.conftest import Run


def _todos(session: str | None = None, agent: str = "main") -> TodoList:
    with Board.open() as board:
        return board.agent(agent, session=session or own_session(project_of())).todos


def _contents() -> list[str]:
    return [item.content for item in _todos().items]


@pytest.fixture
def three(run: Run) -> None:
    """Two phases: Code with two items, Tests with one."""
    run("todo", "append", "Code", "fix the parser")
    run("todo", "append", "fix the docs")
    run("todo", "append", "Tests", "run them all")


def test_append_starts_a_list_in_a_session_named_after_the_project(run: Run):
    assert run("todo", "append", "fix the bug").out == "Appended to Todos: Fix the bug\n"
    (item,) = _todos().items
    assert (item.content, item.status, item.created_by) == ("Fix the bug", Status.PENDING, "anna")
    assert own_session(project_of()).startswith("project-")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tests", "cover the login"], "Appended to Tests: Cover the login"),
        (["cod", "one", "more"], "Appended to Code: One more"),
        (["later on", "rest"], "Appended to Later On: Rest"),
        (["just a task"], "Appended to Tests: Just a task"),
        (['"a new phase" "its task"'], "Appended to A New Phase: Its task"),
        (['code "its task"'], "Appended to Code: Its task"),
        (['say "hello" to all'], 'Appended to Tests: Say "hello" to all'),
        (["one", "two", "--phase", "code"], "Appended to Code: One two"),
    ],
)
@pytest.mark.usefixtures("three")
def test_append_finds_or_makes_the_phase(run: Run, words: list[str], said: str):
    assert run("todo", "append", *words).out == f"{said}\n"


def test_append_without_a_task_changes_nothing(run: Run):
    ran = run("todo", "append", " ")
    assert (ran.code, ran.out) == (1, "")
    assert _contents() == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["start", "parser"], "Started: Fix the parser"),
        (["start", "1"], "Started: Fix the parser"),
        (["done", "run", "them"], "Marked completed: Run them all"),
        (["done", "code"], "Marked phase Code completed."),
        (["done"], "Marked all tasks completed."),
        (["drop", "docs"], "Marked cancelled: Fix the docs"),
        (["drop", "test"], "Marked phase Tests cancelled."),
        (["drop"], "Marked all tasks cancelled."),
        (["rm", "docs"], "Removed: Fix the docs"),
        (["rm", "code"], "Removed phase: Code"),
        (["rm"], "Cleared all todos."),
        (["block", "docs", "no", "paper"], "Blocked: Fix the docs (no paper)"),
        (["block", "docs", "--on", "bob"], "Blocked: Fix the docs"),
        (["unblock", "docs"], "Unblocked: Fix the docs"),
        (["unblock", "code"], "Unblocked phase Code."),
        (["unblock"], "Unblocked all tasks."),
        (["note", "docs", "see", "page 3"], "Noted on: Fix the docs"),
        (["reword", "docs", "Mend the docs"], "Reworded: Mend the docs"),
    ],
)
@pytest.mark.usefixtures("three", "person")
def test_each_verb_says_what_it_did(run: Run, arguments: list[str], said: str):
    ran = run("todo", *arguments)
    assert (ran.code, ran.out, ran.err) == (0, f"{said}\n", "")


@pytest.mark.usefixtures("three")
def test_what_the_verbs_did_is_on_the_list(run: Run):
    run("todo", "start", "parser")
    run("todo", "done", "run", "--evidence", "12 passed")
    run("todo", "block", "docs", "paper", "--on", "bob")
    run("todo", "note", "docs", "see page 3")
    parser, docs, tests = _todos().items
    assert parser.status is Status.IN_PROGRESS
    assert (docs.status, docs.notes) == (Status.BLOCKED, ("see page 3",))
    assert docs.blocker is not None
    assert (docs.blocker.reason, docs.blocker.on) == ("paper", "bob")
    assert (tests.status, tests.evidence[0].text) == (Status.COMPLETED, "12 passed")


@pytest.mark.usefixtures("three")
def test_rm_without_a_name_takes_the_phases_too(run: Run):
    run("todo", "rm")
    assert (_todos().items, _todos().phases) == ((), ())


@pytest.mark.parametrize("verb", ["start", "done", "drop", "rm", "unblock", "block", "note", "reword"])
@pytest.mark.usefixtures("three")
def test_what_matches_nothing_ends_with_1_and_changes_nothing(run: Run, verb: str):
    before = _todos()
    more = ["text"] if verb in ("note", "reword") else []
    ran = run("todo", verb, "zebra", *more)
    assert (ran.code, ran.out) == (1, "")
    assert 'matched "zebra"' in ran.err
    assert _todos() == before


@pytest.mark.parametrize("verb", ["start", "done", "rm", "undo", "restore", "export"])
def test_without_a_list_a_change_says_how_to_begin_one(run: Run, verb: str):
    ran = run("todo", verb, *(["x"] if verb == "start" else []))
    assert ran.code == 1
    assert "punchlist todo append" in ran.err


@pytest.mark.usefixtures("three")
def test_undo_takes_back_even_a_cleared_list(run: Run):
    before = _contents()
    run("todo", "rm")
    assert run("todo", "undo").code == 0
    assert _contents() == before


@pytest.mark.usefixtures("three")
def test_undo_is_for_each_author(run: Run):
    ran = run("todo", "undo", "--by", "bob")
    assert ran.code == 1
    assert "bob" in ran.err


def test_undo_refuses_when_what_it_touched_changed_since(run: Run):
    run("todo", "append", "fix")
    run("todo", "reword", "fix", "mend")
    run("todo", "reword", "mend", "repair", "--by", "bob")
    assert run("todo", "undo").code == 1
    assert _contents() == ["repair"]


def test_restore_brings_back_what_a_rewrite_left_out(run: Run, board: Board):
    run("todo", "append", "keep")
    run("todo", "append", "lose one")
    run("todo", "append", "lose two")
    with board:
        agent = board.agent("main", session=own_session(project_of()), dialect="claude-code")
        for texts in (["Keep", "Lose one", "Lose two"], ["Keep"]):
            todos = [{"content": text, "status": "pending", "activeForm": text} for text in texts]
            agent.call("TodoWrite", {"todos": todos})
    assert "left out by rewrites: 2 items" in run("todos").out
    assert run("todo", "restore", "two").out == "Restored: Lose two\n"
    assert run("todo", "restore").out == "Restored: Lose one\n"
    assert sorted(_contents()) == ["Keep", "Lose one", "Lose two"]
    assert run("todo", "restore").code == 1


def test_changes_go_to_the_latest_list_of_the_project_and_by_its_owner(run: Run, board: Board):
    with board:
        for session in ("s1", "s2"):
            board.agent("main", session=session).edit(do.Append((do.Entry(content=f"In {session}"),)), by="main")
    run("todo", "done", "in", "--by", "bob")
    assert [_todos(session).items[0].status for session in ("s1", "s2")] == [Status.PENDING, Status.COMPLETED]
    assert run("events", "--limit", "1").out.rstrip().endswith("bob edited the list of main")


def test_session_and_agent_name_the_list(run: Run, board: Board, monkeypatch: pytest.MonkeyPatch):
    run("todo", "append", "first", "--session", "s1")
    run("todo", "append", "second", "--session", "s1", "--agent", "helper")
    run("todo", "append", "third", "--session", "s2")
    run("todo", "done", "first", "--session", "s1", "--agent", "main")
    monkeypatch.setenv("PUNCHLIST_SESSION", "s2")
    run("todo", "start", "third")
    assert _todos("s1").items[0].status is Status.COMPLETED
    assert _todos("s1", "helper").items[0].content == "Second"
    assert _todos("s2").items[0].status is Status.IN_PROGRESS
    assert run("todo", "done", "--session", "nope").code == 1


def test_a_list_that_moves_on_meanwhile_is_read_again(run: Run, monkeypatch: pytest.MonkeyPatch):
    from punchlist.agent import Agent

    run("todo", "append", "fix")
    edit = Agent.edit
    moved: list[bool] = []

    def interrupted(
        self: Agent, ops: object, *, by: str, revision: int | None = None, person: bool = False
    ) -> TodoList:
        if not moved:
            moved.append(True)
            edit(self, do.Append((do.Entry(content="Meanwhile"),)), by="main")
        return edit(self, ops, by=by, revision=revision, person=person)

    monkeypatch.setattr(Agent, "edit", interrupted)
    assert run("todo", "start", "fix").out == "Started: Fix\n"
    assert _contents() == ["Fix", "Meanwhile"]


def test_projects_of_one_name_get_sessions_of_their_own():
    assert own_session("/a/api") != own_session("/b/api")
    assert own_session("/a/api").startswith("api-")
    assert own_session("/").startswith("project-")


@pytest.mark.usefixtures("three", "person")
def test_done_once_more_confirms(run: Run):
    run("todo", "done", "docs")
    assert run("todo", "done", "docs").out == "Confirmed: Fix the docs\n"
    assert [item.grade for item in _todos().items if item.status is Status.COMPLETED] == ["confirmed"]

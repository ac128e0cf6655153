"""`punchlist todo`: a person changes a list."""

from pathlib import Path

import pytest

from punchlist.board import Board
from punchlist.core import commands as do
from punchlist.core.todo import Status, TodoList
from punchlist.settings.environment import project_of
from punchlist.views.list_owners import name_path_session
from tests.cli.conftest import Run


def _todos(session: str | None = None, agent: str = "main") -> TodoList:
    with Board.open() as board:
        return board.agent(agent, session=session or name_path_session(project_of())).todos


def _mine() -> str:
    """What a confirmation says about a person's own list."""
    return "(project · yours)"


def _contents() -> list[str]:
    return [item.content for item in _todos().items]


@pytest.fixture
def three(run: Run) -> None:
    """Two phases: Code with two items, Tests with one."""
    run("todo", "append", "Fix the parser", "--phase", "Code")
    run("todo", "append", "Fix the docs")
    run("todo", "append", "Run them all", "--phase", "Tests")


def test_append_starts_a_list_in_a_session_named_after_the_project(run: Run):
    assert run("todo", "append", "fix the bug").out == f"Appended: fix the bug {_mine()}\n"
    (item,) = _todos().items
    assert (item.content, item.status, item.created_by) == ("fix the bug", Status.PENDING, "anna")
    assert name_path_session(project_of()).startswith("project-")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cover", "the", "login"], "Appended to Tests: cover the login"),
        (["tests", "cover the login"], "Appended to Tests: tests cover the login"),
        (["iPhone layout"], "Appended to Tests: iPhone layout"),
        (['say "hello" to all'], 'Appended to Tests: say "hello" to all'),
        (['"a new phase" "its task"'], 'Appended to Tests: "a new phase" "its task"'),
        (["one", "two", "--phase", "cod"], "Appended to Code: one two"),
        (["rest", "--phase", "later on"], "Appended to later on: rest"),
    ],
)
@pytest.mark.usefixtures("three")
def test_append_keeps_the_text_as_typed_and_takes_a_phase_only_by_its_option(run: Run, words: list[str], said: str):
    assert run("todo", "append", *words).out == f"{said} {_mine()}\n"


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
        (["done", "code"], "Marked completed: phase Code"),
        (["done", "--all"], "Marked completed: all 3 items"),
        (["drop", "docs"], "Marked cancelled: Fix the docs"),
        (["drop", "test"], "Marked cancelled: phase Tests"),
        (["drop", "--all"], "Marked cancelled: all 3 items"),
        (["rm", "docs"], "Removed: Fix the docs"),
        (["rm", "code"], "Removed: phase Code"),
        (["rm", "--all", "--yes"], "Removed: all 3 items"),
        (["block", "docs", "no", "paper"], "Blocked: Fix the docs (no paper)"),
        (["block", "docs", "--on", "bob"], "Blocked: Fix the docs"),
        (["unblock", "docs"], "Unblocked: Fix the docs"),
        (["unblock", "code"], "Unblocked: phase Code"),
        (["unblock", "--all"], "Unblocked: all 3 items"),
        (["note", "docs", "see", "page 3"], "Noted on: Fix the docs"),
        (["reword", "docs", "Mend the docs"], "Reworded: Mend the docs"),
    ],
)
@pytest.mark.usefixtures("three", "person")
def test_each_verb_says_what_it_did(run: Run, arguments: list[str], said: str):
    ran = run("todo", *arguments)
    assert (ran.code, ran.out, ran.err) == (0, f"{said} {_mine()}\n", "")


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
def test_rm_all_takes_the_phases_too(run: Run):
    run("todo", "rm", "--all", "--yes")
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
    ran = run("todo", verb, *(["x"] if verb in ("start", "done", "rm") else []))
    assert ran.code == 1
    assert "punchlist todo append" in ran.err


@pytest.mark.usefixtures("three")
def test_undo_takes_back_even_a_cleared_list(run: Run):
    before = _contents()
    run("todo", "rm", "--all", "--yes")
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
    run("todo", "append", "Keep")
    run("todo", "append", "Lose one")
    run("todo", "append", "Lose two")
    with board:
        agent = board.agent("main", session=name_path_session(project_of()), dialect="claude-code")
        for texts in (["Keep", "Lose one", "Lose two"], ["Keep"]):
            todos = [{"content": text, "status": "pending", "activeForm": text} for text in texts]
            agent.call("TodoWrite", {"todos": todos})
    assert "left out by rewrites: 2 items" in run("todos").out
    assert run("todo", "restore", "two").out == f"Restored: Lose two {_mine()}\n"
    assert run("todo", "restore").out == f"Restored: Lose one {_mine()}\n"
    assert sorted(_contents()) == ["Keep", "Lose one", "Lose two"]
    assert run("todo", "restore").code == 1


@pytest.fixture
def two(board: Board) -> None:
    """The main agents of two sessions, and a subagent of the second, which wrote last."""
    with board:
        _give(board, "s1", "main", "Paint the door", "Sand the floor")
        _give(board, "s2", "main", "Paint the wall", "Ship it")
        child = board.agent("main", session="s2").spawn("explore")
        child.edit([do.Append((do.Entry(content=text),)) for text in ("Look around", "Ship it soon")], by="explore")


def _give(board: Board, session: str, agent: str, *texts: str) -> None:
    appended = [do.Append((do.Entry(content=text),)) for text in texts]
    board.agent(agent, session=session).edit(appended, by=agent)


@pytest.mark.parametrize("verb", ["done", "drop", "rm", "unblock"])
@pytest.mark.usefixtures("three", "person")
def test_a_verb_without_a_target_changes_nothing(run: Run, verb: str):
    before = _todos()
    for words in ((), ("--all", "docs"), (" ",)):
        ran = run("todo", verb, *words)
        assert (ran.code, ran.out) == (2, "")
        assert "--all" in ran.err
    assert _todos() == before


@pytest.mark.parametrize(("reply", "left"), [("y", 0), ("n", 3), ("", 3)])
@pytest.mark.usefixtures("three", "person")
def test_rm_all_asks_a_person(run: Run, monkeypatch: pytest.MonkeyPatch, reply: str, left: int):
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return reply

    monkeypatch.setattr("builtins.input", answer)
    assert run("todo", "rm", "--all").code == (1 if left else 0)
    assert asked == [f"Remove 3 items {_mine()}? [y/N] "]
    assert len(_contents()) == left


@pytest.mark.usefixtures("three")
def test_rm_all_without_a_terminal_needs_yes(run: Run):
    ran = run("todo", "rm", "--all")
    assert (ran.code, ran.out, len(_contents())) == (1, "", 3)
    assert "--yes" in ran.err


@pytest.mark.usefixtures("two")
def test_an_item_is_found_on_whichever_open_list_has_it(run: Run):
    assert run("todo", "start", "sand").out == "Started: Sand the floor (project · main s1)\n"
    assert run("todo", "start", "look").out == "Started: Look around (project · explore s2)\n"
    assert run("todo", "start", "ship it").out == "Started: Ship it (project · main s2)\n"  # the whole text


@pytest.mark.usefixtures("two", "person")
def test_several_matches_are_listed_and_nothing_is_changed(run: Run):
    for verb in ("done", "rm", "start", "note"):
        ran = run("todo", verb, "paint", *(["x"] if verb == "note" else []))
        assert (ran.code, ran.out) == (1, "")
        assert '2 items match "paint": ' in ran.err
        for text, session in (("Paint the door", "s1"), ("Paint the wall", "s2")):
            typed = f"punchlist todo {verb} paint{' x' if verb == 'note' else ''}"
            assert f"“{text}” (`{typed} --session {session}`)" in ran.err
    assert all(item.status is Status.PENDING for item in (*_todos("s1").items, *_todos("s2").items))
    said = run("todo", "done", "paint", "--session", "s1").out
    assert said == "Marked completed: Paint the door (project · main s1)\n"


@pytest.mark.usefixtures("two")
def test_of_several_matches_the_only_one_left_to_do_is_meant(run: Run):
    run("todo", "done", "paint", "--session", "s1")
    assert run("todo", "start", "paint").out == "Started: Paint the wall (project · main s2)\n"


@pytest.mark.usefixtures("two")
def test_a_bare_number_needs_an_agent_where_there_are_several_lists(run: Run):
    ran = run("todo", "start", "2")
    assert (ran.code, ran.out) == (1, "")
    assert '3 items match "2": ' in ran.err
    assert "“Ship it soon” (`punchlist todo start 2 --agent explore`)" in ran.err
    assert "“Ship it” (`punchlist todo start 2 --session s2 --agent main`)" in ran.err
    assert run("todo", "start", "2", "--agent", "explore").out == "Started: Ship it soon (project · explore s2)\n"
    assert run("todo", "start", "2", "--agent", "main").code == 1
    assert run("todo", "start", "#2", "--session", "s1").out == "Started: Sand the floor (project · main s1)\n"


@pytest.mark.usefixtures("two")
def test_append_needs_a_name_where_several_lists_are_open(run: Run):
    ran = run("todo", "append", "Call ada")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "punchlist: There are 3 lists; say which one is meant: `punchlist todo append 'Call ada' --agent explore`; "
        "`punchlist todo append 'Call ada' --session s2 --agent main`; "
        "`punchlist todo append 'Call ada' --session s1`.\n"
    )
    assert run("todo", "append", "Call ada", "--agent", "explore").out.endswith(" (project · explore s2)\n")
    assert run("todo", "append", "Call ada", "--mine").out == f"Appended: Call ada {_mine()}\n"


def test_append_goes_to_the_only_open_list_of_an_agent_else_to_your_own(run: Run, board: Board):
    run("todo", "append", "Mine alone")
    assert "main (yours) — Items (0/1)" not in run("todos").out
    assert run("todos").out == "1 item: yours\n  ○ Mine alone\n"
    with board:
        _give(board, "s1", "main", "Paint")
        assert run("todo", "append", "Sand").out == "Appended: Sand (project · main s1)\n"
        assert "main (yours) — Items (0/1)" in run("todos").out
        board.agent("main", session="s1").finished("done")
    assert run("todo", "append", "Buy milk").out == f"Appended: Buy milk {_mine()}\n"


def test_the_name_of_an_agent_does_not_mean_your_own_list(run: Run, board: Board):
    run("todo", "append", "Mine alone")
    with board:
        _give(board, "s1", "main", "Paint")
    assert run("todo", "done", "--all", "--agent", "main").out.startswith(
        "Marked completed: all 1 item (project · main s1)"
    )
    assert run("todo", "start", "alone", "--agent", "main").code == 1


@pytest.mark.parametrize("more", [["--session", "nope"], ["--agent", "nope"]])
@pytest.mark.usefixtures("two")
def test_a_mistyped_session_or_agent_makes_no_list(run: Run, more: list[str]):
    for words in (["append", "x"], ["start", "paint"], ["export", "-"]):
        ran = run("todo", *words, *more)
        assert (ran.code, ran.out) == (1, "")
        assert "`nope`" in ran.err


@pytest.mark.usefixtures("two", "person")
def test_a_finished_list_is_searched_when_no_open_one_matches(run: Run):
    with Board.open() as board:
        _give(board, "s3", "main", "Paint the roof")
        board.agent("main", session="s3").edit(do.Done(do.Target()), by="main")
    assert run("todo", "done", "roof").out == "Confirmed: Paint the roof (project · main s3)\n"


@pytest.mark.usefixtures("two")
def test_undo_takes_back_the_last_change_on_whichever_list_it_was(run: Run):
    run("todo", "start", "sand")
    with Board.open() as board:
        _give(board, "s2", "main", "Later")
    assert run("todo", "undo").out == "Took back the last change by anna (project · main s1)\n"
    assert run("todo", "undo").code == 1


def test_a_change_is_by_its_author(run: Run, board: Board):
    with board:
        _give(board, "s1", "main", "Paint")
    run("todo", "done", "paint", "--by", "bob")
    assert run("events", "--limit", "1").out.rstrip().endswith("bob edited the list of main")


def test_the_environment_names_the_session(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PUNCHLIST_SESSION", "s2")
    assert run("todo", "append", "third").out == "Appended: third (project · main s2)\n"
    run("todo", "start", "third")
    assert _todos("s2").items[0].status is Status.IN_PROGRESS


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
    assert run("todo", "start", "fix").out == f"Started: fix {_mine()}\n"
    assert _contents() == ["fix", "Meanwhile"]


def test_projects_of_one_name_get_sessions_of_their_own():
    assert name_path_session("/a/api") != name_path_session("/b/api")
    assert name_path_session("/a/api").startswith("api-")
    assert name_path_session("/").startswith("project-")


@pytest.mark.usefixtures("three", "person")
def test_done_once_more_confirms(run: Run):
    run("todo", "done", "docs")
    assert run("todo", "done", "docs").out == f"Confirmed: Fix the docs {_mine()}\n"
    assert [item.grade for item in _todos().items if item.status is Status.COMPLETED] == ["confirmed"]


# Leftovers of sessions that ended.


def _leave(board: Board, session: str, project: Path) -> None:
    agent = board.agent("main", session=session, project=project)
    agent.call("todo", {"set": ["Read", "Fix the login"]})
    agent.call("todo", {"done": ["1"]})
    agent.finished()


def test_continue_gives_leftovers_to_the_session_at_work(run: Run, board: Board, project: Path) -> None:
    _leave(board, "5f0c1a2b-0000-4000-8000-000000bede30", project)
    agent = board.agent("main", session="new", project=project)
    agent.call("todo", {"set": ["Look", "Think"]})
    ran = run("todo", "continue")
    assert ran == (0, "Took over 1 item of session bede30; 2 is 3 now (project · main new)\n", "")
    assert [item.content for item in agent.todos.items] == ["Look", "Think", "Fix the login"]
    assert "Fix the login" in agent.assistant_turn()[0].text  # the model hears of it
    assert run("todo", "continue").code == 1


def test_continue_puts_leftovers_on_the_persons_own_list_where_nobody_works(
    run: Run, board: Board, project: Path
) -> None:
    _leave(board, "5f0c1a2b-0000-4000-8000-000000bede30", project)
    ran = run("todo", "continue", "bede30")
    assert ran.out == f"Took over 1 item of session bede30 {_mine()}\n"
    assert [item.content for item in _todos().items] == ["Fix the login"]


def test_continue_names_a_session_that_still_lives(run: Run, board: Board, project: Path) -> None:
    board.agent("main", session="5f0c1a2b-0000-4000-8000-000000bede30", project=project).call("todo", {"set": ["Look"]})
    ran = run("todo", "continue", "bede30", "--mine")
    assert (ran.code, ran.out) == (1, "")
    assert "still lives" in ran.err


def test_continue_none_declines(run: Run, board: Board, project: Path) -> None:
    _leave(board, "5f0c1a2b-0000-4000-8000-000000bede30", project)
    assert run("todo", "continue", "none").code == 0
    assert board.agent("main", session="new", project=project).offer_leftovers() is None


def test_a_persons_own_list_is_nobodys_leftover(run: Run, board: Board, project: Path) -> None:
    run("todo", "append", "Buy", "milk")
    assert board.agent("main", session="new", project=project).offer_leftovers() is None
    assert run("todo", "continue").code == 1

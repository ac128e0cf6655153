"""`confirmed` is given to a person at a terminal, and to nobody else: the real command, with a real terminal."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from punchlist.board import Board
from punchlist.core.todo import TodoList

Graded = tuple[str | None, str]
Complete = Callable[..., Graded]


def _command(*arguments: str, terminal: bool, **environment: str) -> str:
    """Run the command in a process of its own, with a terminal or an empty pipe on stdin; return what it said."""
    ours, theirs = pty.openpty()
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "punchlist", *arguments],
            stdin=theirs if terminal else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
            check=True,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert ran.stderr == ""
    return ran.stdout


@pytest.fixture
def session(board: Board) -> str:
    """A session whose agent has run a test that passed, with an item and a task in progress."""
    with board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Paint"]})
        tasks = agent.tasks("session:s1")
        tasks.create("Ship")
        tasks.claim()
        agent.tool_started("c1", "bash", {"command": "pytest -q"})
        agent.tool_finished("c1", "3 passed in 0.1s")
    return "s1"


def _item(session: str, *more: str, terminal: bool = True, **environment: str) -> Graded:
    said = _command("todo", "done", "paint", "--session", session, *more, terminal=terminal, **environment)
    with Board.open() as board:
        todos: TodoList = board.agent("main", session=session).todos
        return todos.items[0].grade, said


def _task(session: str, *more: str, terminal: bool = True, **environment: str) -> Graded:
    words = ("tasks", "done", "1", "--force", "--list", f"session:{session}", *more)  # main has it under a lease
    said = _command(*words, terminal=terminal, **environment)
    with Board.open() as board:
        return board.tasks(f"session:{session}").get("1").grade, said


BOTH = pytest.mark.parametrize(
    ("complete", "done"), [(_item, "Marked completed: Paint (project · main s1)"), (_task, "Completed 1: Ship")]
)


@BOTH
def test_a_person_at_a_terminal_confirms(session: str, complete: Complete, done: str) -> None:
    assert complete(session, CODEX_HOME="/home/ada/.codex") == ("confirmed", f"{done}\n")


@BOTH
def test_an_agent_in_a_terminal_is_graded_by_its_work(session: str, complete: Complete, done: str) -> None:
    why = "Not counted as a person's word: CLAUDECODE is set, so Claude Code runs this command."
    grade, said = complete(session, CLAUDECODE="1")
    assert grade not in (None, "confirmed")
    assert said == f"{done}\n{why}\n"


@BOTH
def test_a_command_without_a_terminal_is_graded_by_the_agents_work(session: str, complete: Complete, done: str) -> None:
    grade, said = complete(session, terminal=False)
    assert grade not in (None, "confirmed")
    assert said == f"{done}\nNot counted as a person's word: stdin is no terminal.\n"


@BOTH
def test_another_author_is_graded_by_the_agents_work(session: str, complete: Complete, done: str) -> None:
    grade, said = complete(session, "--by", "claude")
    assert grade not in (None, "confirmed")
    assert said == f"{done}\nNot counted as a person's word: --by gives another author.\n"


def test_ones_own_name_is_no_other_author(session: str) -> None:
    assert _item(session, "--by", "anna") == ("confirmed", "Marked completed: Paint (project · main s1)\n")


def test_a_worker_that_shows_its_fence_is_no_person(session: str) -> None:
    grade, said = _task(session, "--fence", "1")
    assert grade not in (None, "confirmed")
    assert said == "Completed 1: Ship\n"


def test_done_once_more_confirms_only_for_a_person(session: str) -> None:
    first, _ = _item(session, terminal=False)
    assert _item(session, terminal=False) == (
        first,
        "Was completed before: Paint (project · main s1)\nNot counted as a person's word: stdin is no terminal.\n",
    )
    assert _item(session) == ("confirmed", "Confirmed: Paint (project · main s1)\n")
    assert _item(session, terminal=False)[0] == "confirmed"


def test_an_imported_file_is_not_a_persons_word(session: str, tmp_path: Path) -> None:
    path = tmp_path / "list.md"
    path.write_text("- [x] Paint\n")
    said = _command("todo", "import", str(path), "--session", session, terminal=True)
    assert said.endswith("Not counted as a person's word: a file says what is done.\n")
    with Board.open() as board:
        assert board.agent("main", session=session).todos.items[0].grade != "confirmed"


DECISIONS = (
    ("answer", "paint", "Red"),
    ("answer", "plan-1", "approve"),
    ("plan", "approve", "1"),
    ("plan", "reject", "1", "Prime", "first"),
    ("todo", "unblock", "paint"),
    ("todo", "done", "paint"),
)


@pytest.fixture
def asked(session: str) -> str:
    """The session, with a question and a plan that wait on a person."""
    with Board.open() as board:
        agent = board.agent("main", session=session)
        agent.ask("Paint", "Which colour?")
        agent.propose_plan("- Sand\n- Paint")
    return session


def _refused(*arguments: str, terminal: bool, **environment: str) -> str:
    """Run a command that fails; return its complaint."""
    with pytest.raises(subprocess.CalledProcessError) as failed:
        _command(*arguments, terminal=terminal, **environment)
    assert failed.value.stdout == ""
    return failed.value.stderr


@pytest.mark.parametrize("words", DECISIONS, ids=" ".join)
@pytest.mark.parametrize(
    ("terminal", "agent", "why"),
    [
        (False, "", "stdin is no terminal"),
        (False, "1", "CLAUDECODE is set, so Claude Code runs this command"),
        (True, "1", "CLAUDECODE is set, so Claude Code runs this command"),
    ],
)
def test_decisions_are_refused_in_doubt(
    asked: str, words: tuple[str, ...], *, terminal: bool, agent: str, why: str
) -> None:
    said = _refused(*words, "--session", asked, terminal=terminal, CLAUDECODE=agent)
    deed = {"plan": "decided", "answer": "answered", "todo": "changed"}[words[0]]
    where = "use `punchlist top`, the page or another terminal"
    assert said == f"punchlist: Nothing was {deed}: only a person can do that, and {why}; {where}.\n"
    with Board.open() as board:
        assert [wait.kind for wait in board.waits()] == ["question", "plan"]


def test_an_imported_file_moves_nothing_on_that_waits_for_an_answer(asked: str, tmp_path: Path) -> None:
    path = tmp_path / "list.md"
    path.write_text("- [x] Paint\n")
    said = _refused("todo", "import", str(path), "--session", asked, terminal=False, CLAUDECODE="1")
    assert "Nothing was changed: only a person can do that" in said
    path.write_text("- [!] Paint\n- [ ] Wax\n")
    _command("todo", "import", str(path), "--session", asked, terminal=False)
    with Board.open() as board:
        assert [wait.kind for wait in board.waits()] == ["question", "plan"]


def test_a_person_at_a_terminal_decides(asked: str) -> None:
    """Changed: a rejection without a terminal was taken before, though nobody knew whose it was."""
    _command("answer", "paint", "Red", "--session", asked, terminal=True)
    _command("plan", "reject", "1", "Prime", "first", "--session", asked, terminal=True)
    with Board.open() as board:
        told = {event.kind: event.data.get("person") for event in board.events()}
    assert (told["question.answered"], told["approval.rejected"]) == (True, True)


def test_a_script_decides_where_the_settings_say_so_and_an_agent_still_does_not(asked: str) -> None:
    _command("config", "set", "decide_without_terminal", "on", terminal=True)
    said = _refused("plan", "approve", "1", "--session", asked, terminal=False, CLAUDECODE="1")
    assert "Claude Code runs this" in said
    _command("answer", "paint", "Red", "--session", asked, terminal=False)
    _command("plan", "approve", "1", "--session", asked, terminal=False)
    with Board.open() as board:
        told = {event.kind: event.data.get("person") for event in board.events()}
    assert (told["question.answered"], told["approval.approved"]) == (None, None)


@pytest.mark.parametrize(
    ("words", "deed"),
    [
        (("config", "set", "decide_without_terminal", "on"), "`decide_without_terminal` was not set"),
        (("token", "create", "phone", "--person"), "No token was made"),
    ],
)
def test_what_makes_others_a_person_is_refused_in_doubt(session: str, words: tuple[str, ...], deed: str) -> None:
    why = "only a person can do that, and stdin is no terminal; use a terminal of your own"
    assert _refused(*words, terminal=False) == f"punchlist: {deed}: {why}.\n"
    assert "CLAUDECODE is set" in _refused(*words, terminal=True, CLAUDECODE="1")
    _command(*words, terminal=True)
    _command("token", "create", "ci", terminal=False)  # a program's token makes nobody a person

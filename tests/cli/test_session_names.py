"""One name for a session on every surface, commands that take the end of its id, and plain ones that hit."""

import os
import re
import shlex
from pathlib import Path

import pytest

from punchlist import Board
from tests.board.test_worktrees import git
from tests.cli.conftest import Run
from tests.hooks.hosts import Host

FIRST = "5c1de2a0-7a51-4c2e-9f1b-000000bede30"
SECOND = "5c1de2a0-7a51-4c2e-9f1b-000000c0ffee"

pytestmark = pytest.mark.usefixtures("person")


def start(board: Board, project: Path, session: str) -> Host:
    """Begin a session of Claude Code, by its real hooks, that asks on its first item and proposes a plan."""
    host = Host(Path(os.environ["PUNCHLIST_DB"]), project, session=session)
    host.hook("SessionStart", source="startup")
    host.hook("UserPromptSubmit", prompt="Build it")
    agent = board.agent("main", session=session, project=project)
    agent.call("todo", {"set": ["Deploy", "Paint"]})
    agent.ask("1", "Which region?")
    agent.propose_plan("- Sand\n- Wax")
    return host


@pytest.mark.parametrize("words", ["now", "brief --all", "report --all", "todos --all", "sessions --all"])
def test_a_session_is_called_after_its_first_agent(run: Run, board: Board, project: Path, words: str):
    for session in (FIRST, SECOND):
        agent = board.agent("painter", session=session, project=project)
        agent.call("todo", {"set": ["Paint"]})
        agent.tool_started("c1", "Bash", {"command": "pytest -q"})
        agent.tool_finished("c1", result="1 failed", exit_code=1)
    said = run(*words.split()).out
    assert "project · painter bede30" in said
    assert "project · main" not in said


@pytest.mark.parametrize(
    "words",
    [
        ("now",),
        ("todos",),
        ("answer",),
        ("sessions",),
        ("report",),
        ("report", "--format", "markdown"),
        ("brief",),
        ("plan", "show", "--session", "bede30"),
        ("todo", "append", "Wax", "--session", "bede30"),
        ("answer", "1", "eu", "--session", "bede30"),
        ("plan", "reject", "1", "no", "--session", "bede30"),
    ],
    ids=" ".join,
)
def test_a_session_is_called_the_same_everywhere(run: Run, board: Board, project: Path, words: tuple[str, ...]):
    for session in (FIRST, SECOND):
        start(board, project, session)
    ran = run(*words)
    assert ran.code == 0, ran.err
    assert "project · claude bede30" in ran.out
    assert FIRST not in ran.out
    assert "main in " not in ran.out
    assert " session bede30" not in ran.out


@pytest.mark.parametrize(
    "words",
    [
        ("todos", "--session"),
        ("todo", "start", "paint", "--session"),
        ("answer", "--session"),
        ("plan", "show", "--session"),
        ("report", "--session"),
        ("stats", "--session"),
        ("events", "--session"),
        ("statusline", "--session"),
        ("handoff", "--to", "codex"),
        ("sessions", "copy", "--by", "ada"),
    ],
    ids=" ".join,
)
def test_every_command_takes_the_end_of_an_id(run: Run, board: Board, project: Path, words: tuple[str, ...]):
    for session in (FIRST, SECOND):
        start(board, project, session)
    ran = run(*words, "bede30", *(["new-one"] if words[0] == "sessions" else []))
    if words[0] == "handoff":
        assert "Codex is not attached" in ran.err  # the session was found
    else:
        assert (ran.code, ran.err) == (0, "")
    assert "c0ffee" not in ran.out


def test_plain_commands_mean_the_session_that_runs(run: Run, board: Board, project: Path):
    start(board, project, FIRST)
    start(board, project, SECOND).hook("SessionEnd", reason="other")
    for words in (
        ("todo", "append", "Wax"),
        ("todo", "start", "2"),
        ("answer", "1", "eu"),
        ("plan", "reject", "1", "no"),
    ):
        ran = run(*words)
        assert (ran.code, ran.err) == (0, ""), words
        assert "project · claude bede30" in ran.out


def test_an_item_goes_to_the_session_that_runs_though_it_has_no_list_yet(run: Run, board: Board, project: Path):
    start(board, project, FIRST).hook("SessionEnd", reason="other")
    host = Host(Path(board.store.files), project, session=SECOND)
    host.hook("UserPromptSubmit", prompt="Paint the shed")
    assert "Appended: Wax (project · claude c0ffee)" in run("todo", "append", "Wax").out
    host.hook("SessionEnd", reason="other")
    assert "Appended: Dry" in run("todo", "append", "Dry", "--session", "c0ffee").out


@pytest.mark.parametrize(
    "words",
    [("todo", "append", "Wax it"), ("todo", "start", "2"), ("answer", "1"), ("plan", "approve", "1")],
    ids=" ".join,
)
def test_among_several_the_error_prints_the_shortest_commands_that_work(
    run: Run, board: Board, project: Path, words: tuple[str, ...]
):
    for session in (FIRST, SECOND):
        start(board, project, session)
    ran = run(*words, *(["eu"] if words[0] == "answer" else []))
    assert ran.code == 1
    commands = [shlex.split(command) for command in re.findall(r"`(punchlist [^`]+)`", ran.err)]
    assert {command[-1] for command in commands} == {"bede30", "c0ffee"}
    for command in commands:
        assert command[-2] == "--session"
        assert "--agent" not in command
        done = run(*command[1:])
        assert (done.code, done.err) == (0, "")
        assert f"project · claude {command[-1]}" in done.out


def test_sessions_with_the_same_short_id_are_named_in_full(run: Run, board: Board, project: Path):
    alike = FIRST.replace("5c1de2a0", "7d2ef3b1")
    for session in (FIRST, alike):
        start(board, project, session)
    said = run("plan", "approve", "1").err + run("answer").out
    assert {f"--session {one}`" in run("todo", "append", "Wax").err for one in (FIRST, alike)} == {True}
    assert {f"plan approve 1 --session {one}`" in said for one in (FIRST, alike)} == {True}
    assert {f"plan show --session {one}`" in said for one in (FIRST, alike)} == {True}


def test_the_reply_to_an_answer_says_who_hears_it(run: Run, board: Board, project: Path):
    host = start(board, project, FIRST)
    heard = "project · claude bede30 hears it"
    assert run("answer", "1", "eu").out == f"Answered: Deploy. {heard} at its next turn.\n"
    board.agent("main", session=FIRST).ask("2", "Which colour?")
    for _ in range(2):  # at its first end it hears the first answer
        host.hook("Stop", last_assistant_message="Which colour?")
    # It is idle, but nothing wakes it: no monitor runs here. "now" is said only of what was sent.
    assert run("answer", "2", "red").out == f"Answered: Paint. {heard} at its next turn.\n"
    host.hook("SessionEnd", reason="other")
    command = f"cd {shlex.quote(str(project))} && claude --resume {FIRST}"
    closed = f"{heard} once it goes on; its Claude Code is closed: `{command}` goes on with it."
    assert run("plan", "reject", "1", "no").out == f"Rejected revision 1. {closed}\n"


def test_the_command_that_resumes_an_agent_goes_to_its_worktree(
    run: Run, board: Board, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    worktree = tmp_path / "fix-login"
    git(project, "init", "-q")
    git(project, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(project, "worktree", "add", "-q", str(worktree))
    start(board, worktree, FIRST).hook("SessionEnd", reason="other")
    monkeypatch.chdir(worktree)
    said = run("answer", "1", "eu", "--session", "bede30").out
    assert f"`cd {shlex.quote(str(worktree))} && claude --resume {FIRST}` goes on with it" in said


def test_the_first_line_of_the_first_prompt_is_the_title_of_its_session(run: Run, board: Board, project: Path):
    host = start(board, project, FIRST)
    host.hook("UserPromptSubmit", prompt="And paint it")
    assert "Build it" in run("todos").out
    assert "And paint it" not in run("todos").out


def test_a_title_is_one_line_without_secrets(board: Board, project: Path):
    agent = board.agent("main", session="fix", project=project)
    agent.user_turn("Log in with ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5\nand then the whole rest")
    (row,) = board.lists(session="fix")
    assert row.label is not None
    assert row.label.startswith("Log in with ")
    assert "ghp_aB3" not in row.label
    assert "rest" not in row.label


@pytest.mark.parametrize(
    "other", ["6c1de2a0-7a51-4c2e-9f1b-000000bede30", "5c1de2a0-7a51-4c2e-9f1b-100000bede30"], ids=["start", "middle"]
)
def test_the_command_for_one_of_two_sessions_that_end_alike_answers_that_one(
    run: Run, board: Board, project: Path, other: str
):
    for session in (FIRST, other):
        agent = board.agent("main", session=session, project=project)
        agent.call("todo", {"set": ["Deploy", "Paint"]})
        agent.ask("1", "Which region?")
    for words in (("answer",), ("brief", "--keep")):
        commands = re.findall(r"punchlist (answer 1 TEXT --session \S+)", run(*words).out)
        assert sorted(commands) == sorted(f"answer 1 TEXT --session {session}" for session in (FIRST, other))
    ran = run(*f"answer 1 eu --session {other}".split())
    assert ran.code == 0, ran.err
    assert [wait.session for wait in board.waits()] == [FIRST]

"""One name for a session on every surface, commands that take the end of its id, and plain ones that hit."""

import os
import re
import shlex
from pathlib import Path

import pytest

from punchlist import Board
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


def test_the_reply_to_an_answer_says_who_hears_it(run: Run, board: Board, project: Path):
    host = start(board, project, FIRST)
    heard = "project · claude bede30 hears it"
    assert run("answer", "1", "eu").out == f"Answered: Deploy. {heard} at its next turn.\n"
    board.agent("main", session=FIRST).ask("2", "Which colour?")
    for _ in range(2):  # at its first end it hears the first answer
        host.hook("Stop", last_assistant_message="Which colour?")
    assert run("answer", "2", "red").out == f"Answered: Paint. {heard} now.\n"
    host.hook("SessionEnd", reason="other")
    closed = f"{heard} once it goes on; its Claude Code is closed: `claude --resume {FIRST}` goes on with it."
    assert run("plan", "reject", "1", "no").out == f"Rejected revision 1. {closed}\n"

"""What the forms of a report show of an item: all of it, in whatever room there is."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from punchlist import Agent
from punchlist.board import Board
from punchlist.text import width
from tests.cli.conftest import Run

LONG = "Write a good test for the round trip of nested lists in tests/markdown"
PROOF = "make e2e ONLY=tests/markdown/test_round_trip.py::test_nested_lists_keep_their_indentation"


def git(*words: str) -> None:
    settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *settings, *words], check=True, capture_output=True)


def ran(agent: Agent, call_id: str, command: str, result: str = "", *, is_error: bool = False) -> None:
    agent.tool_started(call_id, "Bash", {"command": command})
    agent.tool_finished(call_id, result=result, is_error=is_error)


@pytest.fixture
def worked(board: Board, project: Path) -> Board:
    """An item with edits, a commit, a failed check and evidence; and one with nothing behind it."""
    (project / ".git").rmdir()
    git("init")
    agent = board.agent("main", session="s1", project=project)
    agent.call("todo", {"set": [LONG, "Sand", "Wax"]})
    for name in ("door.txt", "wall.txt"):
        agent.tool_started(name, "Edit", {"file_path": str(project / name)})
        (project / name).write_text("red\nred\n")
        agent.tool_finished(name, result="ok")
    agent.tool_started("c1", "Bash", {"command": "git commit"})
    git("add", ".")
    git("commit", "-m", "Paint it")
    agent.tool_finished("c1", result="")
    ran(agent, "c2", "npm test", "1 failing", is_error=True)
    agent.call("todo", {"done": "1", "evidence": [PROOF, "npm test"]})
    ran(agent, "c3", "pytest -q", "2 passed in 0.1s")
    agent.call("todo", {"done": "2", "evidence": "pytest -q"})
    agent.call("todo", {"done": "3"})
    ran(agent, "c4", "pytest -q", "1 failed in 0.1s", is_error=True)
    assert list(board.events())  # which commits what waits
    return board


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.mark.usefixtures("worked")
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_report_leaves_nothing_of_an_item_out_on_a_narrow_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    said = run("report").out
    assert max(map(width, said.split("\n"))) <= columns
    found = squeezed(said)
    for part in (
        "failing", "+4 -0 in 2 files, 1 commit", "npm test failed", "4 calls (2 edit, 2 shell)", "1 failed",
        "files: door.txt, wall.txt", f"evidence (command, not seen): {PROOF}", "evidence (command, seen): npm test",
        "evidence (command, held): pytest -q",
    ):  # fmt: skip
        assert squeezed(part) in found


@pytest.mark.usefixtures("worked")
@pytest.mark.parametrize("columns", [40, 60, 72, 80])
def test_a_brief_has_the_diff_stat_and_the_check_of_an_item_on_a_narrow_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    said = run("brief", "--keep").out
    assert max(map(width, said.split("\n"))) <= columns
    assert "+4 -0 in 2 files" in said
    assert "failing" in said
    assert "Write a good" in said


@pytest.mark.usefixtures("worked")
def test_the_command_that_decided_a_grade_is_shown(run: Run) -> None:
    sand = json.loads(run("report", "--json").out)["items"][1]
    assert (sand["grade"], sand["check"]["command"], sand["check"]["outcome"]) == ("failing", "npm test", "failed")
    for said in (run("report").out, run("brief", "--keep").out, run("report", "--format", "markdown").out):
        assert "npm test failed" in said


@pytest.mark.usefixtures("worked")
def test_the_markdown_report_has_what_the_others_have(run: Run) -> None:
    said = run("report", "--format", "markdown").out
    assert said.startswith("# Work report\n\n- session red (s1): pytest failed")
    assert "pytest -q (command, held)" in said
    assert "npm test (command, seen)" in said
    assert re.search(r"## Beside the lists\n\n- main, no item: pytest failed, 1 call \(shell\), 1 failed\n", said)


def test_agents_of_one_name_are_told_apart_by_their_sessions(run: Run, board: Board) -> None:
    for session in ("s1", "0198c2d4-7a51-7c2e-9f1b-2f1de6a0b1c2"):
        agent = board.agent("main", session=session)
        agent.call("todo", {"set": ["Paint", "Sand"]})
        ran(agent, "c1", "pytest -q", "2 passed in 0.1s")
        agent.call("todo", {"done": "1"})
    said = run("brief").out
    assert "main in s1" in said
    assert "main in e6a0b1c2" in said

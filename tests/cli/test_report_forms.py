"""What the forms of a report show of an item: all of it, in whatever room there is."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from punchlist import Agent
from punchlist.board import Board
from punchlist.core.commands import Block, Target
from punchlist.text import width
from tests.cli.conftest import Run

LONG = "Write a good test for the round trip of nested lists in tests/markdown"
PROOF = "make e2e ONLY=tests/markdown/test_round_trip.py::test_nested_lists_keep_their_indentation"


def git(*words: str, env: Mapping[str, str] | None = None) -> None:
    settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *settings, *words], check=True, capture_output=True, env=env)


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
        "failing", "npm test, 1 failed", "4 calls (2 edit, 2 shell)", "1 failed",
        "files: door.txt, wall.txt", f"evidence (command, not seen): {PROOF}",
    ):  # fmt: skip
        assert squeezed(part) in found


@pytest.mark.usefixtures("worked")
@pytest.mark.parametrize("columns", [40, 60, 72, 80])
def test_a_brief_has_the_failed_check_and_counts_items_and_commits_on_a_narrow_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    said = run("brief", "--keep").out
    assert max(map(width, said.split("\n"))) <= columns
    # Items, and the subjects of commits are in the report.
    found = squeezed(said)
    for part in ("red: pytest, 1 failed;", "3 items done: 1 verified", "1 failing", "1 commit in project"):
        assert squeezed(part) in found
    assert "Write a good" not in said


@pytest.mark.usefixtures("worked")
def test_the_command_that_decided_a_grade_is_shown(run: Run) -> None:
    # A red check is charged to the item that ran it, not to the next one, whose own check passed.
    first, sand, _ = json.loads(run("report", "--json").out)["items"]
    assert (first["grade"], first["check"]["command"], first["check"]["outcome"]) == ("failing", "npm test", "failed")
    assert (sand["grade"], sand["verified_by"], first["verified_by"]) == ("verified", "test", None)
    for said in (run("report").out, run("report", "--format", "markdown").out):
        assert "npm test, 1 failed, " in said


@pytest.mark.usefixtures("worked")
def test_the_markdown_report_has_what_the_others_have(run: Run) -> None:
    said = run("report", "--format", "markdown").out
    assert said.startswith("# Work report\n\n- items: 3 of 3 done, 0 open\n")
    assert "\n- session red (project · main s1): pytest failed" in said
    assert said.count("npm test, 1 failed, ") == 1
    assert "npm test (" not in said  # the command that decided a grade is said once
    assert "pytest -q (" not in said
    assert re.search(
        r"## Beside the lists\n\n- project · main s1, no item: pytest failed, 1 call \(shell\), 1 failed\n", said
    )


def test_agents_of_one_name_are_told_apart_by_their_sessions(run: Run, board: Board) -> None:
    for session in ("s1", "0198c2d4-7a51-7c2e-9f1b-2f1de6a0b1c2"):
        agent = board.agent("main", session=session)
        agent.call("todo", {"set": ["Paint", "Sand"]})
        ran(agent, "c1", "pytest -q", "2 passed in 0.1s")
        agent.call("todo", {"done": "1"})
    said = run("brief").out
    assert "project · main s1" in said
    assert "project · main a0b1c2" in said


@pytest.mark.usefixtures("worked")
def test_the_tree_comes_before_the_items(run: Run, project: Path) -> None:
    (project / "door.txt").write_text("red\nblue\nblue\n")
    said = run("report").out.splitlines()
    said = said[next(place for place, line in enumerate(said) if line.startswith("session red: pytest failed")) :]
    said = [line for line in said if not line.startswith(("  $ ", "    1 "))]
    assert said[1] == "git: 1 commit; 1 file, +2 -1 uncommitted"
    assert re.fullmatch(r"  [0-9a-f]{7} Paint it", said[2])
    # A brief counts in a line what was committed; its JSON has the same as that of a report.
    assert "1 commit in project; uncommitted files in project" in run("brief", "--after", "0").out
    for words in (("report",), ("brief", "--after", "0")):
        (git_seen,) = json.loads(run(*words, "--json").out)["git"]
        assert git_seen["uncommitted"] == {"files": 1, "added": 2, "removed": 1}
        assert [commit["subject"] for commit in git_seen["commits"]] == ["Paint it"]


@pytest.mark.usefixtures("worked")
def test_a_red_session_has_its_failing_commands_with_their_last_lines(run: Run) -> None:
    said = run("report").out.splitlines()
    assert said[5:9] == ["  $ pytest -q", "    1 failed in 0.1s", "  $ npm test", "    1 failing"]
    assert "  - $ npm test\n    - 1 failing\n" in run("report", "--format", "markdown").out
    report = json.loads(run("report", "--json").out)
    assert [check["last_lines"] for check in report["sessions"][0]["checks"]] == [["1 failed in 0.1s"], ["1 failing"]]
    assert report["items"][0]["check"]["last_lines"] == ["1 failing"]


def test_a_blocked_item_says_why_and_on_whom_it_waits(run: Run, board: Board) -> None:
    agent = board.agent("main", session="s1")
    agent.call("todo", {"set": ["Deploy", "Publish"], "block": {"2": "the host has no <key>"}})
    agent.edit([Block(Target("Deploy"), "no key for staging", on="ada")], by="main")
    said = run("report").out
    assert "  · Publish: the host has no <key>\n  · Deploy waits on ada: no key for staging\n" in said
    assert "Deploy\n    waits on ada: no key for staging\n" in said
    assert "| Deploy | blocked; waits on ada: no key for staging |" in run("report", "--format", "markdown").out


@pytest.mark.usefixtures("worked")
def test_only_a_few_commits_are_named_and_only_those_since_the_work_began(run: Run, project: Path) -> None:
    git("commit", "--allow-empty", "-m", "Old", "--date", "2001-01-01")
    environment = {**os.environ, "GIT_COMMITTER_DATE": "2001-01-01T00:00:00Z"}
    git("commit", "--allow-empty", "-m", "Long ago", env=environment)
    for number in range(6):
        git("commit", "--allow-empty", "-m", f"Coat {number} *of* paint")
    said = run("report").out
    assert "git: 8 commits; nothing uncommitted" in said
    assert "Long ago" not in said
    assert "  and 4 more\n" in said
    assert r"Coat 5 \*of\* paint" in run("report", "--format", "markdown").out


@pytest.mark.usefixtures("worked")
def test_a_brief_counts_the_commits_since_the_last_one_and_its_json_names_them(run: Run, board: Board) -> None:
    assert "1 commit in project" in run("brief").out
    agent = board.agent("main", session="s1")
    agent.call("todo", {"append": ["Varnish"]})
    ran(agent, "c9", "git commit --allow-empty -m Varnish")
    git("commit", "--allow-empty", "-m", "Varnish it")
    (seen,) = json.loads(run("brief", "--json", "--keep").out)["git"]
    assert seen["commits"][0]["subject"] == "Varnish it"
    assert f"{len(seen['commits'])} commit" in run("brief").out


@pytest.mark.usefixtures("worked")
def test_git_that_gives_no_answer_is_left_out(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(project))
    said = run("report").out
    assert "git:" not in said
    assert json.loads(run("report", "--json").out)["git"] == []


def test_a_reason_that_a_batch_shares_is_said_once(run: Run, board: Board) -> None:
    agent = board.agent("main", session="s1")
    agent.call("todo", {"set": ["Sand", "Wax", "Paint"]})
    ran(agent, "c1", "pytest -q tests/wood", "1 failed in 0.1s", is_error=True)
    agent.call("todo", {"done": ["1", "2"]})
    assert run("brief", "--keep").out.count("pytest tests/wood, 1 failed;") == 1
    said = run("report").out
    assert said.count("pytest tests/wood, 1 failed, ") == 1
    assert said.count("  failing\n") == 2
    assert said.count("with 1 other") == 1
    assert json.loads(run("report", "--json").out)["items"][0]["check"]["command"] == "pytest -q tests/wood"


@pytest.mark.usefixtures("worked")
def test_a_check_from_before_the_last_change_is_no_evidence(run: Run, board: Board, project: Path) -> None:
    agent = board.agent("other", session="s2", project=project)
    agent.call("todo", {"set": ["Oil", "Polish"]})
    ran(agent, "c1", "make check-oil", "2 passed in 0.1s")
    agent.tool_started("c2", "Edit", {"file_path": str(project / "oil.py")})
    agent.tool_finished("c2", result="ok")
    agent.call("todo", {"done": "1"})
    said = run("report", "--session", "s2").out
    assert "? Oil  unchecked: no check passed\n" in said
    assert "make check-oil passed" not in said
    assert "session not checked since 1 change: the last one was make check-oil, " in said


def test_a_report_says_what_waits_and_who_stopped_where(run: Run, board: Board) -> None:
    agent = board.agent("main", session="s1")
    agent.call("todo", {"set": ["Choose a colour", "Paint <the> door"]})
    agent.ask("Choose a colour", "Red or *blue*?")
    other = board.agent("painter", session="s2")
    other.call("todo", {"set": ["Paint <the> door"]})
    other.finished("I stop here.")
    said = run("report").out
    assert "Waiting on you (1)\n  · project · main s1 asks: Red or *blue*?\nStopped, stalled or looping (1)\n" in said
    assert '  · project · painter s2 stopped at "Paint <the> door", with 1 item open.' in said
    markdown = run("report", "--format", "markdown").out
    assert "## Waiting on you\n\n- project · main s1 asks: Red or \\*blue\\*?\n" in markdown
    assert 'painter s2 stopped at "Paint \\<the\\> door"' in markdown
    page = run("report", "--format", "html").out
    assert "painter s2 stopped at &#34;Paint &lt;the&gt; door&#34;" in page
    report = json.loads(run("report", "--json").out)
    assert [(wait["kind"], wait["text"]) for wait in report["waits"]] == [("question", "Red or *blue*?")]
    assert [(one["agent"], one["open"]) for one in report["stopped"]] == [("painter", 1)]
    assert "asks" not in run("report", "--session", "s2").out


@pytest.mark.usefixtures("worked")
@pytest.mark.parametrize("columns", [40, 60, 80])
@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (
            ("report",),
            (
                "session red · project · painter a0b1c2: make lint failed", "3 items were marked done after it",
                "git: 1 commit; 1 file, +1,200 -2 uncommitted",
                'painter a0b1c2 stopped at "Choose a colour for the door",', "with 2 items open.",
            ),
        ),
        (
            ("brief", "--keep"),
            (
                "red: pytest, 1 failed; 3 items", "project · painter a0b1c2", "make lint",
                "1 commit in project; uncommitted files in project",
            ),
        ),
    ],
)  # fmt: skip
def test_the_first_lines_fit_a_narrow_terminal_and_lose_no_word(
    run: Run,
    board: Board,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    columns: int,
    words: tuple[str, ...],
    parts: tuple[str, ...],
) -> None:
    other = board.agent("painter", session="0198c2d4-7a51-7c2e-9f1b-2f1de6a0b1c2", project=project)
    other.call("todo", {"set": ["Choose a colour for the door", "Paint the door"]})
    ran(other, "c1", "make lint", "2 errors", is_error=True)
    other.finished("I stop here.")
    (project / "wall.txt").write_text("blue\n" * 1200)
    monkeypatch.setenv("COLUMNS", str(columns))
    said = run(*words).out
    assert max(map(width, said.split("\n"))) <= columns
    found = squeezed(said)
    for part in parts:
        assert squeezed(part) in found


@pytest.mark.usefixtures("worked")
@pytest.mark.parametrize("form", ["text", "markdown", "html", "json"])
def test_no_subject_of_a_commit_does_anything_in_a_report(run: Run, form: str) -> None:
    git("commit", "--allow-empty", "-m", "\x1b[31mred <script>alert(1)</script> | *bold*")
    said = run("report", "--format", form).out
    assert "red" in said
    assert not [char for char in said if ord(char) < 32 and char != "\n"]
    if form == "html":
        assert "<script" not in said
    if form == "markdown":
        assert r"\<script\>" in said


def test_each_agent_has_one_heading_however_its_items_came(run: Run, board: Board) -> None:
    first, second = (board.agent("main", session=session) for session in ("s1", "s2"))
    first.call("todo", {"set": ["Paint"]})
    second.call("todo", {"set": ["Sand"]})
    first.call("todo", {"set": ["Paint", "Wax"]})
    said = run("report").out
    assert "\n\nproject · main s1\n" in said
    assert re.findall(r"main s\d|Paint|Sand|Wax", said) == ["main s1", "Paint", "Wax", "main s2", "Sand"]
    assert run("report", "--html").out.count('-title">main</h2>') == 2


def test_tasks_stand_under_the_name_of_their_worker_or_under_tasks(run: Run, board: Board) -> None:
    for subject in ("Write the parser", "Ship", "Call ada"):
        run("tasks", "add", subject)
    board.tasks().claim("worker-1")
    run("tasks", "wait", "2", "--topic", "built", "--correlation", "b1")
    run("tasks", "wait", "3")
    text, markdown, page = (run("report", "--format", form).out for form in ("text", "markdown", "html"))
    for heading in ("worker-1 · tasks\n  ▸ Write the parser", "Tasks\n  ⊘ Ship\n    waits on an event: built"):
        assert heading in text
    assert "    waits on a person\n" in text
    assert [line for line in markdown.splitlines() if line.startswith("## ")][-2:] == [
        "## worker-1 · tasks",
        "## Tasks",
    ]
    assert '-title">worker-1</h2><span class="soft" dir="auto">tasks</span>' in page
    assert '-title">Tasks</h2>' in page
    assert "worker-1" in run("brief").out


def test_the_page_says_of_which_session_a_completion_or_a_list_is(run: Run, board: Board) -> None:
    for session in ("s1", "s2"):
        agent = board.agent("main", session=session, dialect="claude-code")
        agent.tool_started(session, "Bash", {"command": "pytest -q"})
        agent.tool_finished(session, result="1 failed", is_error=True)
        for status in ("in_progress", "completed"):
            agent.call("TodoWrite", {"todos": [{"content": session, "status": status, "activeForm": session}]})
    page = run("report", "--html").out
    for session in ("s1", "s2"):
        assert f"project · main {session}</h2>" in page
        assert f'{session} <span class="s-dim">(project · main {session})</span>' in page

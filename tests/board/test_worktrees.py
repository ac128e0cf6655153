"""A repository is one project: its worktrees share tasks and history, and are told apart where they are shown."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.cli import main
from punchlist.presence.roster import load_roster
from punchlist.reports.work_reports import load_brief
from punchlist.settings.environment import find_project, project_of
from punchlist.terminal.brief import brief_lines
from punchlist.terminal.spans import UNICODE, plain_text
from tests.hooks.hosts import Host
from tests.store.boards import OLD_BOARDS, unpack_board


def git(folder: Path, *words: str) -> None:
    name = ("-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "api"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Begin")
    return folder


@pytest.fixture
def worktree(repository: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "fix-login"
    git(repository, "worktree", "add", "-q", str(folder))
    return folder


# The key.


def test_worktrees_belong_to_the_project_of_their_repository(repository: Path, worktree: Path) -> None:
    below = worktree / "src" / "deep"
    below.mkdir(parents=True)
    assert project_of(repository) == project_of(worktree) == project_of(below) == str(repository)
    assert find_project(below).folder == str(worktree)
    assert find_project(repository).source == find_project(worktree).source == "git"


def test_a_worktree_within_its_checkout_is_the_same_project(repository: Path) -> None:
    inside = repository / ".claude" / "worktrees" / "bold-oak"
    git(repository, "worktree", "add", "-q", str(inside))
    assert find_project(inside)[:3] == (str(repository), "git", str(inside))


def test_worktrees_of_a_bare_repository_are_one_project(repository: Path, tmp_path: Path) -> None:
    bare = tmp_path / "shop.git"
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(bare))
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        git(bare, "worktree", "add", "-q", "-b", folder.name, str(folder), "main")
    assert {project_of(folder) for folder in (bare, *folders)} == {str(bare)}


def test_a_submodule_is_a_project_of_its_own_with_its_worktrees(repository: Path, tmp_path: Path) -> None:
    above = tmp_path / "shop"
    above.mkdir()
    git(above, "init", "-q")
    git(above, "submodule", "add", "-q", str(repository), "libs/api")
    module = above / "libs" / "api"
    beside = tmp_path / "beside"
    git(module, "worktree", "add", "-q", str(beside))
    assert project_of(above) == str(above)
    assert project_of(module) == project_of(beside) == str(module)


def test_git_is_not_started(repository: Path, worktree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(subprocess, "Popen", None)
    assert project_of(worktree) == str(repository)


def test_a_folder_without_a_repository_is_its_own_project(tmp_path: Path) -> None:
    assert find_project(tmp_path) == (str(tmp_path), "folder", str(tmp_path), "", "", "")


def test_a_worktree_whose_repository_is_gone_is_its_own_project(repository: Path, worktree: Path) -> None:
    repository.rename(repository.with_name("elsewhere"))
    assert project_of(worktree) == str(worktree)


@pytest.mark.parametrize("text", ["", "gitdir:", "gitdir: /nowhere", "nothing of git", "gitdir: \udcff", "x" * 100_000])
def test_a_git_file_that_says_nothing_leaves_the_folder_a_project(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text, errors="surrogateescape")
    assert project_of(tmp_path) == str(tmp_path)


@pytest.mark.parametrize("name", ["", "sub", "worktree", "bare.git"])
def test_the_key_of_a_project_leads_to_the_same_project(repository: Path, tmp_path: Path, name: str) -> None:
    git(tmp_path, "init", "-q")  # a repository around all of them
    place = tmp_path / (name or "api")
    match name:
        case "sub":
            git(repository, "submodule", "add", "-q", str(repository), "sub")
            place = repository / "sub"
        case "worktree":
            git(repository, "worktree", "add", "-q", str(place))
        case "bare.git":
            git(tmp_path, "clone", "-q", "--bare", str(repository), str(place))
        case _:
            pass
    assert project_of(project_of(place)) == project_of(place) != str(tmp_path)


@pytest.mark.parametrize(
    ("url", "noted"),
    [
        ("https://ada:s3cret@github.com/acme/api.git", "github.com/acme/api"),
        ("https://s3cret@github.com/acme/api", "github.com/acme/api"),
        ("https://ada:s3/cret@github.com/acme/api.git/", "github.com/acme/api"),
        ("https://github.com/acme/api.git?token=s3cret", "github.com/acme/api"),
        ("git@github.com:acme/api.git", "github.com/acme/api"),
        ("ssh://git@github.com:2222/acme/api.git", "github.com:2222/acme/api"),
        ("/srv/git/api.git", "/srv/git/api"),
    ],
)
def test_the_remote_is_noted_without_user_password_and_suffix(repository: Path, url: str, noted: str) -> None:
    git(repository, "remote", "add", "fork", "https://example.org/other.git")
    git(repository, "remote", "add", "origin", url)
    assert find_project(repository).remote == noted
    with Board.open(repository / "board.db") as board:
        board.agent("main", session="s1", project=repository).call("todo", {"set": ["Look"]})
        row = board.store.read(lambda tx: tx.connection.execute("SELECT source, remote FROM sessions").fetchone())
    assert row == ("git", noted)


# Work in worktrees.


def test_tasks_of_the_checkout_are_claimed_and_worked_in_its_worktrees(
    repository: Path, worktree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PUNCHLIST_DB", str(repository.parent / "board.db"))
    monkeypatch.chdir(repository)
    assert main(["tasks", "add", "Fix the login"]) == 0
    monkeypatch.chdir(worktree)
    assert main(["tasks"]) == 0
    assert "Fix the login" in capsys.readouterr().out
    (worktree / "src").mkdir()
    monkeypatch.chdir(worktree / "src")
    assert main(["tasks", "claim", "--by", "worker", "--reserve", "login.py"]) == 0
    with Board.open() as board:
        task = board.tasks(project=repository).get("1")
        assert (task.owner, task.reserved) == ("worker", ("src/login.py",))
        board.tasks(project=worktree).complete("1", fence=task.fence)
        assert board.tasks(project=repository).get("1").status == "completed"


def test_a_model_in_a_worktree_has_the_tasks_of_the_repository(repository: Path, worktree: Path) -> None:
    with Board.open(repository / "board.db") as board:
        board.tasks(project=repository).create("Fix the login")
        agent = board.agent("main", session="s1", project=worktree, dialect="punchlist-tasks")
        (tool,) = agent.tools
        assert "Fix the login" in agent.call(tool.name, {"do": "list"}).text


def test_work_in_a_worktree_is_graded_by_the_paths_of_that_worktree(repository: Path, worktree: Path) -> None:
    with Board.open(repository / "board.db") as board:
        agent = board.agent("main", session="s1", project=worktree)
        agent.call("todo", {"set": ["Fix the login", "Tell them"]})
        agent.tool_started("e", "Edit", {"file_path": f"{worktree}/login.py", "old_string": "a", "new_string": "b"})
        agent.tool_finished("e", "ok", is_error=False)
        agent.tool_started("t", "Bash", {"command": "pytest -q", "cwd": str(worktree)})
        agent.tool_finished("t", "3 passed in 0.1s", exit_code=0)
        agent.call("todo", {"done": ["1"]})
        (entry, _) = board.report(session="s1").items
        assert entry.grade == "verified"
        assert entry.folder == str(worktree)


def test_commits_of_a_worktree_are_found_there(repository: Path, worktree: Path) -> None:
    with Board.open(repository / "board.db") as board:
        agent = board.agent("main", session="s1", project=worktree)
        agent.call("todo", {"set": ["Fix the login", "Tell them"]})
        git(worktree, "commit", "-q", "--allow-empty", "-m", "Fix the login")
        found = load_brief(board, load_roster(board, present=()), 0, project=str(repository), who="ada")
    assert [summary.commits[0].subject for summary in found.around.git] == ["Fix the login"]


def test_a_person_means_the_agent_of_the_worktree_in_which_they_stand(
    repository: Path, worktree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUNCHLIST_DB", str(repository.parent / "board.db"))
    with Board.open() as board:
        agents = [board.agent("main", session=folder.name, project=folder) for folder in (repository, worktree)]
        for agent in agents:
            agent.call("todo", {"set": ["Look around", f"Go to {agent.session}"]})
        monkeypatch.chdir(worktree)
        assert main(["todo", "append", "Tell"]) == 0
        assert main(["todo", "drop", "Look around"]) == 0
        assert main(["todo", "drop", "Go to api"]) == 0
        shown = [[(item.content, item.status) for item in agent.todos.items] for agent in agents]
    assert shown == [
        [("Look around", "in_progress"), ("Go to api", "cancelled")],
        [("Look around", "cancelled"), ("Go to fix-login", "pending"), ("Tell", "pending")],
    ]


# Shown apart.


def _work_in_both(board: Board, repository: Path, worktree: Path) -> None:
    for session, folder in (("first", repository), ("second", worktree)):
        agent = board.agent("main", session=session, project=folder)
        agent.call("todo", {"set": [f"Look in {folder.name}", "Tell"]})
        agent.call("todo", {"done": ["1"]})


def test_todos_show_all_worktrees_and_tell_them_apart(
    repository: Path, worktree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PUNCHLIST_DB", str(repository.parent / "board.db"))
    with Board.open() as board:
        _work_in_both(board, repository, worktree)
    monkeypatch.chdir(repository)
    assert main(["todos"]) == 0
    out = capsys.readouterr().out
    assert "api · main first" in out
    assert "api (fix-login) · main second" in out
    assert main(["todos", "--json"]) == 0
    shown = {row["session"]: row["worktree"] for row in json.loads(capsys.readouterr().out)}
    assert shown == {"first": "", "second": "fix-login"}
    assert main(["todos", "--session", "second"]) == 0
    assert "fix-login" in capsys.readouterr().out.splitlines()[0]


def test_now_tells_worktrees_apart(
    repository: Path, worktree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PUNCHLIST_DB", str(repository.parent / "board.db"))
    with Board.open() as board:
        _work_in_both(board, repository, worktree)
        roster = load_roster(board, project=worktree, present=())
    assert {row.session: (row.project, row.worktree) for row in roster.agents} == {
        "first": (str(repository), ""),
        "second": (str(repository), "fix-login"),
    }
    monkeypatch.chdir(worktree)
    assert main(["now"]) == 0
    out = capsys.readouterr().out
    assert out.count("api (fix-login) · main") == 1
    assert out.count("api · main") == 1


@pytest.mark.sqlite
def test_an_agent_that_hooks_tell_of_is_shown_with_its_worktree(repository: Path, worktree: Path) -> None:
    path = repository.parent / "board.db"
    Board.open(path).close()
    Host(path, worktree, session="s-1").hook("UserPromptSubmit", prompt="Hello")
    with Board.open(path) as board:
        (row,) = load_roster(board, project=repository).agents
        assert (row.project, row.worktree) == (str(repository), "fix-login")


def test_a_brief_of_the_repository_tells_worktrees_apart(repository: Path, worktree: Path) -> None:
    with Board.open(repository / "board.db") as board:
        _work_in_both(board, repository, worktree)
        found = load_brief(board, load_roster(board, present=()), 0, project=str(repository), who="ada")
        text = plain_text(brief_lines(found.brief, found.groups, found.around, board.now(), UNICODE))
    assert "api (fix-login) · main second" in text
    assert "api · main first" in text


def test_a_brief_counts_a_commit_of_a_repository_once(repository: Path, worktree: Path) -> None:
    with Board.open(repository.parent / "board.db") as board:
        _work_in_both(board, repository, worktree)
        git(repository, "commit", "-q", "--allow-empty", "-m", "Fix the login")
        git(worktree, "merge", "-q", "main")
        found = load_brief(board, load_roster(board, present=()), 0, project=str(repository), who="ada")
        text = plain_text(brief_lines(found.brief, found.groups, found.around, board.now(), UNICODE))
    assert re.search("[12] commits? in api", text)  # the first one may fall into the same second


# The past.


@pytest.mark.sqlite
def test_what_a_board_kept_under_a_worktree_is_found_under_its_repository(
    repository: Path, worktree: Path, tmp_path: Path
) -> None:
    tmp_path.chmod(0o700)
    path = unpack_board(OLD_BOARDS[-1], tmp_path)
    with closing(sqlite3.connect(path)) as old, old:
        old.execute("UPDATE sessions SET project = ? WHERE id = 'night'", (str(worktree),))
        old.execute("UPDATE agents SET project = ? WHERE session = 'night'", (str(worktree),))
        old.execute("UPDATE sessions SET project = '' WHERE id = 'checked'")
        values = [(str(folder), f"project:{folder}", 1) for folder in (worktree, tmp_path / "plain")]
        old.executemany("INSERT INTO task_lists (project, name, created_at) VALUES (?, ?, ?)", values)
    with Board.open(path) as board:
        night = board.agent("main", session="night", project=worktree)
        assert (night.project, night.folder) == (str(repository), str(worktree))
        assert "night" in {row.session for row in board.lists(project=repository)}
        assert night.todos.items[0].content == "Next plan"
        assert board.store.read(lambda tx: tx.session_project("checked")) == ""
        names = {row.name: row.project for row, _ in board.store.read(lambda tx: tx.tasks.lists())}
        assert names[f"project:{repository}"] == str(repository)
        assert f"project:{worktree}" not in names
        assert names[f"project:{tmp_path / 'plain'}"] == str(tmp_path / "plain")


@pytest.mark.sqlite
def test_the_tasks_of_a_worktree_beside_those_of_the_checkout_keep_their_list(
    repository: Path, worktree: Path, tmp_path: Path
) -> None:
    tmp_path.chmod(0o700)
    path = unpack_board(OLD_BOARDS[-1], tmp_path)
    with closing(sqlite3.connect(path)) as old, old:
        values = [(str(folder), f"project:{folder}", 1) for folder in (worktree, repository)]
        old.executemany("INSERT INTO task_lists (project, name, created_at) VALUES (?, ?, ?)", values)
    with Board.open(path) as board:
        rows = [row for row, _ in board.store.read(lambda tx: tx.tasks.lists()) if row.project == str(repository)]
    assert {row.name for row in rows} == {f"project:{worktree}", f"project:{repository}"}

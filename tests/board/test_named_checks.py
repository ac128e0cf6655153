"""Checks that a project names in `.punchlist.toml`, and a check per item: whoever is graded does not set the bar."""

import os
from pathlib import Path
from typing import Any

import pytest

from punchlist.core.report import ItemReport
from punchlist.core.todo import NamedCheck
from punchlist.settings.project_checks import find_named_checks, load_project_checks, trust_checks
from tests.board.work import Session


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project without a file of checks, whose user has no settings."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(tmp_path / "settings" / "config.toml"))
    return folder


def write_checks(project: Path, *commands: str) -> None:
    (project / ".punchlist.toml").write_text(f"checks = {list(commands)}\n", encoding="utf-8")


def trust(project: Path) -> None:
    found = load_project_checks(str(project))
    assert found is not None
    trust_checks(str(project), found)


def work(project: Path, command: str, code: int = 0, **item: Any) -> ItemReport:
    """Edit, run a command, complete the item; return what the report says of it."""
    session = Session(dialect="punchlist", project=str(project))
    session.agent.call("todo", {"set": [{"text": "Fix it", **item}]})
    session.edit().run(command, "", code)
    session.agent.call("todo", {"done": ["1"]})
    return session.entries["Fix it"]


def with_check(project: Path, check: str, *, person: bool = True) -> Session:
    """Begin a session with an item that carries a check."""
    session = Session(dialect="punchlist", project=str(project))
    session.agent.edit({"op": "append", "items": [{"content": "Fix it", "check": check}]}, by="ada", person=person)
    return session


def verified_by(entry: ItemReport) -> str | None:
    return None if entry.check is None else entry.check.verified_by


# The file of the project.


def test_a_check_of_a_trusted_file_verifies_by_its_exit_code(project: Path) -> None:
    write_checks(project, "./smoke.sh")
    trust(project)
    entry = work(project, "cd web && ./smoke.sh")
    assert (entry.grade, verified_by(entry)) == ("verified", "named")
    assert work(project, "./smoke.sh", 1).grade == "failing"


def test_a_check_of_a_file_that_nobody_trusted_is_a_probe(project: Path) -> None:
    write_checks(project, "./smoke.sh")
    assert work(project, "./smoke.sh").grade == "unchecked"
    assert work(project, "./smoke.sh", 1).grade == "unchecked"


def test_an_edited_file_is_no_longer_trusted(project: Path) -> None:
    write_checks(project, "./smoke.sh")
    trust(project)
    write_checks(project, "./smoke.sh", "true")
    assert work(project, "./smoke.sh").grade == "unchecked"
    assert work(project, "true").grade == "unchecked"


def test_trust_holds_for_every_worktree_of_the_repository_and_no_other(project: Path, tmp_path: Path) -> None:
    write_checks(project, "./smoke.sh")
    trust(project)
    inner = project / ".git" / "worktrees" / "other"
    inner.mkdir(parents=True)
    (inner / "commondir").write_text("../..\n", encoding="utf-8")
    worktree, stranger = tmp_path / "worktree", tmp_path / "stranger"
    for folder in (worktree, stranger):
        folder.mkdir()
        write_checks(folder, "./smoke.sh")
    (worktree / ".git").write_text(f"gitdir: {inner}\n", encoding="utf-8")
    (stranger / ".git").mkdir()
    assert find_named_checks(str(worktree)) == (NamedCheck("./smoke.sh", "project"),)
    assert find_named_checks(str(stranger)) == ()


@pytest.mark.parametrize(
    "content",
    ['checks = ["./a.sh"]\ngates = 1\n', 'checks = "./a.sh"\n', 'checks = ["./a.sh || true"]\n', "checks = [", "\x00"],
)
def test_a_file_that_cannot_be_used_names_no_check_and_loses_no_report(project: Path, content: str) -> None:
    (project / ".punchlist.toml").write_text(content, encoding="utf-8")
    assert find_named_checks(str(project)) == ()
    assert work(project, "./a.sh").grade == "unchecked"


def test_a_link_out_of_the_project_is_not_followed(project: Path, tmp_path: Path) -> None:
    write_checks(tmp_path, "./smoke.sh")
    (project / ".punchlist.toml").symlink_to(tmp_path / ".punchlist.toml")
    assert find_named_checks(str(project)) == ()


def test_a_pipe_in_place_of_the_file_stops_nobody(project: Path) -> None:
    os.mkfifo(project / ".punchlist.toml")
    assert find_named_checks(str(project)) == ()


def test_checks_of_the_users_own_settings_need_no_trust(project: Path, tmp_path: Path) -> None:
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "config.toml").write_text('checks = ["./smoke.sh"]\n', encoding="utf-8")
    assert work(project, "./smoke.sh").grade == "verified"


def test_a_narrow_check_of_the_project_heals_no_wider_red(project: Path) -> None:
    write_checks(project, "pytest -q tests/test_smoke.py")
    trust(project)
    session = Session(project=str(project))
    session.write("> a")
    session.edit().fail().run("pytest -q tests/test_smoke.py")
    session.write("x a")
    assert session.grades["a"] == "failing"


# The check of an item.


@pytest.mark.parametrize("command", ["true", "./own.sh", "pytest -q || true", "ruff check ."])
def test_a_check_that_a_model_names_verifies_nothing(project: Path, command: str) -> None:
    entry = work(project, command, check=command)
    assert entry.grade == "unchecked"
    assert f"its check counts for nothing: {command}" in entry.remarks


def test_the_reply_says_that_a_models_check_is_only_a_remark(project: Path) -> None:
    agent = Session(dialect="punchlist", project=str(project)).agent
    reply = agent.call("todo", {"set": [{"text": "a", "check": "true"}, {"text": "b", "check": "pytest -q"}]})
    assert [problem.code for problem in reply.problems] == ["check_unknown"]
    assert "verifies nothing: the check of 1 (true)" in reply.text
    assert "[ ] b (check: pytest -q)" in agent.call("todo", {}).text


def test_a_models_check_counts_if_the_tables_know_it_or_the_project_names_it(project: Path) -> None:
    assert work(project, "pytest -q", check="pytest -q").grade == "verified"
    assert work(project, "npm test", check="pytest -q").remarks[:1] == ("its check did not pass: pytest -q",)
    write_checks(project, "./smoke.sh")
    trust(project)
    assert work(project, "./smoke.sh", check="./smoke.sh").grade == "verified"


def test_a_persons_check_verifies_by_exit_code_0_after_the_last_change(project: Path) -> None:
    session = with_check(project, "./smoke.sh --all")
    session.edit().run("./smoke.sh --all", "")
    session.agent.call("todo", {"done": ["1"]})
    entry = session.entries["Fix it"]
    assert (entry.grade, verified_by(entry)) == ("verified", "named")


def test_a_persons_check_that_fails_is_red(project: Path) -> None:
    session = with_check(project, "./smoke.sh")
    session.edit().run().run("./smoke.sh", "all is well", 3)
    session.agent.call("todo", {"done": ["1"]})
    assert session.entries["Fix it"].grade == "failing"
    assert session.report().state == "red"


@pytest.mark.parametrize(
    ("said", "is_error", "grade"),
    [("3 passed in 0.1s", None, "verified"), ("1 failed in 0.1s", False, "failing"), ("done", None, "unchecked")],
)
def test_where_no_exit_code_is_told_the_words_of_a_known_runner_decide(
    project: Path, said: str, is_error: bool | None, grade: str
) -> None:
    session = with_check(project, "pytest -q")
    session.edit()
    session.tool("Bash", {"command": "pytest -q"}, said, is_error=is_error)
    session.agent.call("todo", {"done": ["1"]})
    assert session.entries["Fix it"].grade == grade


def test_a_persons_check_before_the_last_change_proves_nothing_and_no_other_check_replaces_it(project: Path) -> None:
    session = with_check(project, "./smoke.sh")
    session.edit().run("./smoke.sh", "").edit().run()
    session.agent.call("todo", {"done": ["1"]})
    entry = session.entries["Fix it"]
    assert (entry.grade, entry.remarks) == ("unchecked", ("its check did not pass: ./smoke.sh",))


def test_a_persons_check_of_one_item_says_nothing_of_another(project: Path) -> None:
    for code in (0, 1):
        session = with_check(project, "./smoke.sh")
        session.agent.call("todo", {"add": ["Other"], "start": "2"})
        session.edit().run("./smoke.sh", "", code)
        session.agent.call("todo", {"done": ["2"]})
        assert session.entries["Other"].grade == "unchecked"


def test_a_check_of_an_item_that_only_an_agent_set_by_hand_is_a_models(project: Path) -> None:
    session = with_check(project, "./smoke.sh", person=False)
    session.edit().run("./smoke.sh", "")
    session.agent.call("todo", {"done": ["1"]})
    assert session.entries["Fix it"].grade == "unchecked"


@pytest.mark.parametrize(
    "call",
    [
        {"set": [{"text": "Fix it", "check": "true"}]},
        {"set": [{"text": "Fix it", "check": ""}]},
        {"set": [{"text": "Fix it now", "id": "1", "check": "true"}]},
        {"reword": [{"id": "1", "text": "Do it"}]},
    ],
)
def test_no_model_changes_or_drops_a_persons_check(project: Path, call: dict[str, Any]) -> None:
    session = with_check(project, "./smoke.sh")
    assert not session.agent.call("todo", call).is_error
    assert session.agent.todos.items[0].check == NamedCheck("./smoke.sh", "person")


def test_an_item_that_is_left_out_and_written_again_has_its_check(project: Path) -> None:
    for again in ({"set": ["Other", {"text": "Fix it", "check": "true"}]}, {"add": [{"text": "fix it", "check": ""}]}):
        session = with_check(project, "./smoke.sh")
        session.agent.call("todo", {"view": True})
        session.agent.call("todo", {"set": ["Other"]})
        session.agent.call("todo", again)
        assert session.agent.todos.items[-1].check == NamedCheck("./smoke.sh", "person")


def test_an_item_that_is_left_out_has_its_check_in_a_new_plan_too(project: Path) -> None:
    session = with_check(project, "./smoke.sh")
    session.agent.call("todo", {"view": True})
    session.agent.call("todo", {"set": ["Other"]})
    session.agent.call("todo", {"done": ["2"]})
    session.agent.call("todo", {"set": [{"text": "Fix it", "check": "true"}]})
    assert [item.check for item in session.agent.todos.items] == [NamedCheck("./smoke.sh", "person")]


def test_another_dialect_keeps_the_check_of_an_item(project: Path) -> None:
    session = with_check(project, "./smoke.sh")
    theirs = session.board.agent("main", session="s", dialect="claude-code", project=str(project))
    session.agent.call("todo", {"view": True})
    theirs.call("TodoWrite", {"todos": [{"content": "Fix it", "status": "in_progress", "activeForm": "Fixing"}]})
    assert theirs.todos.items[0].check == NamedCheck("./smoke.sh", "person")


def test_a_person_replaces_a_models_check(project: Path) -> None:
    session = with_check(project, "true", person=False)
    items = [{"content": "Fix it", "check": "./smoke.sh"}]
    session.agent.edit({"op": "init", "items": items}, by="ada", person=True)
    assert session.agent.todos.items[0].check == NamedCheck("./smoke.sh", "person")


def test_the_agent_is_told_of_the_check_of_an_item_that_a_person_adds(project: Path) -> None:
    session = Session(dialect="punchlist", project=str(project))
    session.agent.call("todo", {"set": ["a", "b"]})
    session.agent.edit({"op": "append", "items": [{"content": "Fix it", "check": "./smoke.sh"}]}, by="ada", person=True)
    session.agent.user_turn()
    said = " ".join(one.text for one in session.agent.assistant_turn(tools_used=["Bash"]))
    assert "(check: ./smoke.sh)" in said

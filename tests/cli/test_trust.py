"""`punchlist trust`, `config set checks` and `todo append --check`: only a person says what verifies."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from punchlist.board import Board
from punchlist.core.todo import NamedCheck
from punchlist.settings.project_checks import find_named_checks
from tests.cli.conftest import Run

Type = Callable[[str], None]
SMOKE = NamedCheck("./smoke.sh", "project")


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "settings" / "config.toml"
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(path))
    return path


def _type(terminal: int, keys: str) -> None:
    os.write(terminal, keys.encode())


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Type]:
    """A terminal on stdin, and what a person types there."""
    ours, theirs = os.openpty()
    with open(theirs) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        yield lambda keys: _type(ours, keys)
    os.close(ours)


def write_checks(project: Path, text: str = 'checks = ["./smoke.sh"]\n') -> None:
    (project / ".punchlist.toml").write_text(text, encoding="utf-8")


def test_trust_shows_the_checks_and_asks(run: Run, project: Path, keyboard: Type) -> None:
    write_checks(project)
    keyboard("n\n")
    said = run("trust")
    assert (said.code, said.out.splitlines()[1]) == (1, "  ./smoke.sh")
    assert find_named_checks(str(project)) == ()
    keyboard("y\n")
    assert run("trust").out.endswith("1 check trusted, until the file changes.\n")
    assert find_named_checks(str(project)) == (SMOKE,)
    assert run("trust").out.endswith("They are trusted already.\n")


def test_trust_is_refused_without_a_terminal(run: Run, project: Path) -> None:
    write_checks(project)
    said = run("trust")
    why = "only a person can do that, and stdin is no terminal; use a terminal of your own"
    assert (said.code, said.err) == (1, f"punchlist: Nothing was trusted: {why}.\n")
    assert find_named_checks(str(project)) == ()


def test_trust_is_refused_to_an_agent_in_a_terminal(
    run: Run, project: Path, keyboard: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_checks(project)
    monkeypatch.setenv("CLAUDECODE", "1")
    keyboard("y\n")
    assert "CLAUDECODE is set" in run("trust").err
    assert find_named_checks(str(project)) == ()


def test_status_says_how_the_checks_of_the_project_stand(run: Run, project: Path, keyboard: Type) -> None:
    assert "check" not in run("status").out
    write_checks(project)
    assert ": not trusted, so they are probes; `punchlist trust`" in run("status").out
    keyboard("y\n")
    run("trust")
    assert run("status").out.splitlines()[-1].endswith(".punchlist.toml: trusted")
    write_checks(project, 'checks = ["true"]\n')
    assert ": changed since you trusted them, so they are probes; `punchlist trust`" in run("status").out
    assert json.loads(run("status", "--json").out)["checks"] == {
        "file": str(project / ".punchlist.toml"),
        "commands": ["true"],
        "trust": "changed",
    }


def test_other_keys_are_refused_by_name(run: Run, project: Path, keyboard: Type) -> None:
    write_checks(project, 'checks = ["./smoke.sh"]\ngates = 1\nredact = []\n')
    said = run("trust")
    sentence = "cannot be used: it may hold `checks` and nothing else; remove `gates`, `redact`."
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert sentence in said.err
    assert sentence in run("status").out


def test_trust_without_a_file_says_what_to_write(run: Run) -> None:
    said = run("trust")
    assert said.code == 1
    assert 'write `checks = ["npm run build"]` into it first' in said.err


def test_a_person_sets_checks_of_their_own(run: Run, project: Path, keyboard: Type) -> None:
    assert run("config", "set", "checks", "./smoke.sh", "npm run build").code == 0
    assert find_named_checks(str(project)) == (SMOKE, NamedCheck("npm run build", "project"))


def test_config_set_checks_is_refused_in_doubt(run: Run, settings: Path) -> None:
    said = run("config", "set", "checks", "true")
    assert said.err == (
        "punchlist: `checks` was not set: only a person can do that, and stdin is no terminal; "
        "use a terminal of your own.\n"
    )
    assert not settings.exists()


def test_a_check_that_can_never_match_is_refused(run: Run, keyboard: Type) -> None:
    problem = "`make || true` is not one command: a check has no `||`, `;` or pipe."
    assert problem in run("config", "set", "checks", "make || true").err
    assert problem in run("todo", "append", "Fix it", "--check", "make || true").err


def test_a_person_appends_an_item_with_a_check_and_sees_it(run: Run, board: Board, keyboard: Type) -> None:
    said = run("todo", "append", "Fix it", "--check", "./smoke.sh --all")
    assert said.out.splitlines()[0].startswith("Appended: Fix it")
    assert "Not counted" not in said.out
    assert "Fix it — check: ./smoke.sh --all" in run("todos").out
    (shown,) = json.loads(run("todos", "--json").out)
    assert shown["items"][0]["check"] == {"command": "./smoke.sh --all", "by": "person"}


def test_a_check_that_an_agent_appends_is_a_models(run: Run, board: Board) -> None:
    said = run("todo", "append", "Fix it", "--check", "true")
    assert said.out.endswith("Not counted as a person's word: stdin is no terminal.\n")
    (row,) = board.lists()
    assert row.todos.items[0].check == NamedCheck("true", "model")


def test_now_and_report_show_the_check_of_an_item(run: Run, board: Board, keyboard: Type) -> None:
    with board:
        agent = board.agent("main", session="s1")
        item = {"content": "Fix it", "status": "in_progress", "check": "./smoke.sh"}
        agent.edit({"op": "append", "items": [item]}, by="ada", person=True)
        agent.tool_started("c1", "Bash", {"command": "ls"})
        agent.tool_finished("c1", "a", exit_code=0)
    assert "Fix it (check: ./smoke.sh)" in run("now").out
    assert json.loads(run("now", "--json").out)["agents"][0]["focus_check"] == "./smoke.sh"
    assert "check: ./smoke.sh" in run("report", "--all").out
    (entry,) = json.loads(run("report", "--all", "--json").out)["items"]
    assert entry["own_check"] == {"command": "./smoke.sh", "by": "person"}
    run("report", "--all", "--format", "html", "-o", "report.html")
    assert "<dt>To check</dt><dd><code>./smoke.sh</code>" in Path("report.html").read_text(encoding="utf-8")

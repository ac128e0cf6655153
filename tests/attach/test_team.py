"""Attach an agent to a team's server: only what was agreed goes there, and nobody else can read the token."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from punchlist.settings.servers import token_path
from punchlist.settings.table import load_settings
from tests.attach.conftest import Run
from tests.repositories import clone

SERVER = "https://board.example.org"


@pytest.fixture
def project(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin:/bin")
    folder = clone(tmp_path / "shop", "https://git.example.org/shop.git")
    monkeypatch.setenv("PATH", path)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stdin", io.StringIO("secret-token\n"))
    return folder


def test_attach_shares_this_project_and_keeps_the_token_for_its_owner(run: Run, project: Path) -> None:
    ran = run("attach", "claude-code", "--server", f"{SERVER}/", "--yes")
    assert (ran.code, ran.err) == (0, "")
    assert "git.example.org/shop" in ran.out
    assert "secret-token" not in ran.out
    team = load_settings().team
    assert (team.server, team.projects, team.share, team.steer) == (SERVER, ("git.example.org/shop",), "lines", "owner")
    path = Path(token_path(SERVER))
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("secret-token\n", 0o600)


def test_projects_that_are_named_add_up(run: Run, project: Path) -> None:
    run("attach", "claude-code", "--server", SERVER, "--yes")
    words = ("--project", "git@git.example.org:api.git", "--share", "grades", "--steer", "team")
    assert run("attach", "codex", "--server", SERVER, *words, "--yes").code == 0
    team = load_settings().team
    assert team.projects == ("git.example.org/shop", "git.example.org/api")
    assert (team.share, team.steer) == ("grades", "team")


def test_attach_shows_all_that_goes_there_and_who_steers(run: Run, project: Path) -> None:
    words = ("--project", "https://git.example.org/api", "--share", "grades", "--steer", "team")
    run("attach", "claude-code", "--server", SERVER, *words, "--yes")
    out = run("attach", "codex", "--server", SERVER, "--yes").out
    assert "git.example.org/api" in out
    assert "git.example.org/shop" in out
    assert "Words of everyone there" in out
    assert "without their lines" in out


def test_what_was_agreed_for_a_server_does_not_hold_for_another(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--project", "https://git.example.org/api", "--share", "grades", "--steer", "team")
    run("attach", "claude-code", "--server", SERVER, *words, "--yes")
    monkeypatch.setattr(sys, "stdin", io.StringIO("another-token\n"))
    out = run("attach", "claude-code", "--server", "https://other.example.org", "--yes").out
    assert "git.example.org/api" not in out
    team = load_settings().team
    assert (team.projects, team.share, team.steer) == (("git.example.org/shop",), "lines", "owner")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--server", "http://board.example.org"), "http"),
        (("--server", "https://a:b@board.example.org"), "cannot be used as a server"),
        (("--server", SERVER, "--project", "shop"), "`shop` is no address of a repository"),
        (("--project", "https://git.example.org/shop"), "name it"),
    ],
)
def test_what_cannot_be_shared_is_refused_and_changes_nothing(
    run: Run, project: Path, home: Path, words: tuple[str, ...], said: str
) -> None:
    ran = run("attach", "claude-code", *words, "--yes")
    assert ran.code != 0
    assert said in ran.err
    assert load_settings().team.server == ""
    assert list((home / ".claude").iterdir()) == []


def test_an_agent_cannot_have_a_project_shared(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    assert run("attach", "claude-code", "--server", SERVER, "--yes").code != 0
    assert run("config", "set", "team.projects", "git.example.org/private").code != 0
    assert load_settings().team.server == ""


def test_without_a_token_nothing_is_shared(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    ran = run("attach", "claude-code", "--server", SERVER, "--yes")
    assert ran.code != 0
    assert "token is missing" in ran.err
    assert load_settings().team.server == ""


def test_status_says_what_is_sent_and_where(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("attach", "claude-code", "--server", SERVER, "--yes")
    out = run("status").out
    assert f"{SERVER}: gets the sessions in git.example.org/shop" in out
    assert "nothing was sent yet" in out
    team = json.loads(run("status", "--json").out)["team"]
    assert (team["server"], team["is_here"], team["problem"]) == (SERVER, True, "")
    monkeypatch.chdir(project.parent)
    assert "this folder is none of them" in run("status").out


def test_the_last_detach_ends_it_and_deletes_the_token(run: Run, project: Path) -> None:
    run("attach", "claude-code", "--server", SERVER, "--yes")
    run("attach", "codex", "--yes")
    run("detach", "claude-code", "--yes")
    assert load_settings().team.server == SERVER
    ran = run("detach", "codex", "--yes")
    assert "its token is deleted" in ran.out
    assert load_settings().team.server == ""
    assert not Path(token_path(SERVER)).exists()

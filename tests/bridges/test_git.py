"""What Git saw of the work: asked carefully, and never a reason to fail."""

import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from punchlist.bridges.git import Lines, git_facts

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def git(folder: Path, *words: str, at: str = "2026-03-01T10:00:00Z") -> None:
    settings = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "init.defaultBranch=main",
        "-c",
        "commit.gpgsign=false",
    ]
    stamps = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
    command = ["git", "-C", str(folder), *settings, *words]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **stamps})


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits an hour apart."""
    git(tmp_path, "init")
    (tmp_path / "door.txt").write_text("red\nred\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "Paint")
    (tmp_path / "door.txt").write_text("red\nblue\n")
    (tmp_path / "täfel ung.bin").write_bytes(b"\x00\x01")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "Paint\tagain \x01", at="2026-03-01T11:00:00Z")
    return tmp_path


def test_commits_belong_to_the_time_in_which_they_were_made(repository: Path) -> None:
    facts = git_facts(str(repository), LONG_AGO)
    assert facts is not None
    assert [commit.files for commit in facts.commits] == [
        {"door.txt": Lines(2, 0)},
        {"door.txt": Lines(1, 1), "täfel ung.bin": Lines(0, 0)},
    ]
    first = facts.commits[0].at
    early = facts.between(first - timedelta(minutes=1), first + timedelta(minutes=1))
    assert (len(early.commits), early.files, early.lines) == (1, 1, Lines(2, 0))
    both = facts.between(first, None)
    assert (len(both.commits), both.files, both.lines) == (2, 2, Lines(3, 1))
    assert facts.between(first - timedelta(days=2), first - timedelta(days=1)).is_empty


def test_what_is_not_committed_counts_for_whoever_touched_the_file(repository: Path) -> None:
    (repository / "door.txt").write_text("red\nblue\ngreen\n")
    facts = git_facts(str(repository), datetime.now(UTC))
    assert facts is not None
    assert facts.commits == ()
    now = datetime.now(UTC)
    assert facts.between(now, None, [f"{repository}/door.txt"]).lines == Lines(1, 0)
    assert facts.between(now, None, ["window.txt"]).is_empty


def test_a_folder_without_a_repository_and_a_git_that_is_missing_are_no_fault(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert git_facts(str(empty), LONG_AGO) is None
    assert git_facts(str(tmp_path / "nowhere"), LONG_AGO) is None
    assert git_facts(str(repository), LONG_AGO, timeout=0.0) is None
    monkeypatch.setenv("PATH", str(empty))
    assert git_facts(str(repository), LONG_AGO) is None


def test_nothing_that_a_repository_is_configured_to_run_is_run(repository: Path) -> None:
    trap = repository / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {repository}/sprung\n")
    trap.chmod(0o755)
    for name in ("diff.external", "core.fsmonitor", "core.pager", "diff.trap.textconv", "diff.trap.command"):
        git(repository, "config", name, str(trap))
    (repository / ".gitattributes").write_text("* diff=trap\n")
    (repository / "door.txt").write_text("other\n")
    assert git_facts(str(repository), LONG_AGO) is not None
    assert not (repository / "sprung").exists()

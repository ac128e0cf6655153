"""What Git saw of the work: asked carefully, and never a reason to fail."""

import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from punchlist.reports.git import ask_git
from punchlist.views.reports import GitSummary, UncommittedLines

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


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


def facts_of(repository: Path, since: datetime = LONG_AGO) -> GitSummary:
    facts = ask_git(str(repository), since)
    assert facts is not None
    return facts


def test_commits_since_a_time_are_found_newest_first(repository: Path) -> None:
    second, first = facts_of(repository).commits
    assert (first.subject, second.subject) == ("Paint", "Paint again \x01".replace(" a", "\ta"))
    assert [one.hash for one in facts_of(repository, second.at).commits] == [second.hash]
    assert facts_of(repository, second.at + timedelta(milliseconds=300)).commits == (second,)  # Git counts seconds
    assert facts_of(repository, second.at + MINUTE).commits == ()


def test_lines_that_are_not_committed_are_counted_those_of_new_files_too(repository: Path) -> None:
    begun = datetime.now(UTC)
    (repository / "new.txt").write_text("one\ntwo")
    (repository / "door.txt").write_text("red\nblue\ngreen\n")
    (repository / "täfel ung.bin").unlink()
    assert facts_of(repository, begun).uncommitted == UncommittedLines(files=3, added=3, removed=0)
    assert facts_of(repository, begun + MINUTE).uncommitted.files == 2  # an untracked file may be of long before


def test_a_repository_without_a_commit_has_new_files(tmp_path: Path) -> None:
    git(tmp_path, "init")
    for name in ("added.txt", "new.txt"):
        (tmp_path / name).write_text("one\n")
    git(tmp_path, "add", "added.txt")
    facts = facts_of(tmp_path, datetime.now(UTC) - MINUTE)
    assert (facts.uncommitted, facts.complete) == (UncommittedLines(2, 2, 0), True)


def test_a_commit_on_a_branch_that_is_not_checked_out_is_found(repository: Path) -> None:
    git(repository, "checkout", "-b", "feature")
    (repository / "roof.txt").write_text("red\n")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "Roof", at="2026-03-01T12:00:00Z")
    git(repository, "checkout", "main")
    assert [commit.subject[:5] for commit in facts_of(repository).commits] == ["Roof", "Paint", "Paint"]
    git(repository, "checkout", "--detach")
    git(repository, "commit", "--allow-empty", "-m", "Nowhere", at="2026-03-01T13:00:00Z")
    assert facts_of(repository).commits[0].subject == "Nowhere"


def test_a_commit_with_an_old_date_hides_none_behind_it(repository: Path) -> None:
    git(repository, "commit", "--allow-empty", "-m", "Old", at="2001-01-01T00:00:00Z")
    assert [commit.subject[:5] for commit in facts_of(repository).commits] == ["Paint", "Paint"]


def test_a_folder_without_a_repository_and_a_git_that_is_missing_are_no_fault(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert ask_git(str(empty), LONG_AGO) is None
    assert ask_git(str(tmp_path / "nowhere"), LONG_AGO) is None
    assert ask_git(str(repository), LONG_AGO, timeout=0.0) is None
    monkeypatch.setenv("PATH", str(empty))
    assert ask_git(str(repository), LONG_AGO) is None


@pytest.fixture
def trapped(repository: Path) -> Path:
    """A program that leaves a trace when it is run, named in every place that a diff or a log may look at."""
    trap = repository / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {repository}/sprung\ncat\n")
    trap.chmod(0o755)
    for name in ("diff.external", "core.fsmonitor", "core.pager", "diff.trap.textconv", "diff.trap.command"):
        git(repository, "config", name, str(trap))
    (repository / ".gitattributes").write_text("* diff=trap\n")
    (repository / "door.txt").write_text("red\nblue\ngreen\n")
    return trap


def test_nothing_that_a_repository_is_configured_to_run_is_run(repository: Path, trapped: Path) -> None:
    assert trapped.exists()
    facts = facts_of(repository)
    assert (facts.uncommitted.added, facts.complete) == (5, True)
    assert not (repository / "sprung").exists()


@pytest.mark.parametrize(
    "name", ["diff.orderFile", "mailmap.file", "core.excludesFile", "core.attributesFile", "core.worktree"]
)
def test_no_file_that_a_repository_names_is_read(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "secret.txt").write_text("secret\n")
    endless = elsewhere / "endless"
    os.mkfifo(endless)  # nobody writes to it, so that Git would wait for it until its time is up
    git(repository, "config", name, str(elsewhere if name == "core.worktree" else endless))
    (repository / "door.txt").write_text("red\nblue\ngreen\n")
    (repository / "new.txt").write_text("new\n")
    facts = facts_of(repository)
    assert facts.uncommitted == UncommittedLines(files=2, added=2, removed=0)
    assert len(facts.commits) == 2


@pytest.mark.parametrize("attributes", [".gitattributes", ".git/info/attributes"])
@pytest.mark.parametrize("way", ["clean", "process"])
def test_no_filter_of_a_repository_is_run(repository: Path, trapped: Path, attributes: str, way: str) -> None:
    for name in ("trap", "With.Dots and blanks"):
        git(repository, "config", f"filter.{name}.{way}", str(trapped))
        git(repository, "config", f"filter.{name}.required", "true")
    (repository / attributes).write_text("* filter=trap\n")
    assert facts_of(repository).uncommitted.added > 0
    assert not (repository / "sprung").exists()


@pytest.mark.parametrize("name", [b"a=b", b"\xff"])
def test_a_filter_that_cannot_be_switched_off_costs_the_changes_that_are_not_committed(
    repository: Path, trapped: Path, name: bytes
) -> None:
    with (repository / ".git" / "config").open("ab") as file:
        file.write(b'[filter "%b"]\n\tclean = %b\n' % (name, bytes(trapped)))
    (repository / ".gitattributes").write_bytes(b"* filter=%b\n" % name)
    facts = facts_of(repository)
    assert (len(facts.commits), facts.uncommitted.removed, facts.complete) == (2, 0, False)
    assert not (repository / "sprung").exists()


def test_a_filter_of_a_repository_within_the_repository_is_not_run(repository: Path, trapped: Path) -> None:
    inner = repository / "inner"
    inner.mkdir()
    git(inner, "init")
    (inner / "lock.txt").write_text("shut\n")
    git(inner, "add", ".")
    git(inner, "commit", "-m", "Lock")
    git(repository, "add", "inner")
    git(inner, "config", "filter.inner.clean", str(trapped))
    (inner / ".gitattributes").write_text("* filter=inner\n")
    (inner / "lock.txt").write_text("open\n")
    (repository / "sprung").unlink(missing_ok=True)
    assert ask_git(str(repository), LONG_AGO) is not None
    assert not (repository / "sprung").exists()


def test_what_is_missing_of_a_partial_clone_is_not_fetched(repository: Path, trapped: Path) -> None:
    git(repository, "config", "remote.origin.url", "ssh://nowhere.invalid/x")
    git(repository, "config", "remote.origin.promisor", "true")
    git(repository, "config", "core.sshCommand", str(trapped))
    git(repository, "config", "core.repositoryFormatVersion", "1")
    git(repository, "config", "extensions.partialClone", "origin")
    blob = subprocess.run(["git", "-C", str(repository), "rev-parse", "HEAD:door.txt"], capture_output=True, check=True)
    name = blob.stdout.decode().strip()
    (repository / ".git" / "objects" / name[:2] / name[2:]).unlink()
    (repository / "sprung").unlink(missing_ok=True)
    ask_git(str(repository), LONG_AGO)
    assert not (repository / "sprung").exists()

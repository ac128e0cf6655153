"""What Git saw of the work: asked carefully, and never a reason to fail."""

import os
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from punchlist.reports.git import Commit, GitFacts, ItemWork, Lines, git_facts

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


def facts_of(repository: Path, since: datetime = LONG_AGO) -> GitFacts:
    facts = git_facts(str(repository), since)
    assert facts is not None
    return facts


def test_commits_belong_to_the_time_in_which_they_were_made(repository: Path) -> None:
    facts = facts_of(repository)
    assert [commit.files for commit in facts.commits] == [
        {"door.txt": Lines(2, 0)},
        {"door.txt": Lines(1, 1), "täfel ung.bin": Lines(0, 0)},
    ]
    first = facts.commits[0].at
    early, late, before = facts.shares([
        ItemWork(first - MINUTE, first + MINUTE),
        ItemWork(first + MINUTE, None),
        ItemWork(first - 2 * MINUTE, first - MINUTE),
    ])  # fmt: skip
    assert (len(early.commits), early.files, early.lines) == (1, 1, Lines(2, 0))
    assert (len(late.commits), late.files, late.lines) == (1, 2, Lines(1, 1))
    assert before.is_empty


def test_a_commit_in_the_second_in_which_an_item_was_begun_belongs_to_that_item(tmp_path: Path) -> None:
    second = datetime(2026, 3, 1, 10, tzinfo=UTC)
    commit = Commit("a", second, "Paint", {"door.txt": Lines(1, 0)})
    begun = second + timedelta(milliseconds=300)
    before, after = GitFacts(str(tmp_path), (commit,)).shares(
        [ItemWork(second - MINUTE, begun), ItemWork(begun, begun + MINUTE)]
    )
    assert (before.is_empty, after.commits) == (True, (commit,))


def test_a_commit_belongs_to_the_item_for_which_a_call_ran(tmp_path: Path) -> None:
    second = datetime(2026, 3, 1, 10, tzinfo=UTC)
    commit = Commit("a", second, "Paint", {})
    ran = (second + timedelta(milliseconds=100), second + timedelta(milliseconds=150))
    one, other = GitFacts(str(tmp_path), (commit,)).shares(
        [ItemWork(second, None, active=[ran]), ItemWork(second, None)]
    )
    assert (one.commits, other.commits) == ((commit,), ())


def test_what_is_not_committed_counts_for_whoever_touched_the_file(repository: Path) -> None:
    (repository / "door.txt").write_text("red\nblue\ngreen\n")
    facts = facts_of(repository, datetime.now(UTC))
    assert facts.commits == ()
    now = datetime.now(UTC)
    works = [ItemWork(now, None, [f"{repository}/door.txt"]), ItemWork(now, None, ["window.txt"])]
    touched, other = facts.shares(works)
    assert (touched.lines, other.is_empty) == (Lines(1, 0), True)
    assert facts.shares([ItemWork(now, None, ["/elsewhere/door.txt"])])[0].is_empty


def test_a_new_file_and_one_that_a_shell_line_changed_have_a_diffstat(repository: Path) -> None:
    begun = datetime.now(UTC)
    (repository / "new.txt").write_text("one\ntwo")
    (repository / "door.txt").write_text("red\nblue\ngreen\n")
    ran = (begun, datetime.now(UTC))
    facts = facts_of(repository, begun)
    wrote, ran_a_line, idle = facts.shares(
        [ItemWork(begun, None, ["new.txt"]), ItemWork(begun, None, active=[ran]), ItemWork(begun, None)]
    )
    assert (wrote.files, wrote.lines) == (1, Lines(2, 0))
    assert (ran_a_line.files, ran_a_line.lines) == (1, Lines(1, 0))
    assert idle.is_empty


def test_a_file_that_a_shell_line_took_away_counts_for_its_item(repository: Path) -> None:
    begun = datetime.now(UTC)
    (repository / "door.txt").unlink()
    ran = (begun, datetime.now(UTC))
    one, other = facts_of(repository, begun).shares([ItemWork(begun, None, active=[ran]), ItemWork(begun, None)])
    assert (one.files, one.lines, other.is_empty) == (1, Lines(0, 2), True)


def test_what_is_gone_with_its_folder_counts_for_who_took_that_away(repository: Path) -> None:
    (repository / "rooms" / "hall").mkdir(parents=True)
    (repository / "rooms" / "hall" / "wall.txt").write_text("white\n")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "Hall")
    begun = datetime.now(UTC)
    shutil.rmtree(repository / "rooms")
    ran = (begun, datetime.now(UTC))
    assert facts_of(repository, begun).shares([ItemWork(begun, None, active=[ran])])[0].lines == Lines(0, 1)


def test_a_commit_on_a_branch_that_is_not_checked_out_is_found(repository: Path) -> None:
    git(repository, "checkout", "-b", "feature")
    (repository / "roof.txt").write_text("red\n")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "Roof", at="2026-03-01T12:00:00Z")
    git(repository, "checkout", "main")
    assert [commit.subject[:5] for commit in facts_of(repository).commits] == ["Paint", "Paint", "Roof"]
    git(repository, "checkout", "--detach")
    git(repository, "commit", "--allow-empty", "-m", "Nowhere", at="2026-03-01T13:00:00Z")
    assert facts_of(repository).commits[-1].subject == "Nowhere"


def test_a_commit_with_an_old_date_hides_none_behind_it(repository: Path) -> None:
    git(repository, "commit", "--allow-empty", "-m", "Old", at="2001-01-01T00:00:00Z")
    assert [commit.subject[:5] for commit in facts_of(repository).commits] == ["Paint", "Paint"]


def test_a_file_that_two_items_touched_counts_once(repository: Path) -> None:
    begun = datetime.now(UTC)
    (repository / "door.txt").write_text("red\nblue\ngreen\n")
    facts = facts_of(repository, begun)
    first, second = facts.shares([ItemWork(begun, begun, ["door.txt"]), ItemWork(begun + MINUTE, None, ["door.txt"])])
    assert (first.is_empty, second.lines) == (True, Lines(1, 0))


def test_a_repository_without_a_commit_has_new_files(tmp_path: Path) -> None:
    git(tmp_path, "init")
    begun = datetime.now(UTC) - MINUTE
    for name in ("added.txt", "new.txt"):
        (tmp_path / name).write_text("one\n")
    git(tmp_path, "add", "added.txt")
    facts = facts_of(tmp_path, begun)
    assert facts.shares([ItemWork(begun, None, ["added.txt", "new.txt"])])[0].lines == Lines(2, 0)
    assert facts.is_complete


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
    assert (facts.changed["door.txt"].lines, facts.is_complete) == (Lines(1, 0), True)
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
    assert {path: file.lines for path, file in facts.changed.items()} == {
        "door.txt": Lines(1, 0),
        "new.txt": Lines(1, 0),
    }
    assert [sorted(commit.files) for commit in facts.commits] == [["door.txt"], ["door.txt", "täfel ung.bin"]]


@pytest.mark.parametrize("attributes", [".gitattributes", ".git/info/attributes"])
@pytest.mark.parametrize("way", ["clean", "process"])
def test_no_filter_of_a_repository_is_run(repository: Path, trapped: Path, attributes: str, way: str) -> None:
    for name in ("trap", "With.Dots and blanks"):
        git(repository, "config", f"filter.{name}.{way}", str(trapped))
        git(repository, "config", f"filter.{name}.required", "true")
    (repository / attributes).write_text("* filter=trap\n")
    assert facts_of(repository).changed["door.txt"].lines == Lines(1, 0)
    assert not (repository / "sprung").exists()


@pytest.mark.parametrize("name", [b"a=b", b"\xff"])
def test_a_filter_that_cannot_be_switched_off_costs_the_changes_that_are_not_committed(
    repository: Path, trapped: Path, name: bytes
) -> None:
    with (repository / ".git" / "config").open("ab") as file:
        file.write(b'[filter "%b"]\n\tclean = %b\n' % (name, bytes(trapped)))
    (repository / ".gitattributes").write_bytes(b"* filter=%b\n" % name)
    facts = facts_of(repository)
    assert (len(facts.commits), "door.txt" in facts.changed, facts.is_complete) == (2, False, False)
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
    assert git_facts(str(repository), LONG_AGO) is not None
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
    git_facts(str(repository), LONG_AGO)
    assert not (repository / "sprung").exists()

"""Read from Git what was committed since some time, and what is not committed.

Asked only for a report, never while an agent works; a Git that is slow or missing is no reason to fail.

A repository may come from anywhere, and its configuration can name programs to run and files to read. None of them is
run or read (see `_SAFE_SETTINGS`), except files of `include.path`: Git has no switch for those, so only the time is
bounded.
"""

import os
import re
import stat
import subprocess
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from punchlist.views.reports import GitCommit, GitSummary, UncommittedLines

TIMEOUT: Final = 5.0
"""Seconds for one question to Git."""

_MOST_COMMITS: Final = 1000
_MOST_WALKED: Final = 10_000
"""Commits that are counted, and that are read to find them: those with an old date may stand anywhere in a history."""

_MOST_NEW: Final = 500
_LARGEST: Final = 1 << 20
"""Untracked files that are counted, and the bytes up to which their lines are."""

_SLACK: Final = 0.02
"""Seconds by which the clock of a file system may be behind."""

_NO_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""Git's name of an empty tree: the state before the first commit."""

_SAFE_SETTINGS: Final[Mapping[str, str]] = {
    "core.fsmonitor": "false",  # a program
    "core.hooksPath": "/dev/null",  # programs
    "core.quotePath": "false",
    "diff.orderFile": "/dev/null",  # a file to read
    "log.mailmap": "false",  # reads `mailmap.file`
    "log.showSignature": "false",  # runs `gpg.program`
}
"""Settings for every question, whatever a repository says."""

_LOCAL_FILES: Final = frozenset({"core.attributesfile", "core.excludesfile"})
"""Settings that name a file to read: taken from the user's own configuration, never from a repository's."""

_UNTRUSTED: Final = frozenset({"local", "worktree"})
_DRIVER: Final = re.compile(r"(filter\..+)\.[^.]+", re.DOTALL)
_NO_FILTER: Final[Mapping[str, str]] = {"clean": "", "smudge": "", "process": "", "required": "false"}
"""Filters have no switch, so each is set to nothing. `--attr-source` does not help: `.git/info/attributes` wins."""

_UNSET: Final = frozenset({
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX",
    "GIT_EXTERNAL_DIFF",
})  # fmt: skip
_ENVIRONMENT: Final[Mapping[str, str]] = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # nothing that a partial clone lacks is fetched, by whatever way
    "LC_ALL": "C",
}
_NUMSTAT: Final = (
    "--numstat", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules=dirty",
)  # fmt: skip

Lines = tuple[int, int]
"""Lines of a file that were added, and removed."""


class GitQuestions:
    """Questions to the Git of one folder, each with so many seconds for its answer."""

    def __init__(self, folder: str, timeout: float) -> None:
        self.folder = folder
        self._timeout = timeout
        self._environment = {name: value for name, value in os.environ.items() if name not in _UNSET}
        self._environment.update(_ENVIRONMENT)
        if os.path.lexists(os.path.join(folder, ".git")):
            self._environment["GIT_WORK_TREE"] = folder  # not `core.worktree`, which may lead anywhere

        self._overrides, self._can_diff = dict[str, str](), False

    def ask(self, *words: str) -> str | None:
        """Return Git's output; None if it fails, is slow or missing."""
        settings = {**_SAFE_SETTINGS, **self._overrides}
        given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        try:
            done = subprocess.run(
                ["git", "-C", self.folder, "--no-pager", *given, *words],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self._timeout,
                check=False,
            )
        except (OSError, ValueError, subprocess.SubprocessError):
            return None
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None

    def disarm(self) -> None:
        """Override what this repository's configuration names, for all later questions."""
        listed = self.ask("config", "--list", "--show-scope", "--name-only", "-z")
        words = (listed or "").split("\0")
        self._can_diff = listed is not None
        for scope, name in zip(words[::2], words[1::2], strict=False):
            driver = _DRIVER.fullmatch(name)
            if driver is None:
                if name in _LOCAL_FILES and scope in _UNTRUSTED:
                    self._overrides[name] = "/dev/null"
            elif "=" in name or "\ufffd" in name:  # no setting reaches it: `-c` ends a name at `=`; this is no UTF-8
                self._can_diff = False
            else:
                self._overrides.update((f"{driver[1]}.{key}", value) for key, value in _NO_FILTER.items())

    def diff(self, against: str) -> str | None:
        """Return the lines by which each file differs from a commit; None if a filter would be run for it."""
        return self.ask("diff", *_NUMSTAT, against, "--") if self._can_diff else None


def ask_git(folder: str, since: datetime, *, timeout: float = TIMEOUT) -> GitSummary | None:
    """Return what was committed in a repository since then, and what is not; None without one, or without an answer."""
    git = GitQuestions(folder, timeout)
    if git.ask("rev-parse", "--git-dir") is None:
        return None
    git.disarm()
    head = git.ask("rev-parse", "--quiet", "--verify", "HEAD")
    changed = git.diff(_NO_TREE if head is None else "HEAD")
    untracked = git.ask("ls-files", "--others", "--exclude-standard")
    lines = _parse_numstat((changed or "").split("\n"))
    lines += _count_untracked(folder, (untracked or "").split("\n"), since)
    left = UncommittedLines(len(lines), sum(added for added, _ in lines), sum(removed for _, removed in lines))
    commits = _read_commits(git, (head or "").strip(), since)
    return GitSummary(folder, tuple(commits or ()), left, None not in (changed, untracked, commits))


def _read_commits(git: GitQuestions, head: str, since: datetime) -> list[GitCommit] | None:
    places = ["--branches", head] if head else ["--branches"]
    log = git.ask("log", "-n", str(_MOST_WALKED), "--format=%ct %H %s", *places, "--")
    if log is None:
        return None
    found: list[GitCommit] = []
    for row in log.split("\n"):
        at, _, rest = row.partition(" ")
        # Git counts whole seconds: a commit was made within one from its time.
        if at.isdigit() and int(at) > since.timestamp() - 1 and len(found) < _MOST_COMMITS:
            name, _, subject = rest.partition(" ")
            found.append(GitCommit(name, datetime.fromtimestamp(int(at), UTC), subject))
    return found


def _count_untracked(folder: str, paths: Iterable[str], since: datetime) -> list[Lines]:
    """Count the lines of each untracked file that was written since; all of them are new."""
    found: list[Lines] = []
    for path in filter(None, paths):
        whole = os.path.join(folder, path)
        try:
            written = os.lstat(whole).st_mtime
        except (OSError, ValueError):
            continue
        if written >= since.timestamp() - _SLACK and len(found) < _MOST_NEW:
            found.append((_count_lines(whole), 0))
    return found


def _count_lines(path: str) -> int:
    """Count the lines of a text file; 0 for a binary or very large one, and for anything else."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode) or os.path.getsize(path) > _LARGEST:
            return 0
        with open(path, "rb") as file:
            body = file.read(_LARGEST)
    except OSError:
        return 0
    if b"\0" in body[:8000]:  # as Git tells a binary file
        return 0
    return body.count(b"\n") + (bool(body) and not body.endswith(b"\n"))


def _parse_numstat(rows: Iterable[str]) -> list[Lines]:
    found: list[Lines] = []
    for row in rows:
        added, _, rest = row.partition("\t")
        removed, _, path = rest.partition("\t")
        if path:
            # A binary file has dashes.
            found.append((int(added) if added.isdigit() else 0, int(removed) if removed.isdigit() else 0))
    return found

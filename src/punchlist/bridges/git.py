"""What Git saw of the work: commits made in a span of time, and what is changed and not committed yet.

Never in the way of an agent: asked when somebody wants a report. Nothing of the repository's own configuration is run
(no pager, no external diff, no file monitor), and a Git that is slow or missing is no reason to fail.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple

TIMEOUT: Final = 5.0
"""Seconds for one question to Git."""

_MOST_COMMITS: Final = 1000


class Lines(NamedTuple):
    """Lines added and removed."""

    added: int = 0
    removed: int = 0

    def plus(self, other: Lines) -> Lines:
        return Lines(self.added + other.added, self.removed + other.removed)


NO_LINES: Final = Lines()


@dataclass(frozen=True, slots=True)
class Commit:
    """`files` holds what it changed, by path."""

    hash: str
    at: datetime
    subject: str
    files: Mapping[str, Lines]


@dataclass(frozen=True, slots=True)
class Diffstat:
    """What changed in a span of time: in so many commits, and beside them."""

    commits: tuple[Commit, ...] = ()
    files: int = 0
    lines: Lines = NO_LINES

    @property
    def is_empty(self) -> bool:
        return not self.commits and not self.files


@dataclass(frozen=True, slots=True)
class GitFacts:
    """The commits of a repository since some time, oldest first, and its files that differ from the last one."""

    commits: tuple[Commit, ...] = ()
    changed: Mapping[str, Lines] = field(default_factory=dict[str, Lines])

    def between(self, start: datetime, end: datetime | None, touched: Iterable[str] = ()) -> Diffstat:
        """What was committed in that time; and what of the `touched` files is changed and not committed."""
        made = tuple(commit for commit in self.commits if start <= commit.at and (end is None or commit.at <= end))
        files: dict[str, Lines] = {}
        for commit in made:
            for path, lines in commit.files.items():
                files[path] = files.get(path, NO_LINES).plus(lines)
        for path in touched:
            for known, lines in self.changed.items():
                if (path == known or path.endswith(f"/{known}")) and known not in files:
                    files[known] = lines
        total = NO_LINES
        for lines in files.values():
            total = total.plus(lines)
        return Diffstat(made, len(files), total)


def git_facts(folder: str, since: datetime, *, timeout: float = TIMEOUT) -> GitFacts | None:
    """What Git knows of the work in a folder since then; None where there is no repository, or no answer in time."""
    stamp = f"--since={int(since.timestamp())}"
    mark = os.urandom(8).hex()  # nobody can have written it into a commit
    form = f"--format={mark}%H%x00%ct%x00%s"
    log = _asked(folder, ["log", "--no-show-signature", "-n", str(_MOST_COMMITS), stamp, form, *_NUMBERS], timeout)
    if log is None:
        return None
    changed = _asked(folder, ["diff", *_NUMBERS, "HEAD"], timeout)
    return GitFacts(tuple(reversed(_commits(log, mark))), _numbers((changed or "").split("\n")))


_NUMBERS: Final = ("--numstat", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames")


def _asked(folder: str, words: list[str], timeout: float) -> str | None:
    unset = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_EXTERNAL_DIFF")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    safely = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false"]
    try:
        done = subprocess.run(
            ["git", "-C", folder, "--no-pager", *safely, *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def _commits(log: str, mark: str) -> list[Commit]:
    found: list[Commit] = []
    for part in log.split(mark)[1:]:
        head, *rows = part.split("\n")
        name, _, rest = head.partition("\x00")
        at, _, subject = rest.partition("\x00")
        if at.isdigit():
            found.append(Commit(name, datetime.fromtimestamp(int(at), UTC), subject, _numbers(rows)))
    return found


def _numbers(rows: Iterable[str]) -> dict[str, Lines]:
    found: dict[str, Lines] = {}
    for row in rows:
        added, _, rest = row.partition("\t")
        removed, _, path = rest.partition("\t")
        if path:
            found[path] = Lines(_number(added), _number(removed))
    return found


def _number(text: str) -> int:
    """A binary file has a dash."""
    return int(text) if text.isdigit() else 0

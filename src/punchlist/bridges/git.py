"""What Git saw of the work: commits made in a span of time, and what is changed and not committed yet.

Never in the way of an agent: asked when somebody wants a report. Nothing that the repository's own configuration names
is run (see `git_questions`), and a Git that is slow or missing is no reason to fail.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct, field

from punchlist.bridges.git_questions import GitQuestions
from punchlist.bridges.git_shares import SLACK, Commit, Diffstat, Lines, Uncommitted, Work, shares

TIMEOUT: Final = 5.0
"""Seconds for one question to Git."""

_MOST_COMMITS: Final = 1000
_MOST_WALKED: Final = 10_000
"""Commits that are counted, and that are looked at for them: those with an old date stand anywhere in a history."""

_MOST_NEW: Final = 500
_LARGEST: Final = 1 << 20
"""Files that nobody added yet: how many are counted, and up to how many bytes."""

_NO_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""What Git calls a folder with nothing in it: the state before the first commit."""


class GitFacts(Struct, frozen=True):
    """The commits of a repository since some time, oldest first, and its files that differ from the last one."""

    root: str
    commits: tuple[Commit, ...] = ()
    changed: Mapping[str, Uncommitted] = field(default_factory=dict[str, Uncommitted])

    def shares(self, works: Sequence[Work], known: Mapping[str, int | None] | None = None) -> list[Diffstat]:
        """What each of these works of one agent came to, in their order; `known` as `git_shares.shares` has it."""
        return shares(self.root, self.commits, self.changed, works, known)


def git_facts(folder: str, since: datetime, *, timeout: float = TIMEOUT) -> GitFacts | None:
    """What Git knows of the work in a repository since then; None where there is none, or no answer in time."""
    git = GitQuestions(folder, timeout)
    objects = git.ask("rev-parse", "--git-path", "objects")
    if objects is None:
        return None
    head = git.ask("rev-parse", "--quiet", "--verify", "HEAD")
    changed = git.diff(_NO_TREE if head is None else "HEAD")
    others = git.ask("ls-files", "--others", "--exclude-standard")
    known = {
        path: Uncommitted(lines, _changed(os.path.join(folder, path)), not os.path.lexists(os.path.join(folder, path)))
        for path, lines in _numbers((changed or "").split("\n")).items()
    }
    commits = _commits(git, (head or "").strip(), since, os.path.join(folder, objects.strip()))
    return GitFacts(folder, tuple(reversed(commits)), known | _new(folder, (others or "").split("\n"), since))


def _commits(git: GitQuestions, head: str, since: datetime, objects: str) -> list[Commit]:
    """Those made since, on any branch and on what is checked out, newest first. Objects are kept in that folder."""
    places = ["--branches", *([head] if head else [])]
    walked = git.commits("-n", str(_MOST_WALKED), *places, "--", form="%ct %H") or ""
    rows = (row.partition(" ") for row in walked.split("\n"))
    wanted = [name for at, _, name in rows if at.isdigit() and int(at) >= since.timestamp() - 1][:_MOST_COMMITS]
    mark = os.urandom(8).hex()  # nobody can have written it into a commit
    log = git.numbers(wanted, form=f"{mark}%H%x00%ct%x00%s") if wanted else None
    found: list[Commit] = []
    for part in (log or "").split(mark)[1:]:
        head, *rows = part.split("\n")
        name, _, rest = head.partition("\x00")
        at, _, subject = rest.partition("\x00")
        if at.isdigit():
            second = datetime.fromtimestamp(int(at), UTC)
            written = _written(os.path.join(objects, name[:2], name[2:]))
            # Git counts whole seconds; the file in which it keeps a new commit knows better, until it is packed.
            is_exact = written is not None and abs(written - second) < timedelta(seconds=2)
            made = written if written is not None and is_exact else second
            found.append(Commit(name, made, subject, _numbers(rows), is_exact))
    return found


def _new(folder: str, paths: Iterable[str], since: datetime) -> dict[str, Uncommitted]:
    """Files that were written since and that nobody added yet, all their lines as new ones."""
    found: dict[str, Uncommitted] = {}
    for path in paths:
        at = _written(os.path.join(folder, path)) if path else None
        if at is not None and at >= since - SLACK:
            found[path] = Uncommitted(Lines(_lines(os.path.join(folder, path))), at)
            if len(found) == _MOST_NEW:
                break
    return found


def _written(path: str) -> datetime | None:
    try:
        return datetime.fromtimestamp(os.lstat(path).st_mtime, UTC)
    except (OSError, ValueError):
        return None


def _changed(path: str) -> datetime | None:
    """When a file was written, or, if it is gone, the folder from which it was taken."""
    while (at := _written(path)) is None and (above := os.path.dirname(path)) != path:
        path = above
    return at


def _lines(path: str) -> int:
    """The lines of a text; a binary or very large file has none, nor has what is no file."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode) or os.path.getsize(path) > _LARGEST:
            return 0
        with open(path, "rb") as file:
            body = file.read(_LARGEST)
    except OSError:
        return 0
    return 0 if b"\0" in body[:8000] else body.count(b"\n") + (bool(body) and not body.endswith(b"\n"))


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

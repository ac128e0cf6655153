"""Read from Git what was committed in a span of time and what is changed since, and assign it to items.

Asked only for a report, never while an agent works; a Git that is slow or missing is no reason to fail.

A repository may come from anywhere, and its configuration can name programs to run and files to read. None of them is
run or read (see `_SAFE_SETTINGS`), except files of `include.path`: Git has no switch for those, so only the time is
bounded.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from msgspec import Struct, field

from punchlist.core.grounding.commits import CommitCall

TIMEOUT: Final = 5.0
"""Seconds for one question to Git."""

_MOST_COMMITS: Final = 1000
_MOST_WALKED: Final = 10_000
"""Commits that are counted, and that are read to find them: those with an old date may stand anywhere in a history."""

_MOST_NEW: Final = 500
_LARGEST: Final = 1 << 20
"""Untracked files that are counted, and the bytes up to which their lines are."""

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

    def ask(self, *words: str, stdin: str = "") -> str | None:
        """Return Git's output; None if it fails, is slow or missing."""
        settings = {**_SAFE_SETTINGS, **self._overrides}
        given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        try:
            done = subprocess.run(
                ["git", "-C", self.folder, "--no-pager", *given, *words],
                env=self._environment,
                input=stdin.encode(),
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


Span = tuple[datetime, datetime]

SLACK: Final = timedelta(milliseconds=20)
"""How far the clock of a file system may be behind."""

_NONE: Final = timedelta(0)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)


class Lines(NamedTuple):
    """Lines added and removed."""

    added: int = 0
    removed: int = 0

    def plus(self, other: Lines) -> Lines:
        return Lines(self.added + other.added, self.removed + other.removed)


NO_LINES: Final = Lines()


class Commit(Struct, frozen=True):
    """One commit, made within a second from `at`: Git counts whole seconds."""

    hash: str
    at: datetime
    subject: str
    files: Mapping[str, Lines]  # by path

    @property
    def span(self) -> Span:
        return self.at, self.at + timedelta(seconds=1)


class ItemWork(Struct, frozen=True):
    """The work on one item, in progress from `start` to `end`."""

    start: datetime
    end: datetime | None = None
    files: Sequence[str] = ()  # named by its calls
    active: Sequence[Span] = ()  # when calls ran for it


class Diffstat(Struct, frozen=True):
    """The changes of an item: its commits, and the files and lines in them and not yet committed."""

    commits: tuple[Commit, ...] = ()
    files: int = 0
    lines: Lines = NO_LINES

    @property
    def is_empty(self) -> bool:
        return not self.commits and not self.files


class Uncommitted(NamedTuple):
    """A file that differs from the last commit, and when it was written; for a deleted one, when its folder was."""

    lines: Lines
    at: datetime | None = None


class GitFacts(Struct, frozen=True):
    """The commits of a repository since some time, oldest first, and its files that differ from the last one.

    `is_complete` is False if Git gave no answer to some question, or not in time.
    """

    root: str
    commits: tuple[Commit, ...] = ()
    changed: Mapping[str, Uncommitted] = field(default_factory=dict[str, Uncommitted])
    is_complete: bool = True

    def shares(self, works: Sequence[ItemWork], known: Mapping[str, int | None] | None = None) -> list[Diffstat]:
        """Return the share of each of these works of one agent, in their order.

        `known` maps commits, by hash, to the index of their work, None for none of these. Any other commit belongs to
        the item for which a call ran then, else to the one in progress. A file that is not committed belongs to the
        item that named it last, else to the one for which a call ran when it was written: a shell line names no files.
        A deleted file was written when its folder was.
        """
        made: list[list[Commit]] = [[] for _ in works]
        for commit in self.commits:
            if known is not None and commit.hash in known:
                place = known[commit.hash]
            else:
                place = _find_active(works, commit.span)
                if place is None:
                    in_progress = [_overlap(commit.span, (work.start, work.end or _LATEST)) for work in works]
                    place = _find_greatest(works, in_progress)
            if place is not None:
                made[place].append(commit)
        uncommitted: list[dict[str, Lines]] = [{} for _ in works]
        named = [
            {found for path in work.files if (found := _find_path(self.root, path, self.changed))} for work in works
        ]
        for path, file in self.changed.items():
            place = _find_writer([index for index, files in enumerate(named) if path in files], works, file.at)
            if place is not None:
                uncommitted[place][path] = file.lines
        return [_sum_changes(*share) for share in zip(made, uncommitted, strict=True)]


def find_makers(commit: Commit, calls: Sequence[CommitCall]) -> list[CommitCall]:
    """Return the calls that made a commit: those whose results name it, else lines of Git that ran at that time."""
    named = [call for call in calls if any(map(commit.hash.startswith, call.names))]
    if named:
        return named
    return [call for call in calls if call.is_git and _overlap(commit.span, (call.start, call.end or _LATEST))]


def _find_writer(named_by: Sequence[int], works: Sequence[ItemWork], at: datetime | None) -> int | None:
    if len(named_by) == 1:
        return named_by[0]
    written = None if at is None else _find_active(works, _widen(at))
    if not named_by or written in named_by:
        return written
    return max(named_by, key=lambda index: works[index].start)


def _find_active(works: Sequence[ItemWork], span: Span) -> int | None:
    """Return the work for which calls ran the longest in that span."""
    return _find_greatest(works, [sum((_overlap(span, each) for each in work.active), _NONE) for work in works])


def _find_greatest(works: Sequence[ItemWork], overlaps: Sequence[timedelta]) -> int | None:
    """Return the index of the greatest overlap, of equal ones that of the latest start; None without any overlap."""
    found = [(overlap, works[index].start, index) for index, overlap in enumerate(overlaps) if overlap > _NONE]
    return max(found)[2] if found else None


def _overlap(one: Span, other: Span) -> timedelta:
    return max(min(one[1], other[1]) - max(one[0], other[0]), _NONE)


def _widen(at: datetime) -> Span:
    return at - SLACK, at + SLACK


def _find_path(root: str, path: str, known: Mapping[str, object]) -> str:
    """Return the path as Git has it, empty if it is not known. A relative one may be meant from a subfolder."""
    if os.path.isabs(path):
        inside = os.path.relpath(os.path.realpath(path), os.path.realpath(root))
        return inside if inside in known else ""
    plain = os.path.normpath(path)
    return plain if plain in known else next((one for one in known if one.endswith(f"/{plain}")), "")


def _sum_changes(commits: Sequence[Commit], uncommitted: Mapping[str, Lines]) -> Diffstat:
    files: dict[str, Lines] = {}
    total = NO_LINES
    for changed in (*(commit.files for commit in commits), uncommitted):
        for path, lines in changed.items():
            files[path] = lines
            total = total.plus(lines)
    return Diffstat(tuple(commits), len(files), total)


def git_facts(folder: str, since: datetime, *, timeout: float = TIMEOUT) -> GitFacts | None:
    """Ask Git about the work in a repository since then; None where there is no repository, or no answer in time."""
    git = GitQuestions(folder, timeout)
    if git.ask("rev-parse", "--git-dir") is None:
        return None
    git.disarm()
    head = git.ask("rev-parse", "--quiet", "--verify", "HEAD")
    changed = git.diff(_NO_TREE if head is None else "HEAD")
    untracked = git.ask("ls-files", "--others", "--exclude-standard")
    files = {
        path: Uncommitted(lines, _find_change_time(os.path.join(folder, path)))
        for path, lines in _parse_numstat((changed or "").split("\n")).items()
    }
    files |= _read_untracked(folder, (untracked or "").split("\n"), since)
    commits = _read_commits(git, (head or "").strip(), since)
    is_complete = None not in (changed, untracked, commits)
    return GitFacts(folder, tuple(reversed(commits or ())), files, is_complete)


def _read_commits(git: GitQuestions, head: str, since: datetime) -> list[Commit] | None:
    """Return the commits made since, on any branch and on what is checked out, newest first; None without an answer."""
    places = ["--branches", head] if head else ["--branches"]
    walked = git.ask("log", "-n", str(_MOST_WALKED), "--format=%ct %H", *places, "--")
    if walked is None:
        return None
    rows = (row.partition(" ") for row in walked.split("\n"))
    wanted = [name for at, _, name in rows if at.isdigit() and int(at) >= since.timestamp() - 1][:_MOST_COMMITS]
    mark = os.urandom(8).hex()  # nobody can have written it into a commit
    form, names = f"--format={mark}%H%x00%ct%x00%s", "".join(f"{name}\n" for name in wanted)
    log = git.ask("log", "--no-walk=unsorted", "--stdin", form, *_NUMSTAT, stdin=names) if wanted else ""
    if log is None:
        return None
    found: list[Commit] = []
    for part in log.split(mark)[1:]:
        head, *rows = part.split("\n")
        name, _, rest = head.partition("\x00")
        at, _, subject = rest.partition("\x00")
        if at.isdigit():
            found.append(Commit(name, datetime.fromtimestamp(int(at), UTC), subject, _parse_numstat(rows)))
    return found


def _read_untracked(folder: str, paths: Iterable[str], since: datetime) -> dict[str, Uncommitted]:
    """Return the untracked files that were written since, with all their lines as new ones."""
    found: dict[str, Uncommitted] = {}
    for path in paths:
        at = _find_write_time(os.path.join(folder, path)) if path else None
        if at is not None and at >= since - SLACK:
            found[path] = Uncommitted(Lines(_count_lines(os.path.join(folder, path))), at)
            if len(found) == _MOST_NEW:
                break
    return found


def _find_write_time(path: str) -> datetime | None:
    try:
        return datetime.fromtimestamp(os.lstat(path).st_mtime, UTC)
    except (OSError, ValueError):
        return None


def _find_change_time(path: str) -> datetime | None:
    """Return when a file was written, or, if it is gone, the nearest folder above it."""
    while (at := _find_write_time(path)) is None and (above := os.path.dirname(path)) != path:
        path = above
    return at


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


def _parse_numstat(rows: Iterable[str]) -> dict[str, Lines]:
    found: dict[str, Lines] = {}
    for row in rows:
        added, _, rest = row.partition("\t")
        removed, _, path = rest.partition("\t")
        if path:
            # A binary file has dashes.
            found[path] = Lines(*(int(count) if count.isdigit() else 0 for count in (added, removed)))
    return found

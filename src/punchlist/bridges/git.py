"""What Git saw of the work: commits made in a span of time, and what is changed and not committed yet.

Never in the way of an agent: asked when somebody wants a report. Nothing that the repository's own configuration names
is run (see `git_questions`), and a Git that is slow or missing is no reason to fail.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from msgspec import Struct, field

from punchlist.core.grounding.commits import Committing

# Safe questions to Git.


_UNSET: Final = frozenset({
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX",
    "GIT_EXTERNAL_DIFF",
})  # fmt: skip
_SET: Final[Mapping[str, str]] = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # of a partial clone nothing is fetched, by whatever way
    "LC_ALL": "C",
}
_SAFELY: Final = ("core.fsmonitor=false", "core.hooksPath=/dev/null", "core.quotePath=false")
_FILTER: Final = "filter."
_FILTERED_BY: Final = ("clean", "smudge", "process")

_NUMBERS: Final = (
    "--numstat", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules=dirty",
)  # fmt: skip


class GitQuestions:
    """Questions to the Git of one folder, each with so many seconds for its answer."""

    def __init__(self, folder: str, timeout: float) -> None:
        self.folder = folder
        self._timeout = timeout

    def ask(self, *words: str, told: str = "", settings: Sequence[str] = ()) -> str | None:
        """What Git says to this; None if it fails, is slow or missing. `told` is what it can read."""
        environment = {name: value for name, value in os.environ.items() if name not in _UNSET} | _SET
        given = [part for setting in (*_SAFELY, *settings) for part in ("-c", setting)]
        try:
            done = subprocess.run(
                ["git", "-C", self.folder, "--no-pager", *given, *words],
                env=environment,
                input=told.encode(),
                capture_output=True,
                timeout=self._timeout,
                check=False,
            )
        except (OSError, ValueError, subprocess.SubprocessError):
            return None
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None

    def commits(self, *words: str, form: str) -> str | None:
        """Commits in this form, newest first."""
        return self.ask("log", "--no-show-signature", f"--format={form}", *words)

    def numbers(self, commits: Iterable[str], form: str) -> str | None:
        """These commits in this form, in their order, each with the lines that it changed in each file."""
        words = ("log", "--no-show-signature", "--no-walk=unsorted", "--stdin", f"--format={form}", *_NUMBERS)
        return self.ask(*words, told="".join(f"{commit}\n" for commit in commits))

    def diff(self, against: str) -> str | None:
        """The lines by which each file in the folder differs from a commit. None if that cannot be told safely."""
        unfiltered = self._unfiltered()
        return None if unfiltered is None else self.ask("diff", *_NUMBERS, against, "--", settings=unfiltered)

    def _unfiltered(self) -> list[str] | None:
        """Settings without which Git would run filters on files; None if there is a filter that no setting reaches."""
        names = self.ask("config", "--list", "--name-only", "-z")
        if names is None:
            return None
        found = dict.fromkeys(
            name.rpartition(".")[0] for name in names.split("\0") if name.startswith(_FILTER) and name.count(".") > 1
        )
        if any("=" in driver or "\ufffd" in driver for driver in found):  # a setting's name ends there, or is no UTF-8
            return None
        return [setting for driver in found for setting in _nothing(driver)]


def _nothing(driver: str) -> list[str]:
    return [*(f"{driver}.{name}=" for name in _FILTERED_BY), f"{driver}.required=false"]


# Which item a commit or a changed file belongs to.


Span = tuple[datetime, datetime]

SLACK: Final = timedelta(milliseconds=20)
"""So much the clock of a file system may be behind."""

_WORDS: Final = re.compile(r"[\s'\"`;&|()<>]+")
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
    """`files` holds what it changed, by path. It was made at `at`, or within a second from then if not exact."""

    hash: str
    at: datetime
    subject: str
    files: Mapping[str, Lines]
    is_exact: bool = False

    @property
    def span(self) -> Span:
        return _around(self.at) if self.is_exact else (self.at, self.at + timedelta(seconds=1))


class ItemWork(Struct, frozen=True):
    """The work on one item: when it was in progress, the files that it named, and when calls ran for it.

    `lines` are shell lines that perhaps changed something.
    """

    start: datetime
    end: datetime | None = None
    files: Sequence[str] = ()
    active: Sequence[Span] = ()
    lines: Sequence[str] = ()


class Diffstat(Struct, frozen=True):
    """What an item changed: in so many commits, and beside them."""

    commits: tuple[Commit, ...] = ()
    files: int = 0
    lines: Lines = NO_LINES

    @property
    def is_empty(self) -> bool:
        return not self.commits and not self.files


class Uncommitted(NamedTuple):
    """A file that differs from the last commit, and when it was written; of one that is gone, when its folder was."""

    lines: Lines
    at: datetime | None = None
    is_gone: bool = False


def makers(commit: Commit, calls: Sequence[Committing]) -> list[Committing]:
    """The calls that made a commit, as far as that is known: those that say so, else lines of Git that ran then."""
    named = [call for call in calls if any(map(commit.hash.startswith, call.names))]
    if named:
        return named
    return [call for call in calls if call.is_git and _overlap(commit.span, (call.start, call.end or _LATEST))]


def shares(
    root: str,
    commits: Iterable[Commit],
    changed: Mapping[str, Uncommitted],
    works: Sequence[ItemWork],
    known: Mapping[str, int | None] | None = None,
) -> list[Diffstat]:
    """The share of each of these works of one agent, in their order. Paths of Git are below `root`.

    `known` says of commits, by hash, which of the works they belong to, None for none of them.
    """
    made: list[list[Commit]] = [[] for _ in works]
    for commit in commits:
        if known is not None and commit.hash in known:
            place = known[commit.hash]
        else:
            place = _at_work(works, commit.span)
            place = _in_progress(works, commit.span) if place is None else place
        if place is not None:
            made[place].append(commit)
    beside: list[dict[str, Lines]] = [{} for _ in works]
    named = [{found for path in work.files if (found := _below(root, path, changed))} for work in works]
    gone = [path for path, (_, _, is_gone) in changed.items() if is_gone]
    for work, files in zip(works, named, strict=True):
        files.update(_spoken_of(root, gone, work.lines))
    for path, (lines, at, _) in changed.items():
        place = _writer([index for index, files in enumerate(named) if path in files], works, at)
        if place is not None:
            beside[place][path] = lines
    return [_stat(*share) for share in zip(made, beside, strict=True)]


def _writer(named_by: Sequence[int], works: Sequence[ItemWork], at: datetime | None) -> int | None:
    """Whose change a file is."""
    if len(named_by) == 1:
        return named_by[0]
    written = None if at is None else _at_work(works, _around(at))
    if not named_by or written in named_by:
        return written
    return max(named_by, key=lambda index: works[index].start)


def _at_work(works: Sequence[ItemWork], span: Span) -> int | None:
    """The work for which calls ran the longest in that span."""
    return _best(works, [sum((_overlap(span, each) for each in work.active), _NONE) for work in works])


def _in_progress(works: Sequence[ItemWork], span: Span) -> int | None:
    return _best(works, [_overlap(span, (work.start, work.end or _LATEST)) for work in works])


def _best(works: Sequence[ItemWork], overlaps: Sequence[timedelta]) -> int | None:
    """The greatest, and of equal ones the one that was begun last; none that does not overlap at all."""
    found = [(overlap, works[index].start, index) for index, overlap in enumerate(overlaps) if overlap > _NONE]
    return max(found)[2] if found else None


def _overlap(one: Span, other: Span) -> timedelta:
    return max(min(one[1], other[1]) - max(one[0], other[0]), _NONE)


def _around(at: datetime) -> Span:
    return at - SLACK, at + SLACK


def _below(root: str, path: str, known: Mapping[str, object]) -> str:
    """The path as Git has it; empty if it is none of these. One that is not absolute may be meant from a subfolder."""
    if os.path.isabs(path):
        inside = os.path.relpath(os.path.realpath(path), os.path.realpath(root))
        return inside if inside in known else ""
    plain = os.path.normpath(path)
    return plain if plain in known else next((one for one in known if one.endswith(f"/{plain}")), "")


def _spoken_of(root: str, paths: Sequence[str], lines: Sequence[str]) -> Iterator[str]:
    """Those of these paths that shell lines have among their words, or a folder that they are in."""
    if not paths or not lines:
        return
    words = {os.path.normpath(word).removeprefix(f"{root}/") for line in lines for word in _WORDS.split(line) if word}
    for path in paths:
        parts = path.split("/")
        names = {"/".join(parts[place:]) for place in range(len(parts))}
        names.update("/".join(parts[:place]) for place in range(1, len(parts)))
        if not names.isdisjoint(words):
            yield path


def _stat(commits: Sequence[Commit], beside: Mapping[str, Lines]) -> Diffstat:
    files: dict[str, Lines] = {}
    for changed in (*(commit.files for commit in commits), beside):
        for path, lines in changed.items():
            files[path] = files.get(path, NO_LINES).plus(lines)
    total = NO_LINES
    for lines in files.values():
        total = total.plus(lines)
    return Diffstat(tuple(commits), len(files), total)


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

    def shares(self, works: Sequence[ItemWork], known: Mapping[str, int | None] | None = None) -> list[Diffstat]:
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

"""Who did what Git saw: each commit and each changed file for one item of an agent, by order and time.

A commit belongs to the call whose result names it, else to the line of Git that ran when it was made, whichever agent's
that is. Where neither is known it belongs to the item for which a call ran then, else to the one that was in progress,
of each agent. A file that is changed and not committed belongs to the item that named it last, else to the one for
which a call ran when it was written: a shell line names no files. One that is gone belongs to the item whose shell
lines speak of it, else to the one for which a call ran when its folder was written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from msgspec import Struct

from punchlist.core.grounding.commits import Committing

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


class Work(Struct, frozen=True):
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
    works: Sequence[Work],
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


def _writer(named_by: Sequence[int], works: Sequence[Work], at: datetime | None) -> int | None:
    """Whose change a file is."""
    if len(named_by) == 1:
        return named_by[0]
    written = None if at is None else _at_work(works, _around(at))
    if not named_by or written in named_by:
        return written
    return max(named_by, key=lambda index: works[index].start)


def _at_work(works: Sequence[Work], span: Span) -> int | None:
    """The work for which calls ran the longest in that span."""
    return _best(works, [sum((_overlap(span, each) for each in work.active), _NONE) for work in works])


def _in_progress(works: Sequence[Work], span: Span) -> int | None:
    return _best(works, [_overlap(span, (work.start, work.end or _LATEST)) for work in works])


def _best(works: Sequence[Work], overlaps: Sequence[timedelta]) -> int | None:
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

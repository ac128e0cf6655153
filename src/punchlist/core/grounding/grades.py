"""Grade a completion by what was seen of the work behind it.

| grade | meaning |
|---|---|
| `verified` | a check passed that began after the last code change before the completion had ended |
| `unchecked` | there was activity, and no such check |
| `failing` | a check of the agent was red at the completion, or turned red before its next one, and was not healed |
| `unseen` | no tool call but the list itself, and calls that only print |
| `confirmed` | a person said so |

The window of a completion is what its agent and its subagents did since the agent's previous completing write, and
while the item was in progress. `look_back` reads it once; `judge` may be asked again whenever a check comes out.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.checks.commands import FAMILIES
from punchlist.core.grounding.session import CheckHistory, CheckRun, SessionRecord
from punchlist.core.grounding.tool_call import MOST_FILES, ToolCall, changed_code, changes_code
from punchlist.core.overview import CompletingWrite
from punchlist.text.patterns import compile_later

Grade = Literal["verified", "unchecked", "failing", "unseen", "confirmed"]
GRADES: Final[tuple[Grade, ...]] = ("verified", "unchecked", "failing", "unseen", "confirmed")

DOUBTFUL: Final[frozenset[str]] = frozenset({"failing", "unseen"})
"""Grades of completions that `tell` tells of, and `require` refuses."""

_MOST_FAILED: Final = 8
_FAILURE: Final = compile_later(r"\b(?:fail(?:s|ing)?|reproduc\w+|broken)\b", re.IGNORECASE)
_RED: Final = compile_later(r"\bRED\b")
_REPAIR: Final = compile_later(
    r"\b(?:fix(?:es|ed|ing)?|repair(?:s|ed|ing)?|resolv(?:e|es|ed|ing)|make\b.*\bpass(?:es|ing)?)\b", re.IGNORECASE
)
_TEST_WORDS: Final = compile_later(
    r"^(?:test|spec)s?[_.-]|^Test(?=[A-Z])|[_.-](?:test|spec)s?$|(?<=[a-z])(?:Tests?|Spec)$"
)


class Completion(Struct, frozen=True, omit_defaults=True):
    """The window of one completed item or task, as it was at the completing write. Positions are numbers of events.

    `since` is the position of the agent's previous completing write; `begun` is when the item went in progress, if that
    was earlier. `until` is the position of the next completing write, None before there is one. `batch` counts the
    items that the write completed. `last_change` is that of the agent and its subagents, also before the window.
    """

    key: str
    agent: int
    position: int
    at: datetime
    since: int
    begun: datetime | None = None
    until: int | None = None
    batch: int = 1
    calls: int = 0
    only_read: bool = False
    is_lossy: bool = False
    is_about_failure: bool = False
    last_change: int = 0
    files: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    proof: CheckRun | None = None
    """The run that verified it: the record of the session may forget that."""

    def includes(self, call: ToolCall) -> bool:
        """True if a call of the agent, or of its subagents, belongs to the window."""
        if call.started is None or call.started.order > self.position:
            return False
        end = call.finished
        return end is None or end.order > self.since or (self.begun is not None and end.at > self.begun)


class Judgement(Struct, frozen=True):
    """A grade with the remarks that belong to it, and the run of a check that decided it."""

    grade: Grade
    remarks: tuple[str, ...] = ()
    run: CheckRun | None = None


class CompletedWork(NamedTuple):
    """An item or a task that is completed now: its key, its text, and since when it was in progress."""

    key: str
    text: str
    started_at: datetime | None


class WorkBefore(NamedTuple):
    """Everything that the windows of one completing write follow from.

    `calls` are those of the agent and its subagents since its `previous` completing write; and, by when an item went in
    progress, since the completing write before that. `dropped` are times in which reports were lost.
    """

    agent: int
    project: str
    position: int
    previous: CompletingWrite | None
    calls: Mapping[datetime | None, Sequence[ToolCall]]
    dropped: Sequence[tuple[datetime, datetime]]
    record: SessionRecord


def find_begun(work: CompletedWork, previous: CompletingWrite | None) -> datetime | None:
    """Return when an item went in progress, if that was before the previous completing write."""
    if previous is None or work.started_at is None or work.started_at >= previous.at:
        return None
    return work.started_at


def form_windows(completed: Sequence[CompletedWork], before: WorkBefore, now: datetime) -> list[Completion]:
    """Return the windows of the items and tasks that an agent completes in one write.

    A window begins at the agent's previous completing write, or when the item went in progress, if that was earlier.
    """
    since, at = before.previous or (0, None)
    windows: dict[datetime | None, Completion] = {}
    for begun, calls in before.calls.items():
        start = begun or at
        window = Completion(
            key="",
            agent=before.agent,
            position=before.position,
            at=now,
            since=since,
            begun=begun,
            batch=len(completed),
            is_lossy=any(first <= now and (start is None or start <= last) for first, last in before.dropped),
            last_change=before.record.last_change.get(before.agent, 0),
        )
        windows[begun] = look_back(window, calls, before.project)
    return [
        replace(windows[find_begun(one, before.previous)], key=one.key, is_about_failure=is_about_failure(one.text))
        for one in completed
    ]


def look_back(window: Completion, calls: Iterable[ToolCall], project: str) -> Completion:
    """Return a completion with what was done in its window, by the calls of its agent and subagents."""
    seen = [call for call in calls if window.includes(call) and not call.is_talk]
    files = {path for call in seen if changes_code(call, project) for path in changed_code(call, project)}
    failed = (call.program or call.name for call in seen if call.outcome == "failed" and call.check is None)
    return replace(
        window,
        calls=len(seen),
        only_read=bool(seen) and all(call.reads for call in seen),
        files=tuple(sorted(files)[:MOST_FILES]),
        failed=tuple(failed)[:_MOST_FAILED],
    )


def is_about_failure(text: str) -> bool:
    """True if an item is about a failure that is meant to be there, and does not ask for its repair."""
    is_named = _FAILURE.search(text) is not None or _RED.search(text) is not None
    return is_named and _REPAIR.search(text) is None


def judge(done: Completion, record: SessionRecord) -> Judgement:
    """Return the grade of a completion by the checks of its session that are known by now."""
    grade, why, run = _judge(done, record)
    if done.is_lossy and grade in ("verified", "unseen"):
        grade, why, run = "unchecked", "reports of tool calls were lost", None
    remarks = [why, "" if run is None or not run.edited_test else f"the failing test was edited ({run.edited_test})"]
    if done.failed:
        noun = "command" if len(done.failed) == 1 else "commands"
        remarks.append(f"{len(done.failed)} {noun} failed: {', '.join(dict.fromkeys(done.failed))}")
    if done.batch > 1:
        remarks.append(f"with {done.batch - 1} {'other' if done.batch == 2 else 'others'}")
    return Judgement(grade, tuple(remark for remark in remarks if remark), run)


def with_proof(done: Completion, found: Judgement) -> Completion:
    """Return a completion with the run that verified it."""
    return replace(done, proof=found.run if found.grade == "verified" else None)


def _judge(done: Completion, record: SessionRecord) -> tuple[Grade, str, CheckRun | None]:
    if not done.calls:
        return "unseen", "", None
    red = [one.last for one in record.checks if _is_red_for(one, done)]
    if red:
        last = max(red, key=lambda run: run.finished)
        if done.is_about_failure:
            return "unchecked", f"{last.command or last.name} fails", None
        return "failing", "", last
    if done.only_read:
        return "unchecked", "only read", None
    known = [done.proof, *(one.passed for one in record.checks)]
    passes = [run for run in known if run is not None and run.started >= done.last_change]
    covering = [run for run in passes if covers(run, done.files)]
    if covering:
        return "verified", "", min(covering, key=lambda run: (FAMILIES.index(run.family), -run.finished))
    if passes:
        last = max(passes, key=lambda run: run.finished)
        place = _describe_place(done.files)
        return "unchecked", f"{last.command or last.name} covers none of the changes in {place}", None
    return "unchecked", "", None


def _is_red_for(one: CheckHistory, done: Completion) -> bool:
    """True if a check of the agent, or of its subagents, was red at the completion, or before the next one."""
    since = one.red_for.get(done.agent)
    return since is not None and (done.until is None or since <= done.until)


def covers(run: CheckRun, files: Sequence[str]) -> bool:
    """True if a check looks at any of the files that were changed; also if none is known.

    It covers what lies under the folder in which it ran. Narrowed to single files or tests it covers the files whose
    stem it names: `test_parser.py` covers `parser.py`.
    """
    if not files:
        return True
    stems = _named_stems(run.scope)
    reached = (path for path in files if _is_under(path, run.folder))
    return any(not stems or _stem(path) in stems for path in reached)


def _is_under(path: str, folder: str) -> bool:
    """True if a file lies under a folder, or may: where only one of them is known from the root, names decide."""
    if not folder:
        return True
    is_rooted, is_folder_rooted = path.startswith("/"), folder.startswith(("/", "~", ".."))
    if is_rooted and not is_folder_rooted:
        return f"/{folder}/" in path
    if is_folder_rooted and not is_rooted:
        return True
    return path.startswith(f"{folder}/")


def _named_stems(scope: Iterable[str]) -> set[str]:
    """Return the stems of the files and tests that a check is narrowed to; empty if it looks at a whole folder."""
    stems: set[str] = set()
    for entry in scope:
        path, _, tests = ("", "", entry) if entry.startswith("-") else entry.partition("::")
        if not tests and "." not in posixpath.basename(path):
            return set()
        stems.update(map(_stem, (path, *re.findall(r"\w+", tests))))
    return stems - {""}


def _stem(path: str) -> str:
    """Return the name of a file or a test without its ending, and without what makes it the name of a test."""
    name = posixpath.basename(path)
    stem = re.sub(r"(?:\.(?:test|spec))?\.\w+$", "", name) or name
    return _TEST_WORDS.sub("", stem).lower()


def _describe_place(files: Sequence[str]) -> str:
    folders = {path.rpartition("/")[0] for path in files}
    return f"{folders.pop()}/" if len(folders) == 1 and folders != {""} else files[0]

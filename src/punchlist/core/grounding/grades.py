"""Grade a completion by what was seen of the work behind it.

| grade | meaning |
|---|---|
| `verified` | a test or build passed that began after the last code change before the completion, and covers it |
| `unchecked` | there was activity, and no such check |
| `failing` | a check that the item is charged with is red: see `_is_charged` |
| `unseen` | no tool call but the list itself, and calls that only print |
| `confirmed` | a person said so |

The window of a completion is what its agent and its subagents did since the agent's previous completing write, and
while the item was in progress. `look_back` reads it once; `judge` may be asked again whenever a check comes out.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Final, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.checks.commands import FAMILIES, hash_words, looks_at
from punchlist.core.checks.outcome import find_bare_command
from punchlist.core.grounding import tool_call
from punchlist.core.grounding.session import (
    CheckHistory,
    CheckRun,
    SessionRecord,
    find_deciding,
    name_check,
    read_ends,
)
from punchlist.core.overview import CompletingWrite
from punchlist.core.todo import NamedCheck
from punchlist.text.patterns import compile_later

Grade = Literal["verified", "unchecked", "failing", "unseen", "confirmed"]
GRADES: Final[tuple[Grade, ...]] = ("verified", "unchecked", "failing", "unseen", "confirmed")

DOUBTFUL: Final[frozenset[str]] = frozenset({"failing", "unseen"})
"""Grades of completions that `tell` tells of, and `require` refuses."""

_MOST_FAILED: Final = 8
_MOST_RAN: Final = 16
_FAILURE: Final = compile_later(r"\b(?:(?i:fail(?:s|ing)?|reproduc\w+|broken)|RED)\b")
_REPAIR: Final = compile_later(
    r"\b(?:fix(?:es|ed|ing)?|repair(?:s|ed|ing)?|resolv(?:e|es|ed|ing)|make\b.*\bpass(?:es|ing)?)\b", re.IGNORECASE
)
_ASKS_FOR_CHECK: Final = compile_later(
    r"\b(?:make|get|turn|bring|ensure|verify|confirm)\b.*\b(?:pass(?:es|ing)?|green)\b"
    r"|\b(?:tests?|specs?|suite|CI|build|checks?|lint)\b.*\b(?:green|(?:must|should|all) pass)\b"
    r"|\b(?:fix|repair|resolve)\b[^.:;]{0,40}\b(?:tests?|test_\w+|specs?|test suite|CI|build|lint(?:er)?)\b",
    re.IGNORECASE,
)
"""An item that asks for a check to pass is failing while it does not, whoever broke it."""

_TEST_FOLDER: Final = compile_later(r"(?:^|/)(?:tests?|testing|specs?|__tests__|e2e|unit|integration)(?:/.*)?$")
_NO_FOLDERS: Final = frozenset(
    {"tox", "nox", "jest", "vitest", "playwright", "lerna", "turbo", "npm", "pnpm", "yarn", "bun"}
)
"""Programs whose operands without a `/` are names of environments, projects and packages."""

_TEST_WORDS: Final = compile_later(
    r"^(?:test|spec)s?[_.-]|^Test(?=[A-Z])|[_.-](?:test|spec)s?$|(?<=[a-z])(?:Tests?|Spec)$"
)


class Completion(Struct, frozen=True, omit_defaults=True):
    """The window of one completed item or task, as it was at the completing write. Positions are numbers of events.

    `since` is the position of the agent's previous completing write; `begun` is when the item went in progress, if that
    was earlier. `until` is the position of the next completing write, None before there is one. `batch` counts the
    items that the write completed. `last_change` is that of the agent and its subagents, also before the window, and
    `first_change` the first one in it. `changes` counts those of the session. `ran` are the checks of the window.
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
    has_more_files: bool = False
    """Files were changed that are not known by name; any check may cover them."""
    failed: tuple[str, ...] = ()
    declined: tuple[str, ...] = ()
    changed: bool | None = None
    """Code was changed in the window; None on boards that did not keep it."""
    first_change: int = 0
    changes: int = 0
    ran: tuple[str, ...] = ()
    has_passed: bool = False
    """A test or build passed in the window."""
    only_prose: bool = False
    own_scripts: tuple[str, ...] = ()
    """Scripts that the session wrote and ran itself."""
    asks_for_check: bool = False
    check: NamedCheck | None = None
    """The check that the item carries."""
    is_check_accepted: bool = False
    proof: CheckRun | None = None
    """The run that verified it: the record of the session may forget that."""

    @property
    def own_check(self) -> str:
        """The hash of the check that the item carries, if it may verify; empty if there is none."""
        words = find_bare_command(self.check.command) if self.check is not None and self.is_check_accepted else ()
        return hash_words(words) if words else ""

    def includes(self, call: tool_call.ToolCall) -> bool:
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

    @property
    def verified_by(self) -> Literal["test", "build", "named"] | None:
        """The kind of check that verified it."""
        return self.run.verified_by if self.grade == "verified" and self.run is not None else None


class CompletedWork(NamedTuple):
    """An item or a task that is completed now: its key, its text, since when it was in progress, and its own check.

    `is_accepted`: the check may verify (`accept_named`).
    """

    key: str
    text: str
    started_at: datetime | None
    check: NamedCheck | None = None
    is_accepted: bool = False


class WorkBefore(NamedTuple):
    """Everything that the windows of one completing write follow from.

    `calls` are those of the agent and its subagents since its `previous` completing write; and, by when an item went in
    progress, since the completing write before that. `dropped` are times in which reports were lost.
    """

    agent: int
    project: str
    position: int
    previous: CompletingWrite | None
    calls: Mapping[datetime | None, Sequence[tool_call.ToolCall]]
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
            last_change=before.record.find_last_change(before.agent),
            changes=before.record.all_changes,
        )
        windows[begun] = look_back(window, calls, before.project, before.record)
    return [
        replace(
            windows[find_begun(one, before.previous)],
            key=one.key,
            is_about_failure=is_about_failure(one.text),
            asks_for_check=_ASKS_FOR_CHECK.search(one.text) is not None,
            check=one.check,
            is_check_accepted=one.is_accepted,
        )
        for one in completed
    ]


def look_back(
    window: Completion, calls: Iterable[tool_call.ToolCall], project: str, record: SessionRecord
) -> Completion:
    """Return a completion with what was done in its window, by the calls of its agent and subagents."""
    seen = [call for call in calls if window.includes(call) and not call.is_talk]
    changing = [call for call in seen if tool_call.changes_code(call, project, record.gone)]
    files = {path for call in changing for path in tool_call.changed_code(call, project, record.gone)}
    failed = [call for call in seen if call.outcome == "failed" and call.check is None and not call.reads]
    ends = [pair for call in seen for pair in read_ends(call)]
    tool_runs = [at for at in record.tool_runs if window.since < at <= window.position]
    starts = [call.started.order for call in changing if call.started is not None]
    scripts = [path for check, _ in ends for path in find_deciding(check, project)]
    aliases = [check.name for check, _ in ends if check.runs[:1] == (f"{check.program}()",)]
    return replace(
        window,
        calls=len(seen),
        only_read=bool(seen) and all(call.reads for call in seen),
        files=tuple(sorted(files)[: tool_call.MOST_FILES]),
        failed=tuple(call.program or call.name for call in failed if not call.declined)[:_MOST_FAILED],
        declined=tuple(call.program or call.name for call in seen if call.declined)[:_MOST_FAILED],
        changed=bool(changing) or window.last_change > window.since,
        first_change=min((*starts, *tool_runs), default=0),
        has_more_files=bool(tool_runs) or any(not call.files for call in changing),
        ran=tuple(dict.fromkeys(check.name for check, _ in ends if check.family != "probe" or check.named))[:_MOST_RAN],
        has_passed=any(end.outcome == "passed" and check.family in FAMILIES[:2] for check, end in ends),
        only_prose=any(call.changes and call.files for call in seen),
        own_scripts=tuple(dict.fromkeys((*filter(record.is_written, scripts), *aliases)))[:_MOST_FAILED],
    )


def is_about_failure(text: str) -> bool:
    """True if an item is about a failure that is meant to be there, and does not ask for its repair."""
    return _FAILURE.search(text) is not None and _REPAIR.search(text) is None


def judge(done: Completion, record: SessionRecord) -> Judgement:
    """Return the grade of a completion by the checks of its session that are known by now."""
    grade, why, run = _judge(done, record)
    if done.is_lossy and grade in ("verified", "unseen"):
        grade, why, run = "unchecked", ["reports of tool calls were lost"], None
    remarks = [*why, *_find_remarks(done, record, run if grade == "verified" else None)]
    if grade == "unchecked" and done.own_scripts:
        remarks.append(f"run by a script of its own ({done.own_scripts[0]})")
    if done.check is not None and not done.is_check_accepted:
        remarks.append(f"its check counts for nothing: {done.check.command}")
    for said, names in (("failed", done.failed), ("declined by you", done.declined)):
        if names:
            noun = "command" if len(names) == 1 else "commands"
            remarks.append(f"{len(names)} {noun} {said}: {', '.join(dict.fromkeys(names))}")
    if done.batch > 1:
        remarks.append(f"with {done.batch - 1} {'other' if done.batch == 2 else 'others'}")
    return Judgement(grade, tuple(dict.fromkeys(remark for remark in remarks if remark)), run)


def with_proof(done: Completion, found: Judgement) -> Completion:
    """Return a completion with the run that verified it."""
    return replace(done, proof=found.run if found.grade == "verified" else None)


def _judge(done: Completion, record: SessionRecord) -> tuple[Grade, list[str], CheckRun | None]:
    if not done.calls:
        return "unseen", [], None
    red = [one for one in record.checks if done.agent in one.red_for and _counts_for(one.last, done)]
    charged = [one for one in red if _is_charged(one, done, record)]
    first_change = done.first_change or done.since
    may_be_same = not (done.asks_for_check or record.stash or record.is_away)
    as_before = [one for one in charged if may_be_same and one.find_base(first_change) is not None]
    own = [one.last for one in charged if one not in as_before]
    if own:
        last = max(own, key=lambda run: run.finished)
        if done.is_about_failure:
            return "unchecked", [f"{name_check(last.name, last.paths)} fails"], None
        return "failing", [], last
    why = [_describe_same(one.last) for one in as_before]
    why += [f"{one.last.name} red since {one.last.at:%H:%M}, after later changes" for one in red if one not in charged]
    if record.stash and record.stash <= done.position:
        return "unchecked", ["the change is stashed and did not come back"], None
    if as_before:
        return "unchecked", why, None
    grade, reason, run = _judge_passes(done, record)
    return grade, [reason, *why], run


def _judge_passes(done: Completion, record: SessionRecord) -> tuple[Grade, str, CheckRun | None]:
    """Return the grade of a completion that no red check speaks against: `verified` is earned in its own window."""
    known = [done.proof, *(one.passed for one in record.checks)]
    passes = [run for run in known if run is not None and run.started >= done.last_change and _counts_for(run, done)]
    if done.check is not None and done.is_check_accepted:
        own = done.own_check
        passes = [run for run in passes if own and (run.named or hash_words(find_bare_command(run.command))) == own]
        if not passes:
            return "unchecked", f"its check did not pass: {done.check.command}", None
    proving = [run for run in passes if run.family in FAMILIES[:2] or run.named]
    has_changed = done.last_change > done.since or bool(done.files) if done.changed is None else done.changed
    if not has_changed and not done.has_passed and not any(_is_within(run, done) for run in proving):
        return "unchecked", "only read" if done.only_read else "only prose" if done.only_prose else "", None
    # What a person or the project names covers whatever was changed. Whoever is graded does not set the bar.
    is_set = done.check is not None and done.check.by == "person"
    covering = [
        run
        for run in proving
        if is_set
        or (run.named and not run.of_item)
        or (done.has_more_files and not run.is_outside)
        or covers(run, done.files)
    ]
    if covering:
        best = min(covering, key=lambda run: (not run.named, FAMILIES.index(run.family), -run.finished))
        return "verified", "" if has_changed else "nothing was changed", best
    if proving:
        last = max(proving, key=lambda run: run.finished)
        place = _describe_place(done.files)
        return "unchecked", f"{name_check(last.name, last.paths)} covers none of the changes{place}", None
    if passes:
        return "unchecked", f"only linted ({max(passes, key=lambda run: run.finished).name})", None
    return "unchecked", "", None


def _counts_for(run: CheckRun, done: Completion) -> bool:
    """True unless a run is a check only because another item names it."""
    return run.family in FAMILIES[:2] or not run.of_item or run.named == done.own_check


def _is_within(run: CheckRun, done: Completion) -> bool:
    return run.agent == done.agent and run.finished > done.since and run.started <= done.position


def _is_charged(one: CheckHistory, done: Completion, record: SessionRecord) -> bool:
    """True if a red check of the agent, or of its subagents, is the fault of a completion.

    1. It was red at the completion, and the window changed code or ran it. 2. The window changed code that it covers,
    and it ran before any later change. 3. Code was changed after the completion, in the same turn, with no item open.
    """
    since = one.red_for[done.agent]
    has_changed = done.changed is not False
    if since <= done.position:
        return has_changed or one.last.name in done.ran
    if has_changed and one.red_changes.get(done.agent, 0) <= done.changes and covers(one.last, done.files):
        return True
    if not has_changed and one.last.name in done.ran and one.last.started <= done.position:
        return True  # it ran in the window, and ended after it
    turn, at = record.loose.get(done.agent, (0, 0))
    return done.until is None and turn <= done.position < at


def _describe_same(run: CheckRun) -> str:
    count = run.counts.failed or len(run.counts.failures)
    return f"the same {count} tests fail without the change" if count != 1 else "the same test fails without the change"


def _find_remarks(done: Completion, record: SessionRecord, proof: CheckRun | None) -> Iterator[str]:
    edits = [edit for edit in record.suspect_edits if done.since < edit[0] <= done.position]
    if any(how == "unhooked" for _, how, _ in edits) and any(one.last.name == "git commit" for one in record.checks):
        yield "hooks were skipped"
    if proof is None:
        return
    yield from (text for at, text in proof.notes if at > done.since)
    if proof.left_out:
        yield f"only a part ran ({proof.left_out})"
    paths = [path.partition("::")[0] for path in proof.scope]
    if paths and all(record.written.get(tool_call.hash_path(path), 0) > done.since for path in paths):
        yield "only tests written in this window ran"


def covers(run: CheckRun, files: Sequence[str]) -> bool:
    """True if a check looks at any of the files that were changed; also if none is known.

    It covers what lies under the folder in which it ran, in the languages that it knows. Narrowed to single files or
    tests it covers the files whose stem it names: `test_parser.py` covers `parser.py`; narrowed to a folder, what lies
    there, or for a folder of tests, beside it.
    """
    if not files:
        return not run.is_outside
    stems = _named_stems(run.scope)
    folders = [] if stems else [folder for entry in run.scope if (folder := _named_folder(run, entry)) is not None]
    is_under = partial(_is_under, folder=run.folder, may_be_project=not run.is_outside)
    reached = [path for path in files if is_under(path) and looks_at(run.name, run.family, path)]
    if folders and "" not in folders:
        reached = [path for path in reached if any(f"/{folder}/" in f"/{path}" for folder in folders)]
    return any(not stems or _stem(path) in stems or path in run.scope for path in reached)


def _named_folder(run: CheckRun, entry: str) -> str | None:
    """Return the folder that an operand narrows a check to; empty for the whole project, None if it is no folder."""
    path = entry.partition("::")[0].rstrip("/")
    if path.startswith(("-", "!")) or ("/" not in path and run.name.split(" ")[0] in _NO_FOLDERS):
        return None
    if run.family == "test" and (found := _TEST_FOLDER.search(path)) is not None:
        return path[: found.start()]
    return "" if path in ("", ".") else path.removeprefix("./")


def _is_under(path: str, folder: str, *, may_be_project: bool) -> bool:
    """True if a file lies under a folder, or may: where only one of them is known from the root, names decide."""
    if not folder:
        return True
    is_rooted, is_folder_rooted = path.startswith("/"), folder.startswith(("/", "~", ".."))
    if is_rooted and not is_folder_rooted:
        return f"/{folder}/" in path
    if is_folder_rooted and not is_rooted:
        return may_be_project
    return path.startswith(f"{folder}/")


def _named_stems(scope: Iterable[str]) -> set[str]:
    """Return the stems of the files and tests that a check is narrowed to; empty if it looks at a whole folder."""
    stems: set[str] = set()
    for entry in scope:
        path, _, tests = ("", "", entry) if entry.startswith(("-", "!")) else entry.partition("::")
        tests = "" if tests.startswith("!") else tests
        if not tests and "." not in posixpath.basename(path):
            return set()
        stems.update(map(_stem, (path, *re.findall(r"\w+", tests))))
    return stems - {""}


def _stem(path: str) -> str:
    """Return the name of a file or a test without its ending, and without what makes it the name of a test."""
    name = posixpath.basename(path)
    stem = re.sub(r"(?:\.(?:test|spec))?\.\w+$", "", name) or name
    return _TEST_WORDS.sub("", stem).lower().strip("_")


def _describe_place(files: Sequence[str]) -> str:
    if not files:
        return ""
    folders = {path.rpartition("/")[0] for path in files}
    return " in " + (f"{folders.pop()}/" if len(folders) == 1 and folders != {""} else files[0])

"""Keep the record of a session's checks and code changes, and tell the session's state from it.

The record is bounded: the last runs of each check program in each scope, the number of code changes, and the last one
of each agent. Positions are numbers of events in the log: they order what happened, whatever the clocks say.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict, replace

from punchlist.core.checks.commands import FAMILIES, Check, Family
from punchlist.core.checks.outcome import CheckEnd, Outcome
from punchlist.core.checks.summaries import RunCounts
from punchlist.core.grounding.tool_call import ToolCall, hash_path, is_code, is_done, relative_path
from punchlist.core.shell.programs import PROSE, is_temporary
from punchlist.core.shell.touches import How, Touch
from punchlist.text.patterns import compile_later

State = Literal["red", "unchecked", "green", "idle"]
STATES: Final[tuple[State, ...]] = ("red", "unchecked", "green", "idle")
"""All states, the worst first."""

_MOST_CHECKS: Final = 64
_MOST_AGENTS: Final = 256
_MOST_TEST_EDITS: Final = 32
_MOST_PATHS: Final = 8
_MOST_WRITTEN: Final = 256
_MOST_SCRATCH: Final = 64
_MOST_FAILURES: Final = 4
_MOST_NOTES: Final = 6
_MADE: Final = ("made", "tool")
_ASIDE: Final = ("away", "back", "undone")
_OTHER_OPTIONS: Final = "run with other options"
NOBODY: Final[Mapping[int, int]] = {}
_TEST_FILE: Final = compile_later(
    r"(?:^|[/_.-])(?:tests?|specs?|__snapshots__)(?:[/_.-]|$)|\w(?:Test|Tests|Spec)\.\w+$|\.snap$|^snapshots$",
    re.IGNORECASE,
)
_SETUP_FILE: Final = compile_later(
    r"(?:^|/)(?:conftest\.py|pytest\.ini|tox\.ini|setup\.cfg|noxfile\.py|pyproject\.toml|package\.json|Makefile|justfile"
    r"|\.punchlist\.toml|(?:jest|vitest|vite|karma|playwright|cypress|babel)\.config\.\w+|\.mocharc\.\w+|tsconfig.*\.json"
    r"|phpunit\.xml.*|\.rspec|Cargo\.toml|build\.gradle.*|pom\.xml|\.pre-commit-config\.yaml|\.coveragerc)$"
)


class Failure(Struct, frozen=True, array_like=True):
    """A run that failed, for comparison with later ones. `is_base`: the code was as it is without the change."""

    started: int
    finished: int
    changes: int
    options: str
    counts: RunCounts
    is_base: bool = False

    def includes(self, now: CheckRun) -> bool:
        """True if every failure that a later run of the same command names was named by this one.

        Where names are not printed, the numbers of failed and of run tests have to be equal.
        """
        then, new = self.counts, now.counts
        if self.options != now.options or not set(new.failures) <= set(then.failures):
            return False
        if new.failures and len(new.failures) >= new.failed:
            return True
        return bool(new.failed) and bool(new.ran) and (new.failed, new.ran) == (then.failed, then.ran)


class CheckRun(Check, frozen=True, omit_defaults=True, kw_only=True):
    """One run of a check. `started` and `finished` are positions; `agent` is the number of the agent."""

    outcome: Outcome
    started: int
    finished: int
    at: datetime
    agent: int
    call: str
    command: str = ""
    notes: tuple[tuple[int, str], ...] = ()
    """Remarks on what was done to the tests before this pass, each with its position."""
    tail: str = ""
    """The last lines of its output, if it failed."""
    counts: RunCounts = RunCounts()
    is_away: bool = False
    """The change was put aside by Git while it ran, and came back."""
    is_outside: bool = False
    """It ran in a folder outside the project."""
    healed: str | None = None
    """The options of a red run that it healed with other options."""

    @property
    def key(self) -> tuple[str, ...]:
        return self.name, self.family, self.folder, self.script, *self.scope

    @property
    def paths(self) -> tuple[str, ...]:
        """The scope: the paths that it names, else the folder in which it ran."""
        return tuple(posixpath.normpath(posixpath.join(self.folder, path)) for path in self.scope) or (self.folder,)

    @property
    def verified_by(self) -> Literal["test", "build", "named"]:
        """The kind of proof that a pass of it is."""
        if self.named and not (self.of_item and self.family in FAMILIES[:2]):
            return "named"
        return "test" if self.family == "test" else "build"

    @property
    def left_out(self) -> str:
        """The selection of tests by options, not by paths."""
        selected = (path.rpartition("::")[2].lstrip("!") for path in self.scope if "!" in path or "-" in path[:1])
        return next(selected, "")

    def includes(self, other: CheckRun) -> bool:
        """True if the scope of another run of the same program and family lies within this one's."""
        is_same = (self.name, self.family, self.script) == (other.name, other.family, other.script)
        return is_same and all(any(_lies_within(path, own) for own in self.paths) for path in other.paths)


class CheckHistory(Struct, frozen=True, omit_defaults=True):
    """The runs of one check program in one scope: the last one, the last that passed, and the failures not healed.

    `red_for` are the agents that ran it while it failed, and those that started them, each with the position of the
    first failure that no pass has healed; it is empty if it passed last. `changes` counts the code changes of the
    session before the last run began, `red_changes` by agent those before the first of these failures did.
    """

    last: CheckRun
    passed: CheckRun | None = None
    red_for: Mapping[int, int] = NOBODY
    changes: int = 0
    red_changes: Mapping[int, int] = NOBODY
    failures: tuple[Failure, ...] = ()

    @property
    def red_since(self) -> int | None:
        return min(self.red_for.values(), default=None)

    def add_failure(self, run: CheckRun, changes: int, *, is_base: bool = False) -> tuple[Failure, ...]:
        """Return its failures after another one: those without the change, the first, and the last ones."""
        failures = (*self.failures, Failure(run.started, run.finished, changes, run.options, run.counts, is_base))
        if len(failures) <= _MOST_FAILURES:
            return failures
        return tuple(one for at, one in enumerate(failures) if one.is_base or at != 1)[-2 * _MOST_FAILURES :]

    def find_base(self, first_change: int) -> Failure | None:
        """Return a failure without the change of a window that has all that its last run names, or None."""
        known = (one for one in self.failures if one.is_base or one.finished < first_change)
        return next((one for one in known if one.includes(self.last)), None)


class Scratch(Struct, frozen=True, array_like=True):
    """A file that the session made in the project's root. `writes`: it is code that writes files."""

    path: str
    last: int
    agents: tuple[int, ...]
    has_run: bool = False
    writes: bool = False


class ItemWork(Struct, frozen=True, array_like=True):
    """The files that an agent changed for its item in progress, and the position of the last change.

    `left` is the position of the first change elsewhere, after a green check covered these files.
    """

    key: str
    text: str = ""
    files: tuple[str, ...] = ()
    last: int = 0
    left: int = 0


class Change(NamedTuple):
    """A call that may have changed files. `is_known`: its touches are all that it changed.

    `lineage` is the agent that made it, and those that started it. `turn` is the position of the prompt before it, None
    if an item was open.
    """

    touches: Sequence[Touch]
    position: int
    lineage: tuple[int, ...]
    is_known: bool = True
    turn: int | None = None


class SessionRecord(Struct, frozen=True, omit_defaults=True):
    """The checks and changes of a session. Agents are those that did something, and those that started them."""

    checks: tuple[CheckHistory, ...] = ()
    changes: int = 0
    last_change: Mapping[int, int] = {}
    suspect_edits: tuple[tuple[int, How, str], ...] = ()
    """Changes of tests and of what configures their runners, and commits without hooks."""
    written: Mapping[str, int] = {}
    """The last change of each file by a hash of its path; 0 for one that was run and not written."""
    scratch: tuple[Scratch, ...] = ()
    gone: tuple[str, ...] = ()
    """Hashes of scratch files that were removed again."""
    tool_runs: tuple[int, ...] = ()
    """Runs of scratch files whose code writes others."""
    changed: tuple[str, ...] = ()
    """Hashes of files with changes that are neither committed nor put aside."""
    aside: bool = False
    """Git put changes aside, and no other work has begun since."""
    stash: int = 0
    """The position since which a change is stashed."""
    loose: Mapping[int, tuple[int, int]] = {}
    """By agent the last change while no item was open: the position of its turn, and its own."""
    work: Mapping[int, ItemWork] = {}
    """By agent the work on its item in progress; see `core/grounding/offers.py`."""

    @property
    def is_away(self) -> bool:
        """True while the code is as it is without the change."""
        return self.aside and not self.changed

    def find_last_change(self, agent: int) -> int:
        """Return the position of the last code change of an agent; a scratch file is one while it is there."""
        files = (one.last for one in self.scratch if agent in one.agents)
        return max((self.last_change.get(agent, 0), *files))

    def count_changes(self, since: CheckHistory) -> int:
        """Return the code changes since the last run of a check began."""
        files = sum(one.last > since.last.started for one in self.scratch)
        return max(0, self.changes - since.changes) + files

    @property
    def all_changes(self) -> int:
        return self.changes + len(self.scratch)

    def is_written(self, path: str) -> bool:
        """True if a call of the session wrote a file."""
        return self.written.get(hash_path(path), 0) > 0

    def add_change(self, change: Change) -> SessionRecord:
        """Return the record after a call that may have changed files: what stays is a code change, scratch is not."""
        scratch = {one.path: one for one in self.scratch}
        written, gone = dict(self.written), set(self.gone)
        record, kept = self, list[Touch]()
        for touch in change.touches:
            how, path = touch
            known = scratch.get(path)
            if how == "ran":
                written.setdefault(hash_path(path), 0)
                if known is not None:
                    scratch[path] = replace(known, has_run=True)
                    if known.writes:
                        kept.append(Touch("edited", ""))
                        record = replace(record, tool_runs=(*record.tool_runs, change.position)[-_MOST_SCRATCH:])
            elif how in (*_ASIDE, "committed", "unhooked"):
                record, is_change = record._handle_git(touch, change.position)
                kept += [touch] * is_change
            elif how == "removed" and is_temporary(path):
                record = record._forget_file(path)
            elif how == "removed" and known is None and hash_path(path) in gone:
                continue  # it is gone already
            elif known is not None and how == "removed":
                del scratch[path]
                if known.has_run:
                    gone.add(hash_path(path))
                    record = replace(record, gone=tuple(gone))._forget_file(path)
                else:
                    kept.append(touch)
            else:
                is_unknown = hash_path(path) not in written or hash_path(path) in gone
                # In the project's root; what lies in a temporary folder is no change anyway.
                is_in_root = "/" not in path and not path.startswith(("~", "$"))
                is_script = is_in_root and not is_setup(path) and PROSE.search(path) is None
                is_new = how in _MADE and is_unknown and is_script
                written[hash_path(path)] = change.position
                if known is not None or is_new:
                    has_run, writes = (False, False) if known is None else (known.has_run, known.writes)
                    scratch[path] = Scratch(path, change.position, change.lineage, has_run, writes or how == "tool")
                    gone.discard(hash_path(path))
                elif is_code(path):
                    kept.append(touch)
        record = replace(
            record,
            written=dict(list(written.items())[-_MOST_WRITTEN:]),
            scratch=tuple(scratch.values())[-_MOST_SCRATCH:],
            gone=tuple(gone)[-_MOST_WRITTEN:],
        )
        return record._add_kept(kept, change) if kept or not change.is_known else record

    def _add_kept(self, kept: Sequence[Touch], change: Change) -> SessionRecord:
        others = {agent: at for agent, at in self.last_change.items() if agent not in change.lineage}
        latest = {**others, **dict.fromkeys(change.lineage, change.position)}
        tests = tuple((change.position, how, path) for how, path in kept if _TEST_FILE.search(path) or is_setup(path))
        is_named = change.is_known or any(path == "*" for _, path in kept)
        names = [path for how, path in kept if how not in _ASIDE] + [""] * (not is_named)
        changed = dict.fromkeys((*self.changed, *map(hash_path, names)))
        loose = self.loose
        if change.turn is not None:
            loose = {**loose, **dict.fromkeys(change.lineage, (change.turn, change.position))}
        return replace(
            self,
            changes=self.changes + 1,
            last_change=dict(list(latest.items())[-_MOST_AGENTS:]),
            suspect_edits=(*self.suspect_edits, *tests)[-_MOST_TEST_EDITS:],
            loose=dict(list(loose.items())[-_MOST_AGENTS:]),
            changed=tuple(changed)[-_MOST_WRITTEN:],
            aside=self.aside and not names,
        )

    def _handle_git(self, touch: Touch, position: int) -> tuple[SessionRecord, bool]:
        """Return the record after Git put changes aside, brought them back or committed; True if that is a change."""
        if touch.how == "committed":
            checks = tuple(one for one in self.checks if one.last.name != "git commit")
            return replace(self, checks=checks, changed=(), aside=False), False
        if touch.how == "unhooked":
            edits = (*self.suspect_edits, (position, touch.how, ""))[-_MOST_TEST_EDITS:]
            return replace(self, suspect_edits=edits, changed=(), aside=False), False
        whole = hash_path("")
        if touch.how == "back":
            return replace(self, changed=(whole,), aside=False, stash=0), True
        if touch.path == "*":
            return replace(self, changed=(), aside=True, stash=position), True
        own = {hash_path(touch.path), whole}  # what changed without a name may have been this file
        if not touch.path:
            own.update(self.changed)
        changed = tuple(one for one in self.changed if one not in own)
        is_own = changed != self.changed or (touch.how == "undone" and self.changes > 0)
        return replace(self, changed=changed, aside=self.aside or is_own), True

    def _forget_file(self, path: str) -> SessionRecord:
        """Return the record without the runs of a scratch file, or of tests in it, that was removed."""
        left = {hash_path(path), *self.gone}
        checks = (
            one
            for one in self.checks
            if path != one.last.script and not (one.last.scope and {*map(hash_path, one.last.scope)} <= left)
        )
        return replace(self, checks=tuple(checks))

    def add_run(self, run: CheckRun, lineage: tuple[int, ...], *, changes_since: int) -> SessionRecord:
        """Return the record after a check ended. `changes_since` counts code changes since it began.

        A run while the change is away says how the code is without it, and nothing else. `unknown` is the end of a
        script that went well and says no more: it heals what the same command left.
        """
        changes = self.changes - changes_since
        first = CheckHistory(replace(run, outcome="unknown", tail=""), changes=changes)
        known = next((one for one in self.checks if one.last.key == run.key), first)
        others = tuple(one for one in self.checks if one is not known)
        if run.is_away or (self.stash and self.is_away):
            if run.outcome != "failed":
                return self
            failures = known.add_failure(run, changes, is_base=True)
            return replace(self, checks=_bounded((*others, replace(known, failures=failures))))
        if run.outcome == "unknown":
            is_healed = known.red_for and known.last.options == run.options
            return replace(self, checks=others) if is_healed else self
        if run.outcome == "failed":
            red_for = {**dict.fromkeys(lineage, run.finished), **known.red_for}
            red_changes = {**dict.fromkeys(lineage, changes), **known.red_changes}
            new = CheckHistory(
                run,
                known.passed if known.passed is not None and known.passed.call != run.call else None,
                dict(list(red_for.items())[:_MOST_AGENTS]),
                changes,
                dict(list(red_changes.items())[:_MOST_AGENTS]),
                known.add_failure(run, changes, is_base=self.is_away),
            )
        else:
            healed = tuple(one for one in self.checks if run.includes(one.last))
            past = [one.last.options for one in healed if one.red_for]
            past += [one.passed.healed for one in healed if one.passed and one.passed.healed is not None]
            run = replace(run, healed=next((one for one in past if one != run.options), None))
            run = replace(run, notes=self._find_notes(run, known, healed))
            new = CheckHistory(run, run, changes=changes)
            others = tuple(one for one in others if one not in healed)
        return replace(self, checks=_bounded((*others, new)))

    def _find_notes(
        self, run: CheckRun, known: CheckHistory, healed: Iterable[CheckHistory]
    ) -> tuple[tuple[int, str], ...]:
        """Return what was done to the tests before a pass: since they failed, or since the same run before."""
        reds = [one.red_since for one in healed if one.red_since is not None]
        notes = () if known.passed is None else known.passed.notes
        notes = tuple(note for note in notes if note[1] != _OTHER_OPTIONS or run.healed is not None)
        if reds and run.healed is not None:
            notes += ((run.started, _OTHER_OPTIONS),)
        if self.is_away:
            notes += ((run.started, "the change was taken back"),)
        for at, how, path in self.suspect_edits:
            is_healing = bool(reds) and min(reds) < at
            if at <= run.started and how != "unhooked" and (is_healing or how == "removed" or is_setup(path)):
                notes += ((at, _describe_edit(how, path)),)
        before = known.last.counts
        if run.counts.ran and before.ran > run.counts.ran:
            notes += ((run.started, f"{before.ran} tests before, {run.counts.ran} now"),)
        if before.ran and run.counts.skipped > before.skipped:
            notes += ((run.started, f"{run.counts.skipped - before.skipped} newly skipped"),)
        if run.named and run.script and self.is_written(run.script):
            notes += ((run.started, f"the check was edited ({run.script})"),)
        return tuple(dict.fromkeys(notes))[-_MOST_NOTES:]


def is_setup(path: str) -> bool:
    """True if a file is the configuration of a test runner."""
    return _SETUP_FILE.search(path) is not None


def _describe_edit(how: How, path: str) -> str:
    if path == "snapshots" or path.endswith(".snap") or "__snapshots__" in path:
        return "snapshots were rewritten" + (f" ({path})" if path != "snapshots" else "")
    if how == "removed":
        return f"tests were deleted ({path})"
    edited = "the runner's configuration" if is_setup(path) else "the failing test"
    return f"{edited} was edited ({path})"


NO_RECORD: Final = SessionRecord()


def _bounded(checks: tuple[CheckHistory, ...]) -> tuple[CheckHistory, ...]:
    """Forget the check that passed longest ago, else the one that failed longest ago, where there are too many."""
    if len(checks) <= _MOST_CHECKS:
        return checks
    oldest = min(checks, key=lambda one: (one.red_since is not None, one.last.finished))
    return tuple(one for one in checks if one is not oldest)


def _lies_within(path: str, other: str) -> bool:
    """True if a path is another one, or lies below it. An empty path is the project: no absolute path lies below it."""
    if not other or other == ".":
        return not path.startswith(("/", "~", ".."))
    return path == other or path.startswith((f"{other.rstrip('/')}/", f"{other}::"))


def find_touched(call: ToolCall, project: str) -> list[Touch]:
    """Return the files that a call touched, from the project's folder; what failed has run them, and done no more."""
    touches = call.touches
    if not touches and call.changes:
        touches = tuple(Touch("edited", path) for path in call.files)
    if call.outcome == "failed":
        touches = tuple(touch for touch in touches if touch.how not in ("back", "committed", "unhooked"))
    if not is_done(call):
        made = {path for how, path in touches if how == "ran" or (call.kind == "shell" and is_temporary(path))}
        touches = tuple(one for one in touches if one.how == "ran" or (one.how in _MADE and one.path in made))
    if "No local changes" in call.result:
        touches = tuple(touch for touch in touches if touch != ("away", "*"))
    return [
        Touch(how, path if path == "*" else relative_path(path, project)) for how, path in touches if how != "missing"
    ]


def read_ends(call: ToolCall) -> list[tuple[Check, CheckEnd]]:
    """Return each check of a call with how it came out. What was told later of the only one wins."""
    checks = () if call.check is None else call.check.checks
    told = CheckEnd(call.check_outcome or "unknown")
    if len(call.ends) != len(checks):
        return [(check, told) for check in checks]
    ends = call.ends if len(checks) > 1 else [end._replace(outcome=told.outcome) for end in call.ends]
    return list(zip(checks, ends, strict=True))


def runs_of(call: ToolCall, agent: int, position: int, at: datetime, project: str) -> list[CheckRun]:
    """Return the runs of checks in a call, each with its own outcome.

    A probe proves too little to count, unless it is a script whose output ends in the summary of a known test runner.
    """
    if call.check is None or call.check_outcome is None or call.started is None or call.declined:
        return []
    runs: list[CheckRun] = []
    for check, end in read_ends(call):
        outcome = end.outcome
        heals = outcome == "unknown" and check.is_script and end.ended_well
        is_probe = check.family == "probe" and not check.named
        if (is_probe and not end.has_runner) or not (heals or outcome in ("passed", "failed")):
            continue
        scope = _scope(check, project)
        if end.counts.left_out and not any("!" in path or path.startswith("-") or "::-" in path for path in scope):
            scope = tuple(f"{path}::!deselected" for path in scope) or ("!deselected",)
        folder = relative_path(check.folder, project)
        known = replace(
            check,
            family="test" if is_probe else check.family,
            folder=folder,
            scope=scope,
            script=relative_path(posixpath.join(check.folder, check.script), project) if check.script else "",
            runs=find_deciding(check, project),
        )
        run = CheckRun(
            **asdict(known),
            outcome=outcome,
            started=call.started.order,
            finished=position,
            at=at,
            agent=agent,
            call=call.id,
            command=call.preview,
            tail=call.tail if outcome == "failed" else "",
            counts=end.counts,
            is_away=call.check.is_away,
            is_outside=_is_outside(folder, project),
        )
        runs.append(run)
    return runs


def find_deciding(check: Check, project: str) -> tuple[str, ...]:
    """Return the files that decide what a check runs; a runner's configuration in the project is a remark anyway."""
    paths = [path for path in (check.script, f"{check.program}.py", *check.runs) if path]
    found = [relative_path(posixpath.normpath(posixpath.join(check.folder, path)), project) for path in paths]
    return tuple(path for path in found if path.startswith("/") or not is_setup(path))


def _is_outside(folder: str, project: str) -> bool:
    """True if a folder lies outside the project; where that is not known, an absolute path may be the project's."""
    is_elsewhere = folder.startswith("/") and (bool(project) or is_temporary(folder))
    return is_elsewhere or folder.startswith(("~", "..", "$("))


def _scope(check: Check, project: str) -> tuple[str, ...]:
    paths: set[str] = set()
    for entry in check.scope[:_MOST_PATHS]:
        path, mark, tests = entry.partition("::")
        folder = relative_path(path.removesuffix("...") or ".", project)
        paths.add(f"{folder}::{tests}" if mark and folder else f"{folder}{tests}")
    return () if "" in paths else tuple(sorted(paths))


def name_check(name: str, paths: Sequence[str]) -> str:
    """Return a check with the paths that it was narrowed to, three at most: `pytest tests/test_a.py`."""
    kept = [path.partition("::!")[0] for path in paths if not path.startswith(("-", "!"))]
    return " ".join([name, *[path for path in kept if path not in ("", ".")][:3]])


# The state of a session.


class CheckState(Struct, frozen=True):
    """The last outcome of a check program, and the code changes since it began. `tail` is that of the run."""

    program: str
    family: Family
    outcome: Outcome
    at: datetime
    scope: tuple[str, ...]
    changes_since: int
    command: str = ""
    tail: str = ""
    as_before: int = 0
    """The tests that fail, if the same ones failed without the changes."""
    counts: RunCounts = RunCounts()


class SessionState(Struct, frozen=True):
    """The state of a session, by which check, and how many code changes ago. `done_since` items were done while red."""

    session: str
    state: State
    checks: tuple[CheckState, ...] = ()
    changes: int = 0
    done_since: int = 0

    @property
    def decided_by(self) -> CheckState | None:
        """The check by which the session has its state: the latest that failed, else the latest that passed."""
        failed = [check for check in self.checks if check.outcome == "failed"]
        shown = failed or _strongest(self.checks)
        return max(shown, key=lambda check: check.at, default=None)

    @property
    def changes_since(self) -> int:
        """The code changes since that check; all of them if there was none."""
        check = self.decided_by
        return self.changes if check is None else check.changes_since


def session_state(session: str, record: SessionRecord, done_since: int = 0) -> SessionState:
    """Return the state of a session by its record, the latest check first."""
    histories = sorted(record.checks, key=lambda one: one.last.finished, reverse=True)
    checks = tuple(_state_of(one, record) for one in histories if one.last.outcome != "unknown")
    return SessionState(session, _judge(checks, record.all_changes), checks, record.all_changes, done_since)


def red_since(record: SessionRecord) -> int | None:
    """Return the position since which the session is red, None if it is not."""
    return min((one.red_since for one in record.checks if one.red_since is not None), default=None)


def _judge(checks: tuple[CheckState, ...], changes: int) -> State:
    if any(check.outcome == "failed" for check in checks):
        return "red"
    if not checks:
        return "unchecked" if changes else "idle"
    is_current = any(check.changes_since == 0 for check in _strongest(checks))
    return "green" if is_current else "unchecked"


def _strongest(checks: tuple[CheckState, ...]) -> tuple[CheckState, ...]:
    """Return the tests and builds; the lints where there is neither."""
    return tuple(check for check in checks if check.family in FAMILIES[:2]) or checks


def _state_of(one: CheckHistory, record: SessionRecord) -> CheckState:
    run = one.last
    base = one.find_base(one.failures[-1].started) if one.red_for and one.failures else None
    as_before = 0 if base is None or (base.changes == one.changes and not base.is_base) else run.counts.failed
    since = record.count_changes(one)
    return CheckState(
        run.name, run.family, run.outcome, run.at, run.paths, since, run.command, run.tail, as_before, run.counts
    )

"""Keep the record of a session's checks and code changes, and tell the session's state from it.

The record is bounded: the last runs of each check program in each scope, the number of code changes, and the last one
of each agent. Positions are numbers of events in the log: they order what happened, whatever the clocks say.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.checks.commands import FAMILIES, Check, Family
from punchlist.core.checks.outcome import Outcome
from punchlist.core.grounding.tool_call import ToolCall, relative_path
from punchlist.text.patterns import compile_later

State = Literal["red", "unchecked", "green", "idle"]
STATES: Final[tuple[State, ...]] = ("red", "unchecked", "green", "idle")
"""All states, the worst first."""

_MOST_CHECKS: Final = 64
_MOST_AGENTS: Final = 256
_MOST_TEST_EDITS: Final = 32
_MOST_PATHS: Final = 8
NOBODY: Final[Mapping[int, int]] = {}
_TEST_FILE: Final = compile_later(
    r"(?:^|[/_.-])(?:tests?|specs?)(?:[/_.-]|$)|\w(?:Test|Tests|Spec)\.\w+$", re.IGNORECASE
)


class CheckRun(Struct, frozen=True, omit_defaults=True):
    """One run of a check program. `started` and `finished` are positions; `agent` is the number of the agent."""

    name: str
    family: Family
    outcome: Outcome
    started: int
    finished: int
    at: datetime
    agent: int
    call: str
    command: str = ""
    folder: str = ""
    scope: tuple[str, ...] = ()
    edited_test: str = ""
    """A test file that was edited between the failure and this pass."""
    tail: str = ""
    """The last lines of its output, if it failed."""

    @property
    def key(self) -> tuple[str, str, tuple[str, ...]]:
        return self.name, self.folder, self.scope

    @property
    def paths(self) -> tuple[str, ...]:
        """The scope: the paths that it names, else the folder in which it ran."""
        return tuple(posixpath.normpath(posixpath.join(self.folder, path)) for path in self.scope) or (self.folder,)

    def includes(self, other: CheckRun) -> bool:
        """True if the scope of another run of the same program lies within this one's."""
        return self.name == other.name and all(
            any(_lies_within(path, own) for own in self.paths) for path in other.paths
        )


class CheckHistory(Struct, frozen=True, omit_defaults=True):
    """The runs of one check program in one scope: the last one, the last that passed, and the failures not healed.

    `red_for` are the agents that ran it while it failed, and those that started them, each with the position of the
    first failure that no pass has healed; it is empty if it passed last. `changes` counts the code changes of the
    session before the last run began.
    """

    last: CheckRun
    passed: CheckRun | None = None
    red_for: Mapping[int, int] = NOBODY
    changes: int = 0

    @property
    def red_since(self) -> int | None:
        return min(self.red_for.values(), default=None)


class SessionRecord(Struct, frozen=True, omit_defaults=True):
    """The checks and changes of a session. `last_change` is by agent, and counts for those that started it too."""

    checks: tuple[CheckHistory, ...] = ()
    changes: int = 0
    last_change: Mapping[int, int] = {}
    test_edits: tuple[tuple[int, str], ...] = ()

    def add_change(self, files: Iterable[str], position: int, lineage: tuple[int, ...]) -> SessionRecord:
        """Return the record after a code change. `lineage` is the agent that made it, and those that started it."""
        others = {agent: at for agent, at in self.last_change.items() if agent not in lineage}
        latest = {**others, **dict.fromkeys(lineage, position)}
        tests = tuple((position, path) for path in files if _TEST_FILE.search(path))
        return replace(
            self,
            changes=self.changes + 1,
            last_change=dict(list(latest.items())[-_MOST_AGENTS:]),
            test_edits=(*self.test_edits, *tests)[-_MOST_TEST_EDITS:],
        )

    def add_run(self, run: CheckRun, lineage: tuple[int, ...], *, changes_since: int) -> SessionRecord:
        """Return the record after a check passed or failed. `changes_since` counts code changes since it began."""
        known = next((one for one in self.checks if one.last.key == run.key), None)
        passed = None if known is None or known.passed is None or known.passed.call == run.call else known.passed
        changes = self.changes - changes_since
        if run.outcome == "failed":
            red_for = {**dict.fromkeys(lineage, run.finished), **(NOBODY if known is None else known.red_for)}
            new = CheckHistory(run, passed, dict(list(red_for.items())[:_MOST_AGENTS]), changes)
            healed = (known,)
        else:
            healed = tuple(one for one in self.checks if run.includes(one.last))
            reds = [one.red_since for one in healed if one.red_since is not None]
            edited = (path for at, path in self.test_edits if reds and min(reds) < at < run.started)
            run = replace(run, edited_test=next(edited, ""))
            new = CheckHistory(run, run, changes=changes)
        others = tuple(one for one in self.checks if one not in healed)
        return replace(self, checks=_bounded((*others, new)))


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


def runs_of(call: ToolCall, agent: int, position: int, at: datetime, project: str) -> list[CheckRun]:
    """Return the runs of checks in a call, each with its own outcome. A probe proves too little to count."""
    if call.check is None or call.check_outcome is None or call.started is None:
        return []
    checks = call.check.checks
    outcomes = call.outcomes if len(call.outcomes) == len(checks) else (call.check_outcome,) * len(checks)
    return [
        CheckRun(
            name=check.name,
            family=check.family,
            outcome=outcome,
            started=call.started.order,
            finished=position,
            at=at,
            agent=agent,
            call=call.id,
            command=call.preview,
            folder=relative_path(check.folder, project),
            scope=_scope(check, project),
            tail=call.tail if outcome == "failed" else "",
        )
        for check, outcome in zip(checks, outcomes, strict=True)
        if check.family != "probe" and outcome in ("passed", "failed")
    ]


def _scope(check: Check, project: str) -> tuple[str, ...]:
    paths: set[str] = set()
    for entry in check.scope[:_MOST_PATHS]:
        path, mark, tests = entry.partition("::")
        folder = relative_path(path.removesuffix("...") or ".", project)
        paths.add(f"{folder}::{tests}" if mark and folder else f"{folder}{tests}")
    return () if "" in paths else tuple(sorted(paths))


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
    checks = tuple(_state_of(one, record.changes) for one in histories)
    return SessionState(session, _judge(checks, record.changes), checks, record.changes, done_since)


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


def _state_of(one: CheckHistory, changes: int) -> CheckState:
    run = one.last
    since = changes - one.changes
    return CheckState(run.name, run.family, run.outcome, run.at, run.paths, since, run.command, run.tail)

"""Reports, briefs and costs as values: sessions, Git, what waits, stopped or stalled, each item with its work."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from punchlist.core.grounding.session import CheckRun, SessionState, State
from punchlist.core.grounding.tally import Tally
from punchlist.core.overview import AgentOverview, PersonWait
from punchlist.core.report import Brief, ItemReport, ListNews, Report, Totals
from punchlist.guidance.ledger import NOTHING, Cost, Size
from punchlist.views.brief_groups import BriefGroups, Stopped
from punchlist.views.findings import Silent, finding_words, stall_words
from punchlist.views.list_owners import SessionNames
from punchlist.views.now import WaitView, view_waits


class GitCommit(Struct, frozen=True):
    """A commit."""

    hash: str
    at: datetime
    subject: str


class UncommittedLines(Struct, frozen=True):
    """The lines that are not committed."""

    files: int = 0
    added: int = 0
    removed: int = 0


class GitSummary(Struct, frozen=True):
    """The commits in one project since the work began, the latest first, and the lines that are not committed.

    `complete` is false if Git gave no answer to some question, or not in time.
    """

    project: str
    commits: tuple[GitCommit, ...] = ()
    uncommitted: UncommittedLines = UncommittedLines()
    complete: bool = True


class Around(Struct, frozen=True):
    """The parts of a report or brief that are not about items: Git, agents not at work, the cost.

    `own` are the sessions of the reader's own lists, `agents` all agents of the board. `since` is when the reader last
    looked, None if there was no brief before.
    """

    git: Sequence[GitSummary] = ()
    stopped: Sequence[Stopped] = ()
    stalls: Sequence[Silent] = ()
    tokens: int = 0
    own: frozenset[str] = frozenset()
    agents: Sequence[AgentOverview] = ()
    since: datetime | None = None
    names: SessionNames = SessionNames()


# As programs get them.


class CheckStateView(Struct, frozen=True):
    """The last outcome of a check program, and the code changes since it began."""

    program: str
    family: str
    outcome: str
    at: datetime
    scope: tuple[str, ...]
    changes_since: int
    command: str
    as_before: int
    """The tests that fail, if the same ones failed without the changes; else 0."""
    last_lines: list[str]


class SessionStateView(Struct, frozen=True):
    """The state of a session, by which checks, and how many code changes ago."""

    session: str
    state: State
    changes_since: int
    done_since: int
    checks: tuple[CheckStateView, ...]


class CheckRunView(Struct, frozen=True):
    """The run of a check that decided a grade."""

    name: str
    family: str
    outcome: str
    at: datetime
    command: str
    last_lines: list[str]


class NoticedView(Struct, frozen=True):
    """A finding of a detector, as a sentence."""

    session: str
    agent: str
    detector: str
    seen: str
    at: datetime


class ReportView(Struct, frozen=True, kw_only=True):
    """The state of each session, and for each item its grade, time, work and evidence."""

    state: State
    sessions: tuple[SessionStateView, ...]
    git: tuple[GitSummary, ...]
    waits: tuple[WaitView, ...]
    stopped: tuple[Stopped, ...]
    stalled: tuple[str, ...]
    items: tuple[dict[str, Any], ...]
    elsewhere: tuple[dict[str, Any], ...]
    totals: dict[str, Any]


class BriefView(Struct, frozen=True, kw_only=True):
    """Changes after an event. `until` is the `after` of the next brief."""

    sessions: tuple[SessionStateView, ...]
    git: tuple[GitSummary, ...]
    waits: tuple[WaitView, ...]
    stopped: tuple[Stopped, ...]
    stalled: tuple[str, ...]
    lists: tuple[ListNews, ...]
    noticed: tuple[NoticedView, ...]
    failed: tuple[dict[str, Any], ...]
    doubtful: tuple[dict[str, Any], ...]
    verified: tuple[dict[str, Any], ...]
    confirmed: tuple[dict[str, Any], ...]
    unchecked: tuple[dict[str, Any], ...]
    unjudged: tuple[dict[str, Any], ...]
    under_way: tuple[dict[str, Any], ...]
    calls: int
    failures: int
    active_seconds: float
    layer_tokens: int
    until: int
    groups: BriefGroups
    """The sessions as a person looks at them, one row each."""


def view_report(report: Report, around: Around) -> ReportView:
    """Return a report as programs get it."""
    return ReportView(
        state=report.state,
        sessions=tuple(map(_view_session, report.sessions)),
        **_view_around(around, report.waits),
        items=_view_items(report.items),
        elsewhere=tuple(
            {"session": of.session, "agent": of.agent, "item": of.item, **_view_work(tally)}
            for of, tally in report.elsewhere
        ),
        totals=_view_totals(report.totals),
    )


def view_brief(brief: Brief, groups: BriefGroups, around: Around) -> BriefView:
    """Return a brief as programs get it."""
    return BriefView(
        sessions=tuple(map(_view_session, (*brief.sessions, *brief.red))),
        **_view_around(around, brief.waits),
        lists=brief.lists,
        noticed=tuple(
            NoticedView(
                one.session,
                one.agent,
                one.detector,
                finding_words(one.agent, one.detector, one.subject, one.seen),
                one.at,
            )
            for one in brief.noticed
        ),
        failed=_view_items(brief.failed),
        doubtful=_view_items(brief.doubtful),
        verified=_view_items(brief.verified),
        confirmed=_view_items(brief.confirmed),
        unchecked=_view_items(brief.unchecked),
        unjudged=_view_items(brief.unjudged),
        under_way=_view_items(brief.under_way),
        calls=brief.work.calls,
        failures=brief.work.failures,
        active_seconds=brief.work.active.total_seconds(),
        layer_tokens=around.tokens,
        until=brief.until,
        groups=groups,
    )


def _view_session(one: SessionState) -> SessionStateView:
    checks: list[CheckStateView] = []
    for check in one.checks:
        known = asdict(check)
        del known["counts"]
        checks.append(CheckStateView(last_lines=known.pop("tail").splitlines(), **known))
    return SessionStateView(one.session, one.state, one.changes_since, one.done_since, tuple(checks))


def _view_around(around: Around, waits: Sequence[PersonWait]) -> dict[str, Any]:
    return {
        "git": tuple(around.git),
        "waits": view_waits(waits),
        "stopped": tuple(around.stopped),
        "stalled": tuple(stall_words(around.names.name(one.session, one.agent), one) for one in around.stalls),
    }


def _view_items(entries: Iterable[ItemReport]) -> tuple[dict[str, Any], ...]:
    return tuple(map(_view_item, entries))


def _view_item(entry: ItemReport) -> dict[str, Any]:
    item, of = entry.item, entry.subject
    return {
        "session": of.session,
        "agent": of.agent,
        "plan": of.item.rpartition("/")[0],
        "id": item.id,
        "content": item.content,
        "status": item.status.value,
        "grade": entry.grade,
        "verified_by": entry.check.verified_by if entry.grade == "verified" and entry.check is not None else None,
        "remarks": entry.remarks,
        "check": _view_run(entry.check),
        "own_check": item.check,
        "gone": entry.is_gone,
        "started_at": item.started_at,
        "finished_at": item.finished_at,
        "seconds": None if entry.elapsed is None else entry.elapsed.total_seconds(),
        **_view_work(entry.tally),
        "helpers": entry.helpers,
        "evidence": [
            {
                "text": match.evidence.text,
                "kind": match.kind,
                "seen": match.is_seen,
                "holds": match.holds,
                "call": None if match.call is None else match.call.id,
            }
            for match in entry.evidence
        ],
    }


def _view_run(run: CheckRun | None) -> CheckRunView | None:
    if run is None:
        return None
    return CheckRunView(run.name, run.family, run.outcome, run.at, run.command, run.tail.splitlines())


def _view_work(tally: Tally) -> dict[str, Any]:
    check = tally.last_check
    return {
        "calls": tally.calls,
        "calls_by_kind": tally.kinds,
        "calls_of_children": tally.child_calls,
        "failures": tally.failures,
        "abandoned": tally.abandoned,
        "active_seconds": tally.active.total_seconds(),
        "files": tally.files,
        "last_check": check and {"name": check.name, "family": check.family, "outcome": check.outcome},
    }


def _view_totals(totals: Totals) -> dict[str, Any]:
    return {
        "items": totals.items,
        "completed": totals.completed,
        "cancelled": totals.cancelled,
        "open": totals.open,
        "grades": totals.grades,
        "judged": totals.judged,
        "unjudged": totals.unjudged,
        "calls": totals.calls,
        "failures": totals.failures,
        "active_seconds": totals.active.total_seconds(),
    }


# The cost of the todo layer itself.


class SizeView(Struct, frozen=True):
    """How many texts, their bytes, and an estimate of their tokens."""

    count: int
    bytes: int
    tokens: int


class SaidView(SizeView, frozen=True):
    """The size of all texts that were put before the model, and of each kind of them."""

    by_kind: dict[str, SizeView]


class CostView(Struct, frozen=True, kw_only=True):
    """Tokens that Punchlist itself cost, in one dialect and profile."""

    dialect: str
    profile: str | None
    turns: int
    turns_caused: int
    turns_with_no_other_tool: int
    calls: int
    calls_refused: int
    calls_of_other_tools: int
    share_of_calls: float
    descriptions: SizeView
    said: SaidView
    arguments: SizeView
    replies: SizeView
    withheld: int
    bytes: int
    tokens: int


def view_cost(cost: Cost) -> CostView:
    """Return what one dialect and profile cost."""
    spent, calls, said = cost.spent, cost.calls, said_size(cost)
    by_kind = {kind: _view_size(size) for kind, size in spent.injections.items()}
    return CostView(
        dialect=cost.dialect,
        profile=cost.profile or None,
        turns=spent.turns,
        turns_caused=spent.caused,
        turns_with_no_other_tool=spent.own_turns,
        calls=calls.arguments.count,
        calls_refused=calls.refused,
        calls_of_other_tools=spent.others,
        share_of_calls=round(cost.share, 4),
        descriptions=_view_size(spent.descriptions),
        said=SaidView(said.count, said.bytes, said.tokens, by_kind),
        arguments=_view_size(calls.arguments),
        replies=_view_size(calls.replies),
        withheld=spent.withheld,
        bytes=cost.total.bytes,
        tokens=cost.tokens,
    )


def _view_size(size: Size) -> SizeView:
    return SizeView(size.count, size.bytes, size.tokens)


def said_size(cost: Cost) -> Size:
    """Return the size of all texts that were put before the model, of whatever kind."""
    return sum(cost.spent.injections.values(), NOTHING)

"""What becomes of a report on a tool call: an event, a place among the calls, a count for an item, perhaps a finding.

Everything here runs within a transaction of `Steps`; what can be found out before is found out by `look`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from punchlist.agent.beside import beside
from punchlist.agent.grading import regraded
from punchlist.agent.kept_work import Head, KeptWork, Raised, Stale
from punchlist.agent.silence import Silence
from punchlist.core.events import Draft, Event
from punchlist.core.grounding import Moment, Watch, call_from, end_facts, item_key, start_facts, task_key
from punchlist.core.grounding.watched import Heard, given_up, heard, started_for
from punchlist.core.task import TaskStatus
from punchlist.core.verdict import FINE, Verdict
from punchlist.detect import loops, staleness, stalls
from punchlist.detect.findings import Finding, finding_of
from punchlist.detect.list_rules import over
from punchlist.detect.pace import NO_PACE, Pace
from punchlist.guidance.tools import OwnTools, changes, kind
from punchlist.store import AgentRow, Transaction
from punchlist.text.previews import preview

if TYPE_CHECKING:
    from punchlist.detect.guardrail_options import GuardrailOptions
    from punchlist.detect.list_rules import StalenessOptions
    from punchlist.detect.loop_options import LoopOptions
    from punchlist.detect.rounds import RoundOptions
    from punchlist.detect.stalls import StallOptions, StallState

_AT_WORK: Final = 60.0
"""Seconds within which an item that is worked on need not be noted as such again."""


class Look(NamedTuple):
    """What is seen of a call before it runs, whoever makes it."""

    name: str
    arguments: Any
    changes: bool
    ours: bool
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How an agent is watched."""

    watch: Watch
    loops: LoopOptions
    staleness: StalenessOptions
    host: OwnTools
    stalls: StallOptions | None = None
    guardrail: GuardrailOptions | None = None
    rounds: RoundOptions | None = None


class Watching:
    """Watches one agent, through one handle."""

    def __init__(self, settings: Settings, name: str) -> None:
        self._settings = settings
        self._name = name
        self._kept = KeptWork()
        self.silence = Silence(self._kept, settings.stalls, name)
        self._beside = beside(settings.guardrail, settings.rounds, name)

    @property
    def previews(self) -> int:
        """How many characters are kept of a text."""
        return self._settings.watch.previews

    def begin(self, tx: Transaction, row: AgentRow, now: datetime, pace: Pace = NO_PACE) -> None:
        """The first report on an agent: its list is as it stands, and was written at that pace until now."""
        self.silence.keep_timings(tx, row.number)
        state = staleness.taken_over(staleness.standing(row.state.todos, now), pace)
        self._kept.save_stale(tx, row.number, Stale(state, pace.raised))

    def look(self, name: str, arguments: Any, *, ours: bool) -> Look:
        """Looks at a call; needs no transaction."""
        host = self._settings.host
        changing = not ours and changes(name, arguments, host)
        what = "todo" if ours else kind(name, arguments, host)
        facts = start_facts(name, arguments, kind=what, changes=changing, watch=self._settings.watch)
        return Look(name, arguments, changing, ours, facts)

    def started(self, tx: Transaction, row: AgentRow, call_id: str, seen: Look, now: datetime) -> tuple[str, Verdict]:
        """A call begins: its id, and what is thought of it. The same call again is judged anew and recorded once."""
        head = self._kept.head(tx, row.number)
        watched = head.watched
        if not call_id:
            watched = replace(watched, made=watched.made + 1)
            call_id = f"#{watched.made}"
        state, verdict = head.loops, FINE
        if self._settings.loops.enabled:
            state, verdict = loops.started(state, call_id, seen.name, seen.arguments, options=self._settings.loops)
        item, after = _focus(tx, row, watched.done)
        facts = {"call_id": call_id, **seen.facts, **({"item": item} if item else {"after": after} if after else {})}
        outcome = heard(watched, call_from("tool.started", facts, now, watched.reports + 1))
        drafts = [Draft("tool.started", facts)] if outcome.call is not None else []
        found, raised = _loop_findings(head.raised, verdict, seen.name)
        drafts.extend(found)
        stall = _alive(head.stall, row, now, seen.name) if outcome.call is not None else head.stall
        after_head = Head(outcome.state, state, raised, stall)
        if after_head != head:
            self._kept.save_head(tx, row.number, after_head)
        self._kept.settle(tx, row.number, outcome.settled)
        if outcome.call is not None:
            drafts.extend(self._stale_by_work(tx, row, item, now))
        self._add(tx, row, drafts, now)
        return call_id, verdict

    def ended(
        self,
        tx: Transaction,
        row: AgentRow,
        call_id: str,
        result: Any,
        now: datetime,
        *,
        is_error: bool,
        exit_code: int | None = None,
        name: str = "",
        event: str = "tool.finished",
    ) -> tuple[str, bool]:
        """A call has ended: its id, and whether it failed. Without an id it is the oldest call of that name."""
        head = self._kept.head(tx, row.number)
        call_id = call_id or head.watched.oldest(name)
        if not call_id:
            return "", is_error
        known = head.watched.open.get(call_id)
        facts = end_facts(result, is_error=is_error, exit_code=exit_code, started=known, watch=self._settings.watch)
        data: dict[str, Any] = {"call_id": call_id, "name": name if known is None else known.name, **facts}
        if known is not None and known.started is not None:
            data["seconds"] = round(max(0.0, (now - known.started.at).total_seconds()), 3)
        failed = bool(facts["is_error"])
        outcome = heard(head.watched, call_from(event, data, now, head.watched.reports + 1))
        if outcome.call is None:
            return call_id, failed
        state = head.loops
        if self._settings.loops.enabled:
            state = loops.finished(state, call_id, result, failed, options=self._settings.loops)
        self._kept.save_head(
            tx, row.number, Head(outcome.state, state, head.raised, _alive(head.stall, row, now, data["name"]))
        )
        self._add(tx, row, [Draft(event, data)], now)
        self._settle(tx, row, outcome, now)
        return call_id, failed

    def updated(self, tx: Transaction, row: AgentRow, call_id: str, text: str, now: datetime) -> None:
        """A call that runs says something."""
        head = self._kept.head(tx, row.number)
        known = head.watched.open.get(call_id)
        if known is None or not known.is_open:
            return
        data = {"call_id": call_id, "name": known.name, "preview": preview(text, self._settings.watch.previews)}
        self._add(tx, row, [Draft("tool.updated", {name: value for name, value in data.items() if value})], now)
        self.silence.stirred(tx, row, now, known.name, watched=True)

    def turn_ended(
        self, tx: Transaction, row: AgentRow, now: datetime, draft: Draft | None = None, *, asked: bool = False
    ) -> int:
        """The turn is over: calls that still run are given up, and how many they were. `draft` is said in any case.

        Nobody who is done with a turn is stalled; `asked` says that the next one has begun.
        """
        head = self._kept.head(tx, row.number)
        self.silence.over(tx, row, head.stall, now)
        if asked:
            self.silence.keep_timings(tx, row.number)
            for one in self._beside:
                one.turn_began(tx, row, now)
        watched, settled = given_up(head.watched, Moment(now, head.watched.reports + 1))
        if settled or draft is not None:
            self._add(tx, row, [draft or Draft("turn.ended", {"abandoned": len(settled)})], now)
            watched = replace(watched, reports=watched.reports + 1)
        stall = stalls.submitted(_watch(row, now), now) if asked else head.stall and stalls.ended(head.stall)
        if settled or stall != head.stall:
            self._kept.save_head(tx, row.number, replace(head, watched=watched, stall=stall))
            self._kept.settle(tx, row.number, settled)
        return len(settled)

    def spoke(self, tx: Transaction, row: AgentRow, now: datetime) -> None:
        """The agent said something that people see."""
        head = self._kept.head(tx, row.number)
        stall, resumed = stalls.spoke(head.stall or _watch(row, now), now)
        self._kept.save_head(tx, row.number, replace(head, stall=stall))
        if resumed is not None and head.stall is not None:
            resumed = stalls.over(head.stall, resumed.seen) or resumed
        self._add(tx, row, [] if resumed is None else [Draft(resumed.kind, resumed.data())], now)

    def guarded(
        self, tx: Transaction, row: AgentRow, call_id: str, seen: Look, verdict: Verdict, now: datetime
    ) -> Verdict:
        """What is thought of a call that has begun, all in all."""
        for one in self._beside:
            verdict = one.began(tx, row, call_id, (seen.name, seen.arguments, seen.facts["kind"]), verdict, now)
        return verdict

    def guard_ended(
        self, tx: Transaction, row: AgentRow, call_id: str, result: Any, now: datetime, failed: bool | None
    ) -> None:
        """A call has ended, for those who look on beside the rest."""
        for one in self._beside:
            one.ended(tx, row, call_id, result, now, failed=failed)

    def round_ended(self, tx: Transaction, row: AgentRow, now: datetime) -> None:
        """The agent has said something to its host, and its tools were run."""
        for one in self._beside:
            one.round_ended(tx, row, now, looping=bool(self._kept.head(tx, row.number).raised))

    def compacted(self, tx: Transaction, row: AgentRow) -> None:
        """The agent's context was compacted: its next calls are watched closely."""
        head = self._kept.head(tx, row.number)
        state = loops.compacted(head.loops, options=self._settings.loops)
        if state is not head.loops:
            self._kept.save_head(tx, row.number, replace(head, loops=state))

    def spawned(self, tx: Transaction, row: AgentRow, child: int, named: str) -> str:
        """A child is started, for the item of that key or else for what is in focus: the key of it, if there is one."""
        head = self._kept.head(tx, row.number)
        item = named or _focus(tx, row, "")[0]
        watched = started_for(head.watched, item, child)
        if watched is not head.watched:
            self._kept.save_head(tx, row.number, replace(head, watched=watched))
        return item

    def wrote(self, tx: Transaction, row: AgentRow, drafts: Iterable[Draft], now: datetime, *, by: str) -> None:
        """The list was written; to be called for agents that are watched."""
        drafts = tuple(drafts)
        finished = [draft.data["id"] for draft in drafts if draft.kind == "item.completed"]
        if finished:
            head, key = self._kept.head(tx, row.number), f"{_plan(row, drafts)}/{finished[-1]}"
            if head.watched.done != key:
                self._kept.save_head(tx, row.number, replace(head, watched=replace(head.watched, done=key)))
        events = [_event(row, draft.kind, draft.data, now, by) for draft in drafts]
        self._add(tx, row, self._observe(tx, row, events), now)

    def _settle(self, tx: Transaction, row: AgentRow, outcome: Heard, now: datetime) -> None:
        """Counts what has ended, and looks at the grades that this bears on."""
        if outcome.is_worse:
            self._kept.make_anew(tx, row)
        self._kept.settle(tx, row.number, outcome.settled)
        calls = [settled.call for settled in outcome.settled]
        if outcome.is_worse or any(call.item or call.after for call in calls):
            keys = None if outcome.is_worse else {key for call in calls for key in (call.item, call.after) if key}
            regraded(tx, row, keys, outcome.state.open.values(), now)

    def _stale_by_work(self, tx: Transaction, row: AgentRow, item: str, now: datetime) -> list[Draft]:
        """What a call says about how the list is kept. Work on the one item in progress is not noted every time."""
        plan, _, name = item.partition("/")
        short = name if plan == row.state.todos.plan_id else ""
        stale = self._kept.stale(tx, row.number)
        active = stale.state.active
        if not active:
            return []
        entry = active.get(short)
        fresh = entry is not None and not entry.elsewhere and (now - entry.since).total_seconds() < _AT_WORK
        if fresh and len(active) == 1:
            return []
        return self._observe(tx, row, [_event(row, "tool.started", {"item": short}, now, self._name)])

    def _observe(self, tx: Transaction, row: AgentRow, events: Iterable[Event]) -> list[Draft]:
        stale = self._kept.stale(tx, row.number)
        state, said = stale.state, list[Finding]()
        for event in events:
            state, found = staleness.observed(state, event, self._settings.staleness)
            said.extend(found)
        raised, ended = over(stale.raised, said, lambda known: staleness.holds(state, *known))
        said.extend(ended)
        after = Stale(state, raised)
        if after != stale:
            self._kept.save_stale(tx, row.number, after)
        return [Draft(one.kind, one.data()) for one in said]

    def _add(self, tx: Transaction, row: AgentRow, drafts: list[Draft], now: datetime) -> None:
        if drafts:
            tx.add_events(row, drafts, by=self._name, at=now)


def _loop_findings(raised: Raised, verdict: Verdict, tool: str) -> tuple[list[Draft], Raised]:
    """What is to be said of a verdict, and what still holds: a call that is fine ends what was said before."""
    finding = finding_of(verdict, tool) if verdict.is_news else None
    if finding is not None:
        known = (finding.detector, finding.subject)
        return [Draft(finding.kind, finding.data())], raised if known in raised else (*raised, known)
    if verdict.level != "ok" or not raised:
        return [], raised
    over = [Finding(detector, "ok", "Another call was made.", subject=subject) for detector, subject in raised]
    return [Draft(one.kind, one.data()) for one in over], ()


def _watch(row: AgentRow, now: datetime) -> StallState:
    return stalls.watched(now, row.label or row.name)


def _alive(state: StallState | None, row: AgentRow, now: datetime, name: str) -> StallState:
    """A sign of life that nobody sees, noted once a second at most."""
    state = state or _watch(row, now)
    if state.over:
        state = _watch(row, now)
    elif state.active and not (now - state.alive_at).total_seconds() >= 1:
        return state
    return stalls.active(state, now, name)


def _focus(tx: Transaction, row: AgentRow, done: str) -> tuple[str, str]:
    """The key of what is in focus; else that of the item that was finished last."""
    item = row.state.todos.focus
    if item is not None:
        return item_key(row.state.todos.plan_id, item.id), ""
    tasks = tx.tasks.of_agent(row.number, session=row.session, owner=row.name) if tx.has_tasks else ()
    for one in reversed(tasks):
        if one.task.status is TaskStatus.IN_PROGRESS:
            return task_key(one.list.name, one.task.id), ""
    return "", done


def _plan(row: AgentRow, drafts: Iterable[Draft]) -> str:
    """The plan that these events end in."""
    started = [draft.data["plan_id"] for draft in drafts if draft.kind == "plan.started"]
    return started[-1] if started else row.state.todos.plan_id


def _event(row: AgentRow, kind: str, data: Mapping[str, Any], at: datetime, by: str) -> Event:
    return Event(0, at, kind, by, row.project, row.session, row.name, data)


__all__ = ["Look", "Settings", "Watching"]

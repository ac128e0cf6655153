"""What becomes of a report on a tool call: an event, a place among the calls, a count for an item, perhaps a finding.

Everything here runs within a transaction of `Steps`; what can be found out before is found out by `look`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from punchlist.agent.beside import beside
from punchlist.agent.grading import regraded, regraded_above
from punchlist.agent.kept import Begun, Head, Kept, Over, encode, kept, made_up, report, watch
from punchlist.agent.kept_work import KeptWork, Stale
from punchlist.agent.report_rules import changed_call, event_of, focus_of, loop_findings, plan_of, still_alive
from punchlist.agent.silence import Silence
from punchlist.core.events import Draft, Event
from punchlist.core.grounding import Moment, Watch, end_facts, start_facts
from punchlist.core.grounding.calls import End
from punchlist.core.grounding.watched import Heard, given, given_up, heard_end, started_for
from punchlist.core.grounding.work import TURN_ENDS
from punchlist.core.verdict import FINE, Verdict
from punchlist.detect import loops, staleness, stalls
from punchlist.detect.findings import Finding
from punchlist.detect.list_rules import over
from punchlist.detect.pace import NO_PACE, Pace
from punchlist.guidance.tools import OwnTools, seen_as
from punchlist.store import AgentRow, Transaction
from punchlist.text.flat import flat
from punchlist.text.previews import passage, preview

if TYPE_CHECKING:
    from punchlist.detect.guardrail_options import GuardrailOptions
    from punchlist.detect.list_rules import StalenessOptions
    from punchlist.detect.loop_options import LoopOptions
    from punchlist.detect.rounds import RoundOptions
    from punchlist.detect.stalls import StallOptions

_AT_WORK: Final = 60.0
"""Seconds within which an item that is worked on need not be noted as such again."""

_NO_TURN: Final = frozenset({"", "agent.joined", *TURN_ENDS})


class Look(NamedTuple):
    """What is seen of a call before it runs, whoever makes it."""

    name: str
    arguments: Any
    changes: bool
    ours: bool
    facts: Mapping[str, Any]
    flat: bytes | None


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

    def preview(self, text: str) -> str:
        """What is kept of a text."""
        watch = self._settings.watch
        return preview(text, watch.previews, own=watch.secrets)

    def said(self, text: str) -> dict[str, str]:
        """What is kept of a text that people see: a line, and all of it where that is more."""
        watch = self._settings.watch
        if not watch.previews:
            return {}
        line, whole = self.preview(text), passage(text, own=watch.secrets)
        return {"preview": line} | ({"text": whole} if whole != line else {})

    def begin(self, tx: Transaction, row: AgentRow, now: datetime, pace: Pace = NO_PACE) -> None:
        """The first report on an agent: its list is as it stands, and was written at that pace until now."""
        self.silence.keep_timings(tx, row.number)
        state = staleness.taken_over(staleness.standing(row.state.todos, now), pace)
        self._kept.save_stale(tx, row.number, Stale(state, pace.raised))

    def look(self, name: str, arguments: Any, *, ours: bool) -> Look:
        """Looks at a call; needs no transaction."""
        what, changing, touches = ("todo", False, False) if ours else seen_as(name, arguments, self._settings.host)
        known = flat(arguments)
        facts = start_facts(name, arguments, kind=what, changes=touches, watch=self._settings.watch, known=known)
        return Look(name, arguments, changing, ours, facts, None if known is None else known.json)

    def started(self, tx: Transaction, row: AgentRow, call_id: str, seen: Look, now: datetime) -> tuple[str, Verdict]:
        """A call begins: its id, and what is thought of it. The same call again is judged anew and recorded once."""
        known, made = kept(tx, row.number), not call_id
        head = known.head
        watched = made_up(head.watched) if made else head.watched
        call_id = given(call_id) if call_id else f"#{watched.made}"
        if not made and known.is_past(tx, call_id):
            return call_id, FINE
        state, verdict = head.loops, FINE
        if self._settings.loops.enabled:
            state, verdict = loops.started(
                state, call_id, seen.name, seen.arguments, options=self._settings.loops, flat=seen.flat
            )
        item, after = focus_of(tx, row, watched.done)
        facts = {"call_id": call_id, **seen.facts, **({"item": item} if item else {"after": after} if after else {})}
        outcome = report(watched, "tool.started", facts, now)
        drafts = [Draft("tool.started", facts)] if outcome.call is not None else []
        found, raised = loop_findings(head.raised, verdict, seen.name)
        drafts.extend(found)
        stall = still_alive(head.stall, row, now, seen.name) if outcome.call is not None else head.stall
        hint = None
        same = raised is head.raised and state.warned is head.loops.warned and state.held is head.loops.held
        if same and self._is_plain(known, outcome):
            new = state.calls[-1] if state.calls is not head.loops.calls else None
            room = self._settings.loops.history_size
            hint = encode(Begun(seen.name, seen.changes, seen.ours, made, room, new))
        if outcome.call is not None:
            drafts.extend(self._stale_by_work(tx, row, item, now))
        self._report(tx, row, known, Head(outcome.state, state, raised, stall), outcome, drafts, now, hint)
        return call_id, verdict

    def ended(
        self,
        tx: Transaction,
        row: AgentRow,
        call_id: str,
        result: Any,
        now: datetime,
        *,
        is_error: bool | None,
        exit_code: int | None = None,
        name: str = "",
        event: str = "tool.finished",
        writes: int = 0,
    ) -> tuple[str, bool]:
        """A call has ended: its id, and whether it failed. Without an id it is the oldest call of that name.

        `writes` is how often the list was written so far.
        """
        known = kept(tx, row.number)
        head = known.head
        call_id = given(call_id) if call_id else head.watched.oldest(name)
        if not call_id or known.is_past(tx, call_id):
            return call_id, bool(is_error)
        begun = head.watched.open.get(call_id)
        facts = end_facts(result, is_error=is_error, exit_code=exit_code, started=begun, watch=self._settings.watch)
        data: dict[str, Any] = {"call_id": call_id, "name": name if begun is None else begun.name, **facts}
        if begun is not None and begun.started is not None:
            data["seconds"] = round(max(0.0, (now - begun.started.at).total_seconds()), 3)
        failed = bool(facts["is_error"])
        if begun is not None and begun.is_open and begun.started is not None:
            at = Moment(now, head.watched.reports + 1)
            end = End(at, "failed" if failed else "ok", facts.get("check_outcome"), facts.get("result", ""))
            outcome = heard_end(head.watched, begun, end)
        else:
            outcome = report(head.watched, event, data, now)
        if outcome.call is None:
            return call_id, failed
        state = head.loops
        if self._settings.loops.enabled:
            state = loops.finished(state, call_id, result, failed, options=self._settings.loops)
        stall, hint = still_alive(head.stall, row, now, data["name"]), None
        same = state.guard is head.loops.guard and state.held is head.loops.held
        if same and self._is_plain(known, outcome):
            hint = encode(Over(writes, changed_call(head.loops.calls, state.calls)))
        after = Head(outcome.state, state, head.raised, stall)
        self._report(tx, row, known, after, outcome, [Draft(event, data)], now, hint)
        self._regrade(tx, row, outcome, now)
        return call_id, failed

    @staticmethod
    def _is_plain(known: Kept, outcome: Heard) -> bool:
        """Whether a report may be stored as its event and a hint alone: what else it does, `Kept.take_in` does too."""
        stall = known.head.stall
        if known.is_due or outcome.call is None or outcome.is_worse or stall is None or stall.over:
            return False
        return len(outcome.settled) < 2

    def _report(
        self,
        tx: Transaction,
        row: AgentRow,
        known: Kept,
        head: Head,
        outcome: Heard,
        drafts: list[Draft],
        now: datetime,
        hint: bytes | None,
    ) -> None:
        """Puts in what a report comes to. One without a hint is written at once."""
        if drafts:
            known.upto = tx.add_events(row, drafts, by=self._name, at=now, hint=hint)
        for before, call in outcome.settled:
            known.count(tx, before, call)
        if hint is not None:
            known.behind += 1
        elif outcome.settled or head != known.head:
            known.is_due = True
        known.head = head

    def updated(
        self, tx: Transaction, row: AgentRow, call_id: str, text: str, now: datetime, *, name: str = ""
    ) -> None:
        """A call that runs says something. Without an id it is the oldest call of that name."""
        head = self._kept.head(tx, row.number)
        call_id = given(call_id) if call_id else head.watched.oldest(name)
        known = head.watched.open.get(call_id)
        if known is None or not known.is_open:
            return
        data = {"call_id": call_id, "name": known.name, "preview": self.preview(text)}
        self._add(tx, row, [Draft("tool.updated", {name: value for name, value in data.items() if value})], now)
        self.silence.stirred(tx, row, now, known.name, watched=True)

    def turn_ended(
        self, tx: Transaction, row: AgentRow, now: datetime, draft: Draft | None = None, *, asked: bool = False
    ) -> int:
        """The turn is over: calls that still run are given up, and how many they were. `draft` is said in any case.

        A turn in which nothing happened is none: who stops, and is then spoken to, has ended one turn.

        Nobody who is done with a turn is stalled; `asked` says that the next one has begun.
        """
        head = self._kept.head(tx, row.number)
        self.silence.over(tx, row, head.stall, now)
        if asked:
            self.silence.keep_timings(tx, row.number)
            for one in self._beside:
                one.turn_began(tx, row, now)
        watched, settled = given_up(head.watched, Moment(now, head.watched.reports + 1))
        if settled or draft is not None or self.went_on(tx, row):
            self._add(tx, row, [draft or Draft("turn.ended", {"abandoned": len(settled)})], now)
            watched = replace(watched, reports=watched.reports + 1)
        stall = stalls.submitted(watch(row, now), now) if asked else head.stall and stalls.ended(head.stall)
        if settled or stall != head.stall:
            self._kept.save_head(tx, row.number, replace(head, watched=watched, stall=stall))
            self._kept.settle(tx, row.number, settled)
        return len(settled)

    @staticmethod
    def went_on(tx: Transaction, row: AgentRow) -> bool:
        """Whether anything happened to the agent since its last turn ended."""
        return tx.work.last_kind(row.number) not in _NO_TURN

    def spoke(self, tx: Transaction, row: AgentRow, now: datetime) -> None:
        """The agent said something that people see."""
        head = self._kept.head(tx, row.number)
        stall, resumed = stalls.spoke(head.stall or watch(row, now), now)
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
        item = named or focus_of(tx, row, "")[0]
        watched = started_for(head.watched, item, child)
        if watched is not head.watched:
            self._kept.save_head(tx, row.number, replace(head, watched=watched))
        return item

    def wrote(self, tx: Transaction, row: AgentRow, drafts: Iterable[Draft], now: datetime, *, by: str) -> None:
        """The list was written; to be called for agents that are watched."""
        drafts = tuple(drafts)
        finished = [draft.data["id"] for draft in drafts if draft.kind == "item.completed"]
        if finished:
            head, key = self._kept.head(tx, row.number), f"{plan_of(row, drafts)}/{finished[-1]}"
            if head.watched.done != key:
                self._kept.save_head(tx, row.number, replace(head, watched=replace(head.watched, done=key)))
        events = [event_of(row, draft.kind, draft.data, now, by) for draft in drafts]
        self._add(tx, row, self._observe(tx, row, events), now)

    def _regrade(self, tx: Transaction, row: AgentRow, outcome: Heard, now: datetime) -> None:
        """Looks at the grades that what has ended bears on."""
        if outcome.is_worse:
            self._kept.make_anew(tx, row)
            regraded(tx, row, None, outcome.state.open.values(), now)
            return
        keys = {key for settled in outcome.settled for key in (settled.call.item, settled.call.after) if key}
        if keys:
            regraded(tx, row, keys, outcome.state.open.values(), now)
        if row.parent is not None and outcome.settled:
            regraded_above(tx, row, now)

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
        return self._observe(tx, row, [event_of(row, "tool.started", {"item": short}, now, self._name)])

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


__all__ = ["Look", "Settings", "Watching"]

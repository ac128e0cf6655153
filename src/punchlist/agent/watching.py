"""What becomes of a report on a tool call: an event, a place among the calls, a count for an item, perhaps a finding.

Everything here runs within a transaction of `Steps`; what can be found out before is found out by `look`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import Struct

from punchlist.agent.beside import beside
from punchlist.agent.grading import regraded, regraded_above
from punchlist.agent.ids_again import id_in_use
from punchlist.agent.kept import Begun, Kept, Over, encode, kept, watch
from punchlist.agent.kept_work import make_anew
from punchlist.agent.report_rules import begin_run, event_of, loop_findings, plan_of, still_alive, task_in_focus
from punchlist.agent.silence import Silence
from punchlist.agent.standing import Standing
from punchlist.agent.upkeep import Upkeep
from punchlist.core.checks import running_outcome
from punchlist.core.events import Draft
from punchlist.core.grounding import Moment, ToolCall, Watch, call_from, end_facts, is_task, start_facts
from punchlist.core.grounding.calls import begun
from punchlist.core.grounding.grades import stays
from punchlist.core.grounding.watched import NEWS, Heard, given
from punchlist.core.grounding.work import TURN_ENDS
from punchlist.core.todo import TodoItem, TodoList
from punchlist.detect import stalls
from punchlist.detect.findings import FINE, Verdict
from punchlist.detect.pace import NO_PACE, Pace
from punchlist.guidance.tools import OwnTools, seen_as
from punchlist.store import AgentRow, Transaction
from punchlist.text.arguments import as_object
from punchlist.text.flat import flat
from punchlist.text.previews import passage, preview

if TYPE_CHECKING:
    from punchlist.detect.guardrail_options import GuardrailOptions
    from punchlist.detect.list_rules import StalenessOptions
    from punchlist.detect.loop_options import LoopOptions
    from punchlist.detect.rounds import RoundOptions
    from punchlist.detect.stalls import StallOptions

_NO_TURN: Final = frozenset({"", "agent.joined", *TURN_ENDS})


class Look(NamedTuple):
    """What is seen of a call before it runs, whoever makes it."""

    name: str
    arguments: Any
    changes: bool
    ours: bool
    facts: Mapping[str, Any]
    flat: bytes | None


class Settings(Struct, frozen=True, kw_only=True):
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
        self._upkeep = Upkeep(settings.staleness, name)
        self._standing = Standing(TodoList())
        self.silence = Silence(settings.stalls, name)
        self.beside = beside(settings.guardrail, settings.rounds, name)

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
        self._upkeep.begin(tx, row, now, pace)

    def look(self, name: str, arguments: Any, *, ours: bool) -> Look:
        """Looks at a call; needs no transaction. For the loop detector its arguments are what the host gave."""
        read = as_object(arguments) if type(arguments) is str else arguments
        what, changing, touches = ("todo", False, False) if ours else seen_as(name, read, self._settings.host)
        known = flat(read)
        facts = start_facts(name, read, kind=what, changes=touches, watch=self._settings.watch, known=known)
        return Look(name, arguments, changing, ours, facts, known.json if known and read is arguments else None)

    def standing(self, todos: TodoList) -> Standing:
        """What is to be known of a list."""
        if self._standing.todos is not todos:
            self._standing = Standing(todos)
        return self._standing

    def started(
        self, tx: Transaction, row: AgentRow, known: Kept, call_id: str, seen: Look, now: datetime, item: str
    ) -> tuple[str, Verdict]:
        """A call begins: its id, and what is thought of it. The same call again is judged anew and recorded once.

        `item` is the key of what was in focus then.
        """
        made, watcher, window = not call_id, known.watcher, known.window
        call_id = watcher.make_id() if made else given(call_id)
        if not made and (call_id in watcher.open or call_id in watcher.ended or known.is_past(tx, call_id)):
            call_id = id_in_use(tx, known, call_id, seen.facts)
            if known.is_past(tx, call_id):
                return call_id, FINE
        raised, warned, held, guard = known.raised, window.warned, window.held, window.guard
        verdict, recorded, options = FINE, None, self._settings.loops
        if options.enabled:
            verdict, recorded = window.started(call_id, seen.name, seen.arguments, options=options, flat=seen.flat)
        facts = {"call_id": call_id, **seen.facts}
        if item:
            facts["item"] = item
        elif watcher.done:
            facts["after"] = watcher.done
        outcome = watcher.heard(self._begun(facts, now, watcher.reports + 1))
        drafts: list[Draft] = []
        if raised or verdict.is_news:
            drafts, known.raised = loop_findings(raised, verdict, seen.name)
        is_same = known.raised is raised and window.warned is warned and window.held is held and window.guard is guard
        hint = None
        if is_same and _is_plain(known, outcome):
            hint = encode(Begun(seen.name, seen.changes, seen.ours, made, options.history_size, recorded))
        elif not is_same or outcome.is_news or recorded is not None:
            known.is_due = True
        if outcome.is_news:
            if hint is None:
                self.silence.again(tx, row, known.stall, now)
            known.stall = still_alive(known.stall, row, now, seen.name)
            drafts += self._upkeep.worked(tx, row, self.standing(row.state.todos).focus, now)
            self._report(tx, row, known, "tool.started", facts, now, hint)
            known.begun(call_id, facts)
        self._add(tx, row, drafts, now)
        if outcome.settled:
            known.count(tx, outcome.settled)
            self._regrade(tx, row, known, [call for _, call in outcome.settled], now, failed=True)
        return call_id, verdict

    @staticmethod
    def _begun(facts: dict[str, Any], now: datetime, order: int) -> ToolCall:
        """A call that begins."""
        return call_from("tool.started", facts, now, order) if "check" in facts else begun(facts, Moment(now, order))

    def focus(self, tx: Transaction, row: AgentRow) -> str:
        """The key of the item, or else of the task, that is in focus."""
        return self.standing(row.state.todos).key or task_in_focus(tx, row)

    def ended(
        self,
        tx: Transaction,
        row: AgentRow,
        known: Kept,
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
        watcher, window = known.watcher, known.window
        call_id = watcher.meant(given(call_id)) if call_id else watcher.oldest(name)
        if not call_id or known.is_past(tx, call_id):
            return call_id, bool(is_error)
        running = watcher.open.get(call_id)
        facts = end_facts(result, is_error=is_error, exit_code=exit_code, started=running, watch=self._settings.watch)
        data: dict[str, Any] = {"call_id": call_id, "name": name if running is None else running.name, **facts}
        if running is not None and running.started is not None:
            data["seconds"] = round(max(0.0, (now - running.started.at).total_seconds()), 3)
        failed = bool(facts["is_error"])
        if running is not None and running.outcome == "running" and running.started is not None:
            outcome, settled = NEWS, [running]
            watcher.is_over(call_id, failed=failed)
            known.count_end(tx, running, Moment(now, watcher.reports), data)
        else:
            outcome = watcher.heard(call_from(event, data, now, watcher.reports + 1))
            settled = [call for _, call in outcome.settled]
            known.count(tx, outcome.settled)
        if not outcome.is_news:
            return call_id, failed
        guard, held, call, hint = window.guard, window.held, None, None
        if self._settings.loops.enabled:
            call = window.finished(call_id, result, failed, options=self._settings.loops)
        if window.guard is guard and window.held is held and _is_plain(known, outcome):
            hint = encode(Over(writes, call))
        else:
            known.is_due = True
            self.silence.again(tx, row, known.stall, now)
        known.stall = still_alive(known.stall, row, now, data["name"])
        self._report(tx, row, known, event, data, now, hint)
        if outcome.is_worse:
            make_anew(tx, row)
            regraded(tx, row, None, watcher.open.values(), now)
        else:
            self._regrade(tx, row, known, settled, now, failed=failed)
        return call_id, failed

    def _report(
        self,
        tx: Transaction,
        row: AgentRow,
        known: Kept,
        event: str,
        facts: Mapping[str, Any],
        now: datetime,
        hint: bytes | None,
    ) -> None:
        """Adds the event of a report. What one without a hint has changed is written at once."""
        if hint is None:
            known.upto = tx.add_events(row, [Draft(event, dict(facts))], by=self._name, at=now)
        else:
            known.upto = tx.add_report(row, event, facts, by=self._name, at=now, hint=hint)
            known.behind += 1

    def updated(
        self, tx: Transaction, row: AgentRow, call_id: str, text: str, now: datetime, *, name: str = ""
    ) -> None:
        """A call that runs says something. Without an id it is the oldest call of that name."""
        about = kept(tx, row.number)
        watcher = about.watcher
        call_id = watcher.meant(given(call_id)) if call_id else watcher.oldest(name)
        known = watcher.open.get(call_id)
        if known is None or not known.is_open:
            return
        data = {"call_id": call_id, "name": known.name, "preview": self.preview(text)}
        self._add(tx, row, [Draft("tool.updated", {name: value for name, value in data.items() if value})], now)
        if known.check is not None and watcher.told(known, running_outcome(known.check, text)):
            about.write(tx)
        self.silence.stirred(tx, row, now, known.name, watched=True)

    def turn_ended(
        self, tx: Transaction, row: AgentRow, now: datetime, draft: Draft | None = None, *, asked: bool = False
    ) -> int:
        """The turn is over: calls that still run are given up, and how many they were. `draft` is said in any case.

        A turn in which nothing happened is none: who stops, and is then spoken to, has ended one turn.

        Nobody who is done with a turn is stalled; `asked` says that the next one has begun.
        """
        known = kept(tx, row.number)
        watcher = known.watcher
        is_turn = draft is not None or self.went_on(tx, row)
        self.silence.over(tx, row, known.stall, now)
        self._add(tx, row, self._upkeep.calm(tx, row), now)
        if asked:
            self.silence.keep_timings(tx, row.number)
            for one in self.beside:
                one.turn_began(tx, row, now)
        over, anew = begin_run(known) if asked else ([], False)
        self._add(tx, row, over, now)
        settled = watcher.left_open(Moment(now, watcher.reports + 1))
        is_turn = is_turn or bool(settled)
        if is_turn:
            self._add(tx, row, [draft or Draft("turn.ended", {"abandoned": len(settled)})], now)
        stall = stalls.submitted(watch(row, now), now) if asked else known.stall and stalls.ended(known.stall)
        if settled or anew or stall != known.stall:
            watcher.reports += is_turn
            watcher.give_up(settled)
            known.count(tx, settled)
            known.stall = stall
            known.write(tx)
            self._regrade(tx, row, known, [call for _, call in settled], now, failed=True)
        return len(settled)

    @staticmethod
    def went_on(tx: Transaction, row: AgentRow) -> bool:
        """Whether anything happened to the agent since its last turn ended."""
        return tx.work.last_kind(row.number) not in _NO_TURN

    def spoke(self, tx: Transaction, row: AgentRow, now: datetime) -> None:
        """The agent said something that people see."""
        known = kept(tx, row.number)
        before = known.stall
        known.stall, resumed = stalls.spoke(before or watch(row, now), now)
        known.write(tx)
        over = None if before is None else stalls.over(before, f"{before.label} resumed output.")
        self._add(tx, row, [Draft(one.kind, one.data()) for one in (over or resumed,) if one is not None], now)

    def guarded(
        self, tx: Transaction, row: AgentRow, call_id: str, seen: Look, verdict: Verdict, now: datetime
    ) -> Verdict:
        """What is thought of a call that has begun, all in all."""
        for one in self.beside:
            verdict = one.began(tx, row, call_id, (seen.name, seen.arguments, seen.facts["kind"]), verdict, now)
        return verdict

    def guard_ended(
        self, tx: Transaction, row: AgentRow, call_id: str, result: Any, now: datetime, failed: bool | None
    ) -> None:
        """A call has ended, for those who look on beside the rest."""
        for one in self.beside:
            one.ended(tx, row, call_id, result, now, failed=failed)

    def round_ended(self, tx: Transaction, row: AgentRow, now: datetime) -> None:
        """The agent has said something to its host, and its tools were run."""
        for one in self.beside:
            one.round_ended(tx, row, now, looping=bool(kept(tx, row.number).raised))

    def compacted(self, tx: Transaction, row: AgentRow) -> None:
        """The agent's context was compacted: its next calls are watched closely."""
        known = kept(tx, row.number)
        if known.window.compacted(options=self._settings.loops):
            known.write(tx)

    def spawned(self, tx: Transaction, row: AgentRow, child: int, named: str) -> str:
        """A child is started, for the item of that key or else for what is in focus: the key of it, if there is one."""
        known, item = kept(tx, row.number), named or self.focus(tx, row)
        if known.watcher.started_for(item, child):
            known.write(tx)
        return item

    def wrote(self, tx: Transaction, row: AgentRow, drafts: Iterable[Draft], now: datetime, *, by: str) -> None:
        """The list was written; to be called for agents that are watched."""
        drafts = tuple(drafts)
        finished = [draft.data["id"] for draft in drafts if draft.kind == "item.completed"]
        if finished:
            kept(tx, row.number).finished(tx, f"{plan_of(row, drafts)}/{finished[-1]}")
        events = [event_of(row, draft.kind, draft.data, now, by) for draft in drafts]
        self._add(tx, row, self._upkeep.observed(tx, row, events), now)

    def called(self, tx: Transaction, row: AgentRow, now: datetime) -> None:
        """The todo tool was called, and wrote nothing; to be called for agents that are watched."""
        self._add(tx, row, self._upkeep.called(tx, row, now), now)

    def _regrade(
        self, tx: Transaction, row: AgentRow, known: Kept, calls: Sequence[ToolCall], now: datetime, *, failed: bool
    ) -> None:
        """Looks at the grades that these calls, which have ended, bear on."""
        graded = self.standing(row.state.todos).graded
        keys: list[str] = []
        for call in calls:
            for key in (call.item, call.after):
                if key in graded:
                    if not _stays(graded[key], call, failed=failed, later=key == call.after):
                        keys.append(key)
                elif key and is_task(key):
                    keys.append(key)
        if keys:
            regraded(tx, row, keys, known.watcher.open.values(), now)
        if row.parent is not None and calls:
            regraded_above(tx, row, now)

    def _add(self, tx: Transaction, row: AgentRow, drafts: list[Draft], now: datetime) -> None:
        if drafts:
            tx.add_events(row, drafts, by=self._name, at=now)


def _is_plain(known: Kept, outcome: Heard) -> bool:
    """Whether a report may be stored as its event and a hint alone: what else it does, `Kept.take_in` does too."""
    stall = known.stall
    if known.is_due or not outcome.is_news or outcome.is_worse or stall is None or stall.over:
        return False
    return len(outcome.settled) < 2


def _stays(item: TodoItem, call: ToolCall, *, failed: bool, later: bool) -> bool:
    """Whether a call that has ended leaves an item's grade as it is; it may be the very one that stands as evidence."""
    return item.grade is not None and not item.evidence and stays(item.grade, call, failed=failed, later=later)


__all__ = ["Look", "Settings", "Watching"]

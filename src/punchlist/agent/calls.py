"""The model's calls: parsed by the dialect, decided by core, committed, and only then answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from hashlib import blake2b
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import msgspec

from punchlist.agent.once import once
from punchlist.agent.plans import answer_plan_call
from punchlist.agent.turns import Turns
from punchlist.core.apply import Applied, apply
from punchlist.core.commands import Command, Elsewhere, Problem, Query, Repeat, Replace
from punchlist.core.events import Draft
from punchlist.core.flow import FlowCommand
from punchlist.core.task import TaskCommand
from punchlist.core.todo import ListState, TodoList
from punchlist.dialects.base import Invalid, Reply, Result, reply_invalid, reply_unknown_tool
from punchlist.flows.model_calls import FlowModelCall
from punchlist.store import AgentRow, Transaction
from punchlist.store.rows import StoredCall
from punchlist.tasks.model_calls import TaskModelCall
from punchlist.text import repair

if TYPE_CHECKING:
    from punchlist.agent.grading import Judging
    from punchlist.detect.list_rules import StalenessOptions
    from punchlist.guidance.ledger import Size
    from punchlist.guidance.tally import Tally

Decide = Callable[[Transaction, AgentRow, datetime], tuple[Reply, bool]]
"""Gives the reply, and says whether something changed."""

_encode = msgspec.json.Encoder(order="deterministic").encode
_decode_reply = msgspec.json.Decoder(Reply).decode


class Calls(Turns):
    """Answers the model."""

    def call(self, name: str, args: Any = None, *, call_id: str | None = None) -> Reply:
        """Answers a tool call. Bad input gets an error reply; only a store that cannot write raises.

        The same `call_id` again gets the first reply again, and nothing is applied twice.
        """
        arguments = self._accounts.size(args)
        decide, reads, task_list = self._deciding(name, args, arguments)
        if decide is None:
            self._alive()
            return reply_unknown_tool(self.tools, str(name))
        call_id = None if call_id is None else repair(str(call_id))
        fingerprint = b"" if call_id is None else fingerprint_of(f"{self.dialect}/{name}", args)
        durable = call_id is not None or not reads  # a read leaves nothing but a count
        changed = False

        def work(tx: Transaction) -> Reply:
            nonlocal changed
            now = self.board.now()
            row = self._stirred(tx, self._joined(tx, now), now)
            if call_id is not None and (stored := tx.call(row, call_id)) is not None:
                if stored.reply or not self._dialect.has_tool(name):
                    return _replayed(stored, fingerprint, call_id)
                reply = self._seen_late(tx, row, stored, (name, args, call_id), now)
                tx.save_call(row, call_id, encode_call(fingerprint, reply), at=now)
                return reply
            reply, changed = decide(tx, row, now)
            if call_id is not None:
                tx.save_call(row, call_id, encode_call(fingerprint, reply), at=now)
            return reply

        transact = partial(self.board.store.transact, work, durable=durable)
        while True:
            try:
                reply = transact() if task_list is None else self.board.change_tasks(task_list, transact)
                break
            except Repeat as repeat:
                repeat.meanwhile()
        if changed and self._dialect.layer == "todos":
            self._changed()
        return reply

    def _stirred(self, tx: Transaction, row: AgentRow, now: datetime) -> AgentRow:
        """The agent's row after a call, which is the first sign of life of an agent whose tools nobody reports."""
        if not self._accounts.tally(row.ledger).awaited:
            return row
        ledger = self._accounts.awaiting(row.ledger, False)
        tx.save_ledger(row, ledger)
        self._watching.silence.stirred(tx, row, now, "todo", watched=False)
        return row._replace(ledger=ledger)

    def _deciding(self, name: str, args: Any, arguments: Size) -> tuple[Decide | None, bool, str | None]:
        """Return the function that answers the call, True if it only reads, and the list of tasks that it may change.

        A tool that this handle does not offer has no such function.
        """
        if self.offered and self._dialect.has_tool(name):
            parsed = self._dialect.parse(name, args)
            if not isinstance(parsed, Elsewhere):
                return partial(self._answer, parsed, arguments), isinstance(parsed, Query), None
            if self._dialect.layer == "flows":
                flow_call = FlowModelCall(
                    cast("FlowCommand", parsed), name=self.name, session=self.session, render=self._dialect.render
                )
                return self._accounted(flow_call.decide, arguments), parsed.reads, None
            if parsed.reads:
                self.board.tasks_wanted(self.task_list)
            task_call = TaskModelCall(
                cast("TaskCommand", parsed),
                self.task_list,
                by=self.name,
                grades=self._grading,
                gates=self.board.gates,
                render=self._dialect.render,
            )
            return self._accounted(task_call.decide, arguments), parsed.reads, None if parsed.reads else self.task_list
        if self._planning is not None and self._planning.has_tool(name):
            return self._accounted(answer_plan_call(self._planning, name, args, by=self.name), arguments), False, None
        return None, False, None

    def _accounted(self, decide: Decide, arguments: Size) -> Decide:
        """The same, with the call added to the ledger; for what does not write the list itself."""

        def work(tx: Transaction, row: AgentRow, now: datetime) -> tuple[Reply, bool]:
            reply, changed = decide(tx, row, now)
            tally = self._accounts.tally(row.ledger)
            tx.save_ledger(row, self._accounts.after(tally, arguments, reply, wrote=changed))
            return reply, changed

        return work

    def _answer(
        self, parsed: Command | Query | Invalid, arguments: Size, tx: Transaction, row: AgentRow, now: datetime
    ) -> tuple[Reply, bool]:
        """The reply, and whether the list changed."""
        refusal = self._dialect.refused_in_plan_mode
        if row.mode == "plan" and refusal is not None:
            parsed = Invalid(refusal, code="plan_mode")
        if isinstance(parsed, Invalid):
            return self._refused(tx, row, reply_invalid(parsed), parsed.code, parsed.text, now, arguments), False
        before = row.state
        if isinstance(parsed, Query):
            applied = Applied(before)
        else:
            applied = apply(before, parsed, self._policy, now, by=self.name)
            if self._accounts.tally(row.ledger).watched or self._grading != "show":
                return self._judged(tx, row, parsed, applied, now, arguments)
        return self._rendered(tx, row, parsed, applied, now, arguments)

    def _judged(
        self, tx: Transaction, row: AgentRow, command: Command, applied: Applied, now: datetime, arguments: Size
    ) -> tuple[Reply, bool]:
        """The same where completions are held against what was seen."""
        from punchlist.agent.grading import doubt, graded, refusal

        if not applied.events:
            return self._rendered(tx, row, command, applied, now, arguments)
        given = self._judging.judged(tx, row, applied, strict=self._grading == "require")
        if self._grading == "require" and (problem := refusal(given)) is not None:
            refused = reply_invalid(Invalid(problem.text, code=problem.code))
            return self._refused(tx, row, refused, problem.code, problem.text, now, arguments), False
        applied = graded(applied, given)
        if self._grading == "tell" and (problem := doubt(given)) is not None:
            applied = applied._replace(problems=(*applied.problems, problem))
        watched = self._accounts.tally(row.ledger).watched
        answer = self._rendered(tx, row, command, applied, now, arguments)
        if watched:
            self._watching.wrote(tx, row, applied.events, now, by=self.name)
        return answer

    def _rendered(
        self,
        tx: Transaction,
        row: AgentRow,
        parsed: Command | Query,
        applied: Applied,
        now: datetime,
        arguments: Size,
    ) -> tuple[Reply, bool]:
        before = row.state
        state, reply = applied.state, self._said(row, parsed, applied, now)
        unseen = row.unseen + 1
        if reply.shows_list:
            unseen = 0
            state = state if reply.is_error else ListState(state.todos)
        events = applied.events
        if not events and applied.refused:
            problem = applied.problems[0]
            return self._refused(tx, row, reply, problem.code, problem.text, now, arguments), False
        tally = self._accounts.tally(row.ledger)
        pace, found = self._paced(tally, row, events, state.todos, now)
        ledger = self._accounts.after(tally, arguments, reply, events, pace=pace)
        tx.save_list(row, state, unseen=unseen, at=now, events=events, ledger=ledger)
        tx.add_events(row, (*events, *found) if found else events, by=self.name, at=now)
        if tally.watched and not events:
            self._watching.called(tx, row, now)
        return reply, state.todos is not before.todos

    def _paced(
        self, tally: Tally, row: AgentRow, drafts: Sequence[Draft], after: TodoList, now: datetime
    ) -> tuple[tuple[Any, ...] | None, list[Draft]]:
        """How the list is written now, and what there is to say of that, for an agent whose tools nobody reports."""
        if tally.watched:
            return None, []
        rules = self._paces
        pace = rules.pace_of(tally.pace)
        if drafts:
            pace, found = rules.wrote(pace, drafts, row.state.todos, after, now, self._staleness)
        else:
            pace, found = rules.called(pace, now, self._staleness)
        return pace, [Draft(one.kind, one.data()) for one in found] if found else []

    @once
    def _paces(self) -> ModuleType:
        return import_module("punchlist.detect.pace")  # not for those who call nothing

    @once
    def _staleness(self) -> StalenessOptions:
        from punchlist.detect.list_rules import DEFAULT

        given = self._options.get("staleness")
        if not given:
            return DEFAULT
        from punchlist.detect.staleness import staleness_options

        return staleness_options(given)

    def _said(self, row: AgentRow, parsed: Command | Query, applied: Applied, now: datetime) -> Reply:
        """What the original says to that."""
        state, durable = applied.state, self.board.store.durable
        before, behind = row.state.todos, state.shown is not None
        return self._dialect.render(
            Result(parsed, before, state.todos, applied.problems, row.unseen, behind, durable, now, self._policy)
        )

    def _seen_late(
        self, tx: Transaction, row: AgentRow, stored: StoredCall, call: tuple[str, Any, str], now: datetime
    ) -> Reply:
        """The reply to a call that a transcript told of before: it is history, and changes nothing."""
        name, args, call_id = call
        parsed = self._dialect.parse(name, args)
        if isinstance(parsed, Elsewhere):
            parsed = Invalid(
                f"The call `{call_id}` is known from a transcript; nothing was changed.", code="call_known"
            )
        if isinstance(parsed, Invalid):
            return reply_invalid(parsed)
        if stored == PASSED and isinstance(parsed, Replace):
            tx.add_events(
                row, [describe_late_write(parsed, source=f"call of {name}", call_id=call_id)], by=self.name, at=now
            )
        known = Applied(row.state)
        applied = known if isinstance(parsed, Query) else apply(row.state, parsed, self._policy, now, by=self.name)
        return self._said(row, parsed, applied, now)

    @once
    def _judging(self) -> Judging:
        from punchlist.agent.grading import Judging

        return Judging()

    def _refused(
        self, tx: Transaction, row: AgentRow, reply: Reply, code: str, problem: str, now: datetime, arguments: Size
    ) -> Reply:
        tally = self._accounts.tally(row.ledger)
        refused = Draft("list.refused", {"code": code, "problem": problem[:500]})
        pace, found = self._paced(tally, row, [refused], row.state.todos, now)
        ledger = self._accounts.after(tally, arguments, reply, pace=pace)
        tx.save_list(row, row.state, unseen=row.unseen, at=now, ledger=ledger)
        tx.add_events(row, [refused, *found], by=self.name, at=now)
        if tally.watched:
            self._watching.wrote(tx, row, [refused], now, by=self.name)
        return reply


RECORDED = StoredCall(b"", b"")
"""Stands for a call of a transcript that is in the log, whose reply is not known."""

PASSED = StoredCall(b"passed", b"")
"""The same for one that came before a list that was restored: known as history, and not in the log yet."""


def describe_late_write(command: Replace, *, source: str, call_id: str | None) -> Draft:
    """The event of a write that was seen late."""
    items = [{"content": entry.content, "status": entry.status.value} for entry in command.entries]
    return Draft("transcript.write", {"source": source, "call_id": call_id, "items": items})


def encode_call(fingerprint: bytes, reply: Reply) -> StoredCall:
    """A reply as it is kept, to be given again."""
    return StoredCall(fingerprint, _encode(reply))


def fingerprint_of(name: str, args: Any) -> bytes:
    """What tells one call from another: the tool with its dialect, and the arguments."""
    try:
        body = _encode([name, args])
    except (TypeError, ValueError, RecursionError):
        body = _described(name, args)
    return blake2b(body, digest_size=16).digest()


def _described(name: str, args: Any) -> bytes:
    try:
        return repr((name, args)).encode("utf-8", "backslashreplace")
    except (ValueError, RecursionError):
        return b"beyond description"  # too deep, or a number too long: refused whatever it says


def _replayed(stored: StoredCall, fingerprint: bytes, call_id: str) -> Reply:
    if stored.fingerprint == fingerprint:
        return _decode_reply(stored.reply)
    text = f"The call id `{call_id}` was used before with other arguments; nothing was changed. Use a new id."
    return Reply(text, is_error=True, problems=(Problem("call_id_reused", text, fatal=True),))

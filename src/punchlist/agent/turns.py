"""The rhythm of a conversation: what happened is counted, and what there is to say is returned. Nothing here raises."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, TypeVar

from msgspec.structs import replace

from punchlist.agent.handle import Handle
from punchlist.core.events import Draft
from punchlist.core.todo import ListState
from punchlist.core.work import FINE, Verdict
from punchlist.guidance.injection import Injection
from punchlist.guidance.ledger import Size, Spent, merged, size_of, size_of_tools
from punchlist.guidance.memory import Record, decode_record, encode_record
from punchlist.guidance.running import ended, started
from punchlist.guidance.situation import Outcome, Seen, is_own
from punchlist.guidance.stop import at_stop, person_spoke
from punchlist.guidance.tally import Tally, decode_tally
from punchlist.guidance.tools import changes
from punchlist.guidance.turn import after_turn
from punchlist.store import AgentRow, Transaction
from punchlist.text import repair

T = TypeVar("T")
_log = logging.getLogger("punchlist.guidance")
_MOST_TOOLS = 1_000
_LONGEST = 200
"""Characters of a tool's name or a call's id that are recorded."""

_NO_TURNS = Spent()


class Turns(Handle):
    """Told by the host what happens; tells it what to put before the model. On a fault it says nothing, and logs."""

    def user_turn(self) -> None:
        """The person spoke: tries of the stop guard and reminders of the last prompt are forgotten."""
        self._step(lambda _tx, _row, record: (replace(record, memory=person_spoke(record.memory)), None), None)

    def assistant_turn(self, tools_used: Iterable[str] = ()) -> list[Injection]:
        """To be called once for each assistant message, with the names of the tools that it used, in order.

        What it returns belongs at the tail of the next request, or in front of its tool results, and into no other.
        """
        tools = _names(tools_used)

        def decide(tx: Transaction, row: AgentRow, record: Record) -> tuple[Record, list[Injection]]:
            memory = record.memory
            outcome = after_turn(memory, self._seen(row, tools), self._rules)
            others = max(sum(not is_own(name, self._own_names) for name in tools), memory.others)
            record = self._account(record, outcome, turn=self._descriptions, others=others, own=bool(tools) and not others)
            self._tell(tx, row, outcome)
            return record, list(outcome.said)

        return self._step(decide, [])

    def about_to_stop(self, last_text: str = "", *, background: int = 0) -> Injection | None:
        """To be called when the model wants to stop: what to say to it so that it goes on, or None to let it.

        `last_text` is what it said last: whoever asks the person something may stop. `background` is how many pieces
        of its work still run elsewhere.
        """
        text = last_text if isinstance(last_text, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance]

        def decide(tx: Transaction, row: AgentRow, record: Record) -> tuple[Record, Injection | None]:
            seen = self._seen(row)
            outcome = at_stop(record.memory, seen, self._rules, last_text=text, background=background)
            if outcome.memory is record.memory:
                return record, None
            self._tell(tx, row, outcome)
            return self._account(record, outcome), outcome.said[0] if outcome.said else None

        return self._step(decide, None)

    def tool_started(self, call_id: str, name: str, args: Any = None) -> Verdict:
        """A tool call of the agent begins. The call is recorded, its arguments are not."""
        call_id, name = _short(call_id), _short(name)
        changing = changes(name, args, self._own_tools)
        ours = is_own(name, self._own_names)

        def decide(tx: Transaction, row: AgentRow, record: Record) -> tuple[Record, Verdict]:
            after = started(record, call_id, name, changes=changing and not ours, ours=ours)
            if after is not record:
                tx.add_events(row, [Draft("tool.started", {"call_id": call_id, "name": name})], by=self.name, at=self.board.now())
            return after, FINE

        return self._step(decide, FINE)

    def tool_finished(self, call_id: str, result: Any = None, *, is_error: bool = False) -> None:
        """A tool call of the agent has ended. What it returned is not recorded."""
        call_id = _short(call_id)

        def decide(tx: Transaction, row: AgentRow, record: Record) -> tuple[Record, None]:
            after, call = ended(record, call_id, self._counted(row).writes, is_error=is_error)
            if after is not record or call is None:
                data = {"call_id": call_id, "name": "" if call is None else call.name, "is_error": bool(is_error)}
                tx.add_events(row, [Draft("tool.finished", data)], by=self.name, at=self.board.now())
            return after, None

        self._step(decide, None)

    # One step: what is remembered is read, changed and written in one transaction.

    def _step(
        self, decide: Callable[[Transaction, AgentRow, Record], tuple[Record, T]], otherwise: T
    ) -> T:
        def work(tx: Transaction) -> T:
            row = self._joined(tx, self.board.now())
            known = tx.guidance.get(row.number)
            record = decode_record(known)
            after, result = decide(tx, row, record)
            if after is not record or known is None:
                tx.guidance.save(row.number, encode_record(after))
            return result

        try:
            return self.board.store.transact(work, lasting=False)
        except Exception:
            _log.exception("guidance of %s in session %s says nothing: it met a fault", self.name, self.session)
            return otherwise

    def _seen(self, row: AgentRow, tools: list[str] | None = None) -> Seen:
        planning = row.mode == "plan"
        return Seen(
            todos=row.state.todos,
            tally=self._counted(row),
            policy=self._policy,
            tool=self._dialect.tools[0].name,
            own=self._own_names,
            shown=row.state.shown,
            planning=planning,
            offered=self.offered,
            tools=tools or (),
            notice=self._plan_notice if planning else "",
            host=self._own_tools,
        )

    def _counted(self, row: AgentRow) -> Tally:
        known, tally = self._tally
        if known is not row.ledger:
            tally = decode_tally(row.ledger)
            self._tally = row.ledger, tally
        return tally

    @cached_property
    def _own_names(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self._dialect.tools)

    @cached_property
    def _descriptions(self) -> Size:
        """What every request carries because the tools are offered."""
        return size_of_tools(self.tools)

    @cached_property
    def _plan_notice(self) -> str:
        from punchlist.guidance.plan_mode import notice  # only agents that plan need it

        return notice(self._dialect)

    def _tell(self, tx: Transaction, row: AgentRow, outcome: Outcome) -> None:
        """Records what is said; and if that was the whole list, that the model knows it now."""
        if outcome.said:
            drafts = [Draft("guidance.said", {"kind": one.kind, "characters": len(one.text)}) for one in outcome.said]
            tx.add_events(row, drafts, by="", at=self.board.now())
        if outcome.shows_list:
            tx.save_list(row, ListState(row.state.todos), unseen=0, at=self.board.now())

    def _account(
        self, record: Record, outcome: Outcome, *, turn: Size | None = None, others: int = 0, own: bool = False
    ) -> Record:
        """What is remembered next, with what this step cost."""
        spent = record.spent.get(self._key, _NO_TURNS)
        injections = spent.injections
        caused = spent.caused
        for one in outcome.said:
            injections = merged(injections, {one.kind: size_of(one.text)})
            caused += one.kind == "stop"
        after = Spent(
            spent.turns + (turn is not None),
            spent.others + others,
            spent.own_turns + own,
            caused,
            spent.withheld + outcome.withheld,
            spent.descriptions if turn is None else spent.descriptions + turn,
            injections,
        )
        return Record(outcome.memory, record.running, {**record.spent, self._key: after})


def _names(tools: Iterable[str]) -> list[str]:
    """The names of the tools, whatever a host may have put there."""
    given = [tools] if isinstance(tools, str) else list(tools or ())
    return [str(name)[:_LONGEST] for name in given[:_MOST_TOOLS]]


def _short(text: str) -> str:
    return repair(str(text))[:_LONGEST]

"""The steps of a conversation: each reads what is remembered, decides, and writes it, in one small transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from punchlist.agent.asking import take_answers
from punchlist.agent.telling import hear
from punchlist.core.commands import Policy
from punchlist.core.events import Draft
from punchlist.core.todo import ListState, TodoList
from punchlist.dialects.base import Dialect, Tool
from punchlist.guidance.injection import Injection
from punchlist.guidance.ledger import Size, Spent, merged, size_of, size_of_tools
from punchlist.guidance.memory import NEW, Record, decode_record, encode_record
from punchlist.guidance.plan_mode import notice
from punchlist.guidance.settings import Rules
from punchlist.guidance.situation import Outcome, Seen, is_own
from punchlist.guidance.stop import at_stop, person_spoke
from punchlist.guidance.tools import OwnTools
from punchlist.guidance.turn import after_turn
from punchlist.store import AgentRow, Transaction
from punchlist.text import repair

if TYPE_CHECKING:
    from punchlist.agent.accounts import Accounts
    from punchlist.agent.watching import Watching
    from punchlist.board import Board
    from punchlist.core.task import Task

T = TypeVar("T")
Decide = Callable[[Transaction, AgentRow, Record], tuple[Record, T]]

_log = logging.getLogger("punchlist.guidance")
_MOST_TOOLS = 1_000
_LONGEST = 200
"""Characters of a tool's name or a call's id that are recorded."""

_NO_TURNS = Spent()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the steps of a handle need to know of it.

    `join` gives the agent's row, made if it is not there yet; `tasks` those that are its work.
    """

    board: Board
    name: str
    session: str
    dialect: Dialect
    policy: Policy
    rules: Rules
    accounts: Accounts
    host: OwnTools
    tools: tuple[Tool, ...]
    watching: Watching
    offered: bool
    tasks: Callable[[Transaction, AgentRow], tuple[Task, ...]]
    join: Callable[[Transaction, datetime], AgentRow]


class Steps:
    """What a handle does at each step. On a fault a step changes nothing, says nothing, and logs."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._own = frozenset(tool.name for tool in ground.dialect.tools)
        self._last: tuple[bytes | None, Record] = (None, NEW)

    def person_spoke(self) -> None:
        def decide(tx: Transaction, row: AgentRow, record: Record) -> tuple[Record, None]:
            self._over(tx, row, asked=True)
            return replace(record, memory=person_spoke(record.memory)), None

        self._step(decide, None)

    def turn(self, tools_used: Iterable[str]) -> list[Injection]:
        def decide(tx: Transaction, row: AgentRow, record: Record) -> tuple[Record, list[Injection]]:
            tools, row = _names(tools_used), self._stirred(tx, row)
            self._ground.watching.round_ended(tx, row, self._ground.board.now())
            rules, memory = self._ground.rules, record.memory
            memory = hear(tx, row.number, memory) if rules.tell_findings else memory
            outcome = self._heard(tx, row, after_turn(memory, self._seen(tx, row, tools), rules))
            others = max(sum(not is_own(name, self._own) for name in tools), record.memory.others)
            own = bool(tools) and not others
            self._tell(tx, row, outcome)
            return self._account(record, outcome, turn=self._descriptions, others=others, own=own), list(outcome.said)

        return self._step(decide, [])

    def stop(self, last_text: str, background: int) -> Injection | None:
        def decide(tx: Transaction, row: AgentRow, record: Record) -> tuple[Record, Injection | None]:
            text = last_text if isinstance(last_text, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance]
            outcome = self._heard(tx, row, Outcome(record.memory))
            if not outcome.said:
                seen, rules = self._seen(tx, row), self._ground.rules
                outcome = at_stop(record.memory, seen, rules, last_text=text, background=background)
            if not outcome.said and not background:
                self._over(tx, row)
            if outcome.memory is record.memory and not outcome.said:
                return record, None
            self._tell(tx, row, outcome)
            return self._account(record, outcome), outcome.said[0] if outcome.said else None

        return self._step(decide, None)

    def gave(self, kind: str, text: str) -> None:
        """A text was handed out that is no injection; it is counted all the same."""

        def decide(_tx: Transaction, _row: AgentRow, record: Record) -> tuple[Record, None]:
            key = self._ground.accounts.key
            spent = record.spent.get(key, _NO_TURNS)
            counted = replace(spent, injections=merged(spent.injections, {kind: size_of(text)}))
            return replace(record, spent={**record.spent, key: counted}), None

        self._step(decide, None)

    def _over(self, tx: Transaction, row: AgentRow, *, asked: bool = False) -> None:
        """A turn is over: what its host reported as begun, and not as ended, is given up.

        With `asked` another begins, and a sign of life is waited for, whether or not tools were ever reported.
        """
        tally = self._ground.accounts.tally(row.ledger)
        if asked or tally.watched or tally.awaited:
            self._ground.watching.turn_ended(tx, row, self._ground.board.now(), asked=asked)
        if not tally.watched and tally.awaited != asked:
            tx.save_ledger(row, self._ground.accounts.awaiting(row.ledger, asked))

    def _stirred(self, tx: Transaction, row: AgentRow) -> AgentRow:
        """The agent's row after an assistant message, which is a sign of life."""
        accounts, watching, now = self._ground.accounts, self._ground.watching, self._ground.board.now()
        tally = accounts.tally(row.ledger)
        if tally.watched or tally.awaited:
            watching.silence.stirred(tx, row, now, "assistant_turn", watched=tally.watched)
        if not tally.awaited:
            return row
        ledger = accounts.awaiting(row.ledger, False)
        tx.save_ledger(row, ledger)
        return row._replace(ledger=ledger)

    def _step(self, decide: Decide[T], otherwise: T) -> T:
        ground = self._ground

        def work(tx: Transaction) -> T:
            row = ground.join(tx, ground.board.now())
            stored = tx.guidance.get(row.number)
            known, record = self._last
            if known is not stored:
                record = decode_record(stored)
            after, result = decide(tx, row, record)
            if after is not record:
                body = encode_record(after)
                tx.guidance.save(row.number, body)
                self._last = body, after
            return result

        try:
            return ground.board.store.transact(work, lasting=False)
        except Exception:
            return self._failed(otherwise)

    def _failed(self, otherwise: T) -> T:
        """To be called where an exception was caught."""
        ground = self._ground
        _log.exception("guidance for %s in session %s met a fault and says nothing", ground.name, ground.session)
        return otherwise

    def _current(self, tx: Transaction, row: AgentRow) -> TodoList:
        """The agent's work: its list, and its tasks if there are any."""
        if not tx.has_tasks:
            return row.state.todos
        from punchlist.core.work import with_tasks

        return with_tasks(row.state.todos, self._ground.tasks(tx, row))

    def _seen(self, tx: Transaction, row: AgentRow, tools: list[str] | None = None) -> Seen:
        ground, planning = self._ground, row.mode == "plan"
        return Seen(
            todos=self._current(tx, row),
            tally=ground.accounts.tally(row.ledger),
            policy=ground.policy,
            # as the texts put it between backticks
            tool="` or `".join(ground.dialect.writers) or ground.dialect.tools[0].name,
            own=self._own,
            writers=frozenset(ground.dialect.writers),
            shown=row.state.shown,
            planning=planning,
            offered=ground.offered,
            entered=self._entered(tx, row) if planning else "",
            tools=tools or (),
            notice=notice(ground.dialect) if planning else "",
            host=ground.host,
        )

    @staticmethod
    def _entered(tx: Transaction, row: AgentRow) -> str:
        """What tells one stay in plan mode from another."""
        return str((tx.modes.entered(row.number) or {}).get("entered_at", ""))

    def _heard(self, tx: Transaction, row: AgentRow, outcome: Outcome) -> Outcome:
        """The same with what people answered since. That is a person's word, not ours: no profile holds it back."""
        answers = take_answers(tx, row)
        if answers is None:
            return outcome
        answer = Injection("answer", answers, role=self._ground.rules.rhythm.role)
        return outcome._replace(said=(answer, *outcome.said))

    @cached_property
    def _descriptions(self) -> Size:
        """What every request carries because the tools are offered."""
        return size_of_tools(self._ground.tools)

    def _add(self, tx: Transaction, row: AgentRow, *drafts: Draft) -> None:
        tx.add_events(row, drafts, by=self._ground.name, at=self._ground.board.now())

    def _tell(self, tx: Transaction, row: AgentRow, outcome: Outcome) -> None:
        """Records what is said; and if that was the whole list, that the model knows it now."""
        if outcome.said:
            said = outcome.said
            self._add(
                tx, row, *(Draft("guidance.said", {"kind": one.kind, "characters": len(one.text)}) for one in said)
            )
        if outcome.shows_list:
            tx.save_list(row, ListState(row.state.todos), unseen=0, at=self._ground.board.now())

    def _account(
        self, record: Record, outcome: Outcome, *, turn: Size | None = None, others: int = 0, own: bool = False
    ) -> Record:
        """What is remembered next, with what this step cost."""
        key = self._ground.accounts.key
        spent = record.spent.get(key, _NO_TURNS)
        injections = spent.injections
        for one in outcome.said:
            injections = merged(injections, {one.kind: size_of(one.text)})
        after = Spent(
            spent.turns + (turn is not None),
            spent.others + others,
            spent.own_turns + own,
            spent.caused + sum(one.kind == "stop" for one in outcome.said),
            spent.withheld + outcome.withheld,
            spent.descriptions if turn is None else spent.descriptions + turn,
            injections,
        )
        return Record(outcome.memory, record.running, {**record.spent, key: after})


def _names(tools: Iterable[str]) -> list[str]:
    """The names of the tools, whatever a host may have put there."""
    given = [tools] if isinstance(tools, str) else list(tools or ())
    return [str(name)[:_LONGEST] for name in given[:_MOST_TOOLS]]


def short(text: str) -> str:
    return repair(str(text))[:_LONGEST]

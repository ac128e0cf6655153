"""The steps of a conversation: each reads what is remembered, decides, and writes it, in one small transaction."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from punchlist.agent.kept import kept
from punchlist.agent.once import once
from punchlist.agent.questions import take_answers
from punchlist.agent.telling import hear, hear_contradicted
from punchlist.core.commands import Policy
from punchlist.core.events import Draft
from punchlist.core.todo import ListState, TodoList
from punchlist.dialects.base import Dialect, Tool
from punchlist.guidance.decisions import Situation, TurnDecision, after_turn, at_stop, is_own, person_spoke
from punchlist.guidance.ledger import Size, Spent, merged, size_of, size_of_tools
from punchlist.guidance.memory import NEW, Record, decode_record, encode_record
from punchlist.guidance.plan_mode import notice
from punchlist.guidance.settings import Rules
from punchlist.guidance.tools import OwnTools
from punchlist.guidance.words import NOTHING_BEYOND, Beyond, Injection
from punchlist.store import AgentRow, Transaction
from punchlist.text import repair
from punchlist.text.redaction import redact

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


class Ground(Struct, frozen=True, kw_only=True):
    """What the steps of a handle need to know of it.

    `join` gives the agent's row, made if it is not there yet; `tasks` those that are its work, once `settle` did what
    has come due in their lists, and named those. `look` brings a list of tasks up to date that others keep elsewhere;
    `task_list` is the list that a task tool of its dialect writes. `tells_grades`: the model hears of completions that
    nothing bears out.
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
    tells_grades: bool
    task_list: str
    tasks: Callable[[Transaction, AgentRow], tuple[Task, ...]]
    join: Callable[[Transaction, datetime], AgentRow]
    settle: Callable[[Transaction, AgentRow, datetime], list[str]]
    look: Callable[[], None]


class Steps:
    """What a handle does at each step. On a fault a step changes nothing, says nothing, and logs."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._own = frozenset(tool.name for tool in ground.dialect.tools)
        self._last: tuple[bytes | None, Record] = (None, NEW)
        self.now = ground.board.now

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
            if self._ground.tells_grades:
                memory = hear_contradicted(tx, row, memory, self._ground.board.now())
            outcome = self._heard(tx, row, after_turn(memory, self._seen(tx, row, tools), rules))
            others = max(sum(not is_own(name, self._own) for name in tools), record.memory.others)
            own = bool(tools) and not others
            self._tell(tx, row, outcome)
            return self._account(record, outcome, turn=self._descriptions, others=others, own=own), list(outcome.said)

        return self._step(decide, [], looks=True)

    def stop(self, last_text: str, background: int) -> Injection | None:
        def decide(tx: Transaction, row: AgentRow, record: Record) -> tuple[Record, Injection | None]:
            text = last_text if isinstance(last_text, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance]
            outcome = self._heard(tx, row, TurnDecision(record.memory))
            if not outcome.said:
                seen, rules = self._seen(tx, row), self._ground.rules
                outcome = at_stop(record.memory, seen, rules, last_text=text, background=background)
            if not outcome.said and not background:
                self._over(tx, row)
            if outcome.memory is record.memory and not outcome.said:
                return record, None
            self._tell(tx, row, outcome)
            return self._account(record, outcome), outcome.said[0] if outcome.said else None

        return self._step(decide, None, looks=True)

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
        row = self._calmed(tx, row)
        tally = self._ground.accounts.tally(row.ledger)
        if asked or tally.watched or tally.awaited:
            self._ground.watching.turn_ended(tx, row, self._ground.board.now(), asked=asked)
        elif self._ground.watching.went_on(tx, row):
            self._add(tx, row, Draft("turn.ended", {"abandoned": 0}))
        if not tally.watched and tally.awaited != asked:
            tx.save_ledger(row, self._ground.accounts.awaiting(row.ledger, asked))

    def _calmed(self, tx: Transaction, row: AgentRow) -> AgentRow:
        """The agent's row after a storm of calls, which is over with the turn. Who reports tools has that elsewhere."""
        ledger, ended = self._ground.accounts.calm(row.ledger)
        if ledger is None:
            return row
        tx.save_ledger(row, ledger)
        self._add(tx, row, *(Draft(one.kind, one.data()) for one in ended))
        return row._replace(ledger=ledger)

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

    def _step(self, decide: Decide[T], otherwise: T, *, looks: bool = False) -> T:
        """Decides and remembers, about work as it stands by now; `looks`: also as it was changed outside the board."""
        ground = self._ground

        def work(tx: Transaction) -> tuple[T, list[str]]:
            now = ground.board.now()
            row = ground.join(tx, now)
            settled = ground.settle(tx, row, now)
            if ground.accounts.tally(row.ledger).watched:
                return self._watched_step(tx, row, decide), settled
            stored = tx.guidance.get(row.number)
            known, record = self._last
            if known is not stored:
                record = decode_record(stored)
            after, result = decide(tx, row, record)
            if after is not record:
                body = encode_record(after)
                tx.guidance.save(row.number, body)
                self._last = body, after
                tx.work.held.pop(row.number, None)
            return result, settled

        try:
            if looks:
                ground.look()
            result, settled = ground.board.store.transact(work, durable=False)
            for name in settled:
                ground.board.tasks_changed(name)
            return result
        except Exception:
            return self._failed(otherwise)

    def _watched_step(self, tx: Transaction, row: AgentRow, decide: Decide[T]) -> T:
        """A step of an agent whose tool calls are reported."""
        known = kept(tx, row.number)
        record = known.record
        after, result = decide(tx, row, record)
        if after is not record:
            known.record = after
            known.write(tx)
        return result

    def _failed(self, otherwise: T) -> T:
        """To be called where an exception was caught."""
        ground = self._ground
        _log.exception("guidance for %s in session %s met a fault and says nothing", ground.name, ground.session)
        return otherwise

    def _current(self, tx: Transaction, row: AgentRow) -> tuple[TodoList, Beyond]:
        """The agent's work, its list and its tasks if there are any; and those of them that its tool does not reach."""
        if not tx.has_tasks:
            return row.state.todos, NOTHING_BEYOND
        from punchlist.core.current_work import append_tasks, find_unreachable, own_task_list

        ground = self._ground
        tasks, own = ground.tasks(tx, row), own_task_list(ground.dialect.layer, ground.task_list)
        return append_tasks(row.state.todos, tasks, own=own), Beyond(*find_unreachable(tasks, own))

    def _seen(self, tx: Transaction, row: AgentRow, tools: list[str] | None = None) -> Situation:
        ground, planning = self._ground, row.mode == "plan"
        todos, beyond = self._current(tx, row)
        return Situation(
            todos=todos,
            beyond=beyond,
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

    def _heard(self, tx: Transaction, row: AgentRow, outcome: TurnDecision) -> TurnDecision:
        """The same with what people answered since. That is a person's word, not ours: no profile holds it back."""
        answers = take_answers(tx, row)
        if answers is None:
            return outcome
        answer = Injection("answer", answers, role=self._ground.rules.schedule.role)
        return outcome._replace(said=(answer, *outcome.said))

    @once
    def _descriptions(self) -> Size:
        """What every request carries because the tools are offered."""
        return size_of_tools(self._ground.tools)

    def _add(self, tx: Transaction, row: AgentRow, *drafts: Draft) -> None:
        tx.add_events(row, drafts, by=self._ground.name, at=self._ground.board.now())

    def _tell(self, tx: Transaction, row: AgentRow, outcome: TurnDecision) -> None:
        """Records what is said; and if that was the whole list, that the model knows it now."""
        if outcome.said:
            said = outcome.said
            self._add(
                tx, row, *(Draft("guidance.said", {"kind": one.kind, "characters": len(one.text)}) for one in said)
            )
        if outcome.shows_list:
            tx.save_list(row, ListState(row.state.todos), unseen=0, at=self._ground.board.now())

    def _account(
        self, record: Record, outcome: TurnDecision, *, turn: Size | None = None, others: int = 0, own: bool = False
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


def as_text(value: object) -> str:
    """A text, whatever a host may have put there."""
    try:
        return str(value)
    except Exception:
        return type(value).__name__


def short(text: str) -> str:
    """A name or id as it is recorded, whatever a host may have put there."""
    if type(text) is str and text.isascii():
        return text if not text or _id().fullmatch(text) else _plain(text[:_LONGEST])
    return _plain(repair(as_text(text))[:_LONGEST])


@cache
def _id() -> re.Pattern[str]:
    """An id as the great providers make them."""
    return re.compile(r"(?:toolu|call)_[A-Za-z0-9]{1,64}")


@lru_cache(maxsize=1024)
def _plain(name: str) -> str:
    """A name or id without secrets. Two that differ in their secrets only still differ."""
    kept = redact(name)
    return name if kept == name else f"{kept}#{blake2b(name.encode(), digest_size=4).hexdigest()}"

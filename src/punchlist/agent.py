"""An agent's handle: where a dialect, the rules of core and the store meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, cast, get_args

import msgspec

from punchlist.core.apply import Applied, apply, known_to_its_agent
from punchlist.core.commands import Command, Edit, Focus, Limits, Policy, Problem, Query
from punchlist.core.events import Draft, diff, header
from punchlist.core.todo import ListState, TodoList
from punchlist.core.undo import undo
from punchlist.dialects import dialect as dialect_named
from punchlist.dialects.base import Dialect, Invalid, Reply, Result, Tool, reply_invalid, reply_unknown_tool
from punchlist.dialects.operations import operations, rewrite
from punchlist.errors import (
    ConfigInvalid,
    EditRefused,
    InvalidInput,
    NothingToUndo,
    RevisionConflict,
    UndoRefused,
    UnknownName,
)
from punchlist.store import AgentRow, Transaction
from punchlist.store.contract import StoredCall
from punchlist.text import repair

if TYPE_CHECKING:
    from punchlist.board import Board

Mode = Literal["execute", "plan"]
PROFILES = ("quiet", "classic", "off")
_EDITS = Policy(limits=Limits(items=10_000, characters=100_000, refuse_blank=True))
_encode = msgspec.json.Encoder(order="deterministic").encode
_decode_reply = msgspec.json.Decoder(Reply).decode
_LONGEST_NAME = 200


class AgentOptions(TypedDict, total=False):
    """How a handle differs from what its dialect does by itself.

    `focus`: what our own dialect does with a second item in progress: `first` (keep the first), `accept` or `refuse`.
    `verbose`: offer the tools with the longer descriptions, for small models. `clear_delay`: seconds after which a
    closed task leaves the model's list in oh-my-pi; below 0 never.
    """

    focus: str | None
    verbose: bool
    clear_delay: float


class Agent:
    """One agent of one session. Nothing is written before its first change; until then its list is empty."""

    def __init__(
        self,
        board: Board,
        name: str,
        *,
        session: str,
        dialect: str,
        profile: str,
        project: str,
        **options: Unpack[AgentOptions],
    ) -> None:
        _check_name("agent", name)
        _check_name("session", session)
        if profile not in PROFILES:
            raise UnknownName(what="profile", name=profile, known=", ".join(PROFILES))
        self.board = board
        self.name = name
        self.session = session
        self.profile = profile
        self._project = project
        self._dialect = dialect_named(dialect)
        self._options = options
        self._policy = _policy(self._dialect, options)

    def __repr__(self) -> str:
        return f"Agent({self.name!r}, session={self.session!r}, dialect={self.dialect!r})"

    @property
    def dialect(self) -> str:
        return self._dialect.name

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools to offer to the model: the original's, but for their descriptions, which are ours."""
        tools = self._dialect.tools
        return tuple(tool.in_full() for tool in tools) if self._options.get("verbose") else tools

    @property
    def todos(self) -> TodoList:
        row = self._row()
        return TodoList() if row is None else row.state.todos

    @property
    def project(self) -> str:
        """The project of the session, which is where the session was first seen."""
        row = self._row()
        return self._project if row is None else row.project

    @property
    def mode(self) -> Mode:
        row = self._row()
        return "plan" if row is not None and row.mode == "plan" else "execute"

    def _row(self) -> AgentRow | None:
        return self.board.store.agent(self.session, self.name)

    def at(self, revision: int) -> TodoList | None:
        """The list as it was at a revision; None if there is no such revision, or it was pruned."""
        row = self._row()
        if row is None:
            return TodoList() if revision == 0 else None
        return self.board.store.list_at(row.number, revision)

    # The model's calls.

    def call(self, name: str, args: Any = None, *, call_id: str | None = None) -> Reply:
        """Answers a tool call. Bad input gets an error reply; only a store that cannot write raises.

        The same `call_id` again gets the first reply again, and nothing is applied twice.
        """
        if not self._dialect.has_tool(name):
            return reply_unknown_tool(self._dialect, str(name))
        call_id = None if call_id is None else repair(str(call_id))
        parsed = self._dialect.parse(name, args)
        fingerprint = b"" if call_id is None else _fingerprint(f"{self.dialect}/{name}", args)
        changed = False

        def work(tx: Transaction) -> Reply:
            nonlocal changed
            now = self.board.now()
            row = self._joined(tx, now)
            if call_id is not None and (stored := tx.call(row, call_id)) is not None:
                return _replayed(stored, fingerprint, call_id)
            reply, changed = self._answer(tx, row, parsed, now)
            if call_id is not None:
                tx.save_call(row, call_id, StoredCall(fingerprint, _encode(reply)), at=now)
            return reply

        reply = self.board.store.transact(work)
        if changed:
            self.board.changed(self)
        return reply

    def _answer(
        self, tx: Transaction, row: AgentRow, parsed: Command | Query | Invalid, now: datetime
    ) -> tuple[Reply, bool]:
        """The reply, and whether the list changed."""
        refusal = self._dialect.refused_in_plan_mode
        if row.mode == "plan" and refusal is not None:
            parsed = Invalid(refusal, code="plan_mode")
        if isinstance(parsed, Invalid):
            refused = Draft("list.refused", {"code": parsed.code, "problem": parsed.text[:500]})
            tx.add_events(row, [refused], by=self.name, at=now)
            return reply_invalid(parsed), False
        before = row.state
        if isinstance(parsed, Query):
            applied = Applied(before)
        else:
            applied = apply(before, parsed, self._policy, now, by=self.name)
        state, durable = applied.state, self.board.store.durable
        behind = state.shown is not None
        result = Result(
            parsed, before.todos, state.todos, applied.problems, row.unseen, behind, durable, now, self._policy
        )
        reply = self._dialect.render(result)
        unseen = 0 if reply.shows_list else row.unseen + 1
        if reply.shows_list and not reply.is_error:
            state = ListState(state.todos)
        if applied.refused:
            problem = applied.problems[0]
            refused = Draft("list.refused", {"code": problem.code, "problem": problem.text[:500]})
            tx.add_events(row, [refused], by=self.name, at=now)
            return reply, False
        tx.save_list(row, state, unseen=unseen, at=now)
        tx.add_events(row, applied.events, by=self.name, at=now)
        return reply, state.todos is not before.todos

    # People's changes.

    def edit(self, ops: Any, *, by: str, revision: int | None = None) -> TodoList:
        """Applies targeted operations, all or none, in the name of a person or another agent; the new list.

        With `revision`, only if the list is still at that revision. Raises `EditRefused` or `RevisionConflict`.
        """
        return self._change(Edit(operations(ops)), by=by, revision=revision)

    def rewrite(self, todos: TodoList, *, by: str, revision: int | None = None) -> TodoList:
        """Puts a whole list in place of this one: items that match keep their ids, open ones left out are set aside."""
        return self._change(rewrite(todos), by=by, revision=revision)

    def _change(self, command: Command, *, by: str, revision: int | None) -> TodoList:
        _check_name("author", by)

        def decide(state: ListState, now: datetime) -> Applied:
            if revision is not None and state.todos.revision != revision:
                raise RevisionConflict(expected=revision, actual=state.todos.revision)
            applied = apply(state, command, _EDITS, now, by=by, own=by == self.name)
            if applied.refused:
                raise EditRefused(problem=" ".join(problem.text for problem in applied.problems))
            return applied

        return self._write(decide, by=by)

    def undo(self, *, by: str) -> TodoList:
        """Takes back this author's last change; refuses, and names it, if what it touched was changed again since."""
        row_of: list[tuple[Transaction, AgentRow]] = []

        def decide(state: ListState, _now: datetime) -> Applied:
            tx, row = row_of[0]
            undid = tx.last_change(row.number, by)
            before = tx.list_at(row.number, undid - 1) if undid is not None else None
            after = tx.list_at(row.number, undid) if undid is not None else None
            if undid is None or before is None or after is None:
                raise NothingToUndo(by=by)
            current = state.todos
            todos = undo(current, before, after)
            if isinstance(todos, str):
                raise UndoRefused(by=by, touched=todos)
            todos = replace(todos, revision=current.revision + 1)
            drafts = [*diff(current, todos), header("list.undone", current, todos, undid=undid)]
            for draft in drafts:
                draft.data.setdefault("revision", todos.revision)
            shown = known_to_its_agent(state, todos)
            return Applied(ListState(todos, shown if by != self.name else None), tuple(drafts))

        return self._write(decide, by=by, within=row_of)

    def restore_list(self, todos: TodoList, *, by: str, source: str, revision: int | None = None) -> TodoList:
        """Takes over a list that was kept elsewhere, as this agent's own, with where it came from in the event.

        With `revision`, only if the list is still at that revision.
        """

        def decide(state: ListState, now: datetime) -> Applied:
            if revision is not None and state.todos.revision != revision:
                raise RevisionConflict(expected=revision, actual=state.todos.revision)
            applied = apply(state, rewrite(todos), _EDITS, now, by=by)
            if applied.refused:
                raise EditRefused(problem=" ".join(problem.text for problem in applied.problems))
            *events, last = applied.events
            if last.kind == "list.replaced":
                last = Draft("list.restored", {**last.data, "source": source})
            return replace(applied, events=(*events, last))

        return self._write(decide, by=by)

    def _write(
        self,
        decide: Callable[[ListState, datetime], Applied],
        *,
        by: str,
        within: list[tuple[Transaction, AgentRow]] | None = None,
    ) -> TodoList:
        def work(tx: Transaction) -> Applied:
            now = self.board.now()
            row = self._joined(tx, now)
            if within is not None:
                within[:] = [(tx, row)]
            applied = decide(row.state, now)
            tx.save_list(row, applied.state, unseen=row.unseen, at=now)
            tx.add_events(row, applied.events, by=by, at=now)
            return applied

        applied = self.board.store.transact(work)
        self.board.changed(self)
        return applied.state.todos

    # Modes and children.

    def enter_plan_mode(self, *, by: str | None = None) -> None:
        self._set_mode("plan", by)

    def exit_plan_mode(self, *, by: str | None = None) -> None:
        self._set_mode("execute", by)

    def _set_mode(self, mode: Mode, by: str | None) -> None:
        def work(tx: Transaction) -> None:
            now = self.board.now()
            row = self._joined(tx, now)
            if row.mode != mode:
                tx.save_mode(row, mode, at=now)
                tx.add_events(row, [Draft("mode.changed", {"mode": mode})], by=by or self.name, at=now)

        self.board.store.transact(work)

    def spawn(self, name: str, *, label: str | None = None, id: str | None = None, dialect: str | None = None) -> Agent:
        """A child of this agent: always a new one, numbered if the name is taken. The same `id` finds it again."""
        _check_name("agent", name)

        def work(tx: Transaction) -> str:
            now = self.board.now()
            row = self._joined(tx, now)
            if id is not None and (known := tx.spawned(self.session, row.number, id)) is not None:
                return known
            taken = tx.names(self.session)
            number = 1
            free = name
            while free in taken:
                number += 1
                free = f"{name}-{number}"
            _check_name("agent", free)
            tx.add_agent(self.session, free, project=row.project, at=now, parent=row.number, label=label, spawn_id=id)
            tx.add_events(row, [Draft("agent.spawned", {"child": free, "label": label})], by=self.name, at=now)
            return free

        child = self.board.store.transact(work)
        return self.board.agent(
            child,
            session=self.session,
            dialect=dialect or self.dialect,
            profile=self.profile,
            project=self._project,
            **self._options,
        )

    def _joined(self, tx: Transaction, now: datetime) -> AgentRow:
        """The agent's row, made if it is not there yet."""
        row = tx.agent(self.session, self.name)
        if row is None:
            row = tx.add_agent(self.session, self.name, project=self._project, at=now)
            tx.add_events(row, [Draft("agent.joined", {"project": row.project})], by=self.name, at=now)
        return row


def _policy(dialect: Dialect, options: AgentOptions) -> Policy:
    policy = dialect.policy
    unknown = options.keys() - AgentOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"an agent has no option {min(unknown)!r}")
    focus = options.get("focus")
    if focus is not None and focus not in get_args(Focus):
        raise ConfigInvalid(name="focus", value=focus, problem=f"use one of {', '.join(get_args(Focus))}")
    if focus is not None and dialect.name == "punchlist":
        policy = replace(policy, focus=cast("Focus", focus))
    delay = options.get("clear_delay")
    if delay is not None and dialect.name == "oh-my-pi":
        policy = replace(policy, hide_closed_after=float(delay))
    return policy


def _check_name(what: str, name: str) -> None:
    printable = isinstance(name, str) and name.isprintable()  # pyright: ignore[reportUnnecessaryIsInstance]
    if not printable or not name.strip() or len(name) > _LONGEST_NAME:
        shown = repr(name)[:80]
        raise InvalidInput(problem=f"{shown} cannot name an {what}: use 1 to {_LONGEST_NAME} printable characters.")


def _fingerprint(name: str, args: Any) -> bytes:
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

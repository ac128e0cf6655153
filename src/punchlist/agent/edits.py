"""Changes that do not come from the model: a person's edits, taking them back, a list from elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from punchlist.agent.handle import Handle, check_name
from punchlist.core.apply import Applied, apply, items_known_to_agent
from punchlist.core.commands import Command, Edit, Limits, Policy
from punchlist.core.events import Draft, diff, draft_header
from punchlist.core.todo import ListState, TodoList
from punchlist.core.undo import undo
from punchlist.dialects.repair import operations, rewrite
from punchlist.errors import EditRefused, NothingToUndo, RevisionConflict, UndoRefused
from punchlist.store import AgentRow, Transaction

_CLAIMS = frozenset({"item.completed", "item.added"})
_EDITS = Policy(limits=Limits(items=10_000, characters=100_000, refuse_blank=True))
_BY_A_PERSON = replace(_EDITS, confirms=True)


def apply_edit(
    state: ListState, command: Command, now: datetime, *, by: str, own: bool, by_a_person: bool = False
) -> Applied:
    """What a change that no model asked for makes of the list; raises `EditRefused`."""
    applied = apply(state, command, _BY_A_PERSON if by_a_person else _EDITS, now, by=by, own=own)
    if applied.refused:
        raise EditRefused(problem=" ".join(problem.text for problem in applied.problems))
    return applied


class Edits(Handle):
    """Changes the list in the name of somebody."""

    def edit(self, ops: Any, *, by: str, revision: int | None = None) -> TodoList:
        """Applies targeted operations, all or none, in the name of a person or another agent; the new list.

        With `revision`, only if the list is still at that revision. Raises `EditRefused` or `RevisionConflict`. What a
        person calls done is `confirmed`, also an item that was called done before.
        """
        return self._change(Edit(operations(ops)), by=by, revision=revision)

    def rewrite(self, todos: TodoList, *, by: str, revision: int | None = None) -> TodoList:
        """Puts a whole list in place of this one: items that match keep their ids, open ones left out are set aside."""
        return self._change(rewrite(todos), by=by, revision=revision)

    def _change(self, command: Command, *, by: str, revision: int | None) -> TodoList:
        check_name("author", by)
        within: list[tuple[Transaction, AgentRow]] = []

        def decide(state: ListState, now: datetime) -> Applied:
            if revision is not None and state.todos.revision != revision:
                raise RevisionConflict(expected=revision, actual=state.todos.revision)
            by_a_person = _is_person(within[0][0], self.session, by)
            return apply_edit(state, command, now, by=by, own=by == self.name, by_a_person=by_a_person)

        return self._write(decide, by=by, within=within, claims=True)

    def undo(self, *, by: str) -> TodoList:
        """Takes back this author's last change; refuses, and names it, if what it touched was changed again since."""
        row_of: list[tuple[Transaction, AgentRow]] = []

        def decide(state: ListState, _now: datetime) -> Applied:
            tx, row = row_of[0]
            undid = tx.history.last_change(row.number, by)
            before = tx.history.at(row.number, undid - 1) if undid is not None else None
            after = tx.history.at(row.number, undid) if undid is not None else None
            if undid is None or before is None or after is None:
                raise NothingToUndo(by=by)
            current = state.todos
            todos = undo(current, before, after)
            if isinstance(todos, str):
                raise UndoRefused(by=by, touched=todos)
            todos = replace(todos, revision=current.revision + 1)
            drafts = [*diff(current, todos), draft_header("list.undone", current, todos, undid=undid)]
            for draft in drafts:
                draft.data.setdefault("revision", todos.revision)
            shown = items_known_to_agent(state, todos)
            return Applied(ListState(todos, shown if by != self.name else None), tuple(drafts))

        return self._write(decide, by=by, within=row_of)

    def restore_list(self, todos: TodoList, *, by: str, source: str, revision: int | None = None) -> TodoList:
        """Takes over a list that was kept elsewhere, as this agent's own, with where it came from in the event.

        With `revision`, only if the list is still at that revision.
        """

        def decide(state: ListState, now: datetime) -> Applied:
            if revision is not None and state.todos.revision != revision:
                raise RevisionConflict(expected=revision, actual=state.todos.revision)
            applied = apply_edit(state, rewrite(todos), now, by=by, own=True)
            *events, last = applied.events
            if last.kind == "list.replaced":
                last = Draft("list.restored", {**last.data, "source": source})
            return applied._replace(events=(*events, last))

        return self._write(decide, by=by)

    def _write(
        self,
        decide: Callable[[ListState, datetime], Applied],
        *,
        by: str,
        within: list[tuple[Transaction, AgentRow]] | None = None,
        claims: bool = False,
    ) -> TodoList:
        """With `claims` what is called done is graded: a person's word confirms it."""

        def work(tx: Transaction) -> Applied:
            now = self.board.now()
            row = self._joined(tx, now, active=by == self.name)
            if within is not None:
                within[:] = [(tx, row)]
            applied = decide(row.state, now)
            if claims and any(kind in _CLAIMS for kind, _ in applied.events):
                applied = self._claimed(tx, row, applied, by)
            tx.save_list(row, applied.state, unseen=row.unseen, at=now, events=applied.events)
            tx.add_events(row, applied.events, by=by, at=now)
            return applied

        applied = self.board.store.transact(work)
        self._changed()
        return applied.state.todos

    def _claimed(self, tx: Transaction, row: AgentRow, applied: Applied, by: str) -> Applied:
        """The change with its completions graded: those of another agent by what was seen, if anything was reported."""
        from punchlist.agent.grading import Judging, claims, graded

        if _is_person(tx, self.session, by):
            return graded(applied, [(claim, "confirmed") for claim in claims(row.state.todos, applied.events)])
        watched = self._accounts.tally(row.ledger).watched
        return graded(applied, Judging().judged(tx, row, applied)) if watched else applied


def _is_person(tx: Transaction, session: str, by: str) -> bool:
    """Whether an author is none of the agents of a session."""
    return by not in tx.names(session)

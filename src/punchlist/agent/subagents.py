"""Link a child to the item of its parent that its label names; start it, and complete it if the option says so."""

from __future__ import annotations

import logging
from datetime import datetime

from punchlist.agent.detectors import new_stall
from punchlist.agent.edits import apply_edit
from punchlist.agent.grading import add_grades, judge_claims, refusal
from punchlist.agent.handle import AgentContext, ancestors
from punchlist.agent.tool_reports import ToolReports, key_in_focus
from punchlist.core.commands import Done, Edit, Target
from punchlist.core.events import Draft
from punchlist.core.grounding.evidence import matching_item
from punchlist.core.grounding.tool_call import item_key
from punchlist.store import AgentRow, Transaction
from punchlist.store.memory import AgentMemory

_log = logging.getLogger("punchlist.guidance")


class Subagents(ToolReports):
    """Links a child to the item of its parent that it works on."""

    def _lit_up(self, ctx: AgentContext, child: AgentRow) -> str:
        """Return the key of what a new child works on: the open item that its label names, else what is in focus."""
        tx, row = ctx.tx, ctx.row
        begun = AgentMemory(awaited=True, stall=new_stall(child, ctx), stall_options=self._settings.stalls)
        tx.memory.save(child.number, begun)
        item = _find_labelled_item(row, child.label) or key_in_focus(ctx)
        tx.memory.save_started_for(child.number, item)
        return item

    def _finish_as_child(self, outcome: str) -> None:
        """Completes the item that this agent was started for, if that was asked for."""
        if outcome != "completed" or not self._settings.complete_by_subagents:
            return
        try:
            parent = self._board.store.transact(lambda tx: self._complete(tx, self._board.now()))
        except Exception:
            _log.exception("the item that %s in session %s was started for is not completed", self.name, self.session)
            return
        if parent is not None:
            self._board.changed(self._board.handle(parent, session=self.session, project=self._project))

    def _complete(self, tx: Transaction, now: datetime) -> str | None:
        """Complete and grade the parent's item; return the parent's name, None if no item is completed."""
        own = tx.agent(self.session, self.name)
        name = None if own is None else tx.memory.parent_of(own.number)
        row = None if name is None else tx.agent(self.session, name)
        item = None if own is None or row is None else _find_labelled_item(row, own.label).rpartition("/")[2]
        if row is None or not item:
            return None
        done = Edit((Done(Target(item=item, by="id"), advance=False),))
        applied = apply_edit(row.state, done, now, by=self.name, own=False)
        given = judge_claims(tx, row, applied)
        if self._grading == "require" and (problem := refusal(given)) is not None:
            refused = Draft("list.refused", {"code": problem.code, "problem": problem.text[:500]})
            tx.add_events(row, [refused], by=self.name, at=now)
            return None
        applied = add_grades(applied, given)
        tx.save_list(row, applied.state, unseen=row.unseen, at=now, events=applied.events)
        tx.add_events(row, applied.events, by=self.name, at=now)
        return name


def _find_labelled_item(row: AgentRow, label: str | None) -> str:
    """Return the key of the one open item that a label names; empty without one."""
    item = matching_item(label, row.state.todos.items) if label else None
    return "" if item is None else item_key(row.state.todos.plan_id, item.id)


def is_gone(tx: Transaction, session: str, name: str) -> bool:
    """True if this subagent finished while an ancestor is still running: its list is no longer what goes on."""
    row = tx.agent(session, name)
    if row is None or row.parent is None or not tx.log.has_finished(row.number):
        return False
    return any(not tx.log.has_finished(parent.number) for parent, _ in ancestors(tx, row))

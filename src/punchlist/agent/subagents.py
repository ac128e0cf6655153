"""Link a child to the item of its parent that its label names; start it, and complete it if the option says so."""

from __future__ import annotations

from datetime import datetime

from punchlist.agent.calls import observe_call
from punchlist.agent.context import LONGEST_ID, AgentContext, AgentRunner, check_name, save_applied
from punchlist.agent.detectors import new_stall
from punchlist.agent.edits import apply_edit
from punchlist.agent.grading import grade_change, refusal, save_graded
from punchlist.agent.tool_reports import key_in_focus
from punchlist.core.commands import Done, Edit, Target
from punchlist.core.events import Draft
from punchlist.core.grounding.evidence import matching_item
from punchlist.core.grounding.tool_call import item_key
from punchlist.store import AgentRow, Transaction
from punchlist.store.runtime import AgentMemory
from punchlist.text.hashing import blake2b


def add_child(agent: AgentRunner, name: str, label: str | None, spawn_id: str | None) -> str:
    """Add a child of an agent, and return its name. It works on the item that its label names, else on the focus."""
    check_name("agent", name)
    label = agent.clean_label(label)
    if spawn_id is not None and len(spawn_id) > LONGEST_ID:  # a hash is the same each time, too
        spawn_id = f"#{blake2b(spawn_id.encode(errors='replace'), digest_size=16).hexdigest()}"

    def work(ctx: AgentContext) -> str:
        tx, row, now = ctx.tx, ctx.row, ctx.now
        observe_call(ctx)
        if spawn_id is not None and (known := tx.find_spawned(agent.session, row.number, spawn_id)) is not None:
            return known
        free, number, taken = name, 1, tx.names(agent.session)
        while free in taken:
            number += 1
            free = f"{name}-{number}"
        check_name("agent", free)
        made = tx.add_agent(
            agent.session, free, project=row.project, at=now, parent=row.number, label=label, spawn_id=spawn_id
        )
        begun = AgentMemory(awaited=True, stall=new_stall(made, ctx), stall_options=agent.settings.stalls)
        tx.memory.save(made.number, begun)
        item = _find_labelled_item(row, label) or key_in_focus(ctx)
        tx.subagents.save_started_for(made.number, item)
        ctx.add(Draft("agent.spawned", {"child": free, "label": label} | ({"item": item} if item else {})))
        return free

    return agent.run(work)


def complete_item_of_parent(agent: AgentRunner) -> None:
    """Complete the parent's item that a child's label names, as its work is done; a fault is logged."""
    try:
        agent.board.store.transact(lambda tx: _complete(agent, tx, agent.now()))
    except Exception:
        said = f"the item that {agent.name} in session {agent.session} was started for is not completed"
        agent.board.log_fault(said)


def _complete(agent: AgentRunner, tx: Transaction, now: datetime) -> None:
    own = tx.agent(agent.session, agent.name)
    name = None if own is None else tx.subagents.parent_of(own.number)
    row = None if name is None else tx.agent(agent.session, name)
    item = None if own is None or row is None else _find_labelled_item(row, own.label).rpartition("/")[2]
    if row is None or not item:
        return
    done = Edit((Done(Target(item=item, by="id"), advance=False),))
    applied = apply_edit(row.state, done, now, by=agent.name, own=False)
    given = grade_change(tx, row, applied, now)
    if agent.settings.grades == "require" and (problem := refusal(given)) is not None:
        refused = Draft("list.refused", {"code": problem.code, "problem": problem.text[:500]})
        tx.add_events(row, [refused], by=agent.name, at=now)
        return
    applied = save_graded(tx, row, applied, given)
    save_applied(tx, row, applied, by=agent.name, at=now)


def _find_labelled_item(row: AgentRow, label: str | None) -> str:
    """Return the key of the one open item that a label names; empty without one."""
    item = matching_item(label, row.state.todos.items) if label else None
    return "" if item is None else item_key(row.state.todos.plan_id, item.id)

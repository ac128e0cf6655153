"""Resolve what waits on a person: answer a question, decide on a plan, let an item, a task or a flow go on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from punchlist.board import Board
from punchlist.core.commands import Note, Operation, Target, Unblock
from punchlist.core.overview import PersonWait
from punchlist.errors import EditRefused
from punchlist.hosts.back_channel import deliver
from punchlist.views.now import ReceiptView

Outcome = Literal["resumed", "unblocked", "answered", "approved", "rejected"]


def resolve_wait(
    board: Board, wait: PersonWait, text: str, *, by: str, person: bool, make_list: bool = False
) -> Outcome:
    """Resolve a wait in the name of an author and return what was done, in a word.

    For a plan the text is `approve` or `reject REASON`; `make_list` makes the list of the steps of an approved plan.
    For everything but a question and a plan it is a note, and may be empty. `person` as for `Agent.edit`.
    """
    state = {"answer": text} if text else None
    match wait.kind:
        case "task":
            board.tasks(wait.list, by=by).resume(wait.id, state=state)
            return "resumed"
        case "flow":
            board.flows(by=by).resume(wait.id, state)
            return "resumed"
        case _:
            agent = board.agent(wait.agent, session=wait.session, project=wait.project)
    if wait.kind == "item":
        target = Target(item=wait.id, by="id")
        operations: list[Operation] = [Unblock(target), *([Note(target, text)] if text else [])]
        agent.edit(operations, by=by, person=person)
        return "unblocked"
    if wait.kind == "question":
        if not text:
            raise EditRefused(problem="An answer needs a text.")
        agent.answer(wait.id, text, by=by, person=person)
        return "answered"
    decision, _, reason = text.partition(" ")
    if decision == "approve" and not reason:
        agent.approve_plan(int(wait.id), by=by, todos=make_list, person=person)
        return "approved"
    if decision == "reject" and reason.strip():
        agent.reject_plan(reason, by=by, revision=int(wait.id), person=person)
        return "rejected"
    raise EditRefused(problem="A plan is approved, or rejected with a reason.")


def find_wait(
    waits: Iterable[PersonWait],
    *,
    kind: str,
    session: str,
    agent: str,
    id: str,
    list: str = "",
    read: str | None = None,
) -> PersonWait:
    """Return the wait with these values; raise `EditRefused` if it waits no more.

    `read` is the text that the person read, for one who answers nothing else: an agent may ask anew on the same item.
    """
    wanted = (kind, session, agent, id, list)
    for wait in waits:
        if (wait.kind, wait.session, wait.agent, wait.id, wait.list) == wanted and read in (None, wait.text):
            return wait
    problem = "That waits no more: it was answered meanwhile, or its agent went on or asks something else."
    raise EditRefused(problem=problem)


def deliver_outcome(
    board: Board, wait: PersonWait, after: int, outcome: Outcome, *, wait_seconds: float = 0
) -> ReceiptView | None:
    """Tell the agent of a wait what was done since an event, if it is idle; return the receipt, None for tasks."""
    if wait.kind in ("task", "flow"):
        return None
    return deliver(board, wait.session, wait.agent, after, is_approval=outcome == "approved", wait=wait_seconds)

"""Handlers that change lists and decide what waits on a person."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from punchlist.agent import Agent
from punchlist.core.overview import PersonWait
from punchlist.core.todo import TodoList
from punchlist.people.back_channel import deliver, deliver_outcome, find_wait, resolve_wait
from punchlist.reports.work_reports import save_mark
from punchlist.server.api.calls import Answer, ApiCall
from punchlist.store import AgentRow, Transaction
from punchlist.store.plans import PlanRow
from punchlist.views.list_owners import is_personal_list, open_list_owner
from punchlist.views.lists import view_plan, view_todos

# Bodies.

Text = Annotated[str, Meta(max_length=100_000)]
Name = Annotated[str, Meta(max_length=4_000)]
Verb = Literal[
    "init", "append", "start", "done", "fail", "drop", "reopen",
    "remove", "note", "block", "unblock", "reword", "restore",
]  # fmt: skip


class NewItem(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An item with more than its text."""

    content: Annotated[str, Meta(min_length=1, max_length=100_000)]
    status: Literal["pending", "in_progress", "blocked", "completed", "failed", "cancelled"] = "pending"
    active_form: Text | None = None
    phase: Name | None = None


Items = Annotated[list[Text | NewItem], Meta(max_length=10_000)]


class NewPhase(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A phase with its items."""

    items: Items
    phase: Name | None = None


Phases = Annotated[list[NewPhase], Meta(max_length=1_000)]


class EditOperation(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One change. `item` is the id or the text of an item, `phase` the name of a phase.

    Without either, `done`, `drop`, `remove`, `unblock` and `restore` are about all items.
    """

    op: Verb
    item: Annotated[str, Meta(min_length=1, max_length=100_000)] | None = None
    phase: Annotated[str, Meta(min_length=1, max_length=4_000)] | None = None
    items: Items | None = None
    list: Phases | None = None
    text: Text | None = None
    reason: Text | None = None
    on: Name | None = None
    evidence: Text | None = None
    active_form: Text | None = None


class EditBody(Struct, forbid_unknown_fields=True):
    """Changes to a list: all of them, or none."""

    operations: Annotated[list[EditOperation], Meta(min_length=1, max_length=1_000)]


class EmptyBody(Struct, forbid_unknown_fields=True):
    """Nothing has to be said."""


class QuestionBody(Struct, forbid_unknown_fields=True):
    """The answer to the question of an item, which is named by its id.

    With `question`, the text that was read, an agent that asks something else by now gets no answer.
    """

    item: Annotated[str, Meta(min_length=1, max_length=200)]
    text: Annotated[str, Meta(min_length=1, max_length=100_000)]
    question: Text | None = None


class ApprovalBody(Struct, forbid_unknown_fields=True):
    """The revision that was read. With `todos` its steps become the todo list."""

    revision: Annotated[int, Meta(ge=0, le=2**53)]
    todos: bool = False


class RejectionBody(Struct, forbid_unknown_fields=True):
    """The revision that was read, and what is wrong with it."""

    revision: Annotated[int, Meta(ge=0, le=2**53)]
    reason: Annotated[str, Meta(min_length=1, max_length=10_000)]


class WaitBody(Struct, forbid_unknown_fields=True):
    """Something that waits, by the values that it has in `/api/v1/waits`, and what is said to it.

    `text` is the answer to a question, `approve` or `reject REASON` for a plan, and a note for everything else. With
    `question`, its `text` as it was read, nothing is done if the agent asks something else by now.
    """

    kind: Literal["question", "plan", "item", "task", "flow"]
    id: Annotated[str, Meta(min_length=1, max_length=200)]
    session: Annotated[str, Meta(max_length=200)] = ""
    agent: Annotated[str, Meta(max_length=200)] = ""
    list: Annotated[str, Meta(max_length=4_200)] = ""
    text: Text = ""
    question: Text | None = None
    todos: bool = False


class MarkBody(Struct, forbid_unknown_fields=True):
    """The `until` of a brief that was read, of one project or of all."""

    until: Annotated[int, Meta(ge=0, le=2**53)]
    project: Annotated[str, Meta(min_length=1, max_length=4_096, pattern=r"^[^\x00-\x1f\x7f]*$")] | None = None


# Replies that hold several views, or tell what was done.


class AnsweredView(Struct, frozen=True, kw_only=True):
    """The wait that was resolved, and the number of the last event of it, by which its receipt is found."""

    outcome: Literal["answered", "approved", "rejected", "unblocked", "resumed"]
    session: str
    agent: str
    id: str
    by: str
    event: int


class MarkView(Struct, frozen=True):
    """Up to which event a reader has seen everything."""

    until: int


# Lists.


def edit_todos(call: ApiCall, body: EditBody) -> Answer:
    """Change an agent's list by operations, all or none; returns the new list."""
    operations = msgspec.to_builtins(body.operations)
    return change_list(
        call, lambda agent: agent.edit(operations, by=call.by, revision=call.revision, person=call.is_person)
    )


def undo_edit(call: ApiCall, body: EmptyBody) -> Answer:
    """Roll back your last change to an agent's list; returns the new list."""
    return change_list(call, lambda agent: agent.undo(by=call.by, revision=call.revision))


def change_list(call: ApiCall, change: Callable[[Agent], TodoList]) -> Answer:
    """Change the list of the agent of the path in one transaction; return the new list."""

    def run(_tx: Transaction, agent: Agent, row: AgentRow) -> Struct:
        return view_todos(change(agent), session=row.session, agent=row.name, project=row.project)

    return _change_agent(call, run)


def _change_agent(
    call: ApiCall,
    change: Callable[[Transaction, Agent, AgentRow], Struct],
    *,
    is_approval: bool = False,
    is_answer: bool = False,
) -> Answer:
    """Change something of the agent of the path, and tell it what a person did once the reply is on its way."""
    row = call.find_agent()
    if not is_answer:  # what an agent asks, anyone with the scope answers
        call.check_steering(row.session)
    agent = open_list_owner(call.board, row.name, row.session, row.project)

    def run(tx: Transaction) -> Struct:
        before = tx.last_seq()
        reply = change(tx, agent, row)
        if not is_personal_list(row.session, row.name, row.project):
            call.after.append(lambda: deliver(call.board, row.session, row.name, before, is_approval=is_approval))
        return reply

    return call.commit(run)


# What waits on a person.


def answer_question(call: ApiCall, body: QuestionBody) -> Answer:
    """Answer the question of an item; the agent is told at once if it is idle, else at its next turn."""

    def answer(tx: Transaction, agent: Agent, row: AgentRow) -> Struct:
        if body.question is not None:
            waits = call.board.waits(session=row.session)
            find_wait(waits, kind="question", session=row.session, agent=row.name, id=body.item, read=body.question)
        agent.answer(body.item, body.text, by=call.by, person=call.is_person)
        return AnsweredView(
            outcome="answered", session=row.session, agent=row.name, id=body.item, by=call.by, event=tx.last_seq()
        )

    return _change_agent(call, answer, is_answer=True)


def resolve(call: ApiCall, body: WaitBody) -> Answer:
    """Resolve something that waits: answer it, decide on it, or let it go on."""
    return resolve_one(call, body, lambda wait: call.sees(wait.project))


def resolve_one(call: ApiCall, body: WaitBody, is_shown: Callable[[PersonWait], bool]) -> Answer:
    """Resolve what a body names, if it is among what the person was shown."""

    def run(tx: Transaction) -> Struct:
        before = tx.last_seq()
        wait = find_wait(
            filter(is_shown, call.board.waits(project=call.grant.project)),
            kind=body.kind,
            session=body.session,
            agent=body.agent,
            id=body.id,
            list=body.list,
            read=body.question,
        )
        outcome = resolve_wait(
            call.board, wait, body.text.strip(), by=call.by, person=call.is_person, make_list=body.todos
        )
        call.after.append(lambda: deliver_outcome(call.board, wait, before, outcome))
        return AnsweredView(
            outcome=outcome, session=wait.session, agent=wait.agent, id=wait.id, by=call.by, event=tx.last_seq()
        )

    return call.commit(run)


def approve_plan(call: ApiCall, body: ApprovalBody) -> Answer:
    """Approve the revision of a plan that was read."""

    def approve(_tx: Transaction, agent: Agent, row: AgentRow) -> Struct:
        plan = agent.approve_plan(body.revision, by=call.by, todos=body.todos, person=call.is_person)
        return view_plan(PlanRow(row.session, row.name, row.project, row.number, plan), call.board.now())

    return _change_agent(call, approve, is_approval=True)


def reject_plan(call: ApiCall, body: RejectionBody) -> Answer:
    """Reject the revision of a plan that was read, with a reason."""

    def reject(_tx: Transaction, agent: Agent, row: AgentRow) -> Struct:
        plan = agent.reject_plan(body.reason, by=call.by, revision=body.revision, person=call.is_person)
        return view_plan(PlanRow(row.session, row.name, row.project, row.number, plan), call.board.now())

    return _change_agent(call, reject)


def save_brief_mark(call: ApiCall, body: MarkBody) -> Answer:
    """Move your mark: you have seen everything up to this event."""
    project = call.choose_project(body.project)

    def run(tx: Transaction) -> Struct:
        until = min(body.until, tx.last_seq())
        spent = sum(row.cost.tokens for row in call.board.costs(project=project))
        mark = f"brief {call.by} {project or ''}"
        save_mark(tx, mark, until, spent)
        return MarkView(tx.log.mark(mark))

    return call.commit(run)

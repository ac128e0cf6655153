"""Handlers that change lists and decide what waits on a person, and those that pass on an agent's own calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from punchlist.agent import Agent
from punchlist.core.overview import PersonWait
from punchlist.dialects import REGISTRY
from punchlist.hosts.answers import Outcome, deliver_outcome, find_wait, resolve_wait
from punchlist.hosts.back_channel import deliver
from punchlist.hosts.copies import open_agent
from punchlist.hosts.own_lists import is_own_list
from punchlist.hosts.reports import save_mark
from punchlist.server.api import replies
from punchlist.server.api.calls import Answer, Call
from punchlist.server.problems import ApiProblem
from punchlist.store import AgentRow, Transaction
from punchlist.store.plans import PlanRow
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


class ToolCallBody(Struct, forbid_unknown_fields=True):
    """A tool call of a model. `project` is where a session that is not there yet belongs; by default the server's."""

    tool: Annotated[str, Meta(min_length=1, max_length=200)]
    arguments: Any = None
    dialect: Annotated[str, Meta(max_length=100)] = "punchlist"
    call_id: Annotated[str, Meta(min_length=1, max_length=500)] | None = None
    project: Annotated[str, Meta(min_length=1, max_length=4_096, pattern=r"^[^\x00-\x1f\x7f]*$")] | None = None


# Lists.


def edit_todos(call: Call, body: EditBody) -> Answer:
    row = call.find_agent()
    operations = [_make_operation(operation) for operation in body.operations]

    def edit(agent: Agent) -> None:
        agent.edit(operations, by=call.by, revision=call.revision, person=call.is_person)

    return _change_list(call, row, edit)


def undo_edit(call: Call, body: EmptyBody) -> Answer:
    row = call.find_agent()
    return _change_list(call, row, lambda agent: agent.undo(by=call.by, revision=call.revision))


def _make_operation(given: EditOperation) -> dict[str, Any]:
    """Return an operation as `Agent.edit` takes it: without what was not given."""
    fields = {name: getattr(given, name) for name in given.__struct_fields__}
    made = {name: value for name, value in fields.items() if value is not None}
    if given.items is not None:
        made["items"] = [_make_item(item) for item in given.items]
    if given.list is not None:
        made["list"] = [
            {"phase": group.phase, "items": [_make_item(item) for item in group.items]} for group in given.list
        ]
    return made


def _make_item(given: str | NewItem) -> str | dict[str, Any]:
    if isinstance(given, str):
        return given
    return {name: getattr(given, name) for name in given.__struct_fields__}


def _change_list(call: Call, row: AgentRow, change: Callable[[Agent], object]) -> Answer:
    agent = open_agent(call.board, row.name, row.session, row.project)

    def run(tx: Transaction) -> Struct:
        before = tx.last_seq()
        change(agent)
        _tell_agent(call, row, before)
        return view_todos(agent.todos, session=row.session, agent=row.name, project=row.project)

    return call.commit(run)


def _tell_agent(call: Call, row: AgentRow, before: int, *, is_approval: bool = False) -> None:
    """Tell the agent what a person did, once the reply is on its way."""
    if not is_own_list(row.session, row.name, row.project):
        call.after.append(lambda: deliver(call.board, row.session, row.name, before, is_approval=is_approval))


# What waits on a person.


def answer_question(call: Call, body: QuestionBody) -> Answer:
    row = call.find_agent()
    agent = open_agent(call.board, row.name, row.session, row.project)

    def run(tx: Transaction) -> Struct:
        before = tx.last_seq()
        if body.question is not None:
            waits = call.board.waits(session=row.session)
            find_wait(waits, kind="question", session=row.session, agent=row.name, id=body.item, read=body.question)
        agent.answer(body.item, body.text, by=call.by, person=call.is_person)
        _tell_agent(call, row, before)
        return replies.AnsweredView(
            outcome="answered", session=row.session, agent=row.name, id=body.item, by=call.by, event=tx.last_seq()
        )

    return call.commit(run)


def resolve(call: Call, body: WaitBody) -> Answer:
    def find() -> PersonWait:
        waits = [wait for wait in call.board.waits(project=call.project) if call.sees(wait.project)]
        return find_wait(
            waits,
            kind=body.kind,
            session=body.session,
            agent=body.agent,
            id=body.id,
            list=body.list,
            read=body.question,
        )

    def run(tx: Transaction) -> Struct:
        wait, before = find(), tx.last_seq()
        outcome = resolve_wait(
            call.board, wait, body.text.strip(), by=call.by, person=call.is_person, make_list=body.todos
        )
        call.after.append(lambda: deliver_outcome(call.board, wait, before, outcome))
        return _show_outcome(call, tx, wait, outcome)

    def resume(tx: Transaction) -> Struct:
        wait = find()
        state = {"answer": body.text.strip()} if body.text.strip() else None
        call.board.tasks(body.list, by=call.by).within(tx).resume(wait.id, state=state)
        return _show_outcome(call, tx, wait, "resumed")

    return call.commit(resume if body.kind == "task" else run)


def _show_outcome(call: Call, tx: Transaction, wait: PersonWait, outcome: Outcome) -> replies.AnsweredView:
    return replies.AnsweredView(
        outcome=outcome, session=wait.session, agent=wait.agent, id=wait.id, by=call.by, event=tx.last_seq()
    )


def approve_plan(call: Call, body: ApprovalBody) -> Answer:
    row = call.find_agent()
    agent = open_agent(call.board, row.name, row.session, row.project)

    def run(tx: Transaction) -> Struct:
        before = tx.last_seq()
        plan = agent.approve_plan(body.revision, by=call.by, todos=body.todos, person=call.is_person)
        _tell_agent(call, row, before, is_approval=True)
        return view_plan(PlanRow(row.session, row.name, row.project, row.number, plan), call.board.now())

    return call.commit(run)


def reject_plan(call: Call, body: RejectionBody) -> Answer:
    row = call.find_agent()
    agent = open_agent(call.board, row.name, row.session, row.project)

    def run(tx: Transaction) -> Struct:
        before = tx.last_seq()
        plan = agent.reject_plan(body.reason, by=call.by, revision=body.revision, person=call.is_person)
        _tell_agent(call, row, before)
        return view_plan(PlanRow(row.session, row.name, row.project, row.number, plan), call.board.now())

    return call.commit(run)


def save_brief_mark(call: Call, body: MarkBody) -> Answer:
    project = call.choose_project(body.project)

    def run(tx: Transaction) -> Struct:
        until = min(body.until, tx.last_seq())
        spent = sum(row.cost.tokens for row in call.board.costs(project=project))
        mark = f"brief {call.by} {project or ''}"
        save_mark(tx, mark, until, spent)
        return replies.MarkView(tx.log.mark(mark))

    return call.commit(run)


# Calls of models.


def call_tool(call: Call, body: ToolCallBody) -> replies.ToolReplyView:
    session, name = call.path["session"], call.path["agent"]
    if body.dialect not in REGISTRY:
        detail = f"There is no such dialect; known are: {', '.join(REGISTRY)}."
        raise ApiProblem(422, "unknown_name", detail, field="dialect")
    known = call.board.store.read(lambda tx: tx.session_project(session))
    project = call.choose_project(body.project) if known is None else call.find_project(session)
    agent = call.board.agent(name, session=session, dialect=body.dialect, project=project)
    reply = agent.call(body.tool, body.arguments, call_id=call.take_call_id(body.call_id))
    return msgspec.convert(reply, replies.ToolReplyView, from_attributes=True)

"""Handlers of what an agent in another process does: its tool calls, turns and reports, and what it reads of itself.

The routes are those of `punchlist.remote.verbs`, one for each method, so that the two cannot differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict
from msgspec.structs import fields as fields_of

from punchlist.agent import Agent
from punchlist.agent.described_calls import EndedCall, StartedCall, accept
from punchlist.board import Board
from punchlist.core.commands import Problem
from punchlist.core.report import Brief, Report
from punchlist.core.task import CurrentWork
from punchlist.dialects import REGISTRY, dialect
from punchlist.remote.records import RECORDS
from punchlist.remote.verbs import LOCAL_OPTIONS, QUIET, AgentState, Handle, Verb
from punchlist.server.api.calls import Answer, ApiCall
from punchlist.server.api.reading import Cursor, Project, Session
from punchlist.server.api.routing import Handler
from punchlist.server.problems import ApiProblem
from punchlist.store import Transaction

_HANDLE = {field.name for field in fields_of(Handle)}


class ToolCallBody(Handle, forbid_unknown_fields=True):
    """A tool call of a model. `project` is where a session that is not there yet belongs; by default the server's."""

    tool: Annotated[str, Meta(min_length=1, max_length=200)]
    arguments: Any = None
    call_id: Annotated[str, Meta(min_length=1, max_length=500)] | None = None


class ToolReplyView(Struct, frozen=True, kw_only=True):
    """The reply to a tool call: its text for the model and its structured form, both as the dialect's original has."""

    text: str
    data: Any
    is_error: bool
    problems: tuple[Problem, ...]
    awaits: str | None
    """The id of a plan that a person has to decide on first."""


class SpawnBody(Handle, forbid_unknown_fields=True):
    """A child of the agent. The same `id` finds it again."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    label: Annotated[str, Meta(max_length=100_000)] | None = None
    id: Annotated[str, Meta(max_length=500)] | None = None


class SpawnView(Struct, frozen=True):
    """The name of the child: numbered, if the one that was asked for was taken."""

    name: str


def call_tool(call: ApiCall, body: ToolCallBody) -> ToolReplyView:
    """Answer a tool call of a model, in any dialect; the session and the agent are made if they are new."""
    reply = _open_agent(call, body).call(body.tool, body.arguments, call_id=call.take_call_id(body.call_id))
    return msgspec.convert(reply, ToolReplyView, from_attributes=True)


def spawn(call: ApiCall, body: SpawnBody) -> Answer:
    """Start a child of an agent: always a new one, unless its `id` is known."""
    agent = _open_agent(call, body)
    return call.commit(lambda _: SpawnView(agent.spawn(body.name, label=body.label, id=body.id).name))


def show_state(call: ApiCall) -> AgentState:
    """Show an agent as the library has it: its list, tasks, mode and plans. Nothing, of one that is not there yet."""
    session, name = call.path["session"], call.path["agent"]
    known = call.board.store.read(lambda tx: tx.session_project(session))
    row = None if known is None else call.board.store.agent(session, name)
    if known is not None:
        call.find_project(session)  # raises if the caller may not see it
    agent = call.board.agent(name, session=session, project=known)
    return AgentState(
        project=None if row is None else row.project,
        folder=None if row is None else row.folder,
        mode="plan" if row is not None and row.mode == "plan" else "execute",
        plan_mode=None if row is None else agent.plan_mode,
        plans=() if row is None else agent.plans,
        work=CurrentWork() if row is None else agent.work,
    )


_Most = Annotated[int, Meta(ge=0, le=10_000, description="How many to return at most.")]
_Waiting = Annotated[bool, Meta(description="Only those that wait for a decision.")]
_QUERY: Final[Mapping[str, Any]] = {
    "project": Project,
    "session": Session,
    "after": Cursor,
    "limit": _Most,
    "waiting": _Waiting,
}
"""What the methods of a board take."""


def make_record_handler(name: str) -> Handler:
    """Return the handler of a record: it calls the method of the board, for the project of the token."""
    takes = [(one, _QUERY[one], None) for one in signature(getattr(Board, name)).parameters if one in _QUERY]
    kind = msgspec.defstruct(f"{name.title()}RecordQuery", takes, forbid_unknown_fields=True, kw_only=True)

    def handle(call: ApiCall, query: Any) -> Any:
        given: dict[str, Any] = {key: value for key, value in asdict(query).items() if value is not None}
        session = call.choose_session(given.get("session"))
        given["project"] = None if session else call.choose_project(given.get("project"))
        found = getattr(call.board, name)(**given)
        if isinstance(found, Report | Brief):
            return found
        return tuple(one for one in found if call.sees(getattr(one, "project", call.grant.project)))

    handle.__name__ = f"load_{name}"
    handle.__doc__ = f"Return what `board.{name}(…)` of the library returns, whole."
    handle.__annotations__ = {"call": ApiCall, "query": kind, "return": RECORDS[name]}
    return handle


def make_handler(verb: Verb) -> Handler:
    """Return the handler of a verb: it runs the method of the agent, once for each key."""

    def handle(call: ApiCall, body: Any) -> Answer:
        agent = _open_agent(call, body)
        given = {name: value for name, value in asdict(body).items() if name not in _HANDLE}
        if call.grant.machine:
            given = {name: _accept(value) for name, value in given.items()}

        def run(_tx: Transaction) -> Struct:
            return verb.reply(getattr(agent, verb.name)(**given))

        return call.commit(run, durable=verb.name not in QUIET)

    handle.__name__ = verb.name
    handle.__doc__ = verb.about
    handle.__annotations__ = {"call": ApiCall, "body": verb.body, "return": verb.reply}
    return handle


def _accept(value: Any) -> Any:
    """Return what a machine says, a description of a call without what none holds."""
    try:
        if isinstance(value, StartedCall):
            return accept(value)
        return accept(value) if isinstance(value, EndedCall) else value
    except ValueError as error:
        raise ApiProblem(422, "invalid_input", f"{error}.", field="described") from error


def _open_agent(call: ApiCall, body: Handle) -> Agent:
    """Return the handle that a body describes on the agent of the path; it need not be there yet."""
    session, name = call.path["session"], call.path["agent"]
    if body.dialect not in REGISTRY:
        detail = f"There is no such dialect; known are: {', '.join(REGISTRY)}."
        raise ApiProblem(422, "unknown_name", detail, field="dialect")
    if call.grant.machine and (dialect(body.dialect).layer == "flows" or "task_list" in body.options):
        raise ApiProblem(
            403, "scope_missing", "The token of a machine reaches no flows, and no list of tasks by its name."
        )
    local = next((name for name in LOCAL_OPTIONS if name in body.options), None)
    if local is not None:  # a pattern of a stranger could keep the server busy for ever
        detail = f"`{local}` says how calls are described, which is done where they run."
        raise ApiProblem(422, "invalid_input", detail, field=f"options.{local}")
    call.check_steering(session)
    known = call.board.store.read(lambda tx: tx.session_project(session))
    project = call.place_session(body.project) if known is None else call.find_project(session)
    agent = call.board.agent(
        name, session=session, dialect=body.dialect, profile=body.profile, project=project, **body.options
    )
    if agent.task_list not in (f"session:{session}", f"project:{agent.project}"):
        call.check_list(agent.task_list)
    return agent

"""LangChain, LangGraph and deepagents: `create_agent(model, tools, middleware=[Punchlist()])`. One session per thread.

Texts for the model stand at the tail of one request and never enter the state. The state has the list under `todos`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, NotRequired
from uuid import uuid4

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse, hook_config
from langchain.agents.middleware.types import OmitFromInput, PrivateStateAttr
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from punchlist import aio
from punchlist.adapters import Conversations
from punchlist.board import Board
from punchlist.core.todo import TodoList
from punchlist.dialects.base import Tool, shown_items
from punchlist.dialects.langchain import DIALECT, PARALLEL
from punchlist.guidance.words import Injection
from punchlist.loop import Outcome

Todos = list[dict[str, str]]


def _take_last(_before: Todos, after: Todos) -> Todos:
    """Return what the last of several calls of one message left."""
    return after


class State(AgentState[Any]):
    todos: Annotated[NotRequired[Todos], OmitFromInput, _take_last]
    """The list after our tool's last call, as LangChain's own middleware has it."""
    punchlist_session: Annotated[NotRequired[str], PrivateStateAttr]
    """The session of a run without a thread."""


class Punchlist(AgentMiddleware[Any, Any, Any]):
    """Middleware with the todo tool, texts for the model, the stop guard, and reports of all other tools."""

    state_schema = State

    def __init__(self, board: Board | None = None, *, session: str | None = None, **options: Any) -> None:
        """`session` is the one session of all runs, by default one for each thread. `options` as for `board.agent`."""
        super().__init__()
        self._conversations = Conversations(board, **options)
        self._session = session
        found = self._conversations.tools
        self._once = {tool.name for tool in found if tool.annotations.get("oncePerTurn")}
        self.tools = [self._make_tool(tool) for tool in found]

    def _talk(self, state: Mapping[str, Any]) -> aio.Conversation:
        session = self._session or _thread() or state.get("punchlist_session") or "langchain"
        talk, subagent = self._conversations.find(session), _find_subagent()
        return talk if subagent is None else self._conversations.find_child(talk, *subagent)

    # Our tool.

    def _make_tool(self, tool: Tool) -> StructuredTool:
        def call(runtime: ToolRuntime, **args: Any) -> Command[Any]:
            talk = self._talk(runtime.state).synchronous
            reply = talk.call(tool.name, args, _name_call(runtime.state["messages"], runtime.tool_call_id))
            todos = talk.todos
            status = "error" if reply.is_error else "success"
            answer = ToolMessage(reply.text, tool_call_id=runtime.tool_call_id, name=tool.name, status=status)
            # The state keeps the list that it has where the board cannot be read.
            changed = {"todos": _describe_todos(todos)} if todos.revision else {}
            return Command(update={"messages": [answer], **changed})

        async def call_aside(runtime: ToolRuntime, **args: Any) -> Command[Any]:
            return await asyncio.to_thread(call, runtime, **args)

        schema = {**tool.input_schema, "title": tool.name, "description": tool.description}
        return StructuredTool(
            name=tool.name, description=tool.description, args_schema=schema, func=call, coroutine=call_aside
        )

    # A run, its requests, its end.

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        session = {} if _thread() else {"punchlist_session": state.get("punchlist_session") or uuid4().hex}
        last = next((one for one in reversed(state["messages"]) if isinstance(one, HumanMessage)), None)
        self._talk({**state, **session}).synchronous.person_spoke("" if last is None else str(last.text))
        return session or None

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return await asyncio.to_thread(self.before_agent, state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        talk = self._talk(request.state).synchronous
        response = handler(_add_notes(request, talk.for_request(request.messages)))
        talk.model_answered(*_list_calls(response))
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        talk = self._talk(request.state)
        response = await handler(_add_notes(request, await talk.for_request(request.messages)))
        await talk.model_answered(*_list_calls(response))
        return response

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        last = state["messages"][-1]
        if not isinstance(last, AIMessage):
            return None
        calls = [call for call in last.tool_calls if call["name"] in self._once]
        if len(calls) > 1:
            return {"messages": [ToolMessage(PARALLEL, tool_call_id=call["id"], status="error") for call in calls]}
        more = None if last.tool_calls else self._talk(state).synchronous.keep_going(str(last.text))
        return None if more is None else {"messages": [HumanMessage(more)], "jump_to": "model"}

    @hook_config(can_jump_to=["model"])
    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return await asyncio.to_thread(self.after_model, state, runtime)

    # The calls of other tools.

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        with self._talk(request.state).synchronous.tool(*_read_call(request)) as outcome, _mark_waiting(outcome):
            return _describe(outcome, handler(request))

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        async with self._talk(request.state).tool(*_read_call(request)) as outcome:
            with _mark_waiting(outcome):
                return _describe(outcome, await handler(request))


def _config() -> Mapping[str, Any]:
    try:
        return get_config()
    except RuntimeError:  # outside of a graph
        return {}


def _thread() -> str | None:
    thread = _config().get("configurable", {}).get("thread_id")
    return None if thread is None else str(thread)


def _find_subagent() -> tuple[str, str] | None:
    """Return name and id of the agent that runs in a call of a tool of another one, as `task` of deepagents starts it.

    An agent that is a node of a larger graph is none: its namespace is another one in each run.
    """
    *graphs, _ = _config().get("configurable", {}).get("checkpoint_ns", "").split("|")
    if not any(graph.startswith("tools:") for graph in graphs):
        return None
    return _config().get("metadata", {}).get("lc_agent_name") or "subagent", "|".join(graphs)


def _name_call(messages: Sequence[Any], id: str | None) -> str | None:
    """Return an id that no other message has a call of: some models number their calls from one in each message."""
    last = next((one for one in reversed(messages) if isinstance(one, AIMessage)), None)
    return id if last is None or not last.id or id is None else f"{last.id}/{id}"


def _read_call(request: Any) -> tuple[str | None, str, Any]:
    call = request.tool_call
    return _name_call(request.state["messages"], call["id"]), call["name"], call["args"]


def _add_notes(request: ModelRequest[Any], found: Sequence[Injection]) -> ModelRequest[Any]:
    notes = [HumanMessage(note.text) for note in found]
    return request.override(messages=[*request.messages, *notes]) if notes else request


def _list_calls(response: Any) -> tuple[list[str], list[str | None]]:
    messages = [one for one in getattr(response, "result", [response]) if isinstance(one, AIMessage)]
    calls = [(call["name"], _name_call([one], call["id"])) for one in messages for call in one.tool_calls]
    return [name for name, _ in calls], [one for _, one in calls]


def _describe_todos(todos: TodoList) -> Todos:
    found = shown_items(todos, DIALECT.policy)
    return [{"content": item.content, "status": status.value} for item, status in found]


@contextmanager
def _mark_waiting(outcome: Outcome) -> Generator[None]:
    """Note that a tool interrupts the graph for a person: it is called again with the answer."""
    try:
        yield
    except GraphBubbleUp:
        outcome.is_waiting = True
        raise


def _describe(outcome: Outcome, result: Any) -> Any:
    """Note how a call went, as far as its message says it; return the result."""
    if isinstance(result, ToolMessage):
        outcome.result = str(result.text)
        outcome.is_error = True if result.status == "error" else None
        artifact: Any = result.artifact
        if isinstance(artifact, Mapping) and isinstance(code := artifact.get("exit_code"), int):
            outcome.exit_code = code
    return result

"""pydantic-ai: `Agent(model, capabilities=[Punchlist()])`, one session per conversation id; and a store for `Planning`.

Texts for the model stand at the tail of one request and never enter `result.all_messages()`.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import ApprovalRequired, CallDeferred, ModelRetry, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, UserPromptPart
from pydantic_ai.tools import Tool
from pydantic_ai.toolsets import FunctionToolset

from punchlist import aio
from punchlist.adapters import Conversations
from punchlist.board import Board
from punchlist.core.merge import item_names
from punchlist.core.todo import Status, TodoList
from punchlist.dialects.base import Tool as OurTool


@dataclass(init=False)
class Punchlist(AbstractCapability[Any]):
    """A capability with the todo tool, texts for the model, the stop guard, and reports of all other tools."""

    session: str | None = None
    _conversations: Conversations = field(repr=False)
    _talk: aio.Conversation | None = field(default=None, repr=False)

    def __init__(self, board: Board | None = None, *, session: str | None = None, **options: Any) -> None:
        """`session` is that of all runs, by default each conversation's. `options` are those of `board.agent`."""
        self.session = session
        self._conversations = Conversations(board, **options)
        self._talk = None

    async def for_run(self, ctx: RunContext[Any]) -> Punchlist:
        """Return a capability for one run, so that two conversations stay apart."""
        session = self.session or ctx.conversation_id or ctx.run_id or "pydantic-ai"
        made = copy(self)
        made._talk = self._conversations.find(session)
        await made.talk.person_spoke(ctx.prompt if isinstance(ctx.prompt, str) else "")
        return made

    @property
    def talk(self) -> aio.Conversation:
        assert self._talk is not None, "outside of a run"
        return self._talk

    def get_toolset(self) -> FunctionToolset[Any]:
        return FunctionToolset([self._make_tool(tool) for tool in self._conversations.tools])

    def _make_tool(self, tool: OurTool) -> Tool[Any]:
        async def call(ctx: RunContext[Any], /, **args: Any) -> str:
            # Not `ModelRetry` for an error: that is counted, and then ends the run.
            return (await self.talk.call(tool.name, args, ctx.tool_call_id)).text

        schema = dict(tool.input_schema)
        return Tool.from_schema(call, tool.name, tool.description, schema, takes_ctx=True, sequential=True)

    # A request, its answer, the end.

    async def before_model_request(self, ctx: RunContext[Any], request_context: Any) -> Any:
        messages = request_context.messages
        notes = await self.talk.for_request(messages)
        if notes:  # a new list: the history of the run keeps its own
            parts = [UserPromptPart(note.text) for note in notes]
            request_context.messages = [*messages, ModelRequest(parts=parts)]
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: Any, response: ModelResponse
    ) -> ModelResponse:
        calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
        await self.talk.model_answered([call.tool_name for call in calls], [call.tool_call_id for call in calls])
        return response

    async def after_output_process(self, ctx: RunContext[Any], *, output: Any, **_: Any) -> Any:
        if ctx.partial_output or ctx.retry >= ctx.max_retries:  # a run that may not retry would end with an error
            return output
        more = await self.talk.keep_going(output if isinstance(output, str) else "")
        if more is not None:
            raise ModelRetry(more)
        return output

    # The calls of other tools.

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: Any, args: Any, handler: Any
    ) -> Any:
        async with self.talk.tool(call.tool_call_id, call.tool_name, args) as outcome:
            try:
                outcome.result = result = await handler(args)
            except (ApprovalRequired, CallDeferred):
                outcome.is_waiting = True
                raise
        return result


class PlanStore:
    """The store of a plan of pydantic-ai-harness: `Planning(store=PlanStore(session="thread-1"))`.

    Steps keep their ids. It has no subtasks and dependencies: leave `enable_subtasks` off.
    """

    def __init__(self, board: Board | None = None, *, session: str, **options: Any) -> None:
        from pydantic_ai_harness.planning import PlanItem

        self._item: Any = PlanItem
        self._agent = Conversations(board, **options).find(session).agent
        self._read = TodoList()

    async def get_items(self) -> list[Any]:
        self._read = todos = await self._agent.todos
        names = item_names(todos.items, _IDS)
        return [
            self._item(
                id=name,
                content=item.content,
                active_form=item.active_form or "",
                status=Status.PENDING if item.status is Status.FAILED else item.status.value,
            )
            for name, item in zip(names, todos.items, strict=True)
        ]

    async def set_items(self, items: Sequence[Any]) -> None:
        if any(item.parent_id or item.depends_on for item in items):
            raise ValueError("Punchlist keeps no subtasks and dependencies of a plan: leave `enable_subtasks` off.")
        failed = {name for name, item in zip(item_names(self._read.items, _IDS), self._read.items, strict=True)
                  if item.status is Status.FAILED}  # fmt: skip
        written = [
            {"id": item.id, "content": item.content, "active_form": item.active_form}
            # What was shown as pending and comes back so is no change.
            | ({} if item.id in failed and item.status == "pending" else {"status": item.status.value})
            for item in items
        ]
        seen = self._read.revision
        self._read = await self._agent.write(written, ids=_IDS, seen=seen)

    async def get_item(self, item_id: str) -> Any:
        return next((item for item in await self.get_items() if item.id == item_id), None)

    async def add_item(self, item: Any) -> Any:
        items = await self.get_items()
        if any(known.id == item.id for known in items):
            raise ValueError(f"There is a step `{item.id}` already.")
        await self.set_items([*items, item])
        return item

    async def update_item(self, item_id: str, **changes: Any) -> Any:
        items = await self.get_items()
        place = next((place for place, item in enumerate(items) if item.id == item_id), None)
        if place is None:
            return None
        items[place] = items[place].model_copy(update={key: new for key, new in changes.items() if new is not None})
        await self.set_items(items)
        return items[place]

    async def remove_item(self, item_id: str) -> bool:
        items = await self.get_items()
        await self.set_items([item for item in items if item.id != item_id])
        return any(item.id == item_id for item in items)


_IDS = "pydantic-ai"

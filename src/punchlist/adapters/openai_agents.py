"""The OpenAI Agents SDK: `await run(agent, "…")` in place of `Runner.run`. Agents that are handed off to are children.

Texts for the model stand at the tail of one request and never enter the session of the SDK.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from inspect import isawaitable
from typing import Any
from uuid import uuid4

from agents.run import CallModelData, ModelInputData

from agents import Agent, FunctionTool, Handoff, RunConfig, RunHooks, Runner
from punchlist import aio
from punchlist.adapters import Conversations
from punchlist.board import Board
from punchlist.dialects.base import Tool
from punchlist.loop import Outcome


async def run(
    agent: Agent[Any],
    prompt: Any,
    *,
    board: Board | None = None,
    thread: str | None = None,
    agent_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Run an agent as `Runner.run` does, with the todo tool; ask it once to continue if it stops with work open.

    The session on the board is `thread`, else the id of the SDK's `session` or its `conversation_id`, else a new one.
    `options` are those of `Runner.run`, `agent_options` those of `board.agent`.
    """
    session = options.get("session")
    name = thread or getattr(session, "session_id", None) or options.get("conversation_id") or uuid4().hex
    conversations = Conversations(board, **(agent_options or {}))
    is_remote = bool(options.get("conversation_id") or options.get("previous_response_id"))
    seat = _Run(agent, conversations.find(name), options.pop("hooks", None), is_remote=is_remote)
    ours = [seat.make_tool(tool) for tool in conversations.tools]
    config = options.pop("run_config", None) or RunConfig()
    options |= {"hooks": seat, "run_config": replace(config, call_model_input_filter=seat.filter(config))}
    start = _copy(agent, ours, {})
    await seat.main.person_spoke(prompt if isinstance(prompt, str) else "")
    while True:
        result = await Runner.run(start, prompt, **options)
        if result.interruptions:  # calls that wait for a person
            return result
        last = result.last_agent
        more = await (await seat.find(last)).keep_going(str(result.final_output))
        if more is None:
            return result
        if options.get("previous_response_id"):
            options["previous_response_id"] = result.last_response_id
        start = last
        is_kept = session is not None or is_remote
        prompt = more if is_kept else [*result.to_input_list(), {"role": "user", "content": more}]


def _copy(agent: Agent[Any], tools: list[Any], made: dict[int, Agent[Any]]) -> Agent[Any]:
    """Return an agent, and all that it hands off to, with our tools; the given ones may serve other runs."""
    if id(agent) not in made:
        made[id(agent)] = copied = agent.clone(tools=[*agent.tools, *tools])
        copied.handoffs = [_copy_handoff(one, tools, made) for one in agent.handoffs]
    return made[id(agent)]


def _copy_handoff(handoff: Any, tools: list[Any], made: dict[int, Agent[Any]]) -> Any:
    if isinstance(handoff, Agent):
        return _copy(handoff, tools, made)
    if not isinstance(handoff, Handoff):
        return handoff

    async def invoke(context: Any, arguments: str) -> Any:
        return _copy(await handoff.on_invoke_handoff(context, arguments), tools, made)

    return replace(handoff, on_invoke_handoff=invoke)


class _Run(RunHooks[Any]):
    """One run: the conversations of its agents, and the hooks that report to them and to the user's own hooks."""

    def __init__(self, agent: Agent[Any], main: aio.Conversation, hooks: Any, *, is_remote: bool) -> None:
        self.main = main
        self._talks = {agent.name: main}
        self._hooks = RunHooks[Any]() if hooks is None else hooks
        self._is_remote = is_remote

    async def find(self, agent: Any) -> aio.Conversation:
        """Return the conversation of an agent of this run: that of a child, where it took over."""
        if agent.name not in self._talks:
            try:
                self._talks[agent.name] = await self.main.spawn(agent.name, id=f"handoff:{agent.name}")
            except Exception:  # the store cannot be written: the list of the first agent is better than none
                self._talks[agent.name] = self.main
        return self._talks[agent.name]

    def make_tool(self, tool: Tool) -> FunctionTool:
        async def call(context: Any, arguments: str) -> str:
            talk = await self.find(context.agent)
            return (await talk.call(tool.name, _read(arguments), context.tool_call_id)).text

        schema = dict(tool.input_schema)
        return FunctionTool(tool.name, tool.description, schema, call, strict_json_schema=False)

    def filter(self, config: RunConfig) -> Any:
        """Return what adds our texts to a request, after the user's own filter."""

        async def add_notes(data: CallModelData[Any]) -> ModelInputData:
            given = data.model_data
            if config.call_model_input_filter is not None:
                found: Any = config.call_model_input_filter(data)
                given = await found if isawaitable(found) else found
            talk = await self.find(data.agent)
            # A history that the provider keeps is not seen here.
            notes = await talk.for_request(None if self._is_remote else given.input)
            tail: list[Any] = [{"role": "user", "content": note.text} for note in notes]
            return ModelInputData(input=[*given.input, *tail], instructions=given.instructions)

        return add_notes

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        calls = [one for one in response.output if getattr(one, "type", "") == "function_call"]
        talk = await self.find(agent)
        await talk.model_answered([one.name for one in calls], [one.call_id for one in calls])
        await self._hooks.on_llm_end(context, agent, response)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        talk = await self.find(agent)
        arguments = _read(getattr(context, "tool_arguments", None))
        await talk.tool_started(getattr(context, "tool_call_id", None), tool.name, arguments)
        await self._hooks.on_tool_start(context, agent, tool)

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        outcome = Outcome()
        outcome.result = str(result)
        talk = await self.find(agent)
        await talk.tool_ended(getattr(context, "tool_call_id", None), tool.name, outcome)
        await self._hooks.on_tool_end(context, agent, tool, result)

    # What we only pass on.

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        await self._hooks.on_llm_start(context, agent, system_prompt, input_items)

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        await self._hooks.on_agent_start(context, agent)

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        await self._hooks.on_agent_end(context, agent, output)

    async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        await self._hooks.on_handoff(context, from_agent, to_agent)


def _read(arguments: str | None) -> Any:
    """Return the arguments of a call; a text that is no JSON is for our tool to refuse."""
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments

"""The peers' own ways to write a list. Importing this needs what `make bench` installs."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

os.environ["LANGSMITH_TRACING"] = "false"

from langchain.agents.middleware import todo as langchain_todo
from langchain.tools import ToolRuntime
from pydantic_ai import RunContext
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage
from pydantic_ai_todo import TodoStorage, create_todo_toolset

from benchmarks import work


def langchain(written: Sequence[work.Todos] = ()) -> tuple[Callable[[], object], Callable[[], object]]:
    """A write through the tool, as its tool node invokes it, and one by the function below it."""
    (tool,) = langchain_todo.TodoListMiddleware().tools
    runtime = ToolRuntime(
        state={"messages": []}, context=None, config={}, stream_writer=print, tool_call_id="call", store=None
    )
    lists = cycle(
        [
            [{"content": todo["content"], "status": todo["status"]} for todo in todos]
            for todos in written or work.claude_code()
        ]
    )

    def through_tool() -> object:
        args = {"todos": next(lists), "runtime": runtime}
        return tool.invoke({"name": "write_todos", "args": args, "id": "call", "type": "tool_call"})

    def bare() -> object:
        return langchain_todo._write_todos(runtime, next(lists))

    return through_tool, bare


def pydantic_ai_todo(count: int, written: Sequence[work.Todos] = ()) -> float:
    """Seconds of one write into its storage in memory, over `count` in a row on one event loop."""
    return asyncio.run(_pydantic_ai_todo(count, written or work.claude_code()))


async def _pydantic_ai_todo(count: int, written: Sequence[work.Todos]) -> float:
    toolset = create_todo_toolset(storage=TodoStorage())
    context: RunContext[Any] = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    tool = (await toolset.get_tools(context))["write_todos"]
    lists = cycle(
        [
            [
                {"content": todo["content"], "status": todo["status"], "active_form": todo["activeForm"]}
                for todo in todos
            ]
            for todos in written
        ]
    )
    start = time.perf_counter()
    for _ in range(count):
        args = tool.args_validator.validate_python({"todos": next(lists)})
        await toolset.call_tool("write_todos", args, context, tool)
    return (time.perf_counter() - start) / count

"""What an adapter adds to an agent: bytes put before the model, and time. Runs in the environment of a framework:

    .adapters/langchain/bin/python -m benchmarks.adapters
    .adapters/pydantic-ai/bin/python -m benchmarks.adapters

A scripted run of 30 turns with a list of 10 items: it is written, each item is two commands and an update, and the run
ends. Bytes are those of all requests (system prompt, tools, messages) beyond those of the bare agent in the same run.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from punchlist import Board, Conversation

ITEMS = [f"Step {number}: change module {number} and its tests" for number in range(1, 11)]
RUNS = 15
Step = str | tuple[str, dict[str, Any]]
Play = Callable[[], int]
"""Runs the script once; returns the bytes of its requests."""


def script(write: Callable[[int], Step | None]) -> Iterator[Step]:
    """The run; `write(done)` is the call that says how many items are done, None for the bare agent."""
    for number in range(10):
        yield write(number) or ("bash", {"command": "true"})
        yield from [("bash", {"command": f"edit {number}"}), ("bash", {"command": "pytest -q"})][: 2 - (number == 9)]
    yield "Shall I go on with the release, ada?"


def status(place: int, done: int) -> str:
    return "completed" if place < done else "in_progress" if place == done else "pending"


def ours(done: int) -> Step:
    return ("todo", {"done": [str(done)]} if done else {"set": ITEMS})


def bash(command: str) -> str:
    return "1 passed in 0.02s" if command == "pytest -q" else "ok"


def langchain() -> dict[str, Callable[[Path], Play]]:
    from langchain.agents import create_agent
    from langchain.agents.middleware import TodoListMiddleware
    from langchain.tools import tool
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_core.utils.function_calling import convert_to_openai_tool

    from punchlist.adapters.langchain import Punchlist

    sizes: list[int] = []

    class Model(GenericFakeChatModel):
        offered: int = 0

        def bind_tools(self, tools: Any, **_: Any) -> Any:
            self.offered = sum(len(json.dumps(convert_to_openai_tool(one))) for one in tools)
            return self

        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            calls = [call["args"] for one in messages for call in getattr(one, "tool_calls", ())]
            texts = [one.content if isinstance(one.content, str) else json.dumps(one.content) for one in messages]
            sizes.append(self.offered + sum(map(len, texts)) + sum(len(json.dumps(args)) for args in calls))
            return super()._generate(messages, *args, **kwargs)

    def player(write: Callable[[int], Step | None], middleware: Callable[[], list[Any]]) -> Play:
        def play() -> int:
            sizes.clear()
            answers = [
                AIMessage(one) if isinstance(one, str)
                else AIMessage("", tool_calls=[{"name": one[0], "args": one[1], "id": f"c{number}"}])
                for number, one in enumerate(script(write))
            ]  # fmt: skip
            agent = create_agent(Model(messages=iter(answers)), [tool("bash", description="Run.")(bash)],
                                 middleware=middleware())  # fmt: skip
            agent.invoke({"messages": [HumanMessage("go")]}, {"recursion_limit": 500})
            assert len(sizes) == 30
            return sum(sizes)

        return play

    def theirs(done: int) -> Step:
        todos = [{"content": text, "status": status(place, done)} for place, text in enumerate(ITEMS)]
        return ("write_todos", {"todos": todos})

    def start_ours(path: Path) -> Play:
        board = Board.open(path)
        return player(ours, lambda: [Punchlist(board, project="/p")])

    return {
        "bare agent": lambda _: player(lambda _: None, list),
        "TodoListMiddleware": lambda _: player(theirs, lambda: [TodoListMiddleware()]),
        "Punchlist": start_ours,
    }


def pydantic_ai() -> dict[str, Callable[[Path], Play]]:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai_harness.planning import Planning

    from punchlist.adapters.pydantic_ai import Punchlist

    def player(write: Callable[[int], Step | None], capabilities: Callable[[], list[Any]]) -> Play:
        def play() -> int:
            steps, sizes = script(write), list[int]()

            def model(messages: list[Any], info: Any) -> ModelResponse:
                tools = sum(len(one.name + (one.description or "") + json.dumps(one.parameters_json_schema))
                            for one in info.function_tools)  # fmt: skip
                parts = [part for message in messages for part in message.parts]
                texts = sum(len(str(getattr(part, "content", ""))) + len(json.dumps(getattr(part, "args", "")))
                            for part in parts)  # fmt: skip
                sizes.append(tools + len(info.instructions or "") + texts)
                step = next(steps)
                return ModelResponse([TextPart(step) if isinstance(step, str) else ToolCallPart(*step)])

            agent = Agent(FunctionModel(model), capabilities=capabilities())
            agent.tool_plain(bash)
            agent.run_sync("go")
            assert len(sizes) == 30
            return sum(sizes)

        return play

    everything = list(enumerate(ITEMS))

    def theirs(done: int) -> Step:
        if not done:
            items = [{"id": f"s{place}", "content": text, "status": status(place, 0)} for place, text in everything]
            return ("write_plan", {"items": items})
        updates = [{"task_id": f"s{done - 1}", "status": "completed"}, {"task_id": f"s{done}", "status": "in_progress"}]
        return ("update_task_statuses", {"updates": updates})

    def start_ours(path: Path) -> Play:
        board = Board.open(path)
        return player(ours, lambda: [Punchlist(board, project="/p")])

    return {
        "bare agent": lambda _: player(lambda _: None, list),
        "harness Planning": lambda _: player(theirs, lambda: [Planning()]),
        "Punchlist": start_ours,
    }


def steps_of_a_conversation(path: Path) -> dict[str, float]:
    """Milliseconds of what an adapter does per call of the model, of another tool, and of ours: medians."""
    talk = Conversation(Board.open(path), "s", project="/p")
    taken: dict[str, list[float]] = {"a model call": [], "a tool call": [], "a list write": []}
    talk.call("todo", {"set": ITEMS}, "c")
    history = [{"role": "assistant", "content": [{"type": "tool_use", "name": "todo"}]}]
    for number in range(300):
        start = time.perf_counter()
        talk.for_request(history)
        talk.model_answered(["bash"], [f"b{number}"])
        answered = time.perf_counter()
        with talk.tool(f"b{number}", "bash", {"command": "pytest -q"}) as outcome:
            outcome.result = "1 passed in 0.02s"
        reported = time.perf_counter()
        talk.call("todo", {"reword": {"1": f"Step {number}"}}, f"c{number}")
        for name, seconds in zip(
            taken, (answered - start, reported - answered, time.perf_counter() - reported), strict=True
        ):
            taken[name].append(1000 * seconds)
    return {name: median(times) for name, times in taken.items()}


def main() -> None:
    contenders = langchain() if find_spec("langchain") else pydantic_ai()
    with tempfile.TemporaryDirectory() as name:
        for what, milliseconds in steps_of_a_conversation(Path(name, "steps.db")).items():
            print(f"{what}: {milliseconds:.2f} ms, median")
        plays = {kind: start(Path(name, "board.db")) for kind, start in contenders.items()}
        sizes = {kind: play() for kind, play in plays.items()}
        times: dict[str, list[float]] = {kind: [] for kind in plays}
        for _ in range(RUNS):
            for kind, play in plays.items():
                start = time.perf_counter()
                play()
                times[kind].append(time.perf_counter() - start)
    bare, *others = plays
    for kind in others:
        added = 1000 * (median(times[kind]) - median(times[bare])) / 30
        more = sizes[kind] - sizes[bare]
        print(f"{kind}: {more:,} bytes beyond the bare agent's {sizes[bare]:,}; {added:.2f} ms a turn")


if __name__ == "__main__":
    sys.exit(main())

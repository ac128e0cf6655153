"""pydantic-ai's capability, and the store of a plan of pydantic-ai-harness."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, CallDeferred, DeferredToolRequests
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai_harness.planning import PlanItem, Planning, TaskStatus

from punchlist import Board
from punchlist.adapters.pydantic_ai import PlanStore, Punchlist
from tests.adapters.proof import PROMPT, TRIP, AsyncProof, Bash, Played, Step, provider, run_page
from tests.agents.model_api import AnthropicApi, Call, Say

pytestmark = pytest.mark.adapters


class Script:
    """A model that answers by a script, and keeps what it was asked."""

    def __init__(self, steps: list[Step] | None = None) -> None:
        self.steps = iter(steps or [])
        self.requests: list[str] = []

    def __call__(self, messages: list[ModelMessage], info: Any) -> ModelResponse:
        self.requests.append("\n".join(str(part.content) for message in messages for part in message.parts
                                       if hasattr(part, "content")))  # fmt: skip
        step = next(self.steps)
        if isinstance(step, str):
            return ModelResponse([TextPart(step)])
        number = len(self.requests)
        return ModelResponse(
            [ToolCallPart(name, args, tool_call_id=f"c{number}.{n}") for n, (name, args) in enumerate(step)]
        )


class TestPydanticAI(AsyncProof):
    def start(self, board: Board, bash: Bash) -> Callable[[str, list[Step]], Played]:
        script = Script()
        agent = Agent(FunctionModel(script), capabilities=[Punchlist(board, project="/p")])
        histories: dict[str, list[ModelMessage]] = {}

        @agent.tool_plain(name="bash")
        def _(command: str) -> str:
            return bash(command)

        def play(session: str, steps: list[Step]) -> Played:
            script.steps, script.requests = iter(steps), []
            known = histories.get(session)
            result = agent.run_sync(PROMPT, conversation_id=session, message_history=known)
            histories[session] = result.all_messages()
            return Played(script.requests, str(histories[session]), result.output)

        return play


@pytest.mark.parametrize("odd", [{"ctx": 1}, {"self": 1, "args": 2}, {"set": [None]}, {"set": 7}])
def test_arguments_that_no_schema_allows_are_refused_and_end_no_run(odd: dict[str, Any]) -> None:
    with Board.open("memory:") as board:
        script = Script([[("todo", odd)], "Which way, ada?"])
        agent = Agent(FunctionModel(script), capabilities=[Punchlist(board, project="/p")])
        assert agent.run_sync("go").output == "Which way, ada?"
    assert "Nothing changed" in script.requests[1]


def test_a_summary_loses_no_open_item(tmp_path: Path) -> None:
    def summarise(messages: list[ModelMessage]) -> list[ModelMessage]:
        if len(messages) < 6:
            return messages
        return [ModelRequest(parts=[UserPromptPart("A summary.")]), messages[-1]]

    with Board.open(tmp_path / "board.db") as board:
        script = Script([[("todo", {"set": ["Keep me", "Me too"]})], *["Which way, ada?"] * 6])
        agent = Agent(FunctionModel(script), capabilities=[ProcessHistory(summarise), Punchlist(board, project="/p")])
        history: list[ModelMessage] | None = None
        for number in range(6):
            result = agent.run_sync(f"prompt {number}", conversation_id="t", message_history=history)
            history = result.all_messages()
    short = [text for text in script.requests if "A summary." in text]
    assert short
    assert all("Keep me" in text and "Me too" in text for text in short)


def test_an_agent_that_may_not_retry_is_let_stop(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        script = Script([[("todo", {"set": ["Fix it"]})], "Done."])
        agent = Agent(FunctionModel(script), capabilities=[Punchlist(board, project="/p")], retries=0)
        assert agent.run_sync("go").output == "Done."


def test_a_tool_that_defers_its_call_has_not_failed(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        script = Script([[("deploy", {})]])
        layer = Punchlist(board, project="/p")
        agent = Agent(FunctionModel(script), capabilities=[layer], output_type=[str, DeferredToolRequests])

        @agent.tool_plain
        def deploy() -> str:
            raise CallDeferred

        assert isinstance(agent.run_sync("go").output, DeferredToolRequests)
        assert [event.kind for event in board.events() if event.kind.startswith("tool.")] == ["tool.started"]


def test_a_streamed_run_is_asked_about_its_stop_once(tmp_path: Path) -> None:
    script = Script([[("todo", {"set": ["Fix it"]})], "Done.", "Really done."])

    async def stream(messages: list[ModelMessage], info: Any) -> Any:
        for number, part in enumerate(script(messages, info).parts):
            if isinstance(part, ToolCallPart):
                yield {
                    number: DeltaToolCall(
                        name=part.tool_name, json_args=json.dumps(part.args), tool_call_id=part.tool_call_id
                    )
                }
            elif isinstance(part, TextPart):
                yield part.content

    async def run(agent: Agent[Any, Any]) -> Any:
        async with agent.run_stream_events("go") as events:
            return [event async for event in events][-1]

    with Board.open(tmp_path / "board.db") as board:
        agent = Agent(FunctionModel(stream_function=stream), capabilities=[Punchlist(board, project="/p")])
        assert asyncio.run(run(agent)).result.output == "Really done."
    assert len(script.requests) == 3


def test_a_plan_of_the_harness_is_the_list_of_the_board(tmp_path: Path) -> None:
    def text(items: list[PlanItem]) -> list[tuple[str, str]]:
        return [(item.content, item.status.value) for item in items]

    async def work(store: PlanStore, board: Board) -> None:
        agent = board.agent("main", session="s")
        fix, ship = PlanItem(content="Fix it"), PlanItem(content="Ship it")
        await store.set_items([fix, ship])
        await store.update_item(fix.id, status=TaskStatus.completed)
        agent.edit({"op": "append", "items": "Tell ada"}, by="ada")
        items = await store.get_items()
        assert text(items) == [("Fix it", "completed"), ("Ship it", "pending"), ("Tell ada", "pending")]
        assert [item.id for item in items[:2]] == [fix.id, ship.id]
        await store.add_item(PlanItem(id="new1", content="Clean up"))
        await store.update_item(items[2].id, content="Tell ada about it", status=TaskStatus.in_progress)
        assert await store.remove_item(ship.id)
        assert not await store.remove_item("unknown")
        assert [item.content for item in agent.todos.omitted] == ["Ship it"]
        assert [item.created_by for item in agent.todos.items] == ["main", "ada", "main"]
        with pytest.raises(ValueError, match="enable_subtasks"):
            await store.add_item(PlanItem(content="Part", parent_id=fix.id))

    with Board.open(tmp_path / "board.db") as board:
        asyncio.run(work(PlanStore(board, session="s", project="/p"), board))
    with Board.open(tmp_path / "board.db") as board:
        items = asyncio.run(PlanStore(board, session="s", project="/p").get_items())
        assert [item.content for item in items] == ["Fix it", "Tell ada about it", "Clean up"]


def test_planning_runs_on_the_store(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        steps: list[Step] = [
            [("write_plan", {"items": [{"id": "a", "content": "Fix it"}, {"id": "b", "content": "Ship it"}]})],
            [("update_task_status", {"task_id": "a", "status": "completed"})],
            "Done.",
        ]
        script = Script(steps)
        store = PlanStore(board, session="s", project="/p")
        result = Agent(FunctionModel(script), capabilities=[Planning(store=store)]).run_sync("go")
        todos = board.agent("main", session="s").todos
        assert result.output == "Done."
        assert [(item.content, item.status.value) for item in todos.items] == [
            ("Fix it", "completed"),
            ("Ship it", "pending"),
        ]


def test_the_page_runs_as_it_stands() -> None:
    plan = Call("write_plan", {"items": [{"content": "Pack"}, {"content": "Dream"}]})
    with provider(AnthropicApi([*TRIP, [plan], [Say("Planned.")]])):
        run_page("pydantic-ai")
    with Board.open() as board:
        todos = board.agent("main", session="mars").todos
        assert [item.content for item in todos.items] == ["Pack", "Dream"]

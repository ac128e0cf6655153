"""LangChain, with agents that run synchronously, asynchronously, as streams, and as deepagents."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain.tools import tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from punchlist import Board
from punchlist.adapters.langchain import Punchlist
from tests.adapters.proof import PROMPT, TRIP, AsyncProof, Bash, Played, Proof, Step, provider, run_page
from tests.agents.model_api import AnthropicApi

pytestmark = pytest.mark.adapters


class Model(GenericFakeChatModel):
    """Answers by a script, and keeps what it was asked."""

    requests: list[str]

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        self.requests.append("\n".join(str(message.content) for message in messages))
        return super()._generate(messages, *args, **kwargs)


def answers(steps: list[Step]) -> Iterator[AIMessage]:
    """The calls are numbered from one in each message, as some providers do."""
    for step in steps:
        if isinstance(step, str):
            yield AIMessage(step)
        else:
            calls = [{"name": name, "args": args, "id": f"c{n}"} for n, (name, args) in enumerate(step)]
            yield AIMessage("", tool_calls=calls)


def bash_tool(bash: Bash) -> Any:
    @tool("bash")
    def run(command: str) -> str:
        """Run a command."""
        return bash(command)

    return run


class TestLangChain(Proof):
    def make(self, model: Model, board: Board, bash: Bash) -> Any:
        middleware = [Punchlist(board, project="/p")]
        return create_agent(model, [bash_tool(bash)], middleware=middleware, checkpointer=InMemorySaver())

    def run(self, agent: Any, given: Any, config: Any) -> Any:
        return agent.invoke(given, config)

    def start(self, board: Board, bash: Bash) -> Callable[[str, list[Step]], Played]:
        model = Model(messages=iter(()), requests=[])
        agent = self.make(model, board, bash)

        def play(session: str, steps: list[Step]) -> Played:
            model.messages, model.requests = answers(steps), []
            config = {"configurable": {"thread_id": session}}
            result = self.run(agent, {"messages": [HumanMessage(PROMPT)]}, config)
            history = "\n".join(str(message.content) for message in result["messages"])
            return Played(model.requests, history, str(result["messages"][-1].content))

        return play


class TestAsync(TestLangChain, AsyncProof):
    def run(self, agent: Any, given: Any, config: Any) -> Any:
        return asyncio.run(agent.ainvoke(given, config))


class TestStream(TestLangChain):
    def run(self, agent: Any, given: Any, config: Any) -> Any:
        for _ in agent.stream(given, config, stream_mode="updates"):
            pass
        return agent.get_state(config).values


class TestDeepAgents(TestLangChain):
    def make(self, model: Model, board: Board, bash: Bash) -> Any:
        middleware = [Punchlist(board, project="/p")]
        return create_deep_agent(
            model=model, tools=[bash_tool(bash)], middleware=middleware, checkpointer=InMemorySaver()
        )


@pytest.mark.parametrize("is_async", [False, True])
def test_subagents_that_run_at_once_are_children_with_lists_of_their_own(tmp_path: Path, *, is_async: bool) -> None:
    class Helper(Model):
        """Answers each of its conversations by what stands in it, as several run at once."""

        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            own: Step = "Done." if "Part" in str(messages[-1].content) else [("todo", {"set": ["Part"]})]
            self.messages = answers([own])
            return super()._generate(messages, *args, **kwargs)

    with Board.open(tmp_path / "board.db") as board:
        start = ("task", {"description": "A half of it", "subagent_type": "helper"})
        steps: list[Step] = [[("todo", {"set": ["Ask", "Judge"]})], [start, start], [("todo", {})], "Which, ada?"]
        model = Model(messages=answers(steps), requests=[])
        layer = Punchlist(board, project="/p")
        helper = {"name": "helper", "description": "Helps", "system_prompt": "Help.", "tools": [],
                  "model": Helper(messages=iter(()), requests=[]), "middleware": [layer]}  # fmt: skip
        agent = create_deep_agent(model=model, tools=[], middleware=[layer], subagents=[helper])
        given = {"messages": [HumanMessage("go")]}, {"configurable": {"thread_id": "t"}}
        _ = asyncio.run(agent.ainvoke(*given)) if is_async else agent.invoke(*given)
        lists = {row.agent: [item.content for item in row.todos.items] for row in board.lists()}
        assert lists == {"main": ["Ask", "Judge"], "helper": ["Part"], "helper-2": ["Part"]}
        assert [event.kind for event in board.events()].count("agent.spawned") == 2


def test_a_summary_loses_no_open_item(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        steps: list[Step] = [[("todo", {"set": ["Keep me", "Me too"]})], *[f"Which way, ada? {n}" for n in range(30)]]
        model = Model(messages=answers(steps), requests=[])
        summaries = Model(messages=iter([AIMessage("A summary.") for _ in range(30)]), requests=[])
        shorten = SummarizationMiddleware(summaries, trigger=("messages", 6), keep=("messages", 2))
        middleware = [shorten, Punchlist(board, project="/p")]
        agent = create_agent(model, [], middleware=middleware, checkpointer=InMemorySaver())
        for number in range(6):
            agent.invoke({"messages": [HumanMessage(f"prompt {number}")]}, {"configurable": {"thread_id": "t"}})
    short = [text for text in model.requests if "A summary." in text]
    assert short
    assert all("Keep me" in text and "Me too" in text for text in short)


def test_a_summary_that_keeps_a_tick_loses_no_other_item(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        steps: list[Step] = [[("todo", {"set": ["Fix", "Test", "Ship", "Tell ada"]})], "Which way, ada?"]
        steps += [[("todo", {"done": ["1"]})], "Which way, ada?"]
        model = Model(messages=answers(steps), requests=[])
        summaries = Model(messages=iter([AIMessage("A summary.")]), requests=[])
        shorten = SummarizationMiddleware(summaries, trigger=("messages", 7), keep=("messages", 3))
        agent = create_agent(model, [], middleware=[shorten, Punchlist(board)], checkpointer=InMemorySaver())
        for number in range(2):
            agent.invoke({"messages": [HumanMessage(f"prompt {number}")]}, {"configurable": {"thread_id": "t"}})
    last = model.requests[-1]
    assert "A summary." in last
    assert "done 1." in last
    assert "Tell ada" in last


def test_the_state_has_the_list_and_runs_without_a_thread_are_sessions_of_their_own(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        steps: list[Step] = [[("todo", {"set": ["Fix it", "Ship it"]})], [("todo", {"done": ["1"]})], "Which, ada?"]
        model = Model(messages=answers(steps + steps), requests=[])
        agent = create_agent(model, [], middleware=[Punchlist(board, project="/p")])
        results = [agent.invoke({"messages": [HumanMessage("go")]}) for _ in range(2)]
        expected = [{"content": "Fix it", "status": "completed"}, {"content": "Ship it", "status": "in_progress"}]
        assert [result["todos"] for result in results] == [expected, expected]
        assert len({row.session for row in board.lists()}) == 2


def test_a_tool_that_raises_is_reported_and_raises(tmp_path: Path) -> None:
    def fail(command: str) -> str:
        raise TimeoutError(command)

    with Board.open(tmp_path / "board.db") as board:
        model = Model(messages=answers([[("bash", {"command": "sleep 9"})]]), requests=[])
        agent = create_agent(model, [bash_tool(fail)], middleware=[Punchlist(board, project="/p")])
        with pytest.raises(TimeoutError):
            agent.invoke({"messages": [HumanMessage("go")]})
        assert [event.kind for event in board.events()].count("tool.failed") == 1


def test_a_tool_that_interrupts_for_a_person_ends_once_it_was_answered(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        model = Model(messages=answers([[("bash", {"command": "pytest -q"})], "Which way, ada?"]), requests=[])
        tools = [bash_tool(lambda _: str(interrupt("Run the tests?")))]
        agent = create_agent(model, tools, middleware=[Punchlist(board, project="/p")], checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": "t"}}
        agent.invoke({"messages": [HumanMessage("go")]}, config)
        assert not [event for event in board.events() if event.kind in ("tool.finished", "tool.failed")]
        agent.invoke(Command(resume="1 passed in 0.02s"), config)
        assert [event.kind for event in board.events() if event.kind.startswith("tool.f")] == ["tool.finished"]
        assert board.report(session="t").state == "green"


def test_the_page_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    with provider(AnthropicApi(TRIP)):
        run_page("langchain")
    assert "'content': 'Land'" in capsys.readouterr().out
    with Board.open() as board:
        assert len(board.agent("main", session="mars").todos.items) == 3

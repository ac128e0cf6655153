"""The OpenAI Agents SDK, with its scripted model."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents.run import ModelInputData
from agents.testing import ScriptedModel, assistant_message, function_call

from agents import Agent, RunConfig, RunHooks, SQLiteSession, function_tool, handoff, set_tracing_disabled
from punchlist import Board
from punchlist.adapters.openai_agents import run
from tests.adapters.proof import PROMPT, TRIP, AsyncProof, Bash, Played, Step, provider, run_page
from tests.agents.model_api import ResponsesApi

pytestmark = pytest.mark.adapters
set_tracing_disabled(True)


def scripted(steps: list[Step], prefix: str = "c") -> ScriptedModel:
    made: list[Any] = []
    for number, step in enumerate(steps):
        if isinstance(step, str):
            made.append([assistant_message(step)])
        else:
            made.append(
                [function_call(name, args, call_id=f"{prefix}{number}.{n}") for n, (name, args) in enumerate(step)]
            )
    return ScriptedModel(made)


def requests_of(model: ScriptedModel) -> list[str]:
    return ["\n".join(str(item.get("content") or item.get("output") or "") for item in call.input
                      if isinstance(item, dict)) for call in model.calls]  # fmt: skip


class TestOpenAIAgents(AsyncProof):
    def start(self, board: Board, bash: Bash) -> Callable[[str, list[Step]], Played]:
        @function_tool(name_override="bash")
        def run_bash(command: str) -> str:
            """Run a command."""
            return bash(command)

        sessions: dict[str, SQLiteSession] = {}

        async def converse(session: str, steps: list[Step]) -> Played:
            model, kept = scripted(steps), sessions.setdefault(session, SQLiteSession(session))
            agent = Agent(name="main", model=model, tools=[run_bash])
            result = await run(agent, PROMPT, board=board, session=kept, agent_options={"project": "/p"})
            assert agent.tools == [run_bash], "the given agent may serve other runs"
            return Played(requests_of(model), str(await kept.get_items()), result.final_output)

        return lambda session, steps: asyncio.run(converse(session, steps))


def test_an_agent_that_is_handed_off_to_is_a_child_with_a_list_of_its_own(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        first = scripted([[("todo", {"set": ["Ask the writer"]}), ("todo", {"done": ["1"]})],
                          [("transfer_to_writer", {})]], "a")  # fmt: skip
        second = scripted([[("todo", {"set": ["Write it"]})], [("transfer_to_critic", {})]], "b")
        third = scripted([[("todo", {"set": ["Judge it"]})], "All judged.", "Judged."])
        critic = Agent(name="critic", model=third)
        writer = Agent(name="writer", model=second, handoffs=[handoff(critic)])
        result = asyncio.run(run(Agent(name="lead", model=first, handoffs=[writer]), "go", board=board, thread="t"))
        rows = {name: [item.content for item in board.agent(name, session="t").todos.items]
                for name in ("main", "writer", "critic")}  # fmt: skip
        assert rows == {"main": ["Ask the writer"], "writer": ["Write it"], "critic": ["Judge it"]}
        assert result.last_agent.name == "critic"
        spawned = {event.data["child"]: event.agent for event in board.events() if event.kind == "agent.spawned"}
        assert spawned.keys() == {"writer", "critic"}


def test_a_call_that_waits_for_approval_ends_the_run_and_is_made_once_it_is_approved(tmp_path: Path) -> None:
    made: list[str] = []

    @function_tool(needs_approval=True)
    def deploy() -> str:
        """Deploy it."""
        made.append("deployed")
        return "ok"

    async def converse(board: Board) -> None:
        model = scripted([[("todo", {"set": ["Deploy it", "Tell ada"]})], [("deploy", {})], "Which way, ada?"])
        agent = Agent(name="a", model=model, tools=[deploy])
        waiting = await run(agent, "go", board=board, thread="t")
        assert [one.name for one in waiting.interruptions] == ["deploy"]
        assert (len(model.calls), made) == (2, []), "it is not asked to continue meanwhile"
        state = waiting.to_state()
        state.approve(waiting.interruptions[0])
        done = await run(agent, state, board=board, thread="t")
        assert (done.final_output, made) == ("Which way, ada?", ["deployed"])

    with Board.open(tmp_path / "board.db") as board:
        asyncio.run(converse(board))
        assert [event.data["name"] for event in board.events() if event.kind == "tool.finished"] == ["deploy"]


def test_the_users_hooks_and_filter_are_kept(tmp_path: Path) -> None:
    heard: list[str] = []

    class Hooks(RunHooks[Any]):
        async def on_llm_start(self, *_: Any) -> None:
            heard.append("start")

        async def on_llm_end(self, *_: Any) -> None:
            heard.append("end")

    def shorten(data: Any) -> ModelInputData:
        heard.append("filter")
        return ModelInputData(input=data.model_data.input[-1:], instructions="Be brief.")

    with Board.open(tmp_path / "board.db") as board:
        model = scripted(["Which one, ada?"])
        config = RunConfig(call_model_input_filter=shorten)
        asyncio.run(run(Agent(name="a", model=model), "go", board=board, hooks=Hooks(), run_config=config))
        assert heard == ["filter", "start", "end"]
        assert model.calls[0].system_instructions == "Be brief."


def test_a_summary_loses_no_open_item(tmp_path: Path) -> None:
    async def converse(board: Board) -> ScriptedModel:
        session = SQLiteSession("t")
        agent = Agent(name="a", model=scripted([[("todo", {"set": ["Keep me", "Me too"]})], "Which way, ada?"]))
        await run(agent, "go", board=board, session=session)
        await session.clear_session()  # as a session does that summarises
        await session.add_items([{"role": "user", "content": "A summary."}])
        model = scripted(["Which way, ada?"])
        await run(Agent(name="a", model=model), "go on", board=board, session=session)
        return model

    with Board.open(tmp_path / "board.db") as board:
        (told,) = requests_of(asyncio.run(converse(board)))
    assert "A summary." in told
    assert "Keep me" in told
    assert "Me too" in told


def test_the_page_runs_as_it_stands() -> None:
    with provider(ResponsesApi(TRIP)):
        run_page("openai-agents")
    with Board.open() as board:
        assert len(board.agent("main", session="mars").todos.items) == 3

"""Microsoft's Agent Framework: its own todo tools on our store, with a scripted chat client."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentLoopMiddleware,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    TodoProvider,
    todos_remaining,
    todos_remaining_message,
    tool,
)

from punchlist import Board
from punchlist.adapters.agent_framework import Reports, TodoStore
from punchlist.store.sqlite import SqliteStore
from punchlist.testing import FaultyStore
from tests.adapters.proof import RESULTS, Step, provider, run_page
from tests.agents.model_api import Call, ResponsesApi

pytestmark = pytest.mark.adapters


class Client(FunctionInvocationLayer[Any], BaseChatClient[Any]):
    """Answers by a script, and keeps what it was asked."""

    def __init__(self, steps: list[Step]) -> None:
        super().__init__()
        self.steps = iter(steps)
        self.requests: list[str] = []

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Awaitable[ChatResponse]:
        self.requests.append("\n".join(str(content.to_dict()) for one in messages for content in one.contents))
        step, number = next(self.steps), len(self.requests)

        async def answer() -> ChatResponse:
            if isinstance(step, str):
                return ChatResponse(messages=[Message("assistant", [step])])
            calls = [
                Content.from_function_call(f"c{number}.{n}", name, arguments=args)
                for n, (name, args) in enumerate(step)
            ]
            return ChatResponse(messages=[Message("assistant", calls)])

        return answer()


def items_of(board: Board, session: str) -> list[tuple[str, str, str | None]]:
    items = board.agent("main", session=session).todos.items
    return [(item.content, item.status.value, item.grade) for item in items]


def start(board: Board, bash: Callable[[str], str]) -> Callable[[str, list[Step]], Client]:
    store = TodoStore(board, project="/p")

    @tool(name="bash", approval_mode="never_require")
    def run_bash(command: str) -> str:
        """Run a command."""
        return bash(command)

    def play(session: str, steps: list[Step]) -> Client:
        client = Client(steps)
        loop = AgentLoopMiddleware(todos_remaining(), max_iterations=2, next_message=todos_remaining_message)
        agent = Agent(
            client,
            tools=[run_bash],
            context_providers=[TodoProvider(store=store)],
            middleware=[loop, Reports(store)],
        )
        asyncio.run(agent.run("Fix it.", session=AgentSession(session_id=session)))
        return client

    return play


def test_a_list_is_made_checked_and_graded_and_a_stop_is_asked_about_once(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        results = iter(RESULTS)

        def bash(command: str) -> str:
            said = next(results)
            if "failed" in said:
                board.agent("main", session="s").edit({"op": "append", "items": "Tell ada"}, by="ada", person=True)
            return said

        steps: list[Step] = [
            [("todos_add", {"todos": [{"title": "Fix the sum"}, {"title": "Write", "description": "in English"}]})],
            [("bash", {"command": "pytest -q"})],
            [("bash", {"command": "sed -i s/a/b/ shop.py"})],
            [("bash", {"command": "pytest -q"})],
            [("todos_complete", {"items": [{"id": 1, "reason": "it passes"}]})],
            [("todos_get_all", {})],
            "All done.",
            "Really done.",
        ]
        client = start(board, bash)("s", steps)
        assert items_of(board, "s") == [
            ("Fix the sum", "completed", "verified"),
            ("Write", "pending", None),
            ("Tell ada", "pending", None),
        ]
        assert board.agent("main", session="s").todos.items[1].notes == ("in English",)
        assert [event.kind for event in board.events()].count("tool.finished") == 3
    assert len(client.requests) == len(steps)
    assert "Tell ada" in client.requests[6]
    assert "still" in client.requests[7]


def test_two_sessions_stay_apart_and_a_new_process_finds_the_list(tmp_path: Path) -> None:
    for is_new in (True, False):
        with Board.open(tmp_path / "board.db") as board:
            play = start(board, str)
            for session in ("a", "b"):
                add: Step = [("todos_add", {"todos": [{"title": f"Work of {session}"}]})]
                look: Step = [("todos_get_all", {})]
                client = play(session, [add if is_new else look, "Done.", "Done."])
            assert [row[0] for row in items_of(board, "b")] == ["Work of b"]
            assert "Work of b" in client.requests[1]
            assert "Work of a" not in str(client.requests)


def test_what_a_person_added_can_be_completed_and_removed_by_the_model(tmp_path: Path) -> None:
    async def work(store: TodoStore, session: AgentSession, agent: Any) -> None:
        await store.save_state(session, [], next_id=1, source_id="todo")
        agent.edit({"op": "append", "items": ["Tell ada", "Tell bob"]}, by="ada")
        agent.edit({"op": "block", "item": "1", "reason": "waits"}, by="ada")
        items, next_id = await store.load_state(session, source_id="todo")
        assert ([item.title for item in items], next_id) == (["Tell ada", "Tell bob"], 1)
        await store.save_state(session, items, next_id=next_id, source_id="todo")
        assert agent.todos.items[0].status.value == "blocked"
        items, _ = await store.load_state(session, source_id="todo")
        items[0].is_complete = True
        await store.save_state(session, items[:1], next_id=1, source_id="todo")

    with Board.open(tmp_path / "board.db") as board:
        agent = board.agent("main", session="s")
        asyncio.run(work(TodoStore(board, project="/p"), AgentSession(session_id="s"), agent))
        assert (
            items_of(board, "s") == [("Tell ada", "completed", "unchecked")]
            or items_of(board, "s")[0][1] == "completed"
        )
        assert [item.content for item in agent.todos.omitted] == ["Tell bob"]


def test_the_agent_finishes_where_the_store_cannot_be_written(tmp_path: Path) -> None:
    with Board(FaultyStore(SqliteStore(str(tmp_path / "board.db")), fail_before=1.0)) as board:
        client = start(board, str)("s", [[("todos_add", {"todos": [{"title": "Fix"}]})], "Finished without a list."])
    assert len(client.requests) == 2


def test_the_page_runs_as_it_stands() -> None:
    with provider(ResponsesApi([[Call("todos_add", {"todos": [{"title": "Pack"}]})]])):
        run_page("agent-framework")
    with Board.open() as board:
        assert [row[0] for row in items_of(board, "mars")] == ["Pack"]

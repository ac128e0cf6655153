"""What a loop around a model gets from one object: texts per request, calls in order, the guard, reports."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest

from punchlist import Board, Conversation, Injection, aio
from punchlist.errors import UnknownName
from punchlist.store.sqlite import SqliteStore
from punchlist.testing import FaultyStore

MODEL: list[dict[str, Any]] = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "todo", "input": {}}]},
]
"""Messages in which the model called our tool."""


@pytest.fixture
def conversation(board: Board) -> Conversation:
    return Conversation(board, "s", project="/p")


def texts(said: Sequence[Injection]) -> str:
    return "\n".join(one.text for one in said)


def test_what_a_person_changes_while_tools_run_is_in_the_next_request_and_in_no_other(
    conversation: Conversation,
) -> None:
    conversation.person_spoke("go")
    assert conversation.for_request(MODEL) == []
    conversation.model_answered(["todo", "bash"], ["c1", "c2"])
    conversation.call("todo", {"set": ["Fix it", "Ship it"]}, "c1")
    with conversation.tool("c2", "bash", {"command": "ls"}):
        conversation.agent.edit({"op": "append", "items": "Tell ada"}, by="ada", person=True)
    (note,) = conversation.for_request(MODEL)
    assert "ada added 'Tell ada'" in note.text
    conversation.model_answered()
    assert conversation.for_request(MODEL) == []


def test_a_request_that_is_built_again_has_the_same_texts(conversation: Conversation) -> None:
    conversation.call("todo", {"set": ["Fix it"]}, "c1")
    conversation.agent.edit({"op": "append", "items": "Tell ada"}, by="ada")
    once = conversation.for_request(MODEL)
    assert (len(once), conversation.for_request(MODEL)) == (1, once)


def test_calls_of_one_message_are_applied_in_its_order_whichever_comes_first(conversation: Conversation) -> None:
    ids = [f"c{number}" for number in range(6)]
    conversation.model_answered(["todo"] * 6, ids)
    together = Barrier(6)

    def call(name: str) -> None:
        together.wait()
        conversation.call("todo", {"add": [f"Item {name}"]}, name)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(call, reversed(ids)))
    assert [item.content for item in conversation.agent.todos.items] == [f"Item {name}" for name in ids]


def test_a_call_that_the_host_drops_does_not_hold_up_those_after_it(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("punchlist.loop.PATIENCE", 0.01)
    conversation.model_answered(["todo", "todo"], ["c1", "c2"])
    assert not conversation.call("todo", {"add": ["Second"]}, "c2").is_error
    assert not conversation.call("todo", {"add": ["First, late"]}, "c1").is_error


def test_a_server_may_number_the_calls_of_each_message_from_0(tmp_path: Path) -> None:
    items: list[str] = []
    for process in range(2):
        with Board.open(tmp_path / "board.db") as board:
            conversation = Conversation(board, "s", project="/p")
            for message in range(2):
                conversation.model_answered(["todo"], ["todo:0"])
                adding = {"add": [f"Item {process}.{message}"]}
                first = conversation.call("todo", adding, "todo:0")
                assert conversation.call("todo", adding, "todo:0") == first, "a retry is applied once"
            items = [item.content for item in conversation.todos.items]
    assert items == ["Item 0.0", "Item 0.1", "Item 1.0", "Item 1.1"]


def test_a_look_is_not_answered_from_an_earlier_message_under_the_same_id(conversation: Conversation) -> None:
    for item in ("First", "Second"):
        conversation.model_answered(["todo", "todo"], ["todo:0", "todo:1"])
        conversation.call("todo", {"add": [item]}, "todo:0")
        assert item in conversation.call("todo", {}, "todo:1").text


def test_each_call_of_another_tool_is_reported_under_an_id_that_a_server_uses_again(conversation: Conversation) -> None:
    for result in ("1 failed in 0.1s", "1 passed in 0.1s", "1 passed in 0.1s"):
        conversation.model_answered(["bash"], ["bash:0"])
        with conversation.tool("bash:0", "bash", {"command": "pytest -q"}) as outcome:
            outcome.result = result
    board = conversation.agent.board
    assert [event.kind for event in board.events()].count("tool.finished") == 3
    assert board.report(session="s").state == "green"


def test_a_call_that_ends_after_the_next_answer_ends_under_its_own_id(conversation: Conversation) -> None:
    conversation.model_answered(["bash"], ["c1"])
    with conversation.tool("c1", "bash", {"command": "pytest -q"}) as outcome:
        conversation.model_answered()
        outcome.result = "1 passed in 0.1s"
    ended = [event for event in conversation.agent.board.events() if event.kind == "tool.finished"]
    assert [event.data["call_id"] for event in ended] == ["c1"]


def test_a_stop_with_work_open_is_asked_about_once(conversation: Conversation) -> None:
    conversation.person_spoke("go")
    conversation.model_answered(["todo"], ["c1"])
    conversation.call("todo", {"set": ["Fix it"]}, "c1")
    conversation.model_answered()
    assert "still open" in (conversation.keep_going("All done.") or "")
    conversation.model_answered()
    assert conversation.keep_going("Really done.") is None


def test_another_tool_is_reported_with_its_outcome_and_ours_is_not(board: Board, conversation: Conversation) -> None:
    with conversation.tool("c1", "bash", {"command": "pytest -q"}) as outcome:
        outcome.result, outcome.exit_code = "1 passed in 0.02s", 0
    with conversation.tool("c2", "todo", {}):
        pass
    with pytest.raises(TimeoutError), conversation.tool("c3", "bash", {"command": "sleep 9"}):
        raise TimeoutError
    ended = [(event.kind, event.data["call_id"]) for event in board.events() if event.kind.startswith("tool.f")]
    assert ended == [("tool.finished", "c1"), ("tool.failed", "c3")]


SHAPES = {
    "anthropic": {"role": "assistant", "content": [{"type": "tool_use", "name": "todo"}]},
    "anthropic objects": {"role": "assistant", "content": [SimpleNamespace(type="tool_use", name="todo")]},
    "openai": {"role": "assistant", "tool_calls": [{"function": {"name": "todo"}}]},
    "openai objects": SimpleNamespace(tool_calls=[SimpleNamespace(function=SimpleNamespace(name="todo"))]),
    "openai-responses": {"type": "function_call", "name": "todo"},
    "langchain": SimpleNamespace(content="", tool_calls=[{"name": "todo", "args": {}}]),
    "pydantic-ai": SimpleNamespace(parts=[SimpleNamespace(tool_name="todo")]),
    "with a server": {"role": "assistant", "content": [{"type": "tool_use", "name": "mcp__punchlist__todo"}]},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_open_work_is_told_as_long_as_a_summarised_history_lacks_our_calls(
    conversation: Conversation, shape: str
) -> None:
    start = {"role": "user", "content": "todo"}
    conversation.call("todo", {"set": ["Fix it", "Ship it"]}, "c1")
    conversation.call("todo", {"done": ["1"]}, "c2")
    assert conversation.for_request([start, SHAPES[shape], start]) == []
    for _ in range(2):
        told = texts(conversation.for_request([start]))
        assert "Ship it" in told
        assert "was compacted" in told
        assert "Fix it" not in told
        conversation.model_answered()
    assert conversation.for_request([start, SHAPES[shape]]) == []


def test_open_work_is_told_once_after_a_summary_that_kept_a_call_of_ours(conversation: Conversation) -> None:
    conversation.for_request([])
    conversation.model_answered(["todo"], ["c1"])
    conversation.call("todo", {"set": ["Fix it", "Ship it", "Tell ada"]}, "c1")
    for _ in range(2):
        assert conversation.for_request([*MODEL, *MODEL]) == []
        conversation.model_answered()
    short = [{"role": "user", "content": "Summary: …"}, *MODEL]
    for _ in range(2):  # the second one is built again, because no model answered
        assert "Tell ada" in texts(conversation.for_request(short))
    conversation.model_answered()
    assert conversation.for_request([*short, *MODEL]) == []


def test_a_loop_that_shows_no_messages_is_told_of_a_summary_by_its_host_once(conversation: Conversation) -> None:
    conversation.call("todo", {"set": ["Fix it"]}, "c1")
    conversation.for_request()
    conversation.model_answered()
    assert conversation.for_request() == []
    conversation.compacted()
    assert "Fix it" in texts(conversation.for_request())
    conversation.model_answered()
    assert conversation.for_request() == []


def test_a_new_process_without_a_history_is_told_of_open_work(tmp_path: Path) -> None:
    for is_new in (True, False):
        with Board.open(tmp_path / "board.db") as board:
            conversation = Conversation(board, "s", project="/p")
            conversation.person_spoke("go")
            told = texts(conversation.for_request([{"role": "user", "content": "go"}]))
            assert ("was resumed" in told, "Fix it" in told) == (not is_new, not is_new)
            conversation.call("todo", {"set": ["Fix it"]}, f"c{is_new}")


def test_no_fault_of_the_store_reaches_the_loop(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Board(FaultyStore(SqliteStore(str(tmp_path / "board.db")), fail_before=1.0)) as board:
        conversation = Conversation(board, "s", project="/p")
        conversation.person_spoke("go")
        assert conversation.for_request([{"role": "user", "content": "go"}]) == []
        conversation.model_answered(["todo", "bash"], ["c2", "c3"])
        reply = conversation.call("todo", {"done": ["1"]}, "c2")
        with conversation.tool("c3", "bash", {"command": "ls"}):
            pass
        assert reply.is_error
        assert "Continue without it" in reply.text
        assert conversation.keep_going("Done.") is None
    assert "left out" in caplog.text


def test_a_message_that_cannot_be_read_is_no_fault_of_the_loop(conversation: Conversation) -> None:
    class Lazy:
        @property
        def content(self) -> str:
            raise TimeoutError

    conversation.call("todo", {"set": ["Fix it"]}, "c1")
    assert "Fix it" in texts(conversation.for_request([Lazy()]))


def test_the_list_of_a_board_that_cannot_be_read_is_empty(tmp_path: Path) -> None:
    board = Board.open(tmp_path / "board.db")
    conversation = Conversation(board, "s", project="/p")
    board.close()
    assert (conversation.todos.items, conversation.todos.revision) == ((), 0)


def test_tools_come_in_each_form(conversation: Conversation) -> None:
    (tool,) = conversation.agent.tools
    forms: Any = {form: tool.to(form) for form in ("anthropic", "openai", "openai-responses", "mcp")}
    assert conversation.tools("anthropic") == [forms["anthropic"]]
    assert forms["anthropic"]["input_schema"] == forms["mcp"]["inputSchema"] == tool.input_schema
    assert forms["openai"]["function"]["parameters"] == forms["openai-responses"]["parameters"] == tool.input_schema
    assert forms["openai-responses"]["strict"] is False
    assert {form["name"] for form in (*forms.values(), forms["openai"]["function"]) if "name" in form} == {"todo"}
    with pytest.raises(UnknownName):
        tool.to("gemini")  # pyright: ignore[reportArgumentType]


def test_a_child_has_a_conversation_of_its_own(conversation: Conversation) -> None:
    conversation.call("todo", {"set": ["Fix it"]}, "c1")
    child = conversation.spawn("explore", id="call_7")
    child.call("todo", {"set": ["Look"]}, "c1")
    assert conversation.spawn("explore", id="call_7").agent.name == child.agent.name == "explore"
    assert [item.content for item in conversation.agent.todos.items] == ["Fix it"]


def test_async_code_has_the_same_names() -> None:
    async def converse() -> None:
        async with aio.Board.open("memory:") as board:
            talk = aio.Conversation(board, "s", project="/p")
            await talk.person_spoke("go")
            assert await talk.for_request([]) == []
            await talk.model_answered(["todo"] * 4, ["c0", "c1", "c2", "c3"])
            calls = [talk.call("todo", {"add": [f"Item {n}"]}, f"c{n}") for n in (2, 0, 3, 1)]
            await asyncio.gather(*calls)
            assert [item.content for item in (await talk.agent.todos).items] == [f"Item {n}" for n in range(4)]
            async with talk.tool("c4", "bash", {"command": "ls"}) as outcome:
                outcome.exit_code = 0
            child = await talk.spawn("explore")
            assert (child.agent.name, child.own, child.is_own("todo")) == ("explore", {"todo"}, True)
            assert child.tools("mcp") == talk.tools("mcp")
            assert len((await talk.todos).items) == 4
            await talk.compacted()
            assert "Item 3" in texts(await talk.for_request([]))
            assert "still open" in (await talk.keep_going("Done.") or "")

    asyncio.run(converse())


def test_a_board_that_is_closed_is_no_fault_of_an_async_loop() -> None:
    async def converse() -> None:
        board = await aio.Board.open("memory:")
        talk = aio.Conversation(board, "s", project="/p")
        await board.close()
        assert await talk.for_request([]) == []
        async with talk.tool("c1", "bash", {"command": "ls"}) as outcome:
            outcome.exit_code = 0
        assert (await talk.call("todo", {"set": ["Fix it"]}, "c2")).is_error
        assert await talk.keep_going("Done.") is None

    asyncio.run(converse())


def test_the_async_conversation_has_every_name() -> None:
    def names(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert names(aio.Conversation) == names(Conversation)

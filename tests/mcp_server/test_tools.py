"""Tools over the wire: what is offered, calls and their errors, resources and prompts."""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from punchlist.board import Board
from punchlist.dialects import REGISTRY, dialect
from punchlist.settings import settings_path
from punchlist.settings.table import set_setting
from tests.dialects.calls import good_calls
from tests.mcp_server.conftest import Start


def test_the_own_tools_are_offered_with_their_hints(start: Start) -> None:
    tools = {tool["name"]: tool for tool in start().result("tools/list")["tools"]}
    assert list(tools) == ["todo", "task"]
    for tool in tools.values():
        assert tool["annotations"]["readOnlyHint"] is False
        assert tool["annotations"]["destructiveHint"] is False
        assert tool["annotations"]["openWorldHint"] is False
        assert tool["_meta"] == {"anthropic/alwaysLoad": True}
        assert tool["inputSchema"]["type"] == "object"


@pytest.mark.parametrize("name", REGISTRY)
def test_every_dialect_can_be_offered(start: Start, name: str) -> None:
    client = start("--dialect", name)
    tools = client.result("tools/list")["tools"]
    assert [tool["name"] for tool in tools] == [tool.name for tool in dialect(name).tools]
    for tool, original in zip(tools, dialect(name).tools, strict=True):
        assert tool["annotations"]["readOnlyHint"] is bool(original.annotations.get("readOnly"))
        client.call(tool["name"], good_calls(name, original)[0])


def test_several_dialects_can_be_offered_together(start: Start) -> None:
    client = start("--dialect", "claude-code", "--dialect", "claude-tasks")
    names = [tool["name"] for tool in client.result("tools/list")["tools"]]
    assert names == ["TodoWrite", "TaskCreate", "TaskGet", "TaskUpdate", "TaskList"]


def test_an_unknown_dialect_and_two_tools_of_one_name_are_refused(start: Start) -> None:
    for options in (["--dialect", "none"], ["--dialect", "punchlist", "--dialect", "hermes"]):
        client = start(*options, initialized=False)
        assert client.close() == 2


def test_no_tool_is_offered_where_the_environment_says_so(start: Start) -> None:
    assert start(PUNCHLIST_TODOS="off").result("tools/list")["tools"] == []


def test_the_settings_file_names_the_tools_and_an_option_is_above_it(start: Start) -> None:
    set_setting(settings_path(), "dialect", ("claude-code",))
    names = [tool["name"] for tool in start().result("tools/list")["tools"]]
    assert names == ["TodoWrite"]
    names = [tool["name"] for tool in start("--dialect", "hermes").result("tools/list")["tools"]]
    assert names == ["todo"]
    set_setting(settings_path(), "todos", value=False)
    assert start().result("tools/list")["tools"] == []
    assert start(PUNCHLIST_TODOS="on").result("tools/list")["tools"] != []


def test_calls_write_the_board(start: Start, board: Board) -> None:
    client = start()
    assert "2 items" in client.text("todo", {"set": ["Paint", "Sweep"]})
    assert "done 1" in client.text("todo", {"done": ["1"], "evidence": "pytest -q"})
    (row,) = board.lists()
    assert [item.status.value for item in row.todos.items] == ["completed", "in_progress"]
    assert row.project == os.getcwd()


def test_the_task_tool_writes_the_tasks_of_the_project(start: Start, board: Board) -> None:
    first, second = start(), start()
    first.text("task", {"do": "add", "text": "Ship"})
    assert "#1 [in progress" in second.text("task", {"do": "claim"})
    assert "taken" in first.call("task", {"do": "claim", "id": "1"})["content"][0]["text"]
    assert [task.subject for task in board.tasks().list()] == ["Ship"]


@pytest.mark.parametrize("arguments", [{"set": 7}, {"unknown": 1}, {"done": ["9"]}, [1], "x", 7, {"plan": ""}])
def test_bad_arguments_are_errors_of_the_tool(start: Start, arguments: Any) -> None:
    client = start()
    result = client.call("todo", arguments)
    assert result["isError"]
    assert result["content"][0]["text"].startswith("Nothing changed: ")
    assert client.result("ping") == {}


def test_an_unknown_tool_is_an_error_of_the_tool(start: Start) -> None:
    result = start().call("none", {})
    assert result["isError"]
    assert "`todo`, `task`" in result["content"][0]["text"]


def test_a_board_that_cannot_be_used_is_an_error_of_the_tool(start: Start, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    client = start(PUNCHLIST_DB=str(tmp_path / "folder"))
    assert client.call("todo", {})["isError"]
    assert client.code("resources/read", {"uri": "punchlist://list"}) == -32603
    assert client.result("tools/list")["tools"]


def test_our_own_tools_declare_and_send_structured_content_that_holds_the_text(start: Start) -> None:
    # Hosts show it in place of the text.
    client = start()
    tools = {tool["name"]: tool for tool in client.result("tools/list")["tools"]}
    for name, arguments in (("todo", {"set": ["Paint"]}), ("task", {"do": "add", "text": "Ship"}), ("task", {})):
        result = client.call(name, arguments)
        jsonschema.validate(result["structuredContent"], tools[name]["outputSchema"])
        assert result["structuredContent"]["text"] == result["content"][0]["text"]
    assert client.call("todo", {"set": ["Paint"]})["structuredContent"]["total"] == 1
    assert "structuredContent" not in client.call("todo", {"done": "9"})


def test_the_data_of_other_dialects_is_sent_only_where_it_says_the_same_as_the_text(start: Start) -> None:
    client = start("--dialect", "hermes")
    result = client.call("todo", {"todos": [{"id": "1", "content": "Paint", "status": "pending"}]})
    assert result["structuredContent"] == json.loads(result["content"][0]["text"])


def test_the_same_call_again_gets_the_first_answer(start: Start, board: Board) -> None:
    client, meta = start(), {"claudecode/toolUseId": "toolu_1"}
    first = client.call("todo", {"add": ["Paint"]}, meta)
    assert client.call("todo", {"add": ["Paint"]}, meta) == first
    assert len(board.lists()[0].todos.items) == 1


def test_a_call_id_that_comes_again_in_another_run_is_another_call(start: Start, board: Board) -> None:
    meta = {"claudecode/toolUseId": "call_1"}
    for _ in range(3):
        client = start(PUNCHLIST_SESSION="resumed")
        first = client.call("todo", {"add": ["Paint"]}, meta)
        assert client.call("todo", {"add": ["Paint"]}, meta) == first  # sent twice by one client
        client.close()
    assert len(board.agent("main", session="resumed").todos.items) == 3


def test_a_persons_answer_comes_with_the_next_reply_once(start: Start, board: Board) -> None:
    client = start()
    client.text("todo", {"set": ["Paint", "Sweep"]})
    client.text("todo", {"ask": {"1": "Which colour?"}})
    (row,) = board.lists()
    board.agent(row.agent, session=row.session).answer("1", "Red", by="ada", person=True)
    assert "ada answered: Red" in client.text("todo", {})
    assert "ada answered" not in client.text("todo", {})


# Resources and prompts.


def test_the_resources_show_list_work_and_brief(start: Start) -> None:
    client = start()
    client.text("todo", {"set": ["Paint", "Sweep"]})
    client.text("todo", {"done": ["1"]})
    client.text("task", {"do": "add", "text": "Ship"})
    client.text("task", {"do": "claim"})
    texts: dict[str, str] = {}
    for resource in client.result("resources/list")["resources"]:
        (content,) = client.result("resources/read", {"uri": resource["uri"]})["contents"]
        assert (content["uri"], content["mimeType"]) == (resource["uri"], resource["mimeType"])
        texts[resource["name"]] = content["text"]
    assert "Paint" in texts["list"]
    assert texts["work"].splitlines() == ["- 2 [>] Sweep", "- [>] #1 Ship"]
    assert "Sweep" in texts["brief"]


def test_resources_of_an_empty_board_say_so(start: Start) -> None:
    client = start()
    for resource in client.result("resources/list")["resources"]:
        (content,) = client.result("resources/read", {"uri": resource["uri"]})["contents"]
        assert content["text"].strip()


def test_the_lists_of_another_session_can_be_read(start: Start, board: Board) -> None:
    board.agent("main", session="other / one").call("todo", {"set": ["Paint"]})
    client = start()
    (template,) = client.result("resources/templates/list")["resourceTemplates"]
    uri = template["uriTemplate"].replace("{session}", "other%20%2F%20one")
    assert "Paint" in client.result("resources/read", {"uri": uri})["contents"][0]["text"]


@pytest.mark.parametrize("uri", ["punchlist://none", "file:///etc/passwd", "", "punchlist://sessions/none/list"])
def test_a_resource_that_does_not_exist_has_its_own_code(start: Start, uri: str) -> None:
    assert start().code("resources/read", {"uri": uri}) == -32002


def test_prompts_are_described_and_filled_in(start: Start) -> None:
    client = start()
    client.text("todo", {"set": ["Paint"]})
    prompts = client.result("prompts/list")["prompts"]
    assert [prompt["name"] for prompt in prompts] == ["plan", "resume", "review-open-work"]
    for prompt in prompts:
        assert prompt["description"]
        arguments = {one["name"]: "A {new} kitchen" for one in prompt["arguments"]}
        (message,) = client.result("prompts/get", {"name": prompt["name"], "arguments": arguments})["messages"]
        assert message["role"] == "user"
        assert ("Paint" in message["content"]["text"]) is (prompt["name"] != "plan")
        assert ("A {new} kitchen" in message["content"]["text"]) is bool(arguments)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": 7},
        {"name": "none"},
        {"name": "plan"},
        {"name": "plan", "arguments": {"goal": " "}},
        {"name": "plan", "arguments": {"goal": "x" * 30_000}},
        {"name": "resume", "arguments": [1]},
    ],
)
def test_a_prompt_without_its_arguments_is_refused(start: Start, params: Any) -> None:
    assert start().code("prompts/get", params) == -32602

"""gencode's `TodoWrite` to the letter. The rules are those of manifest.toml, section gencode."""

from collections.abc import Iterator
from typing import Any

import pytest

from punchlist import Agent, Board
from tests.dialects.boards import last_kind, lines, memory_board, todo, write, written

SEED = {
    "todos": [
        {"content": "Fix tests", "status": "in_progress", "activeForm": "Fixing failing tests"},
        {"content": "Update docs", "status": "pending", "activeForm": "Updating docs"},
    ]
}


@pytest.fixture
def board() -> Iterator[Board]:
    with memory_board() as board:
        yield board


@pytest.fixture
def agent(board: Board) -> Agent:
    return board.agent("main", session="s", dialect="gencode")


def item(**changes: Any) -> dict[str, Any]:
    return {"content": "Paint", "status": "pending", "activeForm": "Painting", **changes}


@pytest.mark.requirement("gencode.one-tool", "gencode.schema")
def test_the_schema_carries_the_limits(agent: Agent) -> None:
    (tool,) = agent.tools
    todos = tool.input_schema["properties"]["todos"]
    assert (tool.name, tool.input_schema["required"], todos["maxItems"]) == ("TodoWrite", ["todos"], 20)
    text = {"type": "string", "minLength": 1, "maxLength": 500}
    assert todos["items"]["properties"] == {
        "content": text,
        "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
        "activeForm": text,
    }
    assert todos["items"]["required"] == ["content", "status", "activeForm"]


@pytest.mark.requirement("gencode.rendered", "gencode.blank-line", "gencode.result")
def test_the_reply_is_the_rendered_list_with_a_blank_line_before_the_count(agent: Agent) -> None:
    reply = agent.call("TodoWrite", SEED)
    assert reply.text == "[>] Fix tests <- Fixing failing tests\n[ ] Update docs\n\n(0/2 completed)"
    assert (reply.data, reply.is_error) == ({"success": True, "output": reply.text}, False)


@pytest.mark.requirement("gencode.rendered")
def test_each_status_has_its_mark_and_only_the_focus_its_active_form(agent: Agent) -> None:
    assert write(agent, "x a", "> b", "c").text == "[x] a\n[>] b <- Doing b\n[ ] c\n\n(1/3 completed)"


@pytest.mark.requirement("gencode.empty")
def test_an_empty_list_is_accepted_and_said(agent: Agent) -> None:
    write(agent, "> a")
    assert (write(agent).text, agent.todos.items) == ("No todos.", ())


@pytest.mark.requirement("gencode.whole-list")
def test_a_write_replaces_the_whole_list_and_a_finished_one_stays(agent: Agent) -> None:
    write(agent, "> a", "b")
    assert write(agent, "x b", "x c").text.endswith("\n\n(2/2 completed)")
    assert [line[2:] for line in lines(agent.todos)] == ["x b", "x c"]


@pytest.mark.requirement("gencode.one-in-progress")
def test_a_second_item_in_progress_is_refused_and_nothing_is_stored(board: Board, agent: Agent) -> None:
    write(agent, "> a")
    before = agent.todos
    reply = agent.call("TodoWrite", written("> a", "> b"))
    said = "Only one task can be in_progress at a time"
    assert (reply.text, reply.is_error) == (said, True)
    assert reply.data == {"success": False, "output": "", "error": said}
    assert (agent.todos, last_kind(board)) == (before, "list.refused")


@pytest.mark.requirement("gencode.count-limit")
def test_twenty_items_fit(agent: Agent) -> None:
    assert not agent.call("TodoWrite", {"todos": [item() for _ in range(20)]}).is_error
    before = agent.todos
    reply = agent.call("TodoWrite", {"todos": [item() for _ in range(21)]})
    assert (reply.is_error, reply.data["success"], agent.todos) == (True, False, before)


@pytest.mark.requirement("gencode.length-limit")
@pytest.mark.parametrize("field", ["content", "activeForm"])
def test_five_hundred_characters_fit(agent: Agent, field: str) -> None:
    assert not agent.call("TodoWrite", {"todos": [item(**{field: "ä" * 500})]}).is_error
    assert not agent.call("TodoWrite", {"todos": [item(**{field: " "})]}).is_error
    for text in ("", "x" * 501):
        reply = agent.call("TodoWrite", {"todos": [item(), item(**{field: text})]})
        assert reply.is_error
        assert f"todos[1].{field}" in reply.data["error"]


BAD: list[Any] = [
    *(None, [], "[]", {}, {"todos": None}, {"todos": "[]"}, {"todos": [1]}, {"todos": [None]}),
    *({"todos": [item(**{field: None})]} for field in ("content", "status", "activeForm")),
    *({"todos": [item(status=word)]} for word in ("done", "", "cancelled", "IN_PROGRESS")),
]


@pytest.mark.requirement("gencode.validated", "gencode.result")
@pytest.mark.parametrize("args", BAD)
def test_what_the_schema_does_not_allow_is_refused(agent: Agent, args: Any) -> None:
    write(agent, "> a")
    reply = agent.call("TodoWrite", args)
    assert (reply.is_error, lines(agent.todos)) == (True, ["1 > a"])
    assert reply.data == {"success": False, "output": "", "error": reply.text}


@pytest.mark.requirement("gencode.validated")
def test_the_schema_comes_before_the_rule_of_one(agent: Agent) -> None:
    busy = item(status="in_progress")
    assert "todos[2]" in agent.call("TodoWrite", {"todos": [busy, busy, item(content="")]}).text


@pytest.mark.requirement("gencode.extra-fields")
def test_other_fields_are_stripped(agent: Agent) -> None:
    assert agent.call("TodoWrite", {"todos": [item(id=3)], "x": 1}).text == "[ ] Paint\n\n(0/1 completed)"


@pytest.mark.requirement("gencode.progress")
def test_progress_is_rounded_half_up_and_nothing_of_nothing(agent: Agent) -> None:
    write(agent, "x a", *"bcdefgh")
    assert agent.todos.progress == (1, 8, 13)
    write(agent)
    assert agent.todos.progress == (0, 0, 0)


@pytest.mark.requirement("gencode.blocked")
def test_a_blocked_item_shows_as_pending_so_that_another_may_be_in_progress(board: Board, agent: Agent) -> None:
    todo(board.agent("main", session="s"), set=["a", "b"], block={"1": "no paint"})
    write(agent, "a", "> b")
    assert lines(agent.todos) == ["1 ! a", "2 > b"]

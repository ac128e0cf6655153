"""nexo's `TodoWrite` to the letter. The rules are those of manifest.toml, section nexo."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from punchlist import Agent, Board
from tests.dialects.boards import NOW, last_kind, lines, memory_board, write, written

INSTRUCTIONS = (
    "Todos updated. Keep exactly one item `in_progress` at a time. Mark completed IMMEDIATELY after finishing each "
    "task; do not batch completions."
)
A = {"content": "Paint", "status": "in_progress", "activeForm": "Painting"}


@pytest.fixture
def board() -> Iterator[Board]:
    with memory_board() as board:
        yield board


@pytest.fixture
def agent(board: Board) -> Agent:
    return board.agent("main", session="s", dialect="nexo")


def item(**changes: Any) -> dict[str, Any]:
    return {**A, "status": "pending", **changes}


def echoed(content: str, status: str, form: str) -> dict[str, str]:
    return {"content": content, "status": status, "active_form": form}


# The tool.


@pytest.mark.requirement("nexo.one-tool", "nexo.schema")
def test_the_schema_has_no_limits_and_allows_other_fields(agent: Agent) -> None:
    (tool,) = agent.tools
    assert tool.name == "TodoWrite"
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "todos": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "content": {"type": "string"},
                        "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                        "activeForm": {"type": "string"},
                    },
                    "required": ["content", "status", "activeForm"],
                },
            }
        },
        "required": ["todos"],
    }


@pytest.mark.requirement("nexo.annotations")
def test_the_tool_is_deferred_and_can_be_searched_for(agent: Agent) -> None:
    annotations = agent.tools[0].annotations
    assert annotations["deferred"] is True
    assert annotations["searchHint"] == "todo, tasks, in-progress checklist"
    assert annotations["tier"] == "ReadWrite"


# A write.


@pytest.mark.requirement("nexo.reply", "nexo.snake-case")
def test_the_reply_is_an_object_in_snake_case(agent: Agent) -> None:
    write(agent, "> a")
    assert write(agent, "x a", "> b", "> c").data == {
        "old_todos": [echoed("a", "in_progress", "Doing a")],
        "new_todos": [
            echoed("a", "completed", "Doing a"),
            echoed("b", "in_progress", "Doing b"),
            echoed("c", "in_progress", "Doing c"),
        ],
        "wiped_on_all_completed": False,
        "in_progress_count": 2,
        "instructions": INSTRUCTIONS,
    }


@pytest.mark.requirement("nexo.alphabetical-keys")
def test_the_text_is_compact_json_with_its_keys_in_alphabetical_order(agent: Agent) -> None:
    reply = write(agent, "> Wände streichen")
    expected = json.dumps(reply.data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert reply.text == expected
    assert '"content":"Wände streichen"' in reply.text


@pytest.mark.requirement("nexo.wipe")
def test_a_list_of_completed_items_is_stored_as_empty_and_echoed(agent: Agent) -> None:
    write(agent, "> a")
    reply = write(agent, "x a", "x b")
    assert reply.data["wiped_on_all_completed"] is True
    assert [known["content"] for known in reply.data["new_todos"]] == ["a", "b"]
    assert agent.todos.items == ()
    assert write(agent, "c").data["old_todos"] == []


@pytest.mark.requirement("nexo.empty-clears")
def test_an_empty_list_clears_without_the_wipe_flag(agent: Agent) -> None:
    write(agent, "> a", "b")
    reply = write(agent)
    assert (reply.data["wiped_on_all_completed"], reply.data["new_todos"], agent.todos.items) == (False, [], ())
    assert [known["content"] for known in reply.data["old_todos"]] == ["a", "b"]


@pytest.mark.requirement("nexo.not-enforced")
def test_no_focus_several_doubled_texts_and_any_change_of_status_are_accepted(agent: Agent) -> None:
    write(agent, "a", "a")
    assert write(agent, "x a", "> a").data["in_progress_count"] == 1
    assert write(agent, "a", "> b", "> b").data["in_progress_count"] == 2
    assert [line[2:] for line in lines(agent.todos)] == ["  a", "> b", "> b"]


@pytest.mark.requirement("nexo.extra-fields")
def test_other_fields_are_ignored_and_dropped(agent: Agent) -> None:
    reply = agent.call("TodoWrite", {"todos": [{**A, "id": "7", "priority": None}], "merge": True})
    assert reply.data["new_todos"] == [echoed("Paint", "in_progress", "Painting")]


@pytest.mark.requirement("nexo.not-trimmed")
def test_the_stored_text_is_not_trimmed(agent: Agent) -> None:
    agent.call("TodoWrite", {"todos": [item(content=" Paint\n", activeForm="\tPainting ")]})
    assert agent.todos.items[0].content == " Paint\n"
    assert write(agent).data["old_todos"] == [echoed(" Paint\n", "pending", "\tPainting ")]


@pytest.mark.requirement("nexo.active-form-spellings")
def test_the_camel_case_spelling_is_looked_up_first(agent: Agent) -> None:
    snake = {"content": "Paint", "status": "pending", "active_form": "Painting"}
    assert agent.call("TodoWrite", {"todos": [snake]}).data["new_todos"][0]["active_form"] == "Painting"
    both = {**snake, "activeForm": "Brushing"}
    assert agent.call("TodoWrite", {"todos": [both]}).data["new_todos"][0]["active_form"] == "Brushing"
    null = agent.call("TodoWrite", {"todos": [{**snake, "activeForm": None}]})
    assert null.text == "todo[0]: missing string `activeForm` (or `active_form`)"


# What is refused, and in which order.


@pytest.mark.requirement("nexo.todos-array")
@pytest.mark.parametrize("args", [None, [], "[]", {}, {"todos": None}, {"todos": "[]"}, {"todos": A}])
def test_todos_are_an_array(agent: Agent, args: Any) -> None:
    reply = agent.call("TodoWrite", args)
    assert (reply.text, reply.is_error) == ("TodoWrite requires `todos` (array)", True)


PARSING: list[tuple[Any, str]] = [
    ("Paint", "todo[1]: missing string `content`"),
    (None, "todo[1]: missing string `content`"),
    ({}, "todo[1]: missing string `content`"),
    (item(content=3, status="?", activeForm=None), "todo[1]: missing string `content`"),
    (item(status=None, activeForm=None), "todo[1]: missing string `status`"),
    (item(status=["pending"]), "todo[1]: missing string `status`"),
    (item(status="done", activeForm=None), "todo[1]: unknown status `done` (expected pending|in_progress|completed)"),
    (item(status="Pending"), "todo[1]: unknown status `Pending` (expected pending|in_progress|completed)"),
    (item(activeForm=None), "todo[1]: missing string `activeForm` (or `active_form`)"),
    (item(activeForm=["x"]), "todo[1]: missing string `activeForm` (or `active_form`)"),
]


@pytest.mark.requirement("nexo.item-errors", "nexo.zero-based")
@pytest.mark.parametrize(("bad", "said"), PARSING)
def test_an_item_is_read_content_first_then_status_then_form(agent: Agent, bad: Any, said: str) -> None:
    reply = agent.call("TodoWrite", {"todos": [A, bad, None]})
    assert (reply.text, reply.is_error) == (said, True)


@pytest.mark.requirement("nexo.parse-before-bounds")
def test_all_items_are_read_before_any_limit_is_looked_at(agent: Agent) -> None:
    todos = [item(content="") for _ in range(60)]
    assert agent.call("TodoWrite", {"todos": [*todos, 1]}).text == "todo[60]: missing string `content`"


@pytest.mark.requirement("nexo.count-limit", "nexo.count-first")
def test_fifty_items_fit_and_the_count_comes_before_their_texts(agent: Agent) -> None:
    assert not agent.call("TodoWrite", {"todos": [item() for _ in range(50)]}).is_error
    reply = agent.call("TodoWrite", {"todos": [item(content="") for _ in range(51)]})
    assert reply.text == "too many todo items: 51 > max 50. Consolidate the list."


BOUNDS: list[tuple[dict[str, Any], str]] = [
    (item(content=" \t\n"), "todo item #1: `content` is empty"),
    (item(activeForm="\u3000"), "todo item #1: `active_form` is empty"),
    (item(content="", activeForm=""), "todo item #1: `content` is empty"),
    (item(content="x" * 201, activeForm=" "), "todo item #1: `active_form` is empty"),
    (item(content="x" * 201, activeForm="x" * 300), "todo item #1: `content` is 201 bytes (max 200)"),
    (item(activeForm="é" * 101), "todo item #1: `active_form` is 202 bytes (max 200)"),
    (item(content="x" * 200 + " "), "todo item #1: `content` is 201 bytes (max 200)"),
    (item(content="é" * 150_000), "todo item #1: `content` is 300000 bytes (max 200)"),
]


@pytest.mark.requirement("nexo.bounds-order", "nexo.zero-based", "nexo.byte-limit")
@pytest.mark.parametrize(("bad", "said"), BOUNDS)
def test_empty_comes_before_long_and_content_before_form(agent: Agent, bad: dict[str, Any], said: str) -> None:
    reply = agent.call("TodoWrite", {"todos": [A, bad, item(content="")]})
    assert (reply.text, reply.is_error) == (said, True)


@pytest.mark.requirement("nexo.byte-limit")
@pytest.mark.parametrize("text", ["x" * 200, "é" * 100, " " * 199 + "x"])
def test_two_hundred_bytes_fit_untrimmed(agent: Agent, text: str) -> None:
    assert not agent.call("TodoWrite", {"todos": [item(content=text, activeForm=text)]}).is_error


@pytest.mark.requirement("nexo.refused-changes-nothing")
@pytest.mark.parametrize("bad", [None, item(content=""), item(content="x" * 201)])
def test_a_bad_write_changes_nothing_and_is_recorded(board: Board, agent: Agent, bad: Any) -> None:
    write(agent, "> a")
    before = agent.todos
    assert agent.call("TodoWrite", {"todos": [A, bad]}).is_error
    assert (agent.todos, last_kind(board)) == (before, "list.refused")


@pytest.mark.requirement("nexo.long-echo")
def test_a_status_of_megabytes_is_not_repeated_in_full(agent: Agent) -> None:
    assert len(agent.call("TodoWrite", {"todos": [item(status="x" * 10**6)]}).text) < 2000


# Modes and sessions.


@pytest.mark.requirement("nexo.plan-mode")
def test_the_tool_may_be_used_in_plan_mode(agent: Agent) -> None:
    agent.enter_plan_mode()
    assert not agent.call("TodoWrite", written("> a")).is_error
    assert lines(agent.todos) == ["1 > a"]


@pytest.mark.requirement("nexo.kept")
def test_the_list_survives_the_board(tmp_path: Path) -> None:
    for before in ([], ["a", "b"]):
        with Board.open(tmp_path / "board.db", clock=lambda: NOW) as board:
            reply = write(board.agent("main", session="goal", dialect="nexo"), "> a", "b")
            assert [known["content"] for known in reply.data["old_todos"]] == before


@pytest.mark.requirement("nexo.clean-state")
def test_the_echo_is_as_sent_and_the_state_is_clean(agent: Agent) -> None:
    reply = agent.call("TodoWrite", {"todos": [item(content="red\x1b[31m wall")]})
    assert reply.data["new_todos"][0]["content"] == "red\x1b[31m wall"
    assert agent.todos.items[0].content == "red wall"

"""`TodoWrite` to the letter. The rules are those of manifest.toml, section claude-code."""

from collections.abc import Iterator
from typing import Any

import pytest

from punchlist import Agent, Board
from punchlist.core.commands import Replace
from punchlist.dialects import dialect
from tests.dialects.boards import last_kind, lines, memory_board, write, written

SUCCESS = (
    "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. "
    "Please proceed with the current tasks if applicable"
)
A = {"content": "Paint", "status": "in_progress", "activeForm": "Painting"}
B = {"content": "Sweep", "status": "pending", "activeForm": "Sweeping"}


@pytest.fixture
def board() -> Iterator[Board]:
    with memory_board() as board:
        yield board


@pytest.fixture
def agent(board: Board) -> Agent:
    return board.agent("main", session="s", dialect="claude-code")


def item(**changes: Any) -> dict[str, Any]:
    return {"content": "Paint", "status": "pending", "activeForm": "Painting", **changes}


# The tool.


@pytest.mark.requirement("claude-code.one-tool")
def test_the_dialect_offers_todo_write_and_nothing_else(agent: Agent) -> None:
    assert [tool.name for tool in agent.tools] == ["TodoWrite"]


@pytest.mark.requirement("claude-code.schema")
def test_the_schema_is_strict_and_complete(agent: Agent) -> None:
    schema = agent.tools[0].input_schema
    assert (schema["type"], schema["required"], schema["additionalProperties"]) == ("object", ["todos"], False)
    todos = schema["properties"]["todos"]
    assert (todos["type"], todos["items"]["required"]) == ("array", ["content", "status", "activeForm"])
    assert todos["items"]["properties"] == {
        "content": {"type": "string", "minLength": 1},
        "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
        "activeForm": {"type": "string", "minLength": 1},
    }


@pytest.mark.requirement("claude-code.annotations")
def test_the_flags_are_the_originals(agent: Agent) -> None:
    assert agent.tools[0].annotations == {
        "strict": True,
        "enabled": True,
        "permission": "allow",
        "silent": True,
        "readOnly": False,
        "concurrencySafe": False,
    }


@pytest.mark.requirement("claude-code.examples")
def test_its_examples_are_valid_input(agent: Agent) -> None:
    examples = agent.tools[0].examples
    assert examples
    for example in examples:
        assert isinstance(dialect("claude-code").parse("TodoWrite", example), Replace)


# A write.


@pytest.mark.requirement("claude-code.success-text")
def test_a_write_answers_with_the_originals_sentence(agent: Agent) -> None:
    reply = agent.call("TodoWrite", {"todos": [A, B]})
    assert (reply.text, reply.is_error, reply.problems) == (SUCCESS, False, ())


@pytest.mark.requirement("claude-code.result-object", "claude-code.old-todos", "claude-code.new-todos-echo")
def test_the_data_holds_the_stored_list_and_the_input(agent: Agent) -> None:
    assert agent.call("TodoWrite", {"todos": [A, B]}).data == {"oldTodos": [], "newTodos": [A, B]}
    assert agent.call("TodoWrite", {"todos": [B]}).data == {"oldTodos": [A, B], "newTodos": [B]}


@pytest.mark.requirement("claude-code.whole-list")
def test_a_write_replaces_the_whole_list_in_its_order(agent: Agent) -> None:
    write(agent, "> a", "b", "x c")
    write(agent, "x c", "x a", "> d")
    assert [line[2:] for line in lines(agent.todos)] == ["x c", "x a", "> d"]


@pytest.mark.requirement("claude-code.wipe-all-completed", "claude-code.new-todos-echo-wiped")
def test_a_list_of_completed_items_is_stored_as_empty_and_echoed(agent: Agent) -> None:
    write(agent, "> a", "x b")
    reply = write(agent, "x a", "x b")
    assert agent.todos.items == ()
    assert reply.data["newTodos"] == written("x a", "x b")["todos"]
    assert reply.data["oldTodos"] == written("> a", "x b")["todos"]
    assert write(agent, "c").data["oldTodos"] == []


@pytest.mark.requirement("claude-code.wipe-empty")
def test_an_empty_list_is_stored_as_empty(agent: Agent) -> None:
    write(agent, "> a", "x b")
    reply = write(agent)
    assert (agent.todos.items, reply.data["newTodos"], reply.text) == ((), [], SUCCESS)


@pytest.mark.requirement("claude-code.unknown-item-field", "claude-code.new-todos-echo")
def test_unknown_fields_of_an_item_are_stripped(agent: Agent) -> None:
    reply = agent.call("TodoWrite", {"todos": [{**A, "id": "7", "priority": 3, "": None}]})
    assert reply.data["newTodos"] == [A]


@pytest.mark.requirement("claude-code.whitespace-accepted")
@pytest.mark.parametrize("blank", [" ", "\n", "\t \u00a0"])
def test_blanks_are_a_text(agent: Agent, blank: str) -> None:
    reply = agent.call("TodoWrite", {"todos": [item(content=blank, activeForm=blank)]})
    assert not reply.is_error
    assert reply.data["newTodos"][0]["content"] == blank
    assert len(agent.todos.items) == 1


@pytest.mark.requirement("claude-code.several-in-progress")
def test_several_items_in_progress_or_none_are_accepted(agent: Agent) -> None:
    write(agent, "> a", "> b")
    assert lines(agent.todos) == ["1 > a", "2 > b"]
    write(agent, "a", "b")
    assert lines(agent.todos) == ["1   a", "2   b"]


@pytest.mark.requirement("claude-code.duplicates")
def test_equal_items_are_kept(agent: Agent) -> None:
    reply = write(agent, "a", "a")
    assert lines(agent.todos) == ["1   a", "2   a"]
    assert len(reply.data["newTodos"]) == 2


@pytest.mark.requirement("claude-code.clean-state", "claude-code.new-todos-echo")
def test_the_state_is_cleaned_and_the_echo_is_as_sent(agent: Agent) -> None:
    reply = agent.call("TodoWrite", {"todos": [item(content="red\x1b[31m wall\ud800")]})
    assert agent.todos.items[0].content == "red wall\ufffd"
    assert reply.data["newTodos"][0]["content"] == "red\x1b[31m wall\ufffd"
    assert reply.text == SUCCESS
    assert reply.problems[0].data["removed"] == ["escape sequences"]


# What is refused.

REFUSED: list[tuple[Any, str]] = [
    (None, "The input type is expected as `object` but provided as `null`"),
    ([A], "The input type is expected as `object` but provided as `array`"),
    ('{"todos": []}', "The input type is expected as `object` but provided as `string`"),
]


@pytest.mark.requirement("claude-code.arguments-object", "claude-code.no-repairs")
@pytest.mark.parametrize(("args", "said"), REFUSED)
def test_arguments_that_are_no_object_are_refused(agent: Agent, args: Any, said: str) -> None:
    reply = agent.call("TodoWrite", args)
    assert (reply.is_error, said in reply.text) == (True, True)


@pytest.mark.requirement("claude-code.todos-required")
def test_todos_are_required(agent: Agent) -> None:
    assert "`todos` is missing" in agent.call("TodoWrite", {}).text


@pytest.mark.requirement("claude-code.todos-array", "claude-code.no-repairs")
@pytest.mark.parametrize(
    ("todos", "said"), [("[]", "string"), (A, "object"), (None, "null"), (3, "number"), (True, "boolean")]
)
def test_todos_are_an_array(agent: Agent, todos: Any, said: str) -> None:
    reply = agent.call("TodoWrite", {"todos": todos})
    assert f"`todos` type is expected as `array` but provided as `{said}`" in reply.text


@pytest.mark.requirement("claude-code.unknown-parameter")
def test_an_unknown_parameter_is_refused_and_named(agent: Agent) -> None:
    reply = agent.call("TodoWrite", {"todos": [A], "merge": True})
    assert (reply.is_error, agent.todos.items) == (True, ())
    assert "An unexpected parameter `merge` was provided" in reply.text


@pytest.mark.requirement("claude-code.item-object")
@pytest.mark.parametrize("value", ["Paint", None, 3, [A]])
def test_an_item_is_an_object(agent: Agent, value: Any) -> None:
    assert agent.call("TodoWrite", {"todos": [A, value]}).is_error


@pytest.mark.requirement("claude-code.item-required")
@pytest.mark.parametrize("field", ["content", "status", "activeForm"])
def test_every_field_of_an_item_is_required(agent: Agent, field: str) -> None:
    given = {key: value for key, value in A.items() if key != field}
    reply = agent.call("TodoWrite", {"todos": [given]})
    assert "is missing" in reply.text
    assert f"todos[0].{field}" in reply.text


@pytest.mark.requirement("claude-code.item-strings")
@pytest.mark.parametrize("field", ["content", "status", "activeForm"])
@pytest.mark.parametrize("value", [None, 1, ["x"], {}])
def test_every_field_of_an_item_is_a_string(agent: Agent, field: str, value: Any) -> None:
    assert agent.call("TodoWrite", {"todos": [item(**{field: value})]}).is_error


@pytest.mark.requirement("claude-code.content-empty", "claude-code.active-form-empty")
def test_empty_texts_are_refused_in_the_originals_words(agent: Agent) -> None:
    assert "Content cannot be empty" in agent.call("TodoWrite", {"todos": [item(content="")]}).text
    assert "Active form cannot be empty" in agent.call("TodoWrite", {"todos": [item(activeForm="")]}).text


@pytest.mark.requirement("claude-code.status-enum", "claude-code.no-repairs")
@pytest.mark.parametrize("status", ["done", "in-progress", "Pending", "blocked", "cancelled", "", " pending"])
def test_a_status_is_one_of_three_spelt_exactly(agent: Agent, status: str) -> None:
    reply = agent.call("TodoWrite", {"todos": [item(status=status)]})
    assert "'pending'|'in_progress'|'completed'" in reply.text


@pytest.mark.requirement("claude-code.no-repairs")
def test_another_spelling_of_a_field_is_an_unknown_field(agent: Agent) -> None:
    given = {"content": "Paint", "status": "pending", "active_form": "Painting"}
    assert "todos[0].activeForm" in agent.call("TodoWrite", {"todos": [given]}).text
    assert dialect("claude-code").repairs == frozenset()


@pytest.mark.requirement("claude-code.all-issues")
def test_a_refusal_names_every_issue(agent: Agent) -> None:
    reply = agent.call("TodoWrite", {"todos": [item(content=""), item(activeForm="")], "x": 1})
    assert reply.text.startswith("InputValidationError: TodoWrite failed due to the following issues:\n")
    assert len(reply.text.splitlines()) == 4


@pytest.mark.requirement("claude-code.refused-changes-nothing")
def test_a_refused_call_changes_nothing_and_is_recorded(board: Board, agent: Agent) -> None:
    write(agent, "> a")
    before = agent.todos
    reply = agent.call("TodoWrite", {"todos": [A, item(status="done")]})
    assert (reply.is_error, reply.problems[0].fatal, agent.todos) == (True, True, before)
    assert last_kind(board) == "list.refused"


@pytest.mark.requirement("claude-code.unknown-tool")
@pytest.mark.parametrize("name", ["todo", "todowrite", "", "\ud800"])
def test_an_unknown_tool_is_an_error_reply(agent: Agent, name: str) -> None:
    reply = agent.call(name, {"todos": []})
    assert (reply.is_error, reply.problems[0].code) == (True, "unknown_tool")
    assert reply.text.encode()


# Agents, modes, and what the dialect cannot show.


@pytest.mark.requirement("claude-code.per-agent")
def test_each_agent_has_its_own_list(board: Board, agent: Agent) -> None:
    other = board.agent("explore", session="s", dialect="claude-code")
    write(agent, "> a")
    assert write(other, "> b").data["oldTodos"] == []
    assert (lines(agent.todos), lines(other.todos)) == (["1 > a"], ["1 > b"])
    write(other, "x b")
    assert lines(agent.todos) == ["1 > a"]


@pytest.mark.requirement("claude-code.plan-mode")
def test_the_tool_is_refused_in_plan_mode(board: Board, agent: Agent) -> None:
    write(agent, "> a")
    agent.enter_plan_mode()
    reply = agent.call("TodoWrite", {"todos": [B]})
    assert (reply.is_error, reply.problems[0].code, lines(agent.todos)) == (True, "plan_mode", ["1 > a"])
    assert last_kind(board) == "list.refused"
    agent.exit_plan_mode()
    assert not agent.call("TodoWrite", {"todos": [B]}).is_error


@pytest.mark.requirement("claude-code.nearest-status")
@pytest.mark.parametrize("operation", ["block", "fail"])
def test_blocked_and_failed_show_as_in_progress_and_stay_what_they_are(agent: Agent, operation: str) -> None:
    write(agent, "> a", "b")
    agent.edit({"op": operation, "item": "1", "reason": "no paint"}, by="ada")
    before = agent.todos.items[0]
    reply = write(agent, "> a", "> b")
    assert [known["status"] for known in reply.data["oldTodos"]] == ["in_progress", "pending"]
    write(agent, "> a", "x b")
    assert agent.todos.items[0] == before
    write(agent, "a", "x b")
    assert lines(agent.todos) == ["1   a", "2 x b"]


@pytest.mark.requirement("claude-code.hidden-cancelled")
def test_cancelled_items_are_neither_shown_nor_touched(agent: Agent) -> None:
    write(agent, "a", "b", "c")
    agent.edit({"op": "drop", "item": "2"}, by="ada")
    reply = write(agent, "> a", "c")
    assert [known["content"] for known in reply.data["oldTodos"]] == ["a", "c"]
    assert lines(agent.todos) == ["1 > a", "2 - b", "3   c"]

"""What the dialects of the wider field share. Their rules are in manifest.toml, a section each."""

from typing import Any

import pytest

from punchlist import Agent
from punchlist.core.todo import Status
from punchlist.dialects import dialect
from tests.dialects.boards import last_kind, lines, memory_board, todo
from tests.dialects.views import Row, arguments, rows

TOOLS = {
    "opencode": "todowrite",
    "gemini": "write_todos",
    "langchain": "write_todos",
    "roo": "update_todo_list",
    "copilot": "manage_todo_list",
    "qwen": "todo_write",
    "kimi": "SetTodoList",
    "goose": "todo_write",
    "openhands": "task_tracker",
    "cursor": "todo_write",
    "crush": "todos",
}
FIELD = sorted(TOOLS)
HIDE_CANCELLED = sorted(set(FIELD) - {"opencode", "gemini", "cursor"})


def send(agent: Agent, written: list[Row]) -> None:
    reply = agent.call(agent.tools[0].name, arguments(agent.dialect, written, agent.todos))
    assert not reply.is_error, reply.text


@pytest.mark.requirement(
    "opencode.one-tool",
    "gemini.one-tool",
    "langchain.one-tool",
    "roo.one-tool",
    "copilot.one-tool",
    "qwen.one-tool",
    "kimi.one-tool",
    "goose.one-tool",
    "openhands.one-tool",
    "cursor.one-tool",
    "crush.one-tool",
)
@pytest.mark.parametrize("name", FIELD)
def test_each_offers_one_tool_of_the_originals_name(name: str) -> None:
    assert [tool.name for tool in dialect(name).tools] == [TOOLS[name]]


@pytest.mark.requirement(
    "opencode.schema",
    "gemini.schema",
    "langchain.schema",
    "roo.schema",
    "copilot.schema",
    "qwen.schema",
    "kimi.schema",
    "goose.schema",
    "openhands.schema",
    "cursor.schema",
    "crush.schema",
)
@pytest.mark.parametrize(
    ("name", "field", "required", "enum"),
    [
        ("opencode", "todos", ["content", "status", "priority"], None),
        ("gemini", "todos", ["description", "status"], "pending in_progress completed cancelled blocked"),
        ("langchain", "todos", ["content", "status"], "pending in_progress completed"),
        ("roo", "todos", None, None),
        ("copilot", "todoList", ["id", "title", "status"], "not-started in-progress completed"),
        ("qwen", "todos", ["id", "content", "status"], "pending in_progress completed"),
        ("kimi", "todos", ["title", "status"], "pending in_progress done"),
        ("goose", "content", None, None),
        ("openhands", "task_list", ["title"], "todo in_progress done"),
        ("cursor", "todos", ["id", "content", "status"], "pending in_progress completed cancelled"),
        ("crush", "todos", ["content", "status", "active_form"], "pending in_progress completed"),
    ],
)
def test_the_schema_is_the_originals(name: str, field: str, required: list[str] | None, enum: str | None) -> None:
    schema: Any = dialect(name).tools[0].input_schema
    optional = {"kimi": [], "openhands": [], "cursor": ["merge", "todos"]}
    assert schema.get("required", []) == optional.get(name, [field])
    given = schema["properties"][field]
    if required is None:
        assert given == {"type": "string"}
        return
    array = given["anyOf"][0] if name == "kimi" else given
    assert array["type"] == "array"
    assert array["items"]["required"] == required
    status = array["items"]["properties"]["status"]
    assert (status["type"], status.get("enum")) == ("string", enum.split() if enum else None)


@pytest.mark.requirement("copilot.schema", "qwen.schema", "kimi.schema", "cursor.schema", "openhands.schema")
def test_what_else_the_schemas_say() -> None:
    schemas: dict[str, Any] = {name: dialect(name).tools[0].input_schema for name in FIELD}
    assert "operation" not in schemas["copilot"]["properties"]
    assert schemas["copilot"]["properties"]["todoList"]["items"]["properties"]["id"] == {"type": "number"}
    qwen = schemas["qwen"]["properties"]["todos"]["items"]
    assert qwen["additionalProperties"] is False
    assert qwen["properties"]["id"]["maxLength"] == 500
    assert qwen["properties"]["content"]["minLength"] == 1
    assert qwen["properties"]["blockedBy"]["uniqueItems"] is True
    assert schemas["kimi"]["properties"]["todos"]["default"] is None
    assert schemas["cursor"]["properties"]["todos"]["minItems"] == 2
    assert schemas["openhands"]["properties"]["command"]["enum"] == ["view", "plan"]


@pytest.mark.requirement(
    "opencode.whole-list",
    "gemini.whole-list",
    "langchain.whole-list",
    "roo.whole-list",
    "copilot.whole-list",
    "qwen.whole-list",
    "kimi.whole-list",
    "goose.overwrite",
    "openhands.plan",
    "cursor.replace",
    "crush.whole-list",
)
@pytest.mark.parametrize("name", FIELD)
def test_a_write_replaces_the_whole_list_in_its_order(name: str) -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect=name)
        send(agent, [Row("Paint", Status.PENDING), Row("Sweep", Status.IN_PROGRESS), Row("Lock up", Status.COMPLETED)])
        assert lines(agent.todos) == ["1   Paint", "2 > Sweep", "3 x Lock up"]
        paint, sweep, lock_up = rows(name, agent.todos)
        if name == "goose":
            agent.call("todo_write", {"content": "- [x] Lock up\n- [ ] Paint"})
        else:
            send_some(agent, [lock_up, paint])
        assert lines(agent.todos) == ["3 x Lock up", "1   Paint"]
        assert [item.content for item in agent.todos.omitted] == [sweep.text]


def send_some(agent: Agent, written: list[Row]) -> None:
    """Rows of which some are left out."""
    for row in written:
        row.was = None
    send(agent, written)


@pytest.mark.requirement(
    "opencode.nearest-status",
    "langchain.nearest-status",
    "roo.nearest-status",
    "copilot.nearest-status",
    "qwen.nearest-status",
    "kimi.nearest-status",
    "goose.nearest-status",
    "openhands.nearest-status",
    "cursor.nearest-status",
    "crush.nearest-status",
    "gemini.nearest-status",
)
@pytest.mark.parametrize("name", FIELD)
def test_a_status_that_the_dialect_lacks_shows_as_its_nearest_and_stays(name: str) -> None:
    with memory_board() as board:
        own = board.agent("main", session="s")
        todo(own, set=[{"text": "Ask", "status": "blocked", "reason": "waits"}, {"text": "Try", "status": "failed"}])
        agent = board.agent("main", session="s", dialect=name)
        nearest = Status.BLOCKED if name == "gemini" else Status.IN_PROGRESS
        shown = rows(name, agent.todos)
        assert [row.status for row in shown] == [nearest, nearest]
        send(agent, shown)
        assert lines(agent.todos) == ["1 ! Ask", "2 f Try"]
        assert agent.todos.items[0].blocker is not None


@pytest.mark.requirement(
    "langchain.hidden-cancelled",
    "roo.hidden-cancelled",
    "copilot.hidden-cancelled",
    "qwen.hidden-cancelled",
    "kimi.hidden-cancelled",
    "goose.hidden-cancelled",
    "openhands.hidden-cancelled",
    "crush.hidden-cancelled",
)
@pytest.mark.parametrize("name", HIDE_CANCELLED)
def test_a_cancelled_item_is_neither_shown_nor_touched(name: str) -> None:
    with memory_board() as board:
        own = board.agent("main", session="s")
        todo(own, set=["Paint", "Sweep", "Lock up"], drop="2")
        agent = board.agent("main", session="s", dialect=name)
        shown = rows(name, agent.todos)
        assert [row.text for row in shown] == ["Paint", "Lock up"]
        send(agent, shown)
        assert lines(agent.todos) == ["1 > Paint", "2 - Sweep", "3   Lock up"]


@pytest.mark.requirement("opencode.cancelled", "cursor.cancelled")
@pytest.mark.parametrize("name", ["opencode", "gemini", "cursor"])
def test_a_cancelled_item_is_shown_where_the_dialect_has_that_status(name: str) -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect=name)
        send(agent, [Row("Paint", Status.CANCELLED), Row("Sweep", Status.PENDING)])
        assert lines(agent.todos) == ["1 - Paint", "2   Sweep"]
        assert [row.status for row in rows(name, agent.todos)] == [Status.CANCELLED, Status.PENDING]


@pytest.mark.requirement(
    "opencode.plan-mode",
    "gemini.plan-mode",
    "langchain.plan-mode",
    "roo.plan-mode",
    "copilot.plan-mode",
    "qwen.plan-mode",
    "kimi.plan-mode",
    "goose.plan-mode",
    "openhands.plan-mode",
    "cursor.plan-mode",
    "crush.plan-mode",
)
@pytest.mark.parametrize("name", FIELD)
def test_each_may_be_used_in_plan_mode(name: str) -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect=name)
        agent.enter_plan_mode()
        send(agent, [Row("Paint", Status.PENDING), Row("Sweep", Status.PENDING)])
        assert lines(agent.todos) == ["1   Paint", "2   Sweep"]


@pytest.mark.parametrize("name", FIELD)
def test_a_refused_call_changes_nothing_and_is_recorded(name: str) -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect=name)
        send(agent, [Row("Paint", Status.PENDING), Row("Sweep", Status.PENDING)])
        before = agent.todos
        reply = agent.call(TOOLS[name], ["nonsense"])
        assert reply.is_error
        assert agent.todos == before
        assert last_kind(board) == "list.refused"


@pytest.mark.requirement("roo.identity", "goose.identity", "copilot.ids", "cursor.ids", "qwen.ids")
@pytest.mark.parametrize("name", FIELD)
def test_an_item_keeps_its_id_whatever_its_status(name: str) -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect=name)
        send(agent, [Row("Paint", Status.PENDING), Row("Sweep", Status.PENDING)])
        for status in (Status.IN_PROGRESS, Status.COMPLETED, Status.PENDING):
            shown = rows(name, agent.todos)
            shown[1].status = status
            send(agent, shown)
            assert [item.id for item in agent.todos.items] == ["1", "2"]
            assert agent.todos.items[1].status is status


@pytest.mark.requirement("roo.one-line", "goose.one-line")
@pytest.mark.parametrize("name", ["roo", "goose"])
def test_a_text_of_several_lines_stays_what_it_is(name: str) -> None:
    with memory_board() as board:
        todo(board.agent("main", session="s"), set=["Paint\n  the door", "Sweep"])
        agent = board.agent("main", session="s", dialect=name)
        send(agent, rows(name, agent.todos))
        assert [item.content for item in agent.todos.items] == ["Paint\n  the door", "Sweep"]

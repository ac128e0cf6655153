"""When two calls are the same call, and two results the same result."""

from typing import Any

import pytest

from punchlist.detect.signatures import Reading, outcome, reading, signature, writes_list
from punchlist.dialects import dialect, dialects_of


def result(text: str, **details: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "details": details}


def hashed(way: Reading, value: Any, *, is_error: bool = False) -> str | None:
    return outcome(way, value, is_error=is_error).hash


@pytest.mark.requirement("loops.call-hash")
def test_a_call_counts_by_its_tool_and_its_arguments() -> None:
    assert signature("tool", {"b": 2, "a": 1}) == signature("tool", {"a": 1, "b": 2})
    calls = [("read", {"path": "/file.txt"}), ("write", {"path": "/file.txt"}), ("read", {"path": "/other.txt"})]
    assert len({signature(tool, args) for tool, args in calls}) == 3


@pytest.mark.requirement("loops.result-hash")
def test_a_result_counts_by_what_its_kind_of_call_is_about() -> None:
    polled = result("Process still running.", status="running", aggregated="steady")
    ran = result("other", status="completed", exitCode=0, aggregated="Loki\nPrometheus", durationMs=5, pid=3)
    later = result("another", status="completed", exitCode=0, aggregated="Loki\nPrometheus", durationMs=9, pid=4)
    assert hashed("poll", polled) == hashed("poll", result("Process still running.", **polled["details"], pid=3))
    assert hashed("poll", polled) != hashed("poll", result("Process still running.", status="running"))
    assert hashed("exec", ran) == hashed("exec", later) != hashed("exec", result("other", status="failed", exitCode=1))
    assert hashed("plain", result("same output", ok=True)) != hashed("plain", result("same output", ok=False))


@pytest.mark.requirement("loops.result-hash")
def test_how_a_result_is_read_depends_on_the_call() -> None:
    found = {
        (tool, action): reading(tool, {"action": action} if action else {})
        for tool, action in [
            ("exec", ""),
            ("process", "poll"),
            ("process", "log"),
            ("process", "kill"),
            ("message", "thread-reply"),
            ("message", "search"),
            ("sessions_send", ""),
            ("telegram", "sendMessage"),
            ("read", "send"),
        ]
    }
    assert list(found.values()) == ["exec", "poll", "log", "plain", "send", "plain", "send", "send", "plain"]


@pytest.mark.requirement("loops.result-hash")
def test_a_running_command_counts_by_its_last_lines() -> None:
    first = result("x", status="running", tail="line 1", pid=1)
    again = result("y", status="running", tail="line 1", pid=2)
    later = result("x", status="running", tail="line 2", pid=1)
    assert hashed("exec", first) == hashed("exec", again) != hashed("exec", later)


@pytest.mark.requirement("loops.result-hash")
def test_a_command_that_waits_for_approval_counts_by_what_it_waits_for() -> None:
    first = result("id 1", status="approval-pending", command="rm x", host="gateway", expiresAt=1)
    again = result("id 2", status="approval-pending", command="rm x", host="gateway", expiresAt=2)
    other = result("id 1", status="approval-pending", command="rm y", host="gateway", expiresAt=1)
    assert hashed("exec", first) == hashed("exec", again) != hashed("exec", other)


@pytest.mark.requirement("loops.result-hash")
def test_a_log_counts_by_its_length_and_text() -> None:
    assert hashed("log", result("a", totalLines=1)) != hashed("log", result("a", totalLines=2))
    assert hashed("log", result("a", totalLines=1, at=1)) == hashed("log", result("a", totalLines=1, at=2))


@pytest.mark.requirement("loops.volatile")
def test_what_is_new_in_every_delivery_does_not_count() -> None:
    first = {"ok": True, "messageId": "1", "ts": 1, "to": {"id": "chat", "receipt": "x"}}
    again = {"ok": True, "messageId": "2", "ts": 2, "to": {"id": "chat", "receipt": "y"}}
    other = {"ok": True, "messageId": "1", "ts": 1, "to": {"id": "another chat", "receipt": "x"}}
    assert hashed("send", result("1", **first)) == hashed("send", result("2", **again))
    assert hashed("send", result("1", **first)) != hashed("send", result("1", **other))


@pytest.mark.requirement("loops.volatile")
def test_the_id_of_a_message_does_not_count_but_other_ids_do() -> None:
    first = {"message": {"id": "1", "text": "hi", "direction": "out"}}
    again = {"message": {"id": "2", "text": "hi", "direction": "out"}}
    assert hashed("send", result("", **first)) == hashed("send", result("", **again))
    assert hashed("plain", result("", **first)) != hashed("plain", result("", **again))
    assert hashed("send", result("", room={"id": "1"})) != hashed("send", result("", room={"id": "2"}))


@pytest.mark.requirement("loops.error-hash")
def test_an_error_counts_by_what_it_says() -> None:
    assert hashed("plain", "no such file", is_error=True) == hashed("exec", "no such file", is_error=True)
    assert str(hashed("plain", "x", is_error=True)).startswith("error:")
    assert hashed("plain", ValueError("x"), is_error=True) == hashed("plain", "x", is_error=True)
    assert hashed("plain", "x", is_error=True) != hashed("plain", "x")


MOVES = [("Read", "pending"), ("Read it", "pending"), ("Read", "completed")]


def plan(*steps: tuple[str, str], **more: Any) -> dict[str, Any]:
    return {"plan": [{"step": step, "status": status} for step, status in steps], **more}


@pytest.mark.requirement("loops.plan-shape")
def test_new_words_for_the_same_steps_are_the_same_plan() -> None:
    first = plan(("Read", "in_progress"), ("Write", "pending"), explanation="Beginning")
    words = plan(("Read it all", "in_progress"), ("Write it", "pending"), explanation="Still beginning")
    moved = plan(("Read", "completed"), ("Write", "pending"), explanation="Beginning")
    silent = plan(("Read", "in_progress"), ("Write", "pending"))
    assert signature("update_plan", first) == signature("update_plan", words)
    assert len({signature("update_plan", value) for value in (first, moved, silent)}) == 3
    assert signature("other", first) != signature("other", words)


@pytest.mark.requirement("loops.plan-shape")
def test_the_acknowledgement_of_a_plan_does_not_count() -> None:
    way = reading("update_plan", plan(("Read", "pending")))
    first = result("Plan updated (1 step)", status="updated", plan=[{"step": "a", "status": "pending"}])
    again = result("Plan updated, again", status="updated", plan=[{"step": "b", "status": "pending"}])
    assert way == "plan"
    assert hashed(way, first) == hashed(way, again)
    assert hashed(way, "Plan updated") == hashed(way, "Plan is up to date")


@pytest.mark.requirement("loops.todo-shape")
@pytest.mark.parametrize(
    ("tool", "key", "text"),
    [
        ("TodoWrite", "todos", "content"),
        ("write_todos", "todos", "description"),
        ("manage_todo_list", "todoList", "title"),
        ("SetTodoList", "todos", "title"),
        ("task_tracker", "task_list", "title"),
    ],
)
def test_other_tools_that_write_a_list_count_by_its_shape_too(tool: str, key: str, text: str) -> None:
    first, words, moved = (
        {key: [{text: said, "status": status}]}
        for said, status in [("Read", "pending"), ("Read it", "pending"), ("Read", "completed")]
    )
    assert signature(tool, first) == signature(tool, words) != signature(tool, moved)


def ops(*items: str, phase: str = "Build") -> dict[str, Any]:
    return {"ops": [{"op": "init", "list": [{"phase": phase, "items": list(items)}]}]}


@pytest.mark.requirement("loops.todo-shape")
@pytest.mark.parametrize(
    ("tool", "first", "words", "moved"),
    [
        ("todo", {"set": ["Read"]}, {"set": ["Read it"]}, {"set": ["Read", "Write"]}),
        ("todo", {"set": [{"text": "a"}]}, {"set": [{"text": "b"}]}, {"set": [{"text": "a", "status": "completed"}]}),
        ("todo", {"set": {"1": "Read"}}, {"set": {"1": "Read it"}}, {"set": {"2": "Read"}}),
        ("todo", {"set": ["a"], "start": "1"}, {"set": ["b"], "start": "1"}, {"set": ["a"], "start": "2"}),
        ("todo", {"set": '["Read"]'}, {"set": '["Read it"]'}, {"set": '["Read", "Write"]'}),
        ("update_todo_list", {"todos": "[ ] Read"}, {"todos": "[ ] Read it"}, {"todos": "[x] Read"}),
        ("todo_write", {"content": "- [ ] Read"}, {"content": "- [ ] Read it"}, {"content": "- [x] Read"}),
        ("todo_write", {"content": "Read"}, {"content": "Read"}, {"content": "Read it"}),
        ("todo_write", ops("Read"), ops("Read it", phase="Make"), ops("Read", "Write")),
    ],
)
def test_a_list_in_the_form_of_any_dialect_counts_by_its_shape(tool: str, first: Any, words: Any, moved: Any) -> None:
    assert signature(tool, first) == signature(tool, words) != signature(tool, moved)


@pytest.mark.requirement("loops.todo-shape")
def test_every_dialect_that_writes_a_whole_list_is_known() -> None:
    tools = {tool.name for name in dialects_of("todos") for tool in dialect(name).tools}
    assert {name for name in tools if not writes_list(name)} == set()


@pytest.mark.requirement("loops.todo-shape")
@pytest.mark.parametrize(
    "tool",
    ["mcp__punchlist__TodoWrite", "mcp_punchlist_todo_write", "punchlist_todos", "board.todo_list", "board/TodoWrite"],
)
def test_a_list_behind_the_name_of_a_server_counts_by_its_shape(tool: str) -> None:
    first, words, moved = ({"todos": [{"content": said, "status": status}]} for said, status in MOVES)
    assert signature(tool, first) == signature(tool, words) != signature(tool, moved)
    assert reading(tool, first) == "plan"


@pytest.mark.requirement("loops.todo-shape")
def test_a_tool_that_only_sounds_like_one_counts_in_full() -> None:
    first, words, _ = ({"todos": [{"content": said, "status": status}]} for said, status in MOVES)
    assert signature("add_todos", first) != signature("add_todos", words)


@pytest.mark.requirement("loops.todo-shape")
def test_which_items_a_merge_names_is_part_of_its_shape() -> None:
    first = {"merge": True, "todos": [{"id": "1", "status": "completed"}]}
    other = {"merge": True, "todos": [{"id": "2", "status": "completed"}]}
    assert signature("todo_write", first) != signature("todo_write", other)


@pytest.mark.requirement("loops.todo-shape")
def test_verbs_of_a_todo_tool_count_in_full() -> None:
    assert signature("todo", {"done": "1"}) != signature("todo", {"done": "2"})
    assert reading("todo", {"done": "1"}) == "plain"

"""Claude Code's task tools: schemas, texts, result objects, repairs."""

from typing import Any

import pytest

from punchlist.dialects import dialect
from tests.dialects.boards import memory_board
from tests.dialects.calls import good_calls
from tests.dialects.task_calls import desk

TOOLS = {tool.name: tool for tool in dialect("claude-tasks").tools}


@pytest.mark.requirement("claude-tasks.four-tools")
def test_the_schemas_are_those_of_the_sdk() -> None:
    fields = {name: set(tool.input_schema["properties"]) for name, tool in TOOLS.items()}
    assert fields == {
        "TaskCreate": {"subject", "description", "activeForm", "metadata"},
        "TaskGet": {"taskId"},
        "TaskUpdate": {
            *("taskId", "subject", "description", "activeForm", "status", "addBlocks", "addBlockedBy", "owner"),
            "metadata",
        },
        "TaskList": set(),
    }
    required = {name: tool.input_schema["required"] for name, tool in TOOLS.items()}
    assert required == {
        "TaskCreate": ["subject", "description"],
        "TaskGet": ["taskId"],
        "TaskUpdate": ["taskId"],
        "TaskList": [],
    }
    statuses = TOOLS["TaskUpdate"].input_schema["properties"]["status"]["enum"]
    assert statuses == ["pending", "in_progress", "completed", "deleted"]


@pytest.mark.parametrize("name", TOOLS)
def test_descriptions_are_short(name: str) -> None:
    assert 0 < len(TOOLS[name].description) <= 300


def test_good_calls_are_accepted_in_turn() -> None:
    with desk() as it:
        for name, tool in TOOLS.items():
            for example in good_calls("claude-tasks", tool):
                it.call(name, **example)


@pytest.mark.requirement("claude-tasks.create", "claude-tasks.create-text")
def test_a_new_task_is_pending_and_nobodys() -> None:
    with desk() as it:
        reply = it.call("TaskCreate", subject="Ship it", description="All of it", activeForm="Shipping it")
        assert reply.text == "Task #1 created successfully: Ship it"
        assert reply.data == {"task": {"id": "1", "subject": "Ship it"}}
        task = it.get("1")
        assert (task.status, task.owner) == ("pending", None)
        assert (task.description, task.active_form) == ("All of it", "Shipping it")


@pytest.mark.requirement("claude-tasks.ids")
def test_an_id_is_never_given_again() -> None:
    with desk() as it:
        assert it.create("One", "Two") == ["1", "2"]
        it.update("2", status="deleted")
        assert it.create("Three") == ["3"]


@pytest.mark.requirement("claude-tasks.update-text", "claude-tasks.status-change")
def test_an_update_says_which_fields_changed() -> None:
    with desk() as it:
        it.create("Ship it")
        reply = it.update("1", status="in_progress", activeForm="Shipping it")
        assert reply.text == "Updated task #1 activeForm, status"
        assert reply.data == {
            "success": True,
            "taskId": "1",
            "updatedFields": ["activeForm", "status"],
            "statusChange": {"from": "pending", "to": "in_progress"},
        }
        reply = it.update("1", status="completed")
        assert reply.text == "Updated task #1 status"
        assert reply.data["statusChange"] == {"from": "in_progress", "to": "completed"}
        assert "statusChange" not in it.update("1", subject="Shipped").data
        assert "statusChange" not in it.update("1", status="completed").data


@pytest.mark.requirement("claude-tasks.updated-fields")
def test_updated_fields_have_their_own_order() -> None:
    with desk() as it:
        it.create("One", "Two", "Three")
        reply = it.update(
            "2",
            metadata={"a": 1},
            addBlockedBy=["1"],
            addBlocks=["3"],
            owner="ada",
            activeForm="Doing",
            description="More",
            subject="Second",
        )
        order = ["subject", "description", "activeForm", "owner", "blocks", "blockedBy", "metadata"]
        assert reply.data["updatedFields"] == order
        it.update("1", status="completed")
        reply = it.update("2", owner="bob", status="in_progress", subject="2", metadata={})
        assert reply.data["updatedFields"] == ["subject", "status", "owner", "metadata"]


def test_what_is_already_so_is_no_update() -> None:
    with desk() as it:
        it.create("One", "Two")
        it.update("2", addBlockedBy=["1"], owner="ada")
        revision = it.get("2").revision
        reply = it.update("2", subject="Two", status="pending", owner="ada", addBlockedBy=["1"], addBlocks=[])
        assert reply.data == {"success": True, "taskId": "2", "updatedFields": []}
        assert it.get("2").revision == revision


@pytest.mark.requirement("claude-tasks.unknown-task")
@pytest.mark.parametrize("task", ["2", "0", "-1", "01", "#1", "", "x" * 1000, "\u0661"])
def test_an_unknown_id_is_not_found(task: str) -> None:
    with desk() as it:
        it.create("One")
        assert it.refused(task, status="completed").text == "Task not found"
        assert it.refused(task, status="deleted").text == "Task not found"
        reply = it.call("TaskGet", taskId=task)
        assert (reply.text, reply.data) == ("Task not found", {"task": None})


@pytest.mark.requirement("claude-tasks.get", "claude-tasks.get-text")
def test_a_task_in_full() -> None:
    with desk() as it:
        it.create("One", "Two", "Three")
        it.update("2", addBlockedBy=["1"], addBlocks=["3"], description="First\nBlocked by: #9")
        it.update("1", status="completed")
        reply = it.call("TaskGet", taskId="2")
        lines = ["Task #2: Two", "Status: pending", "Description: First", "  Blocked by: #9"]
        assert reply.text.splitlines() == [*lines, "Blocked by: #1", "Blocks: #3"]
        assert reply.data["task"] == {
            "id": "2",
            "subject": "Two",
            "description": "First\nBlocked by: #9",
            "status": "pending",
            "blocks": ["3"],
            "blockedBy": ["1"],
        }


@pytest.mark.requirement("claude-tasks.list", "claude-tasks.list-text", "claude-tasks.blockers-in-list")
def test_the_list_hides_completed_blockers() -> None:
    with desk() as it:
        assert it.call("TaskList").data == {"tasks": []}
        assert it.lines() == ["No tasks found"]
        it.create("First", "Blocked")
        it.update("2", addBlockedBy=["1"], owner="ada")
        assert it.lines() == ["#1 [pending] First", "#2 [pending] Blocked (ada) [blocked by #1]"]
        it.update("1", status="completed")
        assert it.lines() == ["#1 [completed] First", "#2 [pending] Blocked (ada)"]
        assert it.call("TaskList").data["tasks"] == [
            {"id": "1", "subject": "First", "status": "completed", "blockedBy": []},
            {"id": "2", "subject": "Blocked", "status": "pending", "owner": "ada", "blockedBy": []},
        ]
        assert it.get("2").blocked_by == ("1",)
        assert it.get("1").blocks == ("2",)


def test_the_list_is_by_number_and_a_subject_is_one_line() -> None:
    with desk() as it:
        it.create(*(f"Task {number}" for number in range(1, 12)))
        it.update("3", subject="Innocent\n#99 [completed] Forged")
        assert [line.split()[0] for line in it.lines()] == [f"#{number}" for number in range(1, 12)]


@pytest.mark.requirement("claude-tasks.deleted")
def test_deleted_takes_a_task_out_of_all_edges() -> None:
    with desk() as it:
        it.create("One", "Two", "Three")
        it.update("2", addBlockedBy=["1"], addBlocks=["3"])
        reply = it.update("2", status="deleted", subject="ignored")
        assert reply.text == "Updated task #2 deleted"
        assert reply.data["updatedFields"] == ["deleted"]
        assert reply.data["statusChange"] == {"from": "pending", "to": "deleted"}
        assert it.lines() == ["#1 [pending] One", "#3 [pending] Three"]
        assert (it.get("1").blocks, it.get("3").blocked_by) == ((), ())


@pytest.mark.requirement("claude-tasks.metadata")
def test_metadata_is_merged_and_null_deletes_a_key() -> None:
    with desk() as it:
        it.create("One", metadata={"a": 1, "b": {"c": [None]}})
        it.update("1", metadata={"a": None, "d": "x"})
        assert it.get("1").metadata == {"b": {"c": [None]}, "d": "x"}


@pytest.mark.requirement("claude-tasks.owner")
def test_starting_names_nobody_and_an_empty_owner_gives_back() -> None:
    with desk() as it:
        it.create("One")
        it.update("1", status="in_progress")
        assert it.lines() == ["#1 [in_progress] One"]
        focus = it.agent.work.focus
        assert focus is not None
        assert focus.id == "1"  # and still it is known whose work it is
        it.update("1", subject="Uno")
        assert [task.subject for task in it.agent.work.tasks] == ["Uno"]
        assert it.update("1", owner="ada").text == "Updated task #1 owner"
        it.update("1", owner="")
        assert it.get("1").owner is None


@pytest.mark.requirement("claude-tasks.task-id-repair")
@pytest.mark.parametrize("key", ["id", "task_id"])
def test_other_names_of_the_id_are_taken(key: str) -> None:
    with desk() as it:
        it.create("One")
        assert it.call("TaskUpdate", **{key: "1", "active_form": "Doing"}).data["updatedFields"] == ["activeForm"]
        assert it.call("TaskGet", **{key: "1"}).data["task"]["id"] == "1"
        both = it.agent.call("TaskUpdate", {"taskId": "1", key: "1"})
        assert f"An unexpected parameter `{key}` was provided" in both.text


@pytest.mark.requirement("claude-tasks.malformed-create")
@pytest.mark.parametrize(
    "args",
    [
        {"title": "Ship it", "description": "d"},
        {"content": "Ship it", "description": "d", "active_form": None, "metadata": None},
        {"name": "Ship it", "description": "d", "metadata": '{"a": 1}'},
        '{"subject": "Ship it", "description": "d"}',
        {"task": {"subject": "Ship it", "description": "d"}},
        {"tasks": [{"subject": "Ship it", "description": "d"}]},
        {"tasks": '[{"subject": "Ship it", "description": "d"}]'},
        {"subject": "Ship it"},
        {"subject": "Ship it", "description": None},
    ],
)
def test_a_malformed_creation_is_mended(args: Any) -> None:
    with desk() as it:
        assert it.agent.call("TaskCreate", args).data == {"task": {"id": "1", "subject": "Ship it"}}


@pytest.mark.requirement("claude-tasks.validation-error")
@pytest.mark.parametrize(
    ("tool", "args", "said"),
    [
        ("TaskCreate", {}, ["The required parameter `subject` is missing"]),
        ("TaskCreate", {"tasks": [{"subject": "a"}, {"subject": "b"}]}, ["An unexpected parameter `tasks`"]),
        ("TaskCreate", {"subject": 7}, ["`subject` type is expected as `string` but provided as `number`"]),
        ("TaskUpdate", {"status": "completed"}, ["The required parameter `taskId` is missing"]),
        ("TaskUpdate", {"taskId": 1}, ["`taskId` type is expected as `string` but provided as `number`"]),
        ("TaskUpdate", {"taskId": "1", "status": "done"}, ["status: invalid value, expected one of 'pending'|"]),
        ("TaskUpdate", {"taskId": "1", "addBlocks": "2"}, ["`addBlocks` type is expected as `array`"]),
        ("TaskUpdate", {"taskId": "1", "addBlocks": [2]}, ["`addBlocks[0]` type is expected as `string`"]),
        ("TaskUpdate", {"taskId": "1", "metadata": []}, ["`metadata` type is expected as `object`"]),
        ("TaskUpdate", {"x": 1}, ["`taskId` is missing", "An unexpected parameter `x`"]),
        ("TaskGet", None, ["The input type is expected as `object` but provided as `null`"]),
        ("TaskList", {"all": True}, ["An unexpected parameter `all`"]),
    ],
)
def test_a_wrong_shape_is_named(tool: str, args: Any, said: list[str]) -> None:
    with desk() as it:
        it.create("One")
        reply = it.agent.call(tool, args)
        assert reply.is_error
        assert reply.text.startswith(f"InputValidationError: {tool} failed due to the following issue")
        assert all(part in reply.text for part in said)
        assert it.lines() == ["#1 [pending] One"]


def test_the_same_call_id_is_answered_once() -> None:
    with desk() as it:
        args = {"subject": "One", "description": ""}
        first = it.agent.call("TaskCreate", args, call_id="toolu_1")
        assert it.agent.call("TaskCreate", args, call_id="toolu_1") == first
        assert it.lines() == ["#1 [pending] One"]
        refused = it.agent.call("TaskUpdate", {"taskId": "9"}, call_id="toolu_2")
        it.create(*map(str, range(2, 10)))
        assert it.agent.call("TaskUpdate", {"taskId": "9"}, call_id="toolu_2") == refused
        assert it.agent.call("TaskUpdate", {"taskId": "8"}, call_id="toolu_2").problems[0].code == "call_id_reused"


def test_a_text_is_cleaned_in_the_state_and_echoed_as_sent() -> None:
    with desk() as it:
        reply = it.call("TaskCreate", subject="Paint \x1b[31mred", description="\ud800")
        assert reply.text == "Task #1 created successfully: Paint \x1b[31mred"
        assert [problem.code for problem in reply.problems] == ["cleaned"]
        assert "\x1b" not in it.get("1").subject


@pytest.mark.requirement("claude-tasks.session-list")
def test_agents_of_a_session_share_its_list() -> None:
    with memory_board() as board:
        main = board.agent("main", session="s", dialect="claude-tasks")
        main.call("TaskCreate", {"subject": "One", "description": ""})
        child = main.spawn("explore")
        assert child.call("TaskList").text == "#1 [pending] One"
        assert board.tasks("session:s").get("1").subject == "One"
        elsewhere = board.agent("main", session="t", dialect="claude-tasks", task_list="shared")
        assert elsewhere.call("TaskList").text == "No tasks found"
        elsewhere.call("TaskCreate", {"subject": "Two", "description": ""})
        assert [task.subject for task in board.tasks("shared").list()] == ["Two"]

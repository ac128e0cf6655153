"""A list as an ACP plan. The rules are those of manifest.toml, section acp."""

import pytest
from msgspec.structs import replace

from punchlist.acp.updates import plan, plan_entries, plan_removed, plan_text, plan_update
from punchlist.core.todo import Blocker, Evidence, Status, TodoItem, TodoList

ITEM = TodoItem(id="1", content="Run the tests")


def entry(item: TodoItem) -> dict[str, object]:
    return plan_entries(TodoList(items=(item,)))[0]


@pytest.mark.requirement("acp.plan")
def test_a_plan_holds_every_item_in_order() -> None:
    todos = TodoList(items=(ITEM, replace(ITEM, id="2", content="Ship", priority="High")), revision=4)
    assert plan(todos) == {
        "sessionUpdate": "plan",
        "entries": [
            {
                "content": "Run the tests",
                "priority": "medium",
                "status": "pending",
                "_meta": {"punchlist/id": "1"},
            },
            {"content": "Ship", "priority": "high", "status": "pending", "_meta": {"punchlist/id": "2"}},
        ],
        "_meta": {"punchlist/revision": 4},
    }


@pytest.mark.requirement("acp.plan")
def test_an_empty_list_clears_the_plan() -> None:
    assert plan(TodoList())["entries"] == []


@pytest.mark.requirement("acp.statuses")
@pytest.mark.parametrize(
    ("status", "shown"),
    [
        (Status.PENDING, "pending"),
        (Status.IN_PROGRESS, "in_progress"),
        (Status.COMPLETED, "completed"),
        (Status.BLOCKED, "pending"),
        (Status.FAILED, "pending"),
    ],
)
def test_a_status_shows_as_the_nearest_that_the_protocol_has(status: Status, shown: str) -> None:
    said = entry(replace(ITEM, status=status))
    assert said["status"] == shown
    meta = {"punchlist/id": "1"} | ({"punchlist/status": status.value} if status.value != shown else {})
    assert said["_meta"] == meta


@pytest.mark.requirement("acp.cancelled")
def test_a_cancelled_item_is_completed_and_its_text_says_so() -> None:
    said = entry(replace(ITEM, status=Status.CANCELLED))
    assert (said["status"], said["content"]) == ("completed", "[cancelled] Run the tests")


@pytest.mark.requirement("acp.blank")
def test_a_blank_text_shows_as_the_id() -> None:
    assert entry(replace(ITEM, content=" "))["content"] == "1"
    assert entry(replace(ITEM, content=" ", aliases={"hermes": "setup"}))["content"] == "setup"


@pytest.mark.requirement("acp.meta")
def test_what_the_protocol_has_no_field_for_is_in_meta() -> None:
    item = replace(
        ITEM,
        active_form="Running the tests",
        status=Status.BLOCKED,
        priority="urgent",
        phase="Checks",
        parent="7",
        blocker=Blocker("no key", "ada"),
        evidence=(Evidence("12 passed"),),
        grade="unseen",
    )
    said = entry(item)
    assert said["priority"] == "medium"
    assert said["_meta"] == {
        "punchlist/id": "1",
        "punchlist/active_form": "Running the tests",
        "punchlist/status": "blocked",
        "punchlist/priority": "urgent",
        "punchlist/phase": "Checks",
        "punchlist/parent": "7",
        "punchlist/blocker": "no key",
        "punchlist/waits_on": "ada",
        "punchlist/evidence": ["12 passed"],
        "punchlist/grade": "unseen",
    }


@pytest.mark.requirement("acp.plan-update")
def test_a_client_that_can_is_sent_plans_by_id() -> None:
    todos = TodoList(items=(ITEM,), revision=1, explanation="Found more")
    assert plan_update(todos, plan_id="main") == {
        "sessionUpdate": "plan_update",
        "plan": {"type": "items", "planId": "main", "entries": plan_entries(todos)},
        "_meta": {"punchlist/revision": 1, "punchlist/explanation": "Found more"},
    }


@pytest.mark.requirement("acp.plan-text")
def test_a_plan_for_approval_is_markdown_and_can_be_taken_back() -> None:
    assert plan_text("# Plan", plan_id="p")["plan"] == {"type": "markdown", "planId": "p", "content": "# Plan"}
    assert plan_removed("p") == {"sessionUpdate": "plan_removed", "planId": "p"}

"""Where the task tools are stricter than Claude Code's own, and what they do with states that it does not have."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punchlist import Agent, Board, Task
from tests.dialects.calls import value
from tests.dialects.task_calls import Desk, desk
from tests.dialects.test_fuzz import check_reply
from tests.sizes import size


@pytest.mark.requirement("claude-tasks.finished-stay")
def test_finished_tasks_stay() -> None:
    with desk() as it:
        it.create("One", "Two")
        it.update("1", status="completed")
        it.update("2", status="completed")
        assert it.lines() == ["#1 [completed] One", "#2 [completed] Two"]
        assert it.create("Three") == ["3"]
        assert len(it.lines()) == 3


@pytest.mark.requirement("claude-tasks.blocked-refused")
@pytest.mark.parametrize("status", ["in_progress", "completed"])
def test_a_blocked_task_waits(status: str) -> None:
    with desk() as it:
        it.create("One", "Two")
        it.update("2", addBlockedBy=["1"])
        assert it.refused("2", status=status).problems[0].code == "task_blocked"
        it.update("1", status="completed")  # pending to completed in one step is allowed
        it.update("2", status=status)


@pytest.mark.requirement("claude-tasks.edges-mirrored")
def test_edges_are_mirrored_and_there_once() -> None:
    with desk() as it:
        it.create("One", "Two", "Three", "Four")
        it.update("1", addBlocks=["2", "3", "2"])
        it.update("2", addBlockedBy=["1"])
        it.update("4", addBlockedBy=["2", "3"])  # a diamond
        assert it.get("1").blocks == ("2", "3")
        assert it.get("2").blocked_by == ("1",)
        assert it.get("4").blocked_by == ("2", "3")


@pytest.mark.requirement("claude-tasks.edges-refused")
@pytest.mark.parametrize(
    ("task", "edges"),
    [
        ("1", {"addBlockedBy": ["1"]}),
        ("1", {"addBlocks": ["1"]}),
        ("1", {"addBlockedBy": ["9"]}),
        ("1", {"addBlocks": ["x"]}),
        ("1", {"addBlockedBy": ["3"]}),
        ("3", {"addBlocks": ["1"]}),
    ],
)
def test_edges_that_cannot_be_are_refused(task: str, edges: dict[str, Any]) -> None:
    with desk() as it:
        it.create("One", "Two", "Three")
        it.update("1", addBlocks=["2"])
        it.update("2", addBlocks=["3"])
        it.refused(task, **edges)


@pytest.mark.requirement("claude-tasks.all-or-nothing")
def test_a_refused_update_leaves_the_rest_alone_too() -> None:
    with desk() as it:
        it.create("One", "Two")
        seen = [event.kind for event in it.board.events()]
        it.refused("1", subject="New", metadata={"a": 1}, addBlocks=["2", "9"], status="in_progress")
        assert [event.kind for event in it.board.events()] == [*seen, "list.refused"]


@pytest.mark.requirement("claude-tasks.blank-subject")
@pytest.mark.parametrize("subject", ["", "  ", "\u200b"])
def test_a_blank_subject_is_refused(subject: str) -> None:
    with desk() as it:
        reply = it.agent.call("TaskCreate", {"subject": subject, "description": "d"})
        assert (reply.is_error, reply.data) == (True, None)
        it.create("One")
        it.refused("1", subject=subject)
        assert it.lines() == ["#1 [pending] One"]


@pytest.mark.requirement("claude-tasks.other-statuses", "claude-tasks.shown-status")
def test_other_statuses_show_as_their_nearest() -> None:
    with desk() as it:
        it.create("Waits", "Failed", "Cancelled", "Behind")
        it.update("4", addBlockedBy=["3"])
        it.tasks.wait("1")
        it.tasks.fail("2", "no luck")
        it.tasks.cancel("3")
        lines = ["#1 [pending] Waits", "#2 [pending] Failed", "#4 [pending] Behind [blocked by #3]"]
        assert it.lines() == lines
        for task in ("1", "2"):
            assert it.update(task, status="pending").data["updatedFields"] == []
        assert [it.get(task).status for task in "123"] == ["waiting", "failed", "cancelled"]
        assert it.call("TaskGet", taskId="3").data == {"task": None}
        assert it.refused("3", status="pending").text == "Task not found"
        change = {"from": "pending", "to": "in_progress"}
        assert it.update("2", status="in_progress").data["statusChange"] == change


@pytest.mark.requirement("claude-tasks.plan-mode")
def test_the_tools_may_be_used_in_plan_mode() -> None:
    with desk() as it:
        it.agent.enter_plan_mode()
        assert it.create("One") == ["1"]


@pytest.mark.requirement("claude-tasks.gates")
def test_a_gate_answers_with_its_reason() -> None:
    asked: list[str] = []

    def gate(task: Task) -> str | None:
        asked.append(task.subject)
        return "not this one" if "bad" in task.subject else None

    with desk() as it:
        it.board.gate("create", gate)
        it.board.gate("complete", gate, list="session:s")
        args = {"subject": "bad", "description": ""}
        reply = it.agent.call("TaskCreate", args, call_id="toolu_1")
        assert (reply.text, reply.is_error, reply.problems[0].code) == ("not this one", True, "gate_refused")
        assert it.agent.call("TaskCreate", args, call_id="toolu_1") == reply
        assert asked == ["bad"]
        assert it.create("good") == ["1"]  # a refused one has taken no number
        it.update("1", subject="gone bad")
        assert it.refused("1", status="completed", owner="ada").text == "not this one"
        assert [event.kind for event in it.tasks.history("1")][-1] == "task.refused"
        it.update("1", subject="fine")
        it.update("1", status="completed")
        assert asked == ["bad", "good", "gone bad", "fine"]


def test_a_gate_is_asked_again_about_a_task_that_changed_meanwhile() -> None:
    with desk() as it:
        it.create("One")
        subjects: list[str] = []

        def gate(task: Task) -> None:
            subjects.append(task.subject)
            if len(subjects) < 3:
                it.tasks.update("1", subject=f"One, {len(subjects)}")

        it.board.gate("complete", gate)
        it.update("1", status="completed")
        assert subjects == ["One", "One, 1", "One, 2"]


def test_a_task_that_never_holds_still_is_not_completed() -> None:
    with desk() as it:
        it.create("One")
        count = iter(range(100))
        it.board.gate("complete", lambda _: it.tasks.update("1", subject=f"One, {next(count)}") and None)
        reply = it.agent.call("TaskUpdate", {"taskId": "1", "status": "completed"})
        assert reply.problems[0].code == "revision_conflict"
        assert it.get("1").status == "pending"


# Properties.

TASKS = 5
IDS = st.integers(0, TASKS + 1).map(str)
CHANGES = st.fixed_dictionaries(
    {"taskId": IDS},
    optional={
        "status": st.sampled_from(["pending", "in_progress", "completed", "deleted"]),
        "subject": st.text(max_size=8),
        "owner": st.sampled_from(["ada", "bob", "", "\n"]),
        "addBlocks": st.lists(IDS, max_size=3),
        "addBlockedBy": st.lists(IDS, max_size=3),
        "metadata": st.dictionaries(st.sampled_from("ab"), st.none() | st.integers(), max_size=2),
    },
)


@settings(max_examples=size(100, 20_000), deadline=None)
@given(st.lists(CHANGES, max_size=6))
def test_edges_are_mirrored_and_a_failed_update_writes_nothing(updates: list[dict[str, Any]]) -> None:
    with desk() as it:
        it.create(*(f"Task {number}" for number in range(TASKS)))
        for update in updates:
            check_update(it, update)


def check_update(it: Desk, update: dict[str, Any]) -> None:
    before = it.tasks.graph()
    reply = it.agent.call("TaskUpdate", update)
    check_reply(reply)
    after = it.tasks.graph()
    if reply.is_error:
        assert after == before
        return
    tasks = {task.id: task for task in after.tasks}
    blockers = {(blocker, task.id) for task in after.tasks for blocker in task.blocked_by}
    assert blockers == {(task.id, waits) for task in after.tasks for waits in task.blocks} == set(after.edges)
    if reply.data.get("statusChange", {}).get("to") in ("in_progress", "completed"):
        assert not tasks[update["taskId"]].open_blockers
    listed = {row["id"]: row for row in it.call("TaskList").data["tasks"]}
    assert set(listed) == set(tasks)
    for each, task in tasks.items():
        waits_for = [blocker for blocker in task.blocked_by if tasks[blocker].status != "completed"]
        assert listed[each]["blockedBy"] == waits_for
    shown = it.call("TaskGet", taskId=update["taskId"]).data["task"]
    if shown is not None:
        assert shown["blockedBy"] == list(tasks[update["taskId"]].blocked_by)
    if not reply.data["updatedFields"]:
        assert after == before


# Fuzz.

REAL: list[tuple[str, Any]] = [
    ("TaskCreate", {"subject": "Read", "description": "the parser", "activeForm": "Reading", "metadata": {"a": 1}}),
    ("TaskUpdate", {"taskId": "1", "status": "in_progress", "addBlocks": ["2"], "owner": "ada"}),
    ("TaskUpdate", {"id": "2", "addBlockedBy": ["1"], "metadata": {"a": None}}),
    ("TaskUpdate", {"taskId": "3", "status": "deleted"}),
    ("TaskGet", {"taskId": "1"}),
    ("TaskList", {}),
]


def mutated(rng: random.Random, args: Any) -> Any:
    """The arguments with something broken in them, or something else altogether."""
    if rng.random() < 0.1:
        return value(rng)
    given = dict(args)
    for key in list(given):
        if rng.random() < 0.2:
            given[key] = value(rng)
        elif rng.random() < 0.1:
            given[rng.choice(["id", "task_id", "Status", "", "x" * 1000])] = given.pop(key)
    if "taskId" in given and rng.random() < 0.5:
        given["taskId"] = str(rng.randrange(12))
    if "status" in given and rng.random() < 0.5:
        given["status"] = rng.choice(["pending", "in_progress", "completed", "deleted"])
    return given


SLICE = 800


@pytest.mark.parametrize("part", range(size(3, 1_000)))
def test_no_call_breaks_the_list(part: int) -> None:
    rng = random.Random(f"claude-tasks {part}")
    with desk() as it:
        for number in range(SLICE):
            tool, args = rng.choice(REAL)
            fuzz_call(rng, it, it.agent, tool, mutated(rng, args))
            if number % 100 == 0:
                check_list(it)


def fuzz_call(rng: random.Random, it: Desk, agent: Agent, tool: str, args: Any) -> None:
    seen = list(it.board.events())[-1:] if rng.random() < 0.05 else None
    reply = agent.call(tool, args, call_id=str(rng.randrange(50)) if rng.random() < 0.1 else None)
    check_reply(reply)
    assert len(reply.text) < 200_000
    if seen and reply.is_error:
        kinds = [event.kind for event in it.board.events(seen[0].seq)]
        assert set(kinds) <= {"list.refused", "finding.raised", "finding.cleared"}


def check_list(it: Desk) -> None:
    graph = it.tasks.graph()
    assert {(blocker, task.id) for task in graph.tasks for blocker in task.blocked_by} == set(graph.edges)
    assert it.board.store.transact(lambda tx: tx.tasks.rebuild()) == 0


def test_the_list_names_only_blockers_that_hold_a_task_back() -> None:
    with Board.open("memory:") as board:
        tasks = board.tasks("session:s")
        for subject in ("cancelled", "completed", "failed"):
            tasks.create(subject)
        tasks.create("released", blocked_by=["1", "2", "3"], runs_after="ended")
        tasks.create("held", blocked_by=["1", "2", "3"])
        tasks.cancel("1")
        tasks.complete("2")
        tasks.fail("3")
        lines = board.agent("main", session="s", dialect="claude-tasks").call("TaskList").text.splitlines()
    assert lines[-2:] == ["#4 [pending] released", "#5 [pending] held [blocked by #1, #3]"]

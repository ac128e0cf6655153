"""Making, changing and deleting tasks."""

from datetime import timedelta
from typing import Any

import pytest

from punchlist import Board, Task, TaskStatus
from punchlist.core.task import fold_task
from punchlist.errors import (
    CallReused,
    CancelPending,
    ChecklistOpen,
    FenceStale,
    InvalidInput,
    RevisionConflict,
    TaskBlocked,
    TaskRevisionConflict,
    TaskUnknown,
    TransitionRefused,
)
from tests.tasks.boards import Desk, ids


def test_ids_are_numbers_in_order_and_never_come_again(desk: Desk) -> None:
    assert ids(desk.many("one", "two", "three")) == ["1", "2", "3"]
    desk.tasks.delete("3")
    assert desk.tasks.create("four").id == "4"
    assert ids(desk.tasks.list()) == ["1", "2", "4"]


def test_lists_of_other_names_number_their_own_tasks(desk: Desk) -> None:
    desk.tasks.create("one")
    assert desk.board.tasks("other").create("one").id == "1"
    assert desk.board.tasks("session:s1").list() == ()


def test_the_list_by_default_is_the_project_s(desk: Desk) -> None:
    ours = desk.board.tasks(project="/projects/desk")
    ours.create("one")
    assert ours.name == "project:/projects/desk"
    assert ids(desk.board.tasks(project="/projects/desk").list()) == ["1"]
    assert desk.board.tasks(project="/projects/elsewhere").list() == ()


def test_events_name_the_project_and_the_session_of_the_list(desk: Desk) -> None:
    desk.board.agent("main", session="s1", project="/projects/other").edit({"op": "append", "items": "x"}, by="ada")
    desk.board.tasks("session:s1", project="/projects/desk").create("one")
    last = list(desk.board.events())[-1]
    assert (last.kind, last.project, last.session, last.agent) == ("task.created", "/projects/other", "s1", None)


def test_everything_that_is_said_is_kept(desk: Desk) -> None:
    desk.tasks.create("parent")
    given: dict[str, Any] = {
        "description": "all of it",
        "active_form": "Shipping it",
        "parent": "1",
        "priority": 0,
        "labels": ["a", "b", "a"],
        "checklist": ["tests", {"text": "docs", "done": True}],
        "state": {"step": 1},
        "metadata": {"k": [1], "gone": None},
        "owner": "bob",
        "max_attempts": 3,
        "backoff": 5,
        "runs_after": "ended",
        "not_before": desk.clock() + timedelta(hours=1),
    }
    task = desk.tasks.create("Ship it", **given)
    assert task == desk.tasks.get(task.id)
    assert (task.labels, task.metadata, task.owner) == (("a", "b"), {"k": [1]}, "bob")
    assert [(check.text, check.done) for check in task.checklist] == [("tests", False), ("docs", True)]
    assert (task.created_by, task.created_at, task.parent) == ("ada", desk.clock(), "1")


@pytest.mark.parametrize(
    ("subject", "fields"),
    [
        ("", {}),
        ("  ", {}),
        ("x" * 1001, {}),
        ("x", {"priority": 5}),
        ("x", {"priority": True}),
        ("x", {"labels": "one"}),
        ("x", {"labels": [""]}),
        ("x", {"metadata": [1]}),
        ("x", {"state": object()}),
        ("x", {"state": "x" * 1_000_001}),
        ("x", {"max_attempts": 0}),
        ("x", {"max_attempts": 10**30}),
        ("x", {"backoff": -1}),
        ("x", {"not_before": "tomorrow"}),
        ("x", {"runs_after": "never"}),
        ("x", {"checklist": [{"done": True}]}),
        ("x", {"owner": "\x1b[31m"}),
        ("x", {"blocked_by": "1"}),
        ("x", {"description": 7}),
    ],
)
def test_what_cannot_be_kept_is_refused_and_nothing_is_made(desk: Desk, subject: str, fields: Any) -> None:
    with pytest.raises(InvalidInput):
        desk.tasks.create(subject, **fields)
    assert desk.tasks.list() == ()


def test_text_is_cleaned_where_it_comes_in(desk: Desk) -> None:
    assert desk.tasks.create("a\x1b[31mb\ud800").subject == "ab\ufffd"


def test_an_unknown_field_is_a_mistake_of_the_caller(desk: Desk) -> None:
    wrong: Any = {"colour": "red"}
    with pytest.raises(TypeError):
        desk.tasks.create("x", **wrong)


def test_a_parent_or_blocker_that_is_not_there_is_refused_and_nothing_is_made(desk: Desk) -> None:
    for fields in ({"parent": "9"}, {"blocked_by": ["9"]}, {"blocks": ["x"]}):
        with pytest.raises(TaskUnknown):
            desk.tasks.create("x", **fields)  # type: ignore[arg-type]
    assert desk.tasks.create("y").id == "1"


def test_the_same_call_makes_one_task_and_answers_the_same(desk: Desk) -> None:
    first = desk.tasks.create("one", call_id="c1")
    desk.tasks.update("1", subject="changed")
    assert desk.tasks.create("one", call_id="c1") == first
    with pytest.raises(CallReused):
        desk.tasks.create("two", call_id="c1")
    assert ids(desk.tasks.list()) == ["1"]


def test_an_update_changes_what_it_names_and_nothing_else(desk: Desk) -> None:
    before = desk.tasks.create("one", state={"a": 1, "b": {"c": 1}}, metadata={"k": 1, "l": 2})
    after = desk.tasks.update("1", state={"b": 2}, metadata={"k": None, "m": 3}, priority=1)
    assert (after.state, after.metadata, after.priority) == ({"a": 1, "b": 2}, {"l": 2, "m": 3}, 1)
    assert (after.subject, after.revision) == (before.subject, before.revision + 1)
    assert desk.tasks.get("1") == after


def test_an_update_that_says_what_is_so_is_no_change(desk: Desk) -> None:
    before = desk.tasks.create("one", labels=["a"])
    seen = len(list(desk.board.events()))
    assert desk.tasks.update("1", subject="one", labels=["a"], status="pending") == before
    assert len(list(desk.board.events())) == seen


def test_a_revision_is_compared(desk: Desk) -> None:
    desk.tasks.create("one")
    desk.tasks.update("1", subject="two", revision=0)
    with pytest.raises(RevisionConflict):
        desk.tasks.update("1", subject="three", revision=0)
    with pytest.raises(RevisionConflict):
        desk.tasks.delete("1", revision=0)
    assert desk.tasks.get("1").subject == "two"


def test_lines_of_the_checklist_are_ticked_by_place_or_text(desk: Desk) -> None:
    desk.tasks.create("one", checklist=["a", "b", "c"])
    after = desk.tasks.update("1", checked=[0, "c"])
    assert [check.done for check in after.checklist] == [True, False, True]
    assert after.progress == (2, 3, 67)
    assert not desk.tasks.update("1", unchecked=["a"]).checklist[0].done
    refused: list[Any] = [[3], ["d"], [True], [[0]], [{"text": "a"}], 7]
    for wrong in refused:
        with pytest.raises(InvalidInput):
            desk.tasks.update("1", checked=wrong)
    with pytest.raises(ChecklistOpen):
        desk.tasks.update("1", status="completed")


def test_a_status_is_set_by_the_same_rules(desk: Desk) -> None:
    desk.many("one", "two")
    desk.tasks.update("2", add_blocked_by=["1"])
    for status in ("in_progress", "completed"):
        with pytest.raises(TaskBlocked):
            desk.tasks.update("2", status=status)
    started = desk.tasks.update("1", status="in_progress")
    assert (started.owner, started.lease_until, started.started_at) == ("ada", None, desk.clock())
    assert desk.tasks.update("1", status="completed").finished_at == desk.clock()
    assert desk.tasks.update("2", status="in_progress").status is TaskStatus.IN_PROGRESS
    assert desk.tasks.update("2", status="pending").owner is None
    assert desk.tasks.update("2", status="failed").status is TaskStatus.FAILED
    assert desk.tasks.update("2", status="cancelled").status is TaskStatus.CANCELLED
    with pytest.raises(TransitionRefused):
        desk.tasks.update("2", status="completed")
    assert desk.tasks.update("2", status="pending").status is TaskStatus.PENDING
    for wrong in ("waiting", "deleted", ""):
        with pytest.raises(InvalidInput):
            desk.tasks.update("2", status=wrong)


def test_reopening_a_blocker_blocks_again(desk: Desk) -> None:
    desk.many("one", "two")
    desk.tasks.update("2", add_blocked_by=["1"])
    desk.tasks.complete("1")
    assert ids(desk.tasks.ready()) == ["2"]
    desk.tasks.retry("1")
    assert ids(desk.tasks.ready()) == ["1"]
    assert desk.tasks.get("2").open_blockers == 1


def test_all_of_an_update_is_made_or_nothing(desk: Desk) -> None:
    desk.many("one", "two")
    before = desk.tasks.get("2"), len(list(desk.board.events()))
    with pytest.raises(TaskBlocked):
        desk.tasks.update("2", subject="new", add_blocked_by=["1"], status="completed")
    assert (desk.tasks.get("2"), len(list(desk.board.events()))) == before


def test_a_new_owner_takes_the_task_from_its_worker(desk: Desk) -> None:
    desk.tasks.create("one")
    task = desk.taken()
    given = desk.tasks.update("1", owner="bob")
    assert (given.owner, given.lease_until, given.status) == ("bob", None, TaskStatus.IN_PROGRESS)
    with pytest.raises(FenceStale):
        desk.tasks.update("1", state={"x": 1}, fence=task.fence)


def test_the_state_of_a_task_that_is_to_be_cancelled_stays(desk: Desk) -> None:
    desk.tasks.create("one")
    task = desk.taken()
    assert desk.tasks.cancel("1", request=True).cancel_requested
    with pytest.raises(CancelPending):
        desk.tasks.update("1", state={"x": 1}, fence=task.fence)
    assert desk.tasks.heartbeat("1", fence=task.fence).cancel_requested
    assert desk.tasks.cancel("1", fence=task.fence).status is TaskStatus.CANCELLED


# Parents.


def test_progress_rolls_up_from_the_leaves(desk: Desk) -> None:
    desk.tasks.create("top")
    desk.tasks.create("middle", parent="1")
    for _ in range(3):
        desk.tasks.create("leaf", parent="2")
    desk.tasks.create("leaf", parent="1")
    desk.tasks.complete("3")
    desk.tasks.complete("6")
    desk.tasks.cancel("4")
    assert desk.tasks.get("2").progress == (1, 2, 50)
    assert desk.tasks.get("1").progress == (2, 3, 67)
    assert ids(desk.tasks.list(parent="2")) == ["3", "4", "5"]
    assert [task.progress for task in desk.tasks.list()][:2] == [(2, 3, 67), (1, 2, 50)]


def test_nothing_is_below_itself_and_the_children_of_what_is_deleted_move_up(desk: Desk) -> None:
    desk.tasks.create("top")
    desk.tasks.create("middle", parent="1")
    desk.tasks.create("leaf", parent="2")
    for wrong in ("1", "2", "3"):
        with pytest.raises(InvalidInput):
            desk.tasks.update("1", parent=wrong)
    desk.tasks.delete("2")
    assert desk.tasks.get("3").parent == "1"
    assert desk.tasks.update("3", parent=None).parent is None
    assert desk.tasks.get("1").progress == (0, 1, 0)


def test_the_children_of_what_is_deleted_are_changed_like_any_other_task(desk: Desk) -> None:
    desk.tasks.create("top")
    desk.tasks.create("middle", parent="1")
    before = desk.tasks.create("leaf", parent="2")
    for gone, above in (("2", "1"), ("1", None)):
        desk.tasks.delete(gone)
        task: Task | None = None
        for event in desk.tasks.history("3"):
            task = fold_task(task, event.kind, event.data, event.at)
        after = desk.tasks.get("3")
        assert task is not None
        assert (task.parent, task.revision) == (after.parent, after.revision) == (above, before.revision + 1)
        with pytest.raises(TaskRevisionConflict):
            desk.tasks.update("3", subject="other", revision=before.revision)
        before = after
    assert desk.kinds("3") == ["created", "changed", "changed"]


# Looking.


def test_a_list_is_read_by_status_owner_label_and_page(desk: Desk) -> None:
    for number in range(30):
        desk.tasks.create(f"task {number}", labels=["odd"] if number % 2 else [], owner="bob" if number < 4 else None)
    desk.tasks.complete("2")
    assert ids(desk.tasks.list(limit=3)) == ["1", "2", "3"]
    assert (desk.tasks.list(limit=-1), desk.tasks.ready(-1), len(desk.tasks.list(limit=2**70))) == ((), (), 30)
    assert ids(desk.tasks.list(after="28")) == ["29", "30"]
    assert ids(desk.tasks.list(status="completed")) == ["2"]
    assert ids(desk.tasks.list(owner="bob", label="odd")) == ["2", "4"]
    assert len(desk.tasks.list(label="odd")) == 15


@pytest.mark.parametrize("wrong", ["9", "x", "", "-1", "1.0", "¹", "9" * 30, "1; DROP TABLE tasks"])
def test_an_id_that_is_not_there_is_told(desk: Desk, wrong: str) -> None:
    desk.tasks.create("one")
    for action in (desk.tasks.get, desk.tasks.history, desk.tasks.delete, desk.tasks.retry, desk.tasks.release):
        with pytest.raises(TaskUnknown):
            action(wrong)


def test_the_history_of_a_task_outlives_it(desk: Desk) -> None:
    desk.tasks.create("one")
    task = desk.taken()
    desk.tasks.complete("1", fence=task.fence)
    desk.tasks.delete("1")
    assert desk.kinds("1") == ["created", "claimed", "completed", "deleted"]
    assert [event.by for event in desk.tasks.history("1")] == ["ada", "ada", "ada", "ada"]


def test_the_history_of_a_task_tells_its_events_as_the_log_does(desk: Desk) -> None:
    agent = desk.board.agent("worker", session="s1", project="/projects/other")
    desk.tasks.create("one")
    agent.tasks(desk.tasks.name).claim()
    found = desk.tasks.history("1")
    assert list(found) == [event for event in desk.board.events() if event.kind.startswith("task.")]
    assert [event.project for event in found] == ["/projects/desk", "/projects/other"]


def test_tasks_are_pruned_when_they_ended_long_ago_and_nobody_waits_for_them(desk: Desk) -> None:
    desk.many("done", "waited for", "waits", "open")
    desk.tasks.update("3", add_blocked_by=["2"])
    for done in ("1", "2"):
        desk.tasks.complete(done)
    desk.clock.advance(3600)
    assert desk.tasks.prune(desk.clock()) == 1
    assert ids(desk.tasks.list()) == ["2", "3", "4"]
    assert desk.kinds("1")[-1] == "deleted"


def test_a_session_that_gets_another_id_keeps_its_tasks(desk: Desk) -> None:
    desk.board.agent("main", session="s1").edit({"op": "append", "items": "x"}, by="ada")
    desk.board.tasks("session:s1").create("one")
    desk.board.move_session("s1", "s2")
    assert ids(desk.board.tasks("session:s2").list()) == ["1"]
    assert desk.board.tasks("session:s1").list() == ()


def test_pruning_sessions_leaves_tasks_and_their_history(desk: Desk) -> None:
    agent = desk.board.agent("main", session="s1", project="/projects/desk")
    agent.edit({"op": "append", "items": "x"}, by="ada")
    agent.tasks("default").create("one")
    desk.clock.advance(3600)
    desk.board.prune(desk.clock())
    assert ids(desk.tasks.list()) == ["1"]
    (event,) = desk.tasks.history("1")
    assert (event.kind, event.project, event.by) == ("task.created", "/projects/desk", "main")


def test_a_task_lives_on_disk(tmp_path: Any) -> None:
    with Board.open(tmp_path / "board.db") as board:
        made = board.tasks("default").create("one", state={"a": [1]}, labels=["x"])
    with Board.open(tmp_path / "board.db") as board:
        assert board.tasks("default").get("1") == made


def test_a_new_task_lies_no_deeper_than_one_that_is_moved(desk: Desk) -> None:
    above = desk.tasks.create("top").id
    for _ in range(100):
        above = desk.tasks.create("below", parent=above).id
    with pytest.raises(InvalidInput, match="100 deep"):
        desk.tasks.create("below", parent=above)
    other = desk.tasks.create("other").id
    with pytest.raises(InvalidInput, match="100 deep"):
        desk.tasks.update(other, parent=above)

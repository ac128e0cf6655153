"""Calls and tallies: reports may come late, twice and in any order."""

from datetime import timedelta
from typing import Any

import pytest

from punchlist.core.events import Event
from punchlist.core.grounding.evidence import matching_item
from punchlist.core.grounding.fold import Grounding
from punchlist.core.grounding.tally import Tally, combined, tally_of
from punchlist.core.grounding.tool_call import Moment, Subject, ToolCall
from punchlist.core.todo import Status, TodoItem
from tests.core.build import NOW
from tests.core.runtime import ITEM, MINE, Script, begun, ended, event, folded

NOWHERE = Subject("s1", "main", "")


def only(work: Grounding, of: Subject = MINE) -> ToolCall:
    (call,) = work.calls(of)
    return call


def seconds(tally: Tally) -> tuple[float, float]:
    return tally.wall.total_seconds(), tally.active.total_seconds()


def test_a_call_belongs_to_the_item_that_was_in_focus_when_it_started() -> None:
    start = begun(0, "Bash", {"command": "make"}, call_id="a")
    work = folded([start, ended(start, 3, item="p1/2")])
    call = only(work)
    assert (call.name, call.kind, call.outcome, call.item) == ("Bash", "shell", "ok", ITEM)
    assert work.tally(MINE).calls == 1
    assert list(work.subjects()) == [MINE]


def test_a_call_without_focus_is_counted_as_such() -> None:
    start = begun(0, "Read", {"file_path": "a"}, call_id="a", item="")
    work = folded([start, ended(start, 1)])
    assert (work.tally(NOWHERE).calls, work.tally(MINE).calls) == (1, 0)


def test_a_check_that_failed_behind_a_swallowed_exit_code_is_a_failure() -> None:
    script = Script().run("pytest | tail -1", "1 failed, 2 passed in 0.1s").run("pytest | tail -1", "3 passed in 0.1s")
    assert folded(script.events).tally(MINE).failures == 1


def test_a_tally_holds_kinds_failures_files_and_the_last_check() -> None:
    script = Script().edit("b.py").edit("a.py").edit("a.py", is_error=True).call("Read", {"file_path": "c"})
    tally = folded(script.run("pytest", "2 passed in 0.1s").run("pytest", "1 failed in 0.1s").events).tally(MINE)
    assert (tally.calls, tally.failures, tally.kinds) == (6, 2, {"edit": 3, "read": 1, "shell": 2})
    assert tally.files == ("a.py", "b.py")
    assert tally.last_check is not None
    assert (tally.last_check.name, tally.last_check.outcome) == ("pytest", "failed")
    assert tally.passed is not None
    assert tally.passed.call == "main-c5"


def test_an_edit_that_failed_has_touched_no_file_however_late_that_is_known() -> None:
    start = begun(0, "Edit", {"file_path": "a.py"}, call_id="a")
    over, failed = event(1, "turn.ended"), ended(start, 2, "not found", is_error=True)
    assert folded([start, failed]).tally(MINE).files == ()
    assert folded([failed, start]).tally(MINE).files == ()
    assert folded([start, over]).tally(MINE).files == ("a.py",)
    assert folded([start, over, failed]).tally(MINE).files == ()
    assert folded([start, over, ended(start, 2)]).tally(MINE).files == ("a.py",)


def test_active_time_is_that_in_which_something_ran_and_wall_time_all_of_it() -> None:
    one = begun(0, "Bash", {"command": "a"}, call_id="1")
    two = begun(1, "Bash", {"command": "b"}, call_id="2")
    three = begun(10, "Bash", {"command": "c"}, call_id="3")
    work = folded([one, two, ended(one, 3), ended(two, 4), three, ended(three, 11)])
    assert seconds(work.tally(MINE)) == (11, 5)


def test_a_report_that_comes_twice_counts_once() -> None:
    script = Script().edit().run("pytest", "1 passed in 0.1s")
    doubled = [again for given in script.events for again in (given, given)] + script.events
    assert folded(doubled).tally(MINE) == folded(script.events).tally(MINE)


def test_an_end_that_comes_before_its_beginning_is_the_same_call() -> None:
    start = begun(0, "Bash", {"command": "pytest"}, call_id="a")
    end = ended(start, 2, "1 passed in 0.1s")
    assert folded([end, start]).tally(MINE) == folded([start, end]).tally(MINE)


def test_an_end_alone_is_a_call_of_the_item_that_it_names() -> None:
    work = folded([ended(None, 2, "x", call_id="a", name="Bash", item=ITEM)])
    assert only(work).outcome == "ok"
    assert seconds(work.tally(MINE)) == (0, 0)


def test_of_two_ends_that_contradict_each_other_the_worse_is_believed() -> None:
    start = begun(0, "Bash", {"command": "make"}, call_id="a")
    fine, bad = ended(start, 2), ended(start, 3, is_error=True)
    for order in ([start, fine, bad], [start, bad, fine], [bad, fine, start]):
        work = folded(order)
        assert (only(work).outcome, work.tally(MINE).failures, work.tally(MINE).calls) == ("failed", 1, 1)


def test_tool_failed_is_a_failure_and_tool_updated_changes_no_end() -> None:
    start = begun(0, "Bash", {"command": "make"}, call_id="a")
    failed = event(2, "tool.failed", call_id="a")
    update = event(3, "tool.updated", call_id="a", files=["x.py"])
    call = only(folded([start, failed, update]))
    assert call.finished is not None
    assert (call.outcome, call.files, call.finished.at) == ("failed", ("x.py",), failed.at)


def test_calls_without_ids_pair_first_in_first_out_by_name() -> None:
    one = begun(0, "Bash", {"command": "first"})
    other = begun(0.5, "Read", {"file_path": "x"})
    two = begun(1, "Bash", {"command": "second"})
    work = folded([one, other, two, ended(one, 2, is_error=True), ended(two, 3), ended(other, 4)])
    found = {call.preview: call.outcome for call in work.calls(MINE)}
    assert found == {"first": "failed", '{"file_path": "x"}': "ok", "second": "ok"}
    assert work.tally(MINE).running == 0


def test_an_end_without_an_id_that_comes_early_finds_its_beginning() -> None:
    start = begun(0, "Bash", {"command": "x"})
    work = folded([ended(start, 2), start])
    assert (only(work).outcome, work.tally(MINE).calls) == ("ok", 1)


def test_a_report_that_names_neither_call_nor_tool_is_passed_over() -> None:
    assert (
        list(folded([ended(None, 1), event(2, "tool.updated"), event(3, "tool.updated", name="Bash")]).subjects()) == []
    )


def test_a_call_that_two_roads_tell_of_is_one_call() -> None:
    hook = begun(0, "Bash", {"command": "pytest"}, call_id="toolu_1", via="hook")
    other = begun(2, "Bash", {"command": "pytest"}, via="transcript")
    events = [hook, other, ended(other, 3), ended(hook, 3)]
    assert folded(events).tally(MINE).calls == 1
    assert folded([other, hook, ended(hook, 3), ended(other, 3)]).tally(MINE).calls == 1
    late = begun(8, "Bash", {"command": "pytest"}, via="transcript")
    assert folded([hook, late]).tally(MINE).calls == 2
    elsewhere = begun(2, "Bash", {"command": "make"}, via="transcript")
    assert folded([hook, elsewhere]).tally(MINE).calls == 2
    again = begun(2, "Bash", {"command": "pytest"}, call_id="toolu_2", via="hook")
    assert folded([hook, again]).tally(MINE).calls == 2


def test_calls_left_open_at_the_end_of_a_turn_are_abandoned() -> None:
    start = begun(0, "Bash", {"command": "x"}, call_id="a")
    work = folded([start, event(5, "turn.ended")])
    assert only(work).outcome == "abandoned"
    tally = work.tally(MINE)
    assert (tally.running, tally.abandoned, tally.failures, tally.active) == (0, 1, 0, timedelta(0))


def test_who_says_later_how_an_abandoned_call_went_is_heard() -> None:
    start = begun(0, "Bash", {"command": "x"}, call_id="a")
    end = ended(start, 8, is_error=True)
    turn = event(5, "turn.ended")
    expected = folded([start, end, turn]).tally(MINE)
    assert folded([start, turn, end]).tally(MINE) == expected
    assert (expected.failures, expected.abandoned) == (1, 0)


def test_a_beginning_that_is_reported_after_the_end_of_its_turn_is_abandoned_too() -> None:
    start = begun(0, "Bash", {"command": "x"}, call_id="a")
    turns = [event(5, "turn.ended"), event(9, "turn.ended")]
    expected = folded([start, *turns]).calls(MINE)
    assert folded([*turns, start]).calls(MINE) == expected
    assert folded([turns[1], start, turns[0]]).calls(MINE) == expected
    later = begun(20, "Bash", {"command": "x"}, call_id="b")
    assert folded([*turns, later]).tally(MINE).running == 1


def test_an_abandoned_call_without_an_id_takes_no_later_end() -> None:
    one, two = begun(0, "Bash", {"command": "one"}), begun(6, "Bash", {"command": "two"})
    work = folded([one, event(5, "turn.ended"), two, ended(two, 7)])
    assert [call.outcome for call in work.calls(MINE)] == ["abandoned", "ok"]


def test_the_work_of_children_is_rolled_up() -> None:
    spawned = event(0, "agent.spawned", child="explore", label="x", item=ITEM)
    deeper = event(1, "agent.spawned", agent="explore", child="deep", label="y", item="")
    child = Script("p1/7", "explore").edit().run("pytest", "1 passed in 0.1s").events
    grandchild = Script("", "deep").edit().events
    work = folded([*Script().edit().events, spawned, deeper, *child, *grandchild])
    whole = work.whole(MINE)
    assert (whole.calls, whole.child_calls, work.tally(MINE).calls) == (4, 3, 1)
    assert whole.last_check is not None
    assert work.whole(Subject("s1", "explore", "p1/7")).calls == 2


def test_agents_that_claim_to_be_each_others_parents_are_counted_once() -> None:
    events = [
        event(0, "agent.spawned", child="b", item=ITEM),
        event(1, "agent.spawned", agent="b", child="main", item="x"),
        event(2, "agent.spawned", agent="b", child="b", item="x"),
    ]
    work = folded([*events, *Script("x", "b").edit().events])
    assert work.whole(MINE).child_calls == 1


def test_a_task_is_one_thing_for_all_who_work_on_it() -> None:
    work = folded([*Script("task:default/3").edit().events, *Script("task:default/3", "b").edit().events])
    assert work.tally(Subject("", "", "task:default/3")).calls == 2


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"call_id": 3},
        {"call_id": "a", "name": 5, "files": 7, "check": "x", "item": ["p"]},
        {"call_id": "a", "check": {}},
    ],
)
def test_data_of_a_wrong_type_does_no_harm(data: dict[str, Any]) -> None:
    for kind in (
        "tool.started",
        "tool.updated",
        "tool.finished",
        "tool.failed",
        "agent.spawned",
        "turn.ended",
        "other",
    ):
        folded([Event(1, NOW, kind, "x", None, None, None, data)])


def test_times_in_which_calls_ran_are_joined_where_they_overlap() -> None:
    def call(number: int, start: int, end: int) -> ToolCall:
        begun, over = (Moment(NOW + timedelta(seconds=second)) for second in (start, end))
        return ToolCall(id=str(number), kind="edit", started=begun, finished=over, outcome="ok")

    spans = [(0, 2), (1, 3), (5, 6), (3, 5), (9, 8)]
    assert tally_of(call(number, *span) for number, span in enumerate(spans)).active == timedelta(seconds=6)
    many = tally_of(call(number, 2 * number, 2 * number + 1) for number in range(500))
    assert combined(many, [many]).active == many.active == timedelta(seconds=500)


def _items(*texts: str) -> list[TodoItem]:
    return [TodoItem(id=str(place), content=text) for place, text in enumerate(texts, 1)]


@pytest.mark.parametrize(
    ("description", "texts", "found"),
    [
        ("Fix the login!", ["fix -- THE login", "other"], "1"),
        ("login page", ["Fix the login page", "Write docs"], "1"),
        ("Explore: fix the login page now", ["fix the login page", "Write docs"], "1"),
        ("page", ["Fix the login page"], None),  # too short to mean anything
        ("fix it", ["fix it"], "1"),
        ("fix", ["Fix"], "1"),  # equal is enough
        ("tests for login", ["Write tests for login", "Run tests for login"], None),
        ("Run tests", ["Run tests", "Run tests again"], "1"),
        ("Run tests", ["Run tests", "run TESTS"], None),
        ("", ["", "a"], None),
        ("!!!", ["???"], None),
        ("修复登录页面问题", ["修复登录页面问题。"], "1"),
    ],
)
def test_a_subagent_works_on_the_one_open_item_that_its_description_names(
    description: str, texts: list[str], found: str | None
) -> None:
    item = matching_item(description, _items(*texts))
    assert (None if item is None else item.id) == found


def test_a_subagent_works_on_no_item_that_is_closed() -> None:
    done = TodoItem(id="1", content="fix the login", status=Status.COMPLETED)
    assert matching_item("fix the login", [done]) is None
    assert matching_item("fix the login", [done, *_items("", "fix the login")]) is not None

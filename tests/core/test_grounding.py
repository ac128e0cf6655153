"""Calls and tallies: reports may come late, twice and in any order."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.core.events import Event
from punchlist.core.grounding.evidence import matching_item
from punchlist.core.grounding.observe import call_from
from punchlist.core.grounding.tally import tally_of
from punchlist.core.grounding.tool_call import Moment, ToolCall, changes_code, joined, relative_path
from punchlist.core.todo import Status, TodoItem
from tests.core.build import NOW
from tests.core.runtime import Script, begun, calls_of, ended, event, tally


def test_a_check_that_failed_behind_a_swallowed_exit_code_is_a_failure() -> None:
    script = Script().run("pytest | tail -1", "1 failed, 2 passed in 0.1s").run("pytest | tail -1", "3 passed in 0.1s")
    assert tally(script.events).failures == 1


def test_a_tally_holds_kinds_failures_files_and_the_last_check() -> None:
    script = Script().edit("b.py").edit("a.py").edit("a.py", is_error=True).call("Read", {"file_path": "c"})
    found = tally(script.run("pytest", "2 passed in 0.1s").run("pytest", "1 failed in 0.1s").events)
    assert (found.calls, found.failures, found.kinds) == (6, 2, {"edit": 3, "read": 1, "shell": 2})
    assert found.files == ("a.py", "b.py")
    assert found.last_check is not None
    assert (found.last_check.name, found.last_check.outcome) == ("pytest", "failed")


def test_an_edit_that_failed_has_touched_no_file() -> None:
    start = begun(0, "Edit", {"file_path": "a.py"}, call_id="a")
    failed = ended(start, 2, "not found", is_error=True)
    assert tally([start, failed]).files == tally([failed, start]).files == ()
    assert tally([start, ended(start, 2)]).files == ("a.py",)


def test_active_time_is_that_in_which_something_ran() -> None:
    one = begun(0, "Bash", {"command": "a"}, call_id="1")
    two = begun(1, "Bash", {"command": "b"}, call_id="2")
    three = begun(10, "Bash", {"command": "c"}, call_id="3")
    found = tally([one, two, ended(one, 3), ended(two, 4), three, ended(three, 11)])
    assert found.active == timedelta(seconds=5)


def test_a_report_that_comes_twice_counts_once() -> None:
    script = Script().edit().run("pytest", "1 passed in 0.1s")
    doubled = [again for given in script.events for again in (given, given)] + script.events
    assert tally(doubled) == tally(script.events)


def test_an_end_that_comes_before_its_beginning_is_the_same_call() -> None:
    start = begun(0, "Bash", {"command": "pytest"}, call_id="a")
    end = ended(start, 2, "1 passed in 0.1s")
    assert tally([end, start]) == tally([start, end])


def test_of_two_ends_that_contradict_each_other_the_worse_is_believed() -> None:
    start = begun(0, "Bash", {"command": "make"}, call_id="a")
    fine, bad = ended(start, 2), ended(start, 3, is_error=True)
    for order in ([start, fine, bad], [start, bad, fine], [bad, fine, start]):
        (call,) = calls_of(order)
        assert call.outcome == "failed"


def test_tool_failed_is_a_failure_and_tool_updated_changes_no_end() -> None:
    start = begun(0, "Bash", {"command": "make"}, call_id="a")
    failed = event(2, "tool.failed", call_id="a")
    (call,) = calls_of([start, failed, event(3, "tool.updated", call_id="a", files=["x.py"])])
    assert call.finished is not None
    assert (call.outcome, call.files, call.finished.at) == ("failed", ("x.py",), failed.at)


@given(st.permutations(range(4)), st.permutations(range(4)))
def test_neither_the_order_nor_the_grouping_of_reports_matters(order: list[int], other: list[int]) -> None:
    start = begun(0, "Bash", {"command": "pytest"}, call_id="a")
    reports = [start, ended(start, 2, "1 passed in 0.1s"), ended(start, 3, "1 failed", is_error=True), start]
    events = [[reports[place] for place in places] for places in (order, other)]
    assert calls_of(events[0]) == calls_of(events[1])


@pytest.mark.parametrize(
    ("files", "outcome", "is_change"),
    [
        (("src/a.py",), "ok", True),
        (("src/a.py",), "failed", False),
        (("README.md",), "ok", False),
        (("docs/a.rst", "src/a.py"), "ok", True),
        (("/tmp/notes.py",), "ok", False),
        (("/p/src/a.py",), "ok", True),
        ((), "ok", True),
    ],
)
def test_a_call_changes_code_unless_it_failed_or_touched_only_prose_and_scratch_files(
    files: tuple[str, ...], outcome: Any, is_change: bool
) -> None:
    call = ToolCall(id="a", kind="edit", changes=True, files=files, outcome=outcome, finished=Moment(NOW, 3))
    assert changes_code(call, "/p") is is_change


def test_a_project_in_a_folder_for_temporary_files_has_code_too() -> None:
    call = ToolCall(id="a", changes=True, files=("/tmp/p/a.py",), outcome="ok", finished=Moment(NOW, 3))
    assert (changes_code(call, "/tmp/p"), changes_code(call, "/q")) == (True, False)


@pytest.mark.parametrize(
    ("path", "relative"),
    [
        ("/p/a.py", "a.py"),
        ("/p", ""),
        ("/p/", ""),
        (".", ""),
        ("", ""),
        ("/", "/"),
        ("./a", "a"),
        ("/q/a", "/q/a"),
        ("a/b/", "a/b"),
    ],
)
def test_a_path_is_named_from_the_project(path: str, relative: str) -> None:
    assert relative_path(path, "/p") == relative


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
        each = Event(1, NOW, kind, "x", None, None, None, data)
        assert joined(call_from(each.kind, each.data, each.at), ToolCall(id="a"))


def test_times_in_which_calls_ran_are_joined_where_they_overlap() -> None:
    def call(number: int, start: int, end: int) -> ToolCall:
        begun, over = (Moment(NOW + timedelta(seconds=second)) for second in (start, end))
        return ToolCall(id=str(number), kind="edit", started=begun, finished=over, outcome="ok")

    spans = [(0, 2), (1, 3), (5, 6), (3, 5), (9, 8)]
    assert tally_of(call(number, *span) for number, span in enumerate(spans)).active == timedelta(seconds=6)
    many = tally_of(call(number, 2 * number, 2 * number + 1) for number in range(500))
    assert many.active == timedelta(seconds=500)


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

"""Grades: what a completion is worth, by what was seen."""

import pytest

from punchlist.core.grounding.grades import Grade, against, grade, regrade
from punchlist.core.grounding.tally import NOTHING
from tests.core.runtime import ITEM, MINE, Script, folded

PASSES, FAILS, NOTHING_RAN = "3 passed in 0.1s", "1 failed, 2 passed in 0.1s", "no tests ran in 0.1s"


def graded(script: Script) -> Grade:
    return grade(folded(script.events).whole(MINE))


def test_with_nothing_seen_it_is_only_asserted() -> None:
    assert grade(NOTHING) == "asserted"


@pytest.mark.parametrize(
    "script",
    [
        Script().call("TodoWrite", {"todos": []}),
        Script().call("think", {"thought": "hm"}),
        Script().run("echo ok", "ok"),
        Script().run("true"),
        Script().run("cd /r && pwd; sleep 1"),
        Script().run(": done").call("think", {}).call("TodoWrite", {"todos": []}),
    ],
)
def test_talk_is_no_work(script: Script) -> None:
    assert graded(script) == "asserted"


@pytest.mark.parametrize(
    "script",
    [
        Script().edit(),
        Script().call("Read", {"file_path": "a"}),
        Script().run("python x.py"),
        Script().call("WebSearch", {}),
        Script().run("cat README.md"),
        Script().run("ls").run("cat nowhere", is_error=True).run("cat here"),
        Script().edit().run("ls nowhere", is_error=True),
        Script().run("echo hi > a.txt"),
        Script().edit(is_error=True).edit(),
        Script().run("python x.py", is_error=True).run("ls").run("python x.py"),
        Script().edit().run("pytest -k none", NOTHING_RAN, is_error=True),
        Script().edit().run("pytest", "The tool use was rejected", is_error=True),
    ],
)
def test_activity_where_nothing_failed_last_is_work(script: Script) -> None:
    assert graded(script) == "worked"


HEALS_NOTHING = [
    Script().run("ls"),
    Script().run("echo ok", "ok"),
    Script().run("true"),
    Script().call("Read", {"file_path": "a"}),
    Script().call("think", {"thought": "fine"}),
    Script().call("TodoWrite", {"todos": []}),
    Script().edit("b.py"),
]


@pytest.mark.parametrize("after", range(len(HEALS_NOTHING)))
@pytest.mark.parametrize("checked_before", [False, True])
@pytest.mark.parametrize("healed", [False, True])
def test_a_failure_is_made_good_by_its_own_kind_or_a_check_whether_or_not_one_came_before(
    after: int, checked_before: bool, healed: bool
) -> None:
    script = Script().run("pytest", PASSES) if checked_before else Script()
    script.run("python deploy.py", is_error=True)
    for started in HEALS_NOTHING[after].events[::2]:
        script.call(started.data["name"], {"command": started.data.get("preview", ""), "file_path": "b.py"})
    assert graded(script) == "contradicted"
    if healed:
        again = Script()
        again.events, again.second, again.count = list(script.events), script.second, script.count
        assert graded(again.run("python deploy.py")) == "worked"
    assert graded(script.run("pytest", PASSES)) == "verified"


def test_a_command_that_failed_beside_a_check_that_nobody_saw_contradicts() -> None:
    assert graded(Script().edit().run("pytest && git push", is_error=True)) == "contradicted"
    assert graded(Script().run("pytest", PASSES).run("pytest && git push", is_error=True)) == "contradicted"


def test_where_nothing_but_looking_was_done_the_last_look_decides() -> None:
    assert graded(Script().run("cat nowhere", is_error=True)) == "contradicted"
    assert graded(Script().call("Read", {"file_path": "a"}, is_error=True).run("echo ok")) == "contradicted"


@pytest.mark.parametrize(
    "script",
    [
        Script().run("pytest", PASSES),
        Script().edit().run("pytest", PASSES),
        Script().edit().run("ruff check ."),
        Script().edit().run("pytest | tail -3", PASSES),
        Script().edit().run("pytest", FAILS, is_error=True).edit().run("pytest", PASSES),
        Script().edit().run("pytest", PASSES).run("git add . && git commit -m x"),
        Script().edit().run("pytest", PASSES).run("cat a.py").call("Read", {"file_path": "a"}),
        Script().edit().run("pytest", PASSES).run("ls nowhere", is_error=True),
        Script().edit().run("pytest", PASSES).run("grep x a.py", {"exit_code": 1, "output": ""}),
        Script().edit().run("pytest", PASSES).edit(is_error=True).run("pytest", PASSES),
        Script().edit().run("pytest", PASSES).run("git push", is_error=True).run("git push"),
        Script().edit().run("ruff check .", "Found 1 error.", is_error=True).run("pytest", PASSES),
        Script().edit().run("pytest", PASSES).run("pytest -k none", NOTHING_RAN, is_error=True),
        Script().run("sed -i s/a/b/ x.py && pytest", PASSES),
    ],
)
def test_a_check_that_succeeded_behind_the_last_change_verifies(script: Script) -> None:
    assert graded(script) == "verified"


@pytest.mark.parametrize(
    "script",
    [
        Script().edit().run("pytest", PASSES).edit(),
        Script().run("pytest", PASSES).run("sed -i s/a/b/ x.py"),
        Script().run("pytest", PASSES).run("python generate.py"),
        Script().run("pytest && sed -i s/a/b/ x.py", PASSES),
        Script().edit().run("pytest", NOTHING_RAN),
        Script().edit().run("pytest | tail -3", ""),
        Script().edit().run("pytest || true", ""),
        Script().edit().run("echo 3 passed in 0.1s", PASSES),
        Script().edit().run("cat test.log", PASSES),
        Script().run("pytest", PASSES).run("ruff check --fix ."),
    ],
)
def test_a_change_behind_the_check_or_a_check_that_proved_nothing_is_only_work(script: Script) -> None:
    assert graded(script) == "worked"


@pytest.mark.parametrize(
    "script",
    [
        Script().run("pytest", FAILS, is_error=True),
        Script().run("pytest || true", FAILS),
        Script().run("pytest | tail -2", FAILS),
        Script().run("make test", "make: *** [test] Error 1"),
        Script().run("pytest", {"output": "boom", "exit_code": 2}),
        Script().run("pytest", FAILS, is_error=True).edit(),
        Script().run("pytest", FAILS, is_error=True).run("ruff check ."),
        Script().run("pytest", PASSES).run("pytest", FAILS),
        Script().run("pytest", PASSES).run("python migrate.py", is_error=True),
        Script().run("pytest", PASSES).run("git push", is_error=True),
        Script().edit(is_error=True),
        Script().run("python x.py", is_error=True),
        Script().run("ls", "").run("python x.py", {"exit_code": 1}),
    ],
)
def test_a_failed_check_or_a_failure_that_came_last_contradicts(script: Script) -> None:
    assert graded(script) == "contradicted"


def test_a_person_may_confirm_what_was_contradicted() -> None:
    tally = folded(Script().run("pytest", FAILS).events).whole(MINE)
    assert grade(tally, confirmed=True) == "confirmed"
    assert regrade("confirmed", tally, NOTHING) == "confirmed"


def test_a_check_that_began_before_the_change_ended_does_not_cover_it() -> None:
    from tests.core.runtime import begun, ended

    edit = begun(0, "Edit", {"file_path": "a"}, call_id="e")
    test = begun(1, "Bash", {"command": "pytest"}, call_id="t")
    work = folded([edit, test, ended(edit, 2), ended(test, 3, PASSES)])
    assert grade(work.whole(MINE)) == "worked"


def test_equal_times_are_told_apart_by_their_place_in_the_log() -> None:
    from msgspec.structs import replace

    script = Script().edit().run("pytest", PASSES)
    still = [replace(event, at=script.events[0].at, seq=number) for number, event in enumerate(script.events)]
    assert grade(folded(still).whole(MINE)) == "verified"
    other = Script().run("pytest", PASSES).edit()
    still = [replace(event, at=other.events[0].at, seq=number) for number, event in enumerate(other.events)]
    assert grade(folded(still).whole(MINE)) == "worked"


def later(script: Script) -> Grade:
    """The grade once everything is known; what has no focus came after the item."""
    work = folded(script.events)
    return regrade(None, work.whole(MINE), work.later(MINE))


def test_a_failure_seen_after_the_completion_contradicts_it() -> None:
    script = Script().edit().run("pytest", PASSES).on("").run("pytest", FAILS, after=ITEM)
    assert later(script) == "contradicted"


def test_a_change_after_the_completion_makes_verified_into_worked() -> None:
    script = Script().run("pytest", PASSES).on("").run("sed -i s/a/b/ x.py", after=ITEM)
    assert later(script) == "worked"


def test_a_check_after_the_completion_verifies_it_late() -> None:
    assert later(Script().edit().on("").run("pytest", PASSES, after=ITEM)) == "verified"
    assert later(Script().on("").run("pytest", PASSES, after=ITEM)) == "verified"


def test_looking_around_after_the_completion_makes_no_work_of_an_assertion() -> None:
    assert later(Script().on("").run("ls", after=ITEM).run("git status", after=ITEM)) == "asserted"


def test_work_on_another_item_says_nothing_about_this_one() -> None:
    script = Script().run("pytest", PASSES).on("p1/2").edit().run("pytest", FAILS, is_error=True)
    assert later(script) == "verified"


def test_a_late_report_of_a_failure_regrades() -> None:
    script = Script().run("pytest", PASSES).run("pytest", FAILS)
    early, last = script.events[:3], script.events[3]
    work = folded(early)
    assert regrade(None, work.whole(MINE), work.later(MINE)) == "verified"
    work.add(last)
    assert regrade("verified", work.whole(MINE), work.later(MINE)) == "contradicted"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (Script().edit().run("pytest", PASSES).run("uv run pytest", FAILS, is_error=True), "pytest failed"),
        (Script().run("ruff check .", is_error=True).run("pytest", FAILS, is_error=True), "pytest failed"),
        (Script().run("pytest", PASSES).run("python x.py", is_error=True), "python failed"),
        (Script().run("pytest", PASSES).edit(is_error=True), "Edit failed"),
        (Script().edit().run("python x.py", is_error=True), "python failed"),
        (Script().run("ls nowhere", is_error=True), "the last call failed"),
        (Script().edit().run("ls nowhere", is_error=True), ""),
        (Script().run("pytest", FAILS, is_error=True).run("pytest", PASSES), ""),
        (Script().edit(is_error=True).edit(), ""),
    ],
)
def test_what_contradicts_a_completion_has_a_name(script: Script, said: str) -> None:
    tally = folded(script.events).whole(MINE)
    assert against(tally) == said
    assert (grade(tally) == "contradicted") == bool(said)

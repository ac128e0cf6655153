"""`punchlist tasks`: who may have a task, and what a gate, a reservation or a label says to that."""

import json
from pathlib import Path

import pytest

from punchlist.board import Board
from punchlist.core.task import Task
from tests.cli.conftest import Run


def _task(id: str) -> Task:
    with Board.open() as board:
        return board.tasks().get(id)


def test_a_gate_of_the_environment_stands_before_the_command_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUNCHLIST_GATE_CREATE", "grep -q Ship || { echo 'Only what ships.' >&2; exit 1; }")
    monkeypatch.setenv("PUNCHLIST_GATE_COMPLETE", "echo 'Not on a Friday.' >&2; exit 1")
    refused = run("tasks", "add", "Dream")
    assert (refused.code, "Only what ships." in refused.err) == (1, True)
    assert run("tasks", "add", "Ship it").code == 0
    refused = run("tasks", "done", "1")
    assert (refused.code, "Not on a Friday." in refused.err) == (1, True)


def test_a_task_that_somebody_has_is_not_started_by_another(run: Run) -> None:
    run("tasks", "add", "One")
    assert run("tasks", "start", "1", "--by", "bob").code == 0
    for name in ("eve", "bob"):
        refused = run("tasks", "start", "1", "--by", name)
        assert (refused.code, refused.out) == (1, "")
        assert "`bob`" in refused.err
    assert run("tasks", "start", "1", "--by", "eve", "--fence", "1").code == 0


def test_several_tasks_are_claimed_as_one_with_the_same_files_or_none_is(run: Run) -> None:
    for subject in ("One", "Two", "Three"):
        run("tasks", "add", subject)
    once = run("tasks", "claim", "1", "2", "--by", "w", "--reserve", "src", "--call-id", "c")
    again = run("tasks", "claim", "1", "2", "--by", "w", "--reserve", "src", "--call-id", "c")
    assert (once.code, once.out) == (0, again.out)
    assert run("tasks", "claim", "3", "1", "--by", "w").code == 1
    assert "Three" in run("tasks", "ready").out
    assert "`src`" in run("tasks", "claim", "--by", "w", "--reserve", "src/a.py").err


def test_files_are_reserved_as_seen_from_where_one_stands(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("tasks", "add", "One")
    run("tasks", "add", "Two")
    (project / "src" / "deep").mkdir(parents=True)
    monkeypatch.chdir(project / "src")
    run("tasks", "claim", "--by", "w1", "--reserve", "a.py", "--reserve", "../docs", "--reserve", f"{project}/b.py")
    task = json.loads(run("tasks", "show", "1", "--json").out)
    assert task["reserved"] == ["src/a.py", "docs", "b.py"]
    monkeypatch.chdir(project / "src" / "deep")
    for same in ("../a.py", "../../docs/x.md", "../../b.py"):
        assert "`w1`" in run("tasks", "claim", "--by", "w2", "--reserve", same).err
        refused = run("tasks", "work", "--once", "--reserve", same, "--", "true")
        assert (refused.code, "`w1`" in refused.err) == (1, True)
    assert run("tasks", "claim", "--by", "w2", "--reserve", "a.py").code == 0


def test_what_was_given_to_a_task_can_be_taken_away_again(run: Run) -> None:
    run("tasks", "add", "Above")
    run("tasks", "add", "One", "--owner", "z", "--parent", "1", "--label", "a", "--check", "tests", "--check", "notes")
    run("tasks", "check", "2", "tests")
    run("tasks", "edit", "2", "--check", "tests", "--check", "more")
    assert [(check.text, check.done) for check in _task("2").checklist] == [("tests", True), ("more", False)]
    run("tasks", "edit", "2", "--owner", "", "--parent", "", "--label", "", "--check", "")
    task = _task("2")
    assert (task.owner, task.parent, task.labels, task.checklist) == (None, None, (), ())


def test_a_task_by_its_id_is_not_claimed_under_a_label_that_it_has_not(run: Run) -> None:
    run("tasks", "add", "One", "--label", "linux")
    assert "`mac`" in run("tasks", "claim", "1", "--label", "mac").err
    assert run("tasks", "claim", "1", "--label", "linux").code == 0


def test_a_number_is_an_id_also_of_a_task_that_is_gone(run: Run) -> None:
    for subject in ("A", "B", "Fix 2 bugs"):
        run("tasks", "add", subject)
    assert run("tasks", "delete", "2").code == 0
    for words in (("delete", "2"), ("done", "#7"), ("add", "X", "--blocked-by", "2")):
        refused = run("tasks", *words)
        assert (refused.code, "There is no task" in refused.err) == (1, True)
    assert _task("3").subject == "Fix 2 bugs"


@pytest.mark.usefixtures("person")
def test_done_under_another_workers_lease_needs_force_and_says_whose_it_is(run: Run) -> None:
    run("tasks", "add", "Ship")
    run("tasks", "claim", "1", "--by", "w1")
    refused = run("tasks", "done", "1")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("punchlist: Task `1` is under the lease of `w1` until 20")
    assert refused.err.endswith("; `--force` completes it all the same.\n")
    assert _task("1").owner == "w1"
    assert run("tasks", "done", "1", "--force").out == "Completed 1: Ship\n"
    assert _task("1").grade == "confirmed"


def test_cancel_under_another_workers_lease_needs_force_or_asks_the_worker(run: Run) -> None:
    for subject in ("Ship", "Paint", "Sweep"):
        run("tasks", "add", subject)
    run("tasks", "claim", "1", "2", "3", "--by", "w1")
    refused = run("tasks", "cancel", "1", "no wind")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("punchlist: Task `1` is under the lease of `w1` until 20")
    assert "`--request` asks its worker" in refused.err
    assert _task("1").status == "in_progress"
    assert run("tasks", "cancel", "1", "no wind", "--request").code == 0
    assert run("tasks", "cancel", "2", "no wind", "--force").out == "Cancelled 2: Paint\n"
    assert run("tasks", "cancel", "3", "no wind", "--by", "w1").out == "Cancelled 3: Sweep\n"


@pytest.mark.parametrize("more", [("--by", "w1"), ("--by", "w1", "--fence", "1"), ("--fence", "1")])
def test_the_worker_itself_needs_no_force(run: Run, more: tuple[str, ...]) -> None:
    run("tasks", "add", "Ship")
    run("tasks", "claim", "1", "--by", "w1")
    assert run("tasks", "done", "1", *more).code == 0


def test_a_failure_after_start_counts_as_an_attempt(run: Run) -> None:
    run("tasks", "add", "Ship", "--attempts", "2")
    run("tasks", "start", "1")
    assert run("tasks", "fail", "1", "no wind").out == "Attempt 1 of 2 failed: 1: Ship; it is retried after a pause\n"
    run("tasks", "start", "1")
    assert run("tasks", "fail", "1", "no wind").out.startswith("Failed 1: Ship;")
    assert (_task("1").status, _task("1").attempts) == ("failed", 2)

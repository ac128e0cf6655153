"""`punchlist tasks work`: a command that ends its task itself, or comes to its end as the task does."""

import shlex
import sys

import pytest

from punchlist.board import Board
from punchlist.core.task import Task, TaskStatus
from tests.cli.conftest import Ran, Run

PUNCHLIST = [sys.executable, "-m", "punchlist"]


def _task(id: str = "1") -> Task:
    with Board.open() as board:
        return board.tasks().get(id)


@pytest.fixture
def work(run: Run) -> Run:
    """Runs a shell script for one task."""

    def once(script: str, *options: str) -> Ran:
        return run("tasks", "work", "--once", *options, "--", "sh", "-c", script)

    return once


@pytest.mark.parametrize(
    ("said", "code", "status", "word"),
    [
        ("wait", 0, TaskStatus.WAITING, "Waiting"),
        ("release", 0, TaskStatus.PENDING, "Released"),
        ("cancel", 0, TaskStatus.CANCELLED, "Cancelled"),
        ("done", 0, TaskStatus.COMPLETED, "Completed"),
        ("fail", 1, TaskStatus.FAILED, "Failed"),
    ],
)
def test_a_command_that_lets_its_task_go_itself_has_not_lost_it(
    run: Run, work: Run, said: str, code: int, status: TaskStatus, word: str
) -> None:
    run("tasks", "add", "One")
    ran = work(f"{shlex.join(PUNCHLIST)} tasks {said} $PUNCHLIST_TASK_ID >&2; echo more")
    assert (ran.code, _task().status, _task().late_results) == (code, status, ())
    assert f"{word} 1: One" in ran.out
    assert "changed hands" not in ran.err


def test_a_task_that_a_command_gave_back_may_be_another_s_before_it_ends(run: Run, work: Run) -> None:
    run("tasks", "add", "One")
    punchlist = shlex.join(PUNCHLIST)
    then = f"for look in 1 2 3 4; do {punchlist} tasks list >&2; done; echo the end"
    ran = work(f"{punchlist} tasks release 1 >&2; {punchlist} tasks claim 1 --by other >&2; {then}", "--lease", "2")
    assert (ran.code, "the end" in ran.out, "Released" in ran.out) == (0, True, True)
    assert (_task().owner, _task().late_results) == ("other", ())


def test_a_person_who_takes_a_task_away_is_not_taken_for_its_command(run: Run, work: Run) -> None:
    run("tasks", "add", "One")
    taken = f"env -u PUNCHLIST_TASK_FENCE {shlex.join(PUNCHLIST)} tasks release 1 --by person"
    ran = work(f"{taken} >&2; echo mine")
    assert (ran.code, "changed hands" in ran.err) == (1, True)
    assert [late.result for late in _task().late_results] == ["mine"]


@pytest.mark.parametrize("code", [0, 3])
def test_a_cancel_that_is_asked_for_shortly_before_the_end_is_done_and_the_worker_goes_on(run: Run, code: int) -> None:
    run("tasks", "add", "One")
    run("tasks", "add", "Two")
    asked = f"[ $PUNCHLIST_TASK_ID = 1 ] || exit 0; {shlex.join(PUNCHLIST)} tasks cancel 1 --request >&2; echo so far"
    ran = run("tasks", "work", "--drain", "--", "sh", "-c", f"{asked}; exit {code}")
    assert (ran.code, _task("1").status, _task("2").status) == (1, TaskStatus.CANCELLED, TaskStatus.COMPLETED)
    assert "Cancelled 1: One" in ran.out
    assert [late.result for late in _task("1").late_results] == ["so far"] * (code == 0)

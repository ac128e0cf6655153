"""`punchlist tasks work`: a command does tasks. Real commands, real signals."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from punchlist.board import Board
from punchlist.cli.task_work import Worker
from punchlist.cli.tasks import parse
from punchlist.core.task import Task, TaskStatus
from punchlist.testing import FakeClock, Fault, FaultyStore
from tests.cli.conftest import Ran, Run

PUNCHLIST = [sys.executable, "-m", "punchlist"]
SECONDS = 60


def _task(id: str = "1") -> Task:
    with Board.open() as board:
        return board.tasks().get(id)


@pytest.fixture
def work(run: Run) -> Run:
    """Runs a shell script for one task."""

    def once(script: str, *options: str) -> Ran:
        return run("tasks", "work", "--once", *options, "--", "sh", "-c", script)

    return once


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a worker as a process of its own; it ends with the test at the latest."""
    started: list[subprocess.Popen[str]] = []

    def worker(script: str, *options: str) -> subprocess.Popen[str]:
        command = [*PUNCHLIST, "tasks", "work", *options, "--", "sh", "-c", script]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield worker
    for process in started:
        process.kill()
        process.communicate()


def _said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def _end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=SECONDS)
    return process.returncode, out, err


# The command and its task.


def test_the_command_finds_its_task_in_the_environment_and_on_standard_input(run: Run, work: Run, project: Path):
    run("tasks", "add", "It's", "$HOME `x`", "--description", "Two\nlines")
    work('env > env.txt; printf "%s" "$PUNCHLIST_TASK_DESCRIPTION" > description.txt; cat > task.json')
    told = dict(line.split("=", 1) for line in (project / "env.txt").read_text().splitlines() if "=" in line)
    task = json.loads((project / "task.json").read_text())
    assert (told["PUNCHLIST_TASK_ID"], told["PUNCHLIST_TASK_SUBJECT"]) == ("1", "It's $HOME `x`")
    assert (told["PUNCHLIST_TASK_LIST"], told["PUNCHLIST_TASK_FENCE"]) == (task["list"], "1")
    assert told["PUNCHLIST_DB"] == os.environ["PUNCHLIST_DB"]
    assert (project / "description.txt").read_text() == "Two\nlines"
    assert (task["id"], task["status"], task["description"]) == ("1", "in_progress", "Two\nlines")


def test_a_description_that_is_larger_than_the_environment_is_cut_there_only(run: Run, work: Run, board: Board):
    with board:
        board.tasks().create("One", description="ä" * 100_000)
    work('printf "%s" "$PUNCHLIST_TASK_DESCRIPTION" | wc -m; cat | wc -c')
    assert _task().status is TaskStatus.COMPLETED
    assert int(_task().result) > 200_000


def test_a_command_that_does_not_read_is_not_waited_for(run: Run, work: Run, board: Board):
    with board:
        board.tasks().create("One", description="x" * 100_000)
    assert work("exec <&-; echo well").code == 0


# How it ends.


@pytest.mark.parametrize(
    ("script", "result"),
    [
        ("true", None),
        ("echo first; echo last; echo", "last"),
        ("echo note; echo '{\"lines\": 3}'", {"lines": 3}),
        ("printf '{\"over\":\\n[1,\\n2]}\\n'", {"over": [1, 2]}),
        ("echo 7", 7),
        (r"printf 'a\033[2Jb\n'", "ab"),
        ("head -c 3000000 /dev/zero | tr '\\0' x", "x" * 3_999 + "…"),
        ("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end", "end"),
    ],
)
def test_what_it_printed_last_is_the_result(run: Run, work: Run, script: str, result: Any):
    run("tasks", "add", "One")
    ran = work(script)
    assert ran.code == 0, ran.err
    assert ran.out.endswith("Completed 1: One\n")
    assert (_task().status, _task().result) == (TaskStatus.COMPLETED, result)


@pytest.mark.parametrize(
    ("script", "failure"),
    [
        ("exit 3", "exit code 3"),
        ("echo fine; echo bad >&2; exit 1", "exit code 1: bad"),
        ("echo said; exit 1", "exit code 1: said"),
        ("kill -9 $$", "ended by SIGKILL"),
        ("no-such-program-anywhere 2>/dev/null", "exit code 127"),
    ],
)
def test_a_command_that_fails_fails_its_task_and_says_why(run: Run, work: Run, script: str, failure: str):
    run("tasks", "add", "One")
    ran = work(script)
    assert ran.code == 1
    assert ran.out.endswith(f"Failed 1: One ({failure})\n")
    task = _task()
    assert (task.status, task.failure, task.result) == (TaskStatus.FAILED, failure, None)


def test_a_task_with_attempts_left_is_tried_again_later(run: Run, work: Run):
    run("tasks", "add", "One", "--attempts", "2")
    assert work("exit 1").out == "Released 1: One (exit code 1); it is retried after a pause\n"
    task = _task()
    assert (task.status, task.attempts) == (TaskStatus.PENDING, 1)
    assert task.not_before is not None


def test_a_task_whose_checklist_is_open_is_not_done(run: Run, work: Run):
    run("tasks", "add", "One", "--check", "unit")
    assert work("true").code == 1
    assert "still open: unit" in (_task().failure or "")


def test_a_command_may_settle_its_task_itself(run: Run, work: Run):
    own = shlex.join([*PUNCHLIST, "tasks"])
    run("tasks", "add", "One", "--check", "unit")
    script = f'{own} check "$PUNCHLIST_TASK_ID" && {own} done "$PUNCHLIST_TASK_ID" --result mine && exit 1'
    assert work(script).out.endswith("Completed 1: One\n")
    task = _task()
    assert (task.result, task.late_results) == ("mine", ())


def test_a_command_that_cannot_be_started_leaves_the_task_as_it_was(run: Run):
    run("tasks", "add", "One")
    ran = run("tasks", "work", "--drain", "--", "/no/such/program")
    assert (ran.code, ran.out) == (2, "")
    assert "cannot be started" in ran.err
    assert (_task().status, _task().owner) == (TaskStatus.PENDING, None)


# One after the other.


def test_once_without_anything_ready_ends_with_1(work: Run):
    ran = work("true")
    assert ran.code == 1
    assert "Nothing is ready" in ran.err


def test_drain_does_all_in_their_order_and_what_they_make_ready(run: Run):
    run("tasks", "add", "Later")
    run("tasks", "add", "First", "--priority", "0")
    run("tasks", "add", "Behind", "--blocked-by", "1", "--priority", "0")
    ran = run("tasks", "work", "--drain", "--", "sh", "-c", 'echo "at $PUNCHLIST_TASK_ID"')
    assert ran.code == 0
    assert [line for line in ran.out.splitlines() if line.startswith("at")] == ["at 2", "at 1", "at 3"]
    assert run("tasks", "work", "--drain", "--", "true").out == "Nothing is ready.\n"


def test_drain_goes_on_after_a_failure_and_ends_with_1(run: Run):
    run("tasks", "add", "One")
    run("tasks", "add", "Two")
    assert run("tasks", "work", "--drain", "--", "sh", "-c", '[ "$PUNCHLIST_TASK_ID" = 2 ]').code == 1
    assert [_task(each).status.value for each in ("1", "2")] == ["failed", "completed"]


def test_only_tasks_with_the_label_are_taken(run: Run):
    run("tasks", "add", "One")
    run("tasks", "add", "Two", "--label", "mine")
    run("tasks", "work", "--drain", "--label", "mine", "--", "true")
    assert [_task(each).status.value for each in ("1", "2")] == ["pending", "completed"]


def test_as_json_only_tasks_are_on_standard_output(run: Run):
    run("tasks", "add", "One")
    run("tasks", "add", "Two")
    ran = run("tasks", "work", "--drain", "--json", "--", "echo", "chatter")
    assert [json.loads(line)["status"] for line in ran.out.splitlines()] == ["completed", "completed"]
    assert ran.err == "chatter\nchatter\n"


def test_workers_side_by_side_do_each_task_once(run: Run, start: Start, board: Board):
    with board:
        for number in range(12):
            board.tasks().create(f"Task {number}")
    workers = [start('echo "at $PUNCHLIST_TASK_ID"', "--drain") for _ in range(3)]
    said = [line for worker in workers for line in _end(worker)[1].splitlines() if line.startswith("at")]
    assert sorted(said) == sorted(f"at {number}" for number in range(1, 13))


def test_without_once_or_drain_it_waits_for_the_next(run: Run, start: Start):
    worker = start('echo "at $PUNCHLIST_TASK_ID"')
    for number in (1, 2):
        run("tasks", "add", "One")
        assert [_said(worker), _said(worker)] == [f"at {number}", f"Completed {number}: One"]
    worker.send_signal(signal.SIGTERM)
    assert _end(worker) == (128 + signal.SIGTERM, "", "")


# Signals, leases and people.

OBEDIENT = 'trap "echo told; exit 7" TERM; echo begun; while :; do sleep 0.05; done'
STUBBORN = 'trap "" TERM; echo begun; while :; do sleep 0.05; done'


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_command_and_gives_the_task_back(run: Run, start: Start, number: signal.Signals):
    run("tasks", "add", "One")
    worker = start(OBEDIENT, "--once")
    assert _said(worker) == "begun"
    worker.send_signal(number)
    assert _end(worker)[:2] == (128 + number, "told\nReleased 1: One\n")
    assert (_task().status, _task().owner, _task().failure) == (TaskStatus.PENDING, None, None)


def test_a_command_that_does_not_listen_is_killed_after_the_grace(run: Run, start: Start):
    run("tasks", "add", "One")
    worker = start(STUBBORN, "--once", "--grace", "0.2")
    assert _said(worker) == "begun"
    worker.send_signal(signal.SIGTERM)
    assert _end(worker)[0] == 128 + signal.SIGTERM
    assert _task().status is TaskStatus.PENDING


def test_a_second_signal_does_not_wait_for_the_grace(run: Run, start: Start):
    run("tasks", "add", "One")
    worker = start(f'trap "echo told" TERM; {STUBBORN.partition(";")[2]}', "--once", "--grace", "3600")
    assert _said(worker) == "begun"
    worker.send_signal(signal.SIGINT)
    assert _said(worker) == "told"
    worker.send_signal(signal.SIGINT)
    assert _end(worker)[0] == 128 + signal.SIGINT
    assert _task().status is TaskStatus.PENDING


def test_a_claim_is_kept_alive_while_the_command_runs(run: Run, start: Start, board: Board):
    run("tasks", "add", "One")
    worker = start(OBEDIENT, "--once", "--lease", "0.9")
    assert _said(worker) == "begun"
    with board:
        tasks = board.tasks()
        first = seen = tasks.get("1")
        assert first.lease_until is not None
        while board.now() < first.lease_until:
            seen = tasks.get("1")
        assert (seen.status, seen.fence) == (TaskStatus.IN_PROGRESS, first.fence)
        assert seen.lease_until is not None
        assert seen.lease_until > first.lease_until
    worker.send_signal(signal.SIGTERM)
    _end(worker)


def test_a_worker_that_lost_its_task_stops_and_its_result_is_kept_beside_it(run: Run, start: Start, board: Board):
    run("tasks", "add", "One")
    worker = start(OBEDIENT.replace("told", "half"), "--once", "--lease", "1", "--by", "w1")
    assert _said(worker) == "begun"
    with board:
        tasks = board.tasks(by="w2")
        tasks.release("1")
        assert tasks.claim("w2") is not None
        code, out, err = _end(worker)
        assert (code, out) == (1, "half\n")
        assert "What you brought is kept with the task" in err
        task = tasks.get("1")
        assert (task.status, task.owner, task.result) == (TaskStatus.IN_PROGRESS, "w2", None)
        assert [(late.result, late.by, late.fence) for late in task.late_results] == [("half", "w1", 1)]


def test_a_frozen_worker_hears_that_its_task_is_another_s(run: Run, start: Start, board: Board):
    run("tasks", "add", "One")
    worker = start(OBEDIENT, "--once", "--lease", "0.5")
    assert _said(worker) == "begun"
    worker.send_signal(signal.SIGSTOP)
    with board:
        tasks = board.tasks()
        while (taken := tasks.claim("w2", lease=60)) is None:
            pass
        worker.send_signal(signal.SIGCONT)
        assert _end(worker)[0] == 1
        assert tasks.get("1").owner == "w2"
        tasks.complete("1", fence=taken.fence)


def test_a_deleted_task_stops_its_worker(run: Run, start: Start):
    run("tasks", "add", "One")
    worker = start(OBEDIENT, "--once", "--lease", "1")
    assert _said(worker) == "begun"
    run("tasks", "delete", "1")
    code, _, err = _end(worker)
    assert code == 1
    assert "was deleted meanwhile" in err


def test_a_request_to_cancel_reaches_the_command(run: Run, start: Start):
    run("tasks", "add", "One")
    worker = start(OBEDIENT, "--once", "--lease", "1")
    assert _said(worker) == "begun"
    run("tasks", "cancel", "1", "--request")
    assert _end(worker)[1].endswith("Cancelled 1: One\n")
    assert _task().status is TaskStatus.CANCELLED


@pytest.mark.parametrize("fault", ["fail_before", "fail_after"])
def test_what_was_done_is_not_lost_to_a_disk_that_refuses_once(
    run: Run, fault: Fault, capsys: pytest.CaptureFixture[str]
):
    run("tasks", "add", "One")
    options = parse(["work", "--once", "--lease", "60", "--", "echo", "well"])
    with Board.open() as board:
        store = FaultyStore(board.store)
        store.plan(fault, at=2)  # the first write is the claim
        assert Worker(Board(store).tasks(by="w1"), options).run() == 0
        task = board.tasks().get("1")
        assert (task.status, task.result, task.late_results) == (TaskStatus.COMPLETED, "well", ())
    assert "a planned fault" in capsys.readouterr().err


def test_a_command_whose_last_attempt_expired_meanwhile_still_completes_its_task(run: Run):
    run("tasks", "add", "One", "--attempts", "1")
    options = parse(["work", "--once", "--lease", "60", "--", "echo", "well"])
    clock = FakeClock()
    with Board.open(clock=lambda: clock.advance(3600)) as board:  # every look is an hour later
        assert Worker(board.tasks(by="w1"), options).run() == 0
        task = board.tasks().get("1")
        assert (task.status, task.result) == (TaskStatus.COMPLETED, "well")
        assert "task.expired" in [event.kind for event in board.tasks().history("1")]


@pytest.mark.parametrize(
    "script",
    [
        "echo TOKEN=hunter2 done",
        """echo '{"password": "hunter2", "pin": 1}'""",
        """printf 'first\\n{"log": ["curl -u ada:hunter2 https://host"]}\\n'""",
        "echo 'connect to postgres://app:hunter2@db failed' >&2; exit 3",
    ],
)
def test_what_is_kept_of_the_output_has_no_secrets(work: Run, run: Run, script: str) -> None:
    run("tasks", "add", "one")
    work(script)
    task = _task()
    assert task.result or task.failure
    assert "hunter2" not in repr(task)

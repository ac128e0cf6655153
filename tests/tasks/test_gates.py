"""Gates may refuse that a task is created or completed."""

import json
import os
import select
import sys
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from punchlist import Task, TaskStatus
from punchlist.errors import CallReused, ConfigInvalid, GateRefused, RevisionConflict
from punchlist.tasks.gates import MOST_OUTPUT
from tests.tasks.boards import Desk, ids


def test_a_gate_refuses_a_creation_with_its_reason_and_nothing_is_made(desk: Desk) -> None:
    desk.board.gate("create", lambda task: "no ticket" if not task.labels else None)
    with pytest.raises(GateRefused) as refused:
        desk.tasks.create("one")
    assert str(refused.value) == "no ticket"
    assert desk.tasks.list() == ()
    assert desk.tasks.create("one", labels=["T-1"]).id == "1"


def test_a_gate_stands_on_every_path_to_completion(desk: Desk) -> None:
    desk.tasks.create("one")
    desk.board.gate("complete", lambda _: False)
    with pytest.raises(GateRefused):
        desk.tasks.complete("1")
    with pytest.raises(GateRefused):
        desk.tasks.update("1", status="completed")
    assert desk.tasks.get("1").status is TaskStatus.PENDING
    assert desk.kinds("1") == ["created", "refused", "refused"]
    assert desk.tasks.update("1", status="in_progress").status is TaskStatus.IN_PROGRESS


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, None),
        (True, None),
        ({}, None),
        ({"decision": "approve"}, None),
        ({"decision": "block", "reason": "why"}, "why"),
        ({"decision": "block"}, "refused"),
        (False, "refused"),
        ("why", "why"),
        (0, "refused"),
        ("a\x1b[31mb", "ab"),
    ],
)
def test_what_a_callable_answers(desk: Desk, answer: Any, reason: str | None) -> None:
    desk.tasks.create("one")
    desk.board.gate("complete", lambda _: answer)
    if reason is None:
        assert desk.tasks.complete("1").status is TaskStatus.COMPLETED
        return
    with pytest.raises(GateRefused) as refused:
        desk.tasks.complete("1")
    assert str(refused.value) == reason


def test_a_gate_that_fails_or_does_not_answer_refuses(desk: Desk) -> None:
    desk.many("one", "two")
    released = threading.Event()

    def broken(_: Task) -> None:
        raise ValueError("oh")

    desk.board.gate("create", broken)
    desk.board.gate("complete", lambda _: released.wait(60), seconds=0.05)
    with pytest.raises(GateRefused, match="ValueError: oh"):
        desk.tasks.create("three")
    with pytest.raises(GateRefused, match="within"):
        desk.tasks.complete("1")
    released.set()


def test_a_command_reads_json_and_refuses_by_its_exit_code_or_by_an_object(desk: Desk, tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"
    script = tmp_path / "gate.py"
    script.write_text(
        "import json, sys\n"
        "told = json.load(sys.stdin)\n"
        f"open({str(seen)!r}, 'w').write(json.dumps(told))\n"
        "if told['task_subject'] == 'exit': sys.exit('not so')\n"
        "if told['task_subject'] == 'two':\n    print('no', file=sys.stderr); sys.exit(2)\n"
        "if told['task_subject'] == 'object': print(json.dumps({'decision': 'block', 'reason': 'object'}))\n"
        "if told['task_subject'] == 'noise': print('all is well')\n"
    )
    for subject in ("fine", "exit", "two", "object", "noise"):
        desk.tasks.create(subject, description="d")
    desk.board.gate("complete", [sys.executable, str(script)])
    assert desk.tasks.complete("1").status is TaskStatus.COMPLETED
    told = json.loads(seen.read_text())
    assert told["hook_event_name"] == "TaskCompleted"
    assert (told["task_id"], told["task_description"], told["task_list"]) == ("1", "d", "default")
    for refused, reason in (("2", "not so"), ("3", "no"), ("4", "object")):
        with pytest.raises(GateRefused) as error:
            desk.tasks.complete(refused)
        assert str(error.value) == reason
    assert desk.tasks.complete("5").status is TaskStatus.COMPLETED


def _ends(pid: int) -> bool:
    """Whether that process is at its end, or comes to it."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], 30)[0])
    finally:
        os.close(process)


def test_a_command_that_hangs_is_ended_with_its_children(desk: Desk, tmp_path: Path) -> None:
    desk.tasks.create("one")
    pid = tmp_path / "pid"
    desk.board.gate("complete", f"sleep 60 & echo $! > {pid}; wait", seconds=0.5)
    with pytest.raises(GateRefused, match="within"):
        desk.tasks.complete("1")
    assert _ends(int(pid.read_text()))


def test_a_command_that_prints_without_end_costs_no_memory(desk: Desk) -> None:
    desk.tasks.create("one")
    desk.board.gate("complete", ["yes"], seconds=0.5)
    tracemalloc.start()
    try:
        with pytest.raises(GateRefused, match="did not answer"):
            desk.tasks.complete("1")
        assert tracemalloc.get_traced_memory()[1] < 10 * MOST_OUTPUT
    finally:
        tracemalloc.stop()


def test_a_command_may_print_more_than_is_kept(desk: Desk) -> None:
    desk.many("one", "two", "three")
    much = f"head -c {4 * MOST_OUTPUT} /dev/zero | tr '\\0' x"
    desk.board.gate("complete", f"echo 'first words' >&2; {much} >&2; exit 1", list="refused")
    refused = desk.board.tasks("refused")
    refused.create("one")
    with pytest.raises(GateRefused, match=r"^first words\s"):
        refused.complete("1")
    desk.board.gate("complete", much, list=desk.tasks.name)
    assert desk.tasks.complete("1").status is TaskStatus.COMPLETED


def test_a_refusal_that_is_too_long_to_be_read_is_one(desk: Desk) -> None:
    desk.tasks.create("one")
    much = f"head -c {4 * MOST_OUTPUT} /dev/zero | tr '\\0' x"
    desk.board.gate("complete", f"""printf '{{"decision": "block", "reason": "'; {much}; printf '"}}'""")
    with pytest.raises(GateRefused, match="too long"):
        desk.tasks.complete("1")


def test_a_command_that_leaves_somebody_at_its_outputs_has_answered(desk: Desk, tmp_path: Path) -> None:
    desk.tasks.create("one")
    pid = tmp_path / "pid"
    desk.board.gate("complete", f"sleep 60 & echo $! > {pid}; exit 0")
    assert desk.tasks.complete("1").status is TaskStatus.COMPLETED
    assert _ends(int(pid.read_text()))


def test_a_command_that_is_not_there_refuses(desk: Desk) -> None:
    desk.tasks.create("one")
    desk.board.gate("complete", ["/no/such/program"])
    with pytest.raises(GateRefused, match="started"):
        desk.tasks.complete("1")


def test_a_gate_stands_before_its_list_alone(desk: Desk) -> None:
    desk.board.gate("create", lambda _: False, list="other")
    assert ids(desk.many("one")) == ["1"]
    with pytest.raises(GateRefused):
        desk.board.tasks("other").create("one")


def test_a_gate_is_asked_again_when_the_task_changes_meanwhile(desk: Desk) -> None:
    desk.tasks.create("one")
    asked: list[int] = []

    def check(task: Task) -> None:
        asked.append(task.revision)
        if len(asked) < 3:
            desk.tasks.update("1", subject=f"changed {len(asked)}")

    desk.board.gate("complete", check)
    assert desk.tasks.complete("1").status is TaskStatus.COMPLETED
    assert asked == [0, 1, 2]


def test_a_gate_judges_the_task_as_it_is_to_be_completed(desk: Desk) -> None:
    desk.board.gate("complete", lambda task: None if task.metadata.get("reviewed") else "not reviewed")
    agent = desk.board.agent("main", session="s1", dialect="claude-tasks")
    lists = [desk.tasks, desk.board.tasks("session:s1")]
    for tasks in lists:
        tasks.create("one", metadata={"reviewed": True})
        tasks.create("two")
    away, mark = {"reviewed": None}, {"reviewed": True}
    with pytest.raises(GateRefused):
        desk.tasks.update("1", status="completed", metadata=away)
    assert agent.call("TaskUpdate", {"taskId": "1", "status": "completed", "metadata": away}).is_error
    assert desk.tasks.update("2", status="completed", metadata=mark).status is TaskStatus.COMPLETED
    assert not agent.call("TaskUpdate", {"taskId": "2", "status": "completed", "metadata": mark}).is_error
    for tasks in lists:
        assert [(task.status.value, task.metadata) for task in tasks.list()] == [("pending", mark), ("completed", mark)]


def test_a_gate_that_leaves_the_program_has_failed(desk: Desk) -> None:
    desk.tasks.create("one")
    desk.board.gate("complete", lambda _: sys.exit(3))
    with pytest.raises(GateRefused, match="failed: SystemExit: 3"):
        desk.tasks.complete("1")


def test_a_gate_sees_the_result(desk: Desk) -> None:
    desk.board.gate("complete", lambda task: None if task.result else "nothing to show")
    desk.tasks.create("one")
    with pytest.raises(GateRefused, match="nothing to show"):
        desk.tasks.complete("1")
    assert desk.tasks.complete("1", result={"made": 1}).result == {"made": 1}


def test_what_was_made_under_a_call_id_is_not_asked_about_again(desk: Desk) -> None:
    desk.board.gate("create", lambda _: "closed" if desk.tasks.list() else None)
    first = desk.tasks.create("one", call_id="k")
    assert desk.tasks.create("one", call_id="k") == first
    with pytest.raises(GateRefused, match="closed"):
        desk.tasks.create("one", call_id="l")
    with pytest.raises(CallReused):
        desk.tasks.create("two", call_id="k")


def test_a_task_that_never_stands_still_is_not_completed(desk: Desk) -> None:
    desk.tasks.create("one")
    desk.board.gate("complete", lambda task: desk.tasks.update("1", subject=f"{task.revision}") and None)
    with pytest.raises(RevisionConflict):
        desk.tasks.complete("1")
    assert desk.tasks.get("1").status is TaskStatus.PENDING


def test_a_gate_may_use_the_board_because_no_lock_is_held(desk: Desk) -> None:
    desk.many("one", "two")
    desk.board.gate("complete", lambda task: None if desk.tasks.get("2").is_open else "other first")
    assert desk.tasks.complete("1").status is TaskStatus.COMPLETED


def test_a_gate_that_cannot_be_is_refused(desk: Desk) -> None:
    for on, check, seconds in (
        ("delete", print, 1.0),
        ("create", "", 1.0),
        ("create", print, 11.0),
        ("create", print, 0),
    ):
        with pytest.raises(ConfigInvalid):
            desk.board.gate(on, check, seconds=seconds)  # type: ignore[arg-type]
    assert desk.board.gates == ()


def test_what_a_gate_answers_is_kept_without_secrets(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUNCHLIST_REDACT", "acme-[0-9]+")
    desk.board.gate("create", lambda task: "cannot reach postgres://app:hunter2@db/app for acme-1234")
    with pytest.raises(GateRefused) as refused:
        desk.tasks.create("one")
    assert "cannot reach" in str(refused.value)
    assert "hunter2" not in str(refused.value)
    assert "acme-1234" not in str(refused.value)

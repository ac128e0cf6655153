"""`punchlist tasks`: people and scripts work on durable tasks."""

import json
from pathlib import Path
from typing import Any

import pytest

from punchlist.board import Board
from punchlist.core.task import Task, TaskStatus
from tests.cli.conftest import Run


def _task(id: str, list: str | None = None) -> Task:
    with Board.open() as board:
        return board.tasks(list).get(id)


def _json(run: Run, *arguments: str) -> Any:
    ran = run("tasks", *arguments, "--json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


@pytest.fixture
def three(run: Run) -> None:
    """A parser, a test that waits for it, and a release that waits for both."""
    run("tasks", "add", "Write", "the", "parser")
    run("tasks", "add", "Test it", "--blocked-by", "parser", "--label", "tests")
    run("tasks", "add", "Ship", "--blocked-by", "1", "--blocked-by", "test", "--priority", "0")


@pytest.mark.parametrize("verb", [(), ("list",), ("ready",), ("graph",)])
def test_without_any_task_it_says_how_to_begin(run: Run, verb: tuple[str, ...]):
    ran = run("tasks", *verb)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == 'There are no tasks yet; begin with `punchlist tasks add "My first task"`.\n'


@pytest.mark.parametrize("verb", ["show", "start", "done", "retry", "delete", "release", "resume", "fail", "cancel"])
def test_a_task_that_is_named_where_there_is_none_is_a_sentence_that_says_how_to_begin(run: Run, verb: str):
    ran = run("tasks", verb, "x")
    assert (ran.code, ran.out) == (1, "")
    assert "punchlist tasks add" in ran.err


def test_an_empty_list_names_those_that_hold_something(run: Run):
    run("tasks", "add", "One", "--list", "others")
    assert "name one with --list: `others`" in run("tasks").out


def test_add_takes_everything_that_can_be_said_about_a_task(run: Run):
    run("tasks", "add", "Whole")
    ran = run(
        *("tasks", "add", "Part", "one", "--description", "More\nof it", "--priority", "1", "--owner", "bob"),
        *(
            "--label",
            "a",
            "--label",
            "b",
            "--check",
            "unit",
            "--check",
            "whole",
            "--parent",
            "whole",
            "--attempts",
            "3",
        ),
    )
    assert ran.out == "Added 2: Part one\n"
    task = _task("2")
    assert (task.subject, task.description, task.priority, task.owner) == ("Part one", "More\nof it", 1, "bob")
    assert (task.labels, task.parent, task.max_attempts) == (("a", "b"), "1", 3)
    assert [check.text for check in task.checklist] == ["unit", "whole"]
    assert task.created_by == "anna"


def test_add_puts_a_task_before_and_behind_others(run: Run, three: None):
    assert run("tasks", "add", "Review", "--blocked-by", "test", "--blocks", "ship").out == (
        "Added 4: Review (blocked by 2)\n"
    )
    assert _task("3").blocked_by == ("1", "2", "4")


def test_a_description_is_read_from_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch):
    from io import StringIO

    monkeypatch.setattr("sys.stdin", StringIO("first\nsecond\n"))
    run("tasks", "add", "Read", "--description", "-")
    assert _task("1").description == "first\nsecond"


def test_the_same_call_id_adds_no_second_task(run: Run):
    assert [run("tasks", "add", "Once", "--call-id", "c1").out for _ in range(2)] == ["Added 1: Once\n"] * 2
    assert len(_json(run, "list")) == 1


def test_the_list_shows_what_moves_and_why_the_rest_does_not(run: Run, three: None):
    run("tasks", "add", "Part", "--parent", "ship")
    run("tasks", "claim", "--by", "w1")
    assert run("tasks").out.splitlines() == [
        "▸ 1 p2 Write the parser — w1, lease ends in 15 min",
        "⊘ 2 p2 Test it — blocked by 1 #tests",
        "⊘ 3 p0 Ship — blocked by 1, 2",
        "└ ○ 4 p2 Part",
    ]


def test_the_list_is_plain_where_the_terminal_is(run: Run, three: None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LC_ALL", "C")
    assert run("tasks", "list").out.splitlines()[1] == "[!] 2 p2 Test it - blocked by 1 #tests"
    monkeypatch.setenv("COLUMNS", "24")
    assert all(len(line) <= 24 for line in run("tasks", "list").out.splitlines())


def test_colour_is_for_those_who_see_it(run: Run, three: None, monkeypatch: pytest.MonkeyPatch):
    assert "\x1b" not in run("tasks").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[33m⊘\x1b[0m" in run("tasks").out


def test_the_list_can_be_narrowed(run: Run, three: None):
    run("tasks", "done", "1")
    assert [task["id"] for task in _json(run, "list")] == ["2", "3"]
    assert [task["id"] for task in _json(run, "list", "--all")] == ["1", "2", "3"]
    assert [task["id"] for task in _json(run, "list", "--status", "completed")] == ["1"]
    assert [task["id"] for task in _json(run, "list", "--label", "tests")] == ["2"]
    assert [task["id"] for task in _json(run, "list", "--limit", "1")] == ["2"]
    told = "… and more, from 3 on; `--limit N` shows N of them, `--after 2` the next.\n"
    assert run("tasks", "list", "--limit", "1").out.endswith(told)
    assert [task["id"] for task in _json(run, "list", "--after", "2")] == ["3"]
    assert run("tasks", "list", "--after", "two").code == 1
    assert "No task is like that" in run("tasks", "list", "--owner", "nobody").out
    assert run("tasks", "list", "--status", "odd").code == 1


def test_a_finished_list_says_so(run: Run):
    run("tasks", "add", "One")
    run("tasks", "done", "1")
    assert "--all" in run("tasks").out
    assert run("tasks", "ready").out.startswith("Nothing is ready")
    assert "--all" in run("tasks", "graph").out


def test_ready_is_what_can_be_begun(run: Run, three: None):
    run("tasks", "add", "Urgent", "--priority", "0")
    assert [task["id"] for task in _json(run, "ready")] == ["4", "1"]
    run("tasks", "done", "1")
    assert [task["id"] for task in _json(run, "ready", "--label", "tests")] == ["2"]


def test_a_program_gets_every_task_and_a_person_is_told_that_there_are_more(run: Run, board: Board):
    with board:
        tasks = board.tasks()
        board.store.transact(lambda tx: [tasks.within(tx).create(f"Task {place}") for place in range(130)])
    assert len(_json(run, "list")) == len(_json(run, "ready")) == 130
    told = "… and more, from 101 on; `--limit N` shows N of them, `--after 100` the next.\n"
    assert run("tasks", "list").out.endswith(told)
    assert run("tasks", "ready").out.endswith("… and more; `--limit N` shows N of them.\n")
    assert "more" not in run("tasks", "ready", "--limit", "130").out


def test_lists_are_apart_and_the_environment_names_one(run: Run, monkeypatch: pytest.MonkeyPatch):
    run("tasks", "add", "Elsewhere", "--list", "other")
    assert _json(run, "list") == []
    monkeypatch.setenv("PUNCHLIST_TASK_LIST", "other")
    assert [task["subject"] for task in _json(run, "list")] == ["Elsewhere"]


@pytest.mark.parametrize(
    ("words", "found"),
    [(["1"], "1"), (["#2"], "2"), (["ship"], "3"), (["WRITE", "the"], "1"), (["test"], "2"), (["Test it"], "2")],
)
def test_a_task_is_known_by_its_id_or_by_what_only_its_subject_has(run: Run, three: None, words: list[str], found: str):
    assert _json(run, "show", *words)["id"] == found


@pytest.mark.usefixtures("person")
def test_what_fits_nothing_or_too_much_says_so_and_changes_nothing(run: Run, three: None):
    assert 'No task matched "zebra"' in run("tasks", "done", "zebra").err
    assert '"t" fits 2 tasks (1 Write the parser; 2 Test it); use an id' in run("tasks", "done", "t").err
    run("tasks", "done", "1")
    assert run("tasks", "done", "t").out == "Completed 2: Test it\n"  # the only one of them that is open
    assert run("tasks", "show", "99").code == 1


@pytest.mark.usefixtures("person")
def test_each_verb_says_what_it_did(run: Run, three: None):
    for arguments, said in (
        (["start", "parser"], "Started 1: Write the parser"),
        (["release", "1"], "Released 1: Write the parser"),
        (["claim", "1", "--lease", "60"], "Claimed 1: Write the parser (fence 3, lease 60 s)"),
        (["fail", "1", "no", "luck"], "Failed 1: Write the parser; `punchlist tasks retry 1` opens it again"),
        (["retry", "1"], "Opened again 1: Write the parser"),
        (["wait", "1"], "Waiting 1: Write the parser (waits for a person)"),
        (["resume", "1"], "Resumed 1: Write the parser"),
        (["done", "1"], "Completed 1: Write the parser"),
        (["unblock", "3", "2"], "Unblocked 3: Ship (still by 1)"),
        (["block", "3", "2"], "Blocked 3: Ship (by 1, 2)"),
        (["unblock", "ship"], "Unblocked 3: Ship"),
        (["edit", "ship", "--subject", "Ship it", "--priority", "4"], "Changed 3: Ship it"),
        (["cancel", "3", "never", "mind"], "Cancelled 3: Ship it"),
        (["delete", "3"], "Deleted 3: Ship it; `punchlist tasks history 3` still has its story"),
        (["start", "2"], "Started 2: Test it"),
        (["cancel", "2", "--request"], "Asked for 2: Test it to be cancelled by its worker"),
        (["release", "2"], "Cancelled 2: Test it"),
    ):
        ran = run("tasks", *arguments)
        assert (ran.code, ran.out, ran.err) == (0, f"{said}\n", ""), arguments


@pytest.mark.parametrize("verb", ["start", "done", "retry", "delete", "release", "fail", "cancel", "wait", "resume"])
def test_every_change_prints_its_task_as_one_line_of_json(run: Run, verb: str):
    run("tasks", "add", "One")
    for before in {"retry": ["done"], "release": ["start"], "resume": ["wait"]}.get(verb, []):
        run("tasks", before, "1")
    ran = run("tasks", verb, "1", "--json")
    assert ran.out.count("\n") == 1
    told = json.loads(ran.out)
    assert (told["id"], told["subject"]) == ("1", "One")
    assert {"status", "fence", "revision", "held_by", "progress", "ready", "blocked", "stuck_on"} <= told.keys()


@pytest.mark.usefixtures("person")
def test_several_ids_are_several_tasks(run: Run):
    for name in ("One", "Two", "Three"):
        run("tasks", "add", name)
    assert run("tasks", "done", "1", "3").out == "Completed 1: One\nCompleted 3: Three\n"
    assert [task["id"] for task in _json(run, "list")] == ["2"]


def test_a_result_is_json_or_a_text(run: Run):
    run("tasks", "add", "One")
    run("tasks", "add", "Two")
    run("tasks", "done", "1", "--result", '{"lines": 3}')
    run("tasks", "done", "2", "--result", "all well")
    assert (_task("1").result, _task("2").result) == ({"lines": 3}, "all well")


def test_a_blocked_task_is_refused_with_its_blockers_named(run: Run, three: None):
    for verb in ("start", "done", "claim"):
        ran = run("tasks", verb, "2")
        assert (ran.code, ran.out) == (1, "")
        assert "blocked by 1 (pending)" in ran.err


def test_a_cycle_is_refused_and_named(run: Run, three: None):
    ran = run("tasks", "block", "1", "3")
    assert ran.code == 1
    assert "waits for it" in ran.err


def test_claim_takes_what_is_next_and_nothing_is_an_answer_too(run: Run, three: None):
    taken = _json(run, "claim", "--by", "w1", "--reserve", "src/**")
    assert (taken["id"], taken["owner"], taken["fence"], taken["reserved"]) == ("1", "w1", 1, ["src/**"])
    ran = run("tasks", "claim", "--json")
    assert (ran.code, ran.out) == (1, "")
    assert "Nothing is ready" in ran.err


def test_claim_takes_several_and_by_label(run: Run):
    for name in ("One", "Two", "Three"):
        run("tasks", "add", name, "--label", name.lower())
    assert run("tasks", "claim", "--label", "three").out.startswith("Claimed 3")
    assert [line.partition(":")[0] for line in run("tasks", "claim", "--limit", "5").out.splitlines()] == [
        "Claimed 1",
        "Claimed 2",
    ]


def test_an_old_fence_is_refused(run: Run):
    run("tasks", "add", "One")
    run("tasks", "claim")
    run("tasks", "release", "1")
    run("tasks", "claim")
    for verb in ("done", "fail", "release", "cancel", "wait"):
        ran = run("tasks", verb, "1", "--fence", "1")
        assert ran.code == 1
        assert "changed hands" in ran.err
    assert run("tasks", "done", "1", "--fence", "3").code == 0


def test_a_worker_s_own_commands_show_its_fence(run: Run, monkeypatch: pytest.MonkeyPatch, project: Path):
    run("tasks", "add", "One")
    task = _json(run, "claim")
    monkeypatch.setenv("PUNCHLIST_TASK_ID", "1")
    monkeypatch.setenv("PUNCHLIST_TASK_LIST", task["list"])
    monkeypatch.setenv("PUNCHLIST_TASK_FENCE", "0")
    assert "changed hands" in run("tasks", "done", "1").err
    monkeypatch.setenv("PUNCHLIST_TASK_FENCE", str(task["fence"]))
    assert run("tasks", "done", "1").code == 0
    assert _task("1").fence == task["fence"]


def test_a_checklist_is_ticked_before_its_task_is_done(run: Run):
    run("tasks", "add", "One", "--check", "unit", "--check", "whole")
    assert "still open: unit; whole" in run("tasks", "done", "1").err
    assert run("tasks", "check", "1", "2").out == "Checked 1: One (1 of 2)\n"
    assert run("tasks", "check", "1", "whole", "--undo").out == "Checked 1: One (0 of 2)\n"
    assert run("tasks", "check", "1", "odd").code == 1
    run("tasks", "check", "1")
    assert run("tasks", "done", "1").code == 0


def test_a_wait_ends_by_a_time_an_event_or_a_person(run: Run):
    for name in ("One", "Two", "Three"):
        run("tasks", "add", name)
    assert run("tasks", "wait", "1", "--until", "10m").out == "Waiting 1: One (resumes in 10 min)\n"
    ran = run("tasks", "wait", "two", "--topic", "deploy", "--correlation", "42")
    assert ran.out == "Waiting 2: Two (waits for deploy 42)\n"
    run("tasks", "wait", "3")
    assert run("tasks", "signal", "deploy", "42", '{"ok": true}').out == "Delivered to 2: Two\n"
    assert _task("2").state == {"resume_event": {"ok": True}}
    assert run("tasks", "resume", "1", "3").out == "Resumed 1: One\nResumed 3: Three\n"


def test_an_event_that_nobody_waits_for_is_kept_if_asked(run: Run):
    run("tasks", "add", "One")
    ran = run("tasks", "signal", "deploy", "42")
    assert (ran.code, ran.out) == (1, "")
    assert "--keep" in ran.err
    assert run("tasks", "signal", "deploy", "42", "--keep").code == 0
    ran = run("tasks", "wait", "1", "--topic", "deploy", "--correlation", "42")
    assert ran.out == "Did not have to wait: what 1: One waits for had come already\n"


@pytest.mark.parametrize("time", ["soon", "10", "2020-01-01", "2999-01-01T00:00", "99999999999d", "-5m"])
def test_a_time_that_is_none_is_refused(run: Run, time: str):
    run("tasks", "add", "One")
    ran = run("tasks", "wait", "1", f"--until={time}")
    assert (ran.code, ran.out) == (1, "")
    assert _task("1").status is TaskStatus.PENDING


def test_edit_changes_only_what_it_is_told(run: Run):
    run("tasks", "add", "One", "--label", "a", "--description", "more")
    assert run("tasks", "edit", "1").code == 1
    run("tasks", "edit", "1", "--label", "b", "--owner", "bob")
    task = _task("1")
    assert (task.subject, task.labels, task.description, task.owner) == ("One", ("b",), "more", "bob")


def test_the_same_task_again_is_no_change(run: Run):
    run("tasks", "add", "One")
    run("tasks", "start", "1")
    before = _task("1").revision
    run("tasks", "start", "1")
    assert _task("1").revision == before

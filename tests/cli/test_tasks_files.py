"""Lists of tasks as files: `punchlist tasks export` and `import`."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.board import Board
from punchlist.core.task import Task, TaskStatus
from punchlist.errors import InvalidInput, TaskError
from punchlist.tasks.exchange import dump, import_tasks, load
from tests.cli.conftest import Run


def _tasks(list: str | None = None) -> tuple[Task, ...]:
    with Board.open() as board:
        return board.tasks(list).list()


@pytest.fixture
def every_status(run: Run) -> None:
    for name in ("Done", "Failed", "Cancelled", "Waiting", "Started", "Claimed", "Pending", "Blocked"):
        run("tasks", "add", name, "--label", "a", "--description", "More")
    run("tasks", "add", "Part", "--parent", "7", "--check", "unit")
    run("tasks", "done", "1", "--result", "[1]")
    run("tasks", "fail", "2", "no luck")
    run("tasks", "cancel", "3", "never mind")
    run("tasks", "wait", "4", "--topic", "t", "--correlation", "c")
    run("tasks", "start", "5", "--by", "bob")
    run("tasks", "claim", "6", "--by", "w1")
    run("tasks", "block", "8", "7")
    run("tasks", "block", "1", "7")


@pytest.mark.usefixtures("every_status")
def test_what_is_exported_comes_back_in_another_list(run: Run):
    assert run("tasks", "export", "all.json").out == "Wrote 9 tasks to all.json\n"
    assert run("tasks", "import", "all.json", "--list", "new").out == "Imported 9 tasks from all.json\n"
    old, new = _tasks(), _tasks("new")
    for name in ("id", "subject", "description", "labels", "blocked_by", "parent", "checklist", "result", "failure"):
        assert [getattr(task, name) for task in old] == [getattr(task, name) for task in new], name
    expected = [task.status if task.subject != "Claimed" else TaskStatus.PENDING for task in old]
    assert [task.status for task in new] == expected
    assert new[4].owner == "bob"
    assert new[3].wait is not None
    assert (new[3].wait.topic, new[3].wait.correlation_id) == ("t", "c")


@pytest.mark.usefixtures("every_status")
def test_the_same_file_again_adds_nothing(run: Run):
    run("tasks", "export", "all.json")
    run("tasks", "import", "all.json", "--list", "new")
    assert run("tasks", "import", "all.json", "--list", "new").out.startswith("Nothing to import")
    assert len(_tasks("new")) == 9


@pytest.mark.usefixtures("every_status")
@pytest.mark.parametrize("file", ["all.json", "all.md"])
def test_a_list_that_is_imported_into_itself_does_not_change(run: Run, file: str):
    before = _tasks()
    run("tasks", "export", file)
    assert run("tasks", "import", file).out.startswith("Nothing to import")
    assert _tasks() == before


def test_of_an_older_export_only_the_tasks_come_back_that_are_gone(run: Run):
    for subject in ("Cut", "Sew"):
        run("tasks", "add", subject)
    run("tasks", "block", "2", "1")
    run("tasks", "export", "all.json")
    run("tasks", "delete", "2")
    assert run("tasks", "import", "all.json").out == "Imported 1 task from all.json; 1 were on the list already\n"
    assert [(task.subject, task.blocked_by) for task in _tasks()] == [("Cut", ()), ("Sew", ("1",))]


def test_a_checklist_becomes_tasks_in_its_order(run: Run, project: Path):
    (project / "plan.md").write_text("- [x] Read\n\n## Code\n- [>] Write\n  > carefully\n- [ ] Test\n- [!] Ship\n")
    assert run("tasks", "import", "plan.md", "--in-order").out == "Imported 4 tasks from plan.md\n"
    read, write, test, ship = _tasks()
    assert [task.status.value for task in (read, write, test, ship)] == [
        "completed",
        "in_progress",
        "pending",
        "waiting",
    ]
    assert (write.labels, write.description) == (("Code",), "carefully")
    assert [task.blocked_by for task in (read, write, test, ship)] == [(), ("1",), ("2",), ("3",)]
    run("tasks", "export", "again.md")
    assert (project / "again.md").read_text() == (project / "plan.md").read_text()


def test_markers_of_others_are_named(run: Run, project: Path):
    (project / "list.txt").write_text("[x] One\n[-] Two\n")
    assert run("tasks", "import", "list.txt", "--format", "roo").code == 0
    assert [task.status.value for task in _tasks()] == ["completed", "in_progress"]
    assert run("tasks", "import", "list.txt", "--format", "odd").code == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        '{"kind": "other"}',
        '{"kind": "punchlist-tasks", "version": 9, "tasks": []}',
        '{"kind": "punchlist-tasks", "version": 1}',
        '{"kind": "punchlist-tasks", "version": 1, "tasks": []}',
        '{"kind": "punchlist-tasks", "version": 1, "tasks": [7]}',
        '{"kind": "punchlist-tasks", "version": 1, "tasks": [{"id": "1"}]}',
        '{"kind": "punchlist-tasks", "version": 1, "tasks": [{"id": "1", "subject": "a"}, {"id": "1", "subject": ""}]}',
        "[" * 100_000,
    ],
)
def test_a_file_that_is_no_export_is_named_and_nothing_is_imported(run: Run, project: Path, text: str):
    (project / "bad.json").write_text(text)
    ran = run("tasks", "import", "bad.json")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.count("\n") == 1
    assert _tasks() == ()


def test_one_task_that_cannot_be_made_leaves_none(run: Run, project: Path):
    tasks = [{"id": "1", "subject": "good"}, {"id": "2", "subject": "bad", "priority": 77}]
    (project / "bad.json").write_text(json.dumps({"kind": "punchlist-tasks", "version": 1, "tasks": tasks}))
    assert run("tasks", "import", "bad.json").code == 1
    assert _tasks() == ()


def test_a_cycle_in_a_file_is_refused_whole(run: Run, project: Path):
    tasks = [{"id": "1", "subject": "a", "blocked_by": ["2"]}, {"id": "2", "subject": "b", "blocked_by": ["1"]}]
    (project / "bad.json").write_text(json.dumps({"kind": "punchlist-tasks", "version": 1, "tasks": tasks}))
    assert "1 → 2 → 1" in run("tasks", "import", "bad.json").err
    assert _tasks() == ()


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"blocked_by": ["404"]}, "Task `7` of the file waits for `404`, which is not in it"),
        ({"parent": "404"}, "Task `7` of the file lies below `404`, which is not in it"),
        ({"parent": "7"}, "are parents of each other in a cycle: 7 → 7"),
        ({"blocked_by": "1"}, "Task number 2 of the file cannot be read: its `blocked_by` is no list of ids"),
        ({"status": "zz"}, "Task number 2 of the file cannot be read: There is no status `zz`"),
        ({"labels": 5}, "Task number 2 of the file cannot be read: its `labels` is not what an export has there"),
        ({"priority": 9}, "Task `7` of the file: A priority is a number"),
    ],
)
def test_a_refused_file_is_spoken_of_in_its_own_words_and_nothing_is_imported(
    run: Run, project: Path, entry: dict[str, Any], said: str
):
    tasks = [{"id": "1", "subject": "good"}, {"id": "7", "subject": "bad", **entry}]
    (project / "bad.json").write_text(json.dumps({"kind": "punchlist-tasks", "version": 1, "tasks": tasks}))
    ran = run("tasks", "import", "bad.json")
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err
    assert _tasks() == ()


def test_an_entry_that_is_no_object_is_named_by_its_place(run: Run, project: Path):
    (project / "bad.json").write_text('{"kind": "punchlist-tasks", "version": 1, "tasks": [5]}')
    assert "Task number 1 of the file cannot be read: it is no object." in run("tasks", "import", "bad.json").err


def test_an_order_that_the_edges_of_the_file_forbid_is_refused_by_its_names(run: Run, project: Path):
    tasks = [{"id": "1", "subject": "a", "blocked_by": ["7"]}, {"id": "7", "subject": "b"}]
    (project / "plan.json").write_text(json.dumps({"kind": "punchlist-tasks", "version": 1, "tasks": tasks}))
    assert "Task `7` of the file waits for a later one" in run("tasks", "import", "plan.json", "--in-order").err
    assert _tasks() == ()


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_FIELDS = Task.__struct_fields__


@given(st.lists(st.dictionaries(st.sampled_from(_FIELDS), _VALUES, max_size=8), max_size=4))
def test_whatever_a_file_says_is_taken_or_refused_in_a_sentence(entries: list[dict[str, Any]]):
    told = [{"id": str(place), "subject": "x", **entry} for place, entry in enumerate(entries)]
    with Board.open("memory:") as board:
        tasks = board.tasks("l")
        try:
            found = load({"kind": "punchlist-tasks", "version": 1, "tasks": told})
            board.store.transact(lambda tx: import_tasks(tasks.within(tx), found, key="k"))
        except (InvalidInput, TaskError):
            assert tasks.list() == ()
        else:
            assert len(tasks.list()) == len(entries)
            assert load(json.loads(json.dumps(dump("l", tasks.list())))) is not None


def test_a_file_of_somebody_else_is_not_overwritten(run: Run, project: Path):
    run("tasks", "add", "One")
    (project / "notes.json").write_text('{"mine": 1}')
    assert run("tasks", "export", "notes.json").code == 1
    assert (project / "notes.json").read_text() == '{"mine": 1}'
    assert run("tasks", "export", "notes.json", "--force").code == 0
    assert run("tasks", "export", "notes.json").code == 0
    (project / "link.json").symlink_to("notes.json")
    assert run("tasks", "export", "link.json").code == 1


def test_what_was_written_or_added_is_told_as_json(run: Run):
    run("tasks", "add", "One")
    told = json.loads(run("tasks", "export", "all.md", "--json").out)
    assert told == {"path": "all.md", "format": "punchlist", "tasks": 1}
    ran = run("tasks", "import", "all.md", "--list", "new", "--json")
    assert json.loads(ran.out)["subject"] == "One"


def test_an_empty_list_is_not_exported(run: Run):
    assert "punchlist tasks add" in run("tasks", "export").err


def test_a_list_goes_to_claude_code_s_folder_and_comes_back(run: Run, project: Path):
    run("tasks", "add", "One", "--list", "team")
    run("tasks", "add", "Two", "--blocked-by", "1", "--list", "team")
    ran = run("tasks", "export", "claude", "--format", "claude", "--list", "team")
    assert (ran.code, ran.out) == (0, f"Wrote 2 tasks to {project / 'claude' / 'team'}\n")
    assert json.loads((project / "claude" / "team" / "2.json").read_text())["blockedBy"] == ["1"]
    ran = run("tasks", "import", "claude/team", "--list", "copy")
    assert ran.out == "Imported 2 new tasks from claude/team to the list copy; see it with --list.\n"
    assert [(task.subject, task.blocked_by) for task in _tasks("copy")] == [("One", ()), ("Two", ("1",))]
    told = json.loads(run("tasks", "import", "claude/team", "--json").out)
    assert told == {"path": "claude/team", "format": "claude", "list": "team", "tasks": 0}


def test_claude_code_s_folder_is_made_as_a_folder_where_it_is_not_there_yet(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(project))
    run("tasks", "add", "One", "--list", "team")
    assert run("tasks", "export", "~/.claude/tasks", "--list", "team").code == 0
    assert (project / ".claude" / "tasks" / "team" / "1.json").is_file()
    assert run("tasks", "export", "elsewhere/", "--list", "team").code == 0
    assert (project / "elsewhere" / "team" / "1.json").is_file()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(project / "config"))
    assert run("tasks", "export", "config/tasks", "--list", "team").code == 0
    assert (project / "config" / "tasks" / "team" / "1.json").is_file()


def test_a_folder_that_is_not_claude_code_s_is_refused_and_left_as_it_is(run: Run, project: Path):
    (project / "code").mkdir()
    for name in ("package.json", "1.json"):
        (project / "code" / name).write_text("{}")
        ran = run("tasks", "import", "code")
        assert (ran.code, ran.out) == (1, "")
        assert "holds no task files" in ran.err
    assert sorted(path.name for path in (project / "code").iterdir()) == ["1.json", "package.json"]


def test_a_file_that_cannot_be_written_is_named_as_it_was_typed(run: Run):
    run("tasks", "add", "One")
    ran = run("tasks", "export", "nowhere/x.json")
    assert ran.code == 1
    assert "`nowhere/x.json`" in ran.err


def test_what_cannot_be_a_folder_of_claude_code_s_is_a_sentence(run: Run, project: Path):
    run("tasks", "add", "One")
    for arguments in (
        ("export", ".", "--list", "project:/x/y"),
        ("export", "."),
        ("import", "nowhere", "--format", "claude"),
        ("import", ".", "--in-order"),
    ):
        ran = run("tasks", *arguments)
        assert (ran.code, ran.out) == (1, ""), arguments
        assert ran.err.count("\n") == 1


def test_in_order_leaves_alone_what_was_begun_or_is_over(run: Run, project: Path):
    (project / "plan.md").write_text("- [ ] One\n- [x] Two\n- [ ] Three\n")
    run("tasks", "import", "plan.md", "--in-order")
    with Board.open() as board:
        tasks = board.tasks().list()
    assert [(task.status.value, task.blocked_by) for task in tasks] == [
        ("pending", ()),
        ("completed", ()),
        ("pending", ("1", "2")),
    ]

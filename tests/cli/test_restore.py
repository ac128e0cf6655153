"""`punchlist restore`: found, said, taken over."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from punchlist.board import Board
from tests.cli.conftest import Run
from tests.transcripts.records import SESSION, meta, output, plan, result, save, todos, write
from tests.transcripts.test_claude_tasks import RECORDS, create


@pytest.fixture
def home(own_home: Path) -> Path:
    return own_home


def records(project: Path, *items: str, session: str = SESSION) -> list[dict[str, Any]]:
    place: dict[str, Any] = {"cwd": str(project), "sessionId": session}
    return [write("t1", *items, second=3, **place), result("t1", *items, second=4, **place)]


def claude_file(home: Path, project: Path, name: str = f"{SESSION}.jsonl") -> Path:
    folder = "".join(char if char.isalnum() else "-" for char in str(project))
    return home / ".claude" / "projects" / folder / name


def test_a_file_is_restored_and_shown_like_any_other_list(run: Run, project: Path, tmp_path: Path) -> None:
    path = save(tmp_path / "run.jsonl", [*records(project, "x Saw", "x Glue", "> Oil", "Sand", "Sell"), '{"cut'])
    ran = run("restore", str(path))
    assert ran.code == 0
    assert ran.out.splitlines() == [
        f"Restored 2/5 for project · claude {SESSION[-6:]} from {path} (claude-code).",
        "1 line was broken and skipped.",
    ]
    assert run("todos").out.splitlines()[0] == "5 items: from run.jsonl"
    (shown,) = json.loads(run("todos", "--json").out)
    assert (shown["progress"], shown["label"]) == ({"done": 2, "total": 5, "percent": 40}, "from run.jsonl")
    again = run("restore", str(path))
    assert (again.code, again.out.startswith(f"The list of project · claude {SESSION[-6:]} is already")) == (0, True)


def test_the_newest_transcript_of_the_project_is_found(run: Run, project: Path, home: Path) -> None:
    old = save(claude_file(home, project, "old.jsonl"), records(project, "Old", session="old"))
    os.utime(old, (1, 1))
    save(claude_file(home, project.parent, "far.jsonl"), records(project.parent, "Far", session="far"))
    new = save(claude_file(home, project), records(project, "New"))
    assert run("restore").out.startswith(f"Restored 0/1 for project · claude {SESSION[-6:]} from {new}")
    rollout = home / ".codex" / "sessions" / "2026" / "03" / "01" / "rollout-2026-03-01T09-00-00-t-1.jsonl"
    save(rollout, [meta(cwd=str(project)), plan("c1", "x Saw", "Glue"), output("c1")])
    os.utime(rollout, (4e9, 4e9))
    save(
        rollout.with_name("rollout-far.jsonl"), [meta("t-2", cwd=str(project.parent)), plan("c1", "Far"), output("c1")]
    )
    os.utime(rollout.with_name("rollout-far.jsonl"), (5e9, 5e9))
    assert run("restore").out.startswith(f"Restored 1/2 for project · codex t-1 from {rollout} (codex).")


def test_a_session_is_found_by_its_id(run: Run, project: Path, home: Path) -> None:
    save(claude_file(home, project), records(project, "New"))
    assert run("restore", SESSION).code == 0
    todos_file = home / ".qwen" / "todos" / "q1.json"
    todos_file.parent.mkdir(parents=True)
    todos_file.write_text(
        json.dumps({"todos": [{"id": "1", "content": "Saw", "status": "completed"}], "sessionId": "q1"})
    )
    assert "Restored 1/1 for project · qwen q1" in run("restore", "q1").out
    for name in ("nope", "../../etc", "*"):
        ran = run("restore", name)
        assert (ran.code, ran.out) == (1, "")


def test_nothing_to_find_says_what_to_do(run: Run) -> None:
    ran = run("restore")
    assert (ran.code, ran.out) == (1, "")
    assert "name a file, or the id of a session" in ran.err


def test_a_dry_run_shows_the_list_and_changes_nothing(run: Run, project: Path, tmp_path: Path) -> None:
    path = save(tmp_path / "run.jsonl", records(project, "x Saw", "> Oil"))
    ran = run("restore", str(path), "--dry-run")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        f"Found 1/2, written 2026-03-01 09:00:03 UTC, in {path} (claude-code).",
        "  ● Saw",
        "  ▸ Oil",
    ]
    assert "There are no lists" in run("todos", "--all").out


def test_json_tells_all_of_it(run: Run, project: Path, tmp_path: Path) -> None:
    path = save(tmp_path / "run.jsonl", records(project, "x Saw", "> Oil"))
    told = json.loads(run("restore", str(path), "--json").out)
    assert (told["format"], told["session"], told["agent"], told["skipped"]) == ("claude-code", SESSION, "main", 0)
    assert (told["progress"], told["restored"], told["changed"]) == ({"done": 1, "total": 2}, True, True)
    assert told["items"][1] == {"content": "Oil", "status": "in_progress"}


def test_a_later_list_of_the_board_stands_unless_forced(run: Run, board: Board, project: Path, tmp_path: Path) -> None:
    with board:
        agent = board.agent("main", session=SESSION, dialect="claude-code")
        agent.call("TodoWrite", {"todos": todos("Sand")})
    path = save(tmp_path / "run.jsonl", records(project, "Saw"))
    ran = run("restore", str(path))
    assert (ran.code, "--force" in ran.out) == (1, True)
    assert run("restore", str(path), "--force").code == 0
    assert run("todos").out.splitlines()[1:2] == ["  ○ Saw"]


def test_session_and_agent_can_be_chosen(run: Run, project: Path, tmp_path: Path) -> None:
    path = save(tmp_path / "run.jsonl", records(project, "Saw"))
    assert run("restore", str(path), "--session", "s9", "--agent", "worker").code == 0
    assert run("todos", "--session", "s9", "--agent", "worker").out.splitlines()[1:] == ["  ○ Saw"]


def test_subagents_that_still_owe_something_come_along(run: Run, project: Path, home: Path) -> None:
    main = save(claude_file(home, project), records(project, "Saw"))
    for name, item in (("a1", "> Look"), ("a2", "x Done")):
        file = main.with_suffix("") / "subagents" / f"agent-{name}.jsonl"
        save(file, [write("t1", item, isSidechain=True, agentId=name, cwd=str(project))])
    assert run("restore").out.rstrip().endswith("Subagents: agent-a1.")
    assert "agent-a1 (from agent-a1.jsonl) — Items (0/1)" in run("todos").out
    assert run("restore").code == 0
    assert run("todos").out.count("agent-a") == 2


def test_the_transcript_of_a_subagent_goes_to_a_child_of_its_own(run: Run, project: Path, home: Path) -> None:
    main = save(claude_file(home, project), records(project, "Saw"))
    file = main.with_suffix("") / "subagents" / "agent-a1.jsonl"
    save(file, [write("t1", "> Look", isSidechain=True, agentId="a1", cwd=str(project))])
    file.with_suffix(".meta.json").write_text('{"agentType": "explorer"}')
    assert run("restore", str(main)).out.rstrip().endswith("Subagents: explorer.")
    ran = run("restore", str(file), "--force")
    assert ran.out.startswith(f"The list of project · claude {SESSION[-6:]} · explorer is already")
    with file.open("a") as log:
        log.write(json.dumps(write("t2", "x Look", "> Tell", isSidechain=True, agentId="a1", second=9)) + "\n")
    assert run("restore", str(file)).out.startswith(f"Restored 1/2 for project · claude {SESSION[-6:]} · explorer")
    kept = {row["agent"]: row["items"][0]["content"] for row in json.loads(run("todos", "--json").out)}
    assert kept == {"main": "Saw", "explorer": "Look"}
    assert run("restore", str(file), "--history", "--agent", "by-hand").out.startswith("Imported 2 writes of shed")


@pytest.mark.parametrize(
    ("told", "name"),
    [({"agent_nickname": "Mole"}, "Mole"), ({"agent_nickname": "\x1b[2J"}, "agent-t-2"), ({}, "agent-t-2")],
)
def test_the_rollout_of_a_subagent_goes_to_a_child_of_its_own(
    run: Run, project: Path, tmp_path: Path, told: dict[str, Any], name: str
) -> None:
    whole = [meta("t-1", cwd=str(project)), plan("c1", "> Saw"), output("c1")]
    run("restore", str(save(tmp_path / "rollout-t-1.jsonl", whole)))
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "t-1", "depth": 1, **told}}}
    part = [meta("t-2", cwd=str(project), source=source), plan("c1", "> Dig"), output("c1")]
    path = save(tmp_path / "rollout-t-2.jsonl", part)
    assert run("restore", str(path)).out.startswith(f"Restored 0/1 for project · codex t-1 · {name}")
    rows = json.loads(run("todos", "--session", "t-1", "--json").out)
    assert {row["agent"]: row["items"][0]["content"] for row in rows} == {"main": "Saw", name: "Dig"}


def test_a_subagent_without_a_list_leaves_no_trace(run: Run, board: Board, project: Path, tmp_path: Path) -> None:
    source = {"subagent": "review"}
    path = save(tmp_path / "rollout-t-2.jsonl", [meta("t-2", cwd=str(project), source=source)])
    assert run("restore", str(path)).code == 1
    with board:
        assert list(board.events()) == []
    whole = [meta("t-2", cwd=str(project), source=source), plan("c1", "> Dig"), output("c1")]
    assert run("restore", str(save(path, whole))).out.startswith("Restored 0/1 for project · codex t-2 · agent-t-2")


def test_the_whole_history_is_imported(run: Run, project: Path, tmp_path: Path) -> None:
    more = write("t2", "x Saw", second=9, cwd=str(project))
    path = save(
        tmp_path / "run.jsonl", [*records(project, "Saw"), more, write("t3", "Oil", second=10, cwd=str(project))]
    )
    assert run("restore", str(path), "--history").out.startswith("Imported 3 writes of project · claude 000001")
    assert run("restore", str(path), "--history").out.startswith("Imported 0 writes of project · claude 000001")
    assert run("todos").out == "1 item:\n  ○ Oil\n"


@pytest.mark.parametrize("text", ["no transcript\n", '{"a": 1}\n'])
def test_what_is_no_transcript_is_said_in_one_sentence(run: Run, tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    ran = run("restore", str(path))
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (1, "", 1)
    assert "name its format" in ran.err


def test_tasks_come_with_the_list_and_from_subagents(run: Run, own_home: Path, project: Path) -> None:
    path = claude_file(own_home, project)
    save(path, [*RECORDS, *records(project, "> Saw")])
    save(path.with_suffix("") / "subagents" / "agent-7.jsonl", create(3, "Lock up"))
    ran = run("restore", str(path))
    assert ran.code == 0
    assert ran.out.strip().endswith(f"Replayed 6 task calls on the list session:{SESSION}.")
    with Board.open() as board:
        assert [task.subject for task in board.tasks(f"session:{SESSION}").list()] == ["Paint", "Sweep", "Lock up"]
    assert json.loads(run("restore", str(path), "--json").out)["task_calls"] == 0


def test_a_transcript_of_tasks_alone_is_one_too(run: Run, tmp_path: Path) -> None:
    ran = run("restore", str(save(tmp_path / "run.jsonl", RECORDS)))
    assert ran.code == 0
    assert "Replayed 5 task calls" in ran.out


def test_a_dry_run_tells_of_tasks_and_a_second_run_succeeds_as_the_first(run: Run, tmp_path: Path) -> None:
    path = str(save(tmp_path / "run.jsonl", RECORDS))
    ran = run("restore", path, "--dry-run")
    assert (ran.code, ran.out.split(" in ")[0]) == (0, "Found 5 task calls")
    told = json.loads(run("restore", path, "--dry-run", "--json").out)
    assert (told["found"], told["task_calls"]) == (True, 5)
    assert run("restore", path).code == 0
    again = run("restore", path)
    assert again.code == 0
    assert "all on the board" in again.out
    told = json.loads(run("restore", path, "--json").out)
    assert (told["found"], told["restored"], told["changed"], told["task_calls"]) == (True, True, False, 0)


@pytest.mark.parametrize("how", [(), ("--history",), ("--with-work",)])
@pytest.mark.usefixtures("person")
def test_a_copy_is_read_only_until_its_agent_is_attached(
    run: Run, board: Board, project: Path, tmp_path: Path, how: tuple[str, ...]
) -> None:
    path = save(tmp_path / "run.jsonl", records(project, "x Saw", "> Oil", "Sand"))
    for _ in range(2):  # restored again, it stays a copy
        assert run("restore", str(path), *how).code == 0
        for words in (["done", "oil"], ["append", "Sell", "--session", SESSION], ["rm", "--all", "--yes"], ["edit"]):
            ran = run("todo", *words, "--session", SESSION)
            assert (ran.code, ran.out) == (1, ""), words
            assert f"The list of project · claude {SESSION[-6:]} is read-only: it is a copy from {path}" in ran.err
            assert "`punchlist attach claude-code` attaches Claude Code; then resume the session there" in ran.err
        assert run("todo", "undo").code == 1
    assert run("todo", "export", "-", "--session", SESSION).code == 0
    assert run("todo", "append", "Mine").out.startswith("Appended: Mine (project · yours)")
    with board:
        agent = board.agent("main", session=SESSION, dialect="claude-code", project=project)
        agent.tool_started("c1", "Bash", {"command": "ls"})
    assert run("todo", "done", "oil").out == f"Marked completed: Oil (project · main {SESSION[-6:]})\n"
    assert run("restore", str(path), *how).code == 0
    assert run("todo", "start", "sand").out == f"Started: Sand (project · main {SESSION[-6:]})\n"


@pytest.mark.parametrize("how", [(), ("--history",), ("--with-work",)])
@pytest.mark.usefixtures("person")
def test_tasks_of_a_copied_session_are_read_only_until_its_agent_is_attached(
    run: Run, board: Board, project: Path, tmp_path: Path, how: tuple[str, ...]
) -> None:
    path, name = str(save(tmp_path / "run.jsonl", RECORDS)), f"session:{SESSION}"
    for _ in range(2):  # restored again, they stay a copy
        assert run("restore", path, *how).code == 0
        for words in (["done", "2"], ["start", "2"], ["add", "Sell"], ["cancel", "2"], ["delete", "2"], ["claim"]):
            ran = run("tasks", *words, "--list", name)
            assert (ran.code, ran.out) == (1, ""), words
            assert f"The tasks of shed · claude {SESSION[-6:]} are read-only: they are a copy from {path}" in ran.err
            assert "`punchlist attach claude-code` attaches Claude Code; then resume the session there" in ran.err
    assert run("tasks", "list", "--all", "--list", name).code == 0
    assert "Sweep" in run("todos", "--session", SESSION).out
    with board:
        agent = board.agent("main", session=SESSION, dialect="claude-tasks", project=project)
        agent.call("TaskCreate", {"subject": "Oil", "description": ""})
    assert run("tasks", "start", "Oil", "--list", name).code == 0
    assert run("restore", path, *how).code == 0
    assert run("tasks", "done", "Oil", "--list", name).code == 0


def test_a_list_that_its_own_program_restored_is_no_copy(run: Run, board: Board, project: Path, tmp_path: Path) -> None:
    path = save(tmp_path / "run.jsonl", records(project, "> Oil"))
    with board:
        assert board.agent("main", session=SESSION, dialect="claude-code", project=project).restore(path)
    assert run("todo", "start", "oil").code == 0


def save_messages(path: Path, *items: str) -> Path:
    """Write a conversation with our own tool, as an Anthropic client keeps it; it tells of no session."""
    use = {"type": "tool_use", "id": "t1", "name": "todo", "input": {"set": list(items)}}
    told = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    path.write_text(
        json.dumps([{"role": "assistant", "content": [use]}, {"role": "user", "content": [told]}]), encoding="utf-8"
    )
    return path


@pytest.mark.usefixtures("person")
def test_plain_messages_are_restored_to_a_session_of_their_own(run: Run, board: Board, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        path = save_messages(tmp_path / folder / "own.json", f"Oil {folder}", f"Sand {folder}")
        told = json.loads(run("restore", str(path), "--json").out)
        assert (told["restored"], told["session"].startswith("own-json-")) == (True, True)
        assert run("restore", str(path)).out.startswith(f"The list of project · messages {told['session']} is already")
        ran = run("todo", "undo")
        assert ran.code == 1
        assert f'`board.agent("main", session="{told["session"]}")`' in ran.err
    assert run("todo", "append", "Buy milk").out.startswith("Appended: Buy milk (project · yours)")
    assert run("todo", "append", "Buy bread").code == 0
    lists = [[item.content for item in row.todos.items] for row in board.lists()]
    assert sorted(lists) == [["Buy milk", "Buy bread"], ["Oil a", "Sand a"], ["Oil b", "Sand b"]]
    assert run("todo", "undo").out.startswith("Took back")


@pytest.mark.usefixtures("person")
def test_a_copy_stays_read_only_also_as_the_persons_own_session(run: Run, board: Board, tmp_path: Path) -> None:
    run("todo", "append", "Buy milk")
    (mine,) = (row.session for row in board.lists())
    other, path = str(tmp_path / "other.db"), str(save_messages(tmp_path / "a.json", "Oil"))
    assert run("restore", path, "--session", mine, "--db", other).code == 0
    for words in (["append", "Sell"], ["append", "Sell", "--mine"], ["undo"], ["undo", "--mine"]):
        ran = run("todo", *words, "--db", other)
        assert (ran.code, "is read-only" in ran.err) == (1, True), words

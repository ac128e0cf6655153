"""Claude Code's own files of lists and tasks: shown read-only for a session of which there is no log."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from punchlist import Board
from punchlist.cli import main
from punchlist.errors import EditRefused, TaskError
from punchlist.logs.watcher import Watcher
from punchlist.views.list_owners import check_tasks_editable, open_list_owner
from tests.logs.machine import Machine, catch_up, counts, make_machine, snapshot
from tests.logs.task_folders import put
from tests.transcripts.sessions import ClaudeSession

SESSION = "5c1de2a0-0000-4000-8000-000000000001"
LIST = f"session:{SESSION}"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return make_machine(tmp_path, monkeypatch)


def put_list(machine: Machine, *rows: str, session: str = SESSION, agent: str = SESSION, later: int = 0) -> Path:
    """Write a list file as Claude Code does; `> ` begins an item in progress, `x ` a completed one."""
    signs = {">": "in_progress", "x": "completed"}
    items = [
        {"content": row.lstrip(">x "), "status": signs.get(row[0], "pending"), "activeForm": row.lstrip(">x ")}
        for row in rows
    ]
    path = machine.home / ".claude" / "todos" / f"{session}-agent-{agent}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(items))
    at = datetime.now(UTC) - timedelta(hours=1) + timedelta(seconds=later)
    os.utime(path, (at.timestamp(), at.timestamp()))
    return path


def tasks_folder(machine: Machine, name: str = SESSION) -> Path:
    return machine.home / ".claude" / "tasks" / name


def shown(machine: Machine, agent: str = "main", session: str = SESSION) -> list[tuple[str, str]]:
    machine.watch()
    with Board.open(machine.board) as board:
        todos = board.agent(agent, session=session).todos
        return [(item.content, item.status.value) for item in todos.items]


def shown_tasks(machine: Machine, name: str = LIST) -> list[tuple[str, str, str]]:
    machine.watch()
    with Board.open(machine.board) as board:
        return [(task.id, task.subject, task.status.value) for task in board.tasks(name).list()]


# Lists.


def test_the_list_of_an_unknown_session_is_shown_and_followed(machine: Machine) -> None:
    put_list(machine, "> Saw", "Glue")
    put_list(machine, "> Look", agent="helper")
    before = snapshot(machine.home)
    assert shown(machine) == [("Saw", "in_progress"), ("Glue", "pending")]
    assert shown(machine, "helper") == [("Look", "in_progress")]
    assert (snapshot(machine.home), machine.problems) == (before, [])
    put_list(machine, "x Saw", "> Glue", later=1)
    assert shown(machine) == [("Saw", "completed"), ("Glue", "in_progress")]
    number = len(machine.events())
    assert shown(machine)
    assert len(machine.events()) == number
    assert all(event.data["watched"] for event in machine.events() if event.kind == "list.restored")


def test_a_list_file_is_read_only_on_the_board(machine: Machine) -> None:
    path = put_list(machine, "> Saw")
    machine.watch()
    with Board.open(machine.board) as board, pytest.raises(EditRefused) as refused:
        open_list_owner(board, "main", SESSION)
    assert f"it is a copy from {path}" in str(refused.value)
    assert "`punchlist attach claude-code` attaches Claude Code" in str(refused.value)


def test_an_empty_list_shows_no_session_and_ends_a_known_one(machine: Machine) -> None:
    put_list(machine)
    machine.watch()
    assert machine.events() == []
    put_list(machine, "> Saw", later=1)
    assert shown(machine) == [("Saw", "in_progress")]
    put_list(machine, later=2)  # Claude Code empties a list once all of it is done
    assert shown(machine) == []


def test_a_session_with_a_log_is_read_from_its_log_alone(machine: Machine) -> None:
    session = ClaudeSession()
    session.todo("> Saw")
    machine.write(session)
    put_list(machine, "> From the file", session=session.session, agent=session.session, later=9)
    put(tasks_folder(machine, session.session), 1, "From the file")
    assert shown(machine, session=session.session) == [("Saw", "in_progress")]
    assert shown_tasks(machine, f"session:{session.session}") == []


@pytest.mark.parametrize("body", [b"[{", b"{}", b"", b"\xff", b"[" * 100_000])
def test_a_broken_list_file_is_named_and_the_others_are_read(machine: Machine, body: bytes) -> None:
    path = put_list(machine, session="broken", agent="broken")
    path.write_bytes(body)
    put_list(machine, "> Saw")
    assert shown(machine) == [("Saw", "in_progress")]
    (problem,) = machine.problems
    assert str(path) in problem
    assert path.read_bytes() == body


def test_links_pipes_and_odd_names_are_left_alone(machine: Machine, tmp_path: Path) -> None:
    folder = put_list(machine, "> Saw").parent
    (tmp_path / "secret.json").write_text((folder / f"{SESSION}-agent-{SESSION}.json").read_text())
    (folder / "link-agent-main.json").symlink_to(tmp_path / "secret.json")
    os.mkfifo(folder / "pipe-agent-main.json")
    (folder / "notes.json").write_text("[]")
    for name in ("a\nb-agent-main", "s-agent-\x1b[2J"):
        (folder / f"{name}.json").write_text((tmp_path / "secret.json").read_text())
    outside = put(tmp_path / "elsewhere", 1, "Secret").parent
    tasks_folder(machine).parent.mkdir()
    tasks_folder(machine, "linked").symlink_to(outside)
    machine.watch()
    with Board.open(machine.board) as board:
        assert {row.session for row in board.lists()} == {SESSION}
    assert machine.problems == []


def test_old_files_are_left_out_until_they_change(machine: Machine) -> None:
    put_list(machine, "> Saw")
    with Board.open(machine.board) as board:
        watcher = Watcher(board, since=datetime.now(UTC), report=machine.problems.append)
        assert board.lists() == []
        put_list(machine, "> Saw", "Glue", later=7200)
        watcher.find_roots()
        assert [row.session for row in board.lists()] == [SESSION]
        catch_up(watcher)


# Tasks.


@pytest.mark.requirement("claude-tasks.watched")
def test_the_tasks_of_an_unknown_session_are_shown_and_followed(machine: Machine) -> None:
    folder = tasks_folder(machine)
    put(folder, 1, "Paint", status="in_progress", owner="ada", activeForm="Painting", metadata={"pr": 7})
    put(folder, 2, "Sweep", blockedBy=["1"])
    before = snapshot(machine.home)
    assert shown_tasks(machine) == [("1", "Paint", "in_progress"), ("2", "Sweep", "pending")]
    assert (snapshot(machine.home), machine.problems) == (before, [])
    with Board.open(machine.board) as board:
        first, second = board.tasks(LIST).list()
        assert (first.owner, first.active_form, first.metadata) == ("ada", "Painting", {"pr": 7})
        assert second.blocked_by == ("1",)
    put(folder, 1, "Paint it", status="completed")
    put(folder, 3, "New")
    assert shown_tasks(machine) == [
        ("1", "Paint it", "completed"),
        ("2", "Sweep", "pending"),
        ("3", "New", "pending"),
    ]
    number = len(machine.events())
    assert shown_tasks(machine)
    assert len(machine.events()) == number


@pytest.mark.requirement("claude-tasks.watched")
def test_tasks_from_files_are_read_only_on_the_board(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = put(tasks_folder(machine), 1, "Paint").parent
    machine.watch()
    with Board.open(machine.board) as board, pytest.raises(TaskError) as refused:
        check_tasks_editable(board.tasks(LIST))
    assert f"they are a copy from {folder}" in str(refused.value)
    monkeypatch.setenv("PUNCHLIST_DB", str(machine.board))
    assert main(["tasks", "done", "1", "--list", LIST]) == 1


def test_a_file_that_is_gone_is_a_deleted_task_if_the_watermark_says_so(machine: Machine) -> None:
    folder = tasks_folder(machine)
    for number in (1, 2, 3):
        put(folder, number, f"Task {number}")
    assert len(shown_tasks(machine)) == 3
    (folder / "2.json").unlink()
    assert len(shown_tasks(machine)) == 3  # without the watermark it was an accident
    (folder / ".highwatermark").write_text("2")
    assert [number for number, _, _ in shown_tasks(machine)] == ["1", "3"]


def test_a_cleared_folder_takes_nothing_done_off_the_board_and_ends_what_was_open(machine: Machine) -> None:
    folder = tasks_folder(machine)
    put(folder, 1, "Paint", status="completed")
    put(folder, 2, "Sweep", status="in_progress")
    shown_tasks(machine)
    for number in (1, 2):
        (folder / f"{number}.json").unlink()
    (folder / ".highwatermark").write_text("2")
    assert shown_tasks(machine) == [("1", "Paint", "completed"), ("2", "Sweep", "cancelled")]
    put(folder, 2, "Sweep", status="pending")
    assert shown_tasks(machine) == [("1", "Paint", "completed"), ("2", "Sweep", "pending")]


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"id": "2"}', b"\xff", b"[" * 100_000])
def test_a_broken_task_file_is_named_and_takes_no_task_away(machine: Machine, body: bytes) -> None:
    folder = tasks_folder(machine)
    put(folder, 1, "Paint")
    put(folder, 2, "Sweep")
    shown_tasks(machine)
    (folder / "1.json").write_bytes(body)
    (folder / ".highwatermark").write_text("2")
    put(folder, 2, "Sweep", status="completed")
    assert shown_tasks(machine) == [("1", "Paint", "pending"), ("2", "Sweep", "completed")]
    (problem,) = machine.problems
    assert str(folder / "1.json") in problem


def test_a_folder_with_the_first_eight_characters_belongs_to_the_session_that_has_them(machine: Machine) -> None:
    put(tasks_folder(machine, "session-5c1de2a0"), 1, "Paint")
    assert shown_tasks(machine, "session:session-5c1de2a0") == [("1", "Paint", "pending")]
    session = ClaudeSession(session="5c1de2a0-0000-4000-8000-000000000002")
    session.todo("> Saw")
    machine.write(session)
    put(tasks_folder(machine, "session-5c1de2a0"), 2, "Sweep")
    assert shown_tasks(machine, f"session:{session.session}") == []  # its log tells of them
    assert shown_tasks(machine, "session:session-5c1de2a0") == [("1", "Paint", "pending")]


def test_a_shared_list_is_shown_under_its_name(machine: Machine) -> None:
    put(tasks_folder(machine, "team"), 1, "Paint")
    assert shown_tasks(machine, "session:team") == [("1", "Paint", "pending")]


def test_tasks_that_were_imported_stay_those_of_the_board(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = put(tasks_folder(machine), 1, "Paint").parent
    monkeypatch.setenv("PUNCHLIST_DB", str(machine.board))
    assert main(["tasks", "import", str(folder)]) == 0
    assert main(["tasks", "done", "1", "--list", LIST]) == 0
    put(folder, 1, "Paint it")
    assert shown_tasks(machine) == [("1", "Paint", "completed")]


def test_a_session_whose_agent_is_heard_of_is_left_to_its_agent(machine: Machine) -> None:
    put(tasks_folder(machine), 1, "From the file")
    with Board.open(machine.board) as board:
        agent = board.agent("main", session=SESSION, dialect="claude-tasks")
        agent.call("TaskCreate", {"subject": "Its own", "description": ""})
    assert shown_tasks(machine) == [("1", "Its own", "pending")]


@pytest.mark.parametrize("setting", ["agents", "folders"])
def test_the_settings_say_what_is_watched(
    machine: Machine, setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_list(machine, "> Saw")
    put(tasks_folder(machine), 1, "Paint")
    words: dict[str, Any] = {"agents": '["codex"]', "folders": f'["{tmp_path / "work"}"]'}
    file = tmp_path / "config.toml"
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(file))
    file.write_text(f"[watch]\n{setting} = {words[setting]}\n")
    machine.watch()
    assert counts(machine.events()) == {}

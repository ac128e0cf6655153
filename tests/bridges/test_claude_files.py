"""Claude Code's list files: what is read, what is written, and what is never written over."""

import json
import logging
import os
import stat
from pathlib import Path

import pytest

from punchlist import Status, TodoItem, TodoList
from punchlist.bridges.claude_files import ClaudeFiles, parse_file_name
from punchlist.bridges.folder import LARGEST
from punchlist.errors import ListFileRefused

SESSION = "0e5a2c1f-1111-4222-8333-444455556666"
ROWS = [
    {"content": "Run tests", "status": "in_progress", "activeForm": "Running tests"},
    {"content": "Größe prüfen 🎉", "status": "pending", "activeForm": "Prüfe Größe"},
]


def _put(folder: Path, name: str, body: object) -> Path:
    file = folder / name
    file.write_text(body if isinstance(body, str) else json.dumps(body), encoding="utf-8")
    return file


def _todos(*items: tuple[str, Status]) -> TodoList:
    made = (TodoItem(id=str(n), content=text, status=status) for n, (text, status) in enumerate(items, start=1))
    return TodoList(items=tuple(made), next_id=len(items) + 1)


def test_there_is_no_list_where_there_is_no_file(tmp_path: Path) -> None:
    assert ClaudeFiles(tmp_path).read(SESSION, "main") is None
    assert ClaudeFiles(tmp_path / "missing").read(SESSION, "main") is None


def test_a_file_is_read_with_both_forms_of_each_text(tmp_path: Path) -> None:
    _put(tmp_path, f"{SESSION}-agent-helper.json", ROWS)
    todos = ClaudeFiles(tmp_path).read(SESSION, "helper")
    assert todos is not None
    assert [(item.content, item.active_form, item.status) for item in todos.items] == [
        ("Run tests", "Running tests", Status.IN_PROGRESS),
        ("Größe prüfen 🎉", "Prüfe Größe", Status.PENDING),
    ]


def test_what_is_written_is_the_file_that_claude_code_writes(tmp_path: Path) -> None:
    files = ClaudeFiles(tmp_path)
    _put(tmp_path, f"{SESSION}-agent-a.json", ROWS)
    todos = files.read(SESSION, "a")
    assert todos is not None
    files.write(SESSION, "b", todos)
    assert (tmp_path / f"{SESSION}-agent-b.json").read_text(encoding="utf-8") == (
        '[\n  {\n    "content": "Run tests",\n    "status": "in_progress",\n    "activeForm": "Running tests"\n  },\n'
        '  {\n    "content": "Größe prüfen 🎉",\n    "status": "pending",\n    "activeForm": "Prüfe Größe"\n  }\n]'
    )
    files.write(SESSION, "b", TodoList())
    assert (tmp_path / f"{SESSION}-agent-b.json").read_text(encoding="utf-8") == "[]"


def test_statuses_that_claude_code_lacks_are_shown_as_their_nearest_or_left_out(tmp_path: Path) -> None:
    files = ClaudeFiles(tmp_path)
    files.write("s", "a", _todos(("A", Status.BLOCKED), ("B", Status.FAILED), ("C", Status.CANCELLED)))
    rows = json.loads((tmp_path / "s-agent-a.json").read_text(encoding="utf-8"))
    assert [(row["content"], row["status"]) for row in rows] == [("A", "in_progress"), ("B", "in_progress")]


def test_folder_and_file_are_the_owners_alone_and_no_temporary_file_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "claude" / "todos"
    ClaudeFiles(folder).write("s", "a", _todos(("A", Status.PENDING)))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "s-agent-a.json").stat().st_mode) == 0o600
    assert os.listdir(folder) == ["s-agent-a.json"]


def test_the_main_agent_uses_the_file_under_the_sessions_own_id_where_there_is_one(tmp_path: Path) -> None:
    files = ClaudeFiles(tmp_path)
    assert files.path(SESSION, "main") == str(tmp_path / f"{SESSION}-agent-main.json")
    own = _put(tmp_path, f"{SESSION}-agent-{SESSION}.json", ROWS)
    assert files.path(SESSION, "main") == str(own)
    assert files.path(SESSION, "helper") == str(tmp_path / f"{SESSION}-agent-helper.json")


def test_the_folder_is_claude_codes_own_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    assert ClaudeFiles().folder == str(tmp_path / "todos")
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert ClaudeFiles().folder == str(tmp_path / "home" / ".claude" / "todos")


INVALID = {
    "bad JSON": b"[{",
    "no list": b'{"todos": []}',
    "a missing field": b'[{"content": "A", "status": "pending"}]',
    "an unknown status": b'[{"content": "A", "status": "blocked", "activeForm": "A"}]',
    "an empty text": b'[{"content": "", "status": "pending", "activeForm": "A"}]',
    "no UTF-8": b'[{"content": "\xff", "status": "pending", "activeForm": "A"}]',
    "nothing": b"",
    "depth": b"[" * 200_000,
    "a huge number": b"[" + b"9" * 10_000 + b"]",
    "too much": b'"' + b"a" * LARGEST + b'"',
}


@pytest.mark.parametrize("body", INVALID.values(), ids=INVALID)
def test_an_invalid_file_reads_as_empty_is_logged_and_is_set_aside_before_a_write(
    body: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "s-agent-a.json"
    file.write_bytes(body)
    files = ClaudeFiles(tmp_path)
    with caplog.at_level(logging.WARNING, logger="punchlist.bridges.claude_files"):
        assert files.read("s", "a") == TodoList()
        assert len(caplog.records) == 1
        assert file.read_bytes() == body
        files.write("s", "a", _todos(("A", Status.PENDING)))
    assert (tmp_path / "s-agent-a.json.invalid-1").read_bytes() == body
    assert "s-agent-a.json.invalid-1" in caplog.text
    assert len(json.loads(file.read_bytes())) == 1


def test_each_invalid_file_gets_a_number_of_its_own(tmp_path: Path) -> None:
    files = ClaudeFiles(tmp_path)
    for body in ("one", "two"):
        _put(tmp_path, "s-agent-a.json", body)
        files.write("s", "a", TodoList())
    assert (tmp_path / "s-agent-a.json.invalid-1").read_text(encoding="utf-8") == "one"
    assert (tmp_path / "s-agent-a.json.invalid-2").read_text(encoding="utf-8") == "two"


def test_a_directory_in_the_place_of_a_file_reads_as_empty_and_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "s-agent-a.json").mkdir()
    (tmp_path / "s-agent-a.json" / "kept").touch()
    files = ClaudeFiles(tmp_path)
    assert files.read("s", "a") == TodoList()
    files.write("s", "a", TodoList())
    assert (tmp_path / "s-agent-a.json.invalid-1" / "kept").exists()
    assert files.read("s", "a") == TodoList()


def test_a_pipe_in_the_place_of_a_file_does_not_stop_us(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s-agent-a.json")
    assert ClaudeFiles(tmp_path).read("s", "a") == TodoList()


def test_half_of_a_surrogate_pair_does_not_make_a_file_unreadable(tmp_path: Path) -> None:
    _put(tmp_path, "s-agent-a.json", '[{"content": "cut \\ud83d", "status": "pending", "activeForm": "cutting"}]')
    files = ClaudeFiles(tmp_path)
    todos = files.read("s", "a")
    assert todos is not None
    assert todos.items[0].content == "cut �"
    files.write("s", "a", todos)


def test_a_link_out_of_the_folder_is_neither_read_nor_written(tmp_path: Path) -> None:
    folder = tmp_path / "todos"
    folder.mkdir()
    outside = _put(tmp_path, "secret.json", ROWS)
    (folder / "s-agent-a.json").symlink_to(outside)
    files = ClaudeFiles(folder)
    assert files.read("s", "a") == TodoList()
    with pytest.raises(ListFileRefused) as refused:
        files.write("s", "a", TodoList())
    assert refused.value.code == "list_file_refused"
    assert json.loads(outside.read_bytes()) == ROWS
    assert (folder / "s-agent-a.json").is_symlink()
    assert os.listdir(folder) == ["s-agent-a.json"]


def test_a_link_within_the_folder_is_read_and_replaced_itself(tmp_path: Path) -> None:
    _put(tmp_path, "s-agent-a.json", ROWS)
    (tmp_path / "s-agent-b.json").symlink_to("s-agent-a.json")
    files = ClaudeFiles(tmp_path)
    assert files.read("s", "b") == files.read("s", "a")
    files.write("s", "b", TodoList())
    assert not (tmp_path / "s-agent-b.json").is_symlink()
    assert json.loads((tmp_path / "s-agent-a.json").read_bytes()) == ROWS


def test_a_folder_that_is_itself_a_link_is_used(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to("real")
    files = ClaudeFiles(tmp_path / "linked")
    files.write("s", "a", _todos(("A", Status.PENDING)))
    (tmp_path / "real" / "s-agent-b.json").symlink_to("s-agent-a.json")
    assert files.read("s", "b") == files.read("s", "a")
    assert (tmp_path / "real" / "s-agent-a.json").is_file()


def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "todos").touch()
    with pytest.raises(ListFileRefused):
        ClaudeFiles(tmp_path / "todos").write("s", "a", TodoList())


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        (f"{SESSION}-agent-{SESSION}.json", (SESSION, SESSION)),
        (f"{SESSION}-agent-agent-1.json", (SESSION, "agent-1")),
        ("my-agent-run-agent-main.json", ("my-agent-run", "main")),
        ("s-agent-a.json.invalid-1", None),
        ("-agent-a.json", None),
        ("s-agent-.json", None),
        ("notes.json", None),
    ],
)
def test_a_files_name_says_whose_list_it_is(name: str, ids: tuple[str, str] | None) -> None:
    assert parse_file_name(name) == ids

"""`$PUNCHLIST_CLAUDE_TODOS`: Claude Code's own list files are read by every command, and never reverted."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.transcripts.records import SESSION, save, write


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_home: Path) -> Path:
    assert own_home  # no transcript of the reader's own is found
    folder = tmp_path / "todos"
    folder.mkdir()
    monkeypatch.setenv("PUNCHLIST_CLAUDE_TODOS", str(folder))
    return folder / f"{SESSION}-agent-{SESSION}.json"


def _put(file: Path, **items: str) -> None:
    rows = [{"content": text, "status": status, "activeForm": f"{text}ing"} for text, status in items.items()]
    new = file.with_suffix(".new")
    new.write_text(json.dumps(rows))
    new.rename(file)


def _read(file: Path) -> dict[str, str]:
    return {row["content"]: row["status"] for row in json.loads(file.read_text())}


def test_a_file_is_read_by_commands_that_show_lists(run: Run, file: Path) -> None:
    _put(file, Saw="in_progress", Glue="pending")
    assert run("todos").out == "2 items:\n  ▸ Sawing\n  ○ Glue\n"
    _put(file, Saw="completed", Glue="in_progress")
    assert run("todos").out == "2 items:\n  ✓ Saw\n  ▸ Glueing\n"
    before = run("events").out
    assert run("todos").out == "2 items:\n  ✓ Saw\n  ▸ Glueing\n"
    assert run("events").out == before


@pytest.mark.usefixtures("person")
def test_an_edit_never_reverts_the_newer_file(run: Run, file: Path) -> None:
    _put(file, Saw="in_progress", Glue="pending")
    assert run("todo", "append", "Oil").out == f"Appended: Oil (main, session {SESSION})\n"
    assert _read(file) == {"Saw": "in_progress", "Glue": "pending", "Oil": "pending"}
    _put(file, Saw="completed", Glue="in_progress", Sand="pending")  # from memory, without Oil
    assert run("todo", "done", "oil").out == f"Marked completed: Oil (main, session {SESSION})\n"
    assert _read(file) == {"Saw": "completed", "Glue": "in_progress", "Sand": "pending", "Oil": "completed"}
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_file_belongs_to_the_project_of_its_transcript(run: Run, file: Path, own_home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / ".git").mkdir(parents=True)
    path = own_home / ".claude" / "projects" / "elsewhere" / f"{SESSION}.jsonl"
    save(path, [write("t1", "Saw", cwd=str(elsewhere), sessionId=SESSION)])
    _put(file, Saw="in_progress")
    assert run("todos").out.startswith("There are no lists in this project")
    assert "Sawing" in run("todos", "--project", str(elsewhere)).out


def test_a_folder_that_cannot_be_read_fails_no_command(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    for folder in (plain, tmp_path / "missing"):
        monkeypatch.setenv("PUNCHLIST_CLAUDE_TODOS", str(folder))
        assert run("todos").code == 0

"""A list as a file: edit, export, import."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from punchlist.board import Board
from punchlist.cli import main
from punchlist.settings.environment import project_of
from punchlist.views.list_owners import name_path_session
from tests.cli.conftest import Run

Editor = Callable[[str], None]


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Editor:
    """An editor that runs a piece of Python on the text of the file, as `text`; temporary files go aside."""
    aside = tmp_path / "aside"
    aside.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(aside))

    def use(code: str) -> None:
        script = tmp_path / "editor.py"
        script.write_text(
            "import sys, pathlib\nfile = pathlib.Path(sys.argv[1])\ntext = file.read_text()\n"
            f"{code}\nfile.write_text(text)\n"
        )
        monkeypatch.setenv("VISUAL", f"'{sys.executable}' '{script}'")

    return use


def _left(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "aside").rglob("*") if path.is_file()]


def _mine() -> str:
    return "(project · yours)"


@pytest.mark.usefixtures("person")
def test_edit_applies_what_was_saved_and_leaves_nothing_behind(run: Run, editor: Editor, tmp_path: Path):
    run("todo", "append", "One")
    editor("text = text.replace('[ ] One', '[x] One') + '- [ ] Two\\n'")
    assert run("todo", "edit").out == f"Saved the list: 2 items {_mine()}\n"
    assert run("todos").out == "2 items: yours\n  ★ One — confirmed\n  ○ Two\n"
    assert _left(tmp_path) == []


def test_edit_that_changes_nothing_says_so(run: Run, editor: Editor, tmp_path: Path):
    run("todo", "append", "One")
    editor("pass")
    assert run("todo", "edit").out == "No changes.\n"
    assert _left(tmp_path) == []


def test_the_file_of_an_edit_is_private_and_a_todo_file(run: Run, editor: Editor, tmp_path: Path):
    run("todo", "append", "One")
    editor(
        "mode = lambda path: oct(path.stat().st_mode & 0o777)\n"
        "text += f'- [ ] {file.name} {mode(file)} {mode(file.parent)}\\n'"
    )
    run("todo", "edit")
    assert "list.todo.md 0o600 0o700" in run("todos").out


def test_an_edit_that_cannot_be_parsed_is_kept_and_named(run: Run, editor: Editor, tmp_path: Path):
    run("todo", "append", "One")
    editor("text += 'what is this\\n'")
    ran = run("todo", "edit")
    assert ran.code == 1
    (kept,) = _left(tmp_path)
    assert str(kept) in ran.err
    assert "Line 2" in ran.err
    assert "what is this" in kept.read_text()
    assert run("todos").out == "1 item: yours\n  ○ One\n"


def test_an_edit_of_a_list_that_changed_meanwhile_is_kept_and_named(run: Run, editor: Editor, tmp_path: Path):
    run("todo", "append", "One")
    editor(
        "import subprocess\n"
        "subprocess.run([sys.executable, '-m', 'punchlist', 'todo', 'append', 'meanwhile'], check=True)\n"
        "text += '- [ ] Mine\\n'"
    )
    ran = run("todo", "edit")
    assert ran.code == 1
    (kept,) = _left(tmp_path)
    assert f"punchlist todo import {kept}" in ran.err
    assert "Mine" not in run("todos").out
    assert run("todo", "import", str(kept)).code == 0
    assert "Mine" in run("todos").out


@pytest.mark.parametrize("changes", [True, False])
def test_an_editor_that_fails_changes_nothing(run: Run, editor: Editor, tmp_path: Path, changes: bool):
    run("todo", "append", "One")
    editor(f"file.write_text(text + '- [ ] Two\\n' * {changes}); sys.exit(3)")
    ran = run("todo", "edit")
    assert ran.code == 1
    assert "status 3" in ran.err
    assert len(_left(tmp_path)) == changes
    assert run("todos").out.startswith("1 item:")


def test_an_editor_that_is_not_there_is_named(run: Run, editor: Editor, monkeypatch: pytest.MonkeyPatch):
    run("todo", "append", "One")
    monkeypatch.setenv("VISUAL", "/nowhere/vim")
    ran = run("todo", "edit")
    assert ran.code == 1
    assert "/nowhere/vim" in ran.err


def test_export_writes_todo_md_and_import_reads_it_back(run: Run, project: Path):
    run("todo", "append", "One", "--phase", "Code")
    run("todo", "start", "one")
    run("todo", "note", "one", "see page 3")
    assert run("todo", "export").out == "Wrote the list to TODO.md\n"
    assert (project / "TODO.md").read_text() == "## Code\n- [>] One\n  > see page 3\n"
    run("todo", "rm", "--all", "--yes")
    assert run("todo", "import").out == f"Imported 1 phase, 1 item from TODO.md {_mine()}\n"
    assert run("todos").out == "1 item: yours\n  Code\n    ▸ One (+1 note)\n"


def test_export_knows_other_formats_and_standard_output(run: Run):
    run("todo", "append", "One")
    run("todo", "start", "one")
    assert run("todo", "export", "-", "--format", "oh-my-pi").out == "# Todos\n- [/] One\n"
    assert run("todo", "export", "-", "--format", "stone").code == 1


def test_export_never_writes_through_a_link(run: Run, project: Path):
    run("todo", "append", "One")
    (project / "target.txt").write_text("precious")
    (project / "TODO.md").symlink_to("target.txt")
    assert run("todo", "export").code == 1
    assert (project / "target.txt").read_text() == "precious"


def test_export_spares_a_file_that_is_no_checklist_unless_forced(run: Run, project: Path):
    run("todo", "append", "One")
    (project / "TODO.md").write_text("My own thoughts.\n")
    assert run("todo", "export").code == 1
    assert (project / "TODO.md").read_text() == "My own thoughts.\n"
    assert run("todo", "export", "--force").code == 0
    assert "One" in (project / "TODO.md").read_text()


def test_export_keeps_the_mode_of_the_file_and_leaves_nothing_beside_it(run: Run, project: Path):
    run("todo", "append", "One")
    (project / "TODO.md").write_text("- [ ] Old\n")
    (project / "TODO.md").chmod(0o640)
    run("todo", "export")
    assert (project / "TODO.md").stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(project)) == [".git", "TODO.md"]


@pytest.mark.parametrize("path", ["nowhere/TODO.md", "."])
def test_export_to_a_place_that_cannot_be_written_ends_with_1(run: Run, path: str):
    run("todo", "append", "One")
    ran = run("todo", "export", path)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("punchlist: ")


def test_import_with_any_error_changes_nothing(run: Run, project: Path):
    run("todo", "append", "One")
    (project / "TODO.md").write_text("- [ ] Two\nnonsense\n- [?] Three\n")
    ran = run("todo", "import")
    assert ran.code == 1
    assert ran.err.startswith("punchlist: Could not parse TODO.md:\n  Line 2")
    assert "Line 3" in ran.err
    assert run("todos").out == "1 item: yours\n  ○ One\n"


def test_import_of_a_file_that_is_not_there_ends_with_1(run: Run):
    ran = run("todo", "import", "nowhere.md")
    assert ran.code == 1
    assert "nowhere.md" in ran.err


def test_import_starts_a_list_where_there_is_none(run: Run, project: Path):
    (project / "TODO.md").write_text("- [ ] One\n")
    assert run("todo", "import").code == 0
    with Board.open() as board:
        assert board.agent("main", session=name_path_session(project_of())).todos.items[0].content == "One"


def test_an_editor_that_cannot_be_started_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VISUAL", "/no/such/editor")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["todo", "append", "Paint"]) == 0
    assert main(["todo", "edit"]) != 0
    assert "cannot be started" in capsys.readouterr().err
    assert not list(tmp_path.glob("punchlist-*"))


def test_import_of_an_indented_checklist_says_that_it_is_flat_now(run: Run, project: Path):
    (project / "TODO.md").write_text("- [ ] Ship\n  - [ ] Build\n  - [ ] Sign\n")
    assert "2 items stood below others; a list has one level" in run("todo", "import").out
    (project / "TODO.md").write_text("- [ ] Ship\n")
    assert "below others" not in run("todo", "import").out


def test_add_is_append(run: Run):
    assert run("todo", "add", "Paint").code == 0
    assert "Paint" in run("todos").out

"""Hooks, rows and monitor after an upgrade of Python: silent, and said to be dead."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import punchlist
from punchlist.attach import plugin
from punchlist.core.programs import PROGRAMS
from punchlist.errors import ExtraMissing
from tests.attach.conftest import HOMES, HOSTS, Run, settings_of, snapshot


@pytest.fixture
def old_python(tmp_path: Path) -> Path:
    """A real interpreter, as a venv has it: a link to the one of the system, which an upgrade takes away."""
    real, venv = tmp_path / "python3.11", tmp_path / "venv-python"
    shutil.copy(os.path.realpath(sys.executable), real)
    venv.symlink_to(real)
    return venv


def remove_python(venv: Path, how: str) -> None:
    """Take the interpreter away: the link itself, or what it leads to."""
    if how == "removed":
        venv.unlink()
    else:
        venv.resolve().rename(venv.resolve().with_name("python3.12"))


@pytest.mark.parametrize("how", ["removed", "renamed"])
def test_hook_and_row_are_silent_once_their_python_is_gone(tmp_path: Path, old_python: Path, how: str):
    folder = os.path.dirname(os.path.dirname(punchlist.__file__))
    launch = plugin.Launch(str(old_python), folder, str(tmp_path / "b.db"))
    remove_python(old_python, how)
    for command in (launch.hook("claude-code"), launch.hook("codex"), launch.status_line(None)):
        done = subprocess.run(["sh", "-c", command], input=b"{}", capture_output=True, check=False, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    command = launch.status_line("cat # mine")
    done = subprocess.run(["sh", "-c", command], input=b"given", capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"given", b"")


def test_the_monitor_does_not_end_once_its_python_is_gone(tmp_path: Path, old_python: Path):
    folder = os.path.dirname(os.path.dirname(punchlist.__file__))
    remove_python(old_python, "renamed")
    command = ["sh", "-c", plugin.Launch(str(old_python), folder, str(tmp_path / "b.db")).monitor("claude-code")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.kill()
        assert process.communicate() == (b"", b"")


@pytest.mark.parametrize("host", HOSTS)
def test_an_attachment_whose_python_is_gone_is_said_to_be_dead_until_it_is_renewed(
    run: Run, home: Path, host: str, old_python: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as before:
        before.setattr(sys, "executable", str(old_python))
        assert run("attach", host, "--yes").code == 0
    dead = f"attachment is dead: `{old_python}` is gone; `punchlist attach {host}` renews it."
    for command in ("status", "doctor", "now"):
        assert "dead" not in run(command).out
    remove_python(old_python, "renamed")
    for command in ("status", "doctor", "now"):
        assert f"{PROGRAMS[host].title}'s {dead}" in run(command).out, command
    assert run("attach", host, "--yes").code == 0
    for command in ("status", "doctor", "now"):
        assert "dead" not in run(command).out


@pytest.mark.parametrize("host", ["claude-code", "gemini"])
def test_the_folder_says_how_to_remove_it_by_hand_and_that_is_enough(run: Run, home: Path, host: str):
    before = snapshot(home / HOMES[host])
    assert run("attach", host, "--yes", *(["--statusline"] if host == "claude-code" else [])).code == 0
    folder = home / HOMES[host] / PROGRAMS[host].place
    steps = (folder / "README.md").read_text().partition("by hand, without Punchlist:")[2]
    assert re.findall(r"^\d\. (\w+)", steps, re.MULTILINE) == ["Delete", "If" if host == "claude-code" else "Restart"]
    if host == "claude-code":
        assert "punchlist_statusline.py" in (folder / "../../settings.json").read_text()
        settings_of(home).unlink()
    shutil.rmtree(folder)
    folder.parent.rmdir()
    assert snapshot(home / HOMES[host]) == before
    assert f"{PROGRAMS[host].title}: not attached" in run("status").out


@pytest.mark.parametrize(
    ("file", "hint"),
    [
        ("pipx_metadata.json", "pipx install --force 'punchlist[mcp]'"),
        ("uv-receipt.toml", "uv tool install 'punchlist[mcp]'"),
        ("", "uv pip install --python {python} 'punchlist[mcp]'"),
    ],
)
def test_the_hint_for_more_packages_fits_the_installation(tmp_path: Path, file: str, hint: str):
    """In a real venv without pip, as uv makes them; pipx and `uv tool` leave a file of theirs in it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (packages,) = (tmp_path / "venv/lib").glob("*/site-packages")
    (packages / "punchlist").symlink_to(os.path.dirname(punchlist.__file__))
    if file:
        (tmp_path / "venv" / file).touch()
    python = tmp_path / "venv/bin/python"
    code = "import runpy, sys; print(runpy.run_path(sys.argv[1])['ExtraMissing'](what='MCP', extra='mcp'))"
    command = [python, "-c", code, packages / "punchlist/errors.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"MCP needs more packages: install them with `{hint.format(python=python)}`.\n"


def test_in_a_clone_the_hint_for_more_packages_names_the_clone():
    clone = os.path.dirname(os.path.dirname(os.path.dirname(punchlist.__file__)))
    assert f" -e '{clone}[mcp]'`" in str(ExtraMissing(what="MCP", extra="mcp"))

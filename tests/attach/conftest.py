"""Homes in which every agent was used once, and the command."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from punchlist.cli import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ran]

HOSTS = ("claude-code", "codex", "gemini", "opencode")
HOMES = {"claude-code": ".claude", "codex": ".codex", "gemini": ".gemini", "opencode": ".config/opencode"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which every agent was used once."""
    for name in list(os.environ):
        if name.startswith("XDG_"):
            monkeypatch.delenv(name)
    folder = tmp_path / "home"
    for inner in (*HOMES.values(), ".local/share"):
        (folder / inner).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PATH", "/nowhere")
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return folder


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: str) -> Ran:
        capsys.readouterr()
        code = main(list(arguments))
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return command


def snapshot(folder: Path) -> dict[str, str]:
    """Return every file, link and folder below a folder: its mode, and a hash of its content."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            kind = f"link to {os.readlink(path)}"
        elif path.is_dir():
            kind = "folder"
        else:
            kind = hashlib.sha256(path.read_bytes()).hexdigest()
        found[str(path.relative_to(folder))] = f"{path.lstat().st_mode:o} {kind}"
    return found


def settings_of(home: Path) -> Path:
    return home / ".claude" / "settings.json"

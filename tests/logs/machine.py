"""A home with the logs of agents, and a board that is kept in step with them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.core.events import Event
from punchlist.logs.watcher import Watcher
from tests.transcripts.sessions import ClaudeSession, CodexSession


class Machine:
    """A home with the logs of agents, and a board."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.claude = self.home / ".claude" / "projects" / "-projects-shop"
        self.codex = self.home / ".codex" / "sessions" / "2026" / "03" / "01"
        self.board = folder / "board.db"
        self.problems: list[str] = []

    def write(self, session: ClaudeSession | CodexSession, lines: int | None = None) -> Path:
        """Write a session's log, or only its first lines."""
        folder = self.claude if isinstance(session, ClaudeSession) else self.codex
        folder.mkdir(parents=True, exist_ok=True)
        path = session.save(folder)
        if lines is not None:
            path.write_text("\n".join(session.lines[:lines]) + "\n")
        return path

    def watch(self, *, native: bool = True) -> None:
        """Read all logs, and end."""
        with Board.open(self.board) as board:
            catch_up(Watcher(board, native=native, report=self.problems.append))

    def events(self) -> list[Event]:
        with Board.open(self.board) as board:
            return list(board.events(0))


def catch_up(watcher: Watcher) -> None:
    try:
        while watcher.is_behind:
            watcher.take_slice()
    finally:
        watcher.close()


def make_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return a machine whose home is the user's."""
    made = Machine(tmp_path)
    made.home.mkdir()
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    return made


def counts(events: list[Event]) -> Counter[str]:
    return Counter(event.kind for event in events)


def snapshot(folder: Path) -> list[tuple[str, int, int]]:
    """Return all files of a folder, with the time of the last write and the size."""
    found = ((path, path.lstat()) for path in folder.rglob("*"))
    return sorted((str(path), seen.st_mtime_ns, seen.st_size) for path, seen in found)

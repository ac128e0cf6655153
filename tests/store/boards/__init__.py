"""Boards of past schemas, each made by the program of its time: no board from schema 107 on is refused for its age."""

from __future__ import annotations

import lzma
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent

OLD_BOARDS = tuple(sorted(_FOLDER.glob("schema-*.db.xz")))


def unpack_board(packed: Path, folder: Path) -> Path:
    """Write a board of the past into a folder, for its owner alone, and return its path."""
    path = folder / "board.db"
    path.write_bytes(lzma.decompress(packed.read_bytes()))
    path.chmod(0o600)
    return path


def read_rows(path: Path, like: dict[str, list[Any]] | None = None) -> dict[str, list[Any]]:
    """Return all rows of a board by table; with `like`, only the tables and columns that are in that one."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        rows = {name: list(map(dict, connection.execute(f"SELECT * FROM {name}"))) for name in tables}
    if like is None:
        return rows
    return {name: [{key: row[key] for key in known[0]} for row in rows[name]] for name, known in like.items()}

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


_REWRITTEN_COLUMNS = {"agents": {"sum", "memory"}, "board": {"version"}, "tool_calls": {"loop", "loop_seq"}}
_REWRITTEN_TABLES = {"lists"}
"""Written anew by a migration. The tests compare lists with what the log says of them."""


def read_rows(path: Path) -> dict[str, list[Any]]:
    """Return all rows of a board by table."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        rows = {name: list(map(dict, connection.execute(f"SELECT * FROM {name}"))) for name in tables}
    return rows


def keep_common(rows: dict[str, list[Any]], others: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the rows of the tables and columns that another board has too, and that no migration writes anew."""
    common: dict[str, list[Any]] = {}
    for name in (rows.keys() & others.keys()) - _REWRITTEN_TABLES:
        columns = rows[name][0].keys() & others[name][0].keys() - _REWRITTEN_COLUMNS.get(name, set())
        common[name] = [{key: row[key] for key in columns} for row in rows[name]]
    return common

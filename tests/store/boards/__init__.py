"""Boards of past schemas, each made by the program of its time: no board from schema 107 on is refused for its age."""

from __future__ import annotations

import lzma
from pathlib import Path

_FOLDER = Path(__file__).parent

OLD_BOARDS = tuple(sorted(_FOLDER.glob("schema-*.db.xz")))


def unpack_board(packed: Path, folder: Path) -> Path:
    """Write a board of the past into a folder, for its owner alone, and return its path."""
    path = folder / "board.db"
    path.write_bytes(lzma.decompress(packed.read_bytes()))
    path.chmod(0o600)
    return path

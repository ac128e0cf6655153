"""The named queries of the `.sql` files beside this one."""

from __future__ import annotations

import os
import re
from functools import cache

_FOLDER = os.path.dirname(__file__)
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def queries() -> dict[str, str]:
    """Each query by its name, without its comments."""
    found: dict[str, str] = {}
    for text in _texts("sql"):
        _, *parts = _NAME.split(text)
        for name, body in zip(parts[::2], parts[1::2], strict=True):
            lines = [line for line in body.splitlines() if line and not line.startswith("--")]
            found[name] = "\n".join(lines).rstrip(";")
    return found


@cache
def several(query: str, count: int) -> str:
    """A query that inserts so many rows instead of one."""
    head, word, row = query.rpartition("VALUES ")
    return head + word + ", ".join([row] * count)


@cache
def migrations() -> tuple[str, ...]:
    """The steps from an empty file to the present format, in order; the first makes format 1."""
    return tuple(_texts("migrations"))


def _texts(folder: str) -> list[str]:
    """What the SQL files of a folder say, in the order of their names."""
    where = os.path.join(_FOLDER, folder)
    texts: list[str] = []
    for name in sorted(os.listdir(where)):
        if name.endswith(".sql"):
            with open(os.path.join(where, name), encoding="utf-8") as file:
                texts.append(file.read())
    return texts


def statements(script: str) -> list[str]:
    """The single statements of a script. A semicolon ends one only at the end of a line."""
    return [part for part in (piece.strip() for piece in re.split(r";\s*$", script, flags=re.MULTILINE)) if part]

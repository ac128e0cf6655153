"""The named queries of the `.sql` files beside this one."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def queries() -> dict[str, str]:
    """Each query by its name, without its comments."""
    found: dict[str, str] = {}
    for path in sorted((_FOLDER / "sql").glob("*.sql")):
        _, *parts = _NAME.split(path.read_text(encoding="utf-8"))
        for name, body in zip(parts[::2], parts[1::2], strict=True):
            lines = [line for line in body.splitlines() if line and not line.startswith("--")]
            found[name] = "\n".join(lines).rstrip(";")
    return found


@cache
def migrations() -> tuple[str, ...]:
    """The steps from an empty file to the present format, in order; the first makes format 1."""
    return tuple(path.read_text(encoding="utf-8") for path in sorted((_FOLDER / "migrations").glob("*.sql")))


def statements(script: str) -> list[str]:
    """The single statements of a script. A semicolon ends one only at the end of a line."""
    return [part for part in (piece.strip() for piece in re.split(r";\s*$", script, flags=re.MULTILINE)) if part]

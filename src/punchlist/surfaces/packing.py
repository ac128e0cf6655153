"""Several short texts on as few lines as they take, none wider than the reader's terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from punchlist.text import fit, width


def packed(parts: Iterable[str], columns: int, between: str) -> Iterator[str]:
    """Lines of so many cells at most, 0 for one line however long it is. A part is only broken if it takes a whole one.

    Nothing is left out but what stands between two parts, at the end of a line; a comma stays.
    """
    line, comma = "", between.rstrip() if between.startswith(",") else ""
    for part in parts:
        longer = f"{line}{between}{part}" if line else part
        if not columns or width(longer) + len(comma) <= columns:
            line = longer
            continue
        if line:
            yield line + comma
        *full, line = _broken(part, columns - len(comma))
        yield from full
    if line:
        yield line


def _broken(text: str, columns: int) -> list[str]:
    """A text between its words, and within those that are too wide themselves."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if width(longer) <= columns:
            lines[-1] = longer
            continue
        rest = word
        while width(rest) > columns and (head := fit(rest, columns, "")):
            lines.append(head)
            rest = rest[len(head) :]
        lines.append(rest)
    return [line for line in lines if line] or [""]

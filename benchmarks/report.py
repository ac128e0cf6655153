"""Rows of results: printed one by one, and written to RESULTS.md."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

HEADINGS = ("measured", "ours", "peer", "ratio", "must reach", "")
_WIDTHS = (60, 24, 36, 8, 9, 6)


@dataclass(frozen=True, slots=True)
class Must:
    """What the measured value has to keep to; `×` is a ratio to the peer."""

    sign: Literal["≤", "≥", "<"]
    limit: float
    unit: str = "×"

    def holds(self, value: float) -> bool:
        if self.sign == "≥":
            return value >= self.limit
        return value <= self.limit if self.sign == "≤" else value < self.limit

    def __str__(self) -> str:
        return f"{self.sign} {self.limit:g} {self.unit}"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `value` is what `must` looks at when that is not the ratio."""

    what: str
    ours: str
    peer: str = ""
    ratio: float | None = None
    must: Must | None = None
    value: float | None = None

    @property
    def met(self) -> bool | None:
        """None where nothing is demanded, or nothing was measured."""
        value = self.ratio if self.value is None else self.value
        return None if self.must is None or value is None else self.must.holds(value)

    def cells(self) -> tuple[str, ...]:
        ratio = "" if self.ratio is None else f"{self.ratio:.3g} ×"
        verdict = "" if self.must is None else {True: "met", False: "MISSED", None: "–"}[self.met]
        return self.what, self.ours, self.peer, ratio, "" if self.must is None else str(self.must), verdict


def not_measured(what: str, why: str, must: Must | None = None) -> Row:
    return Row(what, "not measured", why, must=must)


def line(cells: Sequence[str]) -> str:
    """A line of the table for a terminal; a cell that is too long pushes the rest along."""
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True)).rstrip()


def environment() -> list[str]:
    """What the numbers depend on, and nothing that names the machine."""
    return [
        f"date: {datetime.now(UTC):%Y-%m-%d}",
        f"Python: {platform.python_version()}",
        f"SQLite: {sqlite3.sqlite_version}",
        f"CPUs: {os.cpu_count()}",
        f"kernel: {platform.system()} {platform.release()}",
    ]


def page(results: Mapping[str, Sequence[Row]], notes: Mapping[str, str]) -> str:
    """RESULTS.md."""
    rows = [row for found in results.values() for row in found]
    asked = [row for row in rows if row.must is not None]
    met = sum(row.met is True for row in asked)
    lines = [
        "# Benchmarks",
        "",
        f"Written by `make bench`. {met} of {len(asked)} targets met.",
        "Ratios count: ours and the peer took turns in one run on one machine, which may have been busy.",
        "",
        *(f"- {entry}" for entry in environment()),
    ]
    for name, found in results.items():
        lines += ["", f"## {name}", "", notes[name], "", *_table(found)]
    return "\n".join(lines) + "\n"


def _table(rows: Iterable[Row]) -> list[str]:
    lines = [_markdown(HEADINGS), "|---" * len(HEADINGS) + "|"]
    return [*lines, *(_markdown(row.cells()) for row in rows)]


def _markdown(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

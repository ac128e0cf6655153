"""Gather the outcomes of all cells, and judge them: means, intervals, the best and the worst cell of an arm."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from evaluation.cells import CELLS, Cell
from evaluation.run import Outcome, run_many


class Mean(NamedTuple):
    """A mean with half of its 95 % interval."""

    value: float
    half: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ± {self.half:.2f}" if self.value < 100 else f"{self.value:,.0f}"


class Key(NamedTuple):
    cell: int
    value: float
    arm: str
    seeds: int


Results = Mapping[Key, Sequence[Outcome]]


def list_keys(seeds: int, arms: Iterable[str] | None = None) -> list[Key]:
    """Return what there is to run: each cell at each rate in each of its arms; extra arms not at the first rate."""
    wanted = None if arms is None else set(arms)
    return [
        Key(number, value, arm, seeds)
        for number, cell in enumerate(CELLS)
        for arm in (*cell.arms, *cell.more_arms)
        for value in (cell.values[1:] if arm in cell.more_arms else cell.values)
        if wanted is None or arm in wanted
    ]


def run_key(key: Key) -> tuple[Key, list[Outcome]]:
    return key, list(run_many(CELLS[key.cell], key.value, key.arm, range(key.seeds)))


def run_all(keys: Sequence[Key]) -> Results:
    """Run everything on all cores. The order of the runs changes no number: each has chances of its own."""
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        found = dict(pool.imap_unordered(run_key, keys))
    return {key: found[key] for key in keys}


def mean_of(outcomes: Sequence[Outcome], measure: str) -> Mean:
    values = [getattr(outcome, measure) for outcome in outcomes]
    spread = stdev(values) if len(values) > 1 else 0.0
    return Mean(fmean(values), 1.96 * spread / len(values) ** 0.5)


class Difference(NamedTuple):
    """How much an arm has more of a measure than no list, with the same seeds."""

    cell: Cell
    value: float
    by: Mean


def compare(results: Results, arm: str, measure: str) -> list[Difference]:
    """Return the differences between an arm and no list in all cells, the best for the arm first."""
    found: list[Difference] = []
    for key, outcomes in results.items():
        base = results.get(key._replace(arm="no list"))
        if key.arm != arm or base is None:
            continue
        pairs = zip(outcomes, base, strict=True)
        values = [getattr(ours, measure) - getattr(theirs, measure) for ours, theirs in pairs]
        spread = stdev(values) if len(values) > 1 else 0.0
        found.append(Difference(CELLS[key.cell], key.value, Mean(fmean(values), 1.96 * spread / len(values) ** 0.5)))
    return sorted(found, key=lambda one: one.by.value)

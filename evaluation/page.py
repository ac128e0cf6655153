"""Write docs/evaluation.md from the results: every cell, and of each arm its worst one as large as its best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from evaluation.cells import CELLS, Cell
from evaluation.plots import draw_cell
from evaluation.results import Difference, Key, Mean, Results, compare, mean_of

_HEAD = """\
# Does a list help a run? Scripted models, no LLM

{intro}

"""

_COLUMNS = {
    "lost": "lost",
    "repeated": "repeated",
    "false_done": "false done, believed",
    "ignored": "edits ignored",
    "turns": "turns",
    "standing": "tokens in every request",
    "said": "tokens said",
}


def write_page(results: Results, docs: Path, *, intro: str) -> None:
    """Write the page and its pictures."""
    seeds = next(iter(results)).seeds
    lines = [_HEAD.format(intro=intro.strip().replace("{seeds}", str(seeds)))]
    lines += _write_extremes(results)
    for number, cell in enumerate(CELLS):
        lines += _write_cell(results, number, cell, docs / "images")
    (docs / "evaluation.md").write_text("\n".join(lines).rstrip() + "\n")


def _write_extremes(results: Results) -> Iterator[str]:
    arms = list(dict.fromkeys(key.arm for key in results if key.arm != "no list"))
    for measure in ("lost", "repeated"):
        yield f"## Steps {measure}: the best and the worst cell of each arm, beside no list\n"
        yield "| arm | best | | worst | |\n|---|--:|---|--:|---|"
        for arm in arms:
            found = compare(results, arm, measure)
            if found:
                yield f"| {arm} | {_show(found[0])} | {_show(found[-1])} |"
        yield ""


def _show(one: Difference) -> str:
    return f"{one.by.value:+.2f} ± {one.by.half:.2f} | {one.cell.name}, {one.cell.field} {one.value:g}"


def _write_cell(results: Results, number: int, cell: Cell, images: Path) -> Iterator[str]:
    arms = [arm for arm in (*cell.arms, *cell.more_arms) if _keys(results, number, arm)]
    name = f"evaluation-{cell.name.replace(', ', '-').replace(' ', '-')}.svg"
    panels = {
        measure: {
            arm: [(key.value, mean_of(results[key], measure)) for key in _keys(results, number, arm)] for arm in arms
        }
        for measure in ("lost", "repeated")
    }
    (images / name).write_text(draw_cell(cell.name, cell.field, panels))
    yield f"## {cell.name}\n"
    yield f"{cell.about}\n"
    yield f"![Lost and repeated steps by {cell.field}, a line for each arm](images/{name})\n"
    yield f"| {cell.field} | arm | {' | '.join(_COLUMNS.values())} |\n|--:|---|{'--:|' * len(_COLUMNS)}"
    for value in cell.values:
        for arm in arms:
            outcomes = next((results[key] for key in _keys(results, number, arm) if key.value == value), None)
            if outcomes is not None:
                means: Sequence[Mean] = [mean_of(outcomes, measure) for measure in _COLUMNS]
                yield f"| {value:g} | {arm} | {' | '.join(map(str, means))} |"
    yield ""


def _keys(results: Results, number: int, arm: str) -> list[Key]:
    return [key for key in results if key.cell == number and key.arm == arm]

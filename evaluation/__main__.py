"""`make eval`: run all cells and write docs/evaluation.md. `--small`: a few seeds, no peers, nothing is written."""

from __future__ import annotations

import argparse
import time
from importlib.util import find_spec
from pathlib import Path

from evaluation.page import write_page
from evaluation.real_model import run_with_model
from evaluation.results import list_keys, mean_of, run_all

_ROOT = Path(__file__).parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(prog="evaluation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="runs of each cell at each rate in each arm")
    parser.add_argument("--arm", action="append", help="only these arms; may be given again")
    parser.add_argument("--small", action="store_true", help="4 seeds, no peers, nothing written")
    parser.add_argument(
        "--model", help="one run a cell and arm with a real model, by $ANTHROPIC_BASE_URL and its API key"
    )
    given = parser.parse_args()
    if given.model:
        run_with_model(given.model, given.seeds if given.seeds != parser.get_default("seeds") else 1, given.arm)
        return
    arms = given.arm
    if given.small or find_spec("langchain") is None:
        known = {key.arm for key in list_keys(1)}
        arms = sorted((set(arms) if arms else known) - {"LangChain", "pydantic-ai"})
    began = time.monotonic()
    results = run_all(list_keys(4 if given.small else given.seeds, arms))
    for key, outcomes in results.items():
        shown = "  ".join(
            f"{measure} {mean_of(outcomes, measure)}"
            for measure in ("lost", "repeated", "false_done", "ignored", "said")
        )
        print(f"{key.cell:2} {key.value:4g} {key.arm:20} {shown}")
    print(f"{len(results)} cells and arms, {sum(map(len, results.values()))} runs, {time.monotonic() - began:.0f} s")
    if not given.small and given.arm is None:
        write_page(results, _ROOT / "docs", intro=(_ROOT / "evaluation" / "INTRO.md").read_text())


if __name__ == "__main__":
    main()

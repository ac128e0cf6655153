"""Replay recorded runs of an agent whose truth is known, and print how their completions are graded.

The file is JSON (`.xz` is unpacked): a list of runs with `id`, `title`, `resolved` and `steps`, each step a command,
its output and its exit code. Every run has one item, "Fix: title", which is completed at its end.

    python tools/replay_runs.py ../shared/data/swe_runs.json.xz            the table by grade and verdict
    python tools/replay_runs.py FILE --check                               and fail where a limit is passed
    python tools/replay_runs.py FILE --show failing                        and one line for each run of a grade
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

from punchlist import Board
from punchlist.core.grounding.grades import GRADES

MOST_FAILING: Final = 0.12
LEAST_VERIFIED: Final = 0.45
MARGIN: Final = 0.01
"""`verified` may be this much below the share of runs that were resolved, and `failing` never above that share."""


class Replayed(NamedTuple):
    """One run: what hidden tests say of it, and what its grade is."""

    id: str
    is_resolved: bool
    grade: str
    remarks: tuple[str, ...]
    command: str


def read_runs(path: Path) -> list[dict[str, Any]]:
    """Return the runs of a file."""
    data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    return json.loads(data)


def replay(run: dict[str, Any]) -> Replayed:
    """Report the steps of a run to a board in memory, complete its item, and return the grade."""
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s", loop_detection=False)
        agent.call("todo", {"set": [f"Fix: {run['title']}"]})
        agent.call("todo", {"start": "1"})
        for number, (command, output, code) in enumerate(run["steps"]):
            agent.tool_started(f"c{number}", "bash", {"command": command})
            agent.tool_finished(f"c{number}", output, exit_code=code)
        agent.call("todo", {"done": "1"})
        (item,) = board.report(session="s").items
        failed = [check.command for check in board.report(session="s").checks if check.outcome == "failed"]
        return Replayed(run["id"], run["resolved"], str(item.grade), item.remarks, failed[0] if failed else "")


def count(runs: list[Replayed], grade: str) -> tuple[int, int]:
    """Return how many runs have a grade, and how many of them were resolved."""
    found = [run for run in runs if run.grade == grade]
    return len(found), sum(run.is_resolved for run in found)


def write_table(runs: list[Replayed]) -> None:
    """Print a row for each grade: runs, their share, resolved, their share."""
    print(f"{'grade':<10} {'runs':>5} {'share':>7} {'resolved':>9} {'share':>7}")
    for grade in GRADES:
        total, resolved = count(runs, grade)
        if total:
            print(f"{grade:<10} {total:>5} {total / len(runs):>7.1%} {resolved:>9} {resolved / total:>7.1%}")
    resolved = sum(run.is_resolved for run in runs)
    print(f"{'all':<10} {len(runs):>5} {1:>7.1%} {resolved:>9} {resolved / len(runs):>7.1%}")


def find_passed_limits(runs: list[Replayed]) -> list[str]:
    """Return a sentence for each limit that the table passes."""
    base = sum(run.is_resolved for run in runs) / len(runs)
    verified, of_verified = count(runs, "verified")
    failing, of_failing = count(runs, "failing")
    found: list[str] = []
    if failing > MOST_FAILING * len(runs):
        found.append(f"more than {MOST_FAILING:.0%} of the runs are failing")
    if verified < LEAST_VERIFIED * len(runs):
        found.append(f"less than {LEAST_VERIFIED:.0%} of the runs are verified")
    if of_verified < (base - MARGIN) * verified:
        found.append("fewer verified runs were resolved than of all")
    if of_failing > base * failing:
        found.append("more failing runs were resolved than of all")
    return found


def main() -> int:
    """Print the table, the runs of one grade if asked, and each limit that is passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--check", action="store_true", help="end with 1 if a limit is passed")
    parser.add_argument("--show", metavar="GRADE", choices=GRADES, help="print each run of this grade")
    options = parser.parse_args()
    runs = [replay(run) for run in read_runs(options.file)]
    for run in runs:
        if run.grade == options.show:
            verdict = "resolved" if run.is_resolved else "not resolved"
            print(f"{run.id}: {verdict}; {'; '.join(run.remarks)}; {run.command}")
    write_table(runs)
    passed = find_passed_limits(runs) if options.check else []
    for sentence in passed:
        print(f"limit passed: {sentence}", file=sys.stderr)
    return 1 if passed else 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m benchmarks [--quick] [NAME…]`: measures, prints as it goes, writes RESULTS.md after a whole run."""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from types import ModuleType

from benchmarks.measure import ROOT
from benchmarks.report import HEADINGS, Row, environment, line, page
from benchmarks.scale import FULL, QUICK, Scale

NAMES = (
    "durable_write",
    "memory_write",
    "dialects",
    "startup",
    "hooks",
    "reading",
    "briefs",
    "follow",
    "serve",
    "team",
    "top",
    "bytes",
    "identity",
    "worst_input",
    "guidance",
    "detect",
    "grounding",
    "redaction",
    "runtime",
    "transcripts",
    "tasks",
    "tasks_cli",
    "postgres",
    "watch",
)


def benchmark(name: str) -> ModuleType:
    """Import a benchmark: a module with a `NOTE` and `run(scale)`, which yields rows."""
    return import_module(f"benchmarks.{name}")


def measured(name: str, scale: Scale) -> list[Row]:
    """Runs one benchmark and prints each row as soon as it is there."""
    start = time.perf_counter()
    rows: list[Row] = []
    print(f"\n{name}", flush=True)
    for row in benchmark(name).run(scale):
        rows.append(row)
        print("  " + line(row.cells()), flush=True)
    print(f"  ({time.perf_counter() - start:.0f} s)", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(NAMES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="small counts; RESULTS.md stays as it is")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no benchmark `{unknown[0]}`; there are {', '.join(NAMES)}")
    print("; ".join(environment()))
    print("  " + line(HEADINGS))
    chosen = [name for name in NAMES if not options.names or name in options.names]
    results = {name: measured(name, QUICK if options.quick else FULL) for name in chosen}
    missed = [f"{name}: {row.what}" for name, rows in results.items() for row in rows if row.met is False]
    print(f"\n{len(missed)} missed" + "".join(f"\n  {entry}" for entry in missed))
    absent = sorted({row.peer for rows in results.values() for row in rows if row.ours == "not measured"})
    print(f"{len(absent)} peers missing" + "".join(f"\n  {entry}" for entry in absent))
    if options.quick or chosen != list(NAMES):
        print("RESULTS.md is written after a whole run only.", file=sys.stderr)
        return
    notes = {name: benchmark(name).NOTE for name in NAMES}
    (ROOT / "benchmarks" / "RESULTS.md").write_text(page(results, notes), encoding="utf-8")
    print("Written: benchmarks/RESULTS.md")


if __name__ == "__main__":
    main()

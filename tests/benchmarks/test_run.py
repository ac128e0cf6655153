"""The benchmarks run, without their peers and with next to no work. What they measure is not looked at."""

import pytest
from benchmarks.__main__ import NAMES, benchmark
from benchmarks.report import Must, Row, page
from benchmarks.scale import TINY


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_runs_to_its_end(name: str) -> None:
    rows = list(benchmark(name).run(TINY))
    assert rows
    assert f"## {name}" in page({name: rows}, {name: benchmark(name).NOTE})


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (Row("a", "1", "2", 0.5, Must("≥", 0.6)), "MISSED"),
        (Row("a", "1", "2", 0.6, Must("≥", 0.6)), "met"),
        (Row("a", "1", must=Must("<", 0.5, "%"), value=0.5), "MISSED"),
        (Row("a", "not measured", must=Must("≤", 1)), "–"),
        (Row("a", "1", "2", 3.0), ""),
    ],
)
def test_a_row_says_plainly_whether_its_target_is_met(row: Row, verdict: str) -> None:
    assert row.cells()[-1] == verdict


def test_the_page_counts_targets_that_were_met() -> None:
    rows = [Row("a", "1", "2", 0.5, Must("≤", 1)), Row("b", "3", "2", 1.5, Must("≤", 1)), Row("c", "1")]
    assert "1 of 2 targets met" in page({"some": rows}, {"some": "A note."})

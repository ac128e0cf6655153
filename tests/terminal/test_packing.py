"""Words on as few lines as they take."""

from hypothesis import given
from hypothesis import strategies as st

from punchlist.terminal.spans import pack
from punchlist.text import width


def test_a_part_goes_to_the_next_line_as_a_whole() -> None:
    assert list(pack(["2 min", "4 calls", "1 failed"], 18, " · ")) == ["2 min · 4 calls", "1 failed"]


def test_a_comma_stays_at_the_end_of_its_line() -> None:
    assert list(pack(["a.py", "b.py", "c.py"], 11, ", ")) == ["a.py, b.py,", "c.py"]


def test_a_part_that_is_too_wide_is_broken_between_words_and_then_within_them() -> None:
    assert list(pack(["run the tests", "x" * 7], 6, ", ")) == ["run", "the", "tests,", "xxxxx", "xx"]


def test_without_columns_all_is_one_line() -> None:
    assert list(pack(["a b", "c"], 0, ", ")) == ["a b, c"]


@given(st.lists(st.text("ab 汉é/", min_size=1, max_size=30)), st.integers(4, 40), st.sampled_from([", ", " · "]))
def test_no_line_is_too_wide_and_no_letter_is_lost(parts: list[str], columns: int, between: str) -> None:
    lines = list(pack(parts, columns, between))
    assert all(width(line) <= columns for line in lines)
    kept, given_ = ("".join(char for char in "".join(texts) if char in "ab汉é/") for texts in (lines, parts))
    assert kept == given_

"""Properties of text that hold for whatever comes in."""

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from punchlist.text import clean, cut, fence, fit, for_prompt, for_terminal, graphemes, repair, width
from tests.sizes import size
from tests.text.hostile import forbidden, hostile_texts, is_control

examples = settings(max_examples=size(100, 20_000), deadline=None, print_blob=True)
limits = st.integers(min_value=-2, max_value=40)
marks = st.sampled_from(["…", "", "...", " (more)"])


@examples
@given(hostile_texts, st.booleans())
def test_cleaning_twice_is_cleaning_once(text: str, lines: bool) -> None:
    once = clean(text, lines=lines).text
    assert clean(once, lines=lines) == (once, ())


@examples
@given(hostile_texts, st.booleans())
def test_a_cleaned_text_holds_nothing_forbidden(text: str, lines: bool) -> None:
    assert not any(map(forbidden, clean(text, lines=lines).text))


@examples
@given(hostile_texts)
def test_text_changes_only_if_something_was_removed_or_a_line_end_was(text: str) -> None:
    cleaned = clean(text)
    ended = re.sub(r"\r\n?|[\u2028\u2029]", "\n", repair(text))
    assert (cleaned.text == ended) or cleaned.removed


@examples
@given(hostile_texts)
def test_clusters_joined_are_the_text(text: str) -> None:
    clusters = list(graphemes(text))
    assert "".join(clusters) == text
    assert all(clusters)


@examples
@given(hostile_texts)
def test_a_cluster_alone_is_one_cluster(text: str) -> None:
    assert all(list(graphemes(cluster)) == [cluster] for cluster in graphemes(text))


@examples
@given(hostile_texts, limits, marks)
def test_a_cut_never_exceeds_its_limit(text: str, limit: int, mark: str) -> None:
    assert len(cut(text, limit, mark)) <= max(limit, 0)


@examples
@given(hostile_texts, limits, marks)
def test_a_cut_is_the_longest_run_of_whole_clusters_and_the_mark(text: str, limit: int, mark: str) -> None:
    short = cut(text, limit, mark)
    if short in (text, ""):
        assert len(text) <= limit or limit < len(mark) or not mark
        return
    kept = short.removesuffix(mark)
    assert short == kept + mark
    clusters = list(graphemes(text))
    count = len(list(graphemes(kept)))
    assert kept == "".join(clusters[:count])
    assert len("".join(clusters[: count + 1])) + len(mark) > limit


@examples
@given(hostile_texts)
def test_width_is_the_sum_over_clusters(text: str) -> None:
    assert width(text) == sum(map(width, graphemes(text)))


@examples
@given(hostile_texts, limits, marks)
def test_what_fits_is_never_wider_than_its_cells(text: str, cells: int, mark: str) -> None:
    short = fit(text, cells, mark)
    assert width(short) <= max(cells, 0)
    assert short == text or text.startswith(short.removesuffix(mark))


@examples
@given(hostile_texts)
def test_a_line_for_the_terminal_has_no_control_character(text: str) -> None:
    assert not any(map(is_control, for_terminal(text)))


@examples
@given(st.lists(hostile_texts, max_size=6))
def test_a_fence_has_a_row_an_item(items: list[str]) -> None:
    fenced = fence(items)
    assert len(fenced.splitlines()) == len(items) + 2
    assert (fenced.count("<punchlist"), fenced.count("</punchlist>"), fenced.count("<")) == (1, 1, 2)


@examples
@example("0\u200c«")
@given(hostile_texts)
def test_rendering_for_a_prompt_twice_is_rendering_once(text: str) -> None:
    assert for_prompt(for_prompt(text)) == for_prompt(text)


@examples
@given(hostile_texts)
def test_repair_changes_surrogates_only(text: str) -> None:
    repaired = repair(text)
    repaired.encode()
    assert re.sub(r"[\ud800-\udfff]", "", text) == re.sub("[\ufffd\U00010000-\U0010ffff]", "", repaired) or any(
        char > "\uffff" or char == "\ufffd" for char in text
    )
    assert repair(repaired) is repaired

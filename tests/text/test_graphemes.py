"""Clusters, cuts and cells, by example."""

import pytest

from punchlist.text import cut, fit, graphemes, width


@pytest.mark.parametrize(
    "clusters",
    [
        ["a", "b", "c"],
        ["a", "\r\n", "b", "\n", "\r"],
        ["e\u0301", "x"],
        ["👍🏽", "👍"],
        ["👨\u200d👩\u200d👧", "👨"],
        ["🇩🇪", "🇫🇷", "🇩"],
        ["❤\ufe0f\u200d🔥", "!"],
        ["1\ufe0f\u20e3", "2"],
        ["\u1100\u1161\u11a8", "\u1100\u1161", "각", "가\u11a8"],
        ["नि", "म"],
        ["ｶﾞ", "ｶ"],
        ["a\u200d", "b"],
        ["漢\u200d", "👍"],
        ["\n", "\u0301", "a"],
        ["🏴\U000e0067\U000e0062\U000e007f", "🏴"],
        ["\u200b", "a"],
    ],
    ids=ascii,
)
def test_a_cluster_is_what_a_reader_sees_as_one_character(clusters: list[str]) -> None:
    assert list(graphemes("".join(clusters))) == clusters


@pytest.mark.parametrize(
    ("text", "limit", "short"),
    [
        ("fits", 4, "fits"),
        ("too long", 5, "too …"),
        ("👨\u200d👩\u200d👧 family", 5, "…"),
        ("👨\u200d👩\u200d👧 family", 6, "👨\u200d👩\u200d👧…"),
        ("ab\r\ncd", 4, "ab…"),
        ("🇩🇪🇫🇷", 3, "🇩🇪…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
        ("abc", -3, ""),
        ("", 0, ""),
    ],
    ids=ascii,
)
def test_a_cut_keeps_whole_clusters_and_leaves_room_for_its_mark(text: str, limit: int, short: str) -> None:
    assert cut(text, limit) == short


def test_a_mark_longer_than_the_limit_leaves_nothing() -> None:
    assert cut("abcdef", 2, mark="...") == ""
    assert cut("abcdef", 4, mark="...") == "a..."
    assert cut("abcdef", 4, mark="") == "abcd"


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("plain", 5),
        ("漢字", 4),
        ("ｆｕｌｌ", 8),
        ("ｶﾞ", 2),
        ("e\u0301", 1),
        ("👍🏽", 2),
        ("👨\u200d👩\u200d👧", 2),
        ("❤", 1),
        ("❤\ufe0f", 2),
        ("❤\ufe0f\u200d🔥", 2),
        ("1\ufe0f\u20e3", 2),
        ("🇩🇪", 2),
        ("🇩", 2),
        ("각\u1100\u1161\u11a8", 4),
        ("é\n", 1),
        ("…→", 2),
        ("", 0),
    ],
    ids=ascii,
)
def test_width_counts_the_cells_of_a_terminal(text: str, cells: int) -> None:
    assert width(text) == cells


@pytest.mark.parametrize(
    ("text", "cells", "short"),
    [
        ("plain", 5, "plain"),
        ("plain", 4, "pla…"),
        ("漢字漢字", 8, "漢字漢字"),
        ("漢字漢字", 7, "漢字漢…"),
        ("漢字漢字", 6, "漢字…"),
        ("👨\u200d👩\u200d👧👍", 3, "👨\u200d👩\u200d👧…"),
        ("漢", 1, "…"),
        ("漢", 0, ""),
        ("", 0, ""),
    ],
    ids=ascii,
)
def test_fit_cuts_to_cells(text: str, cells: int, short: str) -> None:
    assert fit(text, cells) == short

"""Items and phases are found by a few letters."""

import pytest

from punchlist.core.todo import Phase, Status, TodoItem, find_item, find_items, find_phase


def _items(*texts: str, closed: str = "") -> list[TodoItem]:
    return [
        TodoItem(id=str(number), content=text, status=Status.COMPLETED if text == closed else Status.PENDING)
        for number, text in enumerate(texts, start=1)
    ]


def _content(items: list[TodoItem], query: str) -> str | None:
    found = find_item(items, query)
    return None if found is None else found.content


def test_an_id_matches_before_any_text():
    assert _content(_items("Second of 2", "First"), "2") == "First"
    assert _content(_items("Second of 2", "First"), "#1") == "Second of 2"


def test_an_exact_text_matches_before_one_that_holds_it():
    assert _content(_items("Run tests twice", "Run tests"), "  rUN TESTS ") == "Run tests"


def test_the_only_text_that_holds_the_query_matches():
    assert _content(_items("Write code", "Run tests"), "test") == "Run tests"


def test_of_several_the_only_open_one_matches():
    assert _content(_items("Fix a", "Fix b", closed="Fix a"), "fix") == "Fix b"


def test_several_open_ones_match_nothing():
    assert _content(_items("Fix a", "Fix b"), "fix") is None


def test_several_closed_ones_match_nothing():
    items = [TodoItem(id=name, content=f"Fix {name}", status=Status.COMPLETED) for name in "ab"]
    assert find_item(items, "fix") is None


def test_one_closed_item_alone_still_matches():
    assert _content(_items("Fix a", closed="Fix a"), "fix") == "Fix a"


@pytest.mark.parametrize("query", ["", "   ", "zebra"])
def test_an_empty_or_unknown_query_matches_nothing(query: str):
    assert _content(_items("Fix a"), query) is None


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("tests", "Tests"),
        ("TEST", None),
        ("more", "More tests"),
        ("te", None),
        ("tests f", "Tests for later"),
        ("for", "Tests for later"),
        ("zebra", None),
        ("", None),
    ],
)
def test_a_phase_matches_exactly_then_by_a_unique_beginning_then_by_a_unique_part(query: str, name: str | None):
    phases = [Phase("f1", "Tests"), Phase("f2", "More tests"), Phase("f3", "Tests for later")]
    found = find_phase(phases, query)
    assert (None if found is None else found.name) == name


def test_of_several_lists_each_match_is_told_with_its_place():
    lists = [_items("Fix a", "Sand"), _items("Fix b"), _items("Fix c", closed="Fix c")]
    assert [(match.place, match.item.content) for match in find_items(lists, "fix")] == [(0, "Fix a"), (1, "Fix b")]
    assert [match.place for match in find_items(lists, "1")] == [0, 1]
    assert [match.place for match in find_items(lists, "sand")] == [0]
    assert [match.place for match in find_items(lists, "fix c")] == [2]

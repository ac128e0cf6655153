"""Fuzzy matching by the rules of oh-my-pi's `/todo` commands."""

import pytest

from punchlist.core.todo import Phase, Status, TodoItem, TodoList
from punchlist.surfaces.matching import Addition, find_item, find_phase, parse_addition, tokens


def _items(*texts: str, closed: str = "") -> list[TodoItem]:
    return [
        TodoItem(id=str(number), content=text, status=Status.COMPLETED if text == closed else Status.PENDING)
        for number, text in enumerate(texts, start=1)
    ]


def _content(items: list[TodoItem], query: str) -> str | None:
    found = find_item(items, query)
    return None if found is None else found.content


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("   ", []),
        ("one two", ["one", "two"]),
        ('"one two" three', ["one two", "three"]),
        ('ab"c d"e', ["abc de"]),
        (r"a\ b", ["a b"]),
        (r"say \"hi\"", ["say", '"hi"']),
        ("it's one", ["it's", "one"]),
        ('""', [""]),
        ('"open end', ["open end"]),
        ("end\\", ["end\\"]),
    ],
)
def test_double_quotes_group_and_a_backslash_escapes(text: str, words: list[str]):
    assert tokens(text) == words


@pytest.mark.parametrize("text", ["x" * 1_000_000, "\\y" * 500_000, '"' + "z " * 500_000])
def test_one_long_word_is_read_in_a_time_that_grows_with_its_length(text: str) -> None:
    """Copying the word for each of its characters took minutes here."""
    assert len(tokens(text)) == 1


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


def test_one_word_is_a_task_for_the_last_phase():
    todos = TodoList(phases=(Phase("f1", "Code"), Phase("f2", "Tests")))
    assert parse_addition(todos, ["fix the bug"]) == Addition("Tests", "Fix the bug")


def test_a_first_task_goes_to_a_new_phase_todos():
    assert parse_addition(TodoList(), ["fix it"]) == Addition("Todos", "Fix it")


def test_a_task_joins_a_list_without_phases_as_it_is():
    assert parse_addition(TodoList(items=tuple(_items("One"))), ["two"]) == Addition(None, "Two")


def test_of_several_words_the_first_names_the_phase():
    todos = TodoList(phases=(Phase("f1", "Tests"),))
    assert parse_addition(todos, ["tes", "cover", "the login"]) == Addition("Tests", "Cover the login")


def test_a_new_phase_is_capitalised_word_by_word_and_a_task_only_at_its_beginning():
    assert parse_addition(TodoList(), ["clean up later", "mend the API docs"]) == Addition(
        "Clean Up Later", "Mend the API docs"
    )


def test_with_a_phase_given_apart_all_words_are_the_task():
    assert parse_addition(TodoList(), ["one", "two"], phase="later") == Addition("Later", "One two")


@pytest.mark.parametrize("words", [[], [""], ["phase", "  "]])
def test_without_a_task_there_is_nothing_to_add(words: list[str]):
    assert parse_addition(TodoList(), words) is None

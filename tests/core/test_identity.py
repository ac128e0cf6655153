"""Which old item a new text stands for, when whole lists come without our ids."""

import pytest

from punchlist.core.commands import Append, Entry, Replace
from punchlist.core.merge import match, match_key
from punchlist.core.todo import TodoItem
from tests.core.build import PLAIN, after, entry, ids, item, lines, listed, person, run, write


def matched(texts: list[str], old: list[str]) -> list[str | None]:
    """For each new text the old one that it is taken for."""
    items = [TodoItem(id=str(number), content=text) for number, text in enumerate(old, 1)]
    found = match([Entry(text) for text in texts], texts, items, "plain")
    return [None if known is None else known.content for known in found]


def test_an_item_keeps_its_id_when_its_text_is_repeated() -> None:
    state = listed("Paint", "Sweep", "Lock up")
    assert ids(after(state, write("Sweep", "Lock up", "Paint"))) == ["2", "3", "1"]


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("PAINT THE WALL", "paint the wall"),
        ("  paint   the\twall ", "paint the wall"),
        ("paint the wall!", "Paint, the wall."),
        ("e\u0301te\u0301", "\u00e9t\u00e9"),
        ("Straße", "STRASSE"),
    ],
)
def test_case_blanks_punctuation_and_composition_are_folded(new: str, old: str) -> None:
    assert matched([new], [old]) == [old]


def test_the_folding_is_for_the_match_only_and_the_text_is_kept_as_written() -> None:
    state = after(listed("paint the wall"), write("Paint the wall!"))
    assert (ids(state), lines(state)) == (["1"], ["  Paint the wall!"])


def test_symbols_are_no_punctuation() -> None:
    assert match_key("Learn C") != match_key("Learn C++")
    assert match_key("Übe C") != match_key("Übe C++")


def test_texts_of_punctuation_only_are_told_apart() -> None:
    assert matched(["!!!", "???"], ["???", "!!!"]) == ["!!!", "???"]


def test_an_alias_wins_over_the_text() -> None:
    state = after(listed(), Replace((entry("Paint", alias="a"), entry("Sweep", alias="b"))))
    swapped = after(state, Replace((entry("Paint", alias="b"), entry("Sweep", alias="a"))))
    assert ids(swapped) == ["2", "1"]
    assert [known.aliases for known in swapped.todos.items] == [{"plain": "b"}, {"plain": "a"}]


def test_an_alias_of_another_dialect_says_nothing() -> None:
    items = [TodoItem(id="1", content="Paint", aliases={"other": "a"})]
    assert match([Entry("Sweep", alias="a")], ["Sweep"], items, "plain") == [None]


def test_our_own_dialect_knows_items_by_our_ids() -> None:
    items = [TodoItem(id="7", content="Paint")]
    assert match([Entry("Something else", alias="7")], ["Something else"], items, "punchlist") == items


def test_a_repeated_text_wins_over_a_near_one() -> None:
    old = ["fix the login page now", "fix the login page"]
    assert matched(["fix the login page"], old) == ["fix the login page"]


def test_near_text_is_the_same_item() -> None:
    state = listed("Write tests for the parser", "Ship")
    changed = after(state, write("Write more tests for the parser", "Ship"))
    assert ids(changed) == ["1", "2"]


def test_near_means_that_three_fifths_of_the_words_are_shared() -> None:
    assert matched(["a b c e"], ["a b c d"]) == ["a b c d"]  # 3 of 5
    assert matched(["a b e f"], ["a b c d"]) == [None]  # 2 of 6


def test_near_text_is_sought_two_places_away_at_most() -> None:
    others = ["one two", "three four", "five six"]
    assert matched([*others[:2], "a b c e"], ["a b c d", *others[:2]])[2] == "a b c d"
    assert matched([*others, "a b c e"], ["a b c d", *others])[3] is None


def test_only_the_first_200_characters_are_compared_for_near_text() -> None:
    head = "word " * 40
    assert matched([head + "entirely different end"], [head + "some other tail of it"]) == [
        head + "some other tail of it"
    ]


def test_the_nearer_text_wins_then_the_nearer_place() -> None:
    assert matched(["a b c d x"], ["a b c d", "a b c d x y"]) == ["a b c d x y"]
    assert matched(["q r s", "a b c e"], ["a b c d", "a b c f", "a b c g"])[1] == "a b c f"


def test_at_equal_text_and_place_the_older_item_wins() -> None:
    old = [TodoItem(id="9", content="a b c d"), TodoItem(id="5", content="x y z"), TodoItem(id="2", content="a b c f")]
    texts = ["u v w", "a b c e"]
    assert match([Entry(text) for text in texts], texts, old, "plain")[1] == old[2]


def test_equal_texts_are_told_apart_by_place() -> None:
    state = listed("Test", "Build", "Test")
    assert ids(after(state, write("x Test", "Build", "> Test"))) == ["1", "2", "3"]
    assert ids(after(state, write("Build", "Test"))) == ["2", "1"]


def test_one_old_item_is_given_once() -> None:
    assert matched(["Test", "Test"], ["Test"]) == ["Test", None]


def test_an_id_is_not_given_again_within_a_plan() -> None:
    state = after(listed("a", "b"), write("a", "c"))
    assert ids(after(state, write("a", "c", "d"))) == ["1", "3", "4"]


def test_256_items_of_4000_characters_are_matched_within_bounds() -> None:
    def texts(word: str) -> list[str]:
        return [" ".join(f"{word}{number}{letter}" for letter in "abcdefgh" * 60)[:4000] for number in range(256)]

    assert matched(texts("new"), texts("old")) == [None] * 256
    assert matched(list(reversed(texts("old"))), texts("old")) == list(reversed(texts("old")))


def test_a_person_and_a_rewrite_agree_on_what_an_item_is() -> None:
    state = person(listed("Paint"), Append((Entry("Sweep"),)))
    again = run(state, write("Paint", "x sweep"), PLAIN).state
    assert item(again, "sweep").id == "2"

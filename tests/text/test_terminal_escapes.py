"""QUALITY.md, row "terminal escapes": no control character reaches a terminal."""

import itertools

import pytest

from punchlist.text import clean, fit, for_terminal
from tests.sizes import size
from tests.text.hostile import CONTROLS, ESCAPES, MARKUP, is_control, random_text, seeded

SHAPES = ("{}", "before {} after", "{0}{0}", "é {} 漢", "\x1b{}", "two\n{}\nlines", "\x1b]0;open {}")
HANDMADE = [shape.format(piece) for piece, shape in itertools.product((*ESCAPES, *MARKUP), SHAPES)]


def _assert_safe(text: str, hint: str) -> None:
    line, block = for_terminal(text), for_terminal(text, lines=True)
    assert not any(map(is_control, line)), hint
    assert not any(is_control(char) and char != "\n" for char in block), hint
    assert for_terminal(line) == line, hint
    assert for_terminal(block, lines=True) == block, hint
    assert not any(map(is_control, fit(line, 12))), hint
    line.encode()
    block.encode()


def test_there_are_at_least_300_handmade_texts() -> None:
    assert len(set(HANDMADE)) >= 300


@pytest.mark.parametrize("text", HANDMADE, ids=ascii)
def test_a_handmade_escape_reaches_no_terminal(text: str) -> None:
    _assert_safe(text, ascii(text))


@pytest.mark.parametrize("escape", ESCAPES, ids=ascii)
def test_a_whole_sequence_goes_not_only_its_first_byte(escape: str) -> None:
    assert clean(f"a{escape}z") == ("az", ("escape sequences",))


@pytest.mark.parametrize("control", CONTROLS, ids=ascii)
def test_a_control_character_goes(control: str) -> None:
    cleaned = clean(f"é{control}")
    assert cleaned.text == "é"
    assert cleaned.removed in (("control characters",), ("escape sequences",))


@pytest.mark.parametrize("escape", ESCAPES, ids=ascii)
def test_a_sequence_cut_anywhere_takes_no_other_line_with_it(escape: str) -> None:
    for end in range(1, len(escape)):
        assert clean(f"first\n{escape[:end]}\nlast").text.split("\n")[::2] == ["first", "last"], ascii(escape[:end])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\x1b]0;an open title", "an open title"),
        ("\x1b]52;c;QQ==\nnext", "c;QQ==\nnext"),
        ("\x9dmojibake stays", "mojibake stays"),
        ("\x1b[", ""),
        ("\x1b[12;", ""),
        ("\x1b", ""),
        ("\x1b[1;é", "é"),
        ("\x1b\x1b[31mred", "red"),
        ("\x1bP1;2|never closed", "|never closed"),
    ],
)
def test_an_unterminated_sequence_costs_its_introducer_and_numbers_only(text: str, left: str) -> None:
    assert clean(text).text == left


@pytest.mark.parametrize("unit", ["\x9d", "\x1b]", "\x1b[", "\x1b", "\x90a", "\x1b]8;;", "\x1b]a\x1b"])
def test_a_flood_of_open_sequences_is_cleaned_in_linear_time(unit: str) -> None:
    assert not any(map(is_control, clean(unit * 50_000, lines=False).text))


def test_markup_of_a_terminal_library_is_left_as_text() -> None:
    assert [for_terminal(text) for text in MARKUP] == list(MARKUP)


def test_tabs_become_a_space_on_a_terminal() -> None:
    assert (for_terminal("a\tb"), for_terminal("a\tb\nc", lines=True)) == ("a b", "a b\nc")


def test_no_random_text_brings_a_control_character_to_a_terminal() -> None:
    for seed, rng in seeded(size(20_000, 1_000_000)):
        text = random_text(rng)
        _assert_safe(text, f"PUNCHLIST_SEED={seed}: {text!a}")

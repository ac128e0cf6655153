"""QUALITY.md, row "unicode": output encodes, cleaning twice is cleaning once, the fast path hides nothing."""

import sys
import unicodedata

from punchlist.text import clean, cut, graphemes, repair, width
from punchlist.text.cleaning import (
    _STACKED,
    _SUSPICIOUS,
    _scrub,
)
from tests.sizes import size
from tests.text.hostile import forbidden, random_text, seeded


def _assert_clean(text: str, hint: str) -> None:
    for lines in (True, False):
        once = clean(text, lines=lines)
        once.text.encode()
        assert clean(once.text, lines=lines) == (once.text, ()), hint
        assert not any(map(forbidden, once.text)), hint
        assert once == _scrub(text, lines=lines), hint
        assert lines or not set("\n\t") & set(once.text), hint


def test_every_code_point_is_cleaned_for_good_alone_and_between_letters() -> None:
    for code in range(0, sys.maxunicode + 1, size(61, 1)):
        for text in (chr(code), f"a{chr(code)}b", f"漢{chr(code)}👍"):
            _assert_clean(text, f"U+{code:04X}")


def test_random_texts_are_cleaned_for_good() -> None:
    for seed, rng in seeded(size(20_000, 1_000_000)):
        text = random_text(rng)
        _assert_clean(text, f"PUNCHLIST_SEED={seed}: {text!a}")


def test_random_texts_are_never_cut_inside_a_cluster() -> None:
    for seed, rng in seeded(size(20_000, 1_000_000)):
        text, limit = repair(random_text(rng)), rng.randrange(12)
        hint = f"PUNCHLIST_SEED={seed}: {text!a}"
        ends = {0}
        for cluster in graphemes(text):
            ends.add(max(ends) + len(cluster))
        short = cut(text, limit)
        short.encode()
        assert len(short) <= limit or short == text, hint
        assert short == text or not short or len(short) - 1 in ends, hint
        assert width(text) >= 0, hint


def test_the_fast_path_suspects_every_code_point_that_the_cleaner_removes() -> None:
    for code in range(0x80, sys.maxunicode + 1):
        if forbidden(char := chr(code)) and not _SUSPICIOUS.search(char):
            raise AssertionError(f"U+{code:04X} is removed but not suspected")


def test_the_fast_path_takes_every_mark_for_one() -> None:
    marks = [char for char in map(chr, range(0x80, sys.maxunicode + 1)) if unicodedata.category(char)[0] == "M"]
    unseen = [f"U+{ord(char):04X}" for char in marks if not (_SUSPICIOUS.search(char) or _STACKED.search(char * 9))]
    assert not unseen

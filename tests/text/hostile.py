"""Material for the tests of text: hostile pieces, seeded random texts, and what no output may hold."""

import os
import random
import unicodedata
from collections.abc import Iterator

from hypothesis import strategies as st

ESCAPES = (
    "\x1b[31m", "\x1b[0;1;4m", "\x1b[2J", "\x1b[H", "\x1b[?1049h", "\x1b[6n", "\x1b[>c", "\x1b[10;20r",
    "\x1b[38;2;1;2;3m",
    "\x1b[ q", "\x1b[!p", "\x1b[1$}", "\x1b[200~", "\x1b[?25l", "\x1b[1A\x1b[2K",
    "\x1b]0;pwned\x07", "\x1b]0;pwned\x1b\\", "\x1b]2;t\x9c", "\x1b]8;;http://evil.example\x07", "\x1b]8;;\x1b\\",
    "\x1b]52;c;cm0gLXJm\x07", "\x1b]52;c;?\x1b\\", "\x1b]1337;File=name=eA==:AAAA\x07", "\x1b]9;note\x07",
    "\x1b]4;1;?\x07",
    "\x1bP$q\"p\x1b\\", "\x1bP+q544e\x1b\\", "\x1bPq#0;2;0;0;0\x9c", "\x1bXsos\x1b\\", "\x1b^pm\x1b\\",
    "\x1b_Gf=24;AA\x1b\\",
    "\x9b31m", "\x9b?25l", "\x9d0;pwned\x07", "\x9d52;c;QQ==\x9c", "\x90q\x9c", "\x98s\x9c", "\x9ep\x9c", "\x9fa\x9c",
    "\x1bc", "\x1b7", "\x1b8", "\x1bD", "\x1bE", "\x1bM", "\x1b(B", "\x1b)0", "\x1b#8", "\x1b%G", "\x1b F", "\x1b=",
    "\x1b>", "\x1bZ",
)  # fmt: skip
"""Whole sequences: of each, nothing may be left."""

CONTROLS = tuple(map(chr, (*range(9), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F, *range(0x80, 0xA0))))
MARKUP = ("[/red]", "[bold]x", "[link=http://evil.example]x[/link]", "[[", "\\[", "{x}", "%s")
INVISIBLE = (
    *"\u061c\u200e\u200f\u202a\u202e\u2066\u2069", *"\u00ad\u115f\u180e\u200b\u2060\u2064\u3164\ufeff\ufff9\uffa0",
    *"\U000e0001\U000e0041\U000e007f", *"\ufdd0\ufffe\U0001ffff\U0010ffff", *"\u200c\u200d\ufe00\ufe0e\ufe0f\U000e0100",
    "\ud800", "\udfff", "\ud83d", "\ude00", "\ud83d\ude00", "\udb40\udc41", "\u2028", "\u2029", "\x85",
    "\r", "\r\n", "\n", "\t",
)  # fmt: skip
VISIBLE = (
    *"a1 #<>&/-_|é漢字\u3400ก", "e\u0301", "क्षि", "र\u200d्य", "می\u200cخواهم", "각", "\u1100\u1161\u11a8",
    "ｶﾞ", "\u0300" * 12,
    "👍🏽", "👨\u200d👩\u200d👧", "❤\ufe0f\u200d🔥", "1\ufe0f\u20e3", "🇩🇪", "🇩", "🏴\U000e0067\U000e007f",
    "葛\U000e0100", "©", "⚠\ufe0f", "🫠",
)  # fmt: skip

PIECES = ESCAPES + CONTROLS + MARKUP + INVISIBLE + VISIBLE

hostile_texts = st.lists(st.sampled_from(PIECES) | st.characters(codec=None) | st.text(max_size=4), max_size=24).map(
    "".join
)
"""Texts of hostile pieces and any code point, surrogates among them."""


def seeded(count: int) -> Iterator[tuple[int, random.Random]]:
    """As many cases, each with its own seed. `PUNCHLIST_SEED=n` starts at case n, which replays it first."""
    first = int(os.environ.get("PUNCHLIST_SEED", "0"))
    for seed in range(first, first + count):
        yield seed, random.Random(seed)


def random_text(rng: random.Random) -> str:
    """Up to 16 pieces: hostile ones, cut ones, and code points from anywhere."""
    pieces: list[str] = []
    for _ in range(rng.randrange(1, 17)):
        piece = rng.choice(PIECES) if rng.random() < 0.8 else chr(rng.randrange(0x110000))
        pieces.append(piece[: rng.randrange(1, len(piece) + 1)] if rng.random() < 0.2 else piece)
    return "".join(pieces)


def is_control(char: str) -> bool:
    return unicodedata.category(char) == "Cc"


def forbidden(char: str) -> bool:
    """Whether no cleaned text may hold this character anywhere. Written apart from the cleaner's own classes."""
    code = ord(char)
    if char in "\n\t\u200c\u200d":
        return False
    return (
        unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(char) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
        or char in "\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u3164\ufeff\uffa0"
        or 0x2060 <= code <= 0x206F
        or 0xFFF0 <= code <= 0xFFFB
        or 0xE0000 <= code <= 0xE00FF
        or 0xFDD0 <= code <= 0xFDEF
        or code & 0xFFFE == 0xFFFE
    )

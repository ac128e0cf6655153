"""Render text safely for a terminal and for a prompt; cut it at grapheme clusters, by length or by width in cells.

Clusters follow the rules of UAX #29 that occur in practice. Left out: Prepend (a handful of Arabic and Indic signs),
Indic conjuncts, where a cut shows a virama, not nonsense, and archaic Hangul with several leading consonants.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, Literal
from unicodedata import category, east_asian_width, normalize

from punchlist.text.cleaning import clean
from punchlist.text.patterns import compile_later

_ZWJ: Final = "\u200d"

_Kind = Literal["other", "control", "extend", "joiner", "regional", "picture"]
"""How a code point behaves next to another one; vowels and final consonants of Hangul syllables extend."""


def graphemes(text: str) -> Iterator[str]:
    """Yield the grapheme clusters of the text in order; joined they are the text."""
    if text.isascii() and "\r" not in text:
        yield from text
        return
    start = 0
    before: _Kind = "control"
    paired = False  # a regional indicator without its partner lies before
    joined = False  # a picture, perhaps extended, then a joiner lies before
    pictured = False  # a picture, perhaps extended, lies before
    for place, char in enumerate(text):
        now = _kind(char)
        if now == "other":
            holds = False
        elif now in ("extend", "joiner"):
            holds = before != "control"
        elif now == "control":
            holds = char == "\n" and text[place - 1 : place] == "\r"
        elif now == "regional":
            holds = paired
        else:
            holds = joined
        if not holds and place:
            yield text[start:place]
            start = place
        paired = now == "regional" and not holds
        joined = now == "joiner" and pictured
        pictured = now == "picture" or (now == "extend" and pictured)
        before = now
    if text:
        yield text[start:]


def cut(text: str, limit: int, mark: str = "…") -> str:
    """Return the text if it has at most `limit` characters, else as many whole clusters as leave room for the mark.

    Never longer than `limit`: where not even the mark fits, nothing is left.
    """
    if len(text) <= limit:
        return text
    room = limit - len(mark)
    if room < 0:
        return ""
    head = text[: room + 1]
    if head.isascii() and "\r" not in head:
        return text[:room] + mark
    end = 0
    for cluster in graphemes(text):
        if end + len(cluster) > room:
            break
        end += len(cluster)
    return text[:end] + mark


@lru_cache(maxsize=4096)
def _kind(char: str) -> _Kind:
    if " " <= char <= "~":
        return "other"
    code = ord(char)
    if code < 0xA0 or code == 0xAD:
        return "control"
    if 0x1F1E6 <= code <= 0x1F1FF:
        return "regional"
    if _is_jamo(char) or 0x1F3FB <= code <= 0x1F3FF or code in (0x200C, 0xFF9E, 0xFF9F) or 0xE0020 <= code <= 0xE007F:
        return "extend"
    if char == _ZWJ:
        return "joiner"
    if _PICTURE.match(char):
        return "picture"
    group = category(char)
    if group[0] == "M":
        return "extend"
    return "control" if group in ("Cc", "Cf", "Cs", "Zl", "Zp") else "other"


_PICTURE: Final = compile_later(
    "[©®\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u25ff\u2600-\u27bf\u2934\u2935\u2b00-\u2b5f"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff]"
)
"""A code point that can be part of an emoji sequence, roughly Extended_Pictographic."""


def _is_jamo(char: str) -> bool:
    """True for a vowel or a final consonant of Hangul, which stands in the cells of the consonant before it."""
    return "\u1160" <= char <= "\u11ff" or "\ud7b0" <= char <= "\ud7fb"


_EMOJI_STYLE: Final = "\ufe0f"
_BLANK_GROUPS: Final = ("Mn", "Me", "Mc", "Cc", "Cf", "Cs", "Zl", "Zp")


def width(text: str) -> int:
    """Return the width in terminal cells: 2 for wide characters and emoji, 0 for marks and controls."""
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(_cluster_cells(cluster) for cluster in graphemes(text))


def fit(text: str, cells: int, mark: str = "…") -> str:
    """Return the text if it takes at most `cells`, else as many whole clusters as leave room for the mark.

    Never wider than `cells`: where not even the mark fits, nothing is left.
    """
    if len(text) <= cells and text.isascii() and text.isprintable():
        return text
    room = cells - width(mark)
    used = place = end = 0
    for cluster in graphemes(text):
        used += _cluster_cells(cluster)
        place += len(cluster)
        if used <= room:
            end = place
        if used > cells:
            return text[:end] + mark if room >= 0 else ""
    return text


def _cluster_cells(cluster: str) -> int:
    if len(cluster) == 1:
        return _cells(cluster)
    first = cluster[0]
    pictured = _PICTURE.match(first) is not None
    if _EMOJI_STYLE in cluster and (pictured or first in "0123456789#*"):
        return 2
    if pictured or _kind(first) == "regional":
        return max(map(_cells, cluster))
    return sum(map(_cells, cluster))


@lru_cache(maxsize=4096)
def _cells(char: str) -> int:
    if " " <= char <= "~":
        return 1
    if _is_jamo(char) or category(char) in _BLANK_GROUPS:
        return 0
    return 2 if east_asian_width(char) in "WF" or _kind(char) == "regional" else 1


_ANGLES: Final = "<＜﹤"
_ALL_ANGLES: Final = compile_later(f"[{_ANGLES}‹«≪≮⋖⋘˂ᐸ〈⟨〈《⟪❬❮❰⦑⧼𝈶]")
_ENTITIES: Final = compile_later(r"&(?=\s{0,8}(?:#\s{0,8}[x\d]|\w{1,32}\s{0,8};|[lg]t))", re.IGNORECASE)
_SAFE_ANGLE: Final = "‹"
_WINDOW: Final = 64
"""Characters after an angle that are searched for the name of the fence."""


def for_terminal(text: str, *, lines: bool = False) -> str:
    """Return the text without control characters, safe to print; with `lines` its newlines stay."""
    cleaned = clean(text, lines=lines).text
    return cleaned.replace("\t", " ") if lines else cleaned


def for_prompt(text: str, *, tag: str = "punchlist") -> str:
    """Return the text as one line that can neither close nor forge a fence of this tag.

    No `<` is left: it becomes `‹`, and before the fence's own name, or what may grow into it on the next line, `(`.
    An `&` that begins an entity becomes `＆`. A `>` alone opens nothing, so arrows stay as they are.
    """
    line = clean(text, lines=False).text
    while not (line.isascii() and "<" not in line and "&" not in line):
        safe = _disarmed(line, _letters(tag))
        if safe == line:
            break
        line = clean(safe, lines=False).text  # a joiner next to a replacement means nothing, and goes too
    return line


def _disarmed(line: str, name: str) -> str:
    def disarm(match: re.Match[str]) -> str:
        letters = _letters(line[match.end() : match.end() + _WINDOW])[: len(name)]
        if name.startswith(letters):
            return "("
        return _SAFE_ANGLE if match[0] in _ANGLES else match[0]

    return _ENTITIES.sub("＆", _ALL_ANGLES.sub(disarm, line))


def fence(rows: Iterable[str], *, tag: str = "punchlist") -> str:
    """Return the rows between an opening and a closing marker, one line each."""
    return "\n".join((f"<{tag}>", *(for_prompt(row, tag=tag) for row in rows), f"</{tag}>"))


def _letters(text: str) -> str:
    return "".join(char for char in normalize("NFKC", text).casefold() if char.isalnum())

"""Clean text that a model wrote, and render it for a terminal and for a prompt.

Cleaning removes what a reader cannot see or a terminal would obey. No ESC, C0, C1 or DEL is left but newline and tab,
so nothing that is left can begin a sequence, and cleaning again changes nothing. Joiners, variation selectors and marks
stay where they do something and go where they only hide. Ordinary text comes back as the same object.
Rendering does not rely on it, and cuts at grapheme clusters, by length or by width in cells.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, Literal, NamedTuple
from unicodedata import category, east_asian_width, normalize

from punchlist.text.patterns import compile_later

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_TAGS = "\U000e0000-\U000e007f"
# The default-ignorable code points, but for joiners and selectors, which `_settle` judges by their neighbours.
_ZERO_WIDTH_BASIC = "\u00ad\u115f\u1160\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
_ZERO_WIDTH = f"{_ZERO_WIDTH_BASIC}\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e00ff\U000e01f0-\U000e0fff"
_NONCHARACTERS = "\ufdd0-\ufdef" + "".join(chr(plane << 16 | 0xFFFE) + chr(plane << 16 | 0xFFFF) for plane in range(17))
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_PLAIN_LINES = bytes(range(0x20, 0x7F)) + b"\n\t"

# Bodies of OSC, DCS, SOS, PM and APC strings stop at the line's end and at any control that could start something
# new, so that an unterminated one costs its introducer and its number, never the text behind it.
_ESCAPES = r"""
    (?: \x1b++ [\]PX^_] | [\x90\x98\x9d-\x9f] )
        (?: [^\n\x07\x18\x1a\x1b\x80-\x9f]*+ (?: [\x07\x18\x1a\x9c] | \x1b\\ ) | [0-9;]{0,32}+ )
  | (?: \x1b++ \[ | \x9b ) [0-?]{0,128}+ [\ -/]{0,8}+ [@-~]?
  | \x1b++ [\ -/]{0,8}+ [0-~]?
"""


class Cleaned(NamedTuple):
    """A cleaned text, and the kinds of character that were removed, each once, in a fixed order."""

    text: str
    removed: tuple[str, ...]


def clean(text: str, *, lines: bool = True) -> Cleaned:
    """Return the text without what a reader cannot see or a terminal would obey; idempotent, and always encodable.

    With `lines` CR, CR LF and the Unicode separators become newlines, and tabs stay; VT, FF and NEL are controls.
    Without, a run of any of these becomes one space.
    """
    if is_plain(text, lines=lines):
        return Cleaned(text, ())
    is_broken = not lines and ("\n" in text or "\t" in text)
    if not (text.isascii() or is_broken or _SUSPICIOUS.search(text) or _STACKED.search(text)):
        return Cleaned(text, ())
    return _scrub(text, lines=lines)


def is_plain(text: str, *, lines: bool = True) -> bool:
    """True for visible ASCII and spaces, and with `lines` newlines and tabs: `clean` keeps it."""
    return text.isascii() and (text.isprintable() or (lines and not text.encode().translate(None, _PLAIN_LINES)))


def repair(text: str) -> str:
    """Return the text with surrogate pairs joined and lone ones replaced, so that it encodes to UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def repair_key(text: str) -> str:
    """Return a name or an id as every database takes it: repaired, and without NUL."""
    return repair(text).replace("\0", "\ufffd")


def _scrub(text: str, *, lines: bool) -> Cleaned:
    repaired = repair(text)
    removed: set[str] = set()
    if repaired.count("\ufffd") > text.count("\ufffd"):
        removed.add("lone surrogates")
    text = (_BREAKS if lines else _ALL_BREAKS).sub("\n", repaired)
    found = "".join(set(_SUSPICIOUS.findall(text)))  # short, so each kind is looked for here first
    for kind, pattern in _REMOVALS:
        if pattern.search(found):
            text, count = pattern.subn("", text)
            if count:
                removed.add(kind)
    has_joiner = any(char in _JOINERS or _is_selector(char) for char in found)
    if has_joiner or _STACKED.search(text):
        text, unsettled = _settle(text)
        removed |= unsettled
    if not lines:
        text = re.sub(r"[\n\t]+", " ", text)
    return Cleaned(text, tuple(kind for kind in _ORDER if kind in removed))


_ORDER = (
    "escape sequences",
    "control characters",
    "bidirectional controls",
    "tag characters",
    "zero-width characters",
    "variation selectors",
    "stacked marks",
    "noncharacters",
    "lone surrogates",
)


_REMOVALS = (
    ("escape sequences", compile_later(_ESCAPES, re.VERBOSE)),
    ("control characters", compile_later(f"[{_CONTROLS}]+")),
    ("bidirectional controls", compile_later(f"[{_BIDI}]+")),
    ("tag characters", compile_later(f"[{_TAGS}]+")),
    ("zero-width characters", compile_later(f"[{_ZERO_WIDTH}]+")),
    ("noncharacters", compile_later(f"[{_NONCHARACTERS}]+")),
)
_BREAKS = compile_later(r"\r\n?|[\u2028\u2029]")
_ALL_BREAKS = compile_later(r"\r\n?|[\v\f\x85\u2028\u2029]")
_SUSPICIOUS = compile_later(
    f"[{_CONTROLS}{_BIDI}{_ZERO_WIDTH_BASIC}\u200c\u200d\ufe00-\ufe0f\ud800-\udfff\u2028\u2029\ufdd0-\ufdef\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U0001fffe\U0001ffff\U0002fffe-\U0002ffff\U000323b0-\U0010ffff]"
)
"""At least every character that `_scrub` may touch, but for stacked marks.

Coarse above the ideographs: a class with every noncharacter in it searches at half the speed.
"""

_STACKED = compile_later(
    "[^\\w\x00-\u02ff\u2010-\u20cf\u2100-\u2cee\u2e00-\u3029\uff00-\uff9d\U0001f000-\U0001faff]{9}"
)
"""Nine in a row that may be marks: not letters, digits, punctuation, boxes or emoji."""

_BEYOND_ASCII = compile_later("[^\x00-\x7f]+")
_MOST_MARKS: Final = 8
"""Marks kept on one base. Living scripts need four at most; more cover the lines around."""

_JOINERS: Final = "\u200c\u200d"


def _settle(text: str) -> tuple[str, set[str]]:
    """Return the text without joiners, selectors and marks that only hide, and the kinds removed.

    Expects no control but newline and tab. A dropped character does not decide about the next one, so a second run
    keeps all that the first one kept.
    """
    removed: set[str] = set()

    def stretch(match: re.Match[str]) -> str:
        run, start, end = match[0], match.start(), match.end()
        return _settle_run(run, text[start - 1 : start] if start else "", text[end : end + 1], removed)

    return _BEYOND_ASCII.sub(stretch, text), removed


def _settle_run(run: str, last: str, following: str, removed: set[str]) -> str:
    """Settle a stretch of non-ASCII text; `last` and `following` are its ASCII neighbours, "" at either end."""
    kept: list[str] = []
    joiner = ""  # waits for the next kept character to prove useful
    marks = 0
    for char in run:
        if char in _JOINERS:
            if joiner or not last or last.isspace():
                removed.add("zero-width characters")
            else:
                joiner = char
            continue
        if _is_selector(char):
            if joiner or not _takes_selector(last, char):
                removed.add("variation selectors")
                continue
        elif category(char)[0] != "M":
            marks = 0
        elif marks == _MOST_MARKS:
            removed.add("stacked marks")
            continue
        else:
            marks += 1
        if joiner:
            if char.isspace():
                removed.add("zero-width characters")
            else:
                kept.append(joiner)
            joiner = ""
        kept.append(char)
        last = char
    if joiner:
        if following and not following.isspace() and not last.isascii():
            kept.append(joiner)
        else:
            removed.add("zero-width characters")
    return "".join(kept)


def _is_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def _takes_selector(base: str, selector: str) -> bool:
    """True if a selector after this base can mean anything; after a Latin letter it can only smuggle."""
    if selector > "\uffff":
        return "\u3400" <= base <= "\u9fff" or "\uf900" <= base <= "\ufaff" or "\U00020000" <= base <= "\U0003ffff"
    if base.isascii():
        return base != "" and base in "0123456789#*"
    return not base.isspace() and category(base)[0] != "M"


# Rendering. Clusters follow the rules of UAX #29 that occur in practice. Left out: Prepend (a handful of Arabic and
# Indic signs), Indic conjuncts, where a cut shows a virama, not nonsense, and archaic Hangul with several leading
# consonants.

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
    """Return the text in at most `limit` characters: whole clusters and the mark; nothing if the mark does not fit."""
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
    if char == "\u200d":
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


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: `1 item`, `2 items`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def fit(text: str, cells: int, mark: str = "…") -> str:
    """Return the text in at most so many cells: whole clusters and the mark, or nothing if the mark does not fit."""
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

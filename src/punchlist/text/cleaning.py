"""Clean text that a model wrote: remove what a reader cannot see or a terminal would obey.

No ESC, C0, C1 or DEL is left but newline and tab, so nothing that is left can begin a sequence, and cleaning again
changes nothing. Joiners, variation selectors and marks stay where they do something and go where they only hide.
Ordinary text comes back as the same object.
"""

import re
from typing import Final, NamedTuple
from unicodedata import category

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

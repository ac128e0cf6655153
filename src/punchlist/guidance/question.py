"""Whether a text ends by asking the person something, in whatever language."""

from __future__ import annotations

import re
from typing import Final
from unicodedata import category, name

_LAST: Final = 2_000
"""Characters from the end of a text that are looked at."""

MARKS: Final = frozenset(
    "?\u061f\u1367\u1945\u2047\u2048\u2049\u203d\u2753\u2754\u2cfa\u2cfb\u2e18\u2e2e\u2e54\ua60f\ua6f7\ufe16\ufe56\uff1f"
    "\u037e\U00011143\U00016e9a"
)
"""Question marks: Latin, Arabic, Ethiopic, Limbu, doubled, interrobang, emoji, Old Nubian, reversed, Vai, Bamum, …"""

_ARMENIAN: Final = "\u055e"
_STOPS: Final = frozenset("!.…。．｡！‥:：,،")
_MARKUP: Final = frozenset("*_~`|#>^+=-—")
_AFTERWARDS: Final = re.compile(r"\s*(?:\([^()]{1,80}\)|\[[^\[\]]{1,80}\]|（[^（）]{1,80}）|【[^【】]{1,80}】)\W{0,4}$")
"""What may follow a question: `(yes/no)`, `[y/N]:`."""

_TAGS: Final = re.compile(r"(?:</?[A-Za-z][^<>]{0,80}>\s*)+$")
"""Tags of a markup that close a line."""

_WORDS: Final = re.compile(
    r"(?:(?:です|ます|ません|ました|でしょう|ましょう|だろう|よい|良い|いい|ない|たい|の)か(?:な|ね)?"
    r"|(?:吗|嗎)|(?:是否|要不要|能不能|可不可以|可否|好不好|行不行|需不需要|需要不需要)[^。！，,.]{0,40}"
    r"|[습합입됩갑봅옵랍]니까|까요|[을할될볼일갈줄쓸올]까|[하되있없같싶]나요|[인은한던]가요"
    r"|(?:ไหม|มั้ย|หรือไม่|หรือเปล่า|หรือยัง)(?:ครับ|คะ|ค่ะ)?)$"
)
"""How a question ends where the writing needs no mark: Japanese, Chinese, Korean, Thai."""


def asks(text: str) -> bool:
    """Whether the last line that is not blank ends as a question."""
    lines = (_TAGS.sub("", line) for line in reversed(text[-_LAST:].splitlines()))
    line = next((line for line in lines if _bare(line)), "")
    return _ends_asking(_bare(line)) or _ends_asking(_bare(_AFTERWARDS.sub("", line)))


def _ends_asking(line: str) -> bool:
    end = len(line)
    while end and (line[end - 1] in _STOPS or line[end - 1] in MARKS or line[end - 1] == ";"):
        end -= 1
        if line[end] in MARKS:
            return True
        if line[end] == ";" and _is_greek(line[:end]):
            return True
    rest = _bare(line[:end])
    if len(rest) < end:  # marks were inside quotes or brackets that a full stop follows
        return _ends_asking(rest)
    return _WORDS.search(rest) is not None or _asks_in_armenian(line)


def _asks_in_armenian(line: str) -> bool:
    """In Armenian the mark stands on the word that is asked about, not at the end."""
    if _ARMENIAN not in line:
        return False
    sentence = re.split(r"[։:.]\s", line)[-1]
    return _ARMENIAN in sentence


def _is_greek(text: str) -> bool:
    """Whether a semicolon behind this text is a question mark."""
    last = next((char for char in reversed(text) if char.isalpha()), "")
    return bool(last) and name(last, "").startswith("GREEK")


def _bare(line: str) -> str:
    """The line without what may close it: blanks, quotes, brackets, Markdown, emoji, what cannot be seen."""
    end = len(line)
    while end and _closes(line[end - 1]):
        end -= 1
    return line[:end]


def _closes(char: str) -> bool:
    if char in MARKS:
        return False
    if char.isspace() or char in _MARKUP or char in "\"'" or "\ufe00" <= char <= "\ufe0f":
        return True
    return category(char) in ("Pe", "Pf", "Pi", "So", "Sk", "Cf", "Me")

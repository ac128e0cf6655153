"""Joiners, variation selectors and marks: kept where they do something, removed where they only hide."""

import re
from functools import cache
from typing import Final
from unicodedata import category

MOST_MARKS: Final = 8
"""Marks kept on one base. Living scripts need four at most; more is a tower over the lines around it."""

_JOINERS: Final = "\u200c\u200d"


def has_attached(text: str) -> bool:
    """Whether a joiner or a selector is in the text; marks are not looked for."""
    return any(char in _JOINERS or _is_selector(char) for char in text)


def settle(text: str) -> tuple[str, set[str]]:
    """The text with its attached characters settled, and the kinds removed.

    Expects no control but newline and tab. What is dropped leaves no trace in what decides about the next character,
    so a second run keeps all that the first one kept.
    """
    removed: set[str] = set()

    def stretch(match: re.Match[str]) -> str:
        run, start, end = match[0], match.start(), match.end()
        return _settle_run(run, text[start - 1 : start] if start else "", text[end : end + 1], removed)

    return _beyond_ascii().sub(stretch, text), removed


@cache
def _beyond_ascii() -> re.Pattern[str]:
    return re.compile("[^\x00-\x7f]+")


def _settle_run(run: str, last: str, following: str, removed: set[str]) -> str:
    """One stretch of non-ASCII text; `last` and `following` are its ASCII neighbours, "" at either end."""
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
        elif marks == MOST_MARKS:
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
    """Whether a selector after this base can mean anything; after a Latin letter it can only smuggle."""
    if selector > "\uffff":
        return "\u3400" <= base <= "\u9fff" or "\uf900" <= base <= "\ufaff" or "\U00020000" <= base <= "\U0003ffff"
    if base.isascii():
        return base != "" and base in "0123456789#*"
    return not base.isspace() and category(base)[0] != "M"

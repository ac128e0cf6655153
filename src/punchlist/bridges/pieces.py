"""Text in pieces: when live text may go out, and where a long text is cut into messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from typing import Final

HARD: Final = 480
SOFT: Final = 220
LEAST_IDLE: Final = 80
_BREAKS: Final = ("\n\n", "\n", ". ", " ")


class LiveText:
    """Text that comes in small pieces and goes out at good places: the end of a paragraph, of a sentence, or a rest."""

    def __init__(self, rest: timedelta) -> None:
        self._rest = rest
        self._text = ""
        self._since: datetime | None = None

    def add(self, text: str, at: datetime) -> str:
        """Takes in a piece; what may go out now."""
        self._text += text
        self._since = at
        return self.take() if _is_boundary(self._text) else ""

    def due(self, now: datetime) -> str:
        """What may go out because nothing came for a while."""
        if self._since is None or now - self._since < self._rest:
            return ""
        self._since = now
        return self.take() if _may_rest(self._text) else ""

    def take(self) -> str:
        """All of it."""
        text, self._text, self._since = self._text, "", None
        return text


def pieces(text: str, most: int) -> Iterator[str]:
    """The text in pieces of at most so many characters, cut at a paragraph, line, sentence or word where there is one.

    Pieces of blanks only are left out.
    """
    while text.strip():
        if len(text) <= most:
            yield text
            return
        place = next((found + len(mark) for mark in _BREAKS if (found := text.rfind(mark, 1, most - 1)) > 0), most)
        if text[:place].strip():
            yield text[:place].rstrip("\n")
        text = text[place:]


def _is_boundary(text: str) -> bool:
    if len(text) >= HARD or text.endswith("\n\n") or _sentence_and_blank().search(text):
        return True
    return len(text) >= SOFT and text[-1:].isspace()


def _may_rest(text: str) -> bool:
    return len(text) >= LEAST_IDLE or "\n" in text or bool(_sentence().search(text.rstrip()[-64:]))


@cache
def _sentence_and_blank() -> re.Pattern[str]:
    return re.compile(r"""[.!?][)"'`]*\s\Z""")


@cache
def _sentence() -> re.Pattern[str]:
    return re.compile(r"""[.!?][)"'`]*\Z""")

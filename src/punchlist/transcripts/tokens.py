"""Add up the tokens that a log says its model used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from punchlist.transcripts.decoding import object_at

_MOST = 10**15


class Tokens(NamedTuple):
    """Tokens that the model read for the first time, wrote, and read from the cache of its host."""

    input: int = 0
    output: int = 0
    cached: int = 0


class TokenCount:
    """The tokens of one log so far. `save` returns what to begin with to read on later."""

    def __init__(self, saved: Any = None) -> None:
        given = object_at(saved)
        self._total = read_tokens(given, "input", "output", "cached")
        self._told = bool(given.get("told"))
        self._message = given.get("message")
        self._last = read_tokens(object_at(given, "last"), "input", "output", "cached")

    def save(self) -> dict[str, Any]:
        return {**self._total._asdict(), "told": self._told, "message": self._message, "last": self._last._asdict()}

    def add(self, message: Any, used: Tokens) -> None:
        """Count what a message took. The same one may be told several times, at last in full."""
        before = self._last if message is not None and message == self._message else Tokens()
        self._message, self._last = message, used
        self.set_total(Tokens(*(total - old + new for total, old, new in zip(self._total, before, used, strict=True))))

    def set_total(self, total: Tokens) -> None:
        if total != self._total:
            self._total, self._told = total, False

    def take_news(self) -> Tokens | None:
        """Return the total if it has changed since it was last taken."""
        if self._told or not any(self._total):
            return None
        self._told = True
        return self._total


def read_tokens(given: Mapping[str, Any], input: str, output: str, cached: str, *more: str) -> Tokens:
    """Return tokens by the names of their fields; `more` are other tokens that were read for the first time."""
    fresh = sum(_number(given.get(name)) for name in (input, *more))
    return Tokens(fresh, _number(given.get(output)), _number(given.get(cached)))


def without_cached(tokens: Tokens) -> Tokens:
    """Return tokens of a host that counts those from its cache as read, too."""
    return tokens._replace(input=max(0, tokens.input - tokens.cached))


def _number(value: Any) -> int:
    return min(value, _MOST) if type(value) is int and value > 0 else 0

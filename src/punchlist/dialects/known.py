"""Texts that were written before. A model sends its whole list with each change, so nearly all of it is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from punchlist.core.commands import Entry
from punchlist.core.todo import Status
from punchlist.dialects.base import sound

_MOST_LISTS = 256
_MOST_ITEMS, _MOST_CHARACTERS = 100, 20_000
"""Of one list; longer ones are read anew each time."""

Texts = tuple[tuple[Any, ...], tuple[Any, ...]]
"""The contents of a list and its active forms, as sent."""


class Row(dict[str, Entry]):
    """One item's entries, by the word for its status: the same object each time. An unknown word is a `KeyError`."""

    __slots__ = ("_content", "_form", "_statuses")

    def __init__(self, content: str, form: str, statuses: Mapping[str, Status]) -> None:
        super().__init__()
        self._content = content
        self._form = form
        self._statuses = statuses

    def __missing__(self, word: str) -> Entry:
        entry = self[word] = Entry(self._content, self._statuses[word], self._form)
        return entry


class KnownTexts:
    """The rows of lists that were read before, by their texts. Calls may come from several threads."""

    def __init__(self, statuses: Mapping[str, Status]) -> None:
        self._statuses = statuses
        self._lists: dict[Texts, Sequence[Row]] = {}

    def rows(self, contents: tuple[Any, ...], forms: tuple[Any, ...]) -> Sequence[Row] | None:
        """A row for each item; None if a text is empty, or none at all. Raises `TypeError` for what is not hashable."""
        rows = self._lists.get((contents, forms))
        return self._read(contents, forms) if rows is None else rows

    def _read(self, contents: tuple[Any, ...], forms: tuple[Any, ...]) -> Sequence[Row] | None:
        if not all(isinstance(text, str) and text for text in (*contents, *forms)):
            return None
        pairs = zip(map(sound, contents), map(sound, forms), strict=True)
        rows = [Row(content, form, self._statuses) for content, form in pairs]
        if len(rows) <= _MOST_ITEMS and sum(map(len, contents)) + sum(map(len, forms)) <= _MOST_CHARACTERS:
            if len(self._lists) >= _MOST_LISTS:
                self._lists.clear()
            self._lists[contents, forms] = rows
        return rows

"""Match the entries of a new list to the items of the old one, where the writer sends no ids of ours.

By alias, then by normalised text, then by near text among what is left. Work is bounded: near text is only
sought two places away, over the first 200 characters.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

from punchlist.core.commands import Entry
from punchlist.core.todo import TodoItem
from punchlist.text import clean


class _MatchKeyTable(dict[int, str]):
    """Translate a character for a match key: letters, digits, marks and symbols stay, the rest becomes a space.

    Symbols are no punctuation: `C` is not `C++`.
    """

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = folded = char if unicodedata.category(char)[0] in "LNMS" else " "
        return folded


_MATCH_KEYS = _MatchKeyTable()

NEAR = 0.6
"""Two texts are near if they share this part of all their words: one of four words may change, or two of eight."""

REACH = 2
"""An item is sought at most so many places away, so that the work stays linear."""

WINDOW = 200
"""Characters of a text that are compared; the beginning tells texts apart."""


def match_key(text: str) -> str:
    """Return the text with case, whitespace, punctuation and composition folded; the text itself if nothing is left."""
    folded = text.casefold() if text.isascii() else unicodedata.normalize("NFC", text).casefold()
    words = " ".join(folded.translate(_MATCH_KEYS).split())
    if not words.isascii():
        words = unicodedata.normalize("NFC", words)
    return words or " ".join(folded.split())


def match(
    entries: Sequence[Entry], texts: Sequence[str], items: Sequence[TodoItem], dialect: str
) -> list[TodoItem | None]:
    """Return for each entry its old item, or None. `texts` are the entries' texts, cleaned. No item is given twice."""
    matching = _Matching(texts, items)
    matching.by_alias(entries, dialect)
    matching.by_key()
    matching.by_near_text()
    return [None if place is None else items[place] for place in matching.found]


class _Matching:
    """One run: `found[i]` is the place of the old item for entry i; `free` are the old places not yet given."""

    def __init__(self, texts: Sequence[str], items: Sequence[TodoItem]) -> None:
        self.texts = texts
        self.items = items
        self.found: list[int | None] = [None] * len(texts)
        self.free = dict.fromkeys(range(len(items)))

    def give(self, index: int, place: int) -> None:
        self.found[index] = place
        del self.free[place]

    def by_alias(self, entries: Sequence[Entry], dialect: str) -> None:
        if not any(entry.alias is not None for entry in entries):
            return
        places: dict[str, int] = {}
        for place, name in enumerate(item_names(self.items, dialect)):
            places.setdefault(name, place)
        for index, entry in enumerate(entries):
            place = places.get(clean(entry.alias).text) if entry.alias is not None else None
            if place is not None and place in self.free and self._is_meant(index, place, dialect):
                self.give(index, place)

    def _is_meant(self, index: int, place: int, dialect: str) -> bool:
        """True if a matching id means this item: the writer gave it, or it is ours and the text is near too."""
        item = self.items[place]
        if dialect == "punchlist" or dialect in item.aliases:
            return True
        mine, theirs = _split_words(self.texts[index]), _split_words(item.content)
        return len(mine & theirs) >= NEAR * len(mine | theirs)

    def by_key(self) -> None:
        for index, text in enumerate(self.texts):
            if self.found[index] is None and index in self.free and text == self.items[index].content:
                self.give(index, index)
        open_entries = [index for index, place in enumerate(self.found) if place is None]
        if not open_entries or not self.free:
            return
        theirs = {place: match_key(self.items[place].content) for place in self.free}
        mine = {index: match_key(self.texts[index]) for index in open_entries}
        for index in open_entries:
            if theirs.get(index) == mine[index]:
                self.give(index, index)
        keyed: defaultdict[str, list[int]] = defaultdict(list)
        for place in self.free:
            keyed[theirs[place]].append(place)
        for index in open_entries:
            places = keyed.get(mine[index])
            if self.found[index] is None and places:
                self.give(index, places.pop(_find_nearest(places, index)))

    def by_near_text(self) -> None:
        open_entries = [index for index, place in enumerate(self.found) if place is None]
        if not open_entries or not self.free:
            return
        words = {place: _split_words(self.items[place].content) for place in self.free}
        pairs: list[tuple[float, int, int, int, int]] = []
        for index in open_entries:
            mine = _split_words(self.texts[index])
            for place in range(index - REACH, index + REACH + 1):
                theirs = words.get(place)
                if theirs is None:
                    continue
                union = len(mine | theirs)
                score = len(mine & theirs) / union if union else 0.0
                if score >= NEAR:
                    item_id = self.items[place].id
                    age = int(item_id) if item_id.isdecimal() else 0  # ids count upwards: a smaller number is older
                    pairs.append((-score, abs(index - place), age, place, index))
        for _, _, _, place, index in sorted(pairs):
            if self.found[index] is None and place in self.free:
                self.give(index, place)


def item_names(items: Sequence[TodoItem], dialect: str) -> list[str]:
    """Return the id of each item in a dialect: the one that it gave, else ours, marked where that one is taken."""
    if dialect == "punchlist":
        return [item.id for item in items]
    taken = {item.aliases[dialect] for item in items if dialect in item.aliases}
    return [item.aliases.get(dialect, f"p{item.id}" if item.id in taken else item.id) for item in items]


def _find_nearest(places: list[int], index: int) -> int:
    """Return the position, within sorted places, of the one nearest to index; the earlier, older one at a tie."""
    at = bisect_left(places, index)
    if at == 0:
        return 0
    if at == len(places) or index - places[at - 1] <= places[at] - index:
        return at - 1
    return at


def _split_words(text: str) -> frozenset[str]:
    return frozenset(match_key(text[:WINDOW]).split())

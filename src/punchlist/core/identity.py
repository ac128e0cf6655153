"""Which item of the old list a new text stands for, when the writer sends whole lists without our ids.

By alias, then by normalised text, then by near text among what is left. Work is bounded: near text is only
sought two places away, over the first 200 characters.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence

from punchlist.core.commands import Entry
from punchlist.core.todo import TodoItem
from punchlist.text import clean

_KEPT = "$+<=>^`|~"  # symbols, not punctuation: `C` is not `C++`
_ASCII = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) not in _KEPT}

NEAR = 0.6
REACH = 2
WINDOW = 200


def match_key(text: str) -> str:
    """The text with case, blanks, punctuation and composition folded; the text itself if nothing else is left."""
    folded = unicodedata.normalize("NFC", text).casefold()
    if folded.isascii():
        words = folded.translate(_ASCII)
    else:
        words = "".join(char if unicodedata.category(char)[0] in "LNMS" else " " for char in folded)
    return unicodedata.normalize("NFC", " ".join(words.split())) or " ".join(folded.split())


def match(
    entries: Sequence[Entry], texts: Sequence[str], items: Sequence[TodoItem], dialect: str
) -> list[TodoItem | None]:
    """For each entry its old item, or None. `texts` are the entries' texts, cleaned. No item is given twice."""
    if len(texts) == len(items) and all(map(_same_text, texts, items)):
        aliased = next((True for entry in entries if entry.alias is not None), False)
        if not aliased:
            return list(items)
    matching = _Matching(texts, items)
    matching.by_alias(entries, dialect)
    matching.by_key()
    matching.by_near_text()
    return [None if place is None else items[place] for place in matching.found]


def _same_text(text: str, item: TodoItem) -> bool:
    return text == item.content


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
        for place, item in enumerate(self.items):
            places.setdefault(_alias(item.aliases, dialect, item.id), place)
        for index, entry in enumerate(entries):
            place = places.get(clean(entry.alias).text) if entry.alias is not None else None
            if place is not None and place in self.free:
                self.give(index, place)

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
                self.give(index, places.pop(_nearest(places, index)))

    def by_near_text(self) -> None:
        open_entries = [index for index, place in enumerate(self.found) if place is None]
        if not open_entries or not self.free:
            return
        words = {place: _words(self.items[place].content) for place in self.free}
        pairs: list[tuple[float, int, int, int, int]] = []
        for index in open_entries:
            mine = _words(self.texts[index])
            for place in range(index - REACH, index + REACH + 1):
                theirs = words.get(place)
                if theirs is None:
                    continue
                union = len(mine | theirs)
                score = len(mine & theirs) / union if union else 0.0
                if score >= NEAR:
                    pairs.append((-score, abs(index - place), _age(self.items[place]), place, index))
        for _, _, _, place, index in sorted(pairs):
            if self.found[index] is None and place in self.free:
                self.give(index, place)


def _alias(aliases: Mapping[str, str], dialect: str, own_id: str) -> str:
    return own_id if dialect == "punchlist" else aliases.get(dialect, "\0" + own_id)


def _age(item: TodoItem) -> int:
    """Ids count upwards within a plan, so a smaller number is an older item."""
    return int(item.id) if item.id.isdecimal() else 0


def _nearest(places: list[int], index: int) -> int:
    """The position, within sorted places, of the one nearest to index; the earlier, older one at a tie."""
    at = bisect_left(places, index)
    if at == 0:
        return 0
    if at == len(places) or index - places[at - 1] <= places[at] - index:
        return at - 1
    return at


def _words(text: str) -> frozenset[str]:
    return frozenset(match_key(text[:WINDOW]).split())

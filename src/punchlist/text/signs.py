"""One pattern for many words, made for texts that mostly have none of them."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

_COMMON_FIRST: Final = " etaoinsrhldcum:/_.-fpgwybvkxjqz"
"""Characters by how often they occur in what agents read and write, the common ones first."""


def any_of(words: Iterable[str], unless: Mapping[str, str] | None = None) -> str:
    """A pattern that is found in a text of small letters if one of the words is in it; not where, nor which.

    Each word is looked for from its rarest letter on, so that most places of a text are passed by with one look at a
    table of letters, and only behind the rest of a word is it asked what stands before. `unless` has patterns of what
    a word is not followed by where it counts.
    """
    rests: list[tuple[str, str]] = []
    given = tuple(dict.fromkeys(words))
    for word in given:
        if any(other in word for other in given if other != word and other not in (unless or ())):
            continue  # where this is, the other is too
        start = max(range(len(word)), key=lambda place: _COMMON_FIRST.find(word[place]))
        behind = f"(?!{unless[word]})" if unless and word in unless else ""
        rests.append((word[start:], (f"(?<={re.escape(word)})" if start else "") + behind))
    return _branches(rests)


def _branches(rests: list[tuple[str, str]]) -> str:
    """A pattern for any of these, each followed by its end; what several begin with is written once."""
    ends = [end for rest, end in rests if not rest]
    if "" in ends:
        return ""
    by_letter: dict[str, list[tuple[str, str]]] = {}
    for rest, end in rests:
        if rest:
            by_letter.setdefault(rest[0], []).append((rest[1:], end))
    found = [*ends, *(re.escape(letter) + _branches(behind) for letter, behind in by_letter.items())]
    return found[0] if len(found) == 1 else f"(?:{'|'.join(found)})"

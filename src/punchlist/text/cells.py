"""How many cells of a terminal a text takes, and cutting it to fit them."""

from functools import lru_cache
from typing import Final
from unicodedata import category, east_asian_width

from punchlist.text.segments import graphemes, is_picture, kind

_EMOJI_STYLE: Final = "\ufe0f"
_BLANK_GROUPS: Final = ("Mn", "Me", "Mc", "Cc", "Cf", "Cs", "Zl", "Zp")


def width(text: str) -> int:
    """Cells of a terminal: 2 for wide characters and emoji, 0 for marks and controls, the sum over clusters."""
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(_cluster_cells(cluster) for cluster in graphemes(text))


def fit(text: str, cells: int, mark: str = "…") -> str:
    """The text if it takes at most `cells`, else as many whole clusters as leave room for the mark.

    Never wider than `cells`: where not even the mark fits, nothing is left.
    """
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
    pictured = is_picture(ord(first))
    if _EMOJI_STYLE in cluster and (pictured or first in "0123456789#*"):
        return 2
    if pictured or kind(first) == "regional":
        return max(map(_cells, cluster))
    return sum(map(_cells, cluster))


@lru_cache(maxsize=4096)
def _cells(char: str) -> int:
    if " " <= char <= "~":
        return 1
    if "\u1160" <= char <= "\u11ff" or "\ud7b0" <= char <= "\ud7fb" or category(char) in _BLANK_GROUPS:
        return 0
    return 2 if east_asian_width(char) in "WF" or kind(char) == "regional" else 1

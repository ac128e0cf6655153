"""Clean text from models where it comes in, and render it where it goes out."""

from punchlist.text.cleaning import (
    Cleaned,
    clean,
    cut,
    fence,
    fit,
    for_prompt,
    for_terminal,
    graphemes,
    plural,
    repair,
    repair_key,
    width,
)

__all__ = [
    "Cleaned",
    "clean",
    "cut",
    "fence",
    "fit",
    "for_prompt",
    "for_terminal",
    "graphemes",
    "plural",
    "repair",
    "repair_key",
    "width",
]

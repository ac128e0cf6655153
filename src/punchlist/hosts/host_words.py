"""Shorten the words of other programs by the user's settings: without secrets, and no more of a call than is kept."""

from __future__ import annotations

from typing import Any

from punchlist.config import own_secrets, preview_length
from punchlist.core.presence import describe_call
from punchlist.text.previews import LENGTH, preview, shown_arguments


def shorten(text: Any) -> str:
    """Return a text as one clean line without secrets; empty if it is none."""
    return preview(text, LENGTH, own=own_secrets()) if isinstance(text, str) else ""


def describe_arguments(name: str, arguments: Any) -> str:
    """Return a tool call in a few words, with as much of its arguments as the settings allow."""
    shown = shown_arguments(arguments, min(LENGTH, preview_length()), own=own_secrets())
    return shorten(describe_call(name, shown))

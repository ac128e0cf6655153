"""What an agent said, as the board keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def spoken(data: Mapping[str, Any]) -> str:
    """The text of an event: all that is kept of it, else its one line; empty where the board keeps no texts."""
    return str(data.get("text") or data.get("preview") or "")

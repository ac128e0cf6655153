"""Compile regular expressions when they are first used: those of redaction alone take 10 ms, and most runs need few."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any


class LazyPattern:
    """A pattern with the methods of a compiled one. Each method is looked up once, and then called directly."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._source = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(re.compile(*self._source), name)  # `re` keeps the compiled pattern
        setattr(self, name, found)
        return found


if TYPE_CHECKING:
    compile_later = re.compile
else:
    compile_later = LazyPattern

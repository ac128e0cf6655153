"""Dialects: one file a wire tool. To add one, write its file and add its line here."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from punchlist.dialects.base import Dialect
from punchlist.errors import UnknownName

REGISTRY: dict[str, str] = {
    "punchlist": "punchlist.dialects.punchlist",
    "claude-code": "punchlist.dialects.claude_code",
}
"""The name of each dialect and its module, which holds the dialect as `DIALECT`."""


@cache
def dialect(name: str) -> Dialect:
    """The dialect of that name. It is imported on first use."""
    if name not in REGISTRY:
        raise UnknownName(what="dialect", name=name, known=", ".join(REGISTRY))
    found: Dialect = import_module(REGISTRY[name]).DIALECT
    return found

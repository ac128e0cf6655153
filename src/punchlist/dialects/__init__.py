"""Registry of dialects: one file per wire tool. To add one, write its file and add its line here."""

from functools import cache
from importlib import import_module

from punchlist.dialects.base import Dialect, Layer
from punchlist.errors import UnknownName

REGISTRY: dict[str, str] = {
    "punchlist": "punchlist.dialects.punchlist",
    "punchlist-tasks": "punchlist.dialects.punchlist_tasks",
    "claude-code": "punchlist.dialects.claude_code",
    "claude-tasks": "punchlist.dialects.claude_tasks",
    "nexo": "punchlist.dialects.nexo",
    "taskflow": "punchlist.dialects.taskflow",
    "oh-my-pi": "punchlist.dialects.oh_my_pi",
    "gencode": "punchlist.dialects.gencode",
    "codex": "punchlist.dialects.codex",
    "hermes": "punchlist.dialects.hermes",
    "openclaw": "punchlist.dialects.openclaw",
    "opencode": "punchlist.dialects.opencode",
    "gemini": "punchlist.dialects.gemini",
    "langchain": "punchlist.dialects.langchain",
    "roo": "punchlist.dialects.roo",
    "copilot": "punchlist.dialects.copilot",
    "qwen": "punchlist.dialects.qwen",
    "kimi": "punchlist.dialects.kimi",
    "goose": "punchlist.dialects.goose",
    "openhands": "punchlist.dialects.openhands",
    "cursor": "punchlist.dialects.cursor",
    "crush": "punchlist.dialects.crush",
}
"""Name and module of each dialect; the module holds it as `DIALECT`."""


@cache
def dialect(name: str) -> Dialect:
    """Return the dialect of that name; its module is imported on first use."""
    if name not in REGISTRY:
        raise UnknownName(what="dialect", name=name, known=", ".join(REGISTRY))
    found: Dialect = import_module(REGISTRY[name]).DIALECT
    return found


def dialects_of(layer: Layer) -> tuple[str, ...]:
    """Return the names of the dialects that write one layer, in the order of the registry."""
    return tuple(name for name in REGISTRY if dialect(name).layer == layer)

"""The files that the arguments of an edit name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Any, Final, cast

from punchlist.core.grounding.calls import MOST_FILES
from punchlist.text import clean, cut
from punchlist.text.cleaning import is_plain
from punchlist.text.flat import Flat

_PATHS: Final = (
    "file_path", "path", "filePath", "filename", "file", "notebook_path", "target_file", "absolute_path",
    "relative_path", "old_path", "new_path", "source", "destination", "source_path", "destination_path",
)  # fmt: skip
_LISTS: Final = ("paths", "files", "file_paths", "edits", "changes", "replacements")
_PATCHES: Final = ("patch", "input", "diff", "patch_text", "patchText")
_KNOWN: Final = frozenset((*_PATHS, *_LISTS, *_PATCHES))
_LONGEST: Final = 240
_WINDOW: Final = 262_144
_NAMED: Final = r"^(?:\*\*\* (?:Add File|Update File|Delete File|Move to): |\+\+\+ b/|--- a/)([^\t\n]{1,1000})"


def named_files(arguments: Any, known: Flat | None = None) -> tuple[str, ...]:
    """Paths as they were given, cleaned and sorted, each once; `known` is what `flat` makes of the arguments."""
    key = "" if known is None else _only_key(known.shape.names)
    if key:
        path: Any = arguments[key]
        return (_shown(path),) if isinstance(path, str) and path else ()
    return tuple(sorted(set(islice(_files(arguments, 0), MOST_FILES))))


def patched_files(command: str | Sequence[str]) -> tuple[str, ...]:
    """The files that a patch in a command line, or among the words of one, names."""
    words = (command,) if isinstance(command, str) else command
    return tuple(sorted(set(islice((path for word in words for path in _patched(word)), MOST_FILES))))


@lru_cache(maxsize=512)
def _only_key(names: tuple[str, ...]) -> str:
    """The one of these keys that names a file, if there is but one, and no patch, as with most tools."""
    found = [name for name in names if name in _KNOWN]
    return found[0] if len(found) == 1 and found[0] in _PATHS else ""


def _files(arguments: Any, depth: int) -> Iterator[str]:
    if isinstance(arguments, str):
        yield from _patched(arguments)
    if not isinstance(arguments, Mapping):
        return
    fields = cast("Mapping[Any, Any]", arguments)
    if _KNOWN.isdisjoint(fields):
        return
    for key in _PATHS:
        if key in fields and isinstance(value := fields[key], str) and value:
            yield _shown(value)
    for key in _PATCHES:
        if key in fields and isinstance(value := fields[key], str):
            yield from _patched(value)
    for key in _LISTS if depth < 2 else ():
        if key in fields and isinstance(value := fields[key], list):
            for entry in cast("list[Any]", value)[:MOST_FILES]:
                if isinstance(entry, str) and entry and key != "edits":
                    yield _shown(entry)
                else:
                    yield from _files(entry, depth + 1) if isinstance(entry, Mapping) else ()


def _patched(patch: str) -> Iterator[str]:
    for match in _named().finditer(patch[:_WINDOW]):
        yield _shown(match[1])


def _shown(path: str) -> str:
    if len(path) <= _LONGEST and is_plain(path, lines=False):
        return path.strip()
    return cut(clean(path[: 4 * _LONGEST], lines=False).text.strip(), _LONGEST)


@cache
def _named() -> re.Pattern[str]:
    return re.compile(_NAMED, re.MULTILINE)

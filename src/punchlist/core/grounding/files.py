"""The files that the arguments of an edit name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any, Final, cast

from punchlist.core.grounding.calls import MOST_FILES
from punchlist.text import clean, cut

_PATHS: Final = (
    "file_path", "path", "filePath", "filename", "file", "notebook_path", "target_file", "absolute_path",
    "relative_path", "old_path", "new_path", "source", "destination", "source_path", "destination_path",
)  # fmt: skip
_LISTS: Final = ("paths", "files", "file_paths", "edits", "changes", "replacements")
_PATCHES: Final = ("patch", "input", "diff", "patch_text", "patchText")
_PATCHES_AND_LISTS: Final = frozenset((*_PATCHES, *_LISTS))
_KNOWN: Final = _PATCHES_AND_LISTS.union(_PATHS)
_LONGEST: Final = 240
_WINDOW: Final = 262_144
_NAMED: Final = r"^(?:\*\*\* (?:Add File|Update File|Delete File|Move to): |\+\+\+ b/|--- a/)([^\t\n]{1,1000})"


def named_files(arguments: Any) -> tuple[str, ...]:
    """Paths as they were given, cleaned and sorted, each once."""
    found = list(islice(_files(arguments, 0), MOST_FILES))
    return tuple(found) if len(found) < 2 else tuple(sorted(set(found)))


def _files(arguments: Any, depth: int) -> Iterator[str]:
    if isinstance(arguments, str):
        yield from _patched(arguments)
    if type(arguments) is not dict and not isinstance(arguments, Mapping):
        return
    fields = cast("Mapping[Any, Any]", arguments)
    if _KNOWN.isdisjoint(fields):
        return
    for key in _PATHS:
        if key in fields and isinstance(value := fields[key], str) and value:
            yield _shown(value)
    if _PATCHES_AND_LISTS.isdisjoint(fields):
        return
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
    return cut(clean(path[: 4 * _LONGEST], lines=False).text.strip(), _LONGEST)


@cache
def _named() -> re.Pattern[str]:
    return re.compile(_NAMED, re.MULTILINE)

"""One folder of task files beside a list of the board: what changed in the files, and writing what the list says."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from punchlist.bridges.task_bases import Base, Bases
from punchlist.bridges.task_files import NO_EDGES, TaskFile, TaskFolder
from punchlist.bridges.task_merge import Found, ListState

logger = logging.getLogger("punchlist.bridges.claude_tasks")


class Looked(NamedTuple):
    """What others did to the files of a folder: those that changed, those that are gone, and what that means.

    `deleted` are files that were taken away while others stayed. `cleared` are those of open tasks that are gone with
    all the others: Claude Code clears a list that is finished, and deleting the last task looks the same.
    """

    found: list[Found]
    gone: dict[int, Base]
    deleted: dict[int, TaskFile]
    cleared: dict[int, TaskFile]


def look(folder: TaskFolder, bases: Bases, there: Sequence[int]) -> Looked:
    """What changed since the board and the files agreed. Only what the watermark knows of was taken away on purpose."""
    found: list[Found] = []
    for number in there:
        signature, known = folder.signature(number), bases.get(number)
        if signature is None or (known is not None and known.signature == signature):
            continue
        file = folder.read(number)
        if isinstance(file, str):
            logger.warning("`%s` is passed over: %s", folder.at(number), file)
        else:
            before = (None, NO_EDGES) if known is None else (known.file, known.refused)
            found.append(Found(number, signature, file, *before))
    gone = {number: known for number, known in bases if known.signature and number not in there}
    mark = folder.watermark()
    taken = {number: known.file for number, known in sorted(gone.items()) if number <= mark}
    if any(number in there for number, _ in bases):
        return Looked(found, gone, taken, {})
    return Looked(found, gone, {}, {number: file for number, file in taken.items() if file.status != "completed"})


def written(folder: TaskFolder, bases: Bases, state: ListState) -> bool:
    """Makes the files say what the board says; False where one of them moved meanwhile, which is then left."""
    mark = folder.watermark()
    unmoved, removed = True, False
    for number in folder.numbers():
        if number >= state.next_id and number not in state.left:
            unmoved = False  # it came just now
        elif number not in state.files and number not in state.left:
            removed |= _take_away(folder, bases, number)
    for number, plain in state.files.items():
        known, signature = bases.get(number), folder.signature(number)
        file = plain if known is None else _whole(plain, known)
        if signature is None:
            if _is_let_go(number, file, known, mark):
                continue
        elif known is not None and known.file == file and known.signature == signature:
            continue
        unmoved &= _put(folder, bases, number, file, strange=number in state.strange)
    if removed or (state.files and state.next_id - 1 > max(state.files)):
        folder.raise_watermark(state.next_id - 1)
    return unmoved


def _put(folder: TaskFolder, bases: Bases, number: int, file: TaskFile, *, strange: bool) -> bool:
    """Writes a file; False if it is not the one that we looked at."""
    known, present = bases.get(number), folder.signature(number)
    refused = NO_EDGES if known is None else known.refused
    link = os.path.islink(folder.at(number))  # is replaced itself, or refused if it leads out of the folder
    if present is not None and not link and (known is None or known.signature != present):
        unreadable = isinstance(folder.read(number), str)
        if not unreadable and not strange:
            return False
        aside = folder.set_aside(number, "invalid" if unreadable else "changed")
        logger.warning("`%s` is not what the board has; moved to `%s`", folder.at(number), aside)
    bases.remember(number, Base(folder.write(number, file), file, refused))
    return True


def _whole(file: TaskFile, known: Base) -> TaskFile:
    """What the board says, with what only the file has."""
    blocks, blocked_by = known.refused
    return replace(
        file,
        more=known.file.more,
        blocks=tuple(dict.fromkeys((*file.blocks, *blocks))),
        blocked_by=tuple(dict.fromkeys((*file.blocked_by, *blocked_by))),
    )


def _take_away(folder: TaskFolder, bases: Bases, number: int) -> bool:
    """Removes the file of a task that is gone; one that we do not know is set aside, one that is no task stays."""
    known, signature = bases.forget(number), folder.signature(number)
    if known is not None and known.signature == signature:
        folder.remove(number)
        return True
    if isinstance(folder.read(number), str):
        return False
    aside = folder.set_aside(number, "changed")
    logger.warning("`%s` is no task of the board any more; moved to `%s`", folder.at(number), aside)
    return True


def _is_let_go(number: int, file: TaskFile, known: Base | None, watermark: int) -> bool:
    """Whether a file is missing because somebody took it away, and the task is as it was then."""
    if number > watermark:
        return False
    return file.status == "completed" if known is None else known.signature is None and known.file == file

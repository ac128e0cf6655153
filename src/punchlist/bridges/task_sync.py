"""Compare one folder of task files with a list of the board, record what changed in the files, and write them."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from punchlist.board import Board
from punchlist.bridges.folder import FileSignature
from punchlist.bridges.task_files import (
    NO_EDGES,
    Edges,
    TaskFile,
    TaskFolder,
    decode_file,
    diff_files,
    encode_file,
    make_task_file,
)
from punchlist.core.task import Task, fold_task
from punchlist.errors import InvalidInput
from punchlist.store import Transaction
from punchlist.store.task_rows import TaskRow
from punchlist.tasks import Work
from punchlist.tasks.exchange import record_change, record_new
from punchlist.tasks.fields import describe_task

logger = logging.getLogger("punchlist.bridges.claude_tasks")


# The last state on which a file and the board agreed.


class AgreedFile(NamedTuple):
    """A file as it was when it agreed with the board; without a signature, it was gone when we looked again.

    `refused` are edges of the file that the board cannot have: they stay in the file.
    """

    signature: FileSignature | None
    file: TaskFile
    refused: Edges = NO_EDGES


class AgreedFiles:
    """The agreed files of one folder and list, read when made. Change and `save` them only with the folder's lock."""

    def __init__(self, board: Board, list: str, path: str) -> None:
        self._board = board
        self._list = list
        self._source = f"claude-tasks {path}"
        self._known = board.store.read(self._load)
        self._changed: set[int] = set()

    def _load(self, tx: Transaction) -> dict[int, AgreedFile]:
        where = tx.tasks.find_list(self._list)
        if where is None:
            return {}
        found = tx.tasks.readings(where, self._source).values()
        return {number: base for number, mark in found if (base := _decode_base(number, mark)) is not None}

    def get(self, number: int) -> AgreedFile | None:
        return self._known.get(number)

    def __iter__(self) -> Iterator[tuple[int, AgreedFile]]:
        return iter(self._known.items())

    def remember(self, number: int, base: AgreedFile) -> None:
        if self._known.get(number) != base:
            self._known[number] = base
            self._changed.add(number)

    def forget(self, number: int) -> AgreedFile | None:
        self._changed.add(number)
        return self._known.pop(number, None)

    def save(self) -> None:
        """Save changes, not durably: with an older base, what is on the board is only recorded again."""
        if self._changed:
            self._board.store.transact(self.save_within, durable=False)
            self._changed.clear()

    def save_within(self, tx: Transaction) -> None:
        where = tx.tasks.find_list(self._list)
        for number in sorted(self._changed) if where is not None else ():
            assert where is not None
            source, base = f"{self._source}/{number}", self._known.get(number)
            if base is None:
                tx.tasks.delete_reading(where, source)
            else:
                head = json.dumps([base.signature, base.refused]).encode()
                tx.tasks.save_reading(where, source, number, head + b"\n" + encode_file(number, base.file))


def _decode_base(number: int, mark: bytes) -> AgreedFile | None:
    head, _, body = mark.partition(b"\n")
    file = decode_file(number, body)
    if isinstance(file, str):
        return None
    signature: Any
    signature, (blocks, blocked_by) = json.loads(head)
    known = None if signature is None else FileSignature(*signature)
    return AgreedFile(known, file, (tuple(blocks), tuple(blocked_by)))


# From files to the board.


CLEARED = "Its file is gone with all others of Claude Code's list: it was deleted there, or finished and cleared."
_PAST = 20
"""So many past states of a task are compared with a file that nobody has seen before."""


class ChangedFile(NamedTuple):
    """A file that is new, or changed since it was last read.

    `base` is its last agreed content, `kept` are its edges that the board did not take.
    """

    number: int
    signature: FileSignature
    file: TaskFile
    base: TaskFile | None
    kept: Edges = NO_EDGES


class TaskFilesState(NamedTuple):
    """The list on the board: the content of each file, and the next number.

    `strange`: files that may or may not be newer than the board. `left`: files that are no tasks to us, and are left
    alone. `refused`: edges of files that the board cannot have: to themselves, to nothing or in a cycle.
    """

    files: Mapping[int, TaskFile]
    next_id: int = 1
    strange: frozenset[int] = frozenset()
    left: frozenset[int] = frozenset()
    refused: Mapping[int, Edges] = {}


def read_list_state(tx: Transaction, list: str) -> TaskFilesState:
    where = tx.tasks.find_list(list)
    if where is None:
        return TaskFilesState({})
    files = {int(row.task.id): file for row in tx.tasks.page(where) if (file := make_task_file(row.task)) is not None}
    return TaskFilesState(files, tx.tasks.next_id(where))


def record_files(
    work: Work,
    found: Sequence[ChangedFile],
    deleted: Mapping[int, TaskFile],
    cleared: Mapping[int, TaskFile],
    watermark: int,
) -> TaskFilesState:
    """Record new and changed files, and tasks that are over there; return the resulting list.

    `watermark` is the highest number ever given. `deleted` and `cleared` (which are cancelled) hold the last content of
    each file: a task that differs from it was changed here since, and stays.
    """
    strange, left = set[int](), set[int]()
    new: list[ChangedFile] = []
    for each in sorted(found):
        row = work.find(each.number)
        if row is not None:
            if each.base is not None:
                record_change(work, row.task.id, diff_files(each.base, each.file))
            elif not _is_behind(work, row, each.file):
                strange.add(each.number)
        elif each.base is None and not _is_valid(work, each.file):
            left.add(each.number)
        elif each.base is None and record_new(work, each.number, each.file.subject, _describe_fields(each.file)):
            new.append(each)
        else:
            strange.add(each.number)
    for each in new:  # edges come last, when all tasks are there
        edges = {"add_blocked_by": each.file.blocked_by, "add_blocks": each.file.blocks}
        record_change(work, str(each.number), {"status": each.file.status, **edges})
    for number in [each for each, file in deleted.items() if _is_unchanged(work, each, file)]:
        work.delete(str(number))
    for number in [each for each, file in cleared.items() if _is_unchanged(work, each, file)]:
        work.cancel(str(number), CLEARED)
    if watermark:
        work.tasks.skip_ids(work.where, watermark + 1)
    state = read_list_state(work.tx, work.name)
    told_edges = {each.number: _find_refused(each, state.files.get(each.number)) for each in found}
    refused = {number: edges for number, edges in told_edges.items() if edges != NO_EDGES and number not in strange}
    return state._replace(strange=frozenset(strange), left=frozenset(left), refused=refused)


def _is_unchanged(work: Work, number: int, file: TaskFile) -> bool:
    """True for an open task that is as its file said last."""
    row = work.find(number)
    return row is not None and row.task.is_open and _list_fields(make_task_file(row.task)) == _list_fields(file)


def _find_refused(found: ChangedFile, now: TaskFile | None) -> Edges:
    """Return the edges of a file that the board did not take, now or before."""
    if now is None:
        return NO_EDGES
    file, base = found.file, found.base or TaskFile("")
    blocks, blocked_by = found.kept
    return (
        _find_missing(file.blocks, now.blocks, base.blocks, blocks),
        _find_missing(file.blocked_by, now.blocked_by, base.blocked_by, blocked_by),
    )


def _find_missing(
    said: Sequence[str], taken: Sequence[str], before: Sequence[str], kept: Sequence[str]
) -> tuple[str, ...]:
    """Return edges new in the file, or left out before. Any other that the board lacks was removed there."""
    return tuple(each for each in said if each not in taken and (each in kept or each not in before))


def _is_valid(work: Work, file: TaskFile) -> bool:
    try:
        describe_task(Task(list=work.name, id="", subject=""), {**_describe_fields(file), "subject": file.subject})
    except InvalidInput:
        return False
    return True


def _describe_fields(file: TaskFile) -> dict[str, Any]:
    words: dict[str, Any] = {"description": file.description, "metadata": file.metadata}
    return {**words, "active_form": file.active_form, "owner": file.owner}


def _is_behind(work: Work, row: TaskRow, file: TaskFile) -> bool:
    """True if a file holds the present or a recent state of the task."""
    known = row.task
    if not set(file.blocks) <= set(known.blocks) or not set(file.blocked_by) <= set(known.blocked_by):
        return False
    said = _list_fields(file)
    if _list_fields(make_task_file(known)) == said:
        return True
    task: Task | None = None
    past: list[Task] = []
    for event in work.tasks.history(work.where, int(known.id)):
        task = fold_task(task, event.kind, event.data, event.at)
        if task is not None:
            past.append(task)
    return any(_list_fields(make_task_file(each)) == said for each in past[-_PAST:])


def _list_fields(file: TaskFile | None) -> tuple[Any, ...] | None:
    if file is None:
        return None
    return file.subject, file.description, file.active_form, file.status, file.owner, dict(file.metadata)


class FolderChanges(NamedTuple):
    """Changes that others made to the files of a folder.

    `deleted`: removed while others stayed. `cleared`: open tasks whose files are gone with all others, because Claude
    Code clears a finished list; deleting the last task looks the same.
    """

    found: list[ChangedFile]
    gone: dict[int, AgreedFile]
    deleted: dict[int, TaskFile]
    cleared: dict[int, TaskFile]


def find_changes(folder: TaskFolder, bases: AgreedFiles, there: Sequence[int]) -> FolderChanges:
    """Find what changed since the files agreed with the board. Removals count only up to the watermark."""
    found: list[ChangedFile] = []
    for number in there:
        signature, known = folder.signature(number), bases.get(number)
        if signature is None or (known is not None and known.signature == signature):
            continue
        file = folder.read(number)
        if isinstance(file, str):
            logger.warning("`%s` is passed over: %s", folder.at(number), file)
        else:
            before = (None, NO_EDGES) if known is None else (known.file, known.refused)
            found.append(ChangedFile(number, signature, file, *before))
    gone = {number: known for number, known in bases if known.signature and number not in there}
    mark = folder.watermark()
    taken = {number: known.file for number, known in sorted(gone.items()) if number <= mark}
    if any(number in there for number, _ in bases):
        return FolderChanges(found, gone, taken, {})
    cleared = {number: file for number, file in taken.items() if file.status != "completed"}
    return FolderChanges(found, gone, {}, cleared)


def write_files(folder: TaskFolder, bases: AgreedFiles, state: TaskFilesState) -> bool:
    """Write the files from the board; False if one of them moved meanwhile, which is then left."""
    mark = folder.watermark()
    unmoved, removed = True, False
    for number in folder.numbers():
        if number >= state.next_id and number not in state.left:
            unmoved = False  # it is new since we read the folder
        elif number not in state.files and number not in state.left:
            removed |= _remove_file(folder, bases, number)
    for number, plain in state.files.items():
        known, signature = bases.get(number), folder.signature(number)
        file = plain if known is None else _add_file_extras(plain, known)
        if signature is None:
            if _was_removed(number, file, known, mark):
                continue
        elif known is not None and known.file == file and known.signature == signature:
            continue
        unmoved &= _write_file(folder, bases, number, file, strange=number in state.strange)
    if removed or (state.files and state.next_id - 1 > max(state.files)):
        folder.raise_watermark(state.next_id - 1)
    return unmoved


def _write_file(folder: TaskFolder, bases: AgreedFiles, number: int, file: TaskFile, *, strange: bool) -> bool:
    """Write a file; False if it is not the one that we read."""
    known, present = bases.get(number), folder.signature(number)
    refused = NO_EDGES if known is None else known.refused
    link = os.path.islink(folder.at(number))  # is replaced itself, or refused if it leads out of the folder
    if present is not None and not link and (known is None or known.signature != present):
        unreadable = isinstance(folder.read(number), str)
        if not unreadable and not strange:
            return False
        aside = folder.set_aside(number, "invalid" if unreadable else "changed")
        logger.warning("`%s` is not what the board has; moved to `%s`", folder.at(number), aside)
    bases.remember(number, AgreedFile(folder.write(number, file), file, refused))
    return True


def _add_file_extras(file: TaskFile, known: AgreedFile) -> TaskFile:
    """Add to what the board says what only the file has."""
    blocks, blocked_by = known.refused
    return replace(
        file,
        more=known.file.more,
        blocks=tuple(dict.fromkeys((*file.blocks, *blocks))),
        blocked_by=tuple(dict.fromkeys((*file.blocked_by, *blocked_by))),
    )


def _remove_file(folder: TaskFolder, bases: AgreedFiles, number: int) -> bool:
    """Remove the file of a deleted task. An unknown one is set aside, one that is no task stays."""
    known, signature = bases.forget(number), folder.signature(number)
    if known is not None and known.signature == signature:
        folder.remove(number)
        return True
    if isinstance(folder.read(number), str):
        return False
    aside = folder.set_aside(number, "changed")
    logger.warning("`%s` is no task of the board any more; moved to `%s`", folder.at(number), aside)
    return True


def _was_removed(number: int, file: TaskFile, known: AgreedFile | None, watermark: int) -> bool:
    """True if a file was removed by others, and the task is as it was then."""
    if number > watermark:
        return False
    return file.status == "completed" if known is None else known.signature is None and known.file == file

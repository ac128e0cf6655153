"""One folder of task files beside a list of the board: what changed in the files, and writing what the list says."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from punchlist.board import Board
from punchlist.bridges.folder import FileSignature
from punchlist.bridges.task_files import NO_EDGES, Edges, TaskFile, TaskFolder, changes, decoded, encoded, told
from punchlist.core.task import Task, fold_task
from punchlist.errors import InvalidInput
from punchlist.store import Transaction
from punchlist.store.task_rows import TaskRow
from punchlist.tasks import Work
from punchlist.tasks.exchange import record_change, record_new
from punchlist.tasks.fields import describe_task

logger = logging.getLogger("punchlist.bridges.claude_tasks")


# The last state on which a file and the board agreed.


class Base(NamedTuple):
    """A file as it was when it and the board agreed; without a signature, one that was gone when we looked again.

    `refused` are edges of the file that cannot be on the board, `blocks` and `blocked_by`: they stay in the file.
    """

    signature: FileSignature | None
    file: TaskFile
    refused: Edges = NO_EDGES


class Bases:
    """Those of one folder and list, read when made. Whoever has the folder's lock may change and `save` them."""

    def __init__(self, board: Board, list: str, path: str) -> None:
        self._board = board
        self._list = list
        self._source = f"claude-tasks {path}"
        self._known = board.store.read(self._load)
        self._changed: set[int] = set()

    def _load(self, tx: Transaction) -> dict[int, Base]:
        where = tx.tasks.find_list(self._list)
        if where is None:
            return {}
        found = tx.tasks.readings(where, self._source).values()
        return {number: base for number, mark in found if (base := _decoded(number, mark)) is not None}

    def get(self, number: int) -> Base | None:
        return self._known.get(number)

    def __iter__(self) -> Iterator[tuple[int, Base]]:
        return iter(self._known.items())

    def remember(self, number: int, base: Base) -> None:
        if self._known.get(number) != base:
            self._known[number] = base
            self._changed.add(number)

    def forget(self, number: int) -> Base | None:
        self._changed.add(number)
        return self._known.pop(number, None)

    def save(self) -> None:
        """Not worth a wait for the disk: an older base only means that what is on the board is recorded again."""
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
                tx.tasks.save_reading(where, source, number, _encoded(number, base))


def _encoded(number: int, base: Base) -> bytes:
    return json.dumps([base.signature, base.refused]).encode() + b"\n" + encoded(number, base.file)


def _decoded(number: int, mark: bytes) -> Base | None:
    head, _, body = mark.partition(b"\n")
    file = decoded(number, body)
    if isinstance(file, str):
        return None
    signature, refused = _head(head)
    return Base(signature, file, refused)


def _head(head: bytes) -> tuple[FileSignature | None, Edges]:
    found: Any
    found, (blocks, blocked_by) = json.loads(head)
    return None if found is None else FileSignature(*found), (tuple(blocks), tuple(blocked_by))


# From files to the board.


CLEARED = "Its file is gone with all others of Claude Code's list: it was deleted there, or finished and cleared."
_PAST = 20
"""So many earlier states of a task are compared with a file that nobody has seen before."""


class Found(NamedTuple):
    """A file that changed since it was last looked at, or is new.

    `base` is what it said when it and the board agreed, `kept` are those of its edges that the board did not take.
    """

    number: int
    signature: FileSignature
    file: TaskFile
    base: TaskFile | None
    kept: Edges = NO_EDGES


class TaskFilesState(NamedTuple):
    """The list as the board has it: what each file is to say, and the next number.

    `strange`: files of which nobody can tell whether they are newer. `left`: files that are no tasks to us, and are
    left alone. `refused`: edges of files that cannot be here, to themselves, to nothing or in a circle.
    """

    files: Mapping[int, TaskFile]
    next_id: int = 1
    strange: frozenset[int] = frozenset()
    left: frozenset[int] = frozenset()
    refused: Mapping[int, Edges] = {}


def state_of(tx: Transaction, list: str) -> TaskFilesState:
    where = tx.tasks.find_list(list)
    if where is None:
        return TaskFilesState({})
    files = {int(row.task.id): file for row in tx.tasks.page(where) if (file := told(row.task)) is not None}
    return TaskFilesState(files, tx.tasks.next_id(where))


def record(
    work: Work,
    found: Sequence[Found],
    deleted: Mapping[int, TaskFile],
    cleared: Mapping[int, TaskFile],
    watermark: int,
) -> TaskFilesState:
    """Records new and changed files, and tasks that are over there; the list as it is then.

    `watermark` is the highest number that anybody gave. `deleted` and `cleared`, which are cancelled, have what each
    file said last: a task that is no longer so was changed here since, and stays.
    """
    strange, left = set[int](), set[int]()
    new: list[Found] = []
    for each in sorted(found):
        row = work.find(each.number)
        if row is not None:
            if each.base is not None:
                record_change(work, row.task.id, changes(each.base, each.file))
            elif not _is_behind(work, row, each.file):
                strange.add(each.number)
        elif each.base is None and not _can_be(work, each.file):
            left.add(each.number)
        elif each.base is None and record_new(work, each.number, each.file.subject, _words(each.file)) is not None:
            new.append(each)
        else:
            strange.add(each.number)
    for each in new:  # now that all of them are there
        edges = {"add_blocked_by": each.file.blocked_by, "add_blocks": each.file.blocks}
        record_change(work, str(each.number), {"status": each.file.status, **edges})
    for number in [each for each, file in deleted.items() if _is_still(work, each, file)]:
        work.delete(str(number))
    for number in [each for each, file in cleared.items() if _is_still(work, each, file)]:
        work.cancel(str(number), CLEARED)
    if watermark:
        work.tasks.skip_ids(work.where, watermark + 1)
    state = state_of(work.tx, work.name)
    told_edges = {each.number: _refused(each, state.files.get(each.number)) for each in found}
    refused = {number: edges for number, edges in told_edges.items() if edges != NO_EDGES and number not in strange}
    return state._replace(strange=frozenset(strange), left=frozenset(left), refused=refused)


def _is_still(work: Work, number: int, file: TaskFile) -> bool:
    """Whether an open task is as its file said last."""
    row = work.find(number)
    return row is not None and row.task.is_open and _said(told(row.task)) == _said(file)


def _refused(found: Found, now: TaskFile | None) -> Edges:
    """Which edges a file has that the board did not take, now or before."""
    if now is None:
        return NO_EDGES
    file, base = found.file, found.base or TaskFile("")
    blocks, blocked_by = found.kept
    return (
        _left_out(file.blocks, now.blocks, base.blocks, blocks),
        _left_out(file.blocked_by, now.blocked_by, base.blocked_by, blocked_by),
    )


def _left_out(said: Sequence[str], taken: Sequence[str], before: Sequence[str], kept: Sequence[str]) -> tuple[str, ...]:
    """What is new in the file, or was left out before; what else is not on the board was taken away there."""
    return tuple(each for each in said if each not in taken and (each in kept or each not in before))


def _can_be(work: Work, file: TaskFile) -> bool:
    try:
        describe_task(Task(list=work.name, id="", subject=""), {**_words(file), "subject": file.subject})
    except InvalidInput:
        return False
    return True


def _words(file: TaskFile) -> dict[str, Any]:
    words: dict[str, Any] = {"description": file.description, "metadata": file.metadata}
    return {**words, "active_form": file.active_form, "owner": file.owner}


def _is_behind(work: Work, row: TaskRow, file: TaskFile) -> bool:
    """Whether a file says what the board's task says, or said lately."""
    known = row.task
    if not set(file.blocks) <= set(known.blocks) or not set(file.blocked_by) <= set(known.blocked_by):
        return False
    said = _said(file)
    if _said(told(known)) == said:
        return True
    task: Task | None = None
    past: list[Task] = []
    for event in work.tasks.history(work.where, int(known.id)):
        task = fold_task(task, event.kind, event.data, event.at)
        if task is not None:
            past.append(task)
    return any(_said(told(each)) == said for each in past[-_PAST:])


def _said(file: TaskFile | None) -> tuple[Any, ...] | None:
    """What a file says of the task alone."""
    if file is None:
        return None
    return file.subject, file.description, file.active_form, file.status, file.owner, dict(file.metadata)


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


def written(folder: TaskFolder, bases: Bases, state: TaskFilesState) -> bool:
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

"""Task files and a list of the board: what the files tell is recorded, as far as it can be told what is newer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from punchlist.bridges.folder import Signature
from punchlist.bridges.task_files import NO_EDGES, Edges, TaskFile, changes, told
from punchlist.core.task import Task, fold_task
from punchlist.errors import InvalidInput
from punchlist.store import Transaction
from punchlist.store.task_contract import TaskRow
from punchlist.tasks import Work
from punchlist.tasks.facts import record_change, record_new
from punchlist.tasks.fields import described

CLEARED = "Its file is gone with all others of Claude Code's list: it was deleted there, or finished and cleared."
_PAST = 20
"""So many earlier states of a task are compared with a file that nobody has seen before."""


class Found(NamedTuple):
    """A file that changed since it was last looked at, or is new.

    `base` is what it said when it and the board agreed, `kept` are those of its edges that the board did not take.
    """

    number: int
    signature: Signature
    file: TaskFile
    base: TaskFile | None
    kept: Edges = NO_EDGES


class ListState(NamedTuple):
    """The list as the board has it: what each file is to say, and the next number.

    `strange`: files of which nobody can tell whether they are newer. `left`: files that are no tasks to us, and are
    left alone. `refused`: edges of files that cannot be here, to themselves, to nothing or in a circle.
    """

    files: Mapping[int, TaskFile]
    next_id: int = 1
    strange: frozenset[int] = frozenset()
    left: frozenset[int] = frozenset()
    refused: Mapping[int, Edges] = {}


def state_of(tx: Transaction, list: str) -> ListState:
    where = tx.tasks.find_list(list)
    if where is None:
        return ListState({})
    files = {int(row.task.id): file for row in tx.tasks.page(where) if (file := told(row.task)) is not None}
    return ListState(files, tx.tasks.next_id(where))


def record(
    work: Work,
    found: Sequence[Found],
    deleted: Mapping[int, TaskFile],
    cleared: Mapping[int, TaskFile],
    watermark: int,
) -> ListState:
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
        described(Task(list=work.name, id="", subject=""), {**_words(file), "subject": file.subject})
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

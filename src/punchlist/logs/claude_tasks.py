"""Import and export Claude Code's own task files, `~/.claude/tasks/<list>/<n>.json`: once, on demand.

Numbers are the board's ids. An import adds the tasks that the list does not have yet, and changes no other; the folder
stays as it is. An export writes the list as Claude Code writes it, and loses nothing of others: a file that holds what
the board never said is kept as `<n>.json.changed-<k>`, one that is no task as `<n>.json.invalid-<k>`, and unknown
fields stay. `.highwatermark` is read, and written when files are removed, so that no number is given twice.
`dialects.claude_tasks` says what a file cannot hold. Problems are logged as `punchlist.logs.claude_tasks`.
"""

import logging
import os
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from msgspec.structs import replace

from punchlist.board import Board
from punchlist.core.task import Task, fold_task
from punchlist.dialects.claude_tasks import SHOWN
from punchlist.logs import claude_files
from punchlist.logs.programs import find_home
from punchlist.settings.environment import project_of
from punchlist.store import Transaction
from punchlist.store.tasks import TaskListRow
from punchlist.tasks import Work
from punchlist.tasks.exchange import record_change, record_new

AUTHOR = "claude-code"
"""The author of what files say, in the board's history."""

CLEARED = "Its file is gone with all others of Claude Code's list: it was deleted there, or finished and cleared."
_PAST = 20
"""So many past states of a task are compared with a file."""

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SHORT = re.compile(r"session-([0-9a-zA-Z]{8})")

logger = logging.getLogger(__name__)

Tell = Callable[[int, str], None]
"""Gets the number of a file, and what of it is not on the board."""


class ClaudeTasks:
    """The task lists of one folder: `$CLAUDE_CONFIG_DIR/tasks`, else `~/.claude/tasks`, unless told otherwise."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        path = find_home("claude-code", "tasks") if folder is None else os.fspath(folder)
        self.folder = os.path.abspath(os.path.expanduser(path))

    def folder_of(self, list: str) -> str:
        return claude_files.name_folder(self.folder, list)

    def list_of(self, board: Board, folder: str) -> str:
        """Return the list of a folder: that of a session by its id or its first 8 characters, else its name."""
        if _UUID.fullmatch(folder):
            return f"{claude_files.SESSION}{folder}"
        short = _SHORT.fullmatch(folder)
        known = [row.id for row in board.sessions(limit=1_000)]
        found = [each for each in known if each == folder or (short is not None and each.startswith(short[1]))]
        return f"{claude_files.SESSION}{found[0]}" if len(found) == 1 else folder

    def import_list(
        self, board: Board, folder: str, *, list: str | None = None, project: str | os.PathLike[str] | None = None
    ) -> int:
        """Import the tasks of a folder that the list does not have, and return how many. The folder stays as it is."""
        claude_files.check_part("list", folder)
        name = self.list_of(board, folder) if list is None else list
        found = claude_files.open_folder(self.folder, folder)
        files, problems = found.read_all()

        def tell(number: int, problem: str) -> None:
            logger.warning("`%s`: %s", found.at(number), problem)

        for number, problem in problems.items():
            tell(number, f"passed over: {problem}")
        highest = max([found.watermark(), *files, *problems])
        if not highest:
            return 0

        def work(tx: Transaction) -> int:
            place = Work(tx, name, project=project_of(project), now=board.now(), by=AUTHOR)
            return _add_new_files(place, files, highest, tell)

        return board.store.transact(work)

    def export(self, board: Board, list: str) -> str:
        """Write a list to its folder, and return the folder's path."""
        folder = claude_files.open_folder(self.folder, self.folder_of(list))
        board.store.read(lambda tx: _write_folder(tx, list, folder))
        return folder.path


# From files to the board.


def _add_new_files(work: Work, files: Mapping[int, Task], highest: int, tell: Tell) -> int:
    """Record tasks whose numbers the list has not given, with their edges; return how many.

    `highest` is the highest number that Claude Code has given. `tell` gets what cannot be recorded.
    """
    new: list[int] = []
    for number, file in files.items():
        words = {"description": file.description, "metadata": file.metadata, "active_form": file.active_form}
        if record_new(work, number, file.subject, {**words, "owner": file.owner}) is not None:
            new.append(number)
        elif not _was_on_board(work.tx, work.where, number, file):
            tell(number, "passed over: the list has another task of this number, or cannot hold what it says")
    for number in new:  # edges come last, when all tasks are there
        file = files[number]
        edges = {"add_blocked_by": file.blocked_by, "add_blocks": file.blocks}
        record_change(work, str(number), {"status": file.status, **edges})
    for number in new:
        refused = _describe_refused_edges(files[number], work.row(str(number)).task)
        if refused:
            tell(number, f"without its edges to itself, to nothing or in a cycle: {refused}")
    work.tasks.skip_ids(work.where, highest + 1)
    return len(new)


def follow_files(
    work: Work, folder: claude_files.TaskFolder, files: Mapping[int, Task], unreadable: Collection[int], tell: Tell
) -> None:
    """Make a list on the board that only shows a folder the same as the folder.

    A task without a file was deleted, if the watermark says that its number was given; or cleared with all others.
    """
    mark = folder.watermark()
    files = _complete_edges(files)
    shown = {int(row.task.id): row.task for row in work.tasks.page(work.where)}
    for number in files.keys() & shown.keys():
        changed = claude_files.find_changes(shown[number], files[number])
        if changed:
            record_change(work, str(number), changed)
    for number in shown.keys() - files.keys() - set(unreadable):
        if number > mark or not shown[number].is_open:
            continue
        if files or unreadable:
            work.delete(str(number))
        else:
            work.cancel(str(number), CLEARED)
    _add_new_files(work, files, max([mark, *files, *unreadable]), tell)


def _complete_edges(files: Mapping[int, Task]) -> dict[int, Task]:
    """Return the files with each edge in both of its files, as the board has it; one of them may be behind."""
    blocks = {str(number): dict.fromkeys(file.blocks) for number, file in files.items()}
    blocked_by = {str(number): dict.fromkeys(file.blocked_by) for number, file in files.items()}
    for number, file in files.items():
        for other in file.blocks:
            blocked_by.setdefault(other, {})[str(number)] = None
        for other in file.blocked_by:
            blocks.setdefault(other, {})[str(number)] = None
    return {
        number: replace(file, blocks=tuple(blocks[str(number)]), blocked_by=tuple(blocked_by[str(number)]))
        for number, file in files.items()
    }


def _describe_refused_edges(file: Task, task: Task) -> str:
    blocks = [f"blocks {each}" for each in file.blocks if each not in task.blocks]
    blocked_by = [f"is blocked by {each}" for each in file.blocked_by if each not in task.blocked_by]
    return ", ".join([*blocks, *blocked_by])


def _was_on_board(tx: Transaction, where: TaskListRow, number: int, file: Task) -> bool:
    """True if a file holds the present or a recent state of its task: to write over it loses nothing."""
    row = tx.tasks.find(where, number)
    if row is not None and not (set(file.blocks) <= set(row.task.blocks)):
        return False
    if row is not None and not (set(file.blocked_by) <= set(row.task.blocked_by)):
        return False
    task: Task | None = None
    past: list[Task] = []
    for event in tx.tasks.history(where, number):
        task = fold_task(task, event.kind, event.data, event.at)
        if task is not None:
            past.append(task)
    said = _list_words(file)
    return any(_list_words(each) == said for each in past[-_PAST:])


def _list_words(task: Task) -> tuple[Any, ...]:
    status, metadata = SHOWN[task.status], dict(task.metadata)
    return task.subject, task.description, task.active_form, status, task.owner, metadata


# From the board to files.


def _write_folder(tx: Transaction, list: str, folder: claude_files.TaskFolder) -> None:
    where = tx.tasks.find_list(list)
    if where is None:
        return
    shown = [row.task for row in tx.tasks.page(where)]
    files = {int(task.id): task for task in shown if SHOWN[task.status] is not None}
    last = tx.tasks.next_id(where) - 1
    removed = False
    for number in folder.numbers():
        if number <= last and number not in files:
            removed |= _remove_file(tx, where, folder, number)
    for number, task in files.items():
        _write_file(tx, where, folder, number, claude_files.TaskFile(task))
    if removed or (files and last > max(files)):
        folder.raise_watermark(last)


def _write_file(
    tx: Transaction, where: TaskListRow, folder: claude_files.TaskFolder, number: int, file: claude_files.TaskFile
) -> None:
    """Write a file with the fields that only the file has; set aside what was never on the board."""
    path = folder.at(number)
    if not os.path.lexists(path) or os.path.islink(path):  # a link is replaced itself, or refused if it leads elsewhere
        folder.write(number, file)
        return
    found = folder.read(number)
    if isinstance(found, str):
        _set_aside(folder, number, "invalid")
    elif not _was_on_board(tx, where, number, found.task):
        _set_aside(folder, number, "changed")
    else:
        file = claude_files.TaskFile(file.task, found.more)
    if isinstance(found, str) or found.encode() != file.encode():
        folder.write(number, file)


def _remove_file(tx: Transaction, where: TaskListRow, folder: claude_files.TaskFolder, number: int) -> bool:
    """Remove the file of a task that the list no longer shows. One that never was a task of the list stays: False."""
    found = folder.read(number)
    if isinstance(found, str) or not tx.tasks.history(where, number):
        return False
    if _was_on_board(tx, where, number, found.task):
        folder.remove(number)
    else:
        _set_aside(folder, number, "changed")
    return True


def _set_aside(folder: claude_files.TaskFolder, number: int, why: str) -> None:
    aside = folder.set_aside(number, why)
    logger.warning("`%s` is not what the board has; moved to `%s`", folder.at(number), aside)

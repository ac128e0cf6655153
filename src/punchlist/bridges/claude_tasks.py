"""Claude Code's own task files, `~/.claude/tasks/<list>/<n>.json`: imported, exported, kept in step with a board.

Once the board has a list, the board is authoritative and the folder is its mirror. A change that another program made
to a file is not overwritten:

- The last content of each file is kept on the board, for all its processes. A later change of the file counts as done
  by Claude Code: it is recorded field by field, whatever else happened on the board. A new file with a number that the
  board has not given is a new task. A missing file of an open task was deleted there, if the watermark says so.
- If nobody saw the file before and it holds no recent state of the board's task, nobody can tell which of the two is
  newer: the board's is written, and the file is kept as `<n>.json.changed-<k>`.
- Claude Code deletes all files some seconds after the last task is completed, and old ones by age. That removes
  nothing from the board, and finished tasks are not written again unless they change. A task that was open when its
  file was last seen, and is gone with all the others, was finished or deleted there: it is cancelled with that reason.
- A file that cannot be read or is no task is skipped and logged; a write in its place sets it aside as
  `<n>.json.invalid-<k>`. Unknown fields of a file are kept.

Numbers are the board's ids. `.highwatermark` is written when files are removed, and read so that no number is given
twice. `.lock` is taken as Claude Code takes it, and held from reading the files until a change is written to them: so
the board and Claude Code never give the same number. `dialects.claude_tasks` says what a file cannot hold. Problems are
logged as `punchlist.bridges.claude_tasks`; a folder that cannot be kept in step never fails a write to the board.
"""

from __future__ import annotations

import logging
import os
import re
import weakref
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager

from punchlist.agent import Agent
from punchlist.board import Board
from punchlist.bridges.folder import FileSignature, Folder, check_length, check_part, claude_folder
from punchlist.bridges.task_files import (
    HELD,
    NO_EDGES,
    SESSION,
    STALE,
    TaskFolder,
    hold_folder,
    is_held,
    name_folder,
    open_folder,
)
from punchlist.bridges.task_sync import (
    AgreedFile,
    AgreedFiles,
    TaskFilesState,
    find_changes,
    read_list_state,
    record_files,
    write_files,
)
from punchlist.config import project_of
from punchlist.errors import InvalidInput, ListFileRefused
from punchlist.store import AgentRow, Transaction
from punchlist.tasks import Work

AUTHOR = "claude-code"
"""The author of changes that files brought, in the board's history."""

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SHORT = re.compile(r"session-([0-9a-zA-Z]{8})")
_TURNS = 5
"""How often a folder is written again while another process changes the list."""

_TO_CHANGE = STALE + 2
"""Seconds that a change waits for a folder: longer than the lock of a program that ended counts."""

logger = logging.getLogger(__name__)


class ClaudeTasks:
    """The task lists of one folder: `$CLAUDE_CONFIG_DIR/tasks`, else `~/.claude/tasks`, unless told otherwise."""

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        patience: float = 2.0,
        patience_to_change: float = _TO_CHANGE,
    ) -> None:
        """`patience`: how many seconds to wait for another program that holds a folder."""
        path = claude_folder("tasks") if folder is None else os.fspath(folder)
        self.folder = os.path.abspath(os.path.expanduser(path))
        self._patience = patience
        self._patience_to_change = patience_to_change
        self._seen: weakref.WeakKeyDictionary[Board, dict[str, Mapping[str, FileSignature | None]]]
        self._seen = weakref.WeakKeyDictionary()
        self._boards: weakref.WeakSet[Board] = weakref.WeakSet()

    # Names.

    def folder_of(self, list: str) -> str:
        """Return the folder name of a list. Raises `InvalidInput` where the list has none.

        A session's is `session-<first 8 of its id>` where there is such a folder, else its id.
        """
        return name_folder(self.folder, list)

    def list_of(self, board: Board, folder: str) -> str:
        """Return the list of a folder: that of a session by its id or its first 8 characters, else its name."""
        if _UUID.fullmatch(folder):
            return f"{SESSION}{folder}"
        short = _SHORT.fullmatch(folder)
        known = [row.id for row in board.sessions(limit=1_000)]
        found = [each for each in known if each == folder or (short is not None and each.startswith(short[1]))]
        return f"{SESSION}{found[0]}" if len(found) == 1 else folder

    def _open(self, name: str, *, make: bool) -> TaskFolder | None:
        """Return the folder of that name, made if asked for; None if there is none."""
        return open_folder(self.folder, name, make=make)

    # Files and a board.

    def import_list(
        self, board: Board, folder: str, *, list: str | None = None, project: str | os.PathLike[str] | None = None
    ) -> int:
        """Import the tasks of a folder and return how many are new. The folder stays as it is."""
        check_part("list", folder)
        check_length(folder)
        name = self.list_of(board, folder) if list is None else list
        found = self._open(folder, make=False)
        if found is None:
            return 0
        before = _count_files(board, name)
        with hold_folder(found.path, patience=self._patience):
            self._import_changes(board, name, found, project_of(project))
        return max(0, _count_files(board, name) - before)

    def import_all(self, board: Board, *, project: str | os.PathLike[str] | None = None) -> int:
        """Import every folder and return how many tasks are new."""
        total = 0
        for name in Folder(self.folder).names():
            try:
                total += self.import_list(board, name, project=project)
            except (InvalidInput, ListFileRefused) as error:
                logger.warning("`%s` was not imported: %s", os.path.join(self.folder, name), error)
        return total

    def export(self, board: Board, list: str) -> str:
        """Record what others did to the folder of a list, write it from the board, and return its path."""
        found = self._open(self.folder_of(list), make=True)
        assert found is not None
        with hold_folder(found.path, patience=self._patience):
            self._sync(board, list, found, project_of(None))
        return found.path

    def _sync(self, board: Board, list: str, folder: TaskFolder, project: str) -> None:
        """Read and write until neither side moved meanwhile: Claude Code locks a single file when it changes it."""
        for _ in range(_TURNS):
            state = self._import_changes(board, list, folder, project)
            bases = AgreedFiles(board, list, folder.path)
            try:
                unmoved = write_files(folder, bases, state)
            finally:
                bases.save()
            if unmoved and board.store.read(lambda tx: read_list_state(tx, list)).files == state.files:
                return

    def _import_changes(self, board: Board, list: str, folder: TaskFolder, project: str) -> TaskFilesState:
        """Record on the board what others did to the files, and return the resulting list."""
        bases = AgreedFiles(board, list, folder.path)
        mark = max([folder.watermark(), *(there := folder.numbers())])
        found, gone, deleted, cleared = find_changes(folder, bases, there)
        state = board.store.read(lambda tx: read_list_state(tx, list))
        if found or deleted or cleared or mark >= state.next_id:

            def work(tx: Transaction) -> TaskFilesState:
                place = Work(tx, list, project=project, now=board.now(), by=AUTHOR, worker=_main_agent(tx, list))
                state = record_files(place, found, deleted, cleared, mark)
                for each in found:
                    if each.number not in state.strange | state.left:
                        refused = state.refused.get(each.number, NO_EDGES)
                        bases.remember(each.number, AgreedFile(each.signature, each.file, refused))
                bases.save_within(tx)
                return state

            state = board.store.transact(work)
            _report(folder, state)
        for number, base in gone.items():
            bases.remember(number, base._replace(signature=None))
        bases.save()
        return state

    # In step.

    def attach(self, board: Board) -> None:
        """Import changes of the files before a list is read or changed, and write them after every change.

        Kept in step are the lists of sessions, and others for which there is a folder.
        """
        if board not in self._boards:
            self._boards.add(board)
            board.observe(on_agent=self._welcome, keeper=_Keeper(self, board))

    def _welcome(self, agent: Agent) -> None:
        if agent.dialect == "claude-tasks":
            self.take_over(agent.board, agent.task_list)

    @contextmanager
    def hold(self, board: Board, list: str) -> Generator[None]:
        """Lock the folder of a list and import its changes; write it at the end.

        If the lock cannot be had in time, the list is changed without it.
        """
        with ExitStack() as ours:
            try:
                found = self._find_folder(list)
                if found is not None:
                    ours.enter_context(hold_folder(found.path, patience=self._patience_to_change))
                    self.take_over(board, list)
            except Exception as error:
                logger.warning("`%s` is changed without the lock of its folder: %s", list, error)
            yield
            self.mirror(board, list)

    def _find_folder(self, list: str) -> TaskFolder | None:
        """Return the folder of a list: an existing one, or a new one for a session."""
        try:
            return self._open(self.folder_of(list), make=list.startswith(SESSION))
        except InvalidInput as error:
            logger.debug("`%s` has no folder: %s", list, error)
            return None

    def take_over(self, board: Board, list: str) -> None:
        """Import what others did to the files, before the list is read or the next number is given.

        A folder that is behind, because its writer was killed, is written too; while we hold it, that comes later.
        """
        try:
            found = self._open(self.folder_of(list), make=False)
            if found is None:
                return
            seen = found.signatures()
            ours = is_held(found.path)
            if ours:
                seen = {name: state for name, state in seen.items() if name != HELD}
            known = self._seen.setdefault(board, {})
            if known.get(found.path) == seen:
                return
            with hold_folder(found.path, patience=self._patience):
                (self._import_changes if ours else self._sync)(board, list, found, project_of(None))
            known[found.path] = seen  # as it was before we looked
        except InvalidInput as error:
            logger.debug("`%s` has no folder: %s", list, error)
        except Exception as error:
            logger.warning("The tasks of `%s` were not taken over: %s", list, error)

    def mirror(self, board: Board, list: str) -> None:
        """Write the folder of a list that is kept in step."""
        try:
            if self._find_folder(list) is not None:
                self.export(board, list)
        except Exception as error:
            self._seen.pop(board, None)  # so that the next look is a thorough one
            logger.warning("The folder of `%s` is not in step: %s", list, error)


class _Keeper:
    """Keeps the lists of one board in step with the folder. Does not keep the board alive."""

    def __init__(self, tasks: ClaudeTasks, board: Board) -> None:
        self._tasks = tasks
        self._board = weakref.ref(board)

    def look(self, list: str) -> None:
        if (board := self._board()) is not None:
            self._tasks.take_over(board, list)

    @contextmanager
    def hold(self, list: str) -> Generator[None]:
        board = self._board()
        assert board is not None  # it is the one that asks
        with self._tasks.hold(board, list):
            yield

    def write(self, list: str) -> None:
        if (board := self._board()) is not None:
            self._tasks.mirror(board, list)


def _main_agent(tx: Transaction, list: str) -> AgentRow | None:
    """Return the agent by whose work Claude Code's completions are graded: files name none of the board's."""
    return tx.agent(list.removeprefix(SESSION), "main") if list.startswith(SESSION) else None


def _count_files(board: Board, list: str) -> int:
    return len(board.store.read(lambda tx: read_list_state(tx, list)).files)


def _report(folder: TaskFolder, state: TaskFilesState) -> None:
    for number in sorted(state.left):
        logger.warning("`%s` is passed over: it has no subject, or more than a task can hold", folder.at(number))
    for number, (blocks, blocked_by) in sorted(state.refused.items()):
        told = ", ".join([*(f"blocks {each}" for each in blocks), *(f"is blocked by {each}" for each in blocked_by)])
        why = "to itself, to nothing or in a cycle; it stays in the file alone"
        logger.warning("`%s` says what the board cannot: %s (%s)", folder.at(number), told, why)


def attach_configured(board: Board) -> ClaudeTasks | None:
    """Keep the folder of `$PUNCHLIST_CLAUDE_TASKS` in step with the board; None where none is named."""
    folder = os.environ.get("PUNCHLIST_CLAUDE_TASKS")
    if not folder:
        return None
    tasks = ClaudeTasks(folder)
    tasks.attach(board)
    return tasks

"""Claude Code's own files: todo lists, `{session}-agent-{agent}.json`, kept in step with a board; and plan files.

Once the board has a list, the board is authoritative and the file is its mirror.A change that another
program made to a file is not overwritten:

- If the file is newer than the agent's last write on the board, it counts as the agent's next write: it is merged with
  later changes on the board, as any full write is, and the result is exported. So an item that Claude Code added stays,
  and so does one that a person added on the board.
- Otherwise the board's list is written, and the file is kept as `<name>.changed-<n>`, unless the board had that list.
- An empty file removes nothing from the board.
- A file that cannot be read or is no list reads as empty; the next write sets it aside as `<name>.invalid-<n>`.

The file cannot hold everything: `dialects.claude_code` says what is lost. Problems are logged as
`punchlist.bridges.claude_files`; a file that cannot be kept in step never fails a write to the board.
"""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import weakref
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from msgspec.structs import replace

from punchlist.agent import Agent
from punchlist.board import Board
from punchlist.bridges import homes
from punchlist.bridges.folder import HIDDEN, FileSignature, Folder, check_length, check_part, claude_folder
from punchlist.core.approval import Plan
from punchlist.core.commands import Entry, Replace
from punchlist.core.todo import TodoItem, TodoList
from punchlist.dialects.claude_code import POLICY, parse, show_items
from punchlist.errors import EditRefused, InvalidInput, ListFileRefused, PlanFileRefused, PunchlistError
from punchlist.store import Transaction
from punchlist.store.records import LastWrite
from punchlist.text import repair
from punchlist.transcripts.formats import open_transcript
from punchlist.transcripts.values import MAIN

logger = logging.getLogger(__name__)


AUTHOR = "claude-code"
"""The author of what a file says, in the board's history."""

_MARK = "-agent-"
_SUFFIX = ".json"
_UUID = re.compile(r"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})-agent-(.+)", re.DOTALL)
_PAST = 20
"""So many past lists of the board are compared with a file that this process has not seen."""

_COARSE = 0.1
"""Seconds: file systems keep the time of a change less exactly than the clock of the board."""

_MOST_KNOWN = 4096
"""Files that are remembered; beyond that all are forgotten, and read again."""

_IMPORTED = replace(POLICY, wipe_finished=False)

_alone = threading.RLock()
"""One lock for all folders: a change for one folder may reach the mirror of another, and two locks would deadlock."""


class ClaudeFiles:
    """The list files of one folder: `$CLAUDE_CONFIG_DIR/todos`, else `~/.claude/todos`, unless told otherwise."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        path = claude_folder("todos") if folder is None else os.fspath(folder)
        self.folder = os.path.abspath(os.path.expanduser(path))
        self._files = Folder(self.folder)
        self._known: dict[str, FileSignature] = {}
        """Files as they were when they agreed with the board: these need not be read again."""
        self._mute = threading.local()
        self._boards: weakref.WeakSet[Board] = weakref.WeakSet()

    def path(self, session: str, agent: str) -> str:
        """Return the file of an agent. Raises `InvalidInput` for ids that cannot be parts of a file name.

        Claude Code gives its main agent the id of the session; such a file, if it exists, is that of `main`.
        """
        return self._files.at(self._name(session, agent))

    def _name(self, session: str, agent: str) -> str:
        name = file_name(session, agent)
        if agent == MAIN:
            with suppress(InvalidInput):
                own = file_name(session, session)
                if self._files.signature(own) is not None:
                    return own
        return name

    # Files.

    def read(self, session: str, agent: str) -> TodoList | None:
        """Return the list in the file: None without a file, an empty list if it is unreadable or no list (logged)."""
        return self._read(self._name(session, agent))

    def _read(self, name: str) -> TodoList | None:
        if self._files.signature(name) is None:
            return None
        todos = self._load(name)
        if isinstance(todos, str):
            logger.warning("`%s` reads as empty: %s", self._files.at(name), todos)
            return TodoList()
        return todos

    def _load(self, name: str) -> TodoList | str:
        """Return the list in a file, or what is wrong with it."""
        body = self._files.read_or_explain(name)
        return body if isinstance(body, str) else _decode_list(body)

    def write(self, session: str, agent: str, todos: TodoList) -> None:
        """Write a list to the file, whole or not at all. A list there is replaced, anything else set aside.

        Raises `ListFileRefused` if that cannot be done, or a link in its place leads out of the folder.
        """
        with _alone:
            self._write(self._name(session, agent), todos)

    def _write(self, name: str, todos: TodoList) -> FileSignature:
        body = repair(json.dumps(show_items(todos.items), indent=2, ensure_ascii=False)).encode()
        signature = self._files.signature(name)
        if signature not in (None, self._known.get(name)) and not os.path.islink(self._files.at(name)):
            problem = self._load(name)
            if isinstance(problem, str):
                aside = self._files.set_aside(name, "invalid")
                logger.warning("`%s` was no list (%s); moved to `%s`", self._files.at(name), problem, aside)
        return self._files.replace(name, body)

    # Files and a board.

    def adopt(self, agent: Agent) -> bool:
        """Import the agent's file if it holds items and the board has no list of that agent yet."""
        name = self._name(agent.session, agent.name)
        if self._files.signature(name) is None or agent.todos.revision:
            return False
        return self.import_into(agent)

    def import_into(self, agent: Agent) -> bool:
        """Import the agent's file as a full write by that agent; False if the file holds no items.

        What the file cannot express (phases, notes, cancelled items) stays, and so do items that people added since the
        agent last saw its list; other open items that the file lacks are set aside.
        """
        with _alone:
            name = self._name(agent.session, agent.name)
            signature = self._files.signature(name)
            found = self._read(name)
            if signature is None or found is None or not found.items:
                return False
            with self._mute_mirror():
                todos = agent.import_write(_full_write(found), _IMPORTED, by=AUTHOR, source=name)
            self._remember(name, signature)
            if agent.board in self._boards and show_items(todos.items) != show_items(found.items):
                self.export(agent)
            return True

    def export(self, agent: Agent) -> None:
        """Bring the agent's file in step with the board. Without a list on the board the file is left alone."""
        with _alone:
            name = self._name(agent.session, agent.name)
            with self._mute_mirror():
                self._absorb_file(agent, name)
            written = 0
            # Another process may write between our read of the board and our rename, so read again after the rename.
            while (todos := agent.todos).revision != written:
                self._remember(name, self._write(name, todos))
                written = todos.revision

    def _import_newer(self, agent: Agent, name: str) -> bool:
        """Import the agent's file if the agent wrote it later than its list on the board."""
        signature = self._files.signature(name)
        if signature is None or not _is_newer(agent, signature):
            return False
        found = self._load(name)
        if not isinstance(found, str) and _is_past_list(agent, agent.todos.revision, found):
            return False
        return self.import_into(agent)

    def _absorb_file(self, agent: Agent, name: str) -> None:
        """Bring another program's change of the file to the board, or set it aside."""
        signature, current = self._files.signature(name), agent.todos
        if signature is None or not current.revision or self._known.get(name) == signature:
            return
        theirs = self._load(name)
        if isinstance(theirs, str) or not theirs.items or _is_past_list(agent, current.revision, theirs):
            return
        if _is_newer(agent, signature):
            try:
                agent.import_write(_full_write(theirs), _IMPORTED, by=AUTHOR, source=name)
                return
            except EditRefused as error:
                logger.warning("`%s` was changed by another program, and not merged: %s", self._files.at(name), error)
        aside = self._files.set_aside(name, "changed")
        logger.warning("`%s` held a list that the board does not know; moved to `%s`", self._files.at(name), aside)

    @contextmanager
    def _mute_mirror(self) -> Generator[None]:
        """Silence the mirror while this thread changes the board on behalf of a file."""
        self._mute.now = True
        try:
            yield
        finally:
            self._mute.now = False

    def _is_muted(self) -> bool:
        return getattr(self._mute, "now", False)

    def _remember(self, name: str, signature: FileSignature) -> None:
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[name] = signature

    def attach(self, board: Board) -> None:
        """Adopt files as handles are made on the board, and write them after every change."""
        if board not in self._boards:
            self._boards.add(board)
            board.observe(on_agent=self._welcome, on_change=self._mirror)

    def _welcome(self, agent: Agent) -> None:
        if self._is_muted():
            return
        try:
            self.adopt(agent)
        except Exception as error:
            logger.warning("`%s` has no list file to adopt: %s", agent.name, error)

    def _mirror(self, agent: Agent) -> None:
        if self._is_muted():
            return
        try:
            self.export(agent)
        except InvalidInput as error:
            logger.debug("`%s` has no list file: %s", agent.name, error)
        except Exception as error:
            logger.warning("The list file of `%s` is not in step: %s", agent.name, error)

    def import_folder(self, board: Board, *, project: str | os.PathLike[str] | None = None) -> int:
        """Import every list file that the board does not know, or that is newer than its list; return how many.

        Without a `project`, a session that is new to the board gets that of its transcript, else the current one.
        """
        count = 0
        for name in self._files.names():
            ids = parse_file_name(name)
            signature = None if ids is None else self._files.signature(name)
            if ids is None or signature is None or signature.size <= len("[]"):
                continue
            session, agent = ids
            where = project or board.store.read(lambda tx, session=session: tx.session_project(session))
            try:
                name_on_board = MAIN if agent == session else agent
                handle = board.handle(
                    name_on_board, session=session, dialect=AUTHOR, project=where or _find_project(session)
                )
                count += self._import_newer(handle, name)
            except (EditRefused, InvalidInput) as error:
                logger.warning("`%s` was not imported: %s", self._files.at(name), error)
        return count


def attach_configured(board: Board) -> ClaudeFiles | None:
    """Keep the folder of `$PUNCHLIST_CLAUDE_TODOS` in step with the board; None where none is named.

    Files that their agents wrote later than the lists on the board are imported first.
    """
    folder = os.environ.get("PUNCHLIST_CLAUDE_TODOS")
    if not folder:
        return None
    files = ClaudeFiles(folder)
    files.attach(board)
    try:
        files.import_folder(board)
    except OSError as error:
        logger.warning("The list files of `%s` were not read: %s", files.folder, error)
    return files


def file_name(session: str, agent: str) -> str:
    """Return the name of an agent's file; refuse ids that would lead elsewhere or read as another agent's."""
    check_part("session", session)
    check_part("agent", agent)
    name = f"{session}{_MARK}{agent}{_SUFFIX}"
    check_length(name)
    if parse_file_name(name) != (session, agent):
        problem = f"The list file `{name}` would be taken for that of another agent; use an id without `{_MARK}`."
        raise InvalidInput(problem=problem)
    return name


def parse_file_name(name: str) -> tuple[str, str] | None:
    """Return session and agent of a list file by its name; None for any other file.

    A UUID, as Claude Code makes them, ends where it ends; any other session id reaches to the last mark.
    """
    if not name.endswith(_SUFFIX):
        return None
    stem = name.removesuffix(_SUFFIX)
    uuid = _UUID.fullmatch(stem)
    session, mark, agent = (uuid[1], _MARK, uuid[2]) if uuid is not None else stem.rpartition(_MARK)
    return (session, agent) if mark and session and agent else None


def _decode_list(body: bytes) -> TodoList | str:
    """Return the list in the bytes of a file, or what is wrong with them."""
    try:
        given: Any = json.loads(body.decode())
    except (ValueError, RecursionError) as error:
        return f"it is no JSON ({error})"
    command = parse("TodoWrite", {"todos": given})
    if not isinstance(command, Replace):
        return getattr(command, "text", "it is no list").splitlines()[-1]
    items = tuple(
        TodoItem(id=str(number), content=entry.content, active_form=entry.active_form, status=entry.status)
        for number, entry in enumerate(command.entries, start=1)
    )
    return TodoList(items=items, next_id=len(items) + 1)


def _full_write(todos: TodoList) -> Replace:
    """Return the list of a file as the write of Claude Code's own tool."""
    entries = (Entry(content=item.content, status=item.status, active_form=item.active_form) for item in todos.items)
    return Replace(tuple(entries))


def _is_newer(agent: Agent, signature: FileSignature) -> bool:
    """True if a file was written later than its agent last wrote on the board, or the agent never did there."""

    def last_write(tx: Transaction) -> LastWrite | None:
        row = tx.agent(agent.session, agent.name)
        return None if row is None else tx.history.last_write(row)

    last = agent.board.store.read(last_write)
    return last is None or signature.modified / 1e9 > last.at.timestamp() - _COARSE


def _find_project(session: str) -> str | None:
    """Return the folder in which a session of Claude Code works, from its transcript; None if that is not found."""
    place = homes.find_session(session)
    if place is None:
        return None
    with suppress(PunchlistError):
        return open_transcript(place.path, place.format).origin.cwd
    return None


def _is_past_list(agent: Agent, revision: int, theirs: TodoList) -> bool:
    """True if the board had this list recently: then the file is merely behind."""
    rows = show_items(theirs.items)
    for past in range(revision, max(0, revision - _PAST), -1):
        todos = agent.at(past)
        if todos is not None and show_items(todos.items) == rows:
            return True
    return False


# Plan files, `~/.claude/plans/*.md`. It is not known how Claude Code names them, or which session one belongs to: the
# caller names a file, or the newest is taken.


SUFFIX = ".md"


class ClaudePlans:
    """One folder of plan files. Nothing outside it is read or written, and no link is followed out of it."""

    def __init__(self, folder: str | os.PathLike[str] = "~/.claude/plans") -> None:
        self._folder = Folder(os.path.expanduser(os.fspath(folder)))

    @property
    def names(self) -> Sequence[str]:
        """The plan files without their `.md`, newest first."""
        found: list[tuple[int, str]] = []
        for name in self._folder.names():
            signature = self._folder.signature(name) if name.endswith(SUFFIX) else None
            if signature is not None and signature is not HIDDEN:
                found.append((signature.modified, name.removesuffix(SUFFIX)))
        return [name for _, name in sorted(found, reverse=True)]

    def read(self, name: str) -> str:
        """Return the text of a plan file. Raises `PlanFileRefused`."""
        file = _plan_file(name)
        body = self._folder.read_or_explain(file)
        if isinstance(body, str):
            raise PlanFileRefused(path=self._folder.at(file), problem=body)
        return body.decode(errors="replace")

    def propose(self, agent: Agent, name: str | None = None, *, timeout: float | None = None) -> Plan:
        """Propose the plan of a file, by default of the newest, as this agent's."""
        chosen = name if name is not None else next(iter(self.names), None)
        if chosen is None:
            raise PlanFileRefused(path=self._folder.path, problem="it holds no plan")
        return agent.propose_plan(self.read(chosen), timeout=timeout)

    def write(self, plan: Plan, name: str) -> str:
        """Write a plan's text to the file of that name, whole or not at all, and return its path."""
        try:
            self._folder.replace(_plan_file(name), f"{plan.text.rstrip()}\n".encode())
        except ListFileRefused as error:
            raise PlanFileRefused(**error.data) from error
        return self._folder.at(_plan_file(name))


def _plan_file(name: str) -> str:
    check_part("name", name)
    check_length(name)
    return f"{name}{SUFFIX}"

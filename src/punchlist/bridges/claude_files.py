"""Claude Code's own files: todo lists, `{session}-agent-{agent}.json`, kept in step with a board; and plan files.

Once the board has a list, the board is authoritative and the file is its mirror. A file is adopted by itself only
where the board knows no list of that agent yet. A change that another program made to a file is not overwritten:

- If this process read or wrote the file before, the change counts as a write of that agent, based on the file as
  we left it: it is merged with later changes on the board, as any full write is, and the result is exported. So an
  item that Claude Code added stays, and so does one that a person added on the board.
- If this process never saw the file and it holds no recent list of the board, nobody can tell which of the two is
  newer: the board's list is written, and the file is kept as `<name>.changed-<n>`.
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
from typing import Any, NamedTuple

from msgspec.structs import replace

from punchlist.agent import Agent
from punchlist.board import Board
from punchlist.bridges.folder import HIDDEN, FileSignature, Folder, check_length, check_part, claude_folder
from punchlist.core.apply import apply
from punchlist.core.approval import Plan
from punchlist.core.commands import Entry, Replace
from punchlist.core.todo import ListState, TodoItem, TodoList
from punchlist.dialects.claude_code import POLICY, parse, show_items
from punchlist.errors import EditRefused, InvalidInput, ListFileRefused, PlanFileRefused, RevisionConflict
from punchlist.text import repair

logger = logging.getLogger(__name__)


AUTHOR = "claude-code"
"""The author of what a file says, in the board's history."""

MAIN = "main"
_MARK = "-agent-"
_SUFFIX = ".json"
_UUID = re.compile(r"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})-agent-(.+)", re.DOTALL)
_PAST = 20
"""So many past lists of the board are compared with a file that this process has not seen."""

_MOST_KNOWN = 4096
"""Files that are remembered; beyond that all are forgotten, and read again."""

_IMPORTED = replace(POLICY, wipe_finished=False)

_alone = threading.RLock()
"""One lock for all folders: a change for one folder may reach the mirror of another, and two locks would deadlock."""


class _KnownFile(NamedTuple):
    """A file as it was when it agreed with the board, at that revision of the list."""

    signature: FileSignature
    revision: int


class ClaudeFiles:
    """The list files of one folder: `$CLAUDE_CONFIG_DIR/todos`, else `~/.claude/todos`, unless told otherwise."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        path = claude_folder("todos") if folder is None else os.fspath(folder)
        self.folder = os.path.abspath(os.path.expanduser(path))
        self._files = Folder(self.folder)
        self._known: dict[str, _KnownFile] = {}
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
        signature, known = self._files.signature(name), self._known.get(name)
        trusted = known is not None and known.signature == signature
        if signature is not None and not trusted and not os.path.islink(self._files.at(name)):
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
            current = agent.todos
            todos = _merge_full_write(agent, current, current.items, found) if current.revision else found
            with self._mute_mirror():
                todos = agent.restore_list(todos, by=AUTHOR, source=name, graded=True)
            self._remember(name, signature, todos)
            if agent.board in self._boards and show_items(todos.items) != show_items(found.items):
                self.export(agent)
            return True

    def export(self, agent: Agent) -> None:
        """Bring the agent's file in step with the board. Without a list on the board the file is left alone."""
        with _alone:
            name = self._name(agent.session, agent.name)
            with self._mute_mirror():
                while not self._absorb_file(agent, name):
                    pass
            written = 0
            # Another process may write between our read of the board and our rename, so read again after the rename.
            while (todos := agent.todos).revision != written:
                self._remember(name, self._write(name, todos), todos)
                written = todos.revision

    def _absorb_file(self, agent: Agent, name: str) -> bool:
        """Bring another program's change of the file to the board, or set it aside; False to be called again."""
        signature, known = self._files.signature(name), self._known.get(name)
        current = agent.todos
        if signature is None or not current.revision or (known is not None and known.signature == signature):
            return True
        theirs = self._load(name)
        if isinstance(theirs, str) or not theirs.items or _is_past_list(agent, current.revision, theirs):
            return True
        base = None if known is None else agent.at(known.revision)
        if base is not None and base.plan_id == current.plan_id:
            try:
                row = agent.board.store.agent(agent.session, agent.name)
                # Claude Code writes from its memory: where it last saw another list, that is the base.
                last_seen = None if row is None else row.state.shown
                merged = _merge_full_write(agent, current, last_seen or base.items, theirs)
                if merged is not current:
                    agent.rewrite(merged, by=AUTHOR, revision=current.revision)
                return True
            except RevisionConflict:
                return False
            except EditRefused as error:
                logger.warning("`%s` was changed by somebody else, and not merged: %s", self._files.at(name), error)
        aside = self._files.set_aside(name, "changed")
        logger.warning("`%s` held a list that the board does not know; moved to `%s`", self._files.at(name), aside)
        return True

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

    def _remember(self, name: str, signature: FileSignature, todos: TodoList) -> None:
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[name] = _KnownFile(signature, todos.revision)

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
        """Adopt every list file that the board does not know yet, and return how many."""
        count = 0
        for name in self._files.names():
            ids = parse_file_name(name)
            if ids is None:
                continue
            session, agent = ids
            try:
                with self._mute_mirror():
                    name_on_board = MAIN if agent == session else agent
                    handle = board.agent(name_on_board, session=session, dialect=AUTHOR, project=project)
                count += self.adopt(handle)
            except (EditRefused, InvalidInput) as error:
                logger.warning("`%s` was not imported: %s", self._files.at(name), error)
        return count


def attach_configured(board: Board) -> ClaudeFiles | None:
    """Keep the folder of `$PUNCHLIST_CLAUDE_TODOS` in step with the board; None where none is named."""
    folder = os.environ.get("PUNCHLIST_CLAUDE_TODOS")
    if not folder:
        return None
    files = ClaudeFiles(folder)
    files.attach(board)
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


def _merge_full_write(agent: Agent, current: TodoList, base: tuple[TodoItem, ...], theirs: TodoList) -> TodoList:
    """Return the board's list after a full write of `theirs` by an author who last saw `base`."""
    entries = (Entry(content=item.content, status=item.status, active_form=item.active_form) for item in theirs.items)
    applied = apply(ListState(current, base), Replace(tuple(entries)), _IMPORTED, agent.board.now(), by=AUTHOR)
    if applied.refused:
        raise EditRefused(problem=" ".join(problem.text for problem in applied.problems))
    return applied.state.todos


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

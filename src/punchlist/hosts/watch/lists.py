"""Keep the lists of agents on the board whose logs are gone, tell of no tool calls, or have a form not read yet.

Their files are looked at every few seconds. A file that has changed is read again: a list that the board knows, or that
is older than the one there, changes nothing.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from punchlist.board import Board
from punchlist.bridges.claude_files import parse_file_name, read_list
from punchlist.bridges.claude_tasks import AUTHOR, ClaudeTasks, follow_files
from punchlist.bridges.folder import Folder
from punchlist.bridges.programs import find_home, find_logs
from punchlist.bridges.replay import ReplayBoard, mark_watched
from punchlist.bridges.task_files import SESSION, TaskFolder
from punchlist.core.programs import PROGRAMS
from punchlist.errors import PunchlistError, StoreBusy, StoreError, TranscriptError
from punchlist.hosts.watch.rows import LOCK_SECONDS, has_opencode_calls, read_hermes, read_opencode
from punchlist.hosts.watch.scope import WatchScope
from punchlist.store import Transaction
from punchlist.tasks import Work
from punchlist.transcripts import hermes
from punchlist.transcripts.decoding import name as printable_name
from punchlist.transcripts.formats import open_transcript
from punchlist.transcripts.stores import OPENCODE, StateTranscript
from punchlist.transcripts.values import MAIN, Origin, Transcript, Written

_MOST_FILES: Final = 2_000
_MOST_SESSIONS: Final = 50
"""Conversations of one store that are looked at, the latest ones."""

_CLAUDE: Final = "claude-code"
_QWEN: Final = "qwen"

Report = Callable[[str, Exception], None]


class ListFiles:
    """The files with lists of agents. `since` leaves out those that were last written before, until they change."""

    def __init__(self, board: Board, since: float | None, scope: WatchScope, report: Report) -> None:
        self._board = board
        self._scope = scope
        self._since = since
        self._report = report
        self._seen: dict[str, tuple[int, ...]] = {}
        self.hosts: set[str] = set()
        """Agents of whom a store or a list was found."""

    def look(self) -> None:
        """Take over the lists of files that have changed since the last look."""
        for host, path in islice(_list_files(self._scope), _MOST_FILES):
            now = _read_signature(path)
            before = self._seen.get(path)
            if not now or now == before:
                continue
            self._seen[path] = now
            self.hosts.add(host)
            if before is None and self._since is not None and max(now[1::2]) < self._since * 1e9:
                continue
            try:
                self._read(host, path)
            except StoreBusy:
                del self._seen[path]  # the next look tries again
            except StoreError:
                raise
            except (PunchlistError, OSError) as error:
                self._report(path, error)

    def _read(self, host: str, path: str) -> None:
        if os.path.exists(f"{path}-wal") and not os.path.exists(f"{path}-shm"):
            raise TranscriptError(path=path, problem="its program was killed; reading it would write next to it")
        if host == OPENCODE and path.endswith(".db") and has_opencode_calls(path):
            read_opencode(self._board, path, self._since, self._scope)
        elif host == hermes.NAME:
            read_hermes(self._board, path, self._since, self._scope)
        elif host == _QWEN and _has_log(_QWEN, "*/chats", os.path.basename(path).removesuffix(".json")):
            return  # the log tells of the same writes, each with its time
        if host == _CLAUDE and os.path.isdir(path):
            _read_claude_tasks(self._board, path, self._scope, self._report)
            return
        transcript = _open_claude_list(path) if host == _CLAUDE else open_transcript(path, host)
        if transcript is None:
            return
        for session in transcript.sessions[:_MOST_SESSIONS]:
            written = transcript.latest(session=session if transcript.is_store else None)
            if written is not None:
                self._take(host, session, transcript, written)
            if not transcript.is_store:
                break

    def _take(self, host: str, session: str, transcript: Transcript, written: Written) -> None:
        board = ReplayBoard(self._board.store)

        def work(tx: Transaction) -> None:
            tx.watched = True
            if tx.hosts.find_conversation(host, session) is not None:
                return  # it is attached: the agent itself tells of its list
            folder = written.origin.cwd or transcript.origin.cwd or os.path.dirname(transcript.source)
            where = tx.session_project(session) or folder
            name = written.origin.agent
            is_nothing = not written.command.entries and tx.agent(session, name) is None
            if is_nothing or not self._scope.has_folder(where):
                return
            agent = board.agent(name, session=session, dialect=transcript.dialect, profile="off", project=where)
            mark_watched(agent, transcript.source, host, at=board.now())
            agent.take_over(transcript, written)

        self._board.store.joined(work, durable=False, wait=LOCK_SECONDS)


def _has_log(host: str, folders: str, session: str, rest: str = "") -> bool:
    """True if an agent keeps a log of a session; its name may go on with anything that `rest` matches."""
    pattern = os.path.join(glob.escape(find_logs(host)), folders, f"{glob.escape(session)}{rest}.jsonl")
    return next(glob.iglob(pattern), None) is not None


def _list_files(scope: WatchScope) -> Iterator[tuple[str, str]]:
    for host in scope.agents:
        home = os.path.realpath(find_home(host))
        # A file of lines is a log.
        patterns = (one for one in (PROGRAMS[host].store, PROGRAMS[host].file) if one.endswith((".db", ".json")))
        for pattern in patterns:
            for path in glob.iglob(os.path.join(glob.escape(home), pattern.format(session="*"))):
                if os.path.realpath(path) == path:  # links are not followed
                    yield host, path
    if _CLAUDE in scope.agents:
        yield from ((_CLAUDE, path) for path in _list_claude_places())


def _read_signature(path: str) -> tuple[int, ...]:
    """Return size and time of a file, and of what a SQLite store has not merged yet, or of the files of a folder."""
    found: list[int] = []
    files = [path, f"{path}-wal"]
    if os.path.isdir(path):
        with suppress(OSError):
            files = [os.path.join(path, name) for name in sorted(os.listdir(path))]
    for file in files:
        try:
            seen = os.lstat(file)
        except OSError:
            continue
        if stat.S_ISREG(seen.st_mode):
            found += (seen.st_size, seen.st_mtime_ns)
    return tuple(found)


# Claude Code keeps lists and tasks in files too. Where there is a log, it tells of the same writes, each with its time.

_SHORT_FOLDER: Final = "session-"
"""Begins the name of a folder of tasks that has only the first 8 characters of the session's id."""


def _list_claude_places() -> Iterator[str]:
    """Yield each folder of tasks, and each list file, the newest first. Links are not followed."""
    for kind in ("tasks", "todos"):
        folder = os.path.realpath(find_home(_CLAUDE, kind))
        try:
            with os.scandir(folder) as entries:
                found = [(entry.stat().st_mtime, entry.path) for entry in entries if _is_place(entry, kind)]
        except OSError:
            continue
        yield from (path for _, path in sorted(found, reverse=True))


def _is_place(entry: os.DirEntry[str], kind: str) -> bool:
    if kind == "tasks":
        return entry.is_dir(follow_symlinks=False)
    return entry.is_file(follow_symlinks=False) and parse_file_name(entry.name) is not None


def _has_claude_log(session: str) -> bool:
    """True if Claude Code keeps a log of a session, which may be named as the folder of its tasks is."""
    rest = "*" if session.startswith(_SHORT_FOLDER) else ""
    return _has_log(_CLAUDE, "*", session.removeprefix(_SHORT_FOLDER), rest)


def _open_claude_list(path: str) -> StateTranscript | None:
    """Return the list of a file; None if a log tells of it, or it names nobody. Raises `TranscriptError`."""
    folder, file = os.path.split(path)
    session, agent = parse_file_name(file) or ("", "")
    if printable_name(session) is None or printable_name(agent) is None or _has_claude_log(session):
        return None
    command = read_list(Folder(folder), file)
    if isinstance(command, str):
        raise TranscriptError(path=path, problem=command)
    at = datetime.fromtimestamp(os.lstat(path).st_mtime, UTC)
    # Claude Code gives its main agent the id of the session.
    origin = Origin(MAIN if agent == session else agent, session, None, at)
    return StateTranscript({session: Written(command, origin)}, format=_CLAUDE, source=path)


def _read_claude_tasks(board: Board, path: str, scope: WatchScope, report: Report) -> None:
    """Show the tasks of a folder as those of its session; one that is not known has the name of the folder."""
    home, name = os.path.split(path)
    if printable_name(name) is None or _has_claude_log(name):
        return
    session = ClaudeTasks(home).list_of(board, name).removeprefix(SESSION)
    folder = TaskFolder(path)
    files, problems = folder.read_all()

    def tell(number: int, problem: str) -> None:
        report(folder.at(number), TranscriptError(path=folder.at(number), problem=problem))

    for number, problem in problems.items():
        tell(number, problem)
    shown = ReplayBoard(board.store)

    def work(tx: Transaction) -> None:
        tx.watched = True
        where = tx.session_project(session) or home
        if not scope.has_folder(where) or not _may_show(tx, session):
            return
        agent = shown.agent(MAIN, session=session, dialect=_CLAUDE, profile="off", project=where)
        mark_watched(agent, path, _CLAUDE, at=shown.now())
        place = Work(tx, f"{SESSION}{session}", project=where, now=shown.now(), by=AUTHOR)
        follow_files(place, folder, files, problems, tell)

    if files or folder.watermark():
        board.store.joined(work, durable=False, wait=LOCK_SECONDS)


def _may_show(tx: Transaction, session: str) -> bool:
    """True unless the board has the session or its tasks from elsewhere, where people may change them."""
    if tx.hosts.find_conversation(_CLAUDE, session) is not None:
        return False
    row = tx.agent(session, MAIN)
    if row is not None:
        return bool(tx.overviews.load_activity(row.number).copy_of)
    return tx.tasks.find_list(f"{SESSION}{session}") is None

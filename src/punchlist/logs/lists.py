"""Keep the lists of agents on the board whose logs are gone, tell of no tool calls, or have a form not read yet.

Their files are looked at every few seconds. A list that the board knows, or that is older than the one there, changes
nothing. A SQLite store is read piece by piece, in slices that keep the place in it: several processes may read it, and
each slice begins after the place that the board has, whoever saved it.
"""

import glob
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final, NamedTuple

from punchlist.agent.tool_reports import SAME_CALL
from punchlist.board import Board
from punchlist.core.programs import PROGRAMS
from punchlist.errors import PunchlistError, StoreBusy, StoreError, TranscriptError
from punchlist.logs.claude_files import SESSION, Folder, TaskFolder, parse_file_name, read_list
from punchlist.logs.claude_tasks import AUTHOR, ClaudeTasks, follow_files
from punchlist.logs.discovery import WatchScope
from punchlist.logs.programs import find_home, find_logs
from punchlist.logs.replay import OWN, Replay, ReplayBoard, mark_watched, open_replay
from punchlist.settings.environment import project_of
from punchlist.store import Transaction
from punchlist.store.hosts import Conversation, FilePlace
from punchlist.tasks import Work
from punchlist.transcripts import chats, stores
from punchlist.transcripts.decoding import moment, record
from punchlist.transcripts.decoding import name as printable_name
from punchlist.transcripts.decoding import path as folder_path
from punchlist.transcripts.formats import open_transcript
from punchlist.transcripts.steps import ListWrite, Step, StepReader, SubagentStart
from punchlist.transcripts.stores import OPENCODE, list_tables, read_rows
from punchlist.transcripts.values import MAIN, Origin, Transcript, Written, hold_states

SLICE: Final = 0.005
"""Seconds of work in one transaction; saving the places and the commit come on top, to 20 ms at most."""

LOCK_SECONDS: Final = 1.0
_MOST_FILES: Final = 2_000
_MOST_SESSIONS: Final = 50
"""Conversations of one store that are looked at, the latest ones."""

_CLAUDE: Final = "claude-code"
_QWEN: Final = "qwen"

Report = Callable[[str, Exception], None]


class Piece(NamedTuple):
    """Something in a store: the place to read on from after it, the session of the board, the agent, and its steps."""

    place: int
    session: str
    agent: str
    folder: str
    steps: list[Step]


class StoreRows:
    """A store of one agent. `is_timed`: its places are times in milliseconds."""

    def __init__(self, board: Board, host: str, store: str, scope: WatchScope, *, is_timed: bool) -> None:
        self._board = board
        self._host = host
        self._store = store
        self._scope = scope
        self._is_timed = is_timed
        found = os.stat(store)
        self._file = f"{found.st_dev}:{found.st_ino}"
        self._replays: dict[str, Replay] = {}

    def take(self, read: Callable[[int], Iterable[Piece]], first: Callable[[], int]) -> None:
        """Apply what `read` finds after the place of the last time, or after the `first` one."""
        known = self._board.store.read(self._find_place)
        place = first() if known is None else known
        pieces = sorted(read(place), key=lambda piece: piece.place)
        done = 0
        while done < len(pieces):
            done, self._replays = self._board.store.joined(
                lambda tx, start=done: self._apply(tx, pieces, start, place), durable=False, wait=LOCK_SECONDS
            )

    def _find_place(self, tx: Transaction) -> int | None:
        known = tx.hosts.find_file_place(self._store)
        return known.place if known is not None and known.file == self._file else None

    def _apply(self, tx: Transaction, pieces: list[Piece], start: int, place: int) -> tuple[int, dict[str, Replay]]:
        """Apply pieces from `start` on for the time of a slice; return the number of the next one, and the replays.

        Pieces of the same place are applied together: so a turn that ends at the saved place was told.
        """
        replays, self._replays = self._replays, {}  # of a slice that is not committed no replay is kept
        tx.watched = True
        known = self._find_place(tx)
        saved = place if known is None else known
        if known is not None and known != (pieces[start - 1].place if start else place):
            replays.clear()  # another process has applied pieces meanwhile
        ends, done = time.monotonic() + SLICE, start
        for piece in pieces[start:]:
            if done > start and time.monotonic() > ends and piece.place != pieces[done - 1].place:
                break
            done += 1
            is_applied = piece.place < saved if self._is_timed else piece.place <= saved
            if is_applied or not self._scope.has_folder(piece.folder):
                continue
            conversation = tx.hosts.find_conversation(self._host, piece.session)
            conversation = conversation or bind_served(tx, self._host, piece.session, piece.folder, piece.steps)
            session = piece.session if conversation is None else conversation.session
            if session not in replays:
                replays[session] = open_replay(
                    tx, self._board, host=self._host, session=session, folder=piece.folder, source=self._store
                )
            replay = replays[session]
            replay.meet(conversation, moment(saved + 1) if self._is_timed else None)
            for step in piece.steps:
                try:
                    if piece.agent != MAIN:
                        replay.take(SubagentStart(agent=piece.agent, at=step.at))
                    replay.take(step)
                except StoreError:
                    raise
                except PunchlistError:
                    continue  # a step that is refused would be refused again
        upto = FilePlace(self._file, max(saved, pieces[done - 1].place), b"", "{}")
        tx.hosts.save_file_place(self._store, upto, at=self._board.now())
        return done, replays


# The session that our MCP server made for a conversation.


def bind_served(
    tx: Transaction, host: str, conversation: str, folder: str, steps: Iterable[Step]
) -> Conversation | None:
    """Bind a conversation to the session that our MCP server made for it, if a step is a call that it answered.

    Gemini CLI and opencode do not tell our server which conversation calls it, so its list has a session of its own.
    The log has the same call: what began there within five seconds in the same project is the same.
    """
    for step in steps:
        if isinstance(step, ListWrite) and step.dialect == OWN and step.at is not None:
            project = project_of(folder)
            session = tx.hosts.find_served_session(host, project, step.at, within=SAME_CALL)
            if session is not None:
                tx.hosts.bind_conversation(host, conversation, session, project=project, at=step.at)
                return tx.hosts.find_conversation(host, conversation)
    return None


# Hermes.

_HERMES_FIRST: Final = "SELECT coalesce(max(id), 0) FROM messages WHERE timestamp < ?"
_HERMES_CHANGED: Final = "SELECT DISTINCT session_id FROM messages WHERE id > ? AND active = 1"
_HERMES_ASKED: Final = (
    "SELECT max(id) FROM messages WHERE session_id = ? AND id <= ? AND role = 'assistant' AND active = 1"
)
_HERMES_MESSAGES: Final = """
SELECT id, role, content, tool_call_id, tool_calls, timestamp FROM messages
WHERE session_id = ? AND id >= ? AND active = 1 ORDER BY id
"""
_HERMES_COLUMNS: Final = "SELECT name FROM pragma_table_info('sessions')"
_HERMES_FOLDER: Final = "SELECT cwd FROM sessions WHERE id = ?"


def read_hermes(board: Board, store: str, since: float | None, scope: WatchScope) -> None:
    """Put on the board what Hermes wrote to its store since the last time. A place is the number of a message."""

    def find_first() -> int:
        return 0 if since is None else next(read_rows(store, _HERMES_FIRST, (since,)))[0]

    StoreRows(board, chats.NAME, store, scope, is_timed=False).take(
        lambda place: _read_hermes_pieces(store, place), find_first
    )


def _read_hermes_pieces(store: str, place: int) -> Iterator[Piece]:
    has_folders = any(column == "cwd" for (column,) in read_rows(store, _HERMES_COLUMNS))
    for (given,) in list(read_rows(store, _HERMES_CHANGED, (place,))):
        session = printable_name(given)
        if session is None:
            continue
        told: Any = next(read_rows(store, _HERMES_FOLDER, (given,)), (None,))[0] if has_folders else None
        steps = StepReader(chats.STEPS, None)
        asked = next(read_rows(store, _HERMES_ASKED, (given, place)))[0]  # its calls may end after the place
        for number, *fields in list(read_rows(store, _HERMES_MESSAGES, (given, place if asked is None else asked))):
            message = dict(zip(chats.COLUMNS, fields, strict=True))
            taken = list(steps.take(chats.unwrap_content(message)))
            if number > place:
                yield Piece(number, session, MAIN, folder_path(told) or os.path.dirname(store), taken)


# opencode.

_OPENCODE_SLACK: Final = 60_000
"""Milliseconds by which a session may be older than its latest piece."""

_OPENCODE_SESSIONS: Final = "SELECT id, parent_id, directory FROM session WHERE time_updated >= ? ORDER BY time_updated"
_OPENCODE_PARENT: Final = "SELECT parent_id, directory FROM session WHERE id = ?"
_OPENCODE_PIECES: Final = "SELECT time_updated, data FROM part WHERE session_id = ? AND time_updated >= ?"
_OPENCODE_DEEPEST: Final = 8


def read_opencode(board: Board, store: str, since: float | None, scope: WatchScope) -> None:
    """Put on the board what opencode wrote to its store since the last time, in that order.

    The store keeps each piece of a message as a row, which changes while a tool runs. A place is a time: rows of the
    same time are read again, and calls that the board knows by their id are passed over.
    """
    first = 0 if since is None else int(since * 1000)
    StoreRows(board, stores.OPENCODE, store, scope, is_timed=True).take(
        lambda place: _read_opencode_pieces(store, place), lambda: first
    )


def _read_opencode_pieces(store: str, place: int) -> Iterator[Piece]:
    for session, parent, folder in list(read_rows(store, _OPENCODE_SESSIONS, (place - _OPENCODE_SLACK,))):
        root, where = (session, folder) if parent is None else _find_root(store, parent)
        known, agent = printable_name(root), MAIN if root == session else printable_name(session)
        if known is None or agent is None:
            continue
        for at, data in read_rows(store, _OPENCODE_PIECES, (session, place)):
            told = record(data) if isinstance(data, str) else None
            if told is not None and isinstance(at, int) and told.get("type") in ("tool", "step-finish"):
                reader = StepReader(stores.OPENCODE_STEPS, None if agent == MAIN else agent)
                steps = list(reader.take({**told, "updated": at}))
                yield Piece(at, known, agent, folder_path(where) or os.path.dirname(store), steps)


def _find_root(store: str, session: str) -> tuple[str, str | None]:
    """Return the session that started a subagent's, or its parent's, and the folder of it."""
    folder: str | None = None
    for _ in range(_OPENCODE_DEEPEST):
        parent, folder = next(iter(read_rows(store, _OPENCODE_PARENT, (session,))), (None, folder))
        if parent is None:
            break
        session = parent
    return session, folder


# Files with lists.


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
        if host == OPENCODE and path.endswith(".db") and "part" in list_tables(path):  # older ones have lists only
            read_opencode(self._board, path, self._since, self._scope)
        elif host == chats.NAME:
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
            where = tx.session_folder(session) or folder
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


def _open_claude_list(path: str) -> Transcript | None:
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
    return hold_states({session: Written(command, origin)}, _CLAUDE, path)


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
        where = tx.session_folder(session) or home
        if not scope.has_folder(where) or not _may_show(tx, session):
            return
        agent = shown.agent(MAIN, session=session, dialect=_CLAUDE, profile="off", project=where)
        mark_watched(agent, path, _CLAUDE, at=shown.now())
        place = Work(tx, f"{SESSION}{session}", project=agent.project, now=shown.now(), by=AUTHOR)
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

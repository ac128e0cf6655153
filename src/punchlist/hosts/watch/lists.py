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
from itertools import islice
from typing import Final

from punchlist.board import Board
from punchlist.bridges.homes import find_home, find_logs
from punchlist.bridges.replay import ReplayBoard, mark_watched
from punchlist.errors import PunchlistError, StoreBusy, StoreError, TranscriptError
from punchlist.hosts.watch import claude_lists, hermes, opencode
from punchlist.hosts.watch.rows import LOCK_SECONDS
from punchlist.hosts.watch.scope import WatchScope
from punchlist.store import Transaction
from punchlist.transcripts.formats import open_transcript
from punchlist.transcripts.values import Transcript, Written

PATTERNS: Final = (
    ("opencode", "opencode.db"),
    ("opencode", "storage/todo/*.json"),
    ("hermes", "state.db"),
    ("openclaw", "event-ledger.json"),
    ("qwen", "*.json"),
)
"""Agents, and their files by the folder of their home."""

TITLES: Final = {
    "opencode": "opencode",
    "hermes": "Hermes",
    "openclaw": "OpenClaw",
    "qwen": "Qwen Code",
    claude_lists.HOST: "Claude Code",
}

_MOST_FILES: Final = 2_000
_MOST_SESSIONS: Final = 50
"""Conversations of one store that are looked at, the latest ones."""

_QWEN: Final = "qwen"


class ListFiles:
    """The files with lists of agents. `since` leaves out those that were last written before, until they change."""

    def __init__(
        self, board: Board, since: float | None, scope: WatchScope, report: Callable[[str, Exception], None]
    ) -> None:
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
        if host == opencode.HOST and path.endswith(".db") and opencode.has_calls(path):
            opencode.read_calls(self._board, path, self._since, self._scope)
        elif host == hermes.HOST:
            hermes.read_calls(self._board, path, self._since, self._scope)
        elif host == _QWEN and _has_log(path):
            return  # the log tells of the same writes, each with its time
        if host == claude_lists.HOST and os.path.isdir(path):
            claude_lists.read_tasks(self._board, path, self._scope, self._report)
            return
        transcript = claude_lists.open_list(path) if host == claude_lists.HOST else open_transcript(path, host)
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
            agent = board.handle(name, session=session, dialect=transcript.dialect, profile="off", project=where)
            mark_watched(agent, transcript.source, host, at=board.now())
            agent.take_over(transcript, written)

        self._board.store.joined(work, durable=False, wait=LOCK_SECONDS)


def _has_log(path: str) -> bool:
    """True if qwen keeps a log of the session whose list this is."""
    log = os.path.basename(path).removesuffix(".json") + ".jsonl"
    return (
        next(glob.iglob(os.path.join(glob.escape(find_logs(_QWEN)), "*", "chats", glob.escape(log))), None) is not None
    )


def _list_files(scope: WatchScope) -> Iterator[tuple[str, str]]:
    for host, pattern in (one for one in PATTERNS if one[0] in scope.agents):
        home = os.path.realpath(find_home(host))
        for path in glob.iglob(os.path.join(glob.escape(home), pattern)):
            if os.path.realpath(path) == path:  # links are not followed
                yield host, path
    if claude_lists.HOST in scope.agents:
        yield from ((claude_lists.HOST, path) for path in claude_lists.list_places())


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

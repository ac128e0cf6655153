"""Read the lists and tasks that Claude Code keeps in files, for sessions of which it keeps no log.

Where there is a log, it tells of the same writes, each with its time. Reads only: the board shows what the files say.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

from punchlist.board import Board
from punchlist.bridges.claude_files import parse_file_name, read_list
from punchlist.bridges.claude_tasks import AUTHOR, ClaudeTasks, follow_files
from punchlist.bridges.folder import Folder, claude_folder
from punchlist.bridges.homes import find_logs
from punchlist.bridges.replay import ReplayBoard, mark_watched
from punchlist.bridges.task_files import SESSION, TaskFolder
from punchlist.errors import TranscriptError
from punchlist.hosts.watch.rows import LOCK_SECONDS
from punchlist.hosts.watch.scope import WatchScope
from punchlist.store import Transaction
from punchlist.tasks import Work
from punchlist.transcripts.decoding import name as printable_name
from punchlist.transcripts.stores import StateTranscript
from punchlist.transcripts.values import MAIN, Origin, Written

HOST: Final = "claude-code"
_SHORT: Final = "session-"
"""Begins the name of a folder of tasks that has only the first 8 characters of the session's id."""

Report = Callable[[str, Exception], None]


def list_places() -> Iterator[str]:
    """Yield each folder of tasks, and each list file, the newest first. Links are not followed."""
    for kind in ("tasks", "todos"):
        folder = os.path.realpath(os.path.expanduser(claude_folder(kind)))
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


def has_log(session: str) -> bool:
    """True if Claude Code keeps a log of a session, which may be named as the folder of its tasks is."""
    name = glob.escape(session.removeprefix(_SHORT)) + ("*" if session.startswith(_SHORT) else "")
    return next(glob.iglob(os.path.join(glob.escape(find_logs(HOST)), "*", f"{name}.jsonl")), None) is not None


def open_list(path: str) -> StateTranscript | None:
    """Return the list of a file; None if a log tells of it, or it names nobody. Raises `TranscriptError`."""
    folder, file = os.path.split(path)
    session, agent = parse_file_name(file) or ("", "")
    if printable_name(session) is None or printable_name(agent) is None or has_log(session):
        return None
    command = read_list(Folder(folder), file)
    if isinstance(command, str):
        raise TranscriptError(path=path, problem=command)
    at = datetime.fromtimestamp(os.lstat(path).st_mtime, UTC)
    # Claude Code gives its main agent the id of the session.
    origin = Origin(MAIN if agent == session else agent, session, None, at)
    return StateTranscript({session: Written(command, origin)}, format=HOST, source=path)


def read_tasks(board: Board, path: str, scope: WatchScope, report: Report) -> None:
    """Show the tasks of a folder as those of its session; one that is not known has the name of the folder."""
    home, name = os.path.split(path)
    if printable_name(name) is None or has_log(name):
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
        agent = shown.handle(MAIN, session=session, dialect=HOST, profile="off", project=where)
        mark_watched(agent, path, HOST, at=shown.now())
        place = Work(tx, f"{SESSION}{session}", project=where, now=shown.now(), by=AUTHOR)
        follow_files(place, folder, files, problems, tell)

    if files or folder.watermark():
        board.store.joined(work, durable=False, wait=LOCK_SECONDS)


def _may_show(tx: Transaction, session: str) -> bool:
    """True unless the board has the session or its tasks from elsewhere, where people may change them."""
    if tx.hosts.find_conversation(HOST, session) is not None:
        return False
    row = tx.agent(session, MAIN)
    if row is not None:
        return bool(tx.overviews.load_activity(row.number).copy_of)
    return tx.tasks.find_list(f"{SESSION}{session}") is None

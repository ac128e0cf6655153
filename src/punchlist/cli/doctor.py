"""`punchlist doctor`: check versions, the board's files, lock, file system and content, and the settings."""

from __future__ import annotations

import os
import platform
import shlex
import sqlite3
import stat
from argparse import Namespace
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from punchlist import __version__
from punchlist.attach.status import HostStatus, explain_native_todos, find_status, read_faults
from punchlist.attach.team import describe_delivery, find_team_status
from punchlist.cli import FAILED, OK
from punchlist.cli.arguments import Parser, board_url, command_parser, find_server, open_board, open_reader
from punchlist.cli.terminal import detect_display, show, show_json
from punchlist.core.programs import ATTACHABLE, PROGRAMS, AgentProgram
from punchlist.errors import ConfigInvalid, PunchlistError, StoreBusy, StoreError, StoreUnavailable
from punchlist.logs.programs import find_home
from punchlist.settings import settings_path
from punchlist.settings.environment import REPLACED_VARIABLES, list_variables
from punchlist.settings.servers import hide_password
from punchlist.settings.table import list_entries, load_settings, read_setting
from punchlist.store import is_address, side_path, store_path
from punchlist.store.files import SCHEMA, WAL_BYTES, check_board
from punchlist.store.migrate import list_backups
from punchlist.store.sidecars import SidecarLock
from punchlist.store.sqlite import faults, inspect
from punchlist.terminal.spans import ASCII, Display, Line, Span, Style, safe_line
from punchlist.text import plural
from punchlist.views.findings import ago
from punchlist_hook import log_path

CheckState = Literal["ok", "info", "note", "wrong"]
"""`info` tells something, `note` is worth mending, `wrong` has to be mended."""

_WAL_FIXED = (3, 51, 3)
"""The first SQLite in which several processes that write at once cannot damage a WAL file."""
_NETWORK = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "gpfs", "beegfs"),
        *("ncpfs", "davfs", "vboxsf", "virtiofs", "drvfs"),
        *("fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.glusterfs", "fuse.ceph", "fuse.davfs2", "fuse.gcsfuse"),
    }
)
_FLEETING = frozenset({"tmpfs", "ramfs"})
_LOCK_SECONDS = 2.0
_READ_MARKS = range(123, 128)
"""The bytes of a -shm file that readers lock, by the format of SQLite's WAL index."""

_NOT_SET = "not set: "
_MARKS: dict[CheckState, tuple[str, str, Style]] = {
    "ok": ("✓", "+", "good"),
    "info": ("·", "-", "dim"),
    "note": ("!", "!", "warning"),
    "wrong": ("✗", "x", "bad"),
}
"""For each state its mark, the mark in ASCII, and their style."""


class Checkup(Struct, frozen=True):
    """One thing that was checked. `wrong` needs the reader to act, and `fix` says how."""

    name: str
    state: CheckState
    text: str
    fix: str = ""


def parser() -> Parser:
    about = "Checks the board and this installation (agents: `status`). Ends with 1 on a fault; changes nothing itself."
    made = command_parser("doctor", about, run=_examine)
    text = "first rebuild, from the log, the rows that `brief` reads, and the counts of tasks"
    made.add_argument("--rebuild", action="store_true", help=text)
    made.add_json()
    return made


def _examine(options: Namespace) -> int:
    if options.rebuild and os.path.exists(side_path(board_url(options))):
        with open_board(options) as board:
            board.rebuild_overviews()
            board.store.transact(lambda tx: tx.tasks.rebuild())
    try:
        server = find_server(options)
    except ConfigInvalid:
        server = ""  # said of the settings file below
    about_board = list(_check_board(options) if not server else check_server(server))
    is_usable = all(checkup.state != "wrong" for checkup in about_board)
    is_current = all(checkup.name != "format" for checkup in about_board)
    about_hooks = _check_hooks(options, is_current=is_current) if is_usable and not server else ()
    usual = "" if getattr(options, "db", None) or not is_usable or server else side_path(board_url(options))
    found = [
        Checkup("punchlist", "ok", __version__),
        Checkup("python", "ok", f"{platform.python_version()} ({platform.system()} {platform.machine()})"),
        _check_sqlite(),
        _check_settings_file(),
        *about_board,
        *_check_agents(usual),
        *about_hooks,
        *_check_settings(),
    ]
    wrong = sum(checkup.state == "wrong" for checkup in found)
    if options.json:
        show_json({"ok": not wrong, "findings": found})
    else:
        unset = [checkup for checkup in found if checkup.text.startswith(_NOT_SET)]
        others = f"{len(unset)} more are not set; `punchlist doctor --json` says what they are for"
        rows = [*(checkup for checkup in found if checkup not in unset), Checkup("settings", "ok", others)]
        show(_lines(rows, detect_display()))
        print()
        notes = sum(checkup.state == "note" for checkup in found)
        but = f", but for {plural(notes, 'thing')} worth mending (!)" if notes else ""
        print(f"{plural(wrong, 'thing')} to mend." if wrong else f"All is well{but}.")
    return FAILED if wrong else OK


def _lines(found: list[Checkup], display: Display) -> Iterator[Line]:
    column = max(len(checkup.name) for checkup in found)
    for checkup in found:
        mark, ascii_mark, style = _MARKS[checkup.state]
        yield (
            Span(f"{ascii_mark if display.glyphs is ASCII else mark} ", style),
            Span(f"{checkup.name:<{column}}  ", "bold"),
            Span(safe_line(checkup.text), "bad" if checkup.state == "wrong" else "plain"),
        )
        if checkup.fix:
            yield (Span(" " * (column + 4)), Span(f"fix: {safe_line(checkup.fix)}", "warning"))


def _check_settings_file() -> Checkup:
    path = settings_path()
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode) and mode & 0o022:  # it may name commands
            return Checkup("settings file", "wrong", f"others may write {path}", f"chmod 600 {shlex.quote(path)}")
        load_settings()
    except ConfigInvalid as error:
        return Checkup("settings file", "wrong", str(error), "mend it, or move it away")
    except OSError:
        return Checkup("settings file", "ok", f"{path} is not there; every setting has its default")
    return Checkup("settings file", "ok", path)


class _ApiInfo(Struct):
    version: str


class _ApiDescription(Struct):
    """The part of `/openapi.json` that says which version answers."""

    info: _ApiInfo


def check_server(url: str) -> Iterator[Checkup]:
    """Check the server of a board: that it is there, takes the token, and runs this version."""
    from punchlist.remote.board import RemoteBoard  # only a server needs HTTP

    try:
        with RemoteBoard(url) as board:
            about = board.connection.request("GET", "/openapi.json", prefix="", kind=_ApiDescription)
    except PunchlistError as error:
        yield Checkup("server", "wrong", str(error))
        return
    version = about.info.version
    yield Checkup("server", "ok", f"{url} takes the token, version {version}")
    if version != __version__:
        yield Checkup("server", "note", f"it runs {version}, this is {__version__}", "upgrade the older one")


def _check_board(options: Namespace) -> Iterator[Checkup]:
    """Check the board's file. Nothing else is said about a path that is no board, or that may not be opened."""
    try:
        path = store_path(board_url(options))
        if not path:
            yield Checkup("board", "info", "in memory: it ends with the program")
            return
        if is_address(path):
            yield from _check_database(options)
            return
        with faults(path):
            size = _find_size(path)
            check_board(path)
            if not size:
                said = "is not there yet; the first write makes it"
                if size == 0:
                    said = "is an empty file; the first write makes it a board"
                yield Checkup("board", "info", f"{path} {said}")
                yield check_file_system(path)
                return
            lock = _check_lock(path)
    except ConfigInvalid:
        yield Checkup("board", "wrong", "its place is not known while the settings file cannot be used")
        return
    except StoreUnavailable as error:
        fix = "have its owner let you in, or name a board of your own with --db or $PUNCHLIST_DB"
        yield Checkup("board", "wrong", str(error), fix)
        return
    except StoreError as error:
        yield Checkup("board", "wrong", str(error))
        return
    wal = _find_size(f"{path}-wal")
    more = "" if wal is None else f" and {_size_text(wal)} of WAL"
    yield Checkup("board", "ok", f"{path}, {_size_text(size)}{more}")
    if wal is not None and wal > WAL_BYTES:
        yield _explain_wal(path)
    for backup in list_backups(os.path.realpath(path)):
        made = datetime.fromtimestamp(os.path.getmtime(backup), UTC)
        said = f"{backup}, {_size_text(os.path.getsize(backup))}: the board before its upgrade"
        yield Checkup("backup", "ok", f"{said}, {ago(made, datetime.now(UTC))}")
    yield from _check_permissions(path)
    yield check_file_system(path)
    yield lock
    if lock.state == "ok":
        yield from _check_content(path)


def _check_database(options: Namespace) -> Iterator[Checkup]:
    """Check a board in PostgreSQL, which looks after its own files."""
    with open_reader(options) as board:
        counts = board.store.read(lambda tx: tx.count_rows())
        names = ("session", "agent", "event")
        yield Checkup("board", "ok", f"{board.store.path} in PostgreSQL")
        said = ", ".join(plural(count, name) for count, name in zip(counts, names, strict=True))
        yield Checkup("content", "ok", f"{said}; format {SCHEMA}")


def _explain_wal(path: str) -> Checkup:
    readers = find_readers(f"{path}-shm")
    limit = _size_text(WAL_BYTES)
    if not readers:
        return Checkup("wal", "ok", f"over {limit}; no program keeps it so, and the next writes cut it to that")
    said = f"over {limit}, because an old state of the board is still being read by {', '.join(readers)}"
    fix = "wait for that program, or end it if it hangs; the next writes then cut the file"
    return Checkup("wal", "note", said, fix)


def _find_size(path: str) -> int | None:
    """Return the size of a file, None if there is none; raise `OSError` if its folder may not be searched."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return None


def _check_sqlite() -> Checkup:
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info >= _WAL_FIXED:
        return Checkup("sqlite", "ok", version)
    fixed = ".".join(map(str, _WAL_FIXED))
    damage = f"before {fixed} several processes that write at once can damage a WAL file"
    cover = "Punchlist's own lock covers that, as long as no other program writes to the board"
    return Checkup("sqlite", "info", f"{version}: {damage}; {cover}")


def _size_text(size: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"


def _check_permissions(path: str) -> Iterator[Checkup]:
    folder = os.path.dirname(path)
    parts = [path + part for part in ("", "-wal", "-shm", ".lock", ".notify") if os.path.exists(path + part)]
    parts += list_backups(os.path.realpath(path))
    open_parts = [part for part in parts if stat.S_IMODE(os.stat(part).st_mode) & 0o077]
    if open_parts:
        names = " ".join(shlex.quote(part) for part in open_parts)
        yield Checkup("file", "wrong", "others may read or write the board", f"chmod 600 {names}")
    else:
        yield Checkup("file", "ok", "only you can read it (0600)")
    found = os.stat(folder)
    mode = stat.S_IMODE(found.st_mode)
    fix = f"chmod 700 {shlex.quote(folder)}"
    if mode & stat.S_ISVTX or (hasattr(os, "geteuid") and found.st_uid != os.geteuid()):
        fix = "put the board in a folder of your own"  # this one is shared: nobody should close it to others
    if not mode & 0o077:
        yield Checkup("folder", "ok", "only you can open it (0700)")
    elif mode & 0o022 and not mode & stat.S_ISVTX:
        yield Checkup("folder", "wrong", f"others may put files beside the board (mode {mode:04o})", fix)
    else:
        said = f"others may see the names in it (mode {mode:04o}), not what is in the board"
        yield Checkup("folder", "note", said, fix)


def check_file_system(path: str, mounts: str = "/proc/mounts") -> Checkup:
    """Check the file system of the board: SQLite's shared memory and our lock need a local disk."""
    try:
        with open(mounts, encoding="utf-8", errors="replace") as file:
            table = [line.split(" ") for line in file]
    except OSError:
        return Checkup("disk", "info", "the kind of file system is not known on this system")
    real = os.path.realpath(path)
    kind, best = "unknown", ""
    for row in table:
        if len(row) < 3:
            continue
        where = row[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        if (real == where or real.startswith(where.rstrip("/") + "/")) and len(where) >= len(best):
            kind, best = row[2], where
    if kind in _NETWORK:
        fix = "put the board on a local disk and point $PUNCHLIST_DB there"
        return Checkup("disk", "wrong", f"{kind} is a network file system, where locks do not hold", fix)
    if kind in _FLEETING:
        return Checkup("disk", "note", f"{kind}: what is on it is gone after a restart")
    return Checkup("disk", "ok", kind)


def _check_lock(path: str) -> Checkup:
    lock = SidecarLock(f"{path}.lock", timeout=_LOCK_SECONDS)
    try:
        with lock.hold():
            return Checkup("lock", "ok", "free")
    except StoreBusy:
        holder = find_lock_holder(f"{path}.lock")
        fix = "wait for that program, or end it if it hangs" if holder else "find the program that holds it and end it"
        return Checkup("lock", "wrong", f"held{f' by {holder}' if holder else ''} for over {_LOCK_SECONDS:g} s", fix)
    finally:
        lock.close()


def find_lock_holder(path: str, locks: str = "/proc/locks") -> str | None:
    """Return the process that holds a lock on a file, where the system says so."""
    return next((_name_process(row[4]) for row in _list_locks(path, locks) if row[1] == "FLOCK"), None)


def find_readers(path: str, locks: str = "/proc/locks") -> list[str]:
    """Return the processes that read a snapshot of a board, by their locks on its -shm file."""
    found: list[str] = []
    for _, kind, _, mode, process, _, start, end, *_ in _list_locks(path, locks):
        # The lock of a reader covers one of these bytes; that of a connection which is just open, the next byte.
        marks = int(start) <= _READ_MARKS[-1] and (end == "EOF" or int(end) >= _READ_MARKS[0])
        if kind == "POSIX" and mode == "READ" and marks:
            found.append(_name_process(process))
    return list(dict.fromkeys(found))


def _list_locks(path: str, locks: str) -> list[list[str]]:
    """Return the locks on a file, as the system lists them: number, kind, strictness, mode, process, file, range."""
    try:
        inode = os.stat(path).st_ino
        with open(locks, encoding="ascii", errors="replace") as file:
            rows = [line.split() for line in file]
    except OSError:
        return []
    return [row for row in rows if len(row) >= 8 and row[5].endswith(f":{inode}")]


def _name_process(process: str) -> str:
    try:
        with open(f"/proc/{process}/comm", encoding="utf-8", errors="replace") as file:
            return f"process {process} ({file.read().strip()})"
    except OSError:
        return f"process {process}"


def _check_content(path: str) -> Iterator[Checkup]:
    try:
        found = inspect(path)
    except PunchlistError as error:
        yield Checkup("content", "wrong", str(error), "move the file aside, then restore a copy of it")
        return
    counts = f"{plural(found.sessions, 'session')}, {plural(found.agents, 'agent')}, {plural(found.events, 'event')}"
    yield Checkup("content", "ok", f"{counts}; format {found.format}")
    if found.format < SCHEMA:
        said = f"{found.format}; the next command upgrades the board to {SCHEMA}, and keeps a backup of it"
        yield Checkup("format", "info", said)
    if found.problems:
        fix = "move the file aside with its -wal file, then restore a copy of it"
        yield Checkup("pages", "wrong", "; ".join(found.problems), fix)
    else:
        yield Checkup("pages", "ok", "SQLite's quick check finds nothing wrong")
    if found.journal != "wal":
        yield Checkup("journal", "wrong", f"the journal mode is {found.journal}, not WAL", "let Punchlist alone write")


def _check_agents(board: str) -> Iterator[Checkup]:
    """Say which agents are on this machine, whether they are attached, and what is in the way.

    `board` is the one that commands use; empty if that is not known, or another was asked for.
    """
    found = [status for status in map(find_status, ATTACHABLE.values()) if status.found or status.attached]
    for status in found:
        yield from _check_host(status, ATTACHABLE[status.name])
        if board and status.attached and os.path.realpath(status.board or board) != os.path.realpath(board):
            fix = f"`punchlist attach {status.name}` moves it to {board}"
            yield Checkup(status.name, "note", "it is attached to another board than the one that commands use", fix)
    others = [name for name in PROGRAMS if name not in ATTACHABLE and os.path.isdir(find_home(name))]
    for name in others:
        fix = "`punchlist restore` brings its list to the board"
        yield Checkup(name, "info", f"on this machine ({find_home(name)}), not attached", fix)
    if not found and not others:
        yield Checkup("agents", "info", "none of the agents that Punchlist knows is on this machine")


def _check_host(status: HostStatus, host: AgentProgram) -> Iterator[Checkup]:
    where = f"{host.title} {status.version or '(version unknown)'} ({status.program or status.home})"
    if status.attached:
        rows = ", with rows under the prompt" if status.status_line == "ours" else ""
        state: CheckState = "ok" if status.up_to_date else "note"
        yield Checkup(host.name, state, f"{where}, attached to {status.board}{rows}")
    else:
        yield Checkup(host.name, "info", f"{where}, not attached", f"`punchlist attach {host.name}` connects it")
    for sentence in status.missing:
        yield Checkup(host.name, "note", sentence)
    native = explain_native_todos(host, status.version, attached=status.attached)
    if native:
        yield Checkup(host.name, "ok" if status.attached else "info", native)


def _check_hooks(options: Namespace, *, is_current: bool) -> Iterator[Checkup]:
    path, now = side_path(board_url(options)), datetime.now(UTC)
    if path and _find_size(path) and is_current:  # to open an older board would upgrade it
        with open_reader(options) as board:
            heard = board.store.read(lambda tx: tx.hosts.conversations(None))[:1]
            team = find_team_status(board)
        if team is not None:
            state = "wrong" if team.problem else "note" if team.dropped else "ok"
            yield Checkup("team", state, f"{team.server}: {describe_delivery(team)}")
        for one in heard:
            yield Checkup("hooks", "ok", f"last heard of {one.host}: {one.event}, {ago(one.seen_at, now)}")
        if not heard:
            fix = "restart an attached agent: sessions that ran before `attach` have no hooks"
            yield Checkup("hooks", "info", "no hook of an agent was heard yet", fix)
    faults = read_faults(path) if path else []
    if faults:
        at, problem = faults[-1]
        said = f"{plural(len(faults), 'fault')} in {log_path(path)}; the last, {ago(at, now)}: {problem}"
        yield Checkup("hook faults", "note", said, "the agent went on; delete the file once that is mended")


def _check_settings() -> Iterator[Checkup]:
    entries = {entry.variable: entry for entry in list_entries().values()}
    for name, meaning in list_variables().items():
        value = os.environ.get(name)
        try:
            if value and name in entries and name != "PUNCHLIST_DB":  # the board was checked by itself
                read_setting(entries[name].key)
        except ConfigInvalid as error:
            yield Checkup(f"${name}", "wrong", str(error), meaning)
        else:
            shown = hide_password(value) if value and name == "PUNCHLIST_DB" else value
            yield Checkup(f"${name}", "ok", shown or f"{_NOT_SET}{meaning}")
    for name, instead in REPLACED_VARIABLES.items():
        if os.environ.get(name):
            yield Checkup(f"${name}", "note", "it is set, and no longer read", instead)

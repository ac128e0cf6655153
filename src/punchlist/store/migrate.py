"""Bring a board to the present schema: an empty file by all scripts of `migrations/`, an older board by those after it.

All of it is one transaction under the board's lock, so that a kill leaves the old board or the new one. Before an older
board is changed, SQLite copies it to `board.db.before-N` next to it, where N is the schema that it had.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from functools import cache
from typing import Any
from zlib import crc32

import msgspec

from punchlist.core.events import fold
from punchlist.core.todo import TodoList
from punchlist.settings.environment import Project, find_project
from punchlist.store import records
from punchlist.store.files import APPLICATION_ID, SCHEMA, UNRELEASED, create_private_file, read_schema_version
from punchlist.store.records import migrations, statements

_BACKUPS_KEPT = 2
_DAMAGED = (ValueError, LookupError, TypeError, AttributeError, RecursionError, msgspec.MsgspecError)
"""Errors about what is in a damaged row. None may end a migration: the other rows are good."""

_decode_changes = msgspec.json.Decoder(tuple[str, dict[str, Any]]).decode_lines


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Bring a board to the present schema, under its lock, with a backup of an older one; the path may be empty."""
    found = read_schema_version(connection, path)
    if found == SCHEMA:
        return
    if path and found:
        _back_up(connection, path, found)
    connection.create_function("forget_hashes", 1, forget_hashes, deterministic=True)
    connection.create_function("fold_list", 2, _fold_list)
    connection.create_function("is_sealed", 4, _is_sealed)
    connection.create_function("seal_row", 3, _seal_row)
    connection.create_function("find_project", 2, _find_project)
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = read_schema_version(connection, path)  # again: without `flock`, another process may have been quicker
        for script in migrations()[max(0, found - UNRELEASED) :]:
            for statement in statements(script):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA}")
        connection.execute("UPDATE board SET version = ?", (SCHEMA,))
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def forget_hashes(sealed: bytes) -> bytes:
    """Return an agent's memory without the hashes of detectors. A damaged record stays: a later read reports it."""
    if crc32(sealed[:-4]).to_bytes(4) != sealed[-4:]:
        return sealed
    try:
        memory: dict[str, Any] = msgspec.msgpack.decode(sealed[:-4])
        for name in ("warned", "guard", "held"):
            memory.get("loops", {}).pop(name, None)
        guardrail: dict[str, Any] = memory.get("guardrail") or {}
        guardrail.pop("running", None)
        for name in ("failures", "repeats"):
            guardrail.get("state", {}).pop(name, None)
    except _DAMAGED:
        return sealed
    body = msgspec.msgpack.encode(memory)
    return body + crc32(body).to_bytes(4)


def list_backups(path: str) -> list[str]:
    """Return the backups that were made before a board was migrated, the latest first."""
    folder, name = os.path.split(path)
    prefix = f"{name}.before-"
    with os.scandir(folder) as entries:
        found = [each for each in entries if each.name.startswith(prefix) and each.is_file(follow_symlinks=False)]
    backups = [each for each in found if each.name.removeprefix(prefix).isdigit()]
    backups.sort(key=lambda backup: backup.stat().st_mtime, reverse=True)
    return [backup.path for backup in backups]


@cache
def _find_project(folder: str, part: str) -> str:
    """Return the key, the source or the remote of the project that a folder of schema 111 belongs to."""
    found = Project(folder, "folder", folder)
    with suppress(OSError, *_DAMAGED):
        found = find_project(folder) if folder else found
    return getattr(found, part)


def _fold_list(whole: bytes | None, since: bytes | None) -> bytes:
    """Return a list of schema 109 whole: it was stored with the changes since. A damaged one stays as it is."""
    try:
        todos = TodoList() if whole is None else records.decode_list(whole)
        for kind, data in _decode_changes(since or b""):
            todos = fold(todos, kind, data)
        return records.encode_list(todos)
    except _DAMAGED:
        return whole or b""


def _is_sealed(total: int | None, head: bytes, body: bytes | None, more: bytes | None) -> bool:
    """True if a row of schema 109 agrees with its checksum, if it has one."""
    try:
        return total is None or total == records.checksum(head.decode(), body or b"", more)
    except _DAMAGED:
        return False


def _seal_row(was_sealed: int, head: bytes, body: bytes | None) -> int:
    """Return the checksum of a row; another one for a row that was damaged before."""
    try:
        return records.checksum(head.decode() if was_sealed else "damaged", body or b"")
    except _DAMAGED:
        return 0


def _back_up(connection: sqlite3.Connection, path: str, schema: int) -> None:
    """Write `board.db.before-N`, all of it or nothing, and delete the oldest backups."""
    backup = f"{path}.before-{schema}"
    unfinished = f"{backup}.part"
    with suppress(FileNotFoundError):  # left by a program that was killed
        os.unlink(unfinished)
    create_private_file(unfinished)
    try:
        with closing(sqlite3.connect(unfinished, isolation_level=None)) as copy:
            copy.execute("PRAGMA journal_mode = OFF")  # a copy that fails is deleted, not rolled back
            copy.execute("PRAGMA synchronous = OFF")  # it is synced below
            connection.backup(copy)
        _sync(unfinished)
        os.replace(unfinished, backup)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished)
        raise
    _sync(os.path.dirname(path))  # else a power loss may undo the rename, and not the migration
    others = [each for each in list_backups(path) if each != backup]
    for old in others[_BACKUPS_KEPT - 1 :]:
        os.unlink(old)


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""Send what is in the outbox to the team's server, in order, on a thread of one process of this machine.

The process whose relay sends holds a lock on a file next to the board; in the file stands for how many seconds a hook
may wait for an answer of the server, 0 while that is away. Lines are deleted once the server has them. One that is sent
twice because its acknowledgement was lost is known there by its id.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any, Final

import msgspec

from punchlist.board import Board
from punchlist.dialects.repair import read_fields
from punchlist.errors import InvalidInput, PunchlistError, ServerRefused, StoreClosed
from punchlist.hooks.inbox import ingest
from punchlist.hooks.outbox import filter_answer, relay_path, write_patience
from punchlist.mcp.machine import MachineStream, describe_machine
from punchlist.remote.connection import Connection
from punchlist.settings.servers import read_kept_token
from punchlist.settings.table import TeamSettings, load_settings
from punchlist.store import Transaction
from punchlist.store.outbox import WaitingLine
from punchlist_hook import log_error, open_private

_LOOK_SECONDS: Final = 2.0
"""How often a process that may not send looks whether it may, and one that sends whether the settings changed."""

_BEAT_SECONDS: Final = 5.0
_SECONDS: Final = 5.0
"""Seconds that the server may take for one batch. No agent waits for so long: see `_PATIENCE`."""

_PATIENCE: Final = (0.12, 1.2)
"""Seconds that a hook waits for an answer: four times what the last exchange took, within these limits."""

_PAUSES: Final = (0.5, 1.0, 2.0, 5.0)
"""Seconds between two tries while the server is away."""

_MOST_LINES: Final = 200
_MOST_BYTES: Final = 512 * 1024
_MOST_REPLY: Final = 1024 * 1024


class _BatchReply(msgspec.Struct):
    """The reply to a batch: how many lines the server took, the answers, and the lines that it refused, by id."""

    taken: int
    answers: dict[str, Any] = {}
    refused: dict[str, Any] = {}


class Relay:
    """A thread that sends what is in the outbox while no other process of this machine does."""

    def __init__(self, open_board: Callable[[], Board]) -> None:
        self._open_board = open_board
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._most = _MOST_LINES

    def start(self) -> None:
        """Start the thread, once, if this machine reports to a server."""
        with self._starting:
            if self._thread is None and load_settings().team.server:
                self._thread = threading.Thread(target=self._run, name="punchlist-relay", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop sending. What is left in the outbox is sent by the next relay."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join(_LOOK_SECONDS)

    def _run(self) -> None:
        while not self._closed.is_set():
            with suppress(PunchlistError, OSError):  # the board, or the settings, cannot be used now
                self._serve_locked(self._open_board())
            self._closed.wait(_LOOK_SECONDS)

    def _serve_locked(self, board: Board) -> None:
        team = load_settings().team
        if not team.server or not board.store.files:
            return
        handle = open_private(relay_path(board.store.files), os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            write_patience(board.store.files, 0)
            self._serve(board, team)
        except BlockingIOError:
            return  # another process sends
        finally:
            os.close(handle)

    def _serve(self, board: Board, team: TeamSettings) -> None:
        """Send until this relay is closed, or the settings change."""
        token = read_kept_token(team.server)
        connection = Connection(team.server, token, seconds=_SECONDS, most=_MOST_REPLY)
        stream = MachineStream(board, team, token)
        failures, beat_at, said = 0, 0.0, ""
        try:
            while not self._closed.is_set() and load_settings().team == team:
                ingest(board)
                has_lines = board.store.wait_until(lambda tx: bool(tx.outbox.first(1)), 0 if failures else 0.5)
                try:
                    began = monotonic()
                    if has_lines:
                        self._send_batch(board, connection, team)
                    elif began - beat_at >= _BEAT_SECONDS:
                        connection.request(
                            "POST", "/machine/heartbeat", body=describe_machine(board, team), repeats=True
                        )
                        beat_at = began
                    else:
                        continue
                    failures, said = 0, ""
                    write_patience(board.store.files, min(_PATIENCE[1], max(_PATIENCE[0], 4 * (monotonic() - began))))
                    stream.start()
                except StoreClosed:
                    return
                except PunchlistError as error:
                    write_patience(board.store.files, 0)
                    if str(error) != said:  # once, not at each try
                        said = str(error)
                        log_error(board.store.files, f"the relay: {error}", once=True)
                    if isinstance(error, ServerRefused):  # then with the token that is kept by then
                        self._closed.wait(_PAUSES[-1])
                        return
                    self._closed.wait(_PAUSES[min(failures, len(_PAUSES) - 1)])
                    failures += 1
        finally:
            stream.close()
            connection.close()
            write_patience(board.store.files, 0)

    def _send_batch(self, board: Board, connection: Connection, team: TeamSettings) -> None:
        """Send the first lines that wait; delete them, and keep the answers, once the server has them."""
        lines = _take_first(board.store.read(lambda tx: tx.outbox.first(self._most)))
        now = board.now()
        foreign = [one for one in lines if json.loads(one.line)["remote"] not in team.projects]
        if foreign:  # they waited while it was agreed anew what goes where
            log_error(board.store.files, "events of projects that are not shared any more were dropped", once=True)
            board.store.transact(lambda tx: tx.outbox.delete(foreign, at=None), durable=False)
            return
        body = b"".join(_mark_late(one, now.timestamp()) for one in lines)
        try:
            reply = self._post(board, connection, body)
        except InvalidInput as error:
            if len(lines) > 1:  # one of them is at fault: each by itself
                self._most = 1
                return
            reply = _BatchReply(0, refused={lines[0].id: str(error)})
        else:
            self._most = _MOST_LINES

        for why in list(reply.refused.values())[:3]:
            log_error(board.store.files, f"the team's server refused an event: {str(why)[:200]}", once=True)

        def work(tx: Transaction) -> None:
            for one in lines:
                given = reply.answers.get(one.id)
                if given and (answer := filter_answer(one.event, given, prompt=_read_prompt(one))):
                    tx.hosts.save_answer(one.id, json.dumps(answer).encode())
            tx.outbox.delete(lines, at=now)

        board.store.transact(work, durable=False)

    def _post(self, board: Board, connection: Connection, body: bytes) -> _BatchReply:
        # Its clock, too: times are corrected by how much it is off.
        kind = {"Content-Type": "application/x-ndjson", "X-Punchlist-At": f"{board.now().timestamp():.6f}"}
        return connection.request("POST", "/hooks", body=body, headers=kind, repeats=True, kind=_BatchReply)


def _take_first(lines: list[WaitingLine]) -> list[WaitingLine]:
    """Return the first lines that fit into one request, at least one."""
    size = 0
    for count, one in enumerate(lines):
        size += len(one.line)
        if size > _MOST_BYTES and count:
            return lines[:count]
    return lines


def _read_prompt(one: WaitingLine) -> str:
    return str(read_fields(json.loads(one.line)["event"]).get("prompt", ""))


def _mark_late(one: WaitingLine, now: float) -> bytes:
    """Return the line, marked as late if no hook waits for its answer any more: then nobody would hear it."""
    return one.line if now < one.until else one.line.rstrip()[:-1] + b',"late":true}\n'

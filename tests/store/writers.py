"""What tests run in processes of their own: writers that may be killed, stopped or failed at any point."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import perf_counter
from typing import Any

from punchlist import Board
from punchlist.core.events import Event
from punchlist.errors import StoreError
from punchlist.store import Durability
from punchlist.store.files import WAL_BYTES

ROOT = Path(__file__).resolve().parents[2]
PROJECT = "/projects/storm"
PATIENCE = 60.0
"""Seconds after which a process that should have answered counts as hung."""

_servers = multiprocessing.get_context("forkserver")
_servers.set_forkserver_preload(["tests.store.writers"])


def operation(board: Board, name: str) -> None:
    """One idempotent write: an item of that name is added and done, and the finished list cleared."""
    agent = board.agent("main", session="storm", dialect="claude-code", project=PROJECT)
    todos = [{"content": name, "activeForm": name, "status": "completed"}]
    reply = agent.call("TodoWrite", {"todos": todos}, call_id=name)
    assert not reply.is_error, reply.text


def operations_of(events: list[Event]) -> list[str]:
    """The operations that were applied, in order, as often as they were."""
    return [event.data["item"]["content"] for event in events if event.kind == "item.added"]


@contextmanager
def keep_reading(path: Path) -> Generator[None]:
    """Keep a snapshot of a board, as a program does that reads for long."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM events").fetchone()
        yield


def write_more_than_the_log_may_keep(path: Path) -> None:
    """Make the log of a board larger than its limit; a reader must keep its snapshot meanwhile."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO notices VALUES ('large', 0, zeroblob(?))", (WAL_BYTES,))
        connection.execute("DELETE FROM notices WHERE subject = 'large'")


def start(target: Callable[..., None], *args: Any) -> BaseProcess:
    """A process that runs a function of this module."""
    process = _servers.Process(target=target, args=args, daemon=True)
    process.start()
    return process


class Killable:
    """A process that says what it did through a pipe, line by line, up to the moment of its death."""

    def __init__(self, target: Callable[..., None], *args: Any) -> None:
        self._reading, writing = _servers.Pipe(duplex=False)
        self.process = start(target, *args, writing)
        writing.close()
        os.set_blocking(self._reading.fileno(), False)
        self._rest = b""
        self.ended = False

    def fileno(self) -> int:
        return self._reading.fileno()

    def said(self) -> list[str]:
        """The lines since the last time."""
        lines: list[bytes] = []
        try:
            while not self.ended:
                chunk = os.read(self.fileno(), 65_536)
                self.ended = not chunk
                *whole, self._rest = (self._rest + chunk).split(b"\n")
                lines.extend(whole)
        except BlockingIOError:
            pass
        return [line.decode() for line in lines]

    def kill(self) -> list[str]:
        """Kills it; what it said at last."""
        self.process.kill()
        self.process.join(PATIENCE)
        os.set_blocking(self.fileno(), True)
        last = self.said()
        self._reading.close()
        return last


def write_on(path: str, prefix: str, first: int, durability: Durability, pipe: Any) -> None:
    """Writes operations, numbered from `first`, and says each number once it is acknowledged; never ends."""
    with Board.open(path, durability=durability) as board:
        number = first
        while True:
            operation(board, f"{prefix}n{number}")
            os.write(pipe.fileno(), b"%d\n" % number)
            number += 1


def write_some(path: str, prefix: str, count: int, pipe: Any) -> None:
    """Writes so many operations; sends how long each took, in seconds, or the error that reached it."""
    waits: list[float] = []
    try:
        with Board.open("memory:") as warm:
            operation(warm, "everything is imported")
        with Board.open(path, durability="normal") as board:
            pipe.send("ready")
            assert pipe.recv() == "go"
            for number in range(count):
                begun = perf_counter()
                operation(board, f"{prefix}n{number}")
                waits.append(perf_counter() - begun)
    except Exception as error:
        pipe.send(repr(error))
    else:
        pipe.send(waits)


def open_at_once(path: str, pipe: Any) -> None:
    """Opens the board when told to, and writes once; sends the error, or None."""
    pipe.send("ready")
    assert pipe.recv() == "go"
    try:
        with Board.open(path) as board:
            operation(board, f"p{os.getpid()}")
    except Exception as error:
        pipe.send(repr(error))
    else:
        pipe.send(None)


def hold(path: str, pipe: Any) -> None:
    """Holds the board's lock from when it says so until it is told to let go."""
    with Board.open(path) as board:

        def work(_: Any) -> None:
            pipe.send("held")
            pipe.recv()

        board.store.transact(work)
        pipe.send("done")
        pipe.recv()


def two_way() -> tuple[Any, Any]:
    return _servers.Pipe()


@contextmanager
def held_lock(path: str) -> Generator[None]:
    """Let another process hold a board's lock within the block."""
    here, there = two_way()
    holder = start(hold, path, there)
    assert here.recv() == "held"
    try:
        yield
    finally:
        here.send("let go")
        here.send("end")
        holder.join(PATIENCE)


def run(script: str, *args: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Runs a Python script in a fresh interpreter, below another program if given; with its children it ends."""
    command = [*before, sys.executable, "-c", script, *args]
    process = subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def code_of(action: Callable[[], object]) -> str:
    """`ok`, or the code of the store's error."""
    try:
        action()
    except StoreError as error:
        return error.code
    return "ok"

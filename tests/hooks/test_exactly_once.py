"""Each event is taken exactly once: by several processes at a time, and by processes that are killed at any point."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

import punchlist_hook
from punchlist import Board
from punchlist.conversations.bindings import list_conversations
from punchlist.errors import StoreFailed
from punchlist.hooks.inbox import answer_hook, answer_line, ingest
from punchlist.store import Transaction
from punchlist.store.sqlite import SqliteStore
from tests.hooks.hosts import Host
from tests.sizes import size

EVENTS, KILLS = size(60, 600), size(8, 60)
T = TypeVar("T")

_INGEST = """
import sys
from punchlist import Board
from punchlist.hooks.inbox import ingest
with Board.open(sys.argv[1]) as board:
    ingest(board)
"""

_KILLED_AT = """
import os, signal, sys
from punchlist import Board
from punchlist.hooks import inbox
from punchlist.store.sqlite import SqliteStore

def die(*_): os.kill(os.getpid(), signal.SIGKILL)

point, path = sys.argv[1], sys.argv[2]
joined, unlink = SqliteStore.joined, os.unlink
if point == "before the commit":
    SqliteStore.joined = lambda self, work, **options: joined(self, lambda tx: (work(tx), die()), **options)
if point == "after the commit":
    SqliteStore.joined = lambda self, work, **options: (joined(self, work, **options), die())
if point == "before the inbox is deleted":
    os.unlink = die
if point == "after the inbox is deleted":
    os.unlink = lambda path: (unlink(path), die())
with Board.open(path) as board:
    inbox.ingest(board)
"""


def _append(host: Host, count: int, start: int = 0) -> None:
    """Leave events in the inbox as hooks do, without a process for each."""
    for number in range(start, start + count):
        event = host.event("PreToolUse", tool_name="Read", tool_input={"n": number}, tool_use_id=f"call-{number}")
        line = punchlist_hook.make_line("claude-code", event)
        punchlist_hook.append_line(str(host.board), line)


def _started(host: Host) -> list[str]:
    with Board.open(host.board) as board:
        ingest(board)
        return _list_started(board)


def _list_started(board: Board) -> list[str]:
    return [event.data["call_id"] for event in board.events() if event.kind == "tool.started"]


def _ids(count: int) -> list[str]:
    return [f"call-{number}" for number in range(count)]


@pytest.mark.parametrize(
    "point",
    ["before the commit", "after the commit", "before the inbox is deleted", "after the inbox is deleted"],
)
def test_a_process_that_is_killed_takes_no_event_twice_and_loses_none(host: Host, point: str) -> None:
    _append(host, 10)
    Board.open(host.board).close()
    killed = subprocess.run([sys.executable, "-c", _KILLED_AT, point, str(host.board)], check=False)
    assert killed.returncode == -signal.SIGKILL
    _append(host, 5, start=10)
    assert _started(host) == _ids(15)
    assert not host.inbox.exists()


def test_two_processes_ingest_at_the_same_time(host: Host) -> None:
    _append(host, EVENTS)
    Board.open(host.board).close()
    processes = [subprocess.Popen([sys.executable, "-c", _INGEST, str(host.board)]) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert _started(host) == _ids(EVENTS)
    assert not host.inbox.exists()
    assert host.problems() == []


def test_hooks_write_while_processes_ingest_and_are_killed(host: Host) -> None:
    rng = random.Random(16)
    Board.open(host.board).close()
    done = threading.Event()

    def write() -> None:
        for number in range(EVENTS):
            _append(host, 1, start=number)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(KILLS):
        process = subprocess.Popen([sys.executable, "-c", _INGEST, str(host.board)])
        time.sleep(rng.uniform(0.15, 0.5))
        process.kill()
        process.wait()
    writer.join()
    assert _started(host) == _ids(EVENTS)
    assert not host.inbox.exists()


def test_a_hook_that_is_killed_in_the_middle_of_its_line_costs_only_that_line(host: Host) -> None:
    _append(host, 2)
    with host.inbox.open("ab") as file:
        file.write(b'{"v":1,"id":"cut off')
    _append(host, 2, start=2)
    assert _started(host) == _ids(4)
    assert len(host.problems()) == 1


@pytest.mark.parametrize("rest", [b"", b'{"inbox":1,"gen', b'{"inbox":1}\n', b"\n", b"\n\n\n", b'{"v":1,"id":"cut off'])
def test_an_inbox_without_a_whole_line_is_deleted_or_continued(host: Host, rest: bytes) -> None:
    host.inbox.write_bytes(rest)
    host.inbox.chmod(0o600)
    with Board.open(host.board) as board:
        assert ingest(board) == 0
    assert not host.inbox.exists()
    _append(host, 1)
    assert _started(host) == _ids(1)


def test_a_hook_continues_an_inbox_whose_first_line_was_cut_off(host: Host) -> None:
    host.inbox.write_bytes(b'{"inbox":1,"gen')
    host.inbox.chmod(0o600)
    _append(host, 2)
    assert _started(host) == _ids(2)


def test_a_fault_in_one_line_is_logged_and_the_others_are_taken(host: Host) -> None:
    _append(host, 1)
    bad = host.event("Stop", last_assistant_message="x", session_id="a\nb")
    punchlist_hook.append_line(str(host.board), punchlist_hook.make_line("claude-code", bad))
    punchlist_hook.append_line(str(host.board), b"not json\n")
    punchlist_hook.append_line(str(host.board), b"{}\n")
    _append(host, 1, start=1)
    assert _started(host) == _ids(2)
    assert len(host.problems()) == 3


def test_a_tool_name_that_is_no_text_does_not_stop_the_inbox(host: Host) -> None:
    bad = host.event("PreToolUse", tool_name=["Bash"], tool_use_id="c0")
    punchlist_hook.append_line(str(host.board), punchlist_hook.make_line("claude-code", bad))
    with Board.open(host.board) as board:
        assert ingest(board) == 1
    assert not os.path.exists(punchlist_hook.inbox_path(str(host.board)))


def test_a_fault_inside_a_step_is_rolled_back_alone_and_logged(host: Host) -> None:
    _append(host, 1)
    assert _started(host) == _ids(1)
    connection = sqlite3.connect(host.board)
    connection.execute("UPDATE agents SET memory = x'00'")  # a step that reads it raises, and its handle catches that
    connection.commit()
    connection.close()
    _append(host, 1, start=1)
    other = Host(host.board, host.project, session="s-2")
    _append(other, 1, start=2)
    assert _started(host) == ["call-0", "call-2"]
    assert not host.inbox.exists()
    with Board.open(host.board) as board:
        assert {one.id for one in list_conversations(board)} == {"s-1", "s-2"}
    (problem,) = host.problems()
    assert "a step of main in session s-1" in problem


class _FaultyDisk(SqliteStore):
    """SQLite rolls a transaction back by itself, as after some faults of the disk, once the work is done."""

    def joined(self, work: Callable[[Transaction], T], **options: Any) -> T:
        def run(tx: Transaction) -> T:
            result = work(tx)
            tx.connection.execute("ROLLBACK")
            return result

        return super().joined(run, **options)


def test_a_fault_of_the_store_leaves_the_event_for_the_next_process(host: Host) -> None:
    _append(host, 3)
    with Board(_FaultyDisk(str(host.board))) as board, pytest.raises(StoreFailed):
        ingest(board)
    assert _started(host) == _ids(3)


def test_an_answer_that_another_process_found_reaches_the_hook_that_asked(host: Host) -> None:
    host.write_todos("t1", Fix="in_progress")
    line = punchlist_hook.make_line("claude-code", host.event("Stop", last_assistant_message="Done."))
    punchlist_hook.append_line(str(host.board), line)
    with Board.open(host.board) as board:
        ingest(board)
    assert "still open" in answer_hook(str(host.board), line)["hookSpecificOutput"]["additionalContext"]


class _SlowBoard:
    """A clock by which the board takes 10 ms for each line."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.01
        return self.now


def test_a_hook_behind_a_backlog_is_answered_by_the_board_after_a_second(host: Host) -> None:
    host.write_todos("t1", Fix="in_progress")
    with Board.open(host.board) as board:
        ingest(board)
        _append(host, 300)
        stop = punchlist_hook.make_line("claude-code", host.event("Stop", last_assistant_message="Done."))
        punchlist_hook.append_line(str(host.board), stop)
        clock = _SlowBoard()
        assert "still open" in answer_line(board, stop, clock=clock)["hookSpecificOutput"]["additionalContext"]
        assert 1 <= clock.now < 1.1
        taken = _list_started(board)
        assert 20 < len(taken) < 100
        assert taken == _ids(len(taken))
        assert [one.state for one in list_conversations(board)] == ["busy"]  # the stop waits behind the others
        _append(host, 1, start=300)
        while host.inbox.exists():
            answer_line(board, stop, clock=_SlowBoard())
        assert _list_started(board) == _ids(301)
        assert "still open" in answer_line(board, stop)["hookSpecificOutput"]["additionalContext"]
    assert host.problems() == []


def test_an_answer_by_the_board_records_nothing(host: Host) -> None:
    host.write_todos("t1", Fix="in_progress")
    with Board.open(host.board) as board:
        ingest(board)
        _append(host, 300)
        stop = punchlist_hook.make_line("claude-code", host.event("Stop", last_assistant_message="Done."))
        answers = [answer_line(board, stop, clock=_SlowBoard()) for _ in range(2)]
        assert answers[0] == answers[1] != {}
        assert "turn.ended" not in {event.kind for event in board.events()}


def test_a_hook_waits_for_the_one_that_writes_and_gives_up_in_time(host: Host) -> None:
    host.is_patient = False
    handle = punchlist_hook.lock_inbox(str(host.board))
    try:
        assert host.hook("PreToolUse", tool_name="Read", tool_input={}, tool_use_id="1") == {}
    finally:
        os.close(handle)
    assert any("too long" in problem for problem in host.problems())


def test_events_keep_the_time_at_which_they_happened(host: Host) -> None:
    event = host.event("PreToolUse", tool_name="Read", tool_input={}, tool_use_id="1")
    line = punchlist_hook.make_line("claude-code", event)
    fields = json.loads(line)
    for at in (fields["at"] - 3600, fields["at"] + 10**9, "soon", float("nan"), -5):
        changed = {**fields, "at": at, "id": f"{at}", "event": {**event, "tool_use_id": f"{at}"}}
        punchlist_hook.append_line(str(host.board), json.dumps(changed).encode() + b"\n")
    with Board.open(host.board) as board:
        assert ingest(board) == 5
        times = [event.at for event in board.events()]
        assert times == sorted(times)
        assert times[-1] <= board.now()
        assert (times[-1] - times[0]).total_seconds() > 3000


def test_a_board_in_memory_has_no_inbox() -> None:
    with Board.open("memory:") as board:
        assert ingest(board) == 0
        assert not Path("memory:.inbox").exists()


@pytest.mark.needs("tmpfs")
@pytest.mark.parametrize("command", ["todos", "events", "sessions", "stats", "answer"])
def test_a_full_disk_does_not_hide_the_board_from_a_command_that_only_reads(host: Host, command: str) -> None:
    disk = host.project.parent / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1024k", "tmpfs", str(disk)], check=True)
    try:
        host.board = disk / "board.db"
        with Board.open(host.board) as board:
            board.agent("main", session="s-1", project=str(host.project)).call("todo", {"set": ["Kept"]})
            _append(host, 3)
            with suppress(OSError), (disk / "ballast").open("wb", buffering=0) as ballast:
                while True:
                    ballast.write(b"\0" * 512)
            words = [sys.executable, "-m", "punchlist", command, "--db", str(host.board)]
            ran = subprocess.run(words, capture_output=True, text=True, cwd=host.project, check=False, timeout=60)
            assert (ran.returncode, ran.stderr) == (0, "")
            (disk / "ballast").unlink()
            assert ingest(board) == 3
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)

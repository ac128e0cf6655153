"""Take hook events from the inbox, where each hook appends its own before it asks for an answer; each exactly once.

An event and the note that it was taken are committed together: its id, and for a line of the inbox the place after it.
So a process may be killed at any point, and two may ingest at the same time. The answer is kept with the id: another
process than the one that asked may have taken the event.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, cast

from msgspec import Struct

from punchlist.board import Board
from punchlist.errors import StoreBusy, StoreFailed
from punchlist.hooks.events import answer_event, ask_task_gates, is_report
from punchlist.store import Transaction
from punchlist_hook import GATE_SECONDS, LONGEST_LINE, inbox_path, lock_inbox, log_error, open_private

Clock = Callable[[], float]
"""Returns seconds that never go back."""

_SLICE: Final = 0.02
"""Seconds after which the lines so far are committed: other processes wait for the lock meanwhile."""

_LOCK_SECONDS: Final = 1.0
INGEST_SECONDS: Final = 1.0
"""Seconds of ingesting after which a hook is answered by the board as it is: an agent waits for its hooks."""

_LONGEST_MARK: Final = 200
_MOST: Final = 8 * LONGEST_LINE
"""Bytes of the inbox that are read at a time."""


class HookLine(Struct, frozen=True):
    """An event as a hook handed it over. `pid` is the host's process, `process` what marks it (`mark_process`).

    `attended` is None if it is not known.
    """

    id: str
    host: str
    at: datetime
    pid: int | None
    attended: bool | None
    event: Mapping[str, Any]
    process: str = ""


def parse_line(line: bytes, now: datetime) -> HookLine:
    """Read a line; raise `ValueError` if it is none. A time in the future is now."""
    value: Any = json.loads(line)
    if not isinstance(value, dict):
        raise ValueError("a line is no object")
    fields = cast("dict[str, Any]", value)
    event_id, host, at, pid, event = (fields.get(name) for name in ("id", "host", "at", "pid", "event"))
    if not (isinstance(event_id, str) and 0 < len(event_id) <= 64 and isinstance(host, str)):
        raise ValueError("a line lacks its id or host")
    if not isinstance(event, dict):
        raise ValueError("a line lacks its event")
    seconds = at if isinstance(at, int | float) else now.timestamp()
    moment = datetime.fromtimestamp(min(max(0.0, float(seconds)), now.timestamp()), UTC)
    known = pid if isinstance(pid, int) and 0 < pid < 1 << 31 else None
    said = fields.get("attended")
    attended = said if isinstance(said, bool) else None
    process = str(fields.get("process", ""))[:_LONGEST_MARK]
    return HookLine(event_id, host, moment, known, attended, cast("dict[str, Any]", event), process)


def answer_hook(path: str, line: bytes) -> dict[str, Any]:
    """Return the answer to the event of a hook, on the board at this path."""
    with Board.open(path) as board:
        return answer_line(board, line)


def answer_line(board: Board, line: bytes, *, clock: Clock = time.monotonic) -> dict[str, Any]:
    """Ingest the inbox for a second at most, and return the answer to the event of a hook.

    The hook has appended its line. If more is before it than fits into a second, the line stays there, in its order,
    and the answer is by the board as it is. Raise what keeps the event from being recorded.
    """
    hook = parse_line(line, board.now())
    _, is_done = _ingest(board, clock, clock() + INGEST_SECONDS)
    if board.store.read(lambda tx: tx.hosts.has_event(hook.id)):
        return find_answer(board, hook.id)
    refusal = _ask_gates(board, hook)
    if not is_done:
        return _preview_answer(board, hook, refusal)
    # Its hook could not append it.
    durable = not is_report(hook.event)
    return board.store.joined(lambda tx: _take(board, tx, hook, refusal), durable=durable, wait=_LOCK_SECONDS)


def find_answer(board: Board, id: str) -> dict[str, Any]:
    """Return the answer to an event, empty if it got none."""
    found = board.store.read(lambda tx: tx.hosts.find_answer(id))
    return {} if found is None else json.loads(found)


class _PreviewedAnswer(Exception):
    """Carries an answer out of a transaction that is rolled back."""


def _preview_answer(board: Board, hook: HookLine, refusal: dict[str, Any] | None) -> dict[str, Any]:
    """Return the answer to an event as if it were taken now; nothing is recorded."""

    def work(tx: Transaction) -> None:
        raise _PreviewedAnswer(_take(board, tx, hook, refusal))

    try:
        board.store.joined(work, durable=False, wait=_LOCK_SECONDS)
    except _PreviewedAnswer as previewed:
        return previewed.args[0]
    return {}


def _take(board: Board, tx: Transaction, hook: HookLine, refusal: dict[str, Any] | None) -> dict[str, Any]:
    """Record an event within a joined transaction, unless it is known already."""
    if tx.hosts.has_event(hook.id):
        known = tx.hosts.find_answer(hook.id)
        return {} if known is None else json.loads(known)
    try:
        who = hook.host, hook.event, hook.at
        answer = answer_event(board, *who, pid=hook.pid, process=hook.process, attended=hook.attended)
    except Exception as error:  # what it changed in its own steps stands; it is not tried again
        name = str(hook.event.get("hook_event_name", ""))[:40]
        _report_fault(board, f"an event ({name}) of {hook.host[:40]} was left out: {type(error).__name__}: {error}")
        answer = {}
    if not tx.connection.in_transaction:  # SQLite rolled back: what follows would be committed by itself
        raise StoreFailed(path=board.store.path, problem="a fault rolled back the transaction")
    answer = refusal or answer
    tx.hosts.add_event(hook.id, json.dumps(answer).encode() if answer else None, at=hook.at)
    return answer


def _ask_gates(board: Board, hook: HookLine) -> dict[str, Any] | None:
    """Ask the gates about an event, outside any lock, if its host may still wait for the answer."""
    if not board.gates or (board.now() - hook.at).total_seconds() > GATE_SECONDS:
        return None
    return ask_task_gates(board, hook.event)


# The inbox.


class _Inbox:
    """The open inbox: its generation and the end of its first line."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        head, newline, _ = os.pread(handle, 4096, 0).partition(b"\n")
        self.start = len(head) + 1
        self.generation = ""
        if newline:
            try:
                self.generation = str(json.loads(head)["generation"])[:64]
            except (ValueError, LookupError, TypeError):
                self.generation = f"file {os.fstat(handle).st_ino}"

    def read(self, place: int) -> bytes:
        """Return the whole lines from a place on, as far as they are read at a time."""
        found = os.pread(self.handle, _MOST, place)
        return found[: found.rfind(b"\n") + 1]


def ingest(board: Board) -> int:
    """Take all events of the inbox, delete it, and return how many there were. Without an inbox it costs one look.

    A fault of a line is logged, and the line is passed over. Where another process holds the lock for a second, the
    rest is left to the next caller. A store that cannot write raises.
    """
    count, _ = _ingest(board, time.monotonic, math.inf)
    return count


def _ingest(board: Board, clock: Clock, ends: float) -> tuple[int, bool]:
    """Ingest until that time; return how many events were new, and True if none is left that can be read."""
    path = _board_file(board)
    if not path or not os.path.lexists(inbox_path(path)):
        return 0, True
    count = 0
    try:
        while True:
            handle = open_private(inbox_path(path), os.O_RDWR)
            try:
                inbox = _Inbox(handle)
                while taken := _take_slice(board, inbox, clock):
                    count += taken - 1
                    if clock() >= ends:
                        return count, False
            finally:
                os.close(handle)
            if _delete_if_ingested(board, path):
                return count, True
    except StoreBusy:
        return count, False
    except OSError as error:
        _report_fault(board, f"the inbox cannot be read: {error}")
        return count, True


def _take_slice(board: Board, inbox: _Inbox, clock: Clock) -> int:
    """Take some lines in one transaction; return how many were new, plus one, and 0 at the end of the inbox."""
    if not inbox.generation:
        return 0
    place = board.store.read(lambda tx: tx.hosts.inbox_place(inbox.generation)) or inbox.start
    lines = inbox.read(place)
    if not lines:
        return 0
    refusals = _ask_gates_about(board, lines) if board.gates else {}

    def work(tx: Transaction) -> int:
        start = tx.hosts.inbox_place(inbox.generation) or inbox.start
        if start != place:
            return 1  # another process has taken them
        at, ends, count = place, clock() + _SLICE, 1
        for line in lines.splitlines(keepends=True):
            at += len(line)
            count += _take_inbox_line(board, tx, line, refusals)
            if clock() > ends:
                break
        tx.hosts.save_inbox_place(inbox.generation, at)
        return count

    return board.store.joined(work, durable=not _is_one_report(lines), wait=_LOCK_SECONDS)


def _is_one_report(lines: bytes) -> bool:
    """True for a single report on a tool call, as a server meets it: it need not survive a power loss at once."""
    if lines.count(b"\n") > 1:
        return False
    try:
        return is_report(json.loads(lines)["event"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False


def _take_inbox_line(board: Board, tx: Transaction, line: bytes, refusals: Mapping[str, dict[str, Any]]) -> bool:
    """Take one line of the inbox; True if it is an event that was not known."""
    try:
        hook = parse_line(line, board.now())
    except (ValueError, RecursionError, OverflowError) as error:
        if line.strip():
            _report_fault(board, f"a line of the inbox is not readable: {error}")
        return False
    is_new = not tx.hosts.has_event(hook.id)
    _take(board, tx, hook, refusals.get(hook.id))
    return is_new


def _ask_gates_about(board: Board, lines: bytes) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for line in lines.splitlines():
        try:
            hook = parse_line(line, board.now())
        except (ValueError, RecursionError, OverflowError):
            continue
        refusal = _ask_gates(board, hook)
        if refusal:
            found[hook.id] = refusal
    return found


def _delete_if_ingested(board: Board, path: str) -> bool:
    """Delete the inbox if all of it is ingested, while no hook can write to it; True if it is gone."""
    if not os.path.lexists(inbox_path(path)):
        return True
    handle = lock_inbox(path)
    try:
        inbox = _Inbox(handle)
        size = os.fstat(handle).st_size
        if inbox.generation:
            place = board.store.read(lambda tx: tx.hosts.inbox_place(inbox.generation)) or inbox.start
            if inbox.read(place):
                return False
            if place < size:
                _report_fault(board, "the last line of the inbox was cut off, because its hook was killed")
        os.unlink(inbox_path(path))
        return True
    finally:
        os.close(handle)


def _board_file(board: Board) -> str:
    """Return the file of a board, which others lie next to; empty for a board in memory."""
    return os.path.realpath(board.store.path) if board.store.durable else ""


def _report_fault(board: Board, problem: str) -> None:
    path = _board_file(board)
    if path:
        log_error(path, problem)

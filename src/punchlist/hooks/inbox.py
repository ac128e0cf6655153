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
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, cast

from msgspec import Struct

from punchlist.board import Board
from punchlist.errors import StoreBusy, StoreError, StoreFailed
from punchlist.hooks.events import PASSING, Source, answer_event, ask_task_gates, is_report
from punchlist.hooks.outbox import await_sent, find_destination, put_event
from punchlist.store import Transaction
from punchlist_hook import GATE_SECONDS, LONGEST_LINE, inbox_path, is_answered, lock_inbox, log_error, open_private

Clock = Callable[[], float]
"""Returns seconds that never go back."""

_SLICE: Final = 0.05
"""Seconds after which the lines so far are committed: other processes wait for the lock meanwhile. What all lines of a
conversation need is loaded once in each slice, which takes 10 ms of a database at 1 ms per round trip."""

_LOCK_SECONDS: Final = 1.0
INGEST_SECONDS: Final = 1.0
"""Seconds of ingesting after which a hook is answered by the board as it is: an agent waits for its hooks."""

_LONGEST_MARK: Final = 200
_MOST: Final = 2 * LONGEST_LINE
"""Bytes of the inbox that are read at a time."""

_MOST_LINES: Final = 32
"""Lines that are taken in one transaction at most: so many take a few milliseconds to read."""

Answer = dict[str, Any]
"""The answer to a hook event, as JSON; empty for none."""


class HookLine(Struct, frozen=True):
    """An event as a hook handed it over. `process` marks the host's process (`mark_process`).

    `attended` is None if it is not known.
    """

    id: str
    host: str
    at: datetime
    attended: bool | None
    event: Mapping[str, Any]
    process: str = ""
    source: Source | None = None


def parse_line(line: bytes, now: datetime) -> HookLine:
    """Read a line; raise `ValueError` if it is none. A time in the future is now."""
    value: Any = json.loads(line)
    if not isinstance(value, dict):
        raise ValueError("a line is no object")
    fields = cast("dict[str, Any]", value)
    event_id, host, at, event = (fields.get(name) for name in ("id", "host", "at", "event"))
    if not (isinstance(event_id, str) and 0 < len(event_id) <= 64 and event_id.isprintable() and isinstance(host, str)):
        raise ValueError("a line lacks its id or host")
    if not isinstance(event, dict):
        raise ValueError("a line lacks its event")
    seconds = at if isinstance(at, int | float) else now.timestamp()
    moment = datetime.fromtimestamp(min(max(0.0, float(seconds)), now.timestamp()), UTC)
    said = fields.get("attended")
    attended = said if isinstance(said, bool) else None
    process = str(fields.get("process", ""))[:_LONGEST_MARK]
    return HookLine(event_id, host, moment, attended, cast("dict[str, Any]", event), process)


def answer_hook(path: str, line: bytes) -> Answer:
    """Return the answer to the event of a hook, on the board at this path."""
    with Board.open(path) as board:
        return answer_line(board, line)


def answer_line(board: Board, line: bytes, *, clock: Clock = time.monotonic) -> Answer:
    """Ingest the inbox for a second at most, and return the answer to the event of a hook.

    The hook has appended its line. If more is before it than fits into a second, the line stays there, in its order,
    and the answer is by the board as it is. Raise what keeps the event from being recorded.
    """
    hook = parse_line(line, board.now())
    _, is_done = _ingest(board, clock, clock() + INGEST_SECONDS)
    if is_answered(hook.host, hook.event):
        await_sent(board, hook.id)
    known = board.store.read(lambda tx: tx.hosts.find_answers([hook.id]))
    if hook.id in known:
        return json.loads(known[hook.id] or b"{}")
    if not is_done:
        return _preview_answer(board, hook)
    return take_events(board, [hook])[hook.id]  # its hook could not append it


def take_events(board: Board, hooks: Sequence[HookLine]) -> dict[str, Answer]:
    """Record events in their order, each once, and return the answers to all by their ids.

    Each transaction takes some of them. Raise what keeps the next one from being recorded: those before it are.
    """
    answers: dict[str, Answer] = {}
    done = 0
    while done < len(hooks):
        taken = _take(board, hooks[done : done + _MOST_LINES], time.monotonic)
        done += taken.lines
        answers |= taken.answers
    return answers


class _PreviewedAnswer(Exception):
    """Carries an answer out of a transaction that is rolled back."""


def _preview_answer(board: Board, hook: HookLine) -> Answer:
    """Return the answer to an event as if it were taken now; nothing is recorded."""
    refusal = _ask_gates(board, hook)

    def work(tx: Transaction) -> None:
        raise _PreviewedAnswer(refusal or _apply(board, tx, hook))

    try:
        board.store.joined(work, durable=False, wait=_LOCK_SECONDS)
    except _PreviewedAnswer as previewed:
        return previewed.args[0]
    return {}


class _Taken(NamedTuple):
    """How many lines of a batch were taken, how many of them were new, and the answers to their events by the ids."""

    lines: int
    new: int
    answers: dict[str, Answer]


def _take(
    board: Board,
    hooks: Sequence[HookLine | ValueError],
    clock: Clock,
    inbox: _Inbox | None = None,
    *,
    checked: bool = False,
) -> _Taken:
    """Take lines, of the inbox or none, in one transaction, for the time of a slice. Errors stand for unreadable ones.

    Where that fails, take the first line alone: the fault may be one of a line.
    """
    refusals = {hook.id: _ask_gates(board, hook) for hook in hooks if isinstance(hook, HookLine)}

    def work(tx: Transaction) -> _Taken:
        if inbox is not None and not inbox.is_current(tx):
            return _Taken(0, 0, {})  # another process has taken them
        ends, lines = clock() + _SLICE, 0
        known = tx.hosts.find_answers(list(refusals))
        answers = {event: json.loads(answer or b"{}") for event, answer in known.items()}
        new: list[tuple[str, datetime, bytes | None]] = []
        for hook in hooks:
            lines += 1
            if isinstance(hook, HookLine) and hook.id not in answers:
                answers[hook.id] = answer = refusals[hook.id] or _apply(board, tx, hook)
                new.append((hook.id, hook.at, json.dumps(answer).encode() if answer else None))
            if clock() > ends:
                break
        source = next((hook.source for hook in hooks if isinstance(hook, HookLine)), None)
        tx.hosts.add_events(new, "" if source is None else source.place.machine)
        if inbox is not None:
            tx.hosts.save_inbox_place(inbox.generation, inbox.find_end(lines))
        return _Taken(lines, len(new), answers)

    durable = True  # another machine forgets a line that was acknowledged
    if len(hooks) == 1 and isinstance(hook := hooks[0], HookLine) and hook.source is None:
        durable = not is_report(hook.event)
    try:
        taken = board.store.joined(work, durable=durable, wait=_LOCK_SECONDS, checked=checked)
    except PASSING:
        raise
    except StoreError:
        if checked:
            raise
        return _take(board, hooks[:1], clock, inbox, checked=True)
    for hook in hooks[: taken.lines]:  # only now: what is rolled back is taken again
        if isinstance(hook, ValueError):
            _report_fault(board, f"a line of the inbox is not readable: {hook}")
    return taken


def _apply(board: Board, tx: Transaction, hook: HookLine) -> Answer:
    """Apply an event within a joined transaction, and return the answer."""
    try:
        who = hook.host, hook.event, hook.at
        team = find_destination(board, hook) if hook.source is None else None
        if team is not None:
            answer = put_event(board, tx, hook, team)
        else:
            answer = answer_event(board, *who, process=hook.process, attended=hook.attended, source=hook.source)
    except PASSING:
        raise
    except Exception as error:  # what it changed in its own steps stands; it is not tried again
        if tx.connection.in_transaction:
            name = str(hook.event.get("hook_event_name", ""))[:40]
            _report_fault(board, f"an event ({name}) of {hook.host[:40]} was left out: {type(error).__name__}: {error}")
        answer = {}
    if not tx.connection.in_transaction:  # it was rolled back: what follows would be committed by itself
        raise StoreFailed(path=board.store.path, problem="a fault rolled back the transaction")
    return answer


def _ask_gates(board: Board, hook: HookLine) -> Answer | None:
    """Ask the gates about an event, outside any lock, if its host may still wait for the answer."""
    if not board.gates or (board.now() - hook.at).total_seconds() > GATE_SECONDS:
        return None
    return ask_task_gates(board, hook.event)


# The inbox.


class _Inbox:
    """The open inbox: its generation, the end of its first line, and the place up to which it was taken."""

    def __init__(self, board: Board, handle: int) -> None:
        self.handle = handle
        head, newline, _ = os.pread(handle, 4096, 0).partition(b"\n")
        self.start = len(head) + 1
        self.generation = ""
        if newline:
            try:
                self.generation = str(json.loads(head)["generation"])[:64]
            except (ValueError, LookupError, TypeError):
                self.generation = f"file {os.fstat(handle).st_ino}"
        self.place = board.store.read(self.find_place)

        self._lines: list[bytes] = []

    def find_place(self, tx: Transaction) -> int:
        return tx.hosts.inbox_place(self.generation) or self.start

    def is_current(self, tx: Transaction) -> bool:
        """True if nobody took the lines that were read; else they are to be read again from the place of now."""
        before, self.place = self.place, self.find_place(tx)
        return self.place == before

    def read(self) -> list[bytes]:
        """Return the next whole lines, as many as are taken at a time; none without a generation."""
        found = os.pread(self.handle, _MOST, self.place) if self.generation else b""
        self._lines = found[: found.rfind(b"\n") + 1].splitlines(keepends=True)[:_MOST_LINES]
        return self._lines

    def find_end(self, lines: int) -> int:
        """Return the place after so many of the lines that were read."""
        return self.place + sum(map(len, self._lines[:lines]))


def ingest(board: Board) -> int:
    """Take all events of the inbox, delete it, and return how many there were. Without an inbox it costs one look.

    A fault of a line is logged, and the line is passed over. Where another process holds the lock for a second, the
    rest is left to the next caller. A store that cannot write raises.
    """
    count, _ = _ingest(board, time.monotonic, math.inf)
    return count


def _ingest(board: Board, clock: Clock, ends: float) -> tuple[int, bool]:
    """Ingest until that time; return how many events were new, and True if none is left that can be read."""
    path = board.store.files
    if not path or not os.path.lexists(inbox_path(path)):
        return 0, True
    count = 0
    try:
        while True:
            handle = open_private(inbox_path(path), os.O_RDWR)
            try:
                inbox = _Inbox(board, handle)
                while (taken := _take_slice(board, inbox, clock)) is not None:
                    count += taken
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


def _take_slice(board: Board, inbox: _Inbox, clock: Clock) -> int | None:
    """Take some lines in one transaction; return how many were new, and None at the end of the inbox."""
    lines = inbox.read()
    if not lines:
        return None
    taken = _take(board, [_read_line(line, board.now()) for line in lines], clock, inbox)
    inbox.place = inbox.find_end(taken.lines)
    return taken.new


def _read_line(line: bytes, now: datetime) -> HookLine | ValueError:
    try:
        return parse_line(line, now)
    except (ValueError, RecursionError, OverflowError) as error:
        return ValueError(str(error))


def _delete_if_ingested(board: Board, path: str) -> bool:
    """Delete the inbox if all of it is ingested, while no hook can write to it; True if it is gone."""
    if not os.path.lexists(inbox_path(path)):
        return True
    handle = lock_inbox(path)
    try:
        inbox = _Inbox(board, handle)
        if inbox.read():
            return False
        if inbox.generation and inbox.place < os.fstat(handle).st_size:
            _report_fault(board, "the last line of the inbox was cut off, because its hook was killed")
        os.unlink(inbox_path(path))
        return True
    finally:
        os.close(handle)


def _report_fault(board: Board, problem: str) -> None:
    if board.store.files:
        log_error(board.store.files, problem)

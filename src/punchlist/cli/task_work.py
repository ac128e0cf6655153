"""`punchlist tasks work`: claim tasks, run a command for each, record the outcome by its exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import IO, Any, Literal

import msgspec

from punchlist.cli import FAILED, OK, UNUSABLE, complain
from punchlist.cli.arguments import author, board_url
from punchlist.cli.tasks import name_of, open_tasks, report, reserved_files
from punchlist.core.task import Task, TaskStatus
from punchlist.errors import CancelPending, FenceStale, ReservationRefused, StoreError, TaskError, TaskUnknown
from punchlist.settings.environment import own_secrets
from punchlist.store import side_path
from punchlist.tasks import Tasks
from punchlist.text import clean, cut, repair
from punchlist.text.redaction import redact, redact_value
from punchlist.views.lists import view_task

MOST_OUTPUT = 256 * 1024
"""Bytes of a command's output that are kept: the last ones."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_POLL_SECONDS = 2.0
"""Seconds between two checks that the task is still ours: a lease may be long."""
_IDLE_SECONDS = 1.0
_RETRY_PAUSES = (0.2, 1.0, 5.0)
"""Seconds to wait before an outcome is written again that the disk refused."""
_DRAIN_SECONDS = 2.0
"""Seconds in which the output must have come through after the command's end: others may hold its pipes open."""
_LONGEST_LINE = 4_000
_CHUNK = 64 * 1024
_LONGEST_VARIABLE = 16_000
"""Characters of a text in the environment, which has little room; the JSON has all of it."""

StopReason = Literal["stopped", "lost", "cancelled"]
"""Why a command is told to end: we are to end, the task is another's by now, or it is to be cancelled."""


TaskOutcome = tuple[Task, str, bool]
"""A task after its command, the deed in a word, and whether the worker counts it as a success."""

_OWN_ENDS = {
    "task.completed": ("Completed", True),
    "task.waiting": ("Waiting", True),
    "task.released": ("Released", True),
    "task.cancelled": ("Cancelled", True),
    "task.retrying": ("Released", False),
    "task.failed": ("Failed", False),
}
"""Events by which a command may end its claim itself, with the word and the success of the outcome."""

_WORDS = {
    TaskStatus.PENDING: "Released",
    TaskStatus.IN_PROGRESS: "Still in progress:",
    TaskStatus.WAITING: "Waiting",
    TaskStatus.COMPLETED: "Completed",
    TaskStatus.FAILED: "Failed",
    TaskStatus.CANCELLED: "Cancelled",
}


def work(options: Namespace) -> int:
    with open_tasks(options, by=options.by or f"{author(options)}-{os.getpid()}") as tasks:
        worker = Worker(tasks, options)
        with worker.listening():
            return worker.run()


class Worker:
    """Works on one task after the other, until there is none, or a signal comes."""

    def __init__(self, tasks: Tasks, options: Namespace) -> None:
        self._tasks = tasks
        self._options = options
        self._reserved = reserved_files(options)
        self._wake = threading.Event()
        self._signals: list[int] = []
        self._failed = 0

    @contextmanager
    def listening(self) -> Generator[None]:
        """A first signal lets the command end and releases the task, a second one kills the command."""

        def note_signal(number: int, _: FrameType | None) -> None:
            self._signals.append(number)
            self._wake.set()

        before = {number: signal.signal(number, note_signal) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def run(self) -> int:
        done = 0
        while not self._signals:
            task = self._claim_next()
            if task is None:
                if self._options.once:
                    return complain("Nothing is ready; `punchlist tasks list` shows what waits for what.", FAILED)
                if self._options.drain:
                    break
                continue
            if not self._work_on(task):
                return UNUSABLE
            done += 1
            if self._options.once:
                break
        if self._signals:
            return 128 + self._signals[0]
        if self._options.drain and not done and not self._options.json:
            print("Nothing is ready.")
        return FAILED if self._failed else OK

    def _claim_next(self) -> Task | None:
        """Claim the next task. With none, and neither `--once` nor `--drain`, wait a moment for an event first."""
        store = self._tasks.board.store
        last = store.last_seq()  # read before the claim: an event between the two must end the wait
        goes_on = not (self._options.once or self._options.drain)
        lease, reserve = self._options.lease, self._reserved
        try:
            task = self._tasks.claim(label=self._options.label, lease=lease, reserve=reserve)
        except ReservationRefused:
            if not goes_on:
                raise
            task = None
        if task is None and goes_on and not self._signals:
            store.wait(last, _IDLE_SECONDS)
        return task

    def _work_on(self, task: Task) -> bool:
        """Run the command for a task. False if it could not be started."""
        self._wake.clear()
        command = self._options.command
        environment = {**os.environ, **_make_variables(task, self._options)}
        given = msgspec.json.encode(view_task(task)) + b"\n"
        try:
            child = Child(command, environment, given, ended=self._wake.set, aside=self._options.json)
        except OSError as error:
            self._tasks.release(task.id, fence=task.fence)
            why = error.strerror or error
            complain(f"The command `{command[0]}` cannot be started ({why}); the task was released.")
            return False
        try:
            reason = self._watch(task, child)
        except BaseException:
            child.tell(signal.SIGKILL)
            raise
        self._record(task, child, reason)
        return True

    def _watch(self, task: Task, child: Child) -> StopReason | None:
        """Keep the claim alive until the command is over; return why it was told to end, if it was."""
        lease = task.lease or self._tasks.lease
        pause = min(_POLL_SECONDS, lease / 4)
        beaten = time.monotonic()
        reason: StopReason | None = None
        told_at: float | None = None
        while child.code is None:
            self._wake.wait(pause if told_at is None else min(pause, self._options.grace))
            if child.code is not None:
                break
            self._wake.clear()
            now = time.monotonic()
            if reason is None and self._signals:
                reason = "stopped"
            if reason != "lost":
                beat = now - beaten >= lease / 3  # two heartbeats may fail before the lease runs out
                reason = self._check_claim(task, beat=beat) or reason
                beaten = now if beat else beaten
            if reason is not None and told_at is None:
                told_at = now
                child.tell()
            late = told_at is not None and now - told_at >= self._options.grace
            if late or len(self._signals) > 1:
                child.tell(signal.SIGKILL)
        return reason

    def _check_claim(self, task: Task, *, beat: bool) -> StopReason | None:
        """Return why the command has to end, if the claim is no longer good; with `beat` send a heartbeat."""
        try:
            seen = self._tasks.get(task.id)
            if seen.fence == task.fence and (beat or seen.status is TaskStatus.PENDING):
                seen = self._tasks.heartbeat(task.id, fence=task.fence)
        except (TaskUnknown, FenceStale):
            return "lost"
        except TaskError:
            return None  # the command itself has ended it
        except StoreError as error:
            complain(f"{error} The next heartbeat follows.")
            return None
        if self._own_end(task, seen) is not None:
            return None
        if seen.cancel_requested:
            return "cancelled"
        is_taken = seen.status in {TaskStatus.PENDING, TaskStatus.IN_PROGRESS, TaskStatus.CANCELLED}
        return "lost" if seen.fence != task.fence and is_taken else None

    def _record(self, task: Task, child: Child, reason: StopReason | None) -> None:
        """Write and report the outcome. The result for a task that is another's by now is kept next to it."""
        try:
            after, word, is_good = self._settle_with_retries(task, child, reason)
        except TaskUnknown:
            self._failed += 1
            with suppress(TaskError):
                self._tasks.complete(task.id, fence=task.fence, result=child.result)
            kept = "" if child.result is None else "; what the command brought is kept in its history"
            complain(f"{name_of(task)} was deleted meanwhile{kept}.")
        except FenceStale as stale:
            self._failed += 1
            complain(str(stale))
            with suppress(TaskUnknown):
                if self._options.json:
                    report(self._options, self._tasks.get(task.id), "")
        else:
            self._failed += not is_good
            said = f"{word} {name_of(after)}"
            if after.status in {TaskStatus.FAILED, TaskStatus.PENDING} and after.failure:
                again = "; it is retried after a pause" if after.not_before is not None else ""
                said += f" ({after.failure}){again}"
            report(self._options, after, said)

    def _settle_with_retries(self, task: Task, child: Child, reason: StopReason | None) -> TaskOutcome:
        # Finished work should not be lost to a disk that is full or a board that is locked for a moment.
        for pause in _RETRY_PAUSES:
            try:
                return self._settle(task, child, reason)
            except StoreError as error:
                complain(str(error))
                time.sleep(pause)
        return self._settle(task, child, reason)

    def _settle(self, task: Task, child: Child, reason: StopReason | None) -> TaskOutcome:
        seen = self._tasks.get(task.id)
        own_end = self._own_end(task, seen)
        if own_end is not None:
            return seen, *_OWN_ENDS[own_end]
        # Completing the task itself is the one end that leaves the command its fence.
        ours = {TaskStatus.PENDING, TaskStatus.IN_PROGRESS}
        if reason is None:
            ours.add(TaskStatus.FAILED)  # the last attempt ran out of time, and nobody has it since
        is_over = seen.fence == task.fence and seen.status not in ours
        after = seen if is_over else self._write_end(task, child, reason, seen)
        return after, _WORDS[after.status], after.status is TaskStatus.COMPLETED

    def _own_end(self, task: Task, seen: Task) -> str | None:
        """Return the kind of the event by which the command itself gave up its claim; None if it did not."""
        if seen.fence == task.fence:
            return None
        for event in self._tasks.history(task.id):
            if event.kind in _OWN_ENDS and event.data.get("fence") == task.fence:
                return event.kind
        return None

    def _write_end(self, task: Task, child: Child, reason: StopReason | None, seen: Task) -> Task:
        if reason in ("stopped", "cancelled") and seen.fence == task.fence:
            return self._tasks.release(task.id, fence=task.fence)
        try:
            if child.code == 0 or reason == "lost":
                return self._complete(task, child)
            return self._tasks.fail(task.id, child.problem, fence=task.fence)
        except CancelPending:  # requested while the command came to its end: releasing it cancels it
            return self._tasks.release(task.id, fence=task.fence)

    def _complete(self, task: Task, child: Child) -> Task:
        try:
            return self._tasks.complete(task.id, fence=task.fence, result=child.result)
        except (FenceStale, TaskUnknown, CancelPending):
            raise
        except TaskError as refused:  # its checklist, a gate or a blocker says that it is not done
            return self._tasks.fail(task.id, str(refused), fence=task.fence)


# What a command is given.


def _make_variables(task: Task, options: Namespace) -> dict[str, str]:
    variables = {
        "PUNCHLIST_TASK_ID": task.id,
        "PUNCHLIST_TASK_LIST": task.list,
        "PUNCHLIST_TASK_SUBJECT": cut(clean(task.subject, lines=True).text, _LONGEST_VARIABLE),
        "PUNCHLIST_TASK_DESCRIPTION": cut(clean(task.description, lines=True).text, _LONGEST_VARIABLE),
        "PUNCHLIST_TASK_FENCE": str(task.fence),
    }
    # The whole path, so that `punchlist` means this board from whatever folder the command calls it; of a database the
    # file with its address, because what a command is given may be shown.
    path = side_path(board_url(options))
    return {"PUNCHLIST_DB": path, **variables} if path else variables


class Child:
    """One run of a command, in a process group of its own. `ended` is called from another thread when it is over."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        given: bytes,
        *,
        ended: Callable[[], None],
        aside: bool = False,
    ) -> None:
        """`given` is its standard input. With `aside` its output goes to our stderr. Raises `OSError`."""
        self.code: int | None = None
        self._ended = ended
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )
        self._output, self._errors = bytearray(), bytearray()
        out, err = self._process.stdout, self._process.stderr
        self._readers = [
            _start_thread(_pass_on, out, sys.stderr.buffer if aside else sys.stdout.buffer, self._output),
            _start_thread(_pass_on, err, sys.stderr.buffer, self._errors),
        ]
        _start_thread(_feed_input, self._process.stdin, given)
        _start_thread(self._await_end)

    def _await_end(self) -> None:
        code = self._process.wait()
        for reader in self._readers:
            reader.join(_DRAIN_SECONDS)
        self.code = code
        self._ended()

    def tell(self, number: int = signal.SIGTERM) -> None:
        """Tell the command, and all that it started, to end."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    @property
    def result(self) -> Any:
        """The output without secrets, if that is JSON as a whole; else its last line, as JSON if it is; else None."""
        lines = bytes(self._output).decode(errors="replace").split("\n")
        if len(self._output) >= MOST_OUTPUT:
            lines = lines[1:] or lines  # the first line has lost its beginning
        last = _last_line(lines)
        if last is None:
            return None
        for text in ("\n".join(lines), last):
            with suppress(msgspec.DecodeError, RecursionError):
                return redact_value(msgspec.json.decode(text), own_secrets())
        return _clean_line(last)

    @property
    def problem(self) -> str:
        """The reason of a failure: the exit code, and the last line of stderr, else of stdout."""
        code = self.code or 0
        how = f"exit code {code}" if code >= 0 else f"ended by {_signal_name(-code)}"
        for kept in (self._errors, self._output):
            last = _last_line(bytes(kept).decode(errors="replace").splitlines())
            if last is not None:
                return f"{how}: {_clean_line(last)}"
        return how


def _last_line(lines: Sequence[str]) -> str | None:
    return next((line for line in reversed(lines) if line.strip()), None)


def _clean_line(text: str) -> str:
    # Redacted before it is cut: half a secret has no shape.
    return cut(redact(clean(repair(text), lines=False).text.strip(), own_secrets()), _LONGEST_LINE)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _start_thread(work: Callable[..., None], *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread


def _feed_input(pipe: IO[bytes], given: bytes) -> None:
    with suppress(OSError), pipe:  # a command need not read its input
        pipe.write(given)


def _pass_on(pipe: IO[bytes], to: IO[bytes], kept: bytearray) -> None:
    with pipe:
        while chunk := os.read(pipe.fileno(), _CHUNK):
            kept += chunk
            del kept[:-MOST_OUTPUT]
            with suppress(OSError, ValueError):  # our reader may be gone; the work goes on
                to.write(chunk)
                to.flush()

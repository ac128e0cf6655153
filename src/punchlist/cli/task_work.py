"""`punchlist tasks work`: claim tasks, run a command for each, record the outcome by its exit code."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from punchlist.cli import FAILED, OK, UNUSABLE, complain
from punchlist.cli.arguments import author, board_url, open_board
from punchlist.cli.task_commands import chosen_list, named, report, reserved, task_data
from punchlist.core.task import Task, TaskStatus
from punchlist.errors import CancelPending, FenceStale, ReservationRefused, StoreError, TaskError, TaskUnknown
from punchlist.store.files import store_path
from punchlist.text import clean, cut, repair

if TYPE_CHECKING:
    from punchlist.tasks import Tasks

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LOOK = 2.0
"""Seconds between two looks whether the task is still ours: a lease may be long."""
_IDLE = 1.0
_AGAIN = (0.2, 1.0, 5.0)
"""Seconds to wait before what came of a task is written again."""

Why = Literal["stopped", "lost", "cancelled"]
"""Why a command is told to end: we are to end, the task is another's by now, or it is to be cancelled."""


def work(options: Namespace) -> int:
    by = options.by or f"{author(options)}-{os.getpid()}"
    with open_board(options) as board:
        worker = Worker(chosen_list(board, options, by=by), options)
        with worker.listening():
            return worker.run()


class Worker:
    """One task after the other, until there is none, or a signal comes."""

    def __init__(self, tasks: Tasks, options: Namespace) -> None:
        self._tasks = tasks
        self._options = options
        self._reserved = reserved(options)
        self._wake = threading.Event()
        self._signals: list[int] = []
        self._failed = 0

    @contextmanager
    def listening(self) -> Generator[None]:
        """A first signal lets the command end and gives the task back, a second one does so at once."""

        def heard(number: int, _: FrameType | None) -> None:
            self._signals.append(number)
            self._wake.set()

        before = {number: signal.signal(number, heard) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def run(self) -> int:
        done = 0
        while not self._signals:
            task = self._next()
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

    def _next(self) -> Task | None:
        """The next task; None if there is none now. Who is to go on waits a moment for something to happen."""
        store = self._tasks.board.store
        last = store.last_seq()
        wait = not (self._options.once or self._options.drain)
        lease, reserve = self._options.lease, self._reserved
        try:
            task = self._tasks.claim(label=self._options.label, lease=lease, reserve=reserve)
        except ReservationRefused:
            if not wait:
                raise
            task = None
        if task is None and wait and not self._signals:
            store.wait(last, _IDLE)
        return task

    # One task.

    def _work_on(self, task: Task) -> bool:
        """Runs the command for a task; whether it could be started."""
        self._wake.clear()
        with as_json(task, self._options.input) as (given, more):
            environment = {**os.environ, **board_variable(self._options), **variables(task), **more}
            command, aside = self._options.command, self._options.json
            try:
                child = Child(command, environment, given, ended=self._wake.set, aside=aside)
            except OSError as error:
                self._tasks.release(task.id, fence=task.fence)
                why = error.strerror or error
                complain(f"The command `{command[0]}` cannot be started ({why}); the task was given back.")
                return False
            try:
                why = self._watch(task, child)
            except BaseException:
                child.kill()
                raise
        self._settle(task, child, why)
        return True

    def _watch(self, task: Task, child: Child) -> Why | None:
        """Keeps the claim alive until the command is over; why it was told to end, if it was."""
        lease = task.lease or self._tasks.lease
        pause = min(_LOOK, lease / 4)
        beaten = time.monotonic()
        why: Why | None = None
        told_at: float | None = None
        while child.code is None:
            self._wake.wait(pause if told_at is None else min(pause, self._options.grace))
            if child.code is not None:
                break
            self._wake.clear()
            now = time.monotonic()
            if why is None and self._signals:
                why = "stopped"
            if why != "lost":
                beat = now - beaten >= lease / 3
                found = self._look(task, beat=beat)
                why = why if found is None else found
                beaten = now if beat else beaten
            if why is not None and told_at is None:
                told_at = now
                child.tell()
            late = told_at is not None and now - told_at >= self._options.grace
            if late or len(self._signals) > 1:
                child.kill()
        return why

    def _look(self, task: Task, *, beat: bool) -> Why | None:
        """Whether the task is still ours; with `beat` as a sign of life."""
        try:
            seen = self._tasks.get(task.id)
            if seen.fence == task.fence and (beat or seen.status is TaskStatus.PENDING):
                seen = self._tasks.heartbeat(task.id, fence=task.fence)
        except (TaskUnknown, FenceStale):
            return "lost"
        except TaskError:
            return None  # it has ended by the command's own hand
        except StoreError as error:
            complain(f"{error} The next sign of life follows.")
            return None
        if self._said_itself(task, seen) is not None:
            return None
        if seen.cancel_requested:
            return "cancelled"
        away = seen.status in {TaskStatus.PENDING, TaskStatus.IN_PROGRESS, TaskStatus.CANCELLED}
        return "lost" if seen.fence != task.fence and away else None

    def _settle(self, task: Task, child: Child, why: Why | None) -> None:
        """Writes down what came of it. What belongs to another by now keeps the result beside it."""
        try:
            outcome = self._kept(lambda: self._settled(task, child, why))
        except TaskUnknown:
            self._failed += 1
            with suppress(TaskError):
                self._tasks.complete(task.id, fence=task.fence, result=child.result)
            kept = "" if child.result is None else "; what the command brought is kept in its history"
            complain(f"{named(task)} was deleted meanwhile{kept}.")
            return
        except FenceStale as stale:
            self._failed += 1
            complain(str(stale))
            with suppress(TaskUnknown):
                if self._options.json:
                    report(self._options, self._tasks.get(task.id), "")
            return
        after = outcome.task
        self._failed += not outcome.good
        report(self._options, after, f"{outcome.word} {named(after)}{_why_failed(after)}")

    def _kept(self, write: Callable[[], Outcome]) -> Outcome:
        """A disk that refuses is asked again, for a while: work that is done should not be lost to it."""
        for pause in _AGAIN:
            try:
                return write()
            except StoreError as error:
                complain(str(error))
                time.sleep(pause)
        return write()

    def _settled(self, task: Task, child: Child, why: Why | None) -> Outcome:
        seen = self._tasks.get(task.id)
        said = self._said_itself(task, seen)
        if said is not None:
            word, good = _SAID[said]
            return Outcome(seen, word, good)
        after = seen if self._ended_itself(task, seen, why) else self._written(task, child, why, seen)
        return Outcome(after, _WORDS[after.status], after.status is TaskStatus.COMPLETED)

    def _ended_itself(self, task: Task, seen: Task, why: Why | None) -> bool:
        """Whether the command has completed the task, which is the one thing that leaves it its fence."""
        ours = {TaskStatus.PENDING, TaskStatus.IN_PROGRESS}
        if why is None:
            ours.add(TaskStatus.FAILED)  # the last attempt ran out of time, and nobody has it since
        return seen.fence == task.fence and seen.status not in ours

    def _said_itself(self, task: Task, seen: Task) -> str | None:
        """What the command itself did with its task, under the fence of its claim; None if it has not let it go."""
        if seen.fence == task.fence:
            return None
        for event in self._tasks.history(task.id):
            if event.kind in _SAID and event.data.get("fence") == task.fence:
                return event.kind
        return None

    def _written(self, task: Task, child: Child, why: Why | None, seen: Task) -> Task:
        if why in ("stopped", "cancelled") and seen.fence == task.fence:
            return self._tasks.release(task.id, fence=task.fence)
        try:
            if child.code == 0 or why == "lost":
                return self._completed(task, child)
            return self._tasks.fail(task.id, child.problem, fence=task.fence)
        except CancelPending:  # asked for while the command came to its end: to give it back is to cancel it
            return self._tasks.release(task.id, fence=task.fence)

    def _completed(self, task: Task, child: Child) -> Task:
        try:
            return self._tasks.complete(task.id, fence=task.fence, result=child.result)
        except (FenceStale, TaskUnknown, CancelPending):
            raise
        except TaskError as refused:  # its checklist, a gate or a blocker says that it is not done
            return self._tasks.fail(task.id, str(refused), fence=task.fence)


class Outcome(NamedTuple):
    """What came of a task, in a word, and whether that is as it should be."""

    task: Task
    word: str
    good: bool


_SAID = {
    "task.completed": ("Completed", True),
    "task.waiting": ("Put aside", True),
    "task.released": ("Gave back", True),
    "task.cancelled": ("Cancelled", True),
    "task.retrying": ("Gave back", False),
    "task.failed": ("Failed", False),
}
"""How a command may end its claim itself, what that is called, and whether its worker goes on as if all were well."""

_WORDS = {
    TaskStatus.PENDING: "Gave back",
    TaskStatus.IN_PROGRESS: "Still in progress:",
    TaskStatus.WAITING: "Put aside",
    TaskStatus.COMPLETED: "Completed",
    TaskStatus.FAILED: "Failed",
    TaskStatus.CANCELLED: "Cancelled",
}


def _why_failed(task: Task) -> str:
    if task.status not in {TaskStatus.FAILED, TaskStatus.PENDING} or not task.failure:
        return ""
    again = "; it is tried again after a rest" if task.not_before is not None else ""
    return f" ({task.failure}){again}"


MOST_OUTPUT = 256 * 1024
"""Bytes of what a command prints that are kept: the last ones."""

_LONGEST_LINE = 4_000
_CHUNK = 64 * 1024
_LAST_WORDS = 2.0
"""Seconds in which what a command printed must have come through after its end: others may hold its pipes open."""


class Child:
    """One run of a command, in a process group of its own. `ended` is called from another thread when it is over."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        given: bytes | None,
        *,
        ended: Callable[[], None],
        aside: bool = False,
    ) -> None:
        """`given` is its standard input. With `aside` what it prints goes to our stderr. Raises `OSError`."""
        self.code: int | None = None
        self._ended = ended
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )
        self._printed, self._complained = bytearray(), bytearray()
        out, err = self._process.stdout, self._process.stderr
        self._readers = [
            _thread(_pass_on, out, sys.stderr.buffer if aside else sys.stdout.buffer, self._printed),
            _thread(_pass_on, err, sys.stderr.buffer, self._complained),
        ]
        if given is not None:
            _thread(_feed, self._process.stdin, given)
        _thread(self._watch)

    def _watch(self) -> None:
        code = self._process.wait()
        for reader in self._readers:
            reader.join(_LAST_WORDS)
        self.code = code
        self._ended()

    def tell(self, number: int = signal.SIGTERM) -> None:
        """Tells the command, and all that it started, to end."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def kill(self) -> None:
        self.tell(signal.SIGKILL)

    @property
    def result(self) -> Any:
        """What it printed, if that is JSON as a whole; else its last line, as JSON if it is; None for nothing."""
        text = bytes(self._printed).decode(errors="replace")
        lines = text.split("\n") if len(self._printed) < MOST_OUTPUT else text.split("\n")[1:] or [text]
        last = next((line for line in reversed(lines) if line.strip()), None)
        if last is None:
            return None
        for said in ("\n".join(lines), last):
            with suppress(msgspec.DecodeError, RecursionError):
                return msgspec.json.decode(said)
        return _line(last)

    @property
    def problem(self) -> str:
        """Why it failed, by its exit code and the last line that it printed on stderr, else on stdout."""
        code = self.code or 0
        how = f"exit code {code}" if code >= 0 else f"ended by {_signal_name(-code)}"
        for kept in (self._complained, self._printed):
            lines = bytes(kept).decode(errors="replace").splitlines()
            last = next((line for line in reversed(lines) if line.strip()), None)
            if last is not None:
                return f"{how}: {_line(last)}"
        return how


def _line(text: str) -> str:
    return cut(clean(repair(text), lines=False).text.strip(), _LONGEST_LINE)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _thread(work: Callable[..., None], *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread


def _feed(pipe: IO[bytes], given: bytes) -> None:
    """A command that does not read is none of our concern."""
    with suppress(OSError), pipe:
        pipe.write(given)


def _pass_on(pipe: IO[bytes], to: IO[bytes], kept: bytearray) -> None:
    """Shows what comes through a pipe as it comes, and keeps the end of it."""
    with pipe:
        while chunk := os.read(pipe.fileno(), _CHUNK):
            kept += chunk
            del kept[:-MOST_OUTPUT]
            with suppress(OSError, ValueError):  # whoever read us may be gone; the work goes on
                to.write(chunk)
                to.flush()


_LONGEST = 16_000
"""Characters of a text in the environment, which has little room; the JSON has all of it."""


def variables(task: Task) -> dict[str, str]:
    return {
        "PUNCHLIST_TASK_ID": task.id,
        "PUNCHLIST_TASK_LIST": task.list,
        "PUNCHLIST_TASK_SUBJECT": _value(task.subject),
        "PUNCHLIST_TASK_DESCRIPTION": _value(task.description),
        "PUNCHLIST_TASK_FENCE": str(task.fence),
    }


def _value(text: str) -> str:
    return cut(clean(text, lines=True).text, _LONGEST)


def board_variable(options: Namespace) -> dict[str, str]:
    """The board by its whole path, so that `punchlist` means the same one wherever the command calls it."""
    path = store_path(board_url(options))
    return {"PUNCHLIST_DB": path} if path else {}


@contextmanager
def as_json(task: Task, how: str) -> Generator[tuple[bytes | None, dict[str, str]]]:
    """The task as JSON: what goes to standard input, and where the environment says that it is."""
    body = msgspec.json.encode(task_data(task)) + b"\n"
    if how != "file":
        yield (body if how == "stdin" else None), {}
        return
    folder = tempfile.mkdtemp(prefix="punchlist-")  # nobody else may read it
    try:
        path = os.path.join(folder, "task.json")
        with open(path, "xb") as file:
            file.write(body)
        yield None, {"PUNCHLIST_TASK_FILE": path}
    finally:
        shutil.rmtree(folder, ignore_errors=True)

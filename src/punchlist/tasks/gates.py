"""Ask gates: callables and commands that may refuse to let a task be created or completed.

They are asked before the write, outside any lock. A callable gets the task and answers None or True to let it pass;
False, a text (why not) or `{"decision": "block", "reason": …}` to refuse. A command reads JSON on its standard input;
it refuses with any exit code but 0, the reason on stderr or stdout, or by printing that same object. A gate that
cannot be asked, or takes longer than its seconds, refuses: what is to be guarded is better late than unguarded.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, Literal, cast

import msgspec
from msgspec import Struct

from punchlist.core.task import Task, encode_task
from punchlist.errors import ConfigInvalid, GateRefused
from punchlist.settings.environment import own_secrets
from punchlist.text import clean, cut

On = Literal["create", "complete"]
SECONDS = 10.0
MOST_ASKED = 5
"""How often gates are asked again about a task that changes while they answer."""

MOST_OUTPUT = 256 * 1024
"""Bytes of each output of a command that are kept, from its beginning. The rest is read, so that it does not block."""

_CHUNK = 64 * 1024
_DRAIN_SECONDS = 1.0
"""Wait for the output of a command after its end: its children may hold its pipes open for ever."""

_LOOK_SECONDS = 0.02
"""How often a command that holds its outputs open is looked at: it may have ended."""

_LONGEST_REASON = 2_000
_HOOKS = {"create": "TaskCreated", "complete": "TaskCompleted"}

Answer = bool | str | Mapping[str, Any] | None
Check = Callable[[Task], Answer] | str | Sequence[str]


class Gate(Struct, frozen=True):
    """A check, the occasion on which it is asked, and for which list (None: all)."""

    on: On
    check: Check
    list: str | None = None
    seconds: float = SECONDS


def make_gate(on: str, check: Check, *, list: str | None, seconds: float) -> Gate:
    if on not in ("create", "complete"):
        raise ConfigInvalid(name="on", value=on, problem="a gate stands before `create` or `complete`")
    if not 0 < seconds <= SECONDS:
        raise ConfigInvalid(name="seconds", value=seconds, problem=f"a gate has at most {SECONDS:g} seconds")
    if not callable(check) and not check:
        raise ConfigInvalid(name="check", value=check, problem="give a callable or a command")
    return Gate(on, check, list, seconds)


def has_gate(gates: Sequence[Gate], on: On, list: str) -> bool:
    return any(each.on == on and each.list in {None, list} for each in gates)


def ask_gates(gates: Sequence[Gate], on: On, task: Task) -> None:
    """Ask each gate of this occasion, in order; raise `GateRefused` with the reason of the first that refuses."""
    for gate in gates:
        if gate.on == on and gate.list in {None, task.list}:
            reason = _ask_callable(gate.check, task, gate) if callable(gate.check) else _ask_command(gate, task)
            if reason is not None:
                from punchlist.text.redaction import redact  # its patterns are not needed where no gate refuses

                said = cut(redact(clean(reason).text, own_secrets()), _LONGEST_REASON)
                raise GateRefused(reason=said or f"A gate refused to {on} the task.", on=on, id=task.id)


def _ask_callable(check: Callable[[Task], Answer], task: Task, gate: Gate) -> str | None:
    outcome: list[str | None] = []

    def run() -> None:
        try:
            outcome.append(_find_refusal(check(task)))
        except BaseException as error:  # a gate that leaves the program ends only its thread
            outcome.append(f"The gate failed: {type(error).__name__}: {error}")

    thread = threading.Thread(target=run, name="punchlist-gate", daemon=True)
    thread.start()
    thread.join(gate.seconds)
    return outcome[0] if outcome else f"The gate did not answer within {gate.seconds:g} seconds."


def _find_refusal(answer: Any) -> str | None:
    if answer is None or answer is True:
        return None
    if isinstance(answer, str):
        return answer or "refused"
    if isinstance(answer, Mapping):
        told = cast("Mapping[str, Any]", answer)
        return str(told.get("reason") or "refused") if told.get("decision") == "block" else None
    return "refused"


def _ask_command(gate: Gate, task: Task) -> str | None:
    folder = None
    with suppress(OSError):  # the working directory may be gone
        folder = os.getcwd()
    told = {
        "hook_event_name": _HOOKS[gate.on],
        "task_id": task.id,
        "task_subject": task.subject,
        "task_description": task.description,
        "task_list": task.list,
        "session_id": task.list.removeprefix("session:") if task.list.startswith("session:") else None,
        "cwd": folder,
        "task": {**encode_task(task), "blocked_by": list(task.blocked_by)},
    }
    try:
        answer = _run_command(cast("str | Sequence[str]", gate.check), msgspec.json.encode(told), gate.seconds)
    except OSError as error:
        return f"The gate could not be started: {error.strerror or error}."
    if answer is None:
        return f"The gate did not answer within {gate.seconds:g} seconds."
    code, out, err = answer
    if code:
        said = (err.strip() or out.strip()).decode(errors="replace")
        return said or f"The gate ended with code {code}."
    if len(out) > MOST_OUTPUT and out.lstrip().startswith(b"{"):
        return "The gate's answer is too long to be read."
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):
        return _find_refusal(msgspec.json.decode(out, type=dict[str, Any]))
    return None


def _run_command(command: str | Sequence[str], given: bytes, seconds: float) -> tuple[int, bytes, bytes] | None:
    """Run a command in its own process group; return its exit code and the beginning of its two outputs.

    None if it takes too long. A string is run by the shell. A command that does not end in time is killed with its
    whole group, and so are processes that still hold its outputs after its end.
    """
    import selectors  # few boards have gates, and these are loaded slowly
    import subprocess
    import tempfile

    deadline = time.monotonic() + seconds
    with tempfile.TemporaryFile() as told:
        told.write(given)
        told.seek(0)
        child = subprocess.Popen(
            command,
            shell=isinstance(command, str),
            stdin=told,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    kept = {cast("IO[bytes]", pipe): bytearray() for pipe in (child.stdout, child.stderr)}
    is_over = False
    try:
        with selectors.DefaultSelector() as waiting:
            for pipe, output in kept.items():
                waiting.register(pipe, selectors.EVENT_READ, output)
            last = time.monotonic()  # when the command was last seen to run
            while waiting.get_map() and time.monotonic() < min(deadline, last + _DRAIN_SECONDS):
                if child.poll() is None:
                    last = time.monotonic()
                for key, _ in waiting.select(_LOOK_SECONDS):
                    chunk = os.read(key.fd, _CHUNK)
                    key.data.extend(chunk[: MOST_OUTPUT + 1 - len(key.data)])
                    if not chunk:
                        waiting.unregister(key.fileobj)
            is_over = not waiting.get_map()
        code = child.wait(max(0.0, deadline - time.monotonic()))
        out, err = map(bytes, kept.values())
        return code, out, err
    except subprocess.TimeoutExpired:
        return None
    finally:
        if not is_over or child.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                child.wait(1)
        for pipe in kept:
            pipe.close()

"""Gates: who may refuse that a task is created or completed. They are asked before the write, outside any lock.

A gate is a Python callable or a command. A callable gets the task and answers None or True to let it pass; False, a
text (why not) or `{"decision": "block", "reason": …}` to refuse. A command reads JSON on its standard input; it
refuses with any exit code but 0, the reason on stderr or stdout, or by printing that same object. A gate that cannot
be asked, or takes longer than its seconds, refuses: what is to be guarded is better late than unguarded. Of what a
command prints, only the beginning is kept.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from punchlist.core.task import Task, encode_task
from punchlist.errors import ConfigInvalid, GateRefused
from punchlist.tasks.gate_command import run
from punchlist.text import clean, cut

On = Literal["create", "complete"]
SECONDS = 10.0
_LONGEST_REASON = 2_000
_HOOKS = {"create": "TaskCreated", "complete": "TaskCompleted"}

Answer = bool | str | Mapping[str, Any] | None
Check = Callable[[Task], Answer] | str | Sequence[str]


class Gate(Struct, frozen=True):
    """What is asked, on which occasion, for which list (None: all), and how long it may take."""

    on: On
    check: Check
    list: str | None = None
    seconds: float = SECONDS


def gate(on: str, check: Check, *, list: str | None, seconds: float) -> Gate:
    if on not in ("create", "complete"):
        raise ConfigInvalid(name="on", value=on, problem="a gate stands before `create` or `complete`")
    if not 0 < seconds <= SECONDS:
        raise ConfigInvalid(name="seconds", value=seconds, problem=f"a gate has at most {SECONDS:g} seconds")
    if not callable(check) and not check:
        raise ConfigInvalid(name="check", value=check, problem="give a callable or a command")
    return Gate(on, check, list, seconds)


def stands(gates: Sequence[Gate], on: On, list: str) -> bool:
    """Whether any gate is to be asked on this occasion."""
    return any(each.on == on and each.list in {None, list} for each in gates)


def ask(gates: Sequence[Gate], on: On, task: Task) -> None:
    """Asks each gate that stands here, in order; raises `GateRefused` with the reason of the first that refuses."""
    for each in gates:
        if each.on == on and each.list in {None, task.list}:
            reason = _reason(each, task)
            if reason is not None:
                said = cut(clean(reason).text, _LONGEST_REASON) or f"A gate refused to {on} the task."
                raise GateRefused(reason=said, on=on, id=task.id)


def _reason(gate: Gate, task: Task) -> str | None:
    """Why not, or None."""
    if callable(gate.check):
        return _of_callable(gate.check, task, gate.seconds)
    return _of_command(gate.check, task, gate)


def _of_callable(check: Callable[[Task], Answer], task: Task, seconds: float) -> str | None:
    outcome: list[str | None] = []

    def run() -> None:
        try:
            outcome.append(_refusal(check(task)))
        except BaseException as error:  # whoever leaves the program leaves only its thread
            outcome.append(f"The gate failed: {type(error).__name__}: {error}")

    thread = threading.Thread(target=run, name="punchlist-gate", daemon=True)
    thread.start()
    thread.join(seconds)
    return outcome[0] if outcome else f"The gate did not answer within {seconds:g} seconds."


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it is gone
        return None


def _refusal(answer: Any) -> str | None:
    if answer is None or answer is True:
        return None
    if isinstance(answer, str):
        return answer or "refused"
    if isinstance(answer, Mapping):
        told = cast("Mapping[str, Any]", answer)
        return str(told.get("reason") or "refused") if told.get("decision") == "block" else None
    return "refused"


def _of_command(command: str | Sequence[str], task: Task, gate: Gate) -> str | None:
    told = {
        "hook_event_name": _HOOKS[gate.on],
        "task_id": task.id,
        "task_subject": task.subject,
        "task_description": task.description,
        "task_list": task.list,
        "session_id": task.list.removeprefix("session:") if task.list.startswith("session:") else None,
        "cwd": _folder(),
        "task": {**encode_task(task), "blocked_by": list(task.blocked_by)},
    }
    try:
        answer = run(command, msgspec.json.encode(told), gate.seconds)
    except OSError as error:
        return f"The gate could not be started: {error.strerror or error}."
    if answer is None:
        return f"The gate did not answer within {gate.seconds:g} seconds."
    if answer.code:
        said = (answer.err.strip() or answer.out.strip()).decode(errors="replace")
        return said or f"The gate ended with code {answer.code}."
    if answer.cut and answer.out.lstrip().startswith(b"{"):
        return "The gate's answer is too long to be read."
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):
        return _refusal(msgspec.json.decode(answer.out, type=dict[str, Any]))
    return None

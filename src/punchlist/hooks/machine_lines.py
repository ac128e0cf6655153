"""Take hook lines that a machine of the team sends: each exactly once, and only what is that machine's own.

The token decides whose lines they are. What a line says of its repository chooses among the projects of the token; what
it says of processes means nothing here. Its tool calls were described where they ran, and are only recorded.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, cast

import msgspec
from msgspec.structs import replace

from punchlist.agent.described_calls import EndedCall, StartedCall, accept
from punchlist.board import Board
from punchlist.conversations.bindings import check_conversation
from punchlist.errors import MachineRefused
from punchlist.hooks.events import Source, is_described
from punchlist.hooks.inbox import HookLine, parse_line, take_events
from punchlist.settings.environment import find_project_elsewhere, is_project_of, normalise_remote
from punchlist.text import clean

_LONGEST_PATH: Final = 1_000
_LONGEST_TEXT: Final = 1_000
_TEXTS: Final = ("prompt", "last_assistant_message")
_MOST_DROPPED: Final = 1_000_000
_DESCRIBED: Final = ("tool_input", "tool_response", "error")
_DELEGATING: Final = ("Task", "Agent")


class Sender(NamedTuple):
    """The machine of a token: its id, its name, and the projects that it may report on."""

    machine: str
    name: str
    projects: Collection[str]


class LineRefusal(msgspec.Struct, frozen=True):
    """Why a line was not taken."""

    code: str
    detail: str


class TakenLines(msgspec.Struct, frozen=True):
    """The answers to lines by their ids, those that were refused, and how many were taken."""

    answers: dict[str, dict[str, Any]]
    refused: dict[str, LineRefusal]
    taken: int


def take_lines(board: Board, sender: Sender, lines: Sequence[bytes], *, sent_at: datetime | None = None) -> TakenLines:
    """Record lines in their order; return the answers. A line that was taken before gets its first answer again.

    `sent_at` is the time by the clock of the machine: by how much it is off, times are corrected.
    """
    now = board.now()
    offset = now - (sent_at or now)
    hooks: dict[str, HookLine] = {}
    refused: dict[str, LineRefusal] = {}
    for number, line in enumerate(lines):
        name = f"line {number + 1}"
        try:
            hook = parse_line(line, max(now, sent_at or now))
            name = hook.id
            read = _read_source(line, sender, hook)
            board.store.read(lambda tx, hook=hook: _check(tx, sender, hook))
        except _Refused as problem:
            refused[name] = problem.refusal
        except MachineRefused as problem:
            refused[name] = LineRefusal(problem.code, str(problem))
        except (ValueError, TypeError, RecursionError, OverflowError) as problem:
            refused[name] = LineRefusal("line_malformed", f"{problem}"[:300])
        else:
            at = min(now, hook.at + offset)
            event = _shorten_texts(hook)
            known_as = f"{sender.machine}:{hook.id}"
            hooks[hook.id] = replace(hook, id=known_as, at=at, process="", attended=None, event=event, source=read)
    answers = take_events(board, list(hooks.values()))
    told = {name: answers[hook.id] for name, hook in hooks.items() if answers.get(hook.id)}
    return TakenLines(told, refused, len(hooks))


class _Refused(Exception):
    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.refusal = LineRefusal(code, detail)


def _check(tx: Any, sender: Sender, hook: HookLine) -> None:
    conversation = hook.event.get("session_id")
    if not isinstance(conversation, str) or not conversation:
        raise ValueError("an event lacks its `session_id`")
    check_conversation(tx, sender.machine, hook.host, conversation)


def _read_source(line: bytes, sender: Sender, hook: HookLine) -> Source:
    fields = cast("dict[str, Any]", json.loads(line))
    remote, folder, dropped = fields.get("remote", ""), fields.get("folder", ""), fields.get("dropped", 0)
    for value in (remote, folder):
        if not isinstance(value, str) or len(value) > _LONGEST_PATH or clean(value, lines=False).text != value:
            raise ValueError("`remote` and `folder` are plain texts")
    if type(dropped) is not int or not 0 <= dropped <= _MOST_DROPPED:
        raise ValueError("`dropped` is a number of lines")
    place = find_project_elsewhere(sender.machine, sender.name, normalise_remote(remote), folder)
    if not is_project_of(place.key, sender.name, sender.projects):
        shown = remote[:200] or "a folder without a repository"
        raise _Refused("project_refused", f"The token of this machine was not made for {shown}.")
    call = _read_call(fields.get("call"), hook.event) if is_described(hook.host, hook.event) else None
    return Source(sender.name, place, call, fields.get("late") is True, dropped)


def _read_call(told: Any, event: Mapping[str, Any]) -> StartedCall | EndedCall:
    try:
        if event.get("hook_event_name") == "PreToolUse":
            return accept(msgspec.convert(told, StartedCall))
        return accept(msgspec.convert(told, EndedCall))
    except (msgspec.ValidationError, ValueError) as problem:
        raise _Refused("call_malformed", f"`call` does not describe the tool call: {problem}"[:300]) from problem


def _shorten_texts(hook: HookLine) -> dict[str, Any]:
    """Return an event without what its description stands for, and with the heads of its texts."""
    is_kept = not is_described(hook.host, hook.event) or hook.event.get("tool_name") in _DELEGATING
    kept = {key: value for key, value in hook.event.items() if is_kept or key not in _DESCRIBED}
    for key in _TEXTS:
        if isinstance(kept.get(key), str):
            kept[key] = kept[key][:_LONGEST_TEXT]
    return kept


def read_sent_at(text: str) -> datetime | None:
    """Return the time by the clock of a machine, in seconds since 1970; None if it is none."""
    try:
        return datetime.fromtimestamp(float(text), UTC)
    except (ValueError, OverflowError, OSError):
        return None

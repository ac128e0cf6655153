"""Put the events of shared projects on their way to a team's server: described here, without secrets, in their order.

The line is put into the outbox in the transaction that notes the event as taken: so it goes there exactly once. No
network is touched here. The relay (`mcp/relay.py`) of one process of this machine sends what is in the outbox.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import suppress
from typing import Any, Final, cast

import msgspec

from punchlist.agent.described_calls import StartedCall
from punchlist.board import Board
from punchlist.dialects.repair import read_fields
from punchlist.hooks.events import (
    DELEGATING,
    NATIVE,
    SHOW_LIST,
    HookEvent,
    count_background,
    note_own_call,
    read_event,
    read_exit_code,
    refuse_native_list,
    save_state,
)
from punchlist.settings.environment import find_project, own_secrets
from punchlist.settings.table import TeamSettings, read_setting
from punchlist.settings.team import find_team
from punchlist.store import Transaction
from punchlist.store.outbox import MOST_BYTES
from punchlist.text import clean, cut, fence
from punchlist.text.redaction import redact_value
from punchlist_hook import is_answered, is_own_call, open_private

_KEPT: Final = (
    "hook_event_name", "session_id", "cwd", "permission_mode", "source", "agent_id", "agent_type", "tool_name",
    "tool_use_id", "is_interrupt", "mcp_server", "task_id", "task_subject", "task_description", "stop_hook_active",
)  # fmt: skip
"""Fields of an event that are sent, with their secrets masked; no others are but those that are named below."""

_CUT: Final = {"prompt": 200, "last_assistant_message": 200}
"""Texts of which the beginning is sent, and its characters: a title, and what rules look at."""

_LINES: Final = ("preview", "result", "tail", "text", "words")
"""Facts of a call that show what it was given or gave back: `share = "grades"` leaves them out."""

LONGEST_TOLD: Final = 2_000
"""Characters that a server may make an agent hear at a time."""

_BLOCKING: Final = ("Stop", "SubagentStop", "TaskCreated", "TaskCompleted")


def find_destination(board: Board, hook: Any) -> TeamSettings | None:
    """Return the server to which an event goes; None if it stays on this machine.

    The project of its folder has to be shared, and that of its conversation, which may have begun elsewhere.
    """
    folder = hook.event.get("cwd")
    team = find_team(folder) if isinstance(folder, str) and folder else None
    if team is None:
        return None
    known = board.store.read(lambda tx: tx.hosts.find_conversation(hook.host, str(hook.event.get("session_id"))))
    return team if known is None or find_team(known.project) is not None else None


def put_event(board: Board, tx: Transaction, hook: Any, team: TeamSettings) -> dict[str, Any]:
    """Describe an event and put it into the outbox, in a joined transaction; return the answer that is given here."""
    event = read_event(board, hook.host, hook.event, hook.at, hook.process)
    answer = refuse_native_list(event)
    line = {
        "v": 2,
        "id": hook.id,
        "host": hook.host,
        "at": hook.at.timestamp(),
        "attended": hook.attended,
        **_find_place(event),
        **describe_event(event, tx, team),
    }
    if is_own_call(event.host, event.fields) and event.name == "PreToolUse":
        note_own_call(event)
    save_state(event, answer)
    state = tx.outbox.load_state()
    if state.dropped:
        line["dropped"] = state.dropped
    body = json.dumps({**line, "n": state.last + 1}, separators=(",", ":")).encode() + b"\n"
    if state.bytes + len(body) > MOST_BYTES:
        tx.outbox.save_state(state._replace(dropped=state.dropped + 1))
    else:
        waits = read_patience(board.store.files) if is_answered(hook.host, hook.event) else 0
        until = hook.at.timestamp() + waits if waits else 0.0
        tx.outbox.add(hook.id, event.name, body, state, until=until)
    return answer


def _find_place(event: HookEvent) -> dict[str, str]:
    project = find_project(event.text("cwd"))
    return {"remote": project.remote, "folder": project.folder}


def describe_event(event: HookEvent, tx: Transaction, team: TeamSettings) -> dict[str, Any]:
    """Return the fields `event` and `call` of a line: what the board keeps of an event, and nothing else."""
    own, tool = own_secrets(), event.text("tool_name")
    said = {key: event.fields[key] for key in _KEPT if key in event.fields}
    said |= {key: event.text(key) for key in _CUT if key in event.fields}
    if count := count_background(event):
        said["background_tasks"] = [{"status": "running"}] * min(count, 50)
    call: dict[str, Any] | None = None
    if tool in NATIVE or tool == "ExitPlanMode":  # the list, or the plan, is what the board keeps
        said["tool_input"] = event.fields.get("tool_input")
        result = event.fields.get("tool_response")
        if isinstance(result, dict):
            answered = cast("dict[str, Any]", result)
            said["tool_response"] = {key: answered[key] for key in ("success", "plan") if key in answered}
            said["tool_response"]["error"] = bool(answered.get("error"))
        said["error"] = cut(event.text("error"), _CUT["prompt"])
    elif tool and not is_own_call(event.host, event.fields):
        given = event.fields.get("tool_input")
        if tool in DELEGATING and isinstance(given, dict):
            fields = cast("dict[str, Any]", given)
            said["tool_input"] = {key: fields[key] for key in ("description", "subagent_type") if key in fields}
        call = _describe_call(event, tx, tool, given)
    masked = redact_value(said, own)
    for key, longest in _CUT.items():  # after masking: a secret that is cut is known no longer
        if key in masked:
            masked[key] = cut(masked[key], longest)
    if call is not None and team.share == "grades":
        for part in (call["facts"], call.get("background", {})):
            for name in _LINES:
                part.pop(name, None)
    return {"event": masked} if call is None else {"event": masked, "call": call}


def _describe_call(event: HookEvent, tx: Transaction, tool: str, given: Any) -> dict[str, Any] | None:
    agent = event.main()
    who = f"{event.host} {event.conversation} {event.text('agent_id')}"
    key = event.text("tool_use_id") or f"#{tool}"
    if event.name == "PreToolUse":
        started = agent.describe_start(tool, given)
        if started.facts["kind"] == "edit":  # its arguments are what the file will hold
            started.facts["preview"] = cut(", ".join(started.facts.get("files", ())), read_setting("previews"))
        tx.outbox.save_call(who, key, msgspec.json.encode(started))
        return msgspec.to_builtins(started)
    if event.name not in ("PostToolUse", "PostToolUseFailure"):
        return None
    body = tx.outbox.find_call(who, key)
    started = _decode(body)
    running = None
    if started is not None and (read := started.facts.get("background")) and "check" not in started.facts:
        running = _decode(tx.outbox.find_background_call(who, str(read)))
    is_failed = event.name == "PostToolUseFailure"
    code = read_exit_code(event) if is_failed else None
    ended = agent.describe_end(
        tool,
        event.text("error") if is_failed else event.fields.get("tool_response"),
        failed=is_failed and code is None,
        is_error=True if is_failed else False if event.host == "claude-code" else None,
        exit_code=code,
        started=started,
        running=running,
    )
    if started is not None and started.facts["kind"] in ("read", "edit"):  # its result is what the file holds
        ended.facts.pop("result", None)
    if body is not None and (name := ended.facts.get("background")):
        tx.outbox.save_call(who, key, body, background=str(name))
    return msgspec.to_builtins(ended)


def _decode(body: bytes | None) -> StartedCall | None:
    return None if body is None else msgspec.json.decode(body, type=StartedCall)


# Answers.


def await_sent(board: Board, id: str) -> bool:
    """Wait until the server has an event, for as long as the relay says; False if it has not, or there is no relay.

    While the server is away nothing is waited for: an agent waits for its hooks.
    """
    if not board.store.read(lambda tx: tx.outbox.is_waiting(id)):
        return True
    patience = read_patience(board.store.files)
    if not patience or board.store.wait_until(lambda tx: not tx.outbox.is_waiting(id), patience):
        return patience > 0
    write_patience(board.store.files, 0)  # the next hooks do not wait until the relay has heard of the server again
    return False


def filter_answer(name: str, answer: Any, *, prompt: str = "") -> dict[str, Any]:
    """Return of a server's answer what it may make an agent hear: texts in our fence, and nothing that permits.

    A prompt is stopped only where it is our own command, which a person reads the list by.
    """
    given = read_fields(answer)
    allowed: dict[str, Any] = {}
    if message := _plain(given.get("systemMessage")):
        allowed["systemMessage"] = message
    if text := fence_text(read_fields(given.get("hookSpecificOutput")).get("additionalContext")):
        allowed["hookSpecificOutput"] = {"hookEventName": name, "additionalContext": text}
    if given.get("decision") == "block":
        reason = given.get("reason")
        is_view = name == "UserPromptSubmit" and prompt.strip() == SHOW_LIST
        if (name in _BLOCKING and (text := fence_text(reason))) or (is_view and (text := _plain(reason))):
            allowed |= {"decision": "block", "reason": text}
    return allowed


def fence_text(text: Any) -> str:
    """Return a text of a server within our own fence, and of at most 2,000 characters; empty for no text."""
    rows = [row for row in _plain(text).split("\n") if row.strip() not in ("", "<punchlist>", "</punchlist>")]
    return fence(rows) if rows else ""


def _plain(text: Any) -> str:
    return cut(clean(text, lines=True).text, LONGEST_TOLD) if isinstance(text, str) else ""


# What the relay of this machine says to the other processes: a file that it holds locked.


def relay_path(files: str) -> str:
    return f"{files}.relay"


def read_patience(files: str) -> float:
    """Return for how many seconds an answer is waited for: as the relay says; 0 if there is none."""
    try:
        handle = open_private(relay_path(files), os.O_RDWR)
    except OSError:
        return 0.0
    try:
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return 0.0  # nobody holds it
        with suppress(ValueError):
            return min(1.2, max(0.0, float(os.pread(handle, 32, 0) or b"0")))
        return 0.0
    finally:
        os.close(handle)


def write_patience(files: str, seconds: float) -> None:
    """Say for how many seconds an answer may be waited for."""
    with suppress(OSError):
        handle = open_private(relay_path(files), os.O_RDWR)
        os.pwrite(handle, f"{seconds:<8.3f}".encode(), 0)
        os.close(handle)

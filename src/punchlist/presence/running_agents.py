"""Find the agents that run on this machine and what each does now, attached or not.

Claude Code writes the state of each process to its home. Codex tells it over its daemon's socket, else by the files
that its processes have open, as does opencode by its store. Hooks tell it of agents that are attached. All of it is
data that other programs wrote: files are read up to a limit, links are not followed, texts are cleaned and shortened,
and what cannot be read is passed over.
"""

from __future__ import annotations

import base64
import heapq
import json
import os
import re
import socket
import stat
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import chain
from time import monotonic
from typing import Any, Final, TypedDict, cast

from msgspec.structs import replace

from punchlist.agent.processes import (
    can_list_files,
    find_folder,
    find_open_files,
    find_place,
    find_start,
    is_running,
    list_processes,
    look_up_process,
    read_arguments,
)
from punchlist.core.events import Draft
from punchlist.core.presence import (
    GONE_SHOWN,
    NO_WORDS,
    Presence,
    PresenceState,
    ProcessLook,
    choose_living,
    decide_state,
    describe_call,
    find_missing,
    join_roads,
)
from punchlist.core.programs import PROGRAMS
from punchlist.errors import StoreBusy, TranscriptError
from punchlist.logs.programs import find_home, find_logs
from punchlist.reader import BoardReader
from punchlist.settings.environment import find_project, own_secrets
from punchlist.settings.table import read_setting
from punchlist.store import Transaction
from punchlist.text import clean
from punchlist.text.tool_values import LENGTH, preview, shown_arguments
from punchlist.transcripts import claude_code, codex
from punchlist.transcripts.decoding import moment, name, object_at, objects, path, record
from punchlist.transcripts.log_files import open_plain
from punchlist.transcripts.steps import TurnEnd, TurnStart
from punchlist.transcripts.stores import read_rows
from punchlist.transcripts.values import CallOutcome, TranscriptCall
from punchlist.views.list_owners import MAIN
from punchlist_hook import mark_process

PRESENCE_SECONDS: Final = 1.5
"""How often a program that runs on asks hosts for their agents: a change shows within two seconds."""

_LARGEST: Final = 64 * 1024
"""Bytes of a session file; Claude Code's have about one thousand."""

_TAIL: Final = 256 * 1024
"""Bytes at the end of a transcript that are searched for the last tool call, and at the beginning for its session."""

_MOST_SESSIONS: Final = 500
_MOST_ROLLOUTS: Final = 100
_MOST_DAYS: Final = 30
"""Folders of rollouts that are looked at, the latest: a thread that is resumed goes on in its first file."""

_MOST_THREADS: Final = 100
_MOST_CONVERSATIONS: Final = 200
_DAEMON_SECONDS: Final = 0.5
"""The daemon answers within 20 ms. A busy one is waited for, but a person waits too."""

_RECENT: Final = timedelta(minutes=10)
"""Where the system does not show open files, a rollout counts as that of a running Codex for so long after a write."""

_MOST_TOGETHER: Final = 20
"""Changes in one transaction: it holds the lock for at most 20 ms."""

_CLAUDE, _CODEX, _OPENCODE = "claude-code", "codex", "opencode"
_CLAUDE_IDLE: Final = ("idle", "shell")
"""States of a session of Claude Code that waits for a prompt; `shell` while a command runs in the background, such as
the monitor of our plugin."""

_TERMINAL: Final = "codex-tui"
"""The originator of threads that were begun in a terminal."""

_SERVER: Final = "app-server"
_MOVING: Final = frozenset({"-C", "--cd", "resume", "fork"})
"""Words after which a terminal may show a thread of another folder."""

_CODEX_WAITS: Final = {"waitingOnApproval": "approval", "waitingOnUserInput": NO_WORDS}
_OPENCODE_QUESTION: Final = "question"
_OPENCODE_SESSIONS: Final = """
SELECT id, title FROM session WHERE directory = ? AND parent_id IS NULL AND time_updated >= ?
ORDER BY time_updated DESC LIMIT ?
"""
_LAST_MESSAGE: Final = "SELECT data FROM message WHERE session_id = ? ORDER BY time_created DESC, id DESC LIMIT 1"
_LAST_PIECES: Final = "SELECT data FROM part WHERE session_id = ? ORDER BY time_created DESC, id DESC LIMIT 20"


def find_presence(board: BoardReader | None = None) -> list[Presence]:
    """Return all agents that run on this machine, and those whose process ended lately, one entry each.

    With a board, those of which hooks told are among them.
    """
    now = datetime.now(UTC) if board is None else board.now()
    claude = list(_read_claude_sessions(now))
    owned = {mark_process(one.pid): one.session for one in claude if one.process == "runs" and one.pid is not None}
    codex_threads = list(_ask_codex())
    found = [*claude, *codex_threads, *_read_rollouts(now), *_read_opencode()]
    if board is not None:
        found += board.store.read(lambda tx: list(_read_conversations(tx, owned, now)))
    # The daemon lives on, and has the rollouts of closed threads open: by other roads they would seem to live.
    closed = {one.session for one in codex_threads if one.state == "gone"}
    found = [replace(one, state="gone") if one.host == _CODEX and one.session in closed else one for one in found]
    joined = choose_living(_settle_state(one, now) for one in join_roads(found))
    lasting = ("busy", "waiting", "idle")
    return [one for one in joined if one.state in lasting or (one.since is not None and now - one.since < GONE_SHOWN)]


def _settle_state(one: Presence, now: datetime) -> Presence:
    """Return an agent with its state by what was said of it, and the look at its process."""
    quiet = 0.0 if one.heard_at is None else (now - one.heard_at).total_seconds()
    state = decide_state(one.state, one.process, quiet)
    since = one.heard_at if state == "unknown" else one.since
    return replace(one, state=state, since=since, waits_for=one.waits_for if state == "waiting" else "")


# Claude Code: a file per process.


def is_claude_idle(pid: int, session: str, since: datetime) -> bool:
    """True if a process of Claude Code says that this session has waited for a prompt since then.

    A turn that the person ends with Escape has no hook event.
    """
    found = _read_json(find_home(_CLAUDE, "sessions", f"{pid}.json"))
    changed = moment(found.get("statusUpdatedAt"))
    is_same = found.get("pid") == pid and found.get("sessionId") == session
    return is_same and found.get("status") in _CLAUDE_IDLE and changed is not None and changed >= since


def _find_claude_state(status: Any) -> PresenceState:
    """Return the state by the word in a session file; a word that a later version brings is one for work."""
    if status == "waiting":
        return "waiting"
    return "idle" if status is None or status in _CLAUDE_IDLE else "busy"


def _read_claude_sessions(now: datetime) -> Iterator[Presence]:
    home = find_home(_CLAUDE)
    folder = os.path.join(home, "sessions")
    for file in _list_files(folder, r"\d{1,10}\.json", _MOST_SESSIONS):
        found = _read_json(os.path.join(folder, file))
        pid, session = found.get("pid"), name(found.get("sessionId"))
        if type(pid) is not int or str(pid) != file.removesuffix(".json") or session is None:
            continue
        since = moment(found.get("statusUpdatedAt")) or moment(found.get("updatedAt")) or moment(found.get("startedAt"))
        cwd, ticks = path(found.get("cwd")), found.get("procStart")
        state: PresenceState = _find_claude_state(found.get("status"))
        is_named = found.get("nameSource") != "derived"
        seen = Presence(
            host=_CLAUDE,
            session=session,
            state=state,
            since=since,
            **_find_place(cwd),
            title=_shorten(found.get("name")) if is_named else "",
            pid=pid,
        )
        if state != "idle":
            seen = _add_claude_call(seen, home, cwd or "", _shorten(found.get("waitingFor")))
        runs = is_running(pid, ticks=ticks if isinstance(ticks, str) else "", before=since)
        yield replace(seen, process="runs" if runs else "ended")


def _add_claude_call(seen: Presence, home: str, cwd: str, waits_for: str) -> Presence:
    """Add the last tool call of a session, by its transcript; the one that has not ended is what it waits for."""
    folder = re.sub(r"[^A-Za-z0-9]", "-", cwd)
    call, is_open = None, False
    file = os.path.join(home, "projects", folder, f"{seen.session}.jsonl")
    if re.fullmatch(r"[\w-]{1,200}", seen.session) and os.path.realpath(file).startswith(
        os.path.realpath(home) + os.sep
    ):
        call, is_open = _find_claude_call(file)
    doing = "" if call is None else _describe_arguments(call.name, call.args)
    if seen.state != "waiting":
        return replace(seen, doing=doing)
    if call is not None and is_open:
        asked = objects(object_at(call.args).get("questions")) if call.name == "AskUserQuestion" else []
        if asked:
            waits_for = _shorten(asked[0].get("question")) or waits_for
        elif call.name == "ExitPlanMode":
            waits_for = "approval of its plan"
        elif waits_for == "permission prompt":
            waits_for = f"permission: {doing}"
    return replace(seen, doing=doing, waits_for=waits_for or NO_WORDS)


def _find_claude_call(file: str) -> tuple[TranscriptCall | None, bool]:
    ended: set[str] = set()
    for line in _read_last_lines(file):
        if b'"tool_use"' not in line and b'"tool_result"' not in line:
            continue
        for item in claude_code.read_facts(record(line) or {}):
            if isinstance(item, CallOutcome):
                ended.add(item.call_id)
            elif isinstance(item, TranscriptCall) and item.origin.agent == MAIN:
                return item, item.call_id not in ended
    return None, False


# Codex: its daemon, and the rollouts that its processes have open.


def _ask_codex() -> Iterator[Presence]:
    """Yield the threads that the daemon has loaded; nothing where there is no daemon, or it does not answer."""
    try:
        with CodexDaemon(find_home(_CODEX), seconds=_DAEMON_SECONDS) as daemon:
            threads = objects(daemon.ask("thread/list", {"limit": _MOST_THREADS}).get("data"))
            pid = daemon.pid
    except (OSError, AttributeError):  # no daemon, or a system without unix sockets
        return
    terminals = _count_terminals()
    for thread in threads:
        session, status = name(thread.get("id")), object_at(thread, "status")
        kind = status.get("type")
        if session is None or thread.get("parentThreadId") is not None or kind not in ("active", "idle", "systemError"):
            continue
        flags = cast("Any", status.get("activeFlags"))
        is_list = kind == "active" and isinstance(flags, list)
        waits = [words for flag, words in _CODEX_WAITS.items() if is_list and flag in flags]
        state: PresenceState = "waiting" if waits else "busy" if kind == "active" else "idle"
        if _is_closed(thread, terminals) and state != "busy":
            state, waits = "gone", []
        yield Presence(
            host=_CODEX,
            session=session,
            state=state,
            since=moment(thread.get("updatedAt")),
            **_find_place(path(thread.get("cwd"))),
            waits_for=", ".join(waits),
            title=_shorten(thread.get("name")) or _shorten(thread.get("preview")),
            pid=pid,
            process="runs",
        )


def _count_terminals() -> Counter[str] | None:
    """Count Codex's terminals by the folder in which each runs; None if the system does not tell.

    The folder is empty for one that may show a thread of another folder than its own.
    """
    if not can_list_files():
        return None
    folders: Counter[str] = Counter()
    for pid in list_processes(_CODEX):
        words = {word.partition("=")[0] for word in read_arguments(pid)}
        folder = find_folder(pid)  # empty for a process that has just ended
        if folder and _SERVER not in words:
            folders["" if words & _MOVING else folder] += 1
    return folders


def _is_closed(thread: dict[str, Any], terminals: Counter[str] | None) -> bool:
    """True if no terminal shows a thread that was begun in one: the daemon keeps it loaded.

    Each terminal is taken for that of the next thread of its folder; the daemon tells of the latest thread first.
    """
    if terminals is None or not str(thread.get("originator")).startswith(_TERMINAL):
        return False
    folder = str(thread.get("cwd"))
    if terminals[folder] > 0:
        terminals[folder] -= 1
        return False
    return not terminals[""]


def _read_rollouts(now: datetime) -> Iterator[Presence]:
    folder = os.path.realpath(find_logs(_CODEX))
    if not os.path.isdir(folder):
        return
    open_files = dict(find_open_files("codex", folder + os.sep)) if can_list_files() else None
    running = open_files or {}
    recent = [
        (file in running, at, file) for at, file in _list_rollouts(folder) if now - at < GONE_SHOWN or file in running
    ]
    for _, at, file in heapq.nlargest(_MOST_ROLLOUTS, recent):
        seen = _read_rollout(file)
        if seen is None:
            continue
        if open_files is None:
            if now - at < _RECENT:
                yield replace(seen, since=seen.since or at)
        elif file in open_files:
            yield replace(seen, since=seen.since or at, pid=open_files[file], process="runs")
        elif seen.state == "busy":  # its process ended within a turn; one that ended after its turn is just closed
            yield replace(seen, since=at, process="ended")


def _list_rollouts(folder: str) -> Iterator[tuple[datetime, str]]:
    days = [""]
    for pattern in (r"\d{4}", r"\d{2}", r"\d{2}"):
        inner = [
            os.path.join(day, one)
            for day in days
            for one in _list_files(os.path.join(folder, day), pattern, 1000, folders=True)
        ]
        days = sorted(inner, reverse=True)[:_MOST_DAYS]
    for day in days:
        for file in _list_files(os.path.join(folder, day), r"rollout-.+\.jsonl", 10_000):
            full = os.path.join(folder, day, file)
            with suppress(OSError):
                yield datetime.fromtimestamp(os.lstat(full).st_mtime, UTC), full


def _read_rollout(file: str) -> Presence | None:
    """Return the state of a thread by its rollout; None if it is a subagent's, or says nothing."""
    first = _read_part(file, tail=False, size=_TAIL).partition(b"\n")[0]
    head = codex.read_head([record(first) or {}], (), file).origin
    if head.session is None or head.agent != MAIN:
        return None
    state: PresenceState = "idle"
    since: datetime | None = None
    doing, ended = "", False
    for fact in chain.from_iterable(codex.read_facts(record(line) or {}) for line in _read_last_lines(file)):
        if isinstance(fact, TranscriptCall) and not doing:
            doing = _describe_arguments(fact.name, object_at(fact.args).get("input", fact.args))
        elif isinstance(fact, TurnStart | TurnEnd):
            state, since = ("idle" if isinstance(fact, TurnEnd) else "busy"), fact.at
            break
        elif isinstance(fact, CallOutcome):
            ended = True
    else:
        state = "busy" if doing or ended else "idle"  # the turn began before what was read
    return Presence(
        host=_CODEX,
        session=head.session,
        state=state,
        since=since,
        **_find_place(head.cwd),
        doing=doing if state == "busy" else "",
        road="files",
    )


# opencode: its store, which its processes have open.


def _read_opencode() -> Iterator[Presence]:
    """Yield the conversation that each process of opencode shows; none of a process that has not begun one.

    The store is only read while a process has it open: to read what a killed one left, SQLite would write next to it. A
    process shows the latest conversation of its folder, of those that changed since it was started.
    """
    store = os.path.realpath(find_home(_OPENCODE, PROGRAMS[_OPENCODE].store))
    if not os.path.isfile(store):
        return
    folders: dict[str, list[int]] = {}
    for pid in sorted({pid for _, pid in find_open_files(_OPENCODE, store)}):
        folders.setdefault(find_folder(pid), []).append(pid)
    for folder, pids in folders.items():
        try:
            yield from _read_opencode_sessions(store, folder, pids)
        except TranscriptError:
            continue  # of another version, or held by its program


def _read_opencode_sessions(store: str, folder: str, pids: list[int]) -> list[Presence]:
    starts = [start for pid in pids if (start := find_start(pid)) is not None]
    first = int(min(starts).timestamp() * 1000) if starts else 0
    rows = list(read_rows(store, _OPENCODE_SESSIONS, (folder, first, len(pids))))
    found: list[Presence] = []
    # Which of several processes in one folder shows which conversation is not told; the latest started, the latest.
    for (given, title), pid in zip(rows, reversed(pids), strict=False):
        session = name(given)
        if session is None:
            continue
        state, since = _read_opencode_state(_read_opencode_rows(store, _LAST_MESSAGE, session))
        calls = [piece for piece in _read_opencode_rows(store, _LAST_PIECES, session) if piece.get("type") == "tool"]
        call = calls[0] if calls else None
        waits_for = _find_opencode_question(call)
        arguments = object_at(call, "state").get("input")
        found.append(
            Presence(
                host=_OPENCODE,
                session=session,
                state="waiting" if waits_for and state == "busy" else state,
                since=since,
                **_find_place(folder),
                waits_for=waits_for if state == "busy" else "",
                title=_shorten(title),
                pid=pid,
                process="runs",
                doing=_describe_arguments(str(call.get("tool")), arguments) if state == "busy" and call else "",
            )
        )
    return found


def _read_opencode_rows(store: str, query: str, session: str) -> list[dict[str, Any]]:
    rows = (record(data) for (data,) in read_rows(store, query, (session,)) if isinstance(data, str))
    return [row for row in rows if row is not None]


def _read_opencode_state(last: list[dict[str, Any]]) -> tuple[PresenceState, datetime | None]:
    """Return the state by the last message: the model's that has ended and asks for no tool ends the turn."""
    if not last:
        return "idle", None
    message, times = last[0], object_at(last[0], "time")
    ended = moment(times.get("completed"))
    if message.get("role") == "assistant":
        if message.get("error"):
            return "idle", ended or moment(times.get("created"))
        if ended is not None and message.get("finish") != "tool-calls":
            return "idle", ended
    return "busy", moment(times.get("created"))


def _find_opencode_question(call: dict[str, Any] | None) -> str:
    """Return the question that a tool call puts before the person; empty if it is none, or was answered."""
    state = object_at(call, "state")
    if call is None or call.get("tool") != _OPENCODE_QUESTION or state.get("status") not in ("pending", "running"):
        return ""
    asked = objects(object_at(state, "input").get("questions"))
    return (_shorten(asked[0].get("question")) if asked else "") or NO_WORDS


# Hooks of attached agents.


def _read_conversations(tx: Transaction, owned: Mapping[str, str], now: datetime) -> Iterator[Presence]:
    """Yield the conversations that hooks told of; `owned` is the one that each process of Claude Code has now."""
    for one in tx.hosts.conversations(limit=_MOST_CONVERSATIONS):
        if not one.event:  # a handoff has bound it, and it has not begun
            continue
        # A process of Claude Code has one conversation: another one of the same process was left for it.
        is_left = one.host == _CLAUDE and owned.get(one.process, one.id) != one.id
        is_over = one.state == "ended" or is_left
        process: ProcessLook = "ended" if is_left else "none"
        if not is_over:
            process = look_up_process(tx, one, now)
        machine = tx.machines.find(one.machine) if one.machine else None
        yield Presence(
            host=one.host,
            session=one.id,
            state="gone" if is_over or one.state == "ended" else one.state,
            process=process,
            since=one.seen_at if is_over or process == "ended" else one.since,
            heard_at=one.seen_at if machine is None else max(one.seen_at, machine.heard_at),
            machine="" if machine is None else machine.name,
            project=one.project,
            pid=one.pid,
            list_session=one.session if one.session != one.id else "",
            road="hooks",
        )


# Files and texts of other programs.


def _list_files(folder: str, pattern: str, most: int, *, folders: bool = False) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            found = [
                entry.name
                for entry in entries
                if re.fullmatch(pattern, entry.name)
                and (entry.is_dir(follow_symlinks=False) if folders else entry.is_file(follow_symlinks=False))
            ]
    except OSError:
        return []
    return heapq.nlargest(most, found)


def _read_part(file: str, *, tail: bool, size: int) -> bytes:
    try:
        with open(open_plain(file), "rb") as opened:
            if tail:
                opened.seek(max(0, os.fstat(opened.fileno()).st_size - size))
            return opened.read(size)
    except OSError:
        return b""


def _read_json(file: str) -> dict[str, Any]:
    return record(_read_part(file, tail=False, size=_LARGEST)) or {}


def _read_last_lines(file: str) -> Iterator[bytes]:
    yield from reversed(_read_part(file, tail=True, size=_TAIL).splitlines())


def _shorten(text: Any) -> str:
    """Return a text as one clean line without secrets; empty if it is none."""
    return preview(text, LENGTH, own=own_secrets()) if isinstance(text, str) else ""


def _describe_arguments(name: str, arguments: Any) -> str:
    """Return a tool call in a few words, with as much of its arguments as the settings allow."""
    shown = shown_arguments(arguments, min(LENGTH, read_setting("previews")), own=own_secrets())
    return _shorten(describe_call(name, shown))


class _Place(TypedDict, total=False):
    project: str
    folder: str


def _find_place(folder: str | None) -> _Place:
    """Return the project and the worktree of a folder, as a `Presence` has them; nothing if there is no such folder."""
    if folder is None or not os.path.isabs(folder):
        return {}
    with suppress(OSError, ValueError):
        found = find_project(folder)
        return {"project": clean(found.key, lines=False).text, "folder": clean(found.folder, lines=False).text}
    return {}


# Events.


class PresenceLog:
    """Looks for the agents of this machine, and records each change of their states on the board.

    Several processes may do so at once: each change is recorded once.
    """

    def __init__(self, board: BoardReader) -> None:
        self._board = board
        self._seen: list[Presence] | None = None

    def look(self) -> list[Presence]:
        """Return the agents as `find_presence` does, and record what has changed since the last look."""
        at = self._board.now()
        found = find_presence(self._board)
        before = self._board.store.read(_load_living) if self._seen is None else self._seen
        missing = find_missing(before, found, at)
        try:
            record_states(self._board, [*found, *missing], looked_at=at)
        except StoreBusy:
            self._seen = before  # the next look records it
        else:
            self._seen = found
        return found


def _load_living(tx: Transaction) -> list[Presence]:
    """Return the agents that the board holds for running: they may have ended while nobody looked."""
    return [
        Presence(host=row.activity.host, session=row.session, state=cast("PresenceState", row.activity.host_state))
        for row in tx.overviews.all()
        if row.agent == MAIN and row.activity.host_state in ("busy", "waiting", "idle")
    ]


def record_states(board: BoardReader, states: Iterable[Presence], *, looked_at: datetime | None = None) -> int:
    """Record each change of an agent's state on the board, once; return how many there were.

    An agent that the board does not know joins it with its first state, unless it is gone already. States that were
    `looked_at` before the board's own was recorded are passed over: another process has looked later.
    """
    given = choose_living(states)
    changed = board.store.read(lambda tx: [one for one in given if _is_change(tx, one, looked_at)])
    now, recorded = board.now(), 0
    for start in range(0, len(changed), _MOST_TOGETHER):
        part = changed[start : start + _MOST_TOGETHER]
        recorded += board.store.transact(
            lambda tx, part=part: sum(_record_state(tx, one, now, looked_at) for one in part), durable=False
        )
    return recorded


def _is_change(tx: Transaction, seen: Presence, looked_at: datetime | None) -> bool:
    row = tx.agent(seen.board_session, MAIN)
    if row is None:
        return seen.state != "gone"
    known = tx.overviews.load_activity(row.number)
    if looked_at is not None and known.host_at is not None and known.host_at > looked_at:
        return False
    return (known.host_state, known.waits_for) != (seen.state, seen.waits_for)


def _record_state(tx: Transaction, seen: Presence, now: datetime, looked_at: datetime | None) -> bool:
    """Check again under the lock, and append the event."""
    if not _is_change(tx, seen, looked_at):
        return False
    session = seen.board_session
    row = tx.agent(session, MAIN)
    at = now
    if row is None:
        row = tx.add_agent(session, MAIN, project=find_project(seen.folder) if seen.folder else seen.project, at=now)
        tx.add_events(row, [Draft("agent.joined", {"project": row.project})], by=MAIN, at=now)
    else:
        at = max(now, tx.log.last_time(row.number) or now)
    data: dict[str, Any] = {"host": seen.host, "conversation": seen.session, "state": seen.state}
    data["place"] = find_place()
    if seen.since is not None:
        data["since"] = seen.since.isoformat()
    data |= {key: value for key in ("waits_for", "title", "pid") if (value := getattr(seen, key))}
    tx.add_events(row, [Draft("agent.state", data)], by=seen.host, at=at)
    return True


# The connection to Codex's daemon: JSON-RPC in a WebSocket over the unix socket in its home. Only what that takes: text
# frames, one question at a time, answers of bounded size and within a deadline.


_SOCKET: Final = ("app-server-control", "app-server-control.sock")
_LARGEST_ANSWER: Final = 8 * 1024 * 1024
"""Bytes of all that the daemon sends us in one look, or of one message."""

_NAME: Final = "codex_app_server_daemon"
"""The daemon takes the name of its first client as its own, in its logs and before its model's API, unless it is that
of its own probe. We only look, so nothing of that may change."""

_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10


class DaemonError(OSError):
    """The daemon closed the connection, was too slow, or said something that is no answer."""


class CodexDaemon:
    """A connection to the daemon, as a context. `pid` is the daemon's process, where the system tells."""

    def __init__(self, home: str, *, seconds: float) -> None:
        path = os.path.join(home, *_SOCKET)
        path = min(path, os.path.realpath(path), key=len)  # Codex links a long path to a short one; sockets need that
        found = os.stat(path)
        if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.getuid():
            raise DaemonError(f"{path} is no socket of this user")
        self._deadline = monotonic() + seconds
        self._buffer = bytearray()
        self._received = 0
        self._last_id = 0
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.settimeout(seconds)
            self._socket.connect(path)
            self.pid = _find_peer(self._socket)
            self._shake_hands()
            client = {"name": _NAME, "title": "Punchlist", "version": "0"}
            self.ask("initialize", {"clientInfo": client})
            self._send(_TEXT, json.dumps({"method": "initialized"}).encode())
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> CodexDaemon:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a request; what the daemon tells meanwhile is passed over."""
        self._last_id += 1
        self._send(_TEXT, json.dumps({"id": self._last_id, "method": method, "params": params}).encode())
        while True:
            answer: Any = _decode(self._receive_message())
            if isinstance(answer, dict) and cast("dict[str, Any]", answer).get("id") == self._last_id:
                result: Any = cast("dict[str, Any]", answer).get("result")
                if not isinstance(result, dict):
                    raise DaemonError(f"the daemon refused {method}")
                return cast("dict[str, Any]", result)

    def _shake_hands(self) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        lines = ("GET / HTTP/1.1", "Host: localhost", "Upgrade: websocket", "Connection: Upgrade")
        self._socket.sendall(
            "\r\n".join((*lines, f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", "", "")).encode()
        )
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            self._read_more()
        if not self._buffer.startswith(b"HTTP/1.1 101 "):
            raise DaemonError("the daemon speaks no WebSocket")
        del self._buffer[: end + 4]

    def _send(self, kind: int, body: bytes) -> None:
        """Send one frame. A client has to mask what it sends; the mask hides nothing."""
        mask = os.urandom(4)
        size = len(body)
        length = bytes([0x80 | size]) if size < 126 else struct.pack(">BH", 0xFE, size)  # we send short texts only
        masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(body))
        self._socket.sendall(bytes([0x80 | kind]) + length + mask + masked)

    def _receive_message(self) -> bytes:
        message = bytearray()
        while True:
            first, second = self._take(2)
            size = second & 0x7F
            if size == 126:
                (size,) = struct.unpack(">H", self._take(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", self._take(8))
            if size > _LARGEST_ANSWER:
                raise DaemonError("the daemon sent too much")
            body, kind = self._take(size), first & 0x0F
            if kind == _CLOSE:
                raise DaemonError("the daemon closed the connection")
            if kind == _PING:
                self._send(_PONG, body)
            elif kind != _PONG:
                message += body
                if first & 0x80:
                    return bytes(message)

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._read_more()
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _read_more(self) -> None:
        left = self._deadline - monotonic()
        if left <= 0:
            raise DaemonError("the daemon was too slow")
        self._socket.settimeout(left)
        received = self._socket.recv(65_536)
        self._received += len(received)
        if not received or self._received > _LARGEST_ANSWER:
            raise DaemonError("the daemon ended the answer, or sent too much")
        self._buffer += received


def _decode(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _find_peer(connected: socket.socket) -> int | None:
    """Return the process at the other end of a unix socket; None where the system does not tell."""
    option: int | None = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    pid, _, _ = struct.unpack("3i", connected.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return pid or None

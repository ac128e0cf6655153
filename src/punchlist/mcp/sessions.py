"""Find the session and the agent that a tool call belongs to."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from punchlist.board import Board
from punchlist.conversations.bindings import (
    check_session,
    find_call,
    find_session,
    find_session_call,
    list_conversations,
    name_call,
    name_host_call,
)
from punchlist.dialects.repair import read_fields
from punchlist.hooks.inbox import ingest
from punchlist.settings.environment import Folder, find_project
from punchlist.settings.table import read_setting
from punchlist.store.files import open_own_file
from punchlist.store.hosts import HostCall
from punchlist.text.hashing import blake2b
from punchlist.views.list_owners import MAIN
from punchlist_hook import mark_process
from punchlist_statusline import find_process

_CLAUDE = "claude-code"
_CODEX_KEYS = ("session_id", "sessionId", "threadId")
_MOST_SERVERS = 64
"""Servers that one client process may run at the same time in one project, each with a list of its own."""


class Caller(NamedTuple):
    """The agent that made a call. `call_id` is the host's own id of the call, if it tells one.

    `project` is the folder that a new session belongs to; None for that of this process.
    """

    session: str
    agent: str = MAIN
    call_id: str | None = None
    project: Folder = None


class SessionFinder:
    """Finds the callers of one server. `host` is the agent program at the other end, `machine` that of a team."""

    def __init__(
        self,
        board: Board,
        host: str,
        environment: Mapping[str, str],
        *,
        project: Folder,
        one_client: bool,
        machine: str = "",
    ) -> None:
        self._machine = machine
        self._board = board
        self._project = project
        self._host = host
        self._environment = environment
        self._own: str | None = None
        # A run of a client begins with its own server; one for all cannot tell a new run from a call sent twice.
        self._started = board.now() if one_client else None
        self.profile = read_setting("profile")

    def find(self, meta: Any, arguments: Any = None) -> Caller:
        """Return the caller: by the host's ids in `_meta`, else by the environment, else by directory and parent.

        What hooks told of the call says which agent of the conversation made it, with these arguments of a tool.
        """
        given = read_fields(meta)
        call_id = _read_text(given, "claudecode/toolUseId") or _read_text(given, "callId")
        ingest(self._board)
        codex = read_fields(given.get("x-codex-turn-metadata"))
        thread = next((name for key in _CODEX_KEYS if (name := _read_text({**given, **codex}, key))), None)
        session = None if thread is None else find_session(self._board, "codex", thread)
        told = None if call_id is None else self._find_told(call_id, session, arguments)
        agent, begun = (MAIN, self._started) if told is None else (told.agent, told.at)
        session = session or (self._default() if told is None else told.session)
        if call_id is not None and begun is not None:
            call_id = name_call(self._board, session, agent, call_id, begun)
        if self._machine or self._started is None:  # by a token: it reaches no session of another machine
            self._board.store.read(lambda tx: check_session(tx, self._machine, session))
        return Caller(session, agent, call_id, self._project)

    def _find_told(self, call_id: str, session: str | None, arguments: Any) -> HostCall | None:
        """Return the call that a hook told of: ids are unique within the history of one agent only."""
        told = find_call(self._board, name_host_call(self._machine, call_id))
        if told is None:
            return None
        is_of_another = self._is_of_another(told, session)
        # A machine names its session with each call.
        where = session or self._default() if is_of_another or self._machine else told.session
        own = find_session_call(self._board, self._machine, where, call_id, arguments)
        if own is not None:
            return HostCall(where, own.agent, own.at, told.process)
        return None if is_of_another else told

    def _is_of_another(self, told: HostCall, session: str | None) -> bool:
        """True if a hook told of a call of this id in another conversation."""
        if session is not None:
            return told.session != session
        if told.process == mark_process(os.getppid()) or find_process(told.process) != "runs":
            return False
        is_stated = self._host == _CLAUDE and "CLAUDE_CODE_SESSION_ID" in self._environment
        return is_stated and told.session != self._default()

    def _default(self) -> str:
        """Return the session of calls that name none."""
        if named := self._environment.get("PUNCHLIST_SESSION"):
            return named
        # Only of the client that says so: a program that Claude Code starts inherits its variables.
        if self._host == _CLAUDE and (named := self._environment.get("CLAUDE_CODE_SESSION_ID")):
            return self._follow(named)
        if self._own is None:
            self._own = self._claim_own()
        return self._own

    def _follow(self, conversation: str) -> str:
        """Return the session of the conversation that took the place of this one in the same client, by `/clear`.

        The client does not start us again then, so the variable still names the old one.
        """
        known = list_conversations(self._board)
        old = next((one for one in known if (one.host, one.id) == (_CLAUDE, conversation)), None)
        if old is None or old.state != "ended":
            return conversation if old is None else old.session
        client = mark_process(os.getppid())
        mine = (one for one in known if one.host == _CLAUDE and one.process == client and one.state != "ended")
        return next((one.session for one in mine if one.seen_at >= old.since), old.session)

    def _claim_own(self) -> str:
        """Return a session for this client process and project: the first that no other running server has.

        A server that is restarted by its client finds the session that it had. Two at the same time never share one.
        """
        name = name_session(self._host, find_project().folder, os.getppid())
        for number in range(1, _MOST_SERVERS + 1):
            session = name if number == 1 else f"{name}-{number}"
            if self._lock(session):
                return session
        return f"{name}-{os.urandom(4).hex()}"

    def _lock(self, session: str) -> bool:
        """Take the lock of a session for the life of this process; False if another process has it.

        It is a record lock on one byte of a file that stays empty: it needs no cleaning up after a kill.
        """
        if not self._board.store.durable:
            return True  # no other process has this board in memory
        handle = _open_lock_file(f"{self._board.store.files}.clients")
        place = int.from_bytes(blake2b(session.encode(), digest_size=7).digest()) // 2
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except OSError:
            return False
        return True


_lock_files: dict[str, int] = {}


def _open_lock_file(path: str) -> int:
    # Opened once and never closed: closing any handle of a file drops all record locks of the process on it.
    if path not in _lock_files:
        _lock_files[path] = open_own_file(path, os.O_RDWR | os.O_CREAT)
    return _lock_files[path]


def name_session(host: str, project: str, parent: int) -> str:
    """Return a session id that is the same while the client process `parent` lives, and no other's."""
    name = "".join(char if char.isalnum() and char.isascii() else "-" for char in host).strip("-")[:24]
    key = "\0".join((host, project, mark_process(parent)))
    return f"{name or 'mcp'}-{blake2b(key.encode(errors='surrogateescape'), digest_size=5).hexdigest()}"


def _read_text(given: Mapping[str, Any], key: str) -> str | None:
    """Return a name that can stand in the board, None for anything else."""
    value = given.get(key)
    if isinstance(value, str) and 0 < len(value) <= 200 and value.isprintable() and value.strip():
        return value
    return None

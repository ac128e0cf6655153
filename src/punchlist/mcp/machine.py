"""What this machine tells the team's server of its agents, and what comes back from there: news for idle agents, rows.

A server may make an agent hear a text in our fence. It may not permit a call, change one or run a program.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPException
from typing import Any, Final, cast

from punchlist.agent.processes import look_up_process
from punchlist.board import Board
from punchlist.conversations.bindings import write_message
from punchlist.dialects.repair import read_fields
from punchlist.errors import PunchlistError
from punchlist.hooks.outbox import fence_text
from punchlist.people.back_channel import is_idle, queue_message
from punchlist.remote.connection import Connection
from punchlist.settings.table import TeamSettings, read_setting
from punchlist.settings.team import find_team
from punchlist.store import Transaction
from punchlist.store.hosts import Conversation
from punchlist.text import for_terminal
from punchlist.text.patterns import compile_later
from punchlist_hook import log_error, wake_monitor

_SILENT_SECONDS: Final = 40.0
"""Seconds without a byte after which a stream is opened anew: the server sends a comment every 15 s."""

_AGAIN_SECONDS: Final = 3.0
_TRIES: Final = 10
"""Seconds for which a turn of an agent is tried to be begun; after that it hears the news at its next one."""

_LONGEST_EVENT: Final = 64 * 1024
_NEWS: Final = "Punchlist: there is news for this session; see the context of this message."
_DEED: Final = r"(?:answered your question on item [\w.-]{1,20}|(?:approved|rejected) your plan|changed your todo list)"
_SAID: Final = rf"[^:;<>]{{1,40}} {_DEED}"
_NEWS_LINE: Final = compile_later(rf"Punchlist: {_SAID}(?:; {_SAID}){{0,2}}; see the context of this message\.")
"""The line by which a monitor begins a turn, as `describe_news` writes it. It stands in no fence, so that a server may
say nothing else there than who did what."""


def describe_machine(board: Board, team: TeamSettings) -> dict[str, Any]:
    """Return the heartbeat of this machine: its time, its agents that run in shared projects, and what it lets in."""
    now = board.now()
    running = board.store.read(
        lambda tx: [
            one for one in tx.hosts.conversations() if one.state != "ended" and look_up_process(tx, one, now) == "runs"
        ]
    )
    shared = [one for one in running if find_team(one.project) is not None]
    agents = [{"host": one.host, "conversation": one.id, "state": one.state, "pid": one.pid} for one in shared]
    return {"at": now.timestamp(), "share": team.share, "steer": team.steer, "agents": agents}


class MachineStream:
    """A thread that reads the server's stream for this machine, and does what it says."""

    def __init__(self, board: Board, team: TeamSettings, token: str) -> None:
        self._board = board
        self._team = team
        self._connection = Connection(team.server, token, seconds=_SILENT_SECONDS, most=_LONGEST_EVENT)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="punchlist-stream", daemon=True)

    def start(self) -> None:
        """Start to read, once; the server has answered."""
        if not self._thread.is_alive() and not self._closed.is_set():
            with suppress(RuntimeError):  # it was started before, and has ended
                self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._connection.close()

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                for kind, data in self._read_events():
                    if kind == "ended":
                        log_error(
                            self._board.store.files, "the team's server ended the token of this machine", once=True
                        )
                        return
                    if kind == "wake":
                        self._wake(data)
                    elif kind == "rows":
                        self._save_rows(data)
            except (PunchlistError, OSError, HTTPException, ValueError, RecursionError) as error:
                if not self._closed.is_set():
                    problem = f"the stream of the team's server: {type(error).__name__}: {error}"
                    log_error(self._board.store.files, problem, once=True)
            self._closed.wait(_AGAIN_SECONDS)

    def _read_events(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each event of the stream with its data, an object."""
        kind, data = "", ""
        for line in self._connection.stream("/machine/stream"):
            if not line:
                if data:
                    yield kind, read_fields(json.loads(data))
                kind, data = "", ""
            elif line.startswith("event:"):
                kind = line[6:].strip()
            elif line.startswith("data:") and len(data) < _LONGEST_EVENT:
                data += line[5:].strip()

    # Rows under the prompt.

    def _save_rows(self, data: dict[str, Any]) -> None:
        session, line = data.get("session"), data.get("line")
        fields = read_fields(json.loads(line) if isinstance(line, str) else line)
        if isinstance(session, str) and 0 < len(session) <= 200 and fields:
            text = json.dumps(clean_value(fields))

            def save(tx: Transaction) -> None:
                if tx.hosts.conversations(session, 1):  # of this machine
                    tx.outbox.save_line(session, text)

            self._board.store.transact(save, durable=False)

    # News for an idle agent.

    def _wake(self, data: dict[str, Any]) -> None:
        """Begin a turn of an idle agent with news, and tell the server how far they went."""
        host, conversation, text = (str(data.get(key) or "") for key in ("host", "conversation", "text"))
        steps: list[str] = []
        for _ in range(_TRIES):  # its turn may just end, and the monitor of an agent that has just begun just connect
            known = self._board.store.read(lambda tx: tx.hosts.find_conversation(host, conversation))
            if known is None or find_team(known.project) is None:
                return
            if read_setting("wake") == "never" or not fence_text(text):
                return
            steps = self._begin_turn(known, text) if is_idle(known) else []
            if steps or self._closed.wait(1.0):
                break
        for step in steps:
            receipt = {"host": host, "conversation": conversation, "step": step, "upto": data.get("upto")}
            via = "queue" if host == "codex" else "monitor"
            self._connection.request("POST", "/machine/receipts", body={**receipt, "via": via}, repeats=True)

    def _begin_turn(self, known: Conversation, text: str) -> list[str]:
        """Return the steps that the text has gone: Codex takes it as a message, Claude Code a line of our monitor."""
        if known.host == "codex":
            is_accepted = queue_message(known.id, write_message(fence_text(text)), known.project)
            return [] if is_accepted is None else ["sent", "accepted"] if is_accepted else ["sent"]
        line = for_terminal(text)
        line = line if _NEWS_LINE.fullmatch(line) else _NEWS
        is_sent = known.host == "claude-code" and known.pid is not None
        return ["sent"] if is_sent and wake_monitor(self._board.store.files, known.pid or 0, line) else []


def clean_value(value: Any, *, lines: bool = False) -> Any:
    """Return a value of JSON without what a reader cannot see or a terminal would obey."""
    if isinstance(value, str):
        return for_terminal(value, lines=lines)
    if isinstance(value, dict):
        return {for_terminal(key): clean_value(inner, lines=lines) for key, inner in read_fields(value).items()}
    if isinstance(value, list):
        return [clean_value(inner, lines=lines) for inner in cast("list[Any]", value)]
    return value

"""Follow the plans of Codex's threads over the socket of its daemon, as the model writes them.

A thread is followed while it is at work, and let go when its turn ends: the daemon keeps a thread loaded as long as
somebody follows it. Requests that the daemon sends to its clients, such as for an approval, are the person's to answer.
What is missed here is read from the rollout, and what both tell is one fact.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from msgspec import Struct

from punchlist.board import Board
from punchlist.bridges.programs import find_home
from punchlist.bridges.replay import open_replay
from punchlist.errors import StoreClosed
from punchlist.hosts.codex_socket import CodexDaemon
from punchlist.store import Transaction
from punchlist.transcripts.decoding import moment, name, object_at, objects, path
from punchlist.transcripts.steps import ListWrite

_HOST: Final = "codex"
_RETRY_SECONDS: Final = 2.0
_WAIT_SECONDS: Final = 0.5
"""The longest wait at a time, so that the end is noticed."""

_ANSWER_SECONDS: Final = 5.0
_LOCK_SECONDS: Final = 1.0
_MOST_THREADS: Final = 100
_STATUSES: Final = {"inProgress": "in_progress"}


class _Thread(Struct, frozen=True):
    """A thread that is followed: its id, the folder it works in, and its rollout."""

    id: str
    cwd: str
    rollout: str


class CodexPlans:
    """Puts plans on the board from a thread of its own, as a context. `report` gets what cannot be written."""

    def __init__(self, board: Board, report: Callable[[str], None]) -> None:
        self._board = board
        self._report = report
        self._ends = threading.Event()
        self._followed: dict[str, _Thread | None] = {}
        """Threads at work; None until the daemon has told of one, and for subagents."""
        self._thread = threading.Thread(target=self._run, name="punchlist-codex", daemon=True)

    def __enter__(self) -> CodexPlans:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._followed.clear()
            # No daemon, one that ended, or a system without unix sockets: it may come.
            with suppress(OSError, AttributeError), CodexDaemon(find_home(_HOST), seconds=_ANSWER_SECONDS) as daemon:
                self._follow(daemon)
            if self._ends.wait(_RETRY_SECONDS):
                return

    def _follow(self, daemon: CodexDaemon) -> None:
        for thread in objects(daemon.ask("thread/list", {"limit": _MOST_THREADS}).get("data")):
            self._note_status(daemon, thread.get("id"), object_at(thread, "status"))
        while not self._ends.is_set():
            if daemon.is_ready(_WAIT_SECONDS):
                self._take(daemon, daemon.receive(_ANSWER_SECONDS))

    def _take(self, daemon: CodexDaemon, message: dict[str, Any]) -> None:
        params = object_at(message, "params")
        match message.get("method"):
            case None:
                self._note_thread(object_at(message, "result", "thread"))
            case "thread/status/changed":
                self._note_status(daemon, params.get("threadId"), object_at(params, "status"))
            case "turn/plan/updated":
                thread = self._followed.get(str(params.get("threadId")))
                if thread is not None:
                    try:
                        self._write(thread, params, message.get("emittedAtMs"))
                    except StoreClosed:
                        self._ends.set()
                    except Exception as error:  # it is in the rollout too; the next plan may do better
                        self._report(f"a plan of Codex: {error}")
            case _:
                pass

    def _note_status(self, daemon: CodexDaemon, given: Any, status: dict[str, Any]) -> None:
        """Follow a thread that began a turn; let one go that ended it."""
        thread = name(given)
        if thread is None:
            return
        is_active = status.get("type") == "active"
        if is_active and thread not in self._followed:
            self._followed[thread] = None
            daemon.send("thread/resume", {"threadId": thread, "excludeTurns": True})
        elif not is_active and thread in self._followed:
            del self._followed[thread]
            daemon.send("thread/unsubscribe", {"threadId": thread})

    def _note_thread(self, found: dict[str, Any]) -> None:
        thread, cwd = name(found.get("id")), path(found.get("cwd"))
        if thread in self._followed and cwd is not None and found.get("parentThreadId") is None:
            self._followed[thread] = _Thread(thread, cwd, path(found.get("path")) or "Codex's daemon")

    def _write(self, thread: _Thread, params: dict[str, Any], sent_at: Any) -> None:
        at = moment(sent_at) or self._board.now()
        steps = [
            {"step": one.get("step"), "status": _STATUSES.get(str(one.get("status")), one.get("status"))}
            for one in objects(params.get("plan"))
        ]
        args = {"explanation": params.get("explanation"), "plan": steps}
        step = ListWrite(
            at=at,
            call_id=f"told {thread.id} {at.isoformat()}",
            name="update_plan",
            args=args,
            dialect=_HOST,
            is_told=True,
        )

        def work(tx: Transaction) -> None:
            tx.watched = True
            if tx.hosts.find_conversation(_HOST, thread.id) is not None:
                return  # it is attached: its hooks tell of the call
            found = open_replay(
                tx, self._board, host=_HOST, session=thread.id, folder=thread.cwd, source=thread.rollout
            )
            found.take(step)

        self._board.store.joined(work, durable=False, wait=_LOCK_SECONDS)

"""Bring what people answered, decided and changed to a conversation that is idle, and keep the receipt.

Claude Code has a monitor in our plugin: each line that it prints begins a turn. It gets its lines from the running
`punchlist mcp`; a line only says that there is news, and the hook of the turn that it begins tells it. Codex gets the
text itself, as a message by `codex queue`. Where neither reaches it, the model is told at its next turn.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
import time
from contextlib import suppress
from tempfile import TemporaryFile
from typing import Final

from punchlist.agent import Agent
from punchlist.board import Board
from punchlist.core.approval import PlanState
from punchlist.core.events import Event
from punchlist.errors import PunchlistError, StoreTooNew
from punchlist.hosts.own_lists import MAIN
from punchlist.hosts.presence import is_claude_idle
from punchlist.hosts.processes import is_running
from punchlist.hosts.receipts import add_step, load_receipt, write_message
from punchlist.settings.table import read_setting
from punchlist.store import AgentRow, Transaction
from punchlist.store.hosts import Conversation
from punchlist.text import clean, cut
from punchlist.views.waits import ReceiptView
from punchlist_hook import log_error

_QUEUE_SECONDS: Final = 5.0
_AGAIN_SECONDS: Final = 3.0
"""A host that was sent a line begins its turn within a second; facts that come meanwhile are told in that turn."""

_NOT_RESUMED: Final = b"could not resume thread"
"""Words with which `codex queue` warns that a message only waits, though it exits with 0."""

_LONGEST_COMPLAINT: Final = 65_536
_LONGEST_NAME: Final = 40
_SAID: Final = frozenset({"question.answered", "approval.rejected", "approval.approved"})


# Sending.


def deliver(
    board: Board, session: str, agent: str, after: int, *, is_approval: bool = False, wait: float = 0
) -> ReceiptView:
    """Send what a person did since the event `after` to the host, if it is idle; return how far it went.

    Waits so many seconds for the model, where the host can be reached at all. Claude Code marks a monitor's line as not
    from the user: so an approval waits for the person's next prompt.
    """
    said = board.store.read(lambda tx: tx.log.page(session, None, after))
    seq = max((event.seq for event in said if _is_said(event)), default=after)
    conversation = find_idle(board, session, agent)
    if conversation is None or (is_approval and conversation.host == "claude-code"):
        return load_receipt(board, session, seq)
    if conversation.host == "codex" and not queue_news(board, conversation):
        return load_receipt(board, session, seq)
    ends = time.monotonic() + wait
    while True:
        last = board.store.last_seq()
        receipt, left = load_receipt(board, session, seq), ends - time.monotonic()
        if receipt.seen is not None or left <= 0:
            return receipt
        board.store.wait(last, left)


def find_idle(board: Board, session: str, agent: str = MAIN) -> Conversation | None:
    """Return the latest conversation of a session if its host runs, waits for a prompt, and can be sent one."""
    if agent != MAIN:
        return None
    found = board.store.read(lambda tx: tx.hosts.conversations(session))
    running = [one for one in found if one.state != "ended" and one.pid is not None and is_running(one.pid)]
    if not running or running[0].host not in ("claude-code", "codex") or not _is_idle(running[0]):
        return None
    return running[0]


def _is_idle(one: Conversation) -> bool:
    """True if a conversation waits for a prompt: by its hooks, or by what Claude Code wrote after the last of them."""
    if one.state == "busy" and one.host == "claude-code" and one.pid is not None:
        return is_claude_idle(one.pid, one.id, one.seen_at)
    return one.state == "idle"


# The news.


def describe_news(tx: Transaction, row: AgentRow, *, hold_approvals: bool) -> str | None:
    """Return one line that says what is new for a model; None without any news that it may be told now."""
    answered = tx.questions.find_answered(row.number)
    decided = tx.plans.find_decided(row.number)
    approved = [plan for plan in decided if plan.state is PlanState.APPROVED]
    said = [f"{_name(one.answered_by)} answered your question on item {one.item}" for one in answered]
    said += [f"{_name(plan.decided_by)} rejected your plan" for plan in decided if plan not in approved]
    if approved and not hold_approvals:
        said.append(f"{_name(approved[-1].decided_by)} approved your plan")
    if not said and not approved:
        said += [f"{_name(author)} changed your todo list" for author in _find_editors(tx, row)]
    return f"Punchlist: {'; '.join(said[:3])}; see the context of this message." if said else None


def _find_editors(tx: Transaction, row: AgentRow) -> list[str]:
    """Return who changed an agent's list since the model was last told of changes."""
    told = tx.memory.load(row.number).guidance.revision
    if row.state.shown is None or row.state.todos.revision == told:
        return []
    return list(dict.fromkeys(tx.log.authors_of_items(row.number, told, but=row.name).values()))


def _name(author: str | None) -> str:
    name = clean(author or "", lines=False).text.translate({ord("<"): None, ord(">"): None})
    return cut(name, _LONGEST_NAME) or "someone"


def find_agent(board: Board, conversation: Conversation) -> Agent:
    """Return the agent of a conversation, with the settings under which its hooks speak."""
    project, profile = conversation.project, read_setting("profile")
    return board.agent(MAIN, session=conversation.session, profile=profile, project=project)


# Codex.


def queue_news(board: Board, conversation: Conversation) -> bool:
    """Send the news for a conversation of Codex as a message; False if there is none, or no turn begins with it.

    Without its daemon Codex queues a message and begins no turn: it is sent then, not accepted. While one waits in
    Codex' queue no other is sent: the turn that it begins tells everything.
    """
    program = shutil.which("codex")
    row = board.store.agent(conversation.session, MAIN)
    if program is None or row is None or conversation.sent_upto:
        return False
    if board.store.read(lambda tx: describe_news(tx, row, hold_approvals=False)) is None:
        return False
    upto = board.store.last_seq()
    text = "\n\n".join(one.text for one in find_agent(board, conversation).preview_turn())
    if not text:
        return False
    told = conversation.told_upto
    board.store.transact(lambda tx: tx.hosts.save_delivery(conversation, sent_upto=upto, told_upto=told))
    command = [program, "queue", "--thread", conversation.id, "--message", write_message(text), "--resume"]
    complaint = _run_quietly(command, conversation.project)
    if complaint is None:
        board.store.transact(lambda tx: tx.hosts.save_delivery(conversation, sent_upto=0, told_upto=told))
        return False
    is_accepted = _NOT_RESUMED not in complaint

    def note(tx: Transaction) -> None:  # the hook of the turn may have been here before
        now = board.now()
        add_step(tx, conversation, "news.sent", upto, now, via="queue")
        if is_accepted:
            add_step(tx, conversation, "news.accepted", upto, now)

    board.store.transact(note)
    return is_accepted


def _run_quietly(command: list[str], folder: str) -> bytes | None:
    """Run a command; return the beginning of what it complained of, None if it did not go well in time."""
    place = folder if os.path.isdir(folder) else None
    quiet = subprocess.DEVNULL
    try:
        with TemporaryFile() as said:  # a pipe would have to be read while it runs
            done = subprocess.run(
                command, stdin=quiet, stdout=quiet, stderr=said, timeout=_QUEUE_SECONDS, check=False, cwd=place
            )
            said.seek(0)
            return said.read(_LONGEST_COMPLAINT) if done.returncode == 0 else None
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


# Claude Code: lines for the monitor of the plugin.


class BackChannel:
    """Sends a line to the monitor of one host process whenever there is news for its conversation, and that is idle."""

    def __init__(self, board: Board, host_pid: int) -> None:
        self._board = board
        self._host_pid = host_pid
        self._monitor: socket.socket | None = None
        self.has_monitor = threading.Event()
        self._thread: threading.Thread | None = None
        self._sent_at = -_AGAIN_SECONDS

    def take_monitor(self, monitor: socket.socket) -> None:
        """Send lines to this monitor from now on, and to no other. The first one starts the watch."""
        before, self._monitor = self._monitor, monitor
        if before is not None:
            before.close()
        if self._thread is None:
            after = self._board.store.last_seq()
            self._thread = threading.Thread(target=self._watch, args=(after,), name="punchlist-news", daemon=True)
            self._thread.start()
        self.has_monitor.set()

    def close(self) -> None:
        """Leave the monitor, which then looks for the next process. The watch ends when the board is closed."""
        monitor, self._monitor = self._monitor, None
        self.has_monitor.clear()
        if monitor is not None:
            monitor.close()

    def _watch(self, after: int) -> None:
        with suppress(StoreTooNew):  # the next hook or call says so
            for event in self._board.follow(after):
                if self._monitor is not None and _may_be_news(event):
                    try:
                        self._tell(str(event.session))
                    except (PunchlistError, OSError) as error:  # it is told at the next turn
                        with suppress(OSError):
                            log_error(self._board.store.path, f"a line for the monitor was not sent: {error}")

    def _tell(self, session: str) -> None:
        """Send a line, and record that; in one transaction, so that the hook of the turn comes after it."""

        def work(tx: Transaction) -> None:
            known = [one for one in tx.hosts.conversations(session) if one.pid == self._host_pid]
            row = tx.agent(session, MAIN)
            if row is None or not known or known[0].host != "claude-code" or not _is_idle(known[0]):
                return
            conversation, now = known[0], time.monotonic()
            if conversation.sent_upto and now - self._sent_at < _AGAIN_SECONDS:
                return
            line = describe_news(tx, row, hold_approvals=True)
            if line is None:
                return
            upto = tx.last_seq()
            add_step(tx, conversation, "news.sent", upto, self._board.now(), via="monitor")
            tx.hosts.save_delivery(conversation, sent_upto=upto, told_upto=conversation.told_upto)
            self._send(line)
            self._sent_at = now

        self._board.store.transact(work, durable=False)

    def _send(self, line: str) -> None:
        monitor = self._monitor
        try:
            if monitor is None:
                raise OSError("no monitor listens")
            monitor.sendall(line.encode() + b"\n")
        except OSError:
            self.close()
            raise


def _may_be_news(event: Event) -> bool:
    """True for an event by which another than the agent may have changed what its model should know."""
    return event.session is not None and event.agent == MAIN and event.by != MAIN and _is_said(event)


def _is_said(event: Event) -> bool:
    return event.kind in _SAID or event.kind.startswith("list.")

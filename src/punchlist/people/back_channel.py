"""Resolve what waits on a person, bring it to the agent if its conversation is idle, and keep the receipt.

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
from collections.abc import Iterable, Sequence
from contextlib import suppress
from tempfile import TemporaryFile
from typing import Final, Literal, TypeVar

from punchlist.board import Board
from punchlist.conversations.bindings import add_step, load_receipt, write_message
from punchlist.core.approval import PlanState
from punchlist.core.commands import Note, Operation, Target, Unblock
from punchlist.core.events import Event
from punchlist.core.overview import PersonWait
from punchlist.core.programs import PROGRAMS
from punchlist.errors import EditRefused, PunchlistError, StoreTooNew
from punchlist.presence.processes import is_running
from punchlist.presence.running_agents import is_claude_idle
from punchlist.settings.table import read_setting
from punchlist.store import AgentRow, ListRow, Transaction
from punchlist.store.hosts import Conversation
from punchlist.store.plans import PlanRow
from punchlist.text import clean, cut
from punchlist.views.list_owners import MAIN, load_session_name
from punchlist.views.now import ReceiptView
from punchlist_hook import log_error

_QUEUE_SECONDS: Final = 5.0
_AGAIN_SECONDS: Final = 3.0
"""A host that was sent a line begins its turn within a second; facts that come meanwhile are told in that turn."""

_NOT_RESUMED: Final = b"could not resume thread"
"""Words with which `codex queue` warns that a message only waits, though it exits with 0."""

_LONGEST_COMPLAINT: Final = 65_536
_LONGEST_NAME: Final = 40
_SAID: Final = frozenset({"question.answered", "approval.rejected", "approval.approved"})


Owned = TypeVar("Owned", ListRow, PersonWait, PlanRow)

Outcome = Literal["resumed", "unblocked", "answered", "approved", "rejected"]


# Answers.


def resolve_wait(
    board: Board, wait: PersonWait, text: str, *, by: str, person: bool, make_list: bool = False
) -> Outcome:
    """Resolve a wait in the name of an author and return what was done, in a word.

    For a plan the text is `approve` or `reject REASON`; `make_list` makes the list of the steps of an approved plan.
    For everything but a question and a plan it is a note, and may be empty. `person` as for `Agent.edit`.
    """
    state = {"answer": text} if text else None
    match wait.kind:
        case "task":
            board.tasks(wait.list, by=by).resume(wait.id, state=state)
            return "resumed"
        case "flow":
            board.flows(by=by).resume(wait.id, state)
            return "resumed"
        case _:
            agent = board.agent(wait.agent, session=wait.session, project=wait.project)
    if wait.kind == "item":
        target = Target(item=wait.id, by="id")
        operations: list[Operation] = [Unblock(target), *([Note(target, text)] if text else [])]
        agent.edit(operations, by=by, person=person)
        return "unblocked"
    if wait.kind == "question":
        if not text:
            raise EditRefused(problem="An answer needs a text.")
        agent.answer(wait.id, text, by=by, person=person)
        return "answered"
    decision, _, reason = text.partition(" ")
    if decision == "approve" and not reason:
        agent.approve_plan(int(wait.id), by=by, todos=make_list, person=person)
        return "approved"
    if decision == "reject" and reason.strip():
        agent.reject_plan(reason, by=by, revision=int(wait.id), person=person)
        return "rejected"
    raise EditRefused(problem="A plan is approved, or rejected with a reason.")


def find_wait(
    waits: Iterable[PersonWait],
    *,
    kind: str,
    session: str,
    agent: str,
    id: str,
    list: str = "",
    read: str | None = None,
) -> PersonWait:
    """Return the wait with these values; raise `EditRefused` if it waits no more.

    `read` is the text that the person read, for one who answers nothing else: an agent may ask anew on the same item.
    """
    wanted = (kind, session, agent, id, list)
    for wait in waits:
        if (wait.kind, wait.session, wait.agent, wait.id, wait.list) == wanted and read in (None, wait.text):
            return wait
    problem = "That waits no more: it was answered meanwhile, or its agent went on or asks something else."
    raise EditRefused(problem=problem)


def deliver_outcome(
    board: Board, wait: PersonWait, after: int, outcome: Outcome, *, wait_seconds: float = 0
) -> ReceiptView | None:
    """Tell the agent of a wait what was done since an event, if it is idle; return the receipt, None for tasks."""
    if wait.kind in ("task", "flow"):
        return None
    return deliver(board, wait.session, wait.agent, after, is_approval=outcome == "approved", wait=wait_seconds)


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
    running = board.store.read(lambda tx: find_running(tx, session))
    if running is None or running.host not in ("claude-code", "codex") or not _is_idle(running):
        return None
    return running


def find_running(tx: Transaction, session: str) -> Conversation | None:
    """Return the latest conversation of a session whose host runs."""
    found = tx.hosts.conversations(session)
    return next((one for one in found if one.state != "ended" and one.pid is not None and is_running(one.pid)), None)


def prefer_running(board: Board, rows: Sequence[Owned]) -> list[Owned]:
    """Return the rows of the only session that runs; all of them if none does, or several do."""
    sessions = {row.session for row in rows}
    if len(sessions) > 1:
        running = board.store.read(lambda tx: {one for one in sessions if find_running(tx, one) is not None})
        sessions = running if len(running) == 1 else sessions
    return [row for row in rows if row.session in sessions]


def describe_hearing(board: Board, session: str, agent: str, *, is_approval: bool = False) -> str:
    """Return when an agent hears what a person did, and how to open its conversation if that is closed."""
    name = load_session_name(board.store, session, agent)
    latest = board.store.read(lambda tx: tx.hosts.conversations(session, 1)) if agent == MAIN else []
    program = PROGRAMS.get(latest[0].host) if latest else None
    if program is not None and _is_closed(latest[0]):
        again = f": `{program.resume} {latest[0].id}` goes on with it" if program.resume else ""
        return f"{name} hears it once it goes on; its {program.title} is closed{again}."
    idle = find_idle(board, session, agent)
    is_now = idle is not None and not (is_approval and idle.host == "claude-code")
    return f"{name} hears it {'now' if is_now else 'at its next turn'}."


def _is_closed(one: Conversation) -> bool:
    return one.state == "ended" or (one.pid is not None and not is_running(one.pid))


def _is_idle(one: Conversation) -> bool:
    """True if a conversation waits for a prompt: by its hooks, or by what Claude Code wrote after the last of them."""
    if one.state == "busy" and one.host == "claude-code" and one.pid is not None:
        return is_claude_idle(one.pid, one.id, one.seen_at)
    return one.state == "idle"


# The news.


def describe_news(tx: Transaction, row: AgentRow, *, hold_approvals: bool) -> str | None:
    """Return one line that says what is new for a model; None without any news that may begin a turn now."""
    wake = read_setting("wake")
    if wake == "never":
        return None
    answered = tx.questions.find_answered(row.number)
    decided = tx.plans.find_decided(row.number)
    approved = [plan for plan in decided if plan.state is PlanState.APPROVED]
    said = [f"{_name(one.answered_by)} answered your question on item {one.item}" for one in answered]
    said += [f"{_name(plan.decided_by)} rejected your plan" for plan in decided if plan not in approved]
    if approved and not hold_approvals:
        said.append(f"{_name(approved[-1].decided_by)} approved your plan")
    if not said and not approved:
        kind = "" if wake == "edits" else "item.unblocked"  # the answer to an item that waited on a person
        said += [f"{_name(author)} changed your todo list" for author in _find_editors(tx, row, kind)]
    return f"Punchlist: {'; '.join(said[:3])}; see the context of this message." if said else None


def _find_editors(tx: Transaction, row: AgentRow, kind: str) -> list[str]:
    """Return who changed an agent's list since the model was last told of changes."""
    told = tx.memory.load(row.number).guidance.revision
    if row.state.shown is None or row.state.todos.revision == told:
        return []
    return list(dict.fromkeys(tx.log.authors_of_items(row.number, told, but=row.name, kind=kind).values()))


def _name(author: str | None) -> str:
    name = clean(author or "", lines=False).text.translate({ord("<"): None, ord(">"): None})
    return cut(name, _LONGEST_NAME) or "someone"


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
    profile = read_setting("profile")  # as its hooks have it
    agent = board.agent(MAIN, session=conversation.session, profile=profile, project=conversation.project)
    text = "\n\n".join(one.text for one in agent.preview_turn())
    if not text:
        return False
    told = conversation.told_upto
    board.store.transact(lambda tx: tx.hosts.save_delivery(conversation, sent_upto=upto, told_upto=told))
    command = [program, "queue", "--thread", conversation.id, "--message", write_message(text), "--resume"]
    complaint = _run_quietly(command, agent.folder)
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
        self._after = board.store.last_seq()
        self._sent_at = -_AGAIN_SECONDS

    def take_monitor(self, monitor: socket.socket) -> None:
        """Send lines to this monitor from now on, and to no other; news that came before it connected is told then."""
        before, self._monitor = self._monitor, monitor
        if before is not None:
            before.close()
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="punchlist-news", daemon=True)
            self._thread.start()
        self.has_monitor.set()

    def close(self) -> None:
        """Leave the monitor, which then looks for the next process. The watch ends when the board is closed."""
        monitor, self._monitor = self._monitor, None
        self.has_monitor.clear()
        if monitor is not None:
            monitor.close()

    def _watch(self) -> None:
        with suppress(StoreTooNew):  # the next hook or call says so
            for event in self._board.follow(self._after):
                if _may_be_news(event):
                    self.has_monitor.wait()
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

"""Resolve what waits on a person, bring it to the agent if its conversation is idle, and keep the receipt.

Claude Code has a monitor in our plugin: each line that it prints begins a turn. It gets its lines from the running
`punchlist mcp`; a line only says that there is news, and the hook of the turn that it begins tells it. Codex gets the
text itself, as a message by `codex queue`. Where neither reaches it, the model is told at its next turn.
"""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from tempfile import TemporaryFile
from typing import Final, Literal, TypeVar

from msgspec import Struct

from punchlist.agent.leftovers import OLDEST
from punchlist.agent.processes import look_up_process
from punchlist.board import Board
from punchlist.conversations.bindings import add_step, check_steering, load_receipt, write_message
from punchlist.core.approval import PlanState
from punchlist.core.commands import Note, Operation, Target, Unblock
from punchlist.core.events import Event
from punchlist.core.overview import PersonWait
from punchlist.core.programs import PROGRAMS
from punchlist.errors import EditRefused, PunchlistError, StoreTooNew
from punchlist.presence.running_agents import is_claude_idle
from punchlist.settings.environment import find_local_root
from punchlist.settings.table import read_setting
from punchlist.store import AgentRow, ListRow, Transaction
from punchlist.store.hosts import Conversation
from punchlist.store.plans import PlanRow
from punchlist.text import clean, cut
from punchlist.views.list_owners import MAIN, load_session_name
from punchlist.views.now import ReceiptView
from punchlist_hook import log_error, mark_process

_QUEUE_SECONDS: Final = 5.0
_AGAIN_SECONDS: Final = 3.0
"""A host that was sent a line begins its turn within a second; facts that come meanwhile are told in that turn."""

_NOT_RESUMED: Final = b"could not resume thread"
"""Words with which `codex queue` warns that a message only waits, though it exits with 0."""

_LONGEST_COMPLAINT: Final = 65_536
_LONGEST_NAME: Final = 40
_MOST_SESSIONS: Final = 100
LONGEST_WAKE: Final = 2_000
"""Characters of a text that a server can make an agent on another machine hear."""

_SAID: Final = frozenset({"question.answered", "approval.rejected", "approval.approved"})


Owned = TypeVar("Owned", ListRow, PersonWait, PlanRow)

Outcome = Literal["resumed", "unblocked", "answered", "approved", "rejected"]
Step = Literal["sent", "seen"]


# Answers.


def resolve_wait(
    board: Board, wait: PersonWait, text: str, *, by: str, person: bool, make_list: bool = False
) -> Outcome:
    """Resolve a wait in the name of an author and return what was done, in a word.

    For a plan the text is `approve` or `reject REASON`; `make_list` makes the list of the steps of an approved plan.
    For everything but a question and a plan it is a note, and may be empty. `person` as for `Agent.edit`.
    """
    if board.is_remote:
        place = {"kind": wait.kind, "id": wait.id, "session": wait.session, "agent": wait.agent, "list": wait.list}
        read = wait.text if wait.kind == "question" else None
        body = {**place, "text": text, "question": read, "todos": make_list}
        return board.send("/waits/resolve", body)["outcome"]
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
    if wait.kind != "question":  # what an agent asks, anyone answers
        board.store.read(lambda tx: check_steering(tx, wait.session, by))
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
    problem = "That waits no more: it was answered meanwhile, or its agent went on or asks something else."
    for wait in waits:
        if (wait.kind, wait.session, wait.agent, wait.id, wait.list) == wanted and read in (None, wait.text):
            return wait
        if kind == "plan" and (wait.kind, wait.session, wait.agent) == wanted[:3]:
            problem = f"Revision {wait.id} came meanwhile, so nothing was decided on revision {id}."
    raise EditRefused(problem=problem)


def deliver_outcome(
    board: Board, wait: PersonWait, after: int, outcome: Outcome, *, wait_seconds: float = 0, until: Step = "seen"
) -> ReceiptView | None:
    """Tell the agent of a wait what was done since an event, if it is idle; return the receipt, None for tasks."""
    if wait.kind in ("task", "flow"):
        return None
    is_approval = outcome == "approved"
    return deliver(board, wait.session, wait.agent, after, is_approval=is_approval, wait=wait_seconds, until=until)


# Sending.


def deliver(
    board: Board,
    session: str,
    agent: str,
    after: int,
    *,
    is_approval: bool = False,
    wait: float = 0,
    until: Step = "seen",
) -> ReceiptView:
    """Send what a person did since the event `after` to the host, if it is idle; return how far it went.

    Waits so many seconds for a step of the receipt, where the host can be reached at all. Claude Code marks a monitor's
    line as not from the user: so an approval waits for the person's next prompt.
    """
    if board.is_remote:  # the server tells the agent, and keeps the receipt
        return ReceiptView(state="")
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
        if getattr(receipt, until) is not None or left <= 0:
            return receipt
        board.store.wait(last, left)


def find_idle(board: Board, session: str, agent: str = MAIN) -> Conversation | None:
    """Return the latest conversation of a session if its host runs, waits for a prompt, and can be sent one."""
    if agent != MAIN or read_setting("wake") == "never":
        return None
    running = board.store.read(lambda tx: find_running(tx, session, board.now()))
    if running is None or running.host not in ("claude-code", "codex") or not is_idle(running):
        return None
    return None if running.machine else running  # its relay brings it what is new


def find_running(tx: Transaction, session: str, now: datetime) -> Conversation | None:
    """Return the latest conversation of a session whose host runs."""
    found = [one for one in tx.hosts.conversations(session) if one.state != "ended"]
    return next((one for one in found if look_up_process(tx, one, now) == "runs"), None)


def prefer_running(board: Board, rows: Sequence[Owned]) -> list[Owned]:
    """Return the rows of the only session that runs; all of them if none does, or several do."""
    sessions = {row.session for row in rows}
    if len(sessions) > 1 and not board.is_remote:
        running = board.store.read(lambda tx: {one for one in sessions if find_running(tx, one, board.now())})
        sessions = running if len(running) == 1 else sessions
    return [row for row in rows if row.session in sessions]


def find_only_running(board: Board, folder: str) -> str:
    """Return the only session that runs in a worktree; empty if none does, or several do."""

    def read(tx: Transaction) -> list[str]:
        now = board.now()
        known = tx.list_sessions_in(folder, now - OLDEST, but="", limit=_MOST_SESSIONS)
        return [one for one in known if find_running(tx, one, now)]

    running = board.store.read(read)
    return running[0] if len(running) == 1 else ""


def describe_hearing(board: Board, session: str, agent: str, receipt: ReceiptView | None) -> str:
    """Return when an agent hears what a person did, and how to open its conversation if that is closed."""
    if board.is_remote:
        return "Its agent hears it at once if it is idle, else at its next turn."
    name = load_session_name(board.store, session, agent)
    latest = board.store.read(lambda tx: tx.hosts.conversations(session, 1)) if agent == MAIN else []
    program = PROGRAMS.get(latest[0].host) if latest else None
    is_closed = bool(latest) and latest[0].state == "ended"
    if latest and not is_closed:
        is_closed = board.store.read(lambda tx: look_up_process(tx, latest[0], board.now())) == "ended"
    if program is not None and is_closed:
        folder = board.store.read(lambda tx: tx.session_folder(session)) or latest[0].project
        command = f"cd {shlex.quote(find_local_root(folder))} && {program.resume} {latest[0].id}"
        again = f": `{command}` goes on with it" if program.resume else ""
        return f"{name} hears it once it goes on; its {program.title} is closed{again}."
    # A message that was sent to Codex may only wait in its queue.
    step = "sent" if latest and latest[0].host == "claude-code" else "accepted"
    is_now = getattr(receipt, step, None) is not None
    return f"{name} hears it {'now' if is_now else 'at its next turn'}."


def is_idle(one: Conversation) -> bool:
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
    row = board.store.agent(conversation.session, MAIN)
    if row is None or conversation.sent_upto:
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
    is_accepted = queue_message(conversation.id, write_message(text), agent.folder)
    if is_accepted is None:
        board.store.transact(lambda tx: tx.hosts.save_delivery(conversation, sent_upto=0, told_upto=told))
        return False

    def note(tx: Transaction) -> None:  # the hook of the turn may have been here before
        now = board.now()
        add_step(tx, conversation, "news.sent", upto, now, via="queue")
        if is_accepted:
            add_step(tx, conversation, "news.accepted", upto, now)

    board.store.transact(note)
    return is_accepted


def queue_message(thread: str, text: str, folder: str) -> bool | None:
    """Send a message to a conversation of Codex; True if it begins a turn, None if it could not be sent."""
    program = shutil.which("codex")
    if program is None:
        return None
    complaint = _run_quietly([program, "queue", "--thread", thread, "--message", text, "--resume"], folder)
    return None if complaint is None else _NOT_RESUMED not in complaint


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
        self._host = mark_process(host_pid)
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

    def send_line(self, line: str) -> bool:
        """Send a line to the monitor; False without one."""
        try:
            self._send(line)
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Leave the monitor, which then looks for the next process. The watch ends when the board is closed."""
        monitor, self._monitor = self._monitor, None
        self.has_monitor.clear()
        if monitor is not None:
            monitor.close()

    def _watch(self) -> None:
        with suppress(StoreTooNew):  # the next hook or call says so
            for event in self._board.follow(self._after):
                # Another than the agent may have changed what its model should know.
                if event.session is not None and event.agent == MAIN and event.by != MAIN and _is_said(event):
                    self.has_monitor.wait()
                    try:
                        self._tell(str(event.session))
                    except (PunchlistError, OSError) as error:  # it is told at the next turn
                        with suppress(OSError):
                            log_error(self._board.store.files, f"a line for the monitor was not sent: {error}")

    def _tell(self, session: str) -> None:
        """Send a line, and record that; in one transaction, so that the hook of the turn comes after it."""

        def work(tx: Transaction) -> None:
            known = [one for one in tx.hosts.conversations(session) if one.process == self._host]
            row = tx.agent(session, MAIN)
            if row is None or not known or known[0].host != "claude-code" or not is_idle(known[0]):
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


# Agents on other machines of the team: their relays bring it to them.


class Wake(Struct, frozen=True):
    """A text for an idle agent on another machine: one line for Claude Code, the text of the turn for Codex.

    `upto` is the last event that it covers, `by` are the people whose words it tells of.
    """

    host: str
    conversation: str
    session: str
    text: str
    by: tuple[str, ...]
    upto: int


def find_wakes(board: Board, machine: str, owner: str, *, after: int | None = None) -> list[Wake]:
    """Return what is new for the idle agents of a machine, in sessions that changed after an event; None for all.

    Only the owner of the machine wakes its agents, unless it said that the team may.
    """

    def read(tx: Transaction) -> list[tuple[Conversation, AgentRow, str, tuple[str, ...]]]:
        known = tx.machines.find(machine)
        found: list[tuple[Conversation, AgentRow, str, tuple[str, ...]]] = []
        for one in tx.hosts.conversations_on(machine, after):
            row = tx.agent(one.session, MAIN)
            if row is None or one.state != "idle" or one.host not in ("claude-code", "codex"):
                continue
            if one.sent_upto and not any(map(_is_said, tx.log.page(one.session, None, one.sent_upto))):
                continue  # its machine has the news: the receipt of that is none
            line = describe_news(tx, row, hold_approvals=one.host == "claude-code")
            authors = _list_authors(tx, row)
            may_wake = owner in authors or (known is not None and known.steer == "team")
            if line is not None and may_wake:
                found.append((one, row, line, authors))
        return found

    wakes: list[Wake] = []
    for one, row, line, authors in board.store.read(read):
        text = line
        if one.host == "codex":
            profile = read_setting("profile")
            agent = board.agent(MAIN, session=one.session, profile=profile, project=row.project)
            text = "\n\n".join(injection.text for injection in agent.preview_turn())
        if text:
            upto = board.store.last_seq()
            wakes.append(Wake(one.host, one.id, one.session, cut(text, LONGEST_WAKE), authors, upto))
    return wakes


def _list_authors(tx: Transaction, row: AgentRow) -> tuple[str, ...]:
    said = [one.answered_by for one in tx.questions.find_answered(row.number)]
    said += [plan.decided_by for plan in tx.plans.find_decided(row.number)]
    return tuple(dict.fromkeys(name for name in (*said, *_find_editors(tx, row, "")) if name))


def _is_said(event: Event) -> bool:
    return event.kind in _SAID or event.kind.startswith("list.")

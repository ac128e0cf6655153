"""Tie the conversations of hosts to sessions of the board, and keep receipts of what a person said to their agents.

A conversation belongs to the session of its own id, or to the one that a handoff bound it to. Each step of a receipt is
an event of the agent: `news.sent`, `news.accepted` (the host began a turn with it) and `news.seen` (the model answered
after it was told). `upto` in them is the last event that they are about.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final

from punchlist.agent import Agent
from punchlist.agent.calls import fingerprint_of
from punchlist.agent.leftovers import find_machine_at_work
from punchlist.board import Board
from punchlist.core.events import Draft
from punchlist.errors import EditRefused, MachineRefused
from punchlist.settings.environment import Project, find_project
from punchlist.store import Transaction
from punchlist.store.hosts import Conversation, HostCall, NotedCall
from punchlist.text.hashing import blake2b
from punchlist.text.patterns import compile_later
from punchlist.views.list_owners import MAIN
from punchlist.views.now import ReceiptView

HANDOFF_MARK = "punchlist-handoff-"
"""The beginning of a handoff's token, in the prompt of the new conversation."""

_TOKEN: Final = compile_later(rf"\b{HANDOFF_MARK}([0-9a-f]{{16}})\b")
_ANOTHER: Final = "another agent"
_LONGEST_CALL: Final = 150

NEWS: Final = frozenset({"answer", "changed"})
"""Kinds of texts for a model that tell what people answered, decided or changed."""

_STEPS: Final = {"news.sent": "sent", "news.accepted": "accepted", "news.seen": "seen"}


def find_session(board: Board, host: str, conversation: str) -> str:
    """Return the session of a conversation: its own id, unless it was bound to another."""
    found = board.store.read(lambda tx: tx.hosts.find_conversation(host, conversation))
    return conversation if found is None else found.session


def find_call(board: Board, call_id: str) -> HostCall | None:
    """Return the latest call of this id that a hook told of; None if none did."""
    return board.store.read(lambda tx: tx.hosts.find_call(call_id))


def name_call(board: Board, session: str, agent: str, call_id: str, begun: datetime) -> str:
    """Return the id under which a call that began at this time is kept: another one if its own was used before.

    The ids of some models begin again in each run. A call that is sent twice began once, and keeps its id.
    """
    is_used = board.store.read(lambda tx: tx.hosts.has_earlier_call(session, agent, call_id, begun))
    return rename_call(call_id, begun) if is_used else call_id


def rename_call(call_id: str, at: datetime) -> str:
    """Return another id for a call of this time, because its own names another call."""
    return f"{call_id[:_LONGEST_CALL]}@{at.timestamp():.6f}"


def name_agent_call(session: str, agent: str, call_id: str) -> str:
    """Return the id under which a call of one agent is noted: ids of calls are unique within its history only."""
    return f"{session} {agent} {call_id}"


def mark_arguments(arguments: Any) -> str:
    """Return a mark by which a call is told from another one of its id."""
    return fingerprint_of("", arguments).hex()


def find_session_call(board: Board, machine: str, session: str, call_id: str, arguments: Any) -> NotedCall | None:
    """Return the call of a session that a hook told of, of several one that was not answered and has these arguments.

    Subagents that work at the same time may use one id.
    """
    prefix, suffix = name_host_call(machine, f"{session} "), f" {call_id}"

    def is_open(tx: Transaction, one: NotedCall) -> bool:
        return not tx.hosts.is_answered(session, one.agent, call_id, rename_call(call_id, one.at), one.at)

    def read(tx: Transaction) -> NotedCall | None:
        noted = tx.hosts.list_session_calls(session, prefix, suffix)
        if len(noted) > 1:
            noted = [one for one in noted if is_open(tx, one)] or noted
            mark = mark_arguments(arguments)
            noted = [one for one in noted if one.arguments == mark] or noted
        return noted[-1] if noted else None

    return board.store.read(read)


def list_conversations(board: Board, session: str | None = None) -> list[Conversation]:
    """Return the conversations of a session or of the board, the latest first."""
    return board.store.read(lambda tx: tx.hosts.conversations(session))


# Machines of a team.


def check_conversation(tx: Transaction, machine: str, host: str, conversation: str) -> None:
    """Refuse a conversation that another machine began, or whose session another one did."""
    known = tx.hosts.find_conversation(host, conversation)
    if known is None:
        check_session(tx, machine, conversation)
    elif known.machine != machine:
        raise MachineRefused(session=conversation[:200])


def name_host_call(machine: str, call_id: str) -> str:
    """Return the id under which a call is noted: no machine can name a call of another one."""
    return f"{machine}:{call_id}" if machine and call_id else call_id


def check_session(tx: Transaction, machine: str, session: str) -> None:
    """Refuse a session that another machine began, and that was not handed over to this one."""
    if tx.find_machine(session) not in (None, machine) and not tx.hosts.is_continued_on(machine, session):
        raise MachineRefused(session=session[:200])


def check_steering(tx: Transaction, session: str, by: str) -> None:
    """Refuse to change what an agent on a machine of the team works on, but for its owner, unless it lets the team."""
    machine = find_machine_at_work(tx, session)
    if not machine:
        return
    known = tx.machines.find(machine)
    token = next((one for one in tx.tokens.list() if one.machine == machine), None)
    found = known or token
    if (known is not None and known.steer == "team") or (found is not None and found.owner == by):
        return
    whose = "a machine that is unknown now" if found is None else f"`{found.name}`, the machine of {found.owner}"
    problem = f"This agent runs on {whose}: only its owner changes its list and decides on its plan"
    raise EditRefused(problem=f'{problem}, unless the machine says `steer = "team"`.')


# Handoffs.


def find_source(tx: Transaction, session: str, *, but: str) -> str:
    """Return the host whose conversation was last seen at work on a session, other than one."""
    return next((one.host for one in tx.hosts.conversations(session) if one.host != but), _ANOTHER)


def continue_session(
    board: Board,
    host: str,
    conversation: str,
    payload: Mapping[str, Any],
    at: datetime,
    *,
    place: Project | None = None,
) -> None:
    """Bind a conversation to the session whose token its first prompt holds; any other prompt binds nothing.

    One on another machine, at a `place`, continues sessions of its own project alone.
    """
    prompt = payload.get("prompt")
    token = _TOKEN.search(prompt) if isinstance(prompt, str) else None
    if token is None:
        return
    cwd = payload.get("cwd")
    where = find_project(cwd if isinstance(cwd, str) and cwd else None) if place is None else place

    def work(tx: Transaction) -> None:
        known = tx.hosts.find_conversation(host, conversation)
        session = tx.hosts.find_handoff(token[1], host, at=board.now())
        row = None if session is None else tx.agent(session, MAIN)
        if session is None or row is None or (known is not None and known.event != "SessionStart"):
            return
        if where.machine and row.project != where.key:
            return
        data = {"from": find_source(tx, session, but=host), "host": host, "conversation": conversation}
        tx.hosts.bind_conversation(host, conversation, session, project=where.key, at=at, machine=where.machine)
        tx.add_events(row, [Draft("session.continued", data)], by=host, at=max(at, tx.log.last_time(row.number) or at))

    board.store.transact(work)


# Receipts.


def load_receipt(board: Board, session: str, seq: int) -> ReceiptView:
    """Return how far the event of this number went to the agent of a session."""
    found: dict[str, datetime] = {}
    for event in board.store.read(lambda tx: tx.log.page(session, None, seq)):
        if event.kind in _STEPS and event.data.get("upto", 0) >= seq:
            found.setdefault(_STEPS[event.kind], event.at)
    if "sent" in found and "accepted" in found:  # a hook may be quicker than the process that sent it
        found["sent"] = min(found["sent"], found["accepted"])
    return ReceiptView(state=_name_state(found), **found)


def _name_state(found: Collection[str]) -> str:
    if "seen" in found:
        return "seen by the model"
    if "accepted" in found:
        return "accepted by the host"
    return "sent" if "sent" in found else "waits for its next turn"


def note_turn(board: Board, conversation: Conversation, *, told: bool) -> None:
    """Record that the host began a turn with news, and whether the model is told in it."""

    def work(tx: Transaction) -> None:
        upto = tx.last_seq()
        add_step(tx, conversation, "news.accepted", upto, board.now())
        tx.hosts.save_delivery(conversation, sent_upto=0, told_upto=upto if told else conversation.told_upto)

    board.store.transact(work)


def note_reply(agent: Agent) -> None:
    """Record that a model was told news in the reply to a call of our own tool."""
    board: Board = agent.board
    found = list_conversations(board, agent.session)
    if agent.name == MAIN and found and found[0].state == "busy":
        note_turn(board, found[0], told=True)


def note_seen(board: Board, conversation: Conversation) -> None:
    """Record that the model, which was told news, has answered."""

    def work(tx: Transaction) -> None:
        add_step(tx, conversation, "news.seen", conversation.told_upto, board.now())
        tx.hosts.save_delivery(conversation, sent_upto=conversation.sent_upto, told_upto=0)

    board.store.transact(work)


def add_step(tx: Transaction, conversation: Conversation, kind: str, upto: int, at: datetime, **more: str) -> None:
    """Append the event of a step, in the name of the host."""
    row = tx.agent(conversation.session, MAIN)
    if row is not None:
        data = {"host": conversation.host, **more, "upto": upto}
        tx.add_events(row, [Draft(kind, data)], by=conversation.host, at=at)


# Messages that hold the text itself.


def write_message(text: str) -> str:
    """Return a text as the message that is queued. The hook knows it again by its first line."""
    return f"{_message_head(text)}\n\n{text}"


def is_message(prompt: str, text: str) -> bool:
    """True if a prompt is this text as it was queued: the model has it then."""
    return prompt.startswith(_message_head(text))


def _message_head(text: str) -> str:
    return f"From the Punchlist board ({blake2b(text.encode(errors='replace'), digest_size=4).hexdigest()}):"

"""Keep the receipt of what a person said to an agent: sent, accepted by the host, seen by the model.

Each step is an event of the agent: `news.sent`, `news.accepted` (the host began a turn with it) and `news.seen` (the
model answered after it was told). `upto` in them is the last event that they are about.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Final

from punchlist.agent import Agent
from punchlist.board import Board
from punchlist.conversations.bindings import list_conversations
from punchlist.core.events import Draft
from punchlist.store import Transaction
from punchlist.store.hosts import Conversation
from punchlist.text.hashing import blake2b
from punchlist.views.list_owners import MAIN
from punchlist.views.now import ReceiptView

NEWS: Final = frozenset({"answer", "changed"})
"""Kinds of texts for a model that tell what people answered, decided or changed."""

_STEPS: Final = {"news.sent": "sent", "news.accepted": "accepted", "news.seen": "seen"}


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


# What the hooks find.


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

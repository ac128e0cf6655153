"""Tie the conversations of hosts to sessions of the board: by the host's own id, or as a handoff bound them."""

from __future__ import annotations

from punchlist.board import Board
from punchlist.config import Folder, project_of
from punchlist.store.hosts import Conversation, ConversationState

MAIN = "main"
"""The agent of a conversation itself; its subagents are children of it."""


def bind(board: Board, host: str, conversation: str, session: str, *, project: Folder = None) -> None:
    """Bind a conversation of a host to a session of the board from now on, as a handoff does."""
    where, now = project_of(project), board.now()
    board.store.transact(lambda tx: tx.hosts.bind_conversation(host, conversation, session, project=where, at=now))


def find_session(board: Board, host: str, conversation: str) -> str:
    """Return the session of a conversation: its own id, unless it was bound to another."""
    found = board.store.read(lambda tx: tx.hosts.find_conversation(host, conversation))
    return conversation if found is None else found.session


def find_call(board: Board, call_id: str) -> tuple[str, str] | None:
    """Return session and agent of a call of our own tool that a hook told of; None if none did."""
    call = board.store.read(lambda tx: tx.hosts.find_call(call_id))
    return None if call is None else (find_session(board, call.host, call.conversation), call.agent)


def list_conversations(board: Board, session: str | None = None) -> list[Conversation]:
    """Return the conversations of a session or of the board, the latest first."""
    return board.store.read(lambda tx: tx.hosts.conversations(session))


__all__ = ["MAIN", "Conversation", "ConversationState", "bind", "find_call", "find_session", "list_conversations"]

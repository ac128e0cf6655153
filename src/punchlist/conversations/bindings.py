"""Tie the conversations of hosts to sessions of the board: by the host's own id, or as a handoff bound them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from punchlist.board import Board
from punchlist.core.events import Draft
from punchlist.settings.environment import Folder, project_of
from punchlist.store import Transaction
from punchlist.store.hosts import Conversation
from punchlist.text.patterns import compile_later
from punchlist.views.list_owners import MAIN

HANDOFF_MARK = "punchlist-handoff-"
"""The beginning of a handoff's token, in the prompt of the new conversation."""

_TOKEN: Final = compile_later(rf"\b{HANDOFF_MARK}([0-9a-f]{{16}})\b")
_ANOTHER: Final = "another agent"
_LONGEST_CALL: Final = 150


def bind(board: Board, host: str, conversation: str, session: str, *, project: Folder = None) -> None:
    """Bind a conversation of a host to a session of the board from now on, as a handoff does."""
    where, now = project_of(project), board.now()
    board.store.transact(lambda tx: tx.hosts.bind_conversation(host, conversation, session, project=where, at=now))


def find_session(board: Board, host: str, conversation: str) -> str:
    """Return the session of a conversation: its own id, unless it was bound to another."""
    found = board.store.read(lambda tx: tx.hosts.find_conversation(host, conversation))
    return conversation if found is None else found.session


def find_call(board: Board, call_id: str) -> tuple[str, str, datetime] | None:
    """Return session, agent and time of a call of our own tool that a hook told of; None if none did."""
    call = board.store.read(lambda tx: tx.hosts.find_call(call_id))
    return None if call is None else (find_session(board, call.host, call.conversation), call.agent, call.at)


def name_call(board: Board, session: str, agent: str, call_id: str, begun: datetime) -> str:
    """Return the id under which a call that began at this time is kept: another one if its own was used before.

    The ids of some hosts begin again in each run. A call that is sent twice began once, and keeps its id.
    """
    is_used = board.store.read(lambda tx: tx.hosts.has_earlier_call(session, agent, call_id, begun))
    return f"{call_id[:_LONGEST_CALL]}@{begun.timestamp():.6f}" if is_used else call_id


def list_conversations(board: Board, session: str | None = None) -> list[Conversation]:
    """Return the conversations of a session or of the board, the latest first."""
    return board.store.read(lambda tx: tx.hosts.conversations(session))


# Handoffs.


def find_source(tx: Transaction, session: str, *, but: str) -> str:
    """Return the host whose conversation was last seen at work on a session, other than one."""
    return next((one.host for one in tx.hosts.conversations(session) if one.host != but), _ANOTHER)


def continue_session(board: Board, host: str, conversation: str, payload: Mapping[str, Any], at: datetime) -> None:
    """Bind a conversation to the session whose token its first prompt holds; any other prompt binds nothing."""
    prompt = payload.get("prompt")
    token = _TOKEN.search(prompt) if isinstance(prompt, str) else None
    if token is None:
        return
    cwd = payload.get("cwd")
    project = project_of(cwd if isinstance(cwd, str) and cwd else None)

    def work(tx: Transaction) -> None:
        known = tx.hosts.find_conversation(host, conversation)
        session = tx.hosts.find_handoff(token[1], host, at=board.now())
        row = None if session is None else tx.agent(session, MAIN)
        if session is None or row is None or (known is not None and known.event != "SessionStart"):
            return
        data = {"from": find_source(tx, session, but=host), "host": host, "conversation": conversation}
        tx.hosts.bind_conversation(host, conversation, session, project=project, at=at)
        tx.add_events(row, [Draft("session.continued", data)], by=host, at=max(at, tx.log.last_time(row.number) or at))

    board.store.transact(work)

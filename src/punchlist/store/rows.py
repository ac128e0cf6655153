"""Rows of agents, lists and sessions, as the board gets them from a store."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple

from punchlist.core.todo import ListState, TodoList

Durability = Literal["full", "normal"]


class AgentRow(NamedTuple):
    """An agent as stored, with its list. `number` is the store's own key."""

    number: int
    session: str
    name: str
    parent: int | None
    label: str | None
    project: str
    mode: str
    recent: int
    unseen: int
    state: ListState


class ListRow(NamedTuple):
    """An agent and its list, as a surface shows them."""

    number: int
    session: str
    agent: str
    parent: int | None
    label: str | None
    project: str
    mode: str
    updated_at: datetime
    todos: TodoList


class SessionRow(NamedTuple):
    id: str
    project: str
    created_at: datetime
    agents: int
    updated_at: datetime | None


class StoredCall(NamedTuple):
    fingerprint: bytes
    reply: bytes


class LastWrite(NamedTuple):
    """A write of a list by its own agent: when it was made there, and by which call if it came from a transcript."""

    at: datetime
    call_id: str | None = None

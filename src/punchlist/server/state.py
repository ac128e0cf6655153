"""The state of one server while it runs. Handlers get it by `state_of(request)`."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import HTTPConnection

from punchlist.board import Board
from punchlist.config import login_name
from punchlist.core.person import doubt_person
from punchlist.core.presence import Roster
from punchlist.hosts.live import LiveRoster
from punchlist.server.access import Access, Grant
from punchlist.server.broadcast import Broadcaster

if TYPE_CHECKING:
    from punchlist.server.mcp_http import McpFront  # these import this module
    from punchlist.server.topics import TopicHub


@dataclass
class ServerState:
    """The board that is served, and the parts of the server that live as long as it."""

    board: Board
    access: Access
    is_watched: bool = False
    """True if the logs of agents are read meanwhile."""
    broadcaster: Broadcaster = field(init=False)
    live: LiveRoster = field(init=False)
    """The agents of this machine; it follows them while the server runs."""
    topics: TopicHub = field(init=False)
    """The parts of pages that are read live; `make_app` sets it."""
    mcp: McpFront | None = None
    """Answers `/mcp`, from the first request on."""
    mcp_task: asyncio.Task[None] | None = None
    started_at: datetime = field(init=False)
    app: Starlette = field(init=False)
    """The application behind the gate; `make_app` sets it."""

    def __post_init__(self) -> None:
        self.broadcaster = Broadcaster(self.board)
        self.live = LiveRoster(self.board, who=login_name(), watches=self.is_watched)
        self.started_at = self.board.now()

    def load_roster(self) -> Roster:
        """Return the first screen as it is now: what hosts say is at most two seconds old, the board is read."""
        self.live.load()
        return self.live.roster


def state_of(request: HTTPConnection) -> ServerState:
    """Return the state of the server that takes this request."""
    return request.app.state.server


def grant_of(request: HTTPConnection) -> Grant:
    """Return what the caller may do. Every route but a public one has a grant."""
    return request.state.grant


def has_person(grant: Grant) -> bool:
    """True if a person is known to do this: they have the link or a person's token, and no agent started the server."""
    return grant.is_person and doubt_person(os.environ, is_terminal=True) is None

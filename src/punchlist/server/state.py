"""What one server holds while it runs. Handlers get it by `state_of(request)`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from starlette.applications import Starlette
from starlette.requests import HTTPConnection

from punchlist.board import Board
from punchlist.server.access import Access, Grant
from punchlist.server.broadcast import Broadcaster


@dataclass
class ServerState:
    """The board that is served, and the parts of the server that live as long as it."""

    board: Board
    access: Access
    is_watched: bool = False
    """True if the logs of agents are read meanwhile."""
    broadcaster: Broadcaster = field(init=False)
    started_at: datetime = field(init=False)
    app: Starlette = field(init=False)
    """The application behind the gate; `make_app` sets it."""

    def __post_init__(self) -> None:
        self.broadcaster = Broadcaster(self.board)
        self.started_at = self.board.now()


def state_of(request: HTTPConnection) -> ServerState:
    """Return the state of the server that takes this request."""
    return request.app.state.server


def grant_of(request: HTTPConnection) -> Grant:
    """Return what the caller may do. Every route but a public one has a grant."""
    return request.state.grant

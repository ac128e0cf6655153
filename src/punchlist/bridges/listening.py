"""How a board listens for the children of an agent, asked now and then by those who tell of their silence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from typing import Final

from punchlist.agent.stalling import listened
from punchlist.board import Board
from punchlist.bridges.relay import Listened
from punchlist.detect.stalls import StallOptions

Listen = Callable[[Collection[str]], Mapping[str, Listened]]
"""What is known of the silence of these agents, and the timings for each."""

_LEAST: Final = 0.25


def listening_to(board: Board, session: str) -> Listen:
    """What a board knows of the silence of a session's agents."""

    def listen(agents: Collection[str]) -> Mapping[str, Listened]:
        found = listened(board.store, session, agents)
        return {name: Listened(state, options) for name, (state, options) in found.items()}

    return listen


class Polled:
    """Asks no more often than the timings want it, `own` ones or those of the agents.

    Between two looks nobody's silence says anything.
    """

    def __init__(self, listen: Listen, own: StallOptions | None = None) -> None:
        self._listen = listen
        self._own = own
        self._known: dict[str, Listened] = {}
        self._due: datetime | None = None

    def at(self, now: datetime, agents: Collection[str]) -> Mapping[str, Listened]:
        """What is known of each of these agents."""
        if self._due is not None and now < self._due and self._known.keys() >= set(agents):
            return self.timings(agents)
        self._known = dict(self._listen(agents))
        rests = [_rest(self._own or each.options) for each in self._known.values()]
        self._due = now + timedelta(seconds=min(rests, default=_LEAST))
        return self._known

    def timings(self, agents: Collection[str]) -> Mapping[str, Listened]:
        """Nothing of their silence, only the timings that hold for them."""
        if unknown := [name for name in agents if name not in self._known]:
            self._known |= self._listen(unknown)
        return {name: self._known[name]._replace(state=None) for name in agents}


def _rest(options: StallOptions) -> float:
    """Seconds until the next look: a quarter of the silence that is told of, if that is less than usual."""
    wanted = options.notice_after / 4 if options.notice_after > 0 else options.poll_every
    return max(_LEAST, min(options.poll_every, wanted))

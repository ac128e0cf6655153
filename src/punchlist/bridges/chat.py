"""A session on a board as messages for a chat: what the agent does, through the projector's rules."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from punchlist.bridges.acp.runtime import RuntimeEvents
from punchlist.bridges.acp.updates import Updates
from punchlist.bridges.lists import Look
from punchlist.bridges.projector import Message, Projector, RuntimeEvent
from punchlist.bridges.projector_options import ProjectorOptions
from punchlist.bridges.words import spoken
from punchlist.core.events import Event
from punchlist.core.grounding.work import TURN_ENDS

_DONE: Final = RuntimeEvent(type="done")


class ChatFeed:
    """Lists and tool calls of a session, for `following.pass_on`.

    A turn ends when the board is told so; a host that reports no turns calls `turn_ended` itself. By default nothing of
    lists and calls is shown: `tags={"plan": True}` shows lists, `tool_call` and `tool_call_update` calls.
    """

    def __init__(
        self,
        session: str,
        agent: str = "main",
        *,
        options: ProjectorOptions | None = None,
        gate: Callable[[], bool] = lambda: True,
        look: Look | None = None,
    ) -> None:
        self._updates = Updates(session, agent, look=look)
        self._runtime = RuntimeEvents()
        self._projector = Projector(options, gate=gate)
        self._whose = (session, agent)

    def add(self, event: Event) -> list[Message]:
        found = [self._runtime.of(update) for update in self._updates.add(event)]
        if event.kind in TURN_ENDS and (event.session, event.agent) == self._whose:
            found.append(_DONE)
        elif event.kind == "agent.output" and (event.session, event.agent) == self._whose:
            text = spoken(event.data)
            found += [RuntimeEvent(type="text_delta", text=f"{text}\n\n", tag="agent_message_chunk")] if text else []
        return [message for each in found if each is not None for message in self._projector.add(each, event.at)]

    def join(self, look: Look) -> None:
        """Lists of which events are missing are looked up from here on."""
        self._updates.join(look)

    def tick(self, now: datetime) -> list[Message]:
        return self._projector.tick(now)

    def turn_ended(self, at: datetime) -> list[Message]:
        """Everything that is held back; the next turn begins anew."""
        return self._projector.add(_DONE, at)

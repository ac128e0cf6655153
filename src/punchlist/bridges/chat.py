"""Turn a session on a board into messages for a chat, by the projector's rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, cast

from punchlist.bridges.acp.calls import Update
from punchlist.bridges.acp.updates import CANCELLED, Updates
from punchlist.bridges.lists import Look, event_text
from punchlist.bridges.projector import Message, Projector, ProjectorOptions, RuntimeEvent
from punchlist.core.events import TURN_ENDS, Event

# ACP updates as events for the projector.


_CHUNKS: Final = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})
_MOST_TITLES: Final = 1_024


class RuntimeEvents:
    """Turns ACP updates into events for the projector. Remembers titles of calls: later updates have none."""

    def __init__(self) -> None:
        self._titles: dict[str, str] = {}

    def convert(self, update: Update) -> RuntimeEvent | None:
        """Return the event of an update; None for updates that a chat does not show."""
        tag = str(update.get("sessionUpdate", ""))
        if tag in _CHUNKS:
            content: Any = update.get("content")
            text = cast("Mapping[str, Any]", content).get("text") if isinstance(content, Mapping) else None
            stream = "thought" if tag == "agent_thought_chunk" else "output"
            return RuntimeEvent(type="text_delta", text=str(text or ""), tag=tag, stream=stream)
        if tag in {"tool_call", "tool_call_update"}:
            return self._convert_call(tag, update)
        entries: Any = update.get("entries") or cast("Mapping[str, Any]", update.get("plan") or {}).get("entries")
        if tag in {"plan", "plan_update"} and isinstance(entries, list):
            return RuntimeEvent(
                type="status", tag="plan", text=_describe_plan(cast("Sequence[Mapping[str, Any]]", entries))
            )
        return None

    def _convert_call(self, tag: str, update: Update) -> RuntimeEvent:
        call_id = str(update.get("toolCallId", ""))
        title = str(update.get("title") or self._titles.get(call_id, ""))
        status = str(update.get("status") or "")
        if status in {"completed", "failed"}:
            self._titles.pop(call_id, None)
        else:
            self._titles[call_id] = title
            if len(self._titles) > _MOST_TITLES:
                del self._titles[next(iter(self._titles))]
        return RuntimeEvent(type="tool_call", tag=tag, call_id=call_id, title=title, status=status, text=title)


def _describe_plan(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return `plan: 2/5 · Running the tests`, without cancelled items."""
    owed = [entry for entry in entries if not str(entry.get("content", "")).startswith(CANCELLED)]
    done = sum(entry.get("status") == "completed" for entry in owed)
    now = next((entry for entry in owed if entry.get("status") == "in_progress"), None)
    progress = f"plan: {done}/{len(owed)}"
    if now is None:
        return progress
    meta = cast("Mapping[str, Any]", now.get("_meta") or {})
    return f"{progress} · {meta.get('punchlist/active_form') or now.get('content', '')}"


_DONE: Final = RuntimeEvent(type="done")


class ChatFeed:
    """Lists and tool calls of a session as messages, for `lists.pass_on`.

    A turn ends when the board is told so; a host that reports no turns calls `turn_ended` itself. By default lists and
    calls are hidden: `tags={"plan": True}` shows lists, `tool_call` and `tool_call_update` show calls.
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
        self.lists = self._updates.lists
        self._runtime = RuntimeEvents()
        self._projector = Projector(options, gate=gate)
        self._whose = (session, agent)

    def add(self, event: Event) -> list[Message]:
        found = [self._runtime.convert(update) for update in self._updates.add(event)]
        if event.kind in TURN_ENDS and (event.session, event.agent) == self._whose:
            found.append(_DONE)
        elif event.kind == "agent.output" and (event.session, event.agent) == self._whose:
            text = event_text(event.data)
            found += [RuntimeEvent(type="text_delta", text=f"{text}\n\n", tag="agent_message_chunk")] if text else []
        return [message for each in found if each is not None for message in self._projector.add(each, event.at)]

    def tick(self, now: datetime) -> list[Message]:
        return self._projector.tick(now)

    def turn_ended(self, at: datetime) -> list[Message]:
        """Return everything that is held back; a new turn begins."""
        return self._projector.add(_DONE, at)

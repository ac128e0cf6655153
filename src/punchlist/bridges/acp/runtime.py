"""ACP updates as runtime events, for the projector: what a chat can be told of a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from punchlist.bridges.acp.plan import CANCELLED, Update
from punchlist.bridges.projector import RuntimeEvent

_CHUNKS: Final = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})
_MOST_TITLES: Final = 1_024


class RuntimeEvents:
    """Remembers the titles of calls: updates of a call have none."""

    def __init__(self) -> None:
        self._titles: dict[str, str] = {}

    def of(self, update: Update) -> RuntimeEvent | None:
        """The event that an update stands for; None for updates of which there is nothing to say."""
        tag = str(update.get("sessionUpdate", ""))
        if tag in _CHUNKS:
            content: Any = update.get("content")
            text = cast("Mapping[str, Any]", content).get("text") if isinstance(content, Mapping) else None
            stream = "thought" if tag == "agent_thought_chunk" else "output"
            return RuntimeEvent(type="text_delta", text=str(text or ""), tag=tag, stream=stream)
        if tag in {"tool_call", "tool_call_update"}:
            return self._call(tag, update)
        entries: Any = update.get("entries") or cast("Mapping[str, Any]", update.get("plan") or {}).get("entries")
        if tag in {"plan", "plan_update"} and isinstance(entries, list):
            return RuntimeEvent(
                type="status", tag="plan", text=_plan_line(cast("Sequence[Mapping[str, Any]]", entries))
            )
        return None

    def _call(self, tag: str, update: Update) -> RuntimeEvent:
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


def _plan_line(entries: Sequence[Mapping[str, Any]]) -> str:
    """`plan: 2/5 · Running the tests`, without cancelled items."""
    owed = [entry for entry in entries if not str(entry.get("content", "")).startswith(CANCELLED)]
    done = sum(entry.get("status") == "completed" for entry in owed)
    now = next((entry for entry in owed if entry.get("status") == "in_progress"), None)
    progress = f"plan: {done}/{len(owed)}"
    if now is None:
        return progress
    meta = cast("Mapping[str, Any]", now.get("_meta") or {})
    return f"{progress} · {meta.get('punchlist/active_form') or now.get('content', '')}"

"""An agent's turn as messages for a chat: which tags are shown, what is a repeat, where it is cut.

The rules are those of OpenClaw's auto-reply projector. Pure: times are passed in, and what is to be sent is returned.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct

from punchlist.bridges.pieces import LiveText, pieces
from punchlist.bridges.projector_options import ProjectorOptions
from punchlist.text import clean, cut, repair

TERMINAL: Final = frozenset({"completed", "failed", "cancelled", "done", "error"})
SYSTEM: Final = "⚙️ "
TRUNCATED: Final = "output truncated"
_BOUNDARIES: Final = frozenset({"tool_call", "tool_call_update"})
_MOST_CALLS: Final = 4_096

Type = Literal["text_delta", "status", "tool_call", "done", "error"]


class RuntimeEvent(Struct, frozen=True, kw_only=True):
    """Something that an agent's runtime tells. `stream` is `output` or another, `used` and `size` are of a context."""

    type: Type
    text: str = ""
    tag: str | None = None
    stream: str | None = None
    call_id: str | None = None
    status: str | None = None
    title: str | None = None
    used: float | None = None
    size: float | None = None


class Message(NamedTuple):
    """What is to be sent: a `block` of the agent's text or a line about a `tool`. `meta` is as in the original."""

    kind: Literal["block", "tool"]
    text: str
    meta: dict[str, Any] | None = None


class _Call(Struct):
    started: bool = False
    ended: bool = False
    last: str | None = None


class Projector:
    """One conversation, a turn after the other. `gate` says whether lines about tools are wanted just now.

    `on_progress` is called for every event, before anything is left out.
    """

    def __init__(
        self,
        options: ProjectorOptions | None = None,
        *,
        gate: Callable[[], bool] = lambda: True,
        on_progress: Callable[[RuntimeEvent], None] | None = None,
    ) -> None:
        self._options = ProjectorOptions() if options is None else options
        self._gate = gate
        self._on_progress = on_progress
        self._is_live = self._options.delivery == "live"
        self._forget()

    def _forget(self) -> None:
        """A new turn."""
        self._live = LiveText(timedelta(milliseconds=max(self._options.idle_milliseconds, 750)))
        self._whole = ""
        self._held: list[Message] = []
        self._count = 0
        self._is_cut = False
        self._hidden = False
        self._tail = ""
        self._last_status: str | None = None
        self._last_tool: str | None = None
        self._last_usage: object = None
        self._calls: dict[str, _Call] = {}

    def add(self, event: RuntimeEvent, at: datetime) -> list[Message]:
        """What one event brings."""
        if self._on_progress is not None:
            self._on_progress(event)
        match event.type:
            case "text_delta":
                return self._text(event, at)
            case "status":
                return self._status(event)
            case "tool_call":
                return self._tool(event)
            case "done" | "error":
                messages = self.flush()
                self._forget()
                return messages

    def tick(self, now: datetime) -> list[Message]:
        """Live text that has waited long enough."""
        return self._blocks(self._live.due(now)) if self._is_live else []

    def flush(self) -> list[Message]:
        """Everything that is held back. Lines about tools are dropped if they are no longer wanted."""
        held, self._held = self._held if self._gate() else [], []
        whole, self._whole = self._whole, ""
        return [*self._blocks(self._live.take()), *held, *self._blocks(whole)]

    def _blocks(self, text: str) -> list[Message]:
        return [Message("block", piece) for piece in pieces(clean(text).text, self._options.chunk_characters)]

    def _text(self, event: RuntimeEvent, at: datetime) -> list[Message]:
        text = repair(event.text)
        if event.stream not in {None, "", "output"} or not self._options.shows(event.tag) or not text:
            return []
        if self._hidden and self._separates(text):
            text = self._options.between + text
        self._hidden = False
        room = self._options.output_characters - self._count
        accepted = text[: max(0, room)]
        messages: list[Message] = []
        if accepted:
            self._count += len(accepted)
            self._tail = accepted[-1]
            if self._is_live:
                messages = self._blocks(self._live.add(accepted, at))
            else:
                self._whole += accepted
        return messages if len(accepted) == len(text) else [*messages, *self._truncated()]

    def _separates(self, text: str) -> bool:
        between = self._options.between
        if not between or text[0].isspace() or not self._tail:
            return False
        return not (self._tail.isspace() if between == " " else self._tail == "\n")

    def _truncated(self) -> list[Message]:
        if self._is_cut:
            return []
        self._is_cut = True
        return self._line(TRUNCATED, {"tag": "session_info_update"}, repeats=True)

    def _status(self, event: RuntimeEvent) -> list[Message]:
        if not self._options.shows(event.tag):
            return []
        if event.tag == "usage_update" and self._options.suppress_repeats:
            known = event.used is not None and event.size is not None
            usage: object = (event.used, event.size) if known else event.text.strip()
            if usage == self._last_usage:
                return []
            self._last_usage = usage
        return self._line(event.text, {"tag": event.tag} if event.tag else None)

    def _line(self, text: str, meta: dict[str, Any] | None, *, repeats: bool = False) -> list[Message]:
        bounded = cut(clean(text).text.strip(), self._options.update_characters)
        if not bounded or not self._gate():
            return []
        line = bounded if bounded.startswith(SYSTEM.strip()) else f"{SYSTEM}{bounded}"
        if self._options.suppress_repeats and not repeats and line == self._last_status:
            return []
        self._last_status = line
        return self._send(Message("tool", line, meta))

    def _tool(self, event: RuntimeEvent) -> list[Message]:
        status = (event.status or "").strip().lower()
        if not self._options.shows(event.tag):
            if event.tag in _BOUNDARIES:
                self._hidden = self._hidden or event.tag == "tool_call" or status in TERMINAL
            return []
        if not self._gate():
            return []
        summary = tool_summary(event)
        call_id = (event.call_id or "").strip()
        if self._options.suppress_repeats and self._is_repeat(event, call_id, status, summary):
            return []
        self._last_tool = summary
        meta: dict[str, Any] = {"tag": event.tag, "toolCallId": call_id, "toolStatus": status}
        shown = {name: value for name, value in meta.items() if value}
        shown["allowEdit"] = bool(call_id) and event.tag == "tool_call_update"
        return self._send(Message("tool", cut(summary, self._options.update_characters), shown))

    def _is_repeat(self, event: RuntimeEvent, call_id: str, status: str, summary: str) -> bool:
        """Whether a call is started or ended again, or says the same, before it is cut, as last time."""
        if not call_id:
            return summary == self._last_tool
        starts, ends = status == "in_progress" or event.tag == "tool_call", status in TERMINAL
        call = self._calls.setdefault(call_id, _Call())
        if (ends and call.ended) or (starts and call.started) or summary == call.last:
            return True
        call.started, call.ended, call.last = call.started or starts, call.ended or ends, summary
        if len(self._calls) > _MOST_CALLS:
            del self._calls[next(iter(self._calls))]
        return False

    def _send(self, message: Message) -> list[Message]:
        """Live, behind the text before it; else at the end of the turn."""
        if self._is_live:
            return [*self._blocks(self._live.take()), message]
        self._held.append(message)
        return []


def tool_summary(event: RuntimeEvent) -> str:
    """`🧰 Tool Call: {title} · status={status}`, with what there is of it, else the event's text."""
    title, status = _words(event.title), _words(event.status)
    parts = [title] if title else []
    parts += [f"status={status}"] if status else []
    return f"🧰 Tool Call: {' · '.join(parts) or _words(event.text) or 'tool call'}"


def _words(text: str | None) -> str:
    return clean(text or "", lines=False).text.strip()

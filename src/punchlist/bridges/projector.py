"""Turn an agent's turn into messages for a chat: which tags are shown, what is a repeat, where text is cut.

The rules are those of OpenClaw's auto-reply projector. Pure: times are passed in, messages are returned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from punchlist.core.options import parse_options
from punchlist.text import clean, cut, repair

# Options, with OpenClaw's defaults and bounds.


Delivery = Literal["final_only", "live"]
Separator = Literal["none", "space", "newline", "paragraph"]

VISIBLE: Final[Mapping[str, bool]] = {
    "agent_message_chunk": True,
    "tool_call": False,
    "tool_call_update": False,
    "usage_update": False,
    "available_commands_update": False,
    "current_mode_update": False,
    "config_option_update": False,
    "session_info_update": False,
    "plan": False,
    "agent_thought_chunk": False,
}
"""Tags that are shown. One that is not here is shown, and so is an event without a tag."""

_BOUNDS: Final = {
    "output_characters": (1, 500_000),
    "update_characters": (64, 8_000),
    "idle_milliseconds": (0, 5_000),
    "chunk_characters": (50, 4_000),
}


class ProjectorOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the projector. `delivery`: at the end of a turn, or live. `separator` stands for hidden tool calls.

    `output_characters` limits the text of one turn, `update_characters` one line about a tool or a status,
    `chunk_characters` one message; `idle_milliseconds` is how long live text waits for more, never below 750.
    """

    delivery: Delivery = "final_only"
    separator: Separator | None = None
    suppress_repeats: bool = True
    output_characters: int = 24_000
    update_characters: int = 320
    idle_milliseconds: int = 350
    chunk_characters: int = 1_800
    tags: Mapping[str, bool] = field(default_factory=dict[str, bool])

    def shows(self, tag: str | None) -> bool:
        return True if not tag else self.tags.get(tag, VISIBLE.get(tag, True))

    @property
    def between(self) -> str:
        """The text of the separator: by default a paragraph, or a space in live delivery."""
        chosen = self.separator or ("space" if self.delivery == "live" else "paragraph")
        return {"none": "", "space": " ", "newline": "\n", "paragraph": "\n\n"}[chosen]


def projector_options(given: object) -> ProjectorOptions:
    """Check a person's options. A number out of bounds becomes the nearest within, as in the original."""
    found = parse_options(ProjectorOptions, given, "projector")
    return replace(
        found, **{name: max(least, min(most, getattr(found, name))) for name, (least, most) in _BOUNDS.items()}
    )


# Live text and long text, cut into messages.


HARD: Final = 480
SOFT: Final = 220
LEAST_IDLE: Final = 80
"""Characters, as in the original: live text is sent at once, at the next whitespace, or after a pause."""

_BREAKS: Final = ("\n\n", "\n", ". ", " ")
_SENTENCE: Final = re.compile(r"""[.!?][)"'`]*\Z""")
_SENTENCE_AND_SPACE: Final = re.compile(r"""[.!?][)"'`]*\s\Z""")


class LiveText:
    """Text that arrives in small pieces and leaves at good places: after a paragraph, a sentence, or a pause."""

    def __init__(self, rest: timedelta) -> None:
        self._rest = rest
        self._text = ""
        self._since: datetime | None = None

    def add(self, text: str, at: datetime) -> str:
        """Add a piece, and return what may be sent now."""
        self._text += text
        self._since = at
        return self.take() if _is_boundary(self._text) else ""

    def due(self, now: datetime) -> str:
        """Return what may be sent because nothing came for a while."""
        if self._since is None or now - self._since < self._rest:
            return ""
        self._since = now
        may_rest = len(self._text) >= LEAST_IDLE or "\n" in self._text
        return self.take() if may_rest or _SENTENCE.search(self._text.rstrip()[-64:]) else ""

    def take(self) -> str:
        """Return and forget all of it."""
        text, self._text, self._since = self._text, "", None
        return text


def split_text(text: str, most: int) -> Iterator[str]:
    """Cut text into pieces of at most so many characters, at a paragraph, line, sentence or word where there is one.

    Pieces of whitespace only are left out.
    """
    while text.strip():
        if len(text) <= most:
            yield text
            return
        place = next((found + len(mark) for mark in _BREAKS if (found := text.rfind(mark, 1, most - 1)) > 0), most)
        if text[:place].strip():
            yield text[:place].rstrip("\n")
        text = text[place:]


def _is_boundary(text: str) -> bool:
    if len(text) >= HARD or text.endswith("\n\n") or _SENTENCE_AND_SPACE.search(text):
        return True
    return len(text) >= SOFT and text[-1:].isspace()


TERMINAL: Final = frozenset({"completed", "failed", "cancelled", "done", "error"})
SYSTEM: Final = "⚙️ "
TRUNCATED: Final = "output truncated"
_BOUNDARIES: Final = frozenset({"tool_call", "tool_call_update"})
_MOST_CALLS: Final = 4_096

Type = Literal["text_delta", "status", "tool_call", "done", "error"]


class RuntimeEvent(Struct, frozen=True, kw_only=True):
    """An event of an agent's runtime. `stream` is `output` or another, `used` and `size` are of a context."""

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
    """A message to send: a `block` of the agent's text or a line about a `tool`. `meta` is as in the original."""

    kind: Literal["block", "tool"]
    text: str
    meta: dict[str, Any] | None = None


class _ShownCall(Struct):
    started: bool = False
    ended: bool = False
    last: str | None = None


class Projector:
    """One conversation, turn after turn. `gate` says if lines about tools are wanted just now.

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
        self._calls: dict[str, _ShownCall] = {}

    def add(self, event: RuntimeEvent, at: datetime) -> list[Message]:
        """Return the messages of one event."""
        if self._on_progress is not None:
            self._on_progress(event)
        match event.type:
            case "text_delta":
                return self._add_text(event, at)
            case "status":
                return self._add_status(event)
            case "tool_call":
                return self._add_tool(event)
            case "done" | "error":
                messages = self.flush()
                self._forget()
                return messages

    def tick(self, now: datetime) -> list[Message]:
        """Return live text that has waited long enough."""
        return self._split_blocks(self._live.due(now)) if self._is_live else []

    def flush(self) -> list[Message]:
        """Return everything held back. Lines about tools are dropped if they are no longer wanted."""
        held, self._held = self._held if self._gate() else [], []
        whole, self._whole = self._whole, ""
        return [*self._split_blocks(self._live.take()), *held, *self._split_blocks(whole)]

    def _split_blocks(self, text: str) -> list[Message]:
        return [Message("block", piece) for piece in split_text(clean(text).text, self._options.chunk_characters)]

    def _add_text(self, event: RuntimeEvent, at: datetime) -> list[Message]:
        text = repair(event.text)
        if event.stream not in {None, "", "output"} or not self._options.shows(event.tag) or not text:
            return []
        if self._hidden and self._needs_separator(text):
            text = self._options.between + text
        self._hidden = False
        room = self._options.output_characters - self._count
        accepted = text[: max(0, room)]
        messages: list[Message] = []
        if accepted:
            self._count += len(accepted)
            self._tail = accepted[-1]
            if self._is_live:
                messages = self._split_blocks(self._live.add(accepted, at))
            else:
                self._whole += accepted
        if len(accepted) < len(text) and not self._is_cut:
            self._is_cut = True
            messages += self._add_line(TRUNCATED, {"tag": "session_info_update"}, repeats=True)
        return messages

    def _needs_separator(self, text: str) -> bool:
        between = self._options.between
        if not between or text[0].isspace() or not self._tail:
            return False
        return not (self._tail.isspace() if between == " " else self._tail == "\n")

    def _add_status(self, event: RuntimeEvent) -> list[Message]:
        if not self._options.shows(event.tag):
            return []
        if event.tag == "usage_update" and self._options.suppress_repeats:
            known = event.used is not None and event.size is not None
            usage: object = (event.used, event.size) if known else event.text.strip()
            if usage == self._last_usage:
                return []
            self._last_usage = usage
        return self._add_line(event.text, {"tag": event.tag} if event.tag else None)

    def _add_line(self, text: str, meta: dict[str, Any] | None, *, repeats: bool = False) -> list[Message]:
        bounded = cut(clean(text).text.strip(), self._options.update_characters)
        if not bounded or not self._gate():
            return []
        line = bounded if bounded.startswith(SYSTEM.strip()) else f"{SYSTEM}{bounded}"
        if self._options.suppress_repeats and not repeats and line == self._last_status:
            return []
        self._last_status = line
        return self._send(Message("tool", line, meta))

    def _add_tool(self, event: RuntimeEvent) -> list[Message]:
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
        """True if a call starts or ends again, or its summary, before it is cut, is the same as last time."""
        if not call_id:
            return summary == self._last_tool
        starts, ends = status == "in_progress" or event.tag == "tool_call", status in TERMINAL
        call = self._calls.setdefault(call_id, _ShownCall())
        if (ends and call.ended) or (starts and call.started) or summary == call.last:
            return True
        call.started, call.ended, call.last = call.started or starts, call.ended or ends, summary
        if len(self._calls) > _MOST_CALLS:
            del self._calls[next(iter(self._calls))]
        return False

    def _send(self, message: Message) -> list[Message]:
        """Send live, after the text before it; else at the end of the turn."""
        if self._is_live:
            return [*self._split_blocks(self._live.take()), message]
        self._held.append(message)
        return []


def tool_summary(event: RuntimeEvent) -> str:
    """Return `🧰 Tool Call: {title} · status={status}`, with what there is of it, else the event's text."""
    title, status = _to_line(event.title), _to_line(event.status)
    parts = [title] if title else []
    parts += [f"status={status}"] if status else []
    return f"🧰 Tool Call: {' · '.join(parts) or _to_line(event.text) or 'tool call'}"


def _to_line(text: str | None) -> str:
    return clean(text or "", lines=False).text.strip()

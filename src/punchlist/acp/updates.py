"""Turn the events of a board into the updates of one ACP session: live, or replayed from a record.

The plan of a session is the list of its agent. Lists of its children are plans of their own, for clients that can show
several; tool calls are shown of all. An unchanged plan is not sent again.

Version 1 of the protocol knows `pending`, `in_progress` and `completed`. As in Hermes a cancelled item is completed and
its text says so; blocked and failed items are pending. Other fields are in `_meta`, under `punchlist/…`.

Tool calls follow the rules of OpenClaw's translator: one start, updates, one end. A second start, and anything after
the end, is dropped. Calls that a turn leaves open are given up as in Hermes: the protocol has no word for that, so they
are `failed`, and `_meta` says why. A later report of such a call still counts.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Final, cast

from punchlist.core.approval import Plan
from punchlist.core.events import REPORTS, TURN_ENDS, Event
from punchlist.core.grounding.observe import call_from
from punchlist.core.grounding.places import Place, places
from punchlist.core.grounding.tool_call import ToolCall
from punchlist.core.inputs import to_json_value
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.guidance.tools import kind as known_kind
from punchlist.projections.followed_lists import Lists, Look
from punchlist.text import clean, cut, repair
from punchlist.text.tool_values import SCALARS

Update = dict[str, Any]
"""The `update` of a `session/update` notification, as it goes over the wire."""

OURS: Final = "punchlist/"

# Arguments and results as JSON.


CHARACTERS: Final = 262_144
"""Characters of a value as JSON; of a longer one the texts and arrays are cut."""

_LONGEST_TEXT: Final = CHARACTERS // 4
_MOST_ENTRIES: Final = 250


def raw(value: Any) -> Any:
    """Copy a value into JSON's own types. Never raises; what JSON cannot hold becomes its type, as in `[Socket]`."""
    try:
        text = json.dumps(value, default=_to_jsonable)
        copy = to_json_value(json.loads(text, parse_constant=lambda _: None))
    except Exception:  # it is circular, too deep, or cannot be read
        return _describe_type(value)
    return copy if len(text) <= CHARACTERS else _shorten(copy)


def _to_jsonable(value: Any) -> Any:
    """Return a value of a type that JSON does not have in one that it has."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes | bytearray):
        return value.decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return dict(cast("Mapping[Any, Any]", value))
    if isinstance(value, set | frozenset):
        return list(cast("Iterable[Any]", value))
    if isinstance(value, BaseException):
        return {"name": type(value).__name__, "message": str(value)}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if type(value).__module__ in SCALARS:
        return str(value)
    dump = None if isinstance(value, type) else getattr(value, "model_dump", None)
    # Results of MCP's SDK are such models.
    return dump(by_alias=True, exclude_none=True) if callable(dump) else _describe_type(value)


def _shorten(value: Any) -> Any:
    if isinstance(value, str):
        return cut(value, _LONGEST_TEXT)
    if isinstance(value, list):
        return [_shorten(part) for part in cast("list[Any]", value)[:_MOST_ENTRIES]]
    if isinstance(value, dict):
        return {key: _shorten(part) for key, part in cast("dict[str, Any]", value).items()}
    return value


def _describe_type(value: object) -> str:
    return repair(f"[{type(value).__name__}]")


# Titles, kinds and texts of calls.


LONGEST_VALUE: Final = 100
_MOST_VALUES: Final = 64
_WINDOW: Final = 4_000
_MORE: Final = "..."
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_NAMED: Final = {"\0": "\\0", "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f", "\r": "\\r"}
_KINDS: Final = (
    ("read", ("read",)),
    ("edit", ("write", "edit")),
    ("delete", ("delete", "remove")),
    ("move", ("move", "rename")),
    ("search", ("search", "find")),
    ("execute", ("exec", "run", "bash")),
    ("fetch", ("fetch", "http")),
)


def call_title(name: str, arguments: Any = None) -> str:
    """Return `name`, or `name: key: value, key: value` with long values cut and control characters escaped.

    Of more than 64 arguments the rest is left out; the original has no such limit.
    """
    base = name or "tool"
    if not isinstance(arguments, Mapping) or not arguments:
        return _escape(base)
    fields = list(cast("Mapping[Any, Any]", arguments).items())[:_MOST_VALUES]
    shown = (f"{str(key)[:LONGEST_VALUE]}: {_show_value(value)}" for key, value in fields)
    return _escape(f"{base}: {', '.join(shown)}")


def preview_title(name: str, preview: str, *, is_command: bool = False) -> str:
    """Return the title of a call by a preview of its arguments: a command line, or their JSON."""
    if is_command and preview:
        return call_title(name, {"command": preview})
    fields = _read_fields(preview) if preview.startswith("{") else None
    if fields is not None:
        return call_title(name, fields)
    base = name or "tool"
    return _escape(f"{base}: {_cut(preview)}" if preview else base)


def _read_fields(text: str) -> dict[str, Any] | None:
    """Return the fields of a JSON object that may be cut off at its end; None if it is none."""
    decoder, found, at = json.JSONDecoder(), dict[str, Any](), 1
    while at < len(text) and text[at] == '"':
        try:
            name, at = decoder.raw_decode(text, at)
        except ValueError:
            break
        if text[at : at + 2] != ": ":
            return None
        at += 2
        try:
            found[name], at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            found[name] = text[at:].removeprefix('"')
            break
        at += 2 if text[at : at + 2] == ", " else 0
    return found or None


def call_kind(name: str) -> str:
    """Return the kind of tool, by the first of these words in its name. A todo tool is `other`, as in Hermes."""
    if known_kind(name) == "todo":
        return "other"
    lower = name.lower()
    return next((kind for kind, words in _KINDS if any(word in lower for word in words)), "other")


def call_content(result: Any) -> list[dict[str, Any]] | None:
    """Return the text of a result: itself, its text blocks, or its `text`, `message` or `error`; else None."""
    texts: list[str] = [result] if isinstance(result, str) else []
    if isinstance(result, Mapping):
        fields = cast("Mapping[Any, Any]", result)
        blocks = fields.get("content")
        texts = list(filter(None, map(_read_block, cast("list[Any]", blocks) if isinstance(blocks, list) else [])))
        if not texts:
            named = (fields.get(key) for key in ("text", "message", "error"))
            texts = [text for text in named if isinstance(text, str)][:1]
    shown = [{"type": "text", "text": repair(text)} for text in texts if text.strip()]
    return [{"type": "content", "content": block} for block in shown] or None


def _read_block(block: Any) -> str:
    if not isinstance(block, Mapping):
        return ""
    fields = cast("Mapping[Any, Any]", block)
    text = fields.get("text")
    return text if fields.get("type") == "text" and isinstance(text, str) and text.strip() else ""


def _show_value(value: Any) -> str:
    if isinstance(value, str):
        return _cut(value)
    try:
        return _cut(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=lambda _: None))
    except (TypeError, ValueError, RecursionError):
        return "…"


def _cut(text: str) -> str:
    if len(text) <= LONGEST_VALUE:
        return text
    return cut(repair(text[:_WINDOW]), LONGEST_VALUE, "") + _MORE


def _escape(text: str) -> str:
    """Return one line, invisible characters as escapes, without those that change the direction of text."""

    def escape(found: re.Match[str]) -> str:
        char = found[0]
        return _NAMED.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}")

    return clean(_CONTROLS.sub(escape, repair(text)), lines=False).text


_MOST_CALLS: Final = 1_024
"""Calls that are remembered: a host may never report an end, and a session may last for weeks."""


class AcpCalls:
    """The calls of one session. Bounded: of more than 1,024 open calls the oldest is forgotten."""

    def __init__(self) -> None:
        self._open: dict[str, list[Place]] = {}
        self._ended: dict[str, None] = {}
        self._given_up: dict[str, list[Place]] = {}

    def knows(self, call_id: str) -> bool:
        """True if the call has begun, even if it has ended."""
        return call_id in self._open or call_id in self._ended

    @property
    def running(self) -> Collection[str]:
        """The calls that have begun and not ended."""
        return self._open.keys()

    def start(
        self,
        call_id: str,
        name: str,
        arguments: Any = None,
        *,
        title: str | None = None,
        found: Iterable[Place] = (),
        meta: dict[str, Any] | None = None,
    ) -> Update | None:
        """Begin a call. `title` and the places `found` are for callers that do not have its arguments."""
        if not call_id or self.knows(call_id):
            return None
        arguments = raw(arguments)
        known = places(arguments, list(found))
        self._open[call_id] = known or []
        _trim(self._open)
        return _make_update(
            "tool_call",
            call_id,
            status="in_progress",
            title=call_title(name, arguments) if title is None else title,
            kind=call_kind(name),
            rawInput=arguments,
            locations=known,
            _meta=meta,
        )

    def update(self, call_id: str, partial: Any = None, *, meta: dict[str, Any] | None = None) -> Update | None:
        """Report partial output of a call."""
        if not call_id or call_id in self._ended:
            return None
        partial = raw(partial)
        return _make_update(
            "tool_call_update",
            call_id,
            status="in_progress",
            rawOutput=partial,
            content=call_content(partial),
            locations=places(self._open.get(call_id, []), partial),
            _meta=meta,
        )

    def finish(
        self,
        call_id: str,
        result: Any = None,
        *,
        is_error: bool = False,
        found: Iterable[Place] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Update | None:
        """End a call, perhaps one that was given up. `found` is for callers that know only a preview."""
        if not call_id or (call_id in self._ended and call_id not in self._given_up):
            return None
        begun, result = self._given_up.pop(call_id, None) or self._end(call_id), raw(result)
        return _make_update(
            "tool_call_update",
            call_id,
            status="failed" if is_error else "completed",
            rawOutput=result,
            content=call_content(result),
            locations=places(begun, result if found is None else list(found)),
            _meta=meta,
        )

    def give_up(self, call_ids: Iterable[str] | None = None) -> list[Update]:
        """End the open calls, or these of them: nobody waits for them any more."""
        wanted = list(self._open) if call_ids is None else [each for each in call_ids if each in self._open]
        for call_id in wanted:
            self._given_up[call_id] = self._end(call_id)
            _trim(self._given_up)
        meta = {f"{OURS}outcome": "abandoned"}
        return [_make_update("tool_call_update", call_id, status="failed", _meta=meta) for call_id in wanted]

    def _end(self, call_id: str) -> list[Place]:
        self._ended[call_id] = None
        _trim(self._ended)
        return self._open.pop(call_id, [])


def _make_update(what: str, call_id: str, **fields: Any) -> Update:
    """Return an update without the unknown fields."""
    known = {name: value for name, value in fields.items() if value is not None}
    return {"sessionUpdate": what, "toolCallId": call_id, **known}


def _trim(calls: dict[str, Any]) -> None:
    if len(calls) > _MOST_CALLS:
        del calls[next(iter(calls))]


# A list as a plan.


CANCELLED: Final = "[cancelled] "
_SHOWN: Final = {Status.CANCELLED: "completed", Status.BLOCKED: "pending", Status.FAILED: "pending"}
_PRIORITIES: Final = frozenset({"high", "medium", "low"})


def plan(todos: TodoList) -> Update:
    """Return the list as the one plan of a session; an empty list clears it."""
    return {"sessionUpdate": "plan", "entries": plan_entries(todos), "_meta": _make_list_meta(todos)}


def plan_update(todos: TodoList, *, plan_id: str) -> Update:
    """Return the list as one plan of several, for clients that said `clientCapabilities.plan`."""
    items = {"type": "items", "planId": plan_id, "entries": plan_entries(todos)}
    return {"sessionUpdate": "plan_update", "plan": items, "_meta": _make_list_meta(todos)}


def plan_text(text: str, *, plan_id: str) -> Update:
    """Return a plan that waits for approval, as Markdown; for the same clients."""
    return {"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": plan_id, "content": text}}


def plan_removed(plan_id: str) -> Update:
    return {"sessionUpdate": "plan_removed", "planId": plan_id}


def plan_entries(todos: TodoList) -> list[dict[str, Any]]:
    return [_make_entry(item) for item in todos.items]


def _make_entry(item: TodoItem) -> dict[str, Any]:
    content = item.content if item.content.strip() else item.aliases.get("hermes", item.id)
    given = (item.priority or "").lower()
    return {
        "content": f"{CANCELLED}{content}" if item.status is Status.CANCELLED else content,
        "priority": given if given in _PRIORITIES else "medium",
        "status": _SHOWN.get(item.status, item.status.value),
        "_meta": _make_item_meta(item, given),
    }


def _make_item_meta(item: TodoItem, priority: str) -> dict[str, Any]:
    known: dict[str, Any] = {
        "id": item.id,
        "active_form": item.active_form,
        "status": item.status.value if item.status in _SHOWN else None,
        "priority": item.priority if priority not in _PRIORITIES else None,
        "phase": item.phase,
        "parent": item.parent,
        "blocker": item.blocker.reason if item.blocker is not None else None,
        "waits_on": item.blocker.on if item.blocker is not None else None,
        "evidence": [evidence.text for evidence in item.evidence],
        "grade": item.grade,
    }
    return {f"{OURS}{name}": value for name, value in known.items() if value}


def _make_list_meta(todos: TodoList) -> dict[str, Any]:
    meta: dict[str, Any] = {f"{OURS}revision": todos.revision}
    return meta | ({f"{OURS}explanation": todos.explanation} if todos.explanation else {})


_UNDECIDED: Final = frozenset({"approval.rejected", "approval.superseded"})


class Updates:
    """The updates of one session. `plans`: the client takes `plan_update`.

    `look` is asked for a list of which events are missing.
    """

    def __init__(self, session: str, agent: str = "main", *, plans: bool = False, look: Look | None = None) -> None:
        self.session = session
        self.agent = agent
        self.plans = plans
        self.calls = AcpCalls()
        self.lists = Lists(look)
        self._open: dict[str, dict[str, None]] = {}
        self._sent: dict[str, Any] = {}
        self._texts: dict[str, str] = {}

    def begin(
        self, todos: TodoList, others: Mapping[str, TodoList] | None = None, waiting: Iterable[Plan] = ()
    ) -> list[Update]:
        """Return the present list, before anything else is sent; earlier events are skipped then.

        A client that takes plans is also sent those of `others`, by their names, and plans that wait for approval.
        """
        self._open[self.agent] = dict.fromkeys(self.calls.running)
        lists = {self.agent: todos, **(others or {})}
        for agent, known in lists.items():
            self.lists.know(self.session, agent, known)
        updates = [update for agent, known in lists.items() if known.items for update in self._show_plan(agent, known)]
        texts = [update for plan in waiting for update in self._show_waiting(plan.id, plan.text)] if self.plans else []
        return updates + texts

    def add(self, event: Event) -> list[Update]:
        """Return the updates of one event, in order."""
        if event.session != self.session or event.agent is None:
            return []
        if event.kind in REPORTS:
            return self._show_call(event.agent, event)
        if event.kind in TURN_ENDS:
            return self.calls.give_up(self._open.pop(event.agent, {}))
        if event.kind.startswith("approval."):
            return self._show_approval(event.kind, event.data) if self.plans else []
        change = self.lists.add(event)
        if change is not None:
            return self._show_plan(event.agent, change.shown)
        if event.kind == "list.confirmed" and event.agent in self._sent:  # a finished list is no longer shown
            return self._show_plan(event.agent, self.lists.known(self.session, event.agent))
        return []

    def _show_plan(self, agent: str, todos: TodoList) -> list[Update]:
        if agent != self.agent and not self.plans:
            return []
        update = plan_update(todos, plan_id=agent) if self.plans else plan(todos)
        said = update["plan"] if self.plans else update["entries"]
        if self._sent.get(agent) == said:
            return []
        self._sent[agent] = said
        return [update]

    def _show_approval(self, kind: str, data: Mapping[str, Any]) -> list[Update]:
        plan = str(data.get("plan", ""))
        if kind == "approval.proposed":
            return self._show_waiting(plan, str(data.get("text", "")))
        if kind not in _UNDECIDED:
            return []
        self._texts.pop(plan, None)
        return [plan_removed(f"plan:{plan}")]

    def _show_waiting(self, plan: str, text: str) -> list[Update]:
        if self._texts.get(plan) == text:
            return []
        self._texts[plan] = text
        return [plan_text(text, plan_id=f"plan:{plan}")]

    def _show_call(self, agent: str, event: Event) -> list[Update]:
        report = call_from(event.kind, event.data, event.at, event.seq)
        call_id = report.id if agent == self.agent else f"{agent}/{report.id}"
        meta = _make_meta(agent if agent != self.agent else "", report)
        updates: list[Update | None] = []
        if not self.calls.knows(call_id) and report.name:
            title = preview_title(report.name, report.preview, is_command=report.kind == "shell")
            found = [*_read_places(event.data), *({"path": path} for path in report.files)]
            updates.append(self.calls.start(call_id, report.name, title=title, found=found, meta=meta))
        if call_id in self.calls.running:  # perhaps started by the host itself
            self._open.setdefault(agent, {})[call_id] = None
        if report.finished is not None:
            self._open.get(agent, {}).pop(call_id, None)
            failed = report.outcome == "failed"
            updates.append(
                self.calls.finish(
                    call_id, report.result or None, is_error=failed, found=_read_places(event.data), meta=meta
                )
            )
        elif report.started is None:
            updates.append(self.calls.update(call_id, report.preview or None, meta=meta))
        return [update for update in updates if update is not None]


def replay(
    events: Iterable[Event], session: str, agent: str = "main", *, plans: bool = False, look: Look | None = None
) -> Iterator[Update]:
    """Yield all updates of a session, from a record that begins with it. Calls still open are given up at the end."""
    updates = Updates(session, agent, plans=plans, look=look)
    for event in events:
        yield from updates.add(event)
    yield from updates.calls.give_up()


def _read_places(data: Mapping[str, Any]) -> list[Place]:
    found = data.get("places")
    return [place for place in cast("list[Any]", found) if isinstance(place, dict)] if isinstance(found, list) else []


def _make_meta(agent: str, report: ToolCall) -> dict[str, Any] | None:
    """Return whose call it is, if another agent's; the item that it belongs to; the outcome of a check."""
    known = {"agent": agent, "item": report.item, "check_outcome": report.check_outcome}
    return {f"{OURS}{name}": value for name, value in known.items() if value} or None

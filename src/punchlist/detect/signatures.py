"""Signatures of calls and results, by OpenClaw's rules: two calls are the same if their signatures are.

A call that writes a todo list counts by the list's shape, because new words for the same steps are no progress. A
result counts without what changes in every one of its kind, such as the id of a message that was sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, Literal, NamedTuple, cast

from punchlist.detect.refusals import is_refusal, may_be_refusal, may_refuse
from punchlist.detect.stable_json import CHARACTERS, KEYS, TEXT, UNDEFINED, digest, fields, stable
from punchlist.text import repair
from punchlist.text.arguments import as_object

Reading = Literal["plain", "exec", "poll", "log", "send", "plan"]
"""Ways to read the result of a call."""

LONGEST = 128
"""Characters of a name or id that are kept; what is longer is kept by its beginning and its hash."""

_POLLS: Mapping[str, Reading] = {"poll": "poll", "log": "log"}
_SENDING = frozenset(
    {"send", "broadcast", "reply", "thread-reply", "sendWithEffect", "sendAttachment", "upload-file", "sticker", "poll"}
)
_CHANNELS = frozenset(
    {"telegram", "whatsapp", "discord", "irc", "googlechat", "slack", "signal", "imessage", "line", "msteams"}
    | {"matrix", "mattermost", "feishu", "nostr", "zalo", "bluebubbles"}
)
_VOLATILE = frozenset(
    {"messageId", "message_id", "messageIds", "platformMessageId", "platformMessageIds", "fileId", "file_id", "fileKey"}
    | {"pollId", "poll_id", "receipt", "runId", "idempotencyKey", "ts", "timestamp", "sentAt", "deliveredAt"}
    | {"createdAt"}
)
_VOLATILE_MESSAGE = _VOLATILE | {"id"}
_UNKNOWN_TOOL = (
    re.compile(r"unknown tool[:\s]+[\"'`]?([a-z0-9_.-]+)", re.IGNORECASE),
    re.compile(r"tool\s+[\"'`]?([a-z0-9_.-]+)[\"'`]?\s+(?:not found|is not available)", re.IGNORECASE),
)
_SEARCHED = 2000


class Sight(NamedTuple):
    """The marks of a call: its tool as a state keeps it, its `signature`, its `reading`, and if it is a known poll."""

    tool: str
    key: str
    way: Reading
    is_poll: bool


class Outcome(NamedTuple):
    """The outcome of a call: the hash of its result, and the tool that turned out not to exist."""

    hash: str | None = None
    unknown_tool: str | None = None


def kept(name: object) -> str:
    """A name or id as a state keeps it: no longer than `LONGEST`, and two that differ stay different."""
    text = name if isinstance(name, str) else stable(name).decode()
    if len(text) <= LONGEST and text.isascii():
        return text
    if len(text) > LONGEST:
        text = f"{text[: LONGEST - 17]}#{digest(text)[:16]}"
    return repair(text)


def signature(tool: str, args: object) -> str:
    """Return the call as one text: its tool, and the hash of its arguments. Never raises."""
    return f"{kept(tool)}:{digest(reduced(tool, args))}"


def sight(tool: str, args: object) -> Sight:
    """Return what a call is known by."""
    read = as_object(args)  # what it is for; its hash is that of what the host gave, unless its shape counts
    key = signature(tool, read if writes_list(tool) else args)
    return Sight(kept(tool), key, reading(tool, read), is_known_poll(tool, read))


def reduced(tool: str, args: object) -> object:
    """The arguments, or for a tool that writes a list the shape of what it writes."""
    shape = list_shape(tool, args)
    return args if shape is None else shape


def is_known_poll(tool: str, args: object) -> bool:
    """True if a call asks how something is getting on, so that it is meant to be repeated."""
    return tool == "command_status" or (tool == "process" and _action(args) in _POLLS)


def reading(tool: str, args: object) -> Reading:
    """Return the way to read the result of this call."""
    if tool == "exec":
        return "exec"
    if tool == "process":
        return _POLLS.get(_action(args), "plain")
    if writes_list(tool):
        return "plain" if list_shape(tool, args) is None else "plan"
    if tool == "sessions_send" or (tool == "message" and _action(args) in _SENDING):
        return "send"
    if tool in _CHANNELS and _action(args) in ("send", "sendMessage"):
        return "send"
    return "plain"


def outcome(way: Reading, result: object, *, is_error: bool) -> Outcome:
    """Return the outcome of a result. None and a refusal of our own have none and are not counted."""
    if is_error:
        if is_refusal(result):
            return Outcome()
        said = _said(result)
        return Outcome(f"error:{digest(said)}", _unknown_tool(said))
    if result is None or (isinstance(result, str) and may_refuse(result) and is_refusal(result)):
        return Outcome()
    if isinstance(result, str) or not isinstance(result, Mapping):  # asked in this order, because that is quicker
        return Outcome(digest({"text": ""} if way == "plan" else result))
    given = fields(cast("object", result))
    text = _text(given)
    if may_be_refusal(given, text) and is_refusal(given):
        return Outcome()
    facts = _facts(way, fields(given.get("details")), text)
    return Outcome(digest(facts, _volatile if way == "send" else None))


def _facts(way: Reading, details: Mapping[str, Any], text: str) -> object:
    """Return the part of a result that counts."""
    match way:
        case "exec":
            return _executed(details, text) or {"details": details, "text": text}
        case "poll":
            extra = {"aggregated": details.get("aggregated")}
        case "log":
            extra = {name: details.get(name) for name in ("totalLines", "totalChars", "truncated")}
        case "send":
            return details
        case "plan":
            return {"details": plan_shape(details), "text": ""}
        case "plain":
            return {"details": details, "text": text}
    ends = {name: details.get(name) for name in ("exitCode", "exitSignal")}
    return {"action": way, "status": details.get("status", UNDEFINED), **ends, **extra, "text": text}


def _executed(details: Mapping[str, Any], text: str) -> object:
    status = details.get("status")
    if status == "running":
        return {"status": status, "tail": _string(details.get("tail"))}
    if status in ("completed", "failed"):
        code = details.get("exitCode")
        is_number = isinstance(code, int | float) and not isinstance(code, bool)
        return {
            "status": status,
            "exitCode": code if is_number else None,
            "timedOut": details.get("timedOut") is True,
            "output": _string(details.get("aggregated")).strip() or text,
        }
    if status in ("approval-pending", "approval-unavailable"):
        named = {name: details.get(name) for name in ("reason", "host")}
        told = {name: _string(details.get(name)) for name in ("command", "warningText")}
        return {"status": status, **{name: x if isinstance(x, str) else None for name, x in named.items()}, **told}
    return None


def _volatile(given: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys that are new in every delivery: ids of messages, times, receipts."""
    return _VOLATILE_MESSAGE if _is_message(given) else _VOLATILE


def _is_message(given: Mapping[str, Any]) -> bool:
    if not (isinstance(given.get("id"), str) and isinstance(given.get("text"), str)):
        return False
    named = (given.get(name) for name in ("direction", "senderId", "accountId"))
    return any(isinstance(value, str) for value in named) or isinstance(given.get("conversation"), Mapping)


def _text(result: Mapping[str, Any]) -> str:
    """The text blocks of a result, joined; of very many, the first."""
    content = result.get("content")
    if not isinstance(content, list):
        return ""
    texts: list[str] = []
    room = CHARACTERS
    for block in map(fields, islice(cast("list[Any]", content), KEYS)):
        text = block.get("text")
        if isinstance(block.get("type"), str) and isinstance(text, str) and room > 0:
            room -= len(text)
            texts.append(text)
    return "\n".join(texts).strip()


def _said(error: object) -> str:
    """Return the text of an error, of bounded length."""
    if isinstance(error, BaseException):
        try:
            return str(error)[: 2 * TEXT] or type(error).__name__
        except Exception:  # an error that cannot even say its name
            return type(error).__name__
    if isinstance(error, str):
        return error
    return stable(error).decode()


def _unknown_tool(said: str) -> str | None:
    for pattern in _UNKNOWN_TOOL:
        if found := pattern.search(said, 0, _SEARCHED):
            return kept(found[1].lower())
    return None


def _action(args: object) -> str:
    return _string(fields(args).get("action"))


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


# Lists: a call that writes one counts by the shape of what it writes.

_TEXTS = ("content", "text", "title", "step", "description")
_TODOS: Mapping[str, tuple[str, ...]] = {"todos": _TEXTS}
_LISTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "update_plan": {"plan": ("step",)},
    "TodoWrite": _TODOS,
    "todowrite": _TODOS,
    "todo": {"todos": _TEXTS, "set": _TEXTS},
    "todos": _TODOS,
    "todo_list": _TODOS,
    "todo_write": {"todos": _TEXTS, "content": (), "ops": ()},
    "write_todos": _TODOS,
    "update_todo_list": _TODOS,
    "SetTodoList": _TODOS,
    "manage_todo_list": {"todoList": _TEXTS},
    "task_tracker": {"task_list": _TEXTS},
}
"""Tools that write a list: where it is in their arguments, and where the text of an item is."""

_WORDS = frozenset({"note", "evidence"})
_SERVERS = ("mcp_", "mcp-", "punchlist_", "punchlist-")
_BETWEEN = re.compile(r"__|[.:/]")
_LONGEST = 200
_BOX = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?\[([^\[\]\n]{0,2})\]")
_JSON = re.compile(r"\s*\[\s*[{\"]")


def writes_list(tool: str) -> bool:
    """True if a call of that tool may write a whole list."""
    return bool(_own_name(tool))


def list_shape(tool: str, args: object) -> object:
    """The shape of the list that a call writes; None for a call that writes no whole list."""
    name = _own_name(tool)
    if not name or not isinstance(args, Mapping):
        return None
    given = fields(cast("object", args))
    if name == "update_plan":
        return plan_shape(given)
    for key, texts in _LISTS[name].items():
        if key in given:
            shape = _shape(key, given, texts)
            if shape is not None:
                return shape
    return None


def plan_shape(args: Mapping[str, Any]) -> object:
    """The original's reduction of `update_plan`, which makes of anything else a plan without steps."""
    given = args.get("plan")
    return _of_entries(cast("list[Any]", given) if isinstance(given, list) else [], args, ("step",))


def _own_name(tool: str) -> str:
    """Return the name of a tool without its server; empty if it writes no list."""
    return tool if tool in _LISTS else _behind_server(tool) if len(tool) <= _LONGEST else ""


def _behind_server(tool: str) -> str:
    name = _BETWEEN.split(tool)[-1]
    if name in _LISTS:
        return name
    ends = [known for known in _LISTS if tool.endswith((f"_{known}", f"-{known}"))] if tool.startswith(_SERVERS) else []
    return max(ends, key=len, default="")


def _shape(key: str, args: Mapping[str, Any], texts: tuple[str, ...]) -> object:
    given: object = args[key]
    if isinstance(given, str):
        given = _read(given)
    if isinstance(given, str):
        return _of_text(given)
    if key == "ops":
        return _of_operations(cast("list[Any]", given)) if isinstance(given, list) else None
    if key == "set":
        return _of_set(given, args, texts)
    return _of_entries(cast("list[Any]", given), args, texts) if isinstance(given, list) else None


def _of_entries(entries: list[Any], args: Mapping[str, Any], texts: tuple[str, ...]) -> dict[str, object]:
    """The statuses of a list and which steps have a text; the ids too, where the steps have some."""
    objects = [fields(entry) for entry in islice(entries, KEYS)]
    statuses = [entry.get("status") for entry in objects]
    shape: dict[str, object] = {
        "planLength": len(entries),
        "statuses": [status if isinstance(status, str) else None for status in statuses],
        "stepPresence": [
            any(_is_text(one.get(name)) for name in texts) or (texts is _TEXTS and _is_text(entry))
            for one, entry in zip(objects, entries, strict=False)
        ],
        "hasExplanation": _is_text(args.get("explanation")),
    }
    if any("id" in entry for entry in objects):
        shape["ids"] = [entry.get("id") for entry in objects]
    return shape


def _of_set(given: object, args: Mapping[str, Any], texts: tuple[str, ...]) -> object:
    """Our own tool: a whole list, or new words by id; with whatever else the call does."""
    rest = {name: value for name, value in args.items() if name != "set" and name not in _WORDS}
    if isinstance(given, list):
        return {**_of_entries(cast("list[Any]", given), args, texts), "rest": rest}
    if isinstance(given, Mapping):
        return {"reworded": sorted(map(str, islice(cast("Mapping[Any, Any]", given), KEYS))), "rest": rest}
    return None


def _of_operations(operations: list[Any]) -> object:
    """oh-my-pi: a new list counts by its length in phases, other operations count in full."""
    made = [_of_operation(operation) for operation in islice(operations, KEYS)]
    return {"ops": made} if any(isinstance(one, _Init) for one in made) else None


class _Init(dict[str, object]):
    """The operation that puts a new list in place of the old one."""


def _of_operation(operation: Any) -> object:
    given = fields(operation)
    if given.get("op") != "init":
        return operation
    phases = given.get("list")
    sizes = (
        [_size(fields(phase).get("items")) for phase in islice(cast("list[Any]", phases), KEYS)]
        if (isinstance(phases, list))
        else []
    )
    return _Init(op="init", phases=sizes, items=_size(given.get("items")))


def _of_text(text: str) -> object:
    """A checklist as text: the boxes of its lines. A text without any box is no list."""
    lines = [line for line in text[:CHARACTERS].splitlines() if line and not line.isspace()]
    boxes = [found[1] if (found := _BOX.match(line)) else None for line in lines[:KEYS]]
    return {"lines": len(lines), "boxes": boxes} if any(box is not None for box in boxes) else None


def _read(text: str) -> object:
    """The list in a text that is JSON, as some models send it; else the text."""
    if len(text) > CHARACTERS or not _JSON.match(text):
        return text
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError):
        return text


def _size(value: object) -> int | None:
    return len(cast("list[Any]", value)) if isinstance(value, list) else None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())

"""Sign calls and results, by OpenClaw's rules: two calls are the same if their signatures are.

A signature hashes any value as one text: the same whatever the order of its keys, and of bounded length. A call that
writes a todo list counts by the list's shape, because new words for the same steps are no progress. A result counts
without what changes in every one of its kind, such as the id of a message that was sent. A result that holds one of
our own verdicts is a refusal: the host did not run the call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from json.encoder import encode_basestring
from math import isfinite, isnan
from typing import Any, Final, Literal, NamedTuple, cast

from punchlist.text import repair
from punchlist.text.arguments import as_object
from punchlist.text.hashing import hash_sha256
from punchlist.text.patterns import compile_later

_LOOP: Final = compile_later(
    r"CRITICAL: (?:attempted unavailable tool |Called .{1,400} with identical arguments and |"
    r"You are alternating between repeated tool-call patterns|"
    r".{1,400} has repeated identical no-progress outcomes |tool .{1,400} repeated \d+ times with identical)|"
    r"\d+ calls in a row failed, whatever the tool\."
)
_GUARDRAIL: Final = compile_later(
    r"(?:with the same arguments it failed|it gave the same answer|this turn has (?:made|started)) \d"
)
"""Beginnings of critical verdicts; those of the guardrail come after the name of the tool."""

_NOT_RUN: Final = " was not run: "
_HALTED: Final = " times in this turn, so the turn stops here."
_LONGEST: Final = 600
"""Characters within which a verdict has said what it is."""

_ERROR: Final = "Error: "
"""Words that hosts put in front."""

_SIGNS: Final = ("CRITICAL: ", "tool-loop", "guardrail", " calls in a row failed", _NOT_RUN, _HALTED)
"""One of these is in every refusal that is written as JSON."""

_OPENINGS: Final = frozenset("C{[")
_PLACES: Final = ("text", "error", "message", "reason", "content", "output", "result")
_MOST: Final = 65_536
"""Characters of JSON that are read; a refusal is short."""

_BLOCKS: Final = 8
_DEEPEST: Final = 6


def may_refuse(result: str) -> bool:
    """True if a text begins like a verdict on a loop, or like JSON. Most results do neither."""
    return result[:1] in _OPENINGS


def is_refusal(result: object) -> bool:
    """True if a result is a verdict of ours, in whatever form. Never raises."""
    try:
        return _refuses(result, _DEEPEST)
    except Exception:  # an object that cannot be read is no verdict
        return False


def _refuses(result: object, depth: int) -> bool:
    if isinstance(result, str):
        return _is_verdict(result, depth)
    if depth <= 0 or result is None:
        return False
    if isinstance(result, Mapping):
        return _is_object(fields(cast("object", result)), depth - 1)
    if isinstance(result, list | tuple):
        return any(_refuses(block, depth - 1) for block in islice(cast("list[Any]", result), _BLOCKS))
    return isinstance(result, BaseException) and _is_verdict(str(result), depth)


def _is_verdict(text: str, depth: int) -> bool:
    opening = text[:_BLOCKS].lstrip()[:1]
    if opening not in ("{", "["):
        said = text.removeprefix(_ERROR)[:_LONGEST]
        name, found, rest = said.partition(_NOT_RUN)
        is_guarded = bool(found and name) and _GUARDRAIL.match(rest) is not None
        return is_guarded or _LOOP.match(said) is not None or _HALTED in said
    if depth <= 0 or len(text) > _MOST or not any(sign in text for sign in _SIGNS):
        return False
    try:
        return _refuses(json.loads(text), depth - 1)
    except (ValueError, RecursionError):
        return False


def _is_object(given: Mapping[str, Any], depth: int) -> bool:
    """OpenClaw's and Hermes' own objects, or one with a verdict where objects have their text."""
    details, guardrail = fields(given.get("details")), fields(given.get("guardrail"))
    if details.get("status") == "blocked" and details.get("deniedReason") == "tool-loop":
        return True
    if guardrail.get("action") in ("block", "halt"):
        return True
    return any(_refuses(given[place], depth) for place in _PLACES if place in given)


DEEPEST = 64
NODES = 10_000
KEYS = 4096
TEXT = 65_536
"""Characters of one text; of a longer one its two ends and its length count."""
CHARACTERS = 4 * TEXT
"""Characters of all texts together; what comes after them counts by its length and its first and last few."""

UNDEFINED = object()
"""JavaScript's `undefined`, written as that bare word."""

_ENDS = 64
_SAFE_INTEGER = 2**53
_LARGEST = 4096
"""Bits of an integer that is written out."""
SCALARS = frozenset({"datetime", "decimal", "fractions", "ipaddress", "pathlib", "pathlib._local", "uuid"})
"""Modules of types that are told by their text."""
_EXPONENT = compile_later(r"(-?)(\d)(?:\.(\d+))?e([+-])0*(\d+)")


def fields(value: object) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


LeavingOut = Callable[[Mapping[str, Any]], Collection[str]]
"""The keys of an object that do not count."""


def digest(value: object, leaving_out: LeavingOut | None = None) -> str:
    """Return the SHA-256 of a value's stable form, in hex. Never raises."""
    return hash_sha256(stable(value, leaving_out))


def stable(value: object, leaving_out: LeavingOut | None = None) -> bytes:
    """Return a value's stable form in UTF-8, lone surrogates replaced. Never raises."""
    if type(value) is str and value.isascii() and len(value) <= TEXT:
        return encode_basestring(value).encode()
    writer = _Writer(leaving_out)
    try:
        writer.write(value, DEEPEST)
        text = "".join(writer.parts)
    except Exception:  # a mapping that cannot be read, a stack that is nearly full: any value has a form
        text = f'"[{type(value).__name__}]"'
    try:
        return text.encode()
    except UnicodeEncodeError:
        return repair(text).encode()


class _Writer:
    """Collects the parts of one text, and counts what may still be written."""

    __slots__ = ("characters", "leaving_out", "nodes", "parts", "path")

    def __init__(self, leaving_out: LeavingOut | None) -> None:
        self.leaving_out = leaving_out
        self.parts: list[str] = []
        self.path: set[int] = set()
        self.nodes = NODES
        self.characters = CHARACTERS

    def write(self, value: Any, depth: int) -> None:
        kind = cast("type[object]", type(value))
        if kind is str:
            self.text(value)
        elif value is None:
            self.parts.append("null")
        elif kind is bool:
            self.parts.append("true" if value else "false")
        elif kind is int:
            self.parts.append(_format_integer(value))
        elif kind is float:
            self.parts.append(_format_float(value))
        elif depth <= 0:
            self.parts.append('"[Deep]"')
        elif value is UNDEFINED:
            self.parts.append("undefined")
        elif id(value) in self.path:
            self.parts.append('"[Circular]"')
        else:
            self.path.add(id(value))
            self.whole(value, depth - 1)
            self.path.discard(id(value))

    def text(self, value: str) -> None:
        most = TEXT if self.characters > 0 else 2 * _ENDS
        if len(value) > most:
            self.parts.append(f"[{len(value)}]")
            value = value[: most // 2] + value[-most // 2 :]
        self.characters -= len(value)
        self.parts.append(encode_basestring(value))

    def whole(self, value: Any, depth: int) -> None:
        """Add a value that holds others, or is of a type that JSON does not have."""
        if isinstance(value, Mapping):
            self.object(cast("Mapping[Any, Any]", value), depth)
        elif isinstance(value, list | tuple):
            self.array(cast("list[Any]", value), depth)
        elif isinstance(value, str):
            self.text(str.__str__(value))
        elif isinstance(value, int | float):
            self.parts.append(_format_integer(int(value)) if isinstance(value, int) else _format_float(float(value)))
        elif isinstance(value, bytes | bytearray):
            from base64 import b64encode

            data = b64encode(value[:TEXT]).decode()
            more = {"length": len(value)} if len(value) > TEXT else {}
            self.object({"type": "Uint8Array", "data": data, **more}, depth)
        elif isinstance(value, set | frozenset):
            entries = cast("frozenset[Any]", value)
            few = len(entries) <= _ENDS  # their order differs from process to process: a part of them says nothing
            self.array(sorted(digest(entry) for entry in entries) if few else [len(entries)], depth)
        elif isinstance(value, BaseException):
            self.object({"name": type(value).__name__, "message": str(value)}, depth)
        elif type(value).__module__ in SCALARS:
            self.text(str(value))
        else:
            self.text(f"[{type(value).__name__}]")

    def object(self, value: Mapping[Any, Any], depth: int) -> None:
        if len(value) > KEYS:
            self.parts.append(f'{{"[keys]":{len(value)}}}')
            return
        parts, opening = self.parts, "{"
        left_out = self.leaving_out(value) if self.leaving_out else ()
        for name, key in _sort_names(value):
            if name in left_out:
                continue
            if not self._begin_entry(opening, len(value)):
                opening = ","
                break
            self.text(name)
            parts.append(":")
            self.write(value[key], depth)
            opening = ","
        parts.append("{}" if opening == "{" else "}")

    def array(self, value: list[Any], depth: int) -> None:
        for place, entry in enumerate(value):
            if not self._begin_entry("," if place else "[", len(value)):
                break
            self.write(entry, depth)
        self.parts.append("]" if value else "[]")

    def _begin_entry(self, opening: str, count: int) -> bool:
        """Write the sign before an entry; where there is no room for it, write the count of all and return False."""
        if self.nodes <= 0:
            self.parts.append(f"{opening}…{count}")
            return False
        self.nodes -= 1
        self.parts.append(opening)
        return True


def _sort_names(value: Mapping[Any, Any]) -> Iterable[tuple[str, Any]]:
    """Return the keys in order, each with its name."""
    if all(type(key) is str for key in value):
        keys = cast("Iterable[str]", value)
        ordered = sorted(keys) if "".join(keys).isascii() else sorted(keys, key=_encode_units)
        return ((key, key) for key in ordered)
    named = [(_name(key), key) for key in value]
    return sorted(named, key=lambda pair: (_encode_units(pair[0]), type(pair[1]).__name__))


def _name(key: object) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    return stable(key).decode().strip('"')


def _encode_units(name: str) -> bytes:
    """Names are ordered as in JavaScript: by their UTF-16 units."""
    return name.encode("utf-16-be", "surrogatepass")


def _format_integer(value: int) -> str:
    if -_SAFE_INTEGER <= value <= _SAFE_INTEGER:
        return str(value)
    bits = value.bit_length()
    if bits <= _LARGEST:
        return f'"{value}"'
    sign = "-" if value < 0 else ""
    return f'"{sign}{bits} bits, {abs(value) >> (bits - 2048):x}…{abs(value) & ((1 << 2048) - 1):x}"'


def _format_float(value: float) -> str:
    """As JavaScript prints it."""
    if not isfinite(value):
        return '"NaN"' if isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    text = repr(value)
    found = _EXPONENT.fullmatch(text)
    if found is None:
        return text
    sign, first, rest, direction, exponent = found.groups(default="")
    if direction == "-" and int(exponent) <= 6:
        return f"{sign}0.{'0' * (int(exponent) - 1)}{first}{rest}"
    return f"{sign}{first}{'.' + rest if rest else ''}e{direction}{exponent}"


def is_plain(value: object) -> bool:
    """True if a value is JSON and within the limits, so that any encoder may have it."""
    nodes, characters = NODES, CHARACTERS
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        below: list[Any] = []
        for entry in level:
            kind = cast("type[object]", type(entry))
            if kind is str:
                characters -= len(entry)
            elif kind is dict:
                nodes -= len(entry)
                if nodes <= 0 or not all(type(key) is str for key in entry):
                    return False
                characters -= sum(map(len, entry))
                below.extend(entry.values())
            elif kind is list:
                nodes -= len(entry)
                if nodes <= 0:
                    return False
                below.extend(entry)
            elif kind is int:
                if entry.bit_length() > _LARGEST:
                    return False
            elif not (entry is None or kind is bool or kind is float):
                return False
        if characters < 0:
            return False
        if not below:
            return True
        level = below
    return False


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
_UNKNOWN_TOOL = (
    compile_later(r"unknown tool[:\s]+[\"'`]?([a-z0-9_.-]+)", re.IGNORECASE),
    compile_later(r"tool\s+[\"'`]?([a-z0-9_.-]+)[\"'`]?\s+(?:not found|is not available)", re.IGNORECASE),
)
_SEARCHED = 2000


class Sight(NamedTuple):
    """The marks of a call: its tool as a state keeps it, its `signature`, its `reading`, and if it is a known poll,
    which is meant to be repeated."""

    tool: str
    key: str
    way: Reading
    is_poll: bool


class Outcome(NamedTuple):
    """The outcome of a call: the hash of its result, and the tool that turned out not to exist."""

    hash: str | None = None
    unknown_tool: str | None = None


def shorten_id(name: object) -> str:
    """Return a name or id of at most `LONGEST` characters; two that differ stay different."""
    text = name if isinstance(name, str) else stable(name).decode()
    if len(text) <= LONGEST and text.isascii():
        return text
    if len(text) > LONGEST:
        text = f"{text[: LONGEST - 17]}#{digest(text)[:16]}"
    return repair(text)


def signature(tool: str, args: object) -> str:
    """Return the call as one text: its tool, and the hash of its arguments or of the list's shape. Never raises."""
    shape = list_shape(tool, args)
    return f"{shorten_id(tool)}:{digest(args if shape is None else shape)}"


def sight(tool: str, args: object) -> Sight:
    """Return the tool, key and way of reading of a call."""
    read = as_object(args)  # what it is for; its hash is that of what the host gave, unless its shape counts
    key = signature(tool, read if writes_list(tool) else args)
    is_poll = tool == "command_status" or (tool == "process" and _find_action(read) in _POLLS)
    return Sight(shorten_id(tool), key, reading(tool, read), is_poll)


def reading(tool: str, args: object) -> Reading:
    """Return the way to read the result of this call."""
    if tool == "exec":
        return "exec"
    if tool == "process":
        return _POLLS.get(_find_action(args), "plain")
    if writes_list(tool):
        return "plain" if list_shape(tool, args) is None else "plan"
    if tool == "sessions_send" or (tool == "message" and _find_action(args) in _SENDING):
        return "send"
    if tool in _CHANNELS and _find_action(args) in ("send", "sendMessage"):
        return "send"
    return "plain"


def outcome(way: Reading, result: object, *, is_error: bool) -> Outcome:
    """Return the outcome of a result. None and a refusal of our own have none and are not counted."""
    if is_error:
        if is_refusal(result):
            return Outcome()
        said = _error_text(result)
        missing = next(filter(None, (pattern.search(said, 0, _SEARCHED) for pattern in _UNKNOWN_TOOL)), None)
        return Outcome(f"error:{digest(said)}", None if missing is None else shorten_id(missing[1].lower()))
    if result is None or (isinstance(result, str) and may_refuse(result) and is_refusal(result)):
        return Outcome()
    if isinstance(result, str) or not isinstance(result, Mapping):  # asked in this order, because that is quicker
        return Outcome(digest({"text": ""} if way == "plan" else result))
    given = fields(cast("object", result))
    text, details = _join_text(given), fields(given.get("details"))
    may_be = may_refuse(text) or "error" in given or "guardrail" in given or "deniedReason" in details
    if may_be and is_refusal(given):
        return Outcome()
    facts = _select_facts(way, details, text)
    return Outcome(digest(facts, _find_volatile if way == "send" else None))


def _select_facts(way: Reading, details: Mapping[str, Any], text: str) -> object:
    match way:
        case "exec":
            return _select_exec_facts(details, text) or {"details": details, "text": text}
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


def _select_exec_facts(details: Mapping[str, Any], text: str) -> object:
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


def _find_volatile(given: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys that are new in every delivery: ids of messages, times, receipts."""
    if not (isinstance(given.get("id"), str) and isinstance(given.get("text"), str)):
        return _VOLATILE
    named = any(isinstance(given.get(name), str) for name in ("direction", "senderId", "accountId"))
    return _VOLATILE | {"id"} if named or isinstance(given.get("conversation"), Mapping) else _VOLATILE


def _join_text(result: Mapping[str, Any]) -> str:
    """Join the text blocks of a result; of very many, the first."""
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


def _error_text(error: object) -> str:
    """Return the text of an error, of bounded length."""
    if isinstance(error, BaseException):
        try:
            return str(error)[: 2 * TEXT] or type(error).__name__
        except Exception:  # an error that cannot even say its name
            return type(error).__name__
    if isinstance(error, str):
        return error
    return stable(error).decode()


def _find_action(args: object) -> str:
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
_BETWEEN = compile_later(r"__|[.:/]")
_LONGEST_NAME = 200
_BOX = compile_later(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?\[([^\[\]\n]{0,2})\]")
_JSON = compile_later(r"\s*\[\s*[{\"]")


def writes_list(tool: str) -> bool:
    """True if a call of that tool may write a whole list."""
    return bool(_find_list_tool(tool))


def list_shape(tool: str, args: object) -> object:
    """Return the shape of the list that a call writes; None for a call that writes no whole list."""
    name = _find_list_tool(tool)
    if not name or not isinstance(args, Mapping):
        return None
    given = fields(cast("object", args))
    if name == "update_plan":
        return plan_shape(given)
    for key, texts in _LISTS[name].items():
        if key in given:
            shape = _reduce_list(key, given, texts)
            if shape is not None:
                return shape
    return None


def plan_shape(args: Mapping[str, Any]) -> object:
    """Reduce `update_plan` like the original, which reads anything else as a plan without steps."""
    given = args.get("plan")
    return _reduce_entries(cast("list[Any]", given) if isinstance(given, list) else [], args, ("step",))


def _find_list_tool(tool: str) -> str:
    """Return the name of a tool without its server; empty if it writes no list."""
    if tool in _LISTS or len(tool) > _LONGEST_NAME:
        return tool if tool in _LISTS else ""
    name = _BETWEEN.split(tool)[-1]
    if name in _LISTS:
        return name
    ends = [known for known in _LISTS if tool.endswith((f"_{known}", f"-{known}"))] if tool.startswith(_SERVERS) else []
    return max(ends, key=len, default="")


def _reduce_list(key: str, args: Mapping[str, Any], texts: tuple[str, ...]) -> object:
    given: object = args[key]
    if isinstance(given, str):
        given = _parse_list(given)
    if isinstance(given, str):
        return _reduce_text(given)
    if key == "ops":
        return _reduce_operations(cast("list[Any]", given)) if isinstance(given, list) else None
    if key == "set":
        return _reduce_set(given, args, texts)
    return _reduce_entries(cast("list[Any]", given), args, texts) if isinstance(given, list) else None


def _reduce_entries(entries: list[Any], args: Mapping[str, Any], texts: tuple[str, ...]) -> dict[str, object]:
    """Return the statuses of a list, and True per step with a text; the ids too, if the steps have any."""
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


def _reduce_set(given: object, args: Mapping[str, Any], texts: tuple[str, ...]) -> object:
    """Reduce a call of our own tool: a whole list, or new words by id, and the rest of the call."""
    rest = {name: value for name, value in args.items() if name != "set" and name not in _WORDS}
    if isinstance(given, list):
        return {**_reduce_entries(cast("list[Any]", given), args, texts), "rest": rest}
    if isinstance(given, Mapping):
        return {"reworded": sorted(map(str, islice(cast("Mapping[Any, Any]", given), KEYS))), "rest": rest}
    return None


def _reduce_operations(operations: list[Any]) -> object:
    """Reduce operations of oh-my-pi: a new list counts by its length in phases, others count in full."""
    made = list[Any]()
    has_init = False
    for operation in islice(operations, KEYS):
        given = fields(operation)
        if given.get("op") == "init":
            has_init = True
            phases = given.get("list")
            phases = islice(cast("list[Any]", phases), KEYS) if isinstance(phases, list) else ()
            sizes = [_size(fields(phase).get("items")) for phase in phases]
            made.append({"op": "init", "phases": sizes, "items": _size(given.get("items"))})
        else:
            made.append(operation)
    return {"ops": made} if has_init else None


def _reduce_text(text: str) -> object:
    """Return the boxes of a checklist in a text. A text without any box is not a list."""
    lines = [line for line in text[:CHARACTERS].splitlines() if line and not line.isspace()]
    boxes = [found[1] if (found := _BOX.match(line)) else None for line in lines[:KEYS]]
    return {"lines": len(lines), "boxes": boxes} if any(box is not None for box in boxes) else None


def _parse_list(text: str) -> object:
    """Return the list in a JSON text, as some models send it; else the text."""
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

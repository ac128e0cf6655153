"""Sign calls and results, by OpenClaw's rules: two calls are the same if their signatures are.

A signature holds a hash of the arguments, without their secrets and whatever the order of their keys. A call that
writes a todo list counts by the list's shape, because new words for the same steps are no progress. A result counts
without what changes in every one of its kind, such as the id of a message that was sent. A result that holds one of
our own verdicts is a refusal: the host did not run the call.
"""

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, Literal, NamedTuple, cast

from punchlist.text import repair
from punchlist.text.hashing import blake2b
from punchlist.text.patterns import compile_later
from punchlist.text.tool_values import KEYS, UNKEYED, Signer, as_object, bounded_json, parse_json

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
    if depth <= 0 or not any(sign in text for sign in _SIGNS):
        return False
    return _refuses(parse_json(text, _MOST), depth - 1)


def _is_object(given: Mapping[str, Any], depth: int) -> bool:
    """OpenClaw's and Hermes' own objects, or one with a verdict where objects have their text."""
    details, guardrail = fields(given.get("details")), fields(given.get("guardrail"))
    if details.get("status") == "blocked" and details.get("deniedReason") == "tool-loop":
        return True
    if guardrail.get("action") in ("block", "halt"):
        return True
    return any(_refuses(given[place], depth) for place in _PLACES if place in given)


TEXT = 65_536
CHARACTERS = 4 * TEXT
"""Characters of a text, and of all texts of a result, that are read."""


def fields(value: object) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


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
    """The outcome of a call: the hash of its result, and the tool that turned out not to exist.

    `may_have_run` is False where the result is missing, or is a refusal of ours.
    """

    hash: str | None = None
    unknown_tool: str | None = None
    may_have_run: bool = False


def shorten_id(name: object) -> str:
    """Return a name or id of at most `LONGEST` characters; two that differ stay different."""
    text = repair(name if isinstance(name, str) else bounded_json(name))
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - 17]}#{blake2b(text.encode(), digest_size=8).hexdigest()}"


def signature(tool: str, args: object, signer: Signer = UNKEYED) -> str:
    """Return the call as one text: its tool, and the hash of its arguments or of the list's shape. Never raises."""
    shape = list_shape(tool, args)
    return f"{shorten_id(tool)}:{signer.digest(args if shape is None else shape)}"


def sight(tool: str, args: object, signer: Signer = UNKEYED) -> Sight:
    """Return the tool, key and way of reading of a call."""
    read = as_object(args)  # what it is for; its hash is that of what the host gave, unless its shape counts
    key = signature(tool, read if writes_list(tool) else args, signer)
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


def outcome(way: Reading, result: object, *, is_error: bool, signer: Signer = UNKEYED) -> Outcome:
    """Return the outcome of a result. None and a refusal of our own have none and are not counted."""
    if is_error:
        if is_refusal(result):
            return Outcome()
        said = _error_text(result)
        missing = next(filter(None, (pattern.search(said, 0, _SEARCHED) for pattern in _UNKNOWN_TOOL)), None)
        unknown = None if missing is None else shorten_id(missing[1].lower())
        return Outcome(f"error:{signer.digest(said)}", unknown, result is not None)
    if result is None or (isinstance(result, str) and may_refuse(result) and is_refusal(result)):
        return Outcome()
    if isinstance(result, str) or not isinstance(result, Mapping):  # asked in this order, because that is quicker
        return Outcome(signer.digest({"text": ""} if way == "plan" else result), None, not is_refusal(result))
    given = fields(cast("object", result))
    text, details = _join_text(given), fields(given.get("details"))
    may_be = may_refuse(text) or "error" in given or "guardrail" in given or "deniedReason" in details
    if may_be and is_refusal(given):
        return Outcome()
    facts = _select_facts(way, details, text)
    return Outcome(signer.digest(facts, _find_volatile if way == "send" else None), None, True)


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
    return {"action": way, "status": details.get("status"), **ends, **extra, "text": text}


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
    return bounded_json(error)


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
    if isinstance(given, str) and _JSON.match(given):  # as some models send it
        given = parse_json(given, CHARACTERS) or given
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


def _size(value: object) -> int | None:
    return len(cast("list[Any]", value)) if isinstance(value, list) else None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())

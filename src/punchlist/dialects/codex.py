"""`update_plan` of Codex (main of 2026-08-22): any number of steps in progress, unknown fields refused.

The tool is refused in Plan mode before its arguments are read. It has no limits on count or length; empty steps pass.
The original's arguments are a JSON text; arguments given as an object are read as its compact text. A payload that is
no function's (`update_plan handler received unsupported payload`) cannot reach us: `call` only takes arguments.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import islice
from typing import Any, NoReturn, cast

from punchlist.core.commands import Entry, Policy, Replace
from punchlist.core.plan import PlanStreamStep
from punchlist.core.todo import Status, TodoList
from punchlist.dialects.base import IN_THREE, LOST_IN_THREE, THREE, Dialect, Invalid, Parsed, Reply, Result, shown_items
from punchlist.dialects.tool_descriptions import TEXT, Tool, list_of, object_of, one_of
from punchlist.text import cut, repair

POLICY = Policy(dialect="codex", shown=IN_THREE)


TOOL = Tool(
    name="update_plan",
    description=(
        "Write the task plan: short steps, each with a status, and an explanation if something changed. "
        "For work of several steps, not for a single easy one. Keep at most one step in_progress and "
        "mark it completed before going on."
    ),
    input_schema=object_of(
        {"explanation": TEXT, "plan": list_of(object_of({"step": TEXT, "status": one_of(THREE)}, others=False))},
        required=["plan"],
        others=False,
    ),
    annotations={"strict": False},
)


def parse(_tool: str, args: Any) -> Parsed:
    try:
        return _read_arguments(repair(args if isinstance(args, str) else _write_compact(args)))
    except SerdeError as error:
        return Invalid(f"failed to parse function arguments: {error}")


def _write_compact(args: Any) -> str:
    try:
        return json.dumps(
            _trim(args, 0), ensure_ascii=False, separators=(",", ":"), skipkeys=True, default=lambda _: None
        )
    except ValueError:  # a number of thousands of digits
        raise SerdeError("number out of range at line 1 column 1") from None


def _trim(value: Any, depth: int) -> Any:
    """Return the part of the arguments that is read: a third field is a mistake, and no value is five levels deep."""
    if depth > 5:
        return None
    if isinstance(value, dict):
        return {key: _trim(part, depth + 1) for key, part in islice(cast("dict[Any, Any]", value).items(), 3)}
    if isinstance(value, list):
        parts = cast("list[Any]", value)
        return [_trim(part, depth + 1) for part in (parts if depth == 1 else parts[:3])]
    return value


def _read_arguments(text: str) -> Replace:
    reader = SerdeReader(text)

    def status() -> str:
        return reader.variant(list(THREE))

    def step() -> Entry:
        fields = reader.struct("PlanItemArg", {"step": reader.string, "status": status}, ("step", "status"))
        return Entry(fields["step"], THREE[fields["status"]])

    def plan() -> list[Entry]:
        return reader.array(step)

    given = reader.struct("UpdatePlanArgs", {"explanation": reader.optional, "plan": plan}, ("plan",))
    reader.end()
    return Replace(tuple(given["plan"]), explanation=given.get("explanation") or "")


def render(result: Result) -> Reply:
    if result.refusals:
        return result.refuse()
    return result.reply("Plan updated", {})


_CAMEL = {Status.PENDING: "pending", Status.IN_PROGRESS: "inProgress", Status.COMPLETED: "completed"}


def plan_update(todos: TodoList) -> dict[str, Any]:
    """Return the core event `plan_update`."""
    plan = [{"step": item.content, "status": near.value} for item, near in shown_items(todos, POLICY)]
    return {"type": "plan_update", "explanation": todos.explanation, "plan": plan}


def turn_plan_updated(todos: TodoList, *, thread_id: str, turn_id: str) -> dict[str, Any]:
    """Return the app server's notification, with camelCase statuses; `explanation` is always there."""
    plan = [{"step": item.content, "status": _CAMEL[near]} for item, near in shown_items(todos, POLICY)]
    params = {"threadId": thread_id, "turnId": turn_id, "explanation": todos.explanation, "plan": plan}
    return {"method": "turn/plan/updated", "params": params}


class ExecItems:
    """The JSON lines of `exec --json` for one thread.

    The first update of a turn starts an item with a fresh id from the shared counter, later ones update it, and the
    end of the turn completes it once; the next turn gets a new id.
    """

    def __init__(self) -> None:
        self._next = 0
        self._running: dict[str, Any] | None = None

    def fresh_id(self) -> str:
        """Return an id from the counter that all items of the thread share."""
        self._next += 1
        return f"item_{self._next - 1}"

    def updated(self, todos: TodoList) -> dict[str, Any]:
        started = self._running is None
        item_id = self.fresh_id() if self._running is None else self._running["id"]
        items = [
            {"text": item.content, "completed": near is Status.COMPLETED} for item, near in shown_items(todos, POLICY)
        ]
        self._running = {"id": item_id, "type": "todo_list", "items": items}
        return {"type": "item.started" if started else "item.updated", "item": self._running}

    def turn_ended(self) -> Iterator[dict[str, Any]]:
        """Yield the line before the turn's own closing event, however it ended."""
        if self._running is not None:
            yield {"type": "item.completed", "item": self._running}
            self._running = None


# The proposed plan.


def plan_step(kind: str, data: Mapping[str, Any]) -> tuple[str, PlanStreamStep] | None:
    """Return the item and the step of its stream for an event of the board; None for another event.

    Steps that come directly from a `PlanStream` do not need this.
    """
    item = data.get("item")
    if not isinstance(item, str):
        return None
    match kind:
        case "approval.started":
            return item, PlanStreamStep("started")
        case "approval.delta":
            return item, PlanStreamStep("delta", str(data.get("delta", "")))
        case "approval.proposed":
            return item, PlanStreamStep("completed", str(data.get("text", "")))
        case _:
            return None


def plan_event(
    step: PlanStreamStep, *, thread_id: str, turn_id: str, item_id: str, at: datetime | None = None
) -> dict[str, Any] | None:
    """Return the core event of a step: `item_started`, `plan_delta` or `item_completed`; None for visible text.

    With `at` a completed item carries its time, as in the records on disk.
    """
    place = {"thread_id": thread_id, "turn_id": turn_id}
    match step.kind:
        case "visible" | "dropped":
            return None
        case "delta":
            return {"type": "plan_delta", **place, "item_id": item_id, "delta": step.text}
        case "started" | "completed":
            item = {"type": "Plan", "id": item_id, "text": step.text}
            when = {} if at is None or step.kind == "started" else {"completed_at_ms": int(at.timestamp() * 1000)}
            return {"type": f"item_{step.kind}", **place, "item": item, **when}


def plan_notification(step: PlanStreamStep, *, thread_id: str, turn_id: str, item_id: str) -> dict[str, Any] | None:
    """Return the app server's notification of a step: `item/started`, `item/plan/delta` or `item/completed`.

    The deltas joined need not equal the text of the completed item; the completed text counts.
    """
    place = {"threadId": thread_id, "turnId": turn_id}
    match step.kind:
        case "visible" | "dropped":
            return None
        case "delta":
            params = {**place, "itemId": item_id, "delta": step.text}
            return {"method": "item/plan/delta", "params": params}
        case "started" | "completed":
            item = {"type": "plan", "id": item_id, "text": step.text}
            return {"method": f"item/{step.kind}", "params": {**place, "item": item}}


# JSON text read into structs as serde_json does: from left to right, up to the first mistake, with its error texts.
# Positions are serde's: the line, and how many bytes of it were read. A mistake at a character that was only peeked at
# counts that character too, one at an array or object of the wrong type does not.

_BLANKS = re.compile(r"[ \n\t\r]*+")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*+')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_UNFINISHED = re.compile(r"\.|[eE][+-]?|(?=[0-9])")
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_NO_VALUE = "EOF while parsing a value"
_LONGEST = 1000
"""Most characters of the input in an error; serde itself would repeat it all."""


class SerdeError(Exception):
    """serde's error text, with the position at the end."""


class SerdeReader:
    """A position in a JSON text. Each method reads one value there and moves past it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, problem: str, *, peek: bool = False) -> NoReturn:
        start = self.text.rfind("\n", 0, self.at) + 1
        line = self.text.count("\n", 0, start) + 1
        column = len(self.text[start : self.at].encode(errors="replace"))
        column += peek and self.at < len(self.text)
        raise SerdeError(f"{problem} at line {line} column {column}")

    def peek(self) -> str:
        """Return the next character that is not whitespace, without reading it; empty at the end."""
        found = _BLANKS.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def end(self) -> None:
        if self.peek():
            self.fail("trailing characters", peek=True)

    # Structs, arrays and what is in them.

    def struct(self, name: str, fields: Mapping[str, Callable[[], Any]], required: Collection[str]) -> dict[str, Any]:
        """Read a struct that allows no other fields: an object, or an array with the fields in their order."""
        if self.peek() == "[":
            return self._read_in_order(name, fields, required)
        if self.peek() != "{":
            self.unexpected(f"struct {name}")
        self.at += 1
        found: dict[str, Any] = {}
        while (key := self._read_key(first=not found)) is not None:
            if key not in fields or key in found:
                self.peek()
                expected = f", expected {_join_names(list(fields))}" if key not in fields else ""
                self.fail(f"{'duplicate' if key in found else 'unknown'} field `{cut(key, _LONGEST)}`{expected}")
            self._read_colon()
            found[key] = fields[key]()
        self.at += 1
        for field in fields:
            if field in required and field not in found:
                self.fail(f"missing field `{field}`")
        return found

    def _read_in_order(
        self, name: str, fields: Mapping[str, Callable[[], Any]], required: Collection[str]
    ) -> dict[str, Any]:
        self.at += 1
        found: dict[str, Any] = {}
        for place, (field, read) in enumerate(fields.items()):
            if self._has_element(first=place == 0):
                found[field] = read()
            elif field in required:
                self.at += 1
                self.fail(f"invalid length {place}, expected struct {name} with {len(fields)} elements")
        char = self.peek()
        if char == ",":
            self.at += 1
            self.fail("trailing comma" if self.peek() == "]" else "trailing characters", peek=True)
        if char != "]":
            self.fail("trailing characters" if char else "EOF while parsing a list", peek=True)
        self.at += 1
        return found

    def _read_key(self, *, first: bool) -> str | None:
        """Read the next key of an object; None before its end."""
        char = self.peek()
        if char == "}":
            return None
        if not char:
            self.fail("EOF while parsing an object", peek=True)
        if not first:
            if char != ",":
                self.fail("expected `,` or `}`", peek=True)
            self.at += 1
            char = self.peek()
        if char != '"':
            problem = "trailing comma" if char == "}" else "key must be a string"
            self.fail(problem if char else _NO_VALUE, peek=True)
        return self._read_quoted()

    def array(self, read: Callable[[], Any]) -> list[Any]:
        if self.peek() != "[":
            self.unexpected("a sequence")
        self.at += 1
        found: list[Any] = []
        while self._has_element(first=not found):
            found.append(read())
        self.at += 1
        return found

    def _has_element(self, *, first: bool) -> bool:
        char = self.peek()
        if char == "]":
            return False
        if not char:
            self.fail("EOF while parsing a list", peek=True)
        if first:
            return True
        if char != ",":
            self.fail("expected `,` or `]`", peek=True)
        self.at += 1
        if self.peek() in ("", "]"):
            self.fail("trailing comma" if self.peek() else _NO_VALUE, peek=True)
        return True

    def string(self) -> str:
        if self.peek() != '"':
            self.unexpected("a string")
        return self._read_quoted()

    def optional(self) -> str | None:
        if self.peek() == "n":
            self._read_word("null")
            return None
        return self.string()

    def variant(self, known: Sequence[str]) -> str:
        """Read a variant of an enum: its name, or an object with its name and null."""
        char = self.peek()
        if char not in ('"', "{"):
            self.fail("expected value" if char else _NO_VALUE, peek=True)
        if char == "{":
            self.at += 1
            if self.peek() != '"':
                self.unexpected("variant identifier")
        name = self._read_quoted()
        if name not in known:
            self.fail(f"unknown variant `{cut(name, _LONGEST)}`, expected {_join_names(known)}")
        if char == "{":
            self._read_unit()
        return name

    def _read_colon(self) -> None:
        if self.peek() != ":":
            self.fail("expected `:`" if self.peek() else "EOF while parsing an object", peek=True)
        self.at += 1

    def _read_unit(self) -> None:
        self._read_colon()
        if self.peek() != "n":
            self.unexpected("unit")
        self._read_word("null")
        if self.peek() != "}":
            self.fail("expected value" if self.peek() else "EOF while parsing an object")
        self.at += 1

    # Text.

    def _read_quoted(self) -> str:
        start = self.at
        self.at += 1
        while True:
            found = _PLAIN.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.at == len(self.text):
                self.fail("EOF while parsing a string")
            self.at += 1
            if self.text[self.at - 1] == '"':
                return str(json.loads(self.text[start : self.at]))
            if self.text[self.at - 1] != "\\":
                self.fail("control character (\\u0000-\\u001F) found while parsing a string")
            self._check_escape()

    def _check_escape(self) -> None:
        self.at += 1
        if self.at > len(self.text):
            self.at = len(self.text)
            self.fail("EOF while parsing a string")
        if self.text[self.at - 1] != "u":
            if self.text[self.at - 1] not in '"\\/bfnrt':
                self.fail("invalid escape")
            return
        code = self._read_code()
        if 0xD800 <= code <= 0xDFFF:
            if code < 0xDC00 and self.text[self.at : self.at + 2] != "\\u":
                self.at += 1
                self.fail("unexpected end of hex escape")
            self.at += 2
            if code >= 0xDC00 or not 0xDC00 <= self._read_code() <= 0xDFFF:
                self.fail("lone leading surrogate in hex escape")

    def _read_code(self) -> int:
        found = _HEX.match(self.text, self.at)
        self.at = min(self.at + 4, len(self.text))
        if found is None:
            self.fail("invalid escape" if self.at < len(self.text) else "EOF while parsing a string")
        return int(found[0], 16)

    # What is there instead.

    def unexpected(self, expected: str) -> NoReturn:
        """Fail with the type of the next value."""
        char = self.peek()
        if char and char in "ntf":
            word = {"n": "null", "t": "true", "f": "false"}[char]
            self._read_word(word)
            kind = word if word == "null" else f"boolean `{word}`"
        elif char and char in "-0123456789":
            kind = self._describe_number()
        elif char == '"':
            kind = f"string {_quote(self._read_quoted())}"
        elif char and char in "[{":
            kind = "sequence" if char == "[" else "map"
        else:
            self.fail("expected value" if char else _NO_VALUE, peek=True)
        self.fail(f"invalid type: {kind}, expected {expected}")

    def _read_word(self, word: str) -> None:
        for char in word:
            if self.at == len(self.text):
                self.fail(_NO_VALUE)
            self.at += 1
            if self.text[self.at - 1] != char:
                self.fail("expected ident")

    def _describe_number(self) -> str:
        found = _NUMBER.match(self.text, self.at)
        if found is None:
            self.at += 1
            self.fail("invalid number" if self.at < len(self.text) else _NO_VALUE, peek=True)
        self.at = found.end()
        if unfinished := _UNFINISHED.match(self.text, self.at):
            self.at = unfinished.end()
            self.fail("invalid number" if self.at < len(self.text) else _NO_VALUE, peek=True)
        text = found[0]
        whole = text.lstrip("-").isdecimal() and len(text) <= 20 and text != "-0"
        if whole and -(2**63) <= int(text) < 2**64:
            return f"integer `{text}`"
        value = float(text)
        if value in (float("inf"), float("-inf")):
            self.fail("number out of range")
        return f"floating point `{_print_float(value)}`"


def _print_float(value: float) -> str:
    """Print a number as serde does: like Python, except for exponents."""
    number, _, exponent = repr(value).partition("e")
    if not exponent:
        return number
    return f"{Decimal(repr(value)):f}" if exponent == "-05" else f"{number}e{int(exponent)}"


def _quote(text: str) -> str:
    """Quote a text as Rust's `{:?}` does."""
    text = cut(text, _LONGEST)
    plain = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
    shown = (plain.get(char) or (char if char.isprintable() else f"\\u{{{ord(char):x}}}") for char in text)
    return f'"{"".join(shown)}"'


def _join_names(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    if len(quoted) == 2:
        return " or ".join(quoted)
    return quoted[0] if len(quoted) == 1 else f"one of {', '.join(quoted)}"


DIALECT = Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    refused_in_plan_mode="update_plan is a TODO/checklist tool and is not allowed in Plan mode",
    repairs=frozenset({"json_string"}),
    lossy=(*LOST_IN_THREE, "no ids, active forms, phases, notes, priorities or parents"),
)

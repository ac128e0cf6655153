"""`todo`, our own tool: several small changes in one call, by short id, all or nothing.

`ask` puts a question to a person, and its item waits for the answer. `plan` proposes a plan that a person decides on.

A reply shows the changes, the focus and done/total; the whole list when asked for, or after ten replies without it.
It makes every repair that `repair.py` knows, and says what it repaired. Nothing is lost in this dialect.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

from punchlist.core import commands as do
from punchlist.core.commands import Command, Edit, Entry, Limits, Policy, Query, Replace, Target
from punchlist.core.todo import Blocker, Evidence, Status, TodoItem, TodoList
from punchlist.dialects import repair
from punchlist.dialects.base import ContinueWork, Dialect, Invalid, Malformed, Parsed, Reply, Result, SubmitPlan
from punchlist.dialects.repair import mend, read_fields
from punchlist.dialects.tool_descriptions import TEXT, Tool, add_description, list_of, object_of, one_of
from punchlist.text import clean, cut, for_prompt
from punchlist.text import repair as repair_text

T = TypeVar("T")

POLICY = Policy(
    dialect="punchlist",
    limits=Limits(items=256, characters=4000, other=4000, refuse_blank=True),
    focus="first",
    advance=True,
)

# Every value but an item has one type, because some providers refuse unions elsewhere than in `anyOf`. The parser takes
# and mends more than the schema shows: numbers for ids, one id for a list, {id: text} for a list of both.
_CHECK = add_description(TEXT, "The test or build that proves it")
_ITEM = object_of(
    {"text": TEXT, "doing": TEXT, "status": one_of(Status), "phase": TEXT, "check": _CHECK}, required=["text"]
)
_ITEMS = list_of({"anyOf": [TEXT, _ITEM]})
_IDS = list_of(TEXT)
_BY_ID = list_of(object_of({"id": TEXT, "text": TEXT}))
_FLAG = {"type": "boolean"}

TOOL = Tool(
    name="todo",
    description=(
        "Track work of three or more steps. No argument: view. set: whole list; add: items; text (Run tests), doing "
        "(Running tests). start, done, drop: ids. reword, block, note, ask (the user): id and text. plan: text the "
        "user approves. done starts the next; next: false not. Mark done at once, with evidence."
    ),
    input_schema=object_of(
        {
            "set": _ITEMS,
            "add": _ITEMS,
            "start": TEXT,
            "done": _IDS,
            "drop": _IDS,
            "reword": _BY_ID,
            "block": _BY_ID,
            "note": _BY_ID,
            "ask": _BY_ID,
            "plan": add_description(TEXT, "Say it in your message too: the dialog shows little of it"),
            "evidence": TEXT,
            "continue": TEXT,
            "next": _FLAG,
            "view": _FLAG,
        },
        required=(),
        others=False,
    ),
    annotations={"readOnly": False, "concurrencySafe": False, "idempotent": False},
    examples=(
        {
            "set": [
                {"text": "Read the code", "doing": "Reading the code"},
                {"text": "Fix it"},
                {"text": "Run tests"},
            ]
        },
        {"done": ["1"]},
        {"done": ["2"], "start": "3"},
    ),
)

_TEXT_NAMES = ("text", "content", "title", "step")
_DOING_NAMES = ("doing", "activeForm", "active_form")
_ITEM_KEYS = frozenset({*_TEXT_NAMES, *_DOING_NAMES, "id", "status", "phase", "priority", "reason", "check"})
_MOST_PROOFS = 16
WIDE = 10_000
"""Characters of a text that are searched for a visible one; a longer text is refused for its length."""

_VERBS = tuple(cast("dict[str, Any]", TOOL.input_schema["properties"]))


def parse(_tool: str, args: Any) -> Parsed | SubmitPlan | ContinueWork:
    return read_arguments(args, _VERBS, _read_command)


def read_arguments(args: Any, known: Sequence[str], read: Callable[[dict[str, Any]], T]) -> T | Invalid:
    """Return the command that `read` makes of the arguments of our own tool; an error for other names than `known`."""
    given = {} if args is None else repair.as_object(args)
    if given is None:
        return Invalid(f"Nothing changed: the arguments are {repair.type_name(args)}, not an object.")
    given = {key: value for key, value in given.items() if value is not None}
    unknown = [key for key in given if key not in known]
    if unknown:
        return Invalid(f"Nothing changed: `{repair.key_name(unknown[0])}` is unknown; use {', '.join(known)}.")
    try:
        return read(given)
    except Malformed as refusal:
        return Invalid(f"Nothing changed: {refusal}")


def _read_command(given: dict[str, Any]) -> Command | Query | SubmitPlan | ContinueWork:
    view = _read_flag(given, "view", default=False)
    moves_on = _read_flag(given, "next", default=True)
    asked = given.keys() - {"view", "next", "evidence"}
    if not asked:
        if "evidence" in given:
            raise Malformed("`evidence` goes with `done`.")
        return Query()
    if "plan" in asked:
        return _read_plan(given)
    if "continue" in asked:
        wanted = given["continue"]
        if len(given) > 1 or not isinstance(wanted, str) or not wanted.strip():
            raise Malformed("`continue` stands alone: the id of a session that ended, or `none`.")
        return ContinueWork(repair_text(wanted).strip()[:200])
    written = _read_set(repair.from_json(given.get("set")))
    whole = None
    if isinstance(written, list):
        begin = moves_on and "start" not in given
        whole = do.Replace(_read_entries("set", cast("list[Any]", written)), begin=begin)
        if asked == {"set"} and not view:
            return whole
    return do.Edit(tuple(_read_operations(given, written, moves_on=moves_on)), view=view, first=whole)


def _read_plan(given: dict[str, Any]) -> SubmitPlan:
    if len(given) > 1:
        raise Malformed("`plan` stands alone: propose it first, and write the list when it is approved.")
    if not isinstance(given["plan"], str):
        raise Malformed("`plan` is a text.")
    return SubmitPlan(repair_text(given["plan"]))


def _read_set(value: Any) -> Any:
    """Return the value of `set`: a list, also for a bare item, or new words by id."""
    names = read_fields(value)
    bare = isinstance(value, str) or any(name in names for name in _TEXT_NAMES)
    return [value] if bare else cast("Any", value)


def _read_operations(given: dict[str, Any], written: Any, *, moves_on: bool) -> Iterator[do.Operation]:
    """Yield the operations of one call, in this order whatever the order of the keys."""
    reworded = _read_by_id("reword", given.get("reword"))
    if "set" in given and not isinstance(written, list):
        reworded = [*_read_by_id("set", written), *reworded]
    for item, text in reworded:
        yield do.Reword(_target(item), text)
    if "add" in given:
        yield do.Append(_read_entries("add", given["add"]))
    for item, text in _read_by_id("note", given.get("note")):
        yield do.Note(_target(item), text)
    for item, text in _read_by_id("block", given.get("block")):
        yield do.Block(_target(item), text)
    for item, text in _read_by_id("ask", given.get("ask")):
        if not clean(text[:WIDE]).text.strip():
            raise Malformed("`ask` needs the text of a question.")
        yield do.Ask(_target(item), text)
    done = _read_ids("done", given.get("done"))
    evidence = _read_evidence(given, done)
    for item in done:
        yield do.Done(_target(item), evidence, advance=moves_on and "start" not in given)
    for item in _read_ids("drop", given.get("drop")):
        yield do.Drop(_target(item))
    if "start" in given:
        started = _read_ids("start", given["start"])
        if len(started) != 1:
            raise Malformed("`start` takes one id.")
        yield do.Start(_target(started[0]))


def _target(name: str) -> Target:
    return Target(item=name, by="id")


def _read_flag(given: dict[str, Any], key: str, *, default: bool) -> bool:
    value = given.get(key, default)
    if isinstance(value, str) and value.casefold() in ("true", "false"):
        return value.casefold() == "true"
    if not isinstance(value, bool):
        raise Malformed(f"`{key}` is true or false.")
    return value


def _read_ids(key: str, value: Any) -> list[str]:
    value = repair.from_json(value)
    if value is None:
        return []
    raw = cast("list[Any]", value) if isinstance(value, list) else [value]
    if len(raw) == 1 and isinstance(raw[0], str) and "," in raw[0]:
        raw = raw[0].split(",")
    if len(raw) > POLICY.limits.items:
        raise Malformed(f"`{key}` names {len(raw)} items; a list has {POLICY.limits.items} at most.")
    ids = [repair.as_id(entry) for entry in raw]
    if not ids or any(name is None for name in ids):
        raise Malformed(f"`{key}` takes an id or a list of ids.")
    return [cast("str", name) for name in dict.fromkeys(ids)]


def _read_by_id(key: str, value: Any) -> list[tuple[str, str]]:
    """Return pairs of id and text, from a list of them or {id: text}. `block` takes a bare id too, without a reason."""
    value = repair.from_json(value)
    if value is None:
        return []
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in cast("list[Any]", value)):
        return [pair for each in cast("list[Any]", value) for pair in _read_by_id(key, each)]
    if key == "block" and not isinstance(value, dict):
        return [(name, "") for name in _read_ids(key, value)]
    if not isinstance(value, dict):
        raise Malformed(f"`{key}` takes {{id: text}}.")
    given = cast("dict[Any, Any]", value)
    pairs = [(given["id"], given["text"])] if set(given) == {"id", "text"} else list(given.items())
    named = [(repair.as_id(name), text) for name, text in pairs]
    if not named or any(name is None or not isinstance(text, str) for name, text in named):
        raise Malformed(f"`{key}` takes {{id: text}}, the text a string.")
    return [(cast("str", name), repair_text(text)) for name, text in named]


def _read_evidence(given: dict[str, Any], done: list[str]) -> tuple[Evidence, ...]:
    if "evidence" not in given:
        return ()
    if not done:
        raise Malformed("`evidence` goes with `done`.")
    value = repair.from_json(given["evidence"])
    several = cast("list[Any]", value) if isinstance(value, list) else [value]
    if len(several) > _MOST_PROOFS:
        raise Malformed(f"`evidence` takes up to {_MOST_PROOFS}.")
    return tuple(map(_read_proof, several))


def _read_proof(value: Any) -> Evidence:
    kind = None
    if isinstance(value, dict):
        offered = cast("dict[str, Any]", value)
        value, kind = offered.get("text"), offered.get("kind")
    if not isinstance(value, str) or not isinstance(kind, str | None) or len(value) > POLICY.limits.characters:
        raise Malformed("`evidence` is a short text, or {kind, text}, or a list of these.")
    return Evidence(repair_text(value), kind)


def _read_entries(key: str, value: Any) -> tuple[Entry, ...]:
    value = repair.from_json(value)
    if isinstance(value, dict | str):
        value = [value]
    if not isinstance(value, list):
        raise Malformed(f"`{key}` takes a list of items.")
    return tuple(_read_entry(key, index, item) for index, item in enumerate(cast("list[Any]", value)))


def _check_visible(key: str, index: int, text: str) -> str:
    if text.strip() and not clean(text[:WIDE]).text.strip():
        raise Malformed(f"`{key}[{index}]` has no text that can be seen.")
    return mend(text)


def _read_entry(key: str, index: int, value: Any) -> Entry:
    given = repair.as_object(value)
    if given is None and isinstance(value, str):
        return Entry(_check_visible(key, index, value), keeps=True)
    if given is None:
        raise Malformed(f"`{key}[{index}]` is a text or an object with `text`.")
    unknown = next((name for name in given if name not in _ITEM_KEYS), None)
    if unknown is not None:
        named = repair.key_name(unknown)
        raise Malformed(f"`{key}[{index}]`: `{named}` is unknown; use text, doing, status, phase, check.")
    text = next((given[name] for name in _TEXT_NAMES if name in given), None)
    doing = next((given[name] for name in _DOING_NAMES if name in given), None)
    phase, priority = given.get("phase"), given.get("priority")
    if not isinstance(text, str) or not isinstance(doing, str | None):
        raise Malformed(f"`{key}[{index}]` needs `text`, a string.")
    check = given.get("check")
    if not all(isinstance(each, str | None) for each in (phase, priority, check)):
        raise Malformed(f"`{key}[{index}]`: `phase`, `priority` and `check` are strings.")
    status = repair.as_status(given.get("status", "pending"))
    if status is None:
        known = ", ".join(known.value for known in Status)
        raise Malformed(f"`{key}[{index}]` has an unknown status; use {known}.")
    reason = given.get("reason")
    return Entry(
        content=_check_visible(key, index, text),
        status=status,
        keeps="status" not in given or None,
        active_form=None if doing is None else repair_text(doing),
        alias=repair.as_id(given.get("id")),
        phase=None if phase is None else repair_text(phase),
        priority=priority,
        blocker=Blocker(repair_text(reason)) if isinstance(reason, str) else None,
        check=None if check is None else repair_text(check),
    )


_MOST_NAMED = 5
VIEW_AFTER = 10
"""Replies without the whole list after which the next one shows it."""

_SHOWN = {
    Status.PENDING: ("[ ]", "pending"),
    Status.IN_PROGRESS: ("[>]", "started"),
    Status.BLOCKED: ("[!]", "blocked"),
    Status.COMPLETED: ("[x]", "done"),
    Status.FAILED: ("[f]", "failed"),
    Status.CANCELLED: ("[-]", "dropped"),
}
"""The mark of each status, and the word for a change to it."""


def render(result: Result) -> Reply:
    if result.refusals:
        said = " ".join(problem.text for problem in result.refusals)
        return result.refuse(f"Nothing changed: {said}")
    after = result.after
    is_view = isinstance(result.command, Query) or bool(getattr(result.command, "view", False))
    whole = is_view or result.behind or result.unseen >= VIEW_AFTER
    lines = [problem.text for problem in result.problems]
    if not isinstance(result.command, Query):
        lines.extend(_describe_changes(result))
    asked = _find_asked(result)
    waiting = _describe_wait(after)
    done, total, _ = after.progress
    if whole:
        lines.extend([*render_list(after), f"{waiting}{done}/{total} done"])
    else:
        lines.append(f"{waiting}{_describe_focus(after)}{done}/{total}")
    focus = after.focus
    data: dict[str, Any] = {"revision": after.revision, "focus": focus.id if focus else None}
    data |= {"done": done, "total": total}
    if asked:
        data["asked"] = asked
    return result.reply("\n".join(lines), data, shows_list=whole or _is_whole_write(result))


def _find_asked(result: Result) -> list[str]:
    """Return the ids of the items that wait for the answer to a question of this call."""
    operations = result.command.operations if isinstance(result.command, Edit) else ()
    named = [one.target.item for one in operations if isinstance(one, do.Ask)]
    found = [result.after.find(name) for name in named if name is not None]
    return [item.id for item in found if item is not None and item.status is Status.BLOCKED]


def _is_whole_write(result: Result) -> bool:
    command = result.command
    return isinstance(command, Replace) or (isinstance(command, Edit) and command.first is not None)


def render_list(todos: TodoList) -> list[str]:
    """Return the whole list, one line per item, phases as headings; then the items left out."""
    if not todos.items:
        return ["The list is empty; `set` makes one."]
    lines: list[str] = []
    phase: str | None = None
    for item in todos.items:
        if item.phase != phase and item.phase is not None:
            lines.append(f"# {for_prompt(item.phase)}")
        phase = item.phase
        lines.append(f"{item.id} {render_item(item)}")
    if todos.omitted:
        names = "; ".join(f"{item.id} {_show_text(item)}" for item in todos.omitted[-5:])
        more = f"; and {len(todos.omitted) - 5} more" if len(todos.omitted) > 5 else ""
        lines.append(f"Left out earlier: {names}{more}.")
    return lines


def render_item(item: TodoItem) -> str:
    """Return an item on one line without its id: mark, text, and what it waits for."""
    check = "" if item.check is None else f" (check: {for_prompt(cut(item.check.command, 200))})"
    return f"{_SHOWN[item.status][0]} {_show_text(item)}{_show_blocker(item)}{check}"


def _describe_changes(result: Result) -> Iterator[str]:
    before = {item.id: item for item in result.before.items}
    if result.before.plan_id != result.after.plan_id:
        before = {}
    if _is_whole_write(result) and not before:
        ids = [item.id for item in result.after.items]
        span = f"{ids[0]}-{ids[-1]}" if len(ids) > 1 else "".join(ids) or "none"
        yield f"{len(ids)} items, ids {span}."
        return
    by_verb: dict[str, list[str]] = {}
    for item in result.after.items:
        known = before.pop(item.id, None)
        if known is None:
            yield f"+ {item.id} {_show_text(item)}"
        elif known.status is not item.status:
            if item.status is not Status.IN_PROGRESS:
                by_verb.setdefault(_SHOWN[item.status][1], []).append(item.id)
        elif known != item:
            by_verb.setdefault("changed", []).append(item.id)
    if before:
        by_verb["removed"] = list(before)
    if by_verb:
        yield "; ".join(f"{verb} {', '.join(ids)}" for verb, ids in by_verb.items()) + "."


def _describe_wait(todos: TodoList) -> str:
    """Return a sentence on items that wait on a person, and on those that are not begun meanwhile; else nothing."""
    waiting = [item.id for item in todos.items if item.waits_on_person]
    if not waiting:
        return ""
    pending = [item.id for item in todos.items if item.status is Status.PENDING]
    stays = ""
    if pending and todos.focus is None:
        more = f" and {len(pending) - _MOST_NAMED} more" if len(pending) > _MOST_NAMED else ""
        stays = f"; {', '.join(pending[:_MOST_NAMED])}{more} {'stays' if len(pending) == 1 else 'stay'} pending"
    return f"Waiting for the user's answer on {', '.join(waiting)}{stays}. "


def _describe_focus(todos: TodoList) -> str:
    focus = todos.focus
    if focus is not None:
        return f"Now {focus.id}: {_show_text(focus)}. "
    if todos.is_finished:
        return "Nothing is open. "
    return "" if todos.waits_on_person else f"Nothing is in progress, {len(todos.open_items)} open. "


def _show_text(item: TodoItem) -> str:
    return for_prompt(cut(item.content, 200))


def _show_blocker(item: TodoItem) -> str:
    if item.blocker is None or not item.blocker.reason:
        return ""
    return f" (waits: {for_prompt(cut(item.blocker.reason, 200))})"


DIALECT = Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    has_ids=True,
    statuses=tuple(status.value for status in Status),
    repairs=repair.ALL,
)

"""Write what is still open as a block for a compacted conversation, and put the block in its place, as Hermes does.

The block is made of `OpenWork`, not of a list, so that open work from elsewhere can be part of it too. Messages are
mappings with `role` and `content`, a text or a list of parts, as the APIs of Anthropic and OpenAI take them. What is
added is valid there: no key of our own, no empty text, nothing between a tool call and its result. The given messages
are not changed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, cast, get_args

from msgspec import Struct

from punchlist.core.merge import item_names
from punchlist.core.task import Task, own_task_list, tasks_as_items
from punchlist.core.todo import CLOSED, Blocker, Status, TodoItem, TodoList
from punchlist.dialects.base import Dialect, shown_items
from punchlist.text import clean, cut, fence

HERMES_HEADER: Final = "[Your active task list was preserved across context compression]"
"""Hermes' own words, in place of a fence."""

Because = Literal["resumed", "compacted"]
_NOTES: Final[Mapping[Because, str]] = {
    because: f"Open work from before the conversation was {because}. From Punchlist, the todo layer of this session."
    for because in get_args(Because)
}
NOTE: Final = _NOTES["compacted"]
_CHANGED: Final = "Changed since the list was last written"
MOST_FILES: Final = 12
"""Changed files that are named, the latest ones."""

MOST_ROWS: Final = 256
LONGEST_ROW: Final = 1_000
_DEEPEST: Final = 8
_MARKS: Final = {
    Status.PENDING: "[ ]",
    Status.IN_PROGRESS: "[>]",
    Status.BLOCKED: "[!]",
    Status.FAILED: "[!]",
    Status.COMPLETED: "[x]",
    Status.CANCELLED: "[~]",
}
_header = re.compile(re.escape(HERMES_HEADER[1:-1]), re.IGNORECASE)


class OpenWork(Struct, frozen=True, kw_only=True):
    """One piece of open work, or the finished parent of one."""

    content: str
    status: Status = Status.PENDING
    name: str | None = None
    """The name by which its tool knows it; None where that is its text."""
    phase: str | None = None
    blocker: Blocker | None = None
    depth: int = 0
    """Number of parents above it."""


def open_work(todos: TodoList, dialect: Dialect) -> tuple[OpenWork, ...]:
    """Return the open items of a list and their finished parents, in order, as this dialect names them."""
    if dialect.name == "hermes":
        return tuple(_list_hermes_work(todos, dialect))
    by_id = {item.id: item for item in todos.items}
    above = {item.id: _find_parents(item, by_id) for item in todos.open_items}
    kept = above.keys() | {parent for parents in above.values() for parent in parents}
    return tuple(
        OpenWork(
            content=item.content,
            status=item.status,
            name=item.id if dialect.name == "punchlist" else item.aliases.get(dialect.name),
            phase=item.phase,
            blocker=item.blocker,
            depth=len(above[item.id]) if item.id in above else len(_find_parents(item, by_id)),
        )
        for item in todos.items
        if item.id in kept
    )


def open_tasks(tasks: Iterable[Task], dialect: Dialect, *, task_list: str) -> Iterator[OpenWork]:
    """Return open tasks under their numbers; in Hermes' dialect with the statuses that it shows."""
    found = tuple(tasks)
    for task, item in zip(found, tasks_as_items(found, own=own_task_list(dialect.layer, task_list)), strict=True):
        status = dialect.policy.shows(item.status) if dialect.name == "hermes" else item.status
        yield OpenWork(
            content=task.subject,
            status=status or item.status,
            name=item.id,
            blocker=None if dialect.name == "hermes" else item.blocker,
        )


def _find_parents(item: TodoItem, by_id: dict[str, TodoItem]) -> list[str]:
    """Return the ids above an item, nearest first; a cycle ends where it closes."""
    found: list[str] = []
    while item.parent is not None and item.parent in by_id and item.parent not in found and len(found) < MOST_ROWS:
        found.append(item.parent)
        item = by_id[item.parent]
    return found


def _list_hermes_work(todos: TodoList, dialect: Dialect) -> Iterator[OpenWork]:
    """Return open items as Hermes shows them: without phases, parents and blockers, but with what a person is asked."""
    shown = shown_items(todos, dialect.policy)
    names = item_names([item for item, _ in shown], dialect.name)
    for name, (item, near) in zip(names, shown, strict=True):
        if near in CLOSED:
            continue
        content = item.content
        if item.waits_on_person and item.blocker is not None:
            content += f" (waits for the user: {item.blocker.reason})"
        yield OpenWork(content=content, status=near, name=name)


def block(
    work: Sequence[OpenWork],
    dialect: Dialect,
    because: Because = "compacted",
    changed: Sequence[str] = (),
    left_out: Sequence[str] = (),
) -> str | None:
    """Return the block for a compacted or resumed conversation; None when nothing is open.

    `changed` are files that were changed since the list was last written: their items may be done and not ticked off.
    `left_out` are open items that a rewrite of the list left out: the reply that said so is gone with the conversation.
    """
    if all(one.status in CLOSED for one in work):
        return None
    if dialect.name == "hermes":
        return "\n".join((HERMES_HEADER, *map(_write_hermes_row, work[:MOST_ROWS])))
    gone = [cut(_to_line(text), LONGEST_ROW) for text in left_out]
    rows = [
        *_write_rows(work, dialect.words),
        *(f"- [left out] {one} (add it again if it is still wanted)" for one in gone),
    ]
    if changed:
        shown = ", ".join(cut(_to_line(path), 100) for path in changed[-MOST_FILES:])
        rows.append(f"{_CHANGED}: {shown}. Look at them before you do an item again.")
    return fence([_NOTES[because], *rows])


def _write_rows(work: Sequence[OpenWork], words: Mapping[Status, str]) -> Iterator[str]:
    phase: str | None = None
    for one in work[:MOST_ROWS]:
        if one.phase != phase:
            phase = one.phase
            yield f"# {cut(_to_line(phase), LONGEST_ROW) if phase is not None else '(no phase)'}"
        name = f"{cut(_to_line(one.name), 100)}. " if one.name is not None else ""
        indent = "  " * min(one.depth, _DEEPEST)
        content = cut(_to_line(one.content), LONGEST_ROW)
        yield f"{indent}- {_MARKS[one.status]} {name}{content} ({_describe_state(one, words)})"
    if len(work) > MOST_ROWS:
        yield f"… and {len(work) - MOST_ROWS} more; continue with these first"


def _describe_state(one: OpenWork, words: Mapping[Status, str]) -> str:
    word = words.get(one.status, one.status.value)
    if word.startswith("["):  # a box, which stands before the text already
        word = one.status.value
    if one.blocker is None or one.status in CLOSED:
        return word
    on = f" on {one.blocker.on}" if one.blocker.on else ""
    reason = f": {one.blocker.reason}" if one.blocker.reason else ""
    return word + cut(_to_line(on + reason), LONGEST_ROW)


def _write_hermes_row(one: OpenWork) -> str:
    # Text that repeats the header's words is changed, so that it cannot pass for a header.
    texts = (_to_line(text) for text in (one.content, one.name or "?"))
    content, name = (_header.sub(lambda match: match[0].replace(" ", "_"), text) for text in texts)
    return f"- {_MARKS[one.status]} {name}. {content} ({one.status.value})"


def _to_line(text: str) -> str:
    return clean(text, lines=False).text


# The place of the block.

SYNTHETIC: Final = "_todo_snapshot_synthetic"
"""Hermes' flag of a message that holds only the block. It is read and never written: providers refuse unknown keys."""

_FLAGS: Final = (
    SYNTHETIC,
    "_compressed_summary",
    "_empty_recovery_synthetic",
    "_verification_stop_synthetic",
    "_pre_verify_synthetic",
    "_dropped_toolcall_nudge",
)
_BEGINNINGS: Final = (
    "[CONTEXT COMPACTION",
    "[System: ",
    "[IMPORTANT: Background process ",
    "Continue from the compressed conversation context above.",
)
"""First words of messages in the user's role that no person wrote: they take no block in."""

_BLOCK: Final = re.compile(
    rf"(?:\n\n)?^(?:{re.escape(HERMES_HEADER)}(?:\n- \[.*)+(?:\n\n\[Skills pruned during compression.*(?:\n.+)*)?"
    rf"|<punchlist>\n(?:{'|'.join(map(re.escape, _NOTES.values()))})"
    rf"(?:\n(?: *- \[|# |… and \d+ more; |{_CHANGED}: ).*)+(?:\n</punchlist>$)?)",
    re.MULTILINE,
)
"""A block with the empty line before it: it ends at the first line that is none of its rows.

A first line that no row follows is a quotation and stays. Hermes appends a paragraph about skills to its block.
"""

Message = Mapping[str, Any]


def merge_block(messages: Sequence[Message], block: str | None) -> list[Message]:
    """Return the messages with this block at their end, without an older one in the last user message.

    A message that a person wrote takes the block in; a message that was only a block is replaced; otherwise a message
    of its own follows. Tool calls that have no result yet stay last. Without a block the older one is only removed. Two
    messages that a person wrote never become neighbours by this.
    """
    end = _find_open_calls(messages)
    merged, unanswered = list(messages[:end]), messages[end:]
    while merged and merged[-1].get("role") == "user":
        last = merged[-1]
        content = last.get("content")
        kept = _remove_block(content)
        had_block = kept != content
        if (had_block and _is_blank(kept)) or (not had_block and last.get(SYNTHETIC)):
            merged.pop()
            continue
        if had_block:
            plain = {key: value for key, value in last.items() if key != SYNTHETIC or not value}
            merged[-1] = last = {**plain, "content": kept}
        if block is not None and _is_from_person(last):
            whole = f"{kept}\n\n{block}" if isinstance(kept, str) else [*kept, _make_part(kept, block)]
            merged[-1] = {**last, "content": whole}
            return [*merged, *unanswered]
        break
    if block is not None:
        merged.append({"role": "user", "content": block})
    return [*merged, *unanswered]


def _find_open_calls(messages: Sequence[Message]) -> int:
    """Return the index of the last assistant message if a tool call of it has no result, else the end.

    A user message between a call and its result is refused.
    """
    results: set[Any] = set()
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        parts = _list_objects(message.get("content"))
        results.add(message.get("tool_call_id"))
        results.update(part.get("tool_use_id") for part in parts)
        if message.get("role") == "assistant":
            calls = [part for part in parts if part.get("type") == "tool_use"]
            calls += _list_objects(message.get("tool_calls"))
            return len(messages) if results.issuperset(call.get("id") for call in calls) else index
    return len(messages)


def _list_objects(value: Any) -> list[Message]:
    if not isinstance(value, list):
        return []
    return [cast("Message", each) for each in cast("list[Any]", value) if isinstance(each, Mapping)]


def _make_part(parts: list[Any], block: str) -> Message:
    """Return the block as a part like the others: OpenAI's Responses API calls a text `input_text`."""
    is_input = any(str(part.get("type")).startswith("input_") for part in _list_objects(parts))
    return {"type": "input_text" if is_input else "text", "text": block}


def _remove_block(content: Any) -> Any:
    if isinstance(content, str):
        return _BLOCK.sub("", content)
    if not isinstance(content, list):
        return content
    parts: list[Any] = []
    for part in cast("list[Any]", content):
        text = _read_text(part)
        kept = text if text is None else _BLOCK.sub("", text)
        if kept == text:
            parts.append(part)
        elif kept and kept.strip():
            parts.append({**part, "text": kept})
    return parts


def _read_text(part: Any) -> str | None:
    if isinstance(part, str):
        return None
    text = cast("Mapping[str, Any]", part).get("text") if isinstance(part, Mapping) else None
    return text if isinstance(text, str) else None


def _is_blank(content: Any) -> bool:
    if isinstance(content, list):
        return not content
    return not content or (isinstance(content, str) and not content.strip())


def _is_from_person(message: Message) -> bool:
    """True if a person wrote this, as far as flags and first words tell."""
    content: Any = message.get("content")
    if any(message.get(flag) for flag in _FLAGS) or _is_blank(content) or not isinstance(content, str | list):
        return False
    if isinstance(content, str):
        return not content.startswith(_BEGINNINGS)
    texts = [text for part in cast("list[Any]", content) if (text := _read_text(part)) is not None]
    return not texts or not texts[0].startswith(_BEGINNINGS)

"""Write the texts of guidance: short, signed and fenced. The first line says what to do, each row below is an item.

No text asks a model to hide anything, and none presses it: each says what was seen and what to do.
"""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from msgspec import Struct

from punchlist.core.commands import Policy
from punchlist.core.merge import item_names
from punchlist.core.task import is_task_item
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.dialects.base import Dialect, shown_items
from punchlist.text import cut, fence, for_prompt, plural

Kind = Literal[
    "reminder", "hint", "stop", "verify", "changed", "failed", "problems", "plan_mode", "answer", "leftovers", "finding"
]
Place = Literal["tail", "before_results"]
Role = Literal["user", "developer"]

KINDS: tuple[Kind, ...] = get_args(Kind)
"""All kinds of text that guidance injects; the docs (guidance.md) say why."""


class Injection(Struct, frozen=True):
    """Text to append to the next request, so that the cached part of a prompt stays as it was."""

    kind: Kind
    text: str
    place: Place = "tail"
    """The tail of the request, or in front of the tool results."""
    role: Role = "user"
    once: bool = True
    """Leave it out of later requests."""
    for_user: str = ""
    """A line that a host may show to the person at the same time."""


class Row(NamedTuple):
    """An item as a text shows it: its id in the dialect or its place, and its status in the dialect's words."""

    item: TodoItem
    number: str
    status: str


Shown = Sequence[Row]

FROM = "Punchlist, the todo layer of this session"
_PROJECT = "project:"
_PLAIN = re.compile(r"[\w.:/-]{1,80}", re.ASCII)
_ITEM = 200
"""Most characters of one item; a cut one ends in `…`."""

_LEFTOVERS = 600
"""Most characters of the offer of leftovers, fence included."""

_QUOTED = 80
"""Most characters of an item that a sentence names."""

_MOST_NAMED = 4
"""Most changes that a sentence describes, and most items that each of them names."""

ROOM = 4_000
"""Most characters of one text, fence included, unless a schedule says less."""


def list_rows(todos: TodoList, dialect: Dialect, policy: Policy) -> list[Row]:
    """Return the rows of a list as a dialect shows it; a task that stands among the items goes by its own name."""
    found = shown_items(todos, policy)
    items = [item for item, _ in found]
    names = item_names(items, dialect.name) if dialect.has_ids else map(str, range(1, len(items) + 1))
    return [
        Row(item, item.id if is_task_item(item) else name, dialect.words.get(status, status.value))
        for name, (item, status) in zip(names, found, strict=True)
    ]


class Beyond(NamedTuple):
    """Items that the agent's own tool cannot report: ids of durable tasks among the items, and their lists."""

    ids: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()


NOTHING_BEYOND = Beyond()


def remind_unused(tools: str, turns: int, items: Shown, *, limit: int = ROOM) -> str:
    then = "If the list is out of date, update it; otherwise continue."
    return _write_list(f"{tools} was last used {plural(turns, 'turn')} ago. {then}", items, limit)


def remind_update(tools: str, *, limit: int = ROOM) -> str:
    said = f"the todo list has not been updated for a while. If it is out of date, update it with {tools}."
    return _write_list(said, (), limit)


def mention_tool(tools: str, *, limit: int = ROOM) -> str:
    then = f"If this work has several steps, keep track of them with {tools}; otherwise continue."
    return _write_list(f"the todo list is empty. {then}", (), limit)


def show_list(items: Shown, *, unfinished: bool = False, limit: int = ROOM) -> str:
    return _write_list("items that are still open:" if unfinished else "the todo list now:", items, limit)


def remind_drift(tools: str, changes: int, items: Shown, beyond: Beyond = NOTHING_BEYOND) -> str:
    made = "1 change was" if changes == 1 else f"{changes} changes were"
    one = len(items) == 1
    busy, are = (f"this {_noun(items)} is", "it is") if one else (f"these {_noun(items)}s are", "they are")
    then = f"If {are} done, or the work has changed, {_say_where_to_report(tools, items, beyond)}; otherwise continue."
    said = f"{made} made since the list was last updated, and {busy} still in progress."
    return _write_list(f"{said} {then}", items, ROOM)


def ask_to_continue(
    tools: str,
    items: Shown,
    left_out: Sequence[TodoItem] = (),
    *,
    attempt: int,
    tries: int,
    beyond: Beyond = NOTHING_BEYOND,
) -> str:
    """Ask a model that wants to stop to continue; `left_out` are open items that it no longer has on its list."""
    said: list[str] = []
    if items:
        are, it, they = ("is", "it", "it is") if len(items) == 1 else ("are", "them", "they are")
        said.append(f"{plural(len(items), _noun(items))} {are} still open. Continue with {it}.")
        said.append(f"If {they} done or no longer wanted, {_say_where_to_report(tools, items, beyond)}.")
    if left_out:
        was, it, they = ("was", "it", "it is") if len(left_out) == 1 else ("were", "them", "they are")
        said.append(f"{plural(len(left_out), 'open item')} {was} left out of the list.")
        said.append(f"Put {it} back with {tools} and do {it}, or say that {they} no longer wanted.")
    said.append("If only the person can decide how to continue, ask them and stop.")
    again = f" ({attempt} of {tries})" if tries > 1 else ""
    rows = [*_write_rows(items, phases=True), *(f"- [left out] {_show_text(item)}" for item in left_out)]
    return _write_cut(" ".join(said) + again, rows, ROOM)


def _say_where_to_report(tools: str, items: Shown, beyond: Beyond) -> str:
    """Return the words that say where to report these items: with the tools, as far as they reach them."""
    it = "it" if len(items) == 1 else "them"
    tasks = sum(row.item.id in beyond.ids for row in items)
    if not tasks:
        return f"update {it} with {tools}"
    if not beyond.lists:
        return f"report {it} where {it} came from ({tools} does not reach {it})".replace("where them", "where they")
    lists = [name for name in beyond.lists if not name.startswith(_PROJECT)]
    named = f" --list {lists[0]}" if len(beyond.lists) == 1 and lists and _PLAIN.fullmatch(lists[0]) else ""
    command = f"`punchlist tasks done ID{named}`"
    if tasks == len(items):
        return f"report {it} with {command} ({tools} does not reach tasks)"
    return f"update {it} with {tools}, and tasks, which it does not reach, with {command}"


def ask_for_check(count: int) -> str:
    then = "If nothing has checked them yet, run a test, a build or another check before you report them as done."
    return _write_fenced(f"{count} items were completed at once, and no check was seen. {then}", ())


def tell_change(changes: Sequence[str], items: Shown, *, gone: str = "") -> str:
    """Tell how others changed the list; `gone` says what became of items that are not on it any more."""
    return _write_list(_describe_change(changes, items, gone), items, ROOM)


def _describe_change(changes: Sequence[str], items: Shown, gone: str) -> str:
    more = [plural(len(changes) - _MOST_NAMED, "more change")] if len(changes) > _MOST_NAMED else []
    said = f"the todo list was changed: {'; '.join([*map(for_prompt, changes[:_MOST_NAMED]), *more])}."
    if gone:
        said += f" Do not add {gone} items again unless you are asked to."
    return f"{said} {'The list now:' if items else 'The list is empty now.'}"


def tell_news(news: Sequence[str], changes: Sequence[str] = (), items: Shown = (), *, gone: str = "") -> str:
    """Tell what people answered and decided, with the changes of the list that go with it."""
    rows = [*news]
    if changes:
        described = _describe_change(changes, items, gone)
        rows += [described[0].upper() + described[1:], *_write_rows(items, phases=False)]
    said = "an answer to what you asked or proposed. The words after `answered:` or `because:` are the person's."
    return _write_fenced(said, rows)


def describe_changes(
    before: Sequence[TodoItem],
    after: Sequence[TodoItem],
    authors: Mapping[str, str],
    words: Mapping[Status, str],
    set_aside: Container[str] = (),
) -> list[str]:
    """Return who changed what between two states of a list: "ada marked 'Run tests' done".

    `authors` are the names of those who last changed an item, by its id; `words` the dialect's, for statuses. The items
    with the ids `set_aside` can be restored: a plan or a rewrite took their place.
    """
    known, left = {item.id: item for item in before}, {item.id for item in after}
    found: dict[tuple[str, str, str], list[TodoItem]] = {}
    for item in (*after, *(item for item in before if item.id not in left)):
        said = _describe_item_change(known.get(item.id), item if item.id in left else None, words)
        if said is not None:
            verb, how = said
            verb = "set aside" if item.id not in left and item.id in set_aside else verb
            found.setdefault((cut(authors.get(item.id, "someone else"), _QUOTED), verb, how), []).append(item)
    return [" ".join(filter(None, (who, verb, quote_items(items), how))) for (who, verb, how), items in found.items()]


_MARKED = {Status.COMPLETED: "done", Status.IN_PROGRESS: "in progress"}


def _describe_item_change(
    before: TodoItem | None, after: TodoItem | None, words: Mapping[Status, str]
) -> tuple[str, str] | None:
    """Return the words before and after the item's name; None if a model would see no difference."""
    if before is None:
        return "added", _show_check(after)
    if after is None:
        return "removed", ""
    if before.status is not after.status:
        return "marked", _MARKED.get(after.status) or words.get(after.status, after.status.value)
    if before.content != after.content:
        return "renamed", f"(it was {quote_items([before])})"
    fields = ("active_form", "phase", "notes", "priority", "blocker", "check")
    if all(getattr(before, field) == getattr(after, field) for field in fields):
        return None
    return "changed", ""


def quote_items(items: Sequence[TodoItem], *, most: int = _MOST_NAMED) -> str:
    """Return the texts of items in quotes, at most so many, and the number of the others."""
    named = ", ".join(f"'{cut(for_prompt(item.content), _QUOTED)}'" for item in items[:most])
    return f"{named} and {len(items) - most} more" if len(items) > most else named


def tell_failure(tools: str, failure: str, applied: str = "") -> str:
    said = f"your last call of {tools} failed and changed nothing. Correct it and send it again."
    rows = [failure]
    if applied:
        said = f"your last call of {tools} failed in part. Send only what failed again; the rest was applied:"
        rows = [applied, failure]
    return _write_fenced(said, [cut(for_prompt(row), 500) for row in rows])


def tell_notes(tools: str, notes: Iterable[str]) -> str:
    return _write_fenced(f"about your last call of {tools}:", [cut(for_prompt(note), 500) for note in notes])


def tell_findings(seen: str) -> str:
    return _write_fenced("what was observed:", [cut(for_prompt(line), 500) for line in seen.splitlines()])


def shows_all(items: Shown) -> bool:
    """True if a text shows all these items, each to its end."""
    rows = _write_rows(items, phases=False)
    return sum(map(len, rows)) + len(rows) < ROOM - 2_000 and all(len(row.item.content) <= _ITEM for row in items)


def offer_leftovers(session: str, items: Sequence[TodoItem]) -> str:
    """Tell a new conversation of the open items of an ended one: an offer, and how to take or decline it."""
    left = (
        f"an earlier session here, {session}, ended with {plural(len(items), 'open item')}. This is an offer, not work"
    )
    how = f'`todo {{"continue": "{session}"}}` takes them over; `todo {{"continue": "none"}}` declines for good.'
    said = f"{left} to do: leave it alone unless the user wants it. {how}"
    return _write_cut(said, [f"- {cut(for_prompt(item.content), _QUOTED)}" for item in items], _LEFTOVERS)


def _write_list(said: str, items: Shown, limit: int) -> str:
    return _write_cut(said, _write_rows(items, phases=False), limit)


def _write_cut(said: str, rows: Sequence[str], limit: int) -> str:
    """Return the text with as many rows as there is room for; the last one says how many are missing."""
    text = _write_fenced(said, rows)
    kept = len(rows)
    while len(text) > limit and kept:
        over = len(text) - limit
        kept -= 1
        while kept and over > len(rows[kept]) + 40:
            over -= len(rows[kept]) + 1
            kept -= 1
        text = _write_fenced(said, [*rows[:kept], f"… and {len(rows) - kept} more"])
    return text


def _write_rows(items: Shown, *, phases: bool) -> list[str]:
    return [_write_row(row, phases=phases) for row in items]


def _write_row(row: Row, *, phases: bool) -> str:
    item = row.item
    phase = f" ({cut(for_prompt(item.phase), 40)})" if phases and item.phase else ""
    status = row.status if row.status.startswith("[") else f"[{row.status}]"
    number = cut(for_prompt(row.number), 100)
    if not number.startswith("#"):  # a task is named by its number, an item numbered by its place
        number += "."
    check = _show_check(item)
    return f"{number} {status} {_show_text(item)}{phase}{_show_blocker(item)}{f' {check}' if check else ''}"


def _show_text(item: TodoItem) -> str:
    text = item.content.removeprefix(f"{item.id} ") if is_task_item(item) else item.content
    return cut(for_prompt(text), _ITEM)


def _show_check(item: TodoItem | None) -> str:
    """Return the check that an item carries: the model is to run it."""
    return "" if item is None or item.check is None else f"(check: {cut(for_prompt(item.check.command), _ITEM)})"


def _show_blocker(item: TodoItem) -> str:
    """Return why a blocked item waits, and on whom: not every dialect has a status for it."""
    if item.status is not Status.BLOCKED or item.blocker is None:
        return ""
    on = f" on {item.blocker.on}" if item.blocker.on else ""
    reason = f": {item.blocker.reason}" if item.blocker.reason else ""
    return f" ({cut(for_prompt(f'blocked{on}{reason}'), _ITEM)})"


def _noun(items: Shown) -> str:
    return "task" if all(is_task_item(row.item) for row in items) else "item"


def _write_fenced(said: str, rows: Iterable[str]) -> str:
    return fence([f"{FROM}: {said}", *rows])

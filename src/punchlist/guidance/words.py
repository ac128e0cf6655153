"""Write the texts of guidance: short, signed and fenced. The opening marker holds the sentence, each row is an item.

No text asks a model to hide anything, and none presses it: each says what was seen and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, get_args

from msgspec import Struct

from punchlist.core.todo import SOMEBODY, Status, TodoItem
from punchlist.text import cut, fence, for_prompt

Kind = Literal["reminder", "hint", "stop", "verify", "changed", "failed", "problems", "plan_mode", "answer", "finding"]
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


Shown = Sequence[tuple[TodoItem, Status]]
"""Items in order, each with the status that the dialect shows."""

FROM = "Punchlist, the todo layer of this session"
_PROJECT = "project:"
_PLAIN = re.compile(r"[\w.:/-]{1,80}", re.ASCII)
_ITEM = 200
"""Most characters of one item; a cut one ends in `…`."""

ROOM = 4_000
"""Most characters of one text, fence included, unless a schedule says less."""


class Beyond(NamedTuple):
    """Items that the agent's own tool cannot report: ids of durable tasks among the items, and their lists."""

    ids: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()


NOTHING_BEYOND = Beyond()


def remind_unused(tool: str, turns: int, items: Shown, *, limit: int = ROOM) -> str:
    ago = "1 turn" if turns == 1 else f"{turns} turns"
    then = "If the list no longer says what you do, bring it up to date; if it does, carry on."
    return _write_list(f"`{tool}` was last used {ago} ago. {then}", items, limit)


def remind_update(tool: str, *, limit: int = ROOM) -> str:
    return _write_list(f"the todo list was not updated for a while. If it is out of date, use `{tool}`.", (), limit)


def mention_tool(tool: str, *, limit: int = ROOM) -> str:
    said = f"the todo list is empty. If this work has several steps, `{tool}` keeps track of them; if not, carry on."
    return _write_list(said, (), limit)


def show_list(items: Shown, *, unfinished: bool = False, limit: int = ROOM) -> str:
    return _write_list("what is still open:" if unfinished else "the todo list as it stands:", items, limit)


def remind_drift(tool: str, changes: int, items: Shown, beyond: Beyond = NOTHING_BEYOND) -> str:
    seen = f"{changes} changes were made since the list was last updated, and this is still in progress."
    then = f"If that is done, or the plan has changed, {_say_where_to_report(tool, items, beyond)}; if not, carry on."
    return _write_list(f"{seen} {then}", items, ROOM)


def count_owed(items: Shown) -> int:
    """Count the items that the model can do something about: not those that wait for another agent's task."""
    return sum(item.blocker is None or item.blocker.on != SOMEBODY for item, _ in items)


def ask_to_continue(tool: str, items: Shown, *, attempt: int, tries: int, beyond: Beyond = NOTHING_BEYOND) -> str:
    left = count_owed(items)
    count = f"{left} items are" if left != 1 else "1 item is"
    report = f"{_say_where_to_report(tool, items, beyond)} what is done or dropped"
    then = f"Go on with it; or {report}; or, if you need the person, ask and stop."
    again = f" ({attempt} of {tries})" if tries > 1 else ""
    return _write_list(f"{count} still open. {then}{again}", items, ROOM, phases=True)


def _say_where_to_report(tool: str, items: Shown, beyond: Beyond) -> str:
    """Return the words that say where to report these items: with the tool, as far as it reaches them."""
    tasks = sum(item.id in beyond.ids for item, _ in items)
    if not tasks:
        return f"tell `{tool}`"
    if not beyond.lists:
        return f"say where it is kept (`{tool}` does not reach it)"
    lists = [name for name in beyond.lists if not name.startswith(_PROJECT)]
    named = f" --list {lists[0]}" if len(beyond.lists) == 1 and lists and _PLAIN.fullmatch(lists[0]) else ""
    command = f"`punchlist tasks done ID{named}`"
    if tasks == len(items):
        return f"say with {command} (`{tool}` does not reach tasks)"
    return f"tell `{tool}`, or of tasks, which it does not reach, say with {command}"


def ask_for_check(count: int) -> str:
    then = "If nothing has checked them yet, run a test, a build or another check before you report them as done."
    return _write_list(f"{count} items were completed at once, and no check was seen. {then}", (), ROOM)


def tell_change(items: Shown, *, removed: bool) -> str:
    if removed and not items:
        said = "somebody else cleared the todo list, on purpose. Do not fill it again unless you are asked to."
    elif removed:
        said = "somebody else took items off the todo list, on purpose. Do not add them again unless you are asked to."
    else:
        said = "somebody else changed the todo list. Go on from how it stands now:"
    return _write_list(said, items, ROOM)


def tell_failure(tool: str, failure: str) -> str:
    said = f"your last call of `{tool}` failed, so people do not see what it says. Correct it and send it again."
    return _write_fenced(said, [cut(for_prompt(failure), 500)])


def tell_notes(tool: str, notes: Iterable[str]) -> str:
    return _write_fenced(
        f"about your last call of `{tool}`; an item that you send again comes back:",
        [cut(for_prompt(note), 500) for note in notes],
    )


def tell_findings(seen: str) -> str:
    return _write_fenced("how your work looks from here:", [cut(for_prompt(line), 500) for line in seen.splitlines()])


def shows_all(items: Shown) -> bool:
    """True if a text shows all these items, each to its end."""
    rows = _write_rows(items, phases=False)
    return sum(map(len, rows)) + len(rows) < ROOM - 400 and all(len(item.content) <= _ITEM for item, _ in items)


def _write_list(said: str, items: Shown, limit: int, *, phases: bool = False) -> str:
    """Return the text with as many rows as there is room for; the last one says how many are missing."""
    rows = _write_rows(items, phases=phases)
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
    rows: list[str] = []
    for place, (item, status) in enumerate(items, 1):
        phase = f" ({cut(for_prompt(item.phase), 40)})" if phases and item.phase else ""
        number = item.id if item.id.isdecimal() else place  # a tool that takes ids takes these
        rows.append(f"{number}. [{status.value}] {cut(for_prompt(item.content), _ITEM)}{phase}")
    return rows


def _write_fenced(said: str, rows: Iterable[str]) -> str:
    return fence(rows, note=f"{FROM}: {said}")

"""The words of guidance: short, ours, signed and fenced. The opening marker holds the sentence, each row is an item.

Nothing here asks a model to keep anything from anybody, and nothing presses it: each text says what was seen and what
may follow from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from punchlist.core.todo import SOMEBODY, Status, TodoItem
from punchlist.text import cut, fence, for_prompt

Kind = Literal["reminder", "hint", "stop", "verify", "changed", "failed", "problems", "plan_mode", "answer", "finding"]
Place = Literal["tail", "before_results"]
Role = Literal["user", "developer"]

KINDS: dict[Kind, str] = {
    "reminder": "the list was not updated for a while",
    "hint": "there is a tool for work of several steps",
    "stop": "the model wants to stop with work still open",
    "verify": "several items were completed at once, and no check was seen",
    "changed": "somebody else changed the list",
    "failed": "the last write failed",
    "problems": "what Punchlist did to the last call beyond its reply: characters removed, an item left out",
    "plan_mode": "plan mode is on",
    "answer": "a person answered what the agent asked; said in every profile, and beyond every ceiling",
    "finding": "a detector saw something, or a completion was contradicted later, where the model is to hear of it",
}
"""Everything that guidance says, and why."""


class Injection(Struct, frozen=True):
    """Text to append to the next request, and to that one alone: what a provider has cached stays as it was.

    `place` is the tail of the request, or in front of the tool results. With `once`, leave it out of the requests
    after. `for_user` is a line that a host may show to the person at the same time.
    """

    kind: Kind
    text: str
    place: Place = "tail"
    role: Role = "user"
    once: bool = True
    for_user: str = ""


Shown = Sequence[tuple[TodoItem, Status]]
"""Items in order, each with the status that the dialect shows."""

FROM = "Punchlist, the todo layer of this session"
_PROJECT = "project:"
_PLAIN = re.compile(r"[\w.:/-]{1,80}", re.ASCII)
_ITEM = 200
"""The most characters of one item; what is cut ends in `…`."""

ROOM = 4_000
"""The most characters of one text, fence included, unless a rhythm says less."""


class Beyond(NamedTuple):
    """Items that the agent's own tool cannot report: durable tasks, by their ids among the items, and their lists."""

    ids: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()


NOTHING_BEYOND = Beyond()


def unused(tool: str, turns: int, items: Shown, *, limit: int = ROOM) -> str:
    """The tool was not used for a while."""
    then = "If the list no longer says what you do, bring it up to date; if it does, carry on."
    return _listed(f"`{tool}` was last used {_turns(turns)} ago. {then}", items, limit)


def update(tool: str, *, limit: int = ROOM) -> str:
    """The same, where the original shows no list."""
    return _listed(f"the todo list was not updated for a while. If it is out of date, use `{tool}`.", (), limit)


def empty(tool: str, *, limit: int = ROOM) -> str:
    said = f"the todo list is empty. If this work has several steps, `{tool}` keeps track of them; if not, carry on."
    return _listed(said, (), limit)


def current(items: Shown, *, unfinished: bool = False, limit: int = ROOM) -> str:
    """The list, where the original shows it again and again."""
    return _listed("what is still open:" if unfinished else "the todo list as it stands:", items, limit)


def drifted(tool: str, changes: int, items: Shown, beyond: Beyond = NOTHING_BEYOND) -> str:
    """Much was changed and the list says nothing of it."""
    seen = f"{changes} changes were made since the list was last updated, and this is still in progress."
    then = f"If that is done, or the plan has changed, {_tell(tool, items, beyond)}; if not, carry on."
    return _listed(f"{seen} {then}", items, ROOM)


def owed(items: Shown) -> int:
    """How many of these the model can do something about; what comes after another's task is none of them."""
    return sum(item.blocker is None or item.blocker.on != SOMEBODY for item, _ in items)


def still_open(tool: str, items: Shown, *, attempt: int, tries: int, beyond: Beyond = NOTHING_BEYOND) -> str:
    """The model wants to stop with work open."""
    left = owed(items)
    count = f"{left} items are" if left != 1 else "1 item is"
    report = f"{_tell(tool, items, beyond)} what is done or dropped"
    then = f"Go on with it; or {report}; or, if you need the person, ask and stop."
    again = f" ({attempt} of {tries})" if tries > 1 else ""
    return _listed(f"{count} still open. {then}{again}", items, ROOM, phases=True)


def _tell(tool: str, items: Shown, beyond: Beyond) -> str:
    """Where to report what became of these items: with the tool, as far as it reaches."""
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


def unchecked(count: int) -> str:
    """Several items were completed at once."""
    then = "If nothing has checked them yet, run a test, a build or another check before you report them as done."
    return _listed(f"{count} items were completed at once, and no check was seen. {then}", (), ROOM)


def changed(items: Shown, *, removed: bool) -> str:
    """Somebody else changed the list, or took items off it."""
    if removed and not items:
        said = "somebody else cleared the todo list, on purpose. Do not fill it again unless you are asked to."
    elif removed:
        said = "somebody else took items off the todo list, on purpose. Do not add them again unless you are asked to."
    else:
        said = "somebody else changed the todo list. Go on from how it stands now:"
    return _listed(said, items, ROOM)


def failed(tool: str, failure: str) -> str:
    """The last write failed, and the list that people see is not up to date."""
    said = f"your last call of `{tool}` failed, so people do not see what it says. Correct it and send it again."
    return _fenced(said, [cut(for_prompt(failure), 500)])


def noted(tool: str, notes: Iterable[str]) -> str:
    """What was done to the last call beyond what its reply says."""
    return _fenced(
        f"about your last call of `{tool}`; an item that you send again comes back:",
        [cut(for_prompt(note), 500) for note in notes],
    )


def found(seen: str) -> str:
    """Detectors saw something, a line for each."""
    return _fenced("how your work looks from here:", [cut(for_prompt(line), 500) for line in seen.splitlines()])


def covers(items: Shown) -> bool:
    """Whether a text shows all these items, each to its end."""
    rows = _rows(items, phases=False)
    return sum(map(len, rows)) + len(rows) < ROOM - 400 and all(len(item.content) <= _ITEM for item, _ in items)


def _listed(said: str, items: Shown, limit: int, *, phases: bool = False) -> str:
    """The text with as many rows as there is room for; the last row says how many are missing."""
    rows = _rows(items, phases=phases)
    text = _fenced(said, rows)
    kept = len(rows)
    while len(text) > limit and kept:
        over = len(text) - limit
        kept -= 1
        while kept and over > len(rows[kept]) + 40:
            over -= len(rows[kept]) + 1
            kept -= 1
        text = _fenced(said, [*rows[:kept], f"… and {len(rows) - kept} more"])
    return text


def _rows(items: Shown, *, phases: bool) -> list[str]:
    rows: list[str] = []
    for place, (item, status) in enumerate(items, 1):
        phase = f" ({cut(for_prompt(item.phase), 40)})" if phases and item.phase else ""
        number = item.id if item.id.isdecimal() else place  # a tool that takes ids takes these
        rows.append(f"{number}. [{status.value}] {cut(for_prompt(item.content), _ITEM)}{phase}")
    return rows


def _fenced(said: str, rows: Iterable[str]) -> str:
    return fence(rows, note=f"{FROM}: {said}")


def _turns(count: int) -> str:
    return "1 turn" if count == 1 else f"{count} turns"

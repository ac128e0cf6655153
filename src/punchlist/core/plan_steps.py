"""Parse the steps that the Markdown of a plan lists.

Of a plan's lists only one kind counts: its checkboxes; without any, its numbered lines; without those, its bullets.
So the remarks of a plan do not become work. What is indented under a step is a note on it, a heading above steps is
their phase where there are several such, and code is not read.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from punchlist.core.todo import Phase, Status, TodoItem, TodoList

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)[ \t#]*$")
_LINE = re.compile(r"([ \t]*)(?:([-*+])|(\d{1,9})[.)])[ \t]+(?:\[([^\]\n])\][ \t]+)?(.*\S)")
_DONE = frozenset("xX✓✔")
MOST = 200
"""At most so many steps are taken from one plan; the rest stays in its text."""


class _Step(NamedTuple):
    kind: str
    indent: int
    text: str
    done: bool
    heading: str


def parse_steps(text: str) -> TodoList:
    """Return the steps as a todo list, pending or completed as checked; empty if the text lists nothing."""
    found = _find_lines(text)
    kind = next((kind for kind in ("box", "number", "bullet") if any(step.kind == kind for step in found)), "")
    level = min((step.indent for step in found if step.kind == kind), default=0)
    chosen: list[tuple[_Step, list[str]]] = []
    for step in found:
        if step.kind == kind and step.indent <= level + 1:
            chosen.append((step, []))
        elif chosen and step.indent > chosen[-1][0].indent and step.heading == chosen[-1][0].heading:
            chosen[-1][1].append(step.text)
    return _make_list(chosen[:MOST])


def _make_list(chosen: list[tuple[_Step, list[str]]]) -> TodoList:
    names = list(dict.fromkeys(step.heading for step, _ in chosen))
    phased = len(names) > 1
    phases = {name: Phase(str(number), name) for number, name in enumerate(filter(None, names), start=1) if phased}
    items: list[TodoItem] = []
    for number, (step, notes) in enumerate(chosen, start=len(phases) + 1):
        phase = phases.get(step.heading)
        items.append(
            TodoItem(
                id=str(number),
                content=step.text,
                status=Status.COMPLETED if step.done else Status.PENDING,
                phase_id=None if phase is None else phase.id,
                phase=None if phase is None else phase.name,
                notes=tuple(notes),
            )
        )
    return TodoList(items=tuple(items), phases=tuple(phases.values()), next_id=len(phases) + len(items) + 1)


def _find_lines(text: str) -> list[_Step]:
    """Return the lines of all lists, with the heading above each."""
    steps: list[_Step] = []
    heading, fence = "", ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            if mark is not None and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif mark is not None:
            fence = mark[1]
        elif (named := _HEADING.match(line)) is not None:
            heading = named[1]
        elif (found := _LINE.match(line)) is not None:
            blanks, bullet, _, box, said = found.groups()
            kind = "box" if box is not None else "bullet" if bullet else "number"
            steps.append(_Step(kind, len(blanks.expandtabs(4)), said, box in _DONE if box else False, heading))
    return steps

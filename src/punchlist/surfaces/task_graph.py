"""What waits for what: as a tree in the terminal, as a Mermaid diagram and as one for Graphviz.

A subject is data: in a diagram every character that could mean something there is written as a code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from punchlist.core.task import Task, TaskStatus
from punchlist.surfaces.spans import Line, Look
from punchlist.surfaces.tasks import Columns, indent, task_line
from punchlist.text import fit, for_terminal

Edge = tuple[str, str]
"""A blocker, and who waits for it."""

_LONGEST = 80
_PLAIN = frozenset(" .,-_/()'!?+=:")
_FILLS: Mapping[TaskStatus, tuple[str, str]] = {
    TaskStatus.PENDING: ("#ffffff", "#57606a"),
    TaskStatus.IN_PROGRESS: ("#ddf4ff", "#0969da"),
    TaskStatus.WAITING: ("#fff8c5", "#9a6700"),
    TaskStatus.COMPLETED: ("#dafbe1", "#1a7f37"),
    TaskStatus.FAILED: ("#ffebe9", "#cf222e"),
    TaskStatus.CANCELLED: ("#f6f8fa", "#8c959f"),
}
"""The colours of a box and of its edge."""


def around(id: str, edges: Sequence[Edge]) -> set[str]:
    """The task, all that it waits for and all that waits for it, however far."""
    found = {id}
    for pairs in (edges, [(task, blocker) for blocker, task in edges]):
        nexts: dict[str, list[str]] = {}
        for one, other in pairs:
            nexts.setdefault(one, []).append(other)
        seen, waiting = {id}, [id]
        while waiting:
            more = [each for each in nexts.get(waiting.pop(), []) if each not in seen]
            seen.update(more)
            waiting.extend(more)
        found |= seen
    return found


def graph_lines(tasks: Sequence[Task], edges: Sequence[Edge], look: Look, now: datetime) -> Iterator[Line]:
    """A tree in the order of work: each task once, below the last of its blockers; the row names all of them."""
    columns = Columns(tasks)
    known = {task.id: task for task in tasks}
    under = _places(tasks, [edge for edge in edges if edge[0] in known and edge[1] in known])
    below: dict[str | None, list[Task]] = {}
    for task in tasks:
        below.setdefault(under.get(task.id), []).append(task)
    rows = [(0, task) for task in reversed(below.get(None, []))]
    while rows:
        depth, task = rows.pop()
        yield task_line(task, look, now, columns, before=indent(depth, look.glyphs))
        rows.extend((depth + 1, child) for child in reversed(below.get(task.id, [])))


def _places(tasks: Sequence[Task], edges: Sequence[Edge]) -> dict[str, str]:
    """Below which of its blockers each task stands: the one that comes last when they are done in order."""
    after: dict[str, list[str]] = {}
    open_edges: dict[str, int] = {}
    for blocker, task in edges:
        after.setdefault(blocker, []).append(task)
        open_edges[task] = open_edges.get(task, 0) + 1
    under: dict[str, str] = {}
    level = [task.id for task in tasks if task.id not in open_edges]
    while level:
        following: list[str] = []
        for blocker in level:
            for task in after.get(blocker, ()):
                open_edges[task] -= 1
                if not open_edges[task]:
                    under[task] = blocker
                    following.append(task)
        level = following
    return under


def mermaid(tasks: Sequence[Task], edges: Sequence[Edge]) -> Iterator[str]:
    yield "flowchart TD"
    for task in tasks:
        yield f'  t{_number(task.id)}["{_number(task.id)}: {_coded(_title(task))}"]:::{task.status.value}'
    for blocker, task in edges:
        yield f"  t{_number(blocker)} --> t{_number(task)}"
    used = {task.status for task in tasks}
    for status, (fill, stroke) in _FILLS.items():
        if status in used:
            yield f"  classDef {status.value} fill:{fill},stroke:{stroke},color:#1f2328"


def _coded(text: str) -> str:
    """With Mermaid's own codes for everything but letters, digits and a few plain signs."""
    return "".join(char if char.isalnum() or char in _PLAIN else f"#{ord(char)};" for char in text)


def dot(tasks: Sequence[Task], edges: Sequence[Edge]) -> Iterator[str]:
    yield "digraph tasks {"
    yield '  node [shape=box, style="rounded,filled", fontname="sans-serif"];'
    for task in tasks:
        fill, stroke = _FILLS[task.status]
        label = f"{_number(task.id)}: {_quoted(_title(task))}"
        yield f'  t{_number(task.id)} [label="{label}", fillcolor="{fill}", color="{stroke}"];'
    for blocker, task in edges:
        yield f"  t{_number(blocker)} -> t{_number(task)};"
    yield "}"


def _quoted(text: str) -> str:
    """Within double quotes: no end of the text, no escape of Graphviz, no entity."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")


def _title(task: Task) -> str:
    return fit(for_terminal(task.subject), _LONGEST)


def _number(id: str) -> str:
    """An id is a number; whatever else a damaged row might hold has no place in a diagram."""
    return id if id.isascii() and id.isdecimal() else "0"

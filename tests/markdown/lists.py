"""Lists for the tests of checklists, briefly written and briefly read."""

from punchlist.core.todo import Blocker, Phase, Status, TodoItem, TodoList

PENDING, BUSY, DONE, DROPPED = Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED, Status.CANCELLED
BLOCKED, FAILED = Status.BLOCKED, Status.FAILED

Shape = tuple[str, Status, tuple[str, ...], Blocker | None]
"""What a checklist keeps of an item: content, status, notes, blocker."""


def item(
    content: str,
    status: Status = PENDING,
    phase: Phase | None = None,
    notes: tuple[str, ...] = (),
    blocker: Blocker | None = None,
) -> TodoItem:
    phase_id, name = (phase.id, phase.name) if phase is not None else (None, None)
    return TodoItem(
        id=content, content=content, status=status, phase_id=phase_id, phase=name, notes=notes, blocker=blocker
    )


def todo_list(*items: TodoItem, phases: tuple[Phase, ...] = (), explanation: str | None = None) -> TodoList:
    return TodoList(items=items, phases=phases, explanation=explanation)


def statuses(todos: TodoList) -> list[tuple[str, Status]]:
    return [(item.content, item.status) for item in todos.items]


def shape(todos: TodoList) -> list[tuple[str | None, list[Shape]]]:
    """The list phase by phase, without ids: items of no phase first, empty phases kept."""
    unphased = [_kept(item) for item in todos.items if item.phase_id is None]
    by_phase: list[tuple[str | None, list[Shape]]] = [
        (phase.name, [_kept(item) for item in todos.items if item.phase_id == phase.id]) for phase in todos.phases
    ]
    return [(None, unphased), *by_phase] if unphased else by_phase


def _kept(item: TodoItem) -> Shape:
    return item.content, item.status, item.notes, item.blocker

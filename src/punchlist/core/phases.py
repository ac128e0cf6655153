"""Phases of a list: named stretches in order, each with its own id; names may repeat."""

from __future__ import annotations

from collections.abc import Sequence, Set

from msgspec.structs import replace

from punchlist.core.todo import Phase, TodoItem, TodoList


def make_phase(phases: Sequence[Phase], name: str) -> Phase:
    """Return a phase with an id that none of these has."""
    numbers = (int(phase.id[1:]) for phase in phases if phase.id[1:].isdecimal())
    return Phase(f"f{max(numbers, default=0) + 1}", name)


def put_in_phase(item: TodoItem, phase: Phase | None) -> TodoItem:
    phase_id, name = (phase.id, phase.name) if phase is not None else (None, None)
    return item if (item.phase_id, item.phase) == (phase_id, name) else replace(item, phase_id=phase_id, phase=name)


def assign_phases(todos: TodoList, renewed: Sequence[Phase] | None, new: Set[str]) -> TodoList:
    """Put every item of a list in one of its phases, or in none.

    `renewed` are the phases from now on; without it the known ones stay. An item that only has a phase name
    joins the first phase of that name, which is made at the end if missing; a new one without a name joins the
    phase of the item before it, unless the phases are replaced.
    """
    if renewed is None and not todos.phases and all(item.phase is None for item in todos.items):
        return todos
    phases = list(todos.phases if renewed is None else renewed)
    by_id = {phase.id: phase for phase in phases}
    by_name: dict[str, Phase] = {}
    for phase in phases:
        by_name.setdefault(phase.name, phase)
    items: list[TodoItem] = []
    before: Phase | None = None
    for item in todos.items:
        phase = by_id.get(item.phase_id) if item.phase_id is not None else None
        if phase is None or phase.name != item.phase:
            joins = before if renewed is None and item.id in new else None
            phase = by_name.get(item.phase) if item.phase is not None else joins
        if phase is None and item.phase is not None:
            phase = make_phase([*todos.phases, *phases], item.phase)
            phases.append(phase)
            by_id[phase.id] = by_name[phase.name] = phase
        items.append(put_in_phase(item, phase))
        before = phase
    return replace(todos, items=tuple(items), phases=tuple(phases))


def renew_phases(old: Sequence[Phase], names: Sequence[str]) -> list[Phase]:
    """Return phases of these names in this order; each takes over the first unused old one of its name."""
    free = list(old)
    phases: list[Phase] = []
    for name in names:
        known = next((phase for phase in free if phase.name == name), None)
        if known is not None:
            free.remove(known)
        phases.append(known or make_phase([*old, *phases], name))
    return phases


def sort_by_phase(todos: TodoList) -> Sequence[TodoItem]:
    """Return the items as a dialect of phases shows them: those without one first, then phase by phase."""
    places: dict[str | None, int] = {phase.id: place for place, phase in enumerate(todos.phases, 1)}
    return sorted(todos.items, key=lambda item: places.get(item.phase_id, 0))

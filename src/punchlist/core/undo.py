"""Undo an author's last change, if no other author touched the same things since."""

from __future__ import annotations

from msgspec.structs import replace

from punchlist.core.todo import MOST_OMITTED, TodoItem, TodoList

Spot = tuple[TodoItem | None, bool]
"""An item, and whether it is among the omitted ones."""


def undo(current: TodoList, before: TodoList, after: TodoList) -> TodoList | str:
    """Return the current list without the change from `before` to `after`, or the name of what was changed again since.

    The revision stays the current one.
    """
    if before.plan_id != after.plan_id or current.plan_id != after.plan_id:
        return _undo_plan(current, before, after)
    was, became, now = _find_spots(before), _find_spots(after), _find_spots(current)
    nothing: Spot = (None, False)
    touched = [item_id for item_id in {**was, **became} if was.get(item_id, nothing) != became.get(item_id, nothing)]
    for item_id in touched:
        if now.get(item_id, nothing) != became.get(item_id, nothing):
            item = now.get(item_id, nothing)[0] or became.get(item_id, nothing)[0] or was[item_id][0]
            return item.content if item is not None else item_id
    if after.phases not in (before.phases, current.phases):
        return "the phases"
    if after.explanation not in (before.explanation, current.explanation):
        return "the explanation"
    if _is_reordered(before, after) and _is_reordered(after, current):
        return "the order of the items"
    items = _restore_items(current, before, after, set(touched))
    known_phases = {None, *(phase.id for phase in before.phases)}
    if before.phases != after.phases and not {item.phase_id for item in items} <= known_phases:
        return "the phases"
    return replace(
        current,
        items=items,
        omitted=_restore_omitted(current, before, after, set(touched)),
        phases=before.phases if before.phases != after.phases else current.phases,
        explanation=before.explanation if before.explanation != after.explanation else current.explanation,
    )


def _undo_plan(current: TodoList, before: TodoList, after: TodoList) -> TodoList | str:
    if current.plan_id != after.plan_id:
        return "the whole list"
    later = next((item for item in current.items if item not in after.items), None)
    if later is not None:
        return later.content
    if replace(current, revision=after.revision, next_id=after.next_id) != after:
        return "the whole list"
    return replace(before, revision=current.revision, next_id=max(before.next_id, current.next_id))


def _find_spots(todos: TodoList) -> dict[str, Spot]:
    spots: dict[str, Spot] = {item.id: (item, False) for item in todos.items}
    spots.update({item.id: (item, True) for item in todos.omitted})
    return spots


def _is_reordered(before: TodoList, after: TodoList) -> bool:
    """True if items that are on both lists stand in another order."""
    was = [item.id for item in before.items]
    now = [item.id for item in after.items]
    common = set(was) & set(now)
    return [item_id for item_id in was if item_id in common] != [item_id for item_id in now if item_id in common]


def _restore_items(current: TodoList, before: TodoList, after: TodoList, touched: set[str]) -> tuple[TodoItem, ...]:
    """Return the current items with the touched ones as they were; restored ones come after their old neighbour."""
    if current.items == after.items:
        return before.items
    old = {item.id: item for item in before.items}
    items = [old.get(item.id) if item.id in touched else item for item in current.items]
    result = [item for item in items if item is not None]
    present = {item.id for item in result}
    for place, item in enumerate(before.items):
        if item.id in touched and item.id not in present:
            earlier = {known.id for known in before.items[:place]}
            at = max((index + 1 for index, known in enumerate(result) if known.id in earlier), default=0)
            result.insert(at, item)
            present.add(item.id)
    if _is_reordered(before, after):
        places = {item.id: place for place, item in enumerate(before.items)}
        back = iter(sorted((item for item in result if item.id in places), key=lambda item: places[item.id]))
        result = [next(back) if item.id in places else item for item in result]
    return tuple(result)


def _restore_omitted(current: TodoList, before: TodoList, after: TodoList, touched: set[str]) -> tuple[TodoItem, ...]:
    if current.omitted == after.omitted:
        return before.omitted
    kept = tuple(item for item in current.omitted if item.id not in touched)
    return (*kept, *(item for item in before.omitted if item.id in touched))[-MOST_OMITTED:]

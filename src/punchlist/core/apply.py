"""Change a list: apply a command, recover a list from elsewhere, undo a change. Nothing here raises."""

from datetime import datetime
from typing import NamedTuple, assert_never

from msgspec.structs import replace

from punchlist.core import commands as do
from punchlist.core.commands import Cleaner, Command, Entry, Limits, Merge, Policy, Problem, Replace
from punchlist.core.edit import Editing
from punchlist.core.events import Draft, diff, draft_header, json_time
from punchlist.core.merge import ListMerge, Merged, item_names
from punchlist.core.todo import (
    MOST_OMITTED,
    ListState,
    Status,
    TodoItem,
    TodoList,
    assign_phases,
    set_status,
    sort_by_phase,
)
from punchlist.text import cut, for_prompt


class Applied(NamedTuple):
    """The next state with the events that lead there. Refused: the state is the old one, the problems say why."""

    state: ListState
    events: tuple[Draft, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def refused(self) -> bool:
        return not self.events and any(problem.fatal for problem in self.problems)


def apply(
    state: ListState, command: Command, policy: Policy, now: datetime, *, by: str = "", own: bool = True
) -> Applied:
    """Apply a command and return the next state. `own`: the list's own agent speaks, not a person or another agent."""
    problem = check_limits(command, policy.limits)
    if problem is not None:
        return Applied(state, (), (problem,))
    write = _Write(state, policy, now, by, own, Cleaner())
    match command:
        case Replace():
            return write.replace(command)
        case Merge():
            editing = write.begin_edit(state.todos)
            _merge_by_id(editing, command)
            return write.close(editing, "list.merged", shown=state.shown)
        case do.Edit():
            return write.edit(command)
        case _:
            assert_never(command)


class _Write(NamedTuple):
    """One write to a list: the state before it, and whose it is. `own`: the list's own agent's."""

    state: ListState
    policy: Policy
    now: datetime
    by: str
    own: bool
    cleaner: Cleaner

    def replace(self, command: Replace) -> Applied:
        policy, before = self.policy, self.state.todos
        busy = sum(entry.status is Status.IN_PROGRESS for entry in command.entries) if policy.focus == "refuse" else 0
        if busy > 1:
            text = f"{busy} items are in progress; one at a time, please."
            return Applied(self.state, (), (Problem("several_in_progress", text, fatal=True, data={"count": busy}),))
        merged = self._merge(command)
        todos, said = normalise_focus(_start_first(merged, command, self.now), policy, self.now)
        drafts = diff(before, todos)
        seen = merged.shown
        if policy.wipe_finished and all(entry.status is Status.COMPLETED for entry in command.entries):
            todos, gone = _wipe_finished(todos, merged.written)
            if gone:
                drafts.append(Draft("list.wiped", {"ids": gone}))
                seen = None if seen is None else tuple(item for item in seen if item.id not in gone)
        problems = [*self.cleaner.problems(), *said, *_report_omissions(before, todos)]
        return self._finish(todos, drafts, problems, "list.replaced", seen)

    def edit(self, command: do.Edit) -> Applied:
        todos, shown = self.state.todos, self.state.shown
        if command.first is not None:
            merged = self._merge(command.first)
            todos, shown = _start_first(merged, command.first, self.now), merged.shown
        editing = self.begin_edit(todos)
        editing.run(command.operations)
        return self.close(editing, "list.edited", shown=shown, explanation=command.explanation)

    def _merge(self, command: Replace) -> Merged:
        shown = self.state.shown if self.own else None
        return ListMerge(self.state.todos, shown, command, self.policy, self.now, self.by, self.cleaner).run()

    def begin_edit(self, todos: TodoList) -> Editing:
        return Editing(todos, self.policy, self.now, self.by, self.cleaner)

    def close(
        self, editing: Editing, kind: str, *, shown: tuple[TodoItem, ...] | None, explanation: str | None = None
    ) -> Applied:
        """Return the result of an edit, or why it was refused. `shown` is what the agent knew before."""
        refused = [problem for problem in editing.problems if problem.fatal]
        if refused and self.policy.atomic:
            return Applied(self.state, (), tuple(refused))
        before, limits = self.state.todos, self.policy.limits
        todos = editing.result()
        if len(before.items) < len(todos.items) > limits.items:
            return Applied(self.state, (), (too_many_items(len(todos.items), limits),))
        if explanation is not None:
            todos = replace(todos, explanation=self.cleaner.text(explanation) or None)
        todos, said = normalise_focus(todos, self.policy, self.now)
        drafts = diff(before, todos)
        problems = [*editing.problems, *self.cleaner.problems(), *said, *_report_omissions(before, todos)]
        seen = _find_seen_items(before, todos, shown, drafts) if self.own else None
        return self._finish(todos, drafts, problems, kind, seen)

    def _finish(
        self,
        todos: TodoList,
        drafts: list[Draft],
        problems: list[Problem],
        kind: str,
        seen: tuple[TodoItem, ...] | None,
    ) -> Applied:
        before = self.state.todos
        if not drafts and (todos.explanation, todos.phases) == (before.explanation, before.phases):
            confirmed = Draft("list.confirmed", {"revision": before.revision})
            unseen = seen if self.own else self.state.shown
            return Applied(ListState(before, unseen), (confirmed,), tuple(problems))
        todos = replace(todos, revision=before.revision + 1, omitted=todos.omitted[-MOST_OMITTED:])
        drafts.append(draft_header(kind, before, todos))
        for draft in drafts:
            draft.data.setdefault("revision", todos.revision)
        if not self.own:
            seen = items_known_to_agent(self.state, todos)
        return Applied(ListState(todos, seen), tuple(drafts), tuple(problems))


def _start_first(merged: Merged, command: Replace, now: datetime) -> TodoList:
    """Start the first pending item that was written, if the command asks for it and no item works or waits."""
    todos = merged.todos
    if not command.begin or todos.focus is not None or todos.waits_on_person:
        return todos
    pending = (item for item in todos.items if item.status is Status.PENDING and item.id in merged.written)
    first = next(pending, None)
    items = tuple(set_status(item, Status.IN_PROGRESS, now) if item is first else item for item in todos.items)
    return replace(todos, items=items)


def _wipe_finished(todos: TodoList, written: frozenset[str]) -> tuple[TodoList, list[str]]:
    """Return the list without its finished items, and their ids; what others still want done stays."""
    finished = todos.is_finished
    gone = [item.id for item in todos.items if not item.is_open and (finished or item.id in written)]
    items = tuple(item for item in todos.items if item.id not in gone) if gone else todos.items
    return replace(todos, items=items, phases=todos.phases if items else ()), gone


def _merge_by_id(editing: Editing, command: Merge) -> None:
    dialect = editing.policy.dialect
    places = _map_places(editing.items, dialect)
    for patch in command.patches:
        alias = editing.cleaner.text(patch.alias)
        place = places.get(alias)
        if place is None:
            if command.placeholder and len(editing.items) >= editing.policy.limits.items:
                continue
            content = patch.content or command.placeholder or patch.alias
            status = patch.status or Status.PENDING
            editing.apply(do.Append((Entry(content, status, alias=patch.alias, parent=patch.parent),)))
            at_the_end = editing.items[-1].aliases.get(dialect) == alias
            if at_the_end:
                places[alias] = len(editing.items) - 1
            else:
                places = _map_places(editing.items, dialect)
            continue
        item = editing.items[place]
        if patch.content:
            item = replace(item, content=editing.cleaner.text(patch.content))
        if patch.status is not None and patch.status is not editing.policy.shows(item.status):
            item = set_status(item, patch.status, editing.now)
        if patch.parent is not None:
            item = replace(item, parent=editing.cleaner.optional(patch.parent))
        editing.items[place] = item


def _map_places(items: list[TodoItem], dialect: str) -> dict[str, int]:
    return {name: place for place, name in enumerate(item_names(items, dialect))}


def normalise_focus(todos: TodoList, policy: Policy, now: datetime) -> tuple[TodoList, list[Problem]]:
    """Return the list with as many items in progress as the policy allows, and the problems to report."""
    if policy.lead_with_focus:
        todos = _lead_with_focus(todos)
    if policy.focus == "accept" and not policy.promote:
        return todos, []
    said: list[Problem] = []
    ordered = todos.items if policy.orphans is None else sort_by_phase(todos)
    busy = [item for item in ordered if item.status is Status.IN_PROGRESS]
    if len(busy) > 1 and policy.focus == "first":
        extra = {item.id for item in busy[1:]}
        items = tuple(set_status(item, Status.PENDING, now) if item.id in extra else item for item in todos.items)
        todos = replace(todos, items=items)
        names = ", ".join(item.id for item in busy[1:])
        text = f"One item is in progress at a time: kept {busy[0].id}; back to pending: {names}."
        said.append(Problem("demoted", text, data={"kept": busy[0].id, "items": sorted(extra)}))
    if policy.promote and not busy and not todos.waits_on_person:
        first = next((item for item in ordered if item.status is Status.PENDING), None)
        if first is not None:
            items = tuple(set_status(item, Status.IN_PROGRESS, now) if item is first else item for item in todos.items)
            todos = replace(todos, items=items)
    return todos, said


def _lead_with_focus(todos: TodoList) -> TodoList:
    items = todos.items
    busy = next((place for place, item in enumerate(items) if item.status is Status.IN_PROGRESS), None)
    first = next((place for place, item in enumerate(items) if item.status is Status.PENDING), None)
    if busy is None or first is None or first > busy:
        return todos
    return replace(todos, items=(*items[:first], items[busy], *items[first:busy], *items[busy + 1 :]))


def _report_omissions(before: TodoList, after: TodoList) -> list[Problem]:
    if after.omitted is before.omitted or len(after.omitted) == 0:
        return []
    known = {item.id for item in before.omitted}
    new = [item for item in after.omitted if item.id not in known]
    if not new:
        return []
    named = ", ".join(f"'{for_prompt(cut(item.content, 80))}'" for item in new[:10])
    more = f" and {len(new) - 10} more" if len(new) > 10 else ""
    was, it = ("1 open item was", "it") if len(new) == 1 else (f"{len(new)} open items were", "them")
    text = f"{was} left out and set aside: {named}{more}. Send {it} again to bring {it} back."
    return [Problem("omitted", text, data={"items": [item.id for item in new]})]


def _find_seen_items(
    before: TodoList, after: TodoList, shown: tuple[TodoItem, ...] | None, drafts: list[Draft]
) -> tuple[TodoItem, ...] | None:
    """Return the items that the agent knows after its own edit: those known before, with what it just touched."""
    if shown is None or not after.items or after.plan_id != before.plan_id:
        return None
    touched = {draft.data.get("id") or draft.data.get("item", {}).get("id") for draft in drafts}
    now = {item.id: item for item in after.items}
    known = [now.get(item.id) if item.id in touched else item for item in shown]
    known = [item for item in known if item is not None]
    ids = {item.id for item in known}
    return (*known, *(item for item in after.items if item.id in touched and item.id not in ids))


def items_known_to_agent(state: ListState, todos: TodoList) -> tuple[TodoItem, ...]:
    """Return the items that the list's agent knows after others changed the list; none if they began a new plan."""
    if todos.plan_id != state.todos.plan_id:
        return ()
    return state.todos.items if state.shown is None else state.shown


def check_limits(command: Command, limits: Limits) -> Problem | None:
    """Return the first limit that the input breaks: the count, then each item, blank before long, then other texts."""
    if isinstance(command, do.Edit) and len(command.operations) > (most := 4 * limits.items + 100):
        count = len(command.operations)
        text = f"{count} operations are too many for one call; at most {most} fit."
        return Problem("too_many_operations", text, fatal=True, data={"count": count, "max": most})
    given = _Texts()
    given.add_command(command)
    if given.entries > limits.items:
        return too_many_items(given.entries, limits)
    for index, (content, form) in enumerate(given.items):
        fields = [("content", content)] if form is None else [("content", content), ("active_form", form)]
        for name, text in fields:
            if limits.refuse_blank and not text.strip():
                data = {"field": name}
                return Problem("blank", f"Item {index}: `{name}` is empty.", fatal=True, at=index, data=data)
        for name, text in fields:
            size, most, unit = len(text), limits.characters, "characters"
            if limits.bytes is not None:
                size, most, unit = len(text.encode(errors="surrogatepass")), limits.bytes, "bytes"
            if size > most:
                said = f"Item {index}: `{name}` has {size} {unit}; at most {most} fit. Shorten it, or use a note."
                data = {"field": name, "size": size, "max": most, "unit": unit}
                return Problem("too_long", said, fatal=True, at=index, data=data)
    for name, text in given.others:
        if text is not None and len(text) > limits.other:
            said = f"A `{name}` has {len(text)} characters; at most {limits.other} fit. Shorten it."
            data = {"field": name, "size": len(text), "max": limits.other, "unit": "characters"}
            return Problem("too_long", said, fatal=True, data=data)
    return None


def too_many_items(count: int, limits: Limits) -> Problem:
    text = f"{count} items are too many; at most {limits.items} fit. Put small steps together."
    return Problem("too_many_items", text, fatal=True, data={"count": count, "max": limits.items})


class _Texts:
    """The texts of a command, for its limits.

    `entries` counts the items that it brings or names; a note or a new text is none. `items` are content and active
    form of all that becomes part of an item, `others` every other text with the name of its field.
    """

    def __init__(self) -> None:
        self.entries = 0
        self.items: list[tuple[str, str | None]] = []
        self.others: list[tuple[str, str | None]] = []

    def add_command(self, command: Command) -> None:
        match command:
            case Replace(entries, explanation, phases):
                self.others.append(("explanation", explanation))
                self.others += [("phase", name) for name in phases or ()]
                self._add_entries(entries)
            case Merge(patches, placeholder):
                # With a placeholder, what is too much is left out one by one.
                self.entries += 0 if placeholder else len(patches)
                for patch in patches:
                    self.items.append((patch.content or "-", None))
                    self.others += [("id", patch.alias), ("parent", patch.parent)]
            case do.Edit(operations, explanation):
                self.others.append(("explanation", explanation))
                if command.first is not None:
                    self.add_command(command.first)
                for operation in operations:
                    self._add_operation(operation)
            case _:
                assert_never(command)

    def _add_operation(self, operation: do.Operation) -> None:
        target: do.Target | None = getattr(operation, "target", None)
        if target is not None:
            self.others += [("item", target.item), ("phase", target.phase)]
        match operation:
            case do.Init(groups):
                for group in groups:
                    self.others.append(("phase", group.phase))
                    self._add_entries(group.entries)
            case do.Append(entries, phase):
                self.others.append(("phase", phase))
                self._add_entries(entries)
            case do.Reword(_, content, form):
                self.items.append((content, form))
            case do.Note(_, text) | do.Ask(_, text) | do.Fail(_, text):
                self.items.append((text or "-", None))
            case do.Block(_, reason, on):
                self.items.append((reason or "-", None))
                self.others.append(("on", on))
            case do.Done(_, evidence):
                for proof in evidence:
                    self.others += [("evidence", proof.text), ("kind", proof.kind)]
            case _:
                pass

    def _add_entries(self, entries: tuple[Entry, ...]) -> None:
        self.entries += len(entries)
        for entry in entries:
            self.items.append((entry.content, entry.active_form))
            named = (
                ("id", entry.alias),
                ("phase", entry.phase),
                ("priority", entry.priority),
                ("parent", entry.parent),
                ("check", entry.check),
            )
            self.others.extend(named)
            self.others += [("note", note) for note in entry.notes or ()]
            if entry.blocker is not None:
                self.others += [("reason", entry.blocker.reason), ("on", entry.blocker.on)]


# Lists from elsewhere: from a transcript, or from the session that this one continues.


def recover(
    state: ListState,
    command: Replace,
    policy: Policy,
    now: datetime,
    *,
    by: str,
    source: str,
    written_at: datetime | None = None,
    call_id: str | None = None,
) -> Applied:
    """Apply a recorded list as a write by its own agent, under the rules of its dialect.

    It is taken as it was recorded: nothing is refused or promoted that the original had let stand. Without events
    where it says what is already so. Where the dialect hides what was closed some time ago, an item that comes closed
    has no `finished_at`: when it was closed is not known, only that it was before. `written_at` and `call_id` are those
    of the record; the event keeps them, so that the next record is compared with this one.
    """
    origin = _describe_origin(source, written_at, call_id)
    applied = apply(state, command, replace(policy, focus="accept", promote=False), now, by=by)
    before, todos = state.todos, applied.state.todos
    if applied.refused or todos is before:
        return Applied(state, (), applied.problems)
    if policy.hide_closed_after < 0:
        *events, last = applied.events
        return applied._replace(events=(*events, Draft("list.restored", {**last.data, **origin})))
    known = {item.id: item for item in before.items}
    items = (
        item if item.is_open or known.get(item.id) == item else replace(item, finished_at=None) for item in todos.items
    )
    todos = replace(todos, items=tuple(items))
    return Applied(ListState(todos, applied.state.shown), _draft_events(before, todos, origin), applied.problems)


def adopt(state: ListState, other: ListState, *, source: str, written_at: datetime | None = None) -> Applied:
    """Take over the list of another session with everything in it, if this one has none yet."""
    before = state.todos
    if before.revision or not other.todos.revision:
        return Applied(state)
    todos = replace(other.todos, revision=1, plan_id="p1")
    return Applied(ListState(todos, other.shown), _draft_events(before, todos, _describe_origin(source, written_at)))


def take_over(state: ListState, other: TodoList, now: datetime, *, source: str) -> tuple[Applied, dict[str, str]]:
    """Add the open items of another session's list to this one; return the new ids of those whose own are used here."""
    before = state.todos
    next_id = 1 if not before.items and not before.omitted else before.next_id
    kept = {item.id for item in other.open_items if int(item.id) >= next_id}
    next_id = max([next_id, *(int(name) + 1 for name in kept)])
    lost = [item.id for item in other.open_items if item.id not in kept]
    renamed = {name: str(number) for number, name in enumerate(lost, next_id)}
    has_focus, items = before.focus is not None, list[TodoItem]()
    for item in other.open_items:
        moved = set_status(item, Status.PENDING, now) if item.status is Status.IN_PROGRESS and has_focus else item
        has_focus = has_focus or moved.status is Status.IN_PROGRESS
        parent = item.parent if item.parent in kept else renamed.get(item.parent or "")
        items.append(replace(moved, id=renamed.get(item.id, item.id), parent=parent, phase_id=None, aliases={}))
    todos = replace(
        before,
        items=(*before.items, *items),
        next_id=next_id + len(lost),
        plan_id=before.plan_id if before.items else f"p{before.revision + 1}",
        revision=before.revision + 1,
    )
    todos = assign_phases(todos, None, frozenset())
    return Applied(ListState(todos), _draft_events(before, todos, {"source": source})), renamed


def _describe_origin(source: str, written_at: datetime | None, call_id: str | None = None) -> dict[str, str]:
    told = {"source": source, "written_at": None if written_at is None else json_time(written_at), "call_id": call_id}
    return {key: value for key, value in told.items() if value is not None}


def _draft_events(before: TodoList, after: TodoList, origin: dict[str, str]) -> tuple[Draft, ...]:
    drafts = [*diff(before, after), draft_header("list.restored", before, after, **origin)]
    for draft in drafts:
        draft.data.setdefault("revision", after.revision)
    return tuple(drafts)


# Undo an author's last change, if no other author touched the same things since.

Spot = tuple[TodoItem | None, bool]
"""An item, and whether it is among the omitted ones."""


def undo(current: TodoList, before: TodoList, after: TodoList) -> TodoList | str:
    """Return the current list without the change from `before` to `after`, or the name of what was changed since."""
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

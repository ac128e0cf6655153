"""Edit a list by operations on an item, a phase or everything, one after the other."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import assert_never

from msgspec.structs import replace

from punchlist.core import commands as do
from punchlist.core.commands import Cleaner, Entry, Group, Operation, Policy, Problem, Target
from punchlist.core.merge import choose_check, make_item, match
from punchlist.core.todo import (
    ANYBODY,
    Blocker,
    Evidence,
    Phase,
    Status,
    TodoItem,
    TodoList,
    make_phase,
    put_in_phase,
    set_status,
)
from punchlist.text import cut, for_prompt

_LONGEST = 100_000
"""No text on a list is longer, so a longer name matches nothing."""

_ENOUGH = 10
"""At most so many problems are reported at once, where one is enough to refuse the call."""


def _shorten(text: str) -> str:
    """Return a text as an error message names it: on one line, and cut."""
    return for_prompt(cut(text, 80))


class Editing:
    """A list under change. `problems` collects what went wrong, with the index of its operation."""

    def __init__(self, todos: TodoList, policy: Policy, now: datetime, by: str, cleaner: Cleaner) -> None:
        self.start = todos
        self.items = list(todos.items)
        self.phases = list(todos.phases)
        self.omitted = list(todos.omitted)
        self.plan_id = todos.plan_id
        self.explanation = todos.explanation
        self.next_id = todos.next_id
        self.policy = policy
        self.now = now
        self.by = by
        self.cleaner = cleaner
        self.problems: list[Problem] = []
        self.at: int | None = None
        # As it was before the call: what the call itself closes stays in reach of its later operations.
        self.hidden = {item.id for item in self.items if policy.hides(item, now)}

    def result(self) -> TodoList:
        return replace(
            self.start,
            items=tuple(self.items),
            phases=tuple(self.phases),
            omitted=tuple(self.omitted),
            plan_id=self.plan_id,
            explanation=self.explanation,
            next_id=self.next_id,
        )

    def run(self, operations: Iterable[Operation]) -> None:
        for index, operation in enumerate(operations):
            if self.policy.atomic and len(self.problems) >= _ENOUGH and any(known.fatal for known in self.problems):
                return
            self.at = index
            self.apply(operation)

    def apply(self, operation: Operation) -> None:
        match operation:
            case do.Init(groups):
                self._init(groups)
            case do.Refuse(text):
                self.refuse("malformed", text)
            case do.Append():
                self._append(operation)
            case do.Start(target, beside):
                self._start(target, beside=beside)
            case do.Done(target, evidence, advance):
                proofs = tuple(self._redact_evidence(proof) for proof in evidence)
                self._end(target, Status.COMPLETED, advance=advance, proofs=proofs)
            case do.Fail(target, reason):
                self._end(target, Status.FAILED, note=self.cleaner.text(reason))
            case do.Drop(target):
                self._end(target, Status.CANCELLED)
            case do.Reopen(target):
                self._change_each(target, lambda item: set_status(item, Status.PENDING, self.now), sweep=True)
            case do.Remove(target, phases):
                self._remove(target, phases=phases)
            case do.Note(target, text):
                self._note(target, text)
            case do.Block(target, reason, on):
                self._block(target, Blocker(self.cleaner.text(reason), self.cleaner.optional(on)))
            case do.Ask(target, question):
                self._block(target, Blocker(self.cleaner.text(question), ANYBODY))
            case do.Unblock(target):
                self._unblock(target)
            case do.Reword():
                self._reword(operation)
            case do.Restore(target):
                self._restore(target)
            case _:
                assert_never(operation)

    def refuse(self, code: str, text: str, **data: object) -> None:
        self.problems.append(Problem(code, text, fatal=True, at=self.at, data=data))

    def _redact_evidence(self, given: Evidence) -> Evidence:
        """Return evidence without secrets: it is often a command line."""
        # Both load tables that a command without evidence does not need; they belong to what tools report.
        from punchlist.core.grounding.evidence import classify_evidence
        from punchlist.text.redaction import redact

        text = redact(self.cleaner.text(given.text), self.policy.secrets)
        return Evidence(text, classify_evidence(text, self.cleaner.optional(given.kind)))

    # Which items an operation means.

    def _find_places(self, target: Target) -> list[int] | None:
        """Return the places of the items that a target means; None after a refusal."""
        if target.item is not None:
            place = self._find_place(target.item, target.by)
            if place is None:
                empty = not self._visible_places()
                hint = "the list is empty" if empty else "look at the list and use an id on it"
                name = _shorten(target.item)
                self.refuse("not_found", f"There is no item `{name}`; {hint}.", item=target.item, empty=empty)
                return None
            return [place]
        if target.phase is not None:
            if self._means_orphans(target.phase):
                return [place for place in self._visible_places() if self.items[place].phase_id is None]
            phase = self._find_phase(target.phase)
            if phase is None:
                self.refuse("phase_not_found", f"There is no phase `{_shorten(target.phase)}`.", phase=target.phase)
                return None
            return [place for place in self._visible_places() if self.items[place].phase_id == phase.id]
        return self._visible_places()

    def _visible_places(self) -> list[int]:
        return [place for place, item in enumerate(self.items) if item.id not in self.hidden]

    def _means_orphans(self, phase: str) -> bool:
        return phase == self.policy.orphans and any(
            self.items[place].phase_id is None for place in self._visible_places()
        )

    def _find_place(self, name: str, by: str) -> int | None:
        places = self._visible_places()
        if by in ("id", "any"):
            found = next((place for place in places if self.items[place].id == name), None)
            if found is not None or by == "id":
                return found
        if len(name) > _LONGEST:
            return None
        cleaned = self.cleaner.text(name)
        return next((place for place in places if self.items[place].content in (name, cleaned)), None)

    def _find_phase(self, name: str) -> Phase | None:
        if len(name) > _LONGEST:
            return None
        names = (name, self.cleaner.text(name))
        return next((phase for phase in self.phases if phase.name in names), None)

    def _change_each(self, target: Target, change: Callable[[TodoItem], TodoItem], *, sweep: bool) -> list[int]:
        """Change the items that a target means; return their places. Without `sweep`, a phase means its open items."""
        places = self._find_places(target)
        if places is None:
            return []
        if target.item is None and not sweep:
            places = [place for place in places if self.items[place].is_open]
        for place in places:
            self.items[place] = change(self.items[place])
        return places

    # What operations do.

    def _init(self, groups: tuple[Group, ...]) -> None:
        entries = [entry for group in groups for entry in group.entries]
        texts = [self.cleaner.text(entry.content) for entry in entries]
        if entries and not any(item.is_open for item in self.items):
            self._begin_plan()
            self.items.clear()
        found = match(entries, texts, self.items, self.policy.dialect)
        old = {item.id: item for item in self.items}
        self.items.clear()
        self.phases.clear()
        self.hidden.clear()
        known = iter(zip(texts, found, strict=True))
        for group in groups:
            phase = None
            if group.phase is not None:
                phase = make_phase([*self.start.phases, *self.phases], self.cleaner.text(group.phase))
                self.phases.append(phase)
            for entry in group.entries:
                text, before = next(known)
                item = self._new(entry, text, before.id if before is not None else None)
                if before is not None:  # started again, with unmentioned fields as they were
                    item = replace(
                        item,
                        active_form=item.active_form or before.active_form,
                        priority=item.priority or before.priority,
                        parent=item.parent or before.parent,
                        check=choose_check(before.check, entry, self.policy, self.cleaner),
                        aliases={**before.aliases, **item.aliases},
                        # A clock may be set back: nothing starts before it was made.
                        created_at=min(filter(None, (before.created_at, item.created_at)), default=None),
                        created_by=before.created_by,
                    )
                    old.pop(before.id, None)
                self.items.append(put_in_phase(item, phase))
        self.omitted.extend(item for item in old.values() if item.is_open)

    def _begin_plan(self) -> None:
        self.plan_id = f"p{self.start.revision + 1}"
        self.explanation = None
        if not self.omitted:
            self.next_id = 1

    def _new(self, entry: Entry, text: str, item_id: str | None = None) -> TodoItem:
        if item_id is None:
            item_id = str(self.next_id)
            self.next_id += 1
        return make_item(
            entry,
            text,
            item_id=item_id,
            policy=self.policy,
            now=self.now,
            by=self.by,
            cleaner=self.cleaner,
            omitted=self.omitted,
        )

    def _append(self, operation: do.Append) -> None:
        if not self.items and operation.entries:
            self._begin_plan()
        phase = self.phases[-1] if self.phases else None
        if operation.phase is not None:
            orphans = self._means_orphans(operation.phase)
            phase = None if orphans else self._find_or_add_phase(self.cleaner.text(operation.phase))
        place, last = self._end_of(phase), phase
        taken = {self.items[place].content for place in self._visible_places()} if operation.unique else set[str]()
        for entry in operation.entries:
            text = self.cleaner.text(entry.content)
            if text in taken:
                self.refuse("duplicate", f"`{_shorten(text)}` is on the list already.", item=entry.content)
                return
            if operation.unique:
                taken.add(text)
            into = phase if entry.phase is None else self._find_or_add_phase(self.cleaner.text(entry.phase))
            if into is not last:
                place, last = self._end_of(into), into
            self.items.insert(place, put_in_phase(self._new(entry, text), into))
            place += 1

    def _find_or_add_phase(self, name: str) -> Phase:
        phase = self._find_phase(name)
        if phase is None:
            phase = make_phase([*self.start.phases, *self.phases], name)
            self.phases.append(phase)
        return phase

    def _end_of(self, phase: Phase | None) -> int:
        """Return the place for a new item of the phase: after its last one, else before the phases that follow."""
        if phase is None:
            return len(self.items)
        mine = [place for place, item in enumerate(self.items) if item.phase_id == phase.id]
        if mine:
            return mine[-1] + 1
        later = {known.id for known in self.phases[self.phases.index(phase) + 1 :]}
        return next((place for place, item in enumerate(self.items) if item.phase_id in later), len(self.items))

    def _start(self, target: Target, *, beside: bool) -> None:
        places = self._find_places(target)
        if places is None:
            return
        if target.item is None:
            places = [place for place in places if self.items[place].is_open][:1]
        if not places:
            return
        others = [
            place for place, item in enumerate(self.items) if item.status is Status.IN_PROGRESS and place not in places
        ]
        if others and self.policy.focus == "refuse":
            busy = self.items[others[0]].id
            self.refuse("several_in_progress", f"Item `{busy}` is in progress; finish it first.", item=busy)
            return
        for place in others if not beside else ():
            item = self.items[place]
            self.items[place] = set_status(item, Status.PENDING, self.now)
            text = f"Item {item.id} went back to pending: one item is in progress at a time."
            self.problems.append(Problem("demoted", text, at=self.at, data={"item": item.id}))
        self.items[places[0]] = set_status(self.items[places[0]], Status.IN_PROGRESS, self.now)

    def _end(
        self,
        target: Target,
        status: Status,
        *,
        advance: bool = True,
        proofs: tuple[Evidence, ...] = (),
        note: str = "",
    ) -> None:
        def end(item: TodoItem) -> TodoItem:
            item = set_status(item, status, self.now)
            if self.policy.confirms and status is Status.COMPLETED:
                item = replace(item, grade="confirmed")
            if proofs:
                item = replace(item, evidence=(*item.evidence, *proofs))
            return replace(item, notes=(*item.notes, note)) if note else item

        focus = next((item.id for item in self.items if item.status is Status.IN_PROGRESS), None)
        places = self._change_each(target, end, sweep=self.policy.sweep)
        if advance:
            self._advance(focus, places)

    def _advance(self, focus: str | None, places: list[int]) -> None:
        """Start the next pending item when the one in focus was just closed; none while an item waits on a person."""
        if not self.policy.advance or not any(self.items[place].id == focus for place in places):
            return
        if any(item.status is Status.IN_PROGRESS or item.waits_on_person for item in self.items):
            return
        order = [*range(places[-1] + 1, len(self.items)), *range(places[-1] + 1)]
        place = next((place for place in order if self.items[place].status is Status.PENDING), None)
        if place is not None:
            self.items[place] = set_status(self.items[place], Status.IN_PROGRESS, self.now)

    def _remove(self, target: Target, *, phases: bool) -> None:
        if target.item is not None and any(item.id == target.item for item in self.omitted):
            self.omitted = [item for item in self.omitted if item.id != target.item]
            return
        places = self._find_places(target)
        if places is None:
            return
        gone = set(places)
        self.items = [item for place, item in enumerate(self.items) if place not in gone]
        if phases and target.item is None:
            phase = self._find_phase(target.phase) if target.phase is not None else None
            self.phases = [known for known in self.phases if known != phase] if phase else []

    def _note(self, target: Target, text: str) -> None:
        note = self.cleaner.text(text).rstrip()
        if target.item is None:
            self.refuse("missing_target", "A note needs an item.")
        elif not note and self._find_places(target) is not None:
            self.refuse("missing_text", "A note needs a text.")
        elif note:
            self._change_each(target, lambda item: replace(item, notes=(*item.notes, note)), sweep=True)

    def _block(self, target: Target, blocker: Blocker) -> None:
        focus = next((item.id for item in self.items if item.status is Status.IN_PROGRESS), None)
        places = self._change_each(
            target, lambda item: replace(set_status(item, Status.BLOCKED, self.now), blocker=blocker), sweep=False
        )
        self._advance(focus, places)

    def _unblock(self, target: Target) -> None:
        def unblock(item: TodoItem) -> TodoItem:
            return set_status(item, Status.PENDING, self.now) if item.status is Status.BLOCKED else item

        self._change_each(target, unblock, sweep=False)

    def _reword(self, operation: do.Reword) -> None:
        content = self.cleaner.text(operation.content)
        if not content.strip():
            self.refuse("missing_text", "An item needs a text.")
            return
        form = self.cleaner.optional(operation.active_form)
        self._change_each(operation.target, lambda item: replace(item, content=content, active_form=form), sweep=True)

    def _restore(self, target: Target) -> None:
        wanted = [
            item
            for item in self.omitted
            if (target.item is None or target.item in (item.id, item.content))
            and (target.phase is None or target.phase == item.phase)
        ]
        if target.item is not None and not wanted:
            self.refuse("not_found", f"No item `{_shorten(target.item)}` was left out.", item=target.item, empty=False)
        for item in wanted[:1] if target.item is not None else wanted:
            self.omitted.remove(item)
            phase = next((known for known in self.phases if known.id == item.phase_id), None)
            back = put_in_phase(set_status(item, Status.PENDING, self.now), phase)
            self.items.insert(self._end_of(phase), back)

"""Merge a whole list with what its author last saw and what others did since: a three-way merge.

Without changes by others the result is the input, to the letter, plus the items that the dialect cannot show.
Where the writer sends no ids of ours, `match` finds the item of each entry: by alias, then by normalised text, then by
near text among what is left. Its work is bounded: near text is only sought two places away, over the first 200
characters.
"""

import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.commands import Cleaner, Entry, Policy, Replace
from punchlist.core.todo import (
    ENDED,
    NamedCheck,
    Phase,
    Status,
    TodoItem,
    TodoList,
    assign_phases,
    put_in_phase,
    renew_phases,
    set_status,
)
from punchlist.text import clean


class _MatchKeyTable(dict[int, str]):
    """Translate a character for a match key: letters, digits, marks and symbols stay, the rest becomes a space.

    Symbols are no punctuation: `C` is not `C++`.
    """

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = folded = char if unicodedata.category(char)[0] in "LNMS" else " "
        return folded


_MATCH_KEYS = _MatchKeyTable()

NEAR = 0.6
"""Two texts are near if they share this part of all their words: one of four words may change, or two of eight."""

REACH = 2
"""An item is sought at most so many places away, so that the work stays linear."""

WINDOW = 200
"""Characters of a text that are compared; the beginning tells texts apart."""


def match_key(text: str) -> str:
    """Return the text with case, whitespace, punctuation and composition folded; the text itself if nothing is left."""
    folded = text.casefold() if text.isascii() else unicodedata.normalize("NFC", text).casefold()
    words = " ".join(folded.translate(_MATCH_KEYS).split())
    if not words.isascii():
        words = unicodedata.normalize("NFC", words)
    return words or " ".join(folded.split())


def match(
    entries: Sequence[Entry], texts: Sequence[str], items: Sequence[TodoItem], dialect: str
) -> list[TodoItem | None]:
    """Return for each entry its old item, or None. `texts` are the entries' texts, cleaned. No item is given twice."""
    matching = _Matching(texts, items)
    matching.by_alias(entries, dialect)
    matching.by_key()
    matching.by_near_text()
    return [None if place is None else items[place] for place in matching.found]


class _Matching:
    """One run: `found[i]` is the place of the old item for entry i; `free` are the old places not yet given."""

    def __init__(self, texts: Sequence[str], items: Sequence[TodoItem]) -> None:
        self.texts = texts
        self.items = items
        self.found: list[int | None] = [None] * len(texts)
        self.free = dict.fromkeys(range(len(items)))

    def give(self, index: int, place: int) -> None:
        self.found[index] = place
        del self.free[place]

    def by_alias(self, entries: Sequence[Entry], dialect: str) -> None:
        if not any(entry.alias is not None for entry in entries):
            return
        places: dict[str, int] = {}
        for place, name in enumerate(item_names(self.items, dialect)):
            places.setdefault(name, place)
        for index, entry in enumerate(entries):
            place = places.get(clean(entry.alias).text) if entry.alias is not None else None
            if place is not None and place in self.free and self._is_meant(index, place, dialect):
                self.give(index, place)

    def _is_meant(self, index: int, place: int, dialect: str) -> bool:
        """True if a matching id means this item: the writer gave it, or it is ours and the text is near too."""
        item = self.items[place]
        if dialect == "punchlist" or dialect in item.aliases:
            return True
        mine, theirs = _split_words(self.texts[index]), _split_words(item.content)
        return len(mine & theirs) >= NEAR * len(mine | theirs)

    def by_key(self) -> None:
        for index, text in enumerate(self.texts):
            if self.found[index] is None and index in self.free and text == self.items[index].content:
                self.give(index, index)
        open_entries = [index for index, place in enumerate(self.found) if place is None]
        if not open_entries or not self.free:
            return
        theirs = {place: match_key(self.items[place].content) for place in self.free}
        mine = {index: match_key(self.texts[index]) for index in open_entries}
        for index in open_entries:
            if theirs.get(index) == mine[index]:
                self.give(index, index)
        keyed: defaultdict[str, list[int]] = defaultdict(list)
        for place in self.free:
            keyed[theirs[place]].append(place)
        for index in open_entries:
            places = keyed.get(mine[index])
            if self.found[index] is None and places:
                self.give(index, places.pop(_find_nearest(places, index)))

    def by_near_text(self) -> None:
        open_entries = [index for index, place in enumerate(self.found) if place is None]
        if not open_entries or not self.free:
            return
        words = {place: _split_words(self.items[place].content) for place in self.free}
        pairs: list[tuple[float, int, int, int, int]] = []
        for index in open_entries:
            mine = _split_words(self.texts[index])
            for place in range(index - REACH, index + REACH + 1):
                theirs = words.get(place)
                if theirs is None:
                    continue
                union = len(mine | theirs)
                score = len(mine & theirs) / union if union else 0.0
                if score >= NEAR:
                    item_id = self.items[place].id
                    age = int(item_id) if item_id.isdecimal() else 0  # ids count upwards: a smaller number is older
                    pairs.append((-score, abs(index - place), age, place, index))
        for _, _, _, place, index in sorted(pairs):
            if self.found[index] is None and place in self.free:
                self.give(index, place)


def item_names(items: Sequence[TodoItem], dialect: str) -> list[str]:
    """Return the id of each item in a dialect: the one that it gave, else ours, marked where that one is taken."""
    if dialect == "punchlist":
        return [item.id for item in items]
    taken = {item.aliases[dialect] for item in items if dialect in item.aliases}
    return [item.aliases.get(dialect, f"p{item.id}" if item.id in taken else item.id) for item in items]


def _find_nearest(places: list[int], index: int) -> int:
    """Return the position, within sorted places, of the one nearest to index; the earlier, older one at a tie."""
    at = bisect_left(places, index)
    if at == 0:
        return 0
    if at == len(places) or index - places[at - 1] <= places[at] - index:
        return at - 1
    return at


def _split_words(text: str) -> frozenset[str]:
    return frozenset(match_key(text[:WINDOW]).split())


def make_item(
    entry: Entry,
    text: str,
    *,
    item_id: str,
    policy: Policy,
    now: datetime,
    by: str,
    cleaner: Cleaner,
    omitted: Sequence[TodoItem],
) -> TodoItem:
    """Make an item from an entry, with a check that a person set for an `omitted` one. The caller sets its phase."""
    status, dialect = entry.status, policy.dialect
    return TodoItem(
        id=item_id,
        content=text,
        active_form=cleaner.optional(entry.active_form),
        status=status,
        notes=cleaner.notes(entry.notes) if entry.notes else (),
        priority=cleaner.optional(entry.priority),
        parent=cleaner.optional(entry.parent),
        blocker=None if status in ENDED else cleaner.blocker(entry.blocker),
        aliases={dialect: cleaner.text(entry.alias)} if entry.alias is not None and dialect != "punchlist" else {},
        created_at=now,
        created_by=by,
        started_at=now if status is Status.IN_PROGRESS else None,
        finished_at=now if status in ENDED else None,
        check=choose_check(_find_fixed_check(omitted, text), entry, policy, cleaner),
    )


def choose_check(known: NamedCheck | None, entry: Entry, policy: Policy, cleaner: Cleaner) -> NamedCheck | None:
    """Return the check of an item: that of the entry, an empty one removes it. A model leaves a person's as it is."""
    is_fixed = known is not None and known.by == "person" and not policy.confirms
    if entry.check is None or is_fixed:
        return known
    command = cleaner.text(entry.check).strip()
    return NamedCheck(command, "person" if policy.confirms else "model") if command else None


def _find_fixed_check(omitted: Sequence[TodoItem], text: str) -> NamedCheck | None:
    """Return the check that a person set for an item which was left out, and which this text repeats."""
    fixed = [item for item in omitted if item.check is not None and item.check.by == "person"]
    return next((item.check for item in fixed if match_key(item.content) == match_key(text)), None)


class Merged(Struct, frozen=True):
    """A merged list. `written` are the ids in the input; `shown` is None if the author knows the whole list."""

    todos: TodoList
    written: frozenset[str]
    shown: tuple[TodoItem, ...] | None


class ListMerge(Struct):
    """One merge of a full write into a list. `shown` is what the author last wrote or saw; None if that is the list.

    Base is what the author knew, current what is there, foreign what the author does not speak of.
    """

    todos: TodoList
    shown: tuple[TodoItem, ...] | None
    command: Replace
    policy: Policy
    now: datetime
    by: str
    cleaner: Cleaner
    texts: list[str] = []
    current: dict[str, TodoItem] = {}
    next_id: int = 1
    phases: list[Phase] | None = None

    def __post_init__(self) -> None:
        clean = self.cleaner.text
        self.texts = [clean(entry.content) for entry in self.command.entries]
        self.current = {item.id: item for item in self.todos.items}
        self.next_id = self.todos.next_id
        names = self.command.phases
        self.phases = None if names is None else renew_phases(self.todos.phases, [clean(name) for name in names])

    def run(self) -> Merged:
        base = self._visible_items(self.todos.items if self.shown is None else self.shown)
        candidates = base
        if self.shown is not None:
            known = {item.id for item in self.shown}
            candidates = [*base, *(item for item in self._visible_items(self.todos.items) if item.id not in known)]
        found = match(self.command.entries, self.texts, candidates, self.policy.dialect)
        self._match_new_words(found, base)
        if self.command.entries and self.todos.is_finished:
            # A new plan repeats none of the finished texts. A text that is merely near does not count, nor an id that
            # a dialect numbers from 1 each time.
            pairs = zip(self.texts, found, strict=True)
            if not any(known is not None and match_key(text) == match_key(known.content) for text, known in pairs):
                return self._begin_plan()
        revived = self._find_revived(found)
        written: list[TodoItem] = []
        as_written: list[TodoItem] = []
        seen = {item.id for item in base}
        for index, given in enumerate(self.command.entries):
            known = found[index] or revived.get(index)
            # Pending says nothing about an item that the author was never shown.
            unseen = known is not None and known.id not in seen and given.status is Status.PENDING
            entry = given._replace(keeps=True) if unseen and found[index] else given
            if known is None:
                item = self._make_item(entry, self.texts[index])
            elif (current := self._find_current(known, entry, index) if found[index] else known) is None:
                as_written.append(known)
                continue
            else:
                item = self._update(current, known, entry, self.texts[index])
            written.append(item)
            as_written.append(self._update_from_entry(item, given, self.texts[index]))
        written = self._keep_their_order(written, base)
        left_out, kept = self._find_left_out(base, found)
        items = self._insert_foreign(written, {item.id for item in left_out} - kept)
        ids = frozenset(item.id for item in written)
        omitted = tuple(item for item in self.todos.omitted if item.id not in ids)
        gone_open = tuple(item for item in left_out if item.id not in kept and item.is_open)
        merged = replace(
            self.todos,
            items=items,
            omitted=(*omitted, *gone_open),
            next_id=self.next_id,
            explanation=self._choose_explanation(self.todos.explanation),
        )
        exact = items == tuple(as_written)
        todos = assign_phases(merged, self.phases, ids - self.current.keys())
        return Merged(todos, ids, None if exact else tuple(as_written))

    def _match_new_words(self, found: list[TodoItem | None], base: Sequence[TodoItem]) -> None:
        """Match entries that use the words which others gave an item since; the author may have seen them elsewhere."""
        if self.shown is None or all(found):
            return
        taken = {known.id for known in found if known is not None}
        reworded: dict[str, TodoItem] = {}
        for known in base:
            current = self.current.get(known.id)
            if known.id not in taken and current is not None and current.content != known.content:
                reworded.setdefault(match_key(current.content), known)
        for index, known in enumerate(found):
            if known is None and reworded:
                found[index] = reworded.pop(match_key(self.texts[index]), None)

    def _visible_items(self, items: Sequence[TodoItem]) -> Sequence[TodoItem]:
        hidden = {status for status, nearest in self.policy.shown.items() if nearest is None}
        if not hidden or not any(item.status in hidden for item in items):
            return items
        return [item for item in items if item.status not in hidden]

    def _begin_plan(self) -> Merged:
        if not self.todos.omitted:
            self.next_id = 1
        revived = self._find_revived([None] * len(self.command.entries)) if not self.todos.items else {}
        items = tuple(
            self._update(known, known, entry, text) if (known := revived.get(index)) else self._make_item(entry, text)
            for index, (entry, text) in enumerate(zip(self.command.entries, self.texts, strict=True))
        )
        back = {item.id for item in revived.values()}
        fresh = TodoList(
            items=items,
            revision=self.todos.revision,
            plan_id=f"p{self.todos.revision + 1}",
            explanation=self._choose_explanation(None),
            omitted=tuple(item for item in self.todos.omitted if item.id not in back),
            next_id=self.next_id,
        )
        ids = frozenset(item.id for item in items)
        return Merged(assign_phases(fresh, self.phases, ids), ids, None)

    def _choose_explanation(self, kept: str | None) -> str | None:
        """Return the explanation: a missing one stays, unless a new plan begins; an empty one removes it."""
        given = self.command.explanation
        return kept if given is None else self.cleaner.text(given) or None

    def _find_revived(self, found: list[TodoItem | None]) -> dict[int, TodoItem]:
        """Return omitted items that entries repeat word for word, by the index of the entry."""
        if not self.todos.omitted or all(found):
            return {}
        taken = {known.id for known in found if known is not None}
        waiting = {match_key(item.content): item for item in reversed(self.todos.omitted) if item.id not in taken}
        revived: dict[int, TodoItem] = {}
        for index, known in enumerate(found):
            if known is None and (item := waiting.pop(match_key(self.texts[index]), None)) is not None:
                revived[index] = item
        return revived

    def _make_item(self, entry: Entry, text: str) -> TodoItem:
        item_id = str(self.next_id)
        self.next_id += 1
        item = make_item(
            entry,
            text,
            item_id=item_id,
            policy=self.policy,
            now=self.now,
            by=self.by,
            cleaner=self.cleaner,
            omitted=self.todos.omitted,
        )
        return self._place(item, entry)

    def _place(self, item: TodoItem, entry: Entry) -> TodoItem:
        """Put the item in the phase that the entry names; without a name it stays."""
        if self.phases is not None:
            place = entry.phase_place
            inside = place is not None and 0 <= place < len(self.phases)
            return put_in_phase(item, self.phases[place] if inside and place is not None else None)
        name = self.cleaner.optional(entry.phase)
        return item if name is None else replace(item, phase=name)

    def _find_current(self, known: TodoItem, entry: Entry, index: int) -> TodoItem | None:
        """Return the item as it is now; None if it was taken off and the entry only repeats what was shown."""
        current = self.current.get(known.id)
        if current is not None:
            return current
        unchanged = self._update(known, known, entry, self.texts[index]) == known
        return None if unchanged else known

    def _update(self, current: TodoItem, known: TodoItem, entry: Entry, text: str) -> TodoItem:
        """Return the current item with the values of the entry that differ from what was shown."""
        changes: dict[str, Any] = {}
        # A dialect of single lines shows the known text with each run of whitespace as one space.
        is_same_line = self.policy.one_line and text.split() == known.content.split()
        if text not in (known.content, current.content) and not is_same_line:
            changes["content"] = text
        form = entry.active_form
        # What was shown for want of an active form was the content; once that changes, it has to be kept.
        same = (known.active_form, current.active_form) if changes else (known.label, current.label)
        if form is None and changes:
            changes["active_form"] = None  # it spoke of the old words
        if form is not None and form not in same:
            form = self.cleaner.text(form)
            if form and form not in same:
                changes["active_form"] = form
        joined = (" ".join(known.notes),)  # as a dialect with one note per item shows them
        if entry.notes is not None and (notes := self.cleaner.notes(entry.notes)) not in (known.notes, joined):
            changes["notes"] = notes
        if entry.priority is not None and (priority := self.cleaner.optional(entry.priority)) != known.priority:
            changes["priority"] = priority
        if entry.parent is not None and (parent := self.cleaner.optional(entry.parent)) != known.parent:
            changes["parent"] = parent
        if entry.check is not None:
            changes["check"] = choose_check(current.check, entry, self.policy, self.cleaner)
        dialect = self.policy.dialect
        if entry.alias is not None and dialect != "punchlist" and current.aliases.get(dialect) != entry.alias:
            changes["aliases"] = {**current.aliases, dialect: self.cleaner.text(entry.alias)}
        item = replace(current, **changes) if changes else current
        if not entry.keeps and entry.status is not self.policy.shows(known.status):
            item = set_status(item, entry.status, self.now)
        if entry.blocker is not None and item.status not in ENDED:
            blocker = self.cleaner.blocker(entry.blocker)
            # An empty blocker from the writer removes an order of items, not the reason for a wait.
            foreign = blocker is None and known.blocker is not None and not known.blocker.is_order
            item = item if foreign or blocker == known.blocker else replace(item, blocker=blocker)
        if self.phases is not None or (entry.phase and self.cleaner.text(entry.phase) != known.phase):
            item = self._place(item, entry)
        return item

    def _update_from_entry(self, item: TodoItem, entry: Entry, text: str) -> TodoItem:
        """Return the item as the author now believes it to be."""
        cleaner, form = self.cleaner, entry.active_form
        changes: dict[str, Any] = {}
        if text != item.content:
            changes["content"] = text
        if not entry.keeps and self.policy.shows(item.status) is not entry.status:
            changes["status"] = entry.status
        if form not in (None, item.label) and (form := cleaner.optional(form)) not in (None, item.label):
            changes["active_form"] = form
        if entry.notes is not None and (notes := cleaner.notes(entry.notes)) != item.notes:
            changes["notes"] = notes
        if (priority := cleaner.optional(entry.priority)) not in (None, item.priority):
            changes["priority"] = priority
        if (parent := cleaner.optional(entry.parent)) not in (None, item.parent):
            changes["parent"] = parent
        return replace(item, **changes) if changes else item

    def _keep_their_order(self, written: list[TodoItem], base: Sequence[TodoItem]) -> list[TodoItem]:
        """Keep an order that others gave the list, if the author only repeats the one that was shown."""
        if self.shown is None:
            return written
        place = {item.id: index for index, item in enumerate(base)}
        now_at = {item.id: index for index, item in enumerate(self.todos.items)}
        known = [item.id for item in written if item.id in place and item.id in now_at]
        if known != sorted(known, key=place.__getitem__) or known == sorted(known, key=now_at.__getitem__):
            return written
        blocks: list[list[TodoItem]] = [[]]
        for item in written:
            if item.id in place and item.id in now_at:
                blocks.append([])
            blocks[-1].append(item)
        head, *rest = blocks
        rest.sort(key=lambda block: now_at[block[0].id])
        return [*head, *(item for block in rest for item in block)]

    def _find_left_out(self, base: Sequence[TodoItem], found: list[TodoItem | None]) -> tuple[list[TodoItem], set[str]]:
        """Return the items that the author knew and no longer names, and the ids of those that stay on the list.

        Those stay that others changed since, and those that wait on a person, who may still answer. An item that the
        dialect cannot express, for its length or number, is not left out.
        """
        named = {item.id for item in found if item is not None}
        left_out: list[TodoItem] = []
        kept: set[str] = set()
        unnamed = [known for known in base if known.id not in named]
        expressed = {item.id for item in self.policy.visible(base)} if unnamed else set[str]()
        for known in unnamed:
            current = self.current.get(known.id)
            if current is None or known.id not in expressed:
                continue
            left_out.append(current)
            is_changed = self.shown is not None and (current.status, current.content) != (known.status, known.content)
            if is_changed or current.waits_on_person:
                kept.add(known.id)
        return left_out, kept

    def _insert_foreign(self, written: list[TodoItem], gone: set[str]) -> tuple[TodoItem, ...]:
        """Return the written items, with each foreign item after its old neighbour.

        An item that stood first stays first; one whose neighbours are all gone comes last.
        """
        ids = {item.id for item in written}
        behind: dict[str | None, list[TodoItem]] = {}
        orphans: list[TodoItem] = []
        neighbour: str | None = None
        had_one = False
        for item in self.todos.items:
            if item.id in ids:
                neighbour = item.id
            elif item.id in gone:
                had_one = True
            elif neighbour is None and had_one:
                orphans.append(item)
            else:
                behind.setdefault(neighbour, []).append(item)
        if not behind and not orphans:
            return tuple(written)
        items = behind.get(None, []) + (orphans if neighbour is not None else [])
        for item in written:
            items.append(item)
            items.extend(behind.get(item.id, ()))
        return tuple(items if neighbour is not None else [*items, *orphans])

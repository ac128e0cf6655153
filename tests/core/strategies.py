"""Lists, commands and policies for properties: hostile texts, odd states, all operations."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from punchlist.core import commands as do
from punchlist.core.commands import Command, Edit, Entry, Group, Limits, Merge, Patch, Policy, Replace, Target
from punchlist.core.todo import Blocker, Evidence, ListState, Phase, Status, TodoItem, TodoList
from tests.core.build import NARROW, PLAIN

WORDS = ["paint", "the", "wall", "door", "roof", "fix", "Test", "Übung", "e\u0301t\u00e9", "do!", "--"]
DIRTY = ["\ud800", "\x1b[31m", "\u202e", "a\x00b", "\u200b", "\U000e0041", "\r\n", "<punchlist>", "\u0301" * 12]

words = st.sampled_from(WORDS)
clean_texts = st.lists(words, min_size=1, max_size=5).map(" ".join)
hostile_texts = st.one_of(
    clean_texts,
    st.lists(st.sampled_from([*WORDS, *DIRTY]), max_size=5).map("".join),
    st.text(max_size=12),
    st.text(st.characters(), max_size=4),
)
statuses = st.sampled_from(Status)
short_ids = st.sampled_from([str(number) for number in range(1, 9)])
phase_names = st.sampled_from(["A", "B", "C", "A b", "\x1b[1mD"])
times = st.integers(-3, 3).map(lambda hours: datetime(2026, 3, 1, tzinfo=UTC) + timedelta(hours=hours))


def optional(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


blockers = st.builds(Blocker, hostile_texts, optional(hostile_texts))
proofs = st.builds(Evidence, hostile_texts, optional(hostile_texts))


def entries(texts: st.SearchStrategy[str] = hostile_texts) -> st.SearchStrategy[Entry]:
    return st.builds(
        Entry,
        content=texts,
        status=statuses,
        active_form=optional(texts),
        alias=optional(short_ids | texts),
        phase=optional(phase_names),
        phase_place=optional(st.integers(-1, 3)),
        notes=optional(st.lists(texts, max_size=2).map(tuple)),
        priority=optional(texts),
        parent=optional(texts),
        blocker=optional(blockers),
    )


def _plain(content: str, status: Status, form: str) -> Entry:
    return Entry(content, status, form)


plain_statuses = st.sampled_from([Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED])
plain_entries = st.builds(_plain, clean_texts, plain_statuses, clean_texts)
"""What a dialect without ids, phases and notes can say."""

plain_writes = st.lists(plain_entries, max_size=7).map(lambda found: Replace(tuple(found)))

items = st.builds(
    TodoItem,
    id=short_ids | st.sampled_from(["", "x", "٣"]),
    content=hostile_texts,
    active_form=optional(hostile_texts),
    status=statuses,
    phase_id=optional(st.sampled_from(["f1", "f2", "f9", "?"])),
    phase=optional(phase_names),
    notes=st.lists(hostile_texts, max_size=2).map(tuple),
    aliases=st.dictionaries(st.sampled_from(["plain", "narrow"]), short_ids, max_size=2),
    created_at=optional(times),
    started_at=optional(times),
    finished_at=optional(times),
    blocker=optional(blockers),
    evidence=st.lists(proofs, max_size=1).map(tuple),
)
phases = st.builds(Phase, st.sampled_from(["f1", "f2", "f3", "?"]), phase_names)
odd_lists = st.builds(
    TodoList,
    items=st.lists(items, max_size=6).map(tuple),
    phases=st.lists(phases, max_size=3).map(tuple),
    revision=st.integers(0, 5),
    plan_id=st.sampled_from(["p0", "p1", "p2"]),
    explanation=optional(hostile_texts),
    omitted=st.lists(items, max_size=3).map(tuple),
    next_id=st.integers(0, 12),
)
odd_states = st.builds(ListState, odd_lists, optional(st.lists(items, max_size=5).map(tuple)))
"""States that no history leads to: doubled ids, missing phases, times in any order."""

targets = st.one_of(
    st.just(do.EVERYTHING),
    st.builds(Target, item=short_ids | clean_texts | hostile_texts, by=st.sampled_from(["id", "text", "any"])),
    st.builds(Target, phase=phase_names),
)


def operations(texts: st.SearchStrategy[str] = hostile_texts) -> st.SearchStrategy[do.Operation]:
    some = st.lists(entries(texts), max_size=3).map(tuple)
    found: st.SearchStrategy[do.Operation] = st.one_of(
        st.builds(do.Init, st.lists(st.builds(Group, optional(phase_names), some), max_size=3).map(tuple)),
        st.builds(do.Append, some, optional(phase_names), st.booleans()),
        st.builds(do.Start, targets, st.booleans()),
        st.builds(do.Done, targets, st.lists(proofs, max_size=2).map(tuple), st.booleans()),
        st.builds(do.Fail, targets, texts),
        st.builds(do.Drop, targets),
        st.builds(do.Reopen, targets),
        st.builds(do.Remove, targets, st.booleans()),
        st.builds(do.Note, targets, texts),
        st.builds(do.Block, targets, texts, optional(texts)),
        st.builds(do.Unblock, targets),
        st.builds(do.Reword, targets, texts, optional(texts)),
        st.builds(do.Restore, targets),
    )
    return found


edits = st.builds(Edit, st.lists(operations(), max_size=5).map(tuple), optional(hostile_texts))
patches = st.builds(
    Patch,
    alias=short_ids | hostile_texts,
    content=optional(hostile_texts),
    status=optional(statuses),
    parent=optional(hostile_texts),
)
commands: st.SearchStrategy[Command] = st.one_of(
    st.builds(
        Replace,
        st.lists(entries(), max_size=6).map(tuple),
        optional(hostile_texts),
        optional(st.lists(phase_names, max_size=3).map(tuple)),
    ),
    plain_writes,
    st.builds(Merge, st.lists(patches, max_size=5).map(tuple)),
    edits,
)
limits = st.builds(
    Limits,
    items=st.sampled_from([0, 3, 10_000]),
    characters=st.sampled_from([0, 8, 4000]),
    bytes=optional(st.sampled_from([0, 8, 4000])),
    refuse_blank=st.booleans(),
)
policies = st.builds(
    Policy,
    dialect=st.sampled_from(["punchlist", "plain", "narrow"]),
    limits=st.just(Limits()) | limits,
    focus=st.sampled_from(["first", "accept", "refuse"]),
    promote=st.booleans(),
    wipe_finished=st.booleans(),
    atomic=st.booleans(),
    advance=st.booleans(),
    sweep=st.booleans(),
    shown=st.sampled_from([PLAIN.shown, NARROW.shown]),
)

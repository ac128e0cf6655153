"""A list goes from dialect to dialect and back: ids stay, and what a dialect cannot say is not lost on the way."""

import random
from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from punchlist import Agent, Board, TodoList
from punchlist.core.commands import Policy
from punchlist.core.todo import Blocker, Status, TodoItem
from punchlist.dialects import dialect, dialects_of
from tests.dialects.boards import lines, memory_board, todo, write
from tests.dialects.views import Row, arguments, rows
from tests.sizes import size

SEEDS = size(3, 60)


def make_pairs() -> list[tuple[str, str]]:
    """Return each dialect with three others, so that the pairs are rings through all of them; all pairs in a storm."""
    names = list(dialects_of("todos"))
    others = size(3, len(names) - 1)
    rings = [names[step:] + names[:step] for step in range(1, others + 1)]
    return [pair for ring in rings for pair in zip(names, ring, strict=True)]


PAIRS = make_pairs()

VERBS = ("Read", "Fix", "Move", "Paint", "Weigh", "Sort")
THINGS = (
    "the parser",
    "the lexer,\nall of it",
    "the cache",
    "the queue of café orders",
    "a very long thing " + "x" * 300,
)
STATUSES = ("pending", "pending", "completed", "blocked", "failed", "cancelled")


class Handoff:
    """One agent with a list, used through one dialect after another."""

    def __init__(self, board: Board, rng: random.Random) -> None:
        self.board = board
        self.rng = rng
        self.own = board.agent("main", session="s")

    @property
    def todos(self) -> TodoList:
        return self.own.todos

    def agent(self, name: str) -> Agent:
        return self.board.agent("main", session="s", dialect=name)

    def write(self, name: str, written: Iterable[Row]) -> None:
        agent = self.agent(name)
        reply = agent.call(agent.tools[0].name, arguments(name, list(written), self.todos))
        assert not reply.is_error, reply.text

    def begin(self) -> None:
        """A list with everything that a list can have: its first item, and no other, is in progress."""
        count = self.rng.randint(2, 9)
        texts = [f"{self.rng.choice(VERBS)} {self.rng.choice(THINGS)} {number}" for number in range(count)]
        texts[0] = "Begin with the parser"  # every dialect can say this one, so none sees a finished list
        items: list[dict[str, Any]] = []
        for place, text in enumerate(texts):
            status = "in_progress" if place == 0 else self.rng.choice(STATUSES)
            item = {"text": text, "status": status}
            if self.rng.random() < 0.5:
                item["doing"] = f"Busy with {place}"
            if self.rng.random() < 0.3:
                item["priority"] = self.rng.choice(["high", "low"])
            if place >= count // 2 and count > 4:
                item["phase"] = "Later"
            if status == "blocked":
                item["reason"] = "waits for a key"
            items.append(item)
        todo(self.own, set=items)
        for item in self.todos.items:
            for number in range(self.rng.choice([0, 0, 1, 2])):
                todo(self.own, note={item.id: f"Mind {number} at {item.id}"})

    def pass_on(self, name: str) -> None:
        """The dialect's model is shown the list and writes it back as it is."""
        before = self.todos
        if self.rng.random() < 0.5:
            todo(self.own)
        self.write(name, rows(name, before))
        self.check(name, before)

    def go_on(self, name: str) -> None:
        """The dialect's model is shown the list, changes a status or adds an item, and writes the list."""
        before = self.todos
        todo(self.own)
        shown = rows(name, before)
        policy = dialect(name).policy
        changeable = [row for row in shown[1:] if row.status in (Status.PENDING, Status.IN_PROGRESS)]
        if changeable and self.rng.random() < 0.5:
            row = self.rng.choice(changeable)
            row.status = Status.COMPLETED
            self.write(name, shown)
            changed = next(item for item in before.items if item.content == row.text)
            after = self.todos.find(changed.id)
            assert after is not None
            assert after.status is Status.COMPLETED
            kept = replace(after, status=changed.status, finished_at=None, blocker=changed.blocker)
            check_same(name, kept, replace(changed, finished_at=None))
            self.check(name, before, changed=changed.id)
        elif len(shown) < policy.limits.items:
            self.write(name, [*shown, Row(f"Something new for {name}", Status.PENDING)])
            (new,) = (item for item in self.todos.items if before.find(item.id) is None)
            assert (new.content, new.status) == (f"Something new for {name}", Status.PENDING)
            self.check(name, before, added=new.id)

    def check(self, name: str, before: TodoList, *, changed: str = "", added: str = "") -> None:
        after = self.todos
        assert [item.id for item in after.items if item.id != added] == [item.id for item in before.items]
        assert after.omitted == before.omitted
        assert after.plan_id == before.plan_id
        if not added:
            assert after.phases == before.phases
        for item in before.items:
            if item.id != changed:
                found = after.find(item.id)
                assert found is not None
                check_same(name, found, item)


def check_same(name: str, after: TodoItem, before: TodoItem) -> None:
    """The item is what it was; a dialect may have given it a name, and opencode a priority, which it has to send."""
    given = {called: alias for called, alias in after.aliases.items() if called != name}
    assert given == {called: alias for called, alias in before.aliases.items() if called != name}
    if name == "opencode":
        assert after.priority == before.priority or (before.priority, after.priority) == (None, "medium")
        after = replace(after, priority=before.priority)
    assert replace(after, aliases=before.aliases) == before


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_list_goes_through_another_dialect_and_back(first: str, second: str) -> None:
    for seed in range(SEEDS):
        rng = random.Random(f"{first} {second} {seed}")
        with memory_board() as board:
            handoff = Handoff(board, rng)
            handoff.begin()
            handoff.pass_on(first)
            handoff.pass_on(second)
            handoff.go_on(second)
            handoff.pass_on(first)
            handoff.go_on(first)


def written_in(name: str) -> list[Row]:
    """A first list with everything that the dialect itself can say."""
    policy = dialect(name).policy
    made = [
        Row("Read the parser", Status.IN_PROGRESS, form="Reading the parser"),
        Row("Fix the loop", Status.PENDING, priority="high", notes=("in lexer.py",)),
        Row("Run the tests", Status.COMPLETED),
    ]
    if name in ("punchlist", "gemini"):
        made.append(Row("Ask for the key", Status.BLOCKED))
    if policy.shows(Status.CANCELLED) is Status.CANCELLED:
        made.append(Row("Rewrite it all", Status.CANCELLED))
    if name == "qwen":
        made[0].name, made[1].name = "a", "b"
        made[1].more = {"blockedBy": ["a"]}
    if name == "hermes":
        made[0].name, made[1].name = "first", "second"
    if name in ("punchlist", "oh-my-pi"):
        for row in made:
            row.phase = "Repair"
    return made


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_what_a_dialect_wrote_itself_comes_back_to_it(first: str, second: str) -> None:
    with memory_board() as board:
        handoff = Handoff(board, random.Random(f"{first} {second}"))
        handoff.write(first, written_in(first))
        begun = handoff.todos
        assert [(item.content, item.status) for item in begun.items] == [
            (row.text, row.status) for row in written_in(first)
        ]
        handoff.pass_on(second)
        handoff.pass_on(first)
        assert [item.content for item in handoff.todos.items] == [item.content for item in begun.items]


def test_what_is_too_long_or_too_much_for_a_dialect_is_not_left_out_by_it() -> None:
    with memory_board() as board:
        handoff = Handoff(board, random.Random(0))
        todo(handoff.own, set=[f"Item {number} " + "x" * (600 if number % 3 == 0 else 5) for number in range(60)])
        for name in ("nexo", "gencode"):
            before = handoff.todos
            shown = rows(name, before)
            assert len(shown) == min(40, dialect(name).policy.limits.items)
            handoff.write(name, shown)
            handoff.check(name, before)


def test_an_order_between_items_comes_back_to_the_dialect_that_gave_it() -> None:
    with memory_board() as board:
        handoff = Handoff(board, random.Random(0))
        handoff.write("qwen", written_in("qwen"))
        handoff.pass_on("claude-code")
        assert [row.more for row in rows("qwen", handoff.todos)] == [{}, {"blockedBy": ["a"]}, {}]
        rows_again = rows("qwen", handoff.todos)
        rows_again[1].more = {"blockedBy": []}
        handoff.write("qwen", rows_again)
        assert handoff.todos.items[1].blocker is None


def test_to_say_that_nothing_comes_first_does_not_unblock_what_waits_for_a_person() -> None:
    with memory_board() as board:
        handoff = Handoff(board, random.Random(0))
        todo(handoff.own, set=["Paint", "Sweep"], block={"2": "waits for a key"})
        shown = rows("qwen", handoff.todos)
        for row in shown:
            row.more = {"blockedBy": []}
        handoff.write("qwen", shown)
        assert handoff.todos.items[1].blocker == Blocker("waits for a key")


def test_a_dialect_that_refuses_a_second_focus_shows_none() -> None:
    for name in dialects_of("todos"):
        policy: Policy = dialect(name).policy
        if policy.focus == "refuse":
            assert Status.IN_PROGRESS not in [
                policy.shows(status) for status in Status if status.value != "in_progress"
            ]


def test_a_plan_that_a_person_began_is_not_taken_for_the_one_that_the_model_knew() -> None:
    with memory_board() as board:
        handoff = Handoff(board, random.Random(0))
        todo(handoff.own, set=["Paint", "Sweep"])
        handoff.own.edit({"op": "remove"}, by="ada")
        handoff.own.edit({"op": "append", "items": ["Ask the owner"]}, by="ada")
        write(handoff.agent("claude-code"), "> Paint", "Sweep")
        assert lines(handoff.todos) == ["1   Ask the owner", "2 > Paint", "3   Sweep"]

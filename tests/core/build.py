"""Short ways to say lists, commands and policies, shared by the tests of core."""

from datetime import UTC, datetime

from punchlist.core.apply import Applied, apply
from punchlist.core.commands import Command, Edit, Entry, Group, Init, Operation, Policy, Replace, Target
from punchlist.core.events import fold
from punchlist.core.todo import ListState, Status, TodoItem, TodoList

NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
EMPTY = ListState(TodoList())
PLAIN = Policy(dialect="plain")
NARROW = Policy(
    dialect="narrow",
    wipe_finished=True,
    shown={Status.BLOCKED: Status.IN_PROGRESS, Status.FAILED: Status.IN_PROGRESS, Status.CANCELLED: None},
)
"""A dialect like Claude Code's: three statuses, a finished list is wiped."""

MARKS = {
    " ": Status.PENDING,
    ">": Status.IN_PROGRESS,
    "!": Status.BLOCKED,
    "x": Status.COMPLETED,
    "f": Status.FAILED,
    "-": Status.CANCELLED,
}


def entry(line: str, **more: str) -> Entry:
    """`"x Paint"` is a completed `Paint`; without a mark and a blank the item is pending."""
    if len(line) > 2 and line[1] == " " and line[0] in MARKS:
        return Entry(content=line[2:], status=MARKS[line[0]], **more)  # pyright: ignore[reportArgumentType]
    return Entry(content=line, **more)  # pyright: ignore[reportArgumentType]


def write(*lines: str) -> Replace:
    return Replace(tuple(entry(line) for line in lines))


def init(**phases: list[str]) -> Init:
    return Init(tuple(Group(name, tuple(entry(line) for line in lines)) for name, lines in phases.items()))


def on(item: str) -> Target:
    return Target(item)


def run(
    state: ListState, command: Command, policy: Policy = PLAIN, *, at: datetime = NOW, by: str = "agent"
) -> Applied:
    """Applies as the list's own agent, and checks what holds after every command."""
    return _checked(state, command, policy, at, by, own=True)


def person(state: ListState, *operations: Operation, at: datetime = NOW) -> ListState:
    """The state after a person's edit; fails the test if it was refused."""
    applied = _checked(state, Edit(operations), Policy(), at, "ada", own=False)
    assert not applied.refused, applied.problems
    return applied.state


def after(state: ListState, command: Command, policy: Policy = PLAIN) -> ListState:
    applied = run(state, command, policy)
    assert not applied.refused, applied.problems
    return applied.state


def edited(state: ListState, *operations: Operation, policy: Policy = PLAIN) -> ListState:
    return after(state, Edit(operations), policy)


def listed(*lines: str, policy: Policy = PLAIN) -> ListState:
    """A list that its agent has just written."""
    return after(EMPTY, write(*lines), policy)


def lines(state: ListState) -> list[str]:
    """The list in the notation of `entry`."""
    marks = {status: mark for mark, status in MARKS.items()}
    return [f"{marks[item.status]} {item.content}" for item in state.todos.items]


def ids(state: ListState) -> list[str]:
    return [item.id for item in state.todos.items]


def item(state: ListState, content: str) -> TodoItem:
    return next(known for known in state.todos.items if known.content == content)


def kinds(applied: Applied) -> list[str]:
    return [draft.kind for draft in applied.events]


def codes(applied: Applied) -> list[str]:
    return [problem.code for problem in applied.problems]


def folded(todos: TodoList, applied: Applied) -> TodoList:
    for kind, data in applied.events:
        todos = fold(todos, kind, data)
    return todos


def _checked(state: ListState, command: Command, policy: Policy, at: datetime, by: str, *, own: bool) -> Applied:
    applied = apply(state, command, policy, at, by=by, own=own)
    assert folded(state.todos, applied) == applied.state.todos
    if applied.refused:
        assert applied.state is state
    known = [known.id for known in (*applied.state.todos.items, *applied.state.todos.omitted)]
    assert len(known) == len(set(known))
    return applied

"""`punchlist tasks`: verbs that show, change, claim and suspend tasks."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict

from msgspec.structs import asdict

from punchlist.cli import FAILED, OK, complain
from punchlist.cli.arguments import author, most_of, open_board
from punchlist.cli.terminal import look, show, show_json
from punchlist.core.task import SETTLED, ChecklistLine, Task, TaskStatus
from punchlist.errors import InvalidInput, TaskError, WaitRefused
from punchlist.surfaces.spans import Line, Look, Span, cut
from punchlist.surfaces.tasks import waiting_for
from punchlist.text import for_terminal, repair

if TYPE_CHECKING:
    from datetime import datetime

    from punchlist.board import Board
    from punchlist.core.events import Event
    from punchlist.core.task import Task
    from punchlist.store import Transaction
    from punchlist.tasks import TaskChanges, Tasks

_MOST_NAMED = 5


def chosen_list(board: Board, options: Namespace, *, by: str = "") -> Tasks:
    """The list that is named, else that of the worker who started us, else the project's own."""
    return board.tasks(list_name(options), by=by)


def list_name(options: Namespace) -> str | None:
    """The list that was named, by an option or by the environment."""
    name = options.list or os.environ.get("PUNCHLIST_TASK_LIST")
    return repair(name) if name else None


def reserved(options: Namespace) -> list[str]:
    """The files that are to be reserved: named from where we stand, meant from the project's root."""
    from punchlist.config import project_of

    root = project_of()
    here = os.path.relpath(os.path.realpath(os.getcwd()), root)
    return [each if here == "." else os.path.join(here, each) for each in options.reserve]


def the_tasks(tasks: Tasks, words: Sequence[str]) -> list[Task]:
    """The tasks that are meant: several ids, or one text of one or more words."""
    if len(words) > 1 and all(_is_id(word) for word in words):
        return [the_task(tasks, word) for word in dict.fromkeys(words)]
    return [the_task(tasks, " ".join(words))]


def the_task(tasks: Tasks, query: str) -> Task:
    """The task of that id, else the only one whose subject fits. A number is an id, also of a task that is gone."""
    wanted = repair(query).strip()
    if _is_id(wanted):
        return tasks.get(wanted.removeprefix("#"))
    from punchlist.surfaces.matching import find_tasks

    everything = tasks.list()
    if not everything:
        raise TaskError(problem=nothing_there(tasks))
    found = find_tasks(everything, wanted)
    if not found:
        raise TaskError(problem=f'No task matched "{wanted}". Use `punchlist tasks list --all` to see them.')
    if len(found) > 1:
        named = "; ".join(f"{task.id} {task.subject}" for task in found[:_MOST_NAMED])
        more = "; …" if len(found) > _MOST_NAMED else ""
        raise TaskError(problem=f'"{wanted}" fits {len(found)} tasks ({named}{more}); use an id, or more of the text.')
    return found[0]


def nothing_there(tasks: Tasks) -> str:
    """What to do first, on a list that holds nothing."""
    begin = '`punchlist tasks add "My first task"`'
    others = [row.name for row, count in tasks.board.store.read(lambda tx: tx.tasks.lists()) if count]
    if not others:
        return f"There are no tasks yet; begin with {begin}."
    named = ", ".join(f"`{name}`" for name in others[:_MOST_NAMED]) + (", …" if len(others) > _MOST_NAMED else "")
    return f"There are no tasks in the list `{tasks.name}`; begin with {begin}, or name one with --list: {named}."


def _is_id(word: str) -> bool:
    digits = word.strip().removeprefix("#")
    return digits.isascii() and digits.isdecimal()


def fence_of(options: Namespace, task: Task) -> int | None:
    """The fence to show: as given; else, for the task that `tasks work` runs us for, that of its claim."""
    if options.fence is not None:
        return options.fence
    environ = os.environ.get
    own = (environ("PUNCHLIST_TASK_ID"), environ("PUNCHLIST_TASK_LIST")) == (task.id, task.list)
    fence = environ("PUNCHLIST_TASK_FENCE", "")
    return int(fence) if own and fence.isascii() and fence.isdecimal() else None


def report(options: Namespace, task: Task, said: str) -> None:
    """What became of a task: a line of JSON, or a sentence."""
    if options.json:
        show_json(task_data(task), indent=0)
    else:
        from punchlist.text import for_terminal

        print(for_terminal(said), flush=True)


def task_data(task: Task) -> dict[str, Any]:
    """A task as JSON values, with what follows from its neighbours. Every key is always there."""
    return {
        **asdict(task),
        "held_by": [blocker._asdict() for blocker in task.held_by],
        "progress": task.progress._asdict(),
        "ready": task.is_ready,
        "blocked": task.is_blocked,
        "stuck_on": task.stuck_on,
    }


def value_of(text: str | None) -> Any:
    """What a person or a program wrote: JSON if it is, else the text; None for nothing."""
    if text is None:
        return None
    import msgspec

    said = repair(text)
    try:
        return msgspec.json.decode(said)
    except (msgspec.DecodeError, RecursionError):
        return said


_LISTED, _READY = 100, 20
"""How many a person is shown who does not say how many."""


def list_(options: Namespace) -> int:
    most = most_of(options, _LISTED)
    with open_board(options, reads=True) as board:
        tasks = chosen_list(board, options)
        found = _listed(tasks, options, most)
        now = board.now()
        said = "" if found else _nothing_listed(tasks, options)
    _rows(options, found[:most], now, said)
    if len(found) > most and not options.json:
        more = f"{look().glyphs.ellipsis} and more, from {found[most].id} on"
        print(f"{more}; `--limit N` shows N of them" + (f", `--after {found[most - 1].id}` the next." if most else "."))
    return OK


def _listed(tasks: Tasks, options: Namespace, most: int) -> list[Task]:
    """One more than asked for, so that it shows whether there are more."""
    parent = None if options.parent is None else the_task(tasks, options.parent).id
    after = None if options.after is None else options.after.strip().removeprefix("#")
    if after is not None and not (after.isascii() and after.isdecimal()):
        raise InvalidInput(problem=f"`{options.after}` is no id; `--after` takes that of the last task that was shown.")

    def of(status: str | None) -> tuple[Task, ...]:
        asked = {"owner": options.owner, "label": options.label, "parent": parent, "after": after}
        return tasks.list(status=status, limit=most + 1, **asked)

    if options.status is not None or options.all:
        return list(of(options.status))
    found = [task for status in TaskStatus if status not in SETTLED for task in of(status.value)]
    return sorted(found, key=lambda task: int(task.id))[: most + 1]


def _nothing_listed(tasks: Tasks, options: Namespace) -> str:
    if not tasks.list(limit=1):
        return nothing_there(tasks)
    if options.status or options.owner or options.label or options.parent or options.after or options.all:
        return "No task is like that; `punchlist tasks list --all` shows all of them."
    return "Nothing is open; `punchlist tasks list --all` shows what is done."


def ready(options: Namespace) -> int:
    most = most_of(options, _READY)
    with open_board(options, reads=True) as board:
        tasks = chosen_list(board, options)
        found = tasks.ready(most + 1, label=options.label)
        now = board.now()
        said = "" if found else _nothing_ready(tasks)
    _rows(options, list(found[:most]), now, said)
    if len(found) > most and not options.json:
        print(f"{look().glyphs.ellipsis} and more; `--limit N` shows N of them.")
    return OK


def _nothing_ready(tasks: Tasks) -> str:
    if not tasks.list(limit=1):
        return nothing_there(tasks)
    return "Nothing is ready; `punchlist tasks list` shows what waits for what, and who works on what."


def _rows(options: Namespace, tasks: list[Task], now: datetime, nothing: str) -> None:
    if options.json:
        show_json([task_data(task) for task in tasks])
    elif tasks:
        from punchlist.surfaces.tasks import task_lines

        show(task_lines(tasks, look(), now))
    else:
        print(for_terminal(nothing))


def show_task(options: Namespace) -> int:
    with open_board(options, reads=True) as board:
        task = the_task(chosen_list(board, options), " ".join(options.words))
        now = board.now()
    if options.json:
        show_json(task_data(task))
    else:
        from punchlist.surfaces.tasks import task_card

        show(task_card(task, look(), now))
    return OK


def graph(options: Namespace) -> int:
    from punchlist.surfaces.tasks import around, dot, graph_lines, mermaid

    with open_board(options, reads=True) as board:
        tasks = chosen_list(board, options)
        whole = tasks.graph()
        chosen = None if not options.words else around(the_task(tasks, " ".join(options.words)).id, whole.edges)
        now = board.now()
        said = "" if whole.tasks else nothing_there(tasks)
    shown = [task for task in whole.tasks if (options.all or task.is_open) and (chosen is None or task.id in chosen)]
    known = {task.id for task in shown}
    edges = [edge for edge in whole.edges if known.issuperset(edge)]
    if options.json:
        pairs = [{"blocker": blocker, "task": task} for blocker, task in edges]
        show_json({"tasks": [task_data(task) for task in shown], "edges": pairs})
    elif options.mermaid or options.dot:
        for line in (mermaid if options.mermaid else dot)(shown, edges):
            print(line)
    elif shown:
        show(graph_lines(shown, edges, look(), now))
    else:
        print(for_terminal(said or "Nothing is open; `punchlist tasks graph --all` shows what is done."))
    return OK


def history(options: Namespace) -> int:
    with open_board(options, reads=True) as board:
        tasks = chosen_list(board, options)
        found = tasks.history(_id_in_history(tasks, " ".join(options.words)))
    if options.json:
        show_json(found)
    else:
        show(_event_lines(found, look()))
    return OK


def _event_lines(events: Sequence[Event], seen: Look) -> Iterator[Line]:
    from datetime import datetime

    from punchlist.cli.events import clock
    from punchlist.surfaces.sentences import sentence

    today = datetime.now().astimezone().date()
    for event in events:
        line = (Span(f"{clock(event.at, today)}  ", "dim"), Span(sentence(event, seen.glyphs)))
        yield cut(line, seen.columns, seen.glyphs)


def _id_in_history(tasks: Tasks, query: str) -> str:
    """A task that was deleted is known by its number alone."""
    digits = query.strip().removeprefix("#")
    return digits if digits.isascii() and digits.isdecimal() else the_task(tasks, query).id


_LONGEST_INPUT = 1_000_000


def add(options: Namespace) -> int:
    with open_board(options) as board:
        tasks = chosen_list(board, options, by=author(options))
        task = tasks.create(
            repair(" ".join(options.words)).strip(),
            call_id=options.call_id,
            blocked_by=[the_task(tasks, each).id for each in options.blocked_by],
            blocks=[the_task(tasks, each).id for each in options.blocks],
            **_given(tasks, options),
        )
    after = f" (blocked by {_ids(task.blocked_by)})" if task.blocked_by else ""
    report(options, task, f"Added {named(task)}{after}")
    return OK


class Given(TypedDict, total=False):
    """What can be said about a task when it is added, and also later."""

    description: str
    parent: str | None
    priority: int
    labels: Sequence[str]
    checklist: Sequence[ChecklistLine]
    owner: str | None
    max_attempts: int | None


def _given(tasks: Tasks, options: Namespace, known: Sequence[ChecklistLine] = ()) -> Given:
    """What was said, and nothing else: the rest has its defaults elsewhere. An empty text takes away what was there.

    Of the `known` lines of a checklist, those that are said again stay ticked.
    """
    given: Given = {}
    if options.description is not None:
        text = sys.stdin.read(_LONGEST_INPUT) if options.description == "-" else options.description
        given["description"] = repair(text).rstrip("\n")
    if options.parent is not None:
        given["parent"] = the_task(tasks, options.parent).id if options.parent else None
    if options.priority is not None:
        given["priority"] = options.priority
    if options.label:
        given["labels"] = [repair(label) for label in options.label if label]
    if options.check:
        ticked = {check.text for check in known if check.done}
        lines = [repair(check) for check in options.check if check]
        given["checklist"] = [ChecklistLine(line, line in ticked) for line in lines]
    if options.owner is not None:
        given["owner"] = repair(options.owner) or None
    if options.attempts is not None:
        given["max_attempts"] = options.attempts
    return given


def start(options: Namespace) -> int:
    def begin(tasks: Tasks, task: Task) -> Task:
        return tasks.update(task.id, status="in_progress", fence=fence_of(options, task))

    return each(options, begin, lambda task: f"Started {named(task)}")


def done(options: Namespace) -> int:
    result = value_of(options.result)

    def complete(tasks: Tasks, task: Task) -> Task:
        return tasks.complete(task.id, fence=fence_of(options, task), result=result, call_id=options.call_id)

    return each(options, complete, lambda task: f"Completed {named(task)}")


def fail(options: Namespace) -> int:
    def give_up(tasks: Tasks, task: Task) -> Task:
        return tasks.fail(task.id, _reason(options), fence=fence_of(options, task))

    def said(task: Task) -> str:
        if task.status is TaskStatus.PENDING:
            return (
                f"Attempt {task.attempts} of {task.max_attempts} failed: {named(task)}; it is tried again after a rest"
            )
        return f"Failed {named(task)}; `punchlist tasks retry {task.id}` opens it again"

    return _one(options, give_up, said)


def retry(options: Namespace) -> int:
    return each(options, lambda tasks, task: tasks.retry(task.id), lambda task: f"Opened again {named(task)}")


def cancel(options: Namespace) -> int:
    def give_up(tasks: Tasks, task: Task) -> Task:
        return tasks.cancel(task.id, _reason(options) or None, request=options.request, fence=fence_of(options, task))

    def said(task: Task) -> str:
        if task.status is TaskStatus.CANCELLED:
            return f"Cancelled {named(task)}"
        return f"Asked for {named(task)} to be cancelled by whoever works on it"

    return _one(options, give_up, said)


def delete(options: Namespace) -> int:
    def said(task: Task) -> str:
        return f"Deleted {named(task)}; `punchlist tasks history {task.id}` still has its story"

    return each(options, lambda tasks, task: tasks.delete(task.id), said)


def block(options: Namespace) -> int:
    def link(tasks: Tasks, task: Task) -> Task:
        return tasks.update(task.id, add_blocked_by=[the_task(tasks, each).id for each in options.blockers])

    return _one(options, link, lambda task: f"Blocked {named(task)} (by {_ids(task.blocked_by)})")


def unblock(options: Namespace) -> int:
    def unlink(tasks: Tasks, task: Task) -> Task:
        ids = [the_task(tasks, each).id for each in options.blockers] or task.blocked_by
        return tasks.update(task.id, remove_blocked_by=ids)

    def said(task: Task) -> str:
        return f"Unblocked {named(task)}" + (f" (still by {_ids(task.blocked_by)})" if task.blocked_by else "")

    return _one(options, unlink, said)


def check(options: Namespace) -> int:
    def tick(tasks: Tasks, task: Task) -> Task:
        lines = [_line(task, repair(line)) for line in options.lines] or list(range(len(task.checklist)))
        return tasks.update(task.id, unchecked=lines) if options.undo else tasks.update(task.id, checked=lines)

    def said(task: Task) -> str:
        missing = sum(not check.done for check in task.checklist)
        return f"Checked {named(task)} ({len(task.checklist) - missing} of {len(task.checklist)})"

    return _one(options, tick, said)


def _line(task: Task, said: str) -> int | str:
    """A line of a checklist by its number, from 1, or by its text."""
    return int(said) - 1 if said.isascii() and said.isdecimal() and 0 < int(said) <= len(task.checklist) else said


def edit(options: Namespace) -> int:
    def change(tasks: Tasks, task: Task) -> Task:
        given: TaskChanges = {**_given(tasks, options, task.checklist)}
        if options.subject is not None:
            given["subject"] = repair(options.subject)
        if not given:
            raise TaskError(problem="Say what is to change; see `punchlist tasks edit --help`.")
        return tasks.update(task.id, **given)

    return each(options, change, lambda task: f"Changed {named(task)}")


def claim(options: Namespace) -> int:
    with open_board(options) as board:
        tasks = chosen_list(board, options, by=author(options))
        taken = _claimed(tasks, options)
        for task in taken:
            report(options, task, f"Claimed {named(task)} (fence {task.fence}, lease {task.lease:g} s)")
    if taken:
        return OK
    return complain("Nothing is ready; `punchlist tasks list` shows what waits for what.", FAILED)


def _claimed(tasks: Tasks, options: Namespace) -> Sequence[Task]:
    lease, reserve, call_id = options.lease, reserved(options), options.call_id
    if not options.words:
        most = 1 if options.limit is None else options.limit
        return tasks.claim(limit=most, label=options.label, lease=lease, reserve=reserve, call_id=call_id)
    ids = [task.id for task in the_tasks(tasks, options.words)]
    calls = [call_id if call_id is None or len(ids) == 1 else f"{call_id} {each}" for each in ids]

    def together(tx: Transaction) -> list[Task]:
        """All of them or none, as one claim: what it reserves, it reserves for each."""
        work, length = tasks.within(tx), tasks.lease if lease is None else lease
        both = zip(ids, calls, strict=True)
        return [
            task
            for each, call in both
            for task in work.claim(tasks.by, id=each, label=options.label, lease=length, reserve=reserve, call_id=call)
        ]

    board = tasks.board
    board.tasks_wanted(tasks.name)
    taken = board.store.transact(together)
    board.tasks_changed(tasks.name)
    return taken


def release(options: Namespace) -> int:
    def give_back(tasks: Tasks, task: Task) -> Task:
        return tasks.release(task.id, fence=fence_of(options, task))

    def said(task: Task) -> str:
        return f"{'Cancelled' if task.status is TaskStatus.CANCELLED else 'Released'} {named(task)}"

    return each(options, give_back, said)


# What they have in common.


def named(task: Task) -> str:
    return f"{task.id}: {task.subject}"


def _ids(ids: tuple[str, ...]) -> str:
    return ", ".join(ids)


def _reason(options: Namespace) -> str:
    return repair(" ".join(options.reason)).strip()


Change = Callable[["Tasks", Task], Task]


def _one(options: Namespace, change: Change, said: Callable[[Task], str]) -> int:
    options.words = [options.task]
    return each(options, change, said)


def each(options: Namespace, change: Change, said: Callable[[Task], str]) -> int:
    """Changes the tasks that are meant, one after the other; what was said was done."""
    with open_board(options) as board:
        tasks = chosen_list(board, options, by=author(options))
        for task in the_tasks(tasks, options.words):
            after = change(tasks, task)
            report(options, after, said(after))
    return OK


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def wait(options: Namespace) -> int:
    until = None if options.until is None else moment(options.until)
    with open_board(options) as board:
        tasks = chosen_list(board, options, by=author(options))
        found = the_task(tasks, " ".join(options.words))
        task = tasks.wait(
            found.id,
            until=until,
            topic=None if options.topic is None else repair(options.topic),
            correlation_id=None if options.correlation is None else repair(options.correlation),
            fence=fence_of(options, found),
        )
        now = board.now()
    if task.wait is None:
        report(options, task, f"Did not have to wait: what {named(task)} waits for had come already")
    else:
        report(options, task, f"Put aside {named(task)} ({waiting_for(task.wait, now)})")
    return OK


def moment(text: str) -> datetime | timedelta:
    """A time, in the local zone if it names none; or how long from now, such as `90s`, `10m`, `2h`, `3d`."""
    number, unit = text[:-1], text[-1:]
    if number.isascii() and number.isdigit() and unit in _UNITS and len(number) <= 9:
        return timedelta(**{_UNITS[unit]: int(number)})
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        said = f"`{text}` is no time; use 90s, 10m, 2h, 3d, or a time such as 2026-12-24T18:00."
        raise WaitRefused(problem=said) from error
    return at if at.tzinfo is not None else at.astimezone()


def signal(options: Namespace) -> int:
    with open_board(options) as board:
        tasks = chosen_list(board, options, by=author(options))
        woken = tasks.signal(
            repair(options.topic),
            repair(options.correlation),
            value_of(options.payload),
            keep=options.keep,
            call_id=options.call_id,
        )
        for task in woken:
            report(options, task, f"Delivered to {named(task)}")
    if woken:
        return OK
    if options.keep:
        if not options.json:
            print("Nobody waits for it yet; it is kept for the first who does.")
        return OK
    said = f"Nobody waits for `{options.topic}` `{options.correlation}`; with --keep the first who does will get it."
    return complain(said, FAILED)


def resume(options: Namespace) -> int:
    def said(task: Task) -> str:
        return f"Resumed {named(task)}" if task.is_open else f"Cancelled {named(task)}, as asked before"

    return each(options, lambda tasks, task: tasks.resume(task.id), said)

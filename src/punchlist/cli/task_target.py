"""Which list of tasks a command means, which tasks of it, and how it reports what became of them."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from punchlist.cli.terminal import show_json
from punchlist.errors import TaskError
from punchlist.text import repair

if TYPE_CHECKING:
    from punchlist.board import Board
    from punchlist.core.task import Task
    from punchlist.tasks import Tasks

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

"""`punchlist tasks`: what only looks at tasks."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from punchlist.cli import OK
from punchlist.cli.arguments import most_of, open_board
from punchlist.cli.task_target import chosen_list, nothing_there, task_data, the_task
from punchlist.cli.terminal import look, show, show_json
from punchlist.core.task import SETTLED, Task, TaskStatus
from punchlist.errors import InvalidInput
from punchlist.surfaces.spans import Line, Look, Span, cut
from punchlist.text import for_terminal

if TYPE_CHECKING:
    from datetime import datetime

    from punchlist.core.events import Event
    from punchlist.tasks import Tasks


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
        from punchlist.surfaces.task_card import task_card

        show(task_card(task, look(), now))
    return OK


def graph(options: Namespace) -> int:
    from punchlist.surfaces.task_graph import around, dot, graph_lines, mermaid

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

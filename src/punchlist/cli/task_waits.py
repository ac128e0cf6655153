"""`punchlist tasks wait`, `signal` and `resume`: putting a task aside, and what lets it go on."""

from __future__ import annotations

from argparse import Namespace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from punchlist.cli import FAILED, OK, complain
from punchlist.cli.arguments import open_board
from punchlist.cli.target import author
from punchlist.cli.task_changes import each, named
from punchlist.cli.task_target import chosen_list, fence_of, report, the_task, value_of
from punchlist.errors import WaitRefused
from punchlist.surfaces.tasks import waiting_for
from punchlist.text import repair

if TYPE_CHECKING:
    from punchlist.core.task import Task

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

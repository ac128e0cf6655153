"""`punchlist tasks`: verbs that show, change, claim and suspend tasks."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, TypedDict

import msgspec

from punchlist.cli import FAILED, OK, complain
from punchlist.cli.arguments import author, choose_limit, explain_doubt, find_doubt, is_number, open_board
from punchlist.cli.events import clock
from punchlist.cli.terminal import detect_display, show, show_json
from punchlist.core.matching import find_tasks
from punchlist.core.task import SETTLED, ChecklistLine, Task, TaskStatus
from punchlist.errors import InvalidInput, TaskError, TaskListUnknown, TaskTaken, WaitRefused
from punchlist.hosts.copies import check_own_tasks
from punchlist.settings.environment import project_of
from punchlist.store import Transaction
from punchlist.store.current_work import load_waits
from punchlist.surfaces.lists import waiting_lines
from punchlist.surfaces.sentences import sentence
from punchlist.surfaces.spans import Span
from punchlist.surfaces.tasks import (
    draw_dot,
    draw_mermaid,
    find_neighbours,
    graph_lines,
    task_card,
    task_lines,
    wait_words,
)
from punchlist.tasks import TaskChanges, Tasks
from punchlist.tasks.work import name_workers
from punchlist.text import for_terminal, repair
from punchlist.views.tasks import view_graph, view_task

_LISTED, _READY = 100, 20
"""How many tasks `list` and `ready` show a person by default."""

_SESSION = "session:"
_MOST_NAMED = 5
_LONGEST_INPUT = 1_000_000
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_NOTHING_READY = "Nothing is ready; `punchlist tasks list` shows what waits for what"


# Which list, and which tasks of it.


@contextmanager
def open_tasks(options: Namespace, *, by: str = "", reads: bool = False) -> Generator[Tasks]:
    """Open the list that is named, else that of the worker who started us, else the project's own."""
    with open_board(options, reads=reads) as board:
        tasks = board.tasks(list_name(options), by="" if reads else by or author(options))
        if reads and options.list:
            _check_list(tasks)
        if not reads:
            check_own_tasks(tasks)
        yield tasks


def _check_list(tasks: Tasks) -> None:
    """Raise `TaskListUnknown` if the board has no list of that name."""
    if tasks.board.store.read(lambda tx: tx.tasks.find_list(tasks.name)) is not None:
        return
    others = _name_lists(tasks)
    raise TaskListUnknown(list=tasks.name, known=f"known are: {others}" if others else "it has none yet")


def _name_lists(tasks: Tasks) -> str:
    """Return the names of some lists that hold tasks."""
    names = [f"`{row.name}`" for row, count in tasks.board.store.read(lambda tx: tx.tasks.lists()) if count]
    return ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")


def list_name(options: Namespace) -> str | None:
    """Return the list that an option or the environment names."""
    name = options.list or os.environ.get("PUNCHLIST_TASK_LIST")
    return repair(name) if name else None


def reserved_files(options: Namespace) -> list[str]:
    """Return the files to reserve, from the project's root; they are named from where the user stands."""
    here = os.path.relpath(os.path.realpath(os.getcwd()), project_of())
    return [each if here == "." else os.path.join(here, each) for each in options.reserve]


def find_all(tasks: Tasks, words: Sequence[str]) -> list[Task]:
    """Return the tasks that are meant: several ids, or one text of one or more words."""
    if len(words) > 1 and all(_is_id(word) for word in words):
        return [find_one(tasks, word) for word in dict.fromkeys(words)]
    return [find_one(tasks, " ".join(words))]


def find_one(tasks: Tasks, query: str) -> Task:
    """Return the task of that id, else the only one whose subject fits. A number is an id, also of a deleted task."""
    wanted = repair(query).strip()
    if _is_id(wanted):
        return tasks.get(wanted.removeprefix("#"))
    everything = tasks.list()
    if not everything:
        raise TaskError(problem=describe_empty(tasks))
    found = find_tasks(everything, wanted)
    if not found:
        raise TaskError(problem=f'No task matched "{wanted}". Use `punchlist tasks list --all` to see them.')
    if len(found) > 1:
        names = "; ".join(f"{task.id} {task.subject}" for task in found[:_MOST_NAMED])
        more = "; …" if len(found) > _MOST_NAMED else ""
        raise TaskError(problem=f'"{wanted}" fits {len(found)} tasks ({names}{more}); use an id, or more of the text.')
    return found[0]


def _find_ids(tasks: Tasks, queries: Sequence[str]) -> list[str]:
    return [find_one(tasks, query).id for query in queries]


def _is_id(word: str) -> bool:
    return is_number(word.strip().removeprefix("#"))


def describe_empty(tasks: Tasks) -> str:
    """Say what to do first on a list that holds nothing."""
    begin = '`punchlist tasks add "My first task"`'
    others = _name_lists(tasks)
    if not others:
        return f"There are no tasks yet; begin with {begin}."
    return f"There are no tasks in the list `{tasks.name}`; begin with {begin}, or name one with --list: {others}."


def _name_workers(tasks: Tasks, found: Sequence[Task]) -> list[Task]:
    return tasks.board.store.read(lambda tx: name_workers(tx, found))


def _find_fence(options: Namespace, task: Task) -> int | None:
    """Return the fence to show: the given one; else, for the task that `tasks work` runs us for, that of its claim."""
    if options.fence is not None:
        return options.fence
    environ = os.environ.get
    own = (environ("PUNCHLIST_TASK_ID"), environ("PUNCHLIST_TASK_LIST")) == (task.id, task.list)
    fence = environ("PUNCHLIST_TASK_FENCE", "")
    return int(fence) if own and is_number(fence) else None


def report(options: Namespace, task: Task, sentence: str) -> None:
    """Print a task that was changed: as a line of JSON, or a sentence."""
    if options.json:
        show_json(view_task(task), indent=0)
    else:
        print(for_terminal(sentence), flush=True)


def name_of(task: Task) -> str:
    return f"{task.id}: {task.subject}"


def _parse_value(text: str | None) -> Any:
    """Return JSON if the text is JSON, else the text; None for nothing."""
    if text is None:
        return None
    repaired = repair(text)
    try:
        return msgspec.json.decode(repaired)
    except (msgspec.DecodeError, RecursionError):
        return repaired


# Verbs that show tasks.


def list_(options: Namespace) -> None:
    most = choose_limit(options, _LISTED)
    with open_tasks(options, reads=True) as tasks:
        found = _find_listed(tasks, options, most)
        now = tasks.board.now()
        nothing = "" if found else _describe_nothing(tasks, options)
        if not options.json:
            found = _name_workers(tasks, found)
        waits = tasks.board.store.read(lambda tx: [wait for wait in load_waits(tx, now) if wait.list == tasks.name])
    _show_rows(options, found[:most], now, nothing)
    if not options.json:
        show(waiting_lines(len(waits)))
    if len(found) > most and not options.json:
        more = f"{detect_display().glyphs.ellipsis} and more, from {found[most].id} on"
        print(f"{more}; `--limit N` shows N of them" + (f", `--after {found[most - 1].id}` the next." if most else "."))


def _find_listed(tasks: Tasks, options: Namespace, most: int) -> list[Task]:
    """Return one more than asked for, so that it shows whether there are more."""
    parent = None if options.parent is None else find_one(tasks, options.parent).id
    after = None if options.after is None else options.after.strip().removeprefix("#")
    if after is not None and not is_number(after):
        raise InvalidInput(problem=f"`{options.after}` is no id; `--after` takes that of the last task that was shown.")
    filters = {"owner": options.owner, "label": options.label, "parent": parent, "after": after}
    if options.status is not None or options.all:
        return list(tasks.list(status=options.status, limit=most + 1, **filters))
    open_statuses = [status.value for status in TaskStatus if status not in SETTLED]
    found = [task for status in open_statuses for task in tasks.list(status=status, limit=most + 1, **filters)]
    return sorted(found, key=lambda task: int(task.id))[: most + 1]


def _describe_nothing(tasks: Tasks, options: Namespace) -> str:
    if not tasks.list(limit=1):
        return describe_empty(tasks)
    if options.status or options.owner or options.label or options.parent or options.after or options.all:
        return "No task is like that; `punchlist tasks list --all` shows all of them."
    return "Nothing is open; `punchlist tasks list --all` shows what is done."


def ready(options: Namespace) -> None:
    most = choose_limit(options, _READY)
    nothing = f"{_NOTHING_READY}, and who works on what."
    with open_tasks(options, reads=True) as tasks:
        found = tasks.ready(most + 1, label=options.label)
        now = tasks.board.now()
        if not found and not tasks.list(limit=1):
            nothing = describe_empty(tasks)
    _show_rows(options, found[:most], now, nothing)
    if len(found) > most and not options.json:
        print(f"{detect_display().glyphs.ellipsis} and more; `--limit N` shows N of them.")


def _show_rows(options: Namespace, tasks: Sequence[Task], now: datetime, nothing: str) -> None:
    if options.json:
        show_json([view_task(task) for task in tasks])
    elif tasks:
        show(task_lines(tasks, detect_display(), now))
    else:
        print(for_terminal(nothing))


def show_task(options: Namespace) -> None:
    with open_tasks(options, reads=True) as tasks:
        task = find_one(tasks, " ".join(options.words))
        now = tasks.board.now()
        named = _name_workers(tasks, [task])
    if options.json:
        show_json(view_task(task))
    else:
        show(task_card(named[0], detect_display(), now))


def graph(options: Namespace) -> None:
    with open_tasks(options, reads=True) as tasks:
        whole = tasks.graph()
        chosen = find_neighbours(find_one(tasks, " ".join(options.words)).id, whole.edges) if options.words else None
        now = tasks.board.now()
        nothing = "" if whole.tasks else describe_empty(tasks)
        drawn = whole.tasks if options.json else _name_workers(tasks, whole.tasks)
    found = [task for task in drawn if (options.all or task.is_open) and (chosen is None or task.id in chosen)]
    known = {task.id for task in found}
    edges = [edge for edge in whole.edges if known.issuperset(edge)]
    if options.json:
        show_json(view_graph(found, edges))
    elif options.mermaid or options.dot:
        draw = draw_mermaid if options.mermaid else draw_dot
        print("\n".join(draw(found, edges)))
    elif found:
        show(graph_lines(found, edges, detect_display(), now))
    else:
        print(for_terminal(nothing or "Nothing is open; `punchlist tasks graph --all` shows what is done."))


def history(options: Namespace) -> None:
    query = " ".join(options.words)
    with open_tasks(options, reads=True) as tasks:
        # A deleted task is known by its number alone.
        found = tasks.history(query.strip().removeprefix("#") if _is_id(query) else find_one(tasks, query).id)
    if options.json:
        show_json(found)
    else:
        display, today = detect_display(), datetime.now().astimezone().date()
        for event in found:
            show([display.cut((Span(f"{clock(event.at, today)}  ", "dim"), Span(sentence(event, display.glyphs))))])


# Verbs that change tasks.


def add(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        task = tasks.create(
            repair(" ".join(options.words)).strip(),
            call_id=options.call_id,
            blocked_by=_find_ids(tasks, options.blocked_by),
            blocks=_find_ids(tasks, options.blocks),
            **_given_fields(tasks, options),
        )
    after = f" (blocked by {', '.join(task.blocked_by)})" if task.blocked_by else ""
    report(options, task, f"Added {name_of(task)}{after}")


def edit(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        for found in find_all(tasks, options.words):
            changes: TaskChanges = {**_given_fields(tasks, options, found.checklist)}
            if options.subject is not None:
                changes["subject"] = repair(options.subject)
            if not changes:
                raise TaskError(problem="Say what is to change; see `punchlist tasks edit --help`.")
            task = tasks.update(found.id, **changes)
            report(options, task, f"Changed {name_of(task)}")


class GivenFields(TypedDict, total=False):
    """Fields of a task that options set, when it is added and later."""

    description: str
    parent: str | None
    priority: int
    labels: Sequence[str]
    checklist: Sequence[ChecklistLine]
    owner: str | None
    max_attempts: int | None


def _given_fields(tasks: Tasks, options: Namespace, known: Sequence[ChecklistLine] = ()) -> GivenFields:
    """Return the fields that were given and no others. An empty text clears a field.

    Of the `known` lines of a checklist, those that are given again stay ticked.
    """
    given: GivenFields = {}
    if options.description is not None:
        text = sys.stdin.read(_LONGEST_INPUT) if options.description == "-" else options.description
        given["description"] = repair(text).rstrip("\n")
    if options.parent is not None:
        given["parent"] = find_one(tasks, options.parent).id if options.parent else None
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


def start(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        for found in find_all(tasks, options.words):
            task = tasks.update(found.id, status="in_progress", fence=_find_fence(options, found))
            report(options, task, f"Started {name_of(task)}")


def done(options: Namespace) -> None:
    result = _parse_value(options.result)
    doubt = find_doubt(options)
    unfenced = 0
    with open_tasks(options) as tasks:
        for found in find_all(tasks, options.words):
            fence = _find_fence(options, found)
            person = doubt is None and fence is None  # who shows a fence speaks as a worker
            with _explain_lease(found, "`--force` completes it all the same"):
                task = tasks.complete(
                    found.id, fence=fence, result=result, call_id=options.call_id, person=person, force=options.force
                )
            report(options, task, f"Completed {name_of(task)}")
            unfenced += fence is None
    if doubt is not None and unfenced and not options.json:
        print(explain_doubt(doubt))


@contextmanager
def _explain_lease(task: Task, how: str) -> Generator[None]:
    """Refuse what another worker's lease forbids with that worker's name, and `how` to do it all the same."""
    try:
        yield
    except TaskTaken as error:
        problem = f"Task `{task.id}` is under the lease of `{error.data['owner']}`{error.data['until']}"
        raise TaskError(problem=f"{problem}; {how}.") from error


def check(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        found = find_one(tasks, options.task)
        lines = [_find_line(found, repair(line)) for line in options.lines] or list(range(len(found.checklist)))
        task = tasks.update(found.id, unchecked=lines) if options.undo else tasks.update(found.id, checked=lines)
    ticked = sum(check.done for check in task.checklist)
    report(options, task, f"Checked {name_of(task)} ({ticked} of {len(task.checklist)})")


def _find_line(task: Task, text: str) -> int | str:
    """Return a line of a checklist by its number, from 1, or by its text."""
    return int(text) - 1 if is_number(text) and 0 < int(text) <= len(task.checklist) else text


def fail(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        found = find_one(tasks, options.task)
        task = tasks.fail(found.id, _read_reason(options), fence=_find_fence(options, found))
    if task.status is TaskStatus.PENDING:
        attempt = f"Attempt {task.attempts} of {task.max_attempts}"
        report(options, task, f"{attempt} failed: {name_of(task)}; it is retried after a pause")
    else:
        report(options, task, f"Failed {name_of(task)}; `punchlist tasks retry {task.id}` opens it again")


def retry(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        for found in find_all(tasks, options.words):
            task = tasks.retry(found.id)
            report(options, task, f"Opened again {name_of(task)}")


def cancel(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        found = find_one(tasks, options.task)
        reason, fence = _read_reason(options) or None, _find_fence(options, found)
        with _explain_lease(found, "`--request` asks its worker to cancel it, `--force` cancels it all the same"):
            task = tasks.cancel(found.id, reason, request=options.request, fence=fence, force=options.force)
    if task.status is TaskStatus.CANCELLED:
        report(options, task, f"Cancelled {name_of(task)}")
    else:
        report(options, task, f"Asked for {name_of(task)} to be cancelled by its worker")


def _read_reason(options: Namespace) -> str:
    return repair(" ".join(options.reason)).strip()


def delete(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        for found in find_all(tasks, options.words):
            task = tasks.delete(found.id)
            report(options, task, f"Deleted {name_of(task)}; `punchlist tasks history {task.id}` still has its story")


def block(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        found = find_one(tasks, options.task)
        task = tasks.update(found.id, add_blocked_by=_find_ids(tasks, options.blockers))
    report(options, task, f"Blocked {name_of(task)} (by {', '.join(task.blocked_by)})")


def unblock(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        found = find_one(tasks, options.task)
        task = tasks.update(found.id, remove_blocked_by=_find_ids(tasks, options.blockers) or found.blocked_by)
    still = f" (still by {', '.join(task.blocked_by)})" if task.blocked_by else ""
    report(options, task, f"Unblocked {name_of(task)}{still}")


# Verbs of workers.


def claim(options: Namespace) -> int:
    with open_tasks(options) as tasks:
        claimed = _claim_named(tasks, options) if options.words else _claim_next(tasks, options)
        for task in claimed:
            report(options, task, f"Claimed {name_of(task)} (fence {task.fence}, lease {task.lease:g} s)")
    return OK if claimed else complain(f"{_NOTHING_READY}.", FAILED)


def _claim_next(tasks: Tasks, options: Namespace) -> Sequence[Task]:
    return tasks.claim(
        limit=1 if options.limit is None else options.limit,
        label=options.label,
        lease=options.lease,
        reserve=reserved_files(options),
        call_id=options.call_id,
    )


def _claim_named(tasks: Tasks, options: Namespace) -> Sequence[Task]:
    """Claim all of them or none, in one transaction: what the claim reserves, it reserves for each."""
    ids = [task.id for task in find_all(tasks, options.words)]
    lease = tasks.lease if options.lease is None else options.lease
    reserve = reserved_files(options)

    def claim_all(tx: Transaction) -> list[Task]:
        work = tasks.within(tx)
        claimed: list[Task] = []
        for each in ids:
            call = options.call_id if options.call_id is None or len(ids) == 1 else f"{options.call_id} {each}"
            claimed += work.claim(tasks.by, id=each, label=options.label, lease=lease, reserve=reserve, call_id=call)
        return claimed

    return tasks.board.store.transact(claim_all)


def release(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        for found in find_all(tasks, options.words):
            task = tasks.release(found.id, fence=_find_fence(options, found))
            deed = "Cancelled" if task.status is TaskStatus.CANCELLED else "Released"
            report(options, task, f"{deed} {name_of(task)}")


def wait(options: Namespace) -> None:
    until = None if options.until is None else _parse_moment(options.until)
    with open_tasks(options) as tasks:
        found = find_one(tasks, " ".join(options.words))
        task = tasks.wait(
            found.id,
            until=until,
            topic=None if options.topic is None else repair(options.topic),
            correlation_id=None if options.correlation is None else repair(options.correlation),
            fence=_find_fence(options, found),
        )
        now = tasks.board.now()
    if task.wait is None:
        report(options, task, f"Did not have to wait: what {name_of(task)} waits for had come already")
    else:
        report(options, task, f"Waiting {name_of(task)} ({wait_words(task.wait, now)})")


def _parse_moment(text: str) -> datetime | timedelta:
    """Return a time, in the local zone if it names none; or how long from now, such as `90s`, `10m`, `2h`, `3d`."""
    number, unit = text[:-1], text[-1:]
    if is_number(number) and unit in _UNITS and len(number) <= 9:
        return timedelta(**{_UNITS[unit]: int(number)})
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        problem = f"`{text}` is no time; use 90s, 10m, 2h, 3d, or a time such as 2026-12-24T18:00."
        raise WaitRefused(problem=problem) from error
    return at if at.tzinfo is not None else at.astimezone()


def signal(options: Namespace) -> int:
    topic, correlation = repair(options.topic), repair(options.correlation)
    with open_tasks(options) as tasks:
        payload = _parse_value(options.payload)
        woken = tasks.signal(topic, correlation, payload, keep=options.keep, call_id=options.call_id)
        for task in woken:
            report(options, task, f"Delivered to {name_of(task)}")
    if woken:
        return OK
    if not options.keep:
        none = f"No task waits for `{options.topic}` `{options.correlation}`"
        return complain(f"{none}; with --keep the first that does will get it.", FAILED)
    if not options.json:
        print("No task waits for it yet; it is kept for the first that does.")
    return OK


def resume(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        for found in find_all(tasks, options.words):
            task = tasks.resume(found.id)
            if task.is_open:
                report(options, task, f"Resumed {name_of(task)}")
            else:
                report(options, task, f"Cancelled {name_of(task)}, as asked before")

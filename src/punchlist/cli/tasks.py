"""`punchlist tasks`: its verbs, then their options. Only the parser of the verb that runs is built."""

import os
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Struct

from punchlist.cli import FAILED, OK, arguments, complain
from punchlist.cli.events import clock
from punchlist.cli.terminal import detect_display, show, show_json
from punchlist.core.task import SETTLED, ChecklistLine, Task, TaskStatus, find_tasks
from punchlist.errors import InvalidInput, TaskError, TaskListUnknown, TaskTaken, WaitRefused
from punchlist.settings.environment import find_project
from punchlist.store import Transaction
from punchlist.tasks import TaskChanges, Tasks
from punchlist.tasks.fields import TaskSettings
from punchlist.tasks.handle import ClaimOptions
from punchlist.tasks.work import name_workers
from punchlist.terminal.lists import waiting_lines
from punchlist.terminal.sentences import sentence
from punchlist.terminal.spans import Span
from punchlist.terminal.tasks import (
    draw_dot,
    draw_mermaid,
    find_neighbours,
    graph_lines,
    task_card,
    task_lines,
    wait_words,
)
from punchlist.text import for_terminal, repair
from punchlist.views.list_owners import check_tasks_editable
from punchlist.views.lists import view_graph, view_task

if TYPE_CHECKING:
    from punchlist.board import Board

_EXAMPLES = """\
  punchlist tasks add "Write the parser"
  punchlist tasks add "Test it" --blocked-by parser --label tests
  punchlist tasks ready                             what can be begun now
  punchlist tasks done parser --result '{"lines": 120}'
  punchlist tasks graph --mermaid > tasks.mmd
  punchlist tasks claim --json                      for a worker of your own
  punchlist tasks work --drain -- ./one-task.sh     or let a command do them, one by one
"""
_FIRST = "list"
"""The verb of `punchlist tasks` alone."""

_LISTED, _READY = 100, 20
"""How many tasks `list` and `ready` show a person by default."""

_MOST_NAMED = 5
_LONGEST_INPUT = 1_000_000
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_NOTHING_READY = "Nothing is ready; `punchlist tasks list` shows what waits for what"


# Which list, and which tasks of it.


@contextmanager
def open_tasks(options: Namespace, *, by: str = "", reads: bool = False) -> Generator[Tasks]:
    """Open the list that is named, else that of the worker who started us, else the project's own."""
    with arguments.open_board(options, reads=reads) as board:
        tasks = board.tasks(list_name(options), by="" if reads else by or arguments.author(options))
        if not reads and not board.is_remote:
            check_tasks_editable(tasks)
        elif reads and options.list and tasks.name not in _board(tasks).task_lists():
            others = _name_lists(tasks)
            raise TaskListUnknown(list=tasks.name, known=f"known are: {others}" if others else "it has none yet")
        yield tasks


def _board(tasks: Tasks) -> "Board":
    return cast("Board", tasks.board)


def _name_lists(tasks: Tasks) -> str:
    names = [f"`{name}`" for name, count in _board(tasks).task_lists().items() if count]
    return ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")


def list_name(options: Namespace) -> str | None:
    """Return the list that an option or the environment names."""
    name = options.list or os.environ.get("PUNCHLIST_TASK_LIST")
    return repair(name) if name else None


def reserved_files(options: Namespace) -> list[str]:
    """Return the files to reserve, from the project's root; they are named from where the user stands."""
    here = os.path.relpath(os.path.realpath(os.getcwd()), find_project().folder)
    return [each if here == "." else os.path.join(here, each) for each in options.reserve]


def _find_all(tasks: Tasks, words: Sequence[str]) -> list[Task]:
    """Return the tasks that are meant: several ids, or one text of one or more words."""
    if len(words) > 1 and all(_is_id(word) for word in words):
        return [_find_one(tasks, word) for word in dict.fromkeys(words)]
    return [_find_one(tasks, " ".join(words))]


def _find_one(tasks: Tasks, query: str) -> Task:
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
    return [_find_one(tasks, query).id for query in queries]


def _is_id(word: str) -> bool:
    return arguments.is_number(word.strip().removeprefix("#"))


def describe_empty(tasks: Tasks) -> str:
    """Say what to do first on a list that holds nothing."""
    begin = '`punchlist tasks add "My first task"`'
    if others := _name_lists(tasks):
        return f"There are no tasks in the list `{tasks.name}`; begin with {begin}, or name one with --list: {others}."
    return f"There are no tasks yet; begin with {begin}."


def _name_workers(tasks: Tasks, found: Sequence[Task]) -> list[Task]:
    return list(found) if _board(tasks).is_remote else tasks.board.store.read(lambda tx: name_workers(tx, found))


def _find_fence(options: Namespace, task: Task) -> int | None:
    """Return the fence to show: the given one; else, for the task that `tasks work` runs us for, that of its claim."""
    if options.fence is not None:
        return options.fence
    environ = os.environ.get
    own = (environ("PUNCHLIST_TASK_ID"), environ("PUNCHLIST_TASK_LIST")) == (task.id, task.list)
    fence = environ("PUNCHLIST_TASK_FENCE", "")
    return int(fence) if own and arguments.is_number(fence) else None


def report(options: Namespace, task: Task, sentence: str) -> None:
    if options.json:
        show_json(view_task(task), indent=0)
    else:
        print(for_terminal(sentence), flush=True)


def name_of(task: Task) -> str:
    return f"{task.id}: {task.subject}"


def _parse_value(text: str | None) -> Any:
    if text is None:
        return None
    repaired = repair(text)
    try:
        return msgspec.json.decode(repaired)
    except (msgspec.DecodeError, RecursionError):
        return repaired


# Verbs that show tasks.


def _list(options: Namespace) -> None:
    most = arguments.choose_limit(options, _LISTED)
    with open_tasks(options, reads=True) as tasks:
        found = _find_listed(tasks, options, most)
        now = tasks.board.now()
        nothing = "" if found else _describe_nothing(tasks, options)
        if not options.json:
            found = _name_workers(tasks, found)
        waits = [wait for wait in _board(tasks).waits() if wait.list == tasks.name]
    _show_rows(options, found[:most], now, nothing)
    if options.json:
        return
    show(waiting_lines(len(waits)))
    if len(found) > most:
        more = f"{detect_display().glyphs.ellipsis} and more, from {found[most].id} on"
        print(f"{more}; `--limit N` shows N of them" + (f", `--after {found[most - 1].id}` the next." if most else "."))


def _find_listed(tasks: Tasks, options: Namespace, most: int) -> list[Task]:
    """Return one more than asked for, so that it shows whether there are more."""
    parent = None if options.parent is None else _find_one(tasks, options.parent).id
    after = None if options.after is None else options.after.strip().removeprefix("#")
    if after is not None and not arguments.is_number(after):
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


def _ready(options: Namespace) -> None:
    most = arguments.choose_limit(options, _READY)
    with open_tasks(options, reads=True) as tasks:
        found = tasks.ready(most + 1, label=options.label)
        now = tasks.board.now()
        is_empty = not found and not tasks.list(limit=1)
        nothing = describe_empty(tasks) if is_empty else f"{_NOTHING_READY}, and who works on what."
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


def _show_task(options: Namespace) -> None:
    with open_tasks(options, reads=True) as tasks:
        task = _find_one(tasks, " ".join(options.words))
        now = tasks.board.now()
        named = _name_workers(tasks, [task])
    if options.json:
        show_json(view_task(task))
    else:
        show(task_card(named[0], detect_display(), now))


def _graph(options: Namespace) -> None:
    with open_tasks(options, reads=True) as tasks:
        whole = tasks.graph()
        chosen = find_neighbours(_find_one(tasks, " ".join(options.words)).id, whole.edges) if options.words else None
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


def _history(options: Namespace) -> None:
    query = " ".join(options.words)
    with open_tasks(options, reads=True) as tasks:
        # A deleted task is known by its number alone.
        found = tasks.history(query.strip().removeprefix("#") if _is_id(query) else _find_one(tasks, query).id)
    if options.json:
        show_json(found)
    else:
        display, today = detect_display(), datetime.now().astimezone().date()
        for event in found:
            show([display.cut((Span(f"{clock(event.at, today)}  ", "dim"), Span(sentence(event, display.glyphs))))])


# Verbs that change tasks.


def _add(options: Namespace) -> None:
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


def _edit(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        for found in _find_all(tasks, options.words):
            changes: TaskChanges = {**_given_fields(tasks, options, found.checklist)}
            if options.subject is not None:
                changes["subject"] = repair(options.subject)
            if not changes:
                raise TaskError(problem="Say what is to change; see `punchlist tasks edit --help`.")
            task = tasks.update(found.id, **changes)
            report(options, task, f"Changed {name_of(task)}")


def _given_fields(tasks: Tasks, options: Namespace, known: Sequence[ChecklistLine] = ()) -> TaskSettings:
    """Return the fields that were given and no others. An empty text clears a field.

    Of the `known` lines of a checklist, those that are given again stay ticked.
    """
    given: TaskSettings = {}
    if options.description is not None:
        text = sys.stdin.read(_LONGEST_INPUT) if options.description == "-" else options.description
        given["description"] = repair(text).rstrip("\n")
    if options.parent is not None:
        given["parent"] = _find_one(tasks, options.parent).id if options.parent else None
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


def _start(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        for found in _find_all(tasks, options.words):
            task = tasks.update(found.id, status="in_progress", fence=_find_fence(options, found))
            report(options, task, f"Started {name_of(task)}")


def _done(options: Namespace) -> None:
    result = _parse_value(options.result)
    doubt = arguments.find_doubt(options)
    unfenced = 0
    with open_tasks(options) as tasks:
        for found in _find_all(tasks, options.words):
            fence = _find_fence(options, found)
            person = doubt is None and fence is None  # who shows a fence speaks as a worker
            with _explain_lease(found, "`--force` completes it all the same"):
                task = tasks.complete(
                    found.id, fence=fence, result=result, call_id=options.call_id, person=person, force=options.force
                )
            report(options, task, f"Completed {name_of(task)}")
            unfenced += fence is None
    if doubt is not None and unfenced and not options.json:
        print(arguments.explain_doubt(doubt))


@contextmanager
def _explain_lease(task: Task, how: str) -> Generator[None]:
    """Refuse what another worker's lease forbids with that worker's name, and `how` to do it all the same."""
    try:
        yield
    except TaskTaken as error:
        taken = f"{error.data['owner']}`{error.data['until']}" if error.data else f"{task.owner}`"
        problem = f"Task `{task.id}` is under the lease of `{taken}"
        raise TaskError(problem=f"{problem}; {how}.") from error


def _check(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        found = _find_one(tasks, options.task)
        lines = [_find_line(found, repair(line)) for line in options.lines] or list(range(len(found.checklist)))
        task = tasks.update(found.id, unchecked=lines) if options.undo else tasks.update(found.id, checked=lines)
    ticked = sum(check.done for check in task.checklist)
    report(options, task, f"Checked {name_of(task)} ({ticked} of {len(task.checklist)})")


def _find_line(task: Task, text: str) -> int | str:
    return int(text) - 1 if arguments.is_number(text) and 0 < int(text) <= len(task.checklist) else text


def _fail(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        found = _find_one(tasks, options.task)
        task = tasks.fail(found.id, _read_reason(options), fence=_find_fence(options, found))
    if task.status is TaskStatus.PENDING:
        attempt = f"Attempt {task.attempts} of {task.max_attempts}"
        report(options, task, f"{attempt} failed: {name_of(task)}; it is retried after a pause")
    else:
        report(options, task, f"Failed {name_of(task)}; `punchlist tasks retry {task.id}` opens it again")


def _retry(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        for found in _find_all(tasks, options.words):
            task = tasks.retry(found.id)
            report(options, task, f"Opened again {name_of(task)}")


def _cancel(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        found = _find_one(tasks, options.task)
        reason, fence = _read_reason(options) or None, _find_fence(options, found)
        with _explain_lease(found, "`--request` asks its worker to cancel it, `--force` cancels it all the same"):
            task = tasks.cancel(found.id, reason, request=options.request, fence=fence, force=options.force)
    if task.status is TaskStatus.CANCELLED:
        report(options, task, f"Cancelled {name_of(task)}")
    else:
        report(options, task, f"Asked for {name_of(task)} to be cancelled by its worker")


def _read_reason(options: Namespace) -> str:
    return repair(" ".join(options.reason)).strip()


def _delete(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        for found in _find_all(tasks, options.words):
            task = tasks.delete(found.id)
            report(options, task, f"Deleted {name_of(task)}; `punchlist tasks history {task.id}` still has its story")


def _block(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        found = _find_one(tasks, options.task)
        task = tasks.update(found.id, add_blocked_by=_find_ids(tasks, options.blockers))
    report(options, task, f"Blocked {name_of(task)} (by {', '.join(task.blocked_by)})")


def _unblock(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        found = _find_one(tasks, options.task)
        task = tasks.update(found.id, remove_blocked_by=_find_ids(tasks, options.blockers) or found.blocked_by)
    still = f" (still by {', '.join(task.blocked_by)})" if task.blocked_by else ""
    report(options, task, f"Unblocked {name_of(task)}{still}")


# Verbs of workers.


def _claim(options: Namespace) -> int:
    with open_tasks(options) as tasks:
        if options.words:
            claimed = _claim_named(tasks, options)
        else:
            most = 1 if options.limit is None else options.limit
            files = reserved_files(options)
            claimed = tasks.claim(
                limit=most, label=options.label, lease=options.lease, reserve=files, call_id=options.call_id
            )
        for task in claimed:
            report(options, task, f"Claimed {name_of(task)} (fence {task.fence}, lease {task.lease:g} s)")
    return OK if claimed else complain(f"{_NOTHING_READY}.", FAILED)


def _claim_named(tasks: Tasks, options: Namespace) -> Sequence[Task]:
    """Claim all of them or none, in one transaction: what the claim reserves, it reserves for each."""
    ids = [task.id for task in _find_all(tasks, options.words)]
    lease = tasks.lease if options.lease is None else options.lease
    reserve = reserved_files(options)

    if _board(tasks).is_remote:
        given: ClaimOptions = {"label": options.label, "lease": lease, "reserve": reserve}
        claims = [tasks.claim(id=each, **{**given, "call_id": options.call_id}) for each in ids]
        return [one for one in claims if one is not None]

    def claim_all(tx: Transaction) -> list[Task]:
        work = tasks.within(tx)
        claimed: list[Task] = []
        for each in ids:
            call = options.call_id if options.call_id is None or len(ids) == 1 else f"{options.call_id} {each}"
            claimed += work.claim(tasks.by, id=each, label=options.label, lease=lease, reserve=reserve, call_id=call)
        return claimed

    return tasks.board.store.transact(claim_all)


def _release(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        for found in _find_all(tasks, options.words):
            task = tasks.release(found.id, fence=_find_fence(options, found))
            deed = "Cancelled" if task.status is TaskStatus.CANCELLED else "Released"
            report(options, task, f"{deed} {name_of(task)}")


def _wait(options: Namespace) -> None:
    until = None if options.until is None else _parse_moment(options.until)
    with open_tasks(options) as tasks:
        found = _find_one(tasks, " ".join(options.words))
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
    if arguments.is_number(number) and unit in _UNITS and len(number) <= 9:
        return timedelta(**{_UNITS[unit]: int(number)})
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        problem = f"`{text}` is no time; use 90s, 10m, 2h, 3d, or a time such as 2026-12-24T18:00."
        raise WaitRefused(problem=problem) from error
    return at if at.tzinfo is not None else at.astimezone()


def _signal(options: Namespace) -> int:
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


def _resume(options: Namespace) -> None:
    with open_tasks(options) as tasks:
        for found in _find_all(tasks, options.words):
            task = tasks.resume(found.id)
            if task.is_open:
                report(options, task, f"Resumed {name_of(task)}")
            else:
                report(options, task, f"Cancelled {name_of(task)}, as asked before")


# Options.

Option = Callable[[Any], object]
"""Adds itself to a parser, or to a group of options that exclude each other."""


class Verb(Struct, frozen=True):
    """A verb: its function, its line in the help, its options; `writes` if it changes tasks."""

    run: arguments.Run
    help: str
    options: Sequence[Option]
    writes: bool = True


def _load_later(module: str, function: str) -> arguments.Run:

    def run(options: Namespace) -> int | None:
        return getattr(import_module(f"punchlist.cli.{module}"), function)(options)

    return run


def _parse_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= 86_400:
        raise ArgumentTypeError(f"`{text}` is no number of seconds, up to a day")
    return seconds


def _option(*names: str, **settings: Any) -> Option:
    return lambda parser: parser.add_argument(*names, **settings)


def _flag(name: str, help: str) -> Option:
    return _option(name, action="store_true", help=help)


def _several(name: str, metavar: str, help: str) -> Option:
    return _option(name, action="append", default=[], metavar=metavar, help=help)


def _limit(default: str) -> Option:
    return lambda parser: parser.add_limit(None, f"tasks (default: {default})")


def _one_of(*options: Option) -> Option:
    def add(parser: Any) -> None:
        group = parser.add_mutually_exclusive_group()
        for option in options:
            option(group)

    return add


_TASK = _option("words", nargs="+", metavar="TASK", help="its id, or text that only its subject has")
_TASKS = _option("words", nargs="+", metavar="TASK", help="ids, or text that only one subject has")
_QUOTED_TASK = _option("task", metavar="TASK", help="its id, or text of its subject in quotes")
_WAITING_TASK = _option("task", metavar="TASK", help="the task that waits")
_REASON = _option("reason", nargs="*", metavar="REASON")
_ALL = _flag("--all", "also what is completed or cancelled")
_LABEL = _option("--label", metavar="L", help="only tasks with this label")
_FENCE = _option(
    "--fence", type=arguments.parse_count, metavar="N", help="only if the task is still yours by this number"
)
_CALL_ID = _option("--call-id", metavar="ID", help="the same id again does nothing twice")
_FORMAT = _option(
    "--format",
    metavar="F",
    help="json, punchlist, oh-my-pi, roo, augment, copilot-cli, github or claude (by default from the name)",
)
_CLAIM = (
    _option("--lease", type=_parse_seconds, metavar="SECONDS", help="how long without a heartbeat (900)"),
    _several("--reserve", "FILES", "files that are yours meanwhile, from where you stand"),
)
_FIELDS = (
    _option("--description", metavar="TEXT", help="what there is to know; `-` reads standard input"),
    _option("--parent", metavar="TASK", help="the task that this one is part of"),
    _option("--priority", type=arguments.parse_count, metavar="P", help="0 comes first, 4 last (default: 2)"),
    _several("--label", "L", "a label; may be given again"),
    _several("--check", "TEXT", "a line of its checklist"),
    _option("--owner", metavar="W", help="the worker whom it is meant for"),
    _option("--attempts", type=arguments.parse_count, metavar="N", help="retry it, up to N attempts in all"),
)
_LIST_OPTIONS = (
    _ALL,
    _option("--status", metavar="S", help="only tasks in this status"),
    _option("--owner", metavar="W", help="only tasks of this worker"),
    _LABEL,
    _option("--parent", metavar="TASK", help="only what lies directly below this task"),
    _option("--after", metavar="ID", help="only tasks after this id, for the next page"),
    _limit("100; all of them with --json"),
)
_ADD_OPTIONS = (
    _option("words", nargs="+", metavar="SUBJECT"),
    _several("--blocked-by", "TASK", "a task to wait for"),
    _several("--blocks", "TASK", "a task that waits for this one"),
    *_FIELDS,
    _CALL_ID,
)
_FORCE = _flag("--force", "also if another worker has it under a lease")
_DONE_OPTIONS = (
    _TASKS,
    _option("--result", metavar="VALUE", help="what came of it: JSON, or else a text"),
    _FORCE,
    _FENCE,
    _CALL_ID,
)
_CHECK_OPTIONS = (
    _QUOTED_TASK,
    _option("lines", nargs="*", metavar="LINE", help="lines by number, from 1, or text (default: all)"),
    _flag("--undo", "take the ticks away again"),
)
_CANCEL_OPTIONS = (_QUOTED_TASK, _REASON, _FENCE, _FORCE, _flag("--request", "ask its worker to cancel it"))
_BLOCK_OPTIONS = (_WAITING_TASK, _option("blockers", nargs="+", metavar="BLOCKER", help="what it waits for"))
_UNBLOCK_OPTIONS = (
    _WAITING_TASK,
    _option("blockers", nargs="*", metavar="BLOCKER", help="what it no longer waits for (default: all)"),
)
_CLAIM_OPTIONS = (
    _option("words", nargs="*", metavar="TASK", help="this one (default: the next that is ready)"),
    _option("--label", metavar="L", help="only a task with this label"),
    _limit("1"),
    *_CLAIM,
    _CALL_ID,
)
_WAIT_OPTIONS = (
    _TASK,
    _option("--until", metavar="TIME", help="a time (2026-12-24T18:00), or how long: 90s, 10m, 2h, 3d"),
    _option("--topic", metavar="T", help="an event of this topic"),
    _option("--correlation", metavar="ID", help="and with this correlation id"),
    _FENCE,
)
_SIGNAL_OPTIONS = (
    _option("topic", metavar="TOPIC"),
    _option("correlation", metavar="ID"),
    _option("payload", nargs="?", metavar="VALUE", help="what they are told: JSON, or else a text"),
    _flag("--keep", "if no task waits for it yet, keep it for the first that does"),
    _CALL_ID,
)
_GRAPH_OPTIONS = (
    _option("words", nargs="*", metavar="TASK", help="only what it waits for and what waits for it"),
    _ALL,
    _one_of(_flag("--mermaid", "as a Mermaid diagram"), _flag("--dot", "as a Graphviz diagram")),
)
_IMPORT_OPTIONS = (
    _option("path", metavar="FILE", help="the file, or `-`; or a folder of Claude Code's, ~/.claude/tasks/LIST"),
    _FORMAT,
    _flag("--in-order", "each task that is not begun yet waits for the one before it"),
)
_EXPORT_FILE = "the file (default: `-`, the screen); or ~/.claude/tasks"
_EXPORT_OPTIONS = (
    _option("path", nargs="?", default="-", metavar="FILE", help=_EXPORT_FILE),
    _FORMAT,
    _flag("--force", "also over a file that was not exported from here"),
)
_WORK_OPTIONS = (
    _one_of(
        _flag("--once", "one task, then end (1 if none is ready, or it failed)"),
        _flag("--drain", "end when nothing is ready (1 if any failed)"),
    ),
    _LABEL,
    *_CLAIM,
    _option("--grace", type=_parse_seconds, default=10.0, metavar="SECONDS", help="to end in when told to (10)"),
    _option("command", nargs="+", metavar="CMD", help="after `--`: the command and its arguments"),
)

VERBS: dict[str, Verb] = {
    "list": Verb(_list, "show the tasks that are open", _LIST_OPTIONS, writes=False),
    "ready": Verb(
        _ready,
        "show the tasks that can be started now, the most urgent first",
        (_LABEL, _limit("20; all of them with --json")),
        writes=False,
    ),
    "add": Verb(_add, "add a task", _ADD_OPTIONS),
    "edit": Verb(
        _edit,
        "change the fields of a task",
        (_TASK, _option("--subject", metavar="TEXT", help="what there is to do"), *_FIELDS),
    ),
    "show": Verb(_show_task, "show all about a task", (_TASK,), writes=False),
    "start": Verb(_start, "begin tasks yourself, without a lease", (_TASKS, _FENCE)),
    "done": Verb(_done, "mark tasks as completed", _DONE_OPTIONS),
    "check": Verb(_check, "tick lines of a task's checklist", _CHECK_OPTIONS),
    "fail": Verb(_fail, "say that a task, or this attempt at it, failed", (_QUOTED_TASK, _REASON, _FENCE)),
    "retry": Verb(_retry, "open tasks again that have ended", (_TASKS,)),
    "cancel": Verb(_cancel, "cancel a task", _CANCEL_OPTIONS),
    "delete": Verb(_delete, "delete tasks from the list; their history stays", (_TASKS,)),
    "block": Verb(_block, "make a task wait for others", _BLOCK_OPTIONS),
    "unblock": Verb(_unblock, "let a task no longer wait for others", _UNBLOCK_OPTIONS),
    "claim": Verb(_claim, "claim the next task that is ready, under a lease", _CLAIM_OPTIONS),
    "release": Verb(_release, "release tasks, so that others may claim them", (_TASKS, _FENCE)),
    "wait": Verb(_wait, "let a task wait for a time, an event or a person", _WAIT_OPTIONS),
    "signal": Verb(_signal, "deliver an event to the tasks that wait for it", _SIGNAL_OPTIONS),
    "resume": Verb(_resume, "resume tasks, whatever they wait for", (_TASKS,)),
    "graph": Verb(_graph, "show what waits for what", _GRAPH_OPTIONS, writes=False),
    "history": Verb(_history, "show everything that happened to a task", (_TASK,), writes=False),
    "import": Verb(_load_later("task_files", "import_"), "add the tasks of a file", _IMPORT_OPTIONS),
    "export": Verb(_load_later("task_files", "export"), "write the tasks to a file", _EXPORT_OPTIONS, writes=False),
    "work": Verb(_load_later("task_work", "work"), "claim tasks and run a command for each", _WORK_OPTIONS),
}
"""Every verb, in the order of the help."""


def parser() -> arguments.Parser:
    """Return the parser of all verbs, for the help and the docs."""
    about = "Durable tasks of this project: work that outlives a conversation. Without a verb: `list`."
    made = arguments.command_parser("tasks", about, examples=_EXAMPLES)
    add_verb = made.add_verbs(first=_FIRST)
    for name, verb in VERBS.items():
        _add_options(add_verb(name, verb.help, verb.run), verb)
    return made


def parse(words: list[str]) -> Namespace:
    """Return the options of one verb. The parsers of the others are built only to explain an error."""
    words = arguments.insert_verb(words, _FIRST)
    place = arguments.find_verb(words)
    name = words[place]
    if name not in VERBS:
        return parser().parse_args(words)
    verb = VERBS[name]
    made = arguments.Parser(prog=f"punchlist tasks {name}", description=arguments.describe_verb(verb.help))
    made.add_db()
    made.set_defaults(run=verb.run)
    _add_options(made, verb)
    return made.parse_args([*words[:place], *words[place + 1 :]])


def _add_options(parser: arguments.Parser, verb: Verb) -> None:
    parser.add_argument("--list", metavar="L", help="the list (default: $PUNCHLIST_TASK_LIST, else the project's)")
    parser.add_json(lines=verb.writes)
    if verb.writes:
        parser.add_by()
    for add_option in verb.options:
        add_option(parser)

"""`punchlist tasks`: its verbs and their options. Only the parser of the verb that runs is built."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from msgspec import Struct

from punchlist.cli.arguments import Parser, command_parser, describe_verb, find_verb, insert_verb, parse_count

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


Option = Callable[[Any], object]
"""Adds itself to a parser, or to a group of options that exclude each other."""


class Verb(Struct, frozen=True):
    """A verb: its function, the module of that, its line in the help, its options; `writes` if it changes tasks."""

    function: str
    help: str
    options: Sequence[Option]
    writes: bool = True
    module: str = "task_commands"


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
_FENCE = _option("--fence", type=parse_count, metavar="N", help="only if the task is still yours by this number")
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
    _option("--priority", type=parse_count, metavar="P", help="0 comes first, 4 last (default: 2)"),
    _several("--label", "L", "a label; may be given again"),
    _several("--check", "TEXT", "a line of its checklist"),
    _option("--owner", metavar="W", help="the worker whom it is meant for"),
    _option("--attempts", type=parse_count, metavar="N", help="retry it, up to N attempts in all"),
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
_INPUTS = ("stdin", "file", "none")
_WORK_OPTIONS = (
    _one_of(
        _flag("--once", "one task, then end (1 if none is ready, or it failed)"),
        _flag("--drain", "end when nothing is ready (1 if any failed)"),
    ),
    _LABEL,
    *_CLAIM,
    _option("--grace", type=_parse_seconds, default=10.0, metavar="SECONDS", help="to end in when told to (10)"),
    _option("--input", choices=_INPUTS, default="stdin", help="how it gets the task as JSON (stdin)"),
    _option("command", nargs="+", metavar="CMD", help="after `--`: the command and its arguments"),
)

VERBS: dict[str, Verb] = {
    "list": Verb("list_", "show the tasks that are open", _LIST_OPTIONS, writes=False),
    "ready": Verb(
        "ready",
        "show the tasks that can be started now, the most urgent first",
        (_LABEL, _limit("20; all of them with --json")),
        writes=False,
    ),
    "add": Verb("add", "add a task", _ADD_OPTIONS),
    "edit": Verb(
        "edit",
        "change the fields of a task",
        (_TASK, _option("--subject", metavar="TEXT", help="what there is to do"), *_FIELDS),
    ),
    "show": Verb("show_task", "show all about a task", (_TASK,), writes=False),
    "start": Verb("start", "begin tasks yourself, without a lease", (_TASKS, _FENCE)),
    "done": Verb("done", "mark tasks as completed", _DONE_OPTIONS),
    "check": Verb("check", "tick lines of a task's checklist", _CHECK_OPTIONS),
    "fail": Verb("fail", "say that a task, or this attempt at it, failed", (_QUOTED_TASK, _REASON, _FENCE)),
    "retry": Verb("retry", "open tasks again that have ended", (_TASKS,)),
    "cancel": Verb("cancel", "cancel a task", _CANCEL_OPTIONS),
    "delete": Verb("delete", "delete tasks from the list; their history stays", (_TASKS,)),
    "block": Verb("block", "make a task wait for others", _BLOCK_OPTIONS),
    "unblock": Verb("unblock", "let a task no longer wait for others", _UNBLOCK_OPTIONS),
    "claim": Verb("claim", "claim the next task that is ready, under a lease", _CLAIM_OPTIONS),
    "release": Verb("release", "release tasks, so that others may claim them", (_TASKS, _FENCE)),
    "wait": Verb("wait", "let a task wait for a time, an event or a person", _WAIT_OPTIONS),
    "signal": Verb("signal", "deliver an event to the tasks that wait for it", _SIGNAL_OPTIONS),
    "resume": Verb("resume", "resume tasks, whatever they wait for", (_TASKS,)),
    "graph": Verb("graph", "show what waits for what", _GRAPH_OPTIONS, writes=False),
    "history": Verb("history", "show everything that happened to a task", (_TASK,), writes=False),
    "import": Verb("import_", "add the tasks of a file", _IMPORT_OPTIONS, module="task_files"),
    "export": Verb("export", "write the tasks to a file", _EXPORT_OPTIONS, writes=False, module="task_files"),
    "work": Verb("work", "claim tasks and run a command for each", _WORK_OPTIONS, module="task_work"),
}
"""Every verb, in the order of the help."""


def parser() -> Parser:
    """Return the parser of all verbs, for the help and the docs."""
    about = "Durable tasks of this project: work that outlives a conversation. Without a verb: `list`."
    made = command_parser("tasks", about, examples=_EXAMPLES)
    add_verb = made.add_verbs(first=_FIRST)
    for name, verb in VERBS.items():
        _add_options(add_verb(name, verb.help, _run), name)
    return made


def parse(words: list[str]) -> Namespace:
    """Return the options of one verb. The parsers of the others are built only to explain an error."""
    words = insert_verb(words, _FIRST)
    place = find_verb(words)
    name = words[place]
    if name not in VERBS:
        return parser().parse_args(words)
    made = Parser(prog=f"punchlist tasks {name}", description=describe_verb(VERBS[name].help))
    made.add_db()
    made.set_defaults(run=_run)
    _add_options(made, name)
    return made.parse_args([*words[:place], *words[place + 1 :]])


def _add_options(parser: Parser, name: str) -> None:
    verb = VERBS[name]
    parser.add_argument("--list", metavar="L", help="the list (default: $PUNCHLIST_TASK_LIST, else the project's)")
    parser.add_json(lines=verb.writes)
    if verb.writes:
        parser.add_by()
    for add_option in verb.options:
        add_option(parser)
    parser.set_defaults(verb=name)


def _run(options: Namespace) -> int | None:
    verb = VERBS[options.verb]
    return getattr(import_module(f"punchlist.cli.{verb.module}"), verb.function)(options)

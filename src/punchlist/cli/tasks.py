"""`punchlist tasks`: its verbs and their options. Only the parser of the verb that runs is built."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from punchlist.cli.arguments import (
    Parser,
    add_by,
    add_db,
    add_json,
    add_limit,
    add_verbs,
    command_parser,
    count,
    sentence_of,
    verb_place,
    with_verb,
)

_EXAMPLES = """\
  punchlist tasks add "Write the parser"
  punchlist tasks add "Test it" --blocked-by parser --label tests
  punchlist tasks ready                             what can be begun now
  punchlist tasks done parser --result '{"lines": 120}'
  punchlist tasks graph --mermaid > tasks.mmd
  punchlist tasks claim --json                      for a worker of your own
  punchlist tasks work --drain -- ./one-task.sh     or let a command do them, one by one
"""


FORMATS = "json, punchlist, oh-my-pi, roo, augment, copilot-cli, github or claude"


def _for_list(parser: ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="also what is completed or cancelled")
    parser.add_argument("--status", metavar="S", help="only tasks in this status")
    parser.add_argument("--owner", metavar="W", help="only tasks of this worker")
    parser.add_argument("--label", metavar="L", help="only tasks with this label")
    parser.add_argument("--parent", metavar="TASK", help="only what lies directly below this task")
    parser.add_argument("--after", metavar="ID", help="only tasks behind this id, to read on where a page ended")
    add_limit(parser, None, "tasks (default: 100; all of them with --json)")


def _for_ready(parser: ArgumentParser) -> None:
    parser.add_argument("--label", metavar="L", help="only tasks with this label")
    add_limit(parser, None, "tasks (default: 20; all of them with --json)")


def _for_add(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", metavar="SUBJECT")
    parser.add_argument("--blocked-by", action="append", default=[], metavar="TASK", help="a task to wait for")
    parser.add_argument("--blocks", action="append", default=[], metavar="TASK", help="a task that waits for this one")
    _add_fields(parser)
    _add_call_id(parser)


def _for_edit(parser: ArgumentParser) -> None:
    _for_task(parser)
    parser.add_argument("--subject", metavar="TEXT", help="what there is to do")
    _add_fields(parser)


def _add_fields(parser: ArgumentParser) -> None:
    parser.add_argument("--description", metavar="TEXT", help="what there is to know; `-` reads standard input")
    parser.add_argument("--parent", metavar="TASK", help="the task that this one is part of")
    parser.add_argument("--priority", type=count, metavar="P", help="0 comes first, 4 last (default: 2)")
    parser.add_argument("--label", action="append", default=[], metavar="L", help="a label; may be given again")
    parser.add_argument("--check", action="append", default=[], metavar="TEXT", help="a line of its checklist")
    parser.add_argument("--owner", metavar="W", help="the worker whom it is meant for")
    parser.add_argument("--attempts", type=count, metavar="N", help="try it up to N times before it counts as failed")


def _for_task(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", metavar="TASK", help="its id, or text that only its subject has")


def _for_tasks(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", metavar="TASK", help="ids, or text that only one subject has")


def _for_done(parser: ArgumentParser) -> None:
    _for_tasks(parser)
    parser.add_argument("--result", metavar="VALUE", help="what came of it: JSON, or else a text")
    _add_fence(parser)
    _add_call_id(parser)


def _for_reason(parser: ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="its id, or text of its subject in quotes")
    parser.add_argument("reason", nargs="*", metavar="REASON")
    _add_fence(parser)


def _for_cancel(parser: ArgumentParser) -> None:
    _for_reason(parser)
    parser.add_argument("--request", action="store_true", help="ask whoever works on it to give it up")


def _for_check(parser: ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="its id, or text of its subject in quotes")
    parser.add_argument("lines", nargs="*", metavar="LINE", help="lines by number, from 1, or text (default: all)")
    parser.add_argument("--undo", action="store_true", help="take the ticks away again")


def _for_block(parser: ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="who waits")
    parser.add_argument("blockers", nargs="+", metavar="BLOCKER", help="what it waits for")


def _for_unblock(parser: ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="who waits")
    parser.add_argument("blockers", nargs="*", metavar="BLOCKER", help="what it no longer waits for (default: all)")


def _for_claim(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="TASK", help="this one (default: the next that is ready)")
    parser.add_argument("--label", metavar="L", help="only a task with this label")
    add_limit(parser, None, "tasks (default: 1)")
    _add_claim(parser)
    _add_call_id(parser)


def _for_held(parser: ArgumentParser) -> None:
    _for_tasks(parser)
    _add_fence(parser)


def _for_wait(parser: ArgumentParser) -> None:
    _for_task(parser)
    parser.add_argument("--until", metavar="TIME", help="a time (2026-12-24T18:00), or how long: 90s, 10m, 2h, 3d")
    parser.add_argument("--topic", metavar="T", help="an event of this topic")
    parser.add_argument("--correlation", metavar="ID", help="and with this correlation id")
    _add_fence(parser)


def _for_signal(parser: ArgumentParser) -> None:
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("correlation", metavar="ID")
    parser.add_argument("payload", nargs="?", metavar="VALUE", help="what they are told: JSON, or else a text")
    keep = "if nobody waits for it yet, keep it for the first who does"
    parser.add_argument("--keep", action="store_true", help=keep)
    _add_call_id(parser)


def _for_graph(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="TASK", help="only what it waits for and what waits for it")
    parser.add_argument("--all", action="store_true", help="also what is completed or cancelled")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--mermaid", action="store_true", help="as a Mermaid diagram")
    form.add_argument("--dot", action="store_true", help="as a Graphviz diagram")


def _for_import(parser: ArgumentParser) -> None:
    path = "the file, or `-`; or a folder of Claude Code's, ~/.claude/tasks/LIST"
    parser.add_argument("path", metavar="FILE", help=path)
    parser.add_argument("--format", metavar="F", help=f"{FORMATS} (by default from the name)")
    order = "each task that is not begun yet waits for the one before it"
    parser.add_argument("--in-order", action="store_true", help=order)


def _for_export(parser: ArgumentParser) -> None:
    path = "the file (default: `-`, the screen); or ~/.claude/tasks"
    parser.add_argument("path", nargs="?", default="-", metavar="FILE", help=path)
    parser.add_argument("--format", metavar="F", help=f"{FORMATS} (by default from the name)")
    parser.add_argument("--force", action="store_true", help="also over a file that was not exported from here")


def _for_work(parser: ArgumentParser) -> None:
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--once", action="store_true", help="one task, then end (1 if none is ready, or it failed)")
    how.add_argument("--drain", action="store_true", help="end when nothing is ready (1 if any failed)")
    parser.add_argument("--label", metavar="L", help="only tasks with this label")
    _add_claim(parser)
    parser.add_argument("--grace", type=_seconds, default=10.0, metavar="SECONDS", help="to end in when told to (10)")
    given = "how it gets the task as JSON (stdin)"
    parser.add_argument("--input", choices=("stdin", "file", "none"), default="stdin", help=given)
    parser.add_argument("command", nargs="+", metavar="CMD", help="behind `--`: the command and its arguments")


def _add_claim(parser: ArgumentParser) -> None:
    parser.add_argument("--lease", type=_seconds, metavar="SECONDS", help="how long without a sign of life (900)")
    files = "files that are yours meanwhile, from where you stand"
    parser.add_argument("--reserve", action="append", default=[], metavar="FILES", help=files)


def _add_fence(parser: ArgumentParser) -> None:
    parser.add_argument("--fence", type=count, metavar="N", help="only if the task is still yours by this number")


def _add_call_id(parser: ArgumentParser) -> None:
    parser.add_argument("--call-id", metavar="ID", help="the same id again does nothing twice")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= 86_400:
        raise ArgumentTypeError(f"`{text}` is no number of seconds, up to a day")
    return seconds


class Verb(NamedTuple):
    """A verb: its function, the module of that, its line in the help, its options, and whether it changes tasks."""

    function: str
    help: str
    add_options: Callable[[ArgumentParser], None]
    writes: bool = True
    module: str = "task_commands"


VERBS: dict[str, Verb] = {
    "list": Verb("list_", "show the tasks that are open", _for_list, writes=False),
    "ready": Verb("ready", "show what can be begun now, the most urgent first", _for_ready, writes=False),
    "add": Verb("add", "add a task", _for_add),
    "edit": Verb("edit", "change what is said about a task", _for_edit),
    "show": Verb("show_task", "show all about a task", _for_task, writes=False),
    "start": Verb("start", "begin tasks yourself, without a lease", _for_held),
    "done": Verb("done", "mark tasks as completed", _for_done),
    "check": Verb("check", "tick lines of a task's checklist", _for_check),
    "fail": Verb("fail", "say that a task, or this attempt at it, failed", _for_reason),
    "retry": Verb("retry", "open tasks again that have ended", _for_tasks),
    "cancel": Verb("cancel", "give a task up", _for_cancel),
    "delete": Verb("delete", "take tasks off the list; their history stays", _for_tasks),
    "block": Verb("block", "make a task wait for others", _for_block),
    "unblock": Verb("unblock", "let a task no longer wait for others", _for_unblock),
    "claim": Verb("claim", "take the next task that is ready, under a lease", _for_claim),
    "release": Verb("release", "give tasks back, so that others may take them", _for_held),
    "wait": Verb("wait", "put a task aside until a time, an event or a person", _for_wait),
    "signal": Verb("signal", "deliver an event to the tasks that wait for it", _for_signal),
    "resume": Verb("resume", "let tasks go on, whatever they wait for", _for_tasks),
    "graph": Verb("graph", "show what waits for what", _for_graph, writes=False),
    "history": Verb("history", "show everything that happened to a task", _for_task, writes=False),
    "import": Verb("import_", "add the tasks of a file", _for_import, module="task_files"),
    "export": Verb("export", "write the tasks to a file", _for_export, writes=False, module="task_files"),
    "work": Verb("work", "claim tasks and run a command for each", _for_work, module="task_work"),
}
"""Every verb, in the order of the help."""

_FIRST = "list"
"""The verb of `punchlist tasks` alone."""


def parser() -> Parser:
    """Return the parser of all verbs, for the help and the docs."""
    about = "Durable tasks of this project: work that outlives a conversation. Without a verb: `list`."
    made = command_parser("tasks", about, examples=_EXAMPLES)
    add_verb = add_verbs(made, first=_FIRST)
    for name, verb in VERBS.items():
        _add_options(add_verb(name, verb.help, _run), name)
    return made


def parse(words: list[str]) -> Namespace:
    """Return the options of one verb. The parsers of the others are built only to explain an error."""
    words = with_verb(words, _FIRST)
    place = verb_place(words)
    name = words[place]
    if name not in VERBS:
        return parser().parse_args(words)
    made = Parser(prog=f"punchlist tasks {name}", description=sentence_of(VERBS[name].help))
    add_db(made)
    made.set_defaults(run=_run)
    _add_options(made, name)
    return made.parse_args([*words[:place], *words[place + 1 :]])


def _add_options(parser: ArgumentParser, name: str) -> None:
    verb = VERBS[name]
    parser.add_argument("--list", metavar="L", help="the list (default: $PUNCHLIST_TASK_LIST, else the project's)")
    add_json(parser, lines=verb.writes)
    if verb.writes:
        add_by(parser)
    verb.add_options(parser)
    parser.set_defaults(verb=name)


def _run(options: Namespace) -> int | None:
    verb = VERBS[options.verb]
    return getattr(import_module(f"punchlist.cli.{verb.module}"), verb.function)(options)

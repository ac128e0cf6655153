"""`punchlist tasks`: its verbs and their options. Only the parser of the verb that runs is built."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from punchlist.cli.arguments import Parser, add_db, add_json, add_limit, command_parser, count, verb_place, with_verb

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


def for_list(parser: ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="also what is completed or cancelled")
    parser.add_argument("--status", metavar="S", help="only tasks in this status")
    parser.add_argument("--owner", metavar="W", help="only tasks of this worker")
    parser.add_argument("--label", metavar="L", help="only tasks with this label")
    parser.add_argument("--parent", metavar="TASK", help="only what lies directly below this task")
    parser.add_argument("--after", metavar="ID", help="only tasks behind this id, to read on where a page ended")
    add_limit(parser, None, "tasks (default: 100; all of them with --json)")


def for_ready(parser: ArgumentParser) -> None:
    parser.add_argument("--label", metavar="L", help="only tasks with this label")
    add_limit(parser, None, "tasks (default: 20; all of them with --json)")


def for_add(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", metavar="SUBJECT")
    parser.add_argument("--blocked-by", action="append", default=[], metavar="TASK", help="a task to wait for")
    parser.add_argument("--blocks", action="append", default=[], metavar="TASK", help="a task that waits for this one")
    _add_words(parser)
    add_call_id(parser)


def for_edit(parser: ArgumentParser) -> None:
    for_task(parser)
    parser.add_argument("--subject", metavar="TEXT", help="what there is to do")
    _add_words(parser)


def _add_words(parser: ArgumentParser) -> None:
    parser.add_argument("--description", metavar="TEXT", help="what there is to know; `-` reads standard input")
    parser.add_argument("--parent", metavar="TASK", help="the task that this one is part of")
    parser.add_argument("--priority", type=count, metavar="P", help="0 comes first, 4 last (default: 2)")
    parser.add_argument("--label", action="append", default=[], metavar="L", help="a label; may be given again")
    parser.add_argument("--check", action="append", default=[], metavar="TEXT", help="a line of its checklist")
    parser.add_argument("--owner", metavar="W", help="the worker whom it is meant for")
    parser.add_argument("--attempts", type=count, metavar="N", help="try it up to N times before it counts as failed")


def for_task(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", metavar="TASK", help="its id, or text that only its subject has")


def for_tasks(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", metavar="TASK", help="ids, or text that only one subject has")


def for_done(parser: ArgumentParser) -> None:
    for_tasks(parser)
    parser.add_argument("--result", metavar="VALUE", help="what came of it: JSON, or else a text")
    add_fence(parser)
    add_call_id(parser)


def for_reason(parser: ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="its id, or text of its subject in quotes")
    parser.add_argument("reason", nargs="*", metavar="REASON")
    add_fence(parser)


def for_cancel(parser: ArgumentParser) -> None:
    for_reason(parser)
    parser.add_argument("--request", action="store_true", help="ask whoever works on it to give it up")


def for_check(parser: ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="its id, or text of its subject in quotes")
    parser.add_argument("lines", nargs="*", metavar="LINE", help="lines by number, from 1, or text (default: all)")
    parser.add_argument("--undo", action="store_true", help="take the ticks away again")


def for_block(parser: ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="who waits")
    parser.add_argument("blockers", nargs="+", metavar="BLOCKER", help="what it waits for")


def for_unblock(parser: ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="who waits")
    parser.add_argument("blockers", nargs="*", metavar="BLOCKER", help="what it no longer waits for (default: all)")


def for_claim(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="TASK", help="this one (default: the next that is ready)")
    parser.add_argument("--label", metavar="L", help="only a task with this label")
    add_limit(parser, None, "tasks (default: 1)")
    add_claim(parser)
    add_call_id(parser)


def for_held(parser: ArgumentParser) -> None:
    for_tasks(parser)
    add_fence(parser)


def for_wait(parser: ArgumentParser) -> None:
    for_task(parser)
    parser.add_argument("--until", metavar="TIME", help="a time (2026-12-24T18:00), or how long: 90s, 10m, 2h, 3d")
    parser.add_argument("--topic", metavar="T", help="an event of this topic")
    parser.add_argument("--correlation", metavar="ID", help="and with this correlation id")
    add_fence(parser)


def for_signal(parser: ArgumentParser) -> None:
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("correlation", metavar="ID")
    parser.add_argument("payload", nargs="?", metavar="VALUE", help="what they are told: JSON, or else a text")
    parser.add_argument(
        "--keep", action="store_true", help="if nobody waits for it yet, keep it for the first who does"
    )
    add_call_id(parser)


def for_graph(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="TASK", help="only what it waits for and what waits for it")
    parser.add_argument("--all", action="store_true", help="also what is completed or cancelled")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--mermaid", action="store_true", help="as a Mermaid diagram")
    form.add_argument("--dot", action="store_true", help="as a Graphviz diagram")


def for_import(parser: ArgumentParser) -> None:
    parser.add_argument(
        "path", metavar="FILE", help="the file, or `-`; or a folder of Claude Code's, ~/.claude/tasks/LIST"
    )
    parser.add_argument("--format", metavar="F", help=f"{FORMATS} (by default from the name)")
    parser.add_argument(
        "--in-order", action="store_true", help="each task that is not begun yet waits for the one before it"
    )


def for_export(parser: ArgumentParser) -> None:
    parser.add_argument(
        "path", nargs="?", default="-", metavar="FILE", help="the file (default: `-`, the screen); or ~/.claude/tasks"
    )
    parser.add_argument("--format", metavar="F", help=f"{FORMATS} (by default from the name)")
    parser.add_argument("--force", action="store_true", help="also over a file that was not exported from here")


def for_work(parser: ArgumentParser) -> None:
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--once", action="store_true", help="one task, then end (1 if none is ready, or it failed)")
    how.add_argument("--drain", action="store_true", help="end when nothing is ready (1 if any failed)")
    parser.add_argument("--label", metavar="L", help="only tasks with this label")
    add_claim(parser)
    parser.add_argument("--grace", type=_seconds, default=10.0, metavar="SECONDS", help="to end in when told to (10)")
    parser.add_argument(
        "--input", choices=("stdin", "file", "none"), default="stdin", help="how it gets the task as JSON (stdin)"
    )
    parser.add_argument("command", nargs="+", metavar="CMD", help="behind `--`: the command and its arguments")


def add_claim(parser: ArgumentParser) -> None:
    parser.add_argument("--lease", type=_seconds, metavar="SECONDS", help="how long without a sign of life (900)")
    parser.add_argument(
        "--reserve",
        action="append",
        default=[],
        metavar="FILES",
        help="files that are yours meanwhile, from where you stand",
    )


def add_fence(parser: ArgumentParser) -> None:
    parser.add_argument("--fence", type=count, metavar="N", help="only if the task is still yours by this number")


def add_call_id(parser: ArgumentParser) -> None:
    parser.add_argument("--call-id", metavar="ID", help="the same id again does nothing twice")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"`{text}` is no number of seconds, up to a day")
    return seconds


class Verb(NamedTuple):
    """Where a verb's function is, its line in the help, what it takes, and whether it changes anything."""

    module: str
    function: str
    help: str
    takes: Callable[[ArgumentParser], None]
    writes: bool = True


VERBS: dict[str, Verb] = {
    "list": Verb("task_commands", "list_", "show the tasks that are open", for_list, writes=False),
    "ready": Verb("task_commands", "ready", "show what can be begun now, the most urgent first", for_ready, False),
    "add": Verb("task_commands", "add", "add a task", for_add),
    "edit": Verb("task_commands", "edit", "change what is said about a task", for_edit),
    "show": Verb("task_commands", "show_task", "show all about a task", for_task, writes=False),
    "start": Verb("task_commands", "start", "begin tasks yourself, without a lease", for_held),
    "done": Verb("task_commands", "done", "mark tasks as completed", for_done),
    "check": Verb("task_commands", "check", "tick lines of a task's checklist", for_check),
    "fail": Verb("task_commands", "fail", "say that a task, or this attempt at it, failed", for_reason),
    "retry": Verb("task_commands", "retry", "open tasks again that have ended", for_tasks),
    "cancel": Verb("task_commands", "cancel", "give a task up", for_cancel),
    "delete": Verb("task_commands", "delete", "take tasks off the list; their history stays", for_tasks),
    "block": Verb("task_commands", "block", "make a task wait for others", for_block),
    "unblock": Verb("task_commands", "unblock", "let a task no longer wait for others", for_unblock),
    "claim": Verb("task_commands", "claim", "take the next task that is ready, under a lease", for_claim),
    "release": Verb("task_commands", "release", "give tasks back, so that others may take them", for_held),
    "wait": Verb("task_commands", "wait", "put a task aside until a time, an event or a person", for_wait),
    "signal": Verb("task_commands", "signal", "deliver an event to the tasks that wait for it", for_signal),
    "resume": Verb("task_commands", "resume", "let tasks go on, whatever they wait for", for_tasks),
    "graph": Verb("task_commands", "graph", "show what waits for what", for_graph, writes=False),
    "history": Verb("task_commands", "history", "show everything that happened to a task", for_task, writes=False),
    "import": Verb("task_files", "import_", "add the tasks of a file", for_import),
    "export": Verb("task_files", "export", "write the tasks to a file", for_export, writes=False),
    "work": Verb("task_work", "work", "claim tasks and run a command for each", for_work),
}
"""Every verb, in the order of the help."""

_FIRST = "list"
"""What `punchlist tasks` alone does."""


def parser() -> Parser:
    """The parser of all verbs, for the help and the docs."""
    said = "Durable tasks of this project: work that outlives a conversation. Without a verb: `list`."
    made = command_parser("tasks", said, examples=_EXAMPLES)
    verbs = made.add_subparsers(metavar="VERB", required=True, parser_class=Parser)
    for name, verb in VERBS.items():
        _fill(verbs.add_parser(name, help=verb.help, description=_sentence(verb)), name)
    return made


def parse(words: list[str]) -> Namespace:
    """The options of one verb. The parsers of the others are built only to explain what is wrong."""
    words = with_verb(words, _FIRST)
    place = verb_place(words)
    name = words[place]
    if name not in VERBS:
        return parser().parse_args(words)
    made = Parser(prog=f"punchlist tasks {name}", description=_sentence(VERBS[name]))
    _fill(made, name)
    return made.parse_args([*words[:place], *words[place + 1 :]])


def _sentence(verb: Verb) -> str:
    return f"{verb.help[0].upper()}{verb.help[1:]}."


def _fill(parser: ArgumentParser, name: str) -> None:
    verb = VERBS[name]
    add_db(parser)
    parser.add_argument("--list", metavar="L", help="the list (default: $PUNCHLIST_TASK_LIST, else the project's)")
    add_json(parser, lines=verb.writes)
    if verb.writes:
        parser.add_argument("--by", metavar="NAME", help="who does it (default: your login name)")
    verb.takes(parser)
    parser.set_defaults(verb=name, run=run)


def run(options: Namespace) -> int:
    verb = VERBS[options.verb]
    return getattr(import_module(f"punchlist.cli.{verb.module}"), verb.function)(options)

"""`punchlist tasks`: durable tasks, for people and scripts. Only the parser of the verb that runs is built."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from punchlist.cli import task_arguments as takes
from punchlist.cli.arguments import Parser, add_db, add_json, command_parser, verb_place, with_verb

_EXAMPLES = """\
  punchlist tasks add "Write the parser"
  punchlist tasks add "Test it" --blocked-by parser --label tests
  punchlist tasks ready                             what can be begun now
  punchlist tasks done parser --result '{"lines": 120}'
  punchlist tasks graph --mermaid > tasks.mmd
  punchlist tasks claim --json                      for a worker of your own
  punchlist tasks work --drain -- ./one-task.sh     or let a command do them, one by one
"""


class Verb(NamedTuple):
    """Where a verb's function is, its line in the help, what it takes, and whether it changes anything."""

    module: str
    function: str
    help: str
    takes: Callable[[ArgumentParser], None]
    writes: bool = True


VERBS: dict[str, Verb] = {
    "list": Verb("task_views", "list_", "show the tasks that are open", takes.for_list, writes=False),
    "ready": Verb("task_views", "ready", "show what can be begun now, the most urgent first", takes.for_ready, False),
    "add": Verb("task_changes", "add", "add a task", takes.for_add),
    "edit": Verb("task_changes", "edit", "change what is said about a task", takes.for_edit),
    "show": Verb("task_views", "show_task", "show all about a task", takes.for_task, writes=False),
    "start": Verb("task_changes", "start", "begin tasks yourself, without a lease", takes.for_held),
    "done": Verb("task_changes", "done", "mark tasks as completed", takes.for_done),
    "check": Verb("task_changes", "check", "tick lines of a task's checklist", takes.for_check),
    "fail": Verb("task_changes", "fail", "say that a task, or this attempt at it, failed", takes.for_reason),
    "retry": Verb("task_changes", "retry", "open tasks again that have ended", takes.for_tasks),
    "cancel": Verb("task_changes", "cancel", "give a task up", takes.for_cancel),
    "delete": Verb("task_changes", "delete", "take tasks off the list; their history stays", takes.for_tasks),
    "block": Verb("task_changes", "block", "make a task wait for others", takes.for_block),
    "unblock": Verb("task_changes", "unblock", "let a task no longer wait for others", takes.for_unblock),
    "claim": Verb("task_changes", "claim", "take the next task that is ready, under a lease", takes.for_claim),
    "release": Verb("task_changes", "release", "give tasks back, so that others may take them", takes.for_held),
    "wait": Verb("task_waits", "wait", "put a task aside until a time, an event or a person", takes.for_wait),
    "signal": Verb("task_waits", "signal", "deliver an event to the tasks that wait for it", takes.for_signal),
    "resume": Verb("task_waits", "resume", "let tasks go on, whatever they wait for", takes.for_tasks),
    "graph": Verb("task_views", "graph", "show what waits for what", takes.for_graph, writes=False),
    "history": Verb("task_views", "history", "show everything that happened to a task", takes.for_task, writes=False),
    "import": Verb("task_files", "import_", "add the tasks of a file", takes.for_import),
    "export": Verb("task_files", "export", "write the tasks to a file", takes.for_export, writes=False),
    "work": Verb("task_work", "work", "claim tasks and run a command for each", takes.for_work),
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
    parser.set_defaults(verb=name)


def run(options: Namespace) -> int:
    verb = VERBS[options.verb]
    return getattr(import_module(f"punchlist.cli.{verb.module}"), verb.function)(options)

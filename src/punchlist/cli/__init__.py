"""The command `punchlist`: its commands, one module per group, imported only when one of its commands runs."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from punchlist.cli.terminal import replace_unprintable
from punchlist.errors import ConfigInvalid, PunchlistError, StoreError, suggest
from punchlist.text import for_terminal

if TYPE_CHECKING:
    from argparse import ArgumentParser

OK, FAILED, UNUSABLE = 0, 1, 2
"""Exit codes: done; the thing asked for failed; wrong usage, or a board that cannot be used."""

_INTERRUPTED, _BROKEN_PIPE = 130, 141


class CommandEntry(NamedTuple):
    """A command: its module, and its line in the help. The module has a function `parser`, for others `NAME_parser`."""

    module: str
    help: str


GROUPS: dict[str, dict[str, CommandEntry]] = {
    "See": {
        "now": CommandEntry("now", "print every agent of this machine once: which waits on you, which are at work"),
        "top": CommandEntry("top", "show the same live in this terminal; answer, decide and change lists by keys"),
        "serve": CommandEntry("serve", "show the same live in a browser, with history; also an API for programs"),
        "brief": CommandEntry("report", "print what happened in this project since you last looked, in a few lines"),
        "report": CommandEntry(
            "report", "print every item of this project's sessions: time, work seen, grade, evidence"
        ),
        "todos": CommandEntry("todos", "print the lists of this project; `--follow` draws them again at each change"),
    },
    "Decide": {
        "answer": CommandEntry("answer", "list what waits on you, and resolve it"),
        "plan": CommandEntry("answer", "show the plan that an agent proposes; approve or reject it"),
        "todo": CommandEntry("todo", "change a list by hand: append, start, done, edit, undo, …"),
        "tasks": CommandEntry("tasks", "work that is shared and outlives a session: add, ready, claim, done, work, …"),
    },
    "Connect": {
        "attach": CommandEntry("attach", "connect an agent: its tool, hooks, commands and the rows under its prompt"),
        "detach": CommandEntry("attach", "disconnect an agent; every byte is as before"),
        "status": CommandEntry("attach", "show which agents are installed here, and which of them are attached"),
        "doctor": CommandEntry("doctor", "check that the board and this installation are sound"),
        "handoff": CommandEntry("sessions", "let another agent continue a session's list"),
        "notify": CommandEntry("watch", "tell you when an agent waits on you, finishes, stalls or turns red"),
    },
    "More": {
        "demo": CommandEntry("demo", "watch three scripted agents at work, live"),
        "watch": CommandEntry("watch", "read agents' own logs onto the board, attached or not; a line for each thing"),
        "events": CommandEntry("events", "print the log of the board, event by event; `--follow` goes on with it"),
        "stats": CommandEntry("stats", "show what Punchlist itself costs: bytes, tokens, calls, turns"),
        "sessions": CommandEntry("sessions", "list the sessions; copy or move one"),
        "config": CommandEntry(
            "config", "show the settings and where they come from; write one into the settings file"
        ),
        "trust": CommandEntry("attach", "let the checks that this project names verify work"),
    },
    "Plumbing": {
        "hook": CommandEntry("events", "take a hook event of an agent from standard input"),
        "statusline": CommandEntry("statusline", "print up to three rows for the status bar of an agent"),
        "mcp": CommandEntry("mcp", "serve the board to an agent over MCP, on standard input and output"),
        "completion": CommandEntry("completion", "print a script that completes commands in bash, zsh or fish"),
        "restore": CommandEntry("restore", "restore a list from an agent's transcript"),
        "copy": CommandEntry("copy", "copy a board into another one, between SQLite and PostgreSQL too"),
        "prune": CommandEntry("sessions", "delete sessions without a change for a while"),
        "token": CommandEntry("serve", "make, list and revoke tokens for the server"),
        "flows": CommandEntry("flows", "list, show, cancel and resume flows, in the words of nexo's taskflow"),
        "dialects": CommandEntry("dialects", "list the todo tools of other agents that Punchlist speaks"),
    },
}
"""Every command, as the help groups them; `Plumbing` is shown with `--help --all` only."""

COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}
OVER_HTTP = ("answer", "brief", "doctor", "events", "now", "plan", "report", "status", "tasks", "todo", "todos", "top")
"""The commands that also show and change the board of a server."""

COMPATIBILITY = ("flows", "dialects")  # for what other programs brought; they come last

_USAGE = "usage: punchlist [--db URL | --server URL] COMMAND …"
_END = """\
options:
  --db URL      the board: a path, `postgresql://…` or `memory:` (by default $PUNCHLIST_DB, else your own)
  --server URL  the server of a team's board, for the commands that can (by default $PUNCHLIST_SERVER)
  --version     print the version
  -h, --help    print this; `punchlist COMMAND --help` tells more about a command
  --help --all  print this with the plumbing: commands for hooks, shells and other programs

Start with `punchlist demo`, then `punchlist attach claude-code`, or `punchlist todo append "My first item"`.
"""


def program() -> int:
    """Run the program in a process of its own: so short a life is not worth collecting its garbage."""
    gc.set_threshold(100_000, 50, 50)
    try:
        return main()
    finally:
        gc.freeze()


def main(argv: list[str] | None = None) -> int:
    """Run a command and return its exit code. An error is one sentence with the next step, never a traceback."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    # Discard output to a stream that the shell closed before it started us (`>&-`).
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - it stays open to the end
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except SystemExit as leave:
        return leave.code if isinstance(leave.code, int) else OK if leave.code is None else UNUSABLE
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Our reader is gone; Python's own flush at exit must not complain about it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except Exception as error:
        return _report_error(error)
    return code


def _run(arguments: list[str]) -> int:
    replace_unprintable()
    leading: list[str] = []
    while arguments and arguments[0].startswith("-"):
        option = arguments.pop(0)
        name, given, value = option.partition("=")
        if name in ("-h", "--help"):
            return _show_help(arguments)
        if name == "--version":
            from punchlist import __version__

            print(f"punchlist {__version__}")
            return OK
        if name not in ("--db", "--server") or not (given or arguments):
            return complain(f"`{option}` is no option here, or lacks its value; see `punchlist --help`.")
        leading += [name, value if given else arguments.pop(0)]
    if not arguments or arguments[0] == "help":
        return _show_help(arguments)
    name = arguments.pop(0)
    if name not in COMMANDS:
        return complain(f"There is no command `{name}`{suggest(name, COMMANDS)}; see `punchlist --help`.")
    if name not in (*OVER_HTTP, "attach") and _names_server([*leading, *arguments]):
        return complain(f"`{name}` is for the machine of the board; run it there, without --server.")
    module = import_module(f"punchlist.cli.{COMMANDS[name].module}")
    # `tasks` has a `parse` that builds the parser of one verb: building those of all 24 takes 8 ms.
    parse = module.parse if hasattr(module, "parse") else load_parser(name).parse_args
    options = parse([*leading, *arguments])
    options.typed = [name, *arguments]
    return options.run(options) or OK


def _names_server(words: list[str]) -> bool:
    own = words[: words.index("--")] if "--" in words else words
    return any(word.partition("=")[0] == "--server" for word in own)


def load_parser(name: str) -> ArgumentParser:
    """Import a command's module and build its parser; the options that it parses have the function to `run`."""
    module = COMMANDS[name].module
    build = "parser" if name == module else f"{name}_parser"
    return getattr(import_module(f"punchlist.cli.{module}"), build)()


def _show_help(options: list[str]) -> int:
    parts = [_USAGE, "The todo and progress layer for AI agents."]
    for title, commands in GROUPS.items():
        if title != "Plumbing" or "--all" in options:
            rows = [f"  {name:<12}  {entry.help}" for name, entry in commands.items()]
            parts.append("\n".join([f"{title}:", *rows]))
    print("\n\n".join([*parts, _END]), end="")
    return OK


def complain(sentence: str, code: int = UNUSABLE) -> int:
    """Print a problem to stderr and return the exit code. The sentence is cleaned: it may quote a board or a file."""
    print(f"punchlist: {for_terminal(sentence, lines=True)}", file=sys.stderr)
    return code


def leave(*_: object) -> None:
    """Handle a signal: end with success, and close what is open on the way."""
    raise SystemExit(OK)


def _report_error(error: Exception) -> int:
    if isinstance(error, PunchlistError):
        return complain(str(error), UNUSABLE if isinstance(error, StoreError | ConfigInvalid) else FAILED)
    if isinstance(error, OSError):
        where = f" (`{error.filename}`)" if error.filename else ""
        return complain(f"{error.strerror or error}{where}; check the path and try again.", FAILED)
    if sys.flags.dev_mode:
        raise error
    kind = type(error).__name__
    return complain(f"This is a fault of Punchlist ({kind}: {error}); `python -X dev -m punchlist …` shows where.")

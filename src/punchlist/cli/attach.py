"""`punchlist attach`, `detach`, `status` and `trust`: connect agents with the board, and a project's checks."""

from __future__ import annotations

import os
import sys
from argparse import BooleanOptionalAction, Namespace
from typing import Any

from punchlist.attach.attachments import (
    ChangePlan,
    find_status_line,
    make_board_folder,
    plan_attach,
    plan_detach,
    remove_board_folder,
)
from punchlist.attach.file_changes import show_change
from punchlist.attach.plugin import NAME, find_launch, server_entry
from punchlist.attach.status import HostStatus, find_status, list_second_servers
from punchlist.cli import FAILED, OK, UNUSABLE, complain
from punchlist.cli.arguments import Parser, board_url, check_person, command_parser
from punchlist.cli.terminal import ask, is_typed, shorten_home, show_json
from punchlist.core.programs import ATTACHABLE, AgentProgram
from punchlist.errors import SettingsFileInvalid
from punchlist.logs.programs import find_attachable, find_settings, is_found
from punchlist.settings.environment import find_project
from punchlist.settings.project_checks import FILE_NAME, load_project_checks, trust_checks
from punchlist.store import store_path
from punchlist.terminal.spans import plural, safe_line
from punchlist.text import for_terminal

_ATTACH_EXAMPLES = """\
  punchlist attach claude-code              show what is written, ask, write it
  punchlist attach claude-code --yes --statusline
  punchlist attach mcp --print              an MCP server for any other program
"""

_STATES = {
    "trusted": "trusted",
    "changed": "changed since you trusted them, so they are probes; `punchlist trust` shows and trusts them",
    "new": "not trusted, so they are probes; `punchlist trust` shows and trusts them",
}


def parser() -> Parser:
    about = (
        "Connects an agent with the board: our todo tool, hooks that record what really happened, commands, and rows "
        "under the prompt. Shows what it will write and asks. Run it again after an upgrade."
    )
    made = command_parser("attach", about, run=_attach, examples=_ATTACH_EXAMPLES)
    made.add_argument("agent", metavar="AGENT", help=f"{', '.join(ATTACHABLE)}, or mcp for any other program")
    made.add_argument("--yes", action="store_true", help="do not ask")
    made.add_argument("--show", action="store_true", help="show the content of the files, too")
    rows = "the rows under Claude Code's prompt: a key in its settings; your own status line is run first"
    made.add_argument("--statusline", action=BooleanOptionalAction, help=rows)
    made.add_argument(
        "--force", action="store_true", help="also if the agent is not found, or Punchlist is not installed for good"
    )
    made.add_argument("--print", action="store_true", help="with mcp: print the server's configuration")
    return made


def detach_parser() -> Parser:
    about = "Disconnects an agent: removes what `attach` wrote, and nothing else. The board stays as it is."
    made = command_parser("detach", about, run=_detach)
    made.add_argument("agent", metavar="AGENT", help=", ".join(ATTACHABLE))
    made.add_argument("--yes", action="store_true", help="do not ask")
    made.add_argument("--show", action="store_true", help="show what changes in the files, too")
    return made


def status_parser() -> Parser:
    about = (
        "Shows each agent that can be attached: its version, whether it is attached and up to date, what is missing; "
        "and whether the checks that this project names count."
    )
    made = command_parser("status", about, run=_show_status)
    made.add_json()
    return made


def trust_parser() -> Parser:
    about = (
        f"Shows `{FILE_NAME}` in this project's root and asks whether its `checks` may verify work: exit code 0 after "
        "the last change. Only a person can say so, in a terminal. It holds for this repository and this content. "
        "Punchlist never runs a check itself."
    )
    return command_parser("trust", about, run=_trust)


def _attach(options: Namespace) -> int:
    board = store_path(board_url(options))
    if not board:
        return complain("A board in memory ends with its program; name a file with --db or $PUNCHLIST_DB.")
    if options.agent == "mcp":
        if not options.print:
            return complain(
                "`attach mcp` changes no file; add --print to see what to put into your program's settings."
            )
        show_json({"mcpServers": {NAME: server_entry(find_launch(board), "mcp")}})
        return OK
    host = find_attachable(options.agent)
    if not is_found(host) and not options.force:
        problem = (
            f"{host.title} was not found: `{host.command}` is not on PATH and `{find_settings(host)}` does not exist."
        )
        return complain(f"{problem} Install it (`npm install -g {host.package}`), or attach with --force.", FAILED)
    if ".cache" in sys.executable.split(os.sep) and not options.force:  # as `uvx` and `pipx run` do it
        problem = f"This Punchlist runs from a temporary place (`{sys.executable}`), which agents would not find again."
        return complain(f"{problem} Install it (`pipx install`, `uv tool install`), or attach with --force.", FAILED)
    if options.statusline is not None and host.name != "claude-code":
        return complain(f"{host.title} has no status line of this kind; leave --statusline out.", UNUSABLE)
    wanted = options.statusline
    if wanted is None and not options.yes and host.name == "claude-code" and find_status_line(host) != "ours":
        wanted = ask("Show the list under the prompt, as Claude Code's status line?", default=True)
    plan = plan_attach(host, board, status_line=wanted)
    if not plan.changes:
        make_board_folder(board)
        print(f"{host.title} is attached to {shorten_home(board)} and up to date; nothing to write.")
        return OK
    print(f"{host.title} is to be attached to {shorten_home(board)}:")
    if not os.path.isdir(folder := os.path.dirname(board)):
        print(f"  create  {shorten_home(folder)}/")
    if not _confirm(plan, options, "Write this?"):
        return FAILED
    make_board_folder(board)
    if host.name == "claude-code":
        for sentence in list_second_servers(host):
            print(sentence)
    print(f"{host.title} is attached. Restart `{host.command}`{f': {host.restart}' if host.restart else ''}.")
    return OK


def _detach(options: Namespace) -> int:
    host = find_attachable(options.agent)
    plan = plan_detach(host)
    if not plan.changes:
        plan.apply()  # folders that an attach was making when it was killed
        print(f"{host.title} is not attached; nothing to remove.")
        return OK
    print(f"{host.title} is to be detached:")
    if not _confirm(plan, options, "Do this?"):
        return FAILED
    remove_board_folder()
    print(f"{host.title} is detached. Sessions that run now keep the tool until they end.")
    return OK


def _confirm(plan: ChangePlan, options: Namespace, question: str) -> bool:
    """Show the changes, ask unless told not to, and make them; False if the answer was no."""
    for change in plan.changes:
        print(f"  {change.verb}  {shorten_home(change.path)}")
    if options.show:
        for change in plan.changes:
            print()
            for line in show_change(change):
                print(for_terminal(line))
    if not options.yes and not is_typed():
        complain("Nothing was changed: there is no terminal to ask on; add --yes.", FAILED)
        return False
    if not options.yes and not ask(question):
        print("Nothing was changed.")
        return False
    plan.apply()
    return True


def _show_status(options: Namespace) -> None:
    found = [find_status(host) for host in ATTACHABLE.values()]
    if options.json:
        show_json({"agents": found, **_view_project_checks(find_project().folder)})
        return
    for status in found:
        print(_describe(status, ATTACHABLE[status.name]))
        for line in status.missing:
            print(f"  - {safe_line(line)}")
    for line in _describe_project_checks(find_project().folder):
        print(line)


def _describe(status: HostStatus, host: AgentProgram) -> str:
    if not status.found and not status.attached:
        return f"{host.title}: not on this machine"
    version = f" {status.version}" if status.version else ""
    if not status.attached:
        return f"{host.title}{version}: not attached; `punchlist attach {host.name}` connects it"
    state = "attached" if status.up_to_date else "attached, not up to date"
    rows = ", rows under the prompt" if status.status_line == "ours" else ""
    return f"{host.title}{version}: {state}{rows}; board {shorten_home(status.board or '')}"


# Checks that a project names.


def _trust(_options: Namespace) -> int:
    project = find_project().folder
    found = load_project_checks(project)
    if found is None:
        where = shorten_home(os.path.join(project, FILE_NAME))
        return complain(f'There is no {where}; write `checks = ["npm run build"]` into it first.', FAILED)
    print(f"{shorten_home(found.file)} names {plural(len(found.checks), 'check')}:")
    for command in found.checks:
        print(f"  {safe_line(command)}")
    if found.trust == "trusted":
        print("They are trusted already.")
        return OK
    check_person("Nothing was trusted")
    if not ask("May an exit code of 0 of these verify work in this repository?"):
        print("Nothing was trusted.")
        return FAILED
    trust_checks(project, found)
    print(f"{plural(len(found.checks), 'check')} trusted, until the file changes.")
    return OK


def _view_project_checks(project: str) -> dict[str, Any]:
    """Return the checks that a project names for `--json`: `checks` is None where it names none."""
    try:
        found = load_project_checks(project)
    except SettingsFileInvalid as error:
        return {"checks": {"problem": str(error)}}
    return {"checks": None if found is None else {"file": found.file, "commands": found.checks, "trust": found.trust}}


def _describe_project_checks(project: str) -> list[str]:
    """Say whether the checks that a project names count; nothing where it names none."""
    found = _view_project_checks(project)["checks"]
    if found is None:
        return []
    if "problem" in found:
        return [safe_line(found["problem"])]
    return [f"{plural(len(found['commands']), 'check')} in {shorten_home(found['file'])}: {_STATES[found['trust']]}"]

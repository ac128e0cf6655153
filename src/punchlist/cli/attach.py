"""`punchlist attach`, `detach`, `status` and `trust`: connect agents with the board, and a project's checks."""

from __future__ import annotations

import os
import sys
import time
from argparse import BooleanOptionalAction, Namespace
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, get_args

from msgspec import Struct

from punchlist.attach.attachments import (
    ChangePlan,
    find_status_line,
    list_attached,
    make_board_folder,
    plan_attach,
    plan_detach,
    remove_board_folder,
)
from punchlist.attach.file_changes import show_change
from punchlist.attach.plugin import NAME, find_launch, server_entry
from punchlist.attach.status import HostStatus, find_status, list_second_servers
from punchlist.attach.team import (
    TeamStatus,
    choose_projects,
    describe_delivery,
    find_team_status,
    join_team,
    leave_team,
    plan_team,
)
from punchlist.cli import FAILED, OK, UNUSABLE, complain
from punchlist.cli.arguments import Parser, board_url, check_person, command_parser, find_server, open_reader
from punchlist.cli.terminal import ask, is_typed, shorten_home, show_json
from punchlist.core.programs import ATTACHABLE, AgentProgram, doubt_person
from punchlist.errors import (
    AttachRefused,
    PersonDoubted,
    PunchlistError,
    ServerUnreachable,
    SettingsFileInvalid,
)
from punchlist.logs.programs import find_attachable, find_settings, is_found
from punchlist.settings.environment import find_project
from punchlist.settings.project_checks import FILE_NAME, load_project_checks, trust_checks
from punchlist.settings.servers import check_server, read_token
from punchlist.settings.table import Share, Steer, TeamSettings, load_settings
from punchlist.store import side_path
from punchlist.terminal.spans import safe_line
from punchlist.text import for_terminal, plural

_ATTACH_EXAMPLES = """\
  punchlist attach claude-code              show what is written, ask, write it
  punchlist attach claude-code --yes --statusline
  punchlist attach mcp --print              an MCP server for any other program
  punchlist attach claude-code --server https://board.example.org
                                            its sessions in this project go to your team's board
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
    text = "report to a team's server; asks for the token, or takes $PUNCHLIST_TOKEN or a line of standard input"
    made.add_argument("--server", metavar="URL", help=text)
    text = "with --server: a project that reports to it, by the address of its repository (default: this one)"
    made.add_argument("--project", action="append", metavar="URL", help=text)
    text = "with --server: send a line of each tool call (`lines`), or none (`grades`)"
    made.add_argument("--share", choices=get_args(Share), help=text)
    text = "with --server: whose words begin a turn of an idle agent: those of the token's `owner`, or of the `team`"
    made.add_argument("--steer", choices=get_args(Steer), help=text)
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
    board = side_path(board_url(options))
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
    if not options.server:
        if options.project or options.share or options.steer:
            return complain("--project, --share and --steer say what goes to a --server; name it.", UNUSABLE)
        return _write_attachment(options, host, board)
    server, projects = check_server(options.server), choose_projects(options.project)
    doubt = doubt_person(os.environ, is_terminal=options.yes or is_typed())
    if doubt is not None:
        raise PersonDoubted(deed="Nothing was shared", doubt=doubt, where="a terminal of your own")
    team = plan_team(server, projects, share=options.share, steer=options.steer)
    for line in _describe_sharing(team):
        print(line)
    if not options.yes and not ask("Send this from now on?"):
        print("Nothing was changed.")
        return FAILED
    token = os.environ.get("PUNCHLIST_TOKEN") or _ask_token(server)
    if not token:
        return complain("Nothing was changed: the server's token is missing; `punchlist token create` makes one there.")
    known = _ask_server(server, token.strip(), projects, team.steer)
    code = _write_attachment(options, host, board)
    if code == OK:
        join_team(team, token.strip())
        print(known)
        count = plural(len(team.projects), "project")
        print(f"Sessions in {count} go to {server}; `punchlist status` says how that stands.")
    return code


def _describe_sharing(team: TeamSettings) -> Iterator[str]:
    """Say what leaves this machine, and what comes back."""
    yield f"Sessions in these projects go to {safe_line(team.server)}, and nothing else does:"
    yield from (f"  {safe_line(one)}" for one in team.projects)
    lines = ", each with a line of at most 160 characters" if team.share == "lines" else ", without their lines"
    yield f"What is sent: lists, plans, questions and the first words of prompts; tool calls{lines}. Secrets are masked"
    yield "before that; whole outputs and contents of files are never sent."
    who = "the owner of its token" if team.steer == "owner" else "everyone there"
    yield f"What comes back: answers, edits and decisions made there. Words of {who} begin a turn of an idle agent."


class _KnownMachine(Struct):
    """A machine as its server knows it by the token: the reply to a heartbeat."""

    name: str
    owner: str
    projects: list[str]


def _ask_server(server: str, token: str, projects: Sequence[str], steer: str) -> str:
    """Return as whom the server knows this machine; raise what it refuses. One that is away may come back later."""
    from punchlist.remote.connection import Connection

    connection = Connection(server, token)
    try:
        body = {"at": time.time(), "steer": steer}
        known = connection.request("POST", "/machine/heartbeat", body=body, kind=_KnownMachine)
    except ServerUnreachable as error:
        return f"{error} What waits goes there once it answers."
    finally:
        connection.close()
    missing = [one for one in projects if one not in known.projects and "*" not in known.projects]
    if missing:
        problem = f"The token of {known.name} was not made for {', '.join(missing)}"
        words = " ".join(f"--project https://{one}" for one in [*known.projects, *missing])
        raise AttachRefused(problem=f"{problem}; on the server: `punchlist token renew {known.name} {words}`.")
    return f"The server knows this machine as {safe_line(known.name)}, of {safe_line(known.owner)}."


def _ask_token(server: str) -> str:
    """Return the token that a person types unseen, or the line of a pipe; else the one that is kept already."""
    import getpass

    if is_typed():
        given = getpass.getpass(f"Token for {safe_line(server)}: ")
    else:
        given = sys.stdin.readline(1_000)
    if not given.strip():
        with suppress(PunchlistError):
            return read_token(server)
    return given


def _write_attachment(options: Namespace, host: AgentProgram, board: str) -> int:
    wanted = options.statusline
    if wanted is None and not options.yes and host.name == "claude-code" and find_status_line(host) != "ours":
        wanted = ask("Show the list under the prompt, as Claude Code's status line?", default=True)
    plan = plan_attach(host, board, status_line=wanted)
    for sentence in list_second_servers(host) if host.name == "claude-code" else ():
        print(sentence)
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
    if not list_attached() and (server := leave_team()) is not None:
        print(f"Nothing goes to {safe_line(server)} any more, and its token is deleted here.")
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
    server = find_server(options)
    checks = []
    if server:
        from punchlist.cli.doctor import check_server  # most have no server

        checks = list(check_server(server))
    found = [find_status(host) for host in ATTACHABLE.values()]
    team = _find_team_status(options)
    if options.json:
        about = {"server": checks} if checks else {}
        show_json({**about, "agents": found, "team": team, **_view_project_checks(find_project().folder)})
        return
    for check in checks:
        print(f"Server: {safe_line(check.text)}")
    for status in found:
        print(_describe(status, ATTACHABLE[status.name]))
        for line in status.missing:
            print(f"  - {safe_line(line)}")
    for line in _describe_project_checks(find_project().folder):
        print(line)
    for line in () if team is None else _describe_team(team):
        print(line)


def _find_team_status(options: Namespace) -> TeamStatus | None:
    if not load_settings().team.server or not os.path.exists(side_path(board_url(options))):
        return find_team_status(None)
    with open_reader(options) as board:
        return find_team_status(board)


def _describe_team(team: TeamStatus) -> Iterator[str]:
    here = "" if team.is_here else "; this folder is none of them"
    projects = ", ".join(map(safe_line, team.projects)) or "none"
    yield f"Team board {safe_line(team.server)}: gets the sessions in {projects}{here}"
    how = "with a line of each call" if team.share == "lines" else "without lines of calls"
    who = "the token's owner" if team.steer == "owner" else "the team"
    yield f"  - sent: lists, plans, prompts' first words and calls, {how}; words of {who} wake idle agents"
    yield f"  - {describe_delivery(team)}"


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

"""The files that attach an agent: our tool server, hooks, commands and monitor, in each agent's own form."""

from __future__ import annotations

import json
import os
import shlex
import site
import sys
from typing import Any

from msgspec import Struct

import punchlist
from punchlist import __version__

NAME = "punchlist"
_ABOUT = "Todo lists, plans and progress of this agent on your Punchlist board"

_SCHEMA = "https://agent-plugins.org/schemas/1.0.0/{}.schema.json"

CLAUDE_EVENTS: dict[str, int] = {
    "SessionStart": 10,
    "UserPromptSubmit": 10,
    "PreToolUse": 10,
    "PostToolUse": 10,
    "PostToolUseFailure": 5,
    "Stop": 10,
    "SubagentStart": 5,
    "SubagentStop": 10,
    "PreCompact": 5,
    "SessionEnd": 5,
    "TaskCreated": 15,
    "TaskCompleted": 15,
}
"""Claude Code's events that our hook hears, each with the seconds after which the host gives up on it.

The hook's own limits are shorter; a gate of the board may take 10 s.
"""

CODEX_EVENTS: dict[str, int] = {
    "SessionStart": 10,
    "UserPromptSubmit": 10,
    "PreToolUse": 5,
    "PostToolUse": 10,
    "Stop": 10,
    "SubagentStart": 5,
    "SubagentStop": 10,
    "PreCompact": 5,
    "SessionEnd": 3,
}

_README = """\
# Punchlist

This folder connects Claude Code with your Punchlist board: a `todo` and a `task` tool for the model, hooks that record
what really happened, and the commands `/punchlist:todos` and `/punchlist:todo`. `punchlist attach claude-code` wrote
it, and writes it again after an upgrade; `punchlist detach claude-code` removes it and leaves every other file as it
was. Do not edit it: changes are lost with the next upgrade.

To remove it by hand, without Punchlist:

1. Delete this folder.
2. If `statusLine` in `../../settings.json` names `punchlist_statusline.py`, delete that entry, or put your own command
   back, which is the text after `--before`.
"""

_GEMINI_README = """\
# Punchlist

`punchlist attach gemini` wrote this folder. To remove it by hand, without Punchlist:

1. Delete this folder.
2. Restart Gemini CLI.
"""

_TODOS = """\
---
description: Show the todo list of this session
disable-model-invocation: true
allowed-tools: Bash({prefix} todos:*)
---
!`{prefix} todos --session ${{CLAUDE_SESSION_ID}}`

The list above is what the board holds for this session. Show it to me as it stands, in a code block, and add nothing.
"""

_TODO = """\
---
description: Change the todo list of this session by hand, as in `append Write the docs` or `done 2`
argument-hint: append TEXT | start N | done N | drop N | undo
disable-model-invocation: true
allowed-tools: Bash({prefix} todo:*)
---
!`{prefix} todo $ARGUMENTS --session ${{CLAUDE_SESSION_ID}}`

I changed the list of this session by hand, as shown above. Take it into account; answer with one short line.
"""


_OPENCODE = """\
// Connects opencode with your Punchlist board; `punchlist detach opencode` removes this file.
{settings}
"""


class Launch(Struct, frozen=True):
    """How an agent starts our programs. Paths are absolute: neither PATH nor the project's folder has a say."""

    python: str
    folder: str
    """Where the package and the two files beside it are installed."""
    board: str

    def program(self, *arguments: str) -> list[str]:
        """Return the words that run `punchlist` without the working directory or the environment on its path."""
        is_user_site = self.folder == site.getusersitepackages()
        return [self.python, "-P" if is_user_site else "-I", "-m", NAME, *arguments]

    @property
    def needed(self) -> list[str]:
        """The files without which an attachment is dead."""
        return [self.python, os.path.join(self.folder, "punchlist_hook.py")]

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the tool server. Unlike `--db`, the variable may name a board that is not there yet."""
        return {"PUNCHLIST_DB": self.board}

    def server(self, host: str) -> list[str]:
        return self.program("mcp", "--host", host)

    def hook(self, *arguments: str) -> str:
        """Return the shell command of a hook."""
        return self._slim("punchlist_hook.py", *arguments, "--board", self.board)

    def monitor(self, host: str) -> str:
        """Return the shell command of a monitor. It must not end, even after an uninstall: its end wakes the model."""
        return f"{self.hook('monitor', host)}; exec tail -f /dev/null"

    def status_line(self, theirs: str | None, every: float | None = None) -> str:
        """Return the shell command of the status line: the person's own first, if they have one, then our rows.

        `every` is the person's own interval in seconds.
        """
        words = ["--board", self.board]
        if not theirs:
            return self._slim("punchlist_statusline.py", *words)
        words += ["--before", theirs]
        if every is not None:
            words += ["--every", f"{every:g}"]
        # The shell gets to the second line only if our file or its Python is gone.
        return f"{self._slim('punchlist_statusline.py', *words)}\n{theirs}"

    def _slim(self, file: str, *arguments: str) -> str:
        """Return a shell command that runs one of our two slim files, and does nothing once it or its Python is gone.

        Python ends with 2 if it does not find its file, and with 2 a hook blocks its agent; a shell that does not find
        Python complains. `exec`: our parent is then the agent, not a shell.
        """
        path = os.path.join(self.folder, file)
        guard = f"[ ! -x {shlex.quote(self.python)} ] || [ ! -e {shlex.quote(path)} ]"
        return f"{guard} || exec {shlex.join([self.python, '-I', '-S', path, *arguments])}"


def find_launch(board: str) -> Launch:
    """Return how agents start the installation that runs now."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(punchlist.__file__)))
    return Launch(os.path.abspath(sys.executable), folder, board)


def server_entry(launch: Launch, host: str) -> dict[str, Any]:
    """Return an MCP server as most hosts configure it: a command, its arguments and variables."""
    command, *arguments = launch.server(host)
    return {"command": command, "args": arguments, "env": launch.environment}


def claude_files(launch: Launch) -> dict[str, bytes]:
    """Return the plugin folder for Claude Code, by relative path.

    `plugin.json` and `mcp.json` are the portable layout (Agent Plugins 1.0); `.claude-plugin`, `.mcp.json`, `hooks`
    and `commands` are what Claude Code reads.
    """
    manifest: dict[str, Any] = {
        "name": NAME,
        "version": __version__,
        "description": _ABOUT,
        "author": {"name": "The Punchlist authors"},
        "license": "MIT",
    }
    about = "Brings what a person answered or changed on the board"
    monitor = {"name": "board", "command": launch.monitor("claude-code"), "description": about}
    own = {**manifest, "experimental": {"monitors": [monitor]}}
    servers = {"mcpServers": {NAME: server_entry(launch, "claude-code")}}
    # This format allows no absolute path as a command.
    portable = {"type": "stdio", "command": "sh", "args": ["-c", f"exec {shlex.join(launch.server('agent-plugin'))}"]}
    prefix = shlex.join(launch.program("--db", launch.board))
    return {
        ".claude-plugin/plugin.json": _json(own),
        ".mcp.json": _json(servers),
        "README.md": _README.encode(),
        "commands/todo.md": _TODO.format(prefix=prefix).encode(),
        "commands/todos.md": _TODOS.format(prefix=prefix).encode(),
        "hooks/hooks.json": _json({"description": _ABOUT, "hooks": hook_groups(launch, "claude-code", CLAUDE_EVENTS)}),
        "mcp.json": _json(
            {"$schema": _SCHEMA.format("mcp"), "mcpServers": {NAME: portable | {"env": launch.environment}}}
        ),
        "plugin.json": _json({"$schema": _SCHEMA.format("plugin"), **manifest}),
    }


def gemini_files(launch: Launch) -> dict[str, bytes]:
    """Return the extension folder for Gemini CLI, by relative path."""
    extension = {
        "name": NAME,
        "version": __version__,
        "description": _ABOUT,
        "mcpServers": {NAME: {**server_entry(launch, "gemini"), "trust": True}},
    }
    prompt = 'Call the tool `todo` with {"view": true}, and show me the list as it stands.'
    command = f"description = 'Show the todo list of this session'\nprompt = '{prompt}'\n"
    return {
        "gemini-extension.json": _json(extension),
        "README.md": _GEMINI_README.encode(),
        "commands/punchlist/todos.toml": command.encode(),
    }


def opencode_file(launch: Launch) -> bytes:
    """Return a configuration file for opencode that names our tool server; opencode merges it with the person's own.

    A plugin could do so too, but opencode then waits for its package manager at every start, for minutes if offline.
    """
    server = {"type": "local", "command": launch.server("opencode"), "environment": launch.environment}
    settings = json.dumps({"mcp": {NAME: server}}, indent=2, ensure_ascii=False)
    return _OPENCODE.format(settings=settings).encode()


def hook_groups(launch: Launch, host: str, events: dict[str, int]) -> dict[str, Any]:
    """Return the hooks in the form that Claude Code, Codex and Gemini share."""
    command = launch.hook(host)
    return {
        event: [{"hooks": [{"type": "command", "command": command, "timeout": seconds}]}]
        for event, seconds in events.items()
    }


def _json(value: Any) -> bytes:
    return f"{json.dumps(value, indent=2, ensure_ascii=False)}\n".encode()

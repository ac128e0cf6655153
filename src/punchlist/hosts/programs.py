"""The agents that can be attached: their programs, versions and homes on this machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from typing import Any

from msgspec import Struct

from punchlist.errors import UnknownName

_VERSION_SECONDS = 10


class Host(Struct, frozen=True):
    """An agent that can be attached."""

    name: str
    title: str
    program: str
    variable: str
    """The variable of its own that moves its home."""
    home: str
    """Its home in the user's; a variable names the whole path in place of it."""
    install: str


HOSTS: dict[str, Host] = {
    host.name: host
    for host in (
        Host("claude-code", "Claude Code", "claude", "CLAUDE_CONFIG_DIR", ".claude", "@anthropic-ai/claude-code"),
        Host("codex", "Codex", "codex", "CODEX_HOME", ".codex", "@openai/codex"),
        Host("gemini", "Gemini CLI", "gemini", "", ".gemini", "@google/gemini-cli"),
        Host("opencode", "opencode", "opencode", "", ".config/opencode", "opencode-ai"),
    )
}


def find_host(name: str) -> Host:
    """Return a host by its name; raise `UnknownName` for another."""
    if name not in HOSTS:
        raise UnknownName(what="agent", name=name, known=", ".join(HOSTS))
    return HOSTS[name]


def find_home(host: Host) -> str:
    """Return the folder in which an agent keeps its settings."""
    named = os.environ.get(host.variable) if host.variable else None
    if named:
        return os.path.abspath(named)
    config = os.environ.get("XDG_CONFIG_HOME")
    if host.name == "opencode" and config:
        return os.path.join(os.path.abspath(config), "opencode")
    return os.path.join(os.path.expanduser("~"), host.home)


def find_root(host: Host) -> str:
    """Return the folder that no link may lead us out of: the user's home, or the one that the environment names."""
    home, user = find_home(host), os.path.expanduser("~")
    return user if home == os.path.join(user, host.home) else home


def find_program(host: Host) -> str | None:
    return shutil.which(host.program)


def is_found(host: Host) -> bool:
    """True if the agent's program is on PATH, or it was used here: its home exists."""
    return find_program(host) is not None or os.path.isdir(find_home(host))


def find_version(host: Host) -> str | None:
    """Return an agent's version: as its npm package says, else as the program prints it; None if neither tells."""
    program = find_program(host)
    if program is None:
        return None
    packaged = _read_package_version(os.path.realpath(program), host.install)
    if packaged or host.name in ("gemini", "opencode"):  # these two write to their homes when they start
        return packaged
    try:
        done = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\d+\.\d+\.\d+[\w.-]*", done.stdout)
    return found[0] if found else None


def _read_package_version(program: str, package: str) -> str | None:
    """Return the version in the `package.json` of the npm package that a program belongs to."""
    folder = os.path.dirname(program)
    for _ in range(4):
        try:
            with open(os.path.join(folder, "package.json"), encoding="utf-8") as file:
                found: Any = json.load(file)
            if isinstance(found, dict) and found.get("name") == package:  # pyright: ignore[reportUnknownMemberType]
                return str(found.get("version"))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        except (OSError, ValueError):
            pass
        folder = os.path.dirname(folder)
    return None


def parse_version(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])

"""Find agent programs on this machine: their folders, executables and versions."""

import json
import os
import re
from typing import Any

from punchlist.core.programs import ATTACHABLE, PROGRAMS, AgentProgram, HomeFolder
from punchlist.errors import UnknownName, suggest

_VERSION_SECONDS = 10


def find_attachable(name: str) -> AgentProgram:
    """Return a program that can be attached, by its name; raise `UnknownName` for another."""
    if name not in ATTACHABLE:
        raise UnknownName(what="agent", name=name, known=f"{', '.join(ATTACHABLE)}{suggest(name, ATTACHABLE)}")
    return ATTACHABLE[name]


def find_home(name: str, *parts: str) -> str:
    """Return the home of a program, or the path of a file or a folder in it."""
    return os.path.join(_find_folder(PROGRAMS[name].home), *parts)


def find_logs(name: str) -> str:
    """Return the folder in which a program keeps its logs."""
    return find_home(name, PROGRAMS[name].logs)


def find_settings(program: AgentProgram) -> str:
    """Return the folder in which a program keeps its settings."""
    return _find_folder(program.settings or program.home)


def find_root(program: AgentProgram) -> str:
    """Return the folder that no link may lead us out of: the user's home, or the one that the environment names."""
    folder = program.settings or program.home
    found, user = find_settings(program), os.path.expanduser("~")
    return user if found == os.path.abspath(os.path.join(user, folder.default, folder.inner)) else found


def _find_folder(folder: HomeFolder) -> str:
    named = os.environ.get(folder.variable) or os.path.join("~", folder.default)
    return os.path.abspath(os.path.join(os.path.expanduser(named), folder.inner))


def find_program(program: AgentProgram) -> str | None:
    import shutil  # the status line asks for folders alone, and starts without it

    return shutil.which(program.command)


def is_found(program: AgentProgram) -> bool:
    """True if the agent's program is on PATH, or it was used here: its home exists."""
    return find_program(program) is not None or os.path.isdir(find_settings(program))


def find_version(program: AgentProgram) -> str | None:
    """Return an agent's version: as its npm package says, else as the program prints it; None if neither tells."""
    path = find_program(program)
    if path is None:
        return None
    packaged = _read_package_version(os.path.realpath(path), program.package)
    if packaged or not program.is_version_printed:
        return packaged
    import subprocess

    try:
        done = subprocess.run(
            [path, "--version"],
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


def _read_package_version(path: str, package: str) -> str | None:
    folder = os.path.dirname(path)
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

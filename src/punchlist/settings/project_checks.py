"""Find the checks that a project or the user names: in `.punchlist.toml` of its root, in `checks` of the settings.

The file belongs to the project, so an agent can write it. It counts only as a person has seen it: `punchlist trust`
keeps a hash of its content for the repository. Nothing here runs what it names.
"""

import json
import os
import stat
from contextlib import suppress
from typing import Any, Final, Literal, cast

from msgspec import Struct

from punchlist.core.todo import NamedCheck
from punchlist.errors import PunchlistError, SettingsFileInvalid
from punchlist.settings import settings_path
from punchlist.settings.environment import find_project
from punchlist.settings.table import find_check_problem, read_setting, write_private_file
from punchlist.text import for_terminal
from punchlist.text.hashing import blake2b

FILE_NAME: Final = ".punchlist.toml"
_LARGEST: Final = 65_536
"""Bytes of a file that are read: it is looked at with every command that an agent runs."""

_MOST_CHECKS: Final = 64


class ProjectChecks(Struct, frozen=True):
    """The checks that a project's file names. `trust`: it is as a person trusted it, was changed since, or is new."""

    file: str
    checks: tuple[str, ...]
    trust: Literal["trusted", "changed", "new"]
    digest: str


def find_named_checks(project: str) -> tuple[NamedCheck, ...]:
    """Return the checks that count for a project: those of the user's settings, and of its file if it is trusted."""
    commands: tuple[str, ...] = ()
    with suppress(PunchlistError):  # a report does not fail for a file that cannot be used; commands say so
        commands = read_setting("checks")
    with suppress(PunchlistError):
        found = load_project_checks(project)
        if found is not None and found.trust == "trusted":
            commands += found.checks
    return tuple(NamedCheck(command, "project") for command in commands)


def load_project_checks(project: str) -> ProjectChecks | None:
    """Return the checks in a project's file, None without one; raise `SettingsFileInvalid` if it cannot be used."""
    path = os.path.join(project, FILE_NAME)
    content = _read_file(path)
    if content is None:
        return None
    checks = _parse(path, content)
    digest = blake2b(content).hexdigest()
    trusted = _load_trusted().get(_find_repository(project))
    trust: Any = "new" if trusted is None else "trusted" if trusted == digest else "changed"
    return ProjectChecks(path, checks, trust, digest)


def trust_checks(project: str, seen: ProjectChecks) -> None:
    """Trust the file of a project's repository, with the content that a person has seen."""
    trusted = {**_load_trusted(), _find_repository(project): seen.digest}
    write_private_file(_trusted_path(), json.dumps(trusted, indent=1, sort_keys=True) + "\n")


def _read_file(path: str) -> bytes | None:
    """Return the content of a regular file; None if there is none. No link is followed: it may lead elsewhere."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        problem = "it is a link" if os.path.islink(path) else getattr(error, "strerror", None) or str(error)
        raise SettingsFileInvalid(file=path, problem=problem) from None
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise SettingsFileInvalid(file=path, problem="it is no regular file")
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise SettingsFileInvalid(file=path, problem=f"it has more than {_LARGEST} bytes")
    return content


def _parse(path: str, content: bytes) -> tuple[str, ...]:
    """Return the checks in a file; raise for anything else in it."""
    import tomllib  # only for projects that have the file

    try:
        given = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise SettingsFileInvalid(file=path, problem=f"it is no TOML: {error}") from None
    others = ", ".join(f"`{for_terminal(key[:80])}`" for key in given if key != "checks")
    if others:
        raise SettingsFileInvalid(file=path, problem=f"it may hold `checks` and nothing else; remove {others}")
    checks = given.get("checks", [])
    entries = cast("list[Any]", checks) if isinstance(checks, list) else [None]
    if len(entries) > _MOST_CHECKS or not all(isinstance(one, str) for one in entries):
        raise SettingsFileInvalid(file=path, problem=f"`checks` is a list of up to {_MOST_CHECKS} commands")
    for command in cast("list[str]", entries):
        if problem := find_check_problem(command):
            raise SettingsFileInvalid(file=path, problem=problem)
    return tuple(cast("list[str]", entries))


def _trusted_path() -> str:
    return os.path.join(os.path.dirname(settings_path()), "trusted.json")


def _load_trusted() -> dict[str, Any]:
    """Return the hash of the file that a person trusted, by repository; nothing if that cannot be read."""
    with suppress(OSError, ValueError, RecursionError), open(_trusted_path(), encoding="utf-8") as file:
        trusted = json.load(file)
        return cast("dict[str, Any]", trusted) if isinstance(trusted, dict) else {}
    return {}


def _find_repository(project: str) -> str:
    """Return the folder that Git keeps for a project and all its worktrees; without Git the project itself."""
    found = find_project(project)
    return found.git or found.folder

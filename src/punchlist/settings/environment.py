"""Read the surroundings of a process: settings that need more than their value, its user, the project of a folder."""

import os
import posixpath
import re
from collections.abc import Collection
from datetime import timedelta
from typing import Any, Final, Literal, NamedTuple

from punchlist.core.programs import PROGRAMS, describe_home
from punchlist.detect.stalls import StallOptions, stall_options
from punchlist.errors import ConfigInvalid
from punchlist.settings.table import find_pattern_problem, list_entries, load_settings, read_age, read_setting
from punchlist.text import repair, repair_key
from punchlist.text.hashing import blake2b
from punchlist.text.patterns import compile_later

_OTHERS: dict[str, str] = {
    "PUNCHLIST_CONFIG": "the settings file to use; by default `punchlist/config.toml` in your folder for settings",
    "PUNCHLIST_SESSION": "the session of an agent that names none; by default a new one",
    "PUNCHLIST_TASK_LIST": "the list that `punchlist tasks` means; by default the project's own",
    "PUNCHLIST_TASK_ID": "set by `punchlist tasks work`: the task that its command works on",
    "PUNCHLIST_TASK_FENCE": "set by `punchlist tasks work`: the fence of its claim, shown for that task by default",
    "CLAUDE_CODE_TASK_LIST_ID": "Claude Code's own: a list of tasks for all sessions, instead of one for each",
    **{one.home.variable: describe_home(one) for one in PROGRAMS.values()},
    "XDG_CONFIG_HOME": "the user's folder for settings, `~/.config` by default; `attach opencode` writes there",
    "XDG_DATA_HOME": "the user's data folder, `~/.local/share` by default; opencode keeps its store there",
    "GOOSE_TODO_MAX_CHARS": "goose's own: how many characters its text may have, 50,000 by default; 0 for no limit",
}

REPLACED_VARIABLES: dict[str, str] = {
    "PUNCHLIST_CLAUDE_TASKS": "`punchlist watch` shows these tasks; `punchlist tasks import` and `export` copy them",
    "PUNCHLIST_CLAUDE_TODOS": "`punchlist watch` shows these lists; `punchlist attach claude-code` brings it edits",
}
"""Variables that are no longer read, with what replaces each."""


def list_variables() -> dict[str, str]:
    """Return every variable that this program reads, with its meaning: those of settings first."""
    return {entry.variable: entry.meaning for entry in list_entries().values() if entry.variable} | _OTHERS


_LONGEST_FILE: Final = 64_000
"""Characters that are read of git's files; a larger one was not written by git."""

_WORKTREE: Final = compile_later(r"^\s*worktree\s*=\s*(.+)$", re.MULTILINE)
_REMOTE: Final = compile_later(r'^\s*\[remote "(.+)"\][^\[]*?^\s*url\s*=\s*(.+)$', re.MULTILINE)


def own_secrets(given: Collection[str] | str | None = None) -> re.Pattern[str] | None:
    """Return one pattern for the secrets that a host and the settings name; None if there are none.

    All add up: a variable that took back what the file masks would let secrets out. Raise `ConfigInvalid` for what is
    no regular expression.
    """
    patterns = [("redact", one) for one in ([given] if isinstance(given, str) else given or ())]
    patterns += [("redact", one) for one in load_settings().redact]
    if everywhere := os.environ.get("PUNCHLIST_REDACT"):
        patterns.append(("PUNCHLIST_REDACT", everywhere))
    return re.compile("|".join(f"(?:{_check_pattern(name, one)})" for name, one in patterns)) if patterns else None


def _check_pattern(name: str, pattern: Any) -> str:
    problem = find_pattern_problem(pattern) if isinstance(pattern, str) and pattern else "use a text"
    if problem:
        raise ConfigInvalid(name=name, value=str(pattern)[:80], problem=problem)
    return pattern


def gate_commands() -> dict[str, str]:
    """Return the commands that stand before `create` and `complete`."""
    named = {on: read_setting(f"gates.{on}") for on in ("create", "complete")}
    return {on: command for on, command in named.items() if command.strip()}


def task_list(given: str | None, session: str) -> str:
    """The list of tasks that a task tool writes: the one asked for, by the caller or the environment, else its own."""
    return given or os.environ.get("CLAUDE_CODE_TASK_LIST_ID") or f"session:{session}"


def timer_horizon() -> timedelta:
    """Return how far away a timer may be that a model sets for a flow."""
    return read_age(read_setting("timer_horizon"))


def stall_timings() -> StallOptions:
    """Return when an agent counts as stalled that has no timings of its own."""
    return stall_options({"notice_after": read_setting("stall.after")})


def session_id(given: str | None = None) -> str:
    """The session asked for, by the caller or the environment, else a new id."""
    return given or os.environ.get("PUNCHLIST_SESSION") or os.urandom(6).hex()


def name_path_session(path: str) -> str:
    """Name a session after a project's folder or a file: by the last part of its path, and a hash of all of it.

    A session belongs to one project for good, so the name alone would not do for two projects called `api`.
    """
    name = "".join(char if char.isalnum() else "-" for char in os.path.basename(path)).strip("-")[:40]
    return f"{name or 'project'}-{blake2b(os.fsencode(path), digest_size=3).hexdigest()}"


def login_name() -> str:
    """Return the name of the person who runs this program."""
    import getpass  # few commands record an author

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "user"


_REPOSITORY: Final = "repo://"
_HOST: Final = "host://"
"""Beginnings of the keys of projects, and of folders, on other machines."""


class Project(NamedTuple):
    """The project of a folder: a repository with all its worktrees, else the folder itself."""

    key: str
    """Stands for the common git directory: the folder that holds it, of a submodule its checkout; else the folder."""
    source: Literal["git", "folder"]
    folder: str
    """The root of the worktree; without a repository, the folder."""
    git: str = ""
    """The common git directory."""
    machine: str = ""
    """The machine of a team on which the folder lies; empty for this one."""
    url: str = ""
    """The normalised URL of a repository on another machine."""

    @property
    def remote(self) -> str:
        """The URL of the repository that this one was cloned from, without scheme, user, password and `.git`."""
        return _read_remote(self.git) if self.git else self.url


Folder = str | os.PathLike[str] | Project | None
"""A folder as callers give it; None is the working directory, or every folder. A project may stand for its folder."""


def project_of(folder: Folder = None) -> str:
    """Return the key of the project that a folder belongs to, the working directory by default."""
    return find_project(folder).key


def find_project(folder: Folder = None) -> Project:
    """Find the project of a folder, the working directory by default. It reads files, and does not start git.

    Bytes of its name that are no UTF-8, and other lone surrogates, are replaced: a board cannot hold them.
    """
    if isinstance(folder, Project):
        return folder
    given: str = os.getcwd() if folder is None else os.path.expanduser(os.fspath(folder))
    if given.startswith((_REPOSITORY, _HOST)):  # of another machine: nothing of it is looked for here
        return Project(given, "folder", given)
    try:
        start = os.path.realpath(given)
    except ValueError:  # no file of any system has this name
        start = os.path.realpath(repair_key(given))
    at = start
    while (common := _find_common_directory(at)) is None:
        above = os.path.dirname(at)
        if above == at:
            return Project(repair(start), "folder", repair(start))
        at = above
    return Project(repair(_name_repository(common)), "git", repair(at), common)


def find_project_elsewhere(machine: str, name: str, remote: str, folder: str) -> Project:
    """Return the project of a folder on a machine of the team, by that machine's `name` and what it says of the folder.

    The clones of one repository are one project, by its normalised URL; any other folder is one by itself. Neither its
    key nor its folder is a path: whatever is asked for by them, nothing is looked for on this machine.
    """
    where = posixpath.normpath(f"/{folder.lstrip('/')}") if folder else "/"
    root = f"{_HOST}{name}{repair(where)}"
    return Project(
        f"{_REPOSITORY}{remote}" if remote else root, "git" if remote else "folder", root, "", machine, remote
    )


def is_project_of(key: str, name: str, allowed: Collection[str]) -> bool:
    """True for the key of a project that a machine of this name may report on: repositories by URL, `*` for any."""
    if "*" in allowed:
        return key.startswith((_REPOSITORY, f"{_HOST}{name}/"))
    return key.startswith(_REPOSITORY) and key.removeprefix(_REPOSITORY) in allowed


def find_local_root(folder: str) -> str:
    """Return the root of a worktree as its own machine names it: calls there name files below it."""
    return f"/{folder.removeprefix(_HOST).partition('/')[2]}" if folder.startswith(_HOST) else folder


def name_worktree(project: str, folder: str) -> str:
    """Return the name of a worktree; empty for the first checkout of a project, or where the folder is not known."""
    name = os.path.basename(folder)
    is_clone = folder.startswith(_HOST) and name == os.path.basename(project)
    return "" if folder in ("", project) or is_clone else name


def _find_common_directory(folder: str) -> str | None:
    """Return the git directory that all worktrees of a repository share, if the folder is the root of one of them."""
    git = os.path.join(folder, ".git")
    if not os.path.exists(git):
        is_git = os.path.isfile(os.path.join(folder, "HEAD")) and os.path.isdir(os.path.join(folder, "objects"))
        return folder if is_git else None
    if os.path.isfile(git):
        to, is_link, path = _read_short(git).strip().partition("gitdir:")
        linked = os.path.join(folder, path.strip())
        if to or not is_link or not os.path.isdir(linked):
            return git  # its repository is gone: the folder is a project of its own
        git = linked
    common = _read_short(os.path.join(git, "commondir")).strip()
    return os.path.realpath(os.path.join(git, common))


def _name_repository(common: str) -> str:
    """Return the folder that a repository is known by: that of its `.git`, the checkout of a submodule, or itself."""
    if os.path.basename(common).startswith("."):
        return os.path.dirname(common)
    checkout = _WORKTREE.search(_read_short(os.path.join(common, "config")))
    return common if checkout is None else os.path.realpath(os.path.join(common, checkout[1].strip().strip('"')))


def _read_remote(common: str) -> str:
    remotes = dict(_REMOTE.findall(_read_short(os.path.join(common, "config")))[::-1])
    return normalise_remote(remotes.get("origin") or next(reversed(remotes.values()), ""))


def normalise_remote(url: str) -> str:
    """Return the URL of a repository without scheme, user, password and `.git`: all its clones have the same."""
    place = re.split(r"[?#]", url.strip().strip('"'))[0]
    _, has_scheme, rest = place.partition("://")
    host, slash, path = (rest if has_scheme else place).rpartition("@")[2].partition("/")
    if not has_scheme:
        host = host.replace(":", "/", 1)  # `host:path`, as ssh has it
    return repair(f"{host}{slash}{path}".rstrip("/").removesuffix(".git"))


def _read_short(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST_FILE)
    except OSError:
        return ""

"""Settings from the environment, and the project that a folder belongs to."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from datetime import timedelta
from typing import Any, get_args

from punchlist.detect.stalls import StallOptions, stall_options
from punchlist.errors import ConfigInvalid
from punchlist.store import Durability

SETTINGS: dict[str, str] = {
    "PUNCHLIST_DB": "the board to use: `memory:`, a path or `sqlite:///…`; by default the user's own",
    "PUNCHLIST_SESSION": "the session of an agent that names none; by default a new one",
    "PUNCHLIST_DURABILITY": "`full` (a write survives power loss, the default) or `normal` (it survives a crash)",
    "PUNCHLIST_REDACT": "a regular expression: text that it matches is masked before a tool call is recorded",
    "PUNCHLIST_TASK_LIST": "the list that `punchlist tasks` means; by default the project's own",
    "PUNCHLIST_TASK_ID": "set by `punchlist tasks work`: the task that its command works on",
    "PUNCHLIST_TASK_FENCE": "set by `punchlist tasks work`: the fence of its claim, shown for that task by default",
    "PUNCHLIST_LEASE": "seconds that a claim on a task lasts without a heartbeat; 900 by default",
    "PUNCHLIST_GATE_CREATE": "a command that may refuse new tasks, of any program and on any list",
    "PUNCHLIST_GATE_COMPLETE": "a command that may refuse the completion of a task",
    "PUNCHLIST_CLAUDE_TASKS": "a folder of Claude Code's own task files to keep in step with; by default none",
    "CLAUDE_CODE_TASK_LIST_ID": "Claude Code's own: a list of tasks for all sessions, instead of one for each",
    "PUNCHLIST_STALL_AFTER": "seconds of silence after which an agent counts as stalled, 0 for never; 300 by default",
    "PUNCHLIST_STALL_LIFETIME": "seconds after which an agent is watched no longer; 21600 (6 hours) by default",
    "PUNCHLIST_TIMER_HORIZON": "the longest timer that a model may set for a flow: `12h`, `30d` (the default)",
    "PUNCHLIST_CLAUDE_TODOS": "a folder of Claude Code's own list files to keep in step with; by default none",
    "PUNCHLIST_PROFILE": "what attached agents are told: `quiet` (the default), `classic` or `off`",
    "PUNCHLIST_STOP_TRIES": "how often an attached agent is asked to go on per prompt, 0 for never; 1 by default",
    "PUNCHLIST_TODOS": "`off` offers no agent a todo tool, and no model is told about one; `on` is the default",
    "CLAUDE_CONFIG_DIR": "Claude Code's own: its home, `~/.claude` by default; `restore` looks there for transcripts",
    "CODEX_HOME": "Codex' own: its home, `~/.codex` by default",
    "HERMES_HOME": "Hermes' own: its home, `~/.hermes` by default",
    "OPENCLAW_STATE_DIR": "OpenClaw's own: its home, `~/.openclaw` by default",
    "PI_CODING_AGENT_DIR": "oh-my-pi's own: its home, `~/.omp/agent` by default",
    "QWEN_RUNTIME_DIR": "qwen-code's own: its home, `~/.qwen` by default",
    "XDG_CONFIG_HOME": "the user's folder for settings, `~/.config` by default; `attach opencode` writes there",
    "XDG_DATA_HOME": "the user's data folder, `~/.local/share` by default; opencode keeps its store there",
    "GOOSE_TODO_MAX_CHARS": "goose's own: how many characters its text may have, 50,000 by default; 0 for no limit",
}
"""Every variable that this program reads, and what it means."""


Folder = str | os.PathLike[str] | None
"""A folder as callers give it; None is the working directory, or every folder."""

_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def durability(wanted: str | None = None) -> Durability:
    """The durability asked for, by the caller or the environment."""
    value = wanted or os.environ.get("PUNCHLIST_DURABILITY") or "full"
    for known in get_args(Durability):
        if value == known:
            return known
    raise ConfigInvalid(name="durability", value=value, problem="use `full` or `normal`")


def todos_offered() -> bool:
    """True unless the environment takes the todo tool from all agents."""
    value = os.environ.get("PUNCHLIST_TODOS") or "on"
    if value not in ("on", "off"):
        raise ConfigInvalid(name="PUNCHLIST_TODOS", value=value, problem="use `on` or `off`")
    return value == "on"


def host_profile() -> str:
    """Return the profile of agents that hosts attach, by the environment."""
    value = os.environ.get("PUNCHLIST_PROFILE") or "quiet"
    if value not in ("quiet", "classic", "off"):
        raise ConfigInvalid(name="PUNCHLIST_PROFILE", value=value, problem="use `quiet`, `classic` or `off`")
    return value


def stop_tries() -> int | None:
    """Return how often an attached agent may be kept from stopping per prompt; None to go by its profile."""
    value = os.environ.get("PUNCHLIST_STOP_TRIES")
    if not value:
        return None
    if not (value.isascii() and value.isdigit() and len(value) <= 3):
        raise ConfigInvalid(name="PUNCHLIST_STOP_TRIES", value=value, problem="use a number from 0 to 999")
    return int(value)


def own_secrets(given: Collection[str] | str | None = None) -> re.Pattern[str] | None:
    """Return one pattern for the secrets that a host names and those of the environment; None if there are none.

    Raise `ConfigInvalid` for what is no regular expression.
    """
    patterns = [("redact", one) for one in ([given] if isinstance(given, str) else given or ())]
    if everywhere := os.environ.get("PUNCHLIST_REDACT"):
        patterns.append(("PUNCHLIST_REDACT", everywhere))
    return re.compile("|".join(f"(?:{_check_pattern(name, one)})" for name, one in patterns)) if patterns else None


def _check_pattern(name: str, pattern: Any) -> str:
    try:
        if isinstance(pattern, str) and pattern:
            re.compile(f"(?:{pattern})")
            return pattern
        problem = "use a text"
    except re.error as error:
        problem = f"it is no regular expression: {error}"
    raise ConfigInvalid(name=name, value=str(pattern)[:80], problem=problem)


def gate_commands() -> dict[str, str]:
    """The commands that stand before `create` and `complete`, by the environment."""
    named = {on: os.environ.get(f"PUNCHLIST_GATE_{on.upper()}") for on in ("create", "complete")}
    return {on: command for on, command in named.items() if command and command.strip()}


def lease(wanted: float | None = None) -> float:
    """How long a claim lasts, in seconds, by the caller or the environment."""
    value = os.environ.get("PUNCHLIST_LEASE") or "900" if wanted is None else str(wanted)
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise ConfigInvalid(name="lease", value=value, problem="use a number of seconds, up to a day")
    return seconds


def task_list(given: str | None, session: str) -> str:
    """The list of tasks that a task tool writes: the one asked for, by the caller or the environment, else its own."""
    return given or os.environ.get("CLAUDE_CODE_TASK_LIST_ID") or f"session:{session}"


def timer_horizon() -> timedelta:
    """How far away a timer may be that a model sets for a flow, by the environment."""
    value = os.environ.get("PUNCHLIST_TIMER_HORIZON") or "30d"
    number, unit = value[:-1], _UNITS.get(value[-1:])
    if unit is None or not (number.isascii() and number.isdigit() and len(number) <= 5 and int(number)):
        raise ConfigInvalid(name="PUNCHLIST_TIMER_HORIZON", value=value, problem="use a time such as `12h` or `30d`")
    return timedelta(**{unit: int(number)})


def stall_timings() -> StallOptions:
    """Return when an agent counts as stalled that has no timings of its own, by the environment."""
    found: dict[str, float] = {}
    for name, option in (("PUNCHLIST_STALL_AFTER", "notice_after"), ("PUNCHLIST_STALL_LIFETIME", "lifetime")):
        value = os.environ.get(name)
        if value:
            try:
                found[option] = float(value)
            except ValueError:
                found[option] = -1.0
            if not 0 <= found[option] <= 10_000_000:
                raise ConfigInvalid(name=name, value=value, problem="use a number of seconds")
    return stall_options(found)


def session_id(given: str | None = None) -> str:
    """The session asked for, by the caller or the environment, else a new id."""
    return given or os.environ.get("PUNCHLIST_SESSION") or os.urandom(6).hex()


def login_name() -> str:
    """Return the name of the person who runs this program."""
    import getpass  # few commands record an author

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "user"


def project_of(folder: Folder = None) -> str:
    """The git root that holds the folder (the working directory by default), else the folder itself."""
    start: str = os.path.realpath(os.getcwd() if folder is None else os.path.expanduser(os.fspath(folder)))
    at = start
    while not os.path.exists(os.path.join(at, ".git")):
        above = os.path.dirname(at)
        if above == at:
            return start
        at = above
    return at

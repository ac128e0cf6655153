"""How each agent stands: found, attached, up to date, and what is missing or in the way."""

from __future__ import annotations

import glob
import json
import os
import sys
from datetime import UTC, datetime
from typing import Any, cast

import msgspec
from msgspec import Struct

from punchlist.attach import codex_config
from punchlist.attach.attachments import explain_dead, find_attachment, find_place, find_status_line, plan_attach
from punchlist.attach.file_changes import read_file
from punchlist.core.programs import AgentProgram
from punchlist.dialects.repair import read_fields
from punchlist.errors import AttachRefused
from punchlist.logs.programs import find_program, find_settings, find_version, is_found, parse_version
from punchlist_hook import log_path

_MANAGED = (
    "/Library/Application Support/ClaudeCode/managed-settings"
    if sys.platform == "darwin"
    else "/etc/claude-code/managed-settings"
)
"""An organisation's settings for Claude Code: the file of this name with `.json`, the folder of this name with `.d`."""


_NO_MONITORS = (2, 1, 197)
"""The last version of Claude Code that is known to have no plugin monitors."""


class HostStatus(Struct, frozen=True):
    """One agent on this machine."""

    name: str
    found: bool
    program: str | None
    version: str | None
    home: str
    attached: bool
    attached_version: str | None
    board: str | None
    up_to_date: bool
    status_line: str | None
    """The owner of the status line: ours, theirs, none, or unreadable settings; None but for Claude Code."""
    missing: list[str]
    """Obstacles to the attachment, each a sentence that says what to do."""


def find_status(host: AgentProgram) -> HostStatus:
    """Return how an agent stands on this machine. Starts its program at most to ask for the version."""
    missing: list[str] = []
    version = find_version(host)
    attachment, is_current = None, False
    try:
        attachment = find_attachment(host)
        if attachment is not None:
            is_current = not plan_attach(host, attachment.board).changes
    except (AttachRefused, OSError) as error:
        missing.append(str(error))
    if attachment is not None:
        dead = explain_dead(host, attachment)
        other = f"Its files are not those of this installation; `punchlist attach {host.name}` writes them again."
        if dead is not None or (not is_current and not missing):
            missing.append(dead or other)
        missing += _list_obstacles(host)
        if host.name == "claude-code" and version is not None and parse_version(version) <= _NO_MONITORS:
            said = f"Version {version} has no plugin monitors: an answer does not wake it, and comes with its next turn"
            missing.append(f"{said}; `claude update` brings one that is woken.")
    return HostStatus(
        name=host.name,
        found=is_found(host),
        program=find_program(host),
        version=version,
        home=find_settings(host),
        attached=attachment is not None,
        attached_version=attachment.version if attachment else None,
        board=attachment.board if attachment else None,
        up_to_date=is_current,
        status_line=find_status_line(host) if host.name == "claude-code" else None,
        missing=missing,
    )


def _list_obstacles(host: AgentProgram) -> list[str]:
    if host.name == "claude-code":
        return [*list_policies(), *_list_own_settings(host)]
    if host.name == "codex":
        return _list_codex_obstacles(host)
    return []


def explain_native_todos(host: AgentProgram, version: str | None, *, attached: bool) -> str | None:
    """Return a sentence if this version of an agent offers its own todo tool no longer; None if it may."""
    since = host.no_todos_since
    if version is None or not since or parse_version(version) < since:
        return None
    ours = "ours is in its first request, and not deferred" if attached else "so its sessions have no list"
    return f"its own todo tool is off by default in this version; {ours}"


def list_policies(managed: str = _MANAGED) -> list[str]:
    """Return what an organisation's settings forbid of what we need in Claude Code."""
    problems: list[str] = []
    for path in [f"{managed}.json", *sorted(glob.glob(os.path.join(glob.escape(f"{managed}.d"), "*.json")))]:
        settings = _read_settings(path)
        where = f"the managed settings ({path})"
        if settings.get("disableAllHooks") is True:
            problems.append(f"Hooks and status line are off by {where}; ask your administrator.")
        if settings.get("allowManagedHooksOnly") is True:
            problems.append(f"Only managed hooks run, by {where}; ask your administrator to allow this plugin.")
        if _blocks_skills_folder(settings):
            problems.append(f"Plugins from `~/.claude/skills` are blocked by {where}; ask for the source `skills-dir`.")
        if settings.get("allowedMcpServers") == []:
            problems.append(f"No MCP server is allowed by {where}; ask your administrator to allow `punchlist`.")
    return problems


def _blocks_skills_folder(settings: dict[str, Any]) -> bool:
    allowed, blocked = settings.get("strictKnownMarketplaces"), settings.get("blockedMarketplaces")
    own = {"source": "skills-dir"}
    return (isinstance(allowed, list) and own not in allowed) or (isinstance(blocked, list) and own in blocked)


def _list_own_settings(host: AgentProgram) -> list[str]:
    path = os.path.join(find_settings(host), "settings.json")
    settings = _read_settings(path)
    problems: list[str] = []
    if settings.get("disableAllHooks") is True:
        problems.append(f"Hooks and status line are off: `disableAllHooks` in {path}.")
    plugins = settings.get("enabledPlugins")
    if isinstance(plugins, dict) and cast("dict[str, Any]", plugins).get("punchlist@skills-dir") is False:
        problems.append("The plugin is switched off; `claude plugin enable punchlist@skills-dir` switches it on.")
    return [*problems, *list_second_servers(host)]


def list_second_servers(host: AgentProgram) -> list[str]:
    """Return a sentence for each `claude mcp add punchlist` that is left beside the plugin, and how to remove it."""
    home = find_settings(host)
    own = os.path.join(home, ".claude.json")
    settings = _read_settings(own if os.path.exists(own) else f"{home}.json")
    local = read_fields(settings.get("projects")).get(os.getcwd())
    scopes = {"user": settings, "local": local, "project": _read_settings(".mcp.json")}
    said = "The model has every tool twice: `claude mcp add` made a server `punchlist` too"
    return [
        f"{said}; `claude mcp remove punchlist -s {scope}` removes the second one."
        for scope, table in scopes.items()
        if "punchlist" in read_fields(read_fields(table).get("mcpServers"))
    ]


def _list_codex_obstacles(host: AgentProgram) -> list[str]:
    path = find_place(host)
    text = (read_file(path) or b"").decode()
    problems: list[str] = []
    if codex_config.are_hooks_off(text):
        problems.append(f"Hooks are off: `features.hooks` in {path}.")
    untrusted = codex_config.list_untrusted(text, path)
    if untrusted:
        problems.append(
            f"Codex runs none of our hooks that you do not trust ({', '.join(untrusted)}): "
            "start `codex` and choose to trust them when it asks, or type /hooks there."
        )
    return problems


def _read_settings(path: str) -> dict[str, Any]:
    """Return a settings file of Claude Code; nothing if it is not there or cannot be read."""
    try:
        value: Any = json.loads(read_file(path) or b"{}")
    except (OSError, ValueError, RecursionError, AttachRefused):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def read_faults(board: str) -> list[tuple[datetime, str]]:
    """Return what went wrong in hooks next to a board, oldest first: when, and what."""
    faults: list[tuple[datetime, str]] = []
    for line in (_read_log(f"{log_path(board)}.1") + _read_log(log_path(board))).splitlines():
        try:
            fault = msgspec.json.decode(line, type=_Fault)
            faults.append((datetime.fromtimestamp(fault.at, UTC), fault.problem))
        except (msgspec.DecodeError, ValueError, OverflowError, OSError):
            continue  # a line that was cut short when the machine stopped
    return faults


class _Fault(Struct, frozen=True):
    at: float
    problem: str


def _read_log(path: str) -> bytes:
    try:
        return read_file(path) or b""
    except (OSError, AttachRefused):
        return b""
